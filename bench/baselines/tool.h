/* bench/baselines/tool.h - peers that are programs of PATH: found, and run in a process of their own. */
#ifndef BENCH_BASELINES_TOOL_H
#define BENCH_BASELINES_TOOL_H
#include "core/base/str.h"
#include "tessera/tessera.h"

/* The first program of that name in PATH. False: there is none, or its path is longer than n bytes. */
bool tool_find(const char *name, char *out, size_t n);
/* Runs the program at that path with argv, which NULL ends and whose first is its name. `out` gets what it prints to
 * its standard output, and may be NULL. TSR_UNAVAILABLE "NAME ends with status N", with what it says of an error, if
 * with_errors. It is ended where it is silent for ten minutes. */
tsr_status tool_run(const char *path, const char *const *argv, bool with_errors, strb *out) TSR_MUST_USE;
#endif
