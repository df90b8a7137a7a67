/* core/import/onnx/ops_detect.c - ONNX's ops of detectors: samples of an image at places that other values say. */
#include <string.h>

#include "core/base/dtype.h"
#include "core/import/onnx/tables.h"
#include "core/import/onnx/windows.h"

/* ---- DeformConv -------------------------------------------------------------------------------------------------- */

typedef struct deform {
  ir_value *x, *weights;
  windows w;
  int64_t batch, channels, groups, parts, taps, out[2]; /* parts: of channels with offsets of their own */
} deform;

/* Where the taps along an axis are without offsets, [taps, places along it] beside the other axis. */
static ir_value *taps_at(cv *c, const deform *d, int axis) {
  const int64_t dims[3] = {d->taps, axis ? 1 : d->out[0], axis ? d->out[1] : 1};
  const int64_t n = d->out[axis];
  float *at = arena_array(&c->a, float, d->taps * n + 1);
  if (!at) return cv_refuse(c, "out of memory");
  for (int64_t k = 0; k < d->taps; k++)
    for (int64_t i = 0; i < n; i++) {
      const int64_t tap = axis ? k % d->w.kernel[1] : k / d->w.kernel[1];
      at[k * n + i] = (float)(i * d->w.strides[axis] - d->w.low[axis] + tap * d->w.dilations[axis]);
    }
  return cv_constant(c, TSR_F32, 3, dims, at);
}

/* As grid_sample has it, [batch parts, taps, places, 1]: -1 and 1 are the outer edges of the first and last place. */
static ir_value *grid_along(cv *c, const deform *d, ir_value *offsets, int axis) {
  const int64_t dims[4] = {d->batch * d->parts, d->taps, d->out[0], d->out[1]},
                last[4] = {dims[0], dims[1], d->out[0] * d->out[1], 1};
  ir_value *at = cv_reshape(c, cv_part(c, offsets, 2, axis, 1), 4, dims);
  at = cv_op2(c, G_ADD, at, taps_at(c, d, axis));
  at = cv_op2(c, G_ADD, cv_op2(c, G_MUL, at, cv_number(c, TSR_F32, 2)), cv_number(c, TSR_F32, 1));
  at = cv_op2(c, G_DIV, at, cv_number(c, TSR_F32, (double)cv_dim(d->x, 2 + axis)));
  return cv_reshape(c, cv_op2(c, G_SUB, at, cv_number(c, TSR_F32, 1)), 4, last);
}

/* [batch, channels, taps, places] */
static ir_value *deformed_columns(cv *c, const deform *d) {
  const int64_t places = d->out[0] * d->out[1], all = d->batch * d->parts;
  const int64_t split[4] = {all, d->taps, 2, places},
                image[4] = {all, d->channels / d->parts, cv_dim(d->x, 2), cv_dim(d->x, 3)},
                shares[4] = {all, 1, d->taps, places};
  ir_value *offsets = cv_need(c, 2), *mask = cv_in(c, 4);
  if (!offsets || ir_type_count(offsets->type) != 2 * all * d->taps * places ||
      (mask && ir_type_count(mask->type) != all * d->taps * places))
    return cv_refuse(c, "offsets or a mask of other dimensions");
  offsets = cv_cast(c, cv_reshape(c, offsets, 4, split), TSR_F32);
  ir_value *grid[2] = {grid_along(c, d, offsets, 1), grid_along(c, d, offsets, 0)};
  ir_value *y = cv_make(c, G_GRID_SAMPLE, 2, (ir_value *[]){cv_reshape(c, d->x, 4, image), cv_concat(c, 2, grid, 3)},
                        CV_AT(TSR_STRING("padding_mode", "zeros")));
  return mask ? cv_op2(c, G_MUL, y, cv_cast(c, cv_reshape(c, mask, 4, shares), d->x->type->dtype)) : y;
}

