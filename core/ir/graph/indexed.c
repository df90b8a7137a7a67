/* core/ir/graph/indexed.c - gathers and scatters as all who lower, evaluate and shard one see them: which axes of their
 * operands each axis of their space is. See ir/graph/ops.h. */
#include "core/ir/graph/ops.h"

static void add_axis(graph_indexed *x, int of_table, int of_indices) {
  x->of_table[x->rank] = of_table;
  x->of_indices[x->rank++] = of_indices;
}

/* The indices' dimensions in the place of one of the table's. */
static void along_axis(graph_indexed *x, int axis) {
  x->indexed[x->n_indexed++] = axis;
  for (int d = 0; d < axis; d++) add_axis(x, d, -1);
  for (int d = 0; d < x->indices->rank; d++) add_axis(x, -1, d);
  for (int d = axis + 1; d < x->table->rank; d++) add_axis(x, d, -1);
}

/* An index for each element of the space. */
static void by_element(graph_indexed *x, int axis) {
  x->indexed[x->n_indexed++] = axis;
  for (int d = 0; d < x->table->rank; d++) add_axis(x, d == axis ? -1 : d, d);
}

/* Rows of indices, each the table's leading coordinates behind the `batch` axes that both have. */
static void by_rows(graph_indexed *x, int batch) {
  const int last = x->indices->rank - 1, n = (int)x->indices->dims[last];
  x->component = last;
  for (int k = 0; k < n; k++) x->indexed[x->n_indexed++] = batch + k;
  for (int d = 0; d < last; d++) add_axis(x, d < batch ? d : -1, d);
  for (int d = batch + n; d < x->table->rank; d++) add_axis(x, d, -1);
}

graph_indexed graph_indexed_get(const ir_op *op) {
  graph_indexed x = {.table = op->operands[0]->type, .indices = op->operands[1]->type, .component = -1};
  x.scatters = graph_is_kind(op, GRAPH_SCATTER);
  x.adds = graph_ext(op)->adds || ir_get_str(op, "reduction", "none")[0] == 'a';
  switch (graph_ext(op)->indices) {
  case INDEX_NONE: break;
  case INDEX_FIRST: along_axis(&x, 0); break;
  case INDEX_AXIS: along_axis(&x, graph_axis(op)); break;
  case INDEX_ELEMENTS: by_element(&x, graph_axis(op)); break;
  case INDEX_ROWS: by_rows(&x, (int)ir_get_int(op, "batch_dims", 0)); break;
  }
  return x;
}
