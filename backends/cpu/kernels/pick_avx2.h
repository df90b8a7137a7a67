/* The lanes of a vector of 8 that a mask has, moved to the front: a permutation per mask, a byte a lane. pext would
 * find it too, but takes hundreds of cycles before Zen 3. */
#ifndef BACKENDS_CPU_KERNELS_PICK_AVX2_H
#define BACKENDS_CPU_KERNELS_PICK_AVX2_H

#include "vec_avx2.h"

/* Lane i of mask m, behind as many lanes as there are before it. */
#define PICK_LANE(m, i) (((uint64_t)((m) >> (i) & 1) * (i)) << 8 * __builtin_popcount((m) & ((1 << (i)) - 1)))
#define PICK_MASK(m)                                                                                        \
  (PICK_LANE(m, 1) | PICK_LANE(m, 2) | PICK_LANE(m, 3) | PICK_LANE(m, 4) | PICK_LANE(m, 5) |                \
   PICK_LANE(m, 6) | PICK_LANE(m, 7))
#define PICK_4(m) PICK_MASK(m), PICK_MASK((m) + 1), PICK_MASK((m) + 2), PICK_MASK((m) + 3)
#define PICK_16(m) PICK_4(m), PICK_4((m) + 4), PICK_4((m) + 8), PICK_4((m) + 12)
#define PICK_64(m) PICK_16(m), PICK_16((m) + 16), PICK_16((m) + 32), PICK_16((m) + 48)

static const uint64_t pick_order[256] = {PICK_64(0), PICK_64(64), PICK_64(128), PICK_64(192)};

#define v_pick v_pick
VINL vf v_pick(vf v, uint32_t lanes) {
  const __m256i order = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)&pick_order[lanes & 255]));
  return _mm256_permutevar8x32_ps(v, order);
}

#endif
