/* core/ir/graph/build.c - building Graph IR from passes; see ir/graph/ops.h. Out of memory is sticky in the builder. */
#include <assert.h>
#include <string.h>

#include "core/base/dtype.h"
#include "core/ir/graph/ops.h"

static ir_op *start(ir_builder *b, graph_code c, int n, ir_value *const *operands) {
  return ir_op_new(b, graph_def(c), n, operands, 1, NULL, 0);
}

static bool attr(ir_builder *b, ir_op *op, const char *name, ir_attr *a) {
  if (op && !ir_set_attr(op, name, a)) b->failed = true;
  return op && !b->failed;
}

/* Infers the result's type. The rules should hold by construction: where they don't, the module keeps the reason. */
static ir_value *finish(ir_builder *b, ir_op *op) {
  const ir_type *t = NULL;
  if (!op || b->failed) return NULL;
  tsr_status st = op->def->infer(op, &t);
  if (st) {
    ir_refuse(b->m, st);
    b->failed = true;
    return NULL;
  }
  op->results[0]->type = t;
  return op->results[0];
}

ir_value *graph_build(ir_builder *b, graph_code c, int n, ir_value *const *operands) {
  return finish(b, start(b, c, n, operands));
}

ir_value *graph_build_like(ir_builder *b, const ir_op *op, ir_value *const *operands) {
  ir_op *n = start(b, (graph_code)op->def->code, op->n_operands, operands);
  for (int i = 0; n && i < op->n_attrs; i++) attr(b, n, op->attrs[i].name, op->attrs[i].attr);
  if (n) n->loc = op->loc;
  return finish(b, n);
}

ir_value *graph_constant(ir_builder *b, ir_attr *value) {
  if (!value) b->failed = true;
  if (b->failed) return NULL;
  ir_op *op = start(b, G_CONSTANT, 0, NULL);
  attr(b, op, "value", value);
  return finish(b, op);
}

ir_value *graph_elements(ir_builder *b, const ir_type *type, const void *data) {
  return graph_constant(b, type ? ir_attr_dense(b->m, type, data, (size_t)ir_type_bytes(type), false) : NULL);
}

ir_value *graph_fill(ir_builder *b, const ir_type *type, double value) {
  uint64_t bits[2] = {0};
  if (!type) b->failed = true;
  if (b->failed) return NULL;
  dtype_store(type->dtype, bits, 0, value);
  int64_t n = ir_type_count(type);
  size_t size = tsr_dtype_bytes(type->dtype, 1);
  assert(n >= 0);
  return graph_constant(b, ir_attr_dense(b->m, type, bits, n ? size : 0, n != 1 && n != 0));
}

ir_value *graph_number(ir_builder *b, tsr_dtype t, double value) {
  return graph_fill(b, ir_type_tensor(b->m, t, 0, (int64_t[]){0}), value);
}

ir_value *graph_cast(ir_builder *b, ir_value *x, tsr_dtype t) {
  if (!x || x->type->dtype == t) return x;
  ir_op *op = start(b, G_CAST, 1, &x);
  attr(b, op, "dtype", ir_attr_str(b->m, tsr_dtype_name(t)));
  return finish(b, op);
}

static bool same_dims(const ir_value *x, int rank, const int64_t *dims) {
  if (x->type->rank != rank) return false;
  return !rank || !memcmp(x->type->dims, dims, sizeof *dims * (size_t)rank); /* a scalar may come without dims */
}

static ir_value *shaped(ir_builder *b, graph_code c, ir_value *x, int rank, const int64_t *dims) {
  if (!x || same_dims(x, rank, dims)) return x;
  ir_op *op = start(b, c, 1, &x);
  int64_t shape[TSR_MAX_RANK];
  for (int i = 0; i < rank; i++) shape[i] = dims[i] == IR_DYNAMIC ? -1 : dims[i];
  attr(b, op, "shape", ir_attr_ints(b->m, shape, rank));
  return finish(b, op);
}

ir_value *graph_reshape(ir_builder *b, ir_value *x, int rank, const int64_t *dims) {
  return shaped(b, G_RESHAPE, x, rank, dims);
}
ir_value *graph_broadcast(ir_builder *b, ir_value *x, int rank, const int64_t *dims) {
  return shaped(b, G_BROADCAST, x, rank, dims);
}

