/* core/ir/graph/ops/dft.c - the Fourier transform along one axis of pairs of real and imaginary parts, which those of
 * complex numbers become: row, shape rule, oracle, derivative. As other ops: dft_expand.c. */
#include "core/ir/graph/ops/dft.h"

#include <math.h>
#include <string.h>

#include "core/ir/graph/ops/compose.h"
#include "core/ir/graph/ops/fourier.h"

enum { MOST_POINTS = 1 << 23 }; /* of the convolutions that the largest prime numbers of points become */

static tsr_status infer_dft(ir_op *op, const ir_type **results) {
  TSR_TRY(shape_tensors(op));
  ir_type t = *op->operands[0]->type;
  const int64_t axis = ir_get_int(op, "axis", 0), to = ir_get_int(op, "to", axis);
  const int rank = t.rank - 1;
  if (t.dtype != TSR_F32 && t.dtype != TSR_F64)
    return ir_error(op, "f64 or f32", "transforms pairs of %s", tsr_dtype_name(t.dtype));
  if (rank < 1 || t.dims[rank] != 2)
    return ir_error(op, "real and imaginary parts", "the last dimension is %lld, not 2",
                    rank < 0 ? 0LL : (long long)t.dims[rank]);
  if (axis < 0 || axis >= rank || to < 0 || to >= rank)
    return ir_error(op, "the last dimension is that of the parts", "axis %lld to %lld of %d dimensions",
                    (long long)axis, (long long)to, rank);
  if (t.dims[axis] == 0 || t.dims[axis] > MOST_POINTS)
    return ir_error(op, "1 to 2^23", "axis %lld has %lld points", (long long)axis, (long long)t.dims[axis]);
  if (!isfinite(ir_get_float(op, "scale", 1)))
    return ir_error(op, "a finite number", "scale %g", ir_get_float(op, "scale", 1));
  if (ir_get_bool(op, "twiddle", false) && (axis != to || axis + 1 == rank || t.dims[axis + 1] == 0))
    return ir_error(op, "twiddle factors are of the axis and the one behind it", "axis %lld to %lld of %d dimensions",
                    (long long)axis, (long long)to, rank);
  const int64_t n = t.dims[axis];
  memmove(t.dims + axis, t.dims + axis + 1, sizeof *t.dims * (size_t)(rank - axis));
  memmove(t.dims + to + 1, t.dims + to, sizeof *t.dims * (size_t)(rank - to));
  t.dims[to] = n;
  return shape_finish(op, t.dtype, t.rank, t.dims, results);
}

/* ---- the oracle ------------------------------------------------------------------------------------------------ */

/* Pair k of line l in a tensor with `inner` lines beside one another. */
static int64_t pair_at(int64_t l, int64_t k, int64_t n, int64_t inner) {
  return l / inner * n * inner + l % inner + k * inner;
}

static tsr_status eval_dft(graph_evaluator *e, ir_op *op, int64_t at) {
  const graph_dft d = graph_dft_get(op);
  const tsr_dtype t = op->results[0]->type->dtype;
  const int sign = d.inverse ? 1 : -1;
  const int64_t pair = at / 2, line = pair / (d.n * d.out_inner) * d.out_inner + pair % d.out_inner;
  const int64_t place = d.twiddled ? line % d.in_inner / (d.in_inner / d.twiddled) : 0;
  const size_t bytes = (size_t)d.n * 2 * sizeof(double);
  fourier_sums s = {.n = (double)d.n, .finite = true};
  double(*v)[2] = al_alloc(e->al, bytes, 16);
  if (!v) return st_oom();
  for (int64_t j = 0; j < d.n && !e->st; j++)
    for (int part = 0; part < 2; part++) {
      const graph_num x = graph_read(e, op->operands[0], 2 * pair_at(line, j, d.n, d.in_inner) + part);
      v[j][part] = x.v;
      fourier_sums_add(&s, 1, x.v, num_carried(x));
    }
  const bool ok = fourier_transform(e->al, v, d.n, sign);
  const double own = fourier_own_error(&s, t, fabs(d.scale), graph_rounding(t, 0));
  for (int64_t k = 0; k < d.n && ok && !e->st; k++) {
    double w[2] = {1, 0};
    if (d.twiddled) fourier_root(k * place, d.n * d.twiddled, w), w[1] *= sign;
    const double y[2] = {v[k][0] * w[0] - v[k][1] * w[1], v[k][0] * w[1] + v[k][1] * w[0]};
    for (int part = 0; part < 2; part++) {
      graph_num x = {.v = d.scale * y[part]};
      x.r = graph_rounding(t, x.v);
      x.e = own == INFINITY ? own : fourier_inherited(&s, fabs(d.scale), x.v) + own + x.r;
      graph_write(e, op->results[0], 2 * pair_at(line, k, d.n, d.out_inner) + part, x);
    }
  }
  al_free(e->al, v, bytes, 16);
  return ok ? NULL : st_oom();
}

/* ---- the derivative -------------------------------------------------------------------------------------------- */

/* The conjugate transposed matrix is the other transform, behind the conjugate twiddle factors. */
BEGIN(adjoint_dft) {
  const graph_dft d = graph_dft_get(op);
  g = dft_twiddled(b, g, &d, d.inverse ? -1 : 1);
  ir_op *other = g && !b->failed ? ir_op_new(b, op->def, 1, &g, 1, &IN(0)->type, 0) : NULL;
  if (!other || !ir_set_attr(other, "axis", ir_attr_int(b->m, d.to)) ||
      (d.to != d.axis && !ir_set_attr(other, "to", ir_attr_int(b->m, d.axis))) ||
      (!d.inverse && !ir_set_attr(other, "inverse", ir_attr_bool(b->m, true))) ||
      (d.scale != 1 && !ir_set_attr(other, "scale", ir_attr_float(b->m, d.scale))))
    return false;
  grads[0] = other->results[0];
  END;
}

/* ---- row --------------------------------------------------------------------------------------------------------- */

static const ir_opdef rows[] = {
    {NAME(DFT, "dft"), .flags = IR_PURE, .min_operands = 1, .max_operands = 1, .n_results = 1,
     .operands_doc = "x", .types_doc = "f64, f32", .infer = infer_dft,
     .ext = ROW(GRAPH_DFT, eval_dft, adjoint_dft, .per_point = 1, .shown = "FFT", .by_passes = dft_by_passes),
     .attrs = ATTRS({"axis", IR_A_INT, true, NULL, "the dimension that is transformed"},
                    {"to", IR_A_INT, false, NULL, "where it stands in the result; in its place if absent"},
                    {"inverse", IR_A_BOOL, false, "false", "the exponent's sign is +"},
                    {"scale", IR_A_FLOAT, false, "1", "what results are multiplied by"},
                    {"twiddle", IR_A_BOOL, false, "false",
                     "and by exp(-2 pi i j k / (n m)) (inverse: +), j the place along the next dimension, of m: the "
                     "first of two passes over n m points"}),
     .help = "Fourier transform along one dimension of complex numbers as pairs of real and imaginary parts, the last "
             "dimension: what fft, ifft, rfft and irfft are made of. The CPU has a kernel for it; for other devices it is "
             "written out as products with constant matrices."},
};

const ir_rows graph_dft_ops = {rows, sizeof rows / sizeof *rows};
