/* core/ir/graph/ops/window.h - windows that move over the spatial axes of images, which are [batch, channels, 1 to 3
 * spatial axes] or have the channels last: the attributes that say how, and the result's extents. */
#ifndef CORE_IR_GRAPH_OPS_WINDOW_H
#define CORE_IR_GRAPH_OPS_WINDOW_H
#include "core/ir/graph/ops/row.h"

enum { WINDOW_AXES = 3 };

/* Along one axis, element t of the window at place o is element o * stride - low + t * dilation of the image. */
typedef struct window_axis {
  int axis;       /* of the image */
  int64_t n, out; /* extents of the image and of the result; IR_DYNAMIC: unknown */
  int64_t kernel, stride, dilation;
  int64_t low, high; /* padding */
} window_axis;

typedef struct image_window {
  int n; /* spatial axes */
  window_axis a[WINDOW_AXES];
} image_window;

#define WINDOW_ATTRS \
  {"strides", IR_A_ARRAY, false, NULL, "distance of neighbouring windows along each spatial axis; 1 if absent"}, \
  {"dilations", IR_A_ARRAY, false, NULL, "distance of neighbouring elements of a window; 1 if absent"}, \
  {"low", IR_A_ARRAY, false, NULL, "padding before each spatial axis, smaller than what a window spans; 0 if absent"}, \
  {"high", IR_A_ARRAY, false, NULL, "padding after it"}, \
  {"padding", IR_A_STR, false, "explicit", \
   "explicit: low and high; same: as much as gives ceil(extent / stride) windows, an odd element after the axis; " \
   "same_lower: before it"}, \
  {"layout", IR_A_STR, false, "nchw", "nchw: channels are axis 1; nhwc: the last"}

/* The window of op on its first operand, an image, which is checked; kernel: its extents; NULL: all of the image, and
 * then there are no other attributes but the layout. ceil: where the last elements don't fill a window, one more that
 * begins on the image or its low padding. */
tsr_status window_read(const ir_op *op, const int64_t *kernel, bool ceil, image_window *out);
/* The window of which op, on the result of a convolution, goes back to the image: its first operand's places are the
 * windows. The image is as long as these need, or op's output_padding longer, which is less than a stride. */
tsr_status window_read_back(const ir_op *op, const int64_t *kernel, image_window *out);
/* How many spatial axes an image of that type has; fails where it is none. */
tsr_status window_rank(const ir_op *op, const ir_type *image, int *out);

/* Elements of the image from a window's first to its last. */
static inline int64_t window_span(const window_axis *a) { return (a->kernel - 1) * a->dilation + 1; }
/* What a window has. */
static inline double window_size(const image_window *w) {
  double n = 1;
  for (int i = 0; i < w->n; i++) n *= (double)w->a[i].kernel;
  return n;
}
#endif
