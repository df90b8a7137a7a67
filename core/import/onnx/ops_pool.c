/* core/import/onnx/ops_pool.c - ONNX's pooling. */
#include <math.h>
#include <string.h>

#include "core/base/dtype.h"
#include "core/import/onnx/tables.h"
#include "core/import/onnx/windows.h"

static ir_value *pool(cv *c, graph_code code, ir_value *x, const windows *w, bool ceil, bool counts_padding) {
  const tsr_attr attrs[] = {TSR_INTS("kernel", w->kernel, w->n), WINDOWS_ATTRS(*w), TSR_BOOLEAN("ceil_mode", ceil),
                            TSR_BOOLEAN("count_include_pad", counts_padding)};
  return cv_make(c, code, 1, &x, attrs, (int)(sizeof attrs / sizeof *attrs) - (code == G_MAX_POOL));
}

/* The places of the largest elements, in the whole input: the windows of elements and of places are laid out, and the
 * first of the largest is looked up. */
static ir_value *places_of(cv *c, ir_value *x, windows w) {
  const int rank = cv_rank(x);
  const bool column_major = cv_int(c, "storage_order", 0) != 0;
  int64_t image = 1, dims[TSR_MAX_RANK] = {1, 1}, window = 1;
  if (!x || !cv_is_float(x) || cv_int(c, "ceil_mode", 0)) return cv_refuse(c, "places of such windows");
  for (int i = 2; i < rank; i++) image *= dims[i] = x->type->dims[i];
  for (int i = 0; i < w.n; i++) window *= w.kernel[i];
  /* where each element of one image is, from 0 */
  ir_value *at = cv_reshape(c, cv_iota(c, TSR_I64, 1, &image, 0), rank, dims);
  if (column_major) {
    int64_t swapped[TSR_MAX_RANK], perm[TSR_MAX_RANK] = {0, 1};
    for (int i = 0; i < w.n; i++) perm[2 + i] = rank - 1 - i;
    for (int i = 0; i < rank; i++) swapped[i] = dims[perm[i]];
    at = cv_transpose(c, cv_reshape(c, cv_iota(c, TSR_I64, 1, &image, 0), rank, swapped), perm);
  }
  int64_t low[TSR_MAX_RANK] = {0}, high[TSR_MAX_RANK] = {0};
  for (int i = 0; i < w.n; i++) {
    low[2 + i] = w.low[i];
    high[2 + i] = w.high[i];
    w.low[i] = w.high[i] = 0;
  }
  const int64_t batch = cv_dim(x, 0) * cv_dim(x, 1);
  int64_t flat[TSR_MAX_RANK];
  memcpy(flat, x->type->dims, sizeof flat);
  flat[0] = batch;
  flat[1] = 1;
  const tsr_attr attrs[] = {TSR_INTS("kernel", w.kernel, w.n), WINDOWS_ATTRS(w)};
  ir_value *values = cv_pad(c, cv_reshape(c, x, rank, flat), low, high, -INFINITY);
  ir_value *seen = cv_make(c, G_PATCHES, 1, &values, attrs, (int)(sizeof attrs / sizeof *attrs));
  ir_value *padded = cv_pad(c, at, low, high, 0);
  ir_value *where = cv_make(c, G_PATCHES, 1, &padded, attrs, (int)(sizeof attrs / sizeof *attrs));
  ir_value *best =
      cv_at1(c, G_ARGMAX, seen, TSR_INT("axis", 2), TSR_BOOLEAN("keepdims", true), TSR_STRING("dtype", "i64"));
  if (!best || !where) return NULL;
  int64_t all[3] = {batch, where->type->dims[1], window};
  ir_value *found = cv_at2(c, G_GATHER_ELEMENTS, cv_broadcast(c, where, 3, all), best, TSR_INT("axis", 2));
  ir_value *first =
      cv_op2(c, G_MUL, cv_iota(c, TSR_I64, 3, (int64_t[]){batch, 1, 1}, 0), cv_number(c, TSR_I64, (double)image));
  return cv_op2(c, G_ADD, found, first);
}

static void op_max_pool(cv *c) {
  ir_value *x = cv_need(c, 0);
  windows w;
  if (!x || !cv_windows_read(c, x, NULL, &w)) return cv_out(c, 0, NULL);
  const windows given = w;
  ir_value *padded = cv_windows_fit(c, x, &w,
                                    cv_is_float(x)                         ? -INFINITY
                                    : dtype_get(x->type->dtype)->is_signed ? -1e19
                                                                           : 0);
  ir_value *y = pool(c, G_MAX_POOL, padded, &w, cv_int(c, "ceil_mode", 0) != 0, false);
  cv_out(c, 0, y);
  if (!cv_wants(c, 1) || !y) return;
  w = given;
  cv_out(c, 1, cv_reshape(c, places_of(c, x, w), y->type->rank, y->type->dims));
}

