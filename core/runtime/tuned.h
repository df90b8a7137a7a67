/* core/runtime/tuned.h - which kernels have a schedule of the tuner's, and which have one that their author wrote. */
#ifndef CORE_RUNTIME_TUNED_H
#define CORE_RUNTIME_TUNED_H
#include "core/runtime/internal.h"

/* Did the author of a schedule.kernel write parameters, without leaving the choice to the tuner? */
bool rt_tune_is_fixed(const ir_op *kernel);
/* Did this kernel's schedule come from the tuner? */
bool rt_was_tuned(const tsr_program *p, const char *kernel);
bool rt_any_tuned(const tsr_program *p);
/* Of a failed compilation: not the machine's (memory, a lost device) nor the caller's. */
bool rt_is_schedules_fault(tsr_status st);
#endif
