/* core/ir/graph/ops/compose_scan.c - composite ops that run along an axis: cumsum, cumprod, nonzero. Each pass over the
 * elements makes the parts of prefixes that they have eight times as long (Hillis and Steele 1986 double them): a pad,
 * and an elementwise kernel that reads it at eight places. */
#include <limits.h>
#include <string.h>

#include "core/base/dtype.h"
#include "core/base/int_math.h"
#include "core/ir/graph/ops/compose.h"

enum {
  PARTS = 8,  /* that a pass over the elements adds up */
  BLOCK = 32, /* counts of which one is looked for in one reduction */
};

/* ---- prefixes ---------------------------------------------------------------------------------------------------- */

rows3 compose_rows3(const ir_type *t, int axis) {
  rows3 r = {1, t->dims[axis], 1};
  for (int i = 0; i < axis; i++) r.a *= t->dims[i];
  for (int i = axis + 1; i < t->rank; i++) r.c *= t->dims[i];
  return r;
}

const ir_type *compose_square_type(ir_builder *b, tsr_dtype t, int64_t a, int64_t m, int64_t n, int64_t c) {
  const int64_t dims[] = {a, m, n, c};
  return ir_type_tensor(b->m, t, c == 1 ? 3 : 4, dims);
}

ir_value *compose_square(ir_builder *b, ir_value *x, bool second, const ir_type *like) {
  if (!x || !like) return NULL;
  const int64_t a = x->type->dims[0], n = x->type->dims[1], c = x->type->dims[2];
  const int64_t as_first[] = {a, n, 1, c}, as_second[] = {a, 1, n, c};
  x = graph_reshape(b, x, like->rank, second ? as_second : as_first);
  return x ? compose_spread(b, x, like) : NULL;
}

ir_value *compose_fold(ir_builder *b, graph_code c, ir_value *x, int axis) {
  const bool axes[TSR_MAX_RANK] = {[0] = axis == 0, [1] = axis == 1, [2] = axis == 2, [3] = axis == 3};
  return x ? graph_reduce(b, c, x, axes, false) : NULL;
}

/* Part of x along the middle axis: n elements from `start` on. */
static ir_value *part(ir_builder *b, ir_value *x, int64_t start, int64_t n) {
  const int64_t starts[3] = {0, start, 0};
  return x ? graph_cut(b, x, starts, (int64_t[]){x->type->dims[0], n, x->type->dims[2]}) : NULL;
}

ir_value *compose_prefix(ir_builder *b, graph_code code, ir_value *x, tsr_dtype t, bool exclusive, bool reverse) {
  if (!x || b->failed) return NULL;
  const graph_code with = code == G_REDUCE_PROD ? G_MUL : G_ADD;
  const int64_t n = x->type->dims[1];
  if (n == 1 && exclusive)
    return graph_fill(b, ir_type_tensor(b->m, t, x->type->rank, x->type->dims), code == G_REDUCE_PROD);
  /* An element has what `step` places have so far; now what as many such parts before it have, one after the other. */
  for (int64_t step = 1; step < n && !b->failed; step *= PARTS) {
    const int64_t parts = min64(PARTS, ceil_div(n, step)), apart = exclusive && step == 1;
    int64_t low[3] = {0}, high[3] = {0};
    (reverse ? high : low)[1] = (parts - 1) * step + apart;
    ir_value *wide = compose_pad(b, x, low, high, code == G_REDUCE_PROD), *sum = NULL;
    for (int64_t i = 0; i < parts; i++) {
      const int64_t start = reverse ? i * step + apart : (parts - 1 - i) * step;
      ir_value *v = graph_cast(b, part(b, wide, start, n), t);
      sum = sum ? graph_op2(b, with, sum, v) : v;
    }
    x = sum;
  }
  return graph_cast(b, x, t);
}

/* ---- cumsum, cumprod --------------------------------------------------------------------------------------------- */

static tsr_status infer_scan(ir_op *op, const ir_type **results) {
  TSR_TRY(shape_tensors(op));
  if (TYPE(0)->dtype == TSR_BOOL) return ir_error(op, "cast to i32 first", "does not take bool");
  TSR_TRY(shape_axis(op, "axis", ir_get_int(op, "axis", -1), TYPE(0)->rank));
  const int64_t n = TYPE(0)->dims[compose_axis(op, "axis", -1, TYPE(0)->rank)];
  if (n > INT32_MAX)
    return ir_error(op, "split it", "%lld elements along the axis, at most %d", (long long)n, INT32_MAX);
  results[0] = TYPE(0);
  return NULL;
}

