/* core/passes/schedule/expand.h - the short form of a tiled product (docs/ir.md): in a kernel's body
 *   %0 = "tessera.schedule.tile"(%A, %B) {m = 128, n = 128, k = 64, autotune = true}
 * is the product of A and B under that tile, and becomes a tile without a result and that product. */
#ifndef CORE_PASSES_SCHEDULE_EXPAND_H
#define CORE_PASSES_SCHEDULE_EXPAND_H
#include "core/ir/schedule/schedule.h"

/* TSR_VERIFY_ERROR when the operands have no product of the tile's result type. */
TSR_MUST_USE tsr_status schedule_expand(ir_module *m);
#endif
