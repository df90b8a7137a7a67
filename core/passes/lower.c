/* core/passes/lower.c - which lowering a device's dialect takes: the one place that knows them all. */
#include "core/passes/lower.h"

#include "core/passes/cpu/from_tile.h"
#include "core/passes/simt/simt.h"
#include "core/passes/tile/expand_contract.h"

tsr_status tile_expand(ir_module *tile, const tsr_caps *caps) {
  return tile_expand_contract(tile, caps->dialect == DIALECT_CPU ? cpu_takes_contract : simt_takes_contract, caps);
}

tsr_status tile_to_target(const ir_module *tile, const tsr_caps *caps, ir_module **out) {
  return caps->dialect == DIALECT_CPU ? tile_to_cpu(tile, caps, out) : tile_to_simt(tile, caps, out);
}
