/* tests/simt/prelude.h - what emitted CUDA and HIP text is compiled against on the host: the emulator's side of the spelling
 * that the text printers use. C++17, included before the text. The text's own helper section, which spells the same names with
 * inline PTX or amdgcn builtins, is guarded by `#ifndef TSR_EMULATOR`: the kernels themselves are the same text.
 *
 * A kernel is `extern "C" __global__ void name(float *a, ..., const __grid_constant__ tsr_tensor_map m0, ...)`. Each thread of
 * a block is a fiber; every function below that involves other threads, shared memory or time ends in the runtime
 * (simt_rt.h), which checks it. Plain pointer accesses are seen too: the compiler's -fsanitize=thread hooks report each of
 * them. tsr_load and tsr_store also tell the runtime the width and alignment that the device would use.
 *
 * The `line` parameters tell one call site from another and are never passed by the text. */
#ifndef TSR_SIMT_PRELUDE_H
#define TSR_SIMT_PRELUDE_H
#define TSR_EMULATOR 1
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "simt_rt.h"

#define __global__
#define __device__
#define __forceinline__ inline
#define __noinline__
#define __launch_bounds__(...)
#define __grid_constant__
#define __restrict__
#define LN int line = __builtin_LINE()
#define FN static inline __attribute__((unused))
#define RAW static inline __attribute__((unused, no_sanitize("thread"))) /* accesses that are reported by hand */

/* The block's dynamic shared memory, 1024-aligned: `TSR_SHARED(name);` in a kernel declares unsigned char *name. */
#define TSR_SHARED(name) unsigned char *const name = (unsigned char *)simt_shared()

/* ---- types: narrow floats are storage; arithmetic is done in f32 after tsr_cast ---------------------------------------- */
struct tsr_f16 { uint16_t bits; };
struct tsr_bf16 { uint16_t bits; };
struct tsr_f8e4m3 { uint8_t bits; };
struct tsr_f8e5m2 { uint8_t bits; };
struct tsr_f8e4m3fnuz { uint8_t bits; };
struct tsr_f8e5m2fnuz { uint8_t bits; };
typedef simt_tensor_map tsr_tensor_map;

/* N elements in registers, or in memory with the alignment of one access of that width (at most 16). */
template <class T, int N> struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) tsr_vec {
  T v[N];
  T &operator[](int i) { return v[i]; }
  const T &operator[](int i) const { return v[i]; }
};

template <class T> struct tsr_type_of;
#define TYPE_OF(T, code) template <> struct tsr_type_of<T> { static constexpr int value = code; };
TYPE_OF(double, SIMT_F64) TYPE_OF(float, SIMT_F32) TYPE_OF(tsr_f16, SIMT_F16) TYPE_OF(tsr_bf16, SIMT_BF16)
TYPE_OF(tsr_f8e4m3, SIMT_E4M3) TYPE_OF(tsr_f8e5m2, SIMT_E5M2) TYPE_OF(tsr_f8e4m3fnuz, SIMT_E4M3_FNUZ)
TYPE_OF(tsr_f8e5m2fnuz, SIMT_E5M2_FNUZ) TYPE_OF(int64_t, SIMT_I64) TYPE_OF(long long, SIMT_I64) TYPE_OF(int32_t, SIMT_I32)
TYPE_OF(uint32_t, SIMT_I32) TYPE_OF(int16_t, SIMT_I16) TYPE_OF(int8_t, SIMT_I8) TYPE_OF(uint8_t, SIMT_U8) TYPE_OF(bool, SIMT_BOOL)

