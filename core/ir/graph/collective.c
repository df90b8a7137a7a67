/* core/ir/graph/collective.c - see collective.h. */
#include "core/ir/graph/collective.h"

#include <string.h>

graph_collective graph_collective_get(const ir_op *op) {
  const int rank = op->operands[0]->type->rank;
  int64_t dim = ir_get_int(op, "dim", 0), to = ir_get_int(op, "to", 0);
  return (graph_collective){.axes = ir_get_str(op, "axes", ""),
                            .ranks = ir_get_int(op, "ranks", 1),
                            .dim = (int)(dim < 0 ? dim + rank : dim),
                            .to = (int)(to < 0 ? to + rank : to),
                            .reduction = ir_get_str(op, "reduction", "sum"),
                            .root = ir_get_int(op, "root", 0),
                            .shift = ir_get_int(op, "shift", 1),
                            .extent = ir_get_int(op, "extent", 0)};
}

static bool has_attr(graph_code c, const char *name) {
  for (const ir_attr_def *a = graph_def(c)->attrs; a && a->name; a++)
    if (!strcmp(a->name, name)) return true;
  return false;
}

ir_value *graph_collective_build(ir_builder *b, graph_code c, ir_value *x, const graph_collective *w) {
  const ir_type *t = NULL;
  ir_op *op = x ? ir_op_new(b, graph_def(c), 1, &x, 1, NULL, 0) : NULL;
  const struct { const char *name; int64_t v; } numbers[] = {{"ranks", w->ranks}, {"dim", w->dim}, {"to", w->to},
                                                             {"root", w->root}, {"shift", w->shift},
                                                             {"extent", w->extent}};
  bool made = op && ir_set_attr(op, "axes", ir_attr_str(b->m, w->axes));
  for (size_t i = 0; made && i < sizeof numbers / sizeof *numbers; i++)
    if (has_attr(c, numbers[i].name) && (numbers[i].v || i < 2))
      made = ir_set_attr(op, numbers[i].name, ir_attr_int(b->m, numbers[i].v));
  if (made && w->reduction && has_attr(c, "reduction"))
    made = ir_set_attr(op, "reduction", ir_attr_str(b->m, w->reduction));
  tsr_status st = made ? op->def->infer(op, &t) : NULL;
  if (st) ir_refuse(b->m, st);
  if (!made || st) return b->failed = true, NULL;
  op->results[0]->type = t;
  return op->results[0];
}

bool graph_collective_moves(const ir_op *op) {
  return op->def->code != G_SHARD_SLICE && op->def->code != G_SHARD_MASK && op->def->code != G_RECV;
}
