/* core/emit/spirv/call.h - how a kernel is called; backends/vulkan relies on it. Entry point "main"; push constants
 * hold the buffers' 64-bit addresses in argument order, 8 bytes each; a kernel with more than EMIT_SPIRV_MAX_PUSH
 * arguments gets one address instead, of a table of those 64-bit addresses in device memory.
 *
 * Where tsr_caps::descriptors says so, the buffer of argument i is the storage buffer with binding i of descriptor set
 * 0, all variables of a binding being views of it; push constants then hold 32-bit numbers, for each argument the byte
 * of its buffer at which it starts, and there are at most EMIT_SPIRV_MAX_BINDINGS.
 *
 * A kernel whose grid has an axis above EMIT_SPIRV_MAX_GROUPS reads its first block from three 32-bit numbers at
 * EMIT_SPIRV_BASE, so that the grid can be cut into dispatches that every device takes. Block size is literal; the
 * subgroup size is the pipeline's matter. */
#ifndef CORE_EMIT_SPIRV_CALL_H
#define CORE_EMIT_SPIRV_CALL_H
#include <stdbool.h>
#include <stdint.h>

enum { EMIT_SPIRV_MAX_PUSH = 14, EMIT_SPIRV_BASE = 112, EMIT_SPIRV_MAX_GROUPS = 65535 };
enum { EMIT_SPIRV_MAX_BINDINGS = EMIT_SPIRV_BASE / 4, EMIT_SPIRV_MAX_VIEWS = 8 * EMIT_SPIRV_MAX_BINDINGS };

static inline bool emit_spirv_rebased(const int64_t *grid) {
  return grid[0] > EMIT_SPIRV_MAX_GROUPS || grid[1] > EMIT_SPIRV_MAX_GROUPS || grid[2] > EMIT_SPIRV_MAX_GROUPS;
}

#endif
