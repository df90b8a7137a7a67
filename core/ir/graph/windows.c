/* core/ir/graph/windows.c - ops of kind GRAPH_WINDOWS as all who lower and evaluate one see them: an index map. */
#include "core/ir/graph/ops/patches.h"

static int64_t *add_digit(graph_windows *m, int index, int64_t extent) {
  const int at = m->n[0] + m->n[1] + m->n[2];
  m->n[index]++;
  m->extent[at] = extent;
  return m->step[at];
}

static void add_kernel(graph_windows *m, const patches *p) {
  for (int i = 0; i < p->w.n; i++) {
    const window_axis *a = &p->w.a[i];
    add_digit(m, 2, a->kernel)[a->axis] = p->reversed ? -a->dilation : a->dilation;
  }
}

graph_windows graph_windows_get(const ir_op *op) {
  graph_windows m = {0};
  patches p;
  tsr_status_free(patches_read(op, &p));
  const int channel = p.last ? op->operands[0]->type->rank - 1 : 1;
  if (!p.flat) add_digit(&m, 0, op->operands[0]->type->dims[0])[0] = 1;
  if (p.groups > 1) add_digit(&m, 0, p.groups)[channel] = p.channels;
  if (p.flat) add_digit(&m, 1, op->operands[0]->type->dims[0])[0] = 1;
  for (int i = 0; i < p.w.n; i++) {
    const window_axis *a = &p.w.a[i];
    add_digit(&m, 1, a->out)[a->axis] = a->stride;
    m.origin[a->axis] = (p.reversed ? window_span(a) - 1 : 0) - a->low;
  }
  if (p.last) add_kernel(&m, &p);
  add_digit(&m, 2, p.channels)[channel] = 1;
  if (!p.last) add_kernel(&m, &p);
  return m;
}

ir_value *graph_windows_flat(ir_builder *b, const ir_op *op) {
  patches p;
  tsr_status_free(patches_read(op, &p));
  p.flat = true, p.winograd = 0;
  return patches_build(b, op->operands[0], &p);
}
