/* Vectors for AVX-512 (F, BW, DQ, VL): 64 bytes, masks in k registers. */
#ifndef BACKENDS_CPU_KERNELS_VEC_AVX512_H
#define BACKENDS_CPU_KERNELS_VEC_AVX512_H

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

#define VF 16
#define VEC_HAS_TYPES
#define VEC_HAS_MASKS
typedef __m512 vf;
typedef __m512d vd;
typedef __mmask16 vm;
typedef int32_t avx512_vi __attribute__((vector_size(64)));
typedef uint16_t avx512_vh __attribute__((vector_size(32)));
#define AVX512_INL static inline __attribute__((always_inline))

AVX512_INL __mmask16 avx512_first(size_t n) { return (__mmask16)((1u << n) - 1); } /* n <= 16 */
#define v_load_n v_load_n
AVX512_INL vf v_load_n(const float *p, size_t n) { return _mm512_maskz_loadu_ps(avx512_first(n), p); }
AVX512_INL void v_store_n(float *p, vf v, size_t n) { _mm512_mask_storeu_ps(p, avx512_first(n), v); }
#define v_pick(v, lanes) _mm512_maskz_compress_ps((__mmask16)(lanes), v)
AVX512_INL vd vd_load_n(const double *p, size_t n) { return _mm512_maskz_loadu_pd((__mmask8)avx512_first(n), p); }
AVX512_INL void vd_store_n(double *p, vd v, size_t n) { _mm512_mask_storeu_pd(p, (__mmask8)avx512_first(n), v); }
#define vh_load_n vh_load_n
AVX512_INL avx512_vh vh_load_n(const uint16_t *p, size_t n) {
  return (avx512_vh)_mm256_maskz_loadu_epi16(avx512_first(n), p);
}
AVX512_INL void vh_store_n(uint16_t *p, avx512_vh v, size_t n) {
  _mm256_mask_storeu_epi16(p, avx512_first(n), (__m256i)v);
}
#define v_stream v_stream
AVX512_INL void v_stream(float *p, vf v) { _mm512_stream_ps(p, v); }
AVX512_INL void v_stream_fence(void) { _mm_sfence(); }

AVX512_INL vm v_lt(vf a, vf b) { return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ); }
AVX512_INL vm v_le(vf a, vf b) { return _mm512_cmp_ps_mask(a, b, _CMP_LE_OQ); }
AVX512_INL vm v_eq(vf a, vf b) { return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ); }
AVX512_INL vm v_isnan(vf a) { return _mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q); }
AVX512_INL vm vi_eq(avx512_vi a, avx512_vi b) { return _mm512_cmpeq_epi32_mask((__m512i)a, (__m512i)b); }
AVX512_INL vm vi_lt(avx512_vi a, avx512_vi b) { return _mm512_cmplt_epi32_mask((__m512i)a, (__m512i)b); }
AVX512_INL vm vm_and(vm a, vm b) { return (vm)(a & b); }
AVX512_INL vm vm_or(vm a, vm b) { return (vm)(a | b); }
AVX512_INL vm vm_not(vm a) { return (vm)~a; }
AVX512_INL int vm_any(vm a) { return a != 0; }
AVX512_INL avx512_vi vi_sel(vm m, avx512_vi a, avx512_vi b) {
  return (avx512_vi)_mm512_mask_blend_epi32(m, (__m512i)b, (__m512i)a);
}
AVX512_INL vf v_sel(vm m, vf a, vf b) { return _mm512_mask_blend_ps(m, b, a); }
AVX512_INL void vm_store_u8(uint8_t *p, vm m) { _mm_storeu_si128((__m128i *)p, _mm_maskz_set1_epi8(m, 1)); }

/* By halves, as portable code adds them: the same bits. */
#define v_sum v_sum
AVX512_INL float v_sum(vf a) { return _mm512_reduce_add_ps(a); }

