/* core/passes/tile/row_again.h - what a kernel reads or has in registers of whole rows, read and computed again for a
 * chunk of their columns. */
#ifndef CORE_PASSES_TILE_ROW_AGAIN_H
#define CORE_PASSES_TILE_ROW_AGAIN_H
#include "core/ir/ir.h"

typedef struct row_columns { ir_value *zero, *from; int64_t n; } row_columns;

/* Whether v is a view of what the kernel only reads, or a fragment of the kernel's own block that elementwise regions
 * made of such. */
bool row_again_can(const ir_op *kernel, const ir_value *v);
/* All rows of these columns: of a view, and of a fragment that can be had again; what repeats along the row has them
 * all. NULL: out of memory, or refused. */
ir_value *row_again_view(ir_builder *b, const row_columns *c, ir_value *view);
ir_value *row_again(ir_builder *b, const row_columns *c, ir_value *frag);
/* One element an access. */
bool row_again_narrow(ir_op *access);
#endif
