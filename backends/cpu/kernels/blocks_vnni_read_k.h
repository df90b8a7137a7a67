/* backends/cpu/kernels/blocks_vnni_read_k.h - how 512-bit vectors read blocks of 256 elements (core/base/block_format.c
 * has their bits): a group is the block's first or second half, `part`. A part of blocks_vnni_read.h. */
#ifndef BACKENDS_CPU_KERNELS_BLOCKS_VNNI_READ_K_H
#define BACKENDS_CPU_KERNELS_BLOCKS_VNNI_READ_K_H

/* Sixteen bytes for each of the four runs. */
VINL __m512i for_runs(const unsigned char *p) {
  return _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)p));
}

/* Of each byte the bits from 0, `step`, 2 step, 3 step on, by run. */
VINL __m512i bits_by_run(__m512i bytes, const int step, const int mask) {
  const __m512i by = _mm512_set_epi64(3 * step, 3 * step, 2 * step, 2 * step, step, step, 0, 0);
  return _mm512_and_si512(_mm512_srlv_epi64(bytes, by), _mm512_set1_epi8((char)mask));
}

/* Bit 4 part + i of run i's bytes, as `value`. */
VINL __m512i add_bit_by_run(const unsigned char *p, const int part, const char value, __m512i q) {
  const __m512i first = _mm512_set_epi64(0x0808080808080808, 0x0808080808080808, 0x0404040404040404,
                                         0x0404040404040404, 0x0202020202020202, 0x0202020202020202,
                                         0x0101010101010101, 0x0101010101010101);
  const __m512i bit = _mm512_sll_epi16(first, _mm_cvtsi32_si128(4 * part));
  return _mm512_mask_add_epi8(q, _mm512_test_epi8_mask(for_runs(p), bit), q, _mm512_set1_epi8(value));
}

VINL __m256 half_at(const unsigned char *p) { /* an f16, everywhere */
  uint16_t u;
  memcpy(&u, p, sizeof u);
  return _mm256_broadcastss_ps(_mm_cvtph_ps(_mm_cvtsi32_si128(u)));
}

VINL __m256 bytes_to_floats(uint64_t eight) {
  return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_cvtsi64_si128((long long)eight)));
}

VINL uint64_t eight_bytes(const unsigned char *p) {
  uint64_t u;
  memcpy(&u, p, sizeof u);
  return u;
}

VINL __m256 negated(__m256 x) { return _mm256_xor_ps(x, _mm256_set1_ps(-0.0f)); }

VINL void read_q2_k(const unsigned char *b, const int part, group *out) {
  const uint64_t nibbles = 0x0f0f0f0f0f0f0f0f, scales = eight_bytes(b + 8 * part);
  for (int h = 0; h < 2; h++) out->q[h] = bits_by_run(for_runs(b + 16 + 32 * part + 16 * h), 2, 3);
  out->terms = _mm256_mul_ps(half_at(b + 80), bytes_to_floats(scales & nibbles));
  out->offsets = _mm256_mul_ps(negated(half_at(b + 82)), bytes_to_floats(scales >> 4 & nibbles));
}

VINL void read_q3_k(const unsigned char *b, const int part, group *out) {
  const uint64_t pairs = 0x03030303, low = eight_bytes(b + 96) >> 4 * part & 0x0f0f0f0f0f0f0f0f;
  uint32_t high;
  memcpy(&high, b + 104, sizeof high);
  const uint64_t bits = (high >> 4 * part & pairs) | (high >> (4 * part + 2) & pairs) << 32;
  for (int h = 0; h < 2; h++) {
    const __m512i two = bits_by_run(for_runs(b + 32 + 32 * part + 16 * h), 2, 3);
    out->q[h] = add_bit_by_run(b + 16 * h, part, 4, two);
  }
  const __m256 scales = _mm256_sub_ps(bytes_to_floats(low | bits << 4), _mm256_set1_ps(32));
  out->offsets = out->terms = _mm256_mul_ps(half_at(b + 108), scales);
}

/* q4_k and q5_k: of each run scale and minimum, six bits each, times d and -m. */
VINL __m256 scales_and_minima(const unsigned char *b, const int part) {
  uint32_t u[3], scale, least;
  memcpy(u, b + 4, sizeof u);
  if (part == 0) {
    scale = u[0] & 0x3f3f3f3f;
    least = u[1] & 0x3f3f3f3f;
  } else {
    scale = (u[2] & 0x0f0f0f0f) | (u[0] >> 6 & 0x03030303) << 4;
    least = (u[2] >> 4 & 0x0f0f0f0f) | (u[1] >> 6 & 0x03030303) << 4;
  }
  const __m128i both = _mm_unpacklo_epi8(_mm_cvtsi32_si128((int)scale), _mm_cvtsi32_si128((int)least));
  uint32_t d_m;
  memcpy(&d_m, b, sizeof d_m);
  const __m128 factors = _mm_xor_ps(_mm_cvtph_ps(_mm_cvtsi32_si128((int)d_m)), _mm_set_ps(0, 0, -0.0f, 0));
  return _mm256_mul_ps(_mm256_castpd_ps(_mm256_broadcastsd_pd(_mm_castps_pd(factors))),
                       _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(both)));
}

/* 64 bytes with the runs two by two, the even ones in low halves. */
VINL void read_q45_k(const unsigned char *b, const int part, const int at_q, group *out) {
  const __m512i all = _mm512_loadu_si512(b + at_q + 64 * part), by = _mm512_set_epi64(4, 4, 0, 0, 4, 4, 0, 0);
  const __m512i q[2] = {_mm512_shuffle_i32x4(all, all, 0xa0), _mm512_shuffle_i32x4(all, all, 0xf5)};
  for (int h = 0; h < 2; h++) out->q[h] = _mm512_and_si512(_mm512_srlv_epi64(q[h], by), _mm512_set1_epi8(15));
  out->terms = scales_and_minima(b, part);
}

VINL void read_q6_k(const unsigned char *b, const int part, group *out) {
  const __m512i all = _mm512_loadu_si512(b + 64 * part), by = _mm512_set_epi64(4, 4, 4, 4, 0, 0, 0, 0);
  const __m512i q[2] = {_mm512_shuffle_i32x4(all, all, 0x88), _mm512_shuffle_i32x4(all, all, 0xdd)};
  for (int h = 0; h < 2; h++) {
    const __m512i high = bits_by_run(for_runs(b + 128 + 32 * part + 16 * h), 2, 3);
    const __m512i low = _mm512_and_si512(_mm512_srlv_epi64(q[h], by), _mm512_set1_epi8(15));
    out->q[h] = _mm512_or_si512(low, _mm512_slli_epi16(high, 4));
  }
  const __m128i scales = _mm_loadl_epi64((const __m128i *)(b + 192 + 8 * part));
  out->offsets = out->terms = _mm256_mul_ps(half_at(b + 208), _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(scales)));
}

VINL void read_k(const read_kind kind, const unsigned char *b, const int part, group *out) {
  switch (kind) {
  case READ_Q2_K: read_q2_k(b, part, out); break;
  case READ_Q3_K: read_q3_k(b, part, out); break;
  case READ_Q4_K: read_q45_k(b, part, 16, out); break;
  case READ_Q5_K:
    read_q45_k(b, part, 48, out);
    for (int h = 0; h < 2; h++) out->q[h] = add_bit_by_run(b + 16 + 16 * h, part, 16, out->q[h]);
    break;
  default: read_q6_k(b, part, out); break;
  }
}
#endif
