/* core/passes/graph/packed.h - i4 and u4, of which two are in a byte, become i8 and u8: from here down all is computed
 * on these, and no kernel, backend or cost model knows the packed types. */
#ifndef CORE_PASSES_GRAPH_PACKED_H
#define CORE_PASSES_GRAPH_PACKED_H
#include "core/ir/ir.h"
#include "core/passes/switches.h"

/* In every function of m each such tensor is replaced by its elements in bytes (ir/graph/packed.c); arguments and
 * results keep their types, behind as_bytes and before as_packed, which are the same memory, and so do operands and
 * results of calls. Elementwise ops on what is read of bytes are moved to where it is read, pair by pair, so that they
 * are one kernel (rule `packed_reads`). Dimensions are known. Verifies m where that changed any. */
TSR_MUST_USE tsr_status graph_to_bytes(ir_module *m, const pass_options *opts);
#endif