static void op_deform_conv(cv *c) {
  deform d = {.x = cv_need(c, 0), .weights = cv_need(c, 1)};
  d.groups = cv_int(c, "group", 1);
  d.parts = cv_int(c, "offset_group", 1);
  if (cv_rank(d.x) != 4 || cv_rank(d.weights) != 4) return cv_out(c, 0, cv_refuse(c, "images of another rank"));
  d.batch = cv_dim(d.x, 0);
  d.channels = cv_dim(d.x, 1);
  const int64_t maps = cv_dim(d.weights, 0);
  if (!cv_windows_read(c, d.x, d.weights->type->dims + 2, &d.w)) return cv_out(c, 0, NULL);
  if (d.groups < 1 || d.parts < 1 || d.channels % d.groups || d.channels % d.parts || maps % d.groups ||
      cv_dim(d.weights, 1) != d.channels / d.groups)
    return cv_out(c, 0, cv_refuse(c, "channels that the groups don't divide"));
  for (int i = 0; i < 2; i++) {
    const int64_t span = (d.w.kernel[i] - 1) * d.w.dilations[i] + 1;
    d.out[i] = (cv_dim(d.x, 2 + i) + d.w.low[i] + d.w.high[i] - span) / d.w.strides[i] + 1;
    if (d.out[i] < 1 || cv_dim(d.x, 2 + i) < 1 || d.w.kernel[i] != cv_dim(d.weights, 2 + i))
      return cv_out(c, 0, cv_refuse(c, "windows that don't fit"));
  }
  d.taps = d.w.kernel[0] * d.w.kernel[1];
  const int64_t rows = d.channels / d.groups * d.taps, places = d.out[0] * d.out[1];
  ir_value *columns = cv_reshape(c, deformed_columns(c, &d), 4, (int64_t[]){d.batch, d.groups, rows, places});
  ir_value *weights = cv_reshape(c, d.weights, 3, (int64_t[]){d.groups, maps / d.groups, rows});
  ir_value *y = cv_op2(c, G_MATMUL, weights, columns);
  y = cv_reshape(c, y, 4, (int64_t[]){d.batch, maps, d.out[0], d.out[1]});
  cv_out(c, 0, cv_has(c, 3) ? cv_op2(c, G_ADD, y, cv_along(c, cv_need(c, 3), 1, 4)) : y);
}

/* ---- RoiAlign ---------------------------------------------------------------------------------------------------- */

/* Samples along an axis of the image: the places below and above, and how much of each; [rois, n]. Beyond the image by
 * more than a pixel there is nothing, `inside` is 0. */
typedef struct samples {
  ir_value *place[2], *share[2], *inside;
  int64_t n;
} samples;

/* Where the regions begin along an axis, and how long they are; [rois, 1]. */
static void region_along(cv *c, ir_value *rois, int axis, ir_value **from, ir_value **size) {
  const bool half =
      cv_is(c, "coordinate_transformation_mode", c->version < 16 ? "output_half_pixel" : "half_pixel", "half_pixel");
  ir_value *scale = cv_number(c, TSR_F32, cv_float(c, "spatial_scale", 1)), *end[2];
  for (int i = 0; i < 2; i++) {
    end[i] = cv_op2(c, G_MUL, cv_cast(c, cv_part(c, rois, 1, 2 * i + (axis ? 0 : 1), 1), TSR_F32), scale);
    if (half) end[i] = cv_op2(c, G_SUB, end[i], cv_number(c, TSR_F32, 0.5));
  }
  *from = end[0];
  *size = cv_op2(c, G_SUB, end[1], end[0]);
  if (!half) *size = cv_op2(c, G_MAX, *size, cv_number(c, TSR_F32, 1));
}

static samples samples_along(cv *c, ir_value *rois, int axis, int64_t bins, int64_t ratio, int64_t extent) {
  samples s = {.n = bins * ratio};
  ir_value *from, *size, *one = cv_number(c, TSR_F32, 1), *zero = cv_number(c, TSR_F32, 0);
  region_along(c, rois, axis, &from, &size);
  ir_value *step = cv_op2(c, G_DIV, size, cv_number(c, TSR_F32, (double)s.n));
  ir_value *at = cv_op2(c, G_ADD, cv_iota(c, TSR_F32, 2, (int64_t[]){1, s.n}, 1), cv_number(c, TSR_F32, 0.5));
  at = cv_op2(c, G_ADD, cv_op2(c, G_MUL, at, step), from);
  ir_value *low = cv_compare(c, "ge", at, cv_number(c, TSR_F32, -1)),
           *high = cv_compare(c, "le", at, cv_number(c, TSR_F32, (double)extent));
  s.inside = cv_cast(c, cv_op2(c, G_AND, low, high), TSR_F32);
  ir_value *top = cv_number(c, TSR_F32, (double)extent - 1);
  at = cv_op2(c, G_MIN, cv_op2(c, G_MAX, at, zero), top);
  ir_value *floor = cv_op1(c, G_FLOOR, at);
  s.place[0] = cv_cast(c, floor, TSR_I32);
  s.place[1] = cv_cast(c, cv_op2(c, G_MIN, cv_op2(c, G_ADD, floor, one), top), TSR_I32);
  s.share[1] = cv_op2(c, G_SUB, at, floor);
  s.share[0] = cv_op2(c, G_SUB, one, s.share[1]);
  return s;
}

