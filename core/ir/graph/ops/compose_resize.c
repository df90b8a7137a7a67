/* core/ir/graph/ops/compose_resize.c - resize of images as a composite op, with ONNX's coordinates: row, shape rule,
 * expansion. Axis by axis: which elements an output reads and with what weights is computed here, in f64; a gather
 * fetches them, an elementwise kernel adds them up. Cubic convolution: Keys 1981. */
#include <math.h>
#include <string.h>

#include "core/base/int_math.h"
#include "core/ir/graph/ops/compose.h"
#include "core/ir/graph/ops/window.h"

enum { MOST_PLACES = 1 << 20, MOST_TAPS = 4 }; /* of an axis of the result: the tables hold so many; for an output */

typedef enum resize_mode { NEAREST, LINEAR, CUBIC, N_MODES } resize_mode;
typedef enum resize_coordinates {
  HALF_PIXEL, HALF_PIXEL_SYMMETRIC, PYTORCH_HALF_PIXEL, ALIGN_CORNERS, ASYMMETRIC, TF_HALF_PIXEL_FOR_NN,
  TF_CROP_AND_RESIZE, N_COORDINATES
} resize_coordinates;
typedef enum resize_rounding { PREFER_FLOOR, PREFER_CEIL, FLOOR, CEIL, N_ROUNDINGS } resize_rounding;

typedef struct resize_axis {
  int axis;
  int64_t n, out;
  double scale;    /* 0: out / n */
  double from, to; /* of tf_crop_and_resize, in extents of the image */
} resize_axis;

typedef struct resize_spec {
  resize_mode mode;
  resize_coordinates coordinates;
  resize_rounding rounding;
  double coefficient; /* of cubic */
  bool exclude;
  int n;
  resize_axis a[WINDOW_AXES];
} resize_spec;

/* ---- shape ------------------------------------------------------------------------------------------------------- */

static tsr_status read_word(const ir_op *op, const char *name, const char *dflt, const char *const *words, int n,
                            int *out) {
  const char *word = ir_get_str(op, name, dflt);
  for (int i = 0; i < n; i++)
    if (!strcmp(word, words[i])) return *out = i, NULL;
  return ir_error(op, "`tessera ops resize` lists them", "unknown %s \"%s\"", name, word);
}

