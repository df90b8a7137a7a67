/* core/runtime/tuned.c - see tuned.h. */
#include "core/runtime/tuned.h"

#include <string.h>

#include "core/ir/schedule/schedule.h"

bool rt_tune_is_fixed(const ir_op *kernel) {
  sched_params p;
  sched_read(kernel, &p);
  return !p.autotune && sched_any_set(&p);
}

bool rt_was_tuned(const tsr_program *p, const char *kernel) {
  for (const struct rt_tuned *t = p->tuned; t; t = t->next)
    if (!strcmp(t->kernel, kernel)) return true;
  return false;
}

bool rt_any_tuned(const tsr_program *p) { return p->tuned != NULL; }

bool rt_is_schedules_fault(tsr_status st) {
  tsr_code c = tsr_status_code(st);
  return c != TSR_OUT_OF_MEMORY && c != TSR_DEVICE_LOST && c != TSR_CANCELLED && c != TSR_UNAVAILABLE &&
         c != TSR_PARSE_ERROR;
}
