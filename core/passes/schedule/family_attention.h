/* core/passes/schedule/family_attention.h - what a schedule of attention and its lowering agree on. */
#ifndef CORE_PASSES_SCHEDULE_FAMILY_ATTENTION_H
#define CORE_PASSES_SCHEDULE_FAMILY_ATTENTION_H
#include "core/device/caps.h"
#include "core/ir/graph/ops.h"

/* The queries of a block are a multiple of this: of a warpgroup's rows where its products suit the attention, x, of
 * elements of type t. */
int64_t sched_attention_step(const graph_attention *x, tsr_dtype t, const tsr_caps *caps);
#endif
