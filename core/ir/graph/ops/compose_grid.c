/* core/ir/graph/ops/compose_grid.c - grid_sample as a composite op, as ONNX's GridSample has it: an image read at
 * coordinates that a tensor holds. One elementwise kernel computes the place and the weight of every element that an
 * output is the sum of (a tap), one gather fetches them all, another elementwise kernel adds them up. What an axis adds
 * to places and weights by the number of the tap is a constant. Cubic convolution: Keys 1981. */
#include <math.h>
#include <string.h>

#include "core/ir/graph/ops/compose.h"
#include "core/ir/graph/ops/dft.h"
#include "core/ir/graph/ops/window.h"

typedef enum grid_mode { LINEAR, NEAREST, CUBIC, N_MODES } grid_mode;
typedef enum grid_padding { ZEROS, BORDER, REFLECTION, N_PADDINGS } grid_padding;

typedef struct grid_spec {
  grid_mode mode;
  grid_padding padding;
  bool align;
  double coefficient;
  int n;             /* spatial axes */
  int64_t extent[3]; /* of the image */
} grid_spec;

/* ---- shape ------------------------------------------------------------------------------------------------------- */

static tsr_status read_word(const ir_op *op, const char *name, const char *dflt, const char *const *words, int n,
                            int *out) {
  const char *word = ir_get_str(op, name, dflt);
  for (int i = 0; i < n; i++)
    if (!strcmp(word, words[i])) return *out = i, NULL;
  return ir_error(op, "`tessera ops grid_sample` lists them", "unknown %s \"%s\"", name, word);
}

static tsr_status check_grid(const ir_op *op, int n) {
  const ir_type *x = TYPE(0), *grid = TYPE(1);
  char buf[128];
  if (!dtype_is_float(grid->dtype) || tsr_dtype_size(grid->dtype) < 2)
    return ir_error(op, graph_no_cast, "the grid is of f64, f32, f16 or bf16, not %s", tsr_dtype_name(grid->dtype));
  if (grid->rank != n + 2 || shape_differs(grid->dims[n + 1], n) || shape_differs(grid->dims[0], x->dims[0]))
    return ir_error(op, "[batch, extents of the result.., coordinates]", "the grid is %s for images of %d axes",
                    shape_text(grid, buf, sizeof buf), n);
  return NULL;
}

static tsr_status read_grid(const ir_op *op, grid_spec *g) {
  static const char *const modes[] = {"linear", "nearest", "cubic"}, *const paddings[] = {"zeros", "border",
                                                                                          "reflection"};
  int mode = 0, padding = 0;
  double places = 1;
  *g = (grid_spec){.align = ir_get_bool(op, "align_corners", false)};
  TSR_TRY(window_rank(op, TYPE(0), &g->n));
  TSR_TRY(check_grid(op, g->n));
  TSR_TRY(read_word(op, "mode", "linear", modes, N_MODES, &mode));
  TSR_TRY(read_word(op, "padding_mode", "zeros", paddings, N_PADDINGS, &padding));
  g->mode = (grid_mode)mode, g->padding = (grid_padding)padding;
  g->coefficient = ir_get_float(op, "cubic_coeff_a", -0.75);
  if (!isfinite(g->coefficient)) return ir_error(op, NULL, "cubic_coeff_a is %g", g->coefficient);
  if (g->mode != NEAREST && !dtype_is_float(TYPE(0)->dtype))
    return ir_error(op, graph_no_cast, "only nearest takes %s", tsr_dtype_name(TYPE(0)->dtype));
  for (int i = 0; i < g->n; i++) {
    g->extent[i] = TYPE(0)->dims[i + 2];
    if (!g->extent[i]) return ir_error(op, NULL, "axis %d has no elements", i + 2);
    if (g->extent[i] > 0) places *= (double)g->extent[i];
  }
  return places < 1 << 29 ? NULL : ir_error(op, NULL, "an image of %.15g elements is too large", places);
}

static tsr_status infer_grid_sample(ir_op *op, const ir_type **results) {
  grid_spec g;
  TSR_TRY(shape_tensors(op));
  TSR_TRY(read_grid(op, &g));
  ir_type t = *TYPE(0);
  for (int i = 0; i < g.n; i++) t.dims[i + 2] = TYPE(1)->dims[i + 1];
  return shape_finish(op, t.dtype, t.rank, t.dims, results);
}

