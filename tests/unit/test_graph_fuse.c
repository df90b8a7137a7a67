/* Tests of fusion: how many kernels, of which family, why not fewer; each program computes what its graph does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/ir/schedule/schedule.h"
#include "core/passes/graph/fuse.h"
#include "core/passes/schedule/from_graph.h"
#include "tests/support/graph_text.h"

static char families[512]; /* "matmul row ..." of the last program */
static pass_trace trace;

static ir_module *lower(const ir_module *m, const char *disable) {
  ir_module *s;
  trace_clear(&trace);
  trace_init(&trace, NULL);
  tsr_status st = graph_to_schedule(m, &(pass_options){.disable = disable, .trace = &trace}, &s);
  if (st) fail_msg("%s", tsr_status_message(st));
  families[0] = 0;
  for (ir_op *o = s->root->regions[0]->first->regions[0]->first; o; o = o->next)
    if (o->def->level == IR_SCHEDULE && o->def->code == S_KERNEL) {
      if (*families) strcat(families, " ");
      strcat(families, ir_get_str(o, "family", "?"));
    }
  return s;
}

/* Lowers the text, compares the families, and the values with the graph's. */
static void expect(const char *text, const char *disable, const char *want) {
  ir_module *m = gt_parse(text), *s = lower(m, disable), *flat = gt_flatten(s);
  if (strcmp(families, want)) {
    strb b;
    strb_init(&b, NULL);
    ir_print(&b, s);
    trace_print(&b, &trace);
    fail_msg("families '%s', wanted '%s'\n%s", families, want, strb_text(&b));
  }
  assert_true(gt_same(graph_find_func(m, NULL), graph_find_func(flat, NULL), 7, -2, 2));
  ir_module_destroy(&flat);
  ir_module_destroy(&s);
  ir_module_destroy(&m);
}

static bool reason(const char *rule, const char *text) {
  for (size_t i = 0; i < trace.n; i++)
    if (!trace.v[i].fired && !strcmp(trace.v[i].rule, rule) && strstr(trace.v[i].reason, text)) return true;
  strb b;
  strb_init(&b, NULL);
  trace_print(&b, &trace);
  fprintf(stderr, "no refusal of %s with '%s' in:\n%s", rule, text, strb_text(&b));
  strb_clear(&b);
  return false;
}

#define OP(r, name, args) "%" r " = \"tessera.graph." name "\"(" args ")\n"
#define OPA(r, name, args, attrs) "%" r " = \"tessera.graph." name "\"(" args ") {" attrs "}\n"

static void elementwise_chain_is_one_kernel(void **state) {
  expect(gt_func("%A: tensor<5x7xf32>, %B: tensor<7xf32>",
                 OP("0", "add", "%A, %B") OP("1", "tanh", "%0") OP("2", "mul", "%1, %A"), "%2", "tensor<5x7xf32>"),
         NULL, "elementwise");
}

static void diamond_with_two_outputs_is_one_kernel(void **state) {
  expect(gt_func("%A: tensor<5x7xf32>",
                 OP("0", "exp", "%A") OP("1", "neg", "%0") OP("2", "tanh", "%0") OP("3", "add", "%1, %2"), "%3, %0",
                 "tensor<5x7xf32>, tensor<5x7xf32>"),
         NULL, "elementwise");
}

static void switched_off_rule_leaves_single_kernels(void **state) {
  const char *t = gt_func("%A: tensor<5x7xf32>", OP("0", "exp", "%A") OP("1", "neg", "%0"), "%1", "tensor<5x7xf32>");
  expect(t, "fuse_elementwise", "elementwise elementwise");
  assert_true(reason("fuse_elementwise", "switched off"));
  expect(t, "rewrites,fusion", "elementwise elementwise");
}

