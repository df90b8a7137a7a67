/* A thin vector abstraction, so that each kernel body is written once and compiled per instruction set.
 *
 * A source file defines CPUK_SUFFIX (avx2, avx512, ...), includes vec_<isa>.h, which sets VF and its own primitives,
 * and then the bodies. Types: vf (VF floats), vi (VF int32), vd (VF/2 doubles), vm (a lane mask; all-ones lanes, or a k
 * register on AVX-512). Arithmetic is the compilers' vector extension (+ - * / & | ^ << >>); only what that can't say
 * is a function here, named v_* (float), vi_*, vd_*, vm_*. An ISA header that has a better form of a primitive defines
 * it and then `#define v_x v_x`; the rest is filled in below.
 * `_n` forms touch only the first n lanes in memory, 0 < n <= VF; lanes beyond read as 0. */
#ifndef BACKENDS_CPU_KERNELS_VEC_H
#define BACKENDS_CPU_KERNELS_VEC_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifndef VF
#error "include vec_<isa>.h, not vec.h"
#endif

#define CPUK_CAT2(a, b) cpuk_##a##_##b
#define CPUK_CAT1(a, b) CPUK_CAT2(a, b)
/* The name of an external function of this instruction set: CPUK_FN(x) is cpuk_x_avx2. */
#define CPUK_FN(name) CPUK_CAT1(name, CPUK_SUFFIX)
#define VINL static inline __attribute__((always_inline))
#define VD (VF / 2)

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wpsabi" /* vector arguments only ever reach functions that are inlined */
#endif
#define CPUK_PRAGMA(text) _Pragma(#text)
#ifdef __clang__ /* full unrolling, early enough for arrays to become registers */
#define CPUK_UNROLL _Pragma("clang loop unroll(full)")
#define CPUK_UNROLL_BY(n) CPUK_PRAGMA(clang loop unroll_count(n))
#define CPUK_NO_UNROLL _Pragma("clang loop unroll(disable)")
#else
#define CPUK_UNROLL _Pragma("GCC unroll 32")
#define CPUK_UNROLL_BY(n) CPUK_PRAGMA(GCC unroll n)
#define CPUK_NO_UNROLL _Pragma("GCC unroll 1")
#endif

#ifndef VEC_HAS_TYPES
typedef float vf __attribute__((vector_size(VF * 4)));
typedef double vd __attribute__((vector_size(VF * 4)));
#endif
typedef int32_t vi __attribute__((vector_size(VF * 4)));
typedef uint32_t vu __attribute__((vector_size(VF * 4)));
typedef int64_t vl __attribute__((vector_size(VF * 4)));
typedef float vf_u __attribute__((vector_size(VF * 4), aligned(4), may_alias));
typedef double vd_u __attribute__((vector_size(VF * 4), aligned(8), may_alias));
typedef int32_t vi_u __attribute__((vector_size(VF * 4), aligned(4), may_alias));

/* ---- memory ---- */
VINL vf v_load(const float *p) { return *(const vf_u *)p; }
VINL void v_store(float *p, vf v) { *(vf_u *)p = v; }
VINL vi vi_load(const int32_t *p) { return *(const vi_u *)p; }
VINL void vi_store(int32_t *p, vi v) { *(vi_u *)p = v; }
VINL vd vd_load(const double *p) { return *(const vd_u *)p; }
VINL void vd_store(double *p, vd v) { *(vd_u *)p = v; }
VINL vf v_set1(float x) { return x - (vf){0}; }
VINL vi vi_set1(int32_t x) { return x + (vi){0}; }
VINL vd vd_set1(double x) { return x - (vd){0}; }

#ifndef v_load_n
VINL vf v_load_n(const float *p, size_t n) {
  float t[VF] = {0};
  memcpy(t, p, n * sizeof *t);
  return v_load(t);
}
VINL void v_store_n(float *p, vf v, size_t n) {
  float t[VF];
  v_store(t, v);
  memcpy(p, t, n * sizeof *t);
}
VINL vd vd_load_n(const double *p, size_t n) {
  double t[VD] = {0};
  memcpy(t, p, n * sizeof *t);
  return vd_load(t);
}
VINL void vd_store_n(double *p, vd v, size_t n) {
  double t[VD];
  vd_store(t, v);
  memcpy(p, t, n * sizeof *t);
}
#endif
#ifndef v_stream
VINL void v_stream(float *p, vf v) { v_store(p, v); } /* p is aligned to VF * 4 bytes */
VINL void v_stream_fence(void) {}
#endif

