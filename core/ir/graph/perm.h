/* core/ir/graph/perm.h - what transposes are to products. */
#ifndef CORE_IR_GRAPH_PERM_H
#define CORE_IR_GRAPH_PERM_H
#include "core/ir/graph/ops.h"

/* Swaps the last two dimensions and no others: a product takes its operand as it lies. */
static inline bool graph_swaps_last(const ir_op *op) {
  int perm[TSR_MAX_RANK];
  if (!graph_is(op, G_TRANSPOSE)) return false;
  const int rank = op->operands[0]->type->rank;
  graph_perm(op, perm);
  for (int i = 0; i + 2 < rank; i++)
    if (perm[i] != i) return false;
  return rank >= 2 && perm[rank - 1] == rank - 2;
}
#endif
