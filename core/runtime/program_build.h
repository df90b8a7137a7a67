/* core/runtime/program_build.h - part of rt_plan: what a program has on its device. */
#ifndef CORE_RUNTIME_PROGRAM_BUILD_H
#define CORE_RUNTIME_PROGRAM_BUILD_H
#include "core/runtime/internal.h"

/* Of a planned program whose module is there. What was made before a failure goes with the program. */
tsr_status rt_build(tsr_program *p);
#endif
