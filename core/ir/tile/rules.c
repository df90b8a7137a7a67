/* core/ir/tile/rules.c - shapes and types of Tile IR ops; each rule is the type part of the op's help text. What else
 * holds of them is ir/tile/verify.c's. */
#include "core/ir/tile/rules.h"

#include <string.h>

#include "core/base/dtype.h"
#include "core/ir/reducer.h"
#include "core/ir/symbols.h"
#include "core/ir/tile/tile.h"

static tsr_status give(const ir_type **results, const ir_type *t) {
  results[0] = t;
  return t ? NULL : st_oom();
}

static bool is_tile(const ir_type *t) { return tile_is_memory(t) || t->kind == IR_T_FRAG; }

/* The result's type says what to cast to. */
static tsr_status check_cast(const ir_op *op) {
  const ir_type *a = op->operands[0]->type, *r = op->results[0]->type;
  if (!r || (a->kind == IR_T_VECTOR ? r->kind == IR_T_VECTOR && tile_same_dims(a, r)
                                    : r->kind == IR_T_SCALAR || r->kind == IR_T_INDEX))
    return NULL;
  return ir_error(op, NULL, "casts a scalar to a scalar and a vector to one of its length");
}

tsr_status scalar_infer(ir_op *op, const ir_type **results) {
  const ir_type *a = op->operands[0]->type;
  int code = op->def->code;
  for (int i = 0; i < op->n_operands; i++) {
    const ir_type *t = op->operands[i]->type;
    if (t->kind != IR_T_SCALAR && t->kind != IR_T_INDEX && (t->kind != IR_T_VECTOR || op->def->level == IR_TILE))
      return ir_error(op, NULL, "operand %d must be a scalar%s", i, op->def->level == IR_TILE ? "" : " or a vector");
  }
  if (code == SC_CAST) return check_cast(op);
  int first = code == SC_SELECT ? 1 : 0;
  for (int i = first + 1; i < op->n_operands; i++)
    if (op->operands[i]->type != op->operands[first]->type)
      return ir_error(op, "insert a cast", "operands %d and %d differ in type", first, i);
  bool is_float = a->kind != IR_T_INDEX && dtype_is_float(a->dtype);
  bool needs_float = scalar_rows[code].traits & SCALAR_FLOATS, needs_int = scalar_rows[code].traits & SCALAR_INTEGERS;
  if (needs_float && !is_float) return ir_error(op, "cast to a float type first", "needs a float operand");
  if (needs_int && is_float) return ir_error(op, NULL, "needs an integer, index or bool operand");
  if (code == SC_SELECT) {
    if (a->kind == IR_T_INDEX || a->dtype != TSR_BOOL) return ir_error(op, NULL, "the condition must be a bool");
    return give(results, op->operands[1]->type);
  }
  if (code != SC_COMPARE) return give(results, a);
  const char *p = ir_get_str(op, "predicate", "");
  if (scalar_predicate(p) == N_CMP) return ir_error(op, "eq, ne, lt, le, gt, ge", "unknown predicate \"%s\"", p);
  return give(results, a->kind == IR_T_VECTOR ? ir_type_shaped(op->module, IR_T_VECTOR, TSR_BOOL, a->rank, a->dims)
                                              : ir_type_scalar(op->module, TSR_BOOL));
}

tsr_status tile_infer_constant(ir_op *op, const ir_type **results) {
  const ir_attr *v = ir_get_attr(op, "value");
  if (!v) return st_oom(); /* builders leave it out only when there was no memory for it */
  return give(results, v->u.dense.type);
}

tsr_status tile_infer_index(ir_op *op, const ir_type **results) { return give(results, ir_type_index(op->module)); }

tsr_status tile_infer_axis(ir_op *op, const ir_type **results) {
  int64_t axis = ir_get_int(op, "axis", 0);
  if (axis < 0 || axis > 2) return ir_error(op, "0, 1 or 2", "there is no axis %lld", (long long)axis);
  return tile_infer_index(op, results);
}

tsr_status tile_infer_const(ir_op *op, const ir_type **results) {
  const ir_type *t = op->results[0]->type;
  const ir_attr *v = ir_get_attr(op, "value");
  if (t && t->kind == IR_T_INDEX && v && v->kind != IR_A_INT) /* which readers would round in different ways */
    return ir_error(op, "write it without a point", "an index is a whole number");
  if (t)
    return t->kind == IR_T_INDEX || t->kind == IR_T_SCALAR || (t->kind == IR_T_VECTOR && op->def->level == IR_TARGET)
               ? NULL
               : ir_error(op, NULL, "must be a scalar");
  if (!v) return st_oom(); /* builders leave the type out only when there was no memory for it */
  if (v->kind == IR_A_INT) return give(results, ir_type_index(op->module));
  return give(results, ir_type_scalar(op->module, TSR_F32));
}

