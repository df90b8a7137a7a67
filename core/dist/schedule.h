/* core/dist/schedule.h - a rank's program as steps on two streams: computing on one, collectives on the other. Work
 * that needs no collective that is under way goes first, a collective begins as soon as its operand is there, small
 * ones of a kind go as one. A step waits for steps of the other stream that it names, and for those before it on its
 * own. Memory is one workspace: a place is used again once all that touch it are known to be over. */
#ifndef CORE_DIST_SCHEDULE_H
#define CORE_DIST_SCHEDULE_H
#include "core/dist/steps.h"

typedef struct dist_schedule_options {
  bool one_stream;      /* collectives among the computing, in order */
  int64_t bucket_bytes; /* collectives of a kind are joined up to this many; 0: never */
} dist_schedule_options;

/* What buckets are where nobody says: a quarter of all that is joined, so that the first ones go beside the computing
 * of the last ones, from 1 MiB, below which latencies count, to 25 MiB, above which joining saves nothing. */
int64_t dist_bucket_bytes(const ir_op *func);
/* The scratch of func's values becomes their slots (-1: none). func must outlive the schedule. */
TSR_MUST_USE tsr_status dist_schedule_make(ir_op *func, const dist_schedule_options *o, dist_schedule *out);
void dist_schedule_clear(dist_schedule *s);

/* For explanations and tests: a line a step. */
void dist_schedule_print(strb *b, const dist_schedule *s);
#endif
