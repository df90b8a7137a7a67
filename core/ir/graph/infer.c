/* core/ir/graph/infer.c - shape and type rules of Graph IR; see ir/graph/ops.h.
 * Input: an op with typed operands and unchecked attribute values (their kinds are checked). Output: the result type,
 * or one status that names op, cause and remedy. '?' is carried through where it can't be resolved. */
#include <stdio.h>
#include <string.h>

#include "core/base/dtype.h"
#include "core/ir/graph/ops.h"

#define D(x) ((long long)(x))

static const char NO_CAST[] = "there is no implicit cast: use tessera.graph.cast";

static tsr_status finish(ir_op *op, tsr_dtype t, int rank, const int64_t *dims, const ir_type **results) {
  ir_type x = {.kind = IR_T_TENSOR, .dtype = t, .rank = rank};
  memcpy(x.dims, dims, sizeof *dims * (size_t)rank);
  int64_t n = ir_type_count(&x), bytes;
  if (n == -1 || (n != IR_DYNAMIC && __builtin_mul_overflow(n, (int64_t)tsr_dtype_size(t), &bytes)))
    return ir_error(op, "64 bits must hold the size in bytes", "the result has too many elements");
  results[0] = ir_type_get(op->module, &x);
  return results[0] ? NULL : st_oom();
}

static const char *type_text(const ir_type *t, char *buf, size_t size) {
  size_t n = 0;
  if (!t || t->kind != IR_T_TENSOR) return "not a tensor";
  n += (size_t)snprintf(buf, size, "%s[", tsr_dtype_name(t->dtype));
  for (int i = 0; i < t->rank && n < size; i++) {
    if (t->dims[i] == IR_DYNAMIC) n += (size_t)snprintf(buf + n, size - n, i ? ", ?" : "?");
    else n += (size_t)snprintf(buf + n, size - n, i ? ", %lld" : "%lld", D(t->dims[i]));
  }
  if (n < size) snprintf(buf + n, size - n, "]");
  return buf;
}

static tsr_status check_tensors(ir_op *op) {
  for (int i = 0; i < op->n_operands; i++)
    if (!op->operands[i]->type || op->operands[i]->type->kind != IR_T_TENSOR)
      return ir_error(op, op->def->operands_doc, "operand %d must be a tensor", i);
  return NULL;
}

bool graph_broadcast_dims(int ra, const int64_t *a, int rb, const int64_t *b, int *rank, int64_t *dims) {
  int r = ra > rb ? ra : rb;
  int64_t out[TSR_MAX_RANK];
  for (int i = 0; i < r; i++) {
    int64_t x = i < r - ra ? 1 : a[i - (r - ra)], y = i < r - rb ? 1 : b[i - (r - rb)];
    if (x == y || y == 1) out[i] = x;
    else if (x == 1) out[i] = y;
    else if (x == IR_DYNAMIC) out[i] = y;
    else if (y == IR_DYNAMIC) out[i] = x;
    else return false;
  }
  memcpy(dims, out, sizeof *out * (size_t)r);
  *rank = r;
  return true;
}

/* The broadcast shape of operands from `first` on. */
static tsr_status broadcast_all(ir_op *op, int first, int *rank, int64_t *dims) {
  *rank = 0;
  for (int i = first; i < op->n_operands; i++) {
    const ir_type *t = op->operands[i]->type;
    if (!graph_broadcast_dims(*rank, dims, t->rank, t->dims, rank, dims)) {
      char a[128], b[128];
      return ir_error(op, "aligned at the right, dimensions must be equal or 1", "shapes %s and %s do not broadcast",
                      type_text(op->operands[first]->type, a, sizeof a), type_text(t, b, sizeof b));
    }
  }
  return NULL;
}

static tsr_status same_dtype(ir_op *op, int first) {
  for (int i = first + 1; i < op->n_operands; i++)
    if (op->operands[i]->type->dtype != op->operands[first]->type->dtype)
      return ir_error(op, NO_CAST, "operands are %s and %s", tsr_dtype_name(op->operands[first]->type->dtype),
                      tsr_dtype_name(op->operands[i]->type->dtype));
  return NULL;
}

static tsr_status elementwise(ir_op *op, const ir_type **results) {
  int rank;
  int64_t dims[TSR_MAX_RANK];
  TSR_TRY(same_dtype(op, 0));
  TSR_TRY(broadcast_all(op, 0, &rank, dims));
  return finish(op, op->operands[0]->type->dtype, rank, dims, results);
}

