/* core/import/onnx/ops_conv_integer.c - ONNX's convolutions of integers, exact: a product of bytes, and zero points as
 * what they add to its sums. With x and w less their zero points,
 *
 *   sum (x - zx) (w - zw) = sum x w - zw sum x - zx (sum w - k zw),
 *
 * over the k elements of each window, of which padding ones are zx. x is signed here, as products want it. */
#include <string.h>

#include "core/base/dtype.h"
#include "core/import/onnx/bytes.h"
#include "core/import/onnx/tables.h"
#include "core/import/onnx/windows.h"
#include "core/ir/graph/bytes.h"

static const graph_code by_axes[] = {0, G_CONV1D, G_CONV2D, G_CONV3D};

typedef struct sums {
  ir_value *x, *zx; /* x signed; its zero point as an i32, NULL: 0 */
  ir_value *w, *zw; /* the latter an i32 that broadcasts to w, NULL: 0 */
  windows at;
  int64_t groups;
} sums;

/* Of an image of those extents: where padding is, as [1, 1, extents..]. */
static ir_value *border(cv *c, const windows *w, const int64_t *inner) {
  int64_t dims[TSR_MAX_RANK] = {1, 1}, at[WINDOWS_AXES] = {0}, n = 1;
  for (int i = 0; i < w->n; i++) n *= dims[2 + i] = w->low[i] + inner[i] + w->high[i];
  bool *is = arena_array(&c->a, bool, n + 1);
  if (!is) return c->oom = true, cv_refuse(c, "out of memory");
  for (int64_t k = 0; k < n; k++) {
    is[k] = false;
    for (int i = 0; i < w->n; i++) is[k] |= at[i] < w->low[i] || at[i] >= w->low[i] + inner[i];
    for (int i = w->n - 1; i >= 0 && ++at[i] == dims[2 + i]; i--) at[i] = 0;
  }
  return cv_constant(c, TSR_BOOL, 2 + w->n, dims, is);
}

/* Zero points around the image; zeros may be the convolution's own padding. */
static void surround(cv *c, sums *s) {
  int64_t low[TSR_MAX_RANK] = {0}, high[TSR_MAX_RANK] = {0};
  windows *w = &s->at;
  bool any = false;
  for (int i = 0; i < w->n; i++) {
    low[2 + i] = w->low[i], high[2 + i] = w->high[i];
    any |= w->low[i] || w->high[i];
  }
  if (!any || !s->x) return;
  if (!s->zx) {
    s->x = cv_windows_fit(c, s->x, w, 0);
    return;
  }
  ir_value *known = cv_fold(c, s->zx, false), *image = s->x;
  s->x = cv_pad(c, image, low, high, known ? graph_constant_at(known->def, 0) : 0);
  if (!known)
    s->x = cv_where(c, border(c, w, image->type->dims + 2), cv_cast(c, s->zx, TSR_I8), s->x);
  memset(w->low, 0, sizeof w->low);
  memset(w->high, 0, sizeof w->high);
}

static ir_value *convolve(cv *c, const sums *s, ir_value *x, ir_value *w) {
  return cv_at2(c, by_axes[s->at.n], x, w, WINDOWS_ATTRS(s->at), TSR_INT("groups", s->groups));
}

/* x summed over each window of each group, [n, groups, places..]: over its channels first. */
static ir_value *window_sums(cv *c, const sums *s) {
  const int64_t g = s->groups, channels = cv_dim(s->x, 1) / g;
  int64_t dims[TSR_MAX_RANK] = {cv_dim(s->x, 0), g, channels}, ones[TSR_MAX_RANK] = {g, 1};
  for (int i = 0; i < s->at.n; i++) dims[3 + i] = cv_dim(s->x, 2 + i), ones[2 + i] = cv_dim(s->w, 2 + i);
  ir_value *x = cv_cast(c, s->x, TSR_I32);
  if (channels != 1)
    x = g == 1 ? cv_reduce(c, G_REDUCE_SUM, x, (int64_t[]){1}, 1, true)
               : cv_reduce(c, G_REDUCE_SUM, cv_reshape(c, x, 3 + s->at.n, dims), (int64_t[]){2}, 1, false);
  return convolve(c, s, x, cv_fill(c, TSR_I32, 2 + s->at.n, ones, 1));
}

