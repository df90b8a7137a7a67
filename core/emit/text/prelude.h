/* core/emit/text/prelude.h - what stands above the kernels in C-like text. A translation unit has three parts:
 *
 *   #ifdef TSR_EMULATOR        the primitives: what differs between dialects. Either the dialect's own
 *   #include TSR_EMULATOR      (emit/text/prelude_cuda.c, emit/text/prelude_hip.c), or, when the macro names a header,
 *   #else ... #endif           the emulator's. So the very text that the device compiler gets can be compiled as host
 *                              C++ and run. The emulator's are templates over vec, f16, bf16, f8e4m3, f8e5m2 and tf32,
 *                              which it only declares (template <class T, int N> struct vec;)
 *   common part                types, conversions and scalar functions written over the primitives
 *                              (emit/text/prelude_common.c)
 *   kernels                    in namespace tsr, calling both: extern "C" functions that take pointers, then tensor
 *                              maps
 *
 * The primitives, all in namespace tsr (T scalar, V = T or vec<T, N>; pointers into shared memory are plain pointers):
 *   macros   FN (qualifiers of a device function), KERNEL(threads) (of a kernel), on AMD also WAVES(n) (that fit on a
 *            SIMD), SHARED_MEMORY(bytes) (declares smem), GRID_CONSTANT (of a tensor_map parameter), TSR_CAT
 *   ids      int thread_id<axis>(), block_id<axis>(), lane_id(), warp_id()
 *   memory   V ld_global<V>(p), ld_global_stream<V>(p), ld_shared<V>(p); st_global(p, v), st_global_stream(p, v),
 *            st_shared(p, v) with p pointing at the first element; alignment is sizeof(V) or more, see ld_unaligned in
 *            the common part
 *   sync     barrier(), warp_barrier()
 *   lanes    unsigned shuffle_word<mode>(unsigned v, int lane, int width): mode 0 xor, 1 index, 2 up, 3 down
 *   floats   unsigned short f16_bits(float), bf16_bits(float) (to nearest even, NaN stays NaN), float
 *            f16_value(unsigned short); fexp flog fsqrt frsqrt ftanh ferf fsin fcos ffloor frint fpow ffma ffmod fabs_,
 *            fmin_nan fmax_nan, for float and double
 * NVIDIA (shared addresses by pointer):
 *   cp_async<bytes>(smem, global, valid), cp_commit(), cp_wait<n>()
 *   vec<int, N> ldmatrix<N, transpose>(smem), stmatrix<transpose>(smem, vec<int, N>)
 *   C-vector mma<M, N, K, A, B>(vec<int, NA> a, vec<int, NB> b, vec<C, NC> c); A, B: f16 bf16 tf32 f8e4m3 f8e5m2 signed
 *   char unsigned char
 *   tma_load(&map, smem, bar, c0, ...), tma_load_multicast(&map, smem, bar, mask, c0, ...),
 *   tma_store(&map, smem, c0, ...), tma_commit(), tma_wait<n>(), tma_wait_read<n>(); coordinates innermost first; rank
 *   2 to 5 mbar_init(bar, count), mbar_expect(bar, bytes), mbar_arrive(bar), mbar_arrive_cluster(bar, rank),
 *   mbar_wait(bar, parity) fence_async_proxy(), fence_mbarrier_init(), fence_cluster() wgmma<N, K, A, B, swizzle, ta,
 *   tb>(C *acc, const void *a, const void *b, lbo_a, sbo_a, lbo_b, sbo_b): N / 2 registers, both operands in shared
 *   memory wgmma_rs<N, K, A, B, swizzle, tb>(C *acc, const int *a_regs, const void *b, lbo_b, sbo_b): a in registers
 *   wgmma_pin(array), wgmma_fence(), wgmma_commit(), wgmma_wait<n>() cluster_store(smem, rank, v): v of 4 or 8 bytes to
 *   the same place in another block of the cluster setmaxnreg_inc<n>(), setmaxnreg_dec<n>(), bool elect(),
 *   cluster_sync(), cluster_arrive(), cluster_wait(), int cluster_rank(), named_barrier_sync<id, threads>(),
 *   named_barrier_arrive<id, threads>()
 * AMD:
 *   vec<C, NC> mfma<M, N, K, A, B>(vec<EA, NA> a, vec<EB, NB> b, vec<C, NC> c), wmma<M, N, K, A, B>(...): A and B say
 *   how the bits of the elements EA and EB are read (tf32: floats; f8e4m3fnuz, f8e5m2fnuz on gfx942)
 *   lds_load<bytes>(smem_wave_base, global_of_lane), waitcnt<vmcnt, lgkmcnt>() (-1 = any), setprio<n>(),
 *   sched_barrier<mask>(), settle(array) (its values are computed here, no later),
 *   named_barrier_sync<id, threads>() (the barrier instruction alone) */
#ifndef CORE_EMIT_TEXT_PRELUDE_H
#define CORE_EMIT_TEXT_PRELUDE_H
#include "core/emit/text/line.h"

/* Each in two parts: before and after the types are known. */
void text_common_types(strb *b, const text_use *u); /* emit/text/prelude_common.c */
void text_common_functions(strb *b, const text_use *u);
void text_common_memory(strb *b); /* for the base of a dialect that loads and stores words: ld_, st_global, _shared */

/* Which dialect's are where: emit/text/prelude_<name>.c with text_<name>_base and text_<name>_typed. */
#define TEXT_PRELUDES(X) \
  X(CUDA, cuda)          \
  X(HIP, hip)            \
  X(HOST, cuda)
#define TEXT_DECLARE_PRELUDE(DIALECT, name)           \
  void text_##name##_base(strb *b, const text_use *u); \
  void text_##name##_typed(strb *b, const text_use *u);
TEXT_PRELUDES(TEXT_DECLARE_PRELUDE)
#undef TEXT_DECLARE_PRELUDE

#endif
