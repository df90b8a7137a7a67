/* core/passes/graph/fuse.h - which Graph IR ops share a kernel: the fusion groups of one function.
 *
 * Rules, each with its own switch and trace lines (a refusal says why):
 *   fuse_elementwise       ops over the same space, chains and diamonds, several outputs
 *   fuse_matmul_epilogue   elementwise ops on a product's shape: bias, residual, activation, cast
 *   fuse_matmul_prologue   cast, negation and scaling by one number of an operand that nothing else needs
 *   fuse_row               softmax, norms and reductions over the last dimension, with elementwise ops
 *                          around them
 *   fuse_reduce_producer   elementwise ops that feed a reduction
 *   fuse_view              transpose, slice and broadcast of a value in memory become strided loads of their consumers
 * A group never needs a value that depends on another kernel which needs one of its own, and never holds more than
 * the levels below take in one kernel (SCHED_MOST_*, core/ir/kernel_family.h). Time and memory grow linearly with
 * the ops of the function. */
#ifndef CORE_PASSES_GRAPH_FUSE_H
#define CORE_PASSES_GRAPH_FUSE_H
#include "core/ir/ir.h"
#include "core/ir/kernel_family.h"
#include "core/passes/graph/fuse_order.h"
#include "core/passes/switches.h"

#define FUSE_RULES(X) \
  X(FUSE_ELEMENTWISE, "fuse_elementwise") X(FUSE_MATMUL_EPILOGUE, "fuse_matmul_epilogue") X(FUSE_MATMUL_PROLOGUE, "fuse_matmul_prologue") \
  X(FUSE_ROW, "fuse_row") X(FUSE_REDUCE_PRODUCER, "fuse_reduce_producer") X(FUSE_VIEW, "fuse_view")
#define FUSE_RULE(id, name) id,
enum fuse_rule { FUSE_RULES(FUSE_RULE) N_FUSE_RULES };
#undef FUSE_RULE
extern const char *const fuse_rule_names[N_FUSE_RULES];

typedef struct fuse_group {
  sched_family family;
  const ir_type *space; /* shape of the results; where the family's space is rows: of these */
  ir_op *contraction;   /* where its space is one's */
  unsigned rules;       /* bits of the rules that made it */
  int head;             /* first op of the list, -1 = merged into another */
  int work;             /* of its ops, see graph/fuse.c */
  bool has_view;        /* holds a transpose, slice or broadcast */
  bool has_index;       /* computes elements from where they stand */
} fuse_group;

typedef struct graph_groups {
  const tsr_allocator *al;
  ir_op **ops; /* the function's body in order; op->scratch is its index here */
  int *group;  /* per op; -1 = no kernel: constant, alias, view inside its consumers, return */
  int *next;   /* per op: the next of its group in program order, -1 = last */
  int *inside; /* per op: uses of its results in the two groups at hand; 0 between questions */
  struct fuse_note {
    bool feeds_product, needs_order, needs_tensor;
    uint8_t views;
    int products; /* how often its result is a product's operand as it is, not repeated along its batch */
  } *notes; /* per op, see graph/fuse.c */
  int64_t epoch;
  fuse_order order; /* of groups, then of ops without one: n_ops + index */
  fuse_group *v;
  int n_ops, n;
} graph_groups;

/* func must be canonical (graph/canonical.h) and free of dead ops. Clear even after failure. */
tsr_status graph_fuse(ir_op *func, const pass_options *opts, graph_groups *out);
void graph_groups_clear(graph_groups *g);
#endif