tsr_status graph_infer_arith(ir_op *op, const ir_type **results) {
  TSR_TRY(check_tensors(op));
  if (op->operands[0]->type->dtype == TSR_BOOL)
    return ir_error(op, "cast to a number first, or use and, or, not", "does not take bool");
  return elementwise(op, results);
}

static tsr_status need_float(ir_op *op) {
  TSR_TRY(check_tensors(op));
  tsr_dtype t = op->operands[0]->type->dtype;
  return dtype_is_float(t) ? NULL : ir_error(op, NO_CAST, "takes floats, not %s", tsr_dtype_name(t));
}

tsr_status graph_infer_float(ir_op *op, const ir_type **results) {
  TSR_TRY(need_float(op));
  return elementwise(op, results);
}

tsr_status graph_infer_logic(ir_op *op, const ir_type **results) {
  TSR_TRY(check_tensors(op));
  if (dtype_is_float(op->operands[0]->type->dtype))
    return ir_error(op, "compare first", "takes bool or integers, not %s",
                    tsr_dtype_name(op->operands[0]->type->dtype));
  return elementwise(op, results);
}

tsr_status graph_infer_compare(ir_op *op, const ir_type **results) {
  TSR_TRY(check_tensors(op));
  if (graph_variant(op) < 0)
    return ir_error(op, "eq, ne, lt, le, gt or ge", "unknown predicate \"%s\"", ir_get_str(op, "predicate", ""));
  TSR_TRY(elementwise(op, results));
  return finish(op, TSR_BOOL, results[0]->rank, results[0]->dims, results);
}

tsr_status graph_infer_select(ir_op *op, const ir_type **results) {
  int rank;
  int64_t dims[TSR_MAX_RANK];
  TSR_TRY(check_tensors(op));
  if (op->operands[0]->type->dtype != TSR_BOOL)
    return ir_error(op, "compare gives one", "the condition must be bool (i1), not %s",
                    tsr_dtype_name(op->operands[0]->type->dtype));
  TSR_TRY(same_dtype(op, 1));
  TSR_TRY(broadcast_all(op, 0, &rank, dims));
  return finish(op, op->operands[1]->type->dtype, rank, dims, results);
}

/* A data type named by a string attribute; NONE if absent. */
static tsr_status dtype_attr(ir_op *op, const char *name, tsr_dtype *out) {
  const char *s = ir_get_str(op, name, "");
  *out = tsr_dtype_parse(s);
  return *out || !*s ? NULL : ir_error(op, "f32, bf16, f16, i32, ...", "unknown %s \"%s\"", name, s);
}

tsr_status graph_infer_cast(ir_op *op, const ir_type **results) {
  tsr_dtype t;
  TSR_TRY(check_tensors(op));
  TSR_TRY(dtype_attr(op, "dtype", &t));
  return finish(op, t, op->operands[0]->type->rank, op->operands[0]->type->dims, results);
}

tsr_status graph_infer_constant(ir_op *op, const ir_type **results) {
  results[0] = ir_get_attr(op, "value")->u.dense.type;
  return NULL;
}

/* A list attribute with one entry per dimension; absent = all `dflt` when `optional`. */
static tsr_status list_attr(ir_op *op, const char *name, int rank, bool optional, int64_t dflt, int64_t *v) {
  int n = ir_get_ints(op, name, v, TSR_MAX_RANK);
  for (int i = 0; i < rank && optional && !ir_get_attr(op, name); i++) v[i] = dflt;
  if (optional && !ir_get_attr(op, name)) return NULL;
  if (n < 0) return ir_error(op, NULL, "%s must be a list of integers", name);
  if (n != rank) return ir_error(op, NULL, "%s has %d entries for %d dimensions", name, n, rank);
  return NULL;
}

/* ---- matmul ---------------------------------------------------------------------------------------------------- */

static tsr_status matmul_dtype(ir_op *op, tsr_dtype a, tsr_dtype b, tsr_dtype *out) {
  bool fa = dtype_is_float(a), fb = dtype_is_float(b);
  TSR_TRY(dtype_attr(op, "out_dtype", out));
  if (a == TSR_BOOL || b == TSR_BOOL || fa != fb)
    return ir_error(op, NO_CAST, "can't multiply %s by %s", tsr_dtype_name(a), tsr_dtype_name(b));
  bool small = tsr_dtype_size(a) == 1 && tsr_dtype_size(b) == 1;
  if (!fa && a != b && !small)
    return ir_error(op, NO_CAST, "can't multiply %s by %s", tsr_dtype_name(a), tsr_dtype_name(b));
  if (*out) {
    if (dtype_is_float(*out) == fa) return NULL;
    return ir_error(op, "cast the result", "out_dtype %s for %s inputs", tsr_dtype_name(*out), tsr_dtype_name(a));
  }
  if (!fa) *out = small ? TSR_I32 : a;
  else if (a == b || tsr_dtype_size(a) > tsr_dtype_size(b)) *out = a;
  else if (tsr_dtype_size(a) < tsr_dtype_size(b)) *out = b;
  else
    return ir_error(op, "give out_dtype, or cast one of them", "neither of %s and %s is the wider", tsr_dtype_name(a),
                    tsr_dtype_name(b));
  return NULL;
}

