/* core/passes/graph/words.h - u16, u32 and u64 become signed words of the same bits: from here down all is computed on
 * these, and no kernel, backend or cost model knows the unsigned types. */
#ifndef CORE_PASSES_GRAPH_WORDS_H
#define CORE_PASSES_GRAPH_WORDS_H
#include "core/ir/ir.h"

/* In every function of m each such tensor is replaced by its words (ir/graph/ops/words.c); arguments and results keep
 * their types, behind as_signed and before as_unsigned, which are the same memory, and so do operands and results of
 * calls. Dimensions are known. Verifies m where that changed any. */
TSR_MUST_USE tsr_status graph_to_words(ir_module *m);
#endif
