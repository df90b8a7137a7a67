/* core/ir/graph/expand.h - composite ops: rows with a function `expand`, which writes them as other ops of Graph IR,
 * themselves composite or not. The first pass replaces them; the oracle, autodiff, work and sharding
 * look at the same expansion, so that there is no second meaning of such an op. One with an unknown dimension stays
 * until the function is specialised. */
#ifndef CORE_IR_GRAPH_EXPAND_H
#define CORE_IR_GRAPH_EXPAND_H
#include "core/ir/graph/ops.h"

typedef struct graph_expand_options {
  bool windows; /* products read windows over an image in place: graph_row.expand_windows */
  bool keep_adjoint; /* leave ops with a derivative of their own */
  bool (*keep)(void *user, const ir_op *op); /* leave this one: a kernel takes it whole. NULL: none */
  /* Told of each op before it goes: into how many ops; negative: it stays, for want of a dimension. May be NULL. */
  void (*note)(void *user, const ir_op *op, int n_ops);
  void *user;
} graph_expand_options;

/* Replaces the composite ops of func. The module need not be verified again: types stay. */
tsr_status graph_expand(ir_op *func, const graph_expand_options *o);
bool graph_has_composite(const ir_op *func);
/* Is it composite, with all dimensions known? */
bool graph_may_expand(const ir_op *op);
/* A module of its own with a copy of func, expanded: *copy. Each value of func that the copy has gets its counterpart
 * in `data`. */
tsr_status graph_expanded_copy(ir_op *func, ir_module **out, ir_op **copy);
/* A module of its own with a function of op's operands (one that comes twice: the first) that returns the results of
 * *copy, which is op; and where it is expanded. */
tsr_status graph_alone(const ir_op *op, ir_module **out, ir_op **func, ir_op **copy);
tsr_status graph_expansion(const ir_op *op, ir_module **out, ir_op **func);
#endif