/* Of each output channel the sum of its weights less their zero points, broadcasting to an image. */
static ir_value *weight_sums(cv *c, const sums *s) {
  int64_t k = 1;
  for (int i = 1; i < cv_rank(s->w); i++) k *= s->w->type->dims[i];
  ir_value *y = cv_along(c, bytes_sums(c, s->w, 1, cv_rank(s->w)), 1, cv_rank(s->w));
  return s->zw ? cv_op2(c, G_SUB, y, cv_op2(c, G_MUL, s->zw, cv_like(c, s->zw, (double)k))) : y;
}

/* A number of each group for all of its output channels. */
static ir_value *to_channels(cv *c, ir_value *x, int64_t groups, int64_t out) {
  int64_t dims[TSR_MAX_RANK];
  const int rank = cv_rank(x);
  if (groups == 1 || groups == out || !x) return x;
  dims[0] = x->type->dims[0], dims[1] = groups, dims[2] = 1;
  for (int i = 2; i < rank; i++) dims[1 + i] = x->type->dims[i];
  x = cv_reshape(c, x, rank + 1, dims);
  dims[2] = out / groups;
  x = cv_broadcast(c, x, rank + 1, dims);
  dims[1] = out;
  for (int i = 2; i < rank; i++) dims[i] = dims[1 + i];
  return cv_reshape(c, x, rank, dims);
}

static bool read_operands(cv *c, ir_value *x, ir_value *zx, ir_value *w, ir_value *zw, sums *s) {
  *s = (sums){.x = x, .zx = bytes_zero_point(c, zx), .w = w, .zw = bytes_zero_point(c, zw),
              .groups = cv_int(c, "group", 1)};
  const int64_t out = cv_dim(s->w, 0);
  if (c->failed) return false;
  if (!graph_is_bytes(s->x) || !graph_is_bytes(s->w))
    return cv_refuse(c, "operands of other types than 8 bits") != NULL;
  if (!cv_windows_read(c, s->x, s->w->type->dims + 2, &s->at)) return false;
  if (cv_rank(s->w) != cv_rank(s->x)) return cv_refuse(c, "weights of %d dimensions", cv_rank(s->w)) != NULL;
  if (s->groups < 1 || cv_dim(s->x, 1) % s->groups || out % s->groups)
    return cv_refuse(c, "%lld groups", (long long)s->groups) != NULL;
  const int64_t n[2] = {s->zx ? ir_type_count(s->zx->type) : 1, s->zw ? ir_type_count(s->zw->type) : 1};
  if (n[0] != 1 || (n[1] != 1 && n[1] != out))
    return cv_refuse(c, "%lld and %lld zero points", (long long)n[0], (long long)n[1]) != NULL;
  if (s->zx) s->zx = cv_reshape(c, s->zx, 0, (int64_t[]){0});
  if (s->zw) s->zw = cv_along(c, s->zw, 0, cv_rank(s->x));
  return !c->failed;
}

/* In f32 sums of so many products of bytes are exact. */
static tsr_dtype exact_float(const ir_value *weights) {
  double terms = 1;
  for (int i = 1; i < cv_rank(weights); i++) terms *= (double)weights->type->dims[i];
  return terms * 255 * 255 < 1 << 24 ? TSR_F32 : TSR_F64;
}

static ir_value *centred(cv *c, ir_value *x, ir_value *zero, tsr_dtype t) {
  x = cv_cast(c, x, t);
  return zero ? cv_op2(c, G_SUB, x, cv_cast(c, zero, t)) : x;
}

/* One channel by one: there is no product of matrices, and floats are as wide as what bytes would be summed in. */
static ir_value *by_channel(cv *c, sums *s) {
  const tsr_dtype t = exact_float(s->w);
  ir_value *x = cv_windows_fit(c, centred(c, s->x, s->zx, t), &s->at, 0);
  return cv_cast(c, convolve(c, s, x, centred(c, s->w, s->zw, t)), TSR_I32);
}