/* ---- masks ---- */
#ifndef VEC_HAS_MASKS
typedef vi vm;
VINL vm v_lt(vf a, vf b) { return a < b; }
VINL vm v_le(vf a, vf b) { return a <= b; }
VINL vm v_eq(vf a, vf b) { return a == b; }
VINL vm v_isnan(vf a) { return a != a; }
VINL vm vi_eq(vi a, vi b) { return a == b; }
VINL vm vi_lt(vi a, vi b) { return a < b; }
VINL vm vm_and(vm a, vm b) { return a & b; }
VINL vm vm_or(vm a, vm b) { return a | b; }
VINL vm vm_not(vm a) { return ~a; }
VINL vi vi_sel(vm m, vi a, vi b) { return (m & a) | (~m & b); }
#ifndef v_sel
VINL vf v_sel(vm m, vf a, vf b) { return (vf)vi_sel(m, (vi)a, (vi)b); }
#endif
#ifndef vm_any
VINL int vm_any(vm m) {
  int any = 0;
  for (int i = 0; i < VF; i++) any |= m[i];
  return any != 0;
}
#endif
/* One byte per lane, 0 or 1. */
#ifndef vm_store_u8
VINL void vm_store_u8(uint8_t *p, vm m) {
  for (int i = 0; i < VF; i++) p[i] = (uint8_t)(m[i] & 1);
}
#endif
#endif

/* ---- arithmetic ---- */
#ifndef v_fma
VINL vf v_fma(vf a, vf b, vf c) { return a * b + c; }   /* a b + c */
VINL vf v_fnma(vf a, vf b, vf c) { return c - a * b; }  /* c - a b */
VINL vd vd_fma(vd a, vd b, vd c) { return a * b + c; }
#endif
VINL vf v_abs(vf a) { return (vf)((vi)a & 0x7fffffff); }
VINL vf v_neg(vf a) { return (vf)((vi)a ^ (vi)v_set1(-0.0f)); }
/* |a| with the sign of s. */
VINL vf v_copysign(vf a, vf s) { return (vf)(((vi)a & 0x7fffffff) | ((vi)s & (vi)v_set1(-0.0f))); }
#ifndef v_max_raw /* NaN if b is; any rule for a NaN in a alone */
VINL vf v_max_raw(vf a, vf b) { return v_sel(v_lt(b, a), a, b); }
VINL vf v_min_raw(vf a, vf b) { return v_sel(v_lt(a, b), a, b); }
#endif
#ifndef v_max /* NaN if either is NaN */
VINL vf v_max(vf a, vf b) { return v_sel(v_isnan(a), a, v_sel(v_lt(b, a), a, b)); }
VINL vf v_min(vf a, vf b) { return v_sel(v_isnan(a), a, v_sel(v_lt(a, b), a, b)); }
#endif
#ifndef v_sqrt
VINL vf v_sqrt(vf a) {
  for (int i = 0; i < VF; i++) a[i] = sqrtf(a[i]);
  return a;
}
#endif
#ifndef v_rint /* to nearest even; exact for every finite input */
VINL vf v_rint(vf a) {
  vf big = v_set1(0x1p23f), t = v_abs(a);
  return v_sel(v_lt(t, big), v_copysign((t + big) - big, a), a);
}
#endif
#ifndef v_floor
VINL vf v_floor(vf a) {
  vf r = v_rint(a);
  return v_copysign(v_sel(v_lt(a, r), r - 1.0f, r), a); /* -0 stays -0; a sign never changes but through 0 */
}
#endif
#ifndef v_to_int /* round to nearest even; |a| < 2^31 */
VINL vi v_to_int(vf a) {
  vf r = v_rint(a);
  vi o;
  for (int i = 0; i < VF; i++) o[i] = (int32_t)r[i];
  return o;
}
#endif
#ifndef vi_to_float
VINL vf vi_to_float(vi a) { return __builtin_convertvector(a, vf); }
#endif
#ifndef v_scale /* a 2^n for a in [0.5, 2], -300 < n < 300: overflow gives inf, denormals are rounded once */
VINL vf v_scale(vf a, vf n) {
  vi k = v_to_int(n), h = k >> 1, l = k - h;
  h = vi_sel(vi_lt(h, vi_set1(-126)), vi_set1(-126), h);
  return a * (vf)((h + 127) << 23) * (vf)((l + 127) << 23);
}
#endif

VINL vd vd_sel(vl m, vd a, vd b) { return (vd)((m & (vl)a) | (~m & (vl)b)); } /* m is all ones or zeros per lane */

/* ---- compensation ---- */
/* s + x exactly as s' + e (Knuth's TwoSum); c collects e. */
#define TWO_SUM_INTO(V, s, c, x)      \
  do {                                \
    V x_ = (x), t_ = s + x_;          \
    V z_ = t_ - s;                    \
    c += (s - (t_ - z_)) + (x_ - z_); \
    s = t_;                           \
  } while (0)

