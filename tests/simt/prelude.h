/* tests/simt/prelude.h - the emulator's primitives: what emitted CUDA and HIP text (core/emit/text/prelude.h) is
 * compiled against on the host instead of its own inline PTX or amdgcn builtins. The text says `#include TSR_EMULATOR`;
 * the kernels themselves are the very text that the device compiler gets.
 *
 * Each thread of a block is a fiber; every function below that touches memory, other threads or time ends in the
 * runtime (simt_rt.h), which checks it. Plain pointer accesses are seen too: the compiler's -fsanitize=thread hooks
 * report them. The `line` parameters tell one call site from another and are never passed by the text. */
#ifndef TSR_SIMT_PRELUDE_H
#define TSR_SIMT_PRELUDE_H
#include <math.h>
#include <stdint.h>

#include "simt_rt.h"

#define FN inline __attribute__((unused))
#define KERNEL(threads) extern "C" void
#define WAVES(n)
#define SHARED_MEMORY(bytes) unsigned char *const smem = (unsigned char *)emu_shared()
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
typedef emu_tensor_map tensor_map;

template <class T> struct type_of;
#define TYPE_OF(T, code) template <> struct type_of<T> { static constexpr int value = code; };
TYPE_OF(double, EMU_F64)
TYPE_OF(float, EMU_F32) TYPE_OF(tf32, EMU_TF32) TYPE_OF(f16, EMU_F16) TYPE_OF(bf16, EMU_BF16) TYPE_OF(f8e4m3, EMU_E4M3)
    TYPE_OF(f8e5m2, EMU_E5M2) TYPE_OF(f8e4m3fnuz, EMU_E4M3_FNUZ) TYPE_OF(f8e5m2fnuz, EMU_E5M2_FNUZ)
        TYPE_OF(int, EMU_I32) TYPE_OF(unsigned, EMU_I32) TYPE_OF(signed char, EMU_I8) TYPE_OF(char, EMU_I8)
            TYPE_OF(unsigned char, EMU_U8)

    /* ---- position
       ---------------------------------------------------------------------------------------------------------- */
    template <int AXIS>
    FN int thread_id() {
  return emu_index(EMU_THREAD, AXIS);
}
template <int AXIS> FN int block_id() { return emu_index(EMU_BLOCK, AXIS); }
FN int lane_id() { return emu_lane(); }
FN int warp_id() { return emu_warp(); }
FN int cluster_rank() { return emu_cluster_rank(); }