/* [rois, n] as [rois, ny, nx, 1] */
static ir_value *spread(cv *c, ir_value *x, int axis, int64_t rois, const int64_t n[2]) {
  const int64_t dims[4] = {rois, axis ? 1 : n[0], axis ? n[1] : 1, 1}, wide[4] = {rois, n[0], n[1], 1};
  return cv_broadcast(c, cv_reshape(c, x, 4, dims), 4, wide);
}

/* What the samples of each bin give each place of an axis together, [rois, bins, extent], where there are as many as a
 * bin is pixels long, rounded up, count [rois, 1]: steps of more than half a pixel. So few of them, CANDIDATES, are
 * within a pixel of a place. */
static ir_value *shares_along(cv *c, ir_value *rois, int axis, int64_t bins, int64_t extent, ir_value **count) {
  enum { CANDIDATES = 7 };
  const int64_t n = cv_dim(rois, 0), each[4] = {n, 1, 1, 1}, along_bins[4] = {1, bins, 1, 1},
                places[4] = {1, 1, extent, 1}, few[4] = {1, 1, 1, CANDIDATES}, last = 3;
  ir_value *from, *size, *one = cv_number(c, TSR_F32, 1), *zero = cv_number(c, TSR_F32, 0),
                         *half = cv_number(c, TSR_F32, 0.5);
  region_along(c, rois, axis, &from, &size);
  size = cv_op2(c, G_DIV, size, cv_number(c, TSR_F32, (double)bins));
  *count = cv_op1(c, G_CEIL, size);
  ir_value *bin = cv_reshape(c, size, 4, each), *many = cv_reshape(c, *count, 4, each);
  ir_value *place = cv_iota(c, TSR_F32, 4, places, 2);
  ir_value *begin =
      cv_op2(c, G_ADD, cv_reshape(c, from, 4, each), cv_op2(c, G_MUL, cv_iota(c, TSR_F32, 4, along_bins, 1), bin));
  /* One sample alone is the first; of several the steps are longer than what they are divided by at least. */
  ir_value *step = cv_op2(c, G_MAX, cv_op2(c, G_DIV, bin, cv_op2(c, G_MAX, many, one)), cv_number(c, TSR_F32, 0.25));
  ir_value *first = cv_op2(c, G_DIV, cv_op2(c, G_SUB, cv_op2(c, G_SUB, place, one), begin), step);
  first = cv_op1(c, G_FLOOR, cv_op2(c, G_SUB, first, half));
  first = cv_op2(c, G_MAX, cv_op2(c, G_MIN, first, cv_op2(c, G_SUB, many, one)), zero);
  ir_value *i = cv_op2(c, G_ADD, first, cv_iota(c, TSR_F32, 4, few, 3));
  ir_value *at = cv_op2(c, G_DIV, cv_op2(c, G_MUL, cv_op2(c, G_ADD, i, half), bin), cv_op2(c, G_MAX, many, one));
  at = cv_op2(c, G_ADD, begin, at);
  ir_value *counts = cv_op2(c, G_AND, cv_compare(c, "lt", i, many), cv_compare(c, "ge", at, cv_number(c, TSR_F32, -1)));
  counts = cv_op2(c, G_AND, counts, cv_compare(c, "le", at, cv_number(c, TSR_F32, (double)extent)));
  at = cv_op2(c, G_MIN, cv_op2(c, G_MAX, at, zero), cv_number(c, TSR_F32, (double)extent - 1));
  ir_value *share = cv_op2(c, G_SUB, one, cv_op1(c, G_ABS, cv_op2(c, G_SUB, at, place)));
  share = cv_where(c, counts, cv_op2(c, G_MAX, share, zero), zero);
  return cv_reduce(c, G_REDUCE_SUM, share, &last, 1, false);
}

