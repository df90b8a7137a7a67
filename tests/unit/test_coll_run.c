/* tests/unit/test_coll_run.c - collectives between logical ranks of this process: every operation by every algorithm
 * with exact inputs against the definition, to the bit, with the bytes that the schedule says; sums of reals in the
 * fixed tree's order whatever algorithm, timing and threads. */
#define _DEFAULT_SOURCE
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/coll/check.h"
#include "core/coll/team.h"

enum { MOST = 72 };

static uint32_t next(uint32_t *seed) { return *seed = *seed * 1664525u + 1013904223u, *seed >> 8; }

/* What rank r puts in at element i: small, so that all sums and products are exact in every type. */
static int64_t input(int32_t r, int64_t i, coll_redop op, tsr_dtype t) {
  uint32_t h = (uint32_t)(r * 7919 + i * 104729 + 1) * 2654435761u;
  if (t == TSR_BOOL) return h >> 30 & 1;
  if (op == COLL_PROD) return t == TSR_U8 ? 1 : h >> 31 ? -1 : 1;
  int64_t v = (int64_t)(h >> 29) % 3 - 1;
  return t == TSR_U8 ? v + 1 : v;
}

static void put(tsr_dtype t, void *p, size_t i, int64_t v) {
  if (t == TSR_I64) ((int64_t *)p)[i] = v;
  else dtype_store(t, p, i, (double)v);
}

static int64_t reduced(const coll_call *c, int32_t n, int64_t i) {
  int64_t v = input(0, i, c->redop, c->dtype);
  for (int32_t r = 1; r < n; r++) {
    int64_t x = input(r, i, c->redop, c->dtype);
    bool any = c->dtype == TSR_BOOL && c->redop == COLL_SUM;
    switch (c->redop) {
    case COLL_PROD: v *= x; break;
    case COLL_MAX: v = x > v ? x : v; break;
    case COLL_MIN: v = x < v ? x : v; break;
    default: v = any ? v | x : v + x;
    }
  }
  return v;
}

/* The definition: what rank r has at element i of its result. */
static void expected(const coll_call *c, int32_t n, int32_t r, int64_t i, void *to) {
  int64_t at = i, block;
  switch (c->op) {
  case COLL_REDUCE_SCATTER: at += coll_split(c->count, n, r).first; break;
  case COLL_ALL_GATHER:
    for (int32_t k = 0; k < n; k++) {
      coll_range b = coll_split(c->count, n, k);
      if (i >= b.first && i < b.first + b.n) put(c->dtype, to, 0, input(k, i - b.first, c->redop, c->dtype));
    }
    return;
  case COLL_ALL_TO_ALL:
    block = coll_split(c->count, n, r).n;
    put(c->dtype, to, 0, input((int32_t)(i / block), coll_split(c->count, n, r).first + i % block, c->redop, c->dtype));
    return;
  case COLL_BROADCAST: put(c->dtype, to, 0, input(c->root, i, c->redop, c->dtype)); return;
  case COLL_SEND_RECV: put(c->dtype, to, 0, input(coll_mod(r - 1, n), i, c->redop, c->dtype)); return;
  default: break;
  }
  int64_t v = reduced(c, n, at);
  if (c->redop != COLL_MEAN) put(c->dtype, to, 0, v);
  else if (!dtype_is_float(c->dtype)) put(c->dtype, to, 0, v / n);
  else if (c->dtype == TSR_F64) *(double *)to = (double)v / n;
  else dtype_store(c->dtype, to, 0, (float)v / (float)n);
}

static void check_bytes(const coll_team *t, const coll_call *c, int32_t n) {
  coll_request q = {c->op, n, c->root, c->group};
  coll_schedule *s;
  coll_traffic traffic = {c->count, c->dtype, coll_op_get(c->op)->reduces ? c->redop : COLL_MAX, !c->any_order};
  uint64_t *want = calloc((size_t)n * (size_t)n, sizeof *want);
  assert_null(coll_generate(NULL, coll_algorithm_find(NULL, c->algorithm), &q, &s));
  assert_null(coll_count_bytes(s, &traffic, want));
  for (int32_t a = 0; a < n; a++)
    for (int32_t b = 0; b < n; b++) assert_int_equal(coll_team_bytes(t, a, b), want[a * n + b]);
  if (coll_is_exact(c->dtype, traffic.redop) || (c->any_order && c->dtype == TSR_F32)) { /* the closed form, in bytes */
    uint64_t total = 0, steps = 0;
    for (int32_t i = 0; i < n * n; i++) total += want[i];
    for (size_t i = 0; i < s->n_steps; i++)
      steps += (uint64_t)coll_chunk_elements(s, c->count, s->steps[i].chunk) * dtype_get(c->dtype)->size;
    if (traffic.redop != COLL_MEAN || c->dtype == TSR_I64) assert_int_equal(total, steps);
  }
  coll_schedule_free(&s);
  free(want);
}

