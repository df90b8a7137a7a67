/* tests/unit/test_coll_ucc.c - the transport ucc over a library of the same binary interface (tests/fake/fake_ucc.c),
 * and, where UCC is installed, over that in a process of its own: every operation and type, in place and not, blocks of
 * different lengths, calls that differ, that the library hasn't, that fail, and ranks that don't come: the others end
 * by their deadlines. */
#define _DEFAULT_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tessera/coll.h"
#include "tests/support/coll_case.h"

enum { N = 4 };

#define LIBRARY TSR_BINARY_DIR "/tests/libfakeucc.so"

typedef struct member {
  tsr_team *parent, *team;
  int rank, cases, wrong;
  char text[600];
} member;

static int *fail_next, *open_now; /* NULL: the real one */

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
      &(tsr_team_desc){.transport = "ucc", .parent = m->parent, .parent_rank = m->rank, .deadline_ms = deadline_ms},
      &m->team);
  if (st) wrong(m, "create", st);
  return m->team != NULL;
}

static int on_ranks(int n, int left_open, void *(*fn)(void *)) {
  member m[N];
  pthread_t threads[N];
  tsr_team *parent;
  int cases = 0;
  assert_null(tsr_team_create(&(tsr_team_desc){.n_ranks = n}, &parent));
  const int open = open_now ? *open_now : 0;
  for (int r = 0; r < n; r++) {
    m[r] = (member){.parent = parent, .rank = r};
    assert_int_equal(pthread_create(&threads[r], NULL, fn, &m[r]), 0);
  }
  for (int r = 0; r < n; r++) pthread_join(threads[r], NULL);
  for (int r = 0; r < n; r++) {
    if (m[r].wrong) fail_msg("%d wrong: %s", m[r].wrong, m[r].text);
    cases += m[r].cases;
  }
  tsr_team_destroy(&parent);
  if (open_now) assert_int_equal(*open_now - open, left_open);
  return cases;
}

/* ---- results ----------------------------------------------------------------------------------------------------- */

static void one_case(member *m, coll_call c, bool in_place) {
  char what[120];
  const int n = tsr_team_size(m->team);
  char *in = malloc(coll_case_bytes(&c, n)), *out = malloc(coll_case_bytes(&c, n));
  coll_case_fill(&c, n, m->rank, in_place, in, out);
  const tsr_coll call = {.op = (tsr_coll_op)c.op,
                         .dtype = c.dtype,
                         .redop = (tsr_redop)c.redop,
                         .count = c.count,
                         .root = c.root,
                         .any_order = true,
                         .in = c.in,
                         .out = c.out};
  snprintf(what, sizeof what, "%s %s of %d %s%s", coll_op_get(c.op)->name, coll_redop_name(c.redop), (int)c.count,
           tsr_dtype_name(c.dtype), in_place ? " in place" : "");
  tsr_status st = tsr_team_run(m->team, m->rank, &call);
  if (st) wrong(m, what, st);
  else if (coll_case_wrong(&c, n, m->rank)) wrong(m, what, NULL);
  m->cases++;
  free(in), free(out);
}

/* fp8 only where nothing is added up. */
static void *results(void *arg) {
  static const tsr_dtype types[] = {TSR_F32, TSR_F64, TSR_I8, TSR_U8, TSR_I16, TSR_I32, TSR_I64, TSR_BOOL, TSR_F8E4M3};
  static const int counts[] = {100, 37, 3, 1, 0};
  member *m = arg;
  if (!begin(m, 0)) return NULL;
  const int n = tsr_team_size(m->team);
  if (tsr_team_rank(m->team) != m->rank || strcmp(tsr_team_path(m->team, 0), "ucc"))
    wrong(m, "what the team says of itself", NULL);
  int k = 0;
  for (int op = 0; op < N_COLL_OPS; op++)
    for (int t = 0; t < 9; t++)
      for (int size = 0; size < 5; size++, k++) {
        coll_redop redop = (coll_redop)(k % N_COLL_REDOPS);
        bool reduces = coll_op_get((coll_op)op)->reduces;
        if (redop == COLL_MEAN && !dtype_is_float(types[t])) redop = COLL_SUM;
        if (reduces && types[t] == TSR_F8E4M3) continue;
        one_case(m,
                 (coll_call){.op = (coll_op)op,
                             .dtype = types[t],
                             .redop = redop,
                             .count = op == COLL_BARRIER ? 0 : counts[size],
                             .root = coll_op_get((coll_op)op)->has_root ? k % n : 0},
                 k % 3 == 1);
      }
  tsr_team_destroy(&m->team);
  return NULL;
}

