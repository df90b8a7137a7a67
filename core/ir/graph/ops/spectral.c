/* core/ir/graph/ops/spectral.c - discrete Fourier transforms of complex numbers along one to three axes: rows, shape
 * rules and the oracle. What they become on devices stands in spectral_pairs.c. */
#include <math.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/ir/graph/ops/compose.h"
#include "core/ir/graph/ops/fourier.h"
#include "core/ir/graph/ops/pairs.h"

enum { MOST_POINTS = 1 << 22 }; /* of a prime number of points, constants of 10 times as many are made */

/* ---- attributes and shape rules -------------------------------------------------------------------------------- */

static const char *const norms[] = {"backward", "forward", "ortho"};

static tsr_status check_attrs(ir_op *op) {
  const ir_type *x = op->operands[0]->type;
  int64_t given[TSR_MAX_RANK] = {-1};
  const int n = ir_get_attr(op, "axes") ? ir_get_ints(op, "axes", given, TSR_MAX_RANK) : 1;
  const char *norm = ir_get_str(op, "norm", norms[0]);
  bool known = false, seen[TSR_MAX_RANK] = {0};
  for (int i = 0; i < 3; i++) known |= !strcmp(norm, norms[i]);
  if (!known) return ir_error(op, "backward, forward or ortho", "unknown norm \"%.40s\"", norm);
  if (n < 1 || n > GRAPH_SPECTRAL_AXES)
    return ir_error(op, NULL, "axes must be a list of 1 to %d integers", GRAPH_SPECTRAL_AXES);
  for (int i = 0; i < n; i++) {
    TSR_TRY(shape_axis(op, "axis", given[i], x->rank));
    const int a = (int)(given[i] < 0 ? given[i] + x->rank : given[i]);
    if (seen[a]) return ir_error(op, NULL, "axis %d is given twice", a);
    if (x->dims[a] == 0) return ir_error(op, NULL, "axis %d has no elements to transform", a);
    if (x->dims[a] > MOST_POINTS)
      return ir_error(op, "2^22 at most", "axis %d has %lld points", a, (long long)x->dims[a]);
    seen[a] = true;
  }
  return NULL;
}

static tsr_status infer_complex_to_complex(ir_op *op, const ir_type **results) {
  TSR_TRY(shape_complex(op));
  TSR_TRY(check_attrs(op));
  const ir_type *x = op->operands[0]->type;
  return shape_finish(op, x->dtype, x->rank, x->dims, results);
}

static tsr_status infer_rfft(ir_op *op, const ir_type **results) {
  int axes[GRAPH_SPECTRAL_AXES];
  TSR_TRY(shape_tensors(op));
  ir_type t = *op->operands[0]->type;
  const tsr_dtype to = dtype_complex(t.dtype);
  if (!to)
    return ir_error(op, "f64, f32 or f16; fft takes complex numbers", "takes real numbers, not %s",
                    tsr_dtype_name(t.dtype));
  TSR_TRY(check_attrs(op));
  int64_t *last = &t.dims[axes[graph_spectral_axes(op, axes) - 1]];
  if (*last != IR_DYNAMIC) *last = *last / 2 + 1;
  return shape_finish(op, to, t.rank, t.dims, results);
}

static tsr_status infer_irfft(ir_op *op, const ir_type **results) {
  int axes[GRAPH_SPECTRAL_AXES];
  TSR_TRY(shape_complex(op));
  TSR_TRY(check_attrs(op));
  ir_type t = *op->operands[0]->type;
  int64_t *last = &t.dims[axes[graph_spectral_axes(op, axes) - 1]], n = ir_get_int(op, "n", 0);
  if (!n && *last != IR_DYNAMIC) n = *last > 1 ? 2 * (*last - 1) : 1;
  if (n < 0 || n > MOST_POINTS || (n && *last != IR_DYNAMIC && n / 2 + 1 != *last))
    return ir_error(op, "n / 2 + 1 numbers give n", "n = %lld of %lld numbers", (long long)n, (long long)*last);
  *last = n ? n : IR_DYNAMIC;
  return shape_finish(op, dtype_part(t.dtype), t.rank, t.dims, results);
}

