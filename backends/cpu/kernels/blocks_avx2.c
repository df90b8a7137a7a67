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

#include "blocks_avx2_read.h"

static inline float sum8(__m256 v) {
  __m128 s = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  s = _mm_add_ps(s, _mm_movehl_ps(s, s));
  return _mm_cvtss_f32(_mm_add_ss(s, _mm_shuffle_ps(s, s, 1)));
}

/* A run of blocks by one of x: eight sums, and in lanes 1 and 2 of `offsets` what the offsets add. x's scale and sums
 * lie before its integers, of which the load has some too. */
VINL void add_run(const read_row *kind, const run8 *w, const block_q8 *x, __m256 *acc, __m128 *offsets) {
  const __m256i q = _mm256_loadu_si256((const __m256i *)x->q);
  __m256i products;
  if (kind->negative) products = _mm256_maddubs_epi16(_mm256_sign_epi8(w->q, w->q), _mm256_sign_epi8(q, w->q));
  else products = _mm256_maddubs_epi16(w->q, q);
  const __m256 sums = _mm256_cvtepi32_ps(_mm256_madd_epi16(products, _mm256_set1_epi16(1)));
  const __m128 factors = _mm_castsi128_ps(_mm_loadu_si128((const __m128i *)&x->scale));
  const __m128 terms = _mm_mul_ps(w->terms, _mm_blend_ps(factors, _mm_setzero_ps(), 8));
  __m256 scale = _mm256_broadcastss_ps(terms);
  if (kind->halves) {
    const __m128 second = _mm_mul_ps(_mm_permute_ps(w->terms, 0xff), _mm_broadcast_ss(&x->scale));
    scale = _mm256_insertf128_ps(scale, second, 1);
  }
  *acc = _mm256_fmadd_ps(sums, scale, *acc);
  *offsets = _mm_add_ps(*offsets, terms);
}

/* n rows of x, n <= FEW, and what is summed of each: products in two parts. */
typedef struct few_rows {
  const block_q8 *x;
  int64_t runs; /* of a row */
  __m256 acc[2][FEW];
  __m128 offsets[FEW];
} few_rows;

/* n_runs runs of a row of blocks, from w on, by runs `at`.. of x. */
VINL void add_runs(const read_kind kind, const unsigned char *w, int64_t at, const int n_runs, const int n,
                   few_rows *few) {
  run8 r[K_RUNS];
  if (reads[kind].elements > BLOCK_RUN) read_k(kind, w, r);
  else {
    CPUK_UNROLL
    for (int i = 0; i < n_runs; i++) r[i] = read_run(kind, w + i * reads[kind].bytes);
  }
  CPUK_UNROLL
  for (int i = 0; i < n_runs; i++)
    CPUK_UNROLL
    for (int j = 0; j < n; j++)
      add_run(&reads[kind], &r[i], few->x + j * few->runs + at + i, &few->acc[i % 2][j], &few->offsets[j]);
}

/* One row of blocks by n <= FEW rows of x, two runs or a block at a time. */
VINL void one_row(const block_product *p, const unsigned char *w, int64_t first, const int n, const read_kind kind,
                  float *y) {
  const int step = reads[kind].elements > BLOCK_RUN ? K_RUNS : 2;
  few_rows few = {.runs = p->k / BLOCK_RUN};
  few.x = (const block_q8 *)p->q + first * few.runs;
  CPUK_UNROLL
  for (int i = 0; i < n; i++)
    few.acc[0][i] = few.acc[1][i] = _mm256_setzero_ps(), few.offsets[i] = _mm_setzero_ps();
  int64_t r = 0;
  for (; r + step <= few.runs; r += step)
    add_runs(kind, w + r * BLOCK_RUN / reads[kind].elements * reads[kind].bytes, r, step, n, &few);
  if (reads[kind].elements == BLOCK_RUN && r < few.runs) add_runs(kind, w + r * reads[kind].bytes, r, 1, n, &few);
  CPUK_UNROLL
  for (int i = 0; i < n; i++) {
    float terms[4];
    _mm_storeu_ps(terms, few.offsets[i]);
    y[i * p->ldy] = sum8(_mm256_add_ps(few.acc[0][i], few.acc[1][i])) + (terms[1] + terms[2]);
  }
}

