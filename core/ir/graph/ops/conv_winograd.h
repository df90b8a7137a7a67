/* core/ir/graph/ops/conv_winograd.h - which convolutions Winograd's transforms can compute, and what they take beside
 * direct ones. p: their windows; n, out: entries of the batch, channels of the result. */
#ifndef CORE_IR_GRAPH_OPS_CONV_WINOGRAD_H
#define CORE_IR_GRAPH_OPS_CONV_WINOGRAD_H
#include "core/ir/graph/ops/patches.h"

/* Why they can't, of images of type t; NULL: they can. */
const char *conv_winograd_refusal(const patches *p, tsr_dtype t);
/* What they take, in cycles of a core, by the better of two tiles, *m results along each axis; of what isn't refused.
 * constant: the weights are, and are transformed once. */
double conv_winograd_cycles(const patches *p, int64_t n, int64_t out, bool constant, int *m);
double conv_direct_cycles(const patches *p, int64_t n, int64_t out);
#endif
