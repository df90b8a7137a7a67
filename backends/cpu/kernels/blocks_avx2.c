/* Products with matrices in block formats (core/base/block_product.h) for AVX2: integers of the blocks by integers of
 * x, which is rounded to q8_0. Few rows of x: a row of blocks at a time, as it lies. Many: eight rows of blocks are
 * unpacked side by side, four bytes of k of each in turns, so that a lane's sums are a row's; then each of them meets
 * four rows of x. Signed operands of vpmaddubsw are x's; blocks with negative integers (q8_0, iq4_nl) take the first
 * way, with their signs moved to x. */
#if defined(__x86_64__)
#include "internal.h"

#define CPUK_SUFFIX avx2
#include "vec_avx2.h"

#include <immintrin.h>
#include <string.h>

enum { ROWS = 8, MOST_DEPTH = 2048, RUNS = MOST_DEPTH / BLOCK_RUN, FEW = 4, COLUMNS = 4 };

/* ---- a row of blocks --------------------------------------------------------------------------------------------- */

/* How a run is read; known where one_row is expanded. */
typedef enum read_kind { READ_Q4_0, READ_Q4_1, READ_Q8_0, READ_ANY } read_kind;

/* 32 integers; in `terms` the scale (of the first half) and the offsets of both halves. */
typedef struct run8 {
  __m256i q;
  __m128 terms;
  float second; /* READ_ANY: the scale of the second half */
} run8;

static inline __m256i nibbles(const unsigned char *p) {
  const __m256i b = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)p));
  return _mm256_and_si256(_mm256_srlv_epi64(b, _mm256_set_epi64x(4, 4, 0, 0)), _mm256_set1_epi8(15));
}

/* The f16 numbers in the first n bytes of a block: 2 or 4. */
static inline __m128 halves_to_floats(const unsigned char *p, const int n) {
  uint32_t u = 0;
  memcpy(&u, p, (size_t)n);
  return _mm_cvtph_ps(_mm_cvtsi32_si128((int)u));
}

VINL run8 read_run(const block_format *f, const unsigned char *b, int i, const read_kind kind) {
  run8 r = {.second = 0};
  block_run any;
  switch (kind) {
  case READ_Q4_0:
    r.q = nibbles(b + 2);
    r.terms = _mm_mul_ps(_mm_permute_ps(halves_to_floats(b, 2), 0), _mm_set_ps(0, -8, -8, 1));
    break;
  case READ_Q4_1:
    r.q = nibbles(b + 4);
    r.terms = _mm_permute_ps(halves_to_floats(b, 4), 0x54); /* d, m, m, m */
    break;
  case READ_Q8_0:
    r.q = _mm256_loadu_si256((const __m256i *)(b + 2));
    r.terms = halves_to_floats(b, 2);
    break;
  case READ_ANY:
    f->unpack(b, i, &any);
    r.q = _mm256_loadu_si256((const __m256i *)any.q);
    r.terms = _mm_set_ps(0, any.offset[1], any.offset[0], any.scale[0]);
    r.second = any.scale[1];
    break;
  }
  return r;
}

static inline float sum8(__m256 v) {
  __m128 s = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  s = _mm_add_ps(s, _mm_movehl_ps(s, s));
  return _mm_cvtss_f32(_mm_add_ss(s, _mm_shuffle_ps(s, s, 1)));
}

/* A run of blocks by one of x: eight sums, and in lanes 1 and 2 of `offsets` what the offsets add. x's scale and sums
 * lie before its integers, of which the load has some too. */
VINL void add_run(const run8 *w, const block_q8 *x, const bool negative, const bool halves, __m256 *acc,
                  __m128 *offsets) {
  const __m256i q = _mm256_loadu_si256((const __m256i *)x->q);
  const __m256i products = negative ? _mm256_maddubs_epi16(_mm256_sign_epi8(w->q, w->q), _mm256_sign_epi8(q, w->q))
                                    : _mm256_maddubs_epi16(w->q, q);
  const __m256 sums = _mm256_cvtepi32_ps(_mm256_madd_epi16(products, _mm256_set1_epi16(1)));
  const __m128 factors = _mm_castsi128_ps(_mm_loadu_si128((const __m128i *)&x->scale));
  const __m128 terms = _mm_mul_ps(w->terms, _mm_blend_ps(factors, _mm_setzero_ps(), 8));
  __m256 scale = _mm256_broadcastss_ps(terms);
  if (halves) scale = _mm256_insertf128_ps(scale, _mm_set1_ps(w->second * x->scale), 1);
  *acc = _mm256_fmadd_ps(sums, scale, *acc);
  *offsets = _mm_add_ps(*offsets, terms);
}

