/* The fused reduction kernels for avx512 with its bf16 conversions, which round to nearest even as ours do but take
 * denormals as zero (Intel SDM): no loss to a normalised row, whose results below 2^-126 are nothing beside the others.
 */
#if defined(__x86_64__)
#include "internal.h"

#define CPUK_SUFFIX avx512bf16
#include "vec_avx512.h"

#define row_bf16_pair row_bf16_pair
AVX512_INL vf row_bf16_pair(vf a, vf b) {
  __m512bh h = _mm512_cvtne2ps_pbh(b, a);
  vf r;
  memcpy(&r, &h, sizeof r);
  return r;
}

#include "body_rows.h"
#endif
