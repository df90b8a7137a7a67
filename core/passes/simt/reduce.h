/* core/passes/simt/reduce.h - reductions. */
#ifndef CORE_PASSES_SIMT_REDUCE_H
#define CORE_PASSES_SIMT_REDUCE_H
#include "core/passes/simt/state.h"

tsr_status simt_lower_reduce(simt *c, ir_op *op);
/* A compensated sum's result: with what it lost, where that is finite; an infinite sum's loss is inf - inf. */
ir_value *simt_compensated(simt *c, ir_value *sum, ir_value *lost);

#endif
