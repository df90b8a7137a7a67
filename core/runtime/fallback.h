/* core/runtime/fallback.h - what a program keeps for the case that its stored schedule fails, and what is done then. A
 * stored schedule is trusted once it was seen to run to its end on the device: until then the first run of a program
 * that has one waits for it, so that a kernel which only faults while it runs is found while there is a way back. */
#ifndef CORE_RUNTIME_FALLBACK_H
#define CORE_RUNTIME_FALLBACK_H
#include "core/runtime/internal.h"

enum { RT_MOST_FALLS = 2 }; /* to the runner-up, to the untuned schedule */

/* What lies above: the compiler, and the tuner's cache. */
typedef struct rt_spare_calls {
  rt_compile_fn compile;
  void (*failed)(tsr_program *p, const tsr_compile_options *o, rt_compile_fn compile);
  void (*ran)(tsr_program *p, const tsr_compile_options *o);
} rt_spare_calls;

typedef struct rt_spare {
  ir_module *module; /* as it was before lowering */
  tsr_compile_options options;
  rt_spare_calls calls;
  bool seen; /* all its stored schedules have run here */
} rt_spare;

/* Of a program with tuned schedules; takes the module. Out of memory is no failure: the program then has no other
 * schedule. */
void rt_keep_spare(tsr_program *p, ir_module *m, const tsr_compile_options *o, rt_spare_calls calls, bool seen);
void rt_drop_spare(tsr_program *p);
/* Is its run on s to be waited for, before and after? Before: what fails then is earlier work's. */
bool rt_must_see(const tsr_program *p, const tsr_stream *s);
/* It has run to its end. */
void rt_saw(tsr_program *p);
/* A stored schedule failed to do `what`, and p has another one: told in its trace and in the log. */
void rt_note_fall(tsr_program *p, const char *what, tsr_status failure);
/* True: the program has another schedule now and may be run again. The failure stays the caller's. */
bool rt_fall_back(tsr_program *p, tsr_status failure);
/* The device was lost on such a run: the next process does without the schedule. Takes `failure`; what the user is to
 * read. */
tsr_status rt_lost_by_schedule(tsr_program *p, tsr_status failure);
#endif
