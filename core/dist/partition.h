/* core/dist/partition.h - from a function with shards to the program of one rank: the same ops on what a rank has, and
 * between them the collectives that bring operands together. All ranks run the same program. */
#ifndef CORE_DIST_PARTITION_H
#define CORE_DIST_PARTITION_H
#include "core/dist/solve.h"

/* What was done and why, for the trace: rule is the collective's name or what was refused. */
typedef struct dist_notes {
  void (*note)(void *user, const ir_op *op, const char *rule, bool fired, const char *text);
  void *user;
} dist_notes;

typedef struct dist_program {
  ir_module *m;
  ir_op *func; /* of one rank */
  int n_inputs, n_outputs;
  dist_spec *inputs, *outputs;           /* in p's arena */
  const ir_type **whole_in, **whole_out; /* the tensors' types, of m */
  int n_collectives;
  double us; /* modelled */
} dist_program;

/* Does the function say how anything lies on a mesh? */
bool dist_has_shards(const ir_op *func);
/* Solves p and builds the program in a module of its own. notes may be NULL. */
TSR_MUST_USE tsr_status dist_partition(dist_problem *p, const dist_spec *args, const dist_notes *notes,
                                       dist_program *out);
/* A function that is a rank's program already: collectives of its own and no shards. Its inputs and outputs count as
 * each rank's own. */
TSR_MUST_USE tsr_status dist_check_rank_program(const ir_op *func, const dist_mesh *mesh);
#endif
