/* Processes that share the tuning cache, or fare badly beside it: kill -9, a log that is overwritten when one was
 * killed, a full disk, a read-only folder, 100 at once. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/tune/search.h"
#include "tests/unit/tune_cache_dir.h"

/* Runs `fn` in a child that may be killed; returns its wait status. */
static pid_t start(void (*fn)(int out), int *from) {
  int p[2];
  assert_int_equal(pipe(p), 0);
  pid_t pid = fork();
  if (!pid) {
    close(p[0]);
    fn(p[1]);
    _exit(0);
  }
  close(p[1]);
  if (from) *from = p[0];
  else close(p[0]);
  return pid;
}

static int32_t first_written; /* of the round */
static void write_for_ever(int out) {
  tune_cache *c = NULL;
  tsr_status st = cache_open(NULL, dir, "t", &c);
  tsr_status_free(st);
  for (int32_t i = first_written;; i++) {
    char shape[32];
    snprintf(shape, sizeof shape, "%dx1x1", i);
    tune_key k = key_of(shape);
    tune_entry e = entry_of(i % 512);
    tune_trial t = {"m=1", "ok", 1, 1};
    cache_keep_trial(c, &k, &t);
    if (cache_store(c, &k, &e, true, NULL) && write(out, &i, sizeof i) != sizeof i) _exit(1);
  }
}

static void kill_9_two_hundred_times_loses_nothing_acknowledged(void **state) {
  uint64_t rng = 12345;
  for (int round = 0; round < 200; round++) {
    int from = -1;
    first_written = round * 1000000;
    pid_t pid = start(write_for_ever, &from);
    int32_t i, last = -1;
    if (round % 2)
      assert_int_equal(read(from, &last, sizeof last),
                       sizeof last); /* half of them while it writes, however slow the machine is */
    usleep((useconds_t)(1000 + search_rand(&rng, 15000)));
    kill(pid, SIGKILL);
    while (read(from, &i, sizeof i) == (ssize_t)sizeof i) last = i;
    close(from);
    waitpid(pid, NULL, 0);
    if (last < 0) continue;
    tune_cache *c = open_cache();
    char shape[32];
    snprintf(shape, sizeof shape, "%dx1x1", last);
    tune_key k = key_of(shape);
    tune_entry e = entry_of(last % 512), got;
    assert_true(cache_lookup(c, &k, &got)); /* what was acknowledged is there */
    assert_memory_equal(&got, &e, sizeof e);
    cache_info info;
    cache_describe(c, &info);
    assert_true(info.writable && info.quarantined == 0);
    cache_close(&c);
  }
  tune_cache *c = open_cache();
  cache_check check;
  assert_true(cache_verify(c, &check));
  print_message("%zu entries after 200 kills, none bad\n", check.entries);
  assert_true(check.entries >= 100);
  cache_close(&c);
}

static void overwritten_wal_is_survived(void **state) {
  uint64_t rng = 5;
  for (int round = 0; round < 20; round++) {
    int from;
    pid_t pid = start(write_for_ever, &from); /* killed, so that the log stays behind */
    usleep(20000);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    close(from);
    char path[128];
    file_path(path, sizeof path, "-wal");
    FILE *f = fopen(path, "r+b");
    if (f) {
      for (int i = 0; i < 200; i++)
        fseek(f, (long)search_rand(&rng, 20000), SEEK_SET), fputc((int)search_rand(&rng, 256), f);
      fclose(f);
    }
    tune_cache *c = open_cache();
    assert_true(works(c, 64));
    cache_close(&c);
  }
}

/* In a process of its own, whose limits and rights die with it; the part exits with another number where it finds a
 * fault. */
static void in_child(void (*part)(void)) {
  int status;
  pid_t pid = fork();
  if (!pid) part(), _exit(0);
  waitpid(pid, &status, 0);
  assert_int_equal(chmod(dir, 0777), 0);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 0);
}

