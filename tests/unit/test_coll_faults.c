/* tests/unit/test_coll_faults.c - ranks that stall, leave, never come, ask for something else or run out of memory: the
 * others return with an error that names the cause while the faulty one still stands, and nobody touches their memory
 * afterwards (each frees its own at once; the address and the thread sanitizer look on). */
#define _DEFAULT_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "core/coll/team.h"

enum { N = 5, COUNT = 3000 };

static const char *const names[] = {"ring", "tree", "double_tree", "halving_doubling", "direct", "hierarchical"};

typedef struct rig {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  coll_team *team;
  int n_back;              /* ranks that have returned */
  int32_t faulty;
  int at, seen;            /* the step at which the faulty rank stalls */
} rig;

typedef struct member {
  rig *r;
  int32_t rank;
  coll_call call;
  tsr_status st;
  double ms;
  bool absent;
} member;

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* The faulty rank stands still until all others have returned: if they waited for it, the test would hang. */
static void stall(void *user, int32_t rank) {
  rig *r = user;
  if (rank != r->faulty || r->seen++ != r->at) return;
  pthread_mutex_lock(&r->lock);
  while (r->n_back < N - 1) pthread_cond_wait(&r->changed, &r->lock);
  pthread_mutex_unlock(&r->lock);
}

static void *run_member(void *arg) {
  member *m = arg;
  if (m->absent) return NULL;
  float *in = calloc(COUNT, sizeof *in), *out = calloc(COUNT, sizeof *out);
  m->call.in = in, m->call.out = out;
  double from = now_ms();
  m->st = coll_run_rank(m->r->team, m->rank, &m->call);
  m->ms = now_ms() - from;
  free(in), free(out); /* at once */
  pthread_mutex_lock(&m->r->lock);
  m->r->n_back++;
  pthread_cond_broadcast(&m->r->changed);
  pthread_mutex_unlock(&m->r->lock);
  return NULL;
}

static void begin(rig *r, member m[N], const coll_call *like) {
  *r = (rig){.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER, .faulty = -1};
  assert_null(coll_team_create(NULL, N, NULL, &r->team));
  for (int32_t k = 0; k < N; k++) m[k] = (member){.r = r, .rank = k, .call = *like};
}

static void run(member m[N]) {
  pthread_t threads[N];
  for (int k = 0; k < N; k++) assert_int_equal(pthread_create(&threads[k], NULL, run_member, &m[k]), 0);
  for (int k = 0; k < N; k++) pthread_join(threads[k], NULL);
}

static void end(rig *r, member m[N]) {
  for (int k = 0; k < N; k++) tsr_status_free(m[k].st);
  coll_team_destroy(&r->team);
}

static void expect(const member *m, tsr_code code, const char *says) {
  if (tsr_status_code(m->st) != code || !strstr(tsr_status_message(m->st), says))
    fail_msg("rank %d: %s, expected \"%s\"", m->rank, m->st ? tsr_status_message(m->st) : "no error", says);
}

static coll_call sum_by(const char *algorithm, int64_t deadline) {
  return (coll_call){
      .op = COLL_ALL_REDUCE, .dtype = TSR_F32, .count = COUNT, .algorithm = algorithm, .deadline_ms = deadline};
}

static void rank_that_stalls_others_return(void **state) {
  int injected = 0;
  double worst = 0;
  for (int turn = 0; turn < 60; turn++) { /* at every phase of the call, by every algorithm */
    coll_call c = sum_by(names[turn % 6], 60);
    rig r;
    member m[N];
    begin(&r, m, &c);
    r.faulty = turn % N, r.at = turn / 6 * 2;
    for (int k = 0; k < N; k++) m[k].call.pause = stall, m[k].call.user = &r;
    run(m);
    for (int k = 0; k < N; k++) worst = k != r.faulty && m[k].ms > worst ? m[k].ms : worst;
    if (m[r.faulty].st) { /* else it stalled behind all that others need, or had fewer steps */
      injected++;
      int named = 0;
      for (int k = 0; k < N; k++) {
        if (!m[k].st) continue; /* through before */
        named++;
        expect(&m[k], TSR_TIMEOUT, "within 60 ms");
        expect(&m[k], TSR_TIMEOUT, "all_reduce sum of 3000 f32 by ");
      }
      assert_true(named > 1);
      tsr_status again = coll_run_rank(r.team, 0, &c); /* at once: nothing waits on a broken team */
      assert_non_null(again);
      tsr_status_free(again);
    }
    end(&r, m);
  }
  printf("%d stalls injected; the slowest survivor came back after %.0f ms with a deadline of 60 ms\n", injected,
         worst);
  assert_true(injected >= 20);
}

static void rank_that_never_comes_is_named(void **state) {
  coll_call c = sum_by("ring", 2000);
  rig r;
  member m[N];
  begin(&r, m, &c);
  m[3].absent = true;
  run(m);
  for (int k = 0; k < N; k++)
    if (k != 3) expect(&m[k], TSR_TIMEOUT, "rank 3 hasn't made this call within 2000 ms");
  end(&r, m);
}

static void rank_that_leaves_others_dont_wait(void **state) {
  coll_call c = sum_by("direct", 600000);
  rig r;
  member m[N];
  begin(&r, m, &c);
  m[1].absent = true;
  coll_team_leave(r.team, 1);
  run(m);
  for (int k = 0; k < N; k++)
    if (k != 1) expect(&m[k], TSR_CANCELLED, "rank 1 makes no more calls");
  end(&r, m);
}

