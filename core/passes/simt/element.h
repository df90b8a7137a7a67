/* core/passes/simt/element.h - element code: scalars, maps. */
#ifndef CORE_PASSES_SIMT_ELEMENT_H
#define CORE_PASSES_SIMT_ELEMENT_H
#include "core/passes/simt/state.h"

tsr_status simt_lower_scalar(simt *c, ir_op *op);
tsr_status simt_inline(simt *c, const ir_block *region, ir_value **yields); /* region arguments must be bound */
/* The register of a (possibly repeated) operand that belongs to register r of the result. */
int simt_operand_reg(const simt_layout *result, const simt_layout *operand, int r);
tsr_status simt_lower_map(simt *c, ir_op *op);

#endif
