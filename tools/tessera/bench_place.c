/* tools/tessera/bench_place.c - where threads run while contenders take turns. A scheduler may leave a library's worker
 * on its caller's core for milliseconds while another core idles; which contender that hits is chance. So each
 * contender's threads are spread over the cores once they exist, one a core where there are enough, and the calling
 * thread stays on the first core. Threads that are bound already keep their place. */
#define _GNU_SOURCE /* sched_setaffinity and the CPU_* macros */
#include "tools/tessera/bench.h"

#if defined(__linux__)
#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_SEEN = 4096, MAX_NEW = 256 };

struct bench_place {
  cpu_set_t home; /* the caller's own cores while it is held on one */
  bool held;
  int n_seen, seen[];
};

static int nth_core(const cpu_set_t *set, int i) {
  int n = CPU_COUNT(set);
  for (int c = 0, k = i % n; c < CPU_SETSIZE; c++)
    if (CPU_ISSET(c, set) && k-- == 0) return c;
  return 0;
}

static void bind_to(pid_t tid, int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  if (sched_setaffinity(tid, sizeof set, &set))
    return; /* the thread has ended, or may not be bound: it stays as it is */
}

static bool is_seen(const bench_place *b, int tid) {
  for (int i = 0; i < b->n_seen; i++)
    if (b->seen[i] == tid) return true;
  return false;
}

bench_place *bench_place_create(void) {
  bench_place *b = calloc(1, sizeof *b + MAX_SEEN * sizeof *b->seen);
  if (!b) return NULL;
  b->seen[b->n_seen++] = (int)getpid();
  return b;
}

void bench_place_new_threads(bench_place *b) {
  cpu_set_t all, own;
  DIR *d = b ? opendir("/proc/self/task") : NULL;
  int fresh[MAX_NEW], n = 0;
  if (!d) return;
  for (struct dirent *e; (e = readdir(d)) && n < MAX_NEW;) {
    int tid = atoi(e->d_name);
    if (tid <= 0 || is_seen(b, tid) || b->n_seen >= MAX_SEEN) continue;
    b->seen[b->n_seen++] = tid;
    if (!sched_getaffinity(tid, sizeof own, &own) && CPU_COUNT(&own) > 1) fresh[n++] = tid;
  }
  closedir(d);
  if (sched_getaffinity(0, sizeof all, &all) || CPU_COUNT(&all) < 2) return;
  int first = n < CPU_COUNT(&all) ? 1 : 0; /* workers beside the caller, or as many as cores */
  for (int i = 0; i < n; i++) bind_to(fresh[i], nth_core(&all, first + i));
}

void bench_place_hold_caller(bench_place *b, bool hold) {
  cpu_set_t all;
  if (!b || b->held == hold) return;
  if (hold) {
    if (sched_getaffinity(0, sizeof all, &all)) return;
    b->home = all;
    bind_to(0, nth_core(&all, 0));
  } else if (sched_setaffinity(0, sizeof b->home, &b->home)) {
    return;
  }
  b->held = hold;
}

void bench_place_on(int core) {
  cpu_set_t all;
  if (!sched_getaffinity(0, sizeof all, &all) && CPU_COUNT(&all) > 1) bind_to(0, nth_core(&all, core));
}

void bench_place_destroy(bench_place **b) {
  bench_place_hold_caller(*b, false);
  free(*b);
  *b = NULL;
}
/* Processor time would not tell: the kernel may add a running thread's only at its next tick. */
static bool others_run(void) {
  DIR *d = opendir("/proc/self/task");
  bool run = false;
  for (struct dirent *e; d && !run && (e = readdir(d));) {
    char path[300], text[512];
    if (atoi(e->d_name) <= 0 || atoi(e->d_name) == (int)gettid()) continue;
    snprintf(path, sizeof path, "/proc/self/task/%s/stat", e->d_name);
    FILE *f = fopen(path, "r");
    if (!f) continue;
    size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[n] = 0;
    const char *name_end = strrchr(text, ')');
    run = name_end && name_end[1] && name_end[2] == 'R';
  }
  if (d) closedir(d);
  return run;
}

void bench_settle(void) {
  enum { STEP_US = 300, AT_MOST = 1000, ENOUGH = 2 };
  for (int i = 0, quiet = 0; i < AT_MOST && quiet < ENOUGH; i++) {
    usleep(STEP_US);
    quiet = others_run() ? 0 : quiet + 1;
  }
}
#else
#include <unistd.h>
bench_place *bench_place_create(void) { return NULL; }
void bench_place_new_threads(bench_place *b) { (void)b; }
void bench_place_hold_caller(bench_place *b, bool hold) { (void)b, (void)hold; }
void bench_place_on(int core) { (void)core; }
void bench_place_destroy(bench_place **b) { *b = NULL; }
void bench_settle(void) { usleep(30000); }
#endif