static tsr_status read_words(const ir_op *op, resize_spec *r) {
  static const char *const modes[] = {"nearest", "linear", "cubic"},
                           *const roundings[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"},
                           *const coordinates[] = {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",
                                                   "align_corners", "asymmetric", "tf_half_pixel_for_nn",
                                                   "tf_crop_and_resize"};
  int v[3] = {0};
  TSR_TRY(read_word(op, "mode", "nearest", modes, N_MODES, &v[0]));
  TSR_TRY(read_word(op, "coordinate_transformation_mode", "half_pixel", coordinates, N_COORDINATES, &v[1]));
  TSR_TRY(read_word(op, "nearest_mode", "round_prefer_floor", roundings, N_ROUNDINGS, &v[2]));
  r->mode = (resize_mode)v[0], r->coordinates = (resize_coordinates)v[1], r->rounding = (resize_rounding)v[2];
  r->exclude = ir_get_bool(op, "exclude_outside", false);
  r->coefficient = ir_get_float(op, "cubic_coeff_a", -0.75);
  return isfinite(r->coefficient) ? NULL : ir_error(op, NULL, "cubic_coeff_a is %g", r->coefficient);
}

/* `n` finite numbers of a list. */
static tsr_status read_numbers(const ir_op *op, const char *name, int n, double *v) {
  const int given = ir_get_floats(op, name, v, n);
  if (given < 0) return ir_error(op, NULL, "%s must be a list of numbers", name);
  if (given != n) return ir_error(op, NULL, "%s has %d entries, not %d", name, given, n);
  for (int i = 0; i < n; i++)
    if (!isfinite(v[i])) return ir_error(op, NULL, "%s entry %d is %g", name, i, v[i]);
  return NULL;
}

static tsr_status read_extents(const ir_op *op, resize_spec *r) {
  int64_t sizes[TSR_MAX_RANK];
  double scales[WINDOW_AXES] = {0};
  const bool by_size = ir_get_attr(op, "sizes") != NULL;
  if (by_size == (ir_get_attr(op, "scales") != NULL))
    return ir_error(op, NULL, by_size ? "sizes and scales: one of them says it" : "needs sizes or scales");
  if (by_size) TSR_TRY(shape_list_attr(op, "sizes", r->n, false, 0, sizes));
  else TSR_TRY(read_numbers(op, "scales", r->n, scales));
  for (int i = 0; i < r->n; i++) {
    resize_axis *a = &r->a[i];
    if (!by_size && !(scales[i] > 0)) return ir_error(op, NULL, "scale %g is not positive", scales[i]);
    if (!by_size && a->n == IR_DYNAMIC) {
      a->out = IR_DYNAMIC;
      continue;
    }
    if (a->n > INT32_MAX - 1)
      return ir_error(op, NULL, "axis %d of %lld elements is too long", a->axis, (long long)a->n);
    const double out = by_size ? (double)sizes[i] : floor((double)a->n * scales[i]);
    if (!(out >= 0 && out <= MOST_PLACES))
      return ir_error(op, NULL, "axis %d gets %.15g elements; at most %d", a->axis, out, MOST_PLACES);
    a->out = (int64_t)out, a->scale = scales[i];
    if (a->out && !a->n) return ir_error(op, NULL, "axis %d has no elements", a->axis);
  }
  return NULL;
}

static tsr_status read_crop(const ir_op *op, resize_spec *r) {
  double roi[2 * WINDOW_AXES];
  const bool crops = r->coordinates == TF_CROP_AND_RESIZE;
  if (crops != (ir_get_attr(op, "roi") != NULL))
    return ir_error(op, NULL, crops ? "tf_crop_and_resize needs roi" : "roi is of tf_crop_and_resize alone");
  if (crops) TSR_TRY(read_numbers(op, "roi", 2 * r->n, roi));
  for (int i = 0; i < r->n && crops; i++) r->a[i].from = roi[i], r->a[i].to = roi[r->n + i];
  return NULL;
}

/* The number that stands outside of a crop must be one of the type. */
static tsr_status check_outside(const ir_op *op, tsr_dtype t) {
  const double v = ir_get_float(op, "extrapolation_value", 0), most = t == TSR_BOOL ? 1 : dtype_get(t)->max;
  if (dtype_is_float(t)) return NULL;
  if (v == floor(v) && fabs(v) <= 0x1p53 && v <= most && v >= (dtype_get(t)->is_signed ? -most - 1 : 0)) return NULL;
  return ir_error(op, NULL, "extrapolation_value is %g for %s", v, tsr_dtype_name(t));
}

static tsr_status read_resize(const ir_op *op, resize_spec *r) {
  const ir_type *x = TYPE(0);
  const char *layout = ir_get_str(op, "layout", "nchw");
  *r = (resize_spec){0};
  TSR_TRY(window_rank(op, x, &r->n));
  const bool last = !strcmp(layout, "nhwc");
  if (!last && strcmp(layout, "nchw")) return ir_error(op, "nchw or nhwc", "unknown layout \"%s\"", layout);
  for (int i = 0; i < r->n; i++) r->a[i].axis = i + (last ? 1 : 2), r->a[i].n = x->dims[r->a[i].axis];
  TSR_TRY(read_words(op, r));
  if (r->mode != NEAREST && !dtype_is_float(x->dtype))
    return ir_error(op, graph_no_cast, "only nearest takes %s", tsr_dtype_name(x->dtype));
  TSR_TRY(read_extents(op, r));
  TSR_TRY(read_crop(op, r));
  return check_outside(op, x->dtype);
}

static tsr_status infer_resize(ir_op *op, const ir_type **results) {
  TSR_TRY(shape_tensors(op));
  resize_spec r;
  int64_t dims[TSR_MAX_RANK];
  TSR_TRY(read_resize(op, &r));
  memcpy(dims, TYPE(0)->dims, sizeof dims);
  for (int i = 0; i < r.n; i++) dims[r.a[i].axis] = r.a[i].out;
  return shape_finish(op, TYPE(0)->dtype, TYPE(0)->rank, dims, results);
}

/* ---- which elements, with what weights --------------------------------------------------------------------------- */

/* half_places / 2 of the result, in places of the image: a quotient, so that whole and half ones are exact. */
static double scaled(const resize_axis *a, int64_t half_places) {
  if (a->scale != 0) return (double)half_places / 2 / a->scale;
  return (double)half_places * (double)a->n / (2 * (double)a->out);
}

/* Where place o of the result lies in the image. */
static double source(const resize_axis *a, resize_coordinates c, int64_t o) {
  const double n = (double)a->n, last = n - 1, steps = (double)(a->out - 1), at = (double)o;
  const double half = scaled(a, 2 * o + 1) - 0.5;
  switch (c) {
  case HALF_PIXEL_SYMMETRIC: return a->scale != 0 ? n / 2 * (1 - (double)a->out / (a->scale * n)) + half : half;
  case PYTORCH_HALF_PIXEL: return a->out > 1 ? half : 0;
  case ALIGN_CORNERS: return a->out > 1 ? at * last / steps : 0;
  case ASYMMETRIC: return scaled(a, 2 * o);
  case TF_HALF_PIXEL_FOR_NN: return half + 0.5;
  case TF_CROP_AND_RESIZE:
    return a->out > 1 ? a->from * last + at * (a->to - a->from) * last / steps : 0.5 * (a->from + a->to) * last;
  case HALF_PIXEL:
  case N_COORDINATES: break;
  }
  return half;
}

static bool is_outside(const resize_spec *r, const resize_axis *a, int64_t o) {
  const double x = source(a, r->coordinates, o);
  return r->coordinates == TF_CROP_AND_RESIZE && !(x >= 0 && x <= (double)(a->n - 1));
}

static double nearest(resize_rounding how, double x) {
  switch (how) {
  case PREFER_FLOOR: return ceil(x - 0.5);
  case PREFER_CEIL: return floor(x + 0.5);
  case CEIL: return ceil(x);
  case FLOOR:
  case N_ROUNDINGS: break;
  }
  return floor(x);
}

/* The kernel of cubic convolution at distance d. */
static double cubic(double a, double d) {
  d = fabs(d);
  if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
  return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

/* The elements by place and weight that place o of the result is the sum of; returns how many. No weight is 0: an
 * element that has no part in the sum isn't read, so that its NaN is not in it. */
static int taps(const resize_spec *r, const resize_axis *a, int64_t o, int64_t *place, double *weight) {
  const double x = source(a, r->coordinates, o), below = r->mode == NEAREST ? nearest(r->rounding, x) : floor(x);
  const int first = r->mode == CUBIC ? -1 : 0, count = r->mode == NEAREST ? 1 : r->mode == LINEAR ? 2 : 4;
  double all[MOST_TAPS], inside = 0;
  int n = 0;
  if (is_outside(r, a, o)) return 0;
  for (int k = 0; k < count; k++) {
    const double p = below + first + k;
    all[k] = r->mode == NEAREST ? 1 : r->mode == LINEAR ? 1 - fabs(x - p) : cubic(r->coefficient, x - p);
    if (p >= 0 && p < (double)a->n) inside += all[k];
  }
  const bool exclude = r->exclude && inside != 0;
  for (int k = 0; k < count; k++) {
    const double p = below + first + k, at = fmin(fmax(p, 0), (double)(a->n - 1));
    int i = 0;
    if (exclude && at != p) continue;
    while (i < n && place[i] != (int64_t)at) i++;
    if (i == n) place[n] = (int64_t)at, weight[n++] = 0;
    weight[i] += exclude ? all[k] / inside : all[k];
  }
  int kept = 0;
  for (int i = 0; i < n; i++)
    if (weight[i] != 0) place[kept] = place[i], weight[kept++] = weight[i];
  return kept;
}

/* By tap and place of the result. A tap that there isn't is one outside the image, which a gather reads as 0. */
typedef struct tap_table {
  int n;
  int32_t *place;
  double *weight;
} tap_table;

static bool fill_table(ir_builder *b, const resize_spec *r, const resize_axis *a, tap_table *t) {
  const size_t n = (size_t)a->out;
  t->n = 0;
  t->place = arena_array(&b->m->arena, int32_t, n * MOST_TAPS);
  t->weight = arena_array(&b->m->arena, double, n * MOST_TAPS);
  if (!t->place || !t->weight) return !(b->failed = true);
  for (size_t o = 0; o < n; o++) {
    int64_t place[MOST_TAPS];
    double weight[MOST_TAPS];
    const int taken = taps(r, a, (int64_t)o, place, weight);
    if (taken > t->n) t->n = taken;
    for (int k = 0; k < MOST_TAPS; k++) {
      t->place[(size_t)k * n + o] = (int32_t)(k < taken ? place[k] : a->n);
      t->weight[(size_t)k * n + o] = k < taken ? weight[k] : 0;
    }
  }
  return true;
}

/* ---- expansion --------------------------------------------------------------------------------------------------- */

static ir_value *vector(ir_builder *b, tsr_dtype t, const void *data, int64_t n) {
  return graph_elements(b, ir_type_tensor(b->m, t, 1, &n), data);
}

/* A vector along an axis of tensors like `like`. */
static ir_value *along(ir_builder *b, ir_value *v, int axis, const ir_type *like) {
  return v ? compose_spread(b, compose_place(b, v, axis, like->rank), like) : NULL;
}

/* Places that follow from the first by one stride; NULL: they don't. */
static ir_value *sliced(ir_builder *b, ir_value *x, const resize_axis *a, const int32_t *place) {
  int64_t starts[TSR_MAX_RANK] = {0}, sizes[TSR_MAX_RANK], strides[TSR_MAX_RANK];
  const int64_t stride = a->out > 1 ? place[1] - place[0] : 1;
  if (stride < 1 || place[a->out - 1] >= a->n) return NULL;
  for (int64_t o = 0; o < a->out; o++)
    if (place[o] != place[0] + o * stride) return NULL;
  for (int i = 0; i < x->type->rank; i++) sizes[i] = x->type->dims[i], strides[i] = 1;
  starts[a->axis] = place[0], sizes[a->axis] = a->out, strides[a->axis] = stride;
  return compose_take(b, x, starts, sizes, strides);
}

/* How often each place is there, all of them in order; 0: they aren't. */
static int64_t repeats(const resize_axis *a, const int32_t *place) {
  const int64_t times = a->out / a->n;
  if (times < 1 || a->out != times * a->n) return 0;
  for (int64_t o = 0; o < a->out; o++)
    if (place[o] != o / times) return 0;
  return times;
}

/* x with each element n times along an axis. Kernels work on the last two dimensions: what is repeated along the last
 * axis is one long column, what is repeated along another a row beside itself, so that their tiles are large. */
static ir_value *repeated_along(ir_builder *b, ir_value *x, int axis, int64_t n) {
  enum { MOST_BESIDE = 8 };
  int64_t dims[TSR_MAX_RANK], outer = 1, inner = 1;
  for (int i = 0; i < x->type->rank; i++) {
    dims[i] = x->type->dims[i];
    *(i <= axis ? &outer : &inner) *= dims[i];
  }
  dims[axis] *= n;
  const int rank = x->type->rank;
  if (inner > 1 && n <= MOST_BESIDE) {
    ir_value *row = graph_reshape(b, x, 2, (int64_t[]){outer, inner}), *rows[MOST_BESIDE];
    for (int64_t i = 0; i < n; i++) rows[i] = row;
    x = row ? graph_concat(b, (int)n, rows, 1) : NULL;
  } else {
    x = graph_reshape(b, x, 3, (int64_t[]){outer, 1, inner});
    x = x ? graph_broadcast(b, x, 3, (int64_t[]){outer, n, inner}) : NULL;
  }
  return x ? graph_reshape(b, x, rank, dims) : NULL;
}

/* x with each element times[i] times along axis i. */
static ir_value *repeated(ir_builder *b, ir_value *x, const int64_t *times) {
  for (int i = x ? x->type->rank - 1 : -1; i >= 0 && x; i--)
    if (times[i] > 1) x = repeated_along(b, x, i, times[i]);
  return x;
}

/* x at these places of an axis, n along it. */
static ir_value *fetch(ir_builder *b, ir_value *x, int axis, const int32_t *place, int64_t n) {
  return graph_indexed_build(b, G_GATHER, 2, (ir_value *[]){x, vector(b, TSR_I32, place, n)}, "axis", axis, false);
}

/* Column k of the weights in type t. */
static ir_value *weights(ir_builder *b, const tap_table *t, int k, int64_t n, tsr_dtype type) {
  void *data = arena_array(&b->m->arena, double, (size_t)n);
  if (!data) return b->failed = true, NULL;
  for (int64_t o = 0; o < n; o++) dtype_store(type, data, o, t->weight[k * n + o]);
  return vector(b, type, data, n);
}

/* The sum of the taps, each times its weight: one gather of all of them, whose parts an elementwise kernel reads. */
static ir_value *weighted(ir_builder *b, ir_value *x, const resize_axis *a, const tap_table *t, tsr_dtype type) {
  int64_t starts[TSR_MAX_RANK] = {0}, sizes[TSR_MAX_RANK];
  ir_value *all = fetch(b, x, a->axis, t->place, t->n * a->out), *sum = NULL;
  if (!all) return NULL;
  memcpy(sizes, all->type->dims, sizeof sizes);
  sizes[a->axis] = a->out;
  for (int k = 0; k < t->n && !b->failed; k++) {
    starts[a->axis] = k * a->out;
    ir_value *part = graph_cast(b, graph_cut(b, all, starts, sizes), type);
    ir_value *w = part ? along(b, weights(b, t, k, a->out, type), a->axis, part->type) : NULL;
    sum = w ? compose_join(b, G_ADD, sum, MUL(part, w)) : NULL;
  }
  return sum;
}

/* Along one axis. What only repeats elements is left to `times`. */
static ir_value *along_axis(ir_builder *b, const resize_spec *r, const resize_axis *a, ir_value *x, tsr_dtype t,
                            int64_t *times) {
  tap_table table;
  if (!x || !fill_table(b, r, a, &table)) return NULL;
  for (int64_t o = 0; o < a->out; o++)
    if (table.n > 1 || (table.weight[o] != 0 && table.weight[o] != 1)) return weighted(b, x, a, &table, t);
  ir_value *y = sliced(b, x, a, table.place);
  if (b->failed || y) return y;
  const int64_t n = repeats(a, table.place);
  if (n) return times[a->axis] = n, x;
  return fetch(b, x, a->axis, table.place, a->out);
}

/* True where the crop reaches beyond the image, along any axis; NULL: nowhere. */
static ir_value *beyond(ir_builder *b, const resize_spec *r, const ir_type *like) {
  ir_value *all = NULL;
  for (int i = 0; i < r->n && r->coordinates == TF_CROP_AND_RESIZE; i++) {
    const resize_axis *a = &r->a[i];
    bool any = false, *is = arena_array(&b->m->arena, bool, (size_t)a->out);
    if (!is) return b->failed = true, NULL;
    for (int64_t o = 0; o < a->out; o++) any |= is[o] = is_outside(r, a, o);
    if (any) all = compose_join(b, G_OR, all, along(b, vector(b, TSR_BOOL, is, a->out), a->axis, like));
  }
  return all;
}

/* Axes that shrink most come first. */
EXPAND(expand_resize) {
  resize_spec r;
  bool done[WINDOW_AXES] = {false};
  int64_t times[TSR_MAX_RANK];
  const tsr_dtype from = TYPE(0)->dtype;
  ir_value *x = IN(0);
  tsr_status_free(read_resize(op, &r));
  if (!ir_type_count(OUT->type)) {
    out[0] = graph_fill(b, OUT->type, 0);
    DONE;
  }
  for (int i = 0; i < OUT->type->rank; i++) times[i] = 1;
  const tsr_dtype t = r.mode == NEAREST ? from : compose_float(from);
  for (int k = 0; k < r.n; k++) {
    int best = -1;
    for (int i = 0; i < r.n; i++)
      if (!done[i] && (best < 0 || r.a[i].out * r.a[best].n < r.a[best].out * r.a[i].n)) best = i;
    done[best] = true;
    x = along_axis(b, &r, &r.a[best], x, t, times);
  }
  x = graph_cast(b, repeated(b, x, times), from);
  ir_value *outside = beyond(b, &r, OUT->type);
  if (outside && x) x = SELECT(outside, LIKE(x, ir_get_float(op, "extrapolation_value", 0)), x);
  out[0] = x;
  DONE;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static const ir_opdef rows[] = {
    {COMPOSITE(RESIZE, "resize", 1, 1, 1), .operands_doc = "x", .types_doc = ANY, .infer = infer_resize,
     BY(expand_resize),
     .attrs = ATTRS(
         {"sizes", IR_A_ARRAY, false, NULL, "the result's extents along each spatial axis; these or scales"},
         {"scales", IR_A_ARRAY, false, NULL, "the extents are floor(extent scale), and coordinates follow the scale"},
         {"mode", IR_A_STR, false, "nearest", "nearest; linear and cubic, of floats: along each axis"},
         {"coordinate_transformation_mode", IR_A_STR, false, "half_pixel",
          "where place o lies: half_pixel: (o + 1/2) / scale - 1/2; half_pixel_symmetric: the same about the middle, where "
          "floor took something off; pytorch_half_pixel: the same, 0 of a single place; align_corners: o (n - 1) / "
          "(extent - 1); asymmetric: o / scale; tf_half_pixel_for_nn: (o + 1/2) / scale; tf_crop_and_resize: from roi's "
          "start to its end"},
         {"nearest_mode", IR_A_STR, false, "round_prefer_floor", "round_prefer_floor, round_prefer_ceil, floor, ceil"},
         {"cubic_coeff_a", IR_A_FLOAT, false, "-0.75", "the coefficient of cubic convolution"},
         {"exclude_outside", IR_A_BOOL, false, "false",
          "what lies outside the image has no weight, the others' add up to 1; else it is as the edge is"},
         {"roi", IR_A_ARRAY, false, NULL,
          "of tf_crop_and_resize: all starts, then all ends; 0 is the first element, 1 the last"},
         {"extrapolation_value", IR_A_FLOAT, false, "0.0", "what tf_crop_and_resize gives outside the image"},
         {"layout", IR_A_STR, false, "nchw", "nchw: channels are axis 1; nhwc: the last"}),
     .help = "An image with other extents, as ONNX's Resize has it, summed in f32 or f64. An element whose weight is 0 is "
             "not read. An axis gets at most 1,048,576 elements."},
};

const ir_rows graph_compose_resize_ops = {rows, sizeof rows / sizeof *rows};
