/* core/passes/simt/transpose.h - transposes and reshapes. */
#ifndef CORE_PASSES_SIMT_TRANSPOSE_H
#define CORE_PASSES_SIMT_TRANSPOSE_H
#include "core/passes/simt/state.h"

tsr_status simt_lower_transpose(simt *c, ir_op *op);
tsr_status simt_lower_reshape(simt *c, ir_op *op);

#endif
