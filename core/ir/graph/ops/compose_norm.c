/* core/ir/graph/ops/compose_norm.c - composite ops of norms and positions: rows, shape rules, expansions. Group norm:
 * Wu and He 2018; rotary positions: Su et al. 2021. */
#include <math.h>
#include <string.h>

#include "core/base/dtype.h"
#include "core/ir/graph/ops/compose.h"

static tsr_status check_eps(const ir_op *op) {
  double eps = ir_get_float(op, "eps", 1e-5);
  return eps >= 0 ? NULL : ir_error(op, "a small positive number", "eps is %g", eps);
}

/* Operands from `first` on are vectors with an element for each of the n channels, of x's type or f32. */
static tsr_status check_channels(ir_op *op, int first, int64_t n) {
  for (int i = first; i < op->n_operands; i++) {
    const ir_type *v = TYPE(i);
    char a[128];
    if (v->dtype != TYPE(0)->dtype && v->dtype != TSR_F32)
      return ir_error(op, graph_no_cast, "operand %d is %s for %s", i, tsr_dtype_name(v->dtype),
                      tsr_dtype_name(TYPE(0)->dtype));
    if (v->rank != 1 || shape_differs(v->dims[0], n))
      return ir_error(op, "one element per channel", "operand %d is %s for %lld channels", i,
                      shape_text(v, a, sizeof a), (long long)n);
  }
  return NULL;
}

/* Vector i of op as channels along `axis` of a tensor like x, in type t: repeated before it is converted, as what has
 * x's shape is part of its kernel. */
static ir_value *channel(ir_builder *b, const ir_op *op, int i, int axis, const ir_value *x, tsr_dtype t) {
  if (!x) return NULL;
  return graph_cast(b, compose_spread(b, compose_place(b, IN(i), axis, x->type->rank), x->type), t);
}

/* ---- batch_norm -------------------------------------------------------------------------------------------------- */

static tsr_status infer_batch_norm(ir_op *op, const ir_type **results) {
  TSR_TRY(shape_floats(op));
  const ir_type *x = results[0] = TYPE(0);
  TSR_TRY(shape_axis(op, "axis", ir_get_int(op, "axis", 1), x->rank));
  TSR_TRY(check_eps(op));
  return check_channels(op, 1, x->dims[compose_axis(op, "axis", 1, x->rank)]);
}

/* (x - mean) * scale + beta: the scale, a number per channel, is a kernel of its own, or none where variance and gamma
 * are constants. */
EXPAND(expand_batch_norm) {
  const ir_type *x = TYPE(0);
  const tsr_dtype t = compose_float(x->dtype);
  const int axis = compose_axis(op, "axis", 1, x->rank);
  ir_value *variance = graph_cast(b, IN(2), t);
  ir_value *scale = graph_op1(b, G_RSQRT, ADD(variance, graph_number(b, t, ir_get_float(op, "eps", 1e-5))));
  if (op->n_operands > 3) scale = MUL(scale, graph_cast(b, IN(3), t));
  ir_value *y = SUB(graph_cast(b, IN(0), t), channel(b, op, 1, axis, IN(0), t));
  y = MUL(y, compose_place(b, scale, axis, x->rank));
  if (op->n_operands > 4) y = ADD(y, channel(b, op, 4, axis, IN(0), t));
  out[0] = graph_cast(b, y, x->dtype);
  DONE;
}

/* ---- group_norm, instance_norm ----------------------------------------------------------------------------------- */

static tsr_status infer_group_norm(ir_op *op, const ir_type **results) {
  TSR_TRY(shape_floats(op));
  const ir_type *x = results[0] = TYPE(0);
  int64_t groups = ir_get_int(op, "groups", 1);
  if (x->rank < 2) return ir_error(op, "[batch, channels, ..]", "needs channels, not rank %d", x->rank);
  if (groups < 1 || (x->dims[1] != IR_DYNAMIC && x->dims[1] % groups))
    return ir_error(op, "each group has as many channels", "%lld channels in %lld groups", (long long)x->dims[1],
                    (long long)groups);
  TSR_TRY(check_eps(op));
  return check_channels(op, 1, x->dims[1]);
}

