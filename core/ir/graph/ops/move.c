/* core/ir/graph/ops/move.c - ops that move or repeat elements without computing: rows, shape rules, evaluation,
 * derivatives. */
#include <string.h>

#include "core/ir/graph/ops/adjoint.h"

static tsr_status infer_broadcast(ir_op *op, const ir_type **results) {
  TSR_TRY(shape_tensors(op));
  const ir_type *x = op->operands[0]->type;
  int64_t shape[TSR_MAX_RANK];
  int n = ir_get_ints(op, "shape", shape, TSR_MAX_RANK);
  if (n < 0) return ir_error(op, NULL, "shape must be a list of integers");
  if (n > TSR_MAX_RANK || n < x->rank)
    return ir_error(op, NULL, "shape has %d entries for an operand of rank %d (at most %d)", n, x->rank, TSR_MAX_RANK);
  for (int i = 0; i < n; i++) {
    int64_t have = i < n - x->rank ? 1 : x->dims[i - (n - x->rank)];
    if (shape[i] == -1) shape[i] = have;
    if (shape[i] < 0)
      return ir_error(op, "-1 keeps the operand's dimension", "shape entry %lld is negative", (long long)(shape[i]));
    if (have != shape[i] && have != 1 && have != IR_DYNAMIC)
      return ir_error(op, "aligned at the right, dimensions must be equal or 1",
                      "dimension %d is %lld and can't become %lld", i, (long long)(have), (long long)(shape[i]));
  }
  return shape_finish(op, x->dtype, n, shape, results);
}

static tsr_status infer_reshape(ir_op *op, const ir_type **results) {
  TSR_TRY(shape_tensors(op));
  const ir_type *x = op->operands[0]->type;
  int64_t shape[TSR_MAX_RANK], count = ir_type_count(x), known = 1;
  int n = ir_get_ints(op, "shape", shape, TSR_MAX_RANK), hole = -1;
  if (n < 0) return ir_error(op, NULL, "shape must be a list of integers");
  if (n > TSR_MAX_RANK) return ir_error(op, NULL, "shape has %d entries, at most %d", n, TSR_MAX_RANK);
  for (int i = 0; i < n; i++) {
    if (shape[i] < -1)
      return ir_error(op, "one entry may be -1 = what is left", "shape entry %lld is negative", (long long)(shape[i]));
    if (shape[i] == -1 && hole >= 0) return ir_error(op, NULL, "only one entry of shape may be -1");
    if (shape[i] == -1) hole = i;
    else if (__builtin_mul_overflow(known, shape[i], &known))
      return ir_error(op, NULL, "the number of elements overflows 64 bits");
  }
  if (hole >= 0) {
    if (count == IR_DYNAMIC) shape[hole] = IR_DYNAMIC;
    else if (known && count % known == 0) shape[hole] = count / known;
    else
      return ir_error(op, NULL, "%lld elements can't be split into rows of %lld", (long long)(count),
                      (long long)(known));
  } else if (count != IR_DYNAMIC && known != count) {
    return ir_error(op, "reshape keeps the number of elements", "%lld elements into a shape of %lld",
                    (long long)(count), (long long)(known));
  }
  return shape_finish(op, x->dtype, n, shape, results);
}

static tsr_status infer_transpose(ir_op *op, const ir_type **results) {
  TSR_TRY(shape_tensors(op));
  const ir_type *x = op->operands[0]->type;
  int64_t perm[TSR_MAX_RANK], dims[TSR_MAX_RANK];
  bool seen[TSR_MAX_RANK] = {0}, given = ir_get_attr(op, "perm") != NULL;
  TSR_TRY(shape_list_attr(op, "perm", x->rank, true, 0, perm));
  for (int i = 0; i < x->rank; i++) {
    int64_t p = given ? perm[i] : x->rank - 1 - i;
    TSR_TRY(shape_axis(op, "perm entry", p, x->rank));
    if (p < 0) p += x->rank;
    if (seen[p]) return ir_error(op, NULL, "perm has axis %lld twice", (long long)(p));
    seen[p] = true;
    dims[i] = x->dims[p];
  }
  return shape_finish(op, x->dtype, x->rank, dims, results);
}

