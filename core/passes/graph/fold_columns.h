/* core/passes/graph/fold_columns.h - rule fold_columns: elementwise consumers of a product whose last
 * dimension a reshape splits work on the product's shape. */
#ifndef CORE_PASSES_GRAPH_FOLD_COLUMNS_H
#define CORE_PASSES_GRAPH_FOLD_COLUMNS_H
#include "core/passes/switches.h"

tsr_status graph_fold_columns(ir_op *func, const pass_options *opts);
#endif
