/* backends/cpu/counter.c - see counter.h. */
#define _GNU_SOURCE /* syscall */
#include "backends/cpu/counter.h"

#include <string.h>
#include <unistd.h>

enum { OPS = 3, LINE_BYTES = 64 };

struct counter {
  tsr_allocator al;
  counter_sys sys;
  int n;
  bool has[OPS];
  int *tids, *fds; /* OPS fds a thread, -1 where it has none */
  counter_value mark;
  bool marked;
};

/* ---- the kernel ------------------------------------------------------------------------------------------------ */

#if defined(__linux__)
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

static int perf_open(void *user, int op, int tid, int group) {
  struct perf_event_attr a = {.type = PERF_TYPE_HW_CACHE,
                              .size = sizeof a,
                              .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
                              .config = PERF_COUNT_HW_CACHE_LL | (uint64_t)op << 8 |
                                        (uint64_t)PERF_COUNT_HW_CACHE_RESULT_MISS << 16,
                              .disabled = group < 0,
                              .exclude_kernel = 1,
                              .exclude_hv = 1};
  return (int)syscall(SYS_perf_event_open, &a, tid, -1, group, PERF_FLAG_FD_CLOEXEC);
}
static bool perf_read(void *user, int fd, counter_value *out) {
  uint64_t v[3];
  if (read(fd, v, sizeof v) != (ssize_t)sizeof v) return false;
  *out = (counter_value){v[0], v[1], v[2]};
  return true;
}
static bool perf_enable(void *user, int fd, bool on) {
  return !ioctl(fd, on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP);
}
static void perf_close(void *user, int fd) { close(fd); }
static const counter_sys kernel = {perf_open, perf_read, perf_enable, perf_close, NULL};

int counter_thread(void) { return (int)syscall(SYS_gettid); }
#else
static int no_open(void *user, int op, int tid, int group) { return -1; }
static const counter_sys kernel = {.open = no_open};

int counter_thread(void) { return 0; }
#endif

/* ---- the counter ----------------------------------------------------------------------------------------------- */

/* All events of thread i; which of the optional ones there are is decided by the first thread. */
static bool open_thread(counter *c, int i) {
  int *fd = &c->fds[i * OPS];
  for (int op = 0; op < OPS; op++) {
    if (i && !c->has[op]) continue;
    fd[op] = c->sys.open(c->sys.user, op, c->tids[i], op ? fd[0] : -1);
    if (i == 0) c->has[op] = fd[op] >= 0;
    if (fd[op] < 0 && (i || op == 0)) return false;
  }
  return true;
}

tsr_status counter_open(const tsr_allocator *al, const counter_sys *sys, const int *tids, int n, counter **out) {
  *out = NULL;
  if (n < 1) return NULL;
  counter *c = al_new(al, counter);
  if (!c) return st_oom();
  c->al = al && al->alloc ? *al : al_default;
  c->sys = sys ? *sys : kernel;
  c->n = n;
  c->tids = al_alloc(&c->al, (size_t)n * sizeof *c->tids, 16);
  c->fds = al_alloc(&c->al, (size_t)n * OPS * sizeof *c->fds, 16);
  bool ok = c->tids && c->fds;
  tsr_status st = ok ? NULL : st_oom();
  for (int i = 0; ok && i < n * OPS; i++) c->fds[i] = -1;
  if (ok) memcpy(c->tids, tids, (size_t)n * sizeof *tids);
  for (int i = 0; ok && i < n; i++) ok = open_thread(c, i);
  if (!ok) counter_close(&c);
  *out = c;
  return st;
}

void counter_close(counter **cp) {
  counter *c = *cp;
  if (!c) return;
  tsr_allocator al = c->al;
  for (int i = c->fds ? c->n * OPS : 0; i-- > 0;) /* the leaders last */
    if (c->fds[i] >= 0) c->sys.close(c->sys.user, c->fds[i]);
  al_free(&al, c->fds, (size_t)c->n * OPS * sizeof *c->fds, 16);
  al_free(&al, c->tids, (size_t)c->n * sizeof *c->tids, 16);
  al_delete(&al, c);
  *cp = NULL;
}

bool counter_has(const counter *c, int tid) {
  for (int i = 0; i < c->n; i++)
    if (c->tids[i] == tid) return true;
  return false;
}

void counter_enable(counter *c, bool on) {
  for (int i = 0; i < c->n; i++)
    if (!c->sys.enable(c->sys.user, c->fds[i * OPS], on)) c->marked = false;
}

static bool total(counter *c, counter_value *sum) {
  *sum = (counter_value){0};
  for (int i = 0; i < c->n; i++)
    for (int op = 0; op < OPS; op++) {
      counter_value v;
      if (!c->has[op]) continue;
      if (!c->sys.read(c->sys.user, c->fds[i * OPS + op], &v)) return false;
      sum->events += v.events, sum->enabled_ns += v.enabled_ns, sum->running_ns += v.running_ns;
    }
  return true;
}

void counter_mark(counter *c) { c->marked = total(c, &c->mark); }

bool counter_bytes(counter *c, double *bytes) {
  counter_value now;
  *bytes = 0;
  if (!c->marked || !total(c, &now)) return false;
  uint64_t enabled = now.enabled_ns - c->mark.enabled_ns, running = now.running_ns - c->mark.running_ns;
  if (enabled == 0 || running < enabled) return false; /* never on, or multiplexed: the rest would be a guess */
  *bytes = (double)(now.events - c->mark.events) * LINE_BYTES;
  return true;
}
