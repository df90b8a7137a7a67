/* tests/unit/test_coll_link.c - ranks that reach each other by a link alone: threads over shared memory, as processes
 * of one machine have it, with rings so small that messages go in many pieces. Every operation by every algorithm with
 * the bits and the bytes of the definition; sums of reals with the bits of the ranks of one process; ranks that stall,
 * never come or ask for something else. */
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
#include <unistd.h>

#include <cmocka.h>

#include "core/coll/check.h"
#include "core/coll/mailbox.h"
#include "tests/support/coll_case.h"

enum { MOST = 16, RING = 256 };

typedef struct member {
  coll_box *box;
  coll_team *team;
  coll_call call;
  int32_t rank;
  tsr_status st;
  double ms;
  pthread_t thread;
} member;

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static void *run_member(void *arg) {
  member *m = arg;
  double from = now_ms();
  m->st = coll_run_rank(m->team, m->rank, &m->call);
  m->ms = now_ms() - from;
  return NULL;
}

/* Teams of n members over one piece of memory. */
static void *begin(member *m, int32_t n, size_t ring) {
  size_t bytes = coll_box_bytes(n, ring);
  void *memory = NULL;
  coll_link *link;
  assert_int_equal(posix_memalign(&memory, 64, bytes), 0);
  memset(memory, 0, bytes);
  coll_box_init(memory, n, ring);
  assert_true(coll_box_fits(memory, n, bytes) && !coll_box_fits(memory, n + 1, bytes));
  for (int32_t r = 0; r < n; r++) {
    m[r] = (member){.box = memory, .rank = r};
    assert_null(coll_box_link(NULL, memory, r, &link));
    assert_null(coll_team_create_linked(NULL, link, NULL, &m[r].team));
  }
  return memory;
}

static void run(member *m, int32_t n) {
  for (int32_t r = 0; r < n; r++) assert_int_equal(pthread_create(&m[r].thread, NULL, run_member, &m[r]), 0);
  for (int32_t r = 0; r < n; r++) pthread_join(m[r].thread, NULL);
}

static void end(member *m, int32_t n, void *memory) {
  for (int32_t r = 0; r < n; r++) {
    tsr_status_free(m[r].st);
    coll_team_destroy(&m[r].team);
  }
  free(memory);
}

/* ---- results ----------------------------------------------------------------------------------------------------- */

static void check_bytes(member *m, const coll_call *c, int32_t n, uint64_t *before) {
  coll_request q = {c->op, n, c->root, c->group};
  coll_schedule *s;
  coll_traffic traffic = {c->count, c->dtype, coll_op_get(c->op)->reduces ? c->redop : COLL_MAX, !c->any_order};
  uint64_t want[MOST * MOST] = {0};
  assert_null(coll_generate(NULL, coll_algorithm_find(NULL, c->algorithm), &q, &s));
  assert_null(coll_count_bytes(s, &traffic, want));
  for (int32_t a = 0; a < n; a++)
    for (int32_t b = 0; b < n; b++) {
      uint64_t is = coll_team_bytes(m[a].team, a, b);
      assert_int_equal(is - before[a * n + b], want[a * n + b]);
      before[a * n + b] = is;
    }
  coll_schedule_free(&s);
}

static int run_case(member *m, const coll_call *like, int32_t n, bool in_place, uint64_t *before) {
  char *memory[2 * MOST];
  int64_t bad = 0;
  for (int32_t r = 0; r < n; r++) {
    m[r].call = *like;
    memory[2 * r] = malloc(coll_case_bytes(like, n)), memory[2 * r + 1] = malloc(coll_case_bytes(like, n));
    coll_case_fill(&m[r].call, n, r, in_place, memory[2 * r], memory[2 * r + 1]);
  }
  run(m, n);
  for (int32_t r = 0; r < n; r++) {
    if (m[r].st) fail_msg("rank %d: %s", r, tsr_status_message(m[r].st));
    bad += coll_case_wrong(&m[r].call, n, r);
  }
  if (bad)
    fail_msg("%s of %d %s by %s on %d ranks%s: %d wrong", coll_op_get(like->op)->name, (int)like->count,
             tsr_dtype_name(like->dtype), like->algorithm, n, in_place ? " in place" : "", (int)bad);
  check_bytes(m, like, n, before);
  for (int32_t r = 0; r < 2 * n; r++) free(memory[r]);
  return 1;
}

