/* core/tune/timeline.h - a software pipeline on a simulated clock: the load engine, the compute units and the link,
 * each taking its work in order. Input: how long each step loads, computes and communicates, and how many buffers there
 * are. Output: an event per piece of work, the total, how busy each resource is, how much of the communication is
 * hidden. Same input, same events: no clock and no chance in it. Invariant: a buffer is not written before its reader
 * is done, a step is not computed before its data has arrived. What it models: docs/tuning.md, "Overlap: the timeline"
 * - load (N+1), compute (N), comm (N-1). Ranks work in lock step: one of them stands for all. */
#ifndef CORE_TUNE_TIMELINE_H
#define CORE_TUNE_TIMELINE_H
#include "core/tune/cost.h"

enum { TIMELINE_MAX_BUFFERS = 128 };

typedef enum timeline_resource { TIMELINE_LOAD, TIMELINE_COMPUTE, TIMELINE_LINK, TIMELINE_N } timeline_resource;

/* A result (a tile of the output) takes one or more steps; comm_ns counts at the step that ends it, 0: it is not
 * communicated. */
typedef struct timeline_step {
  double load_ns, compute_ns, comm_ns;
  bool ends;
} timeline_step;

typedef struct timeline_event {
  timeline_resource on;
  int64_t step;
  int32_t buffer; /* of loads and computations the operands', of communication the result's */
  double start_ns, end_ns;
} timeline_event;

typedef struct timeline {
  int64_t n_steps;
  int32_t stages; /* buffers of operands: step i uses buffer i % stages. 1 .. TIMELINE_MAX_BUFFERS, as the two below */
  int32_t sends;      /* buffers of results: one is not written again before it is sent */
  int32_t resident; /* the loads of a result wait until the result so many before it is computed: its block makes room.
                       0: they run ahead */
  double latency_ns;  /* from a transfer's end to the data's arrival; the engine goes on meanwhile */
  double barrier_ns;  /* before each computation */
  timeline_step (*step)(const void *user, int64_t i);
  const void *user;
  void (*event)(void *sink,
                const timeline_event *e); /* may be NULL; in order of steps, of one step load, compute, link */
  void *sink;
} timeline;

typedef struct timeline_result {
  double total_ns;
  double in_turns_ns;      /* the same work one piece after the other */
  double busy[TIMELINE_N]; /* shares of the total */
  double comm_ns, hidden;  /* hidden: share of comm_ns that does not lengthen the total; 1 without communication */
} timeline_result;

timeline_result timeline_run(const timeline *t);

/* Ring all-reduce: 2 (ranks - 1) rounds in which each rank sends a part of bytes / ranks, so 2 (ranks - 1) / ranks of
 * the bytes. */
double timeline_all_reduce_ns(int32_t ranks, double bytes, double gbps, double latency_ns);

/* What one core does for a candidate, with the cost model's bytes and rates: its blocks one after the other, those
 * resident beside it load ahead. With ranks > 1 each round of blocks is all-reduced over the link while the next is
 * computed. False: the kernel stages nothing in shared memory (a CPU's caches do it), has more than a million steps a
 * core, or ranks > 1 and the device has no link. The timeline points into `out`. */
typedef struct timeline_kernel {
  timeline t;
  timeline_step each;
  int64_t steps, rounds; /* of a block; blocks of a core */
} timeline_kernel;
bool timeline_of(const tune_device *d, const tune_problem *p, const tune_config *c, int32_t ranks,
                 timeline_kernel *out);
/* The first steps drawn, the totals, and what an all-reduce of the result would add. Nothing where timeline_of is
 * false. */
void timeline_explain(const tune_device *d, const tune_problem *p, const tune_config *c, strb *out);
#endif
