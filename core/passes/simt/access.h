/* core/passes/simt/access.h - single loads and stores of memory. */
#ifndef CORE_PASSES_SIMT_ACCESS_H
#define CORE_PASSES_SIMT_ACCESS_H
#include "core/passes/simt/state.h"

ir_value *sx_load(simt *c, const simt_mem *m, ir_value *index, int n); /* n = 1 scalar, else vector */
/* The index that a masked load reads instead, its value unused: the tile's own first element where other parts of the
 * memory may be written at the same time or not be bound, else 0. */
ir_value *simt_harmless(simt *c, const simt_mem *m);
void sx_store(simt *c, const simt_mem *m, ir_value *index, ir_value *v);

#endif
