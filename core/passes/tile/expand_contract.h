/* core/passes/tile/expand_contract.h - contractions written out: tessera.tile.contract becomes the loop over k with its
 * copies, wait and gemm, then loads, maps and stores. For the lowerings that work op by op. */
#ifndef CORE_PASSES_TILE_EXPAND_CONTRACT_H
#define CORE_PASSES_TILE_EXPAND_CONTRACT_H
#include "core/device/caps.h"
#include "core/ir/ir.h"

/* Expands the contractions of the module's kernels but those that `takes` (NULL: none) is true of; verifies what it
 * changed. */
typedef bool (*tile_takes_fn)(const ir_op *contract, const tsr_caps *caps);
TSR_MUST_USE tsr_status tile_expand_contract(ir_module *m, tile_takes_fn takes, const tsr_caps *caps);
#endif
