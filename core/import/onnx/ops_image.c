/* core/import/onnx/ops_image.c - ONNX's Resize, Upsample and affine grids. */
#include <math.h>
#include <string.h>

#include "core/base/dtype.h"
#include "core/import/onnx/tables.h"

enum { MOST_RESIZED = 3, MOST_EXTENT = 1 << 24 };

typedef struct resizing {
  int rank;
  bool moves[TSR_MAX_RANK];
  double scale[TSR_MAX_RANK], roi[2][TSR_MAX_RANK];
  int64_t to[TSR_MAX_RANK];
  bool by_scale;
  bool rounded_up[TSR_MAX_RANK];
} resizing;

/* The axes that change last, all others before them as channels. */
static ir_value *resize_axes(cv *c, ir_value *x, const resizing *r, const tsr_attr *more, int n_more) {
  int64_t perm[TSR_MAX_RANK], back[TSR_MAX_RANK], dims[2 + MOST_RESIZED] = {1, 1}, sizes[MOST_RESIZED];
  int64_t moved[TSR_MAX_RANK];
  double scales[MOST_RESIZED], roi[2 * MOST_RESIZED];
  int n = 0, rank = r->rank, last = 0;
  for (int i = 0; i < rank; i++) n += r->moves[i];
  if (!n) return x;
  if (n > MOST_RESIZED) return cv_refuse(c, "%d axes change", n);
  for (int i = 0, first = 0; i < rank; i++) {
    if (!r->moves[i]) {
      dims[1] *= x->type->dims[i];
      perm[first++] = i;
      continue;
    }
    perm[rank - n + last] = i;
    dims[2 + last] = x->type->dims[i];
    sizes[last] = r->to[i];
    scales[last] = r->scale[i];
    roi[last] = r->roi[0][i];
    roi[n + last] = r->roi[1][i];
    last++;
  }
  for (int i = 0; i < rank; i++) back[perm[i]] = i;
  ir_value *y = cv_reshape(c, cv_transpose(c, x, perm), 2 + n, dims);
  tsr_attr attrs[8];
  int k = 0;
  if (r->by_scale) attrs[k++] = (tsr_attr)TSR_FLOATS("scales", scales, n);
  else attrs[k++] = (tsr_attr)TSR_INTS("sizes", sizes, n);
  for (int i = 0; i < n_more; i++) attrs[k++] = more[i];
  if (!strcmp(cv_str(c, "coordinate_transformation_mode", ""), "tf_crop_and_resize"))
    attrs[k++] = (tsr_attr)TSR_FLOATS("roi", roi, 2 * n);
  y = cv_make(c, G_RESIZE, 1, &y, attrs, k);
  for (int i = 0; i < rank; i++) moved[i] = r->moves[perm[i]] ? r->to[perm[i]] : x->type->dims[perm[i]];
  return cv_transpose(c, cv_reshape(c, y, rank, moved), back);
}

/* sizes by keep_aspect_ratio_policy: one scale for all axes, of which the extents are rounded. */
static void keep_ratio(cv *c, resizing *r, const ir_value *x) {
  const char *policy = cv_str(c, "keep_aspect_ratio_policy", "stretch");
  if (!strcmp(policy, "stretch")) return;
  const bool least = !strcmp(policy, "not_larger");
  double scale = least ? INFINITY : 0;
  for (int i = 0; i < r->rank; i++)
    if (r->moves[i]) scale = least ? fmin(scale, r->scale[i]) : fmax(scale, r->scale[i]);
  for (int i = 0; i < r->rank; i++) {
    if (!r->moves[i]) continue;
    r->scale[i] = scale;
    const double extent = scale * (double)x->type->dims[i];
    if (!(extent >= 0.5 && extent <= MOST_EXTENT)) {
      cv_refuse(c, "a scale of %g", scale);
      return;
    }
    r->to[i] = (int64_t)floor(extent + 0.5);
    r->rounded_up[i] = (double)r->to[i] > extent;
  }
  r->by_scale = true;
}