/* f32 or f64 for floats: shorter sums belong to mode aggressive, which isn't there. i32 or i64 for integers, at least
 * the operands' width. */
static bool may_accumulate(tsr_dtype accum, tsr_dtype operand) {
  if (dtype_is_float(operand)) return accum == TSR_F64 || accum == TSR_F32;
  return accum == TSR_I64 || (accum == TSR_I32 && operand != TSR_I64);
}

static tsr_status matmul_attrs(ir_op *op, tsr_dtype operand) {
  tsr_dtype accum;
  int64_t tile[3];
  TSR_TRY(dtype_attr(op, "accum_dtype", &accum));
  if (accum && !may_accumulate(accum, operand))
    return ir_error(op,
                    dtype_is_float(operand) ? "f32 or f64"
                    : operand == TSR_I64    ? "i64"
                                            : "i32 or i64",
                    "can't accumulate in %s", tsr_dtype_name(accum));
  int n = ir_get_ints(op, "tile_shape", tile, 3);
  if (n < 0 || (n != 0 && n != 3) || (!n && ir_get_attr(op, "tile_shape")))
    return ir_error(op, "[BM, BN, BK]", "tile_shape must be a list of three integers");
  for (int i = 0; i < n; i++)
    if (tile[i] < 1 || tile[i] > 1 << 16)
      return ir_error(op, "1 to 65536 in each dimension", "tile_shape entry %lld is out of range", D(tile[i]));
  return NULL;
}

tsr_status graph_infer_matmul(ir_op *op, const ir_type **results) {
  TSR_TRY(check_tensors(op));
  const ir_type *a = op->operands[0]->type, *b = op->operands[1]->type;
  char ta[128], tb[128];
  if (a->rank < 2 || b->rank < 2)
    return ir_error(op, "reshape a vector to [1, k] or [k, 1]", "needs matrices, has %s and %s",
                    type_text(a, ta, sizeof ta), type_text(b, tb, sizeof tb));
  tsr_dtype t;
  TSR_TRY(matmul_dtype(op, a->dtype, b->dtype, &t));
  TSR_TRY(matmul_attrs(op, a->dtype));
  bool xa = ir_get_bool(op, "transpose_a", false), xb = ir_get_bool(op, "transpose_b", false);
  int64_t k = a->dims[a->rank - (xa ? 2 : 1)], l = b->dims[b->rank - (xb ? 1 : 2)];
  if (k != l && k != IR_DYNAMIC && l != IR_DYNAMIC)
    return ir_error(op, "the inner dimensions must be equal; transpose_a and transpose_b swap the last two",
                    "%s%s by %s%s: %lld columns for %lld rows", type_text(a, ta, sizeof ta), xa ? " transposed" : "",
                    type_text(b, tb, sizeof tb), xb ? " transposed" : "", D(k), D(l));
  int rank;
  int64_t dims[TSR_MAX_RANK];
  if (!graph_broadcast_dims(a->rank - 2, a->dims, b->rank - 2, b->dims, &rank, dims))
    return ir_error(op, "aligned at the right, batch dimensions must be equal or 1",
                    "the leading dimensions of %s and %s do not broadcast", type_text(a, ta, sizeof ta),
                    type_text(b, tb, sizeof tb));
  dims[rank++] = a->dims[a->rank - (xa ? 1 : 2)];
  dims[rank++] = b->dims[b->rank - (xb ? 2 : 1)];
  return finish(op, t, rank, dims, results);
}

/* ---- broadcast, reductions, rows ------------------------------------------------------------------------------- */

tsr_status graph_infer_broadcast(ir_op *op, const ir_type **results) {
  TSR_TRY(check_tensors(op));
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
      return ir_error(op, "-1 keeps the operand's dimension", "shape entry %lld is negative", D(shape[i]));
    if (have != shape[i] && have != 1 && have != IR_DYNAMIC)
      return ir_error(op, "aligned at the right, dimensions must be equal or 1",
                      "dimension %d is %lld and can't become %lld", i, D(have), D(shape[i]));
  }
  return finish(op, x->dtype, n, shape, results);
}

