/* tests/unit/test_coll_nccl.c - the transports nccl and rccl over a library of the same binary interface whose devices
 * are threads (tests/fake/fake_nccl.c): every operation and type on a stream, blocks of different lengths, calls that
 * differ, that the library hasn't, that fail, and ranks that don't come: the others end by their deadlines. */
#define _DEFAULT_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tessera/coll.h"
#include "tests/support/coll_ranks.h"

enum { N = COLL_RANKS };

#define LIBRARY TSR_BINARY_DIR "/tests/libfakenccl.so"

static int *fail_next, *open_now;

static void on_ranks(const char *transport, void *(*fn)(void *)) {
  coll_ranks_run(transport, N, true, fn);
  assert_int_equal(*open_now, 0);
}

/* ---- results ----------------------------------------------------------------------------------------------------- */

static void *results(void *arg) {
  static const tsr_dtype types[] = {TSR_F32, TSR_F64, TSR_I8, TSR_U8, TSR_I32, TSR_I64, TSR_BOOL};
  coll_rank *m = arg;
  if (!coll_rank_begin(m, 0)) return NULL;
  coll_rank_identity(m);
  int k = 0;
  for (int op = 0; op < COLL_BARRIER; op++)
    for (int t = 0; t < 7; t++)
      for (int even = 0; even < 2; even++, k++) {
        coll_redop redop = (coll_redop)(k % N_COLL_REDOPS);
        if (redop == COLL_MEAN && !dtype_is_float(types[t])) redop = COLL_SUM;
        coll_rank_case(m,
                       (coll_call){.op = (coll_op)op,
                                   .dtype = types[t],
                                   .redop = redop,
                                   .count = even ? 4 * 25 : 37,
                                   .root = coll_op_get((coll_op)op)->has_root ? k % N : 0},
                       false);
      }
  tsr_team_destroy(&m->team);
  return NULL;
}

static void every_operation_and_type_is_right_on_a_stream(void **state) {
  on_ranks("nccl", results);
  on_ranks("rccl", results);
}

/* ---- refusals ---------------------------------------------------------------------------------------------------- */

static void *refusals(void *arg) {
  static const coll_rank_refusal of_library[] = {
      {TSR_COLL_ALL_REDUCE, TSR_I16, TSR_SUM, "doesn't have the type"},
      {TSR_COLL_ALL_REDUCE, TSR_I32, TSR_MEAN, "no mean of integers"},
      {TSR_COLL_BARRIER, TSR_I32, TSR_MEAN, "has no barrier"},
  };
  coll_rank *m = arg;
  if (!coll_rank_begin(m, 0)) return NULL;
  coll_rank_refusals(m, of_library, 3, "on its stream");
  tsr_team_destroy(&m->team);
  return NULL;
}

static void calls_that_differ_or_cant_be_done_are_refused(void **state) { on_ranks("nccl", refusals); }

static void team_without_parent_says_what_it_needs(void **state) { coll_rank_needs_parent("nccl"); }

/* ---- faults ------------------------------------------------------------------------------------------------------ */

static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;

/* One rank's library fails, the others' calls are on their streams and wait for it. */
static void *one_fails(void *arg) {
  coll_rank *m = arg;
  float x[4] = {0};
  const tsr_coll c = coll_rank_call(m, x);
  if (!coll_rank_begin(m, 2000)) return NULL;
  pthread_mutex_lock(&one); /* the first to post is the one that fails */
  pthread_mutex_unlock(&one);
  tsr_status st = tsr_team_run(m->team, m->rank, &c);
  if (st) {
    coll_rank_expect(m, st, TSR_LAUNCH_FAILED, "all_reduce sum of 4 f32");
  } else {
    coll_rank_expect(m, tsr_team_sync(m->team, m->stream, 150), TSR_TIMEOUT, "the stream isn't done within 150 ms");
    coll_rank_expect(m, tsr_team_run(m->parent, m->rank, &(tsr_coll){.op = TSR_N_COLL_OPS}), TSR_INVALID_ARGUMENT,
                     "operation");
    coll_rank_expect(m, tsr_team_sync(m->team, m->stream, 150), TSR_CANCELLED, "was aborted");
  }
  tsr_team_destroy(&m->team);
  return NULL;
}

static void call_that_fails_on_one_rank_ends_on_all(void **state) {
  for (int i = 0; i < 5; i++) {
    *fail_next = 3;
    on_ranks("nccl", one_fails);
    assert_int_equal(*fail_next, 0);
  }
}

static void rank_that_does_not_call_is_named(void **state) { on_ranks("nccl", coll_rank_one_is_missing); }

static int set_up(void **state) {
  setenv("TSR_NCCL", LIBRARY, 1), setenv("TSR_LIBCUDA", LIBRARY, 1);
  setenv("TSR_RCCL", LIBRARY, 1), setenv("TSR_LIBHIP", LIBRARY, 1);
  void *lib = dlopen(LIBRARY, RTLD_NOW);
  if (!lib) return printf("%s\n", dlerror()), -1;
  fail_next = dlsym(lib, "fake_nccl_fail"), open_now = dlsym(lib, "fake_nccl_open");
  return fail_next && open_now ? 0 : -1;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_operation_and_type_is_right_on_a_stream),
      cmocka_unit_test(calls_that_differ_or_cant_be_done_are_refused),
      cmocka_unit_test(team_without_parent_says_what_it_needs),
      cmocka_unit_test(call_that_fails_on_one_rank_ends_on_all),
      cmocka_unit_test(rank_that_does_not_call_is_named),
  };
  return cmocka_run_group_tests(tests, set_up, NULL);
}