static void every_operation_and_type_is_right(void **state) {
  int cases = on_ranks(N, 0, results);
  assert_in_range(cases, 1000, 2000);
  on_ranks(3, 0, results);
  on_ranks(1, 0, results);
  printf("%d cases on %d ranks\n", cases, N);
}

/* ---- refusals ---------------------------------------------------------------------------------------------------- */

static void *refusals(void *arg) {
  member *m = arg;
  float x[4] = {0};
  char stream;
  tsr_coll c = {.op = TSR_COLL_ALL_REDUCE, .dtype = TSR_F32, .count = 4, .in = x, .out = x};
  tsr_pending *p;
  tsr_team *sub;
  int at;
  if (!begin(m, 0)) return NULL;
  expect(m, tsr_team_run(m->team, m->rank, &c), TSR_UNSUPPORTED, "ask for any_order");
  c.any_order = true, c.dtype = TSR_F8E4M3;
  expect(m, tsr_team_run(m->team, m->rank, &c), TSR_UNSUPPORTED, "doesn't add up the type");
  c.dtype = TSR_I32, c.redop = TSR_MEAN;
  expect(m, tsr_team_run(m->team, m->rank, &c), TSR_UNSUPPORTED, "no mean of integers");
  c.redop = TSR_SUM, c.stream = &stream;
  expect(m, tsr_team_run(m->team, m->rank, &c), TSR_INVALID_ARGUMENT, "works on host memory");
  c = (tsr_coll){
      .op = TSR_COLL_ALL_REDUCE, .dtype = TSR_F32, .count = 4 - (m->rank == 2), .any_order = true, .in = x, .out = x};
  expect(m, tsr_team_run(m->team, m->rank, &c), TSR_COLLECTIVE_MISMATCH, "rank 2 calls all_reduce sum of 3 f32");
  c.algorithm = "ring";
  expect(m, tsr_team_run(m->team, m->rank, &c), TSR_INVALID_ARGUMENT, "chooses its algorithms itself");
  c.algorithm = NULL, c.wire = TSR_BF16;
  expect(m, tsr_team_run(m->team, m->rank, &c), TSR_INVALID_ARGUMENT, "the library's own algorithms");
  c.wire = 0;
  expect(m, tsr_team_start(m->team, m->rank, &c, &p), TSR_INVALID_ARGUMENT, "are run, not started");
  expect(m, tsr_team_split(m->team, m->rank, 0, 0, &sub, &at), TSR_INVALID_ARGUMENT, "split the parent");
  expect(m, tsr_team_run(m->team, (m->rank + 1) % N, &c), TSR_INVALID_ARGUMENT, "no such rank");
  expect(m, tsr_team_leave(m->team, m->rank), TSR_INVALID_ARGUMENT, "");
  c = (tsr_coll){.op = TSR_COLL_BROADCAST, .dtype = TSR_F32, .count = 4, .in = x, .out = x};
  tsr_status st = tsr_team_run(m->team, m->rank, &c); /* the team goes on */
  if (!st) st = tsr_team_sync(m->team, NULL, 0);
  if (st) wrong(m, "a call behind those that were refused", st);
  tsr_team_destroy(&m->team);
  return NULL;
}

static void calls_that_differ_or_cant_be_done_are_refused(void **state) { on_ranks(N, 0, refusals); }

