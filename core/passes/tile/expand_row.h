/* core/passes/tile/expand_row.h - operations on rows written out: tessera.tile.row becomes loads, maps and reductions
 * by its recipe. For the lowerings that work op by op. */
#ifndef CORE_PASSES_TILE_EXPAND_ROW_H
#define CORE_PASSES_TILE_EXPAND_ROW_H
#include "core/device/caps.h"
#include "core/ir/ir.h"

/* Expands the row ops of the module's kernels but those that `takes` (NULL: none) is true of; joins maps in kernels
 * that it changed, and verifies them. caps: the device; NULL: any. */
TSR_MUST_USE tsr_status tile_expand_row(ir_module *m, bool (*takes)(const ir_op *row), const tsr_caps *caps);
#endif
