/* core/passes/simt/whole/stage_queue.h - sm_90a: a loop of TMA and wgmma. */
#ifndef CORE_PASSES_SIMT_WHOLE_STAGE_QUEUE_H
#define CORE_PASSES_SIMT_WHOLE_STAGE_QUEUE_H
#include "core/passes/simt/state.h"

const char *simt_stage_queue_plan(simt *c, const ir_op *kernel); /* sets in->queue, or says why not */
int simt_stage_queue_warps(const struct simt_stage_queue *r);    /* of the consumers */
int simt_stage_queue_threads(const struct simt_stage_queue *r);  /* of a block */
tsr_status simt_stage_queue_lower(simt *c);                      /* the whole kernel but its return */
tsr_status simt_stage_queue_op(simt *c, ir_op *op, bool *done);  /* ops that mean something else to a consumer */

#endif