/* ---- position ---------------------------------------------------------------------------------------------------------- */
#define tsr_thread_x() simt_index(SIMT_THREAD, 0)
#define tsr_thread_y() simt_index(SIMT_THREAD, 1)
#define tsr_thread_z() simt_index(SIMT_THREAD, 2)
#define tsr_block_x() simt_index(SIMT_BLOCK, 0)
#define tsr_block_y() simt_index(SIMT_BLOCK, 1)
#define tsr_block_z() simt_index(SIMT_BLOCK, 2)
#define tsr_lane_id() simt_lane()
#define tsr_warp_id() simt_warp()
#define tsr_cluster_rank() simt_cluster_rank()
struct simt_dim3 { int x, y, z; };
FN simt_dim3 simt_dim(int what) { return {simt_index(what, 0), simt_index(what, 1), simt_index(what, 2)}; }
#define threadIdx simt_dim(SIMT_THREAD)
#define blockIdx simt_dim(SIMT_BLOCK)
#define blockDim simt_dim(SIMT_BLOCK_DIM)
#define gridDim simt_dim(SIMT_GRID_DIM)

/* ---- memory ------------------------------------------------------------------------------------------------------------ */
/* One access of sizeof(V) bytes; ALIGN 0 = its own size (a device faults on less). */
template <class V, int ALIGN = 0> RAW V tsr_load(const void *p, LN) {
  V v;
  simt_access(p, sizeof(V), ALIGN ? ALIGN : sizeof(V) < 16 ? sizeof(V) : 16, SIMT_READ, line);
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
template <class V, int ALIGN = 0> RAW void tsr_store(void *p, V v, LN) {
  simt_access(p, sizeof(V), ALIGN ? ALIGN : sizeof(V) < 16 ? sizeof(V) : 16, SIMT_WRITE, line);
  __builtin_memcpy(p, &v, sizeof v);
}
template <class V, int ALIGN = 0> RAW V tsr_load_stream(const void *p, LN) { return tsr_load<V, ALIGN>(p, line); }
template <class V, int ALIGN = 0> RAW void tsr_store_stream(void *p, V v, LN) { tsr_store<V, ALIGN>(p, v, line); }
template <class T> FN T tsr_atomic_add(T *p, T v, LN) { return (T)simt_atomic(p, tsr_type_of<T>::value, SIMT_SUM, (double)v, line); }
template <class T> FN T tsr_atomic_max(T *p, T v, LN) { return (T)simt_atomic(p, tsr_type_of<T>::value, SIMT_MAX, (double)v, line); }
FN uint32_t tsr_shared_address(const void *p, LN) { return simt_shared_address(p, line); }
template <class To, class From> RAW To tsr_bitcast(From f) {
  static_assert(sizeof(To) == sizeof(From), "bitcast of another size");
  To t;
  __builtin_memcpy(&t, &f, sizeof t);
  return t;
}

/* ---- conversion ---------------------------------------------------------------------------------------------------------
 * tsr_cast<To>(from): narrower floats round to nearest even (fp8 saturates to the largest finite value), float to integer
 * truncates and saturates, NaN becomes 0. */
constexpr bool simt_is_narrow(int t) { return t == SIMT_F16 || t == SIMT_BF16 || t == SIMT_E4M3 || t == SIMT_E5M2 || t >= SIMT_E4M3_FNUZ; }
template <class To, class From> RAW To tsr_cast(From x) {
  constexpr int to = tsr_type_of<To>::value, from = tsr_type_of<From>::value;
  if constexpr (to == from) { return tsr_bitcast<To>(x); }
  else if constexpr (simt_is_narrow(from)) { return tsr_cast<To>(simt_widen(x.bits, from)); }
  else if constexpr (simt_is_narrow(to)) { To r; r.bits = simt_narrow((float)x, to, sizeof(To) == 1); return r; }
  else if constexpr (to == SIMT_BOOL) { return x != 0; }
  else if constexpr ((from == SIMT_F32 || from == SIMT_F64) && to >= SIMT_I64) {
    constexpr double lo = to == SIMT_U8 ? 0.0 : -(double)(1ull << (sizeof(To) * 8 - 1));
    constexpr double hi = to == SIMT_U8 ? 255.0 : (double)(1ull << (sizeof(To) * 8 - 1)) - 1;
    double d = (double)x;
    if (d != d) return (To)0;
    if (d <= lo) return (To)(to == SIMT_U8 ? 0 : (long long)(~0ull << (sizeof(To) * 8 - 1)));
    if (d >= hi) return (To)(to == SIMT_U8 ? 255 : (long long)((1ull << (sizeof(To) * 8 - 1)) - 1));
    return (To)d;
  } else { return (To)x; }
}

/* ---- arithmetic ---------------------------------------------------------------------------------------------------------- */
#define MATH1(name, f64, f32) FN double name(double x) { return f64; } FN float name(float x) { return f32; }
MATH1(tsr_exp, exp(x), expf(x)) MATH1(tsr_exp2, exp2(x), exp2f(x)) MATH1(tsr_log, log(x), logf(x)) MATH1(tsr_log2, log2(x), log2f(x))
MATH1(tsr_sqrt, sqrt(x), sqrtf(x)) MATH1(tsr_rsqrt, 1 / sqrt(x), 1 / sqrtf(x)) MATH1(tsr_tanh, tanh(x), tanhf(x))
MATH1(tsr_erf, erf(x), erff(x)) MATH1(tsr_sin, sin(x), sinf(x)) MATH1(tsr_cos, cos(x), cosf(x))
MATH1(tsr_floor, floor(x), floorf(x)) MATH1(tsr_trunc, trunc(x), truncf(x)) MATH1(tsr_abs, fabs(x), fabsf(x))
FN int tsr_abs(int x) { return x < 0 ? -x : x; }
FN float tsr_pow(float a, float b) { return powf(a, b); }
FN double tsr_pow(double a, double b) { return pow(a, b); }
FN float tsr_fma(float a, float b, float c) { return fmaf(a, b, c); }
FN double tsr_fma(double a, double b, double c) { return fma(a, b, c); }
template <class T> FN T tsr_fma(T a, T b, T c) { return (T)(a * b + c); }
template <class T> FN T tsr_min(T a, T b) { return a != a ? a : b != b ? b : b < a ? b : a; }
template <class T> FN T tsr_max(T a, T b) { return a != a ? a : b != b ? b : b > a ? b : a; }
FN float tsr_rem(float a, float b) { return fmodf(a, b); }
FN double tsr_rem(double a, double b) { return fmod(a, b); }
template <class T> FN T tsr_rem(T a, T b) { return b == 0 || b == (T)-1 ? (T)0 : (T)(a % b); }
FN float tsr_div(float a, float b) { return a / b; }
FN double tsr_div(double a, double b) { return a / b; }
template <class T> FN T tsr_div(T a, T b) { return b == 0 ? (T)0 : b == (T)-1 ? (T)(0 - (uint64_t)a) : (T)(a / b); }

/* ---- barriers and warp exchange ------------------------------------------------------------------------------------------- */
FN void tsr_barrier(LN) { simt_barrier(line); }
FN void __syncthreads(LN) { simt_barrier(line); }
FN void tsr_warp_barrier(LN) { simt_warp_barrier(line); }
FN void __syncwarp(unsigned mask = ~0u, LN) { simt_warp_barrier(line); }
FN void tsr_named_barrier(int id, int threads, LN) { simt_named_barrier(id, threads, 0, line); }
FN void tsr_named_arrive(int id, int threads, LN) { simt_named_barrier(id, threads, 1, line); }
template <class T> FN T simt_exchange(T v, int mode, int arg, int width, int line) {
  uint64_t bits = 0;
  __builtin_memcpy(&bits, &v, sizeof v);
  bits = simt_shuffle(bits, mode, arg, width, line);
  __builtin_memcpy(&v, &bits, sizeof v);
  return v;
}
template <class T> FN T tsr_shuffle_xor(T v, int mask, int width = 0, LN) { return simt_exchange(v, SIMT_XOR, mask, width, line); }
template <class T> FN T tsr_shuffle_index(T v, int lane, int width = 0, LN) { return simt_exchange(v, SIMT_INDEX, lane, width, line); }
template <class T> FN T tsr_shuffle_up(T v, int delta, int width = 0, LN) { return simt_exchange(v, SIMT_UP, delta, width, line); }
template <class T> FN T tsr_shuffle_down(T v, int delta, int width = 0, LN) { return simt_exchange(v, SIMT_DOWN, delta, width, line); }
#define REDUCE(name, expr)                                                            \
  template <class T> FN T name(T a, int width = 0, LN) {                              \
    for (int d = (width ? width : simt_warp_size()) / 2; d > 0; d /= 2) {             \
      T b = simt_exchange(a, SIMT_XOR, d, 0, line);                                   \
      a = expr;                                                                       \
    }                                                                                 \
    return a;                                                                         \
  }
REDUCE(tsr_warp_reduce_sum, a + b) REDUCE(tsr_warp_reduce_max, tsr_max(a, b))
REDUCE(tsr_warp_reduce_min, tsr_min(a, b)) REDUCE(tsr_warp_reduce_prod, a * b)
FN bool tsr_elect(LN) { return simt_elect(line); }
FN uint64_t tsr_ballot(bool p, LN) { return simt_ballot(p, line); }

/* ---- Ampere: cp.async, ldmatrix, mma.sync ----------------------------------------------------------------------------------- */
template <int BYTES> FN void tsr_cp_async(void *shared, const void *global, int valid = BYTES, LN) { simt_cp_async(shared, global, BYTES, valid, line); }
FN void tsr_cp_commit(LN) { simt_cp_commit(line); }
template <int PENDING> FN void tsr_cp_wait(LN) { simt_cp_wait(PENDING, line); }
template <int COUNT, bool TRANSPOSE = false> FN tsr_vec<int, COUNT> tsr_ldmatrix(const void *row, LN) {
  tsr_vec<int, COUNT> r;
  simt_ldmatrix((uint32_t *)r.v, row, COUNT, TRANSPOSE, line);
  return r;
}
template <int COUNT, bool TRANSPOSE = false> FN void tsr_stmatrix(tsr_vec<int, COUNT> r, void *row, LN) {
  simt_stmatrix((const uint32_t *)r.v, row, COUNT, TRANSPOSE, line);
}
/* tsr_mma_mMnNkK_A_B_C(a, b, c): a, b are i32 registers, c is f32 or i32 (f16: two in an i32 register; f64: doubles). */
#define MMA(M, N, K, A, B, C, TA, TB, TC, REG)                                                              \
  template <int NA, int NB, int NC>                                                                         \
  FN tsr_vec<REG, NC> tsr_mma_m##M##n##N##k##K##_##A##_##B##_##C(tsr_vec<int, NA> a, tsr_vec<int, NB> b, tsr_vec<REG, NC> c, LN) { \
    static const simt_mma_desc d = {M, N, K, TA, TB, TC};                                                   \
    tsr_vec<REG, NC> r;                                                                                     \
    simt_mma(&d, a.v, b.v, c.v, r.v, line);                                                                 \
    return r;                                                                                               \
  }
