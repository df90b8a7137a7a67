/* core/ir/graph/ops/compose_cache.c - cache_update, rows written into the keys or values of a decoder: row, shape rule,
 * expansion. It is a scatter along the length, whose kernel writes into the cache itself where nothing reads what it
 * was (passes/schedule/in_place.h). */
#include <string.h>

#include "core/base/dtype.h"
#include "core/base/int_math.h"
#include "core/ir/graph/ops/compose.h"

enum { CACHE, ROWS, POSITIONS };

static tsr_status check_positions(ir_op *op, int axis) {
  const ir_type *cache = TYPE(CACHE), *at = TYPE(POSITIONS);
  char a[128], c[128];
  if (at->dtype != TSR_I32 && at->dtype != TSR_I64)
    return ir_error(op, "cast them to i32 or i64", "positions are %s", tsr_dtype_name(at->dtype));
  if (!at->rank) return NULL;
  if (at->rank > 1 || shape_differs(at->dims[0], cache->dims[0]) || !axis)
    return ir_error(op, "a number, or one for each entry of the first dimension, which is not the axis",
                    "positions %s of a cache %s along axis %d", shape_text(at, a, sizeof a),
                    shape_text(cache, c, sizeof c), axis);
  return NULL;
}

static tsr_status infer_cache_update(ir_op *op, const ir_type **results) {
  TSR_TRY(shape_tensors(op));
  const ir_type *cache = TYPE(CACHE), *rows = TYPE(ROWS);
  char a[128], c[128];
  if (rows->dtype != cache->dtype)
    return ir_error(op, "cast the rows to the cache's type", "the cache is %s and the rows are %s",
                    tsr_dtype_name(cache->dtype), tsr_dtype_name(rows->dtype));
  TSR_TRY(shape_axis(op, "axis", ir_get_int(op, "axis", -2), cache->rank));
  const int axis = compose_axis(op, "axis", -2, cache->rank);
  bool fits = rows->rank == cache->rank;
  for (int d = 0; fits && d < cache->rank; d++) fits = d == axis || !shape_differs(rows->dims[d], cache->dims[d]);
  if (fits) fits = rows->dims[axis] == IR_DYNAMIC || cache->dims[axis] == IR_DYNAMIC ||
                   rows->dims[axis] <= cache->dims[axis];
  if (!fits)
    return ir_error(op, "equal but along the axis, where there are at most as many", "rows %s for a cache %s, axis %d",
                    shape_text(rows, a, sizeof a), shape_text(cache, c, sizeof c), axis);
  if (cache->dims[axis] > INT32_MAX)
    return ir_error(op, "split it", "%lld rows along the axis; an index reaches %d", (long long)cache->dims[axis],
                    INT32_MAX);
  TSR_TRY(check_positions(op, axis));
  return shape_finish(op, cache->dtype, cache->rank, cache->dims, results);
}

/* For each row the place where it goes, [entries or 1, rows]: `length`, where no row of the cache is, if it goes
 * nowhere. No sum is taken that could leave the type. */
static ir_value *places(ir_builder *b, const ir_op *op, int64_t rows, int64_t length) {
  const ir_type *t = TYPE(POSITIONS);
  const int64_t dims[2] = {t->rank ? t->dims[0] : 1, rows};
  const ir_type *like = ir_type_tensor(b->m, t->dtype, 2, dims);
  ir_value *at = graph_reshape(b, IN(POSITIONS), 2, (int64_t[]){dims[0], 1}), *row, *room;
  if (at && rows > 1) at = graph_broadcast(b, at, 2, dims); /* all of one shape: one kernel */
  if (!like || !at) return NULL;
  row = graph_iota(b, t->dtype, like, 1);
  ir_value *end = LIKE(at, (double)length);
  room = SUB(end, row); /* places before which this row still fits */
  if (!end || !room) return NULL;
  if (!ir_get_bool(op, "ring", false)) {
    ir_value *inside = graph_op2(b, G_AND, graph_compare(b, CMP_GE, ADD(at, row), LIKE(at, 0)),
                                 graph_compare(b, CMP_LT, at, room));
    return SELECT(inside, ADD(at, row), end);
  }
  ir_value *first = graph_op2(b, G_REM, at, end);
  ir_value *place = SELECT(graph_compare(b, CMP_LT, first, room), ADD(first, row), SUB(first, room));
  return SELECT(graph_compare(b, CMP_GE, at, LIKE(at, 0)), place, end);
}

EXPAND(expand_cache_update) {
  const ir_type *cache = TYPE(CACHE), *rows = TYPE(ROWS);
  const int axis = compose_axis(op, "axis", -2, cache->rank);
  if (!ir_type_count(rows)) return (out[0] = IN(CACHE)), true;
  ir_value *at = places(b, op, rows->dims[axis], cache->dims[axis]);
  int64_t dims[TSR_MAX_RANK];
  for (int d = 0; d < cache->rank; d++) dims[d] = 1;
  if (at && axis) dims[0] = at->type->dims[0];
  dims[axis] = rows->dims[axis];
  at = at ? graph_reshape(b, at, cache->rank, dims) : NULL;
  at = at ? graph_broadcast(b, at, rows->rank, rows->dims) : NULL;
  out[0] = graph_indexed_build(b, G_SCATTER, 3, (ir_value *[]){IN(CACHE), at, IN(ROWS)}, "axis", axis, false);
  DONE;
}

static const ir_opdef rows[] = {
    {COMPOSITE(CACHE_UPDATE, "cache_update", 3, 3, 1), .operands_doc = "cache, rows, positions",
     .types_doc = ANY "; positions: i64, i32", .infer = infer_cache_update, BY(expand_cache_update),
     .attrs = ATTRS({"axis", IR_A_INT, false, "-2", "the cache's length"},
                    {"ring", IR_A_BOOL, false, "false", "places count round the length"}),
     .help = "The cache with rows written along its length: row r at positions + r. Positions are a number or one for "
             "each entry of the first dimension. A row whose place is not in the cache, before 0 or behind the end, is "
             "dropped; with ring places are taken modulo the length, but of positions below 0, whose rows are dropped. "
             "Bound to the memory of the cache (tsr_program_donated_input) the result is written in place and nothing "
             "else is moved, where nothing reads what the cache was; else a copy is made, as the trace says."},
};

const ir_rows graph_compose_cache_ops = {rows, sizeof rows / sizeof *rows};