static tsr_status infer_instance_norm(ir_op *op, const ir_type **results) {
  TSR_TRY(shape_floats(op));
  const ir_type *x = results[0] = TYPE(0);
  if (x->rank < 3) return ir_error(op, "[batch, channels, ..]", "needs elements of channels, not rank %d", x->rank);
  TSR_TRY(check_eps(op));
  return check_channels(op, 1, x->dims[1]);
}

/* A group's elements are one after the other: such rows are normalized, then come the channels' factors. Where a row is
 * one channel these are part of its kernel. */
static ir_value *grouped(ir_builder *b, const ir_op *op, int64_t groups) {
  const ir_type *x = TYPE(0);
  const tsr_dtype t = op->n_operands > 1 ? compose_float(x->dtype) : x->dtype;
  int64_t inner = groups ? x->dims[1] / groups : 1;
  for (int i = 2; i < x->rank; i++) inner *= x->dims[i];
  const bool one = groups == x->dims[1];
  ir_value *y = graph_reshape(b, IN(0), 3, (int64_t[]){x->dims[0], groups, inner});
  y = compose_normalize(b, y, ir_get_float(op, "eps", 1e-5));
  if (!one) y = graph_reshape(b, y, x->rank, x->dims);
  y = graph_cast(b, y, t);
  if (op->n_operands > 1) y = MUL(y, channel(b, op, 1, 1, y, t));
  if (op->n_operands > 2) y = ADD(y, channel(b, op, 2, 1, y, t));
  return graph_reshape(b, graph_cast(b, y, x->dtype), x->rank, x->dims);
}

EXPAND(expand_group_norm) {
  out[0] = grouped(b, op, ir_get_int(op, "groups", 1));
  DONE;
}

EXPAND(expand_instance_norm) {
  out[0] = grouped(b, op, TYPE(0)->dims[1]);
  DONE;
}

/* ---- logsumexp, log_softmax -------------------------------------------------------------------------------------- */

static tsr_status infer_logsumexp(ir_op *op, const ir_type **results) {
  TSR_TRY(shape_floats(op));
  return graph_def(G_REDUCE_SUM)->infer(op, results);
}

/* The largest elements along `axes`, or 0 where that is not finite: what is subtracted before exp. */
static ir_value *largest(ir_builder *b, ir_value *v, const bool *axes) {
  ir_value *m = v ? graph_reduce(b, G_REDUCE_MAX, v, axes, true) : NULL;
  if (!m) return NULL;
  ir_value *finite = graph_compare(b, CMP_LE, graph_op1(b, G_ABS, m), LIKE(m, dtype_get(m->type->dtype)->max));
  return SELECT(finite, m, LIKE(m, 0));
}

/* log(sum(exp(x - m))) + m: rows of -inf give -inf, and one +inf gives +inf. */
EXPAND(expand_logsumexp) {
  const ir_type *x = TYPE(0), *y = OUT->type;
  bool axes[TSR_MAX_RANK];
  graph_axes(op, axes);
  ir_value *v = graph_cast(b, IN(0), compose_float(x->dtype)), *m = largest(b, v, axes);
  ir_value *sum = graph_reduce(b, G_REDUCE_SUM, graph_op1(b, G_EXP, SUB(v, m)), axes, true);
  ir_value *l = ADD(graph_op1(b, G_LOG, sum), m);
  out[0] = graph_reshape(b, graph_cast(b, l, x->dtype), y->rank, y->dims);
  DONE;
}

/* g * exp(x - logsumexp(x)), and nothing for elements of -inf. Of narrow floats the sum is computed again: rounded, it
 * would be off by more than the result. */
