/* core/passes/schedule/rematerialize.h - temporaries within a budget: kernels whose results are read early and again
 * much later run a second time instead, so that the memory is free in between.
 *
 * The budget is the program's attribute `memory_budget`. What lives at a kernel is modelled as the plan of the
 * workspace has it (runtime/program_plan.c): a temporary from the kernel that writes it to the last that reads it. A
 * kernel runs again right before the first later reader of its results, from inputs, constants and temporaries that
 * live there, or that run again too: of a chain whole stretches, from one that was kept. It runs at most twice, and is
 * the same kernel with the same schedule: the bits are the same. */
#ifndef CORE_PASSES_SCHEDULE_REMATERIALIZE_H
#define CORE_PASSES_SCHEDULE_REMATERIALIZE_H
#include "core/passes/switches.h"

/* m: Schedule IR. Programs without a budget stay as they are. TSR_INVALID_ARGUMENT: no choice that was tried comes down
 * to the budget; the message has the least. */
tsr_status schedule_rematerialize(ir_module *m, const pass_options *opts);
#endif