tsr_status tile_infer_window(ir_op *op, const ir_type **results) {
  const ir_type *v = op->operands[0]->type;
  int64_t sizes[TSR_MAX_RANK], strides[TSR_MAX_RANK];
  if (v->kind != IR_T_VIEW) return ir_error(op, NULL, "the first operand must be a view");
  int n = ir_get_ints(op, "sizes", sizes, TSR_MAX_RANK);
  if (n != v->rank || op->n_operands != 1 + v->rank)
    return ir_error(op, NULL, "needs one size and one offset per dimension of a rank %d view", v->rank);
  ir_type_strides(v, strides);
  ir_type t = {.kind = IR_T_VIEW, .dtype = v->dtype, .has_strides = true, .use = v->use};
  for (int i = 0; i < n; i++) {
    if (!tile_is_index(op->operands[1 + i]->type)) return ir_error(op, NULL, "offset %d must be an index", i);
    if (sizes[i] < 0 || sizes[i] > INT32_MAX) return ir_error(op, NULL, "size %d is out of range", i);
    if (!sizes[i]) continue;
    t.dims[t.rank] = sizes[i];
    t.strides[t.rank++] = strides[i];
  }
  return give(results, ir_type_get(op->module, &t));
}

tsr_status tile_infer_load(ir_op *op, const ir_type **results) {
  const ir_type *v = op->operands[0]->type, *r = op->results[0]->type;
  if (!tile_is_memory(v)) return ir_error(op, NULL, "loads from a view or a shared tile");
  if (r && (r->kind != IR_T_FRAG || !tile_same_dims(r, v)))
    return ir_error(op, NULL, "the result must be a fragment with the dimensions of the memory");
  return r ? NULL : give(results, ir_type_frag(op->module, v->dtype, v->rank, v->dims));
}

tsr_status tile_infer_gemm(ir_op *op, const ir_type **results) {
  const ir_type *c = op->operands[0]->type, *a = op->operands[1]->type, *b = op->operands[2]->type;
  if (c->kind != IR_T_FRAG || c->rank != 2 || !is_tile(a) || a->rank != 2 || !is_tile(b) || b->rank != 2)
    return ir_error(op, NULL, "takes a rank 2 accumulator fragment and rank 2 tiles");
  bool ta = ir_get_bool(op, "transpose_a", false), tb = ir_get_bool(op, "transpose_b", false);
  int64_t m = a->dims[ta], k = a->dims[!ta], k2 = b->dims[tb], n = b->dims[!tb];
  if (m != c->dims[0] || n != c->dims[1] || k != k2)
    return ir_error(op, NULL, "[%lld, %lld] * [%lld, %lld] does not give [%lld, %lld]", (long long)m, (long long)k,
                    (long long)k2, (long long)n, (long long)c->dims[0], (long long)c->dims[1]);
  return give(results, c);
}

tsr_status tile_infer_mma(ir_op *op, const ir_type **results) {
  int64_t m = ir_get_int(op, "m", 0), n = ir_get_int(op, "n", 0), k = ir_get_int(op, "k", 0);
  tsr_dtype t = dtype_parse_real(ir_get_str(op, "dtype", ""));
  if (!t) return ir_error(op, NULL, "unknown dtype \"%s\"", ir_get_str(op, "dtype", ""));
  if (m < 1 || n < 1 || k < 1 || m > 1024 || n > 1024 || k > 1024)
    return ir_error(op, NULL, "m, n and k must lie in 1..1024");
  int64_t dims[3][2] = {{m, k}, {k, n}, {m, n}};
  for (int i = 0; i < 3; i++) {
    const ir_type *x = op->operands[i]->type;
    if (x->kind != IR_T_FRAG || x->rank != 2 || x->dims[0] != dims[i][0] || x->dims[1] != dims[i][1] ||
        (i < 2 && x->dtype != t))
      return ir_error(op, "pack the operand into a fragment first", "operand %d must be a fragment of %lldx%lld%s%s", i,
                      (long long)dims[i][0], (long long)dims[i][1], i < 2 ? "x" : "", i < 2 ? dtype_get(t)->mlir : "");
  }
  return give(results, op->operands[2]->type);
}

