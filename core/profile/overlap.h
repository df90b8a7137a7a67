/* core/profile/overlap.h - how much of a device's copies went on beside its kernels: of events that stand on the
 * device's own clock (prof_event.device_clock), the times in which any copy ran, any kernel ran, and both did. */
#ifndef CORE_PROFILE_OVERLAP_H
#define CORE_PROFILE_OVERLAP_H
#include "core/base/str.h"
#include "core/profile/profile.h"

typedef struct prof_overlap {
  const char *device; /* the log's */
  const char *waits;  /* why its copies can't run beside kernels, as its backend says; "" = they can */
  double copy_ns, kernel_ns, both_ns;
  double part; /* both over the shorter of the two; negative where one of them is 0 */
} prof_overlap;

/* A row for each device that copied, in order of first appearance; free with al_free_array(al, *out, *n). */
TSR_MUST_USE tsr_status prof_overlaps(const prof_log *l, const tsr_allocator *al, prof_overlap **out, size_t *n);

/* A line each; nothing where nothing was copied. */
TSR_MUST_USE tsr_status overlap_text(const prof_log *l, strb *out);
/* The rows as the elements of a JSON array, without its brackets. */
TSR_MUST_USE tsr_status overlap_json(const prof_log *l, strb *out);
#endif