/* Prefixes of x along op's axis, in the type in which sums are kept. */
static ir_value *scan(ir_builder *b, const ir_op *op, graph_code code, ir_value *x, bool reverse) {
  const ir_type *t = TYPE(0);
  const int axis = compose_axis(op, "axis", -1, t->rank);
  const rows3 r = compose_rows3(t, axis);
  if (!ir_type_count(t)) return graph_fill(b, t, 0);
  const tsr_dtype wide = dtype_is_float(t->dtype) ? compose_float(t->dtype) : t->dtype;
  x = graph_reshape(b, x, 3, (int64_t[]){r.a, r.n, r.c});
  x = compose_prefix(b, code, x, wide, ir_get_bool(op, "exclusive", false), reverse);
  x = graph_cast(b, x, t->dtype);
  return x ? graph_reshape(b, x, t->rank, t->dims) : NULL;
}

EXPAND(expand_cumsum) {
  out[0] = scan(b, op, G_REDUCE_SUM, IN(0), ir_get_bool(op, "reverse", false));
  DONE;
}

/* An element is in the sums behind it: its gradient is the sum of theirs. */
BEGIN(adjoint_cumsum) {
  if (dtype_is_float(TYPE(0)->dtype)) grads[0] = scan(b, op, G_REDUCE_SUM, g, !ir_get_bool(op, "reverse", false));
  END;
}

EXPAND(expand_cumprod) {
  out[0] = scan(b, op, G_REDUCE_PROD, IN(0), ir_get_bool(op, "reverse", false));
  DONE;
}

/* ---- nonzero ----------------------------------------------------------------------------------------------------- */

tsr_status compose_index_type(ir_op *op, tsr_dtype *out) {
  TSR_TRY(shape_dtype_attr(op, "dtype", out));
  if (!*out) *out = TSR_I32;
  return *out == TSR_I32 || *out == TSR_I64
             ? NULL
             : ir_error(op, "i32, i64", "indices can't be %s", tsr_dtype_name(*out));
}

static tsr_status infer_nonzero(ir_op *op, const ir_type **results) {
  tsr_dtype t;
  TSR_TRY(shape_tensors(op));
  TSR_TRY(compose_index_type(op, &t));
  const int64_t size = ir_get_int(op, "size", 0), n = ir_type_count(TYPE(0));
  if (!TYPE(0)->rank) return ir_error(op, "reshape it", "needs a tensor with dimensions");
  if (size < 0 || size > INT32_MAX) return ir_error(op, "0 or more", "size is %lld", (long long)size);
  if (n > INT32_MAX / 2)
    return ir_error(op, "split it", "%lld elements, at most %d", (long long)n, INT32_MAX / 2);
  TSR_TRY(shape_finish(op, t, 2, (int64_t[]){TYPE(0)->rank, size}, results));
  return shape_finish(op, t, 0, NULL, results + 1);
}

/* Of counts [a, n] that grow along their rows: for each of 0..size - 1 how many are not above it, [a, size] of i32. Of
 * prefix sums of a mask: where its element of that number is; n where there is none. */
static ir_value *places(ir_builder *b, ir_value *counts, int64_t size) {
  if (!counts || b->failed) return NULL;
  const int64_t a = counts->type->dims[0], n = counts->type->dims[1], m = ceil_div(n, BLOCK);
  const int64_t dims[] = {a, size, n <= 2 * BLOCK ? n : BLOCK};
  const ir_type *like = ir_type_tensor(b->m, TSR_I32, 3, dims);
  ir_value *block = NULL, *row = counts;
  if (n <= 2 * BLOCK) {
    row = compose_spread(b, graph_reshape(b, counts, 3, (int64_t[]){a, 1, n}), like);
  } else {
    ir_value *v = compose_pad(b, counts, (int64_t[]){0, 0}, (int64_t[]){0, m * BLOCK - n}, INT32_MAX);
    v = graph_reshape(b, v, 3, (int64_t[]){a, m, BLOCK});
    ir_value *ends = graph_cut(b, v, (int64_t[]){0, 0, BLOCK - 1}, (int64_t[]){a, m, 1});
    ends = ends ? graph_reshape(b, ends, 2, (int64_t[]){a, m}) : NULL;
    block = places(b, ends, size);
    ir_value *index = block ? graph_reshape(b, block, 3, (int64_t[]){a, size, 1}) : NULL;
    row = graph_indexed_build(b, G_GATHER_ND, 2, (ir_value *[]){v, index}, "batch_dims", 1, false);
  }
  if (!row || !like) return NULL;
  ir_value *passed = graph_compare(b, CMP_LE, row, graph_iota(b, TSR_I32, like, 1));
  ir_value *place = compose_fold(b, G_REDUCE_SUM, SELECT(passed, LIKE(row, 1), LIKE(row, 0)), 2);
  if (!block) return place;
  place = ADD(place, MUL(block, LIKE(block, BLOCK)));
  return graph_op2(b, G_MIN, place, LIKE(block, (double)n));
}

