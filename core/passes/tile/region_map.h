/* core/passes/tile/region_map.h - the elementwise regions of structured ops written out: what they read is loaded, what
 * they compute becomes a map. */
#ifndef CORE_PASSES_TILE_REGION_MAP_H
#define CORE_PASSES_TILE_REGION_MAP_H
#include "core/ir/ir.h"

enum { REGION_MAP_MOST = 130 }; /* operands of a map */

ir_value *region_fill(ir_builder *b, tsr_dtype t, int64_t rows, int64_t columns);
ir_value *region_transposed(ir_builder *b, ir_value *v);
/* The width that `op` asks for, if any, noted in an access of memory outside the block. */
bool region_note_width(const ir_op *op, ir_op *access);
/* What an operand of op stands for: the tile in memory, in the argument's type, transposed where it is asked for. */
ir_value *region_load(ir_builder *b, const ir_op *op, ir_value *v, const ir_type *argument, bool transpose);
/* The region as a map over frags (NULL where its argument is not used), one result for each of the n values `yields`;
 * rows x columns: the shape, which a fragment of zeros gives where the operands don't. NULL: out of memory,
 * or refused. */
ir_op *region_map(ir_builder *b, const ir_block *region, ir_value *const *frags, const int *yields, int n, int64_t rows,
                  int64_t columns);

/* A region as one map an op, which tile_fuse_maps joins where one result has one reader: what repeats along a dimension
 * is then computed once, what several results need too. region_begin forgets what was there; then the data fields of
 * the region's arguments say which fragments they are, and those of its ops' results become what region_op makes of
 * them. Constants, positions and indices stay NULL and are computed inside each map that needs them. */
void region_begin(const ir_block *region);
tsr_status region_op(ir_builder *b, const ir_block *region, ir_op *op, int64_t rows, int64_t columns);
/* The value v that the region yields as a fragment of rows x columns. */
tsr_status region_result(ir_builder *b, const ir_block *region, ir_value *v, int64_t rows, int64_t columns,
                         ir_value **out);
#endif
