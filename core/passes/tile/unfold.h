/* core/passes/tile/unfold.h - windows that move over an image (ops of kind GRAPH_WINDOWS) as a tessera.tile.unfold, and
 * that written out as a gather, whose region computes the image's coordinates. */
#ifndef CORE_PASSES_TILE_UNFOLD_H
#define CORE_PASSES_TILE_UNFOLD_H
#include "core/ir/tile/unfold.h"
#include "core/passes/tile/build.h"

/* The tile [s->tm, s->tn] at s->at of the windows op, whose operand lies in memory; s: its result's space. swapped: the
 * tile's transpose, [s->tn, s->tm]. */
tsr_status kb_unfold(kb_kernel *k, const ir_op *op, const kb_space *s, bool swapped, ir_value **out);
/* How many of the windows a block of the CPU multiplies if it reads them in place, line by line of the image: about n,
 * or as many as its caches hold; 0: they have no lines, or are collected. */
int64_t kb_unfold_places(const ir_op *op, int64_t n);
/* The block of the CPU for windows that Winograd's transforms take: rows of weights, of which there are *m, and places,
 * in whole lines of tiles. The work of all cores is alike. */
void kb_winograd_block(const ir_op *op, int64_t batch, int64_t cores, int64_t *m, int64_t *n);
/* Its elements as a fragment of type t or, t being NULL, in the shared tile; at: batch, row and column in place of the
 * op's own. NULL when out of memory. */
ir_op *unfold_gather(ir_builder *b, const ir_op *unfold, ir_value *const at[UNFOLD_N_INDICES], const ir_type *t,
                     ir_value *shared);
#endif
