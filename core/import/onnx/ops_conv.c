/* core/import/onnx/ops_conv.c - ONNX's convolutions. */
#include <string.h>

#include "core/base/dtype.h"
#include "core/import/onnx/tables.h"
#include "core/import/onnx/windows.h"

enum { MOST_EXTENT = 1 << 18 }; /* of three, the product is counted in 64 bits */

static const graph_code by_axes[] = {0, G_CONV1D, G_CONV2D, G_CONV3D};

/* x and weights of one float type; their windows are those of the node. */
static ir_value *convolve(cv *c, ir_value *x, ir_value *weights, ir_value *bias) {
  windows w;
  if (!x || !weights || !cv_windows_read(c, x, weights->type->dims + 2, &w)) return NULL;
  if (weights->type->rank != x->type->rank) return cv_refuse(c, "weights of %d dimensions", weights->type->rank);
  x = cv_windows_fit(c, x, &w, 0);
  return cv_make(c, by_axes[w.n], bias ? 3 : 2, (ir_value *[]){x, weights, bias},
                 CV_AT(WINDOWS_ATTRS(w), TSR_INT("groups", cv_int(c, "group", 1))));
}

static void op_conv(cv *c) {
  ir_value *x = cv_need(c, 0), *w = cv_need(c, 1), *bias = cv_in(c, 2), *y = cv_convolve_dequantized(c, x, w);
  if (!y && !c->failed) y = convolve(c, x, w, bias);
  else if (bias) y = cv_op2(c, G_ADD, y, cv_along(c, bias, 1, cv_rank(y)));
  cv_out(c, 0, y);
}

/* output_shape decides the padding, and what is left over, output_padding behind. */
static void transposed_padding(cv *c, const ir_value *x, windows *w, int64_t *extra) {
  int64_t shape[WINDOWS_AXES], given[WINDOWS_AXES] = {0};
  const bool same = w->same, lower = w->same_lower;
  const int n = cv_ints(c, "output_shape", shape, WINDOWS_AXES);
  if (cv_ints(c, "output_padding", given, WINDOWS_AXES) >= 0) memcpy(extra, given, sizeof given);
  for (int i = 0; i < w->n; i++) {
    if (extra[i] < 0 || extra[i] > MOST_EXTENT || (n >= 0 && (i >= n || shape[i] < 1 || shape[i] > MOST_EXTENT))) {
      cv_refuse(c, "output_shape or output_padding that isn't possible");
      return;
    }
    const int64_t whole = (cv_dim(x, 2 + i) - 1) * w->strides[i] + (w->kernel[i] - 1) * w->dilations[i] + 1;
    const int64_t to = n >= 0 ? shape[i] : cv_dim(x, 2 + i) * w->strides[i];
    if (n < 0 && !same) continue;
    const int64_t cut = whole + extra[i] - to;
    w->low[i] = cut > 0 ? (same && !lower ? cut / 2 : cut - cut / 2) : 0;
    if (n >= 0 && !same) w->low[i] = cut > 0 ? cut - cut / 2 : 0;
    w->high[i] = cut > 0 ? cut - w->low[i] : 0;
    if (cut < 0) extra[i] -= cut;
  }
}

/* What no window of Graph IR's op needs, but is asked for, is zeros behind; more padding than a window spans is cut. */
static void op_conv_transpose(cv *c) {
  ir_value *x = cv_need(c, 0), *weights = cv_need(c, 1), *bias = cv_in(c, 2);
  windows w;
  int64_t extra[WINDOWS_AXES] = {0}, low[TSR_MAX_RANK] = {0}, high[TSR_MAX_RANK] = {0};
  if (!x || !weights || !cv_windows_read(c, x, weights->type->dims + 2, &w)) return cv_out(c, 0, NULL);
  transposed_padding(c, x, &w, extra);
  windows whole = w;
  for (int i = 0; i < w.n; i++) whole.low[i] = whole.high[i] = 0;
  ir_value *y = cv_make(c, G_CONV_TRANSPOSE, 2, (ir_value *[]){x, weights},
                        CV_AT(WINDOWS_ATTRS(whole), TSR_INT("groups", cv_int(c, "group", 1))));
  for (int i = 0; i < w.n; i++) high[2 + i] = extra[i];
  y = cv_pad(c, y, low, high, 0);
  for (int i = 0; i < w.n && y; i++) {
    const int64_t left = cv_dim(y, 2 + i) - w.low[i] - w.high[i];
    y = left > 0 ? cv_part(c, y, 2 + i, w.low[i], left) : cv_refuse(c, "padding leaves nothing");
  }
  if (bias) y = cv_op2(c, G_ADD, y, cv_along(c, bias, 1, cv_rank(y)));
  cv_out(c, 0, y);
}

