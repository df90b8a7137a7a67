/* core/passes/cpu/patterns.h - what the CPU lowering recognises in Tile IR so that data is not moved twice. */
#ifndef CORE_PASSES_CPU_PATTERNS_H
#define CORE_PASSES_CPU_PATTERNS_H
#include "core/ir/tile/contract.h"

/* A product over a known range of k whose operands are read from memory as they are: one call. */
typedef struct cpu_contraction {
  ir_value *from_value;       /* the range's beginning as a value */
  ir_op *window_a, *window_b; /* windows that move along k */
  int k_dim_a, k_dim_b;       /* which offset of the window that is */
  int64_t from, to, step;
  const ir_op *attrs; /* the op that says policy */
  bool transpose_a, transpose_b;
} cpu_contraction;

/* Of a loop written by hand (tile_contract_of_loop). */
bool cpu_find_contraction(ir_op *loop, cpu_contraction *out);
/* Of a tessera.tile.contract: the product, and what is stored of it; false where that has to be written out first. */
bool cpu_take_sum(const tile_contract *c, cpu_contraction *out);
bool cpu_take_epilogue(const tile_contract *c);
/* All uses of the load can read its memory directly. Positions must be numbered. */
bool cpu_load_is_view(const ir_op *load);
/* The memory that the single store of v writes, when v's producer may write there at once; NULL if not. */
ir_value *cpu_store_target(const ir_value *v, ir_op **store);
/* The memory that an epilogue's result is stored to, when the product r may be accumulated there and the epilogue work
 * in place: r goes to one map, which reads nothing else from that memory (arguments of a kernel don't overlap). NULL if
 * not. */
ir_value *cpu_epilogue_target(const ir_value *r);
/* The argument or tile that a view or window shows a part of. */
const ir_value *cpu_memory_of(const ir_value *v);
/* The fill is a zero that only starts a contraction or a gemm: it needs no memory. */
bool cpu_fill_is_implied(const ir_op *fill);
#endif
