/* core/ir/layout.h - the order in which a tensor's dimensions lie in memory, the slowest first: of what a function
 * takes and gives, whose memory is the application's. A digit for each dimension: "01" is row-major, "10" column-major,
 * "0231" an image n, c, h, w stored as n, h, w, c. In IR it stands behind the tensor's type: tensor<8x4xf32, {layout =
 * [1, 0]}>. No part of the type: ops know values, not memory (core/passes/graph/layouts.c makes transposes of it). */
#ifndef CORE_IR_LAYOUT_H
#define CORE_IR_LAYOUT_H
#include "core/ir/ir.h"

/* What is wrong with it for a tensor of this rank: one sentence; NULL: nothing. */
const char *ir_layout_fault(const int64_t *order, int n, int rank);
/* NULL: out of memory. */
const char *ir_layout_make(arena *a, const int64_t *order, int n);
static inline int ir_layout_dim(const char *layout, int i) { return layout[i] - '0'; }
bool ir_layout_is_row_major(const char *layout);

/* tensor<8x4xf32, {layout = [1, 0], shard = ["dp", "*"], partial = ["tp"]}>; layout and shard may be NULL, not both. */
void ir_placed_type_print(strb *b, const ir_type *t, const char *layout, const char *shard);
#endif
