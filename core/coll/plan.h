/* core/coll/plan.h - which algorithm for an operation, a size and a machine, and what each other one would take or why
 * it isn't one; and the simulation of a schedule round by round. */
#ifndef CORE_COLL_PLAN_H
#define CORE_COLL_PLAN_H
#include "core/coll/algorithm.h"
#include "core/coll/cost.h"

enum { COLL_MOST_ALGORITHMS = 32 };

typedef struct coll_estimate {
  const char *algorithm;
  const char *refused; /* a sentence; NULL: it has a time */
  double us;
} coll_estimate;

typedef struct coll_plan {
  const char *algorithm; /* the fastest */
  double us, algbw, busbw; /* GB/s; 0 where no bytes are moved */
  bool extrapolated;     /* outside of the sizes, ranks and operation that the constants were fitted to */
  int32_t n;
  coll_estimate all[COLL_MOST_ALGORITHMS];
} coll_plan;

/* `only`: this algorithm; NULL: all. Rows of users are simulated (up to COLL_MAX_RANKS ranks). */
TSR_MUST_USE tsr_status coll_plan_make(const coll_topology *t, const coll_set *more, coll_op op, int64_t ranks,
                                       double bytes, const char *only, coll_plan *out);

typedef struct coll_simulation {
  double us;
  double sent[COLL_LEVELS], received[COLL_LEVELS]; /* bytes of all ranks, by the level that they went over */
} coll_simulation;

/* Round by round: a round takes its latency, the messages of the busiest rank and the bytes of the busiest link. */
TSR_MUST_USE tsr_status coll_simulate(const coll_schedule *s, const coll_topology *t, double bytes,
                                      coll_simulation *out);
#endif
