/* core/passes/lower.h - Tile IR to Target IR, for the dialect of the device. */
#ifndef CORE_PASSES_LOWER_H
#define CORE_PASSES_LOWER_H
#include "core/device/caps.h"
#include "core/ir/ir.h"

/* Writes out, in place, the structured ops that the device's lowering doesn't take whole. */
tsr_status tile_expand(ir_module *tile, const tsr_caps *caps);
/* Lowers every program and kernel of the module into a new module. The input, which tile_expand saw, stays, but for the
 * data of its values. TSR_UNSUPPORTED names the limit or the missing capability. */
tsr_status tile_to_target(const ir_module *tile, const tsr_caps *caps, ir_module **out);
#endif
