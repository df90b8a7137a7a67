/* backends/cpu/kernels/blocks_avx2_read.h - how 256-bit vectors read blocks (core/base/block_format.c has their bits):
 * a run of 32 integers a vector. */
#ifndef BACKENDS_CPU_KERNELS_BLOCKS_AVX2_READ_H
#define BACKENDS_CPU_KERNELS_BLOCKS_AVX2_READ_H
#include <immintrin.h>

#include "blocks_read.h"

enum { K_RUNS = BLOCK_MOST_ELEMENTS / BLOCK_RUN };

/* terms: scale and offset of the first half, offset and scale of the second. */
typedef struct run8 {
  __m256i q;
  __m128 terms;
} run8;

VINL __m256i low_bits(__m256i q, const int mask) { return _mm256_and_si256(q, _mm256_set1_epi8((char)mask)); }

/* Elements j in low halves of bytes, j + 16 in high ones. */
VINL __m256i nibbles(const unsigned char *p) {
  const __m256i b = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)p));
  return low_bits(_mm256_srlv_epi64(b, _mm256_set_epi64x(4, 4, 0, 0)), 15);
}

/* 16 where bit j of the four bytes is set, to element j. */
VINL __m256i fifth_bits(const unsigned char *p) {
  int32_t u;
  memcpy(&u, p, sizeof u);
  const __m256i spread = _mm256_set_epi64x(0x0303030303030303, 0x0202020202020202, 0x0101010101010101, 0);
  const __m256i bit = _mm256_set1_epi64x((long long)0x8040201008040201);
  const __m256i bytes = _mm256_shuffle_epi8(_mm256_set1_epi32(u), spread);
  return low_bits(_mm256_cmpeq_epi8(_mm256_and_si256(bytes, bit), bit), 16);
}

/* The f16 numbers in the first n bytes at p: 2 or 4. */
VINL __m128 halves_to_floats(const unsigned char *p, const int n) {
  uint32_t u = 0;
  memcpy(&u, p, (size_t)n);
  return _mm_cvtph_ps(_mm_cvtsi32_si128((int)u));
}

/* A block of one run. */
VINL run8 read_run(const read_kind kind, const unsigned char *b) {
  const read_row *row = &reads[kind];
  const float shift = (float)row->shift;
  run8 r;
  if (row->has_offset) r.terms = _mm_permute_ps(halves_to_floats(b, 4), 0x14); /* d, m, m, d */
  else r.terms = _mm_mul_ps(_mm_permute_ps(halves_to_floats(b, 2), 0), _mm_set_ps(1, shift, shift, 1));
  if (kind == READ_Q8_0) r.q = _mm256_loadu_si256((const __m256i *)(b + row->at_q));
  else r.q = nibbles(b + row->at_q);
  if (row->at_fifth) r.q = _mm256_or_si256(r.q, fifth_bits(b + row->at_fifth));
  if (kind == READ_IQ4_NL) {
    const __m128i levels = _mm_loadu_si128((const __m128i *)block_iq4_nl_levels);
    r.q = _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(levels), r.q);
  }
  return r;
}

/* ---- blocks of 256 ----------------------------------------------------------------------------------------------- */

VINL __m256i load32(const unsigned char *p) { return _mm256_loadu_si256((const __m256i *)p); }

/* Bits i, i + 1 of each byte at p. */
VINL __m256i two_bits(const unsigned char *p, const int i) { return low_bits(_mm256_srli_epi16(load32(p), i), 3); }

/* Low or high halves of the 32 bytes at p. */
VINL __m256i half_bytes(const unsigned char *p, const bool high) {
  return low_bits(high ? _mm256_srli_epi16(load32(p), 4) : load32(p), 15);
}

/* Bit i of each byte at p, as 1 << to. */
VINL __m256i one_bit(const unsigned char *p, const int i, const int to) {
  const __m256i b = load32(p);
  return low_bits(i > to ? _mm256_srli_epi16(b, i - to) : _mm256_slli_epi16(b, to - i), 1 << to);
}

VINL __m256i k_integers(const read_kind kind, const unsigned char *b, const int i) {
  switch (kind) {
  case READ_Q2_K: return two_bits(b + 16 + 32 * (i / 4), 2 * (i % 4));
  case READ_Q3_K: return _mm256_or_si256(two_bits(b + 32 + 32 * (i / 4), 2 * (i % 4)), one_bit(b, i, 2));
  case READ_Q4_K: return half_bytes(b + 16 + 32 * (i / 2), i % 2);
  case READ_Q5_K: return _mm256_or_si256(half_bytes(b + 48 + 32 * (i / 2), i % 2), one_bit(b + 16, i, 4));
  default:
    return _mm256_or_si256(half_bytes(b + 64 * (i / 4) + 32 * (i % 2), i % 4 > 1),
                           _mm256_slli_epi16(two_bits(b + 128 + 32 * (i / 4), 2 * (i % 4)), 4));
  }
}

