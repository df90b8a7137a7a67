/* core/passes/simt/matrix/operands.h - what the mma.sync, MFMA and WMMA paths share: dividing a tile among warps, and
 * reading the elements of an operand that one lane feeds to the instruction. */
#ifndef CORE_PASSES_SIMT_MATRIX_OPERANDS_H
#define CORE_PASSES_SIMT_MATRIX_OPERANDS_H
#include "core/device/matrix_instr.h"
#include "core/passes/simt/simt.h"
#include "core/passes/target/build.h"

/* Splits the m x n tile so that each warp gets whole blocks of the instruction and its part is near square; wm * wn
 * divides warps. */
void simt_split_warps(int warps, int64_t m, int64_t n, int block_m, int block_n, int *wm, int *wn);

/* `count` neighbours along k of an operand at (mn, k) as a vector of the memory's type: mn is along m for a, along n
 * for b. */
ir_value *simt_operand_along_k(simt *c, const simt_operand *o, bool is_a, ir_value *mn, ir_value *k, int count);

/* The same along m or n, at one k. */
ir_value *simt_operand_across_k(simt *c, const simt_operand *o, bool is_a, ir_value *mn, ir_value *k, int count);

/* First register's offset and the warp's part, along dimension d of the accumulator, of this thread's block number
 * `block`. */
ir_value *simt_block_origin(simt *c, const simt_layout *l, int d, int block, int per_block);

/* AMD: the deepest 16 x 16 instruction for a product's types that divides its depth, or NULL. */
const matrix_instr *simt_amd_instruction(const tsr_caps *caps, const simt_gemm *g);
/* An instruction's attributes on an mma, mfma or wmma op. */
void simt_describe(ir_module *m, ir_op *op, const matrix_instr *in, bool *failed);

/* gfx942: are elements of this type read as FNUZ, and four of them (an i32 word) from OCP bits to those: a product of
 * two is to be scaled by 4. */
bool simt_is_fnuz(const tsr_caps *caps, tsr_dtype d);
ir_value *simt_fnuz_word(tgb *t, ir_value *x, tsr_dtype d);

/* NVIDIA and AMD: does the kernel leave the order of its tiles open (and has enough of them), and which tile (block[0],
 * block[1]) is taken by the block that has these numbers in an nx x ny grid. */
bool simt_raster_wanted(const ir_op *kernel);
void simt_raster_order(tgb *t, const tsr_caps *caps, int64_t nx, int64_t ny, ir_value *block[2]);

#endif