/* One row of blocks by n <= FEW rows of x, two runs at a time. */
VINL void one_row(const block_product *p, const unsigned char *w, int64_t first, const int n, const read_kind kind,
                  float *y) {
  const int64_t runs = p->k / BLOCK_RUN, per_block = kind == READ_ANY ? p->format->elements / BLOCK_RUN : 1;
  const size_t bytes = kind == READ_Q4_0 ? 18 : kind == READ_Q4_1 ? 20 : kind == READ_Q8_0 ? 34 : p->format->bytes;
  const bool negative = kind == READ_Q8_0 || (kind == READ_ANY && p->format->negative), halves = kind == READ_ANY;
  __m256 acc[2][FEW];
  __m128 offsets[FEW];
  CPUK_UNROLL
  for (int i = 0; i < n; i++) acc[0][i] = acc[1][i] = _mm256_setzero_ps(), offsets[i] = _mm_setzero_ps();
  int64_t r = 0;
  for (; r + 2 <= runs; r += 2) {
    CPUK_UNROLL
    for (int u = 0; u < 2; u++) {
      const int64_t at = r + u;
      const run8 v = read_run(p->format, w + (size_t)(at / per_block) * bytes, (int)(at % per_block), kind);
      CPUK_UNROLL
      for (int i = 0; i < n; i++)
        add_run(&v, (const block_q8 *)p->q + (first + i) * runs + at, negative, halves, &acc[u][i], &offsets[i]);
    }
  }
  if (r < runs) {
    const run8 v = read_run(p->format, w + (size_t)(r / per_block) * bytes, (int)(r % per_block), kind);
    CPUK_UNROLL
    for (int i = 0; i < n; i++)
      add_run(&v, (const block_q8 *)p->q + (first + i) * runs + r, negative, halves, &acc[0][i], &offsets[i]);
  }
  CPUK_UNROLL
  for (int i = 0; i < n; i++) {
    float terms[4];
    _mm_storeu_ps(terms, offsets[i]);
    y[i * p->ldy] = sum8(_mm256_add_ps(acc[0][i], acc[1][i])) + (terms[1] + terms[2]);
  }
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

static void unpack_any(const block_product *p, int64_t row, int64_t first, int64_t n, side_by_side *to) {
  const int64_t per_block = p->format->elements / BLOCK_RUN;
  const size_t bytes = block_row_bytes(p);
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

/* Eight rows of eight elements of four bytes, the other way round. */
static inline void transpose(const __m256i *x, uint8_t to[ROWS][ROWS * 4]) {
  __m256i a[8], b[8];
  for (int i = 0; i < 4; i++) {
    a[2 * i] = _mm256_unpacklo_epi32(x[2 * i], x[2 * i + 1]);
    a[2 * i + 1] = _mm256_unpackhi_epi32(x[2 * i], x[2 * i + 1]);
  }
  for (int i = 0; i < 2; i++) {
    b[4 * i] = _mm256_unpacklo_epi64(a[4 * i], a[4 * i + 2]);
    b[4 * i + 1] = _mm256_unpackhi_epi64(a[4 * i], a[4 * i + 2]);
    b[4 * i + 2] = _mm256_unpacklo_epi64(a[4 * i + 1], a[4 * i + 3]);
    b[4 * i + 3] = _mm256_unpackhi_epi64(a[4 * i + 1], a[4 * i + 3]);
  }
  for (int i = 0; i < 4; i++) {
    _mm256_store_si256((__m256i *)to[i], _mm256_permute2x128_si256(b[i], b[i + 4], 0x20));
    _mm256_store_si256((__m256i *)to[i + 4], _mm256_permute2x128_si256(b[i], b[i + 4], 0x31));
  }
}

/* q4_0 and q4_1, whose scale, and offset if there is one, come before 16 bytes of integers. */
static void unpack_nibbles(const block_product *p, int64_t row, int64_t first, int64_t n, const bool has_offset,
                           side_by_side *to) {
  const size_t bytes = block_row_bytes(p), block = p->format->bytes;
  const unsigned char *w = p->w + (size_t)row * bytes + (size_t)first * block;
  for (int64_t i = 0; i < n; i++, w += block) {
    __m256i x[ROWS];
    uint16_t d[ROWS], m[ROWS];
    for (int r = 0; r < ROWS; r++) {
      const unsigned char *b = w + (size_t)r * bytes;
      x[r] = nibbles(b + (has_offset ? 4 : 2));
      memcpy(&d[r], b, 2);
      memcpy(&m[r], b + 2, 2);
    }
    transpose(x, to->q[i]);
    const __m256 scale = _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)d));
    const __m256 offset = has_offset ? _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)m))
                                     : _mm256_mul_ps(scale, _mm256_set1_ps(-8));
    _mm256_store_ps(to->scale[i][0], scale);
    _mm256_store_ps(to->offset[i][0], offset);
  }
}

