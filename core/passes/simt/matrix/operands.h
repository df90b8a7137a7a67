/* core/passes/simt/matrix/operands.h - what the mma.sync, MFMA and WMMA paths share: dividing a tile among warps, and
 * reading the elements of an operand that one lane feeds to the instruction. */
#ifndef CORE_PASSES_SIMT_MATRIX_OPERANDS_H
#define CORE_PASSES_SIMT_MATRIX_OPERANDS_H
#include "core/device/matrix_instr.h"
#include "core/passes/simt/state.h"
#include "core/passes/target/build.h"

/* Splits the m x n tile so that each warp gets whole blocks of the instruction and its part is near square; wm * wn
 * divides warps. */
void simt_split_warps(int warps, int64_t m, int64_t n, int block_m, int block_n, int *wm, int *wn);

/* `count` neighbours along k of an operand at (mn, k) as a vector of the memory's type: mn is along m for a, along n
 * for b. */
ir_value *simt_operand_along_k(simt *c, const simt_operand *o, bool is_a, ir_value *mn, ir_value *k, int count);

/* The same along m or n, at one k. */
ir_value *simt_operand_across_k(simt *c, const simt_operand *o, bool is_a, ir_value *mn, ir_value *k, int count);

/* Where this thread's block number `block` begins along dimension d of the accumulator: its first register's offset and
 * the warp's part. One behind the end is the last block there is. */
ir_value *simt_block_origin(simt *c, const simt_layout *l, int d, int block, int per_block);
/* The layout may reach over the tile's end, for sums that nothing reads: the n elements at `at`, or the last n there
 * are. */
ir_value *simt_inside(simt *c, const simt_layout *l, int d, ir_value *at, int64_t n);

/* An instruction's attributes on an mma, mfma or wmma op. */
void simt_describe(ir_module *m, ir_op *op, const matrix_instr *in, bool *failed);

#endif
