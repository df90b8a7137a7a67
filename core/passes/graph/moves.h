/* core/passes/graph/moves.h - what a reshape makes of a slice (rule reshape_of_slice). */
#ifndef CORE_PASSES_GRAPH_MOVES_H
#define CORE_PASSES_GRAPH_MOVES_H
#include "core/ir/graph/ops.h"

/* Is the reshape to `to` of the columns from `first` on of a value, of type `part`, a slice of that value's reshape? */
bool graph_reshape_keeps_slice(const ir_type *from, const ir_type *part, int64_t first, const ir_type *to);
#endif