static tsr_status check_axis(ir_op *op, const char *name, int64_t axis, int rank) {
  if (axis >= -rank && axis < rank) return NULL;
  return ir_error(op, "negative ones count from the last", "%s %lld for a tensor of rank %d", name, D(axis), rank);
}

tsr_status graph_infer_reduce(ir_op *op, const ir_type **results) {
  TSR_TRY(op->def->code == G_REDUCE_MEAN ? need_float(op) : check_tensors(op));
  const ir_type *x = op->operands[0]->type;
  if (x->dtype == TSR_BOOL) return ir_error(op, "cast to i32 first", "does not take bool");
  int64_t axes[TSR_MAX_RANK], dims[TSR_MAX_RANK];
  int n = ir_get_ints(op, "axes", axes, TSR_MAX_RANK), rank = 0;
  bool reduced[TSR_MAX_RANK] = {0}, keep = ir_get_bool(op, "keepdims", false);
  if (n < 0 || n > x->rank) return ir_error(op, NULL, "axes must be a list of at most %d integers", x->rank);
  for (int i = 0; i < n; i++) {
    TSR_TRY(check_axis(op, "axis", axes[i], x->rank));
    int a = (int)(axes[i] < 0 ? axes[i] + x->rank : axes[i]);
    if (reduced[a]) return ir_error(op, NULL, "axis %d is given twice", a);
    reduced[a] = true;
  }
  for (int i = 0; i < x->rank; i++)
    if (n && !reduced[i]) dims[rank++] = x->dims[i];
    else if (keep) dims[rank++] = 1;
  return finish(op, x->dtype, rank, dims, results);
}

tsr_status graph_infer_softmax(ir_op *op, const ir_type **results) {
  TSR_TRY(need_float(op));
  const ir_type *x = op->operands[0]->type;
  TSR_TRY(check_axis(op, "axis", ir_get_int(op, "axis", -1), x->rank));
  results[0] = x;
  return NULL;
}

tsr_status graph_infer_norm(ir_op *op, const ir_type **results) {
  TSR_TRY(need_float(op));
  const ir_type *x = op->operands[0]->type;
  double eps = ir_get_float(op, "eps", 1e-5);
  if (x->rank < 1) return ir_error(op, NULL, "needs at least one dimension");
  if (!(eps >= 0)) return ir_error(op, "a small positive number", "eps is %g", eps);
  for (int i = 1; i < op->n_operands; i++) {
    const ir_type *g = op->operands[i]->type;
    int64_t n = x->dims[x->rank - 1];
    char a[128], b[128];
    if (g->dtype != x->dtype && g->dtype != TSR_F32)
      return ir_error(op, NO_CAST, "%s is %s for rows of %s", i == 1 ? "gamma" : "beta", tsr_dtype_name(g->dtype),
                      tsr_dtype_name(x->dtype));
    if (g->rank != 1 || (g->dims[0] != n && g->dims[0] != IR_DYNAMIC && n != IR_DYNAMIC))
      return ir_error(op, "one element per column of the last axis", "%s is %s for rows of %s",
                      i == 1 ? "gamma" : "beta", type_text(g, a, sizeof a), type_text(x, b, sizeof b));
  }
  results[0] = x;
  return NULL;
}

/* ---- movement -------------------------------------------------------------------------------------------------- */

tsr_status graph_infer_reshape(ir_op *op, const ir_type **results) {
  TSR_TRY(check_tensors(op));
  const ir_type *x = op->operands[0]->type;
  int64_t shape[TSR_MAX_RANK], count = ir_type_count(x), known = 1;
  int n = ir_get_ints(op, "shape", shape, TSR_MAX_RANK), hole = -1;
  if (n < 0) return ir_error(op, NULL, "shape must be a list of integers");
  if (n > TSR_MAX_RANK) return ir_error(op, NULL, "shape has %d entries, at most %d", n, TSR_MAX_RANK);
  for (int i = 0; i < n; i++) {
    if (shape[i] < -1)
      return ir_error(op, "one entry may be -1 = what is left", "shape entry %lld is negative", D(shape[i]));
    if (shape[i] == -1 && hole >= 0) return ir_error(op, NULL, "only one entry of shape may be -1");
    if (shape[i] == -1) hole = i;
    else if (__builtin_mul_overflow(known, shape[i], &known))
      return ir_error(op, NULL, "the number of elements overflows 64 bits");
  }
  if (hole >= 0) {
    if (count == IR_DYNAMIC) shape[hole] = IR_DYNAMIC;
    else if (known && count % known == 0) shape[hole] = count / known;
    else return ir_error(op, NULL, "%lld elements can't be split into rows of %lld", D(count), D(known));
  } else if (count != IR_DYNAMIC && known != count) {
    return ir_error(op, "reshape keeps the number of elements", "%lld elements into a shape of %lld", D(count),
                    D(known));
  }
  return finish(op, x->dtype, n, shape, results);
}

