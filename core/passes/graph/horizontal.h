/* core/passes/graph/horizontal.h - the rewrite rule horizontal: products of one value with several constant matrices
 * (queries, keys and values; gate and up) become one product with all their columns, and windows of its result. Biases
 * and other elementwise ops that all of them have alike go with it. */
#ifndef CORE_PASSES_GRAPH_HORIZONTAL_H
#define CORE_PASSES_GRAPH_HORIZONTAL_H
#include "core/passes/switches.h"

/* Of a function that other rules have brought into their form. Sets *changed where it fires. With `refusals`, nothing
 * fires, and the trace gets the reasons. */
tsr_status graph_join_products(ir_op *func, const pass_options *o, bool refusals, bool *changed);
#endif
