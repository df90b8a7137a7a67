/* core/passes/schedule/in_place.h - kernels that write into the memory of an operand. A scatter's result is its first
 * operand but for a few elements: where nothing reads that operand's memory afterwards, the kernel is marked `in_place`
 * and writes these alone. The memory is a temporary's, or an input's whose result is returned: the caller may bind both
 * to one buffer (it donates it), else the runtime copies the input before the run. */
#ifndef CORE_PASSES_SCHEDULE_IN_PLACE_H
#define CORE_PASSES_SCHEDULE_IN_PLACE_H
#include "core/passes/switches.h"

/* Marks the kernels of a schedule.program; each decision is a line of the trace. Uses the values' scratch. */
tsr_status sched_mark_in_place(ir_op *program, const pass_options *opts);
#endif
