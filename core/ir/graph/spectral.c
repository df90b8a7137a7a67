/* core/ir/graph/spectral.c - Fourier transforms as all who lower, evaluate and shard one see them: what their
 * attributes say. */
#include <math.h>
#include <string.h>

#include "core/ir/graph/ops.h"

int graph_spectral_axes(const ir_op *op, int axes[GRAPH_SPECTRAL_AXES]) {
  int64_t v[TSR_MAX_RANK] = {-1};
  const int rank = op->operands[0]->type->rank;
  const int n = ir_get_attr(op, "axes") ? ir_get_ints(op, "axes", v, TSR_MAX_RANK) : 1;
  for (int i = 0; i < n && i < GRAPH_SPECTRAL_AXES; i++) axes[i] = (int)(v[i] < 0 ? v[i] + rank : v[i]);
  return n;
}

bool graph_spectral_inverts(const ir_op *op) { return graph_is(op, G_IFFT) || graph_is(op, G_IRFFT); }

double graph_spectral_scale(const ir_op *op, double points) {
  const char *norm = ir_get_str(op, "norm", "backward");
  if (!strcmp(norm, "ortho")) return 1 / sqrt(points);
  return !strcmp(norm, graph_spectral_inverts(op) ? "backward" : "forward") ? 1 / points : 1;
}

graph_dft graph_dft_get(const ir_op *op) {
  const ir_type *x = op->operands[0]->type;
  graph_dft d = {.axis = (int)ir_get_int(op, "axis", 0),
                 .inverse = ir_get_bool(op, "inverse", false),
                 .scale = ir_get_float(op, "scale", 1),
                 .in_inner = 1,
                 .out_inner = 1};
  d.to = (int)ir_get_int(op, "to", d.axis);
  d.n = x->dims[d.axis];
  if (ir_get_bool(op, "twiddle", false)) d.twiddled = x->dims[d.axis + 1];
  d.lines = 1;
  for (int i = 0, rest = 0; i < x->rank - 1; i++) {
    if (i == d.axis) continue;
    const int64_t n = x->dims[i] == IR_DYNAMIC ? 1 : x->dims[i];
    d.lines *= n;
    if (rest >= d.axis) d.in_inner *= n;
    if (rest >= d.to) d.out_inner *= n;
    rest++;
  }
  return d;
}
