/* core/ir/graph/adjoint.c - reverse-mode derivatives of the ops: given g, the gradient of an op's result, build the
 * gradients of its operands. Where a function has a kink the derivative of one side is taken (relu'(0) = 0, abs'(0) =
 * 1; of equal operands max and min choose the first; equal extremes of a reduction share). Gradients of operands that
 * are not floats are left out. Sources: the closed forms stand beside the code; layernorm after Ba et al. 2016. */
#include <math.h>

#include "core/base/dtype.h"
#include "core/ir/graph/table.h"

#define ADD(x, y) graph_op2(b, G_ADD, x, y)
#define SUB(x, y) graph_op2(b, G_SUB, x, y)
#define MUL(x, y) graph_op2(b, G_MUL, x, y)
#define DIV(x, y) graph_op2(b, G_DIV, x, y)
#define NEG(x) graph_op1(b, G_NEG, x)
#define SELECT(c, x, y) graph_op3(b, G_SELECT, c, x, y)
#define NUM(v) graph_number(b, op->results[0]->type->dtype, v)
#define IN(i) (op->operands[i])
#define OUT (op->results[0])
#define BEGIN(name) bool name(ir_builder *b, ir_op *op, ir_value *g, ir_value **grads)
#define END return !b->failed

/* Sums g over what broadcasting repeated, down to type t. */
static ir_value *unbroadcast(ir_builder *b, ir_value *g, const ir_type *t) {
  bool reduced[TSR_MAX_RANK] = {0}, any = false;
  if (!g) return NULL;
  int lead = g->type->rank - t->rank;
  for (int i = 0; i < g->type->rank; i++)
    any |= reduced[i] = i < lead || (t->dims[i - lead] == 1 && g->type->dims[i] != 1);
  if (any) g = graph_reduce(b, G_REDUCE_SUM, g, reduced, false);
  return g ? graph_reshape(b, g, t->rank, t->dims) : NULL;
}

static void give(ir_builder *b, ir_op *op, ir_value **grads, int i, ir_value *g) {
  grads[i] = unbroadcast(b, g, IN(i)->type);
}

BEGIN(adjoint_zero) { END; }

BEGIN(adjoint_add) {
  give(b, op, grads, 0, g);
  give(b, op, grads, 1, g);
  END;
}

BEGIN(adjoint_sub) {
  give(b, op, grads, 0, g);
  give(b, op, grads, 1, NEG(g));
  END;
}

BEGIN(adjoint_mul) {
  give(b, op, grads, 0, MUL(g, IN(1)));
  give(b, op, grads, 1, MUL(g, IN(0)));
  END;
}

BEGIN(adjoint_div) {
  give(b, op, grads, 0, DIV(g, IN(1)));
  give(b, op, grads, 1, NEG(DIV(MUL(g, OUT), IN(1))));
  END;
}

/* a - b trunc(a / b): trunc(a / b) = (a - result) / b is constant around almost every point. */
BEGIN(adjoint_rem) {
  give(b, op, grads, 0, g);
  give(b, op, grads, 1, NEG(MUL(g, DIV(SUB(IN(0), OUT), IN(1)))));
  END;
}

/* b a^(b-1) and a^b log a; the latter where a > 0 only. */
BEGIN(adjoint_pow) {
  ir_value *lower = graph_op2(b, G_POW, IN(0), SUB(IN(1), NUM(1)));
  give(b, op, grads, 0, MUL(g, MUL(IN(1), lower)));
  ir_value *positive = graph_compare(b, CMP_GT, IN(0), NUM(0));
  ir_value *log = graph_op1(b, G_LOG, SELECT(positive, IN(0), NUM(1)));
  give(b, op, grads, 1, MUL(g, MUL(OUT, log)));
  END;
}

static bool extreme(ir_builder *b, ir_op *op, ir_value *g, ir_value **grads, int predicate) {
  ir_value *first = graph_compare(b, predicate, IN(0), IN(1));
  give(b, op, grads, 0, SELECT(first, g, NUM(0)));
  give(b, op, grads, 1, SELECT(first, NUM(0), g));
  END;
}

BEGIN(adjoint_max) { return extreme(b, op, g, grads, CMP_GE); }
BEGIN(adjoint_min) { return extreme(b, op, g, grads, CMP_LE); }

BEGIN(adjoint_neg) {
  grads[0] = NEG(g);
  END;
}

BEGIN(adjoint_abs) {
  grads[0] = SELECT(graph_compare(b, CMP_LT, IN(0), NUM(0)), NEG(g), g);
  END;
}

BEGIN(adjoint_exp) {
  grads[0] = MUL(g, OUT);
  END;
}

BEGIN(adjoint_log) {
  grads[0] = DIV(g, IN(0));
  END;
}

