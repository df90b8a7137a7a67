/* core/passes/simt/control.h - for and if. */
#ifndef CORE_PASSES_SIMT_CONTROL_H
#define CORE_PASSES_SIMT_CONTROL_H
#include "core/passes/simt/state.h"

tsr_status simt_lower_for(simt *c, ir_op *op);
tsr_status simt_lower_if(simt *c, ir_op *op);

#endif
