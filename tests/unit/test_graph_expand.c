/* Tests of the pass that puts what they stand for in the place of composite ops: its trace, dimensions that aren't
 * known, derivatives, random equations, calls that make no sense. What the ops mean is test_graph_compose.c's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/ir/graph/expand.h"
#include "core/passes/graph/expand_ops.h"
#include "tests/support/graph_text.h"
#include "tessera/tessera.h"

#define OP(r, name, args) "%" r " = \"tessera.graph." name "\"(" args ")\n"
#define OPA(r, name, args, attrs) "%" r " = \"tessera.graph." name "\"(" args ") {" attrs "}\n"

static void expansion_stands_in_the_trace_at_its_line(void **state) {
  ir_module *m = gt_parse(gt_func("%a: tensor<5x7xf32>", OPA("y", "clip", "%a", "min = 1.0, max = 2.0"), "%y",
                                 "tensor<5x7xf32>"));
  pass_trace t;
  strb b;
  trace_init(&t, NULL);
  strb_init(&b, NULL);
  assert_null(graph_expand_module(m, &(pass_options){.trace = &t}));
  trace_print(&b, &t);
  assert_string_equal(strb_text(&b),
                      "expand_ops: expand fired at tessera.graph.clip %y (line 4): expanded clip into 4 ops\n");
  assert_string_equal(graph_find_func(m, NULL)->regions[0]->last->operands[0]->name, "y");
  strb_clear(&b);
  trace_clear(&t);
  ir_module_destroy(&m);
}

static void unknown_dimension_leaves_the_op_as_it_is(void **state) {
  ir_module *m = gt_parse(gt_func("%a: tensor<?x7xf32>", OP("y", "tril", "%a"), "%y", "tensor<?x7xf32>"));
  pass_trace t;
  trace_init(&t, NULL);
  assert_null(graph_expand_module(m, &(pass_options){.trace = &t}));
  assert_true(graph_has_composite(graph_find_func(m, NULL)));
  assert_int_equal(trace_count(&t, "expand", false), 1);
  trace_clear(&t);
  ir_module_destroy(&m);
}

static void gradient_of_a_composite_op_holds_none(void **state) {
  tsr_context *ctx;
  tsr_graph *g, *d;
  tsr_value x, y[2], sum;
  char *text;
  assert_null(tsr_context_create(&(tsr_context_desc){.cache_dir = ""}, &ctx));
  assert_null(tsr_graph_create(ctx, NULL, &g));
  assert_null(tsr_graph_input(g, "x", TSR_F32, (tsr_shape){2, {4, 6}}, &x));
  tsr_attr axis = TSR_INT("axis", 1), low = TSR_FLOAT("min", 0.5);
  assert_null(tsr_graph_op_results(g, "split", &x, 1, &axis, 1, y, 2));
  assert_null(tsr_graph_op(g, "clip", &y[1], 1, &low, 1, &y[1]));
  assert_null(tsr_graph_op(g, "reduce_sum", &y[1], 1, NULL, 0, &sum));
  assert_null(tsr_graph_output(g, sum));
  assert_null(tsr_graph_print(g, &text));
  assert_non_null(strstr(text, "tessera.graph.split"));
  tsr_text_free(ctx, &text);
  assert_null(tsr_graph_grad(g, &x, 1, &d));
  assert_null(tsr_graph_print(d, &text));
  assert_null(strstr(strstr(text, "\"main_grad\"") ? text : "", "tessera.graph.clip\"(%x)"));
  tsr_text_free(ctx, &text);
  tsr_graph_destroy(&d);
  tsr_graph_destroy(&g);
  tsr_context_destroy(&ctx);
}

/* Equations with random characters: refused by a line, or expanded into ops that keep all rules. */
static void any_equation_is_refused_or_expanded(void **state) {
  static const char alphabet[] = "aabbccddZ .,->1";
  static const char *const forms[] = {"##,###",          "##,###->##",      "##,###->",
                                      "...#,#...->#...", "..., #...->#...", "########"};
  unsigned seed = 1;
  int taken = 0;
  for (int i = 0; i < 20000; i++) {
    char equation[24], body[200];
    snprintf(equation, sizeof equation, "%s", forms[i % 6]);
    for (char *c = equation; (c = strchr(c, '#'));)
      *c = alphabet[((seed = seed * 1664525u + 1013904223u) >> 16) % (sizeof alphabet - 1)];
    snprintf(body, sizeof body, "%%0 = \"tessera.graph.einsum\"(%%a, %%b) {equation = \"%s\"}\n", equation);
    const char *text = gt_func("%a: tensor<2x2xf32>, %b: tensor<2x1x2xf32>", body, "%a", "tensor<2x2xf32>");
    ir_module *m;
    tsr_status st = ir_parse(NULL, text, strlen(text), "test", &m);
    if (!st) {
      taken++;
      st = graph_expand_module(m, NULL);
      if (st) fail_msg("%s: %s", equation, tsr_status_message(st));
      ir_module_destroy(&m);
    }
    tsr_status_free(st);
  }
  assert_true(taken > 50);
}

static void wrong_number_of_results_is_told(void **state) {
  tsr_context *ctx;
  tsr_graph *g;
  tsr_value x, y[3] = {7, 7, 7};
  assert_null(tsr_context_create(&(tsr_context_desc){.cache_dir = ""}, &ctx));
  assert_null(tsr_graph_create(ctx, NULL, &g));
  assert_null(tsr_graph_input(g, "x", TSR_F32, (tsr_shape){2, {4, 6}}, &x));
  tsr_status st = tsr_graph_op_results(g, "exp", &x, 1, NULL, 0, y, 2);
  assert_int_equal(tsr_status_code(st), TSR_VERIFY_ERROR);
  assert_true(gt_says(tsr_status_message(st), "has 1 results, not 2"));
  tsr_status_free(st);
  assert_int_equal(y[0] + y[1], 0);
  st = tsr_graph_op_results(g, "split", &x, 1, NULL, 0, y, 3);
  assert_true(gt_says(tsr_status_message(st), "4 elements in 3 equal parts"));
  tsr_status_free(st);
  tsr_attr nan = TSR_FLOAT("max", NAN);
  st = tsr_graph_op(g, "clip", &x, 1, &nan, 1, y);
  assert_true(gt_says(tsr_status_message(st), "max is NaN"));
  tsr_status_free(st);
  st = tsr_graph_op_results(g, "split", &x, 1, NULL, 0, y, 0);
  assert_int_equal(tsr_status_code(st), TSR_INVALID_ARGUMENT);
  tsr_status_free(st);
  tsr_graph_destroy(&g);
  tsr_context_destroy(&ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(expansion_stands_in_the_trace_at_its_line),
      cmocka_unit_test(unknown_dimension_leaves_the_op_as_it_is),
      cmocka_unit_test(gradient_of_a_composite_op_holds_none),
      cmocka_unit_test(any_equation_is_refused_or_expanded),
      cmocka_unit_test(wrong_number_of_results_is_told),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
