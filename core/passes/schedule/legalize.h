/* core/passes/schedule/legalize.h - which schedules a device takes: the limits, what a schedule that breaks one
 * becomes, and lighter variants of one whose registers spill. The reason is made once, as text for people; code asks
 * for the limit. */
#ifndef CORE_PASSES_SCHEDULE_LEGALIZE_H
#define CORE_PASSES_SCHEDULE_LEGALIZE_H
#include "core/passes/schedule/family.h"

/* The limit that the kernel breaks with p, named and explained in `why`; SCHED_FITS: none. */
sched_limit sched_broken_limit(const ir_op *kernel, const tsr_caps *caps, const sched_params *p, char *why,
                               size_t why_bytes);
/* Shrinks p until it is legal: stages to 2, then k, then the larger of m and n, then no overlap. False if nothing fits.
 */
bool sched_legalize(const ir_op *kernel, const tsr_caps *caps, sched_params *p);
/* One step to a schedule that holds less in each thread's registers: more threads, or a smaller tile. False if there is
 * none. */
bool sched_lighter(const ir_op *kernel, const tsr_caps *caps, sched_params *p);
/* Leaves tessera.schedule.legalized in the kernel: what was asked for, and why it was changed. False when out of
 * memory. */
bool sched_note_legalized(ir_op *kernel, const sched_params *asked, const char *why);
/* The rules of the kernel's family. */
const sched_family_rules *sched_rules_of(const ir_op *kernel);
#endif
