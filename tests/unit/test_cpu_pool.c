/* The CPU backend's thread pool: every item runs once, worker numbers are distinct at any moment, for any number of threads, bound or not,
 * from any caller. Run under the thread sanitizer too. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "backends/cpu/pool.h"

enum { MAX_ITEMS = 300, MAX_THREADS = 9 };

typedef struct job {
  _Atomic int seen[MAX_ITEMS], inside[MAX_THREADS];
  _Atomic int clashes, out_of_range;
  int n_workers;
} job;

static void item(void *arg, int64_t i, int worker) {
  job *j = arg;
  if (worker < 0 || worker >= j->n_workers) {
    j->out_of_range++;
    return;
  }
  if (j->inside[worker]++) j->clashes++;
  j->seen[i]++;
  for (volatile int spin = 0; spin < 200; spin++) {
  }
  j->inside[worker]--;
}

static void run_jobs(pool *p, int n_jobs) {
  for (int k = 0; k < n_jobs; k++) {
    job j = {.n_workers = pool_size(p)};
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
  assert_null(pool_create(NULL, pool_n_cores(), true, &p));
  for (int k = 0; k < 4; k++) {
    pthread_t t;
    assert_int_equal(pthread_create(&t, NULL, other_caller, p), 0);
    pthread_join(t, NULL);
    run_jobs(p, 20);
  }
  pool_destroy(&p);
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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(pool_any_number_of_threads_runs_each_item_once),
      cmocka_unit_test(pool_other_callers_one_at_a_time_runs_each_item_once),
      cmocka_unit_test(pool_two_at_once_do_not_disturb_each_other),
      cmocka_unit_test(pool_destroyed_unused_ends),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