/* As many samples as a bin has pixels: their mean, by products with what each place gives, rows and then columns. */
static ir_value *roi_adaptive(cv *c, ir_value *x, ir_value *rois, ir_value *which, const int64_t out[2]) {
  const int64_t *d = x->type->dims, n = cv_dim(rois, 0), batch = d[0], channels = d[1], h = d[2], w = d[3];
  ir_value *count[2], *rows = shares_along(c, rois, 0, out[0], h, &count[0]),
                      *columns = shares_along(c, rois, 1, out[1], w, &count[1]);
  if (batch != 1) { /* rows of other images give nothing */
    ir_value *of = cv_reshape(c, cv_cast(c, which, TSR_I32), 4, (int64_t[]){n, 1, 1, 1});
    ir_value *own = cv_compare(c, "eq", of, cv_iota(c, TSR_I32, 4, (int64_t[]){1, 1, batch, 1}, 2));
    rows = cv_reshape(c, rows, 4, (int64_t[]){n, out[0], 1, h});
    rows = cv_where(c, own, rows, cv_number(c, TSR_F32, 0));
  }
  rows = cv_reshape(c, rows, 2, (int64_t[]){n * out[0], batch * h});
  ir_value *image = cv_cast(c, cv_transpose(c, x, (int64_t[]){0, 2, 3, 1}), TSR_F32);
  ir_value *y = cv_op2(c, G_MATMUL, rows, cv_reshape(c, image, 2, (int64_t[]){batch * h, w * channels}));
  y = cv_reshape(c, y, 4, (int64_t[]){n, out[0], w, channels});
  y = cv_op2(c, G_MATMUL, cv_reshape(c, columns, 4, (int64_t[]){n, 1, out[1], w}), y);
  ir_value *all = cv_op2(c, G_MAX, cv_op2(c, G_MUL, count[0], count[1]), cv_number(c, TSR_F32, 1));
  y = cv_op2(c, G_DIV, y, cv_reshape(c, all, 4, (int64_t[]){n, 1, 1, 1}));
  return cv_cast(c, cv_transpose(c, y, (int64_t[]){0, 3, 1, 2}), x->type->dtype);
}

/* Each sample is four pixels by their shares. The largest is that of these four by themselves. */
static void op_roi_align(cv *c) {
  ir_value *x = cv_need(c, 0), *rois = cv_need(c, 1), *which = cv_need(c, 2), *y = NULL;
  const int64_t out[2] = {cv_int(c, "output_height", 1), cv_int(c, "output_width", 1)};
  const int64_t ratio = cv_int(c, "sampling_ratio", 0), count = cv_dim(rois, 0);
  const bool largest = cv_is(c, "mode", "avg", "max");
  if (cv_rank(x) != 4 || cv_rank(rois) != 2 || cv_dim(rois, 1) != 4 || !which || ir_type_count(which->type) != count)
    return cv_out(c, 0, cv_refuse(c, "operands of other dimensions"));
  if (ratio < 0 || (!ratio && largest))
    return cv_out(c, 0, cv_refuse(c, "the largest of a number of samples that depends on what the inputs hold"));
  for (int i = 0; i < 2; i++)
    if (out[i] < 1 || out[i] > 1 << 16 || ratio > 1 << 10 || cv_dim(x, 2 + i) < 1)
      return cv_out(c, 0, cv_refuse(c, "an extent that isn't possible"));
  if (!ratio) return cv_out(c, 0, roi_adaptive(c, x, rois, which, out));
  samples s[2];
  for (int i = 0; i < 2; i++) s[i] = samples_along(c, rois, i, out[i], ratio, cv_dim(x, 2 + i));
  const int64_t n[2] = {s[0].n, s[1].n}, channels = cv_dim(x, 1), one[4] = {count, 1, 1, 1},
                all[4] = {count, n[0], n[1], 1};
  ir_value *image = cv_transpose(c, x, (int64_t[]){0, 2, 3, 1});
  ir_value *batch = cv_broadcast(c, cv_cast(c, cv_reshape(c, which, 4, one), TSR_I32), 4, all);
  ir_value *inside = cv_op2(c, G_MUL, spread(c, s[0].inside, 0, count, n), spread(c, s[1].inside, 1, count, n));
  for (int corner = 0; corner < 4; corner++) {
    const int a = corner / 2, b = corner % 2;
    ir_value *at[3] = {batch, spread(c, s[0].place[a], 0, count, n), spread(c, s[1].place[b], 1, count, n)};
    ir_value *share = cv_op2(c, G_MUL, spread(c, s[0].share[a], 0, count, n), spread(c, s[1].share[b], 1, count, n));
    ir_value *v = cv_cast(c, cv_op2(c, G_GATHER_ND, image, cv_concat(c, 3, at, 3)), TSR_F32);
    v = cv_op2(c, G_MUL, v, cv_op2(c, G_MUL, share, inside));
    y = !corner ? v : cv_op2(c, largest ? G_MAX : G_ADD, y, v);
  }
  y = cv_reshape(c, y, 6, (int64_t[]){count, out[0], ratio, out[1], ratio, channels});
  y = cv_reduce(c, largest ? G_REDUCE_MAX : G_REDUCE_MEAN, y, (int64_t[]){2, 4}, 2, false);
  cv_out(c, 0, x ? cv_cast(c, cv_transpose(c, y, (int64_t[]){0, 3, 1, 2}), x->type->dtype) : NULL);
}

const cv_row onnx_rows_detect[] = {{"DeformConv", 19, op_deform_conv}, {"RoiAlign", 10, op_roi_align}, {NULL, 0, NULL}};
