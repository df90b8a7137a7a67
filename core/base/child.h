/* core/base/child.h - runs a program in a process of its own and reads its standard output line by line, with a
 * deadline: for what may crash or hang. Its standard input and error are /dev/null. */
#ifndef CORE_BASE_CHILD_H
#define CORE_BASE_CHILD_H
#include <stdbool.h>

#include "tessera/probe.h"

/* Runs `program` with call->argv; returns its exit status, minus the number of the signal that ended it,
 * TSR_PROBE_HUNG (it is then killed) or TSR_PROBE_NOT_STARTED. A line longer than 1000 bytes is cut. */
int child_run(const char *program, const tsr_probe_call *call);
#endif
