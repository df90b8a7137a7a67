/* core/runtime/profile_launch.h - what a launch of a program is, as an event of a profile and as facts for the
 * audit. */
#ifndef CORE_RUNTIME_PROFILE_LAUNCH_H
#define CORE_RUNTIME_PROFILE_LAUNCH_H
#include "core/passes/tile/work.h"
#include "core/profile/audit.h"
#include "core/profile/report.h"
#include "core/runtime/internal.h"
#include "core/tune/device.h"

/* What the kernel's block program does; false when the program began below that level. */
bool rt_profile_work(const tsr_program *p, const char *kernel, tile_work *out);
/* Launch i but for its times; op and detail are what the event points to. */
void rt_profile_describe(const tsr_program *p, int i, const tune_device *d, const tile_work *w, prof_event *e,
                         char op[64], char detail[128]);
/* Of a launch that was described. */
audit_kernel rt_profile_facts(arena *mem, const tsr_program *p, const prof_event *e, const tune_device *d,
                              const tile_work *w, bool has_work);
#endif