static void calls_that_differ_are_found_before_data_moves(void **state) {
  const struct { coll_call c; const char *says; } other[] = {
      {{.op = COLL_REDUCE, .dtype = TSR_F32, .count = COUNT}, "rank 2 calls reduce sum of 3000 f32"},
      {{.op = COLL_ALL_REDUCE, .dtype = TSR_I32, .count = COUNT}, "rank 2 calls all_reduce sum of 3000 i32"},
      {{.op = COLL_ALL_REDUCE, .dtype = TSR_F32, .count = COUNT - 1}, "rank 2 calls all_reduce sum of 2999 f32"},
      {{.op = COLL_ALL_REDUCE, .dtype = TSR_F32, .redop = COLL_MAX, .count = COUNT}, "rank 2 calls all_reduce max"},
      {{.op = COLL_ALL_REDUCE, .dtype = TSR_F32, .count = COUNT, .algorithm = "ring"}, "by ring"},
      {{.op = COLL_ALL_REDUCE, .dtype = TSR_F32, .count = COUNT, .any_order = true}, "order any"},
  };
  for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
    coll_call c = sum_by("direct", 600000);
    rig r;
    member m[N];
    begin(&r, m, &c);
    m[2].call = other[i].c, m[2].call.deadline_ms = 600000;
    run(m);
    for (int k = 0; k < N; k++) expect(&m[k], TSR_COLLECTIVE_MISMATCH, other[i].says);
    for (int k = 0; k < N * N; k++) assert_int_equal(coll_team_bytes(r.team, k / N, k % N), 0);
    end(&r, m);
  }
}

static void calls_impossible_are_refused_on_all_ranks(void **state) {
  const struct { coll_call c; tsr_code code; const char *says; } bad[] = {
      {{.op = COLL_ALL_REDUCE, .dtype = TSR_BOOL, .redop = COLL_MEAN, .count = 1}, TSR_INVALID_ARGUMENT, "isn't defined"},
      {{.op = COLL_ALL_REDUCE, .dtype = TSR_F32, .count = -1}, TSR_INVALID_ARGUMENT, "count"},
      {{.op = COLL_ALL_REDUCE, .dtype = TSR_F32, .count = INT64_MAX}, TSR_INVALID_ARGUMENT, "count"},
      {{.op = COLL_ALL_REDUCE, .dtype = (tsr_dtype)77, .count = 1}, TSR_INVALID_ARGUMENT, "data type"},
      {{.op = (coll_op)9, .dtype = TSR_F32, .count = 1}, TSR_INVALID_ARGUMENT, "no such operation"},
      {{.op = COLL_BROADCAST, .dtype = TSR_F32, .count = 1, .root = N}, TSR_INVALID_ARGUMENT, "root"},
      {{.op = COLL_ALL_REDUCE, .dtype = TSR_F32, .count = 1, .algorithm = "bruck"}, TSR_UNSUPPORTED, "combines nothing"},
      {{.op = COLL_ALL_REDUCE, .dtype = TSR_F32, .count = 1, .algorithm = "x"}, TSR_NOT_FOUND, "no algorithm \"x\""},
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    rig r;
    member m[N];
    begin(&r, m, &bad[i].c);
    run(m);
    for (int k = 0; k < N; k++) expect(&m[k], bad[i].code, bad[i].says);
    end(&r, m);
  }
}

/* Memory that runs out at the k-th allocation and stays out. */
typedef struct meter { atomic_int left; atomic_int open; } meter;

static void *metered(void *user, size_t size, size_t align) {
  meter *m = user;
  void *p = NULL;
  if (atomic_fetch_sub(&m->left, 1) <= 0 || posix_memalign(&p, align < 16 ? 16 : align, size)) return NULL;
  atomic_fetch_add(&m->open, 1);
  return p;
}

static void metered_free(void *user, void *p, size_t size, size_t align) {
  atomic_fetch_sub(&((meter *)user)->open, 1);
  free(p);
}

static void memory_that_runs_out_is_an_error(void **state) {
  int failed = 0, passed = 0;
  for (int k = 0; k < 600 && passed < 12; k++) {
    meter mt = {k, 0};
    tsr_allocator al = {metered, metered_free, &mt};
    float in[3][12] = {{1}}, out[3][12];
    coll_call calls[3];
    for (int r = 0; r < 3; r++)
      calls[r] = (coll_call){
          .op = COLL_ALL_REDUCE, .dtype = TSR_F32, .count = 12, .algorithm = names[k % 6], .in = in[r], .out = out[r]};
    coll_team *t = NULL;
    tsr_status st = coll_team_create(&al, 3, NULL, &t);
    if (!st) st = coll_run_all(t, calls, 1 + k % 2);
    if (st) assert_int_equal(tsr_status_code(st), TSR_OUT_OF_MEMORY), failed++;
    else passed++;
    tsr_status_free(st);
    coll_team_destroy(&t);
    assert_int_equal(atomic_load(&mt.open), 0);
  }
  printf("%d runs out of memory\n", failed);
  assert_true(failed > 30 && passed == 12);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rank_that_stalls_others_return),
      cmocka_unit_test(rank_that_never_comes_is_named),
      cmocka_unit_test(rank_that_leaves_others_dont_wait),
      cmocka_unit_test(calls_that_differ_are_found_before_data_moves),
      cmocka_unit_test(calls_impossible_are_refused_on_all_ranks),
      cmocka_unit_test(memory_that_runs_out_is_an_error),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
