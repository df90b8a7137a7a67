/* tests/unit/test_matrix_instr.c - the rows of matrix instructions hold together, and a row that doesn't is found; what
 * architectures list is what the rows offer them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/device/arch.h"
#include "core/device/matrix_instr.h"
#include "core/ir/ir.h"

static void rows_hold_together(void **state) {
  int n;
  const matrix_instr *rows = matrix_instr_rows(&n);
  const char *why = matrix_instr_check(rows, n);
  if (why) fail_msg("%s", why);
}

/* Each mistake in a copy of one good row. */
static void mistakes_in_a_row_are_found(void **state) {
  int n;
  const matrix_instr *rows = matrix_instr_rows(&n), *good = rows;
  while (good->kind != MATRIX_MFMA || good->m != 16) good++;
  assert_null(matrix_instr_check(good, 1));
  lane_map map[3];
  matrix_instr bad;
#define FOUND(mistake)                                                                                                 \
  do {                                                                                                                 \
    bad = *good, memcpy(map, good->map, sizeof map), bad.map = map;                                                    \
    mistake;                                                                                                           \
    assert_non_null(matrix_instr_check(&bad, 1));                                                                      \
  } while (0)
  FOUND(map[MATRIX_A].lanes[0] = 8);
  FOUND(map[MATRIX_C].vec[0] = 1; map[MATRIX_C].lanes[0] = 2);
  FOUND(map[MATRIX_B].vec[1] = 1; map[MATRIX_B].lanes[1] = 2);
  FOUND(bad.k = 2 * good->k);
  FOUND(bad.operand = "float");
  FOUND(bad.acc = "double");
  FOUND(bad.archs = "gfx90a");
  FOUND(bad.b = TSR_F64);
  FOUND(bad.rates[0] = 0);
  FOUND(bad.rates[3] = 1024); /* of three architectures */
#undef FOUND
  const matrix_instr twice[2] = {*good, *good};
  assert_non_null(matrix_instr_check(twice, 2));
}

/* The verifier finds an op's kind by its name, and a printed kernel gives no value the name of a wrapper. */
static void kinds_are_found_by_their_names(void **state) {
  for (matrix_kind kind = 0; kind < N_MATRIX_KINDS; kind++) {
    char op[64];
    snprintf(op, sizeof op, "tessera.target.%s", matrix_kind_get(kind)->name);
    assert_int_equal(matrix_kind_named(matrix_kind_get(kind)->name), kind);
    assert_non_null(ir_find_op(op));
  }
  assert_int_equal(matrix_kind_named("fma"), N_MATRIX_KINDS);
  assert_int_equal(matrix_kind_named(""), N_MATRIX_KINDS);
}

/* By AMD's and NVIDIA's documents: one element of each kind of map, worked out by hand. */
static void elements_lie_as_documented(void **state) {
  static const struct {
    matrix_kind kind;
    int m, n, k;
    tsr_dtype in;
    const char *arch;
    matrix_operand of;
    int lane, e, at[2];
  } list[] = {
      {MATRIX_MMA, 16, 8, 16, TSR_F16, "sm_80", MATRIX_A, 5, 7, {9, 11}}, /* g 1, c 1, register 3, its second half */
      {MATRIX_MMA, 16, 8, 16, TSR_F16, "sm_80", MATRIX_B, 5, 3, {1, 11}},
      {MATRIX_MMA, 16, 8, 16, TSR_F16, "sm_80", MATRIX_C, 5, 3, {9, 3}},
      {MATRIX_WGMMA, 64, 256, 16, TSR_BF16, "sm_90a", MATRIX_C, 37, 6, {16 + 1 + 8, 8 + 2}}, /* warp 1, lane 5 */
      {MATRIX_MFMA, 16, 16, 16, TSR_BF16, "gfx942", MATRIX_A, 17, 2, {1, 6}},
      {MATRIX_MFMA, 16, 16, 16, TSR_BF16, "gfx942", MATRIX_C, 17, 2, {6, 1}},
      {MATRIX_MFMA, 16, 16, 4, TSR_F64, "gfx90a", MATRIX_C, 17, 2, {9, 1}},
      {MATRIX_MFMA, 32, 32, 8, TSR_F16, "gfx90a", MATRIX_C, 33, 9, {21, 1}},
      {MATRIX_WMMA, 16, 16, 16, TSR_F16, "gfx1100", MATRIX_A, 17, 9, {1, 9}},
      {MATRIX_WMMA, 16, 16, 16, TSR_F16, "gfx1100", MATRIX_C, 17, 3, {7, 1}},
      {MATRIX_WMMA, 16, 16, 16, TSR_F16, "gfx1201", MATRIX_A, 17, 5, {1, 13}},
      {MATRIX_WMMA, 16, 16, 16, TSR_I8, "gfx1201", MATRIX_A, 17, 5, {1, 13}},
      {MATRIX_WMMA, 16, 16, 16, TSR_I8, "gfx1201", MATRIX_C, 17, 3, {11, 1}},
  };
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    int at[2];
    const matrix_instr *x =
        matrix_instr_find(list[i].kind, list[i].m, list[i].n, list[i].k, list[i].in, list[i].in, list[i].arch);
    assert_non_null(x);
    matrix_instr_place(x, list[i].of, list[i].lane, list[i].e, at);
    if (at[0] != list[i].at[0] || at[1] != list[i].at[1]) fail_msg("case %d: %d, %d", (int)i, at[0], at[1]);
  }
}

