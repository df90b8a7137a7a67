/* The transforms of Winograd's convolutions for avx512. */
#if defined(__x86_64__)
#include "winograd.h"

#define CPUK_SUFFIX avx512
#include "vec_avx512.h"

#define v_load_4 v_load_4
/* Each four lanes are a 4 x 4 transpose. */
VINL void avx512_transpose(__m512 a, __m512 b, __m512 c, __m512 d, vf y[4]) {
  const __m512 ab_low = _mm512_unpacklo_ps(a, b), ab_high = _mm512_unpackhi_ps(a, b),
               cd_low = _mm512_unpacklo_ps(c, d), cd_high = _mm512_unpackhi_ps(c, d);
  y[0] = _mm512_shuffle_ps(ab_low, cd_low, 0x44), y[1] = _mm512_shuffle_ps(ab_low, cd_low, 0xee);
  y[2] = _mm512_shuffle_ps(ab_high, cd_high, 0x44), y[3] = _mm512_shuffle_ps(ab_high, cd_high, 0xee);
}

VINL __m512 avx512_four(const float *x, const int32_t *at) {
  const __m512 first = _mm512_castps128_ps512(_mm_loadu_ps(x + at[0])),
               two = _mm512_insertf32x4(first, _mm_loadu_ps(x + at[4]), 1),
               three = _mm512_insertf32x4(two, _mm_loadu_ps(x + at[8]), 2);
  return _mm512_insertf32x4(three, _mm_loadu_ps(x + at[12]), 3);
}

VINL void v_load_4(const float *x, const int32_t *at, vf y[4]) {
  avx512_transpose(avx512_four(x, at), avx512_four(x, at + 1), avx512_four(x, at + 2), avx512_four(x, at + 3), y);
}

VINL void v_store_4(float *x, const vf y[4]) {
  vf t[4];
  avx512_transpose(y[0], y[1], y[2], y[3], t);
  for (int i = 0; i < 4; i++) {
    _mm_storeu_ps(x + 4 * i, _mm512_extractf32x4_ps(t[i], 0));
    _mm_storeu_ps(x + 4 * i + 16, _mm512_extractf32x4_ps(t[i], 1));
    _mm_storeu_ps(x + 4 * i + 32, _mm512_extractf32x4_ps(t[i], 2));
    _mm_storeu_ps(x + 4 * i + 48, _mm512_extractf32x4_ps(t[i], 3));
  }
}

#include "body_winograd.h"
#endif