/* Columns of windows added back onto the image. */
static void op_col2im(cv *c) {
  ir_value *x = cv_need(c, 0);
  int64_t image[WINDOWS_AXES], block[WINDOWS_AXES], strides[WINDOWS_AXES], dilations[WINDOWS_AXES];
  int64_t pads[2 * WINDOWS_AXES] = {0}, columns = 1, window = 1;
  const int n = cv_known_ints(c, 1, image, WINDOWS_AXES), k = cv_known_ints(c, 2, block, WINDOWS_AXES);
  const int given[3] = {cv_ints(c, "strides", strides, WINDOWS_AXES), cv_ints(c, "dilations", dilations, WINDOWS_AXES),
                        cv_ints(c, "pads", pads, 2 * WINDOWS_AXES)};
  if (n < 1 || k != n || cv_rank(x) != 3 || c->failed)
    return cv_out(c, 0, cv_refuse(c, "block and image differ in rank"));
  int64_t dims[2 * WINDOWS_AXES + 2], places[WINDOWS_AXES];
  for (int i = 0; i < n; i++) {
    if (given[0] < 0) strides[i] = 1;
    if (given[1] < 0) dilations[i] = 1;
    const int64_t all[6] = {strides[i], dilations[i], block[i], image[i], pads[i] < MOST_EXTENT ? pads[i] + 1 : 0,
                            pads[n + i] < MOST_EXTENT ? pads[n + i] + 1 : 0};
    for (int m = 0; m < 6; m++)
      if (all[m] < 1 || all[m] > MOST_EXTENT) cv_refuse(c, "an extent of %lld", (long long)all[m]);
    if (c->failed) return cv_out(c, 0, NULL);
    const int64_t span = (block[i] - 1) * dilations[i] + 1, padded = image[i] + pads[i] + pads[n + i];
    if (padded < span) cv_refuse(c, "windows that don't fit");
    places[i] = c->failed ? 1 : (padded - span) / strides[i] + 1;
    columns *= places[i];
    window *= block[i];
  }
  if (c->failed || cv_dim(x, 2) != columns || cv_dim(x, 1) % window)
    return cv_out(c, 0, cv_refuse(c, "%lld columns", (long long)cv_dim(x, 2)));
  /* A convolution backwards with weights that put each element of a window at its place. */
  const int64_t channels = cv_dim(x, 1) / window, batch = cv_dim(x, 0);
  dims[0] = batch * channels;
  dims[1] = window;
  memcpy(dims + 2, places, sizeof *places * (size_t)n);
  ir_value *rows = cv_reshape(c, x, 2 + n, dims);
  ir_value *eye = cv_at1(c, G_ONE_HOT, cv_iota(c, TSR_I64, 1, &window, 0), TSR_INT("depth", window),
                         TSR_STRING("dtype", tsr_dtype_name(x->type->dtype)));
  int64_t shape[WINDOWS_AXES + 2] = {window, 1};
  memcpy(shape + 2, block, sizeof *block * (size_t)n);
  ir_value *y = cv_at2(c, G_CONV_TRANSPOSE, rows, cv_reshape(c, eye, 2 + n, shape), TSR_INTS("strides", strides, n),
                       TSR_INTS("dilations", dilations, n));
  int64_t result[WINDOWS_AXES + 2] = {batch, channels}, low[TSR_MAX_RANK] = {0}, high[TSR_MAX_RANK] = {0};
  for (int i = 0; i < n && y; i++) {
    const int64_t short_of = image[i] + pads[i] - cv_dim(y, 2 + i);
    high[2 + i] = short_of > 0 ? short_of : 0;
  }
  y = cv_pad(c, y, low, high, 0);
  for (int i = 0; i < n; i++) y = cv_part(c, y, 2 + i, pads[i], image[i]);
  memcpy(result + 2, image, sizeof *image * (size_t)n);
  cv_out(c, 0, cv_reshape(c, y, 2 + n, result));
}

const cv_row onnx_rows_conv[] = {{"Conv", 1, op_conv},
                                 {"ConvTranspose", 1, op_conv_transpose},
                                 {"Col2Im", 18, op_col2im},
                                 {NULL, 0, NULL}};