/* Rows [from, to) of blocks by all of x. */
VINL void row_by_row(const read_kind kind, const block_product *p, int64_t from, int64_t to) {
  const size_t bytes = block_row_bytes(p);
  for (int64_t r = from; r < to; r++) {
    const unsigned char *w = p->w + (size_t)r * bytes;
    int64_t i = 0;
    for (; i + FEW <= p->n; i += FEW) one_row(p, w, i, FEW, kind, p->y + i * p->ldy + r);
    for (; i < p->n; i++) one_row(p, w, i, 1, kind, p->y + i * p->ldy + r);
  }
}

/* ---- eight rows side by side ------------------------------------------------------------------------------------- */

/* A part of k of eight rows: of each run eight vectors of four bytes of each row, and scales and offsets of its halves
 * by row. */
typedef struct side_by_side {
  _Alignas(32) uint8_t q[RUNS][ROWS][ROWS * 4];
  _Alignas(32) float scale[RUNS][2][ROWS], offset[RUNS][2][ROWS];
} side_by_side;

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

/* The terms of run i of eight rows. */
static inline void transpose_terms(const __m128 *rows, side_by_side *to, int64_t i) {
  for (int r = 0; r < ROWS; r += 4) {
    __m128 a = rows[r], b = rows[r + 1], c = rows[r + 2], d = rows[r + 3];
    _MM_TRANSPOSE4_PS(a, b, c, d);
    _mm_store_ps(to->scale[i][0] + r, a);
    _mm_store_ps(to->offset[i][0] + r, b);
    _mm_store_ps(to->offset[i][1] + r, c);
    _mm_store_ps(to->scale[i][1] + r, d);
  }
}

/* n_runs runs of eight rows, from w on, as runs `at`.. */
VINL void unpack_runs(const read_kind kind, const unsigned char *w, size_t row_bytes, const int n_runs, int64_t at,
                      side_by_side *to) {
  run8 v[ROWS][K_RUNS];
  for (int r = 0; r < ROWS; r++)
    if (n_runs > 1) read_k(kind, w + (size_t)r * row_bytes, v[r]);
    else v[r][0] = read_run(kind, w + (size_t)r * row_bytes);
  for (int i = 0; i < n_runs; i++) {
    __m256i q[ROWS];
    __m128 terms[ROWS];
    for (int r = 0; r < ROWS; r++) q[r] = v[r][i].q, terms[r] = v[r][i].terms;
    transpose(q, to->q[at + i]);
    transpose_terms(terms, to, at + i);
  }
}

VINL void unpack_rows(const read_kind kind, const block_product *p, int64_t row, int64_t first, int64_t n,
                      side_by_side *to) {
  const size_t bytes = block_row_bytes(p);
  const int step = reads[kind].elements / BLOCK_RUN;
  const unsigned char *w = p->w + (size_t)row * bytes + (size_t)(first / step) * (size_t)reads[kind].bytes;
  for (int64_t i = 0; i < n; i += step, w += reads[kind].bytes) unpack_runs(kind, w, bytes, step, i, to);
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

VINL void eight_rows(const read_kind kind, const block_product *p, int64_t row) {
  side_by_side w;
  const int64_t all = p->k / BLOCK_RUN;
  for (int64_t part = 0; part < all; part += RUNS) {
    const int64_t runs = all - part < RUNS ? all - part : RUNS;
    unpack_rows(kind, p, row, part, runs, &w);
    all_columns(p, &w, part, runs, !reads[kind].halves && p->format->largest <= 15, p->y + row);
  }
}

/* ---- by format --------------------------------------------------------------------------------------------------- */

VINL void by_kind(const read_kind kind, const block_product *p) {
  int64_t row = 0;
  if (p->n >= FEW && !reads[kind].negative)
    for (; row + ROWS <= p->rows; row += ROWS) eight_rows(kind, p, row);
  row_by_row(kind, p, row, p->rows);
}

#define OF_KIND(CODE, name, ...) \
  static void multiply_##name(const block_product *p) { by_kind(READ_##CODE, p); }
BLOCK_LAYOUTS(OF_KIND)

#define ROW(CODE, name, ...) multiply_##name,
static void (*const kinds[])(const block_product *p) = {BLOCK_LAYOUTS(ROW)};
#undef ROW

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
  if (p->q) kinds[read_kind_of(p->format)](p);
  else cpuk_block_floats_avx2(p);
}

const block_kernels cpuk_blocks_avx2 = {
    .x_step = 1, .w_step = ROWS, .rounded_bytes = block_q8_bytes, .round = block_q8_round, .multiply = multiply};
#endif
