/* core/ir/graph/ops/adjoint.c - what the reverse-mode derivatives of the ops share; see adjoint.h. */
#include "core/ir/graph/ops/adjoint.h"

ir_value *adjoint_reduced(ir_builder *b, ir_value *g, const ir_type *t) {
  bool reduced[TSR_MAX_RANK] = {0}, any = false;
  if (!g) return NULL;
  int lead = g->type->rank - t->rank;
  for (int i = 0; i < g->type->rank; i++)
    any |= reduced[i] = i < lead || (t->dims[i - lead] == 1 && g->type->dims[i] != 1);
  if (any) g = graph_reduce(b, G_REDUCE_SUM, g, reduced, false);
  return g ? graph_reshape(b, g, t->rank, t->dims) : NULL;
}

void adjoint_give(ir_builder *b, ir_op *op, ir_value **grads, int i, ir_value *g) {
  grads[i] = adjoint_reduced(b, g, IN(i)->type);
}

bool adjoint_none(ir_builder *b, ir_op *op, ir_value *g, ir_value **grads) { return true; }
