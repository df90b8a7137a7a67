/* Tests of the oracle: values against closed forms and independent sums, sampling, tolerances, zero sizes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/dtype.h"
#include "tests/support/chain_text.h"
#include "tests/support/graph_text.h"

/* Evaluates a function of f32 inputs; returns its first output, to be freed. */
static float *run(const char *text, const void *const *in) {
  ir_module *m = gt_parse(text);
  ir_op *f = graph_find_func(m, NULL);
  gt_data out = gt_outputs(f);
  tsr_status st = graph_eval(f, in, out.p, NULL);
  if (st) fprintf(stderr, "%s\n", tsr_status_message(st));
  assert_null(st);
  for (int i = 1; i < out.n; i++) free(out.p[i]);
  ir_module_destroy(&m);
  return out.p[0];
}

static void near(double got, double want, double tol) {
  if (!(fabs(got - want) <= tol)) fail_msg("%.9g is not %.9g within %g", got, want, tol);
}

static void matmul_of_all_transpositions_is_the_sum_of_products(void **state) {
  float a[6] = {1, 2, 3, 4, 5, 6}, at[6] = {1, 4, 2, 5, 3, 6}, b[6] = {1, -1, 0, 2, 3, 1}, bt[6] = {1, 0, 3, -1, 2, 1};
  float want[4] = {10, 6, 22, 12};
  for (int k = 0; k < 4; k++) {
    char body[300], args[200];
    snprintf(args, sizeof args, "%%A: tensor<%sxf32>, %%B: tensor<%sxf32>", k & 1 ? "3x2" : "2x3",
             k & 2 ? "2x3" : "3x2");
    snprintf(body, sizeof body, "%%0 = \"tessera.graph.matmul\"(%%A, %%B) {transpose_a = %s, transpose_b = %s}",
             k & 1 ? "true" : "false", k & 2 ? "true" : "false");
    float *c = run(gt_func(args, body, "%0", "tensor<2x2xf32>"), (const void *const[]){k & 1 ? at : a, k & 2 ? bt : b});
    for (int i = 0; i < 4; i++) near(c[i], want[i], 0);
    free(c);
  }
}

static void matmul_of_bytes_gives_exact_i32(void **state) {
  int8_t a[4] = {127, -128, 3, 4}, b[4] = {127, 2, -128, -7};
  ir_module *m = gt_parse(gt_func("%A: tensor<2x2xi8>, %B: tensor<2x2xi8>", "%0 = \"tessera.graph.matmul\"(%A, %B)",
                                  "%0", "tensor<2x2xi32>"));
  int32_t c[4];
  assert_null(graph_eval(graph_find_func(m, NULL), (const void *const[]){a, b}, (void *const[]){c}, NULL));
  assert_int_equal(c[0], 127 * 127 + 128 * 128);
  assert_int_equal(c[1], 127 * 2 + 128 * 7);
  assert_int_equal(c[2], 3 * 127 - 4 * 128);
  ir_module_destroy(&m);
}

static void matmul_batches_broadcast(void **state) {
  float a[4] = {1, 2, 3, 4}, b[2] = {10, 100};
  float *c = run(gt_func("%A: tensor<2x1x1x2xf32>, %B: tensor<1x2x1xf32>", "%0 = \"tessera.graph.matmul\"(%A, %B)",
                         "%0", "tensor<2x1x1x1xf32>"),
                 (const void *const[]){a, b});
  near(c[0], 210, 0);
  near(c[1], 430, 0);
  free(c);
}

static void softmax_rows_sum_to_one_and_survive_large_values(void **state) {
  float x[6] = {1000, 1001, 1002, -INFINITY, 0, 0};
  float *y = run(gt_func("%X: tensor<2x3xf32>", "%0 = \"tessera.graph.softmax\"(%X)", "%0", "tensor<2x3xf32>"),
                 (const void *const[]){x});
  near(y[0] + y[1] + y[2], 1, 1e-6);
  near(y[2] / y[1], exp(1), 1e-6);
  near(y[3], 0, 0);
  near(y[4], 0.5, 0);
  free(y);
}

/* -3e38 of f64 is -inf in a device's f32, by way of -6e38: its share of the row is 0, and NaN may stand anywhere in it.
 * */
