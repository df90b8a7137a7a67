/* core/emit/spirv/reach.h - which bytes of their buffers the blocks of a kernel reach, so that a buffer larger than
 * what a descriptor takes (tsr_caps::max_range_bytes) is bound piece by piece: the grid is cut into boxes of blocks
 * that each keep within a window of every argument. */
#ifndef CORE_EMIT_SPIRV_REACH_H
#define CORE_EMIT_SPIRV_REACH_H
#include "core/device/backend.h"
#include "core/ir/ir.h"

/* Cuts the grid of kernel `k`, whose arguments have bytes[i] each, into d->slabs, which live in `a`; leaves d alone
 * where all fit. TSR_UNSUPPORTED: one block reaches more of an argument than that. */
tsr_status emit_spirv_reach(const ir_op *k, const tsr_caps *caps, const int64_t *bytes, arena *a, be_kernel_desc *d);
/* The same for all kernels of a module, d[i] each, with the sizes that its programs launch them with. */
tsr_status emit_spirv_slabs(const ir_module *target, const tsr_caps *caps, arena *a, be_kernel_desc *d);

#endif