#define v_fma v_fma
AVX512_INL vf v_fma(vf a, vf b, vf c) { return _mm512_fmadd_ps(a, b, c); }
/* *p . b + c, *p broadcast by the instruction itself: compilers would load it once for all that use it. */
#define v_fma_at v_fma_at
AVX512_INL vf v_fma_at(const float *p, vf b, vf c) {
  __asm__("vfmadd231ps %2%{1to16%}, %1, %0" : "+v"(c) : "v"(b), "m"(*p));
  return c;
}
AVX512_INL vf v_fnma(vf a, vf b, vf c) { return _mm512_fnmadd_ps(a, b, c); }
AVX512_INL vd vd_fma(vd a, vd b, vd c) { return _mm512_fmadd_pd(a, b, c); }
#define v_max_raw v_max_raw
AVX512_INL vf v_max_raw(vf a, vf b) { return _mm512_max_ps(a, b); }
AVX512_INL vf v_min_raw(vf a, vf b) { return _mm512_min_ps(a, b); }
/* maxps returns its second operand when one is NaN: so only a NaN in the first is left to restore. */
#define v_max v_max
AVX512_INL vf v_max(vf a, vf b) {
  return _mm512_mask_mov_ps(_mm512_max_ps(a, b), _mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q), a);
}
AVX512_INL vf v_min(vf a, vf b) {
  return _mm512_mask_mov_ps(_mm512_min_ps(a, b), _mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q), a);
}
#define v_sqrt v_sqrt
AVX512_INL vf v_sqrt(vf a) { return _mm512_sqrt_ps(a); }
#define v_rint v_rint
AVX512_INL vf v_rint(vf a) { return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
#define v_floor v_floor
AVX512_INL vf v_floor(vf a) { return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC); }
#define v_to_int v_to_int
AVX512_INL avx512_vi v_to_int(vf a) { return (avx512_vi)_mm512_cvtps_epi32(a); }
#define v_scale v_scale
AVX512_INL vf v_scale(vf a, vf n) { return _mm512_scalef_ps(a, n); }
#define v_fraction v_fraction /* a - floor(a); 0 of infinities */
AVX512_INL vf v_fraction(vf a) { return _mm512_reduce_ps(a, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC); }
#define v_lookup32 v_lookup32 /* table[i mod 32] */
AVX512_INL vf v_lookup32(const float table[32], avx512_vi i) {
  return _mm512_permutex2var_ps(_mm512_loadu_ps(table), (__m512i)i, _mm512_loadu_ps(table + 16));
}
#define v_from_f16 v_from_f16
AVX512_INL vf v_from_f16(avx512_vh h) { return _mm512_cvtph_ps((__m256i)h); }
AVX512_INL avx512_vh v_to_f16(vf a) { return (avx512_vh)_mm512_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT); }
#define vh_widen vh_widen
AVX512_INL avx512_vi vh_widen(avx512_vh a) { return (avx512_vi)_mm512_cvtepu16_epi32((__m256i)a); }
AVX512_INL avx512_vh vi_narrow(avx512_vi a) { return (avx512_vh)_mm512_cvtepi32_epi16((__m512i)a); }
/* The rounded bits, in the high halves. */
AVX512_INL __m512i avx512_round_bf16(vf a) {
  __m512i x = _mm512_castps_si512(a), r = _mm512_add_epi32(x, _mm512_set1_epi32(0x7fff));
  r = _mm512_mask_add_epi32(r, _mm512_test_epi32_mask(x, _mm512_set1_epi32(0x10000)), r, _mm512_set1_epi32(1));
  return _mm512_mask_or_epi32(r, _mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q), x, _mm512_set1_epi32(0x400000));
}
#define v_to_bf16 v_to_bf16
AVX512_INL avx512_vh v_to_bf16(vf a) {
  return (avx512_vh)_mm512_cvtepi32_epi16(_mm512_srli_epi32(avx512_round_bf16(a), 16));
}
#define v_to_bf16_pair v_to_bf16_pair
AVX512_INL vf v_to_bf16_pair(vf a, vf b) { /* all high halves by one permutation */
  static const uint16_t high[32] = {1,  3,  5,  7,  9,  11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31,
                                    33, 35, 37, 39, 41, 43, 45, 47, 49, 51, 53, 55, 57, 59, 61, 63};
  return _mm512_castsi512_ps(
      _mm512_permutex2var_epi16(avx512_round_bf16(a), _mm512_loadu_si512(high), avx512_round_bf16(b)));
}
#define vi_load_u8 vi_load_u8
AVX512_INL avx512_vi vi_load_u8(const void *p) { return (avx512_vi)_mm512_cvtepu8_epi32(_mm_loadu_si128(p)); }
AVX512_INL avx512_vi vi_load_i8(const void *p) { return (avx512_vi)_mm512_cvtepi8_epi32(_mm_loadu_si128(p)); }
AVX512_INL avx512_vi vi_load_i8_pairs(const void *p) { return (avx512_vi)_mm512_cvtepi8_epi16(_mm256_loadu_si256(p)); }
AVX512_INL void vi_store_u8(uint8_t *p, avx512_vi a) {
  _mm_storeu_si128((__m128i *)(void *)p, _mm512_cvtepi32_epi8((__m512i)a));
}
#define vi_madd16 vi_madd16
AVX512_INL avx512_vi vi_madd16(avx512_vi a, avx512_vi b) {
  return (avx512_vi)_mm512_madd_epi16((__m512i)a, (__m512i)b);
}

#include "vec.h"

#endif