/* A sum that overflows in some order of its terms stays unknown behind a function, whose own error is NaN of a NaN. */
static void function_of_an_overflowed_sum_is_unknown(void **state) {
  ir_module *m = gt_parse(gt_func("%A: tensor<1x4xf64>, %B: tensor<4x1xf64>",
                                  "%0 = \"tessera.graph.matmul\"(%A, %B)\n%1 = \"tessera.graph.gelu\"(%0)", "%1",
                                  "tensor<1x1xf64>"));
  ir_op *f = graph_find_func(m, NULL);
  double a[4] = {1e300, 1e300, -1e300, -1e300}, b[4] = {1e10, 1e10, 1e10, 1e10};
  graph_evaluator *e;
  graph_num x;
  assert_null(graph_evaluator_create(f, (const void *const[]){a, b}, &e));
  assert_null(graph_element(e, f->regions[0]->last->operands[0], 0, &x));
  assert_true(x.e == INFINITY);
  graph_evaluator_destroy(&e);
  ir_module_destroy(&m);
}

static void softmax_of_a_row_with_an_overflowed_term_is_unknown(void **state) {
  ir_module *m =
      gt_parse(gt_func("%A: tensor<2x2xf32>, %B: tensor<2x2xf32>",
                       "%0 = \"tessera.graph.matmul\"(%A, %B)\n%1 = \"tessera.graph.softmax\"(%0)", "%1", "tensor<2x2xf32>"));
  ir_op *f = graph_find_func(m, NULL);
  float a[4] = {2, -1, 0, 1e-38f}, b[4] = {-3e38f, 0, -3e38f, 0};
  graph_evaluator *e;
  graph_num x[4];
  assert_null(graph_evaluator_create(f, (const void *const[]){a, b}, &e));
  for (int i = 0; i < 4; i++) assert_null(graph_element(e, f->regions[0]->last->operands[0], i, &x[i]));
  assert_true(x[0].v == 0 && x[0].e == INFINITY && x[1].e == INFINITY);
  assert_true(x[2].e < 1e-5 && x[3].e < 1e-5);
  graph_evaluator_destroy(&e);
  ir_module_destroy(&m);
}

static void norms_follow_their_formulas(void **state) {
  float x[4] = {1, 2, 3, 6}, g[4] = {1, 1, 2, 1}, b[4] = {0, 0, 0, 5};
  float *y = run(gt_func("%X: tensor<1x4xf32>, %G: tensor<4xf32>, %B: tensor<4xf32>",
                         "%0 = \"tessera.graph.layernorm\"(%X, %G, %B) {eps = 0.0}", "%0", "tensor<1x4xf32>"),
                 (const void *const[]){x, g, b});
  double s = sqrt(3.5);
  near(y[0], -2 / s, 1e-6);
  near(y[2], 0, 1e-6);
  near(y[3], 3 / s + 5, 1e-6);
  free(y);
  y = run(gt_func("%X: tensor<1x4xf32>, %G: tensor<4xf32>", "%0 = \"tessera.graph.rmsnorm\"(%X, %G) {eps = 0.5}", "%0",
                  "tensor<1x4xf32>"),
          (const void *const[]){x, g});
  near(y[2], 2 * 3 / sqrt(12.5 + 0.5), 1e-6);
  free(y);
}

static void reductions_over_any_axes(void **state) {
  float x[12];
  for (int i = 0; i < 12; i++) x[i] = (float)i;
  float *y = run(
      gt_func("%X: tensor<2x3x2xf32>", "%0 = \"tessera.graph.reduce_sum\"(%X) {axes = [0, -1]}", "%0", "tensor<3xf32>"),
      (const void *const[]){x});
  near(y[0], 0 + 1 + 6 + 7, 0);
  near(y[2], 4 + 5 + 10 + 11, 0);
  free(y);
  y = run(gt_func("%X: tensor<2x3x2xf32>", "%0 = \"tessera.graph.reduce_mean\"(%X) {keepdims = true}", "%0",
                  "tensor<1x1x1xf32>"),
          (const void *const[]){x});
  near(y[0], 5.5, 0);
  free(y);
  y = run(
      gt_func("%X: tensor<2x3x2xf32>", "%0 = \"tessera.graph.reduce_max\"(%X) {axes = [1]}", "%0", "tensor<2x2xf32>"),
      (const void *const[]){x});
  near(y[1], 5, 0);
  near(y[3], 11, 0);
  free(y);
}

