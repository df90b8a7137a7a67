/* core/passes/lower.c - which lowering a device's dialect takes: the one place that knows them all. */
#include "core/passes/lower.h"

#include "core/passes/cpu/from_tile.h"
#include "core/passes/cpu/takes.h"
#include "core/passes/simt/simt.h"
#include "core/passes/tile/expand_contract.h"
#include "core/passes/tile/expand_row.h"
#include "core/passes/tile/fuse_maps.h"

static tile_takes of_cpu(const ir_op *contract, const tsr_caps *caps, const char **why) {
  bool epilogue;
  if (cpu_takes_contract(contract, &epilogue)) return epilogue ? TAKES_ALL : TAKES_SUM;
  *why = "the operands or the range of k are none that one call takes";
  return TAKES_NOTHING;
}

static tile_takes of_simt(const ir_op *contract, const tsr_caps *caps, const char **why) {
  return simt_takes_contract(contract, caps, why) ? TAKES_ALL : TAKES_NOTHING;
}

tsr_status tile_expand(ir_module *tile, const tsr_caps *caps) {
  const bool cpu = caps->dialect == DIALECT_CPU;
  if (cpu) TSR_TRY(tile_raise_rows(tile));
  if (cpu) TSR_TRY(tile_sink_maps(tile));
  TSR_TRY(tile_expand_row(tile, cpu ? cpu_takes_row : NULL, caps));
  return tile_expand_contract(tile, cpu ? of_cpu : of_simt, caps);
}

tsr_status tile_to_target(const ir_module *tile, const tsr_caps *caps, ir_module **out) {
  return caps->dialect == DIALECT_CPU ? tile_to_cpu(tile, caps, out) : tile_to_simt(tile, caps, out);
}
