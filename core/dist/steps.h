/* core/dist/steps.h - a rank's program as steps on two streams: what core/dist/schedule.c makes, core/dist/order.c
 * looks at and core/dist/memory.c gives places to. */
#ifndef CORE_DIST_STEPS_H
#define CORE_DIST_STEPS_H
#include "core/base/arena.h"
#include "core/ir/graph/collective.h"

typedef enum dist_step_kind {
  DIST_COMPUTE, /* ops that devices compute, as one program */
  DIST_LOCAL,   /* one op that depends on the rank: shard_slice, shard_mask */
  DIST_COMM     /* collectives of a kind, as one */
} dist_step_kind;
enum { DIST_STREAM_COMPUTE, DIST_STREAM_COMM, DIST_STREAMS };

/* A value that outlives its step: an input, an output, or in the workspace. */
typedef struct dist_slot {
  ir_value *v;
  size_t bytes, offset;
  int input, output; /* -1: none */
  int writer;        /* step; -1: an input */
} dist_slot;

typedef struct dist_step {
  dist_step_kind kind;
  int stream;
  ir_op **ops;
  int n_ops;
  int *reads, *writes, *waits; /* slots, slots, steps of the other stream */
  int n_reads, n_writes, n_waits;
} dist_step;

typedef struct dist_schedule {
  arena arena;
  dist_step *steps;
  dist_slot *slots;
  int *outputs; /* by the function's output: its slot */
  int *of_stream[DIST_STREAMS]; /* its steps */
  int n_of_stream[DIST_STREAMS], n_steps, n_slots, n_outputs;
  size_t workspace; /* bytes */
  int64_t looked;   /* at ops and values while it was made: for tests of how that grows */
} dist_schedule;
#endif
