/* core/passes/schedule/from_graph.h - Graph IR to Schedule IR: every function becomes a program whose kernels are the
 * fusion groups of graph/fuse.h.
 *
 * What a kernel looks like, for the lowering that follows:
 *  - Arguments are values in memory: inputs, constants, other kernels' results, aliases. Program level holds nothing
 *    but kernels, constants and reshapes (aliases, which launch nothing).
 *  - transpose, slice and broadcast inside a body read an argument (perhaps through each other): strided loads.
 *    Constants of one element are repeated inside the bodies that use them: immediates.
 *  - elementwise: every result has the same shape; operands broadcast to it. space = [elements]. A body of views only
 *    copies.
 *  - row: space = [m, n]; values in the body are [.., m, n], or per row [.., m, 1] or [.., m]; a broadcast or reshape
 *    between per-row and full values computes nothing. Reductions, softmax and norms are over the last dimension. A
 *    reduction over another axis reads its argument through a transpose: column form.
 *  - matmul: one contraction; what feeds it is its prologue, what follows works on its result's shape.
 *    space = [batch, m, n, k], batch = the product of the leading dimensions.
 *  - copy: one concat or pad. custom: one custom op.
 *  - Yielded values are the results, in the order of the body. Several results have one shape (row: or the per-row
 *    shapes).
 * Schedule parameters are not set here: see schedule/defaults.h. */
#ifndef CORE_PASSES_SCHEDULE_FROM_GRAPH_H
#define CORE_PASSES_SCHEDULE_FROM_GRAPH_H
#include "core/passes/switches.h"

/* Leaves `graph` as it is; *out is a new, verified module. */
tsr_status graph_to_schedule(const ir_module *graph, const pass_options *opts, ir_module **out);
#endif
