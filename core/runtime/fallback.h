/* core/runtime/fallback.h - what a program keeps for the case that its stored schedule fails to launch, and what is
 * done then. */
#ifndef CORE_RUNTIME_FALLBACK_H
#define CORE_RUNTIME_FALLBACK_H
#include "core/runtime/internal.h"

enum { RT_MOST_FALLS = 2 }; /* to the runner-up, to the untuned schedule */

typedef struct rt_spare {
  ir_module *module; /* as it was before lowering */
  tsr_compile_options options;
} rt_spare;

/* Of a program with tuned schedules; takes the module. Out of memory is no failure: the program then has no other
 * schedule. */
void rt_keep_spare(tsr_program *p, ir_module *m, const tsr_compile_options *o);
void rt_drop_spare(tsr_program *p);
/* True: the program has another schedule now and may be run again. The failure stays the caller's. */
bool rt_fall_back(tsr_program *p, tsr_status failure);
#endif