MMA(16, 8, 8, f16, f16, f32, SIMT_F16, SIMT_F16, SIMT_F32, float) MMA(16, 8, 16, f16, f16, f32, SIMT_F16, SIMT_F16, SIMT_F32, float)
MMA(16, 8, 8, bf16, bf16, f32, SIMT_BF16, SIMT_BF16, SIMT_F32, float) MMA(16, 8, 16, bf16, bf16, f32, SIMT_BF16, SIMT_BF16, SIMT_F32, float)
MMA(16, 8, 8, f16, f16, f16, SIMT_F16, SIMT_F16, SIMT_F16, int) MMA(16, 8, 16, f16, f16, f16, SIMT_F16, SIMT_F16, SIMT_F16, int)
MMA(16, 8, 4, tf32, tf32, f32, SIMT_TF32, SIMT_TF32, SIMT_F32, float) MMA(16, 8, 8, tf32, tf32, f32, SIMT_TF32, SIMT_TF32, SIMT_F32, float)
MMA(16, 8, 16, i8, i8, i32, SIMT_I8, SIMT_I8, SIMT_I32, int) MMA(16, 8, 32, i8, i8, i32, SIMT_I8, SIMT_I8, SIMT_I32, int)
MMA(16, 8, 16, u8, u8, i32, SIMT_U8, SIMT_U8, SIMT_I32, int) MMA(16, 8, 32, u8, u8, i32, SIMT_U8, SIMT_U8, SIMT_I32, int)
MMA(16, 8, 32, u8, i8, i32, SIMT_U8, SIMT_I8, SIMT_I32, int) MMA(16, 8, 32, i8, u8, i32, SIMT_I8, SIMT_U8, SIMT_I32, int)
MMA(16, 8, 32, f8e4m3, f8e4m3, f32, SIMT_E4M3, SIMT_E4M3, SIMT_F32, float) MMA(16, 8, 32, f8e5m2, f8e5m2, f32, SIMT_E5M2, SIMT_E5M2, SIMT_F32, float)
MMA(16, 8, 32, f8e4m3, f8e5m2, f32, SIMT_E4M3, SIMT_E5M2, SIMT_F32, float) MMA(16, 8, 32, f8e5m2, f8e4m3, f32, SIMT_E5M2, SIMT_E4M3, SIMT_F32, float)
MMA(8, 8, 4, f64, f64, f64, SIMT_F64, SIMT_F64, SIMT_F64, double)