/* ---- taps -------------------------------------------------------------------------------------------------------- */

enum { MOST_PER_AXIS = 4, MOST_TAPS = MOST_PER_AXIS * MOST_PER_AXIS * MOST_PER_AXIS };

static int per_axis(const grid_spec *g) { return g->mode == NEAREST ? 1 : g->mode == LINEAR ? 2 : 4; }
static int n_taps(const grid_spec *g) {
  int n = 1;
  for (int i = 0; i < g->n; i++) n *= per_axis(g);
  return n;
}

/* The number that tap `tap` has along an axis, the last axis fastest. */
static int tap_along(const grid_spec *g, int tap, int axis) {
  for (int i = g->n - 1; i > axis; i--) tap /= per_axis(g);
  return tap % per_axis(g);
}

/* The weight of tap k along an axis at t, the distance from the place below: coefficients of t^0 to t^3. */
static void weight_terms(const grid_spec *g, int k, double c[4]) {
  const double a = g->coefficient;
  const double cubic[4][4] = {{0, a, -2 * a, a}, {1, 0, -(a + 3), a + 2}, {0, -a, 2 * a + 3, -(a + 2)}, {0, 0, a, -a}};
  const double linear[2][4] = {{1, -1, 0, 0}, {0, 1, 0, 0}};
  memcpy(c, g->mode == CUBIC ? cubic[k] : linear[k], 4 * sizeof *c);
}

typedef struct sampler {
  ir_builder *b;
  grid_spec g;
  tsr_dtype t;           /* of coordinates and weights */
  int64_t batch, points; /* outputs of an entry of the batch */
  int taps;
} sampler;

static ir_value *number(const sampler *s, double v) { return graph_number(s->b, s->t, v); }

/* [1, 1, taps]: what each tap has of a table; NULL where all have 0. */
static ir_value *by_tap(const sampler *s, tsr_dtype t, const double *v) {
  bool any = false;
  for (int i = 0; i < s->taps; i++) any |= v[i] != 0;
  return any ? dft_constant(s->b, t, 3, (const int64_t[]){1, 1, s->taps}, v) : NULL;
}

static ir_value *clamped(const sampler *s, ir_value *x, double low, double high) {
  ir_builder *b = s->b;
  return graph_op2(b, G_MIN, graph_op2(b, G_MAX, x, number(s, low)), number(s, high));
}

/* x mirrored at the image's first and last place, or half a place outside of these. */
static ir_value *reflected(const sampler *s, ir_value *x, int axis) {
  ir_builder *b = s->b;
  const double low = s->g.align ? 0 : -0.5, length = (double)s->g.extent[axis] - (s->g.align ? 1 : 0);
  if (length == 0) return MUL(x, number(s, 0));
  ir_value *from = graph_op1(b, G_ABS, SUB(x, number(s, low)));
  ir_value *turns = graph_op1(b, G_FLOOR, DIV(from, number(s, 2 * length)));
  from = SUB(from, MUL(turns, number(s, 2 * length)));
  return ADD(graph_op2(b, G_MIN, from, SUB(number(s, 2 * length), from)), number(s, low));
}

/* Where along an axis of the image the outputs lie, for each tap, so that all is one kernel: [batch, points, taps].
 * What is far outside is brought near, so that infinity is a place too. */
static ir_value *coordinates(const sampler *s, ir_value *grid, int axis) {
  ir_builder *b = s->b;
  const double n = (double)s->g.extent[axis];
  const int64_t at = s->g.n - 1 - axis;
  ir_value *x = graph_cut(b, grid, (int64_t[]){0, 0, at}, (int64_t[]){s->batch, s->points, 1});
  x = x ? graph_broadcast(b, x, 3, (int64_t[]){s->batch, s->points, s->taps}) : NULL;
  x = ADD(x, number(s, 1));
  x = s->g.align ? MUL(x, number(s, (n - 1) / 2)) : SUB(MUL(x, number(s, n / 2)), number(s, 0.5));
  if (s->g.mode == NEAREST) x = graph_op1(b, G_ROUND, x);
  if (s->g.padding == ZEROS) return clamped(s, x, -4, n + 3);
  if (s->g.padding == REFLECTION) return reflected(s, x, axis);
  const double beyond = s->g.align ? 0 : 0.5;
  ir_value *outside = graph_op2(b, G_OR, graph_compare(b, CMP_LT, x, number(s, -beyond)),
                                graph_compare(b, CMP_GT, x, number(s, n - 1 + beyond)));
  return SELECT(outside, clamped(s, x, 0, n - 1), x);
}

