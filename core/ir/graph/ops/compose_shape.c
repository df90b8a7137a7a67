/* core/ir/graph/ops/compose_shape.c - composite ops that bound, mask, repeat and part tensors: rows, shape rules,
 * expansions. */
#include <math.h>
#include <string.h>

#include "core/base/dtype.h"
#include "core/ir/graph/ops/compose.h"

static tsr_status same_as_operand(ir_op *op, const ir_type **results) {
  TSR_TRY(shape_tensors(op));
  results[0] = TYPE(0);
  return NULL;
}

/* ---- clip -------------------------------------------------------------------------------------------------------- */

static tsr_status infer_clip(ir_op *op, const ir_type **results) {
  static const char *const names[] = {"min", "max"};
  TSR_TRY(same_as_operand(op, results));
  tsr_dtype t = TYPE(0)->dtype;
  if (t == TSR_BOOL) return ir_error(op, "cast to a number first", "does not take bool");
  for (int i = 0; i < 2; i++) {
    double v = ir_get_float(op, names[i], 0);
    if (isnan(v)) return ir_error(op, "leave it out for no bound", "%s is NaN", names[i]);
    if (!dtype_is_float(t) && isfinite(v) && v != floor(v))
      return ir_error(op, "a bound of integers is whole", "%s is %g for %s", names[i], v, tsr_dtype_name(t));
  }
  return NULL;
}

/* A bound that is none: absent, infinite, or beyond what integers of type t hold. */
static bool bounds(const ir_op *op, const char *name, tsr_dtype t) {
  double v = ir_get_float(op, name, 0);
  return ir_get_attr(op, name) && (dtype_is_float(t) || isfinite(v));
}

EXPAND(expand_clip) {
  ir_value *x = IN(0);
  tsr_dtype t = x->type->dtype;
  if (bounds(op, "min", t)) x = graph_op2(b, G_MAX, x, graph_number(b, t, ir_get_float(op, "min", 0)));
  if (bounds(op, "max", t)) x = graph_op2(b, G_MIN, x, graph_number(b, t, ir_get_float(op, "max", 0)));
  out[0] = x;
  DONE;
}

/* ---- where ------------------------------------------------------------------------------------------------------- */

EXPAND(expand_where) {
  out[0] = SELECT(IN(0), IN(1), IN(2));
  DONE;
}

/* ---- tril, triu -------------------------------------------------------------------------------------------------- */

static tsr_status infer_triangle(ir_op *op, const ir_type **results) {
  TSR_TRY(same_as_operand(op, results));
  return TYPE(0)->rank >= 2 ? NULL : ir_error(op, NULL, "needs matrices, not rank %d", TYPE(0)->rank);
}

/* All of it has x's shape, so that it is one kernel. */
static ir_value *triangle(ir_builder *b, const ir_op *op, int predicate) {
  const ir_type *t = TYPE(0);
  int rank = t->rank;
  int64_t k = ir_get_int(op, "diagonal", 0), m = t->dims[rank - 2], n = t->dims[rank - 1], most = m > n ? m : n;
  if (k > most) k = most;
  if (k < -most) k = -most;
  tsr_dtype index = most > INT32_MAX / 4 ? TSR_I64 : TSR_I32;
  ir_value *row = graph_iota(b, index, t, rank - 2), *column = graph_iota(b, index, t, rank - 1);
  if (k) row = graph_op2(b, G_ADD, row, graph_number(b, index, (double)k));
  return graph_op3(b, G_SELECT, graph_compare(b, predicate, column, row), IN(0), LIKE(IN(0), 0));
}

EXPAND(expand_tril) {
  out[0] = triangle(b, op, CMP_LE);
  DONE;
}

EXPAND(expand_triu) {
  out[0] = triangle(b, op, CMP_GE);
  DONE;
}

/* ---- tile -------------------------------------------------------------------------------------------------------- */

static tsr_status infer_tile(ir_op *op, const ir_type **results) {
  TSR_TRY(shape_tensors(op));
  const ir_type *x = TYPE(0);
  int64_t n[TSR_MAX_RANK], dims[TSR_MAX_RANK];
  TSR_TRY(shape_list_attr(op, "repeats", x->rank, false, 0, n));
  for (int i = 0; i < x->rank; i++) {
    if (n[i] < 0)
      return ir_error(op, "0 leaves nothing, 1 the axis as it is", "%lld times axis %d", (long long)n[i], i);
    dims[i] = x->dims[i];
    if (dims[i] != IR_DYNAMIC && __builtin_mul_overflow(dims[i], n[i], &dims[i]))
      return ir_error(op, NULL, "the repeated axis %d overflows 64 bits", i);
  }
  return shape_finish(op, x->dtype, x->rank, dims, results);
}

/* Repeats the axes first..last in one step: each gets a dimension before it that is broadcast. Where these would be too
 * many, plain neighbours are joined. */
