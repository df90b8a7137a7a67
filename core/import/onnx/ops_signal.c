/* core/import/onnx/ops_signal.c - ONNX's Fourier transforms, of numbers whose last dimension is 1 (real) or 2 (real and
 * imaginary part), and mel filters. */
#include <math.h>
#include <string.h>

#include "core/base/dtype.h"
#include "core/import/onnx/tables.h"

enum { MOST_PLACES = 1 << 24 };

/* Real numbers as pairs. */
static ir_value *pairs(cv *c, ir_value *x) {
  const int last = cv_rank(x) - 1;
  int64_t low[TSR_MAX_RANK] = {0}, high[TSR_MAX_RANK] = {0};
  if (last < 1 || cv_dim(x, last) > 2 || cv_dim(x, last) < 1) return cv_refuse(c, "a last dimension that isn't 1 or 2");
  high[last] = cv_dim(x, last) == 1;
  return cv_pad(c, x, low, high, 0);
}

/* Cut to n elements, or zeros added. */
static ir_value *to_length(cv *c, ir_value *x, int axis, int64_t n) {
  int64_t low[TSR_MAX_RANK] = {0}, high[TSR_MAX_RANK] = {0};
  if (cv_dim(x, axis) >= n) return cv_part(c, x, axis, 0, n);
  high[axis] = n - cv_dim(x, axis);
  return cv_pad(c, x, low, high, 0);
}

static ir_value *transform(cv *c, ir_value *x, int axis, bool inverse, double scale) {
  return cv_at1(c, G_DFT, x, TSR_INT("axis", axis), TSR_BOOLEAN("inverse", inverse), TSR_FLOAT("scale", scale));
}

/* The real numbers whose one-sided transform is x. */
static ir_value *real_inverse(cv *c, ir_value *x, int axis, int64_t n) {
  ir_value *y = cv_at1(c, G_IRFFT, cv_op1(c, G_AS_COMPLEX, x), TSR_INT("axis", axis), TSR_INT("n", n));
  int64_t dims[TSR_MAX_RANK];
  if (!y) return NULL;
  memcpy(dims, y->type->dims, sizeof dims);
  dims[y->type->rank] = 1;
  return cv_reshape(c, y, y->type->rank + 1, dims);
}

static void op_dft(cv *c) {
  ir_value *x = cv_need(c, 0);
  const bool inverse = cv_int(c, "inverse", 0) != 0, one_sided = cv_int(c, "onesided", 0) != 0;
  const int64_t given = c->version < 20 ? cv_int(c, "axis", 1) : cv_known_int(c, 2, -2);
  const int axis = cv_axis(c, given, cv_rank(x));
  const bool back = inverse && one_sided;
  const int64_t n = cv_known_int(c, 1, back ? 2 * (cv_dim(x, axis) - 1) : cv_dim(x, axis));
  if (axis == cv_rank(x) - 1 || n < 1)
    return cv_out(c, 0, cv_refuse(c, "%lld points along axis %d", (long long)n, axis));
  x = pairs(c, x);
  if (back) return cv_out(c, 0, real_inverse(c, to_length(c, x, axis, n / 2 + 1), axis, n));
  ir_value *y = transform(c, to_length(c, x, axis, n), axis, inverse, inverse ? 1 / (double)n : 1);
  cv_out(c, 0, one_sided ? cv_part(c, y, axis, 0, n / 2 + 1) : y);
}

/* Frames of the signal [batch, length, 1 or 2] by a gather, times the window, transformed. */
static void op_stft(cv *c) {
  ir_value *x = cv_need(c, 0), *window = cv_in(c, 2);
  const int64_t step = cv_known_int(c, 1, 1);
  if (x && x->type->rank == 2) x = cv_reshape(c, x, 3, (int64_t[]){x->type->dims[0], x->type->dims[1], 1});
  const int64_t size = cv_known_int(c, 3, window ? cv_dim(window, 0) : cv_dim(x, 1));
  if (c->failed || step < 1 || size < 1 || size > cv_dim(x, 1) || cv_rank(x) != 3)
    return cv_out(c, 0, cv_refuse(c, "frames that don't fit"));
  const int64_t frames = 1 + (cv_dim(x, 1) - size) / step, dims[2] = {frames, size};
  int64_t *at = frames <= MOST_PLACES / size ? arena_array(&c->a, int64_t, frames * size) : NULL;
  for (int64_t i = 0; at && i < frames * size; i++) at[i] = i / size * step + i % size;
  if (!at) return cv_out(c, 0, cv_refuse(c, "too many frames"));
  ir_value *y = cv_gather(c, x, cv_constant(c, TSR_I64, 2, dims, at), 1);
  if (window) y = cv_op2(c, G_MUL, y, cv_along(c, window, 2, 4));
  y = transform(c, pairs(c, y), 2, false, 1);
  cv_out(c, 0, cv_int(c, "onesided", 1) ? cv_part(c, y, 2, 0, size / 2 + 1) : y);
}

/* Triangles over the bins of a spectrum, at equal distances by mel = 2595 log10(1 + f / 700). */
static void op_mel(cv *c) {
  const int64_t bins = cv_known_int(c, 0, 0), points = cv_known_int(c, 1, 0), rate = cv_known_int(c, 2, 0);
  const double low = cv_known_number(c, 3, 0), high = cv_known_number(c, 4, 0);
  const int64_t rows = points / 2 + 1, to = cv_int(c, "output_datatype", 1);
  if (c->failed || bins < 1 || points < 1 || rate < 1 || bins > 1 << 12 || rows > 1 << 12 || to != 1)
    return cv_out(c, 0, cv_refuse(c, "its extents or type"));
  float *w = arena_array(&c->a, float, rows *bins);
  int64_t *at = arena_array(&c->a, int64_t, bins + 2);
  if (!w || !at) return cv_out(c, 0, cv_refuse(c, "out of memory"));
  const double first = 2595 * log10(1 + low / 700), step = (2595 * log10(1 + high / 700) - first) / (double)(bins + 2);
  for (int64_t i = 0; i < bins + 2; i++) {
    const double hertz = 700 * (pow(10, (first + (double)i * step) / 2595) - 1);
    const double bin = (double)(points + 1) * hertz / (double)rate;
    if (!(bin >= 0 && bin < (double)rows)) return cv_out(c, 0, cv_refuse(c, "frequencies beyond the spectrum"));
    at[i] = (int64_t)bin;
  }
  for (int64_t b = 0; b < bins; b++) {
    const int64_t l = at[b], m = at[b + 1], r = at[b + 2];
    if (l == m) w[m * bins + b] = 1;
    for (int64_t i = l; i <= m && l < m; i++) w[i * bins + b] = (float)((double)(i - l) / (double)(m - l));
    for (int64_t i = m; i < r; i++) w[i * bins + b] = (float)((double)(r - i) / (double)(r - m));
  }
  cv_out(c, 0, cv_constant(c, TSR_F32, 2, (int64_t[]){rows, bins}, w));
}

const cv_row onnx_rows_signal[] = {
    {"DFT", 17, op_dft}, {"STFT", 17, op_stft}, {"MelWeightMatrix", 17, op_mel}, {NULL, 0, NULL}};