static void unpack_rows(const block_product *p, int64_t row, int64_t first, int64_t n, side_by_side *to) {
  const read_kind kind = kind_of(p->format);
  to->halves = p->format->elements > BLOCK_RUN; /* formats of 32 have one scale */
  if (kind == READ_Q4_0) unpack_nibbles(p, row, first, n, false, to);
  else if (kind == READ_Q4_1) unpack_nibbles(p, row, first, n, true, to);
  else unpack_any(p, row, first, n, to);
}

static inline __m256i four_bytes(const int8_t *p) {
  int32_t v;
  memcpy(&v, p, sizeof v);
  return _mm256_set1_epi32(v);
}

/* The sums of 16 elements from vector j on; sums of 16 bits hold two products of 6 bits, four of 5, eight of 4. */
VINL __m256i half_run(const side_by_side *w, int64_t run, int j, const block_q8 *x, bool small) {
  const __m256i ones = _mm256_set1_epi16(1);
  __m256i s[2];
  CPUK_UNROLL
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
VINL __m256 simple_run(const side_by_side *w, int64_t run, const block_q8 *x, __m256 acc) {
  const __m256i sums = _mm256_add_epi16(half_run(w, run, 0, x, true), half_run(w, run, 4, x, true));
  const __m256 s = _mm256_cvtepi32_ps(_mm256_madd_epi16(sums, _mm256_set1_epi16(1)));
  acc = _mm256_fmadd_ps(s, _mm256_mul_ps(_mm256_load_ps(w->scale[run][0]), _mm256_set1_ps(x->scale)), acc);
  return _mm256_fmadd_ps(_mm256_load_ps(w->offset[run][0]), _mm256_set1_ps(x->sum[0] + x->sum[1]), acc);
}

VINL __m256 general_run(const side_by_side *w, int64_t run, const block_q8 *x, __m256 acc) {
  CPUK_UNROLL
  for (int h = 0; h < 2; h++) {
    const __m256 s = _mm256_cvtepi32_ps(half_run(w, run, 4 * h, x, false));
    acc = _mm256_fmadd_ps(s, _mm256_mul_ps(_mm256_load_ps(w->scale[run][h]), _mm256_set1_ps(x->scale)), acc);
    acc = _mm256_fmadd_ps(_mm256_load_ps(w->offset[run][h]), _mm256_set1_ps(x->sum[h]), acc);
  }
  return acc;
}

/* n <= COLUMNS rows of x from `first` on by the eight rows, added to y where this isn't the first part of k. */
VINL void columns(const block_product *p, const side_by_side *w, int64_t part, int64_t runs, int64_t first,
                  const int n, const bool simple, float *y) {
  __m256 acc[COLUMNS];
  const block_q8 *x[COLUMNS];
  CPUK_UNROLL
  for (int i = 0; i < n; i++) {
    acc[i] = part ? _mm256_loadu_ps(y + i * p->ldy) : _mm256_setzero_ps();
    x[i] = (const block_q8 *)p->q + (first + i) * (p->k / BLOCK_RUN) + part;
  }
  for (int64_t r = 0; r < runs; r++) {
    CPUK_UNROLL
    for (int i = 0; i < n; i++)
      acc[i] = simple ? simple_run(w, r, x[i] + r, acc[i]) : general_run(w, r, x[i] + r, acc[i]);
  }
  CPUK_UNROLL
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

void cpuk_block_floats_avx2(const block_product *p) {
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

static void multiply(const block_product *p) {
  int64_t row = 0;
  if (!p->q) {
    cpuk_block_floats_avx2(p);
    return;
  }
  if (p->n >= FEW && !p->format->negative)
    for (; row + ROWS <= p->rows; row += ROWS) eight_rows(p, row);
  row_by_row(p, row, p->rows);
}

const block_kernels cpuk_blocks_avx2 = {
    .x_step = 1, .w_step = ROWS, .rounded_bytes = block_q8_bytes, .round = block_q8_round, .multiply = multiply};
#endif
