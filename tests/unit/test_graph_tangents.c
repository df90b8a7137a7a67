/* Tests of autodiff forwards: the tangent of every differentiable op, and of its gradient (a Hessian times a vector),
 * against central differences in f64, through the oracle; what a tangent costs. */
#include "tests/unit/autodiff_cases.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/passes/graph/autodiff.h"
#include "core/passes/graph/simplify.h"

/* The arguments moved by h along their tangents, which are arguments n.. of `in`. */
static gt_data moved(const gt_data *in, int n, double h) {
  gt_data to = *in;
  for (int a = 0; a < n; a++) {
    to.p[a] = malloc(in->bytes[a]);
    for (size_t i = 0; i < in->bytes[a] / sizeof(double); i++)
      ((double *)to.p[a])[i] = ((const double *)in->p[a])[i] + h * ((const double *)in->p[n + a])[i];
  }
  return to;
}

/* Each result of f at those arguments, its elements in a row. */
static int all_results(ir_op *f, const gt_data *in, double *out, int most) {
  graph_evaluator *e;
  int n = 0;
  assert_null(graph_evaluator_create(f, (const void *const *)in->p, &e));
  for (int k = 0; k < f->regions[0]->last->n_operands; k++) {
    ir_value *v = f->regions[0]->last->operands[k];
    for (int64_t i = 0; i < graph_numbers(v->type) && n < most; i++) out[n++] = value_of(e, v, i);
  }
  graph_evaluator_destroy(&e);
  return n;
}

/* f's tangents against its differences along a random direction. */
static void check_tangents(const char *name, ir_op *f, unsigned seed, double lo, double hi) {
  enum { MOST = 4096 };
  static double up[MOST], down[MOST], have[2 * MOST];
  const double h = 1e-5;
  ir_op *jvp;
  int n = f->regions[0]->n_args, wrt[8];
  for (int i = 0; i < n; i++) wrt[i] = i;
  tsr_status st = graph_jvp_of(f, &(grad_request){.wrt = wrt, .n_wrt = n, .name = "jvp"}, &jvp);
  if (st) fail_msg("%s: %s", name, tsr_status_message(st));
  gt_data in = gt_random(jvp, seed, lo, hi), to = moved(&in, n, h), from = moved(&in, n, -h);
  const int count = all_results(f, &to, up, MOST);
  assert_int_equal(all_results(f, &from, down, MOST), count);
  assert_int_equal(all_results(jvp, &in, have, 2 * MOST), 2 * count);
  for (int i = 0; i < count; i++) {
    const double want = (up[i] - down[i]) / (2 * h);
    if (!(fabs(have[count + i] - want) <= 2e-6 * (1 + fabs(want))))
      fail_msg("%s: number %d: tangent %.10g, difference %.10g", name, i, have[count + i], want);
  }
  for (int a = 0; a < n; a++) free(to.p[a]), free(from.p[a]);
  gt_free(&in);
}

static void tangents_agree_with_differences(void **state) {
  for (size_t c = 0; c < N_CASES; c++) {
    ir_module *m = case_module(c, false);
    check_tangents(cases[c].op, graph_find_func(m, NULL), (unsigned)c, cases[c].lo, cases[c].hi);
    ir_module_destroy(&m);
  }
}

/* A Hessian times a vector. */
static void tangents_of_gradients_agree_with_differences(void **state) {
  for (size_t c = 0; c < N_CASES; c++) {
    ir_module *m = case_module(c, true);
    ir_op *f = graph_find_func(m, NULL), *grad;
    int n = f->regions[0]->n_args, wrt[4] = {0, 1, 2, 3};
    assert_null(graph_grad(f, wrt, n, "grad", &grad));
    check_tangents(cases[c].op, grad, (unsigned)c + 1000, cases[c].lo, cases[c].hi);
    ir_module_destroy(&m);
  }
}

