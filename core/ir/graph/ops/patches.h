/* core/ir/graph/ops/patches.h - the matrix of windows that move over an image, which convolutions multiply: an index
 * map of the product that reads it, a tensor only where something else does. */
#ifndef CORE_IR_GRAPH_OPS_PATCHES_H
#define CORE_IR_GRAPH_OPS_PATCHES_H
#include "core/ir/graph/ops/compose_window.h"

/* How windows become a matrix: of each entry of the batch and each group [places, elements of a window]; of all entries
 * of a group, `flat`. Elements are [kernel.., channels] where the image has its channels last, else [channels,
 * kernel..]; reversed: those of the kernel from its end. */
typedef struct patches {
  image_window w;
  int64_t groups, channels; /* channels: of a group */
  bool last, reversed, flat;
  int winograd; /* a product may read windows of 3x3 by tiles of so many results along each axis; 0: none */
} patches;

/* How many lines of `out` windows' places a block of the CPU may have with Winograd's transforms: the part of the image
 * that it reaches has 2^20 elements (emit_cpu_convolve_reach). */
#define PATCHES_WINOGRAD_PLACES(channels, out) ((1 << 20) / ((channels) * ((out) + 4)) - 3)

/* Whether an op's images have their channels last. */
bool patches_last(const ir_op *op);
tsr_status patches_read(const ir_op *op, patches *out);
/* The matrices of x: [(groups,) n places, k] if flat, else [n, (groups,) places, k], k = channels times the kernel. */
ir_value *patches_build(ir_builder *b, ir_value *x, const patches *p);
/* Windows of an image, or elements of a window. */
int64_t patches_places(const image_window *w);
/* Windows of 3x3 neighbours at all places of two axes. */
bool patches_are_3x3(const image_window *w);
#endif