static void reductions_of_nothing_give_the_identity(void **state) {
  static const char *const ops[] = {"reduce_sum", "reduce_max", "reduce_min", "reduce_prod"};
  static const double want[] = {0, -INFINITY, INFINITY, 1};
  for (int i = 0; i < 4; i++) {
    char body[200];
    snprintf(body, sizeof body, "%%0 = \"tessera.graph.%s\"(%%X) {axes = [1]}", ops[i]);
    float *y = run(gt_func("%X: tensor<2x0xf32>", body, "%0", "tensor<2xf32>"), (const void *const[]){""});
    assert_true(y[0] == want[i] && y[1] == want[i]);
    free(y);
  }
  float *y = run(gt_func("%X: tensor<2x0xf32>, %Y: tensor<0x3xf32>", "%0 = \"tessera.graph.matmul\"(%X, %Y)", "%0",
                         "tensor<2x3xf32>"),
                 (const void *const[]){"", ""});
  for (int i = 0; i < 6; i++) near(y[i], 0, 0);
  free(y);
}

static void movement_places_each_element(void **state) {
  float x[6] = {0, 1, 2, 3, 4, 5};
  float *y = run(gt_func("%X: tensor<2x3xf32>",
                         "%0 = \"tessera.graph.transpose\"(%X)\n"
                         "%1 = \"tessera.graph.slice\"(%0) {starts = [0, 1], sizes = [2, 1], strides = [2, 1]}\n"
                         "%2 = \"tessera.graph.pad\"(%1) {low = [1, 0], high = [0, 2], value = 9.0}\n"
                         "%3 = \"tessera.graph.reshape\"(%X) {shape = [3, -1]}\n"
                         "%4 = \"tessera.graph.slice\"(%3) {starts = [0, 0], sizes = [-1, 1]}\n"
                         "%5 = \"tessera.graph.concat\"(%2, %4) {axis = -1}", "%5", "tensor<3x4xf32>"), (const void *const[]){x});
  float want[12] = {9, 9, 9, 0, 3, 9, 9, 2, 5, 9, 9, 4};
  for (int i = 0; i < 12; i++) near(y[i], want[i], 0);
  free(y);
}

static void indices_take_and_write_elements(void **state) {
  float x[6] = {0, 1, 2, 3, 4, 5}, u[3] = {10, 20, 30};
  int32_t i[3] = {-1, 5, 1}; /* the last row, none, and the row 1: twice the same */
  float *y = run(gt_func("%X: tensor<2x3xf32>, %U: tensor<3xf32>, %I: tensor<3xi32>",
                         "%0 = \"tessera.graph.embedding\"(%X, %I)\n"
                         "%1 = \"tessera.graph.gather\"(%X, %I) {axis = 1}\n"
                         "%2 = \"tessera.graph.reshape\"(%X) {shape = [6]}\n"
                         "%3 = \"tessera.graph.slice\"(%2) {starts = [0], sizes = [2]}\n"
                         "%4 = \"tessera.graph.scatter\"(%3, %I, %U)\n"
                         "%5 = \"tessera.graph.scatter_add\"(%3, %I, %U)\n"
                         "%6 = \"tessera.graph.reshape\"(%0) {shape = [9]}\n"
                         "%7 = \"tessera.graph.reshape\"(%1) {shape = [6]}\n"
                         "%8 = \"tessera.graph.concat\"(%6, %7, %4, %5) {axis = 0}", "%8", "tensor<19xf32>"), (const void *const[]){x, u, i});
  float want[19] = {3, 4, 5, 0, 0, 0, 3, 4, 5, /* rows */ 2, 0, 1, 5, 0, 4, /* columns */ 0, 30, /* the last */ 0, 41};
  for (int e = 0; e < 19; e++) near(y[e], want[e], 0);
  free(y);
}

