/* tests/simt/prelude.h - the emulator's primitives: what emitted CUDA and HIP text (core/emit/text.h) is compiled against on
 * the host instead of its own inline PTX or amdgcn builtins. The text says `#include TSR_EMULATOR`; the kernels themselves are
 * the very text that the device compiler gets.
 *
 * Each thread of a block is a fiber; every function below that touches memory, other threads or time ends in the runtime
 * (simt_rt.h), which checks it. Plain pointer accesses are seen too: the compiler's -fsanitize=thread hooks report them.
 * The `line` parameters tell one call site from another and are never passed by the text. */
#ifndef TSR_SIMT_PRELUDE_H
#define TSR_SIMT_PRELUDE_H
#include <math.h>
#include <stdint.h>

#include "simt_rt.h"

#define FN inline __attribute__((unused))
#define KERNEL(threads) extern "C" void
#define SHARED_MEMORY(bytes) unsigned char *const smem = (unsigned char *)simt_shared()
#define GRID_CONSTANT
#define TSR_CAT_(a, b) a##b
#define TSR_CAT(a, b) TSR_CAT_(a, b)
#define __restrict__

namespace tsr {
#define LN int line = __builtin_LINE()
#define RAW inline __attribute__((unused, no_sanitize("thread"))) /* accesses are reported by hand */

template <class T, int N> struct vec; /* the text defines these */
struct f16;
struct bf16;
struct f8e4m3;
struct f8e5m2;
struct tf32;
struct f8e4m3fnuz;
struct f8e5m2fnuz;
typedef simt_tensor_map tensor_map;

template <class T> struct type_of;
#define TYPE_OF(T, code) template <> struct type_of<T> { static constexpr int value = code; };
TYPE_OF(double, SIMT_F64) TYPE_OF(float, SIMT_F32) TYPE_OF(tf32, SIMT_TF32) TYPE_OF(f16, SIMT_F16) TYPE_OF(bf16, SIMT_BF16)
TYPE_OF(f8e4m3, SIMT_E4M3) TYPE_OF(f8e5m2, SIMT_E5M2) TYPE_OF(f8e4m3fnuz, SIMT_E4M3_FNUZ) TYPE_OF(f8e5m2fnuz, SIMT_E5M2_FNUZ)
TYPE_OF(int, SIMT_I32) TYPE_OF(unsigned, SIMT_I32) TYPE_OF(signed char, SIMT_I8) TYPE_OF(char, SIMT_I8) TYPE_OF(unsigned char, SIMT_U8)

/* ---- position ---------------------------------------------------------------------------------------------------------- */
template <int AXIS> FN int thread_id() { return simt_index(SIMT_THREAD, AXIS); }
template <int AXIS> FN int block_id() { return simt_index(SIMT_BLOCK, AXIS); }
FN int lane_id() { return simt_lane(); }
FN int warp_id() { return simt_warp(); }
FN int cluster_rank() { return simt_cluster_rank(); }

/* ---- memory: one access of sizeof(V) bytes; the device needs it aligned to its size, up to 16 ----------------------------- */
template <class V> RAW V simt_ld(const void *p, int space, int line) {
  V v;
  simt_access(p, sizeof(V), sizeof(V) < 16 ? sizeof(V) : 16, SIMT_READ, space, line);
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
template <class V> RAW void simt_st(void *p, const V &v, int space, int line) {
  simt_access(p, sizeof(V), sizeof(V) < 16 ? sizeof(V) : 16, SIMT_WRITE, space, line);
  __builtin_memcpy(p, &v, sizeof v);
}
template <class V> RAW V ld_global(const void *p, LN) { return simt_ld<V>(p, SIMT_GLOBAL, line); }
template <class V> RAW V ld_global_stream(const void *p, LN) { return simt_ld<V>(p, SIMT_GLOBAL, line); }
template <class V> RAW V ld_shared(const void *p, LN) { return simt_ld<V>(p, SIMT_SHARED, line); }
template <class V> RAW void st_global(void *p, V v, LN) { simt_st(p, v, SIMT_GLOBAL, line); }
template <class V> RAW void st_global_stream(void *p, V v, LN) { simt_st(p, v, SIMT_GLOBAL, line); }
template <class V> RAW void st_shared(void *p, V v, LN) { simt_st(p, v, SIMT_SHARED, line); }

/* ---- arithmetic ---------------------------------------------------------------------------------------------------------- */
FN unsigned short f16_bits(float x) { return (unsigned short)simt_narrow(x, SIMT_F16); }
FN unsigned short bf16_bits(float x) { return (unsigned short)simt_narrow(x, SIMT_BF16); }
FN float f16_value(unsigned short bits) { return simt_widen(bits, SIMT_F16); }
#define MATH1(name, f64, f32) FN double name(double x) { return f64; } FN float name(float x) { return f32; }
MATH1(fexp, exp(x), expf(x)) MATH1(fexp2, exp2(x), exp2f(x)) MATH1(flog, log(x), logf(x)) MATH1(fsqrt, sqrt(x), sqrtf(x))
MATH1(frsqrt, 1 / sqrt(x), 1 / sqrtf(x)) MATH1(ftanh, tanh(x), tanhf(x)) MATH1(ferf, erf(x), erff(x)) MATH1(fsin, sin(x), sinf(x))
MATH1(fcos, cos(x), cosf(x)) MATH1(ffloor, floor(x), floorf(x)) MATH1(fabs_, fabs(x), fabsf(x))
#define MATH2(name, f64, f32) FN double name(double a, double b) { return f64; } FN float name(float a, float b) { return f32; }
MATH2(fpow, pow(a, b), powf(a, b)) MATH2(ffmod, fmod(a, b), fmodf(a, b))
MATH2(fmin_nan, a != a ? a : b != b ? b : b < a ? b : a, a != a ? a : b != b ? b : b < a ? b : a)
MATH2(fmax_nan, a != a ? a : b != b ? b : b > a ? b : a, a != a ? a : b != b ? b : b > a ? b : a)
FN float ffma(float a, float b, float c) { return fmaf(a, b, c); }
FN double ffma(double a, double b, double c) { return fma(a, b, c); }

/* ---- barriers and warp exchange ------------------------------------------------------------------------------------------- */
FN void barrier(LN) { simt_barrier(line); }
FN void warp_barrier(LN) { simt_warp_barrier(line); }
template <int ID, int THREADS> FN void named_barrier_sync(LN) { simt_named_barrier(ID, THREADS, 0, line); }
template <int ID, int THREADS> FN void named_barrier_arrive(LN) { simt_named_barrier(ID, THREADS, 1, line); }
template <int MODE> FN unsigned shuffle_word(unsigned v, int lane, int width, LN) { return (unsigned)simt_shuffle(v, MODE, lane, width, line); }
FN bool elect(LN) { return simt_elect(line); }

/* ---- Ampere: cp.async, ldmatrix, mma.sync ----------------------------------------------------------------------------------- */
template <int BYTES> FN void cp_async(void *shared, const void *global, int valid = BYTES, LN) { simt_cp_async(shared, global, BYTES, valid, line); }
FN void cp_commit(LN) { simt_cp_commit(line); }
template <int PENDING> FN void cp_wait(LN) { simt_cp_wait(PENDING, line); }
template <int N, bool TRANSPOSE = false> FN vec<int, N> ldmatrix(const void *row, LN) {
  vec<int, N> r;
  simt_ldmatrix((uint32_t *)r.v, row, N, TRANSPOSE, line);
  return r;
}
template <bool TRANSPOSE = false, int N = 1> FN void stmatrix(void *row, vec<int, N> r, LN) {
  simt_stmatrix((const uint32_t *)r.v, row, N, TRANSPOSE, line);
}
/* a and b are 32-bit registers; the accumulator's type is C's (f16: two in an i32 register). */
template <int M, int N, int K, class A, class B, class C, int NA, int NB, int NC>
FN vec<C, NC> mma(const vec<int, NA> &a, const vec<int, NB> &b, const vec<C, NC> &c, LN) {
  constexpr int acc = type_of<A>::value == SIMT_F16 && type_of<C>::value == SIMT_I32 ? SIMT_F16 : type_of<C>::value;
  const simt_mma_desc d = {M, N, K, type_of<A>::value, type_of<B>::value, acc};
  vec<C, NC> r;
  simt_mma(&d, a.v, b.v, c.v, r.v, line);
  return r;
}

/* ---- Hopper: mbarrier, TMA, wgmma, clusters ------------------------------------------------------------------------------------ */
FN void mbar_init(void *bar, int count, LN) { simt_mbar_init(bar, count, line); }
FN void mbar_expect(void *bar, int bytes, LN) { simt_mbar_expect(bar, bytes, line); } /* arrives too */
FN void mbar_arrive(void *bar, LN) { simt_mbar_arrive(bar, 1, -1, line); }
FN void mbar_arrive_cluster(void *bar, int rank, LN) { simt_mbar_arrive(bar, 1, rank, line); }
FN void mbar_wait(void *bar, int parity, LN) { simt_mbar_wait(bar, parity, line); }
template <class... C> FN void tma_load_at(int line, const tensor_map *m, void *shared, void *bar, C... coords) {
  const int c[] = {(int)coords...};
  simt_tma_load(m, shared, bar, c, sizeof...(C), 0, line);
}
template <class... C> FN void tma_load_multicast_at(int line, const tensor_map *m, void *shared, void *bar, int mask, C... coords) {
  const int c[] = {(int)coords...};
  simt_tma_load(m, shared, bar, c, sizeof...(C), mask, line);
}
template <class... C> FN void tma_store_at(int line, const tensor_map *m, const void *shared, C... coords) {
  const int c[] = {(int)coords...};
  simt_tma_store(m, shared, c, sizeof...(C), line);
}
#define tma_load(...) tma_load_at(__LINE__, __VA_ARGS__)
#define tma_load_multicast(...) tma_load_multicast_at(__LINE__, __VA_ARGS__)
#define tma_store(...) tma_store_at(__LINE__, __VA_ARGS__)
FN void tma_commit(LN) { simt_tma_commit(line); }
template <int PENDING> FN void tma_wait(LN) { simt_tma_wait(PENDING, 0, line); }
template <int PENDING> FN void tma_wait_read(LN) { simt_tma_wait(PENDING, 1, line); }
FN void fence_async_proxy(LN) { simt_fence(SIMT_FENCE_ASYNC_PROXY, line); }
FN void fence_mbarrier_init(LN) { simt_fence(SIMT_FENCE_MBARRIER_INIT, line); }
FN void fence_cluster(LN) { simt_fence(SIMT_FENCE_CLUSTER, line); }
FN void cluster_sync(LN) { simt_cluster_sync(line); }

template <int N, int K, class A, class B, int SWIZZLE, int TA, int TB, class C>
FN void wgmma(C *acc, const void *a, const void *b, int lbo_a, int sbo_a, int lbo_b, int sbo_b, LN) {
  constexpr int c = type_of<A>::value == SIMT_F16 && type_of<C>::value == SIMT_I32 ? SIMT_F16 : type_of<C>::value;
  const simt_wgmma_desc d = {N, K, type_of<A>::value, type_of<B>::value, c};
  const simt_wgmma_operand pa = {a, lbo_a, sbo_a, SWIZZLE, TA}, pb = {b, lbo_b, sbo_b, SWIZZLE, TB};
  simt_wgmma(&d, acc, &pa, 0, &pb, line);
}
template <int N, int K, class A, class B, int SWIZZLE, int TB, class C>
FN void wgmma_rs(C *acc, const int *a, const void *b, int lbo_b, int sbo_b, LN) {
  constexpr int c = type_of<A>::value == SIMT_F16 && type_of<C>::value == SIMT_I32 ? SIMT_F16 : type_of<C>::value;
  const simt_wgmma_desc d = {N, K, type_of<A>::value, type_of<B>::value, c};
  const simt_wgmma_operand pb = {b, lbo_b, sbo_b, SWIZZLE, TB};
  simt_wgmma(&d, acc, 0, (const uint32_t *)a, &pb, line);
}
template <class T> FN void wgmma_pin(T &) {}
FN void wgmma_fence(LN) { simt_wgmma_fence(line); }
FN void wgmma_commit(LN) { simt_wgmma_commit(line); }
template <int PENDING> FN void wgmma_wait(LN) { simt_wgmma_wait(PENDING, line); }
template <int REGISTERS> FN void setmaxnreg_inc(LN) { simt_setmaxnreg(REGISTERS, 1, line); }
template <int REGISTERS> FN void setmaxnreg_dec(LN) { simt_setmaxnreg(REGISTERS, 0, line); }

/* ---- AMD: mfma, wmma, direct-to-LDS, waits ------------------------------------------------------------------------------------ */
template <int M, int N, int K, class A, class B, class EA, class EB, class C, int NA, int NB, int NC>
FN vec<C, NC> mfma(const vec<EA, NA> &a, const vec<EB, NB> &b, const vec<C, NC> &c, LN) {
  const simt_mma_desc d = {M, N, K, type_of<A>::value, type_of<B>::value, type_of<C>::value};
  vec<C, NC> r;
  simt_mfma(&d, a.v, b.v, c.v, r.v, line);
  return r;
}
/* gfx11 takes 16 elements of a and b per lane, gfx12 8. */
template <int M, int N, int K, class A, class B, class EA, class EB, class C, int NA, int NB, int NC>
FN vec<C, NC> wmma(const vec<EA, NA> &a, const vec<EB, NB> &b, const vec<C, NC> &c, LN) {
  const simt_mma_desc d = {M, N, K, type_of<A>::value, type_of<B>::value, type_of<C>::value};
  vec<C, NC> r;
  simt_wmma(&d, sizeof(a) / (K * sizeof(EA)) ? SIMT_GFX11 : SIMT_GFX12, a.v, b.v, c.v, r.v, line);
  return r;
}
template <int BYTES> FN void lds_load(void *shared_wave_base, const void *global, LN) { simt_lds_load(shared_wave_base, global, BYTES, line); }
template <int VMCNT, int LGKMCNT> FN void waitcnt(LN) { simt_waitcnt(VMCNT, LGKMCNT, line); }
template <int LEVEL> FN void setprio() {}
template <int MASK> FN void sched_barrier() {}

/* ---- entry: args has one pointer per parameter, as a driver's launch call takes them ---------------------------------------------- */
template <int... I> struct simt_seq {};
template <int N, int... I> struct simt_make_seq : simt_make_seq<N - 1, N - 1, I...> {};
template <int... I> struct simt_make_seq<0, I...> { typedef simt_seq<I...> type; };
template <class... A, int... I> RAW void simt_spread(void (*f)(A...), void **args, simt_seq<I...>) { f(*(A *)args[I]...); }
template <class... A> RAW void simt_call(void (*f)(A...), void **args) { simt_spread(f, args, typename simt_make_seq<sizeof...(A)>::type()); }
#undef LN
#undef RAW
#undef TYPE_OF
#undef MATH1
#undef MATH2
} // namespace tsr
/* Appended to the text for each kernel. */
#define SIMT_ENTRY(name) extern "C" __attribute__((visibility("default"))) void simt_entry_##name(void **args) { tsr::simt_call(tsr::name, args); }
#endif