/* Copies of the last element, which is what lies behind it anyway, until the scale gives at least the extents that are
 * rounded up. */
static ir_value *longer(cv *c, ir_value *x, resizing *r) {
  const bool by_scale_alone = cv_is(c, "coordinate_transformation_mode", "half_pixel", "half_pixel") ||
                              cv_is(c, "coordinate_transformation_mode", "half_pixel", "asymmetric");
  for (int i = 0; i < r->rank && !c->failed; i++) {
    if (!r->rounded_up[i]) continue;
    if (!by_scale_alone || cv_int(c, "exclude_outside", 0)) return cv_refuse(c, "an extent that is rounded up");
    const int64_t n = cv_dim(x, i), more = (int64_t)ceil(1 / r->scale[i]);
    int64_t dims[TSR_MAX_RANK];
    memcpy(dims, x->type->dims, sizeof *dims * (size_t)r->rank);
    dims[i] = more;
    ir_value *both[2] = {x, cv_broadcast(c, cv_part(c, x, i, n - 1, 1), r->rank, dims)};
    x = cv_concat(c, 2, both, i);
    r->to[i] = (int64_t)floor(r->scale[i] * (double)(n + more));
  }
  return x;
}

static bool read_extents(cv *c, ir_value *x, resizing *r) {
  int64_t axes[TSR_MAX_RANK], sizes[TSR_MAX_RANK];
  double scales[TSR_MAX_RANK], roi[2 * TSR_MAX_RANK];
  const bool old = c->version < 11,
             crops = cv_is(c, "coordinate_transformation_mode", "half_pixel", "tf_crop_and_resize");
  const bool has_sizes = !old && cv_has(c, 3);
  int n = cv_ints(c, "axes", axes, TSR_MAX_RANK);
  r->rank = cv_rank(x);
  for (int i = 0; i < r->rank && n < 0; i++) axes[i] = i;
  if (n < 0) n = r->rank;
  const int given =
      has_sizes ? cv_known_ints(c, 3, sizes, TSR_MAX_RANK) : cv_known_floats(c, old ? 1 : 2, scales, TSR_MAX_RANK);
  if (given != n || c->failed) return cv_refuse(c, "%d extents for %d axes", given, n) != NULL;
  if (crops && cv_known_floats(c, 1, roi, 2 * TSR_MAX_RANK) != 2 * n) return cv_refuse(c, "roi") != NULL;
  r->by_scale = !has_sizes;
  for (int i = 0; i < n; i++) {
    const int at = cv_axis(c, axes[i], r->rank);
    const double extent = (double)cv_dim(x, at);
    r->scale[at] = has_sizes ? (double)sizes[i] / extent : scales[i];
    if (!(r->scale[at] > 0 && extent * r->scale[at] <= MOST_EXTENT))
      return cv_refuse(c, "a scale of %g", r->scale[at]) != NULL;
    r->to[at] = has_sizes ? sizes[i] : (int64_t)floor(extent * (double)(float)scales[i]);
    if (crops) r->roi[0][at] = roi[i], r->roi[1][at] = roi[n + i];
    r->moves[at] = r->scale[at] != 1 || (crops && (roi[i] != 0 || roi[n + i] != 1));
    if (r->to[at] < 1) cv_refuse(c, "a scale of %g", r->scale[at]);
  }
  if (has_sizes) keep_ratio(c, r, x);
  return !c->failed;
}

/* ---- antialias: a product with the weights of each axis ---------------------------------------------------------- */