/* ---- Hopper: mbarrier, TMA, wgmma, clusters ------------------------------------------------------------------------------------ */
FN void tsr_mbar_init(void *bar, int count, LN) { simt_mbar_init(bar, count, line); }
FN void tsr_mbar_expect(void *bar, int bytes, LN) { simt_mbar_expect(bar, bytes, line); } /* arrives too */
FN void tsr_mbar_arrive(void *bar, LN) { simt_mbar_arrive(bar, 1, -1, line); }
FN void tsr_mbar_arrive_remote(void *bar, int rank, LN) { simt_mbar_arrive(bar, 1, rank, line); }
FN void tsr_mbar_wait(void *bar, int parity, LN) { simt_mbar_wait(bar, parity, line); }
template <class... C> FN void simt_at_tsr_tma_load(int line, const tsr_tensor_map &m, void *shared, void *bar, C... coords) {
  const int c[] = {(int)coords...};
  simt_tma_load(&m, shared, bar, c, sizeof...(C), 0, line);
}
#define tsr_tma_load(...) simt_at_tsr_tma_load(__LINE__, __VA_ARGS__)
template <class... C> FN void simt_at_tsr_tma_load_multicast(int line, const tsr_tensor_map &m, void *shared, void *bar, int mask, C... coords) {
  const int c[] = {(int)coords...};
  simt_tma_load(&m, shared, bar, c, sizeof...(C), mask, line);
}
#define tsr_tma_load_multicast(...) simt_at_tsr_tma_load_multicast(__LINE__, __VA_ARGS__)
template <class... C> FN void simt_at_tsr_tma_store(int line, const tsr_tensor_map &m, const void *shared, C... coords) {
  const int c[] = {(int)coords...};
  simt_tma_store(&m, shared, c, sizeof...(C), line);
}
#define tsr_tma_store(...) simt_at_tsr_tma_store(__LINE__, __VA_ARGS__)
FN void tsr_tma_prefetch_map(const tsr_tensor_map &) {}
FN void tsr_tma_commit(LN) { simt_tma_commit(line); }
template <int PENDING> FN void tsr_tma_wait(LN) { simt_tma_wait(PENDING, 0, line); }
template <int PENDING> FN void tsr_tma_wait_read(LN) { simt_tma_wait(PENDING, 1, line); }
FN void tsr_fence_async_proxy(LN) { simt_fence(SIMT_FENCE_ASYNC_PROXY, line); }
FN void tsr_fence_mbarrier_init(LN) { simt_fence(SIMT_FENCE_MBARRIER_INIT, line); }
FN void tsr_fence_cluster(LN) { simt_fence(SIMT_FENCE_CLUSTER, line); }
FN void tsr_cluster_sync(LN) { simt_cluster_sync(line); }