ir_value *graph_transpose(ir_builder *b, ir_value *x, const int *perm) {
  ir_op *op = start(b, G_TRANSPOSE, 1, &x);
  int64_t p[TSR_MAX_RANK];
  for (int i = 0; op && i < x->type->rank; i++) p[i] = perm[i];
  if (op) attr(b, op, "perm", ir_attr_ints(b->m, p, x->type->rank));
  return finish(b, op);
}

ir_value *graph_reduce(ir_builder *b, graph_code c, ir_value *x, const bool reduced[TSR_MAX_RANK], bool keepdims) {
  int64_t axes[TSR_MAX_RANK];
  int n = 0;
  for (int i = 0; x && i < x->type->rank; i++)
    if (reduced[i]) axes[n++] = i;
  if (!n) return x; /* in text an empty list of axes is all of them */
  ir_op *op = start(b, c, 1, &x);
  attr(b, op, "axes", ir_attr_ints(b->m, axes, n));
  attr(b, op, "keepdims", ir_attr_bool(b->m, keepdims));
  return finish(b, op);
}

ir_value *graph_concat(ir_builder *b, int n, ir_value *const *x, int axis) {
  ir_op *op = start(b, G_CONCAT, n, x);
  attr(b, op, "axis", ir_attr_int(b->m, axis));
  return finish(b, op);
}

ir_value *graph_contract_build(ir_builder *b, const ir_op *like, ir_value *x, ir_value *y, bool transpose_a,
                               bool transpose_b) {
  ir_op *op = start(b, (graph_code)like->def->code, 2, (ir_value *[]){x, y});
  if (op && !graph_orient(op, transpose_a, transpose_b)) b->failed = true;
  return finish(b, op);
}

ir_value *graph_cut(ir_builder *b, ir_value *x, const int64_t *starts, const int64_t *sizes) {
  if (!x || same_dims(x, x->type->rank, sizes)) return x;
  ir_op *op = start(b, G_SLICE, 1, &x);
  int64_t n[TSR_MAX_RANK];
  for (int i = 0; i < x->type->rank; i++) n[i] = sizes[i] == IR_DYNAMIC ? -1 : sizes[i];
  attr(b, op, "starts", ir_attr_ints(b->m, starts, x->type->rank));
  attr(b, op, "sizes", ir_attr_ints(b->m, n, x->type->rank));
  return finish(b, op);
}

ir_value *graph_iota(ir_builder *b, tsr_dtype t, const ir_type *like, int axis) {
  ir_op *op = start(b, G_IOTA, 0, NULL);
  attr(b, op, "shape", ir_attr_ints(b->m, like->dims, like->rank));
  attr(b, op, "axis", ir_attr_int(b->m, axis));
  attr(b, op, "dtype", ir_attr_str(b->m, tsr_dtype_name(t)));
  return finish(b, op);
}

ir_value *graph_as_real(ir_builder *b, ir_value *x) { return x ? graph_op1(b, G_AS_REAL, x) : NULL; }
ir_value *graph_as_complex(ir_builder *b, ir_value *x) { return x ? graph_op1(b, G_AS_COMPLEX, x) : NULL; }

ir_value *graph_indexed_build(ir_builder *b, graph_code c, int n, ir_value *const *operands, const char *name,
                              int64_t value, bool adds) {
  for (int i = 0; i < n; i++)
    if (!operands[i]) return NULL;
  ir_op *op = start(b, c, n, operands);
  attr(b, op, name, ir_attr_int(b->m, value));
  if (adds && c == G_SCATTER_ND) attr(b, op, "reduction", ir_attr_str(b->m, "add"));
  return finish(b, op);
}

ir_value *graph_compare(ir_builder *b, int predicate, ir_value *x, ir_value *y) {
  ir_op *op = start(b, G_COMPARE, 2, (ir_value *[]){x, y});
  attr(b, op, "predicate", ir_attr_str(b->m, scalar_predicate_name(predicate)));
  return finish(b, op);
}
