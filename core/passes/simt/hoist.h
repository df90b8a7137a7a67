/* core/passes/simt/hoist.h - loop-invariant code; what is stored right before its store. */
#ifndef CORE_PASSES_SIMT_HOIST_H
#define CORE_PASSES_SIMT_HOIST_H
#include "core/passes/simt/state.h"

int sx_hoist(ir_op *kernel); /* moves loop-invariant pure ops out of loops */
/* Loads and arithmetic of a block go to their first use, from one store to the next: compilers that keep the order run
 * out of registers where all is loaded, then all is computed. */
void sx_sink(ir_block *b);

#endif
