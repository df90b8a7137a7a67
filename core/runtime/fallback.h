/* core/runtime/fallback.h - what is done when a stored schedule fails to compile, and what a program keeps for the case
 * that it fails to launch. */
#ifndef CORE_RUNTIME_FALLBACK_H
#define CORE_RUNTIME_FALLBACK_H
#include "core/runtime/internal.h"
#include "core/runtime/spills.h"

enum { RT_MOST_FALLS = 2 }; /* to the runner-up, to the untuned schedule */

typedef struct rt_spare {
  ir_module *module; /* as it was before lowering */
  tsr_compile_options options;
} rt_spare;

/* compile.c: one try, which takes m. After a failure *failed, where it is asked for, is what there was of the program,
 * for rt_tune_failed. */
tsr_status rt_compile_once(tsr_device *dev, ir_module *m, const tsr_compile_options *o, rt_lighter *lighter,
                           tsr_program **out, tsr_program **failed);
/* The same with the cache's schedules: one that doesn't compile, where the untuned program does, loses its place in the
 * cache and gives way to its runner-up, then to the default. */
tsr_status rt_compile_cached(tsr_device *dev, ir_module *m, const tsr_compile_options *o, rt_lighter *lighter,
                             tsr_program **out);
/* Of a failed compilation: not the machine's (memory, a lost device) nor the caller's. */
bool rt_is_schedules_fault(tsr_status st);

/* Of a program with tuned schedules; takes the module. Out of memory is no failure: the program then has no other
 * schedule. */
void rt_keep_spare(tsr_program *p, ir_module *m, const tsr_compile_options *o);
void rt_drop_spare(tsr_program *p);
/* True: the program has another schedule now and may be run again. The failure stays the caller's. */
bool rt_fall_back(tsr_program *p, tsr_status failure);
#endif
