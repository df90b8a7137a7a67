/* core/ir/graph/ops/conv_fft.c - convolutions by the convolution theorem: the image with zeros around it and the
 * weights with zeros behind them are transformed, multiplied, the weights' spectrum conjugated as these are not
 * mirrored, and transformed back. Channels are summed between the transforms: of each frequency that is a product of
 * matrices, pointwise where a group has one channel. Narrower floats than f32 are computed in f32. */
#include <string.h>

#include "core/base/int_math.h"
#include "core/ir/graph/ops/conv.h"
#include "core/ir/graph/ops/spectra.h"

enum { MOST_POINTS = 1 << 22 }; /* of a transform */

/* The least number of points from n on that is even and has no prime factor above 7: all kernels are fast at these. */
static int64_t fast_length(int64_t n) {
  for (n = round_up(max64(n, 2), 2);; n += 2) {
    int64_t rest = n;
    for (int factor = 2; factor <= 7; factor++)
      while (rest % factor == 0) rest /= factor;
    if (rest == 1) return n;
  }
}

/* Places beyond one end of the image may be the zeros beyond the other: the transform is a ring. */
static int64_t points_of(const window_axis *a) { return max64(a->n + max64(a->low, a->high), a->kernel * a->dilation); }

/* Not that many points, nor so large numbers that they can't be added up. */
static bool is_short(const window_axis *a) {
  const int64_t most = MOST_POINTS;
  return a->n <= most && a->low <= most && a->high <= most && a->dilation <= most && a->kernel <= most &&
         points_of(a) <= most;
}

const char *conv_spectra_refusal(const conv *c) {
  if (c->whole) return "spectra of integers are not exact";
  for (int i = 0; i < c->p.w.n; i++)
    if (!is_short(&c->p.w.a[i])) return "an axis has more than 2^22 points";
  return NULL;
}

/* Channels last to channels second: of an image, of weights [kernel.., in, out] to [out, in, kernel..]; and back. */
static ir_value *channels_second(ir_builder *b, ir_value *x, int n, bool weights) {
  int perm[TSR_MAX_RANK] = {0, n + 1};
  if (weights) perm[0] = n + 1, perm[1] = n;
  for (int i = 0; i < n; i++) perm[i + 2] = weights ? i : i + 1;
  return x ? graph_transpose(b, x, perm) : NULL;
}

static ir_value *channels_last(ir_builder *b, ir_value *x, int n) {
  int perm[TSR_MAX_RANK] = {0};
  for (int i = 0; i < n; i++) perm[i + 1] = i + 2;
  perm[n + 1] = 1;
  return x ? graph_transpose(b, x, perm) : NULL;
}

/* x with low[i] zeros before each spatial axis, and behind it as many as give dims[i]. */
static ir_value *filled(ir_builder *b, ir_value *x, const int64_t *low, const int64_t *dims, int n) {
  int64_t before[TSR_MAX_RANK] = {0}, behind[TSR_MAX_RANK] = {0};
  for (int i = 0; i < n && x; i++) {
    before[i + 2] = low[i];
    behind[i + 2] = dims[i] - low[i] - x->type->dims[i + 2];
  }
  return compose_pad(b, x, before, behind, 0);
}

/* Weights with their dilation's zeros in between. */
static ir_value *spread_weights(ir_builder *b, ir_value *w, const image_window *window) {
  image_window gaps = *window;
  for (int i = 0; i < gaps.n; i++) gaps.a[i].axis = i + 2, gaps.a[i].stride = gaps.a[i].dilation;
  return window_dilate(b, w, &gaps);
}

static ir_value *shaped(ir_builder *b, ir_value *x, int rank, const int64_t *dims) {
  return x ? graph_reshape(b, x, rank, dims) : NULL;
}

static ir_value *ordered(ir_builder *b, ir_value *x, const int *perm) { return x ? graph_transpose(b, x, perm) : NULL; }

/* Spectra x [n, groups, bins..] by w [out, 1, bins..]: every channel by the weights of its group. */
static ir_value *by_channel(ir_builder *b, ir_value *x, ir_value *w, const conv *c, const int64_t *bins) {
  const int64_t g = c->p.groups;
  int64_t image[TSR_MAX_RANK] = {c->n, g, 1}, weights[TSR_MAX_RANK] = {1, g, c->out / g},
          result[TSR_MAX_RANK] = {c->n, c->out};
  const size_t bytes = sizeof *bins * (size_t)c->p.w.n;
  memcpy(image + 3, bins, bytes), memcpy(weights + 3, bins, bytes), memcpy(result + 2, bins, bytes);
  x = shaped(b, x, c->p.w.n + 3, image);
  w = shaped(b, w, c->p.w.n + 3, weights);
  x = x && w ? graph_op2(b, G_POINTWISE_MUL, x, w) : NULL;
  return shaped(b, x, c->p.w.n + 2, result);
}