static double cubic(double x, double a) {
  x = fabs(x);
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

/* Row o: the weights of the n elements in element o of the result. */
static void filter_row(cv *c, float *w, int64_t n, double centre, double scale, bool is_cubic) {
  const double a = cv_float(c, "cubic_coeff_a", -0.75), s = scale < 1 ? scale : 1, reach = (is_cubic ? 2 : 1) / s;
  const bool outside = cv_int(c, "exclude_outside", 0) != 0;
  double sum = 0;
  for (int64_t i = (int64_t)floor(centre - reach); i <= (int64_t)ceil(centre + reach); i++) {
    const double d = ((double)i - centre) * s, v = is_cubic ? cubic(d, a) : fmax(0, 1 - fabs(d));
    if (outside && (i < 0 || i >= n)) continue;
    w[i < 0 ? 0 : i >= n ? n - 1 : i] += (float)v;
    sum += v;
  }
  for (int64_t i = 0; i < n; i++) w[i] = (float)(w[i] / sum);
}

static ir_value *filter_axis(cv *c, ir_value *x, int axis, int64_t to, double scale) {
  const int64_t n = cv_dim(x, axis), dims[2] = {n, to};
  const bool is_cubic = cv_is(c, "mode", "nearest", "cubic");
  if (!cv_is(c, "coordinate_transformation_mode", "half_pixel", "half_pixel") || n < 1 || to > 1 << 20 ||
      n > (1 << 22) / to)
    return cv_refuse(c, "antialias with such coordinates");
  float *w = arena_array(&c->a, float, n *to), *flipped = arena_array(&c->a, float, n *to);
  if (!w || !flipped) return cv_refuse(c, "out of memory");
  for (int64_t o = 0; o < to; o++) filter_row(c, w + o * n, n, ((double)o + 0.5) / scale - 0.5, scale, is_cubic);
  for (int64_t o = 0; o < to; o++)
    for (int64_t i = 0; i < n; i++) flipped[i * to + o] = w[o * n + i];
  const int last = cv_rank(x) - 1;
  ir_value *weights = cv_cast(c, cv_constant(c, TSR_F32, 2, dims, flipped), x ? x->type->dtype : TSR_F32);
  return cv_swap(c, cv_op2(c, G_MATMUL, cv_swap(c, x, axis, last), weights), axis, last);
}

static void op_resize(cv *c) {
  ir_value *x = cv_need(c, 0);
  resizing r = {.rank = 0};
  if (!x || !read_extents(c, x, &r)) return cv_out(c, 0, NULL);
  const char *mode = cv_str(c, "mode", "nearest");
  if (cv_int(c, "antialias", 0) && strcmp(mode, "nearest")) {
    for (int i = 0; i < r.rank; i++)
      if (r.moves[i]) x = filter_axis(c, x, i, r.to[i], r.scale[i]);
    return cv_out(c, 0, x);
  }
  const resizing asked = r;
  x = longer(c, x, &r);
  const tsr_attr attrs[] = {
      TSR_STRING("mode", mode),
      TSR_STRING("coordinate_transformation_mode",
                 cv_str(c, "coordinate_transformation_mode", c->version < 11 ? "asymmetric" : "half_pixel")),
      TSR_STRING("nearest_mode", cv_str(c, "nearest_mode", c->version < 11 ? "floor" : "round_prefer_floor")),
      TSR_FLOAT("cubic_coeff_a", cv_float(c, "cubic_coeff_a", -0.75)),
      TSR_BOOLEAN("exclude_outside", cv_int(c, "exclude_outside", 0) != 0),
      TSR_FLOAT("extrapolation_value", cv_float(c, "extrapolation_value", 0))};
  x = x ? resize_axes(c, x, &r, attrs, 6) : NULL;
  for (int i = 0; i < r.rank; i++)
    if (asked.rounded_up[i]) x = cv_part(c, x, i, 0, asked.to[i]);
  cv_out(c, 0, x);
}

static void op_upsample(cv *c) {
  ir_value *x = cv_need(c, 0);
  resizing r = {.rank = cv_rank(x), .by_scale = true};
  double scales[TSR_MAX_RANK];
  const int n = cv_known_floats(c, 1, scales, TSR_MAX_RANK);
  if (n != r.rank) return cv_out(c, 0, cv_refuse(c, "%d scales", n));
  for (int i = 0; i < n; i++) {
    r.scale[i] = scales[i];
    if (!(scales[i] > 0 && (double)cv_dim(x, i) * scales[i] <= MOST_EXTENT))
      return cv_out(c, 0, cv_refuse(c, "a scale of %g", scales[i]));
    r.moves[i] = scales[i] != 1;
    r.to[i] = (int64_t)floor((double)cv_dim(x, i) * scales[i]);
  }
  const tsr_attr attrs[] = {TSR_STRING("mode", cv_str(c, "mode", "nearest")),
                            TSR_STRING("coordinate_transformation_mode", "asymmetric"),
                            TSR_STRING("nearest_mode", "floor")};
  cv_out(c, 0, resize_axes(c, x, &r, attrs, 3));
}

/* Places of a picture's elements from -1 to 1, mapped by a matrix for each entry of the batch. */
static ir_value *places(cv *c, tsr_dtype t, const int64_t *size, int n, int axis, bool corners) {
  int64_t dims[TSR_MAX_RANK];
  const double extent = (double)size[axis];
  for (int i = 0; i < n; i++) dims[i] = size[i];
  dims[n] = 1;
  ir_value *at = cv_iota(c, t, n + 1, dims, axis);
  const double step = corners ? (extent > 1 ? 2 / (extent - 1) : 0) : 2 / extent, from = corners ? -1 : 1 / extent - 1;
  return cv_op2(c, G_ADD, cv_op2(c, G_MUL, at, cv_number(c, t, step)), cv_number(c, t, from));
}

static void op_affine_grid(cv *c) {
  ir_value *theta = cv_need(c, 0), *parts[4];
  int64_t size[5];
  const bool corners = cv_int(c, "align_corners", 0) != 0;
  const int n = cv_known_ints(c, 1, size, 5) - 2;
  if (n < 2 || n > 3 || cv_rank(theta) != 3) return cv_out(c, 0, cv_refuse(c, "a picture of %d axes", n));
  const tsr_dtype t = theta->type->dtype;
  int64_t dims[TSR_MAX_RANK], count = 1;
  for (int i = 0; i < n + 2; i++)
    if (size[i] < 1 || size[i] > 1 << 18) return cv_out(c, 0, cv_refuse(c, "an extent of %lld", (long long)size[i]));
  for (int i = 0; i < n; i++) count *= dims[i] = size[2 + i];
  for (int i = 0; i < n; i++) parts[i] = places(c, t, dims, n, n - 1 - i, corners);
  dims[n] = 1;
  parts[n] = cv_fill(c, t, n + 1, dims, 1);
  ir_value *base = cv_reshape(c, cv_concat(c, n + 1, parts, n), 3, (int64_t[]){1, count, n + 1});
  ir_value *y = cv_at2(c, G_MATMUL, base, theta, TSR_BOOLEAN("transpose_b", true));
  int64_t shape[TSR_MAX_RANK] = {size[0]};
  for (int i = 0; i < n; i++) shape[1 + i] = size[2 + i];
  shape[1 + n] = n;
  cv_out(c, 0, cv_reshape(c, y, n + 2, shape));
}

/* Version 20 says linear and cubic for what were bilinear and bicubic; the result has the image's type. */
static void op_grid_sample(cv *c) {
  static const char *const modes[][2] = {
      {"linear", "linear"}, {"bilinear", "linear"}, {"nearest", "nearest"}, {"cubic", "cubic"}, {"bicubic", "cubic"}};
  const char *mode = cv_str(c, "mode", "linear"), *is = NULL;
  for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
    if (!strcmp(mode, modes[i][0])) is = modes[i][1];
  if (!is) return cv_out(c, 0, cv_refuse(c, "unknown mode \"%s\"", mode));
  cv_out(c, 0,
         cv_at2(c, G_GRID_SAMPLE, cv_need(c, 0), cv_need(c, 1), TSR_STRING("mode", is),
                TSR_STRING("padding_mode", cv_str(c, "padding_mode", "zeros")),
                TSR_BOOLEAN("align_corners", cv_int(c, "align_corners", 0) != 0)));
}

const cv_row onnx_rows_image[] = {{"Resize", 10, op_resize},
                                  {"Upsample", 9, op_upsample},
                                  {"AffineGrid", 20, op_affine_grid},
                                  {"GridSample", 16, op_grid_sample},
                                  {NULL, 0, NULL}};
