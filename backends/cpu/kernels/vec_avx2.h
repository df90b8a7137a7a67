/* Vectors for AVX2 with FMA and F16C: 32 bytes. */
#ifndef BACKENDS_CPU_KERNELS_VEC_AVX2_H
#define BACKENDS_CPU_KERNELS_VEC_AVX2_H

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

#define VF 8
#define VEC_HAS_TYPES
typedef __m256 vf;
typedef __m256d vd;
#define AVX2_INL static inline __attribute__((always_inline))

AVX2_INL __m256i avx2_first(size_t n) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
AVX2_INL __m256i avx2_first_d(size_t n) {
  return _mm256_cmpgt_epi64(_mm256_set1_epi64x((long long)n), _mm256_setr_epi64x(0, 1, 2, 3));
}
#define v_load_n v_load_n
AVX2_INL vf v_load_n(const float *p, size_t n) { return _mm256_maskload_ps(p, avx2_first(n)); }
AVX2_INL void v_store_n(float *p, vf v, size_t n) { _mm256_maskstore_ps(p, avx2_first(n), v); }
AVX2_INL vd vd_load_n(const double *p, size_t n) { return _mm256_maskload_pd(p, avx2_first_d(n)); }
AVX2_INL void vd_store_n(double *p, vd v, size_t n) { _mm256_maskstore_pd(p, avx2_first_d(n), v); }
#define v_stream v_stream
AVX2_INL void v_stream(float *p, vf v) { _mm256_stream_ps(p, v); }
AVX2_INL void v_stream_fence(void) { _mm_sfence(); }

#define v_fma v_fma
AVX2_INL vf v_fma(vf a, vf b, vf c) { return _mm256_fmadd_ps(a, b, c); }
AVX2_INL vf v_fnma(vf a, vf b, vf c) { return _mm256_fnmadd_ps(a, b, c); }
AVX2_INL vd vd_fma(vd a, vd b, vd c) { return _mm256_fmadd_pd(a, b, c); }
#define v_max_raw v_max_raw
AVX2_INL vf v_max_raw(vf a, vf b) { return _mm256_max_ps(a, b); }
AVX2_INL vf v_min_raw(vf a, vf b) { return _mm256_min_ps(a, b); }
/* maxps returns its second operand when one is NaN: so only a NaN in the first is left to restore. */
#define v_max v_max
AVX2_INL vf v_max(vf a, vf b) { return _mm256_blendv_ps(_mm256_max_ps(a, b), a, _mm256_cmp_ps(a, a, _CMP_UNORD_Q)); }
AVX2_INL vf v_min(vf a, vf b) { return _mm256_blendv_ps(_mm256_min_ps(a, b), a, _mm256_cmp_ps(a, a, _CMP_UNORD_Q)); }
#define v_sqrt v_sqrt
/* Four sums at once, each by halves: elements 4 apart, then 2, then neighbours. */
#define v_sum4 v_sum4
AVX2_INL void v_sum4(float *to, const vf *v) {
  const vf a = _mm256_add_ps(_mm256_permute2f128_ps(v[0], v[1], 0x20), _mm256_permute2f128_ps(v[0], v[1], 0x31)),
           b = _mm256_add_ps(_mm256_permute2f128_ps(v[2], v[3], 0x20), _mm256_permute2f128_ps(v[2], v[3], 0x31));
  const vf c = _mm256_add_ps(_mm256_shuffle_ps(a, b, 0x44), _mm256_shuffle_ps(a, b, 0xee)), d = _mm256_hadd_ps(c, c);
  _mm_storeu_ps(to, _mm_unpacklo_ps(_mm256_castps256_ps128(d), _mm256_extractf128_ps(d, 1)));
}

AVX2_INL vf v_sqrt(vf a) { return _mm256_sqrt_ps(a); }
#define v_rint v_rint
AVX2_INL vf v_rint(vf a) { return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
#define v_floor v_floor
AVX2_INL vf v_floor(vf a) { return _mm256_floor_ps(a); }
#define v_to_int v_to_int
#define v_sel v_sel
#define v_from_f16 v_from_f16

typedef int32_t avx2_vi __attribute__((vector_size(32)));
typedef uint16_t avx2_vh __attribute__((vector_size(16)));
AVX2_INL avx2_vi v_to_int(vf a) { return (avx2_vi)_mm256_cvtps_epi32(a); }
AVX2_INL vf v_sel(avx2_vi m, vf a, vf b) { return _mm256_blendv_ps(b, a, (__m256)m); }
#define vm_any vm_any
AVX2_INL int vm_any(avx2_vi m) { return _mm256_movemask_ps((__m256)m) != 0; }
AVX2_INL vf v_from_f16(avx2_vh h) { return _mm256_cvtph_ps((__m128i)h); }
AVX2_INL avx2_vh v_to_f16(vf a) { return (avx2_vh)_mm256_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT); }
#define vh_widen vh_widen
AVX2_INL avx2_vi vh_widen(avx2_vh a) { return (avx2_vi)_mm256_cvtepu16_epi32((__m128i)a); }
AVX2_INL avx2_vh vi_narrow(avx2_vi a) {
  __m256i low = _mm256_and_si256((__m256i)a, _mm256_set1_epi32(0xffff));
  __m256i p = _mm256_permute4x64_epi64(_mm256_packus_epi32(low, low), 0x08);
  return (avx2_vh)_mm256_castsi256_si128(p);
}
#define vi_load_u8 vi_load_u8
AVX2_INL avx2_vi vi_load_u8(const void *p) { return (avx2_vi)_mm256_cvtepu8_epi32(_mm_loadl_epi64(p)); }
AVX2_INL avx2_vi vi_load_i8(const void *p) { return (avx2_vi)_mm256_cvtepi8_epi32(_mm_loadl_epi64(p)); }
AVX2_INL avx2_vi vi_load_i8_pairs(const void *p) { return (avx2_vi)_mm256_cvtepi8_epi16(_mm_loadu_si128(p)); }
AVX2_INL void vi_store_u8(uint8_t *p, avx2_vi a) { /* low bytes of each half, then the two halves together */
  const __m256i low = _mm256_setr_epi8(0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 0, 4, 8, 12, -1, -1,
                                       -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
  __m256i b =
      _mm256_permutevar8x32_epi32(_mm256_shuffle_epi8((__m256i)a, low), _mm256_setr_epi32(0, 4, 1, 1, 1, 1, 1, 1));
  _mm_storel_epi64((__m128i *)(void *)p, _mm256_castsi256_si128(b));
}
#define vi_madd16 vi_madd16
AVX2_INL avx2_vi vi_madd16(avx2_vi a, avx2_vi b) { return (avx2_vi)_mm256_madd_epi16((__m256i)a, (__m256i)b); }

#include "vec.h"

#endif
