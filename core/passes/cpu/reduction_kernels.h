/* core/passes/cpu/reduction_kernels.h - which ops of a Tile IR block become fused reduction kernels on the CPU: row
 * ops, which are taken whole, and maps that scale rows (the end of a graph's own norm). A row is then read from cache
 * by few passes, and 16-bit rows are never copied to f32 first: loads that only such ops read are none. Not under
 * kahan_sum. The order of their sums is fixed by the row's length alone, so "deterministic" may use them. The kernel's
 * attribute `reduction_kernels = false` (the switch reduction_kernels) leaves them out. What an op is, its recipe or
 * region says: nothing is put together from several ops here. */
#ifndef CORE_PASSES_CPU_REDUCTION_KERNELS_H
#define CORE_PASSES_CPU_REDUCTION_KERNELS_H
#include "core/passes/cpu/row_plan.h"

/* Plans one block (not its nested regions). Fails only when out of memory. */
tsr_status rows_plan(row_plan *p, const ir_block *block);
/* What to do with op; NULL = lower it as any other. */
const row_act *rows_find(const row_plan *p, const ir_op *op);
void rows_clear(row_plan *p);
#endif
