/* core/ir/graph/winograd.c - see graph/winograd.h. */
#include "core/ir/graph/winograd.h"

#include "core/ir/graph/ops/conv.h"
#include "core/ir/graph/ops/conv_winograd.h"

const char *graph_winograd_refusal(const ir_op *op) {
  const conv c = conv_of(op);
  return conv_winograd_refusal(&c.p, op->operands[0]->type->dtype);
}

double graph_winograd_share(const ir_op *op, int *m) {
  const conv c = conv_of(op);
  return conv_winograd_cycles(&c.p, c.n, c.out, conv_has_constant_weights(op), m) /
         conv_direct_cycles(&c.p, c.n, c.out);
}

int64_t graph_winograd_lines(int64_t channels, int64_t out) { return PATCHES_WINOGRAD_PLACES(channels, out); }
