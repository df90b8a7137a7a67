/* core/ir/graph/ops/contraction.c - sums of products of two matrices: rows, type rule, evaluation, derivative. All read
 * from the row's index expression how the operands are stored. */
#include <math.h>

#include "core/base/dtype.h"
#include "core/ir/graph/ops/compose.h"

static tsr_status contraction_dtype(ir_op *op, tsr_dtype a, tsr_dtype b, tsr_dtype *out) {
  bool fa = dtype_is_float(a), fb = dtype_is_float(b);
  TSR_TRY(shape_dtype_attr(op, "out_dtype", out));
  if (a == TSR_BOOL || b == TSR_BOOL || fa != fb)
    return ir_error(op, graph_no_cast, "can't multiply %s by %s", tsr_dtype_name(a), tsr_dtype_name(b));
  bool small = tsr_dtype_size(a) <= 1 && tsr_dtype_size(b) <= 1; /* packed types have none */
  if (!fa && a != b && !small)
    return ir_error(op, graph_no_cast, "can't multiply %s by %s", tsr_dtype_name(a), tsr_dtype_name(b));
  if (dtype_word(a) || dtype_word(*out)) { /* as products of words */
    return !*out && !ir_get_attr(op, "accum_dtype")
               ? (*out = a, NULL)
               : ir_error(op, "cast the operands or the result", "%s products have no other type",
                          tsr_dtype_name(dtype_word(a) ? a : *out));
  }
  if (dtype_packed(*out)) return ir_error(op, "cast the result", "products give no %s", tsr_dtype_name(*out));
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

static tsr_status contraction_attrs(ir_op *op, tsr_dtype operand) {
  tsr_dtype accum;
  int64_t tile[3];
  TSR_TRY(shape_dtype_attr(op, "accum_dtype", &accum));
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
      return ir_error(op, "1 to 65536 in each dimension", "tile_shape entry %lld is out of range",
                      (long long)(tile[i]));
  return NULL;
}

static tsr_status infer_contraction(ir_op *op, const ir_type **results) {
  TSR_TRY(shape_tensors(op));
  const ir_type *a = op->operands[0]->type, *b = op->operands[1]->type;
  char ta[128], tb[128];
  if (a->rank < 2 || b->rank < 2)
    return ir_error(op, "reshape a vector to [1, k] or [k, 1]", "needs matrices, has %s and %s",
                    shape_text(a, ta, sizeof ta), shape_text(b, tb, sizeof tb));
  tsr_dtype t;
  TSR_TRY(contraction_dtype(op, a->dtype, b->dtype, &t));
  TSR_TRY(contraction_attrs(op, a->dtype));
  bool xa = graph_is_transposed(op, 0), xb = graph_is_transposed(op, 1);
  int64_t k = a->dims[a->rank - (xa ? 2 : 1)], l = b->dims[b->rank - (xb ? 1 : 2)];
  if (shape_differs(k, l))
    return ir_error(op, "the inner dimensions must be equal; transpose_a and transpose_b swap the last two",
                    "%s%s by %s%s: %lld columns for %lld rows", shape_text(a, ta, sizeof ta), xa ? " transposed" : "",
                    shape_text(b, tb, sizeof tb), xb ? " transposed" : "", (long long)(k), (long long)(l));
  int rank;
  int64_t dims[TSR_MAX_RANK];
  if (!graph_broadcast_dims(a->rank - 2, a->dims, b->rank - 2, b->dims, &rank, dims))
    return ir_error(op, "aligned at the right, batch dimensions must be equal or 1",
                    "the leading dimensions of %s and %s do not broadcast", shape_text(a, ta, sizeof ta),
                    shape_text(b, tb, sizeof tb));
  dims[rank++] = a->dims[a->rank - (xa ? 1 : 2)];
  dims[rank++] = b->dims[b->rank - (xb ? 2 : 1)];
  return shape_finish(op, t, rank, dims, results);
}

typedef struct line { /* n elements of v from `at`, `step` apart */
  ir_value *v;
  int64_t at, step;
} line;

static graph_num dot(graph_evaluator *e, const graph_contract *g, tsr_dtype out, bool whole, line a, line b) {
  num_sum s = {0};
  for (int64_t k = 0; k < g->k; k++) {
    graph_num x = graph_read(e, a.v, a.at + k * a.step), y = graph_read(e, b.v, b.at + k * b.step);
    if (isfinite(x.v) && isfinite(y.v) && !isfinite(x.v * y.v)) s.abs = INFINITY;
    if (whole) s.exact += (uint64_t)num_exact(a.v, x) * (uint64_t)num_exact(b.v, y);
    else num_sum_add(&s, x.v * y.v, x.e > 0 || y.e > 0 ? hypot(x.v * num_carried(y), y.v * num_carried(x)) : 0);
  }
  if (whole) return num_integer(out, num_wrap(g->accum, (int64_t)s.exact));
  return (graph_num){s.v, num_sum_error(&s, graph_tolerance(out, g->accum, g->k, s.v, s.abs)),
                     graph_rounding(out, s.v)};
}

static tsr_status eval_contraction(graph_evaluator *e, ir_op *op, int64_t at) {
  ir_value *va = op->operands[0], *vb = op->operands[1], *vc = op->results[0];
  graph_contract g = graph_contract_get(op);
  bool whole = !dtype_is_float(va->type->dtype);
  int64_t x[TSR_MAX_RANK], base[2] = {0};
  num_split(vc->type, at, x);
  for (int o = 0; o < 2; o++) {
    ir_type lead = *op->operands[o]->type;
    lead.rank -= 2;
    base[o] = num_broadcast_at(&lead, g.n_batch, x) * lead.dims[lead.rank] * lead.dims[lead.rank + 1];
  }
  int64_t i = x[g.n_batch], j = x[g.n_batch + 1], first = at - i * g.n - j;
  int64_t ai = g.transpose_a ? 1 : g.k, ak = g.transpose_a ? g.m : 1, bj = g.transpose_b ? g.k : 1,
          bk = g.transpose_b ? 1 : g.n;
  /* Whole evaluation computes the column (or row) through the element, so that one operand's line stays in cache. */
  bool column = e->whole && !g.transpose_a, row = e->whole && g.transpose_a;
  int64_t n = column ? g.m : row ? g.n : 1;
  for (int64_t l = 0; l < n && !e->st; l++) {
    int64_t ri = column ? l : i, rj = row ? l : j;
    graph_num r =
        dot(e, &g, vc->type->dtype, whole, (line){va, base[0] + ri * ai, ak}, (line){vb, base[1] + rj * bj, bk});
    graph_write(e, vc, first + ri * g.n + rj, r);
  }
  return NULL;
}

/* x and y in one type that can be multiplied, then to operand i's shape and type. */
static void give_product(ir_builder *b, ir_op *op, ir_value **grads, int i, ir_value *x, ir_value *y, bool tx,
                         bool ty) {
  tsr_dtype t = x->type->dtype, s = y->type->dtype;
  if (t != s) {
    tsr_dtype wide = t == TSR_F64 || s == TSR_F64 ? TSR_F64 : TSR_F32;
    x = graph_cast(b, x, wide);
    y = graph_cast(b, y, wide);
  }
  ir_value *p = graph_contract_build(b, op, x, y, tx, ty);
  if (p) p = graph_cast(b, p, IN(i)->type->dtype);
  adjoint_give(b, op, grads, i, p);
}

/* C = A B: dA = dC B^T, dB = A^T dC, with the stored orientations. */
BEGIN(adjoint_contraction) {
  graph_contract m = graph_contract_get(op);
  if (!dtype_is_float(IN(0)->type->dtype)) END;
  if (m.transpose_a) give_product(b, op, grads, 0, IN(1), g, m.transpose_b, true);
  else give_product(b, op, grads, 0, g, IN(1), false, !m.transpose_b);
  if (m.transpose_b) give_product(b, op, grads, 1, g, IN(0), true, m.transpose_a);
  else give_product(b, op, grads, 1, IN(0), g, !m.transpose_a, false);
  END;
}

/* ---- rows ------------------------------------------------------------------------------------------------------ */

/* What all have, but for their names and meaning. First comes the index expression, which says how operands are stored.
 * */
#define CONTRACTION(...) \
  .flags = IR_PURE, .min_operands = 2, .max_operands = 2, .n_results = 1, .operands_doc = "a, b", \
  .types_doc = NUMBERS "; i8 and u8 give i32; of two float types the wider is the result's", \
  .attrs = ATTRS({"transpose_a", IR_A_BOOL, false, "false", "the last two dimensions of a are swapped"}, \
                 {"transpose_b", IR_A_BOOL, false, "false", "the last two dimensions of b are swapped"}, \
                 {"accum_dtype", IR_A_STR, false, NULL, \
                  "type of the sums: f32 or f64, i32 or i64; by default f32 for floats of up to 32 bits, else f64; " \
                  "i32 for integers of up to 32 bits, else i64"}, \
                 {"out_dtype", IR_A_STR, false, NULL, "type of the result, rounded once from the sums"}, \
                 {"tile_shape", IR_A_ARRAY, false, NULL, \
                  "[BM, BN, BK]: the block tile to use instead of the default or tuned one"}), \
  .infer = infer_contraction, \
  .ext = ROW(GRAPH_CONTRACTION, eval_contraction, adjoint_contraction, __VA_ARGS__, .per_point = 2, .words = words_same)

static const ir_opdef rows[] = {
    {NAME(MATMUL, "matmul"), CONTRACTION("*mk,*kn->*mn", .shown = "MatMul"),
     .help =
         "Matrix product of the last two dimensions, [..., m, k] by [..., k, n]; leading dimensions are broadcast."},
};

ir_value *compose_product(ir_builder *b, ir_value *x, ir_value *y) { return graph_op2(b, G_MATMUL, x, y); }

ir_value *compose_oriented_as(ir_builder *b, ir_value *x, ir_value *y, bool transpose_a, bool transpose_b,
                              tsr_dtype t) {
  ir_op *op = x && y ? ir_op_new(b, graph_def(G_MATMUL), 2, (ir_value *[]){x, y}, 1, NULL, 0) : NULL;
  const bool narrow = op && x->type->dtype != t;
  if (!op || !graph_orient(op, transpose_a, transpose_b) ||
      (narrow && !ir_set_attr(op, "out_dtype", ir_attr_str(b->m, tsr_dtype_name(t)))))
    return b->failed = true, NULL;
  tsr_status st = infer_contraction(op, &op->results[0]->type);
  if (!st) return op->results[0];
  ir_refuse(b->m, st);
  return b->failed = true, NULL;
}

ir_value *compose_dots(ir_builder *b, ir_value *x, ir_value *y, tsr_dtype t) {
  return compose_oriented_as(b, x, y, false, true, t);
}

ir_value *compose_oriented(ir_builder *b, ir_value *x, ir_value *y, bool transpose_a, bool transpose_b) {
  return compose_oriented_as(b, x, y, transpose_a, transpose_b, x ? x->type->dtype : TSR_F32);
}

const ir_rows graph_contraction_ops = {rows, sizeof rows / sizeof *rows};
