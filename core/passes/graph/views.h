/* core/passes/graph/views.h - reshapes and transposes above elementwise chains (rule hoist_view), where they cost
 * nothing, and what passes that move ops about share. */
#ifndef CORE_PASSES_GRAPH_VIEWS_H
#define CORE_PASSES_GRAPH_VIEWS_H
#include "core/ir/graph/ops.h"
#include "core/passes/switches.h"

tsr_status graph_hoist_views(ir_op *func, const pass_options *opts);
/* Is v computed elementwise, by ops that nothing else needs, from values that are in memory anyway? A view of it is
 * then free. */
bool graph_view_is_free(const ir_value *v);
/* Replaces op's only result by v and removes op. For a pass that walks the function in order and settles each op it
 * comes to (ir_settle): ops behind op read v from then on. */
void graph_replace(ir_op *op, ir_value *v);
/* Is one of op's operands or results such a value? */
bool graph_has_value(const ir_op *op, bool (*is)(const ir_value *v));
/* For a pass that gives values of some types (`is`) others that stand for them, in their data fields: op is built anew
 * by `build`, of what stands for its operands; what stands for its result is kept, or replaces it. */
tsr_status graph_stand_in(ir_op *op, bool (*is)(const ir_value *v), graph_pairs_fn build);
/* v, which broadcasts against an operand of a product and is one number along what is summed, so that it broadcasts
 * against the result; transposed: so the operand is. NULL: v is NULL, or out of memory. */
ir_value *graph_along_result(ir_builder *b, ir_value *v, bool transposed);
/* Some operand has an extent that isn't known. */
bool graph_has_unknown(const ir_op *op);
#endif
