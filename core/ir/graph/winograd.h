/* core/ir/graph/winograd.h - convolutions by Winograd's transforms, as passes see them. */
#ifndef CORE_IR_GRAPH_WINOGRAD_H
#define CORE_IR_GRAPH_WINOGRAD_H
#include "core/ir/graph/ops.h"

/* Why a convolution can't be computed so; NULL: it can. */
const char *graph_winograd_refusal(const ir_op *conv);
/* Their time's share of the direct convolution's, by tiles of *m results along each axis; of what isn't refused. */
double graph_winograd_share(const ir_op *conv, int *m);
/* How many lines of `out` places a block of the CPU may have, of an image of so many channels. */
int64_t graph_winograd_lines(int64_t channels, int64_t out);
#endif