tsr_status graph_infer_transpose(ir_op *op, const ir_type **results) {
  TSR_TRY(check_tensors(op));
  const ir_type *x = op->operands[0]->type;
  int64_t perm[TSR_MAX_RANK], dims[TSR_MAX_RANK];
  bool seen[TSR_MAX_RANK] = {0}, given = ir_get_attr(op, "perm") != NULL;
  TSR_TRY(list_attr(op, "perm", x->rank, true, 0, perm));
  for (int i = 0; i < x->rank; i++) {
    int64_t p = given ? perm[i] : x->rank - 1 - i;
    TSR_TRY(check_axis(op, "perm entry", p, x->rank));
    if (p < 0) p += x->rank;
    if (seen[p]) return ir_error(op, NULL, "perm has axis %lld twice", D(p));
    seen[p] = true;
    dims[i] = x->dims[p];
  }
  return finish(op, x->dtype, x->rank, dims, results);
}

tsr_status graph_infer_slice(ir_op *op, const ir_type **results) {
  TSR_TRY(check_tensors(op));
  const ir_type *x = op->operands[0]->type;
  int64_t starts[TSR_MAX_RANK], sizes[TSR_MAX_RANK], strides[TSR_MAX_RANK];
  TSR_TRY(list_attr(op, "starts", x->rank, false, 0, starts));
  TSR_TRY(list_attr(op, "sizes", x->rank, false, 0, sizes));
  TSR_TRY(list_attr(op, "strides", x->rank, true, 1, strides));
  for (int i = 0; i < x->rank; i++) {
    int64_t d = x->dims[i], last;
    if (strides[i] < 1)
      return ir_error(op, "strides count forward, from 1", "stride %lld on axis %d", D(strides[i]), i);
    if (starts[i] < 0 || (d != IR_DYNAMIC && starts[i] > d))
      return ir_error(op, NULL, "start %lld is outside axis %d of %lld", D(starts[i]), i, D(d));
    if (sizes[i] == -1) {
      sizes[i] = d == IR_DYNAMIC ? d : (d - starts[i]) / strides[i] + ((d - starts[i]) % strides[i] != 0);
      continue;
    }
    if (sizes[i] < 0) return ir_error(op, "-1 = up to the end", "size %lld on axis %d", D(sizes[i]), i);
    if (d == IR_DYNAMIC || sizes[i] == 0) continue;
    if (__builtin_mul_overflow(sizes[i] - 1, strides[i], &last) || __builtin_add_overflow(last, starts[i], &last) ||
        last >= d)
      return ir_error(op, "size counts elements of the result", "%lld elements from %lld by %lld leave axis %d of %lld",
                      D(sizes[i]), D(starts[i]), D(strides[i]), i, D(d));
  }
  return finish(op, x->dtype, x->rank, sizes, results);
}

tsr_status graph_infer_concat(ir_op *op, const ir_type **results) {
  TSR_TRY(check_tensors(op));
  TSR_TRY(same_dtype(op, 0));
  const ir_type *x = op->operands[0]->type;
  int64_t dims[TSR_MAX_RANK], axis = ir_get_int(op, "axis", 0);
  TSR_TRY(check_axis(op, "axis", axis, x->rank));
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
                      type_text(x, a, sizeof a), type_text(y, b, sizeof b), D(axis));
  }
  return finish(op, x->dtype, x->rank, dims, results);
}

tsr_status graph_infer_pad(ir_op *op, const ir_type **results) {
  TSR_TRY(check_tensors(op));
  const ir_type *x = op->operands[0]->type;
  int64_t low[TSR_MAX_RANK], high[TSR_MAX_RANK], dims[TSR_MAX_RANK];
  TSR_TRY(list_attr(op, "low", x->rank, false, 0, low));
  TSR_TRY(list_attr(op, "high", x->rank, false, 0, high));
  for (int i = 0; i < x->rank; i++) {
    if (low[i] < 0 || high[i] < 0)
      return ir_error(op, "use slice to take elements away", "negative padding on axis %d", i);
    dims[i] = x->dims[i];
    if (dims[i] != IR_DYNAMIC &&
        (__builtin_add_overflow(dims[i], low[i], &dims[i]) || __builtin_add_overflow(dims[i], high[i], &dims[i])))
      return ir_error(op, NULL, "the padded axis %d overflows 64 bits", i);
  }
  return finish(op, x->dtype, x->rank, dims, results);
}
