/* core/passes/schedule/transpose_operand.h - operands transposed for instructions that read them along k only. wgmma
 * takes 16-bit operands either way, 8-bit and tf32 ones only along k; a product large enough to pay for it gets a
 * kernel before it that writes the operand the other way (its bytes twice through memory, against a slower instruction
 * for all of the arithmetic). Rule in the trace: operand_transposed. */
#ifndef CORE_PASSES_SCHEDULE_TRANSPOSE_OPERAND_H
#define CORE_PASSES_SCHEDULE_TRANSPOSE_OPERAND_H
#include "core/device/caps.h"
#include "core/passes/trace.h"

/* m: Schedule IR. trace may be NULL. */
tsr_status schedule_transpose_operand(ir_module *m, const tsr_caps *caps, pass_trace *trace);
#endif
