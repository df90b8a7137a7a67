/* core/ir/graph/ops/window.c - see window.h. */
#include "core/ir/graph/ops/window.h"

#include <string.h>

#include "core/base/int_math.h"

tsr_status window_rank(const ir_op *op, const ir_type *image, int *out) {
  *out = image->rank - 2;
  return *out >= 1 && *out <= WINDOW_AXES
             ? NULL
             : ir_error(op, "[batch, channels, height, width], or one or three spatial axes",
                        "needs images, not rank %d", image->rank);
}

static tsr_status read_list(const ir_op *op, const char *name, int n, int64_t least, int64_t *v) {
  TSR_TRY(shape_list_attr(op, name, n, true, least, v));
  for (int i = 0; i < n; i++)
    if (v[i] < least || v[i] > INT32_MAX)
      return ir_error(op, NULL, "%s entry %lld is out of range", name, (long long)v[i]);
  return NULL;
}

/* Of the windows that the padded axis holds; NULL of `same`. */
static tsr_status count_windows(const ir_op *op, window_axis *a, bool ceil) {
  const int64_t span = window_span(a);
  int64_t room;
  if (a->low >= span || a->high >= span)
    return ir_error(op, "windows of padding alone say nothing", "padding of %lld and %lld for windows that span %lld",
                    (long long)a->low, (long long)a->high, (long long)span);
  if (a->n == IR_DYNAMIC) return a->out = IR_DYNAMIC, NULL;
  if (__builtin_add_overflow(a->n, a->low + a->high, &room))
    return ir_error(op, NULL, "the padded axis %d overflows 64 bits", a->axis);
  if (room < span)
    return ir_error(op, "add padding", "windows span %lld elements, axis %d has %lld", (long long)span, a->axis,
                    (long long)room);
  a->out = (ceil ? ceil_div(room - span, a->stride) : (room - span) / a->stride) + 1;
  if ((a->out - 1) * a->stride >= a->n + a->low) a->out--;
  return NULL;
}

static void pad_same(window_axis *a, bool lower) {
  if (a->n == IR_DYNAMIC) {
    a->out = IR_DYNAMIC;
    return;
  }
  a->out = ceil_div(a->n, a->stride);
  const int64_t both = a->out ? max64(0, (a->out - 1) * a->stride + window_span(a) - a->n) : 0;
  a->low = lower ? both - both / 2 : both / 2;
  a->high = both - a->low;
}

static tsr_status read_padding(const ir_op *op, image_window *w, bool ceil) {
  const char *how = ir_get_str(op, "padding", "explicit");
  const bool lower = !strcmp(how, "same_lower"), same = lower || !strcmp(how, "same");
  int64_t low[TSR_MAX_RANK], high[TSR_MAX_RANK];
  if (!same && strcmp(how, "explicit"))
    return ir_error(op, "explicit, same or same_lower", "unknown padding \"%s\"", how);
  if (same && (ceil || ir_get_attr(op, "low") || ir_get_attr(op, "high")))
    return ir_error(op, "leave them out", "padding = \"%s\" leaves nothing to low, high and ceil_mode", how);
  TSR_TRY(read_list(op, "low", w->n, 0, low));
  TSR_TRY(read_list(op, "high", w->n, 0, high));
  for (int i = 0; i < w->n; i++) {
    w->a[i].low = low[i], w->a[i].high = high[i];
    if (same) pad_same(&w->a[i], lower);
    else TSR_TRY(count_windows(op, &w->a[i], ceil));
  }
  return NULL;
}