static void integers_wrap_and_casts_saturate(void **state) {
  int8_t a[4] = {127, -128, 100, 7}, b[4] = {1, -1, 3, 0};
  ir_module *m = gt_parse(gt_func("%A: tensor<4xi8>, %B: tensor<4xi8>",
                                  "%0 = \"tessera.graph.add\"(%A, %B)\n%1 = \"tessera.graph.mul\"(%A, %B)\n%2 = \"tessera.graph.div\"(%A, %B)\n"
                                  "%3 = \"tessera.graph.cast\"(%A) {dtype = \"u8\"}\n%4 = \"tessera.graph.not\"(%A)\n%5 = \"tessera.graph.pow\"(%B, %A)",
                                  "%0, %1, %2, %3, %4, %5", "tensor<4xi8>, tensor<4xi8>, tensor<4xi8>, tensor<4xui8>, tensor<4xi8>, tensor<4xi8>"));
  int8_t r[6][4];
  assert_null(graph_eval(graph_find_func(m, NULL), (const void *const[]){a, b},
                         (void *const[]){r[0], r[1], r[2], r[3], r[4], r[5]}, NULL));
  assert_int_equal(r[0][0], -128);
  assert_int_equal(r[1][2], 44);
  assert_int_equal(r[2][1], -128);
  assert_int_equal(r[2][3], 0);
  assert_int_equal((uint8_t)r[3][1], 0);
  assert_int_equal(r[4][0], -128);
  assert_int_equal(r[5][1], 0x01);
  ir_module_destroy(&m);
}

static void gelu_and_friends_match_their_definitions(void **state) {
  float x[5] = {-3, -0.5f, 0, 0.7f, 20};
  float *y = run(gt_func("%X: tensor<5xf32>", "%0 = \"tessera.graph.gelu\"(%X)", "%0", "tensor<5xf32>"),
                 (const void *const[]){x});
  for (int i = 0; i < 5; i++) near(y[i], 0.5 * x[i] * (1 + erf(x[i] / sqrt(2))), 1e-7);
  free(y);
  y = run(
      gt_func("%X: tensor<5xf32>", "%0 = \"tessera.graph.gelu\"(%X) {approximate = \"tanh\"}", "%0", "tensor<5xf32>"),
      (const void *const[]){x});
  near(y[3], 0.5 * 0.7f * (1 + tanh(sqrt(2 / acos(-1)) * (0.7f + 0.044715 * 0.343))), 1e-6);
  free(y);
  y = run(gt_func("%X: tensor<5xf32>", "%0 = \"tessera.graph.silu\"(%X)", "%0", "tensor<5xf32>"),
          (const void *const[]){x});
  near(y[0], -3 / (1 + exp(3)), 1e-7);
  free(y);
}

/* An f32 loop in a different order must stay within the tolerance, and a lost term must not. */
static void tolerance_accepts_f32_sums_and_catches_a_lost_term(void **state) {
  ir_module *m = gt_parse(gt_func("%A: tensor<8x700xf32>, %B: tensor<700x9xf32>",
                                  "%0 = \"tessera.graph.matmul\"(%A, %B)", "%0", "tensor<8x9xf32>"));
  ir_op *f = graph_find_func(m, NULL);
  gt_data in = gt_random(f, 3, -1, 1);
  graph_evaluator *e;
  assert_null(graph_evaluator_create(f, (const void *const *)in.p, &e));
  const float *a = in.p[0], *b = in.p[1];
  int caught = 0;
  for (int i = 0; i < 8; i++)
    for (int j = 0; j < 9; j++) {
      float s = 0;
      for (int k = 699; k >= 0; k--) s += a[i * 700 + k] * b[k * 9 + j];
      graph_num want;
      assert_null(graph_element(e, f->regions[0]->last->operands[0], i * 9 + j, &want));
      assert_true(graph_agrees(TSR_F32, s, want));
      caught += !graph_agrees(TSR_F32, s - a[i * 700 + 5] * b[5 * 9 + j], want);
    }
  assert_true(caught > 65);
  graph_evaluator_destroy(&e);
  gt_free(&in);
  ir_module_destroy(&m);
}

static void sampled_and_whole_evaluation_agree(void **state) {
  ir_module *m = gt_parse(gt_func("%A: tensor<5x40xbf16>, %B: tensor<40x30xbf16>, %C: tensor<30xbf16>",
                                  "%0 = \"tessera.graph.matmul\"(%A, %B)\n%1 = \"tessera.graph.add\"(%0, %C)\n%2 = \"tessera.graph.gelu\"(%1)\n"
                                  "%3 = \"tessera.graph.softmax\"(%2)\n%4 = \"tessera.graph.layernorm\"(%3)", "%4", "tensor<5x30xbf16>"));
  ir_op *f = graph_find_func(m, NULL);
  gt_data in = gt_random(f, 1, -1, 1);
  graph_evaluator *e;
  graph_num whole[150];
  assert_null(graph_evaluator_create(f, (const void *const *)in.p, &e));
  assert_null(graph_evaluate_all(e));
  for (int i = 0; i < 150; i++) assert_null(graph_element(e, f->regions[0]->last->operands[0], i, &whole[i]));
  graph_evaluator_destroy(&e);
  assert_null(graph_evaluator_create(f, (const void *const *)in.p, &e));
  for (int i = 0; i < 150; i += 7) {
    graph_num x;
    assert_null(graph_element(e, f->regions[0]->last->operands[0], i, &x));
    assert_true(x.v == whole[i].v && x.e == whole[i].e);
  }
  graph_evaluator_destroy(&e);
  gt_free(&in);
  ir_module_destroy(&m);
}

