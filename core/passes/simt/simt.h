/* core/passes/simt/simt.h - Tile IR (block-collective) to Target IR (code of one thread) for the SPIR-V, CUDA, HIP and
 * host dialects; everything that differs between devices comes from tsr_caps.
 *
 * How a fragment becomes registers. A layout says, per dimension, which element a register of a thread holds:
 *     element = (((rep * warps + warp) * inner + i) * lanes + lane) * vec + e
 * with e < vec, lane < lanes, i < inner, warp < warps and rep as large as the extent asks for; lane and warp are digits
 * of the thread's lane and subgroup number, the last dimension's digit being the fastest. Registers are numbered
 * row-major over the dimensions' (rep, i, e). Elements past the extent exist but mean nothing; dimensions of extent 1
 * are repeated over their lanes and warps. Fragments that meet in an elementwise op, a loop or a reduction get one
 * layout (simt/layout.c), so these never move data. The accumulators of mma.sync (vec 2, lanes 8x4, inner 2), wgmma,
 * MFMA (vec 4 rows) and WMMA are such layouts too: their maps, reductions and stores need no code of their own.
 * Registers are SSA scalars.
 *
 * A kernel with the attribute `cluster` = [c, 1, 1] has blocks of c times the threads: their subgroups count on through
 * the cluster, so that layouts spread a fragment over all of it. Reductions then combine in each block, and the blocks'
 * results through each other's shared memory; nothing else may exchange data (simt/cluster.c).
 *
 * Threads of a block (kernel attribute `warps` wins): registers wanted per thread = 64 for a gemm accumulator, 32 for
 * other fragments of a kernel with a reduction, 8 else (128, 128 and 16 on subgroups of at most 8 lanes, where a
 * subgroup is a SIMD register of a CPU); an fft stage gets one thread per radix points. Rounded up to a power of two of
 * subgroups.
 *
 * A matrix path is a way to do gemm. To add one: fill a simt_matrix_path, list it in simt_paths (simt/matrix/paths.c),
 * best first. `fits` is asked for every gemm of a kernel; the first path that takes them all is used, else `fma` (the
 * SIMT outer product, which always fits). The kernel's attribute `matrix`, or TSR_MATRIX, forces one by name. The
 * kernel's attributes `path` and `why` tell the outcome.
 *   - layout: fills vec, lanes, inner and warps of the accumulator's two dimensions, for the smallest accumulator
 *     extents of the group (m, n); it must use all of c->warps where it can. reps is derived.
 *   - gemm: acc (scalars in that layout) + A * B -> out. Operands are simt_mem: pointer, base index, strides, both for
 *     shared and for global memory; `frag` is set when the operand is a fragment (its registers, for paths that feed
 *     them directly; mem is then its spilled copy, made only if `wants_mem(operand)`).
 *   - opaque paths (cooperative matrices) keep accumulators as n_opaque values of their own types; they add `fill` (a
 *     constant accumulator), `to_regs` and `from_regs` (conversion to and from scalars in the layout, through
 *     simt_scratch_tile), `store` (whole tile to memory without conversion, false if it can't) and optionally `map`,
 *     `load` and `reduce` on accumulators, with `keeps`. A loop carries them as they are.
 * Helpers for paths: the sx_ functions build simplified, value-numbered code at the insertion point; simt_read /
 * simt_write announce shared memory accesses and insert the barriers that hazards need; simt_scratch_tile gives shared
 * bytes for the current op. */
#ifndef CORE_PASSES_SIMT_SIMT_H
#define CORE_PASSES_SIMT_SIMT_H
#include "core/device/caps.h"
#include "core/ir/ir.h"

/* Of a tessera.tile.contract: does a lowering of whole kernels (simt/whole) take it? Others must be written out before.
 * *why: what such a one that is asked for would have needed; else as it was. */
bool simt_takes_contract(const ir_op *contract, const tsr_caps *caps, const char **why);

/* Lowers all kernels and the program of a verified Tile IR module. The result is verified. TSR_UNSUPPORTED names the op
 * and the missing capability or exceeded limit. */
tsr_status tile_to_simt(const ir_module *tile, const tsr_caps *caps, ir_module **out);

#endif