/* Everything outside of the result keeps its bytes. */
static void run_case(const coll_call *like, int32_t n, bool in_place, int32_t threads) {
  coll_team *t;
  coll_call calls[MOST];
  char *memory[2 * MOST];
  size_t size = dtype_get(like->dtype)->size, most = (size_t)(like->count + 2 * n) * size + 64;
  if (like->op == COLL_ALL_TO_ALL) most += (size_t)n * size;
  assert_null(coll_team_create(NULL, n, NULL, &t));
  for (int32_t r = 0; r < n; r++) {
    calls[r] = *like;
    int64_t n_in = coll_in_elements(like->op, like->count, n, r, like->root);
    memory[2 * r] = malloc(most), memory[2 * r + 1] = malloc(most);
    memset(memory[2 * r], 0x5a, most), memset(memory[2 * r + 1], 0x5a, most);
    char *in = memory[2 * r], *out = in_place ? in : memory[2 * r + 1];
    if (in_place && like->op == COLL_ALL_GATHER) in += (size_t)coll_split(like->count, n, r).first * size;
    if (in_place && like->op == COLL_REDUCE_SCATTER) out += (size_t)coll_split(like->count, n, r).first * size;
    for (int64_t i = 0; i < n_in; i++) put(like->dtype, in, (size_t)i, input(r, i, like->redop, like->dtype));
    calls[r].in = in, calls[r].out = out;
  }
  tsr_status st = coll_run_all(t, calls, threads);
  if (st)
    printf("%s of %d %s by %s on %d ranks%s: %s\n", coll_op_get(like->op)->name, (int)like->count,
           tsr_dtype_name(like->dtype), like->algorithm, n, in_place ? " in place" : "", tsr_status_message(st));
  assert_null(st);
  for (int32_t r = 0; r < n; r++) {
    int64_t n_out = coll_out_elements(like->op, like->count, n, r, like->root);
    for (int64_t i = 0; i < n_out; i++) {
      char want[8];
      expected(like, n, r, i, want);
      if (memcmp(want, (char *)calls[r].out + (size_t)i * size, size))
        fail_msg("%s %s of %d %s by %s on %d ranks%s: rank %d, element %d", coll_op_get(like->op)->name,
                 coll_redop_name(like->redop), (int)like->count, tsr_dtype_name(like->dtype), like->algorithm, n,
                 in_place ? " in place" : "", r, (int)i);
    }
    assert_int_equal(((char *)calls[r].out)[(size_t)n_out * size] == 0x5a || in_place, 1);
    free(memory[2 * r]), free(memory[2 * r + 1]);
  }
  check_bytes(t, like, n);
  coll_team_destroy(&t);
}

static int run_matrix(const int32_t *ranks, size_t n_ranks, const tsr_dtype *types, size_t n_types) {
  static const int64_t counts[] = {33, 1, 0, 7, 100, 16, 2, 257};
  const coll_algorithm *a;
  int n = 0;
  for (int32_t i = 0; (a = coll_algorithm_at(NULL, i)); i++)
    for (int op = 0; op < N_COLL_OPS; op++)
      for (size_t k = 0; k < n_ranks; k++)
        for (size_t j = 0; j < n_types; j++)
          for (int in_place = 0; in_place < 2; in_place++) {
            coll_request q = {.op = (coll_op)op, .n_ranks = ranks[k]};
            if (coll_refusal(a, &q)) continue;
            coll_call c = {.op = q.op, .dtype = types[j], .algorithm = a->name, .count = counts[n % 8]};
            c.redop = (coll_redop)(n % N_COLL_REDOPS);
            if (c.dtype == TSR_BOOL && c.redop == COLL_MEAN) c.redop = COLL_SUM;
            if (coll_op_get(c.op)->has_root) c.root = (int32_t)(n % ranks[k]);
            c.any_order = n % 7 == 3;
            run_case(&c, ranks[k], in_place, 1 + n % 3);
            n++;
          }
  return n;
}

static void all_ops_exact_inputs_are_exact(void **state) {
  static const int32_t ranks[] = {2, 3, 5, 8, 16};
  static const tsr_dtype types[] = {TSR_F32, TSR_F64, TSR_F16, TSR_BF16, TSR_F8E4M3, TSR_I8, TSR_I32, TSR_I64};
  int n = run_matrix(ranks, 5, types, 8);
  printf("%d cases\n", n);
  assert_true(n >= 2000);
}

static void other_types_and_one_rank_are_exact(void **state) {
  static const int32_t ranks[] = {1, 4, 6};
  static const tsr_dtype types[] = {TSR_F8E5M2, TSR_TF32, TSR_I16, TSR_U8, TSR_BOOL};
  printf("%d cases\n", run_matrix(ranks, 3, types, 5));
}