static ir_value *repeat(ir_builder *b, ir_value *x, const int64_t *n, int first, int last) {
  int64_t split[2 * TSR_MAX_RANK], wide[2 * TSR_MAX_RANK], dims[TSR_MAX_RANK];
  int rank = 0;
  if (!x) return NULL;
  const bool may_join = x->type->rank + last - first + 1 > TSR_MAX_RANK;
  bool joins = false; /* the next plain dimension joins the one before */
  for (int i = 0; i < x->type->rank; i++) {
    int64_t d = x->type->dims[i];
    bool repeats = i >= first && i <= last && n[i] != 1;
    dims[i] = repeats ? d * n[i] : d;
    if (repeats) split[rank] = 1, wide[rank++] = n[i];
    if (repeats || !joins) split[rank] = wide[rank] = 1, rank++;
    split[rank - 1] *= d, wide[rank - 1] *= d;
    joins = may_join;
  }
  return graph_reshape(b, graph_broadcast(b, graph_reshape(b, x, rank, split), rank, wide), x->type->rank, dims);
}

EXPAND(expand_tile) {
  int64_t n[TSR_MAX_RANK];
  int rank = TYPE(0)->rank, repeated = 0;
  ir_get_ints(op, "repeats", n, TSR_MAX_RANK);
  for (int i = 0; i < rank; i++) repeated += n[i] != 1;
  out[0] = IN(0);
  if (rank + repeated <= TSR_MAX_RANK) out[0] = repeat(b, out[0], n, 0, rank - 1);
  else
    for (int i = rank - 1; i >= 0; i--) out[0] = repeat(b, out[0], n, i, i);
  DONE;
}

/* ---- split ------------------------------------------------------------------------------------------------------- */

/* How many elements each result gets, in sizes[0..n_results - 1]. */
static tsr_status split_sizes(const ir_op *op, int64_t length, int64_t *sizes) {
  int64_t sum = 0;
  int n = ir_get_attr(op, "sizes") ? ir_get_ints(op, "sizes", sizes, op->n_results) : 0;
  if (n < 0) return ir_error(op, NULL, "sizes must be a list of integers");
  if (!ir_get_attr(op, "sizes")) {
    if (length != IR_DYNAMIC && length % op->n_results)
      return ir_error(op, "give sizes", "%lld elements in %d equal parts", (long long)length, op->n_results);
    for (int i = 0; i < op->n_results; i++) sizes[i] = length == IR_DYNAMIC ? length : length / op->n_results;
    return NULL;
  }
  if (n != op->n_results) return ir_error(op, NULL, "%d sizes for %d results", n, op->n_results);
  for (int i = 0; i < n; i++)
    if (sizes[i] < 0 || __builtin_add_overflow(sum, sizes[i], &sum))
      return ir_error(op, NULL, "size %lld of result %d is out of range", (long long)sizes[i], i);
  return length == IR_DYNAMIC || sum == length
             ? NULL
             : ir_error(op, "every element goes to one result", "sizes add up to %lld, the axis has %lld",
                        (long long)sum, (long long)length);
}

static tsr_status infer_split(ir_op *op, const ir_type **results) {
  TSR_TRY(shape_tensors(op));
  const ir_type *x = TYPE(0);
  int64_t dims[TSR_MAX_RANK], *sizes = arena_array(&op->module->arena, int64_t, op->n_results + 1);
  if (!sizes) return st_oom();
  if (op->n_results < 1) return ir_error(op, NULL, "needs a result");
  TSR_TRY(shape_axis(op, "axis", ir_get_int(op, "axis", 0), x->rank));
  int axis = compose_axis(op, "axis", 0, x->rank);
  TSR_TRY(split_sizes(op, x->dims[axis], sizes));
  memcpy(dims, x->dims, sizeof dims);
  for (int i = 0; i < op->n_results; i++) {
    dims[axis] = sizes[i];
    TSR_TRY(shape_finish(op, x->dtype, x->rank, dims, &results[i]));
  }
  return NULL;
}

EXPAND(expand_split) {
  int64_t starts[TSR_MAX_RANK] = {0};
  int axis = compose_axis(op, "axis", 0, TYPE(0)->rank);
  for (int i = 0; i < op->n_results; i++) {
    out[i] = graph_cut(b, IN(0), starts, op->results[i]->type->dims);
    starts[axis] += op->results[i]->type->dims[axis];
  }
  DONE;
}

/* ---- one_hot ----------------------------------------------------------------------------------------------------- */

static tsr_status infer_one_hot(ir_op *op, const ir_type **results) {
  TSR_TRY(shape_tensors(op));
  const ir_type *x = TYPE(0);
  tsr_dtype t;
  int64_t dims[TSR_MAX_RANK + 1], depth = ir_get_int(op, "depth", 0), axis = ir_get_int(op, "axis", -1);
  if (dtype_is_float(x->dtype) || x->dtype == TSR_BOOL)
    return ir_error(op, "cast them", "indices are integers, not %s", tsr_dtype_name(x->dtype));
  if (depth < 0) return ir_error(op, NULL, "depth %lld is negative", (long long)depth);
  if (x->rank == TSR_MAX_RANK) return ir_error(op, NULL, "the result would have more than %d dimensions", TSR_MAX_RANK);
  TSR_TRY(shape_axis(op, "axis", axis, x->rank + 1));
  TSR_TRY(shape_dtype_attr(op, "dtype", &t));
  if (axis < 0) axis += x->rank + 1;
  for (int i = 0; i <= x->rank; i++) dims[i] = i < axis ? x->dims[i] : i == axis ? depth : x->dims[i - 1];
  return shape_finish(op, t, x->rank + 1, dims, results);
}