static void matmul_takes_bias_residual_activation_and_cast(void **state) {
  expect(gt_func("%A: tensor<6x8xbf16>, %B: tensor<8x10xbf16>, %C: tensor<10xbf16>, %R: tensor<6x10xbf16>",
                 OP("0", "matmul", "%A, %B") OP("1", "add", "%0, %C") OP("2", "gelu", "%1") OP("3", "add", "%2, %R")
                     OPA("4", "cast", "%3", "dtype = \"f32\""),
                 "%4", "tensor<6x10xf32>"),
         NULL, "matmul");
  assert_int_equal(trace_count(&trace, "fuse_matmul_epilogue", true), 4);
}

static void matmul_takes_cast_and_scale_of_an_operand(void **state) {
  expect(gt_func("%A: tensor<6x8xi8>, %B: tensor<8x10xf32>, %S: tensor<f32>",
                 OPA("0", "cast", "%A", "dtype = \"f32\"") OP("1", "mul", "%0, %S") OP("2", "matmul", "%1, %B"), "%2",
                 "tensor<6x10xf32>"),
         NULL, "matmul");
  expect(gt_func("%A: tensor<6x8xf32>, %B: tensor<8x10xf32>", OP("1", "exp", "%A") OP("2", "matmul", "%1, %B"), "%2",
                 "tensor<6x10xf32>"),
         NULL, "elementwise matmul");
  assert_true(reason("fuse_matmul_prologue", "again for every tile"));
  expect(gt_func("%A: tensor<6x8xf32>, %B: tensor<8x10xf32>", OP("1", "neg", "%A") OP("2", "matmul", "%1, %B"),
                 "%2, %1", "tensor<6x10xf32>, tensor<6x8xf32>"),
         NULL, "elementwise matmul");
  assert_true(reason("fuse_matmul_prologue", "something else needs"));
}

static void residual_that_feeds_the_product_stays_outside(void **state) {
  expect(gt_func("%A: tensor<8x8xf32>, %B: tensor<8x8xf32>",
                 OP("0", "exp", "%A") OP("1", "matmul", "%0, %B") OP("2", "add", "%1, %0"), "%2", "tensor<8x8xf32>"),
         NULL, "elementwise matmul");
  assert_true(reason("fuse_matmul_epilogue", "the product itself needs"));
}

static void two_products_do_not_share_a_kernel(void **state) {
  expect(gt_func("%A: tensor<6x8xf32>, %B: tensor<8x10xf32>, %C: tensor<8x10xf32>",
                 OP("0", "matmul", "%A, %B") OP("1", "matmul", "%A, %C") OP("2", "silu", "%0") OP("3", "mul", "%2, %1"),
                 "%3", "tensor<6x10xf32>"),
         NULL, "matmul matmul");
  assert_true(reason("fuse_matmul_epilogue", "one contraction"));
}

static void softmax_from_its_parts_is_one_reduction_kernel(void **state) {
  expect(gt_func("%A: tensor<2x5x7xf32>, %M: tensor<5x7xf32>",
                 OP("s", "add", "%A, %M") OPA("0", "reduce_max", "%s", "axes = [-1], keepdims = true")
                     OP("1", "sub", "%s, %0") OP("2", "exp", "%1")
                         OPA("3", "reduce_sum", "%2", "axes = [2], keepdims = true") OP("4", "div", "%2, %3"),
                 "%4", "tensor<2x5x7xf32>"),
         NULL, "row");
}

static void norm_with_producer_and_consumer_is_one_reduction_kernel(void **state) {
  expect(gt_func("%A: tensor<5x8xbf16>, %R: tensor<5x8xbf16>, %G: tensor<8xbf16>",
                 OP("0", "add", "%A, %R") OP("1", "rmsnorm", "%0, %G") OP("2", "silu", "%1"), "%2, %0",
                 "tensor<5x8xbf16>, tensor<5x8xbf16>"),
         NULL, "row");
}

