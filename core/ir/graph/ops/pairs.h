/* core/ir/graph/ops/pairs.h - complex numbers as pairs of real ones: what pairs.c has for other ops that take them. */
#ifndef CORE_IR_GRAPH_OPS_PAIRS_H
#define CORE_IR_GRAPH_OPS_PAIRS_H
#include "core/ir/graph/ops/row.h"

PAIRS(pairs_spectral);
/* Both numbers of each pair the real part, or the imaginary one; the real parts, [..]; pairs of real and imaginary
 * parts, whose last axes are 1 or 2. */
ir_value *pairs_spread(ir_builder *b, ir_value *x, bool imaginary);
ir_value *pairs_real(ir_builder *b, ir_value *x);
ir_value *pairs_join(ir_builder *b, ir_value *re, ir_value *im);
#endif
