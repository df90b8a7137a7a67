/* core/ir/graph/ops/compose_loss.c - composite ops that measure how far a prediction is off: rows, shape rules,
 * expansions. Narrow floats are computed and summed in f32. */
#include <math.h>
#include <string.h>

#include "core/base/dtype.h"
#include "core/ir/graph/ops/compose.h"

/* ---- reductions -------------------------------------------------------------------------------------------------- */

static bool reduction_is(const ir_op *op, const char *what) {
  return !strcmp(ir_get_str(op, "reduction", "mean"), what);
}

static tsr_status check_reduction(const ir_op *op) {
  if (reduction_is(op, "none") || reduction_is(op, "sum") || reduction_is(op, "mean")) return NULL;
  return ir_error(op, "none, sum or mean", "unknown reduction \"%s\"", ir_get_str(op, "reduction", ""));
}

/* The result's type: that of each loss, or one number. */
static tsr_status reduced(ir_op *op, int rank, const int64_t *dims, const ir_type **results) {
  TSR_TRY(check_reduction(op));
  return shape_finish(op, TYPE(0)->dtype, reduction_is(op, "none") ? rank : 0, dims, results);
}

/* Floats of one type whose shapes broadcast. */
static tsr_status infer_pair(ir_op *op, const ir_type **results) {
  int rank;
  int64_t dims[TSR_MAX_RANK];
  TSR_TRY(shape_floats(op));
  TSR_TRY(shape_same_dtype(op, 0));
  TSR_TRY(shape_broadcast(op, 0, &rank, dims));
  return reduced(op, rank, dims, results);
}

/* The losses as op's result, or their sum, or that over n; n NULL: their number. */
static ir_value *reduce_loss(ir_builder *b, const ir_op *op, ir_value *losses, ir_value *n) {
  const bool all[TSR_MAX_RANK] = {true, true, true, true, true, true, true, true};
  if (!losses || reduction_is(op, "none")) return graph_cast(b, losses, TYPE(0)->dtype);
  const bool mean = reduction_is(op, "mean");
  ir_value *y = losses;
  if (y->type->rank) y = graph_reduce(b, mean && !n ? G_REDUCE_MEAN : G_REDUCE_SUM, y, all, false);
  if (mean && n) y = DIV(y, n);
  return graph_cast(b, y, TYPE(0)->dtype);
}

/* ---- mse, kl ----------------------------------------------------------------------------------------------------- */

EXPAND(expand_mse) {
  const tsr_dtype t = compose_float(TYPE(0)->dtype);
  ir_value *d = SUB(graph_cast(b, IN(0), t), graph_cast(b, IN(1), t));
  out[0] = reduce_loss(b, op, MUL(d, d), NULL);
  DONE;
}

/* p (log p - q): where p is 0 nothing, of q and of its derivative as well, though q be -inf there. */
EXPAND(expand_kl) {
  const tsr_dtype t = compose_float(TYPE(0)->dtype);
  ir_value *q = graph_cast(b, IN(0), t), *p = graph_cast(b, IN(1), t), *zero = graph_number(b, t, 0), *log_p = p;
  if (ir_get_bool(op, "log_target", false)) {
    p = graph_op1(b, G_EXP, p);
    ir_value *none = graph_compare(b, CMP_EQ, p, zero);
    log_p = SELECT(none, zero, log_p);
    q = SELECT(none, zero, q);
  } else {
    ir_value *none = graph_compare(b, CMP_EQ, p, zero);
    log_p = graph_op1(b, G_LOG, SELECT(none, graph_number(b, t, 1), p));
    q = SELECT(none, zero, q);
  }
  out[0] = reduce_loss(b, op, MUL(p, SUB(log_p, q)), NULL);
  DONE;
}

/* ---- cross_entropy ----------------------------------------------------------------------------------------------- */

static const int64_t EXACT = INT64_C(1) << 53; /* of integers as doubles */

