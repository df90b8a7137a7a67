/* Tests of autodiff: the gradient of every differentiable op against central differences in f64, through the oracle.
 * With h = 1e-5 the difference quotient is off by about h^2 f''' / 6 + 1e-16 f / h: 1e-7 relative is a safe bound here.
 */
#include "tests/unit/autodiff_cases.h"

#include <math.h>
#include <string.h>

#include "core/passes/graph/autodiff.h"
#include "core/passes/graph/simplify.h"

static double loss_at(ir_op *f, const gt_data *in) {
  graph_evaluator *e;
  assert_null(graph_evaluator_create(f, (const void *const *)in->p, &e));
  double y = value_of(e, f->regions[0]->last->operands[0], 0);
  graph_evaluator_destroy(&e);
  return y;
}

static void check_gradient(const char *name, ir_op *f, ir_op *grad, int arg, int result, gt_data *in) {
  graph_evaluator *e;
  assert_null(graph_evaluator_create(grad, (const void *const *)in->p, &e));
  ir_value *g = grad->regions[0]->last->operands[result];
  double *x = in->p[arg], h = 1e-5;
  for (int64_t i = 0; i < graph_numbers(g->type); i++) { /* of complex numbers both parts */
    double have = value_of(e, g, i), at = x[i];
    x[i] = at + h;
    double up = loss_at(f, in);
    x[i] = at - h;
    double down = loss_at(f, in);
    x[i] = at;
    double want = (up - down) / (2 * h);
    if (!(fabs(have - want) <= 1e-7 * (1 + fabs(want))))
      fail_msg("%s: argument %d element %lld: gradient %.10g, difference %.10g", name, arg, (long long)i, have, want);
  }
  graph_evaluator_destroy(&e);
}

static void gradients_agree_with_differences(void **state) {
  for (size_t c = 0; c < N_CASES; c++) {
    ir_module *m = case_module(c, true);
    ir_op *f = graph_find_func(m, NULL), *grad;
    int n = f->regions[0]->n_args, wrt[4] = {0, 1, 2, 3};
    tsr_status st = graph_grad(f, wrt, n, "grad", &grad);
    if (st) fail_msg("%s: %s", cases[c].op, tsr_status_message(st));
    for (unsigned draw = 0; draw < 3; draw++) { /* whose gradient a max takes shows in few draws */
      gt_data in = gt_random(f, (unsigned)c + 1000 * draw, cases[c].lo, cases[c].hi);
      for (int a = 0; a < n; a++) check_gradient(cases[c].op, f, grad, a, 1 + a, &in);
      if (draw == 0) assert_null(graph_simplify(grad, NULL));
      gt_free(&in);
    }
    ir_module_destroy(&m);
  }
}

static void product_with_zeros_has_the_right_gradient(void **state) {
  ir_module *m =
      gt_parse(gt_func("%x: tensor<3x3xf64>", OPA("0", "reduce_prod", "%x", "axes = [1]") OP("1", "reduce_sum", "%0"),
                       "%1", "tensor<f64>"));
  ir_op *grad;
  assert_null(graph_grad(graph_find_func(m, NULL), (int[]){0}, 1, "grad", &grad));
  double x[9] = {2, 3, 4, 2, 0, 4, 0, 0, 5}, want[9] = {12, 8, 6, 0, 8, 0, 0, 0, 0}, loss, g[9];
  assert_null(graph_eval(grad, (const void *const[]){x}, (void *const[]){&loss, g}, NULL));
  for (int i = 0; i < 9; i++) assert_true(g[i] == want[i]);
  ir_module_destroy(&m);
}