/* tsr_wgmma_A_B_C<N, K, TRANS_A, TRANS_B>(acc, descriptor a, descriptor b, scale_d = 1) and tsr_wgmma_rs_A_B_C<...>(acc, a
 * registers, descriptor b, scale_d): acc points to the N/2 (f16: N/4) accumulator registers of the thread. */
#define WGMMA(A, B, C, TA, TB, TC, REG)                                                                                        \
  template <int N, int K, int TRANS_A = 0, int TRANS_B = 0> FN void tsr_wgmma_##A##_##B##_##C(REG *acc, uint64_t a, uint64_t b, int scale_d = 1, LN) { \
    const simt_wgmma_desc d = {N, K, TA, TB, TC, TRANS_A, TRANS_B, scale_d, 1, 1};                                             \
    simt_wgmma(&d, acc, a, 0, b, line);                                                                                        \
  }                                                                                                                            \
  template <int N, int K, int TRANS_A = 0, int TRANS_B = 0> FN void tsr_wgmma_rs_##A##_##B##_##C(REG *acc, const int *a, uint64_t b, int scale_d = 1, LN) { \
    const simt_wgmma_desc d = {N, K, TA, TB, TC, TRANS_A, TRANS_B, scale_d, 1, 1};                                             \
    simt_wgmma(&d, acc, 0, (const uint32_t *)a, b, line);                                                                      \
  }
