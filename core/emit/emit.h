/* core/emit/emit.h - Target IR to what a backend loads. Data lives in the arena given. */
#ifndef CORE_EMIT_EMIT_H
#define CORE_EMIT_EMIT_H
#include "core/device/backend.h"
#include "core/ir/ir.h"

/* Code of all kernels of the module in the dialect's format, with a be_kernel_desc each, in the order of the module. */
tsr_status emit_module(const ir_module *target, const tsr_caps *caps, arena *a, be_module_desc *out);
/* The readable form: SPIR-V disassembly, CUDA or HIP source, the listing of CPU micro-kernel calls. */
tsr_status emit_source(const ir_module *target, const tsr_caps *caps, strb *out);
#endif
