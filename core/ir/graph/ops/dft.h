/* core/ir/graph/ops/dft.h - what transforms of pairs are built with. */
#ifndef CORE_IR_GRAPH_OPS_DFT_H
#define CORE_IR_GRAPH_OPS_DFT_H
#include "core/ir/graph/ops/row.h"

/* The row's by_passes. */
ir_value *dft_by_passes(ir_builder *b, const ir_op *op, int64_t most);
/* x, of the shape of d's operand, times the twiddle factors, of exponents of this sign; x itself where d has none. */
ir_value *dft_twiddled(ir_builder *b, ir_value *x, const graph_dft *d, int sign);
/* A constant; v: its numbers. */
ir_value *dft_constant(ir_builder *b, tsr_dtype t, int rank, const int64_t *dims, const double *v);
#endif
