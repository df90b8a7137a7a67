/* Products with matrices in block formats (core/base/block_product.h) for AVX2: integers of the blocks by integers of
 * x, which is rounded to q8_0. Few rows of x: a row of blocks at a time, as it lies. Many: eight rows of blocks are
 * unpacked side by side, four bytes of k of each in turns, so that a lane's sums are a row's; then each of them meets
 * four rows of x. Signed operands of vpmaddubsw are x's; blocks with negative integers (q8_0, iq4_nl) take the first
 * way, with their signs moved to x. */
#include "internal.h"

#include <immintrin.h>
#include <string.h>

enum { ROWS = 8, MOST_DEPTH = 2048, RUNS = MOST_DEPTH / BLOCK_RUN, FEW = 4, COLUMNS = 4 };

/* ---- a row of blocks --------------------------------------------------------------------------------------------- */

/* 32 integers and what they stand for: scale and offset the same for all, or one for each half. */
typedef struct run8 {
  __m256i q;
  float scale[2], offset[2];
  bool halves;
} run8;

static inline float half_to_float(const unsigned char *p) {
  uint16_t h;
  memcpy(&h, p, sizeof h);
  return _cvtsh_ss(h);
}

static inline __m256i nibbles(const unsigned char *p) {
  const __m128i b = _mm_loadu_si128((const __m128i *)p);
  return _mm256_and_si256(_mm256_set_m128i(_mm_srli_epi16(b, 4), b), _mm256_set1_epi8(15));
}

static inline run8 read_q4_0(const unsigned char *b) {
  const float d = half_to_float(b);
  return (run8){nibbles(b + 2), {d, d}, {-8 * d, -8 * d}, false};
}

static inline run8 read_q4_1(const unsigned char *b) {
  const float d = half_to_float(b), m = half_to_float(b + 2);
  return (run8){nibbles(b + 4), {d, d}, {m, m}, false};
}

static inline run8 read_q8_0(const unsigned char *b) {
  const float d = half_to_float(b);
  return (run8){_mm256_loadu_si256((const __m256i *)(b + 2)), {d, d}, {0, 0}, false};
}

static inline run8 read_any(const block_format *f, const unsigned char *b, int i) {
  block_run r;
  f->unpack(b, i, &r);
  return (run8){_mm256_loadu_si256((const __m256i *)r.q),
                {r.scale[0], r.scale[1]},
                {r.offset[0], r.offset[1]},
                r.scale[0] != r.scale[1] || r.offset[0] != r.offset[1]};
}

static inline float sum8(__m256 v) {
  __m128 s = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  s = _mm_add_ps(s, _mm_movehl_ps(s, s));
  return _mm_cvtss_f32(_mm_add_ss(s, _mm_shuffle_ps(s, s, 1)));
}

/* A run of blocks by one of x: to eight sums, and what the offsets add. */
static inline void add_run(const run8 *w, const block_q8 *x, bool negative, __m256 *acc, float *offsets) {
  const __m256i ones = _mm256_set1_epi16(1), q = _mm256_loadu_si256((const __m256i *)x->q);
  const __m256i products = negative ? _mm256_maddubs_epi16(_mm256_sign_epi8(w->q, w->q), _mm256_sign_epi8(q, w->q))
                                    : _mm256_maddubs_epi16(w->q, q);
  const __m256 sums = _mm256_cvtepi32_ps(_mm256_madd_epi16(products, ones));
  const float low = w->scale[0] * x->scale;
  const __m256 scale = w->halves ? _mm256_set_m128(_mm_set1_ps(w->scale[1] * x->scale), _mm_set1_ps(low))
                                 : _mm256_set1_ps(low);
  *acc = _mm256_fmadd_ps(sums, scale, *acc);
  if (w->halves) *offsets += w->offset[0] * x->sum[0] + w->offset[1] * x->sum[1];
  else if (!negative) *offsets += w->offset[0] * (x->sum[0] + x->sum[1]);
}

/* One row of blocks by n <= FEW rows of x; `kind` is known where this is expanded. */
typedef enum read_kind { READ_Q4_0, READ_Q4_1, READ_Q8_0, READ_ANY } read_kind;

static inline __attribute__((always_inline)) void one_row(const block_product *p, const unsigned char *w, int64_t first,
                                                          const int n, const read_kind kind, float *y) {
  const int64_t runs = p->k / BLOCK_RUN, per_block = p->format->elements / BLOCK_RUN;
  const size_t bytes = p->format->bytes;
  __m256 acc[FEW];
  float offsets[FEW] = {0};
  for (int i = 0; i < n; i++) acc[i] = _mm256_setzero_ps();
  for (int64_t r = 0; r < runs; r++) {
    const run8 v = kind == READ_Q4_0   ? read_q4_0(w + (size_t)r * bytes)
                   : kind == READ_Q4_1 ? read_q4_1(w + (size_t)r * bytes)
                   : kind == READ_Q8_0 ? read_q8_0(w + (size_t)r * bytes)
                                       : read_any(p->format, w + (size_t)(r / per_block) * bytes, (int)(r % per_block));
    const bool negative = kind == READ_Q8_0 || (kind == READ_ANY && p->format->negative);
    for (int i = 0; i < n; i++) add_run(&v, p->q + (first + i) * runs + r, negative, &acc[i], &offsets[i]);
  }
  for (int i = 0; i < n; i++) y[i * p->ldy] = sum8(acc[i]) + offsets[i];
}

