/* core/passes/graph/layouts.h - inputs and results that lie in memory in an order of their own (ir/layout.h) become
 * row-major ones of that order, with transposes behind and before them: what follows sees memory as it is. Products
 * take a transposed operand as it lies. */
#ifndef CORE_PASSES_GRAPH_LAYOUTS_H
#define CORE_PASSES_GRAPH_LAYOUTS_H
#include "core/passes/switches.h"

bool graph_has_layouts(const ir_op *func);
tsr_status graph_apply_layouts(ir_module *m, const pass_options *opts);
/* For a pass that returns other values: what is no result has no layout. */
void graph_drop_layouts(ir_op *func);
#endif
