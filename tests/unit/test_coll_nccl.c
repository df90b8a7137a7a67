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
#include "tests/support/coll_case.h"

enum { N = 4 };

#define LIBRARY TSR_BINARY_DIR "/tests/libfakenccl.so"

typedef struct member {
  tsr_team *parent, *team;
  const char *transport;
  int rank, cases, wrong;
  char text[600], stream; /* its address is the stream */
} member;

static int *fail_next, *open_now;

static void wrong(member *m, const char *what, tsr_status st) {
  if (!m->wrong++)
    snprintf(m->text, sizeof m->text, "rank %d: %s: %s", m->rank, what, st ? tsr_status_message(st) : "");
  tsr_status_free(st);
}

static void expect(member *m, tsr_status st, tsr_code code, const char *says) {
  if (tsr_status_code(st) == code && strstr(tsr_status_message(st), says)) tsr_status_free(st);
  else wrong(m, says, st);
}

static bool begin(member *m, int64_t deadline_ms) {
  tsr_status st = tsr_team_create(
      &(tsr_team_desc){
          .transport = m->transport, .parent = m->parent, .parent_rank = m->rank, .deadline_ms = deadline_ms},
      &m->team);
  if (st) wrong(m, "create", st);
  return m->team != NULL;
}

static void on_ranks(const char *transport, void *(*fn)(void *)) {
  member m[N];
  pthread_t threads[N];
  tsr_team *parent;
  assert_null(tsr_team_create(&(tsr_team_desc){.n_ranks = N}, &parent));
  for (int r = 0; r < N; r++) {
    m[r] = (member){.parent = parent, .transport = transport, .rank = r};
    assert_int_equal(pthread_create(&threads[r], NULL, fn, &m[r]), 0);
  }
  for (int r = 0; r < N; r++) pthread_join(threads[r], NULL);
  for (int r = 0; r < N; r++)
    if (m[r].wrong) fail_msg("%d wrong: %s", m[r].wrong, m[r].text);
  tsr_team_destroy(&parent);
  assert_int_equal(*open_now, 0);
}

/* ---- results ----------------------------------------------------------------------------------------------------- */

static void one_case(member *m, coll_call c) {
  char what[120];
  char *in = malloc(coll_case_bytes(&c, N)), *out = malloc(coll_case_bytes(&c, N));
  coll_case_fill(&c, N, m->rank, false, in, out);
  const tsr_coll call = {.op = (tsr_coll_op)c.op,
                         .dtype = c.dtype,
                         .redop = (tsr_redop)c.redop,
                         .count = c.count,
                         .root = c.root,
                         .any_order = true,
                         .in = c.in,
                         .out = c.out,
                         .stream = &m->stream};
  snprintf(what, sizeof what, "%s of %d %s", coll_op_get(c.op)->name, (int)c.count, tsr_dtype_name(c.dtype));
  tsr_status st = tsr_team_run(m->team, m->rank, &call);
  if (!st) st = tsr_team_sync(m->team, &m->stream, 0);
  if (st) wrong(m, what, st);
  else if (coll_case_wrong(&c, N, m->rank)) wrong(m, what, NULL);
  free(in), free(out);
}