WGMMA(f16, f16, f32, SIMT_F16, SIMT_F16, SIMT_F32, float) WGMMA(bf16, bf16, f32, SIMT_BF16, SIMT_BF16, SIMT_F32, float)
WGMMA(f16, f16, f16, SIMT_F16, SIMT_F16, SIMT_F16, int) WGMMA(tf32, tf32, f32, SIMT_TF32, SIMT_TF32, SIMT_F32, float)
WGMMA(f8e4m3, f8e4m3, f32, SIMT_E4M3, SIMT_E4M3, SIMT_F32, float) WGMMA(f8e5m2, f8e5m2, f32, SIMT_E5M2, SIMT_E5M2, SIMT_F32, float)
WGMMA(f8e4m3, f8e5m2, f32, SIMT_E4M3, SIMT_E5M2, SIMT_F32, float) WGMMA(f8e5m2, f8e4m3, f32, SIMT_E5M2, SIMT_E4M3, SIMT_F32, float)
WGMMA(i8, i8, i32, SIMT_I8, SIMT_I8, SIMT_I32, int) WGMMA(u8, u8, i32, SIMT_U8, SIMT_U8, SIMT_I32, int)
/* Zero or more accumulator arrays may be named, to pin them on the device. */
#define tsr_wgmma_fence(...) simt_wgmma_fence(__LINE__)
FN void tsr_wgmma_commit(LN) { simt_wgmma_commit(line); }
template <int PENDING, class... A> FN void tsr_wgmma_wait(A &...) { simt_wgmma_wait(PENDING, __builtin_LINE()); }
template <int REGISTERS> FN void tsr_setmaxnreg_inc(LN) { simt_setmaxnreg(REGISTERS, 1, line); }
template <int REGISTERS> FN void tsr_setmaxnreg_dec(LN) { simt_setmaxnreg(REGISTERS, 0, line); }

