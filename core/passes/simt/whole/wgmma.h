/* core/passes/simt/whole/wgmma.h - the sm_90a matmul: lowers a whole canonical matmul kernel of Tile IR
 * (simt/whole/match.h) to a persistent, warp-specialised Target IR kernel with TMA, an mbarrier stage queue and wgmma.
 */
#ifndef CORE_PASSES_SIMT_WHOLE_WGMMA_H
#define CORE_PASSES_SIMT_WHOLE_WGMMA_H
#include "core/device/caps.h"
#include "core/ir/ir.h"

/* False with the reason where simt_wgmma_kernel would leave the kernel alone. */
bool simt_wgmma_takes(const ir_op *kernel, const tsr_caps *caps, const char **why);

/* Appends the Target IR kernel to m's root when this path fits; else leaves m alone, *done false, and *why says what is
 * missing. */
tsr_status simt_wgmma_kernel(const ir_op *kernel, const tsr_caps *caps, ir_module *m, bool *done, const char **why);
#endif
