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

static ir_value *with_lists(ir_builder *b, graph_code c, ir_value *x, const int64_t *dims, const char *const names[],
                            const int64_t *const lists[], int n) {
  const int rank = x->type->rank;
  const ir_type *t = ir_type_tensor(b->m, x->type->dtype, rank, dims);
  ir_op *op = t ? ir_op_new(b, graph_def(c), 1, &x, 1, &t, 0) : NULL;
  bool ok = op != NULL;
  for (int i = 0; i < n && ok; i++) ok = ir_set_attr(op, names[i], ir_attr_ints(b->m, lists[i], rank));
  if (!ok) b->failed = true;
  return ok ? op->results[0] : NULL;
}

ir_value *compose_take(ir_builder *b, ir_value *x, const int64_t *starts, const int64_t *sizes,
                       const int64_t *strides) {
  bool all = true;
  if (!x || b->failed) return NULL;
  for (int i = 0; i < x->type->rank; i++) all &= !starts[i] && sizes[i] == x->type->dims[i];
  if (all) return x;
  return with_lists(b, G_SLICE, x, sizes, (const char *const[]){"starts", "sizes", "strides"},
                    (const int64_t *const[]){starts, sizes, strides}, 3);
}

ir_value *compose_pad(ir_builder *b, ir_value *x, const int64_t *low, const int64_t *high, double value) {
  int64_t dims[TSR_MAX_RANK];
  bool any = false;
  if (!x || b->failed) return NULL;
  for (int i = 0; i < x->type->rank; i++) {
    dims[i] = x->type->dims[i] + low[i] + high[i];
    any |= low[i] || high[i];
  }
  if (!any) return x;
  x = with_lists(b, G_PAD, x, dims, (const char *const[]){"low", "high"}, (const int64_t *const[]){low, high}, 2);
  if (x && value != 0 && !ir_set_attr(x->def, "value", ir_attr_float(b->m, value))) b->failed = true;
  return b->failed ? NULL : x;
}