static bool has_labels(const ir_op *op) { return !dtype_is_float(TYPE(1)->dtype); }

/* The dimensions of the losses: those of the logits without the classes'. */
static int rows_of(const ir_op *op, int64_t *dims) {
  const ir_type *x = TYPE(0);
  const int axis = compose_axis(op, "axis", -1, x->rank);
  int rank = 0;
  for (int i = 0; i < x->rank; i++)
    if (i != axis) dims[rank++] = x->dims[i];
  return rank;
}

static tsr_status infer_cross_entropy(ir_op *op, const ir_type **results) {
  TSR_TRY(shape_floats(op));
  const ir_type *x = TYPE(0), *y = TYPE(1);
  int64_t dims[TSR_MAX_RANK];
  char a[128], c[128];
  TSR_TRY(shape_axis(op, "axis", ir_get_int(op, "axis", -1), x->rank));
  const int rank = rows_of(op, dims);
  if (y->dtype == TSR_BOOL) return ir_error(op, "cast them", "labels are integers or shares, not bool");
  if (!has_labels(op) && y->dtype != x->dtype)
    return ir_error(op, graph_no_cast, "targets are %s for %s", tsr_dtype_name(y->dtype), tsr_dtype_name(x->dtype));
  const int64_t ignored = ir_get_int(op, "ignore_index", 0);
  if (!has_labels(op) && ir_get_attr(op, "ignore_index"))
    return ir_error(op, "of labels alone", "ignore_index with targets of %s", tsr_dtype_name(y->dtype));
  if (ignored < -EXACT || ignored > EXACT)
    return ir_error(op, "within 2^53", "ignore_index %lld is out of range", (long long)ignored);
  bool fits = y->rank == (has_labels(op) ? rank : x->rank);
  for (int i = 0; fits && i < y->rank; i++) {
    const int64_t n = has_labels(op) ? dims[i] : x->dims[i];
    fits = !shape_differs(n, y->dims[i]);
  }
  if (!fits)
    return ir_error(op, "a label for each row, or a share for each element", "%s for logits %s",
                    shape_text(y, a, sizeof a), shape_text(x, c, sizeof c));
  return reduced(op, rank, dims, results);
}

/* The labels [.., 1 at the axis, ..], in a type that holds the classes and the label that is ignored too. */
static ir_value *labels_of(ir_builder *b, const ir_op *op, int axis) {
  const ir_type *x = TYPE(0);
  const int64_t ignored = ir_get_int(op, "ignore_index", 0);
  const bool wide = TYPE(1)->dtype == TSR_I64 || x->dims[axis] > INT32_MAX || ignored != (int32_t)ignored;
  int64_t dims[TSR_MAX_RANK];
  memcpy(dims, x->dims, sizeof dims);
  dims[axis] = 1;
  return graph_reshape(b, graph_cast(b, IN(1), wide ? TSR_I64 : TSR_I32), x->rank, dims);
}

/* The logarithm at the label: what is left of the row where the place is the label, summed. No one-hot tensor is made.
 * *count: the rows that aren't ignored, at least 1; NULL: all. */
static ir_value *loss_of_labels(ir_builder *b, const ir_op *op, ir_value *y, int axis, ir_value **count) {
  const bool all[TSR_MAX_RANK] = {true, true, true, true, true, true, true, true};
  bool along[TSR_MAX_RANK] = {false};
  along[axis] = true;
  ir_value *label = labels_of(b, op, axis);
  if (!label || !y) return NULL;
  ir_value *place = graph_iota(b, label->type->dtype, TYPE(0), axis), *zero = LIKE(y, 0);
  ir_value *hit = graph_compare(b, CMP_EQ, place, compose_spread(b, label, TYPE(0)));
  ir_value *low = graph_compare(b, CMP_GE, label, LIKE(label, 0)),
           *high = graph_compare(b, CMP_LT, label, LIKE(label, (double)TYPE(0)->dims[axis]));
  ir_value *loss = NEG(graph_reduce(b, G_REDUCE_SUM, SELECT(hit, y, zero), along, true));
  loss = SELECT(graph_op2(b, G_AND, low, high), loss, LIKE(y, NAN));
  if (!ir_get_attr(op, "ignore_index")) return loss;
  const double ignore = (double)ir_get_int(op, "ignore_index", 0);
  ir_value *ignored = graph_compare(b, CMP_EQ, label, LIKE(label, ignore));
  *count = graph_reduce(b, G_REDUCE_SUM, SELECT(ignored, zero, LIKE(y, 1)), all, false);
  *count = graph_op2(b, G_MAX, *count, LIKE(y, 1));
  return SELECT(ignored, zero, loss);
}

