/* core/dist/schedule.h - a rank's program as steps on two streams: computing on one, collectives on the other. Work that
 * needs no collective that is under way goes first, a collective begins as soon as its operand is there, small ones of a
 * kind go as one. A step waits for steps of the other stream that it names, and for those before it on its own. Memory
 * is one workspace: a place is used again once all that touch it are known to be over. */
#ifndef CORE_DIST_SCHEDULE_H
#define CORE_DIST_SCHEDULE_H
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
  int *outputs;     /* by the function's output: its slot */
  int n_steps, cap_steps, n_slots, n_outputs;
  size_t workspace; /* bytes */
} dist_schedule;

typedef struct dist_schedule_options {
  bool one_stream;      /* collectives among the computing, in order */
  int64_t bucket_bytes; /* collectives of a kind are joined up to this many; 0: never */
} dist_schedule_options;

/* The scratch of func's values becomes their slots (-1: none). func must outlive the schedule. */
TSR_MUST_USE tsr_status dist_schedule_make(ir_op *func, const dist_schedule_options *o, dist_schedule *out);
void dist_schedule_clear(dist_schedule *s);

/* Is every step that touches a slot's memory in order with every other that does, one of them writing? An empty string,
 * or what isn't: one sentence in `why`. */
bool dist_schedule_check(const dist_schedule *s, char *why, size_t size);
/* For explanations and tests: a line a step. */
void dist_schedule_print(strb *b, const dist_schedule *s);
#endif
