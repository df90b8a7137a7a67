/* core/import/onnx/cv_build.c - building ops of Graph IR, each checked by its own rule as it is made; see cv.h. */
#include <string.h>

#include "core/base/dtype.h"
#include "core/import/onnx/cv.h"
#include "core/import/onnx_data.h"
#include "core/ir/attrs.h"

enum { LEAST_IN_FILE = 512 }; /* bytes: smaller constants are copied, and printed whole */

static bool give_up(cv *c) {
  c->oom = c->failed = true;
  return false;
}

/* What the op's rule says against it becomes the node's reason. */
static bool refused(cv *c, ir_op *op, tsr_status st) {
  if (tsr_status_code(st) == TSR_OUT_OF_MEMORY) give_up(c);
  else cv_refuse(c, "%s: %s", op->def->name + strlen("tessera.graph."), tsr_status_cause(st));
  tsr_status_free(st);
  ir_op_remove(op);
  return false;
}

bool cv_make_n(cv *c, graph_code code, int n, ir_value *const *x, const tsr_attr *attrs, int n_attrs, int n_results,
               ir_value **out) {
  for (int i = 0; i < n_results; i++) out[i] = NULL;
  for (int i = 0; i < n; i++)
    if (!x[i]) return cv_refuse(c, "an operand is missing") != NULL;
  if (c->failed) return false;
  ir_op *op = ir_op_new(&c->b, graph_def(code), n, x, n_results, NULL, 0);
  if (!op) return give_up(c);
  for (int i = 0; i < n_attrs; i++)
    if (!ir_set_attr(op, attrs[i].name, ir_attr_given(c->b.m, &attrs[i]))) return give_up(c);
  tsr_status st = ir_verify_op(op);
  if (st) return refused(c, op, st);
  for (int i = 0; i < n_results; i++) out[i] = op->results[i];
  return true;
}

ir_value *cv_make(cv *c, graph_code code, int n, ir_value *const *x, const tsr_attr *attrs, int n_attrs) {
  ir_value *v;
  cv_make_n(c, code, n, x, attrs, n_attrs, 1, &v);
  return v;
}

/* ---- constants --------------------------------------------------------------------------------------------------- */

static ir_value *constant(cv *c, ir_attr *a) {
  ir_value *v = graph_constant(&c->b, a);
  if (!v) give_up(c);
  return v;
}

ir_value *cv_constant(cv *c, tsr_dtype t, int rank, const int64_t *dims, const void *data) {
  const ir_type *type = c->failed ? NULL : ir_type_tensor(c->b.m, t, rank, dims);
  if (!type || ir_type_count(type) < 0) return c->failed ? NULL : cv_refuse(c, "a constant that is too large");
  return constant(c, ir_attr_dense(c->b.m, type, data, (size_t)ir_type_bytes(type), false));
}

ir_value *cv_tensor(cv *c, const onnx_tensor *t) {
  const tsr_dtype type = onnx_dtype(t->type);
  onnx_elements e;
  ir_attr *a = NULL;
  tsr_status st = onnx_tensor_elements(c->m, t, &e);
  if (!st && (!e.file || e.bytes < LEAST_IN_FILE)) return cv_constant(c, type, t->rank, t->dims, e.p);
  const ir_type *shape = st ? NULL : ir_type_tensor(c->b.m, type, t->rank, t->dims);
  if (shape && ir_type_count(shape) < 0) return cv_refuse(c, "a constant that is too large");
  if (shape) st = ir_attr_in_file(c->b.m, shape, e.file, e.offset, &a);
  if (!st) return constant(c, a);
  cv_refuse(c, "%s", tsr_status_cause(st));
  tsr_status_free(st);
  return NULL;
}

ir_value *cv_ints_constant(cv *c, const int64_t *v, int n) { return cv_constant(c, TSR_I64, 1, (int64_t[]){n}, v); }

ir_value *cv_fill(cv *c, tsr_dtype t, int rank, const int64_t *dims, double v) {
  const ir_type *type = c->failed ? NULL : ir_type_tensor(c->b.m, t, rank, dims);
  const int64_t n = type ? ir_type_count(type) : -1;
  uint64_t bits[2] = {0};
  if (n < 0) return c->failed ? NULL : cv_refuse(c, "a constant that is too large");
  dtype_store(t, bits, 0, v);
  return constant(c, ir_attr_dense(c->b.m, type, bits, n ? tsr_dtype_bytes(t, 1) : 0, n > 1));
}

ir_value *cv_number(cv *c, tsr_dtype t, double v) { return cv_fill(c, t, 0, (int64_t[]){0}, v); }
ir_value *cv_like(cv *c, const ir_value *like, double v) { return like ? cv_number(c, like->type->dtype, v) : NULL; }

/* ---- moves ------------------------------------------------------------------------------------------------------- */

ir_value *cv_cast(cv *c, ir_value *x, tsr_dtype t) {
  if (!x || x->type->dtype == t) return x;
  return cv_at1(c, G_CAST, x, TSR_STRING("dtype", tsr_dtype_name(t)));
}

static bool has_dims(const ir_value *x, int rank, const int64_t *dims) {
  return x->type->rank == rank && (!rank || !memcmp(x->type->dims, dims, sizeof *dims * (size_t)rank));
}