static tsr_status infer_slice(ir_op *op, const ir_type **results) {
  TSR_TRY(shape_tensors(op));
  const ir_type *x = op->operands[0]->type;
  int64_t starts[TSR_MAX_RANK], sizes[TSR_MAX_RANK], strides[TSR_MAX_RANK];
  TSR_TRY(shape_list_attr(op, "starts", x->rank, false, 0, starts));
  TSR_TRY(shape_list_attr(op, "sizes", x->rank, false, 0, sizes));
  TSR_TRY(shape_list_attr(op, "strides", x->rank, true, 1, strides));
  for (int i = 0; i < x->rank; i++) {
    int64_t d = x->dims[i], last;
    if (strides[i] < 1)
      return ir_error(op, "strides count forward, from 1", "stride %lld on axis %d", (long long)(strides[i]), i);
    if (starts[i] < 0 || (d != IR_DYNAMIC && starts[i] > d))
      return ir_error(op, NULL, "start %lld is outside axis %d of %lld", (long long)(starts[i]), i, (long long)(d));
    if (sizes[i] == -1) {
      sizes[i] = d == IR_DYNAMIC ? d : (d - starts[i]) / strides[i] + ((d - starts[i]) % strides[i] != 0);
      continue;
    }
    if (sizes[i] < 0) return ir_error(op, "-1 = up to the end", "size %lld on axis %d", (long long)(sizes[i]), i);
    if (d == IR_DYNAMIC || sizes[i] == 0) continue;
    if (__builtin_mul_overflow(sizes[i] - 1, strides[i], &last) || __builtin_add_overflow(last, starts[i], &last) ||
        last >= d)
      return ir_error(op, "size counts elements of the result", "%lld elements from %lld by %lld leave axis %d of %lld",
                      (long long)(sizes[i]), (long long)(starts[i]), (long long)(strides[i]), i, (long long)(d));
  }
  return shape_finish(op, x->dtype, x->rank, sizes, results);
}

static tsr_status infer_concat(ir_op *op, const ir_type **results) {
  TSR_TRY(shape_tensors(op));
  TSR_TRY(shape_same_dtype(op, 0));
  const ir_type *x = op->operands[0]->type;
  int64_t dims[TSR_MAX_RANK], axis = ir_get_int(op, "axis", 0);
  TSR_TRY(shape_axis(op, "axis", axis, x->rank));
  if (axis < 0) axis += x->rank;
  memcpy(dims, x->dims, sizeof dims);
  for (int o = 1; o < op->n_operands; o++) {
    const ir_type *y = op->operands[o]->type;
    char a[128], b[128];
    bool ok = y->rank == x->rank;
    for (int i = 0; ok && i < x->rank; i++) {
      if (i == axis) {
        if (dims[i] == IR_DYNAMIC || y->dims[i] == IR_DYNAMIC) dims[i] = IR_DYNAMIC;
        else if (__builtin_add_overflow(dims[i], y->dims[i], &dims[i]))
          return ir_error(op, NULL, "the joined axis overflows 64 bits");
      } else {
        ok = dims[i] == y->dims[i] || dims[i] == IR_DYNAMIC || y->dims[i] == IR_DYNAMIC;
        if (dims[i] == IR_DYNAMIC) dims[i] = y->dims[i];
      }
    }
    if (!ok)
      return ir_error(op, "all other dimensions must be equal", "can't join %s and %s along axis %lld",
                      shape_text(x, a, sizeof a), shape_text(y, b, sizeof b), (long long)(axis));
  }
  return shape_finish(op, x->dtype, x->rank, dims, results);
}

static tsr_status infer_pad(ir_op *op, const ir_type **results) {
  TSR_TRY(shape_tensors(op));
  const ir_type *x = op->operands[0]->type;
  int64_t low[TSR_MAX_RANK], high[TSR_MAX_RANK], dims[TSR_MAX_RANK];
  TSR_TRY(shape_list_attr(op, "low", x->rank, false, 0, low));
  TSR_TRY(shape_list_attr(op, "high", x->rank, false, 0, high));
  if (dtype_is_complex(x->dtype) && ir_get_float(op, "value", 0) != 0)
    return ir_error(op, NULL, "complex tensors are padded with 0, not with %g", ir_get_float(op, "value", 0));
  for (int i = 0; i < x->rank; i++) {
    if (low[i] < 0 || high[i] < 0)
      return ir_error(op, "use slice to take elements away", "negative padding on axis %d", i);
    dims[i] = x->dims[i];
    if (dims[i] != IR_DYNAMIC &&
        (__builtin_add_overflow(dims[i], low[i], &dims[i]) || __builtin_add_overflow(dims[i], high[i], &dims[i])))
      return ir_error(op, NULL, "the padded axis %d overflows 64 bits", i);
  }
  return shape_finish(op, x->dtype, x->rank, dims, results);
}

/* ---- where elements lie ---------------------------------------------------------------------------------------- */

static void window_of_broadcast(const ir_op *op, const int64_t *strides, int64_t *offset, int64_t *to) {
  const ir_type *x = op->operands[0]->type, *y = op->results[0]->type;
  for (int i = 0; i < y->rank; i++) {
    const int j = i - (y->rank - x->rank);
    to[i] = j < 0 || x->dims[j] == 1 ? 0 : strides[j];
  }
}