static void op_average_pool(cv *c) {
  ir_value *x = cv_need(c, 0);
  windows w;
  const bool counts = cv_int(c, "count_include_pad", 0) != 0;
  if (!x || !cv_windows_read(c, x, NULL, &w)) return cv_out(c, 0, NULL);
  cv_out(c, 0,
         pool(c, G_AVERAGE_POOL, counts ? cv_windows_fit(c, x, &w, 0) : x, &w, cv_int(c, "ceil_mode", 0) != 0, counts));
}

/* As sums of powers are computed: what is narrower than f32 overflows. */
static ir_value *widened(cv *c, ir_value *x) { return x && x->type->dtype != TSR_F64 ? cv_cast(c, x, TSR_F32) : x; }

/* What has to be put behind the image where numbers of windows are rounded up; none begins behind the image. */
static void round_up(const ir_value *x, windows *w) {
  for (int i = 0; i < w->n; i++) {
    const int64_t span = (w->kernel[i] - 1) * w->dilations[i] + 1, n = x->type->dims[2 + i],
                  over = n + w->low[i] + w->high[i] - span, stride = w->strides[i];
    if (over < 0) continue;
    int64_t windows = (over + stride - 1) / stride + 1;
    if ((windows - 1) * stride >= n + w->low[i]) windows--;
    if ((windows - 1) * stride > over) w->high[i] += (windows - 1) * stride - over;
  }
}

/* (sum of |x|^p)^(1/p), by the mean over windows with their padding as zeros. */
static void op_lp_pool(cv *c) {
  ir_value *x = cv_need(c, 0);
  windows w;
  const int64_t p = cv_int(c, "p", 2);
  double n = 1;
  if (!x || !cv_windows_read(c, x, NULL, &w)) return cv_out(c, 0, NULL);
  if (cv_int(c, "ceil_mode", 0)) round_up(x, &w);
  for (int i = 0; i < w.n; i++) n *= (double)w.kernel[i];
  ir_value *y = cv_op1(c, G_ABS, widened(c, x));
  y = p == 2 ? cv_op2(c, G_MUL, y, y) : p == 1 ? y : cv_op2(c, G_POW, y, cv_like(c, y, (double)p));
  y = pool(c, G_AVERAGE_POOL, cv_windows_fit(c, y, &w, 0), &w, false, true);
  y = cv_op2(c, G_MUL, y, cv_like(c, y, n));
  y = p == 1 ? y : p == 2 ? cv_op1(c, G_SQRT, y) : cv_op2(c, G_POW, y, cv_like(c, y, 1 / (double)p));
  cv_out(c, 0, cv_cast(c, y, x->type->dtype));
}

static void global(cv *c, graph_code code) {
  ir_value *x = cv_need(c, 0);
  int64_t axes[TSR_MAX_RANK];
  for (int i = 2; i < cv_rank(x); i++) axes[i - 2] = i;
  cv_out(c, 0,
         cv_rank(x) < 3 ? cv_refuse(c, "an image of %d dimensions", cv_rank(x))
                        : cv_reduce(c, code, x, axes, cv_rank(x) - 2, true));
}
static void op_global_average(cv *c) { global(c, G_REDUCE_MEAN); }
static void op_global_max(cv *c) { global(c, G_REDUCE_MAX); }

static void op_global_lp(cv *c) {
  ir_value *x = cv_need(c, 0), *y = cv_op1(c, G_ABS, widened(c, x));
  int64_t axes[TSR_MAX_RANK];
  const double p = (double)cv_int(c, "p", 2);
  for (int i = 2; i < cv_rank(x); i++) axes[i - 2] = i;
  if (cv_rank(x) < 3) return cv_out(c, 0, cv_refuse(c, "an image of %d dimensions", cv_rank(x)));
  y = cv_reduce(c, G_REDUCE_SUM, cv_op2(c, G_POW, y, cv_like(c, y, p)), axes, cv_rank(x) - 2, true);
  cv_out(c, 0, cv_cast(c, cv_op2(c, G_POW, y, cv_like(c, y, 1 / p)), x->type->dtype));
}

