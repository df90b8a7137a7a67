/* core/passes/cpu/patterns.h - what the CPU lowering recognises in Tile IR so that data is not moved twice. */
#ifndef CORE_PASSES_CPU_PATTERNS_H
#define CORE_PASSES_CPU_PATTERNS_H
#include "core/ir/ir.h"

/* The canonical contraction: for k { copy window a; copy window b; gemm } from a zero accumulator. */
typedef struct cpu_contraction {
  ir_op *loop, *gemm;
  ir_op *window_a, *window_b; /* windows whose k offset is the loop counter */
  int k_dim_a, k_dim_b;       /* which offset of the window that is */
  int64_t from, to, step;
} cpu_contraction;

bool cpu_find_contraction(ir_op *loop, cpu_contraction *out);
/* All uses of the load can read its memory directly. Positions must be numbered. */
bool cpu_load_is_view(const ir_op *load);
/* The memory that the single store of v writes, when v's producer may write there at once; NULL if not. */
ir_value *cpu_store_target(const ir_value *v, ir_op **store);
/* The memory that an epilogue's result is stored to, when the product r may be accumulated there and the epilogue work
 * in place: r goes to one map, which reads nothing else from that memory (arguments of a kernel don't overlap). NULL if
 * not. */
ir_value *cpu_epilogue_target(const ir_value *r);
/* The fill is a zero that only starts a contraction or a gemm: it needs no memory. */
bool cpu_fill_is_implied(const ir_op *fill);
/* v is one known integer. */
bool cpu_const_index(const ir_value *v, int64_t *out);
#endif
