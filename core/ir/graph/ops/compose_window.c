/* core/ir/graph/ops/compose_window.c - see compose_window.h. */
#include "core/ir/graph/ops/compose_window.h"

#include "core/base/int_math.h"

ir_value *window_surround(ir_builder *b, ir_value *x, const image_window *w, double value) {
  int64_t low[TSR_MAX_RANK] = {0}, high[TSR_MAX_RANK] = {0};
  for (int i = 0; i < w->n; i++) {
    const window_axis *a = &w->a[i];
    low[a->axis] = a->low;
    high[a->axis] = max64(0, (a->out - 1) * a->stride + window_span(a) - a->low - a->n);
  }
  return compose_pad(b, x, low, high, value);
}

ir_value *window_element(ir_builder *b, ir_value *x, const image_window *w, const int64_t *t) {
  int64_t starts[TSR_MAX_RANK] = {0}, sizes[TSR_MAX_RANK], strides[TSR_MAX_RANK];
  if (!x) return NULL;
  for (int i = 0; i < x->type->rank; i++) sizes[i] = x->type->dims[i], strides[i] = 1;
  for (int i = 0; i < w->n; i++) {
    const window_axis *a = &w->a[i];
    starts[a->axis] = t[i] * a->dilation, sizes[a->axis] = a->out, strides[a->axis] = a->stride;
  }
  return compose_take(b, x, starts, sizes, strides);
}

bool window_next(const image_window *w, int64_t *t) {
  for (int i = w->n - 1; i >= 0; i--) {
    if (++t[i] < w->a[i].kernel) return true;
    t[i] = 0;
  }
  return false;
}

ir_value *window_part(ir_builder *b, ir_value *x, int axis, int64_t start, int64_t n, int64_t stride) {
  int64_t starts[TSR_MAX_RANK] = {0}, sizes[TSR_MAX_RANK], strides[TSR_MAX_RANK];
  if (!x) return NULL;
  for (int i = 0; i < x->type->rank; i++) sizes[i] = x->type->dims[i], strides[i] = 1;
  starts[axis] = start, sizes[axis] = n, strides[axis] = stride;
  return compose_take(b, x, starts, sizes, strides);
}

ir_value *window_dilate(ir_builder *b, ir_value *g, const image_window *w) {
  int64_t split[TSR_MAX_RANK], dims[TSR_MAX_RANK], low[TSR_MAX_RANK] = {0}, high[TSR_MAX_RANK] = {0};
  int rank = 0;
  for (int d = 0; g && d < g->type->rank; d++) {
    int64_t stride = 1;
    for (int i = 0; i < w->n; i++)
      if (w->a[i].axis == d) stride = w->a[i].stride;
    split[rank++] = g->type->dims[d];
    dims[d] = g->type->dims[d] * stride;
    if (stride > 1) split[rank] = 1, high[rank++] = stride - 1;
  }
  if (!g || rank == g->type->rank) return g;
  const int outer = g->type->rank;
  g = compose_pad(b, graph_reshape(b, g, rank, split), low, high, 0);
  return g ? graph_reshape(b, g, outer, dims) : NULL;
}
