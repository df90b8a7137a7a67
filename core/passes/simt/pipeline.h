/* core/passes/simt/pipeline.h - loops whose copies run ahead. */
#ifndef CORE_PASSES_SIMT_PIPELINE_H
#define CORE_PASSES_SIMT_PIPELINE_H
#include "core/passes/simt/state.h"

tsr_status simt_pipeline_for(simt *c, ir_op *op, bool *done);

#endif
