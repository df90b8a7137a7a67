/* core/ir/graph/ops/packed.c - as_bytes and as_packed: i4 and u4, two of which are in a byte, as the same memory of u8
 * and back. All other ops on them: ir/graph/packed.c. as_f16: numbers that lie between other bytes. */
#include <string.h>

#include "core/base/dtype.h"
#include "core/ir/graph/ops/compose.h"

static tsr_status infer_as_bytes(ir_op *op, const ir_type **results) {
  TSR_TRY(shape_tensors(op));
  const ir_type *x = TYPE(0);
  if (!dtype_packed(x->dtype)) return ir_error(op, NULL, "takes i4 or u4, not %s", tsr_dtype_name(x->dtype));
  const int64_t n = ir_type_count(x), bytes = n == IR_DYNAMIC ? n : n / 2 + n % 2;
  return shape_finish(op, TSR_U8, 1, &bytes, results);
}

static tsr_status infer_as_packed(ir_op *op, const ir_type **results) {
  tsr_dtype t;
  TSR_TRY(shape_tensors(op));
  TSR_TRY(shape_dtype_attr(op, "dtype", &t));
  const ir_type *x = TYPE(0);
  char a[128], c[128];
  int64_t dims[TSR_MAX_RANK];
  const int rank = ir_get_ints(op, "shape", dims, TSR_MAX_RANK);
  if (!dtype_packed(t)) return ir_error(op, "i4 or u4", "dtype %s isn't packed", tsr_dtype_name(t));
  if (rank < 0 || rank > TSR_MAX_RANK)
    return ir_error(op, NULL, "shape must be a list of at most %d integers", TSR_MAX_RANK);
  for (int i = 0; i < rank; i++)
    if (dims[i] < 0) return ir_error(op, NULL, "shape entry %lld is negative", (long long)dims[i]);
  TSR_TRY(shape_finish(op, t, rank, dims, results));
  const int64_t n = ir_type_count(results[0]);
  if (x->dtype != TSR_U8 || x->rank != 1 || shape_differs(x->dims[0], n / 2 + n % 2))
    return ir_error(op, "two elements in a byte", "%s are no bytes of %s", shape_text(x, a, sizeof a),
                    shape_text(results[0], c, sizeof c));
  return NULL;
}

static tsr_status infer_as_f16(ir_op *op, const ir_type **results) {
  TSR_TRY(shape_tensors(op));
  const ir_type *x = TYPE(0);
  int64_t dims[TSR_MAX_RANK];
  if (x->dtype != TSR_U8 || x->rank < 1) return ir_error(op, NULL, "takes u8 with a dimension at least");
  memcpy(dims, x->dims, sizeof dims);
  int64_t *last = &dims[x->rank - 1];
  if (*last != IR_DYNAMIC && *last % 2) return ir_error(op, NULL, "rows of %lld bytes are no f16", (long long)*last);
  if (*last != IR_DYNAMIC) *last /= 2;
  return shape_finish(op, TSR_F16, x->rank, dims, results);
}

static tsr_status eval_as_f16(graph_evaluator *e, ir_op *op, int64_t at) {
  unsigned u = 0;
  for (int i = 0; i < 2; i++) u |= ((unsigned)num_to_integer(graph_read(e, IN(0), 2 * at + i).v) & 255) << 8 * i;
  graph_write(e, OUT, at, (graph_num){(double)dtype_f16_to_f32((uint16_t)u), 0, 0});
  return NULL;
}

static tsr_status eval_as_bytes(graph_evaluator *e, ir_op *op, int64_t at) {
  unsigned byte = 0;
  for (int64_t i = 0; i < 2 && 2 * at + i < ir_type_count(TYPE(0)); i++)
    byte |= ((unsigned)num_to_integer(graph_read(e, IN(0), 2 * at + i).v) & 15) << 4 * i;
  graph_write(e, OUT, at, num_integer(TSR_U8, byte));
  return NULL;
}

static tsr_status eval_as_packed(graph_evaluator *e, ir_op *op, int64_t at) {
  const int64_t byte = num_to_integer(graph_read(e, IN(0), at / 2).v);
  graph_write(e, OUT, at, num_integer(OUT->type->dtype, byte >> 4 * (at % 2)));
  return NULL;
}

/* A byte's elements stay together, whatever axes they are of. */
static int axis_of_none(const ir_op *op, int axis) { return -1; }

static int axis_of_rows(const ir_op *op, int axis) { return axis < TYPE(0)->rank - 1 ? axis : -1; }

#define ALIAS(CODE, s, EVAL, AXIS) \
  NAME(CODE, s), .flags = IR_PURE | IR_VIEWLIKE, .min_operands = 1, .max_operands = 1, .n_results = 1, \
      .operands_doc = "x", \
      .ext = ROW(GRAPH_MOVE, EVAL, adjoint_none, .words = graph_packed_op, .moves = MOVES_PAIRS, \
                 .axis_of = AXIS)

static const ir_opdef rows[] = {
    {ALIAS(AS_BYTES, "as_bytes", eval_as_bytes, axis_of_none), .types_doc = "i4, u4", .infer = infer_as_bytes,
     .help = "The same memory as u8: element i is in byte i / 2, the even one in the low four bits. Of an odd "
             "number the last byte's high bits are 0, or what the memory has."},
    {ALIAS(AS_PACKED, "as_packed", eval_as_packed, axis_of_none), .types_doc = "u8", .infer = infer_as_packed,
     .attrs = ATTRS({"shape", IR_A_ARRAY, true, NULL, "the result's dimensions"},
                    {"dtype", IR_A_STR, false, "i4", "i4 or u4"}),
     .help = "The same memory as i4 or u4: two elements of each byte, the low four bits first."},
    {ALIAS(AS_F16, "as_f16", eval_as_f16, axis_of_rows), .types_doc = "u8; the result is f16", .infer = infer_as_f16,
     .help = "The same memory as f16: element i is bytes 2 i and 2 i + 1 of a row, the low one first. Blocks of "
             "quantised matrices have such numbers among others, to which `slice` comes behind this."},
};

const ir_rows graph_packed_ops = {rows, sizeof rows / sizeof *rows};