static void link_every_operation_and_algorithm_has_exact_bits_and_bytes(void **state) {
  static const int32_t sizes[] = {1, 2, 3, 5, 8, 16};
  static const tsr_dtype types[] = {TSR_F32, TSR_BF16, TSR_I64, TSR_F8E4M3, TSR_U8, TSR_F64, TSR_F16, TSR_I32};
  int cases = 0;
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    int32_t n = sizes[i];
    member m[MOST];
    uint64_t before[MOST * MOST] = {0};
    void *memory = begin(m, n, RING);
    const coll_algorithm *a;
    for (int32_t k = 0; (a = coll_algorithm_at(NULL, k)); k++)
      for (int op = 0; op < N_COLL_OPS; op++) {
        coll_request q = {(coll_op)op, n, 0, 0};
        if (coll_refusal(a, &q)) continue;
        if (TSR_TEST_SLOW && n > 8 && (op + k) % 3) continue;
        coll_call c = {.op = (coll_op)op,
                       .algorithm = a->name,
                       .count = op == COLL_BARRIER ? 0 : 37 + 100 * (cases % 3),
                       .dtype = types[cases % 8],
                       .redop = (coll_redop)(cases % N_COLL_REDOPS),
                       .any_order = cases % 5 == 4};
        if (coll_op_get(c.op)->has_root) c.root = n - 1;
        cases += run_case(m, &c, n, cases % 4 == 1, before);
      }
    end(m, n, memory);
  }
  printf("%d cases\n", cases);
  assert_true(cases > 150);
}

static void link_sums_of_reals_have_the_bits_of_one_process(void **state) {
  enum { N = 5, COUNT = 1001 };
  const coll_algorithm *a;
  static float in[N][COUNT], one[N][COUNT], other[N][COUNT];
  coll_request q = {COLL_ALL_REDUCE, N, 0, 0};
  for (int32_t r = 0; r < N; r++) coll_case_reals(TSR_F32, in[r], COUNT, r);
  for (int32_t k = 0; (a = coll_algorithm_at(NULL, k)); k++) {
    if (coll_refusal(a, &q)) continue;
    member m[N];
    coll_call calls[N];
    coll_team *t;
    void *memory = begin(m, N, 4096);
    for (int32_t r = 0; r < N; r++) {
      calls[r] = (coll_call){
          .op = COLL_ALL_REDUCE, .dtype = TSR_F32, .count = COUNT, .algorithm = a->name, .in = in[r], .out = one[r]};
      m[r].call = calls[r], m[r].call.out = other[r];
    }
    assert_null(coll_team_create(NULL, N, NULL, &t));
    assert_null(coll_run_all(t, calls, 2));
    coll_team_destroy(&t);
    run(m, N);
    for (int32_t r = 0; r < N; r++) {
      assert_null(m[r].st);
      assert_memory_equal(one[r], other[r], sizeof one[r]);
    }
    end(m, N, memory);
  }
}

/* ---- faults ------------------------------------------------------------------------------------------------------ */

typedef struct fault {
  int32_t rank;
  int at;
  atomic_int seen;
  atomic_int back;
  int others;
} fault;

static void stall(void *user, int32_t rank) {
  fault *f = user;
  if (rank != f->rank || atomic_fetch_add(&f->seen, 1) != f->at) return;
  for (int i = 0; i < 5000 && atomic_load(&f->back) < f->others; i++) usleep(1000);
}

static void *run_stalling(void *arg) {
  member *m = arg;
  run_member(m);
  atomic_fetch_add(&((fault *)m->call.user)->back, 1);
  return NULL;
}

static void link_rank_that_stalls_others_return(void **state) {
  enum { N = 4, COUNT = 3000, DEADLINE = 60 };
  static const char *const names[] = {"ring", "tree", "double_tree", "halving_doubling", "direct", "hierarchical"};
  static float in[COUNT], out[N][COUNT];
  int injected = 0;
  double worst = 0;
  for (int turn = 0; turn < 60; turn++) {
    member m[N];
    fault f = {.rank = turn % N, .at = turn / 6 * 3, .others = N - 1};
    void *memory = begin(m, N, RING);
    for (int32_t r = 0; r < N; r++) {
      m[r].call = (coll_call){.op = COLL_ALL_REDUCE,
                              .dtype = TSR_F32,
                              .count = COUNT,
                              .algorithm = names[turn % 6],
                              .in = in,
                              .out = out[r],
                              .deadline_ms = DEADLINE,
                              .pause = stall,
                              .user = &f};
      assert_int_equal(pthread_create(&m[r].thread, NULL, run_stalling, &m[r]), 0);
    }
    for (int32_t r = 0; r < N; r++) pthread_join(m[r].thread, NULL);
    injected += m[f.rank].st != NULL;
    for (int32_t r = 0; r < N && m[f.rank].st; r++) {
      if (r == f.rank || !m[r].st) continue;
      worst = m[r].ms > worst ? m[r].ms : worst;
      assert_int_equal(tsr_status_code(m[r].st), TSR_TIMEOUT);
      assert_non_null(strstr(tsr_status_message(m[r].st), "all_reduce sum of 3000 f32 by "));
      assert_non_null(strstr(tsr_status_message(m[r].st), "within 60 ms"));
    }
    end(m, N, memory);
  }
  printf("%d stalls injected; the slowest survivor came back after %.0f ms with a deadline of %d ms\n", injected, worst,
         DEADLINE);
  assert_true(injected >= 20);
}

