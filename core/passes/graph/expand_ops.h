/* core/passes/graph/expand_ops.h - composite ops become the ops that they stand for (ir/graph/expand.h), each with a
 * line in the trace. The first of the passes: none behind it knows a composite op. */
#ifndef CORE_PASSES_GRAPH_EXPAND_OPS_H
#define CORE_PASSES_GRAPH_EXPAND_OPS_H
#include "core/passes/switches.h"

/* All functions of a module, which is then verified if anything changed. */
tsr_status graph_expand_module(ir_module *m, const pass_options *opts);
#endif
