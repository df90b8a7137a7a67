/* core/passes/cpu/from_tile.h - Tile IR to Target IR of the CPU dialect. */
#ifndef CORE_PASSES_CPU_FROM_TILE_H
#define CORE_PASSES_CPU_FROM_TILE_H
#include "core/device/caps.h"
#include "core/ir/ir.h"

/* Lowers every program and kernel of the module into a new module (the input stays). TSR_UNSUPPORTED names what can't
 * be computed. */
tsr_status tile_to_cpu(const ir_module *tile, const tsr_caps *caps, ir_module **out);
#endif
