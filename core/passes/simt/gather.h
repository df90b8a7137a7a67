/* core/passes/simt/gather.h - gather and scatter. */
#ifndef CORE_PASSES_SIMT_GATHER_H
#define CORE_PASSES_SIMT_GATHER_H
#include "core/passes/simt/state.h"

tsr_status simt_gather_reg(simt *c, const ir_op *op, const simt_layout *l, const simt_mem *view, int r, ir_value **out);
tsr_status simt_lower_gather(simt *c, ir_op *op, const simt_mem *to);
tsr_status simt_lower_scatter(simt *c, ir_op *op);

#endif