BEGIN(adjoint_logsumexp) {
  const ir_type *x = IN(0)->type;
  const tsr_dtype t = compose_float(x->dtype);
  int64_t dims[TSR_MAX_RANK];
  bool axes[TSR_MAX_RANK];
  graph_axes(op, axes);
  for (int i = 0; i < x->rank; i++) dims[i] = axes[i] ? 1 : x->dims[i];
  ir_value *v = graph_cast(b, IN(0), t);
  ir_value *l = t == x->dtype ? graph_reshape(b, OUT, x->rank, dims) : graph_reduce(b, G_LOGSUMEXP, v, axes, true);
  ir_value *some = graph_compare(b, CMP_NE, v, graph_number(b, t, -INFINITY));
  ir_value *share = SELECT(some, graph_op1(b, G_EXP, SUB(v, l)), graph_number(b, t, 0));
  grads[0] = graph_cast(b, MUL(share, graph_cast(b, graph_reshape(b, g, x->rank, dims), t)), x->dtype);
  END;
}

static tsr_status infer_log_softmax(ir_op *op, const ir_type **results) {
  return graph_def(G_SOFTMAX)->infer(op, results);
}

/* (x - m) - log(sum(exp(x - m))): logsumexp(x) itself would be rounded as m is. A row of -inf stays what it is. */
EXPAND(expand_log_softmax) {
  const ir_type *x = TYPE(0);
  const tsr_dtype t = compose_float(x->dtype);
  bool along[TSR_MAX_RANK] = {false};
  along[graph_axis(op)] = true;
  ir_value *v = graph_cast(b, IN(0), t), *d = SUB(v, largest(b, v, along));
  ir_value *l = graph_op1(b, G_LOG, graph_reduce(b, G_REDUCE_SUM, graph_op1(b, G_EXP, d), along, true));
  ir_value *masked = graph_compare(b, CMP_EQ, l, graph_number(b, t, -INFINITY));
  out[0] = graph_cast(b, SUB(d, SELECT(masked, graph_number(b, t, 0), l)), x->dtype);
  DONE;
}

/* g - exp(y) sum(g). Of narrow floats y is computed again: rounded, it would be off by too much. */
BEGIN(adjoint_log_softmax) {
  const ir_type *x = IN(0)->type;
  const tsr_dtype t = compose_float(x->dtype);
  const int axis = graph_axis(op);
  bool along[TSR_MAX_RANK] = {false};
  along[axis] = true;
  ir_value *h = graph_cast(b, g, t), *y = OUT;
  if (t != x->dtype) y = compose_along(b, G_LOG_SOFTMAX, graph_cast(b, IN(0), t), axis);
  ir_value *share = graph_op1(b, G_EXP, y);
  ir_value *sum = h ? graph_reduce(b, G_REDUCE_SUM, h, along, true) : NULL;
  grads[0] = graph_cast(b, SUB(h, MUL(share, sum)), x->dtype);
  END;
}

/* ---- rope -------------------------------------------------------------------------------------------------------- */

static tsr_status infer_rope(ir_op *op, const ir_type **results) {
  TSR_TRY(shape_tensors(op));
  const ir_type *x = results[0] = TYPE(0);
  char a[128], c[128];
  double base = ir_get_float(op, "base", 10000);
  if (!dtype_is_float(x->dtype)) return ir_error(op, graph_no_cast, "takes floats, not %s", tsr_dtype_name(x->dtype));
  if (x->rank < 2) return ir_error(op, "[.., length, width]", "needs positions and a width, not rank %d", x->rank);
  int64_t n = x->dims[x->rank - 2], d = x->dims[x->rank - 1];
  if (d != IR_DYNAMIC && d % 2) return ir_error(op, "elements turn in pairs", "the width %lld is odd", (long long)d);
  if (!(base > 0) || isinf(base)) return ir_error(op, "10000 in the paper", "base is %g", base);
  if (op->n_operands == 2) {
    const ir_type *p = TYPE(1);
    if (dtype_is_float(p->dtype) || p->dtype == TSR_BOOL)
      return ir_error(op, graph_no_cast, "positions are integers, not %s", tsr_dtype_name(p->dtype));
    if (p->rank != 1 || shape_differs(p->dims[0], n))
      return ir_error(op, "one for each place along the last axis but one", "positions %s for %s",
                      shape_text(p, a, sizeof a), shape_text(x, c, sizeof c));
  }
  for (int i = 1; i < op->n_operands && op->n_operands == 3; i++) {
    const ir_type *v = TYPE(i);
    if (v->dtype != x->dtype && v->dtype != TSR_F32)
      return ir_error(op, graph_no_cast, "a table of %s for %s", tsr_dtype_name(v->dtype), tsr_dtype_name(x->dtype));
    if (v->rank != 2 || shape_differs(v->dims[0], n) || (d != IR_DYNAMIC && shape_differs(v->dims[1], d / 2)))
      return ir_error(op, "[length, width / 2]", "a table %s for %s", shape_text(v, a, sizeof a),
                      shape_text(x, c, sizeof c));
  }
  return NULL;
}

