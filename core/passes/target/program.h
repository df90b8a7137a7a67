/* core/passes/target/program.h - what every lowering of Tile IR to Target IR shares: the program around the kernels,
 * and which device a Target IR text is for. */
#ifndef CORE_PASSES_TARGET_PROGRAM_H
#define CORE_PASSES_TARGET_PROGRAM_H
#include "core/device/caps.h"
#include "core/ir/ir.h"

/* Copies tile.program with its ops to target.program; shared by both. */
tsr_status tile_lower_program(const ir_op *program, ir_builder *b);

/* TSR_ARCH_MISMATCH if a kernel of a Target IR text was made for another dialect or, on GPUs, another architecture. The
 * CPU's calls run on any CPU: what its `arch` lists only chose micro-kernels. A kernel that names no architecture is
 * for all. */
tsr_status target_check_device(const ir_module *target, const tsr_caps *caps);
#endif