static void with_a_full_disk(void) {
  tune_cache *c;
  /* no file may grow: what a full disk does */
  signal(SIGXFSZ, SIG_IGN);
  struct rlimit limit = {4096, 4096};
  setrlimit(RLIMIT_FSIZE, &limit);
  tsr_status st = cache_open(NULL, dir, "t", &c);
  if (st) _exit(1);
  tune_key k = key_of("200x1x1");
  tune_entry got, e = entry_of(1);
  if (!cache_lookup(c, &k, &got)) _exit(2);
  bool any = false;
  for (int i = 0; i < 200; i++) {
    char shape[32];
    snprintf(shape, sizeof shape, "%dx3x3", i);
    k = key_of(shape);
    any |= !cache_store(c, &k, &e, false, NULL);
  }
  cache_info info;
  cache_describe(c, &info);
  if (!any || !info.refused_writes || !info.why[0]) _exit(3);
  cache_close(&c);
  k = key_of("1x1x1");
  st = cache_open(NULL, "/proc/nowhere", "fresh", &c); /* nowhere to begin */
  if (st || cache_store(c, &k, &e, false, NULL)) _exit(4);
  cache_close(&c);
}

static void full_disk_refuses_writes_and_still_reads(void **state) {
  tune_cache *c = open_cache();
  assert_true(works(c, 200));
  cache_close(&c);
  in_child(with_a_full_disk);
  c = open_cache();
  assert_true(works(c, 201)); /* space is back */
  cache_info info;
  cache_describe(c, &info);
  assert_int_equal(info.quarantined, 0);
  cache_close(&c);
}

static void without_rights(void) {
  tune_cache *c;
  char cmd[200];
  snprintf(cmd, sizeof cmd, "chmod 0444 %s/t.sqlite; chmod 0555 %s", dir, dir);
  if (system(cmd)) _exit(9);
  if (geteuid() == 0 && (setgid(65534) || setuid(65534))) { /* root may write anywhere */
    printf("left out: there is nobody else to be here\n");
    fflush(stdout);
    _exit(0);
  }
  tsr_status st = cache_open(NULL, dir, "t", &c);
  if (st) _exit(1);
  tune_key k = key_of("300x1x1"), other = key_of("301x1x1");
  tune_entry got, e = entry_of(1);
  if (!cache_lookup(c, &k, &got)) _exit(2);
  if (cache_store(c, &other, &e, false, NULL)) _exit(3);
  cache_info info;
  cache_describe(c, &info);
  if (!info.readable || info.writable || info.quarantined || !info.why[0]) _exit(4);
  cache_close(&c);
}

static void read_only_folder_is_read(void **state) {
  tune_cache *c = open_cache();
  assert_true(works(c, 300));
  cache_close(&c);
  in_child(without_rights);
}

static void tune_the_same_op(int out) {
  tune_cache *c = NULL;
  tsr_status st = cache_open(NULL, dir, "t", &c);
  if (st) _exit(1);
  tune_key k = key_of("100x100x100");
  tune_entry e = entry_of((int)(getpid() % 100) + 1), kept;
  for (int i = 0; i < 5; i++) {
    tune_trial t = {.state = "ok", .ns = i};
    snprintf(t.config, sizeof t.config, "m=%d", i);
    if (!cache_keep_trial(c, &k, &t)) _exit(2);
  }
  if (!cache_store(c, &k, &e, false, &kept)) _exit(3);
  if (write(out, kept.config, sizeof kept.config) != (ssize_t)sizeof kept.config) _exit(4);
  cache_close(&c);
}

static void hundred_processes_agree_on_one_winner(void **state) {
  enum { N = 100 };
  pid_t pid[N];
  int from[N];
  char first[TUNE_CONFIG_TEXT] = "", one[TUNE_CONFIG_TEXT];
  for (int i = 0; i < N; i++)
    pid[i] = start(tune_the_same_op, &from[i]); /* the file does not exist yet: they also race to make it */
  for (int i = 0; i < N; i++) {
    int status;
    waitpid(pid[i], &status, 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_int_equal(read(from[i], one, sizeof one), sizeof one);
    close(from[i]);
    if (!i) memcpy(first, one, sizeof one);
    assert_string_equal(one, first);
  }
  tune_cache *c = open_cache();
  tune_key k = key_of("100x100x100");
  cache_check check;
  assert_int_equal(cache_trials(c, &k, NULL, NULL), 5);
  assert_true(cache_verify(c, &check) && check.entries == 1);
  cache_close(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      IN_DIR(kill_9_two_hundred_times_loses_nothing_acknowledged),
      IN_DIR(overwritten_wal_is_survived),
      IN_DIR(full_disk_refuses_writes_and_still_reads),
      IN_DIR(read_only_folder_is_read),
      IN_DIR(hundred_processes_agree_on_one_winner),
  };
  return has_sqlite ? cmocka_run_group_tests(tests, NULL, NULL) : 77;
}