static void window_of_transpose(const ir_op *op, const int64_t *strides, int64_t *offset, int64_t *to) {
  int perm[TSR_MAX_RANK];
  graph_perm(op, perm);
  for (int i = 0; i < op->results[0]->type->rank; i++) to[i] = strides[perm[i]];
}

static void window_of_slice(const ir_op *op, const int64_t *strides, int64_t *offset, int64_t *to) {
  int64_t starts[TSR_MAX_RANK], steps[TSR_MAX_RANK];
  graph_slice(op, starts, steps);
  for (int i = 0; i < op->results[0]->type->rank; i++) {
    *offset += starts[i] * strides[i];
    to[i] = steps[i] * strides[i];
  }
}

static void start_in_concat(const ir_op *op, int operand, int64_t *at) {
  const int axis = graph_axis(op);
  if (operand) at[axis] += op->operands[operand - 1]->type->dims[axis];
}

static void start_in_pad(const ir_op *op, int operand, int64_t *at) {
  int64_t high[TSR_MAX_RANK];
  graph_pad(op, at, high);
}

/* ---- evaluation ------------------------------------------------------------------------------------------------ */

/* Row-major order is the same in an alias. */
static tsr_status eval_move(graph_evaluator *e, ir_op *op, int64_t at) {
  ir_value *x = op->operands[0], *y = op->results[0];
  const int64_t parts = dtype_parts(x->type->dtype);
  int64_t c[TSR_MAX_RANK], strides[TSR_MAX_RANK], to[TSR_MAX_RANK], from = at / parts;
  if (!graph_is_alias(op)) {
    num_split(y->type, from, c);
    from = 0;
    ir_type_strides(x->type, strides);
    graph_ext(op)->window(op, strides, &from, to);
    for (int i = 0; i < y->type->rank; i++) from += c[i] * to[i];
  }
  graph_write(e, y, at, graph_read(e, x, parts * from + at % parts));
  return NULL;
}

static tsr_status eval_copy(graph_evaluator *e, ir_op *op, int64_t at) {
  const ir_type *y = op->results[0]->type;
  const double value = ir_get_float(op, "value", 0);
  const int64_t parts = dtype_parts(y->dtype);
  int64_t c[TSR_MAX_RANK], start[TSR_MAX_RANK] = {0}, from[TSR_MAX_RANK];
  graph_num r = {num_convert(dtype_part(y->dtype), value), 0, 0,
                 y->dtype == TSR_U64 ? dtype_whole(TSR_U64, value) : num_to_integer(value)};
  num_split(y, at / parts, c);
  for (int o = 0, inside = 0; o < op->n_operands && !inside; o++) {
    const ir_type *t = op->operands[o]->type;
    graph_ext(op)->start(op, o, start);
    inside = 1;
    for (int i = 0; i < t->rank; i++) {
      from[i] = c[i] - start[i];
      inside &= from[i] >= 0 && from[i] < t->dims[i];
    }
    if (inside) r = graph_read(e, op->operands[o], parts * num_join(t, from) + at % parts);
  }
  graph_write(e, op->results[0], at, r);
  return NULL;
}

/* ---- derivatives ----------------------------------------------------------------------------------------------- */

BEGIN(adjoint_broadcast) {
  adjoint_give(b, op, grads, 0, g);
  END;
}

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
  grads[0] = graph_cut(b, g, none, t->dims); /* the zeros behind the last element may have gone over the end */
  END;
}

BEGIN(adjoint_copy) {
  int64_t start[TSR_MAX_RANK] = {0};
  for (int i = 0; i < op->n_operands; i++) {
    graph_ext(op)->start(op, i, start);
    grads[i] = graph_cut(b, g, start, IN(i)->type->dims);
  }
  END;
}

/* ---- axes ------------------------------------------------------------------------------------------------------ */

/* Row-major order keeps an axis where as many elements stand before it. */
static int axis_of_reshape(const ir_op *op, int axis) {
  const ir_type *x = op->operands[0]->type, *y = op->results[0]->type;
  int64_t before = 1, there = 1;
  if (ir_type_count(x) == IR_DYNAMIC || ir_type_count(y) == IR_DYNAMIC) return -1;
  for (int i = 0; i < axis; i++) before *= x->dims[i];
  for (int to = 0; to < y->rank; there *= y->dims[to++])
    if (there == before && y->dims[to] == x->dims[axis]) return to;
  return -1;
}

static int axis_of_transpose(const ir_op *op, int axis) {
  int perm[TSR_MAX_RANK], to = 0;
  graph_perm(op, perm);
  while (perm[to] != axis) to++;
  return to;
}

