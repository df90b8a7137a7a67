/* core/passes/tile/attention_backward.h - the gradients of attention: keys in parts. */
#ifndef CORE_PASSES_TILE_ATTENTION_BACKWARD_H
#define CORE_PASSES_TILE_ATTENTION_BACKWARD_H
#include "core/passes/tile/build.h"

/* Few heads: the type of the parts' dq, [parts, batch, heads, queries, width]. NULL: not split, or nobody reads dq. */
const ir_type *attend_backward_parts_type(ir_module *m, const ir_op *kernel, const sched_params *p);
#endif