/* ---- pointwise_mul ----------------------------------------------------------------------------------------------- */

static tsr_status infer_product(ir_op *op, const ir_type **results) {
  int rank;
  int64_t dims[TSR_MAX_RANK];
  TSR_TRY(shape_floats(op));
  TSR_TRY(shape_same_dtype(op, 0));
  TSR_TRY(shape_broadcast(op, 0, &rank, dims));
  return shape_finish(op, op->operands[0]->type->dtype, rank, dims, results);
}

EXPAND(expand_product) {
  out[0] = MUL(IN(0), IN(1));
  DONE;
}

/* ---- the oracle ------------------------------------------------------------------------------------------------ */

/* The elements that are transformed together: those that differ in the transformed axes alone. */
typedef struct block {
  int n_axes, axes[GRAPH_SPECTRAL_AXES];
  int64_t dims[GRAPH_SPECTRAL_AXES], n; /* of the transform */
  double (*v)[2], (*line)[2];
  fourier_sums sums;
} block;

static void along(block *s, int axis, int sign, const tsr_allocator *al, bool *ok) {
  int64_t after = 1;
  for (int i = axis + 1; i < s->n_axes; i++) after *= s->dims[i];
  const int64_t n = s->dims[axis];
  for (int64_t at = 0; at < s->n && *ok; at++) {
    if (at / after % n) continue;
    for (int64_t k = 0; k < n; k++) memcpy(s->line[k], s->v[at + k * after], sizeof *s->line);
    *ok = fourier_transform(al, s->line, n, sign);
    for (int64_t k = 0; k < n; k++) memcpy(s->v[at + k * after], s->line[k], sizeof *s->line);
  }
}

/* Position p of the block in a tensor of type t, its other coordinates in c; false where t has fewer along the last. */
static bool place(const block *s, const ir_type *t, int64_t p, int64_t *c, int64_t *at) {
  for (int i = s->n_axes - 1; i >= 0; i--) c[s->axes[i]] = p % s->dims[i], p /= s->dims[i];
  *at = num_join(t, c);
  return c[s->axes[s->n_axes - 1]] < t->dims[s->axes[s->n_axes - 1]];
}

static void read_block(graph_evaluator *e, ir_op *op, block *s, int64_t *c) {
  ir_value *x = op->operands[0];
  const int parts = dtype_parts(x->type->dtype);
  const int64_t last = s->dims[s->n_axes - 1];
  for (int64_t p = 0; p < s->n && !e->st; p++) {
    int64_t at;
    s->v[p][0] = s->v[p][1] = 0;
    if (!place(s, x->type, p, c, &at)) continue;
    /* Of a real result's spectrum half is given: the other half adds the conjugates, so that the real parts double. */
    const int64_t k = p % last;
    const double weight = op->def->code == G_IRFFT && k && 2 * k != last ? 2 : 1;
    for (int part = 0; part < parts; part++) {
      const graph_num v = graph_read(e, x, parts * at + part);
      s->v[p][part] = weight * v.v;
      fourier_sums_add(&s->sums, weight, v.v, num_carried(v));
    }
  }
}

static void write_block(graph_evaluator *e, ir_op *op, const block *s, int64_t *c) {
  ir_value *y = op->results[0];
  const int parts = dtype_parts(y->type->dtype);
  const tsr_dtype t = dtype_part(y->type->dtype);
  const double scale = graph_spectral_scale(op, (double)s->n),
               own = fourier_own_error(&s->sums, t, scale, graph_rounding(t, 0));
  for (int64_t p = 0; p < s->n; p++) {
    int64_t at;
    if (!place(s, y->type, p, c, &at)) continue;
    for (int part = 0; part < parts; part++) {
      graph_num v = {.v = scale * s->v[p][part]};
      v.r = graph_rounding(t, v.v);
      v.e = own == INFINITY ? own : fourier_inherited(&s->sums, scale, v.v) + own + v.r;
      graph_write(e, y, parts * at + part, v);
    }
  }
}

