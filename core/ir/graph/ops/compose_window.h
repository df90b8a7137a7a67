/* core/ir/graph/ops/compose_window.h - writing composite ops on images whose windows move: padding, the elements of all
 * windows at one place in them, and what their backward forms need. Builder calls give NULL once one has failed. */
#ifndef CORE_IR_GRAPH_OPS_COMPOSE_WINDOW_H
#define CORE_IR_GRAPH_OPS_COMPOSE_WINDOW_H
#include "core/ir/graph/ops/compose.h"
#include "core/ir/graph/ops/window.h"

/* x and what the windows reach beyond it. */
ir_value *window_surround(ir_builder *b, ir_value *x, const image_window *w, double value);
/* Element t[i] along each axis of every window, of an image that is surrounded. */
ir_value *window_element(ir_builder *b, ir_value *x, const image_window *w, const int64_t *t);
/* The next element of a window; false behind the last. */
bool window_next(const image_window *w, int64_t *t);
/* The n places from `start` on along an axis, `stride` apart. */
ir_value *window_part(ir_builder *b, ir_value *x, int axis, int64_t start, int64_t n, int64_t stride);
/* Puts stride - 1 zeros behind each element of g along the axes of w. */
ir_value *window_dilate(ir_builder *b, ir_value *g, const image_window *w);
#endif