/* Zeros but at the places that max_pool gave. */
static void op_max_unpool(cv *c) {
  ir_value *x = cv_need(c, 0), *at = cv_need(c, 1);
  windows w;
  int64_t dims[TSR_MAX_RANK], n = 1;
  if (!x || !at || !cv_windows_read(c, x, NULL, &w)) return cv_out(c, 0, NULL);
  for (int i = 0; i < 2; i++) dims[i] = x->type->dims[i];
  for (int i = 0; i < w.n; i++)
    dims[2 + i] = (x->type->dims[2 + i] - 1) * w.strides[i] - w.low[i] - w.high[i] + w.kernel[i];
  /* The places count in the image that the windows make, the result may be larger. */
  int64_t to[TSR_MAX_RANK];
  memcpy(to, dims, sizeof to);
  if (cv_has(c, 2) && cv_known_ints(c, 2, to, TSR_MAX_RANK) != x->type->rank) cv_refuse(c, "output_shape");
  for (int i = 0; i < x->type->rank && !c->failed; i++) n *= dims[i];
  if (c->failed || n < 0) return cv_out(c, 0, NULL);
  const int64_t count = ir_type_count(x->type);
  ir_value *y = cv_make(
      c, G_SCATTER, 3,
      (ir_value *[]){cv_fill(c, x->type->dtype, 1, &n, 0), cv_reshape(c, at, 1, &count), cv_reshape(c, x, 1, &count)},
      CV_AT(TSR_INT("axis", 0)));
  y = cv_reshape(c, y, x->type->rank, dims);
  int64_t low[TSR_MAX_RANK] = {0}, high[TSR_MAX_RANK] = {0};
  for (int i = 0; i < x->type->rank && y; i++) high[i] = to[i] - dims[i];
  for (int i = 0; i < x->type->rank; i++)
    if (high[i] < 0) cv_refuse(c, "an output_shape that is smaller than the windows");
  cv_out(c, 0, cv_pad(c, y, low, high, 0));
}

/* x^beta, x being what is no negative number if `positive`: 3/4, which networks have, by square roots, as they are an
 * instruction and rounded once each. */
static ir_value *lrn_power(cv *c, ir_value *x, bool positive) {
  const double beta = cv_float(c, "beta", 0.75);
  const tsr_dtype t = x ? x->type->dtype : TSR_DTYPE_NONE;
  if (beta != 0.75 || !positive || (t != TSR_F32 && t != TSR_F64)) return cv_op2(c, G_POW, x, cv_like(c, x, beta));
  ir_value *root = cv_op1(c, G_SQRT, x);
  return cv_op2(c, G_MUL, root, cv_op1(c, G_SQRT, root));
}

/* x / (bias + alpha / size * sum of squares over neighbouring channels)^beta */
static void op_lrn(cv *c) {
  ir_value *given = cv_need(c, 0), *x = widened(c, given);
  const int64_t size = cv_int(c, "size", 1), n = cv_dim(x, 1), before = (size - 1) / 2, after = size - 1 - before;
  int64_t low[TSR_MAX_RANK] = {0}, high[TSR_MAX_RANK] = {0};
  if (size < 1 || size > 64) return cv_out(c, 0, cv_refuse(c, "size %lld", (long long)size));
  low[1] = before;
  high[1] = after;
  ir_value *squares = cv_pad(c, cv_op2(c, G_MUL, x, x), low, high, 0), *sum = NULL;
  for (int64_t i = 0; i < size; i++) {
    ir_value *part = cv_part(c, squares, 1, i, n);
    sum = sum ? cv_op2(c, G_ADD, sum, part) : part;
  }
  const double alpha = cv_float(c, "alpha", 0.0001f), bias = cv_float(c, "bias", 1);
  ir_value *scaled = cv_op2(c, G_MUL, sum, cv_like(c, x, alpha / (double)size));
  ir_value *below = cv_op2(c, G_ADD, scaled, cv_like(c, x, bias));
  ir_value *y = cv_op2(c, G_DIV, x, lrn_power(c, below, alpha >= 0 && bias >= 0));
  cv_out(c, 0, given ? cv_cast(c, y, given->type->dtype) : NULL);
}

const cv_row onnx_rows_pool[] = {{"MaxPool", 1, op_max_pool},
                                 {"AveragePool", 1, op_average_pool},
                                 {"LpPool", 2, op_lp_pool},
                                 {"GlobalAveragePool", 1, op_global_average},
                                 {"GlobalMaxPool", 1, op_global_max},
                                 {"GlobalLpPool", 2, op_global_lp},
                                 {"MaxUnpool", 9, op_max_unpool},
                                 {"LRN", 1, op_lrn},
                                 {NULL, 0, NULL}};