static void ranks_72_on_two_threads_are_exact(void **state) {
  static const int32_t ranks[] = {72};
  static const tsr_dtype types[] = {TSR_I32};
  printf("%d cases\n", run_matrix(ranks, 1, types, 1));
}

/* ---- one order ------------------------------------------------------------------------------------------------- */

static float real(int32_t r, int64_t i) {
  uint32_t seed = (uint32_t)(r * 1000003 + i * 7919 + 17);
  float m = (float)next(&seed) / (float)(1 << 24) - 0.5f;
  return ldexpf(m, (int)(next(&seed) % 20) - 10);
}

/* The fixed tree, as its definition says, in f32. */
static float tree_sum(int32_t first, int32_t n, int64_t i, tsr_dtype t) {
  if (n == 1) {
    char x[8];
    dtype_store(t, x, 0, real(first, i));
    return (float)dtype_load(t, x, 0);
  }
  int32_t left = 1;
  while (2 * left < n) left *= 2;
  return tree_sum(first, left, i, t) + tree_sum(first + left, n - left, i, t);
}

static void nap(void *user, int32_t rank) {
  uint32_t *seed = (uint32_t *)user + rank;
  if (next(seed) % 4 == 0) usleep(next(seed) % 120);
}

static void real_sums(int32_t n, const char *algorithm, tsr_dtype t, int32_t threads, uint32_t seed) {
  enum { COUNT = 41 };
  static char in[MOST][COUNT * 4], out[MOST][COUNT * 4];
  uint32_t seeds[MOST];
  coll_team *team;
  coll_call calls[MOST];
  assert_null(coll_team_create(NULL, n, NULL, &team));
  for (int32_t r = 0; r < n; r++) {
    seeds[r] = seed * 31 + (uint32_t)r;
    for (int64_t i = 0; i < COUNT; i++) dtype_store(t, in[r], (size_t)i, real(r, i));
    calls[r] = (coll_call){.op = COLL_ALL_REDUCE, .dtype = t, .count = COUNT, .algorithm = algorithm, .in = in[r],
                           .out = out[r], .pause = seed ? nap : NULL, .user = seeds};
  }
  assert_null(coll_run_all(team, calls, threads));
  for (int64_t i = 0; i < COUNT; i++) {
    char want[8];
    size_t size = dtype_get(t)->size;
    dtype_store(t, want, 0, tree_sum(0, n, i, t));
    for (int32_t r = 0; r < n; r++) assert_memory_equal(want, out[r] + (size_t)i * size, size);
  }
  coll_team_destroy(&team);
}

static void sums_same_bits_by_every_algorithm(void **state) {
  static const int32_t ranks[] = {2, 3, 5, 6, 7, 8, 12, 13, 16, 72};
  static const tsr_dtype types[] = {TSR_F32, TSR_BF16, TSR_F16, TSR_F8E5M2};
  const coll_algorithm *a;
  for (int32_t i = 0; (a = coll_algorithm_at(NULL, i)); i++)
    for (size_t k = 0; k < sizeof ranks / sizeof *ranks && a->ops & COLL_BIT(COLL_ALL_REDUCE); k++)
      for (int t = 0; t < 4; t++) real_sums(ranks[k], a->name, types[t], 1 + (int32_t)k % 3, 0);
}

static void sums_same_bits_under_200_timings(void **state) {
  static const char *const names[] = {"ring", "tree", "double_tree", "halving_doubling", "direct", "hierarchical"};
  for (uint32_t seed = 1; seed <= 200; seed++)
    real_sums(2 + (int32_t)(seed % 7), names[seed % 6], TSR_F32, 1 + (int32_t)(seed % 5), seed);
}

/* ---- values at the edges ---------------------------------------------------------------------------------------- */

static void reduce_two(tsr_dtype t, coll_redop op, const void *a, const void *b, void *out) {
  coll_team *team;
  char other[8];
  coll_call calls[2] = {{.op = COLL_ALL_REDUCE, .dtype = t, .redop = op, .count = 1, .in = a, .out = out},
                        {.op = COLL_ALL_REDUCE, .dtype = t, .redop = op, .count = 1, .in = b, .out = other}};
  assert_null(coll_team_create(NULL, 2, NULL, &team));
  assert_null(coll_run_all(team, calls, 2));
  assert_memory_equal(out, other, dtype_get(t)->size);
  coll_team_destroy(&team);
}

