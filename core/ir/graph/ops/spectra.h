/* core/ir/graph/ops/spectra.h - what convolutions by products of spectra are built with. Builder calls give NULL once
 * one has failed, and take NULL. */
#ifndef CORE_IR_GRAPH_OPS_SPECTRA_H
#define CORE_IR_GRAPH_OPS_SPECTRA_H
#include "core/ir/graph/ops/row.h"

/* rfft (c: G_RFFT) of x [batch, channels, spatial axes..] along its spatial axes, which are those of `like`; irfft
 * (G_IRFFT) to the extents of `like` along these. */
ir_value *spectra_transform(ir_builder *b, graph_code c, ir_value *x, const ir_type *like);
/* Complex numbers as pairs [modes, in, out, 2]: the real matrices [modes, 2 in, 2 out] of multiplying pairs by them. */
ir_value *spectra_matrices(ir_builder *b, ir_value *w);
#endif