/* A chain of layers in t. */
static const char *layers(const char *t) {
  static char body[2000];
  char args[300], type[40];
  snprintf(args, sizeof args, "%%x: tensor<6x32x%s>, %%w: tensor<32x32x%s>, %%g: tensor<32x%s>", t, t, t);
  snprintf(body, sizeof body,
           "%%n = \"tessera.graph.rmsnorm\"(%%x, %%g)\n%%a = \"tessera.graph.matmul\"(%%n, %%w)\n%%s = \"tessera.graph.softmax\"(%%a)\n%%b = \"tessera.graph.matmul\"(%%s, %%w)\n"
           "%%r = \"tessera.graph.add\"(%%b, %%x)\n%%l = \"tessera.graph.layernorm\"(%%r, %%g)\n%%u = \"tessera.graph.matmul\"(%%l, %%w)\n%%v = \"tessera.graph.silu\"(%%u)\n"
           "%%p = \"tessera.graph.mul\"(%%v, %%u)\n%%d = \"tessera.graph.matmul\"(%%p, %%w) {transpose_b = true}\n%%y = \"tessera.graph.sub\"(%%r, %%d)");
  snprintf(type, sizeof type, "tensor<6x32x%s>", t);
  return gt_func(args, body, "%y", type);
}

/* The square of what an operand's error makes of it is too small for f64. */
static void errors_of_tiny_products_are_kept(void **state) {
  ir_module *m = gt_parse(gt_func("%A: tensor<1xf64>, %B: tensor<1xf64>",
                                  "%0 = \"tessera.graph.exp\"(%A)\n%1 = \"tessera.graph.mul\"(%0, %B)", "%1",
                                  "tensor<1xf64>"));
  ir_op *f = graph_find_func(m, NULL);
  double a[1] = {1}, b[1] = {1e-200};
  graph_evaluator *e;
  graph_num x, y;
  assert_null(graph_evaluator_create(f, (const void *const[]){a, b}, &e));
  assert_null(graph_element(e, f->regions[0]->first->results[0], 0, &x));
  assert_null(graph_element(e, f->regions[0]->last->operands[0], 0, &y));
  assert_true(x.e > 0 && y.e >= 0.9 * (x.e - x.r) * 1e-200);
  graph_evaluator_destroy(&e);
  ir_module_destroy(&m);
}

/* Rounding every intermediate result, as an implementation without fusion does, must stay inside; but the tolerance
 * must not be so wide that it says nothing. */
static void tolerance_covers_rounded_layers_and_stays_tight(void **state) {
  static const char *const types[] = {"bf16", "f16"};
  for (int k = 0; k < 40; k++) {
    ir_module *m = gt_parse(layers(types[k % 2]));
    ir_op *f = graph_find_func(m, NULL);
    ir_value *y = f->regions[0]->last->operands[0];
    gt_data in = gt_random(f, (unsigned)k, -1, 1);
    graph_evaluator *exact, *rounded;
    graph_num x[192], z;
    double worst = 0;
    assert_null(graph_evaluator_create(f, (const void *const *)in.p, &exact));
    for (int i = 0; i < 192; i++) assert_null(graph_element(exact, y, i, &x[i]));
    graph_evaluator_destroy(&exact);
    assert_null(graph_evaluator_create(f, (const void *const *)in.p, &rounded));
    rounded->rounded = true;
    for (int i = 0; i < 192; i++) {
      assert_null(graph_element(rounded, y, i, &z));
      if (!graph_agrees(y->type->dtype, z.v, x[i]))
        fail_msg("%s, seed %d: %g is not %g within %g", types[k % 2], k, z.v, x[i].v, x[i].e);
      worst = fmax(worst, fabs(z.v - x[i].v) / x[i].e);
    }
    if (worst < 0.1) fail_msg("seed %d: the largest error is %g of the tolerance", k, worst);
    graph_evaluator_destroy(&rounded);
    gt_free(&in);
    ir_module_destroy(&m);
  }
}

