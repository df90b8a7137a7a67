/* core/emit/spirv/spirv.h - Target IR to words of SPIR-V 1.3 to 1.6 (tsr_caps::spirv_minor), one module per kernel. No
 * compiler in between. How a kernel is called: emit/spirv/call.h. */
#ifndef CORE_EMIT_SPIRV_SPIRV_H
#define CORE_EMIT_SPIRV_SPIRV_H
#include "core/device/backend.h"
#include "core/emit/spirv/call.h"
#include "core/ir/ir.h"

/* All kernels of the module; everything `out` points to lives in `a`. TSR_UNSUPPORTED names a capability the device
 * lacks. */
tsr_status emit_spirv(const ir_module *target, const tsr_caps *caps, arena *a, be_module_desc *out);
/* The text of all modules, each headed by a comment with the kernel's name. */
tsr_status emit_spirv_source(const ir_module *target, const tsr_caps *caps, strb *out);
/* One module as text in the manner of spirv-dis. */
void emit_spirv_disassemble(const uint32_t *words, size_t n, strb *out);

#endif