/* The Hessian of x y z, times v, by hand: also where factors are 0. */
static void product_with_zeros_has_the_right_second_derivative(void **state) {
  ir_module *m = gt_parse(
      gt_func("%x: tensor<3xf64>", OPA("0", "reduce_prod", "%x", "axes = [0]"), "%0", "tensor<f64>"));
  ir_op *grad, *jvp;
  assert_null(graph_grad(graph_find_func(m, NULL), (int[]){0}, 1, "grad", &grad));
  assert_null(graph_jvp_of(grad, &(grad_request){.wrt = (int[]){0}, .n_wrt = 1, .name = "jvp"}, &jvp));
  double rows[4][3] = {{2, 3, 4}, {2, 0, 4}, {0, 0, 5}, {0, 0, 0}}, v[3] = {1, 10, 100};
  for (int r = 0; r < 4; r++) {
    const double *x = rows[r], want[3] = {v[1] * x[2] + v[2] * x[1], v[0] * x[2] + v[2] * x[0],
                                          v[0] * x[1] + v[1] * x[0]};
    double loss, g[3], dloss, h[3];
    assert_null(graph_eval(jvp, (const void *const[]){x, v}, (void *const[]){&loss, g, &dloss, h}, NULL));
    for (int i = 0; i < 3; i++)
      if (!(fabs(h[i] - want[i]) < 1e-12)) fail_msg("row %d element %d: %g, wanted %g", r, i, h[i], want[i]);
  }
  ir_module_destroy(&m);
}

#define ZEROS "%c = \"tessera.graph.constant\"() {value = dense<0.0> : tensor<2xf64>}\n"
/* Where a formula divides by 0 and the derivative is there all the same, or is taken for 0 as everybody does. */
static void gradients_at_zeros_are_numbers(void **state) {
  static const struct { const char *body; double x[2], want[2]; } at[] = {
      {OP("0, %n", "clip_by_global_norm", "%x"), {0, 0}, {1, 1}},
      {OPA("0, %n", "clip_by_global_norm", "%x", "max_norm = 0.25"), {0, 0}, {1, 1}},
      {OP("0", "global_norm", "%x"), {0, 0}, {0, 0}},
      {ZEROS OP("0", "pow", "%x, %c"), {0, 3}, {0, 0}},
      {OP("0", "pow", "%x, %x"), {0, 1}, {0, 1}},
  };
  for (size_t c = 0; c < sizeof at / sizeof *at; c++) {
    char body[600];
    snprintf(body, sizeof body, "%s%s", at[c].body, OP("1", "reduce_sum", "%0"));
    ir_module *m = gt_parse(gt_func("%x: tensor<2xf64>", body, "%1", "tensor<f64>"));
    ir_op *grad;
    double loss, g[2];
    assert_null(graph_grad(graph_find_func(m, NULL), (int[]){0}, 1, "grad", &grad));
    assert_null(graph_eval(grad, (const void *const[]){at[c].x}, (void *const[]){&loss, g}, NULL));
    for (int i = 0; i < 2; i++)
      if (!(g[i] == at[c].want[i])) fail_msg("%s element %d: %g, wanted %g", body, i, g[i], at[c].want[i]);
    ir_module_destroy(&m);
  }
}

static void gradient_of_an_unused_argument_is_zero(void **state) {
  ir_module *m =
      gt_parse(gt_func("%x: tensor<2xf32>, %y: tensor<3xbf16>", OP("0", "reduce_sum", "%x"), "%0", "tensor<f32>"));
  ir_op *grad;
  assert_null(graph_grad(graph_find_func(m, NULL), (int[]){1, 0}, 2, "grad", &grad));
  float x[2] = {1, 2}, loss, gx[2];
  uint16_t y[3] = {0}, gy[3] = {1, 1, 1};
  assert_null(graph_eval(grad, (const void *const[]){x, y}, (void *const[]){&loss, gy, gx}, NULL));
  assert_true(loss == 3 && gx[0] == 1 && gx[1] == 1 && gy[0] == 0 && gy[2] == 0);
  ir_module_destroy(&m);
}