static void per_row_values_without_the_dimension_are_reshaped_inside(void **state) {
  expect(gt_func("%A: tensor<5x8xf32>",
                 OPA("0", "reduce_mean", "%A", "axes = [1]") OPA("1", "reshape", "%0", "shape = [5, 1]")
                     OPA("b", "broadcast", "%1", "shape = [5, 8]") OP("2", "sub", "%A, %b"),
                 "%2", "tensor<5x8xf32>"),
         NULL, "row");
}

static void a_row_of_results_read_across_rows_is_refused(void **state) {
  expect(gt_func("%A: tensor<6x6xf32>", OPA("0", "reduce_sum", "%A", "axes = [1]") OP("1", "sub", "%A, %0"), "%1",
                 "tensor<6x6xf32>"),
         NULL, "row elementwise");
  assert_true(reason("fuse_row", "across rows"));
}

static void softmax_of_scores_needs_whole_rows(void **state) {
  expect(gt_func("%Q: tensor<2x6x8xf32>, %K: tensor<2x6x8xf32>, %V: tensor<2x6x8xf32>, %S: tensor<f32>",
                 OPA("0", "matmul", "%Q, %K", "transpose_b = true") OP("1", "mul", "%0, %S") OP("2", "softmax", "%1")
                     OP("3", "matmul", "%2, %V"),
                 "%3", "tensor<2x6x8xf32>"),
         NULL, "matmul row matmul");
  assert_true(reason("fuse_row", "tile has only some"));
}

static void reductions_over_other_axes_become_rows(void **state) {
  expect(gt_func("%A: tensor<4x5x6xf32>, %B: tensor<4x5x6xf32>",
                 OP("0", "mul", "%A, %B") OPA("1", "reduce_sum", "%0", "axes = [0, 1]"), "%1", "tensor<6xf32>"),
         NULL, "row");
  expect(gt_func("%A: tensor<4x5x6xf32>", OPA("1", "reduce_mean", "%A", "axes = [1], keepdims = true"), "%1",
                 "tensor<4x1x6xf32>"),
         NULL, "row");
  expect(gt_func("%A: tensor<4x5x6xf32>", OP("0", "exp", "%A") OPA("1", "reduce_sum", "%0", "axes = []"), "%1",
                 "tensor<f32>"),
         NULL, "row");
  expect(gt_func("%A: tensor<4x5x6xbf16>", OPA("1", "reduce_sum", "%A", "axes = [0, 2]"), "%1", "tensor<5xbf16>"), NULL,
         "row row");
  expect(gt_func("%A: tensor<4x1x6xf32>", OPA("1", "reduce_prod", "%A", "axes = [1]"), "%1", "tensor<4x6xf32>"), NULL,
         "");
  expect(gt_func("%A: tensor<4x5x6xf32>", OPA("1", "softmax", "%A", "axis = 0"), "%1", "tensor<4x5x6xf32>"), NULL,
         "row elementwise");
}

static void views_launch_nothing(void **state) {
  expect(gt_func("%A: tensor<4x6xf32>", OPA("0", "reshape", "%A", "shape = [2, 12]"), "%0", "tensor<2x12xf32>"), NULL,
         "");
  expect(gt_func("%A: tensor<4x6xf32>, %B: tensor<4x5xf32>",
                 OP("0", "transpose", "%A") OPA("1", "slice", "%0", "starts = [1, 0], sizes = [2, 4], strides = [2, 1]")
                     OP("2", "matmul", "%1, %B"),
                 "%2", "tensor<2x5xf32>"),
         NULL, "matmul");
  expect(gt_func("%A: tensor<4x6xf32>", OP("0", "transpose", "%A"), "%0", "tensor<6x4xf32>"), NULL, "elementwise");
  assert_true(reason("fuse_view", "in memory in order"));
  expect(gt_func("%A: tensor<4x6xf32>, %B: tensor<4x5xf32>", OP("0", "transpose", "%A") OP("2", "matmul", "%0, %B"),
                 "%2", "tensor<6x5xf32>"),
         "fuse_view", "elementwise matmul");
}