/* One window that is the image. */
static tsr_status whole_image(const ir_op *op, image_window *w, bool ceil) {
  static const char *const names[] = {"strides", "dilations", "low", "high", "padding"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (ceil || ir_get_attr(op, names[i]))
      return ir_error(op, "give kernel", "%s without a kernel: the window is the whole image",
                      ceil ? "ceil_mode" : names[i]);
  for (int i = 0; i < w->n; i++) {
    window_axis *a = &w->a[i];
    if (!a->n) return ir_error(op, NULL, "axis %d has no elements", a->axis);
    a->kernel = a->n, a->stride = a->dilation = a->out = 1;
  }
  return NULL;
}

/* The axes, and how windows move. */
static tsr_status read_axes(const ir_op *op, const int64_t *kernel, image_window *w) {
  const ir_type *x = op->operands[0]->type;
  const char *layout = ir_get_str(op, "layout", "nchw");
  int64_t strides[TSR_MAX_RANK], dilations[TSR_MAX_RANK];
  *w = (image_window){0};
  TSR_TRY(window_rank(op, x, &w->n));
  const bool last = !strcmp(layout, "nhwc");
  if (!last && strcmp(layout, "nchw")) return ir_error(op, "nchw or nhwc", "unknown layout \"%s\"", layout);
  for (int i = 0; i < w->n; i++) w->a[i].axis = i + (last ? 1 : 2), w->a[i].n = x->dims[w->a[i].axis];
  if (!kernel) return NULL;
  TSR_TRY(read_list(op, "strides", w->n, 1, strides));
  TSR_TRY(read_list(op, "dilations", w->n, 1, dilations));
  for (int i = 0; i < w->n; i++)
    w->a[i].kernel = kernel[i], w->a[i].stride = strides[i], w->a[i].dilation = dilations[i];
  return NULL;
}

tsr_status window_read(const ir_op *op, const int64_t *kernel, bool ceil, image_window *w) {
  TSR_TRY(read_axes(op, kernel, w));
  return kernel ? read_padding(op, w, ceil) : whole_image(op, w, ceil);
}

/* The image that has `out` windows. */
static tsr_status extend(const ir_op *op, window_axis *a, int64_t extra) {
  const int64_t span = window_span(a);
  if (extra >= a->stride)
    return ir_error(op, "less than the stride", "output_padding of %lld for a stride of %lld", (long long)extra,
                    (long long)a->stride);
  if (a->low >= span || a->high >= span)
    return ir_error(op, "windows of padding alone say nothing", "padding of %lld and %lld for windows that span %lld",
                    (long long)a->low, (long long)a->high, (long long)span);
  if (a->out == IR_DYNAMIC || !a->out) return a->n = a->out, NULL;
  if (__builtin_mul_overflow(a->out - 1, a->stride, &a->n) ||
      __builtin_add_overflow(a->n, span - a->low - a->high + extra, &a->n))
    return ir_error(op, NULL, "axis %d of the result overflows 64 bits", a->axis);
  return a->n >= 1 ? NULL : ir_error(op, "pad less", "axis %d of the result has no elements", a->axis);
}

tsr_status window_read_back(const ir_op *op, const int64_t *kernel, image_window *w) {
  const char *how = ir_get_str(op, "padding", "explicit");
  const bool lower = !strcmp(how, "same_lower"), same = lower || !strcmp(how, "same");
  int64_t low[TSR_MAX_RANK], high[TSR_MAX_RANK], extra[TSR_MAX_RANK];
  TSR_TRY(read_axes(op, kernel, w));
  if (!same && strcmp(how, "explicit"))
    return ir_error(op, "explicit, same or same_lower", "unknown padding \"%s\"", how);
  if (same && (ir_get_attr(op, "output_padding") || ir_get_attr(op, "low") || ir_get_attr(op, "high")))
    return ir_error(op, "leave them out", "padding = \"%s\" leaves nothing to low, high and output_padding", how);
  TSR_TRY(read_list(op, "low", w->n, 0, low));
  TSR_TRY(read_list(op, "high", w->n, 0, high));
  TSR_TRY(read_list(op, "output_padding", w->n, 0, extra));
  for (int i = 0; i < w->n; i++) {
    window_axis *a = &w->a[i];
    a->out = a->n, a->low = low[i], a->high = high[i];
    if (!same) {
      TSR_TRY(extend(op, a, extra[i]));
      continue;
    }
    if (a->out == IR_DYNAMIC) continue;
    if (__builtin_mul_overflow(a->out, a->stride, &a->n))
      return ir_error(op, NULL, "axis %d of the result overflows 64 bits", a->axis);
    pad_same(a, lower);
  }
  return NULL;
}
