/* core/passes/lower.h - Tile IR to Target IR, for the dialect of the device. */
#ifndef CORE_PASSES_LOWER_H
#define CORE_PASSES_LOWER_H
#include "core/device/caps.h"
#include "core/ir/ir.h"

/* Lowers every program and kernel of the module into a new module (the input stays). TSR_UNSUPPORTED names the limit or
 * the missing capability. */
tsr_status tile_to_target(const ir_module *tile, const tsr_caps *caps, ir_module **out);
#endif