/* How many ops of each kind a tangent costs beside the function itself. */
static const struct { const char *args, *body, *type, *ops; } costs[] = {
    {"%x: tensor<3x4xf32>, %y: tensor<4x5xf32>", OP("0", "matmul", "%x, %y"), "tensor<3x5xf32>", "matmul matmul matmul add"},
    {"%x: tensor<3x4xf32>", OP("0", "tanh", "%x"), "tensor<3x4xf32>", "tanh constant mul sub mul"},
    {"%x: tensor<3x4xf32>", OPA("0", "reduce_sum", "%x", "axes = [1]"), "tensor<3xf32>", "reduce_sum reduce_sum"},
    {"%x: tensor<3x4xf32>", OPA("0", "transpose", "%x", "perm = [1, 0]"), "tensor<4x3xf32>", "transpose transpose"},
    {"%x: tensor<3x4xf32>, %i: tensor<2xi32>", OP("0", "gather", "%x, %i"), "tensor<2x4xf32>", "gather reshape gather_nd"},
};

static void a_tangent_leaves_nothing_of_the_pass_back(void **state) {
  for (size_t c = 0; c < sizeof costs / sizeof *costs; c++) {
    ir_module *m = gt_parse(gt_func(costs[c].args, costs[c].body, "%0", costs[c].type));
    ir_op *f = graph_find_func(m, NULL), *jvp;
    const int n = strstr(costs[c].args, "%y") ? 2 : 1;
    char ops[400] = "";
    assert_null(graph_jvp_of(f, &(grad_request){.wrt = (int[]){0, 1}, .n_wrt = n, .name = "jvp"}, &jvp));
    assert_null(graph_simplify(jvp, NULL));
    for (const ir_op *o = jvp->regions[0]->first; !graph_is(o, G_RETURN); o = o->next)
      snprintf(ops + strlen(ops), sizeof ops - strlen(ops), "%s%s", *ops ? " " : "", strrchr(o->def->name, '.') + 1);
    if (strcmp(ops, costs[c].ops)) fail_msg("%s: %s, wanted %s", costs[c].body, ops, costs[c].ops);
    ir_module_destroy(&m);
  }
}

static void tangents_that_make_no_sense_are_errors(void **state) {
  static const struct { int wrt[2], n; const char *says; } bad[] = {
      {{1}, 1, "only floats have gradients"}, {{7}, 1, "has no argument 7"}, {{0, 0}, 2, "argument 0 is asked for twice"}};
  ir_module *m = gt_parse(gt_func("%x: tensor<2xf32>, %i: tensor<2xi32>", OP("0", "neg", "%x"), "%0", "tensor<2xf32>"));
  ir_op *jvp;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    const grad_request q = {.wrt = bad[i].wrt, .n_wrt = bad[i].n, .name = "j"};
    tsr_status st = graph_jvp_of(graph_find_func(m, NULL), &q, &jvp);
    assert_true(gt_says(tsr_status_message(st), bad[i].says));
    assert_null(jvp);
    tsr_status_free(st);
  }
  ir_module_destroy(&m);
  m = gt_parse(gt_func("%x: tensor<1xf32>",
                       "%0 = \"tessera.graph.custom\"(%x) {callee = \"f\"} : (tensor<1xf32>) -> tensor<1xf32>", "%0",
                       "tensor<1xf32>"));
  const grad_request q = {.wrt = (int[]){0}, .n_wrt = 1, .name = "j"};
  tsr_status st = graph_jvp_of(graph_find_func(m, NULL), &q, &jvp);
  assert_true(gt_says(tsr_status_message(st), "custom: test.mlir:4:6: has no derivative"));
  tsr_status_free(st);
  ir_module_destroy(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tangents_agree_with_differences),
      cmocka_unit_test(tangents_of_gradients_agree_with_differences),
      cmocka_unit_test(a_tangent_leaves_nothing_of_the_pass_back),
      cmocka_unit_test(tangents_that_make_no_sense_are_errors),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
