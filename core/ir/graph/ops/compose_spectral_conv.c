/* core/ir/graph/ops/compose_spectral_conv.c - spectral_conv as a composite op: a convolution as the product of spectra,
 * of which the lowest frequencies are kept (Li et al. 2021, Fourier neural operators). The channels of each frequency
 * are one product of real matrices: [re, im] by [[re, im], [-im, re]]. What is narrower than f32 is computed in f32. */
#include <string.h>

#include "core/ir/graph/ops/compose.h"
#include "core/ir/graph/ops/spectra.h"
#include "core/ir/graph/ops/window.h"

/* ---- shape ------------------------------------------------------------------------------------------------------- */

/* Numbers of the spectrum along spatial axis i. */
static int64_t bins_of(const ir_op *op, int i, int n) {
  const int64_t d = TYPE(0)->dims[i + 2];
  return d == IR_DYNAMIC || i < n - 1 ? d : d / 2 + 1;
}

static tsr_status infer_spectral_conv(ir_op *op, const ir_type **results) {
  TSR_TRY(shape_tensors(op));
  ir_type t = *TYPE(0);
  const ir_type *w = TYPE(1);
  char a[128];
  int n;
  if (!dtype_complex(t.dtype))
    return ir_error(op, "f64, f32 or f16", "takes real numbers, not %s", tsr_dtype_name(t.dtype));
  TSR_TRY(window_rank(op, &t, &n));
  if (w->dtype != dtype_complex(t.dtype) || w->rank != t.rank || shape_differs(w->dims[0], t.dims[1]))
    return ir_error(op, "[channels, channels of the result, modes along each axis]",
                    "the weights are %s, not %s of rank %d", shape_text(w, a, sizeof a),
                    tsr_dtype_name(dtype_complex(t.dtype)), t.rank);
  for (int i = 0; i < n; i++) {
    const int64_t modes = w->dims[i + 2], bins = bins_of(op, i, n);
    if (!t.dims[i + 2]) return ir_error(op, NULL, "axis %d has no elements", i + 2);
    if (t.dims[i + 2] > 1 << 22)
      return ir_error(op, "2^22 at most", "axis %d has %lld points", i + 2, (long long)t.dims[i + 2]);
    if (!modes || (modes != IR_DYNAMIC && bins != IR_DYNAMIC && modes > bins))
      return ir_error(op, "1 to as many as there are", "%lld modes of %lld numbers along axis %d", (long long)modes,
                      (long long)bins, i + 2);
  }
  t.dims[1] = w->dims[1];
  return shape_finish(op, t.dtype, t.rank, t.dims, results);
}

/* ---- transforms -------------------------------------------------------------------------------------------------- */

ir_value *spectra_transform(ir_builder *b, graph_code c, ir_value *x, const ir_type *like) {
  if (!x || b->failed) return NULL;
  const int last = like->rank - 1;
  int64_t axes[WINDOW_AXES];
  ir_type t = *x->type;
  for (int i = 0; i < last - 1; i++) axes[i] = i + 2;
  t.dtype = c == G_RFFT ? dtype_complex(t.dtype) : dtype_part(t.dtype);
  t.dims[last] = c == G_RFFT ? t.dims[last] / 2 + 1 : like->dims[last];
  const ir_type *type = ir_type_tensor(b->m, t.dtype, t.rank, t.dims);
  ir_op *op = type ? ir_op_new(b, graph_def(c), 1, &x, 1, &type, 0) : NULL;
  if (!op || !ir_set_attr(op, "axes", ir_attr_ints(b->m, axes, last - 1)) ||
      (c == G_IRFFT && !ir_set_attr(op, "n", ir_attr_int(b->m, like->dims[last]))))
    b->failed = true;
  return b->failed ? NULL : OUT;
}

static ir_value *part(ir_builder *b, ir_value *x, int axis, int64_t start, int64_t n) {
  int64_t starts[TSR_MAX_RANK] = {0}, sizes[TSR_MAX_RANK];
  if (!x || b->failed) return NULL;
  memcpy(sizes, x->type->dims, sizeof sizes);
  starts[axis] = start, sizes[axis] = n;
  return graph_cut(b, x, starts, sizes);
}

/* The lowest `modes` frequencies along an axis: the first of a half spectrum; of a whole one those of both signs, in
 * its order, one more of those that aren't negative where the number is odd. */
static ir_value *lowest(ir_builder *b, ir_value *x, int axis, int64_t modes, bool half) {
  if (!x || x->type->dims[axis] == modes) return x;
  const int64_t below = half ? 0 : modes / 2;
  ir_value *first = part(b, x, axis, 0, modes - below);
  if (!below || !first) return first;
  ir_value *both[] = {first, part(b, x, axis, x->type->dims[axis] - below, below)};
  return both[1] ? graph_concat(b, 2, both, axis) : NULL;
}

