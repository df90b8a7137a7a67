/* core/dist/overlap.h - how much of each step of a schedule goes on beside the other streams' steps. */
#ifndef CORE_DIST_OVERLAP_H
#define CORE_DIST_OVERLAP_H
#include "core/dist/steps.h"

typedef struct dist_span {
  double from, to; /* us */
} dist_span;

/* us[i]: of step i's span, how much lies within spans of other streams. A stream's spans follow each other. Returns how
 * often spans were compared: no more often than there are steps and pairs that overlap. */
int64_t dist_overlap(const dist_schedule *s, const dist_span *spans, double *us);
#endif
