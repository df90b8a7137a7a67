/* The transforms of Winograd's convolutions for avx2. */
#if defined(__x86_64__)
#include "winograd.h"

#define CPUK_SUFFIX avx2
#include "vec_avx2.h"

#define v_load_4 v_load_4
/* Lanes 0 to 3 and 4 to 7 are a 4 x 4 transpose each. */
VINL void avx2_transpose(__m256 a, __m256 b, __m256 c, __m256 d, vf y[4]) {
  const __m256 ab_low = _mm256_unpacklo_ps(a, b), ab_high = _mm256_unpackhi_ps(a, b),
               cd_low = _mm256_unpacklo_ps(c, d), cd_high = _mm256_unpackhi_ps(c, d);
  y[0] = _mm256_shuffle_ps(ab_low, cd_low, 0x44), y[1] = _mm256_shuffle_ps(ab_low, cd_low, 0xee);
  y[2] = _mm256_shuffle_ps(ab_high, cd_high, 0x44), y[3] = _mm256_shuffle_ps(ab_high, cd_high, 0xee);
}

VINL __m256 avx2_two(const float *x, const int32_t *at) {
  return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(x + at[0])), _mm_loadu_ps(x + at[4]), 1);
}

VINL void v_load_4(const float *x, const int32_t *at, vf y[4]) {
  avx2_transpose(avx2_two(x, at), avx2_two(x, at + 1), avx2_two(x, at + 2), avx2_two(x, at + 3), y);
}

VINL void v_store_4(float *x, const vf y[4]) {
  vf t[4];
  avx2_transpose(y[0], y[1], y[2], y[3], t);
  for (int i = 0; i < 4; i++) {
    _mm_storeu_ps(x + 4 * i, _mm256_castps256_ps128(t[i]));
    _mm_storeu_ps(x + 4 * i + 16, _mm256_extractf128_ps(t[i], 1));
  }
}

#include "body_winograd.h"
#endif