#define FOR_KINDS(call) \
  switch (kind) { \
  case READ_Q4_0: call(READ_Q4_0); break; \
  case READ_Q4_1: call(READ_Q4_1); break; \
  case READ_Q8_0: call(READ_Q8_0); break; \
  default: call(READ_ANY); break; \
  }

static void one_row_by_1(const block_product *p, const unsigned char *w, int64_t first, read_kind kind, float *y) {
#define CALL(K) one_row(p, w, first, 1, K, y)
  FOR_KINDS(CALL)
#undef CALL
}

static void one_row_by_4(const block_product *p, const unsigned char *w, int64_t first, read_kind kind, float *y) {
#define CALL(K) one_row(p, w, first, FEW, K, y)
  FOR_KINDS(CALL)
#undef CALL
}

static read_kind kind_of(const block_format *f) {
  if (!strcmp(f->name, "q4_0")) return READ_Q4_0;
  if (!strcmp(f->name, "q4_1")) return READ_Q4_1;
  return !strcmp(f->name, "q8_0") ? READ_Q8_0 : READ_ANY;
}

/* Rows [from, to) of blocks by all of x. */
static void row_by_row(const block_product *p, int64_t from, int64_t to) {
  const read_kind kind = kind_of(p->format);
  const size_t bytes = block_row_bytes(p);
  for (int64_t r = from; r < to; r++) {
    const unsigned char *w = p->w + (size_t)r * bytes;
    int64_t i = 0;
    for (; i + FEW <= p->n; i += FEW) one_row_by_4(p, w, i, kind, p->y + i * p->ldy + r);
    for (; i < p->n; i++) one_row_by_1(p, w, i, kind, p->y + i * p->ldy + r);
  }
}

/* ---- eight rows side by side ------------------------------------------------------------------------------------- */

/* A part of k of eight rows: of each run eight vectors of four bytes of each row, and scales and offsets of its halves
 * by row. */
typedef struct side_by_side {
  _Alignas(32) uint8_t q[RUNS][ROWS][ROWS * 4];
  _Alignas(32) float scale[RUNS][2][ROWS], offset[RUNS][2][ROWS];
  bool halves;
} side_by_side;

static void unpack_rows(const block_product *p, int64_t row, int64_t first, int64_t n, side_by_side *to) {
  const int64_t per_block = p->format->elements / BLOCK_RUN;
  const size_t bytes = block_row_bytes(p);
  to->halves = per_block > 1; /* formats of 32 have one scale */
  for (int r = 0; r < ROWS; r++)
    for (int64_t i = 0; i < n; i++) {
      block_run v;
      const int64_t at = first + i;
      const unsigned char *block = p->w + (size_t)(row + r) * bytes + (size_t)(at / per_block) * p->format->bytes;
      p->format->unpack(block, (int)(at % per_block), &v);
      for (int j = 0; j < ROWS; j++) memcpy(&to->q[i][j][4 * r], &v.q[4 * j], 4);
      for (int h = 0; h < 2; h++) to->scale[i][h][r] = v.scale[h], to->offset[i][h][r] = v.offset[h];
    }
}

static inline __m256i four_bytes(const int8_t *p) {
  int32_t v;
  memcpy(&v, p, sizeof v);
  return _mm256_set1_epi32(v);
}

/* The sums of 16 elements from vector j on; sums of 16 bits hold two products of 6 bits, four of 5, eight of 4. */
static inline __m256i half_run(const side_by_side *w, int64_t run, int j, const block_q8 *x, bool small) {
  const __m256i ones = _mm256_set1_epi16(1);
  __m256i s[2];
  for (int i = 0; i < 2; i++) {
    const __m256i a = _mm256_load_si256((const __m256i *)w->q[run][j + 2 * i]);
    const __m256i b = _mm256_load_si256((const __m256i *)w->q[run][j + 2 * i + 1]);
    s[i] = _mm256_add_epi16(_mm256_maddubs_epi16(a, four_bytes(x->q + 4 * (j + 2 * i))),
                            _mm256_maddubs_epi16(b, four_bytes(x->q + 4 * (j + 2 * i + 1))));
  }
  if (small) return _mm256_add_epi16(s[0], s[1]);
  return _mm256_add_epi32(_mm256_madd_epi16(s[0], ones), _mm256_madd_epi16(s[1], ones));
}

