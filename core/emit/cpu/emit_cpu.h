/* core/emit/cpu/emit_cpu.h - Target IR of the CPU dialect: the code image of emit/cpu/code.h, a listing to read. */
#ifndef CORE_EMIT_CPU_EMIT_CPU_H
#define CORE_EMIT_CPU_EMIT_CPU_H
#include "core/device/backend.h"
#include "core/ir/ir.h"

tsr_status emit_cpu(const ir_module *target, const tsr_caps *caps, arena *a, be_module_desc *out);
tsr_status emit_cpu_source(const ir_module *target, strb *out);
#endif