BEGIN(adjoint_sqrt) {
  grads[0] = DIV(MUL(g, NUM(0.5)), OUT);
  END;
}

/* -1/2 x^(-3/2) */
BEGIN(adjoint_rsqrt) {
  grads[0] = MUL(MUL(g, NUM(-0.5)), MUL(OUT, MUL(OUT, OUT)));
  END;
}

BEGIN(adjoint_tanh) {
  grads[0] = MUL(g, SUB(NUM(1), MUL(OUT, OUT)));
  END;
}

/* 2 / sqrt(pi) exp(-x^2) */
BEGIN(adjoint_erf) {
  ir_value *e = graph_op1(b, G_EXP, NEG(MUL(IN(0), IN(0))));
  grads[0] = MUL(g, MUL(NUM(1.12837916709551257390), e));
  END;
}

BEGIN(adjoint_sigmoid) {
  grads[0] = MUL(g, MUL(OUT, SUB(NUM(1), OUT)));
  END;
}

BEGIN(adjoint_relu) {
  grads[0] = SELECT(graph_compare(b, CMP_GT, IN(0), NUM(0)), g, NUM(0));
  END;
}

/* Phi(x) + x phi(x); in the tanh form (1 + t) / 2 + x (1 - t^2) u' / 2 with u = sqrt(2/pi) (x + 0.044715 x^3). */
BEGIN(adjoint_gelu) {
  ir_value *x = IN(0), *x2 = MUL(x, x), *d;
  if (graph_variant(op)) {
    ir_value *u = MUL(MUL(NUM(0.79788456080286535588), x), ADD(NUM(1), MUL(NUM(0.044715), x2)));
    ir_value *t = graph_op1(b, G_TANH, u);
    ir_value *du = MUL(NUM(0.79788456080286535588), ADD(NUM(1), MUL(NUM(0.134145), x2)));
    d = ADD(ADD(NUM(1), t), MUL(MUL(x, SUB(NUM(1), MUL(t, t))), du));
    d = MUL(NUM(0.5), d);
  } else {
    ir_value *cdf = MUL(NUM(0.5), ADD(NUM(1), graph_op1(b, G_ERF, MUL(x, NUM(0.70710678118654752440)))));
    ir_value *pdf = MUL(NUM(0.39894228040143267794), graph_op1(b, G_EXP, MUL(x2, NUM(-0.5))));
    d = ADD(cdf, MUL(x, pdf));
  }
  grads[0] = MUL(g, d);
  END;
}

/* s + x s (1 - s) */
BEGIN(adjoint_silu) {
  ir_value *s = graph_op1(b, G_SIGMOID, IN(0));
  grads[0] = MUL(g, ADD(s, MUL(OUT, SUB(NUM(1), s))));
  END;
}

BEGIN(adjoint_sin) {
  grads[0] = MUL(g, graph_op1(b, G_COS, IN(0)));
  END;
}

BEGIN(adjoint_cos) {
  grads[0] = NEG(MUL(g, graph_op1(b, G_SIN, IN(0))));
  END;
}

BEGIN(adjoint_select) {
  give(b, op, grads, 1, SELECT(IN(0), g, NUM(0)));
  give(b, op, grads, 2, SELECT(IN(0), NUM(0), g));
  END;
}

BEGIN(adjoint_cast) {
  if (dtype_is_float(IN(0)->type->dtype) && dtype_is_float(OUT->type->dtype))
    grads[0] = graph_cast(b, g, IN(0)->type->dtype);
  END;
}

BEGIN(adjoint_broadcast) {
  give(b, op, grads, 0, g);
  END;
}

/* ---- matmul ---------------------------------------------------------------------------------------------------- */

/* x and y in one type that can be multiplied, then to operand i's shape and type. */
static void give_product(ir_builder *b, ir_op *op, ir_value **grads, int i, ir_value *x, ir_value *y, bool tx,
                         bool ty) {
  tsr_dtype t = x->type->dtype, s = y->type->dtype;
  if (t != s) {
    tsr_dtype wide = t == TSR_F64 || s == TSR_F64 ? TSR_F64 : TSR_F32;
    x = graph_cast(b, x, wide);
    y = graph_cast(b, y, wide);
  }
  ir_value *p = graph_matmul_build(b, x, y, tx, ty);
  if (p) p = graph_cast(b, p, IN(i)->type->dtype);
  give(b, op, grads, i, p);
}

/* C = A B: dA = dC B^T, dB = A^T dC, with the stored orientations. */
BEGIN(adjoint_matmul) {
  graph_matmul m = graph_matmul_get(op);
  if (!dtype_is_float(IN(0)->type->dtype)) END;
  if (m.transpose_a) give_product(b, op, grads, 0, IN(1), g, m.transpose_b, true);
  else give_product(b, op, grads, 0, g, IN(1), false, !m.transpose_b);
  if (m.transpose_b) give_product(b, op, grads, 1, g, IN(0), true, m.transpose_a);
  else give_product(b, op, grads, 1, IN(0), g, !m.transpose_a, false);
  END;
}