/* Of 4 bits and one scale: all 32 elements in sums of 16 bits. */
static inline __m256 simple_run(const side_by_side *w, int64_t run, const block_q8 *x, __m256 acc) {
  const __m256i sums = _mm256_add_epi16(half_run(w, run, 0, x, true), half_run(w, run, 4, x, true));
  const __m256 s = _mm256_cvtepi32_ps(_mm256_madd_epi16(sums, _mm256_set1_epi16(1)));
  acc = _mm256_fmadd_ps(s, _mm256_mul_ps(_mm256_load_ps(w->scale[run][0]), _mm256_set1_ps(x->scale)), acc);
  return _mm256_fmadd_ps(_mm256_load_ps(w->offset[run][0]), _mm256_set1_ps(x->sum[0] + x->sum[1]), acc);
}

static inline __m256 general_run(const side_by_side *w, int64_t run, const block_q8 *x, __m256 acc) {
  for (int h = 0; h < 2; h++) {
    const __m256 s = _mm256_cvtepi32_ps(half_run(w, run, 4 * h, x, false));
    acc = _mm256_fmadd_ps(s, _mm256_mul_ps(_mm256_load_ps(w->scale[run][h]), _mm256_set1_ps(x->scale)), acc);
    acc = _mm256_fmadd_ps(_mm256_load_ps(w->offset[run][h]), _mm256_set1_ps(x->sum[h]), acc);
  }
  return acc;
}

/* n <= COLUMNS rows of x from `first` on by the eight rows, added to y where this isn't the first part of k. */
static inline __attribute__((always_inline)) void columns(const block_product *p, const side_by_side *w, int64_t part,
                                                          int64_t runs, int64_t first, const int n, const bool simple,
                                                          float *y) {
  __m256 acc[COLUMNS];
  const block_q8 *x[COLUMNS];
  for (int i = 0; i < n; i++) {
    acc[i] = part ? _mm256_loadu_ps(y + i * p->ldy) : _mm256_setzero_ps();
    x[i] = p->q + (first + i) * (p->k / BLOCK_RUN) + part;
  }
  for (int64_t r = 0; r < runs; r++)
    for (int i = 0; i < n; i++)
      acc[i] = simple ? simple_run(w, r, x[i] + r, acc[i]) : general_run(w, r, x[i] + r, acc[i]);
  for (int i = 0; i < n; i++) _mm256_storeu_ps(y + i * p->ldy, acc[i]);
}

static void all_columns(const block_product *p, const side_by_side *w, int64_t part, int64_t runs, bool simple,
                        float *y) {
  int64_t i = 0;
  for (; i + COLUMNS <= p->n; i += COLUMNS)
    if (simple) columns(p, w, part, runs, i, COLUMNS, true, y + i * p->ldy);
    else columns(p, w, part, runs, i, COLUMNS, false, y + i * p->ldy);
  for (; i < p->n; i++)
    if (simple) columns(p, w, part, runs, i, 1, true, y + i * p->ldy);
    else columns(p, w, part, runs, i, 1, false, y + i * p->ldy);
}

static void eight_rows(const block_product *p, int64_t row) {
  side_by_side w;
  const int64_t all = p->k / BLOCK_RUN;
  for (int64_t part = 0; part < all; part += RUNS) {
    const int64_t runs = all - part < RUNS ? all - part : RUNS;
    unpack_rows(p, row, part, runs, &w);
    all_columns(p, &w, part, runs, !w.halves && p->format->largest <= 15, p->y + row);
  }
}

/* ---- x as it is -------------------------------------------------------------------------------------------------- */

static float dot_floats(const float *w, const float *x, int64_t n) {
  __m256 s[4] = {_mm256_setzero_ps(), _mm256_setzero_ps(), _mm256_setzero_ps(), _mm256_setzero_ps()};
  for (int64_t i = 0; i < n; i += 32)
    for (int j = 0; j < 4; j++)
      s[j] = _mm256_fmadd_ps(_mm256_loadu_ps(w + i + 8 * j), _mm256_loadu_ps(x + i + 8 * j), s[j]);
  return sum8(_mm256_add_ps(_mm256_add_ps(s[0], s[1]), _mm256_add_ps(s[2], s[3])));
}

static void float_rows(const block_product *p) {
  float w[MOST_DEPTH];
  const int64_t n = p->format->elements;
  for (int64_t r = 0; r < p->rows; r++)
    for (int64_t part = 0; part < p->k; part += MOST_DEPTH) {
      const int64_t depth = p->k - part < MOST_DEPTH ? p->k - part : MOST_DEPTH;
      const unsigned char *b = p->w + (size_t)r * block_row_bytes(p) + (size_t)(part / n) * p->format->bytes;
      for (int64_t i = 0; i < depth; i += n, b += p->format->bytes) p->format->dequantize(b, w + i);
      for (int64_t i = 0; i < p->n; i++) {
        float *y = p->y + i * p->ldy + r;
        *y = (part ? *y : 0) + dot_floats(w, p->x + i * p->k + part, depth);
      }
    }
}

bool cpuk_block_product_avx2(const block_product *p) {
  int64_t row = 0;
  if (!p->format->unpack) return false;
  if (!p->q) return float_rows(p), true;
  if (p->n >= FEW && !p->format->negative)
    for (; row + ROWS <= p->rows; row += ROWS) eight_rows(p, row);
  row_by_row(p, row, p->rows);
  return true;
}