/* Spectra x [n, groups in, bins..] by w [out, in, bins..]: a product of matrices for each frequency and group. */
static ir_value *by_matrices(ir_builder *b, ir_value *x, ir_value *w, const conv *c, const int64_t *bins) {
  const int64_t g = c->p.groups, in = c->p.channels, out = c->out / g;
  int64_t modes = 1, result[TSR_MAX_RANK] = {c->n, c->out};
  for (int i = 0; i < c->p.w.n; i++) modes *= result[i + 2] = bins[i];
  result[c->p.w.n + 2] = 2;
  if (!x || !w) return NULL;
  x = shaped(b, graph_as_real(b, x), 5, (int64_t[]){c->n, g, in, modes, 2});
  x = shaped(b, ordered(b, x, (int[]){3, 1, 0, 2, 4}), 3, (int64_t[]){modes * g, c->n, 2 * in});
  w = shaped(b, graph_as_real(b, w), 5, (int64_t[]){g, out, in, modes, 2});
  w = shaped(b, ordered(b, w, (int[]){3, 0, 2, 1, 4}), 4, (int64_t[]){modes * g, in, out, 2});
  x = compose_product(b, x, spectra_matrices(b, w));
  x = shaped(b, x, 5, (int64_t[]){modes, g, c->n, out, 2});
  x = shaped(b, ordered(b, x, (int[]){2, 1, 3, 0, 4}), c->p.w.n + 3, result);
  return x ? graph_as_complex(b, x) : NULL;
}

/* The places of the windows, and the bias. */
static ir_value *placed(ir_builder *b, ir_value *y, ir_value *bias, const conv *c) {
  int64_t starts[TSR_MAX_RANK] = {0}, sizes[TSR_MAX_RANK] = {c->n, c->out}, strides[TSR_MAX_RANK] = {1, 1};
  const int64_t per_channel[TSR_MAX_RANK] = {c->out, 1, 1, 1};
  for (int i = 0; i < c->p.w.n; i++) sizes[i + 2] = c->p.w.a[i].out, strides[i + 2] = c->p.w.a[i].stride;
  y = y ? compose_take(b, y, starts, sizes, strides) : NULL;
  if (!y || !bias) return y;
  return ADD(y, graph_reshape(b, graph_cast(b, bias, y->type->dtype), c->p.w.n + 1, per_channel));
}

ir_value *conv_by_spectra(ir_builder *b, const ir_op *op, const char **why) {
  const conv c = conv_of(op);
  const int n = c.p.w.n;
  const tsr_dtype stored = TYPE(0)->dtype, t = compose_float(stored);
  const int64_t none[WINDOW_AXES] = {0};
  int64_t low[WINDOW_AXES], points[WINDOW_AXES], bins[WINDOW_AXES];
  if (why) return *why = conv_spectra_refusal(&c), NULL;
  for (int i = 0; i < n; i++) {
    low[i] = c.p.w.a[i].low;
    bins[i] = points[i] = fast_length(points_of(&c.p.w.a[i]));
  }
  bins[n - 1] = bins[n - 1] / 2 + 1;
  ir_value *x = graph_cast(b, IN(0), t), *w = graph_cast(b, IN(1), t);
  if (c.p.last) x = channels_second(b, x, n, false), w = channels_second(b, w, n, true);
  x = filled(b, x, low, points, n);
  w = filled(b, spread_weights(b, w, &c.p.w), none, points, n);
  if (!x || !w) return NULL;
  const ir_type *like = x->type;
  x = spectra_transform(b, G_RFFT, x, like);
  w = spectra_transform(b, G_RFFT, w, like);
  w = w ? graph_op1(b, G_CONJ, w) : NULL;
  x = c.p.channels == 1 ? by_channel(b, x, w, &c, bins) : by_matrices(b, x, w, &c, bins);
  x = placed(b, spectra_transform(b, G_IRFFT, x, like), op->n_operands > 2 ? IN(2) : NULL, &c);
  x = c.p.last ? channels_last(b, x, n) : x;
  return x ? graph_cast(b, x, stored) : NULL;
}
