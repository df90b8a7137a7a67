/* core/ir/graph/ops/spectral_pairs.c - Fourier transforms of complex numbers as transforms of pairs, an axis at a time.
 */
#include <string.h>

#include "core/ir/graph/ops/compose.h"
#include "core/ir/graph/ops/dft.h"
#include "core/ir/graph/ops/pairs.h"

static ir_value *along(ir_builder *b, ir_value *x, int axis, bool inverse, double scale) {
  if (!x || b->failed) return NULL;
  ir_op *op = ir_op_new(b, graph_def(G_DFT), 1, &x, 1, &x->type, 0);
  if (!op || !ir_set_attr(op, "axis", ir_attr_int(b->m, axis)) ||
      (inverse && !ir_set_attr(op, "inverse", ir_attr_bool(b->m, true))) ||
      (scale != 1 && !ir_set_attr(op, "scale", ir_attr_float(b->m, scale))))
    b->failed = true;
  return b->failed ? NULL : OUT;
}

/* Real numbers as pairs. */
static ir_value *from_real(ir_builder *b, ir_value *x) {
  int64_t dims[TSR_MAX_RANK];
  if (!x || b->failed) return NULL;
  const ir_type t = *x->type;
  memcpy(dims, t.dims, sizeof dims);
  dims[t.rank] = 1;
  x = graph_reshape(b, x, t.rank + 1, dims);
  return x ? pairs_join(b, x, graph_number(b, t.dtype, 0)) : NULL;
}

static ir_value *first_of(ir_builder *b, ir_value *x, int axis, int64_t n) {
  const int64_t starts[TSR_MAX_RANK] = {0};
  int64_t sizes[TSR_MAX_RANK];
  if (!x || b->failed) return NULL;
  memcpy(sizes, x->type->dims, sizeof sizes);
  sizes[axis] = n;
  return graph_cut(b, x, starts, sizes);
}

/* irfft: with the numbers that have a conjugate doubled and zeros in the conjugates' places, the real part is the same.
 */
static ir_value *doubled(ir_builder *b, ir_value *x, int axis, int64_t n) {
  if (!x || b->failed) return NULL;
  const int64_t m = x->type->dims[axis], low[TSR_MAX_RANK] = {0};
  int64_t dims[TSR_MAX_RANK], high[TSR_MAX_RANK] = {0};
  double *v = al_alloc(&b->m->arena.al, sizeof *v * (size_t)m, 16);
  for (int64_t k = 0; v && k < m; k++) v[k] = k && 2 * k != n ? 2 : 1;
  for (int i = 0; i < x->type->rank; i++) dims[i] = i == axis ? m : 1;
  ir_value *w = dft_constant(b, x->type->dtype, x->type->rank, dims, v);
  al_free(&b->m->arena.al, v, sizeof *v * (size_t)m, 16);
  high[axis] = n - m;
  x = w ? MUL(x, w) : NULL;
  return x && high[axis] ? compose_pad(b, x, low, high, 0) : x;
}

/* Of real numbers, or to real ones, the last axis goes where it makes the others' transforms half as many. */
PAIRS(pairs_spectral) {
  const tsr_dtype stored = x[0]->type->dtype, t = stored == TSR_F64 ? TSR_F64 : TSR_F32;
  const bool from = op->def->code == G_RFFT, to = op->def->code == G_IRFFT, inverse = graph_spectral_inverts(op);
  int axes[GRAPH_SPECTRAL_AXES];
  const int n_axes = graph_spectral_axes(op, axes), last = axes[n_axes - 1];
  double points = (double)(from ? IN(0) : OUT)->type->dims[last];
  for (int i = 0; i < n_axes - 1; i++) points *= (double)OUT->type->dims[axes[i]];
  const double scale = graph_spectral_scale(op, points);
  ir_value *y = graph_cast(b, x[0], t);
  if (from) y = first_of(b, along(b, from_real(b, y), last, inverse, scale), last, OUT->type->dims[last]);
  for (int i = 0; i < n_axes - (from || to); i++) y = along(b, y, axes[i], inverse, from || to || i ? 1 : scale);
  if (to) y = pairs_real(b, along(b, doubled(b, y, last, OUT->type->dims[last]), last, inverse, scale));
  return y ? graph_cast(b, y, stored) : NULL;
}