static void views_of_computed_values_wait_for_them(void **state) {
  expect(gt_func("%A: tensor<6x6xf32>", OP("0", "softmax", "%A") OP("1", "transpose", "%0") OP("2", "add", "%0, %1"),
                 "%2", "tensor<6x6xf32>"),
         NULL, "row elementwise");
}

static void reshape_moves_above_an_elementwise_chain(void **state) {
  expect(gt_func("%A: tensor<4x6xf32>, %B: tensor<4x6xf32>",
                 OP("0", "mul", "%A, %B") OPA("1", "reshape", "%0", "shape = [24]") OP("2", "exp", "%1"), "%2",
                 "tensor<24xf32>"),
         NULL, "elementwise");
}

static void concat_and_pad_have_their_own_kernels(void **state) {
  expect(gt_func("%A: tensor<4x6xf32>, %B: tensor<2x6xf32>",
                 OPA("0", "concat", "%A, %B", "axis = 0") OP("1", "exp", "%0")
                     OPA("2", "pad", "%1", "low = [1, 0], high = [0, 2]"),
                 "%2", "tensor<7x8xf32>"),
         NULL, "copy elementwise copy");
  assert_true(reason("fuse_elementwise", "kernels of their own"));
}

static void inputs_may_be_outputs_and_repeat(void **state) {
  expect(gt_func("%A: tensor<4xf32>", OP("0", "neg", "%A"), "%A, %0, %0, %A",
                 "tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>"),
         NULL, "elementwise");
}

static void constants_of_one_element_live_in_the_body(void **state) {
  expect(
      gt_func("%A: tensor<4xf32>",
              "%c = \"tessera.graph.constant\"() {value = dense<2.0> : tensor<f32>}\n%d = \"tessera.graph.constant\"() "
              "{value = dense<[1.0,2.0,3.0,4.0]> : tensor<4xf32>}\n" OP("0", "mul", "%A, %c") OP("1", "add", "%0, %d"),
              "%1", "tensor<4xf32>"),
      NULL, "elementwise");
}

static void zero_sized_and_scalar_programs_lower(void **state) {
  expect(gt_func("%A: tensor<0x6xf32>", OP("0", "softmax", "%A"), "%0", "tensor<0x6xf32>"), NULL, "row");
  expect(gt_func("%A: tensor<f32>", OP("0", "exp", "%A"), "%0", "tensor<f32>"), NULL, "elementwise");
  expect(gt_func("%A: tensor<2x0xf32>, %B: tensor<0x3xf32>", OP("0", "matmul", "%A, %B"), "%0", "tensor<2x3xf32>"),
         NULL, "matmul");
}

static void attention_block_has_the_expected_launches(void **state) {
  expect(
      gt_func("%X: tensor<6x16xf32>, %G: tensor<16xf32>, %WQ: tensor<16x16xf32>, %WK: tensor<16x16xf32>, %WV: "
              "tensor<16x16xf32>, %WO: tensor<16x16xf32>, %W1: tensor<16x32xf32>, %W2: tensor<32x16xf32>",
              OP("n", "rmsnorm", "%X, %G") OP("q", "matmul", "%n, %WQ") OP("k", "matmul", "%n, %WK") OP(
                  "v", "matmul", "%n, %WV") OPA("q1", "reshape", "%q", "shape = [6, 4, 4]") OPA("k1", "reshape", "%k",
                                                                                                "shape = [6, 4, 4]")
                  OPA("v1", "reshape", "%v", "shape = [6, 4, 4]") OPA("q2", "transpose", "%q1", "perm = [1, 0, 2]") OPA(
                      "k2", "transpose", "%k1", "perm = [1, 0, 2]") OPA("v2", "transpose", "%v1", "perm = [1, 0, 2]")
                      OPA("s", "matmul", "%q2, %k2",
                          "transpose_b = true") "%c = \"tessera.graph.constant\"() {value = dense<0.5> : "
                                                "tensor<f32>}\n" OP("s1", "mul", "%s, %c") OP("p", "softmax", "%s1")
                                                    OP("o", "matmul", "%p, %v2") OPA("o1", "transpose",
                                                                                     "%o", "perm = [1, 0, 2]")
                                                        OPA("o2", "reshape", "%o1", "shape = [6, 16]")
                                                            OP("o3", "matmul", "%o2, %WO") OP("h", "add", "%o3, %X") OP(
                                                                "n2", "rmsnorm", "%h, %G") OP("u", "matmul", "%n2, %W1")
                                                                OP("a", "silu", "%u") OP("d", "matmul", "%a, %W2")
                                                                    OP("y", "add", "%d, %h"),
              "%y", "tensor<6x16xf32>"),
      NULL, "row matmul matmul matmul matmul row matmul elementwise matmul row matmul matmul");
}