/* position * base^(-2 i / width), [length, width / 2]. */
static ir_value *angles(ir_builder *b, const ir_op *op, tsr_dtype t) {
  const ir_type *x = TYPE(0);
  const int64_t dims[2] = {x->dims[x->rank - 2], x->dims[x->rank - 1] / 2};
  const ir_type *table = ir_type_tensor(b->m, t, 2, dims);
  double step = -2 * log(ir_get_float(op, "base", 10000)) / (double)(dims[1] ? 2 * dims[1] : 1);
  if (!table) return NULL;
  ir_value *frequency = graph_op1(b, G_EXP, MUL(graph_iota(b, t, table, 1), graph_number(b, t, step)));
  ir_value *position = graph_iota(b, t, table, 0);
  if (op->n_operands == 2) position = compose_place(b, graph_cast(b, IN(1), t), 0, 2);
  return MUL(compose_spread(b, position, table), frequency);
}

/* Both of a pair from both: all of it has the shape [.., length, 2, width / 2] or, interleaved, [.., width / 2, 2], so
 * that x is read through views and the op is one kernel. */
EXPAND(expand_rope) {
  const ir_type *x = TYPE(0);
  const tsr_dtype t = compose_float(x->dtype);
  const bool interleaved = ir_get_bool(op, "interleaved", false);
  const int64_t n = x->dims[x->rank - 2], half = x->dims[x->rank - 1] / 2;
  int64_t rows = 1, at[4] = {0};
  for (int i = 0; i + 2 < x->rank; i++) rows *= x->dims[i];
  const int pair = interleaved ? 3 : 2;
  const int64_t dims[4] = {rows, n, interleaved ? half : 2, interleaved ? 2 : half};
  int64_t one[4] = {rows, n, dims[2], dims[3]}, table[3] = {n, interleaved ? half : 1, interleaved ? 1 : half};
  const ir_type *shape = ir_type_tensor(b->m, t, 4, dims);
  if (!shape) return false;
  one[pair] = 1;
  ir_value *v = graph_reshape(b, IN(0), 4, dims), *part[2], *turn[2];
  for (int i = 0; i < 2; i++) {
    at[pair] = i;
    part[i] = graph_cast(b, compose_spread(b, graph_cut(b, v, at, one), shape), t);
  }
  ir_value *angle = op->n_operands < 3 ? angles(b, op, t) : NULL;
  for (int i = 0; i < 2; i++) {
    turn[i] = op->n_operands < 3 ? graph_op1(b, i ? G_SIN : G_COS, angle) : graph_cast(b, IN(1 + i), t);
    turn[i] = compose_spread(b, graph_reshape(b, turn[i], 3, table), shape);
  }
  ir_value *first = SUB(MUL(part[0], turn[0]), MUL(part[1], turn[1]));
  ir_value *second = ADD(MUL(part[1], turn[0]), MUL(part[0], turn[1]));
  ir_value *is_first = graph_compare(b, CMP_EQ, graph_iota(b, TSR_I32, shape, pair), graph_number(b, TSR_I32, 0));
  out[0] = graph_reshape(b, graph_cast(b, SELECT(is_first, first, second), x->dtype), x->rank, x->dims);
  DONE;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

#define EPS {"eps", IR_A_FLOAT, false, "1e-05", "added to the variance"}

static const ir_opdef rows[] = {
    {COMPOSITE(BATCH_NORM, "batch_norm", 3, 5, 1), .operands_doc = "x, mean, variance, gamma, beta",
     .types_doc = FLOATS, .infer = infer_batch_norm, BY(expand_batch_norm),
     .attrs = ATTRS({"axis", IR_A_INT, false, "1", "the channels' dimension"}, EPS),
     .help = "(x - mean) / sqrt(variance + eps) * gamma + beta with vectors of a number per channel, of x's type or "
             "f32: batch normalization with statistics that are given, as after training. None are computed."},
    {COMPOSITE(GROUP_NORM, "group_norm", 1, 3, 1), .operands_doc = "x, gamma, beta", .types_doc = FLOATS,
     .infer = infer_group_norm, BY(expand_group_norm),
     .attrs = ATTRS({"groups", IR_A_INT, true, NULL, "of as many channels each"}, EPS),
     .help = "Normalizes each group of channels of [batch, channels, ..] about its mean, then multiplies by gamma and "
             "adds beta, vectors of a number per channel of x's type or f32."},
    {COMPOSITE(INSTANCE_NORM, "instance_norm", 1, 3, 1), .operands_doc = "x, gamma, beta", .types_doc = FLOATS,
     .infer = infer_instance_norm, BY(expand_instance_norm), .attrs = ATTRS(EPS),
     .help = "group_norm of one channel a group."},
    {COMPOSITE(LOGSUMEXP, "logsumexp", 1, 1, 1), .operands_doc = "x", .types_doc = FLOATS, .infer = infer_logsumexp,
     .attrs = ATTRS({"axes", IR_A_ARRAY, false, NULL, "which dimensions; all if absent or empty"},
                    {"keepdims", IR_A_BOOL, false, "false", "leave dimensions of 1 in their place"}),
     .ext = ROW(GRAPH_COMPOSITE, .adjoint = adjoint_logsumexp, .expand = expand_logsumexp),
     .help = "log(sum(exp(x))) about the largest element; -inf of nothing and of -inf alone, +inf where one is."},
    {COMPOSITE(LOG_SOFTMAX, "log_softmax", 1, 1, 1), .operands_doc = "x", .types_doc = FLOATS,
     .infer = infer_log_softmax, .attrs = ATTRS({"axis", IR_A_INT, false, "-1", "the dimension that is normalized"}),
     .ext = ROW(GRAPH_COMPOSITE, .adjoint = adjoint_log_softmax, .expand = expand_log_softmax),
     .help = "x - logsumexp(x) along one axis: the logarithm of softmax. Rows of -inf alone stay so."},
    {COMPOSITE(ROPE, "rope", 1, 3, 1), .operands_doc = "x, positions | x, cos, sin", .types_doc = FLOATS,
     .infer = infer_rope, BY(expand_rope),
     .attrs = ATTRS({"interleaved", IR_A_BOOL, false, "false",
                     "pairs are neighbours; if not, an element of the first half and one of the second"},
                    {"base", IR_A_FLOAT, false, "10000.0", "pair i turns by position * base^(-2 i / width)"}),
     .help = "Rotary positions of [.., length, width]: pair i at position p becomes (a cos - b sin, b cos + a sin). "
             "Positions are 0, 1, .. along length, or the integers given, [length], or cos and sin are tables [length, "
             "width / 2], f32 or as x. A pair is elements i and i + width / 2, interleaved 2 i and 2 i + 1. Angles are "
             "f32 but for f64."},
};

const ir_rows graph_compose_norm_ops = {rows, sizeof rows / sizeof *rows};