/* What an axis adds: to places, row-major; to the weights; and which taps are on the image. */
typedef struct tap_sums {
  ir_value *place, *weight, *inside;
} tap_sums;

static ir_value *axis_weight(const sampler *s, ir_value *t, int axis) {
  ir_builder *b = s->b;
  double column[4][MOST_TAPS];
  for (int i = 0; i < s->taps; i++) {
    double c[4];
    weight_terms(&s->g, tap_along(&s->g, i, axis), c);
    for (int k = 0; k < 4; k++) column[k][i] = c[k];
  }
  ir_value *sum = NULL;
  for (int k = 3; k >= 0; k--) { /* Horner's rule */
    ir_value *c = by_tap(s, s->t, column[k]);
    sum = sum ? MUL(sum, t) : NULL;
    if (c) sum = compose_join(b, G_ADD, sum, c);
  }
  return sum;
}

static ir_value *whole(const sampler *s, int64_t v) { return graph_number(s->b, TSR_I32, (double)v); }

/* The same mirroring of whole numbers, which lie at most two places outside. */
static ir_value *reflected_place(const sampler *s, ir_value *p, int axis) {
  ir_builder *b = s->b;
  const int64_t n = s->g.extent[axis], more = s->g.align ? 1 : 0, period = 2 * (n - more);
  if (!period) return MUL(p, whole(s, 0));
  p = graph_op2(b, G_REM, ADD(p, whole(s, period)), whole(s, period));
  return graph_op2(b, G_MIN, p, SUB(whole(s, period - 1 + more), p));
}

/* Places are whole numbers from the floor on, which is exact: that of a tap is a sum without rounding. */
static void add_axis(const sampler *s, ir_value *grid, int axis, tap_sums *sums) {
  ir_builder *b = s->b;
  const int64_t last = s->g.extent[axis] - 1;
  double offset[MOST_TAPS];
  ir_value *x = coordinates(s, grid, axis), *below = x;
  if (s->g.mode != NEAREST) {
    below = x ? graph_op1(b, G_FLOOR, x) : NULL;
    sums->weight = compose_join(b, G_MUL, sums->weight, below ? axis_weight(s, SUB(x, below), axis) : NULL);
  }
  for (int i = 0; i < s->taps; i++) offset[i] = tap_along(&s->g, i, axis) - (s->g.mode == CUBIC ? 1 : 0);
  ir_value *p = graph_cast(b, below, TSR_I32), *more = by_tap(s, TSR_I32, offset);
  if (more) p = ADD(p, more);
  if (s->g.padding == REFLECTION) p = reflected_place(s, p, axis);
  if (s->g.padding == ZEROS) {
    ir_value *inside =
        graph_op2(b, G_AND, graph_compare(b, CMP_GE, p, whole(s, 0)), graph_compare(b, CMP_LE, p, whole(s, last)));
    sums->inside = compose_join(b, G_AND, sums->inside, inside);
  }
  p = graph_op2(b, G_MIN, graph_op2(b, G_MAX, p, whole(s, 0)), whole(s, last));
  sums->place = sums->place ? ADD(MUL(sums->place, whole(s, last + 1)), p) : p;
}

/* ---- expansion --------------------------------------------------------------------------------------------------- */

/* The image as [batch, places, channels], so that a place is a row. */
static ir_value *as_rows(const sampler *s, ir_value *x, int64_t places) {
  ir_builder *b = s->b;
  x = graph_reshape(b, x, 3, (int64_t[]){s->batch, x->type->dims[1], places});
  return x ? graph_transpose(b, x, (int[]){0, 2, 1}) : NULL;
}

/* The taps of all outputs, [batch, points, taps, channels]; outside the image is a place that a gather reads as 0. */
static ir_value *fetched(const sampler *s, ir_value *x, ir_value *place) {
  ir_builder *b = s->b;
  if (!x || !place || b->failed) return NULL;
  const int64_t channels = x->type->dims[2];
  place = graph_reshape(b, place, 3, (int64_t[]){s->batch, s->points * s->taps, 1});
  x = graph_indexed_build(b, G_GATHER_ND, 2, (ir_value *[]){x, place}, "batch_dims", 1, false);
  return x ? graph_reshape(b, x, 4, (int64_t[]){s->batch, s->points, s->taps, channels}) : NULL;
}

