/* core/ir/graph/ops/compose.c - see compose.h. */
#include "core/ir/graph/ops/compose.h"

#include <string.h>

int compose_axis(const ir_op *op, const char *name, int64_t dflt, int rank) {
  int64_t axis = ir_get_int(op, name, dflt);
  return (int)(axis < 0 ? axis + rank : axis);
}

ir_value *compose_place(ir_builder *b, ir_value *x, int first, int rank) {
  int64_t dims[TSR_MAX_RANK];
  if (!x) return NULL;
  for (int i = 0; i < rank; i++) dims[i] = i >= first && i < first + x->type->rank ? x->type->dims[i - first] : 1;
  return graph_reshape(b, x, rank, dims);
}

ir_value *compose_along(ir_builder *b, graph_code c, ir_value *x, int axis) {
  ir_value *y = graph_op1(b, c, x);
  if (y && !ir_set_attr(y->def, "axis", ir_attr_int(b->m, axis))) b->failed = true;
  return y;
}

ir_value *compose_spread(ir_builder *b, ir_value *x, const ir_type *like) {
  return graph_broadcast(b, x, like->rank, like->dims);
}
