/* Bytes from memory by the kernel's counters, with a kernel that the test plays: what is added up, and when nothing may
 * be said. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cpu/counter.h"

enum { MAX_FDS = 32, LOADS = 0, STORES = 1, PREFETCHES = 2 };

/* Fd i + 1. */
typedef struct fake {
  struct fake_fd {
    int op, tid, group;
    bool is_open, on;
    counter_value v;
  } fd[MAX_FDS];
  int n, refuse_op, refuse_tid, open_now;
  bool refuse_read;
} fake;

static int fake_open(void *user, int op, int tid, int group) {
  fake *f = user;
  if (op == f->refuse_op || tid == f->refuse_tid) return -1;
  f->fd[f->n] = (struct fake_fd){.op = op, .tid = tid, .group = group, .is_open = true};
  f->open_now++;
  return ++f->n;
}
static bool fake_read(void *user, int fd, counter_value *out) {
  fake *f = user;
  assert_true(f->fd[fd - 1].is_open);
  *out = f->fd[fd - 1].v;
  return !f->refuse_read;
}
static bool fake_enable(void *user, int group, bool on) {
  fake *f = user;
  for (int i = 0; i < f->n; i++)
    if (i + 1 == group || f->fd[i].group == group) f->fd[i].on = on;
  return true;
}
static void fake_close(void *user, int fd) {
  fake *f = user;
  assert_true(f->fd[fd - 1].is_open);
  f->fd[fd - 1].is_open = false;
  f->open_now--;
}
static counter_sys sys_of(fake *f) { return (counter_sys){fake_open, fake_read, fake_enable, fake_close, f}; }
static fake new_fake(void) { return (fake){.refuse_op = -1, .refuse_tid = -1}; }

static const int tids[] = {11, 12, 13};

/* Time passes for all that is on: `events` more each. */
static void pass(fake *f, uint64_t events) {
  for (int i = 0; i < f->n; i++)
    if (f->fd[i].on) f->fd[i].v.events += events, f->fd[i].v.enabled_ns += 100, f->fd[i].v.running_ns += 100;
}

static counter *open_on(fake *f) {
  counter *c;
  counter_sys sys = sys_of(f);
  assert_null(counter_open(NULL, &sys, tids, 3, &c));
  return c;
}

static void lines_of_all_threads_and_kinds_are_added_up(void **state) {
  fake f = new_fake();
  counter *c = open_on(&f);
  double bytes;
  assert_non_null(c);
  assert_int_equal(f.n, 9);
  for (int i = 0; i < 9; i++)
    assert_int_equal(f.fd[i].group, i % 3 ? i - i % 3 + 1 : -1); /* scheduled with its thread's loads */
  counter_enable(c, true);
  pass(&f, 1000);
  counter_mark(c);
  pass(&f, 7);
  assert_true(counter_bytes(c, &bytes) && bytes == 9 * 7 * 64.0);
  counter_mark(c);
  pass(&f, 0);
  assert_true(counter_bytes(c, &bytes) && bytes == 0); /* nothing came: known, and none */
  counter_enable(c, false);
  counter_mark(c);
  pass(&f, 5);
  assert_false(counter_bytes(c, &bytes)); /* off */
  assert_true(counter_has(c, 12) && !counter_has(c, 14));
  counter_close(&c);
  assert_true(f.open_now == 0 && !c);
}

static void kinds_that_the_processor_lacks_are_left_out(void **state) {
  for (int op = STORES; op <= PREFETCHES; op++) {
    fake f = new_fake();
    double bytes;
    f.refuse_op = op;
    counter *c = open_on(&f);
    assert_non_null(c);
    counter_enable(c, true);
    counter_mark(c);
    pass(&f, 3);
    assert_true(counter_bytes(c, &bytes) && bytes == 6 * 3 * 64.0);
    counter_close(&c);
    assert_int_equal(f.open_now, 0);
  }
}

static void without_counters_nothing_is_said(void **state) {
  fake f = new_fake();
  f.refuse_op = LOADS;
  assert_null(open_on(&f));
  assert_int_equal(f.n, 0);
  f = new_fake();
  f.refuse_tid = 13; /* a thread that ended: the others' share would pass for the whole */
  assert_null(open_on(&f));
  assert_true(f.n > 0 && f.open_now == 0);
}

static void shared_counters_and_failed_reads_are_not_known(void **state) {
  fake f = new_fake();
  counter *c = open_on(&f);
  double bytes;
  counter_enable(c, true);
  assert_false(counter_bytes(c, &bytes)); /* no mark */
  counter_mark(c);
  pass(&f, 3);
  f.fd[4].v.running_ns -= 50;
  assert_false(counter_bytes(c, &bytes));
  counter_mark(c);
  pass(&f, 3);
  assert_true(counter_bytes(c, &bytes)); /* the next stretch was counted whole */
  f.refuse_read = true;
  assert_false(counter_bytes(c, &bytes));
  counter_mark(c);
  f.refuse_read = false;
  assert_false(counter_bytes(c, &bytes));
  counter_close(&c);
}

/* Whatever this machine's kernel says: counted, or not known. */
static void this_kernels_counters(void **state) {
  enum { BYTES = 64 << 20 };
  int self = counter_thread();
  counter *c;
  double bytes;
  assert_null(counter_open(NULL, NULL, &self, 1, &c));
  if (!c) {
    printf("no counter of last-cache misses here\n");
    return;
  }
  counter_enable(c, true);
  counter_mark(c);
  char *p = malloc(BYTES);
  assert_non_null(p);
  memset(p, 1, BYTES);
  if (counter_bytes(c, &bytes))
    printf("%d MiB were written, %.1f MiB came from memory\n", BYTES >> 20, bytes / (1 << 20));
  free(p);
  counter_close(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(lines_of_all_threads_and_kinds_are_added_up),
      cmocka_unit_test(kinds_that_the_processor_lacks_are_left_out),
      cmocka_unit_test(without_counters_nothing_is_said),
      cmocka_unit_test(shared_counters_and_failed_reads_are_not_known),
      cmocka_unit_test(this_kernels_counters),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
