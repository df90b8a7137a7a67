/* core/ir/graph/ops/shape.c - what the shape and type rules of Graph IR share; see row.h. The rules get an op with
 * typed operands and unchecked attribute values (their kinds are checked) and give the result type, or one status that
 * names op, cause and remedy. '?' is carried through where it can't be resolved. */
#include <stdio.h>
#include <string.h>

#include "core/base/dtype.h"
#include "core/ir/graph/ops/row.h"

const char graph_no_cast[] = "there is no implicit cast: use tessera.graph.cast";

tsr_status shape_finish(ir_op *op, tsr_dtype t, int rank, const int64_t *dims, const ir_type **results) {
  ir_type x = {.kind = IR_T_TENSOR, .dtype = t, .rank = rank};
  if (rank) memcpy(x.dims, dims, sizeof *dims * (size_t)rank);
  if (dtype_is_complex(t) && rank == TSR_MAX_RANK)
    return ir_error(op, "their parts are one more", "complex tensors have at most %d dimensions", TSR_MAX_RANK - 1);
  int64_t n = ir_type_count(&x), bytes;
  if (n == -1 || (n != IR_DYNAMIC && __builtin_mul_overflow(n, (int64_t)tsr_dtype_size(t), &bytes)))
    return ir_error(op, "64 bits must hold the size in bytes", "the result has too many elements");
  results[0] = ir_type_get(op->module, &x);
  return results[0] ? NULL : st_oom();
}

const char *shape_text(const ir_type *t, char *buf, size_t size) {
  size_t n = 0;
  if (!t || t->kind != IR_T_TENSOR) return "not a tensor";
  n += (size_t)snprintf(buf, size, "%s[", tsr_dtype_name(t->dtype));
  for (int i = 0; i < t->rank && n < size; i++) {
    if (t->dims[i] == IR_DYNAMIC) n += (size_t)snprintf(buf + n, size - n, i ? ", ?" : "?");
    else n += (size_t)snprintf(buf + n, size - n, i ? ", %lld" : "%lld", (long long)(t->dims[i]));
  }
  if (n < size) snprintf(buf + n, size - n, "]");
  return buf;
}

tsr_status shape_tensors(ir_op *op) {
  for (int i = 0; i < op->n_operands; i++)
    if (!op->operands[i]->type || op->operands[i]->type->kind != IR_T_TENSOR)
      return ir_error(op, op->def->operands_doc, "operand %d must be a tensor", i);
    else if (dtype_is_complex(op->operands[i]->type->dtype) && !graph_ext(op)->pairs &&
             !graph_is_kind(op, GRAPH_CONTROL))
      return ir_error(op, "real, imag and abs give real tensors", "does not take %s",
                      tsr_dtype_name(op->operands[i]->type->dtype));
    else if (dtype_word(op->operands[i]->type->dtype) && !graph_ext(op)->words && !graph_ext(op)->expand &&
             !graph_is_kind(op, GRAPH_CONTROL))
      return ir_error(op, "as_signed gives it the words", "does not take %s",
                      tsr_dtype_name(op->operands[i]->type->dtype));
    else if (dtype_packed(op->operands[i]->type->dtype) && !graph_ext(op)->words && !graph_ext(op)->expand &&
             !graph_is_kind(op, GRAPH_CONTROL))
      return ir_error(op, "cast it to i8 or u8", "does not take %s", tsr_dtype_name(op->operands[i]->type->dtype));
  return NULL;
}

/* The broadcast shape of operands from `first` on. */
tsr_status shape_broadcast(ir_op *op, int first, int *rank, int64_t *dims) {
  *rank = 0;
  for (int i = first; i < op->n_operands; i++) {
    const ir_type *t = op->operands[i]->type;
    if (!graph_broadcast_dims(*rank, dims, t->rank, t->dims, rank, dims)) {
      char a[128], b[128];
      return ir_error(op, "aligned at the right, dimensions must be equal or 1", "shapes %s and %s do not broadcast",
                      shape_text(op->operands[first]->type, a, sizeof a), shape_text(t, b, sizeof b));
    }
  }
  return NULL;
}

tsr_status shape_same_dtype(ir_op *op, int first) {
  for (int i = first + 1; i < op->n_operands; i++)
    if (op->operands[i]->type->dtype != op->operands[first]->type->dtype)
      return ir_error(op, graph_no_cast, "operands are %s and %s", tsr_dtype_name(op->operands[first]->type->dtype),
                      tsr_dtype_name(op->operands[i]->type->dtype));
  return NULL;
}

tsr_status shape_complex(ir_op *op) {
  TSR_TRY(shape_tensors(op));
  tsr_dtype t = op->operands[0]->type->dtype;
  return dtype_is_complex(t) ? NULL
                             : ir_error(op, "complex makes one of two real tensors", "takes complex numbers, not %s",
                                        tsr_dtype_name(t));
}

tsr_status shape_floats(ir_op *op) {
  TSR_TRY(shape_tensors(op));
  tsr_dtype t = op->operands[0]->type->dtype;
  return dtype_is_float(dtype_part(t)) ? NULL : ir_error(op, graph_no_cast, "takes floats, not %s", tsr_dtype_name(t));
}

/* A data type named by a string attribute; NONE if absent. */
tsr_status shape_dtype_attr(ir_op *op, const char *name, tsr_dtype *out) {
  const char *s = ir_get_str(op, name, "");
  *out = graph_ext(op)->pairs ? tsr_dtype_parse(s) : dtype_parse_real(s);
  return *out || !*s ? NULL : ir_error(op, "f32, bf16, f16, i32, ...", "unknown %s \"%s\"", name, s);
}

/* A list attribute with one entry per dimension; absent = all `dflt` when `optional`. */
tsr_status shape_list_attr(const ir_op *op, const char *name, int rank, bool optional, int64_t dflt, int64_t *v) {
  int n = ir_get_ints(op, name, v, TSR_MAX_RANK);
  for (int i = 0; i < rank && optional && !ir_get_attr(op, name); i++) v[i] = dflt;
  if (optional && !ir_get_attr(op, name)) return NULL;
  if (n < 0) return ir_error(op, NULL, "%s must be a list of integers", name);
  if (n != rank) return ir_error(op, NULL, "%s has %d entries for %d dimensions", name, n, rank);
  return NULL;
}

tsr_status shape_axis(ir_op *op, const char *name, int64_t axis, int rank) {
  if (axis >= -rank && axis < rank) return NULL;
  return ir_error(op, "negative ones count from the last", "%s %lld for a tensor of rank %d", name, (long long)(axis),
                  rank);
}

tsr_status shape_select(ir_op *op, const ir_type **results) {
  int rank;
  int64_t dims[TSR_MAX_RANK];
  TSR_TRY(shape_tensors(op));
  if (op->operands[0]->type->dtype != TSR_BOOL)
    return ir_error(op, "compare gives one", "the condition must be bool (i1), not %s",
                    tsr_dtype_name(op->operands[0]->type->dtype));
  TSR_TRY(shape_same_dtype(op, 1));
  TSR_TRY(shape_broadcast(op, 0, &rank, dims));
  return shape_finish(op, op->operands[1]->type->dtype, rank, dims, results);
}