static void batched_rows_by_one_matrix_are_one_product(void **state) {
  expect(gt_func("%A: tensor<3x2x8xf32>, %B: tensor<8x6xf32>, %C: tensor<6xf32>, %R: tensor<3x2x6xf32>",
                 OP("0", "matmul", "%A, %B") OP("1", "add", "%0, %C") OP("2", "gelu", "%1") OP("3", "add", "%2, %R")
                     OP("4", "exp", "%R") OP("5", "mul", "%3, %4"),
                 "%5, %2", "tensor<3x2x6xf32>, tensor<3x2x6xf32>"),
         NULL, "matmul");
  assert_int_equal(trace_count(&trace, "fold_batch", true), 1);
  expect(gt_func("%A: tensor<3x2x8xf32>, %B: tensor<1x6x8xf32>",
                 OPA("0", "matmul", "%A, %B", "transpose_b = true") OP("1", "rmsnorm", "%0"), "%1",
                 "tensor<3x2x6xf32>"),
         NULL, "matmul row");
  expect(gt_func("%A: tensor<2x3x8xf32>, %B: tensor<8x6xf32>",
                 OPA("t", "transpose", "%A", "perm = [1, 0, 2]") OP("0", "matmul", "%t, %B"), "%0",
                 "tensor<3x2x6xf32>"),
         NULL, "matmul");
  assert_true(reason("fold_batch", "have to be copied"));
  expect(
      gt_func("%A: tensor<3x2x8xf32>, %B: tensor<3x8x6xf32>", OP("0", "matmul", "%A, %B"), "%0", "tensor<3x2x6xf32>"),
      NULL, "matmul");
  expect(
      gt_func(
          "%X: tensor<2x3x8xf32>, %G: tensor<8xf32>, %W: tensor<8x8xf32>, %U: tensor<8x12xf32>, %D: tensor<12x8xf32>",
          OP("n", "rmsnorm", "%X, %G") OP("a", "matmul", "%n, %W") OP("h", "add", "%a, %X") OP("m", "rmsnorm", "%h, %G")
              OP("g", "matmul", "%m, %U") OP("s", "silu", "%g") OP("u", "matmul", "%m, %U") OP("p", "mul", "%s, %u")
                  OP("d", "matmul", "%p, %D") OP("y", "add", "%d, %h"),
          "%y", "tensor<2x3x8xf32>"),
      "common_subexpression", "row matmul row matmul matmul matmul");
}

/* Random programs of every kind of op: fused and unfused must agree. */
typedef struct gen {
  uint32_t s;
  char body[16384];
  int n;
  char *at;
} gen;

static unsigned draw(gen *g, unsigned n) {
  g->s = g->s * 1664525u + 1013904223u;
  return (g->s >> 10) % n;
}

