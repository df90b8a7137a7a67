/* core/passes/simt/hoist.h - loop-invariant code. */
#ifndef CORE_PASSES_SIMT_HOIST_H
#define CORE_PASSES_SIMT_HOIST_H
#include "core/passes/simt/state.h"

int sx_hoist(ir_op *kernel); /* moves loop-invariant pure ops out of loops */

#endif
