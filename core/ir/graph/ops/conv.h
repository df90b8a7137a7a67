/* core/ir/graph/ops/conv.h - a convolution as all ways of computing one read it. */
#ifndef CORE_IR_GRAPH_OPS_CONV_H
#define CORE_IR_GRAPH_OPS_CONV_H
#include "core/ir/graph/ops/patches.h"

/* A convolution of an image with p.groups * p.channels channels to one with `out`. */
typedef struct conv {
  patches p; /* its window has the weights' extents */
  int64_t n, out;
  bool whole; /* of integers */
} conv;

/* Of conv1d, conv2d and conv3d, which are verified. */
conv conv_of(const ir_op *op);
/* Why spectra can't give the result; NULL: they can. */
const char *conv_spectra_refusal(const conv *c);
/* Whether the weights are a constant, perhaps moved or cast. */
bool conv_has_constant_weights(const ir_op *op);
/* The row's by_spectra. */
ir_value *conv_by_spectra(ir_builder *b, const ir_op *op, const char **why);
#endif