/* A class without a share counts nothing, though its logarithm be -inf. */
static ir_value *loss_of_shares(ir_builder *b, const ir_op *op, ir_value *y, int axis) {
  bool along[TSR_MAX_RANK] = {false};
  along[axis] = true;
  if (!y) return NULL;
  ir_value *share = graph_cast(b, IN(1), y->type->dtype), *zero = LIKE(y, 0);
  ir_value *none = graph_compare(b, CMP_EQ, share, zero);
  return NEG(graph_reduce(b, G_REDUCE_SUM, MUL(share, SELECT(none, zero, y)), along, true));
}

EXPAND(expand_cross_entropy) {
  const ir_type *x = TYPE(0);
  const int axis = compose_axis(op, "axis", -1, x->rank);
  int64_t dims[TSR_MAX_RANK];
  const int rank = rows_of(op, dims);
  ir_value *count = NULL, *y = compose_along(b, G_LOG_SOFTMAX, graph_cast(b, IN(0), compose_float(x->dtype)), axis);
  ir_value *loss = has_labels(op) ? loss_of_labels(b, op, y, axis, &count) : loss_of_shares(b, op, y, axis);
  out[0] = reduce_loss(b, op, graph_reshape(b, loss, rank, dims), count);
  DONE;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

#define REDUCTION {"reduction", IR_A_STR, false, "mean", "none: each loss; sum or mean: one number"}

static const ir_opdef rows[] = {
    {COMPOSITE(MSE, "mse", 2, 2, 1), .operands_doc = "x, target", .types_doc = FLOATS, .infer = infer_pair,
     BY(expand_mse), .attrs = ATTRS(REDUCTION), .help = "(x - target)^2 of each element, which broadcast."},
    {COMPOSITE(KL, "kl", 2, 2, 1), .operands_doc = "log_q, p", .types_doc = FLOATS, .infer = infer_pair, BY(expand_kl),
     .attrs = ATTRS(REDUCTION, {"log_target", IR_A_BOOL, false, "false", "the second operand is log p"}),
     .help = "p (log p - log_q) of each element: the Kullback-Leibler divergence of p from q, whose logarithm is "
             "given. 0 where p is 0."},
    {COMPOSITE(CROSS_ENTROPY, "cross_entropy", 2, 2, 1), .operands_doc = "logits, labels or targets",
     .types_doc = FLOATS, .infer = infer_cross_entropy, BY(expand_cross_entropy),
     .attrs = ATTRS({"axis", IR_A_INT, false, "-1", "the classes' dimension"}, REDUCTION,
                    {"ignore_index", IR_A_INT, false, NULL,
                     "rows of this label give 0 and don't count in the mean; none if absent"}),
     .help = "-log_softmax(logits)[label] of each row, with integer labels, or -sum(target log_softmax(logits)), with "
             "targets of the logits' type and shape: a share for each class. A label outside 0..classes - 1 gives "
             "NaN, unless it is ignore_index; the mean of ignored rows alone is 0. The mean is over rows."},
};

const ir_rows graph_compose_loss_ops = {rows, sizeof rows / sizeof *rows};
