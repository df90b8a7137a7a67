/* core/ir/tile/tile.h - Tile IR: one kernel as a block program.
 *
 *   "tessera.tile.program"() ({                                  launches in order; block arguments are the inputs
 *   ^bb0(%A: tensor<96x200xf32>, %B: tensor<200x72xf32>):
 *     %0 = "tessera.tile.buffer"() : () -> tensor<96x72xf32>     an output or a temporary
 *     "tessera.tile.launch"(%A, %B, %0) {kernel = "matmul_0"} : (...) -> ()
 *     "tessera.tile.return"(%0) : (tensor<96x72xf32>) -> ()
 *   }) {sym_name = "main"} : () -> ()
 *   "tessera.tile.kernel"() ({
 *   ^bb0(%a: !tessera.view<96x200xf32>, %b: !tessera.view<200x72xf32>, %c: !tessera.view<96x72xf32>):
 *     %i = "tessera.tile.block_id"() {axis = 0} : () -> index
 *     ...
 *   }) {sym_name = "matmul_0", grid = [2, 1, 1], outputs = 1} : () -> ()
 *
 * Values: !tessera.view = a window of global memory; !tessera.shared = a tile in memory of the block; !tessera.frag
 * = a tile in registers, an immutable value; index and scalars are uniform over the block. Every op is collective
 * over the block, so one program is a GPU kernel, a CPU loop nest and the reference. There is no per-thread code at
 * this level. Grid: axis 0 varies fastest. Arguments: inputs first, then `outputs` written views; a launch passes
 * tensors whose memory the views describe (same element count, or reinterpreted by tile.view inside). */
#ifndef CORE_IR_TILE_TILE_H
#define CORE_IR_TILE_TILE_H
#include "core/ir/ir.h"
#include "core/ir/scalar_ops.h"

typedef enum tile_code {
  T_SCALAR_FIRST = 0, /* scalar_code values come first */
  T_PROGRAM = SC_N, T_BUFFER, T_CONSTANT, T_ALIAS, T_LAUNCH, T_CUSTOM, T_ROUTINE, T_CONTROL, T_RETURN, T_KERNEL,
  T_BLOCK_ID, T_CONST, T_INDEX, T_VIEW, T_WINDOW, T_UNFOLD, T_ALLOC, T_LOAD, T_STORE, T_COPY, T_WAIT, T_BARRIER,
  T_FILL, T_SPLAT, T_GEMM, T_MMA_SYNC, T_MAP, T_REDUCE, T_FOR, T_IF, T_YIELD,
  T_GATHER, T_SCATTER, T_FFT_STAGE, T_TRANSPOSE, T_RESHAPE, T_LOAD_SCALAR, T_CONTRACT, T_ROW, T_DFT
} tile_code;

/* Shared by the inference of Tile and Target IR. */
tsr_status scalar_infer(ir_op *op, const ir_type **results);

#endif
