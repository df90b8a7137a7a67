/* core/runtime/spills.h - kernels whose registers spill to memory, or whose wgmma the compiler serialised, as the
 * backend tells after a compile: the program is compiled again with a lighter schedule for each, until none is left
 * that helps. Both the change and its reason stand in the Schedule IR (tessera.schedule.legalized) and in the trace
 * (rule "spill_retry"). What the author fixed is kept, and said. */
#ifndef CORE_RUNTIME_SPILLS_H
#define CORE_RUNTIME_SPILLS_H
#include "core/ir/schedule/schedule.h"
#include "core/passes/trace.h"
#include "core/runtime/internal.h"

enum { RT_MAX_LIGHTER = 16, RT_MAX_RETRIES = 12 };

/* Kernels that get another schedule than their own. Zero = none. */
typedef struct rt_lighter {
  struct {
    char kernel[160];
    sched_params params, first; /* now; what it would have had */
    char reason[128];
    bool kept;                  /* nothing lighter, or its author's */
  } v[RT_MAX_LIGHTER];
  int n;
} rt_lighter;

/* NULL, or TSR_UNSUPPORTED naming the first such kernel: for the tuner. */
tsr_status rt_refuse_heavy(const tsr_program *p);

/* While a program is lowered: which of its kernels the author has fixed, before the tuner writes to them; then the
 * lighter schedules. */
void rt_lighter_note_fixed(rt_lighter *l, const ir_module *schedule);
tsr_status rt_lighter_apply(const rt_lighter *l, ir_module *schedule, pass_trace *trace);
/* After a compile: true if l has something else to try, and there may be another try. What stays heavy is noted in p's
 * trace and logged. */
bool rt_lighter_next(rt_lighter *l, tsr_program *p, bool may);
#endif