/* ---- reductions and rows --------------------------------------------------------------------------------------- */

/* v, a result of reduction op, with the reduced dimensions back as 1. */
static ir_value *kept(ir_builder *b, const ir_op *op, ir_value *v) {
  bool reduced[TSR_MAX_RANK];
  const ir_type *t = IN(0)->type;
  int64_t dims[TSR_MAX_RANK];
  graph_axes(op, reduced);
  for (int i = 0; i < t->rank; i++) dims[i] = reduced[i] ? 1 : t->dims[i];
  return v ? graph_reshape(b, v, t->rank, dims) : NULL;
}

static ir_value *spread(ir_builder *b, const ir_op *op, ir_value *v) {
  v = kept(b, op, v);
  return v ? graph_broadcast(b, v, IN(0)->type->rank, IN(0)->type->dims) : NULL;
}

BEGIN(adjoint_reduce_sum) {
  grads[0] = spread(b, op, g);
  END;
}

BEGIN(adjoint_reduce_mean) {
  bool reduced[TSR_MAX_RANK];
  double n = 1;
  graph_axes(op, reduced);
  for (int i = 0; i < IN(0)->type->rank; i++) n *= reduced[i] ? (double)IN(0)->type->dims[i] : 1;
  grads[0] = spread(b, op, MUL(g, NUM(1 / n)));
  END;
}

BEGIN(adjoint_reduce_extreme) {
  bool reduced[TSR_MAX_RANK];
  graph_axes(op, reduced);
  ir_value *hit = SELECT(graph_compare(b, CMP_EQ, IN(0), kept(b, op, OUT)), NUM(1), NUM(0));
  ir_value *n = hit ? graph_reduce(b, G_REDUCE_SUM, hit, reduced, true) : NULL;
  grads[0] = MUL(hit, DIV(kept(b, op, g), n));
  END;
}

/* The product of the others: result / x without zeros; with one zero, only its element has a gradient; with more, none.
 */
BEGIN(adjoint_reduce_prod) {
  bool reduced[TSR_MAX_RANK];
  graph_axes(op, reduced);
  ir_value *zero = graph_compare(b, CMP_EQ, IN(0), NUM(0));
  ir_value *safe = SELECT(zero, NUM(1), IN(0)), *count = SELECT(zero, NUM(1), NUM(0));
  if (b->failed) return false;
  ir_value *rest = graph_reduce(b, G_REDUCE_PROD, safe, reduced, true),
           *zeros = graph_reduce(b, G_REDUCE_SUM, count, reduced, true);
  ir_value *others = SELECT(graph_compare(b, CMP_EQ, SUB(zeros, count), NUM(0)), DIV(rest, safe), NUM(0));
  grads[0] = MUL(kept(b, op, g), others);
  END;
}

BEGIN(adjoint_softmax) {
  bool reduced[TSR_MAX_RANK] = {0};
  reduced[graph_axis(op)] = true;
  ir_value *gy = MUL(g, OUT), *sum = gy ? graph_reduce(b, G_REDUCE_SUM, gy, reduced, true) : NULL;
  grads[0] = MUL(OUT, SUB(g, sum));
  END;
}

static ir_value *row_mean(ir_builder *b, ir_value *x) {
  bool reduced[TSR_MAX_RANK] = {0};
  if (!x) return NULL;
  reduced[x->type->rank - 1] = true;
  return graph_reduce(b, G_REDUCE_MEAN, x, reduced, true);
}

/* With z the normalised rows, r the scale and h = g gamma: dx = r (h - mean(h) - z mean(h z)), without mean(h) for
 * rmsnorm. */
BEGIN(adjoint_norm) {
  tsr_dtype t = IN(0)->type->dtype, wide = t == TSR_F64 ? TSR_F64 : TSR_F32;
  bool center = op->def->code == G_LAYERNORM;
  ir_value *x = graph_cast(b, IN(0), wide), *h = graph_cast(b, g, wide), *dy = h;
  ir_value *d = center ? SUB(x, row_mean(b, x)) : x;
  ir_value *var = row_mean(b, MUL(d, d));
  ir_value *r = graph_op1(b, G_RSQRT, ADD(var, graph_number(b, wide, ir_get_float(op, "eps", 1e-5))));
  ir_value *z = MUL(d, r);
  if (op->n_operands > 1) h = MUL(h, graph_cast(b, IN(1), wide));
  ir_value *inner = center ? SUB(h, row_mean(b, h)) : h;
  ir_value *dx = MUL(r, SUB(inner, MUL(z, row_mean(b, MUL(h, z)))));
  if (b->failed) return false;
  grads[0] = graph_cast(b, dx, t);
  if (op->n_operands > 1) give(b, op, grads, 1, graph_cast(b, MUL(dy, z), IN(1)->type->dtype));
  if (op->n_operands > 2) give(b, op, grads, 2, graph_cast(b, dy, IN(2)->type->dtype));
  END;
}