/* The sums of products of what x and w are less their zero points, as i32. */
static ir_value *convolved(cv *c, ir_value *x, ir_value *zx, ir_value *w, ir_value *zw) {
  sums s;
  if (!read_operands(c, x, zx, w, zw, &s)) return NULL;
  if (s.groups > 1 && cv_dim(s.w, 1) == 1) return by_channel(c, &s);
  if (s.zw) s.zw = cv_swap(c, s.zw, 0, 1); /* for results */
  s.x = bytes_signed(c, s.x, &s.zx);
  surround(c, &s);
  ir_value *y = convolve(c, &s, s.x, s.w);
  if (s.zx) y = cv_op2(c, G_SUB, y, cv_op2(c, G_MUL, s.zx, weight_sums(c, &s)));
  if (s.zw) {
    ir_value *of_x = to_channels(c, window_sums(c, &s), s.groups, cv_dim(s.w, 0));
    y = cv_op2(c, G_SUB, y, cv_op2(c, G_MUL, s.zw, of_x));
  }
  return y;
}

/* ---- of dequantized operands ------------------------------------------------------------------------------------- */

/* One number, or one for each place along the first axis of x alone: as a vector then. */
static bool by_first_axis(cv *c, ir_value **v, const ir_value *x) {
  const int64_t n = *v ? ir_type_count((*v)->type) : 1;
  if (n == 1) return true;
  if ((*v)->type->rank != x->type->rank || (*v)->type->dims[0] != n || x->type->dims[0] != n) return false;
  *v = cv_reshape(c, *v, 1, &n);
  return true;
}

ir_value *cv_convolve_dequantized(cv *c, ir_value *x, ir_value *w) {
  graph_scaled a, b;
  double terms = 255.0 * 255.0;
  if (!graph_scaled_bytes(x, &a) || !graph_scaled_bytes(w, &b) || cv_rank(x) != cv_rank(w) || c->failed) return NULL;
  if (cv_int(c, "group", 1) > 1 && cv_dim(w, 1) == 1) return NULL; /* in floats anyway (by_channel) */
  for (int i = 1; i < cv_rank(w); i++) terms *= (double)w->type->dims[i];
  const bool whole = ir_type_count(a.scale->type) == 1 && (!a.zero || ir_type_count(a.zero->type) == 1);
  if (terms > INT32_MAX || !whole || !by_first_axis(c, &b.zero, b.x) || !by_first_axis(c, &b.scale, b.x)) return NULL;
  ir_value *y = cv_cast(c, convolved(c, a.x, a.zero, b.x, b.zero), TSR_F32);
  ir_value *scale = cv_op2(c, G_MUL, cv_reshape(c, a.scale, 0, (int64_t[]){0}), b.scale);
  if (scale && ir_type_count(scale->type) == 1) scale = cv_reshape(c, scale, 0, (int64_t[]){0});
  else scale = cv_along(c, scale, 1, cv_rank(y));
  return cv_op2(c, G_MUL, y, scale);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static ir_value *convolved_operands(cv *c, int x, int zx, int w, int zw) {
  return convolved(c, cv_need(c, x), cv_in(c, zx), cv_need(c, w), cv_in(c, zw));
}

static void op_conv_integer(cv *c) { cv_out(c, 0, convolved_operands(c, 0, 2, 1, 3)); }

/* x, scale, zero, w, scale, zero, y's scale, zero, bias: round(sum * (sx sw / sy)) + zero */
static void op_qlinear_conv(cv *c) {
  ir_value *sums = convolved_operands(c, 0, 2, 3, 5), *zero = cv_need(c, 7);
  if (!sums || !zero) return cv_out(c, 0, NULL);
  const tsr_dtype t = exact_float(cv_need(c, 3));
  if (cv_has(c, 8)) sums = cv_op2(c, G_ADD, sums, cv_along(c, cv_need(c, 8), 1, sums->type->rank));
  ir_value *scale = cv_op2(c, G_DIV, cv_op2(c, G_MUL, cv_need(c, 1), cv_need(c, 4)), cv_need(c, 6));
  scale = cv_cast(c, scale, t);
  if (cv_rank(scale) == 1) scale = cv_along(c, scale, cv_dim(scale, 0) == 1 ? 0 : 1, cv_rank(sums));
  ir_value *y = cv_op1(c, G_ROUND, cv_op2(c, G_MUL, cv_cast(c, sums, t), scale));
  cv_out(c, 0, cv_cast(c, cv_op2(c, G_ADD, y, cv_cast(c, zero, t)), zero->type->dtype));
}

const cv_row onnx_rows_conv_integer[] = {
    {"ConvInteger", 10, op_conv_integer}, {"QLinearConv", 10, op_qlinear_conv}, {NULL, 0, NULL}};