/* ---- AMD: mfma, wmma, direct-to-LDS, waits --------------------------------------------------------------------------------------
 * tsr_mfma_MxNxK_A_B_C(a, b, c): vectors of the element types as the builtins take them (wave of 64). */
#define MFMA(M, N, K, A, B, C, TA, TB, TC, ELEM_A, ELEM_B, REG, NE, NC)                                                       \
  FN tsr_vec<REG, NC> tsr_mfma_##M##x##N##x##K##_##A##_##B##_##C(tsr_vec<ELEM_A, NE> a, tsr_vec<ELEM_B, NE> b, tsr_vec<REG, NC> c, LN) { \
    static const simt_mma_desc d = {M, N, K, TA, TB, TC};                                                                     \
    tsr_vec<REG, NC> r;                                                                                                       \
    simt_mfma(&d, a.v, b.v, c.v, r.v, line);                                                                                  \
    return r;                                                                                                                 \
  }
#define MFMA_F(M, K, A, T, E, NE, NC) MFMA(M, M, K, A, A, f32, T, T, SIMT_F32, E, E, float, NE, NC)
MFMA_F(32, 2, f32, SIMT_F32, float, 1, 16) MFMA_F(16, 4, f32, SIMT_F32, float, 1, 4)
MFMA_F(32, 8, f16, SIMT_F16, tsr_f16, 4, 16) MFMA_F(16, 16, f16, SIMT_F16, tsr_f16, 4, 4)
MFMA_F(32, 8, bf16, SIMT_BF16, tsr_bf16, 4, 16) MFMA_F(16, 16, bf16, SIMT_BF16, tsr_bf16, 4, 4)
MFMA_F(32, 16, f16, SIMT_F16, tsr_f16, 8, 16) MFMA_F(16, 32, f16, SIMT_F16, tsr_f16, 8, 4)      /* gfx950 */
MFMA_F(32, 16, bf16, SIMT_BF16, tsr_bf16, 8, 16) MFMA_F(16, 32, bf16, SIMT_BF16, tsr_bf16, 8, 4) /* gfx950 */
MFMA_F(32, 16, f8e4m3fnuz, SIMT_E4M3_FNUZ, tsr_f8e4m3fnuz, 8, 16) MFMA_F(16, 32, f8e4m3fnuz, SIMT_E4M3_FNUZ, tsr_f8e4m3fnuz, 8, 4) /* gfx942 */
MFMA_F(32, 16, f8e5m2fnuz, SIMT_E5M2_FNUZ, tsr_f8e5m2fnuz, 8, 16) MFMA_F(16, 32, f8e5m2fnuz, SIMT_E5M2_FNUZ, tsr_f8e5m2fnuz, 8, 4)
MFMA_F(32, 16, f8e4m3, SIMT_E4M3, tsr_f8e4m3, 8, 16) MFMA_F(16, 32, f8e4m3, SIMT_E4M3, tsr_f8e4m3, 8, 4) /* gfx950 */
MFMA_F(32, 16, f8e5m2, SIMT_E5M2, tsr_f8e5m2, 8, 16) MFMA_F(16, 32, f8e5m2, SIMT_E5M2, tsr_f8e5m2, 8, 4)
MFMA_F(32, 64, f8e4m3, SIMT_E4M3, tsr_f8e4m3, 32, 16) MFMA_F(16, 128, f8e4m3, SIMT_E4M3, tsr_f8e4m3, 32, 4)
MFMA(16, 16, 4, f64, f64, f64, SIMT_F64, SIMT_F64, SIMT_F64, double, double, double, 1, 4)
MFMA(32, 32, 8, i8, i8, i32, SIMT_I8, SIMT_I8, SIMT_I32, int8_t, int8_t, int, 4, 16)     /* gfx90a */
MFMA(16, 16, 16, i8, i8, i32, SIMT_I8, SIMT_I8, SIMT_I32, int8_t, int8_t, int, 4, 4)
MFMA(32, 32, 16, i8, i8, i32, SIMT_I8, SIMT_I8, SIMT_I32, int8_t, int8_t, int, 8, 16)    /* gfx942 */
MFMA(16, 16, 32, i8, i8, i32, SIMT_I8, SIMT_I8, SIMT_I32, int8_t, int8_t, int, 8, 4)
/* tsr_wmma_16x16x16_A_B_C(a, b, c) on a wave of 32: 16 elements of a and b on gfx11, 8 on gfx12, 8 of c. */
#define WMMA(A, B, C, TA, TB, TC, ELEM_A, ELEM_B, REG)                                                                        \
  template <int NE> FN tsr_vec<REG, 8> tsr_wmma_16x16x16_##A##_##B##_##C(tsr_vec<ELEM_A, NE> a, tsr_vec<ELEM_B, NE> b, tsr_vec<REG, 8> c, LN) { \
    static const simt_mma_desc d = {16, 16, 16, TA, TB, TC};                                                                  \
    tsr_vec<REG, 8> r;                                                                                                        \
    simt_wmma(&d, NE == 16 ? SIMT_GFX11 : SIMT_GFX12, a.v, b.v, c.v, r.v, line);                                              \
    return r;                                                                                                                 \
  }
