/* core/emit/spirv/reach.h - which bytes of their buffers the blocks of a kernel reach, so that a buffer larger than
 * what a descriptor takes (tsr_caps::max_range_bytes) is bound piece by piece: the grid is cut into boxes of blocks
 * that each keep within a window of every argument. */
#ifndef CORE_EMIT_SPIRV_REACH_H
#define CORE_EMIT_SPIRV_REACH_H
#include "core/device/backend.h"
#include "core/ir/ir.h"

/* Cuts the grids of a module's kernels, d[i] each, into d[i].slabs, which live in `a`, with the sizes of arguments that
 * its programs launch them with; leaves alone those whose arguments all fit. TSR_UNSUPPORTED: one block reaches more of
 * an argument than that. */
tsr_status emit_spirv_slabs(const ir_module *target, const tsr_caps *caps, arena *a, be_kernel_desc *d);

#endif