/* Everything has the result's shape, so that it is one kernel. */
EXPAND(expand_one_hot) {
  const ir_type *x = TYPE(0), *t = OUT->type;
  int64_t dims[TSR_MAX_RANK], depth = ir_get_int(op, "depth", 0);
  int axis = compose_axis(op, "axis", -1, t->rank);
  tsr_dtype index = x->dtype == TSR_I64 || depth > INT32_MAX ? TSR_I64 : TSR_I32;
  memcpy(dims, t->dims, sizeof dims);
  dims[axis] = 1;
  ir_value *i = compose_spread(b, graph_reshape(b, IN(0), t->rank, dims), t);
  i = graph_cast(b, i, index);
  ir_value *n = graph_number(b, index, (double)depth), *zero = graph_number(b, index, 0);
  i = SELECT(graph_compare(b, CMP_LT, i, zero), ADD(i, n), i);
  ir_value *hit = graph_compare(b, CMP_EQ, i, graph_iota(b, index, t, axis));
  ir_value *on = graph_number(b, t->dtype, ir_get_float(op, "on", 1)),
           *off = graph_number(b, t->dtype, ir_get_float(op, "off", 0));
  out[0] = SELECT(hit, on, off);
  DONE;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

#define DIAGONAL \
  ATTRS({"diagonal", IR_A_INT, false, "0", "the last diagonal that is kept: 0 the main one, 1 the one above it"})

static const ir_opdef rows[] = {
    {COMPOSITE(CLIP, "clip", 1, 1, 1), .operands_doc = "x", .types_doc = NUMBERS, .infer = infer_clip, BY(expand_clip),
     .attrs = ATTRS({"min", IR_A_FLOAT, false, NULL, "no element is below it; none if absent"},
                    {"max", IR_A_FLOAT, false, NULL, "no element is above it; none if absent"}),
     .help = "Bounds the elements: min(max(x, min), max), so that max wins where min is above it. NaN stays NaN."},
    {COMPOSITE(WHERE, "where", 3, 3, 1), .operands_doc = "condition, a, b", .types_doc = ANY,
     .infer = shape_select, BY(expand_where),
     .help = "a where the condition (bool) holds, else b, all three broadcast: `select` by the name of array libraries."},
    {COMPOSITE(TRIL, "tril", 1, 1, 1), .operands_doc = "x", .types_doc = ANY, .infer = infer_triangle, BY(expand_tril),
     .attrs = DIAGONAL,
     .help = "The lower triangle of the last two dimensions, zeros above it: keeps x[i, j] where j <= i + diagonal."},
    {COMPOSITE(TRIU, "triu", 1, 1, 1), .operands_doc = "x", .types_doc = ANY, .infer = infer_triangle, BY(expand_triu),
     .attrs = DIAGONAL,
     .help = "The upper triangle of the last two dimensions, zeros below it: keeps x[i, j] where j >= i + diagonal."},
    {COMPOSITE(TILE, "tile", 1, 1, 1), .operands_doc = "x", .types_doc = ANY, .infer = infer_tile, BY(expand_tile),
     .attrs = ATTRS({"repeats", IR_A_ARRAY, true, NULL, "how often each axis follows itself"}),
     .help = "x repeated whole along its axes: result[i] = x[i mod n] along each."},
    {COMPOSITE(SPLIT, "split", 1, 1, IR_VARIADIC), .operands_doc = "x", .types_doc = ANY,
     .infer = infer_split, BY(expand_split),
     .attrs = ATTRS({"axis", IR_A_INT, false, "0", "the dimension that is parted"},
                    {"sizes", IR_A_ARRAY, false, NULL, "elements of each result along it; equal parts if absent"}),
     .help = "x in parts, one result each."},
    {COMPOSITE(ONE_HOT, "one_hot", 1, 1, 1), .operands_doc = "indices", .types_doc = INTEGERS, .infer = infer_one_hot,
     BY(expand_one_hot),
     .attrs = ATTRS({"depth", IR_A_INT, true, NULL, "extent of the new axis"},
                    {"axis", IR_A_INT, false, "-1", "where it is among the result's dimensions"},
                    {"on", IR_A_FLOAT, false, "1.0", "the element at the index"},
                    {"off", IR_A_FLOAT, false, "0.0", "all others"},
                    {"dtype", IR_A_STR, false, "f32", "the result's type"}),
     .help = "A new axis that has `on` at the index and `off` elsewhere. Indices from -depth to -1 count from the end; "
             "of one outside -depth..depth-1 all elements are `off`."},
};

const ir_rows graph_compose_shape_ops = {rows, sizeof rows / sizeof *rows};