/* ---- memory: one access of sizeof(V) bytes; the device needs it aligned to its size, up to 16 -------------------- */
template <class V> RAW V emu_ld(const void *p, int space, int line) {
  V v;
  emu_access(p, sizeof(V), sizeof(V) < 16 ? sizeof(V) : 16, EMU_READ, space, line);
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
template <class V> RAW void emu_st(void *p, const V &v, int space, int line) {
  emu_access(p, sizeof(V), sizeof(V) < 16 ? sizeof(V) : 16, EMU_WRITE, space, line);
  __builtin_memcpy(p, &v, sizeof v);
}
template <class V> RAW V ld_global(const void *p, LN) { return emu_ld<V>(p, EMU_GLOBAL, line); }
template <class V> RAW V ld_global_stream(const void *p, LN) { return emu_ld<V>(p, EMU_GLOBAL, line); }
template <class V> RAW V ld_shared(const void *p, LN) { return emu_ld<V>(p, EMU_SHARED, line); }
template <class V> RAW void st_global(void *p, V v, LN) { emu_st(p, v, EMU_GLOBAL, line); }
template <class V> RAW void st_global_stream(void *p, V v, LN) { emu_st(p, v, EMU_GLOBAL, line); }
template <class V> RAW void st_shared(void *p, V v, LN) { emu_st(p, v, EMU_SHARED, line); }

/* ---- arithmetic -------------------------------------------------------------------------------------------------- */
FN unsigned short f16_bits(float x) { return (unsigned short)emu_narrow(x, EMU_F16); }
FN unsigned short bf16_bits(float x) { return (unsigned short)emu_narrow(x, EMU_BF16); }
FN float f16_value(unsigned short bits) { return emu_widen(bits, EMU_F16); }
#define MATH1(name, f64, f32) FN double name(double x) { return f64; } FN float name(float x) { return f32; }
MATH1(fexp, exp(x), expf(x))
MATH1(fexp2, exp2(x), exp2f(x)) MATH1(flog, log(x), logf(x)) MATH1(fsqrt, sqrt(x), sqrtf(x))
    MATH1(frsqrt, 1 / sqrt(x), 1 / sqrtf(x)) MATH1(ftanh, tanh(x), tanhf(x)) MATH1(ferf, erf(x), erff(x))
        MATH1(fsin, sin(x), sinf(x)) MATH1(fcos, cos(x), cosf(x)) MATH1(ffloor, floor(x), floorf(x)) MATH1(frint, rint(x), rintf(x))
            MATH1(fabs_, fabs(x), fabsf(x))
#define MATH2(name, f64, f32) \
  FN double name(double a, double b) { return f64; } FN float name(float a, float b) { return f32; }
                MATH2(fpow, pow(a, b), powf(a, b)) MATH2(ffmod, fmod(a, b), fmodf(a, b)) MATH2(fmin_nan,
                                                                                               a != a   ? a
                                                                                               : b != b ? b
                                                                                               : b < a  ? b
                                                                                                        : a,
                                                                                               a != a   ? a
                                                                                               : b != b ? b
                                                                                               : b < a  ? b
                                                                                                        : a)
                    MATH2(fmax_nan,
                          a != a   ? a
                          : b != b ? b
                          : b > a  ? b
                                   : a,
                          a != a   ? a
                          : b != b ? b
                          : b > a  ? b
                                   : a) FN float ffma(float a, float b, float c) { return fmaf(a, b, c); }
FN double ffma(double a, double b, double c) { return fma(a, b, c); }

/* ---- barriers and warp exchange ---------------------------------------------------------------------------------- */
FN void barrier(LN) { emu_barrier(line); }
FN void warp_barrier(LN) { emu_warp_barrier(line); }
template <int ID, int THREADS> FN void named_barrier_sync(LN) { emu_named_barrier(ID, THREADS, 0, line); }
template <int ID, int THREADS> FN void named_barrier_arrive(LN) { emu_named_barrier(ID, THREADS, 1, line); }
template <int MODE> FN unsigned shuffle_word(unsigned v, int lane, int width, LN) {
  return (unsigned)emu_shuffle(v, MODE, lane, width, line);
}
FN bool elect(LN) { return emu_elect(line); }

/* ---- Ampere: cp.async, ldmatrix, mma.sync ------------------------------------------------------------------------ */
template <int BYTES> FN void cp_async(void *shared, const void *global, int valid = BYTES, LN) {
  emu_cp_async(shared, global, BYTES, valid, line);
}
FN void cp_commit(LN) { emu_cp_commit(line); }
template <int PENDING> FN void cp_wait(LN) { emu_cp_wait(PENDING, line); }
template <int N, bool TRANSPOSE = false> FN vec<int, N> ldmatrix(const void *row, LN) {
  vec<int, N> r;
  emu_ldmatrix((uint32_t *)r.v, row, N, TRANSPOSE, line);
  return r;
}
template <bool TRANSPOSE = false, int N = 1> FN void stmatrix(void *row, vec<int, N> r, LN) {
  emu_stmatrix((const uint32_t *)r.v, row, N, TRANSPOSE, line);
}
/* a and b are 32-bit registers; the accumulator's type is C's (f16: two in an i32 register). */
template <int M, int N, int K, class A, class B, class C, int NA, int NB, int NC>
FN vec<C, NC> mma(const vec<int, NA> &a, const vec<int, NB> &b, const vec<C, NC> &c, LN) {
  constexpr int acc = type_of<A>::value == EMU_F16 && type_of<C>::value == EMU_I32 ? EMU_F16 : type_of<C>::value;
  const emu_mma_desc d = {M, N, K, type_of<A>::value, type_of<B>::value, acc};
  vec<C, NC> r;
  emu_mma(&d, a.v, b.v, c.v, r.v, line);
  return r;
}

/* ---- Hopper: mbarrier, TMA, wgmma, clusters ---------------------------------------------------------------------- */
FN void mbar_init(void *bar, int count, LN) { emu_mbar_init(bar, count, line); }
FN void mbar_expect(void *bar, int bytes, LN) { emu_mbar_expect(bar, bytes, line); } /* arrives too */
FN void mbar_arrive(void *bar, LN) { emu_mbar_arrive(bar, 1, -1, line); }
FN void mbar_arrive_cluster(void *bar, int rank, LN) { emu_mbar_arrive(bar, 1, rank, line); }
FN void mbar_wait(void *bar, int parity, LN) { emu_mbar_wait(bar, parity, line); }
template <class... C> FN void tma_load_at(int line, const tensor_map *m, void *shared, void *bar, C... coords) {
  const int c[] = {(int)coords...};
  emu_tma_load(m, shared, bar, c, sizeof...(C), 0, line);
}
template <class... C>
FN void tma_load_multicast_at(int line, const tensor_map *m, void *shared, void *bar, int mask, C... coords) {
  const int c[] = {(int)coords...};
  emu_tma_load(m, shared, bar, c, sizeof...(C), mask, line);
}
template <class... C> FN void tma_store_at(int line, const tensor_map *m, const void *shared, C... coords) {
  const int c[] = {(int)coords...};
  emu_tma_store(m, shared, c, sizeof...(C), line);
}
#define tma_load(...) tma_load_at(__LINE__, __VA_ARGS__)
#define tma_load_multicast(...) tma_load_multicast_at(__LINE__, __VA_ARGS__)
#define tma_store(...) tma_store_at(__LINE__, __VA_ARGS__)
FN void tma_commit(LN) { emu_tma_commit(line); }
template <int PENDING> FN void tma_wait(LN) { emu_tma_wait(PENDING, 0, line); }
template <int PENDING> FN void tma_wait_read(LN) { emu_tma_wait(PENDING, 1, line); }
FN void fence_async_proxy(LN) { emu_fence(EMU_FENCE_ASYNC_PROXY, line); }
FN void fence_mbarrier_init(LN) { emu_fence(EMU_FENCE_MBARRIER_INIT, line); }
FN void fence_cluster(LN) { emu_fence(EMU_FENCE_CLUSTER, line); }
FN void cluster_sync(LN) { emu_cluster_sync(line); }
FN void cluster_arrive(LN) { emu_cluster_arrive(line); }
FN void cluster_wait(LN) { emu_cluster_wait(line); }
template <class T> RAW void cluster_store(void *p, int rank, T v, LN) {
  emu_cluster_store(p, rank, &v, sizeof v, line);
}

template <int N, int K, class A, class B, int SWIZZLE, int TA, int TB, class C>
FN void wgmma(C *acc, const void *a, const void *b, int lbo_a, int sbo_a, int lbo_b, int sbo_b, LN) {
  constexpr int c = type_of<A>::value == EMU_F16 && type_of<C>::value == EMU_I32 ? EMU_F16 : type_of<C>::value;
  const emu_wgmma_desc d = {N, K, type_of<A>::value, type_of<B>::value, c};
  const emu_wgmma_operand pa = {a, lbo_a, sbo_a, SWIZZLE, TA}, pb = {b, lbo_b, sbo_b, SWIZZLE, TB};
  emu_wgmma(&d, acc, &pa, 0, &pb, line);
}
template <int N, int K, class A, class B, int SWIZZLE, int TB, class C>
FN void wgmma_rs(C *acc, const int *a, const void *b, int lbo_b, int sbo_b, LN) {
  constexpr int c = type_of<A>::value == EMU_F16 && type_of<C>::value == EMU_I32 ? EMU_F16 : type_of<C>::value;
  const emu_wgmma_desc d = {N, K, type_of<A>::value, type_of<B>::value, c};
  const emu_wgmma_operand pb = {b, lbo_b, sbo_b, SWIZZLE, TB};
  emu_wgmma(&d, acc, 0, (const uint32_t *)a, &pb, line);
}
template <class T> FN void wgmma_pin(T &) {}
FN void wgmma_fence(LN) { emu_wgmma_fence(line); }
FN void wgmma_commit(LN) { emu_wgmma_commit(line); }
template <int PENDING> FN void wgmma_wait(LN) { emu_wgmma_wait(PENDING, line); }
template <int REGISTERS> FN void setmaxnreg_inc(LN) { emu_setmaxnreg(REGISTERS, 1, line); }
template <int REGISTERS> FN void setmaxnreg_dec(LN) { emu_setmaxnreg(REGISTERS, 0, line); }

/* ---- AMD: mfma, wmma, direct-to-LDS, waits ----------------------------------------------------------------------- */
template <int M, int N, int K, class A, class B, class EA, class EB, class C, int NA, int NB, int NC>
FN vec<C, NC> mfma(const vec<EA, NA> &a, const vec<EB, NB> &b, const vec<C, NC> &c, LN) {
  const emu_mma_desc d = {M, N, K, type_of<A>::value, type_of<B>::value, type_of<C>::value};
  vec<C, NC> r;
  emu_mfma(&d, a.v, b.v, c.v, r.v, line);
  return r;
}
/* gfx11 takes 16 elements of a and b per lane, gfx12 8. */
template <int M, int N, int K, class A, class B, class EA, class EB, class C, int NA, int NB, int NC>
FN vec<C, NC> wmma(const vec<EA, NA> &a, const vec<EB, NB> &b, const vec<C, NC> &c, LN) {
  const emu_mma_desc d = {M, N, K, type_of<A>::value, type_of<B>::value, type_of<C>::value};
  vec<C, NC> r;
  emu_wmma(&d, sizeof(a) / (K * sizeof(EA)) ? EMU_GFX11 : EMU_GFX12, a.v, b.v, c.v, r.v, line);
  return r;
}
template <int BYTES> FN void lds_load(void *shared_wave_base, const void *global, LN) {
  emu_lds_load(shared_wave_base, global, BYTES, line);
}
template <int VMCNT, int LGKMCNT> FN void waitcnt(LN) { emu_waitcnt(VMCNT, LGKMCNT, line); }
template <int LEVEL> FN void setprio() {}
template <int MASK> FN void sched_barrier() {}
template <class T> FN void settle(T &) {}

/* ---- entry: args has one pointer per parameter, as a driver's launch call takes them ----------------------------- */
template <int... I> struct emu_seq {};
template <int N, int... I> struct emu_make_seq : emu_make_seq<N - 1, N - 1, I...> {};
template <int... I> struct emu_make_seq<0, I...> { typedef emu_seq<I...> type; };
template <class... A, int... I> RAW void emu_spread(void (*f)(A...), void **args, emu_seq<I...>) {
  f(*(A *)args[I]...);
}
template <class... A> RAW void emu_call(void (*f)(A...), void **args) {
  emu_spread(f, args, typename emu_make_seq<sizeof...(A)>::type());
}
#undef LN
#undef RAW
#undef TYPE_OF
#undef MATH1
#undef MATH2
} // namespace tsr
/* Appended to the text for each kernel. */
#define EMU_ENTRY(name)                                                                              \
  extern "C" __attribute__((visibility("default"))) void emu_entry_##name(void **args) {             \
    tsr::emu_call(tsr::name, args);                                                                  \
  }
#endif
