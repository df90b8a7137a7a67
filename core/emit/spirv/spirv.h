/* core/emit/spirv/spirv.h - Target IR to SPIR-V 1.6 words for Vulkan 1.3, one module per kernel. No compiler in
 * between.
 *
 * How a kernel is called (backends/vulkan relies on it): entry point "main"; push constants hold the buffers' 64-bit
 * addresses in argument order, 8 bytes each; a kernel with more than EMIT_SPIRV_MAX_PUSH arguments gets one address
 * instead, of a table of those 64-bit addresses in device memory. A kernel whose grid has an axis above
 * EMIT_SPIRV_MAX_GROUPS reads its first block from three 32-bit numbers at EMIT_SPIRV_BASE, so that the grid can be cut
 * into dispatches that every device takes. Block size is literal; the subgroup size is the pipeline's matter. */
#ifndef CORE_EMIT_SPIRV_SPIRV_H
#define CORE_EMIT_SPIRV_SPIRV_H
#include "core/device/backend.h"
#include "core/ir/ir.h"

enum { EMIT_SPIRV_MAX_PUSH = 14, EMIT_SPIRV_BASE = 112, EMIT_SPIRV_MAX_GROUPS = 65535 };

static inline bool emit_spirv_rebased(const int64_t *grid) {
  return grid[0] > EMIT_SPIRV_MAX_GROUPS || grid[1] > EMIT_SPIRV_MAX_GROUPS || grid[2] > EMIT_SPIRV_MAX_GROUPS;
}

/* All kernels of the module; everything `out` points to lives in `a`. TSR_UNSUPPORTED names a capability the device
 * lacks. */
tsr_status emit_spirv(const ir_module *target, const tsr_caps *caps, arena *a, be_module_desc *out);
/* The text of all modules, each headed by a comment with the kernel's name. */
tsr_status emit_spirv_source(const ir_module *target, const tsr_caps *caps, strb *out);
/* One module as text in the manner of spirv-dis. */
void emit_spirv_disassemble(const uint32_t *words, size_t n, strb *out);

#endif
