/* core/passes/simt/walk.h - dispatch by op. */
#ifndef CORE_PASSES_SIMT_WALK_H
#define CORE_PASSES_SIMT_WALK_H
#include "core/passes/simt/state.h"

tsr_status simt_lower_op(simt *c, ir_op *op);

#endif