static tsr_status eval_spectral(graph_evaluator *e, ir_op *op, int64_t at) {
  const ir_type *y = op->results[0]->type, *wide = op->def->code == G_RFFT ? op->operands[0]->type : y;
  block s = {.n = 1, .sums.finite = true};
  int64_t c[TSR_MAX_RANK], most = 1;
  const int sign = graph_spectral_inverts(op) ? 1 : -1;
  bool ok = true;
  num_split(y, at / dtype_parts(y->dtype), c);
  s.n_axes = graph_spectral_axes(op, s.axes);
  for (int i = 0; i < s.n_axes; i++) {
    s.n *= s.dims[i] = wide->dims[s.axes[i]];
    if (s.dims[i] > most) most = s.dims[i];
  }
  s.sums.n = (double)s.n;
  const size_t bytes = (size_t)(s.n + most) * sizeof *s.v;
  if (!(s.v = al_alloc(e->al, bytes, 16))) return st_oom();
  s.line = s.v + s.n;
  read_block(e, op, &s, c);
  for (int i = 0; i < s.n_axes; i++) along(&s, i, sign, e->al, &ok);
  if (ok && !e->st) write_block(e, op, &s, c);
  al_free(e->al, s.v, bytes, 16);
  return ok ? NULL : st_oom();
}

/* ---- rows ------------------------------------------------------------------------------------------------------ */

#define AXES \
  {"axes", IR_A_ARRAY, false, NULL, "1 to 3 dimensions; negative ones count from the last, which is transformed if absent"}
#define NORM \
  {"norm", IR_A_STR, false, "backward", \
   "where 1/n stands, n the transformed points: backward: in inverse transforms; forward: in the others; ortho: " \
   "1/sqrt(n) in all"}
#define SPECTRAL(CODE, s, INFER) \
  NAME(CODE, s), .flags = IR_PURE, .min_operands = 1, .max_operands = 1, .n_results = 1, .operands_doc = "x", \
      .infer = INFER, .ext = ROW(GRAPH_SPECTRAL, eval_spectral, NULL, .per_point = 1, .pairs = pairs_spectral)

static const ir_opdef rows[] = {
    {SPECTRAL(FFT, "fft", infer_complex_to_complex), .types_doc = "complex", .attrs = ATTRS(AXES, NORM),
     .help = "Discrete Fourier transform: y[k] = sum over j of x[j] exp(-2 pi i j k / n), along each of the axes. What "
             "an infinity or a NaN is transformed with has no finite number, other lines are as without it. Sizes of "
             "up to 2^22."},
    {SPECTRAL(IFFT, "ifft", infer_complex_to_complex), .types_doc = "complex", .attrs = ATTRS(AXES, NORM),
     .help = "Inverse transform: the exponent's sign is +."},
    {SPECTRAL(RFFT, "rfft", infer_rfft), .types_doc = "f64, f32, f16", .attrs = ATTRS(AXES, NORM),
     .help = "Transform of real numbers: along the last of the axes the n / 2 + 1 numbers of which the others are the "
             "conjugates."},
    {SPECTRAL(IRFFT, "irfft", infer_irfft), .types_doc = "complex",
     .attrs = ATTRS(AXES, NORM,
                    {"n", IR_A_INT, false, NULL,
                     "the result's extent along the last of the axes; if absent 2 (m - 1) of m numbers, 1 of one"}),
     .help = "Inverse transform with a real result, of the n / 2 + 1 numbers that rfft gives; the imaginary parts of "
             "the first and, of even n, of the last don't count. Of what an infinity or a NaN is transformed with "
             "nothing is said, other lines are as without it."},
    {COMPOSITE(POINTWISE_MUL, "pointwise_mul", 2, 2, 1), .operands_doc = "a, b", .types_doc = FLOATS AND_COMPLEX,
     .infer = infer_product, .ext = ROW(GRAPH_COMPOSITE, .expand = expand_product, .pairs = pairs_pointwise),
     .help = "a * b, of spectra the transform of a convolution; as mul."},
};

const ir_rows graph_spectral_ops = {rows, sizeof rows / sizeof *rows};
_Static_assert(sizeof rows / sizeof *rows == G_POINTWISE_MUL - G_FFT + 1, "one row per code, in the enum's order");
