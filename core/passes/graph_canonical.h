/* core/passes/graph_canonical.h - puts a graph into the forms that fusion knows, without changing what it computes:
 * reductions and softmax work on the last dimension (others are merged by reshapes and brought there by a transpose, which
 * becomes a strided load), and reshapes and transposes move above pure elementwise chains, so that they reach the chain's
 * inputs, where they cost nothing. Rules: canonical_reduce, canonical_softmax, hoist_view. */
#ifndef CORE_PASSES_GRAPH_CANONICAL_H
#define CORE_PASSES_GRAPH_CANONICAL_H
#include "core/passes/options.h"

tsr_status graph_canonicalize(ir_op *func, const pass_options *opts);
/* Replaces op's only result by v everywhere in its function and removes op. */
void graph_replace(ir_op *op, ir_value *v);
#endif