static void mixed_types_cast_back(void **state) {
  ir_module *m = gt_parse(gt_func("%x: tensor<2x3xbf16>, %y: tensor<3x2xf16>",
                                  OPA("0", "matmul", "%x, %y", "out_dtype = \"f32\"") OP("1", "reduce_sum", "%0"), "%1",
                                  "tensor<f32>"));
  ir_op *grad;
  assert_null(graph_grad(graph_find_func(m, NULL), (int[]){0, 1}, 2, "grad", &grad));
  assert_int_equal(grad->regions[0]->last->operands[1]->type->dtype, TSR_BF16);
  assert_int_equal(grad->regions[0]->last->operands[2]->type->dtype, TSR_F16);
  ir_module_destroy(&m);
}

static void requests_that_make_no_sense_are_errors(void **state) {
  ir_module *m = gt_parse(gt_func("%x: tensor<2xf32>, %i: tensor<2xi32>", OP("0", "neg", "%x"), "%0", "tensor<2xf32>"));
  ir_op *f = graph_find_func(m, NULL), *grad;
  tsr_status st = graph_grad(f, (int[]){0}, 1, "grad", &grad);
  assert_true(gt_says(tsr_status_message(st), "must be one float"));
  tsr_status_free(st);
  ir_module_destroy(&m);
  m = gt_parse(gt_func("%x: tensor<1xf32>, %i: tensor<2xi32>", OP("0", "neg", "%x"), "%0", "tensor<1xf32>"));
  f = graph_find_func(m, NULL);
  st = graph_grad(f, (int[]){1}, 1, "grad", &grad);
  assert_true(gt_says(tsr_status_message(st), "only floats have gradients"));
  tsr_status_free(st);
  st = graph_grad(f, (int[]){7}, 1, "grad", &grad);
  assert_true(gt_says(tsr_status_message(st), "has no argument 7"));
  tsr_status_free(st);
  ir_module_destroy(&m);
  m = gt_parse(gt_func("%x: tensor<1xf32>",
                       "%0 = \"tessera.graph.custom\"(%x) {callee = \"f\"} : (tensor<1xf32>) -> tensor<1xf32>", "%0",
                       "tensor<1xf32>"));
  st = graph_grad(graph_find_func(m, NULL), (int[]){0}, 1, "grad", &grad);
  assert_true(gt_says(tsr_status_message(st), "custom: test.mlir:4:6: has no derivative"));
  tsr_status_free(st);
  ir_module_destroy(&m);
}

/* Composite ops have the derivative of what they stand for, which a case above must have shown. */
static bool is_case(const ir_opdef *t) {
  if (!((const graph_row *)t->ext)->expand) return false;
  bool found = !strstr(t->types_doc, "f64");
  for (size_t c = 0; c < N_CASES; c++) {
    char call[64];
    snprintf(call, sizeof call, "\"%s\"(", t->name);
    found |= strstr(cases[c].body, call) != NULL;
  }
  return found;
}

static void every_float_op_has_a_derivative(void **state) {
  const ir_opdef *t;
  for (size_t i = 0; (t = ir_row(IR_GRAPH, i)); i++)
    if ((t->flags & IR_PURE) && t->code != G_CUSTOM && t->code != G_CONTROL && /* made behind derivatives */
        ((const graph_row *)t->ext)->kind != GRAPH_COLLECTIVE && /* gradients are taken before programs are cut up */
        !((const graph_row *)t->ext)->adjoint &&
        !((const graph_row *)t->ext)->pairs && !is_case(t)) /* complex numbers are differentiated on their parts */
      fail_msg("%s has no derivative", t->name);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(gradients_agree_with_differences),
      cmocka_unit_test(product_with_zeros_has_the_right_gradient),
      cmocka_unit_test(product_with_zeros_has_the_right_second_derivative),
      cmocka_unit_test(gradients_at_zeros_are_numbers),
      cmocka_unit_test(gradient_of_an_unused_argument_is_zero),
      cmocka_unit_test(mixed_types_cast_back),
      cmocka_unit_test(requests_that_make_no_sense_are_errors),
      cmocka_unit_test(every_float_op_has_a_derivative),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