/* The other way round: zeros where the frequencies are that were left out. */
static ir_value *surrounded(ir_builder *b, ir_value *x, int axis, int64_t bins, bool half) {
  if (!x || x->type->dims[axis] == bins) return x;
  const int64_t modes = x->type->dims[axis], below = half ? 0 : modes / 2;
  int64_t low[TSR_MAX_RANK] = {0}, high[TSR_MAX_RANK] = {0};
  high[axis] = bins - modes;
  ir_value *first = compose_pad(b, part(b, x, axis, 0, modes - below), low, high, 0);
  if (!below || !first) return first;
  ir_value *both[] = {first, part(b, x, axis, modes - below, below)};
  return both[1] ? graph_concat(b, 2, both, axis) : NULL;
}

/* ---- the product ------------------------------------------------------------------------------------------------- */

/* [p, q, modes.., 2] as [modes, p, q, 2] with all modes along one axis. */
static ir_value *by_mode(ir_builder *b, ir_value *x, int n, int64_t modes) {
  int perm[TSR_MAX_RANK];
  if (!x || b->failed) return NULL;
  const int64_t dims[] = {modes, x->type->dims[0], x->type->dims[1], 2};
  for (int i = 0; i < n; i++) perm[i] = i + 2;
  perm[n] = 0, perm[n + 1] = 1, perm[n + 2] = n + 2;
  x = graph_transpose(b, x, perm);
  return x ? graph_reshape(b, x, 4, dims) : NULL;
}

ir_value *spectra_matrices(ir_builder *b, ir_value *w) {
  if (!w || b->failed) return NULL;
  const int64_t *d = w->type->dims, modes = d[0], in = d[1], out = d[2];
  ir_value *re = part(b, w, 3, 0, 1), *im = part(b, w, 3, 1, 1);
  ir_value *turned = re && im ? graph_concat(b, 2, (ir_value *[]){NEG(im), re}, 3) : NULL;
  if (!turned) return NULL;
  const int64_t rows[] = {modes, in, 1, 2 * out};
  ir_value *both[] = {graph_reshape(b, w, 4, rows), graph_reshape(b, turned, 4, rows)};
  ir_value *y = both[0] && both[1] ? graph_concat(b, 2, both, 2) : NULL;
  return y ? graph_reshape(b, y, 3, (int64_t[]){modes, 2 * in, 2 * out}) : NULL;
}

/* [batch, in, modes.., 2] by weights [in, out, modes.., 2]: [batch, out, modes.., 2]. */
static ir_value *multiplied(ir_builder *b, ir_value *x, ir_value *w, int n) {
  int64_t dims[TSR_MAX_RANK], modes = 1;
  int perm[TSR_MAX_RANK] = {n, n + 1};
  if (!x || !w || b->failed) return NULL;
  const int64_t batch = x->type->dims[0], in = w->type->dims[0], out = w->type->dims[1];
  for (int i = 0; i < n; i++) modes *= dims[i] = w->type->dims[i + 2], perm[i + 2] = i;
  dims[n] = batch, dims[n + 1] = out, dims[n + 2] = 2, perm[n + 2] = n + 2;
  x = by_mode(b, x, n, modes);
  x = x ? graph_reshape(b, x, 3, (int64_t[]){modes, batch, 2 * in}) : NULL;
  x = compose_product(b, x, spectra_matrices(b, by_mode(b, w, n, modes)));
  x = x ? graph_reshape(b, x, n + 3, dims) : NULL;
  return x ? graph_transpose(b, x, perm) : NULL;
}

EXPAND(expand_spectral_conv) {
  const int n = TYPE(0)->rank - 2;
  const tsr_dtype stored = TYPE(0)->dtype, t = compose_float(stored);
  if (!ir_type_count(OUT->type) || !ir_type_count(TYPE(0))) {
    out[0] = graph_fill(b, OUT->type, 0);
    DONE;
  }
  ir_value *x = graph_as_real(b, spectra_transform(b, G_RFFT, graph_cast(b, IN(0), t), TYPE(0)));
  for (int i = 0; i < n; i++) x = lowest(b, x, i + 2, TYPE(1)->dims[i + 2], i == n - 1);
  x = multiplied(b, x, graph_as_real(b, graph_cast(b, IN(1), dtype_complex(t))), n);
  for (int i = 0; i < n; i++) x = surrounded(b, x, i + 2, bins_of(op, i, n), i == n - 1);
  out[0] = graph_cast(b, spectra_transform(b, G_IRFFT, graph_as_complex(b, x), OUT->type), stored);
  DONE;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static const ir_opdef rows[] = {
    {COMPOSITE(SPECTRAL_CONV, "spectral_conv", 2, 2, 1), .operands_doc = "x, w",
     .types_doc = "f64, f32, f16; w: complex", .infer = infer_spectral_conv,
     .ext = ROW(GRAPH_COMPOSITE, .expand = expand_spectral_conv, .pairs = pairs_pointwise),
     .help =
         "Circular convolution as the product of spectra, as in Fourier neural operators: y = irfft(w rfft(x)) of "
         "images x [batch, channels, 1 to 3 spatial axes], whose channels are joined by the complex weights w "
         "[channels, "
         "channels of the result, modes..] of each frequency. Along each axis w has the lowest frequencies, the others "
         "become 0: of the last axis the first modes numbers of rfft; of others those of both signs as fft orders "
         "them, first the (modes + 1) / 2 that aren't negative."},
};

const ir_rows graph_compose_spectral_conv_ops = {rows, sizeof rows / sizeof *rows};
