/* What a graph op's row says of its iteration space: extents, operations and bytes from the index expression. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "core/ir/graph/ops.h"
#include "tests/support/graph_text.h"

static const char *line(const char *op) {
  static char text[200];
  const int n = (int)strcspn(op, "(");
  snprintf(text, sizeof text, "%%0 = \"tessera.graph.%.*s\"%s", n, op, op + n);
  return text;
}

/* The iteration space follows from the row's index expression: what it is with an op's attributes, the extents (those
 * of reduced axes behind the result's), operations and bytes. */
static void space_follows_index_expression(void **state) {
  static const struct {
    const char *args, *op, *type, *index;
    int n, reduced;
    int64_t extent[5];
    double flops, bytes;
  } cases[] = {
      {"%a: tensor<7x2x3xf32>, %b: tensor<3x5xf32>",
       "matmul(%a, %b)",
       "7x2x5xf32",
       "*mk,*kn->*mn",
       4,
       1,
       {7, 2, 5, 3},
       420,
       4 * (42 + 15 + 70)},
      {"%a: tensor<3x2xf16>, %b: tensor<5x3xf16>",
       "matmul(%a, %b) {transpose_a = true, transpose_b = true}",
       "2x5xf16",
       "*km,*nk->*mn",
       3,
       1,
       {2, 5, 3},
       60,
       2 * (6 + 15 + 10)},
      {"%a: tensor<2x3xf32>, %b: tensor<3xf32>", "add(%a, %b)", "2x3xf32", "*,*->*", 2, 0, {2, 3}, 6, 4 * (6 + 3 + 6)},
      {"%a: tensor<2x3x4xf32>", "reduce_sum(%a) {axes = [0, 2]}", "3xf32", "*r->*", 3, 2, {3, 2, 4}, 24, 4 * (24 + 3)},
      {"%a: tensor<2x3xf32>, %g: tensor<3xf32>, %b: tensor<3xf32>",
       "layernorm(%a, %g, %b)",
       "2x3xf32",
       "*n,n,n->*n",
       2,
       0,
       {2, 3},
       6,
       4 * (6 + 3 + 3 + 6)},
      {"%a: tensor<2x3xi8>, %b: tensor<4x3xi8>", "concat(%a, %b)", "6x3xi8", "", 2, 0, {6, 3}, 18, 6 + 12 + 18},
      {"", "iota() {shape = [2, 3]}", "2x3xi32", "", 2, 0, {2, 3}, 0, 4 * 6},
      {"%a: tensor<2x3xf32>", "clip(%a) {min = 0, max = 6}", "2x3xf32", "", 2, 0, {2, 3}, 6 + 6, 4 * (6 + 6)},
      {"%a: tensor<900x3xf32>, %b: tensor<4xi32>", "embedding(%a, %b)", "4x3xf32", "", 2, 0, {4, 3}, 0, 4 * (12 + 4 + 12)},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char type[100], index[64];
    graph_space s;
    int reduced = 0;
    snprintf(type, sizeof type, "tensor<%s>", cases[i].type);
    ir_module *m = gt_parse(gt_func(cases[i].args, line(cases[i].op), "%0", type));
    const ir_op *op = graph_find_func(m, NULL)->regions[0]->first;
    graph_index(op, index, sizeof index);
    assert_string_equal(index, cases[i].index);
    assert_true(graph_space_of(op, &s));
    assert_int_equal(s.n, cases[i].n);
    for (int k = 0; k < s.n; k++) assert_int_equal(s.extent[k], cases[i].extent[k]), reduced += s.reduced[k];
    assert_int_equal(reduced, cases[i].reduced);
    assert_true(s.flops == cases[i].flops && s.bytes == cases[i].bytes);
    ir_module_destroy(&m);
  }
  ir_module *m = gt_parse(gt_func("%a: tensor<?x3xf32>", line("exp(%a)"), "%0", "tensor<?x3xf32>"));
  graph_space s;
  assert_false(graph_space_of(graph_find_func(m, NULL)->regions[0]->first, &s));
  ir_module_destroy(&m);
}

/* What graph_contract_get reads from an index expression: of two operands the first has the result's last axis but one,
 * the second the last, and each the summed one; which attributes turn round. */
static void contractions_are_products_of_two_matrices(void **state) {
  int seen = 0;
  for (int c = 0; c < G_N_CODES; c++) {
    const graph_row *r = graph_def((graph_code)c)->ext;
    char a[3], b[3], y[3];
    if (r->kind != GRAPH_CONTRACTION) continue;
    if (sscanf(r->index, "*%2[a-z],*%2[a-z]->*%2[a-z]", a, b, y) != 3) fail_msg("\"%s\"", r->index);
    const char k = strchr(y, a[0]) ? a[1] : a[0];
    assert_null(strchr(y, k));
    assert_non_null(strchr(a, y[0]));
    assert_non_null(strchr(b, y[1]));
    assert_non_null(strchr(b, k));
    seen++;
  }
  assert_true(seen > 0);
  for (int i = 0; i < 16; i++) { /* set from each state to each other */
    ir_module *m =
        gt_parse(gt_func("%a: tensor<4x4xf32>, %b: tensor<4x4xf32>", line("matmul(%a, %b)"), "%0", "tensor<4x4xf32>"));
    ir_op *op = graph_find_func(m, NULL)->regions[0]->first;
    assert_true(graph_orient(op, i & 1, i & 2) && graph_orient(op, i & 4, i & 8));
    graph_contract g = graph_contract_get(op);
    assert_int_equal(g.transpose_a, (i & 4) != 0);
    assert_int_equal(g.transpose_b, (i & 8) != 0);
    ir_module_destroy(&m);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(space_follows_index_expression),
      cmocka_unit_test(contractions_are_products_of_two_matrices),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