const ir_type *tile_implied_mma(ir_op *op, int i) {
  int64_t m = ir_get_int(op, "m", 0), n = ir_get_int(op, "n", 0), k = ir_get_int(op, "k", 0);
  tsr_dtype t = dtype_parse_real(ir_get_str(op, "dtype", ""));
  int64_t dims[3][2] = {{m, k}, {k, n}, {m, n}};
  if (i > 2 || !t || m < 1 || n < 1 || k < 1) return NULL;
  return ir_type_frag(op->module, i < 2 ? t : dtype_is_float(t) ? TSR_F32 : TSR_I32, 2, dims[i]);
}

tsr_status tile_infer_map(ir_op *op, const ir_type **results) {
  ir_type t = {.kind = IR_T_FRAG};
  const ir_block *r = op->regions[0];
  if (r->n_args != op->n_operands) return ir_error(op, NULL, "the region needs one argument per operand");
  if (!op->n_operands) {
    t.rank = ir_get_ints(op, "shape", t.dims, TSR_MAX_RANK);
    if (t.rank < 1 || t.rank > TSR_MAX_RANK)
      return ir_error(op, NULL, "a map without operands needs the attribute shape, of 1 to %d dimensions",
                      TSR_MAX_RANK);
    for (int d = 0; d < t.rank; d++)
      if (t.dims[d] < 0) return ir_error(op, NULL, "extent %lld in dimension %d of the shape", (long long)t.dims[d], d);
  }
  for (int i = 0; i < op->n_operands; i++) {
    const ir_type *x = op->operands[i]->type;
    if (x->kind != IR_T_FRAG || !x->rank) return ir_error(op, NULL, "operand %d must be a fragment with dimensions", i);
    if (i && x->rank != t.rank) return ir_error(op, "reshape it", "operand %d has another rank", i);
    if (r->args[i]->type->kind != IR_T_SCALAR || r->args[i]->type->dtype != x->dtype)
      return ir_error(op, NULL, "region argument %d must be a scalar of its operand's type", i);
    t.rank = x->rank;
    for (int d = 0; d < x->rank; d++) {
      if (i && x->dims[d] != t.dims[d] && x->dims[d] != 1 && t.dims[d] != 1)
        return ir_error(op, NULL, "operand %d has extent %lld in dimension %d", i, (long long)x->dims[d], d);
      if (!i || t.dims[d] == 1) t.dims[d] = x->dims[d];
    }
  }
  if (!r->last || r->last->def->code != T_YIELD || r->last->n_operands != op->n_results)
    return ir_error(op, NULL, "the region must yield one scalar per result");
  for (int i = 0; i < op->n_results; i++) {
    const ir_type *y = r->last->operands[i]->type;
    if (!y || y->kind != IR_T_SCALAR)
      return ir_error(op, "cast an index to i32", "yielded value %d must be a scalar", i);
    t.dtype = y->dtype;
    if (!(results[i] = ir_type_get(op->module, &t))) return st_oom();
  }
  return NULL;
}

tsr_status tile_infer_reduce(ir_op *op, const ir_type **results) {
  const ir_type *x = op->operands[0]->type;
  int64_t axis = ir_get_int(op, "axis", 0);
  const char *kind = ir_get_str(op, "op", "");
  if (x->kind != IR_T_FRAG || axis < 0 || axis >= x->rank)
    return ir_error(op, NULL, "axis %lld is not one of the fragment's", (long long)axis);
  if (!ir_reducer_named(kind))
    return ir_error(op, REDUCER_WORDS, "unknown op \"%s\"", kind);
  TSR_TRY(ir_check_policy(op));
  ir_type t = *x;
  t.dims[axis] = 1;
  return give(results, ir_type_get(op->module, &t));
}

/* What loops carry and branches yield: values. Memory has one name wherever it is read, so that what is written to it
 * is known. */
static bool is_value(const ir_op *op, const ir_type *t) {
  bool memory = t->kind == IR_T_VIEW || t->kind == IR_T_SHARED || t->kind == IR_T_TENSOR || t->kind == IR_T_NONE;
  return op->def->level == IR_TILE ? t->kind == IR_T_FRAG || t->kind == IR_T_SCALAR || t->kind == IR_T_INDEX
                                   : !memory && t->kind != IR_T_ARRAY && t->kind != IR_T_FRAG;
}