static ir_value *tap_of(const sampler *s, ir_value *x, int tap, int64_t width) {
  return x ? graph_cut(s->b, x, (int64_t[]){0, 0, tap, 0}, (int64_t[]){s->batch, s->points, 1, width}) : NULL;
}

/* [batch, points, 1, channels] */
static ir_value *weighted(const sampler *s, ir_value *x, ir_value *weight, tsr_dtype sum_type) {
  ir_builder *b = s->b;
  ir_value *sum = NULL;
  if (!x || !weight || b->failed) return NULL;
  const int64_t channels = x->type->dims[3], one[] = {s->batch, s->points, 1, channels};
  weight = graph_reshape(b, weight, 4, (int64_t[]){s->batch, s->points, s->taps, 1});
  for (int i = 0; i < s->taps && !b->failed; i++) {
    ir_value *v = graph_cast(b, tap_of(s, x, i, channels), sum_type), *w = tap_of(s, weight, i, 1);
    w = w ? graph_broadcast(b, graph_cast(b, w, sum_type), 4, one) : NULL;
    sum = compose_join(b, G_ADD, sum, MUL(v, w));
  }
  return sum;
}

EXPAND(expand_grid_sample) {
  sampler s = {.b = b, .batch = TYPE(0)->dims[0], .points = 1};
  tap_sums sums = {NULL, NULL, NULL};
  int64_t places = 1;
  tsr_status_free(read_grid(op, &s.g));
  if (!ir_type_count(OUT->type)) {
    out[0] = graph_fill(b, OUT->type, 0);
    DONE;
  }
  const tsr_dtype from = TYPE(0)->dtype, sum_type = s.g.mode == NEAREST ? from : compose_float(from);
  s.t = compose_float(TYPE(1)->dtype), s.taps = n_taps(&s.g);
  for (int i = 0; i < s.g.n; i++) s.points *= TYPE(1)->dims[i + 1], places *= s.g.extent[i];
  ir_value *grid = graph_reshape(b, IN(1), 3, (int64_t[]){s.batch, s.points, s.g.n});
  grid = graph_cast(b, grid, s.t);
  for (int i = 0; i < s.g.n && grid && !b->failed; i++) add_axis(&s, grid, i, &sums);
  if (b->failed) return false;
  if (sums.inside) sums.place = SELECT(sums.inside, sums.place, whole(&s, places));
  ir_value *x = fetched(&s, as_rows(&s, IN(0), places), sums.place);
  if (s.g.mode != NEAREST) x = weighted(&s, x, sums.weight, sum_type);
  x = x ? graph_transpose(b, graph_cast(b, x, from), (int[]){0, 3, 1, 2}) : NULL;
  out[0] = x ? graph_reshape(b, x, OUT->type->rank, OUT->type->dims) : NULL;
  DONE;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static const ir_opdef rows[] = {
    {COMPOSITE(GRID_SAMPLE, "grid_sample", 2, 2, 1), .operands_doc = "x, grid",
     .types_doc = ANY "; grid: f64, f32, f16, bf16", .infer = infer_grid_sample, BY(expand_grid_sample),
     .attrs = ATTRS({"mode", IR_A_STR, false, "linear",
                     "linear, nearest or cubic: along each axis; nearest of two "
                     "equally near places is the even one"},
                    {"padding_mode", IR_A_STR, false, "zeros",
                     "what is outside the image: zeros; border: its nearest "
                     "place; reflection: the image mirrored"},
                    {"align_corners", IR_A_BOOL, false, "false",
                     "-1 and 1 are the middles of the first and last place, not their outer edges"},
                    {"cubic_coeff_a", IR_A_FLOAT, false, "-0.75", "the coefficient of cubic convolution"}),
     .help = "Images x [batch, channels, 1 to 3 spatial axes] at the coordinates that a grid [batch, extents of the "
             "result.., "
             "coordinates] holds, as ONNX's GridSample has it: -1 is the begin of an axis and 1 its end, the last "
             "axis's coordinate comes first. Types other than floats are for nearest alone. An output whose coordinate "
             "is NaN "
             "is NaN; of nearest it is the first place along that axis. Gradients of x and of the grid."},
};

const ir_rows graph_compose_grid_ops = {rows, sizeof rows / sizeof *rows};
