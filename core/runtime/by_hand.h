/* core/runtime/by_hand.h - what the caller says of kernels' schedules, over what their author or the tuner chose. */
#ifndef CORE_RUNTIME_BY_HAND_H
#define CORE_RUNTIME_BY_HAND_H
#include "core/ir/ir.h"
#include "core/passes/trace.h"

/* Each of the n schedules, for the kernels whose names begin with its own; without a name for all products. One that no
 * kernel takes is an error, which lists the kernels. */
tsr_status rt_apply_schedules(const tsr_allocator *al, const tsr_schedule *schedules, int n, ir_module *m);
/* The switches of products' schedules that `disable` has: a block of 16x16, no matrix instructions, one buffer. */
tsr_status rt_switch_off(const char *disable, pass_trace *trace, ir_module *m);
#endif
