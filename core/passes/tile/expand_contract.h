/* core/passes/tile/expand_contract.h - contractions written out: tessera.tile.contract becomes the loop over k with its
 * copies, wait and gemm, then loads, maps and stores. For the lowerings that work op by op. */
#ifndef CORE_PASSES_TILE_EXPAND_CONTRACT_H
#define CORE_PASSES_TILE_EXPAND_CONTRACT_H
#include "core/device/caps.h"
#include "core/ir/ir.h"

/* What a lowering takes of a contraction as it stands. */
typedef enum tile_takes { TAKES_NOTHING, TAKES_SUM /* but not its epilogue */, TAKES_ALL } tile_takes;
/* *why: where it takes nothing, what it would have needed, if there is a lowering that was asked; else as it was. */
typedef tile_takes (*tile_takes_fn)(const ir_op *contract, const tsr_caps *caps, const char **why);

/* Expands what `takes` (NULL: nothing is taken) leaves of the module's contractions; verifies what it changed. A loop
 * gets the reason as its attribute `refused`: no lowering reads it as a contraction again. */
TSR_MUST_USE tsr_status tile_expand_contract(ir_module *m, tile_takes_fn takes, const tsr_caps *caps);
#endif
