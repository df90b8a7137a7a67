/* core/passes/graph/outline.h - the first pass: if and while (ir/graph/control.h). Short ones stay, to be written out
 * as other ops; of the others the regions become functions of the module, behind those that are there, and the op a
 * `control` that names them. */
#ifndef CORE_PASSES_GRAPH_OUTLINE_H
#define CORE_PASSES_GRAPH_OUTLINE_H
#include "core/ir/ir.h"
#include "core/passes/switches.h"

tsr_status graph_outline_module(ir_module *m, const pass_options *opts);
#endif
