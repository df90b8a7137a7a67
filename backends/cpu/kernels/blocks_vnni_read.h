/* backends/cpu/kernels/blocks_vnni_read.h - how rows of blocks are read by 512-bit vectors: in groups of four runs. The
 * first 16 integers of each run are in one vector, its last 16 in another; they are unsigned, with BIAS added to those
 * of formats that have negative ones. */
#ifndef BACKENDS_CPU_KERNELS_BLOCKS_VNNI_READ_H
#define BACKENDS_CPU_KERNELS_BLOCKS_VNNI_READ_H
#include <immintrin.h>

#include "blocks_read.h"

enum { GROUP = 4, BIAS = 128 };

/* terms: of each run the scale and what its `shift` is multiplied by, which is the offset or the scale again. Where
 * halves have scales: the scale of each half, and `offsets` what `shift` is multiplied by of each. */
typedef struct group {
  __m512i q[2];
  __m256 terms, offsets;
} group;

/* Of two runs from p on the n that exist, as far as a vector reaches. */
VINL __m512i load_pair(const unsigned char *p, const int bytes, int n) {
  const int words = n <= 0 ? 0 : (n < 2 ? n : 2) * bytes / 2;
  return _mm512_maskz_loadu_epi16(words >= 32 ? ~0u : (1u << words) - 1, p);
}

#define FOUR(word, i) word(i + 3), word(i + 2), word(i + 1), word(i)
#define EIGHT(word, i) FOUR(word, i + 4), FOUR(word, i)
#define WORDS(word) _mm512_set_epi16(EIGHT(word, 24), EIGHT(word, 16), EIGHT(word, 8), EIGHT(word, 0))

/* Words of two pairs: in lane i of 128 bits those from `at` bytes behind the beginning of run i on. */
VINL __m512i words_at(const int bytes, const int at) {
#define WORD(i) (short)((i) / 16 * 32 + ((i) / 8 % 2 * bytes + at) / 2 + (i) % 8)
  return WORDS(WORD);
#undef WORD
}

/* The 16 bytes of integers of each run: by 32 bits, which is faster, where they lie at multiples of these. */
VINL __m512i nibbles_of(const read_row *row, const __m512i pair[2]) {
#define WORD(i) ((i) / 8 * 16 + ((i) / 4 % 2 * row->bytes + row->at_q) / 4 + (i) % 4)
  if (row->bytes % 4 == 0 && row->at_q % 4 == 0)
    return _mm512_permutex2var_epi32(pair[0], _mm512_set_epi32(EIGHT(WORD, 8), EIGHT(WORD, 0)), pair[1]);
#undef WORD
  return _mm512_permutex2var_epi16(pair[0], words_at(row->bytes, row->at_q), pair[1]);
}

/* Of each run the first word, then the one `second` behind it. */
VINL __m512i term_words(const int bytes, const int second) {
#define WORD(i) (short)((i) / 4 % 2 * 32 + (i) / 2 % 2 * bytes / 2 + (i) % 2 * second)
  return WORDS(WORD);
#undef WORD
}

VINL __m256 read_terms(const read_row *row, const __m512i pair[2]) {
  const __m512i index = term_words(row->bytes, row->has_offset);
  return _mm256_cvtph_ps(_mm512_castsi512_si128(_mm512_permutex2var_epi16(pair[0], index, pair[1])));
}

/* Bytes of q8_0: a pair is longer than a vector. */
VINL void read_bytes(const unsigned char *p, int n, group *out) {
  enum { AT = 2, BYTES = 34 };
  const __m512i bias = _mm512_set1_epi8((char)BIAS);
  __m256i run[GROUP];
  CPUK_UNROLL
  for (int i = 0; i < GROUP; i++)
    run[i] = i < n ? _mm256_loadu_si256((const __m256i *)(p + BYTES * i + AT)) : _mm256_setzero_si256();
  const __m512i a = _mm512_inserti64x4(_mm512_castsi256_si512(run[0]), run[1], 1);
  const __m512i b = _mm512_inserti64x4(_mm512_castsi256_si512(run[2]), run[3], 1);
  out->q[0] = _mm512_xor_si512(_mm512_shuffle_i32x4(a, b, 0x88), bias);
  out->q[1] = _mm512_xor_si512(_mm512_shuffle_i32x4(a, b, 0xdd), bias);
}

VINL void add_fifth_bits(const unsigned char *p, const int bytes, int n, __m512i q[2]) {
  uint64_t bits[2] = {0, 0};
  CPUK_UNROLL
  for (int i = 0; i < GROUP; i++)
    if (i < n)
      for (int h = 0; h < 2; h++) {
        uint16_t u;
        memcpy(&u, p + bytes * i + 2 * h, sizeof u);
        bits[h] |= (uint64_t)u << 16 * i;
      }
  for (int h = 0; h < 2; h++) q[h] = _mm512_mask_add_epi8(q[h], bits[h], q[h], _mm512_set1_epi8(16));
}

/* Runs [first, first + n) of a row of blocks of one run. */
VINL void read_runs(const read_kind kind, const unsigned char *w, int64_t first, int n, group *out) {
  const read_row *row = &reads[kind];
  const unsigned char *p = w + first * row->bytes;
  const __m512i pair[2] = {load_pair(p, row->bytes, n), load_pair(p + 2 * row->bytes, row->bytes, n - 2)};
  out->terms = read_terms(row, pair);
  if (kind == READ_Q8_0) {
    read_bytes(p, n, out);
    return;
  }
  const __m512i low = _mm512_set1_epi8(15);
  const __m512i both = nibbles_of(row, pair);
  out->q[0] = _mm512_and_si512(both, low);
  out->q[1] = _mm512_and_si512(_mm512_srli_epi16(both, 4), low);
  if (row->at_fifth) add_fifth_bits(p + row->at_fifth, row->bytes, n, out->q);
  if (kind == READ_IQ4_NL) {
    const __m512i levels = _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)block_iq4_nl_levels));
    const __m512i table = _mm512_xor_si512(levels, _mm512_set1_epi8((char)BIAS));
    for (int h = 0; h < 2; h++) out->q[h] = _mm512_shuffle_epi8(table, out->q[h]);
  }
}

#include "blocks_vnni_read_k.h"

/* Runs [first, first + n) of the row at w, n <= GROUP; terms of others are 0. Blocks of 256 elements are two groups;
 * part: which of them, known where that costs nothing. */
VINL void read_group(const read_kind kind, const unsigned char *w, int64_t first, const int part, int n, group *out) {
  if (reads[kind].elements == BLOCK_RUN) read_runs(kind, w, first, n, out);
  else read_k(kind, w + first / (2 * GROUP) * reads[kind].bytes, part, out);
}
#endif