static void step(gen *g) {
  static const char *const un[] = {"neg", "tanh", "sigmoid", "abs", "gelu", "floor"}, *const bin[] = {"add", "sub",
                                                                                                      "mul", "max"};
  static const char *const red[] = {"reduce_sum", "reduce_max", "reduce_mean"};
  int a = (int)draw(g, (unsigned)g->n), b = (int)draw(g, (unsigned)g->n), r = g->n++;
#define EMIT(...) g->at += sprintf(g->at, __VA_ARGS__)
#define T "\"tessera.graph."
  switch (draw(g, 10)) { /* all values are 6x6 */
  case 0: case 1: EMIT("%%v%d = " T "%s\"(%%v%d)\n", r, un[draw(g, 6)], a); break;
  case 2: case 3: EMIT("%%v%d = " T "%s\"(%%v%d, %%v%d)\n", r, bin[draw(g, 4)], a, b); break;
  case 4:
    EMIT("%%v%d = " T "matmul\"(%%v%d, %%v%d) {transpose_a = %s}\n", r, a, b, draw(g, 2) ? "true" : "false");
    break;
  case 5: EMIT("%%v%d = " T "softmax\"(%%v%d) {axis = %u}\n", r, a, draw(g, 2)); break;
  case 6:
    EMIT("%%t%d = " T "%s\"(%%v%d) {axes = [%u], keepdims = true}\n%%v%d = " T "sub\"(%%v%d, %%t%d)\n", r,
         red[draw(g, 3)], a, draw(g, 2), r, b, r);
    break;
  case 7: EMIT("%%v%d = " T "transpose\"(%%v%d)\n", r, a); break;
  case 8:
    EMIT("%%t%d = " T "reshape\"(%%v%d) {shape = [4, 9]}\n%%u%d = " T "tanh\"(%%t%d)\n%%v%d = " T
         "reshape\"(%%u%d) {shape = [6, 6]}\n",
         r, a, r, r, r, r);
    break;
  default:
    EMIT("%%t%d = " T "reduce_mean\"(%%v%d) {axes = [1]}\n%%u%d = " T "reshape\"(%%t%d) {shape = [6, 1]}\n%%w%d = " T
         "broadcast\"(%%u%d) {shape = [6, 6]}\n%%v%d = " T "add\"(%%v%d, %%w%d)\n",
         r, a, r, r, r, r, r, b, r);
  }
}

static void random_programs_compute_the_same(void **state) {
  for (uint32_t seed = 1; seed <= 300; seed++) {
    gen g = {.s = seed, .n = 2};
    g.at = g.body;
    for (int i = 0, n = 3 + (int)draw(&g, 14); i < n; i++) step(&g);
    char results[64];
    snprintf(results, sizeof results, "%%v%d, %%v%u", g.n - 1, draw(&g, (unsigned)g.n));
    ir_module *m = gt_parse(
        gt_func("%v0: tensor<6x6xf32>, %v1: tensor<6x6xf32>", g.body, results, "tensor<6x6xf32>, tensor<6x6xf32>"));
    ir_module *s = lower(m, NULL), *flat = gt_flatten(s);
    if (!gt_same(graph_find_func(m, NULL), graph_find_func(flat, NULL), seed, -1, 1))
      fail_msg("seed %u:\n%s", seed, g.body);
    ir_module_destroy(&flat);
    ir_module_destroy(&s);
    ir_module_destroy(&m);
  }
}