static void link_calls_that_differ_are_found_before_data_moves(void **state) {
  enum { N = 3, COUNT = 100 };
  static const struct {
    coll_call c;
    const char *says;
  } other[] = {
      {{.op = COLL_REDUCE, .dtype = TSR_F32, .count = COUNT}, "rank 2 calls reduce sum of 100 f32"},
      {{.op = COLL_ALL_REDUCE, .dtype = TSR_I32, .count = COUNT}, "rank 2 calls all_reduce sum of 100 i32"},
      {{.op = COLL_ALL_REDUCE, .dtype = TSR_F32, .count = COUNT - 1}, "rank 2 calls all_reduce sum of 99 f32"},
      {{.op = COLL_ALL_REDUCE, .dtype = TSR_F32, .redop = COLL_MAX, .count = COUNT}, "rank 2 calls all_reduce max"},
      {{.op = COLL_ALL_REDUCE, .dtype = TSR_F32, .count = COUNT, .algorithm = "ring"}, "by ring"},
      {{.op = COLL_ALL_REDUCE, .dtype = TSR_F32, .count = COUNT, .any_order = true}, "order any"},
  };
  static float in[COUNT], out[N][COUNT];
  for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
    member m[N];
    void *memory = begin(m, N, RING);
    for (int32_t r = 0; r < N; r++) {
      m[r].call = (coll_call){.op = COLL_ALL_REDUCE, .dtype = TSR_F32, .count = COUNT};
      if (r == 2) m[r].call = other[i].c;
      m[r].call.in = in, m[r].call.out = out[r];
      memset(out[r], 0x5a, sizeof out[r]);
    }
    run(m, N);
    for (int32_t r = 0; r < N; r++) {
      if (tsr_status_code(m[r].st) != TSR_COLLECTIVE_MISMATCH || !strstr(tsr_status_message(m[r].st), other[i].says))
        fail_msg("rank %d: %s", r, m[r].st ? tsr_status_message(m[r].st) : "no error");
      for (int32_t k = 0; k < N; k++) assert_int_equal(coll_team_bytes(m[r].team, r, k), 0);
      for (size_t k = 0; k < sizeof out[r]; k++) assert_int_equal(((char *)out[r])[k], 0x5a);
    }
    end(m, N, memory);
  }
}

static void link_rank_that_never_comes_is_named(void **state) {
  enum { N = 3 };
  member m[N];
  float in = 1, out[N];
  void *memory = begin(m, N, RING);
  for (int32_t r = 0; r < N; r++)
    m[r].call =
        (coll_call){.op = COLL_ALL_REDUCE, .dtype = TSR_F32, .count = 1, .in = &in, .out = &out[r], .deadline_ms = 100};
  for (int32_t r = 0; r < N; r++)
    if (r != 1) assert_int_equal(pthread_create(&m[r].thread, NULL, run_member, &m[r]), 0);
  for (int32_t r = 0; r < N; r++)
    if (r != 1) pthread_join(m[r].thread, NULL);
  for (int32_t r = 0; r < N; r += 2) {
    assert_int_equal(tsr_status_code(m[r].st), TSR_TIMEOUT);
    assert_non_null(strstr(tsr_status_message(m[r].st), "rank 1 hasn't made this call within 100 ms"));
  }
  tsr_status wrong = coll_run_rank(m[0].team, 1, &m[0].call), all = coll_run_all(m[0].team, &m[0].call, 1);
  assert_non_null(strstr(tsr_status_message(wrong), "in another process"));
  assert_non_null(strstr(tsr_status_message(all), "in other processes"));
  tsr_status_free(wrong), tsr_status_free(all);
  end(m, N, memory);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(link_every_operation_and_algorithm_has_exact_bits_and_bytes),
      cmocka_unit_test(link_sums_of_reals_have_the_bits_of_one_process),
      cmocka_unit_test(link_rank_that_stalls_others_return),
      cmocka_unit_test(link_calls_that_differ_are_found_before_data_moves),
      cmocka_unit_test(link_rank_that_never_comes_is_named),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
