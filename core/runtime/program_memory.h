/* core/runtime/program_memory.h - parts of rt_plan: the launches' direct dependencies, found from the memory that they
 * touch. */
#ifndef CORE_RUNTIME_PROGRAM_MEMORY_H
#define CORE_RUNTIME_PROGRAM_MEMORY_H
#include "core/runtime/internal.h"

/* Fills waits of all launches, the latest first: who wrote what a launch reads, who read or wrote what it writes. What
 * a waited-for launch already waits for is left out, as far as it lies within the last RT_WAIT_WINDOW launches. */
enum { RT_WAIT_WINDOW = 1024 };
tsr_status rt_make_waits(tsr_program *p);
#endif