/* ---- rows ------------------------------------------------------------------------------------------------------ */

static const ir_opdef rows[] = {
    {NAME(BROADCAST, "broadcast"), .flags = IR_PURE | IR_VIEWLIKE, .min_operands = 1, .max_operands = 1, .n_results = 1,
     .operands_doc = "x", .types_doc = ANY AND_COMPLEX,
     .attrs = ATTRS({"shape", IR_A_ARRAY, true, NULL, "the result's dimensions; -1 keeps the operand's"}),
     .infer = infer_broadcast, .ext = ROW(GRAPH_MOVE, eval_move, adjoint_broadcast, "*->*", .pairs = pairs_move, .words = words_same, .moves = MOVES_REPEATS,
                .window = window_of_broadcast),
     .help = "Repeats dimensions of extent 1 and adds leading ones, aligned at the right."},
    {NAME(RESHAPE, "reshape"), .flags = IR_PURE | IR_VIEWLIKE, .min_operands = 1, .max_operands = 1, .n_results = 1,
     .operands_doc = "x", .types_doc = ANY AND_COMPLEX,
     .attrs = ATTRS({"shape", IR_A_ARRAY, true, NULL, "the result's dimensions; one may be -1 = what is left"}),
     .infer = infer_reshape, .ext = ROW(GRAPH_MOVE, eval_move, adjoint_reshape, .pairs = pairs_move, .words = words_same, .moves = MOVES_ALIAS, .axis_of = axis_of_reshape),
     .help = "The same elements in row-major order under another shape."},
    {NAME(TRANSPOSE, "transpose"), .flags = IR_PURE | IR_VIEWLIKE, .min_operands = 1, .max_operands = 1, .n_results = 1,
     .operands_doc = "x", .types_doc = ANY AND_COMPLEX,
     .attrs = ATTRS({"perm", IR_A_ARRAY, false, NULL, "result axis i is operand axis perm[i]; reversed if absent"}),
     .infer = infer_transpose, .ext = ROW(GRAPH_MOVE, eval_move, adjoint_transpose, .pairs = pairs_move, .words = words_same, .moves = MOVES_ORDER, .window = window_of_transpose,
                .axis_of = axis_of_transpose),
     .help = "Permutes the dimensions."},
    {NAME(SLICE, "slice"), .flags = IR_PURE | IR_VIEWLIKE, .min_operands = 1, .max_operands = 1, .n_results = 1,
     .operands_doc = "x", .types_doc = ANY AND_COMPLEX,
     .attrs = ATTRS({"starts", IR_A_ARRAY, true, NULL, "first element per dimension"},
                    {"sizes", IR_A_ARRAY, true, NULL, "elements of the result per dimension; -1 = up to the end"},
                    {"strides", IR_A_ARRAY, false, NULL, "distance of taken elements per dimension; all 1 if absent"}),
     .infer = infer_slice, .ext = ROW(GRAPH_MOVE, eval_move, adjoint_slice, .pairs = pairs_move, .words = words_same, .moves = MOVES_PART, .window = window_of_slice),
     .help = "A regular part of x: result[i] = x[starts + i * strides]."},
    {NAME(CONCAT, "concat"), .flags = IR_PURE, .min_operands = 1, .max_operands = IR_VARIADIC, .n_results = 1,
     .operands_doc = "inputs...", .types_doc = ANY AND_COMPLEX,
     .attrs = ATTRS({"axis", IR_A_INT, false, "0", "the dimension along which the inputs follow each other"}),
     .infer = infer_concat, .ext = ROW(GRAPH_COPY, eval_copy, adjoint_copy, .per_point = 1, .pairs = pairs_move, .words = words_same, .start = start_in_concat),
     .help = "The inputs one after the other along one dimension."},
    {NAME(PAD, "pad"), .flags = IR_PURE, .min_operands = 1, .max_operands = 1, .n_results = 1, .operands_doc = "x",
     .types_doc = ANY AND_COMPLEX,
     .attrs = ATTRS({"low", IR_A_ARRAY, true, NULL, "elements added before, per dimension"},
                    {"high", IR_A_ARRAY, true, NULL, "elements added after, per dimension"},
                    {"value", IR_A_FLOAT, false, "0.0", "the added elements' value"}),
     .infer = infer_pad, .ext = ROW(GRAPH_COPY, eval_copy, adjoint_copy, .per_point = 1, .pairs = pairs_move, .words = words_pad, .start = start_in_pad),
     .help = "Surrounds x with a constant."},
};

const ir_rows graph_move_ops = {rows, sizeof rows / sizeof *rows};