static void integers_wrap_and_keep_their_range(void **state) {
  int64_t a = INT64_MAX, b = 2, x;
  reduce_two(TSR_I64, COLL_SUM, &a, &b, &x), assert_true(x == INT64_MIN + 1);
  reduce_two(TSR_I64, COLL_MIN, &a, &b, &x), assert_true(x == 2);
  a = (1ll << 53) + 1, b = 1ll << 53;
  reduce_two(TSR_I64, COLL_MAX, &a, &b, &x), assert_true(x == a);
  a = -7, b = 2;
  reduce_two(TSR_I64, COLL_MEAN, &a, &b, &x), assert_true(x == -2);
  int8_t p = 100, q = 100, y;
  reduce_two(TSR_I8, COLL_SUM, &p, &q, &y), assert_int_equal(y, -56);
  reduce_two(TSR_I8, COLL_MEAN, &p, &q, &y), assert_int_equal(y, 100);
  uint8_t u = 255, v = 3, w;
  reduce_two(TSR_U8, COLL_PROD, &u, &v, &w), assert_int_equal(w, 253);
  reduce_two(TSR_U8, COLL_MAX, &u, &v, &w), assert_int_equal(w, 255);
}

static void floats_nan_zero_and_overflow_are_defined(void **state) {
  float a = NAN, b = 1, x;
  reduce_two(TSR_F32, COLL_MAX, &a, &b, &x), assert_true(isnan(x));
  reduce_two(TSR_F32, COLL_MIN, &b, &a, &x), assert_true(isnan(x));
  a = -0.0f, b = 0.0f;
  reduce_two(TSR_F32, COLL_MAX, &a, &b, &x), assert_false(signbit(x));
  reduce_two(TSR_F32, COLL_MIN, &b, &a, &x), assert_true(signbit(x));
  a = INFINITY, b = -INFINITY;
  reduce_two(TSR_F32, COLL_SUM, &a, &b, &x), assert_true(isnan(x));
  uint16_t h = dtype_f32_to_f16(60000), g = dtype_f32_to_f16(60000), y;
  reduce_two(TSR_F16, COLL_MEAN, &h, &g, &y), assert_int_equal(y, h); /* the sum would be infinite in f16 */
}

/* Copies past the caches (core/coll/value.c) of odd lengths to odd addresses. */
static void large_copies_end_where_they_should(void **state) {
  enum { LONG = (1 << 21) + 1 };
  static const int extra[] = {0, 2, 7, 63, 64};
  char *in = malloc(LONG + 64), *out = malloc(LONG + 128), small[2] = {0};
  for (int i = 0; i < LONG + 64; i++) in[i] = (char)(i * 131 >> 3);
  for (int k = 0; k < 5; k++)
    for (int shift = 0; shift < 17; shift += 4) {
      coll_team *t;
      coll_call calls[2] = {{.op = COLL_BROADCAST, .dtype = TSR_I8, .count = LONG + extra[k], .in = in, .out = in},
                            {.op = COLL_BROADCAST, .dtype = TSR_I8, .count = LONG + extra[k], .in = small}};
      calls[1].out = out + 16 + shift;
      memset(out, 0x5a, LONG + 128);
      assert_null(coll_team_create(NULL, 2, NULL, &t));
      assert_null(coll_run_all(t, calls, 2));
      assert_memory_equal(out + 16 + shift, in, (size_t)(LONG + extra[k]));
      assert_true(out[15 + shift] == 0x5a && out[16 + shift + LONG + extra[k]] == 0x5a);
      coll_team_destroy(&t);
    }
  free(in), free(out);
}

/* Calls follow each other on one team, with schedules kept and made anew. */
static void team_many_calls_in_a_row_are_right(void **state) {
  enum { N = 5 };
  static const char *const names[] = {"ring", "direct", "tree", "halving_doubling", "double_tree", "hierarchical"};
  coll_team *t;
  int32_t in[N], out[N];
  coll_call calls[N];
  assert_null(coll_team_create(NULL, N, NULL, &t));
  for (int turn = 0; turn < 200; turn++) {
    for (int r = 0; r < N; r++) {
      in[r] = turn * 10 + r;
      calls[r] = (coll_call){.op = COLL_ALL_REDUCE, .dtype = TSR_I32, .count = 1, .algorithm = names[turn % 6],
                             .in = &in[r], .out = &out[r]};
    }
    assert_null(coll_run_all(t, calls, 1 + turn % 3));
    for (int r = 0; r < N; r++) assert_int_equal(out[r], turn * 50 + 10);
  }
  coll_team_destroy(&t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(all_ops_exact_inputs_are_exact),
      cmocka_unit_test(other_types_and_one_rank_are_exact),
      cmocka_unit_test(ranks_72_on_two_threads_are_exact),
      cmocka_unit_test(sums_same_bits_by_every_algorithm),
      cmocka_unit_test(sums_same_bits_under_200_timings),
      cmocka_unit_test(integers_wrap_and_keep_their_range),
      cmocka_unit_test(floats_nan_zero_and_overflow_are_defined),
      cmocka_unit_test(large_copies_end_where_they_should),
      cmocka_unit_test(team_many_calls_in_a_row_are_right),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