/* Coordinate d of the flat places, [1, size]. */
static ir_value *coordinate(ir_builder *b, ir_value *flat, const ir_type *t, int d) {
  int64_t stride = 1;
  for (int i = d + 1; i < t->rank; i++) stride *= t->dims[i];
  if (stride > 1) flat = DIV(flat, LIKE(flat, (double)stride));
  return d ? graph_op2(b, G_REM, flat, LIKE(flat, (double)t->dims[d])) : flat;
}

EXPAND(expand_nonzero) {
  const ir_type *t = TYPE(0), *to = OUT->type;
  const int64_t n = ir_type_count(t), size = to->dims[1];
  const double fill = (double)ir_get_int(op, "fill", -1);
  ir_value *rows[TSR_MAX_RANK];
  if (!n) {
    out[0] = graph_fill(b, to, fill);
    out[1] = graph_fill(b, op->results[1]->type, 0);
    DONE;
  }
  ir_value *hit = graph_reshape(b, graph_compare(b, CMP_NE, IN(0), LIKE(IN(0), 0)), 3, (int64_t[]){1, n, 1});
  hit = graph_cast(b, hit, TSR_I32);
  ir_value *all = hit ? graph_reduce(b, G_REDUCE_SUM, hit, (bool[TSR_MAX_RANK]){true, true, true}, false) : NULL;
  out[1] = graph_cast(b, all, to->dtype);
  out[0] = graph_fill(b, to, fill);
  if (!size) DONE;
  ir_value *counts = compose_prefix(b, G_REDUCE_SUM, hit, TSR_I32, false, false);
  counts = counts ? graph_reshape(b, counts, 2, (int64_t[]){1, n}) : NULL;
  ir_value *flat = places(b, counts, size);
  for (int d = 0; d < t->rank && flat; d++) {
    ir_value *none = graph_compare(b, CMP_GE, flat, LIKE(flat, (double)n));
    rows[d] = SELECT(none, LIKE(flat, fill), coordinate(b, flat, t, d));
  }
  if (!flat || b->failed) return false;
  out[0] = graph_cast(b, t->rank > 1 ? graph_concat(b, t->rank, rows, 0) : rows[0], to->dtype);
  DONE;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

/* An addition, or multiplication, for each element of the last two dimensions. */
static double work_scan(const ir_op *op) {
  double n = 1;
  for (int i = TYPE(0)->rank > 2 ? TYPE(0)->rank - 2 : 0; i < TYPE(0)->rank; i++) n *= (double)TYPE(0)->dims[i];
  return n;
}

#define SCAN(...) \
  ATTRS({"axis", IR_A_INT, false, "-1", "the dimension along which it runs"}, \
        {"exclusive", IR_A_BOOL, false, "false", "an element doesn't count for its own place"}, \
        {"reverse", IR_A_BOOL, false, "false", "from the last element to the first"})

static const ir_opdef rows[] = {
    {COMPOSITE(CUMSUM, "cumsum", 1, 1, 1), .operands_doc = "x", .types_doc = NUMBERS, .infer = infer_scan,
     .ext = ROW(GRAPH_ROUTINE, .adjoint = adjoint_cumsum, .expand = expand_cumsum, .work = work_scan),
     .attrs = SCAN(),
     .help = "The sum of all elements up to each along an axis; integers wrap. NaN and infinity reach the sums that "
             "have them. One pass on the CPU, with sums of floats in f64; other devices add up parts of growing "
             "length, floats of up to 32 bits in f32."},
    {COMPOSITE(CUMPROD, "cumprod", 1, 1, 1), .operands_doc = "x", .types_doc = NUMBERS, .infer = infer_scan,
     .ext = ROW(GRAPH_ROUTINE, .expand = expand_cumprod, .work = work_scan), .attrs = SCAN(),
     .help = "The product of all elements up to each along an axis; integers wrap. One pass on the CPU, with products "
             "of floats in f64; other devices multiply parts of growing length, floats of up to 32 bits in f32."},
    {COMPOSITE(NONZERO, "nonzero", 1, 1, 2), .operands_doc = "x", .types_doc = ANY, .infer = infer_nonzero,
     BY(expand_nonzero),
     .attrs = ATTRS({"size", IR_A_INT, true, NULL, "how many places there is room for"},
                    {"fill", IR_A_INT, false, "-1", "coordinates where there is no further element"},
                    {"dtype", IR_A_STR, false, "i32", "type of the results: i32 or i64"}),
     .help = "The coordinates of the first `size` elements that aren't 0 (NaN is none of these), in row-major order, as "
             "[rank, size]; and how many there are in all, which may be more."},
};

const ir_rows graph_compose_scan_ops = {rows, sizeof rows / sizeof *rows};