/* The shapes that plans choose from, and the order in which the first of a type counts. */
static void architectures_list_what_rows_offer(void **state) {
  static const struct { tsr_dialect d; const char *arch; int n; int first[3]; tsr_dtype a; } list[] = {
      {DIALECT_CUDA, "sm_80", 5, {16, 8, 16}, TSR_BF16},  {DIALECT_CUDA, "sm_89", 7, {16, 8, 16}, TSR_BF16},
      {DIALECT_CUDA, "sm_90a", 25, {64, 256, 16}, TSR_BF16}, {DIALECT_HIP, "gfx90a", 7, {16, 16, 16}, TSR_BF16},
      {DIALECT_HIP, "gfx942", 10, {16, 16, 16}, TSR_BF16}, {DIALECT_HIP, "gfx950", 12, {16, 16, 32}, TSR_BF16},
      {DIALECT_HIP, "gfx1100", 3, {16, 16, 16}, TSR_BF16}, {DIALECT_HIP, "gfx1201", 5, {16, 16, 16}, TSR_BF16}};
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    tsr_caps c;
    assert_null(arch_caps_of(list[i].d, list[i].arch, &c));
    assert_int_equal(c.n_matrix, list[i].n);
    const tsr_matrix_shape *s = &c.matrix[0];
    assert_true(s->m == list[i].first[0] && s->n == list[i].first[1] && s->k == list[i].first[2] && s->a == list[i].a);
    for (int k = 0; k < c.n_matrix; k++) {
      s = &c.matrix[k];
      assert_true(s->enabled && s->a == s->b);
      if (s->scope == SCOPE_SUBGROUP)
        assert_non_null(matrix_instr_for(&c, c.dialect == DIALECT_CUDA ? MATRIX_MMA
                                             : c.subgroup == 64        ? MATRIX_MFMA
                                                                       : MATRIX_WMMA,
                                         s->m, s->n, s->k, s->a, s->b, s->c));
    }
  }
}

/* The deepest that divides k; a demoted one is not chosen; two fp8 types go where one is listed. */
static void choice_takes_the_deepest_enabled(void **state) {
  tsr_caps c;
  assert_null(arch_caps_of(DIALECT_HIP, "gfx950", &c));
  assert_int_equal(matrix_instr_for(&c, MATRIX_MFMA, 16, 16, 128, TSR_I8, TSR_I8, TSR_I32)->k, 64);
  assert_int_equal(matrix_instr_for(&c, MATRIX_MFMA, 16, 16, 96, TSR_I8, TSR_I8, TSR_I32)->k, 32);
  assert_int_equal(matrix_instr_for(&c, MATRIX_MFMA, 16, 16, 128, TSR_F8E4M3, TSR_F8E5M2, TSR_F32)->k, 128);
  assert_null(matrix_instr_for(&c, MATRIX_MFMA, 16, 16, 16, TSR_I8, TSR_I8, TSR_I32));
  for (int i = 0; i < c.n_matrix; i++)
    if (c.matrix[i].a == TSR_I8 && c.matrix[i].k == 64) c.matrix[i].enabled = false;
  assert_int_equal(matrix_instr_for(&c, MATRIX_MFMA, 16, 16, 128, TSR_I8, TSR_I8, TSR_I32)->k, 32);
  c.n_matrix = 0;
  assert_null(matrix_instr_for(&c, MATRIX_MFMA, 16, 16, 128, TSR_I8, TSR_I8, TSR_I32));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows_hold_together), cmocka_unit_test(mistakes_in_a_row_are_found),
      cmocka_unit_test(kinds_are_found_by_their_names),
      cmocka_unit_test(elements_lie_as_documented), cmocka_unit_test(architectures_list_what_rows_offer),
      cmocka_unit_test(choice_takes_the_deepest_enabled)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