/* One addition in bf16 may be off by one rounding, not by a unit in the last place. */
static void one_rounding_is_not_two(void **state) {
  ir_module *m = gt_parse(
      gt_func("%a: tensor<1xbf16>, %b: tensor<1xbf16>", "%0 = \"tessera.graph.add\"(%a, %b)", "%0", "tensor<1xbf16>"));
  uint16_t a = dtype_f32_to_bf16(1), b = dtype_f32_to_bf16(0.0078125f), sum;
  double tolerance;
  assert_null(graph_eval(graph_find_func(m, NULL), (const void *const[]){&a, &b}, (void *const[]){&sum},
                         (double *const[]){&tolerance}));
  assert_true(graph_agrees(TSR_BF16, 1.0078125, (graph_num){1.0078125, tolerance, 0}));
  assert_false(graph_agrees(TSR_BF16, 1.015625, (graph_num){1.0078125, tolerance, 0}));
  ir_module_destroy(&m);
}

/* Element 1 of the result of a chain, which is read without computing the whole; its inputs are ones. */
static void sample_chain(chain_kind kind, int n) {
  strb text;
  strb_init(&text, NULL);
  chain_text(kind, n, &text);
  assert_true(strb_ok(&text));
  ir_module *m = gt_parse(strb_text(&text));
  ir_op *f = graph_find_func(m, NULL);
  static float ones[4096];
  const void *in[8];
  for (int i = 0; i < 4096; i++) ones[i] = 1;
  assert_true(f->regions[0]->n_args <= 8);
  for (int i = 0; i < f->regions[0]->n_args; i++) {
    assert_true(ir_type_count(f->regions[0]->args[i]->type) <= 4096);
    in[i] = ones;
  }
  ir_value *v = f->regions[0]->last->operands[0];
  graph_evaluator *e = NULL;
  graph_num whole, one;
  for (int k = 0; k < 2; k++) { /* the whole function computes it without recursion */
    assert_null(graph_evaluator_create(f, in, &e));
    if (k) assert_null(graph_evaluate_all(e));
    tsr_status st = graph_element(e, v, 1, k ? &whole : &one);
    if (st) fail_msg("%s: %s", chain_name(kind), tsr_status_message(st));
    graph_evaluator_destroy(&e);
  }
  assert_true(one.v == whole.v || (isnan(one.v) && isnan(whole.v)));
  assert_true(one.e == whole.e);
  ir_module_destroy(&m);
  strb_clear(&text);
}

static void an_element_of_a_chain_of_any_length_can_be_read(void **state) {
  sample_chain(CHAIN_ADDS, 100000);
  sample_chain(CHAIN_SOFTMAXES, 20000);
  sample_chain(CHAIN_VIEWS, 20000);
}

/* What an implementation may give for element 0 of a function of one argument. */
static graph_num first_of(const char *args, const char *body, const char *type, const void *in) {
  ir_module *m = gt_parse(gt_func(args, body, "%0", type));
  ir_op *f = graph_find_func(m, NULL);
  graph_evaluator *e;
  graph_num n;
  assert_null(graph_evaluator_create(f, (const void *const[]){in}, &e));
  assert_null(graph_element(e, f->regions[0]->last->operands[0], 0, &n));
  graph_evaluator_destroy(&e);
  ir_module_destroy(&m);
  return n;
}

/* 30720 is between 28672 and 32768 in the middle. In f32, 30720 - 1e-4 is 30720, which goes to 32768; exactly, it goes
 * to 28672. */
static void a_cast_may_go_to_either_side_of_a_boundary(void **state) {
  float x[2] = {30720, 1e-4f};
  const char *sub = "%a = \"tessera.graph.slice\"(%x) {starts = [0], sizes = [1]}\n"
                    "%b = \"tessera.graph.slice\"(%x) {starts = [1], sizes = [1]}\n"
                    "%d = \"tessera.graph.sub\"(%a, %b)\n%0 = \"tessera.graph.cast\"(%d) {dtype = \"fp8_e5m2\"}";
  graph_num n = first_of("%x: tensor<2xf32>", sub, "tensor<1xf8E5M2>", x);
  assert_true(n.v == 28672);
  assert_true(graph_agrees(TSR_F8E5M2, 32768, n));
  assert_false(graph_agrees(TSR_F8E5M2, 40960, n));
  x[1] = 1000; /* far from the boundary: one rounding, as before */
  n = first_of("%x: tensor<2xf32>", sub, "tensor<1xf8E5M2>", x);
  assert_true(n.v == 28672 && n.e < 4096);
}

