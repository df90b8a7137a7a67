/* core/passes/graph/canonical.h - puts a graph into the forms that fusion knows, without changing what it computes:
 * reductions and softmax work on the last dimension (others are merged by reshapes and brought there by a transpose,
 * which becomes a strided load), and reshapes and transposes move above pure elementwise chains, so that they reach the
 * chain's inputs, where they cost nothing. A product of batched rows with one matrix is one larger product; its
 * elementwise consumers work on that shape too. Rules: canonical_reduce, canonical_softmax, hoist_view (graph/views.h),
 * fold_batch; fold_columns (graph/fold_columns.h). */
#ifndef CORE_PASSES_GRAPH_CANONICAL_H
#define CORE_PASSES_GRAPH_CANONICAL_H
#include "core/passes/switches.h"

tsr_status graph_canonicalize(ir_op *func, const pass_options *opts);
/* fold_batch, in graph/fold_batch.c. */
tsr_status graph_fold_batch(ir_op *func, const pass_options *opts);
#endif