WMMA(f16, f16, f32, SIMT_F16, SIMT_F16, SIMT_F32, tsr_f16, tsr_f16, float) WMMA(bf16, bf16, f32, SIMT_BF16, SIMT_BF16, SIMT_F32, tsr_bf16, tsr_bf16, float)
WMMA(i8, i8, i32, SIMT_I8, SIMT_I8, SIMT_I32, int8_t, int8_t, int) WMMA(u8, u8, i32, SIMT_U8, SIMT_U8, SIMT_I32, uint8_t, uint8_t, int)
WMMA(f8e4m3, f8e4m3, f32, SIMT_E4M3, SIMT_E4M3, SIMT_F32, tsr_f8e4m3, tsr_f8e4m3, float) /* gfx12 */
WMMA(f8e5m2, f8e5m2, f32, SIMT_E5M2, SIMT_E5M2, SIMT_F32, tsr_f8e5m2, tsr_f8e5m2, float)
/* BYTES per lane (4, or 16 on gfx950) from the lane's global address to the wave's base + lane * BYTES. */
template <int BYTES> FN void tsr_lds_load(void *shared_wave_base, const void *global, LN) { simt_lds_load(shared_wave_base, global, BYTES, line); }
template <int VMCNT, int LGKMCNT> FN void tsr_waitcnt(LN) { simt_waitcnt(VMCNT, LGKMCNT, line); }
template <int LEVEL> FN void tsr_setprio() {}
template <int MASK> FN void tsr_sched_barrier() {}

/* ---- entry: args points to one pointer per parameter, as a driver's launch call has it ------------------------------------------ */
template <int... I> struct simt_seq {};
template <int N, int... I> struct simt_make_seq : simt_make_seq<N - 1, N - 1, I...> {};
template <int... I> struct simt_make_seq<0, I...> { typedef simt_seq<I...> type; };
template <class... A, int... I> RAW void simt_spread(void (*f)(A...), void **args, simt_seq<I...>) { f(*(A *)args[I]...); }
template <class... A> RAW void simt_call(void (*f)(A...), void **args) { simt_spread(f, args, typename simt_make_seq<sizeof...(A)>::type()); }
#undef LN
#undef FN
#undef RAW
#undef TYPE_OF
#undef MATH1
#undef REDUCE
#undef MMA
#undef WGMMA
#undef MFMA
#undef MFMA_F
#undef WMMA
#define SIMT_ENTRY(name) extern "C" void simt_entry_##name(void **args) { simt_call(name, args); }
#endif