static void *results(void *arg) {
  static const tsr_dtype types[] = {TSR_F32, TSR_F64, TSR_I8, TSR_U8, TSR_I32, TSR_I64, TSR_BOOL};
  member *m = arg;
  if (!begin(m, 0)) return NULL;
  if (tsr_team_size(m->team) != N || tsr_team_rank(m->team) != m->rank ||
      strcmp(tsr_team_path(m->team, 0), m->transport))
    wrong(m, "what the team says of itself", NULL);
  int k = 0;
  for (int op = 0; op < COLL_BARRIER; op++)
    for (int t = 0; t < 7; t++)
      for (int even = 0; even < 2; even++, k++) {
        coll_redop redop = (coll_redop)(k % N_COLL_REDOPS);
        if (redop == COLL_MEAN && !dtype_is_float(types[t])) redop = COLL_SUM;
        one_case(m, (coll_call){.op = (coll_op)op,
                                .dtype = types[t],
                                .redop = redop,
                                .count = even ? 4 * 25 : 37,
                                .root = coll_op_get((coll_op)op)->has_root ? k % N : 0});
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
  member *m = arg;
  float x[4] = {0};
  tsr_coll c = {.op = TSR_COLL_ALL_REDUCE, .dtype = TSR_F32, .count = 4, .in = x, .out = x, .stream = &m->stream};
  tsr_pending *p;
  tsr_team *sub;
  int at;
  if (!begin(m, 0)) return NULL;
  expect(m, tsr_team_run(m->team, m->rank, &c), TSR_UNSUPPORTED, "ask for any_order");
  c.any_order = true, c.dtype = TSR_I16;
  expect(m, tsr_team_run(m->team, m->rank, &c), TSR_UNSUPPORTED, "doesn't have the type");
  c.dtype = TSR_I32, c.redop = TSR_MEAN;
  expect(m, tsr_team_run(m->team, m->rank, &c), TSR_UNSUPPORTED, "no mean of integers");
  c.op = TSR_COLL_BARRIER;
  expect(m, tsr_team_run(m->team, m->rank, &c), TSR_UNSUPPORTED, "has no barrier");
  c = (tsr_coll){.op = TSR_COLL_ALL_REDUCE,
                 .dtype = TSR_F32,
                 .count = 4 - (m->rank == 2),
                 .any_order = true,
                 .in = x,
                 .out = x,
                 .stream = &m->stream};
  expect(m, tsr_team_run(m->team, m->rank, &c), TSR_COLLECTIVE_MISMATCH, "rank 2 calls all_reduce sum of 3 f32");
  c.algorithm = "ring";
  expect(m, tsr_team_run(m->team, m->rank, &c), TSR_INVALID_ARGUMENT, "chooses its algorithms itself");
  expect(m, tsr_team_start(m->team, m->rank, &c, &p), TSR_INVALID_ARGUMENT, "on its stream");
  expect(m, tsr_team_split(m->team, m->rank, 0, 0, &sub, &at), TSR_INVALID_ARGUMENT, "split the parent");
  expect(m, tsr_team_run(m->team, (m->rank + 1) % N, &c), TSR_INVALID_ARGUMENT, "no such rank");
  expect(m, tsr_team_leave(m->team, m->rank), TSR_INVALID_ARGUMENT, "");
  c = (tsr_coll){.op = TSR_COLL_BROADCAST, .dtype = TSR_F32, .count = 4, .in = x, .out = x, .stream = &m->stream};
  tsr_status st = tsr_team_run(m->team, m->rank, &c); /* the team goes on */
  if (!st) st = tsr_team_sync(m->team, &m->stream, 0);
  if (st) wrong(m, "a call behind those that were refused", st);
  tsr_team_destroy(&m->team);
  return NULL;
}

static void calls_that_differ_or_cant_be_done_are_refused(void **state) { on_ranks("nccl", refusals); }

static void library_that_is_missing_says_so(void **state) {
  tsr_team *t;
  tsr_status st = tsr_team_create(&(tsr_team_desc){.transport = "nccl"}, &t);
  assert_non_null(strstr(tsr_status_message(st), "needs `parent`"));
  assert_null(t);
  tsr_status_free(st);
}

/* ---- faults ------------------------------------------------------------------------------------------------------ */

static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;

/* One rank's library fails, the others' calls are on their streams and wait for it. */
static void *one_fails(void *arg) {
  member *m = arg;
  float x[4] = {0};
  const tsr_coll c = {.op = TSR_COLL_ALL_REDUCE,
                      .dtype = TSR_F32,
                      .count = 4,
                      .any_order = true,
                      .in = x,
                      .out = x,
                      .stream = &m->stream};
  if (!begin(m, 2000)) return NULL;
  pthread_mutex_lock(&one); /* the first to post is the one that fails */
  pthread_mutex_unlock(&one);
  tsr_status st = tsr_team_run(m->team, m->rank, &c);
  if (st) {
    expect(m, st, TSR_LAUNCH_FAILED, "all_reduce sum of 4 f32");
  } else {
    expect(m, tsr_team_sync(m->team, &m->stream, 150), TSR_TIMEOUT, "the stream isn't done within 150 ms");
    expect(m, tsr_team_run(m->parent, m->rank, &(tsr_coll){.op = TSR_N_COLL_OPS}), TSR_INVALID_ARGUMENT, "operation");
    expect(m, tsr_team_sync(m->team, &m->stream, 150), TSR_CANCELLED, "was aborted");
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

/* A rank that doesn't call is found before anything is on a stream. */
static void *one_is_missing(void *arg) {
  member *m = arg;
  float x[4] = {0};
  if (!begin(m, 2000)) return NULL;
  if (m->rank != 1)
    expect(m,
           tsr_team_run(m->team, m->rank,
                        &(tsr_coll){.op = TSR_COLL_ALL_REDUCE,
                                    .dtype = TSR_F32,
                                    .count = 4,
                                    .any_order = true,
                                    .in = x,
                                    .out = x,
                                    .stream = &m->stream,
                                    .deadline_ms = 100}),
           TSR_TIMEOUT, "rank 1 hasn't made this call within 100 ms");
  tsr_team_destroy(&m->team);
  return NULL;
}

static void rank_that_does_not_call_is_named(void **state) { on_ranks("nccl", one_is_missing); }

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
      cmocka_unit_test(library_that_is_missing_says_so),
      cmocka_unit_test(call_that_fails_on_one_rank_ends_on_all),
      cmocka_unit_test(rank_that_does_not_call_is_named),
  };
  return cmocka_run_group_tests(tests, set_up, NULL);
}
