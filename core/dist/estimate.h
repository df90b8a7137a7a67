/* core/dist/estimate.h - what the program of a rank takes: its steps played through on two streams, each op by what it
 * computes and moves, each collective by core/coll's planner; and the memory that a rank needs. All ranks do the same:
 * one stands for all. */
#ifndef CORE_DIST_ESTIMATE_H
#define CORE_DIST_ESTIMATE_H
#include "core/dist/partition.h"
#include "core/dist/schedule.h"

typedef struct dist_event {
  int step, stream;
  double from, to; /* us */
} dist_event;

typedef struct dist_estimate {
  double us, compute_us, comm_us, exposed_us; /* exposed: that no computing hides */
  double flops;                               /* of a rank */
  double sent;                                /* bytes, by a rank */
  double inputs, outputs, between;            /* bytes of a rank; between: of all steps' programs */
  dist_event *events;                         /* by step, in the arena */
  int n_events;
} dist_estimate;

/* links must be of p's mesh. The schedule is for p->func. */
TSR_MUST_USE tsr_status dist_estimate_make(arena *a, const dist_program *p, const dist_schedule *s, dist_links *links,
                                           dist_estimate *out);
/* Microseconds of a collective op of a rank's program, and its vector's bytes. Either may be NULL but links. */
double dist_collective_us(dist_links *links, const ir_op *op, double *bytes, const char **algorithm);
/* Bytes that a rank sends for it. */
double dist_collective_sent(dist_links *links, const ir_op *op);
/* Computes one op of it, whose operands that the same step makes are in registers. */
double dist_op_us(const dist_links *links, const ir_op *op, double *flops);
#endif