/* ---- bytes: VF of them at p, as 32-bit lanes; and 2 VF of them as 16-bit pairs ---- */
#ifndef vi_load_u8
VINL vi vi_load_u8(const void *p) {
  typedef uint8_t vb __attribute__((vector_size(VF)));
  vb t;
  memcpy(&t, p, sizeof t);
  return __builtin_convertvector(t, vi);
}
VINL vi vi_load_i8(const void *p) {
  typedef int8_t vb __attribute__((vector_size(VF)));
  vb t;
  memcpy(&t, p, sizeof t);
  return __builtin_convertvector(t, vi);
}
VINL vi vi_load_i8_pairs(const void *p) {
  typedef int8_t vb __attribute__((vector_size(VF * 2)));
  typedef int16_t vs __attribute__((vector_size(VF * 4)));
  vb t;
  memcpy(&t, p, sizeof t);
  return (vi)__builtin_convertvector(t, vs);
}
VINL void vi_store_u8(uint8_t *p, vi a) { /* low bytes */
  typedef uint8_t vb __attribute__((vector_size(VF)));
  vb t = __builtin_convertvector(a, vb);
  memcpy(p, &t, sizeof t);
}
#endif

/* ---- 16-bit floats ---- */
typedef uint16_t vh __attribute__((vector_size(VF * 2)));
typedef uint16_t vh_u __attribute__((vector_size(VF * 2), aligned(2), may_alias));
VINL vh vh_load(const uint16_t *p) { return *(const vh_u *)p; }
VINL void vh_store(uint16_t *p, vh v) { *(vh_u *)p = v; }
#ifndef vh_load_n
VINL vh vh_load_n(const uint16_t *p, size_t n) {
  uint16_t t[VF] = {0};
  memcpy(t, p, n * sizeof *t);
  return vh_load(t);
}
VINL void vh_store_n(uint16_t *p, vh v, size_t n) {
  uint16_t t[VF];
  vh_store(t, v);
  memcpy(p, t, n * sizeof *t);
}
#endif
#ifndef vh_widen
VINL vi vh_widen(vh a) { return __builtin_convertvector(a, vi); } /* zero-extended */
VINL vh vi_narrow(vi a) { return __builtin_convertvector(a, vh); } /* low halves */
#endif
VINL vf v_from_bf16(vh a) { return (vf)(vh_widen(a) << 16); }
#ifndef v_to_bf16
VINL vh v_to_bf16(vf a) {
  vu x = (vu)a; /* unsigned: the bits of NaNs may wrap */
  vi r = (vi)((x + (0x7fff + ((x >> 16) & 1))) >> 16);
  vi nan = (vi)(x >> 16) | 0x40;
  return vi_narrow(vi_sel(v_isnan(a), nan, r));
}
#endif
#ifndef v_to_bf16_pair /* a and b, one after the other */
VINL vf v_to_bf16_pair(vf a, vf b) {
  union {
    vh h[2];
    vf f;
  } u = {{v_to_bf16(a), v_to_bf16(b)}};
  return u.f;
}
#endif
#ifndef v_from_f16
VINL vf v_from_f16(vh h) {
  vi a = vh_widen(h), em = a & 0x7fff, sign = (a & 0x8000) << 16;
  vf norm = (vf)(em << 13) * v_set1(0x1p112f); /* rebias by a multiplication: denormals come out right */
  vi bits = vi_sel(vi_lt(vi_set1(0x7bff), em), (em << 13) | 0x7f800000, (vi)norm);
  bits = vi_sel(vi_lt(vi_set1(0x7c00), em), bits | 0x400000, bits);
  return (vf)(bits | sign);
}
VINL vh v_to_f16(vf a) {
  vi x = (vi)a, sign = (vi)((vu)x >> 16) & 0x8000, m = x & 0x7fffffff;
  vu odd = ((vu)m >> 13) & 1;
  vi norm = (vi)(((vu)m - (112u << 23) + 0xfff + odd) >> 13);
  vi den = (vi)((vu)((vf)m + 0.5f) - (vu)v_set1(0.5f)); /* the adder rounds to units of 2^-24 */
  vi r = vi_sel(vi_lt(m, vi_set1(113 << 23)), den, norm);
  r = vi_sel(vi_lt(vi_set1(0x477fefff), m), vi_set1(0x7c00), r); /* >= 65520 */
  r = vi_sel(vi_lt(vi_set1(0x7f800000), m), (((vi)((vu)m >> 13)) & 0x3ff) | 0x7e00, r);
  return vi_narrow(r | sign);
}
#endif

#endif
