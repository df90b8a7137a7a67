/* tests/unit/test_coll_ucc.c - the transport ucc over a library of the same binary interface (tests/fake/fake_ucc.c),
 * and, where UCC is installed, over that in a process of its own: every operation and type, in place and not, blocks of
 * different lengths, calls that differ, that the library hasn't, that fail, and ranks that don't come: the others end
 * by their deadlines. */
#define _DEFAULT_SOURCE
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tessera/coll.h"
#include "tests/support/coll_ranks.h"

enum { N = COLL_RANKS };

#define LIBRARY TSR_BINARY_DIR "/tests/libfakeucc.so"

static int *fail_next, *open_now; /* NULL: the real one */

static int on_ranks(int n, int left_open, void *(*fn)(void *)) {
  const int open = open_now ? *open_now : 0;
  const int cases = coll_ranks_run("ucc", n, false, fn);
  if (open_now) assert_int_equal(*open_now - open, left_open);
  return cases;
}

/* ---- results ----------------------------------------------------------------------------------------------------- */

/* fp8 only where nothing is added up. */
static void *results(void *arg) {
  static const tsr_dtype types[] = {TSR_F32, TSR_F64, TSR_I8, TSR_U8, TSR_I16, TSR_I32, TSR_I64, TSR_BOOL, TSR_F8E4M3};
  static const int counts[] = {100, 37, 3, 1, 0};
  coll_rank *m = arg;
  if (!coll_rank_begin(m, 0)) return NULL;
  const int n = tsr_team_size(m->team);
  coll_rank_identity(m);
  int k = 0;
  for (int op = 0; op < N_COLL_OPS; op++)
    for (int t = 0; t < 9; t++)
      for (int size = 0; size < 5; size++, k++) {
        coll_redop redop = (coll_redop)(k % N_COLL_REDOPS);
        bool reduces = coll_op_get((coll_op)op)->reduces;
        if (redop == COLL_MEAN && !dtype_is_float(types[t])) redop = COLL_SUM;
        if (reduces && types[t] == TSR_F8E4M3) continue;
        coll_rank_case(m,
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
  static const coll_rank_refusal of_library[] = {
      {TSR_COLL_ALL_REDUCE, TSR_F8E4M3, TSR_SUM, "doesn't add up the type"},
      {TSR_COLL_ALL_REDUCE, TSR_I32, TSR_MEAN, "no mean of integers"},
  };
  coll_rank *m = arg;
  if (!coll_rank_begin(m, 0)) return NULL;
  coll_rank_refusals(m, of_library, 2, "are run, not started");
  float x[4];
  char stream;
  tsr_coll c = coll_rank_call(m, x);
  c.stream = &stream;
  coll_rank_expect(m, tsr_team_run(m->team, m->rank, &c), TSR_INVALID_ARGUMENT, "works on host memory");
  tsr_team_destroy(&m->team);
  return NULL;
}

static void calls_that_differ_or_cant_be_done_are_refused(void **state) { on_ranks(N, 0, refusals); }

static void team_without_parent_says_what_it_needs(void **state) { coll_rank_needs_parent("ucc"); }

/* ---- faults ------------------------------------------------------------------------------------------------------ */

/* One rank's library fails, the others' calls wait for it until their deadline; their engines are used no more. */
static float waited_in[N][4];
static tsr_team *volatile left; /* that of the rank which failed: closing is for all */
static void *one_fails(void *arg) {
  coll_rank *m = arg;
  tsr_coll c = coll_rank_call(m, waited_in[m->rank]); /* the library may reach for it later */
  c.deadline_ms = 200;
  if (!coll_rank_begin(m, 2000)) return NULL;
  tsr_status st = tsr_team_run(m->team, m->rank, &c);
  if (tsr_status_code(st) == TSR_LAUNCH_FAILED) {
    coll_rank_expect(m, st, TSR_LAUNCH_FAILED, "all_reduce sum of 4 f32");
    left = m->team;
    return NULL;
  }
  coll_rank_expect(m, st, TSR_TIMEOUT, "all_reduce sum of 4 f32: it isn't done within 200 ms");
  tsr_team_destroy(&m->team);
  return NULL;
}

static void call_that_fails_on_one_rank_ends_on_all(void **state) {
  if (!fail_next) skip();
  *fail_next = -6;
  on_ranks(N, N, one_fails);
  assert_int_equal(*fail_next, 0);
}

static void rank_that_does_not_call_is_named(void **state) {
  if (!fail_next) skip();
  on_ranks(N, 0, coll_rank_one_is_missing);
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
