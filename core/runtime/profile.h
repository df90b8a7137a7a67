/* core/runtime/profile.h - a program profiled on operands that the caller has. */
#ifndef CORE_RUNTIME_PROFILE_H
#define CORE_RUNTIME_PROFILE_H
#include "tessera/profile.h"

/* `steps` runs (0: 10), after 3 that are not recorded. The device's rates, which verdicts need, are measured where the
 * cache doesn't have them. */
TSR_MUST_USE tsr_status rt_profile(tsr_program *p, const tsr_binding *in, const tsr_binding *out, int steps,
                                   tsr_profile **prof);
#endif