tsr_status tile_infer_for(ir_op *op, const ir_type **results) {
  const ir_block *r = op->regions[0];
  for (int i = 0; i < 3; i++)
    if (!tile_is_index(op->operands[i]->type)) return ir_error(op, NULL, "from, to and step must be index");
  if (r->n_args != op->n_operands - 2)
    return ir_error(op, NULL, "the region needs the counter and one argument per initial value");
  if (!tile_is_index(r->args[0]->type)) return ir_error(op, NULL, "the counter must be an index");
  if (op->n_results != op->n_operands - 3) return ir_error(op, NULL, "needs one result per initial value");
  if (!r->last || !(r->last->def->flags & IR_TERMINATOR) || r->last->n_operands != op->n_results)
    return ir_error(op, NULL, "the region must yield one value per initial value");
  for (int i = 0; i < op->n_results; i++) {
    results[i] = op->operands[3 + i]->type;
    if (!is_value(op, results[i])) return ir_error(op, "use it inside", "carried value %d is memory", i);
    if (r->args[1 + i]->type != results[i] || (r->last->operands[i]->type && r->last->operands[i]->type != results[i]))
      return ir_error(op, NULL, "carried value %d changes its type", i);
  }
  return NULL;
}

tsr_status tile_infer_if(ir_op *op, const ir_type **results) {
  const ir_type *c = op->operands[0]->type;
  if (c->kind != IR_T_SCALAR || c->dtype != TSR_BOOL) return ir_error(op, NULL, "the condition must be a bool");
  if (op->n_regions < 1 || op->n_regions > 2 || (op->n_results && op->n_regions != 2))
    return ir_error(op, NULL, "needs a then region, and an else region if it has results");
  for (int r = 0; r < op->n_regions; r++) {
    const ir_op *y = op->regions[r]->last;
    if ((op->n_results && !y) || (y && (y->def->flags & IR_TERMINATOR) && y->n_operands != op->n_results) ||
        (y && !(y->def->flags & IR_TERMINATOR) && op->n_results))
      return ir_error(op, NULL, "each region must yield one value per result");
    for (int i = 0; i < op->n_results; i++) {
      const ir_type *t = y->operands[i]->type;
      if (results[i] && t != results[i])
        return ir_error(op, NULL, "the regions yield different types for result %d", i);
      if (t && !is_value(op, t)) return ir_error(op, "use it inside", "yielded value %d is memory", i);
      results[i] = t;
    }
  }
  return NULL;
}

tsr_status tile_infer_fft(ir_op *op, const ir_type **results) {
  const ir_type *re = op->operands[0]->type;
  int64_t r = ir_get_int(op, "radix", 0), span = ir_get_int(op, "span", 0);
  if (re->kind != IR_T_FRAG || !re->rank || re != op->operands[1]->type || !dtype_is_float(re->dtype))
    return ir_error(op, NULL, "re and im must be float fragments of one type");
  int64_t n = re->dims[re->rank - 1];
  if (r != 2 && r != 4 && r != 8 && r != 16) return ir_error(op, "2, 4, 8 or 16", "radix %lld", (long long)r);
  if (span < 1 || span > n / r || n % (r * span))
    return ir_error(op, NULL, "radix * span = %lld * %lld does not divide %lld", (long long)r, (long long)span,
                    (long long)n);
  results[0] = results[1] = re;
  return NULL;
}

tsr_status tile_infer_transpose(ir_op *op, const ir_type **results) {
  const ir_type *x = op->operands[0]->type;
  int64_t perm[TSR_MAX_RANK];
  unsigned seen = 0;
  if (x->kind != IR_T_FRAG || ir_get_ints(op, "perm", perm, TSR_MAX_RANK) != x->rank)
    return ir_error(op, NULL, "needs a permutation of the fragment's dimensions");
  ir_type t = *x;
  for (int i = 0; i < x->rank; i++) {
    if (perm[i] < 0 || perm[i] >= x->rank || (seen >> perm[i] & 1))
      return ir_error(op, NULL, "perm is not a permutation");
    seen |= 1u << perm[i];
    t.dims[i] = x->dims[perm[i]];
  }
  return give(results, ir_type_get(op->module, &t));
}

tsr_status tile_infer_load_scalar(ir_op *op, const ir_type **results) {
  const ir_type *v = op->operands[0]->type;
  bool tile = op->def->level == IR_TILE;
  if (tile && v->kind == IR_T_FRAG && ir_type_count(v) == 1 && op->n_operands == 1)
    return give(results, ir_type_scalar(op->module, v->dtype));
  if ((v->kind != IR_T_VIEW && (tile || v->kind != IR_T_ARRAY)) || op->n_operands != 1 + v->rank)
    return ir_error(op, NULL, "needs a view and one index per dimension, or a fragment of one element");
  for (int i = 1; i < op->n_operands; i++)
    if (!tile_is_index(op->operands[i]->type)) return ir_error(op, NULL, "index %d must be an index", i - 1);
  return give(results, ir_type_scalar(op->module, v->dtype));
}
