/* core/runtime/profile.h - a program profiled on operands that the caller has. */
#ifndef CORE_RUNTIME_PROFILE_H
#define CORE_RUNTIME_PROFILE_H
#include "tessera/profile.h"

/* `steps` runs (0: 10), after 3 that are not recorded. The device's rates, which verdicts need, are measured where the
 * cache doesn't have them. `copies`: each step's inputs are copied from the host's memory while the step before it
 * runs, and its results back while the one after it does, on a stream of their own. */
TSR_MUST_USE tsr_status rt_profile(tsr_program *p, const tsr_binding *in, const tsr_binding *out, int steps,
                                   bool copies, tsr_profile **prof);
/* profile_beside.c: those steps. */
TSR_MUST_USE tsr_status rt_profile_steps_beside(tsr_profile *prof, tsr_program *p, const tsr_binding *in,
                                                const tsr_binding *out, int steps);
#endif
