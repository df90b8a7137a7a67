/* core/tune/timing.h - interleaved medians: several things that can be run are timed in turns, so that a slow moment of
 * the machine falls on all of them. 3 warm-up and at least 10 timed runs each (docs/tuning.md); short ones are run more
 * often. */
#ifndef CORE_TUNE_TIMING_H
#define CORE_TUNE_TIMING_H
#include "core/base/status.h"

typedef struct timing_subject {
  /* Runs once and waits for the end; *ns: the device's own time when it can tell, else the function's duration is taken
   * (leave it at 0). A failure takes the subject out. */
  tsr_status (*run)(void *user, double *ns);
  void *user;
  bool stays; /* give_up_ns does not apply: the others are compared with it */
} timing_subject;

typedef struct timing_options {
  int warmups, runs;    /* 0: 3 and 10 */
  double most_seconds;  /* for all together, once the least number of runs is done; 0: 0.05 per subject, more runs fill
                           it */
  int most_runs;        /* 0: 50 */
  double give_up_ns;    /* a subject slower than that is not timed: after the second run when that took 4 times as long,
                         else after all warm-ups but the first    took longer (a first run may hold a driver's
                         compilation);    0: never */
} timing_options;

typedef struct timing_result {
  double median_ns, min_ns; /* 0 when it failed; the least warm-up when it was given up */
  double beats_last; /* share of the rounds in which it was faster than the last subject; 0 when their rounds differ */
  int runs;
  bool given_up;
  tsr_status failure;       /* owned by the caller; NULL when it ran */
} timing_result;

/* Fills out[0..n). Only out of memory is an error. */
TSR_MUST_USE tsr_status timing_interleaved(const tsr_allocator *al, const timing_subject *subjects, size_t n,
                                           const timing_options *opt, timing_result *out);
#endif