static void team_without_parent_says_what_it_needs(void **state) {
  tsr_team *t;
  tsr_status st = tsr_team_create(&(tsr_team_desc){.transport = "ucc"}, &t);
  assert_non_null(strstr(tsr_status_message(st), "needs `parent`"));
  assert_null(t);
  tsr_status_free(st);
}

/* ---- faults ------------------------------------------------------------------------------------------------------ */

/* One rank's library fails, the others' calls wait for it until their deadline; their engines are used no more. */
static float waited_in[N][4];
static tsr_team *volatile left; /* that of the rank which failed: closing is for all */
static void *one_fails(void *arg) {
  member *m = arg;
  float *x = waited_in[m->rank]; /* the library may reach for it later */
  const tsr_coll c = {.op = TSR_COLL_ALL_REDUCE,
                      .dtype = TSR_F32,
                      .count = 4,
                      .any_order = true,
                      .in = x,
                      .out = x,
                      .deadline_ms = 200};
  if (!begin(m, 2000)) return NULL;
  tsr_status st = tsr_team_run(m->team, m->rank, &c);
  if (tsr_status_code(st) == TSR_LAUNCH_FAILED) {
    expect(m, st, TSR_LAUNCH_FAILED, "all_reduce sum of 4 f32");
    left = m->team;
    return NULL;
  }
  expect(m, st, TSR_TIMEOUT, "all_reduce sum of 4 f32: it isn't done within 200 ms");
  tsr_team_destroy(&m->team);
  return NULL;
}

static void call_that_fails_on_one_rank_ends_on_all(void **state) {
  if (!fail_next) skip();
  *fail_next = -6;
  on_ranks(N, N, one_fails);
  assert_int_equal(*fail_next, 0);
}

/* A rank that doesn't call is found before anything is begun. */
static pthread_barrier_t all_have_returned;
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
                                    .deadline_ms = 100}),
           TSR_TIMEOUT, "rank 1 hasn't made this call within 100 ms");
  pthread_barrier_wait(&all_have_returned);
  tsr_team_destroy(&m->team); /* by the parent, which is stopped: without waiting */
  return NULL;
}

static void rank_that_does_not_call_is_named(void **state) {
  if (!fail_next) skip();
  assert_int_equal(pthread_barrier_init(&all_have_returned, NULL, N), 0);
  on_ranks(N, 0, one_is_missing);
  pthread_barrier_destroy(&all_have_returned);
}

/* The real library, where there is one, in a process of its own: what it loads stays apart from the fake's names. */
static void library_that_is_installed_does_the_same(void **state) {
  if (!fail_next) skip();
  void *lib = dlopen("libucc.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (!lib) {
    printf("no libucc.so.1 here\n");
    skip();
  }
  char command[4200];
  ssize_t n = readlink("/proc/self/exe", command + 40, sizeof command - 100);
  assert_in_range(n, 1, 4000);
  command[40 + n] = 0;
  char full[4300];
  snprintf(full, sizeof full, "TSR_UCC=libucc.so.1 timeout 120 '%s'", command + 40);
  assert_int_equal(system(full), 0);
}

static int set_up(void **state) {
  if (!getenv("TSR_UCC")) { /* else it is the real one's turn */
    setenv("TSR_UCC", LIBRARY, 1);
    void *lib = dlopen(LIBRARY, RTLD_NOW);
    if (!lib) return printf("%s\n", dlerror()), -1;
    fail_next = dlsym(lib, "fake_ucc_fail"), open_now = dlsym(lib, "fake_ucc_open");
    return fail_next && open_now ? 0 : -1;
  }
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_operation_and_type_is_right),
      cmocka_unit_test(calls_that_differ_or_cant_be_done_are_refused),
      cmocka_unit_test(team_without_parent_says_what_it_needs),
      cmocka_unit_test(call_that_fails_on_one_rank_ends_on_all),
      cmocka_unit_test(rank_that_does_not_call_is_named),
      cmocka_unit_test(library_that_is_installed_does_the_same),
  };
  return cmocka_run_group_tests(tests, set_up, NULL);
}