ir_value *cv_reshape(cv *c, ir_value *x, int rank, const int64_t *dims) {
  if (!x || has_dims(x, rank, dims)) return x;
  return cv_at1(c, G_RESHAPE, x, TSR_INTS("shape", dims, rank));
}

ir_value *cv_broadcast(cv *c, ir_value *x, int rank, const int64_t *dims) {
  if (!x || has_dims(x, rank, dims)) return x;
  return cv_at1(c, G_BROADCAST, x, TSR_INTS("shape", dims, rank));
}

ir_value *cv_transpose(cv *c, ir_value *x, const int64_t *perm) {
  bool moves = false;
  for (int i = 0; i < cv_rank(x); i++) moves |= perm[i] != i;
  return moves ? cv_at1(c, G_TRANSPOSE, x, TSR_INTS("perm", perm, x->type->rank)) : x;
}

ir_value *cv_slice(cv *c, ir_value *x, const int64_t *starts, const int64_t *sizes, const int64_t *strides) {
  const int64_t ones[TSR_MAX_RANK] = {1, 1, 1, 1, 1, 1, 1, 1};
  const int n = cv_rank(x);
  if (!strides) strides = ones;
  return cv_at1(c, G_SLICE, x, TSR_INTS("starts", starts, n), TSR_INTS("sizes", sizes, n),
                TSR_INTS("strides", strides, n));
}

ir_value *cv_part(cv *c, ir_value *x, int axis, int64_t start, int64_t size) {
  int64_t starts[TSR_MAX_RANK] = {0}, sizes[TSR_MAX_RANK];
  if (!x || (!start && cv_dim(x, axis) == size)) return x;
  memcpy(sizes, x->type->dims, sizeof sizes);
  starts[axis] = start;
  sizes[axis] = size;
  return cv_slice(c, x, starts, sizes, NULL);
}

ir_value *cv_concat(cv *c, int n, ir_value **x, int axis) {
  while (n > 1 && !c->failed) { /* an op takes so many operands */
    int k = 0;
    for (int i = 0; i < n; i += CV_MOST_OPERANDS) {
      const int some = n - i < CV_MOST_OPERANDS ? n - i : CV_MOST_OPERANDS;
      x[k++] = some == 1 ? x[i] : cv_make(c, G_CONCAT, some, x + i, CV_AT(TSR_INT("axis", axis)));
    }
    n = k;
  }
  return x[0];
}

ir_value *cv_compare(cv *c, const char *predicate, ir_value *x, ir_value *y) {
  return cv_at2(c, G_COMPARE, x, y, TSR_STRING("predicate", predicate));
}

ir_value *cv_where(cv *c, ir_value *cond, ir_value *x, ir_value *y) { return cv_op3(c, G_SELECT, cond, x, y); }

ir_value *cv_reduce(cv *c, graph_code code, ir_value *x, const int64_t *axes, int n, bool keep) {
  if (!n) return x;
  return cv_at1(c, code, x, TSR_INTS("axes", axes, n), TSR_BOOLEAN("keepdims", keep));
}

ir_value *cv_iota(cv *c, tsr_dtype t, int rank, const int64_t *dims, int axis) {
  return cv_make(c, G_IOTA, 0, NULL,
                 CV_AT(TSR_INTS("shape", dims, rank), TSR_INT("axis", axis), TSR_STRING("dtype", tsr_dtype_name(t))));
}

ir_value *cv_gather(cv *c, ir_value *x, ir_value *indices, int axis) {
  return cv_at2(c, G_GATHER, x, indices, TSR_INT("axis", axis));
}

ir_value *cv_pad(cv *c, ir_value *x, const int64_t *low, const int64_t *high, double value) {
  bool any = false;
  for (int i = 0; i < cv_rank(x); i++) any |= low[i] || high[i];
  if (!any) return x;
  return cv_at1(c, G_PAD, x, TSR_INTS("low", low, x->type->rank), TSR_INTS("high", high, x->type->rank),
                TSR_FLOAT("value", value));
}

ir_value *cv_swap(cv *c, ir_value *x, int i, int k) {
  int64_t perm[TSR_MAX_RANK];
  for (int d = 0; d < TSR_MAX_RANK; d++) perm[d] = d;
  perm[i] = k;
  perm[k] = i;
  return cv_transpose(c, x, perm);
}

ir_value *cv_with_axis(cv *c, ir_value *x, int axis) {
  int64_t dims[TSR_MAX_RANK];
  if (!x) return NULL;
  if (x->type->rank >= TSR_MAX_RANK) return cv_refuse(c, "too many dimensions");
  for (int d = 0; d <= x->type->rank; d++) dims[d] = d == axis ? 1 : x->type->dims[d - (d > axis)];
  return cv_reshape(c, x, x->type->rank + 1, dims);
}

ir_value *cv_without_axis(cv *c, ir_value *x, int axis) {
  int64_t dims[TSR_MAX_RANK];
  if (!x) return NULL;
  for (int d = 0; d < x->type->rank; d++)
    if (d != axis) dims[d - (d > axis)] = x->type->dims[d];
  return cv_reshape(c, x, x->type->rank - 1, dims);
}

ir_value *cv_along(cv *c, ir_value *vector, int axis, int rank) {
  int64_t dims[TSR_MAX_RANK];
  for (int i = 0; i < rank; i++) dims[i] = 1;
  if (!vector) return NULL;
  dims[axis] = ir_type_count(vector->type);
  return cv_reshape(c, vector, rank, dims);
}