/* Squares of these errors are below f64's range. */
static void errors_of_tiny_numbers_are_kept(void **state) {
  double x[3] = {1e-180, 3e-180, 7e-180};
  graph_num n = first_of("%x: tensor<1xf64>", "%a = \"tessera.graph.exp\"(%x)\n%b = \"tessera.graph.mul\"(%a, %x)\n"
                         "%0 = \"tessera.graph.reduce_sum\"(%b)", "tensor<f64>", x);
  assert_true(n.e > 4 * 0x1p-53 * n.v && n.e < 100 * 0x1p-53 * n.v);
  n = first_of("%x: tensor<3xf64>", "%a = \"tessera.graph.exp\"(%x)\n%b = \"tessera.graph.mul\"(%a, %x)\n"
               "%0 = \"tessera.graph.mul\"(%b, %a)", "tensor<3xf64>", x);
  assert_true(n.e > 4 * 0x1p-53 * n.v && n.e < 100 * 0x1p-53 * n.v);
}

/* An angle that is off by whole periods may have any sine, also where the angles at both ends of its error have the
 * same. */
static void sine_of_an_unknown_angle_is_unknown(void **state) {
  float x[2] = {3e9f, 0.333333f};
  graph_num n = first_of("%x: tensor<2xf32>", "%a = \"tessera.graph.slice\"(%x) {starts = [0], sizes = [1]}\n"
                         "%b = \"tessera.graph.slice\"(%x) {starts = [1], sizes = [1]}\n"
                         "%c = \"tessera.graph.mul\"(%a, %b)\n%0 = \"tessera.graph.sin\"(%c)", "tensor<1xf32>", x);
  assert_true(n.e >= 2 && n.e < 2.1);
}

static void unknown_dimensions_are_an_error(void **state) {
  ir_module *m = gt_parse(gt_func("%A: tensor<?x4xf32>", "%0 = \"tessera.graph.neg\"(%A)", "%0", "tensor<?x4xf32>"));
  float x[4], y[4];
  tsr_status st = graph_eval(graph_find_func(m, NULL), (const void *const[]){x}, (void *const[]){y}, NULL);
  assert_true(gt_says(tsr_status_message(st), "known dimensions"));
  tsr_status_free(st);
  ir_module_destroy(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(matmul_of_all_transpositions_is_the_sum_of_products),
      cmocka_unit_test(matmul_of_bytes_gives_exact_i32),
      cmocka_unit_test(matmul_batches_broadcast),
      cmocka_unit_test(softmax_rows_sum_to_one_and_survive_large_values),
      cmocka_unit_test(softmax_of_a_row_with_an_overflowed_term_is_unknown),
      cmocka_unit_test(function_of_an_overflowed_sum_is_unknown),
      cmocka_unit_test(norms_follow_their_formulas),
      cmocka_unit_test(reductions_over_any_axes),
      cmocka_unit_test(reductions_of_nothing_give_the_identity),
      cmocka_unit_test(movement_places_each_element),
      cmocka_unit_test(indices_take_and_write_elements),
      cmocka_unit_test(integers_wrap_and_casts_saturate),
      cmocka_unit_test(gelu_and_friends_match_their_definitions),
      cmocka_unit_test(tolerance_accepts_f32_sums_and_catches_a_lost_term),
      cmocka_unit_test(sampled_and_whole_evaluation_agree),
      cmocka_unit_test(errors_of_tiny_products_are_kept),
      cmocka_unit_test(tolerance_covers_rounded_layers_and_stays_tight),
      cmocka_unit_test(one_rounding_is_not_two),
      cmocka_unit_test(an_element_of_a_chain_of_any_length_can_be_read),
      cmocka_unit_test(a_cast_may_go_to_either_side_of_a_boundary),
      cmocka_unit_test(errors_of_tiny_numbers_are_kept),
      cmocka_unit_test(sine_of_an_unknown_angle_is_unknown),
      cmocka_unit_test(unknown_dimensions_are_an_error),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