/* The same with batched rows, one matrix and one vector. */
static void random_batched_programs_compute_the_same(void **state) {
  static const char *const un[] = {"neg", "tanh", "gelu", "softmax", "rmsnorm"}, *const bin[] = {"add", "sub", "mul",
                                                                                                 "max"};
  for (uint32_t seed = 1; seed <= 300; seed++) {
    gen g = {.s = seed, .n = 2};
    g.at = g.body;
    for (int i = 0, n = 3 + (int)draw(&g, 12); i < n; i++) {
      int a = (int)draw(&g, (unsigned)g.n), b = (int)draw(&g, (unsigned)g.n), r = g.n++;
      unsigned kind = draw(&g, 6), u = draw(&g, 5), w = draw(&g, 4);
      char *at = g.at;
      if (kind == 0) at += sprintf(at, "%%v%d = \"tessera.graph.%s\"(%%v%d)\n", r, un[u], a);
      else if (kind == 1) at += sprintf(at, "%%v%d = \"tessera.graph.%s\"(%%v%d, %%v%d)\n", r, bin[w], a, b);
      else if (kind == 2)
        at += sprintf(at, "%%v%d = \"tessera.graph.%s\"(%%v%d, %%%s)\n", r, bin[w], a, u & 1 ? "c" : "e");
      else if (kind == 3)
        at += sprintf(at,
                      "%%t%d = \"tessera.graph.matmul\"(%%v%d, %%v%d) {transpose_b = true}\n%%v%d = "
                      "\"tessera.graph.matmul\"(%%t%d, %%v%d)\n",
                      r, a, b, r, r, b);
      else
        at += sprintf(at, "%%v%d = \"tessera.graph.matmul\"(%%v%d, %%w) {transpose_b = %s}\n", r, a,
                      w & 1 ? "true" : "false");
      g.at = at;
    }
    char results[64];
    snprintf(results, sizeof results, "%%v%d, %%v%u", g.n - 1, draw(&g, (unsigned)g.n));
    ir_module *m = gt_parse(gt_func(
        "%v0: tensor<2x3x6xf32>, %v1: tensor<2x3x6xf32>, %w: tensor<6x6xf32>, %c: tensor<6xf32>, %e: tensor<1x6xf32>",
        g.body, results, "tensor<2x3x6xf32>, tensor<2x3x6xf32>"));
    ir_module *s = lower(m, NULL), *flat = gt_flatten(s);
    if (!gt_same(graph_find_func(m, NULL), graph_find_func(flat, NULL), seed, -1, 1))
      fail_msg("seed %u:\n%s", seed, g.body);
    ir_module_destroy(&flat);
    ir_module_destroy(&s);
    ir_module_destroy(&m);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(elementwise_chain_is_one_kernel),
      cmocka_unit_test(diamond_with_two_outputs_is_one_kernel),
      cmocka_unit_test(switched_off_rule_leaves_single_kernels),
      cmocka_unit_test(matmul_takes_bias_residual_activation_and_cast),
      cmocka_unit_test(matmul_takes_cast_and_scale_of_an_operand),
      cmocka_unit_test(residual_that_feeds_the_product_stays_outside),
      cmocka_unit_test(two_products_do_not_share_a_kernel),
      cmocka_unit_test(softmax_from_its_parts_is_one_reduction_kernel),
      cmocka_unit_test(norm_with_producer_and_consumer_is_one_reduction_kernel),
      cmocka_unit_test(per_row_values_without_the_dimension_are_reshaped_inside),
      cmocka_unit_test(a_row_of_results_read_across_rows_is_refused),
      cmocka_unit_test(softmax_of_scores_needs_whole_rows),
      cmocka_unit_test(reductions_over_other_axes_become_rows),
      cmocka_unit_test(views_launch_nothing),
      cmocka_unit_test(views_of_computed_values_wait_for_them),
      cmocka_unit_test(reshape_moves_above_an_elementwise_chain),
      cmocka_unit_test(concat_and_pad_have_their_own_kernels),
      cmocka_unit_test(inputs_may_be_outputs_and_repeat),
      cmocka_unit_test(constants_of_one_element_live_in_the_body),
      cmocka_unit_test(zero_sized_and_scalar_programs_lower),
      cmocka_unit_test(attention_block_has_the_expected_launches),
      cmocka_unit_test(batched_rows_by_one_matrix_are_one_product),
      cmocka_unit_test(random_programs_compute_the_same),
      cmocka_unit_test(random_batched_programs_compute_the_same),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  trace_clear(&trace);
  return failed;
}