/* Sixteen small integers times a number, as floats. */
VINL void times(__m128i bytes, __m256 factor, __m256 out[2]) {
  out[0] = _mm256_mul_ps(factor, _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes)));
  out[1] = _mm256_mul_ps(factor, _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_srli_si128(bytes, 8))));
}

VINL __m256 half_at(const unsigned char *p) { /* an f16, everywhere */
  return _mm256_broadcastss_ps(halves_to_floats(p, 2));
}

VINL __m256 negated(__m256 x) { return _mm256_xor_ps(x, _mm256_set1_ps(-0.0f)); }

VINL uint64_t eight_bytes(const unsigned char *p) {
  uint64_t u;
  memcpy(&u, p, sizeof u);
  return u;
}

/* Sixteen scales of six bits in twelve bytes. */
VINL __m128i q3_scales(const unsigned char *s) {
  const uint64_t low = eight_bytes(s), nibbles = 0x0f0f0f0f0f0f0f0f, pairs = 0x0303030303030303;
  uint32_t u;
  memcpy(&u, s + 8, sizeof u);
  const uint64_t high = u | (uint64_t)u << 30; /* of bytes from the fifth on, two bits further */
  const uint64_t a = (low & nibbles) | (high & pairs) << 4, b = (low >> 4 & nibbles) | (high >> 4 & pairs) << 4;
  return _mm_sub_epi8(_mm_set_epi64x((long long)b, (long long)a), _mm_set1_epi8(32));
}

/* Eight scales and eight minima, six bits each, in twelve bytes; each twice. */
VINL void q4_scales(const unsigned char *s, __m128i *scale, __m128i *least) {
  uint32_t u[3];
  memcpy(u, s, sizeof u);
  const uint32_t scale2 = (u[2] & 0x0f0f0f0f) | (u[0] >> 6 & 0x03030303) << 4;
  const uint32_t least2 = (u[2] >> 4 & 0x0f0f0f0f) | (u[1] >> 6 & 0x03030303) << 4;
  const __m128i a = _mm_cvtsi64_si128((long long)((u[0] & 0x3f3f3f3f) | (uint64_t)scale2 << 32));
  const __m128i b = _mm_cvtsi64_si128((long long)((u[1] & 0x3f3f3f3f) | (uint64_t)least2 << 32));
  *scale = _mm_unpacklo_epi8(a, a);
  *least = _mm_unpacklo_epi8(b, b);
}

/* Scales and offsets of the sixteen halves. */
VINL void k_terms(const read_kind kind, const unsigned char *b, __m256 scale[2], __m256 offset[2]) {
  __m128i s, m;
  switch (kind) {
  case READ_Q2_K:
    s = _mm_loadu_si128((const __m128i *)b);
    times(_mm_and_si128(s, _mm_set1_epi8(15)), half_at(b + 80), scale);
    times(_mm_and_si128(_mm_srli_epi16(s, 4), _mm_set1_epi8(15)), negated(half_at(b + 82)), offset);
    return;
  case READ_Q4_K:
  case READ_Q5_K:
    q4_scales(b + 4, &s, &m);
    times(s, half_at(b), scale);
    times(m, negated(half_at(b + 2)), offset);
    return;
  case READ_Q3_K: times(q3_scales(b + 96), half_at(b + 108), scale); break;
  default: times(_mm_loadu_si128((const __m128i *)(b + 192)), half_at(b + 208), scale); break;
  }
  for (int i = 0; i < 2; i++) offset[i] = _mm256_mul_ps(scale[i], _mm256_set1_ps((float)reads[kind].shift));
}

/* A block of eight runs. */
VINL void read_k(const read_kind kind, const unsigned char *b, run8 r[K_RUNS]) {
  __m256 scale[2], offset[2];
  k_terms(kind, b, scale, offset);
  CPUK_UNROLL
  for (int i = 0; i < K_RUNS; i++) r[i].q = k_integers(kind, b, i);
  CPUK_UNROLL
  for (int i = 0; i < 2; i++) { /* two runs in each half of a vector: s0 s1 s2 s3 and o0 o1 o2 o3 */
    const __m256 a = _mm256_unpacklo_ps(scale[i], offset[i]), c = _mm256_unpackhi_ps(scale[i], offset[i]);
    const __m256 even = _mm256_permute_ps(a, 0xb4), odd = _mm256_permute_ps(c, 0xb4); /* s0 o0 o1 s1 */
    r[4 * i].terms = _mm256_castps256_ps128(even);
    r[4 * i + 1].terms = _mm256_castps256_ps128(odd);
    r[4 * i + 2].terms = _mm256_extractf128_ps(even, 1);
    r[4 * i + 3].terms = _mm256_extractf128_ps(odd, 1);
  }
}
#endif
