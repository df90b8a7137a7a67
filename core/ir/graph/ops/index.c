/* core/ir/graph/ops/index.c - iota: a tensor of places. It lies nowhere: kernels compute each element from its
 * coordinates. */
#include <math.h>

#include "core/base/dtype.h"
#include "core/ir/graph/ops/adjoint.h"

/* The largest integer that t holds; 0: t is none, and rounds what it can't hold. */
static int64_t most_of(tsr_dtype t) {
  switch (t) {
  case TSR_I64: return INT64_MAX;
  case TSR_I32: return INT32_MAX;
  case TSR_I16: return INT16_MAX;
  case TSR_I8: return INT8_MAX;
  case TSR_U8: return UINT8_MAX;
  case TSR_U16: return UINT16_MAX;
  case TSR_U32: return UINT32_MAX;
  case TSR_U64: return INT64_MAX;
  case TSR_I4: return 7;
  case TSR_U4: return 15;
  default: return 0;
  }
}

static tsr_status infer_iota(ir_op *op, const ir_type **results) {
  tsr_dtype t;
  int64_t dims[TSR_MAX_RANK], axis = ir_get_int(op, "axis", -1);
  int rank = ir_get_ints(op, "shape", dims, TSR_MAX_RANK);
  TSR_TRY(shape_dtype_attr(op, "dtype", &t));
  if (t == TSR_BOOL) return ir_error(op, "compare it with something", "places are numbers, not bool");
  if (rank < 0) return ir_error(op, NULL, "shape must be a list of integers");
  if (rank > TSR_MAX_RANK) return ir_error(op, NULL, "shape has %d entries, at most %d", rank, TSR_MAX_RANK);
  TSR_TRY(shape_axis(op, "axis", axis, rank));
  for (int i = 0; i < rank; i++)
    if (dims[i] < 0) return ir_error(op, NULL, "shape entry %lld is negative", (long long)dims[i]);
  int64_t n = dims[axis < 0 ? axis + rank : axis];
  if (most_of(t) && n - 1 > most_of(t))
    return ir_error(op, "a wider dtype", "%s doesn't hold places up to %lld", tsr_dtype_name(t), (long long)(n - 1));
  return shape_finish(op, t, rank, dims, results);
}

/* Rounded as by a cast; above 2^24 implementations may round twice. */
static tsr_status eval_iota(graph_evaluator *e, ir_op *op, int64_t at) {
  const ir_type *t = op->results[0]->type;
  int64_t c[TSR_MAX_RANK];
  num_split(t, at, c);
  int64_t place = c[graph_iota_axis(op)];
  graph_num r = {num_convert(t->dtype, (double)place), 0, 0, place};
  if (dtype_is_float(t->dtype) && place > 1 << 24) r.e = r.r = graph_rounding(t->dtype, (double)place);
  graph_write(e, op->results[0], at, r);
  return NULL;
}

static const ir_opdef rows[] = {
    {NAME(IOTA, "iota"), .flags = IR_PURE, .n_results = 1, .types_doc = NUMBERS, .infer = infer_iota,
     .attrs = ATTRS({"shape", IR_A_ARRAY, true, NULL, "the result's dimensions"},
                    {"axis", IR_A_INT, false, "-1", "the dimension that is counted along"},
                    {"dtype", IR_A_STR, false, "i32", "the elements' type"}),
     .ext = ROW(GRAPH_INDEX, eval_iota, adjoint_none, .words = words_iota),
     .help = "Each element is its place along one axis, from 0 on. Integers must hold the last one; floats round it as a "
             "cast does."},
};

const ir_rows graph_index_ops = {rows, sizeof rows / sizeof *rows};
