/* The CPU backend's thread pool: every item runs once, worker numbers are distinct at any moment, for any number of
 * threads, bound or not, from any caller. Run under the thread sanitizer too. */
#define _GNU_SOURCE /* sched_setaffinity */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "backends/cpu/pool.h"

enum { MAX_ITEMS = 300, MAX_THREADS = 9 };

typedef struct job {
  _Atomic int seen[MAX_ITEMS], inside[MAX_THREADS];
  _Atomic int clashes, out_of_range;
  int n_workers, spins;
} job;

static void item(void *arg, int64_t i, int worker) {
  job *j = arg;
  if (worker < 0 || worker >= j->n_workers) {
    j->out_of_range++;
    return;
  }
  if (j->inside[worker]++) j->clashes++;
  j->seen[i]++;
  for (volatile int spin = 0; spin < j->spins; spin++) {
  }
  j->inside[worker]--;
}

static int at_most(int threads) { return threads < MAX_THREADS ? threads : MAX_THREADS; } /* what a job counts */

static void run_jobs(pool *p, int n_jobs) {
  for (int k = 0; k < n_jobs; k++) {
    job j = {.n_workers = pool_size(p), .spins = 200};
    int n = 1 + (k * 37) % MAX_ITEMS;
    pool_run(p, item, &j, n);
    assert_int_equal(j.clashes, 0);
    assert_int_equal(j.out_of_range, 0);
    for (int i = 0; i < MAX_ITEMS; i++) assert_int_equal(j.seen[i], i < n);
  }
}

static void pool_any_number_of_threads_runs_each_item_once(void **state) {
  for (int bind = 0; bind < 2; bind++)
    for (int threads = 1; threads <= MAX_THREADS; threads++) {
      pool *p;
      assert_null(pool_create(NULL, threads, bind, &p));
      assert_int_equal(pool_size(p), threads);
      run_jobs(p, 60);
      pool_destroy(&p);
      assert_null(p);
    }
}

static void *other_caller(void *arg) {
  run_jobs(arg, 100);
  return NULL;
}

static void pool_other_callers_one_at_a_time_runs_each_item_once(void **state) {
  pool *p;
  assert_null(pool_create(NULL, at_most(pool_n_cores()), true, &p));
  for (int k = 0; k < 4; k++) {
    pthread_t t;
    assert_int_equal(pthread_create(&t, NULL, other_caller, p), 0);
    pthread_join(t, NULL);
    run_jobs(p, 20);
  }
  pool_destroy(&p);
}

static _Atomic bool busy_enough;

static void *keep_busy(void *arg) {
  while (!busy_enough) atomic_signal_fence(memory_order_seq_cst);
  return NULL;
}

/* Of the ordinary policy whatever the test's is: real-time threads that never wait would keep the test itself out. */
static void start_busy(pthread_t *t) {
  pthread_attr_t ordinary;
  assert_int_equal(pthread_attr_init(&ordinary), 0);
  assert_int_equal(pthread_attr_setinheritsched(&ordinary, PTHREAD_EXPLICIT_SCHED), 0);
  assert_int_equal(pthread_attr_setschedpolicy(&ordinary, SCHED_OTHER), 0);
  assert_int_equal(pthread_attr_setschedparam(&ordinary, &(struct sched_param){.sched_priority = 0}), 0);
  assert_int_equal(pthread_create(t, &ordinary, keep_busy, NULL), 0);
  pthread_attr_destroy(&ordinary);
}

/* A worker that wakes late, here because other threads want its core, must not join a later job in which the caller
 * works in its place. */
static void pool_caller_changes_cores_workers_stay_apart(void **state) {
#if defined(__linux__)
  cpu_set_t home, one;
  pool *p;
  if (sched_getaffinity(0, sizeof home, &home) || CPU_COUNT(&home) < 2) skip();
  assert_null(pool_create(NULL, at_most(CPU_COUNT(&home)), true, &p));
  pthread_t others[2];
  busy_enough = false;
  for (int i = 0; i < 2; i++) start_busy(&others[i]);
  for (int k = 0, core = 0; k < 150; k++) {
    usleep(400); /* the workers fall asleep */
    job brief = {.n_workers = pool_size(p)}, longer = {.n_workers = pool_size(p), .spins = 20000};
    pool_run(p, item, &brief, pool_size(p));
    do core = (core + 1) % CPU_SETSIZE;
    while (!CPU_ISSET(core, &home));
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    pool_run(p, item, &longer, MAX_ITEMS);
    assert_int_equal(brief.clashes + longer.clashes, 0);
  }
  busy_enough = true;
  for (int i = 0; i < 2; i++) pthread_join(others[i], NULL);
  assert_int_equal(sched_setaffinity(0, sizeof home, &home), 0);
  pool_destroy(&p);
#else
  skip();
#endif
}

static void *own_pool(void *arg) {
  pool *p;
  if (pool_create(NULL, 3, true, &p)) abort();
  run_jobs(p, 100);
  pool_destroy(&p);
  return NULL;
}

static void pool_two_at_once_do_not_disturb_each_other(void **state) {
  pthread_t t[2];
  for (int i = 0; i < 2; i++) assert_int_equal(pthread_create(&t[i], NULL, own_pool, NULL), 0);
  for (int i = 0; i < 2; i++) pthread_join(t[i], NULL);
}

static void pool_destroyed_unused_ends(void **state) {
  for (int i = 0; i < 50; i++) {
    pool *p;
    assert_null(pool_create(NULL, 4, i % 2, &p));
    pool_destroy(&p);
  }
}

#ifdef RUSAGE_THREAD
static long given_up(void) {
  struct rusage u;
  return getrusage(RUSAGE_THREAD, &u) ? -1 : u.ru_nvcsw;
}

/* A yield gives the core to nobody of a lower priority, and a waiter of a real-time one starves whom it waits for. */
static void pool_long_wait_sleeps(void **state) {
  enum { TURNS = 10, LATE = 1 << 20 };
  const long before = given_up();
  for (int i = 0; i < TURNS; i++) pool_relax(LATE + i);
  assert_true(given_up() - before >= TURNS);
}
#else
static void pool_long_wait_sleeps(void **state) { skip(); }
#endif

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(pool_any_number_of_threads_runs_each_item_once),
      cmocka_unit_test(pool_other_callers_one_at_a_time_runs_each_item_once),
      cmocka_unit_test(pool_caller_changes_cores_workers_stay_apart),
      cmocka_unit_test(pool_two_at_once_do_not_disturb_each_other),
      cmocka_unit_test(pool_destroyed_unused_ends),
      cmocka_unit_test(pool_long_wait_sleeps),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
