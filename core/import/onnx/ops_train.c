/* core/import/onnx/ops_train.c - the optimizers of ai.onnx.preview.training: a step for each of several tensors. */
#include "core/base/dtype.h"
#include "core/import/onnx/tables.h"

#define ADD(x, y) cv_op2(c, G_ADD, x, y)
#define SUB(x, y) cv_op2(c, G_SUB, x, y)
#define MUL(x, y) cv_op2(c, G_MUL, x, y)
#define DIV(x, y) cv_op2(c, G_DIV, x, y)
#define NUM(v)    cv_number(c, TSR_F32, v)

/* How many tensors there are: the operands behind rate and step are lists of as many. */
static int tensors(cv *c, int lists) {
  const int n = ((int)c->node->n_in - 2) / lists;
  if ((int)c->node->n_in != 2 + n * lists || n < 1) cv_refuse(c, "%zu operands", c->node->n_in);
  for (size_t i = 0; i < c->node->n_in && !c->failed; i++) {
    const ir_value *v = cv_need(c, (int)i);
    if (i > 1 && v && v->type->dtype != TSR_F32) cv_refuse(c, "tensors that aren't f32");
  }
  return c->failed ? 0 : n;
}

static ir_value *rate(cv *c) { return cv_reshape(c, cv_cast(c, cv_need(c, 0), TSR_F32), 0, (int64_t[]){0}); }
static ir_value *steps(cv *c) { return cv_reshape(c, cv_cast(c, cv_need(c, 1), TSR_F32), 0, (int64_t[]){0}); }

/* The gradient and what regularizes. */
static ir_value *slope(cv *c, ir_value *x, ir_value *g) {
  return ADD(MUL(NUM(cv_float(c, "norm_coefficient", 0)), x), g);
}

static void op_adagrad(cv *c) {
  const int n = tensors(c, 3);
  ir_value *r = DIV(rate(c), ADD(NUM(1), MUL(steps(c), NUM(cv_float(c, "decay_factor", 0)))));
  for (int i = 0; i < n; i++) {
    ir_value *x = cv_need(c, 2 + i), *g = slope(c, x, cv_need(c, 2 + n + i));
    ir_value *h = ADD(cv_need(c, 2 + 2 * n + i), MUL(g, g));
    ir_value *down = ADD(cv_op1(c, G_SQRT, h), NUM(cv_float(c, "epsilon", 1e-6f)));
    cv_out(c, i, SUB(x, DIV(MUL(r, g), down)));
    cv_out(c, n + i, h);
  }
}

static void op_momentum(cv *c) {
  const int n = tensors(c, 3);
  const double alpha = cv_float(c, "alpha", 0), beta = cv_float(c, "beta", 0);
  const bool nesterov = cv_is(c, "mode", "standard", "nesterov");
  ir_value *first = cv_compare(c, "gt", steps(c), NUM(0)), *factor = cv_where(c, first, NUM(beta), NUM(1));
  for (int i = 0; i < n; i++) {
    ir_value *x = cv_need(c, 2 + i), *g = slope(c, x, cv_need(c, 2 + n + i));
    ir_value *v = ADD(MUL(NUM(alpha), cv_need(c, 2 + 2 * n + i)), MUL(factor, g));
    cv_out(c, i, SUB(x, MUL(rate(c), nesterov ? ADD(g, MUL(NUM(alpha), v)) : v)));
    cv_out(c, n + i, v);
  }
}

static void op_adam(cv *c) {
  const int n = tensors(c, 4);
  const double alpha = cv_float(c, "alpha", 0.9f), beta = cv_float(c, "beta", 0.999f);
  const double after = cv_float(c, "norm_coefficient_post", 0);
  ir_value *t = steps(c), *one = NUM(1);
  ir_value *bias =
      DIV(cv_op1(c, G_SQRT, SUB(one, cv_op2(c, G_POW, NUM(beta), t))), SUB(one, cv_op2(c, G_POW, NUM(alpha), t)));
  ir_value *r = cv_where(c, cv_compare(c, "gt", t, NUM(0)), MUL(rate(c), bias), rate(c));
  for (int i = 0; i < n; i++) {
    ir_value *x = cv_need(c, 2 + i), *g = slope(c, x, cv_need(c, 2 + n + i));
    ir_value *v = ADD(MUL(NUM(alpha), cv_need(c, 2 + 2 * n + i)), MUL(NUM(1 - alpha), g));
    ir_value *h = ADD(MUL(NUM(beta), cv_need(c, 2 + 3 * n + i)), MUL(NUM(1 - beta), MUL(g, g)));
    ir_value *y = SUB(x, DIV(MUL(r, v), ADD(cv_op1(c, G_SQRT, h), NUM(cv_float(c, "epsilon", 1e-6f)))));
    cv_out(c, i, after != 0 ? MUL(NUM(1 - after), y) : y);
    cv_out(c, n + i, v);
    cv_out(c, 2 * n + i, h);
  }
}

const cv_row onnx_rows_train[] = {
    {"Adagrad", 1, op_adagrad}, {"Momentum", 1, op_momentum}, {"Adam", 1, op_adam}, {NULL, 0, NULL}};