/* ---- movement -------------------------------------------------------------------------------------------------- */

BEGIN(adjoint_reshape) {
  grads[0] = graph_reshape(b, g, IN(0)->type->rank, IN(0)->type->dims);
  END;
}

BEGIN(adjoint_transpose) {
  int perm[TSR_MAX_RANK], inverse[TSR_MAX_RANK];
  graph_perm(op, perm);
  for (int i = 0; i < IN(0)->type->rank; i++) inverse[perm[i]] = i;
  grads[0] = graph_transpose(b, g, inverse);
  END;
}

static ir_value *moved(ir_builder *b, graph_code c, ir_value *x, const char *first, const int64_t *u,
                       const char *second, const int64_t *v, const ir_type *t) {
  if (!x || b->failed) return NULL;
  ir_op *op = ir_op_new(b, graph_def(c), 1, &x, 1, &t, 0);
  if (!op || !ir_set_attr(op, first, ir_attr_ints(b->m, u, t->rank)) ||
      !ir_set_attr(op, second, ir_attr_ints(b->m, v, t->rank)))
    b->failed = true;
  return b->failed ? NULL : OUT;
}

static ir_value *padded(ir_builder *b, ir_value *x, const int64_t *low, const int64_t *high) {
  if (!x || b->failed) return NULL;
  int64_t dims[TSR_MAX_RANK];
  for (int i = 0; i < x->type->rank; i++) dims[i] = x->type->dims[i] + low[i] + high[i];
  const ir_type *t = ir_type_tensor(b->m, x->type->dtype, x->type->rank, dims);
  if (!t) b->failed = true;
  return t ? moved(b, G_PAD, x, "low", low, "high", high, t) : NULL;
}

static ir_value *sliced(ir_builder *b, ir_value *x, const int64_t *starts, const int64_t *sizes) {
  if (!x || b->failed) return NULL;
  const ir_type *t = ir_type_tensor(b->m, x->type->dtype, x->type->rank, sizes);
  if (!t) b->failed = true;
  return t ? moved(b, G_SLICE, x, "starts", starts, "sizes", sizes, t) : NULL;
}

/* Puts stride - 1 zeros behind each element along one axis: [pre, s, 1, post] -> [pre, s, stride, post]. */
static ir_value *dilated(ir_builder *b, ir_value *x, int axis, int64_t stride) {
  if (!x || stride == 1) return x;
  int64_t dims[TSR_MAX_RANK], pre = 1, post = 1, low[4] = {0}, high[4] = {0, 0, stride - 1, 0};
  int rank = x->type->rank;
  for (int i = 0; i < rank; i++) {
    dims[i] = x->type->dims[i];
    if (i < axis) pre *= dims[i];
    if (i > axis) post *= dims[i];
  }
  x = padded(b, graph_reshape(b, x, 4, (int64_t[]){pre, dims[axis], 1, post}), low, high);
  dims[axis] *= stride;
  return x ? graph_reshape(b, x, rank, dims) : NULL;
}

BEGIN(adjoint_slice) {
  int64_t starts[TSR_MAX_RANK], strides[TSR_MAX_RANK], high[TSR_MAX_RANK], none[TSR_MAX_RANK] = {0};
  const ir_type *t = IN(0)->type;
  graph_slice(op, starts, strides);
  for (int i = 0; i < t->rank; i++) g = dilated(b, g, i, strides[i]);
  for (int i = 0; g && i < t->rank; i++) {
    int64_t over = starts[i] + g->type->dims[i] - t->dims[i];
    high[i] = over < 0 ? -over : 0;
  }
  g = padded(b, g, starts, high);
  grads[0] = sliced(b, g, none, t->dims); /* the zeros behind the last element may have gone over the end */
  END;
}

BEGIN(adjoint_concat) {
  int64_t starts[TSR_MAX_RANK] = {0};
  int axis = graph_axis(op);
  for (int i = 0; i < op->n_operands; i++) {
    grads[i] = sliced(b, g, starts, IN(i)->type->dims);
    starts[axis] += IN(i)->type->dims[axis];
  }
  END;
}

BEGIN(adjoint_pad) {
  int64_t low[TSR_MAX_RANK], high[TSR_MAX_RANK];
  graph_pad(op, low, high);
  grads[0] = sliced(b, g, low, IN(0)->type->dims);
  END;
}
