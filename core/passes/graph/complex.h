/* core/passes/graph/complex.h - complex numbers become pairs of real ones: from here down all is computed on their
 * parts, and no kernel, backend or cost model knows complex types. */
#ifndef CORE_PASSES_GRAPH_COMPLEX_H
#define CORE_PASSES_GRAPH_COMPLEX_H
#include "core/ir/ir.h"

/* Each complex tensor of func is replaced by its parts (ir/graph/ops/pairs.c); arguments and results, and those of
 * control flow, keep their types, behind as_real and before as_complex, which are the same memory. Regions stay as they
 * are. Dimensions are known. Unverified. */
TSR_MUST_USE tsr_status graph_split_complex(ir_op *func);
/* All functions of m; verifies it where that changed any. */
TSR_MUST_USE tsr_status graph_split_complex_module(ir_module *m);
#endif
