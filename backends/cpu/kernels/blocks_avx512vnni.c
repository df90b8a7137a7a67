/* Products with matrices in block formats (core/base/block_product.h) for AVX-512 VNNI: vpdpbusd multiplies the blocks'
 * integers, unsigned, by those of x, which is rounded to q8_0 or q8_1. Where BIAS was added to the former, sums begin
 * with what it adds.
 * Few rows of x: a row of blocks at a time, as it lies, runs side by side in a vector. More: 16 rows of blocks are
 * unpacked side by side, four bytes of k of each in turns, so that a lane's sums are a row's; then they meet all of x
 * in panels of PANEL rows. */
#if defined(__x86_64__)
#include "internal.h"

#define CPUK_SUFFIX avx512
#include "vec_avx512.h"

#include "blocks_vnni_read.h"

#include <float.h>
#include <math.h>

enum { FEW = 4, ROWS = 16, PANEL = 12, STEPS = BLOCK_RUN / 4, MOST_RUNS = 64 };

/* A group of one row of x, as blocks_vnni_read.h has blocks. terms: of each run the scale, and the sum times the
 * format's shift; where halves have scales, the scale for each half, and `sums` their sums times the shift. bias: -BIAS
 * times the sum of a lane's integers, so that what a lane sums is small before it is rounded. */
typedef struct x_group {
  int8_t q[2][64];
  float terms[2 * GROUP], sums[2 * GROUP];
  int32_t bias[16];
} x_group;

/* A run of PANEL rows of x: four bytes of each row in turns. */
typedef struct x_panel {
  int8_t q[STEPS][PANEL][4];
  float scale[PANEL], sum[3][PANEL];
  int32_t bias[PANEL];
} x_panel;

static int64_t runs_of(const block_product *p) { return p->k / BLOCK_RUN; }
static int64_t groups_of(int64_t k) { return (k / BLOCK_RUN + GROUP - 1) / GROUP; }

static size_t rounded_bytes(int64_t n, int64_t k) {
  if (n < FEW) return (size_t)(n * groups_of(k)) * sizeof(x_group);
  return (size_t)((n + PANEL - 1) / PANEL * (k / BLOCK_RUN)) * sizeof(x_panel);
}

/* ---- x ----------------------------------------------------------------------------------------------------------- */

typedef struct rounded {
  __m128i q[2];
  float scale, sum[2];
  int32_t bias;
} rounded;

static inline int sum_of_bytes(__m128i q) { /* signed */
  const __m128i s = _mm_sad_epu8(_mm_xor_si128(q, _mm_set1_epi8(-128)), _mm_setzero_si128());
  return _mm_cvtsi128_si32(_mm_add_epi64(s, _mm_unpackhi_epi64(s, s))) - 16 * 128;
}

static inline float to_f16(float x) { return _cvtsh_ss(_cvtss_sh(x, _MM_FROUND_TO_NEAREST_INT)); }

/* As block_quantize rounds, bit by bit. */
static inline rounded round_run(const float *x, bool q8_1) {
  const __m512i magnitude = _mm512_set1_epi32(0x7fffffff);
  const __m512 v[2] = {_mm512_loadu_ps(x), _mm512_loadu_ps(x + 16)};
  const __m512i u = _mm512_max_epu32(_mm512_and_si512(_mm512_castps_si512(v[0]), magnitude),
                                     _mm512_and_si512(_mm512_castps_si512(v[1]), magnitude));
  const uint32_t top = _mm512_reduce_max_epu32(u);
  const bool finite = top < 0x7f800000;
  const float largest = _mm_cvtss_f32(_mm_castsi128_ps(_mm_cvtsi32_si128((int)top)));
  float inverse = top && finite ? 127 / largest : 0;
  if (!(inverse <= FLT_MAX)) inverse = 0;
  rounded r = {.scale = finite ? to_f16(largest / 127) : NAN};
  int sum[2];
  for (int h = 0; h < 2; h++) {
    const __m512i q = _mm512_cvtps_epi32(_mm512_mul_ps(v[h], _mm512_set1_ps(inverse)));
    r.q[h] = inverse > 0 ? _mm512_cvtepi32_epi8(q) : _mm_setzero_si128();
    sum[h] = sum_of_bytes(r.q[h]);
    r.sum[h] = r.scale * (float)sum[h];
  }
  r.bias = -BIAS * (sum[0] + sum[1]);
  if (!q8_1) return r;
  r.sum[0] = finite ? to_f16(largest / 127 * (float)(sum[0] + sum[1])) : NAN;
  r.sum[1] = 0;
  return r;
}

static void round_row(const block_product *p, int64_t row) {
  const read_row *kind = &reads[read_kind_of(p->format)];
  x_group *to = (x_group *)p->q + row * groups_of(p->k);
  memset(to, 0, (size_t)groups_of(p->k) * sizeof *to);
  for (int64_t i = 0; i < runs_of(p); i++) {
    const rounded r = round_run(p->x + row * p->k + i * BLOCK_RUN, p->q8_1);
    x_group *g = to + i / GROUP;
    const int64_t at = i % GROUP;
    for (int h = 0; h < 2; h++) {
      _mm_storeu_si128((__m128i *)(g->q[h] + 16 * at), r.q[h]);
      g->sums[2 * at + h] = (float)kind->shift * r.sum[h];
    }
    g->terms[2 * at] = r.scale;
    g->terms[2 * at + 1] = kind->halves ? r.scale : (float)kind->shift * (r.sum[0] + r.sum[1]);
  }
  const __m512i bias = _mm512_set1_epi8((char)BIAS);
  for (int64_t i = 0; i < groups_of(p->k); i++) {
    __m512i sums = _mm512_dpbusd_epi32(_mm512_setzero_si512(), bias, _mm512_loadu_si512(to[i].q[0]));
    sums = _mm512_dpbusd_epi32(sums, bias, _mm512_loadu_si512(to[i].q[1]));
    _mm512_storeu_si512(to[i].bias, _mm512_sub_epi32(_mm512_setzero_si512(), sums));
  }
}

static void round_panel(const block_product *p, int64_t row, int64_t n) {
  x_panel *to = (x_panel *)p->q + row / PANEL * runs_of(p);
  for (int64_t i = 0; i < runs_of(p); i++)
    for (int64_t j = 0; j < PANEL; j++) {
      const rounded r = j < n ? round_run(p->x + (row + j) * p->k + i * BLOCK_RUN, p->q8_1) : (rounded){.scale = 0};
      _Alignas(16) int8_t q[BLOCK_RUN];
      for (int h = 0; h < 2; h++) {
        _mm_store_si128((__m128i *)(q + 16 * h), r.q[h]);
        to[i].sum[h][j] = r.sum[h];
      }
      to[i].sum[2][j] = r.sum[0] + r.sum[1];
      for (int s = 0; s < STEPS; s++) memcpy(to[i].q[s][j], q + 4 * s, 4);
      to[i].scale[j] = r.scale;
      to[i].bias[j] = r.bias;
    }
}

static void round_rows(const block_product *p, int64_t from, int64_t to) {
  if (p->n < FEW)
    for (int64_t i = from; i < to; i++) round_row(p, i);
  else
    for (int64_t i = from; i < to; i += PANEL) round_panel(p, i, to - i < PANEL ? to - i : PANEL);
}

/* ---- a row of blocks --------------------------------------------------------------------------------------------- */

/* What is summed of a row: products, of the halves apart where these have scales; and what offsets add, which is in
 * every second lane of `terms` where the others are the scales'. */
typedef struct row_sums {
  __m512 products[2];
  __m256 terms;
} row_sums;

VINL void add_halves(const group *w, const x_group *x, row_sums *acc) {
  const __m512i lanes = _mm512_set_epi32(6, 6, 6, 6, 4, 4, 4, 4, 2, 2, 2, 2, 0, 0, 0, 0), one = _mm512_set1_epi32(1);
  const __m512 scales = _mm512_castps256_ps512(_mm256_mul_ps(w->terms, _mm256_loadu_ps(x->terms)));
  CPUK_UNROLL
  for (int h = 0; h < 2; h++) {
    const __m512i sums = _mm512_dpbusd_epi32(_mm512_setzero_si512(), w->q[h], _mm512_loadu_si512(x->q[h]));
    const __m512 scale = _mm512_permutexvar_ps(h ? _mm512_add_epi32(lanes, one) : lanes, scales);
    acc->products[h] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(sums), scale, acc->products[h]);
  }
  acc->terms = _mm256_fmadd_ps(w->offsets, _mm256_loadu_ps(x->sums), acc->terms);
}

VINL void add_group(const read_kind kind, const group *w, const x_group *x, row_sums *acc) {
  if (reads[kind].halves) {
    add_halves(w, x, acc);
    return;
  }
  const __m512i scales = _mm512_set_epi32(6, 6, 6, 6, 4, 4, 4, 4, 2, 2, 2, 2, 0, 0, 0, 0);
  const __m256 terms = _mm256_mul_ps(w->terms, _mm256_loadu_ps(x->terms));
  __m512i sums = reads[kind].negative ? _mm512_loadu_si512(x->bias) : _mm512_setzero_si512();
  sums = _mm512_dpbusd_epi32(sums, w->q[0], _mm512_loadu_si512(x->q[0]));
  sums = _mm512_dpbusd_epi32(sums, w->q[1], _mm512_loadu_si512(x->q[1]));
  if (!reads[kind].negative) acc->terms = _mm256_add_ps(acc->terms, terms);
  const __m512 scale = _mm512_permutexvar_ps(scales, _mm512_castps256_ps512(terms));
  acc->products[0] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(sums), scale, acc->products[0]);
}

VINL float sum_of_row(const read_kind kind, const row_sums *acc) {
  const __m512 terms = _mm512_castps256_ps512(acc->terms); /* lanes beyond are not read */
  __m512 all = acc->products[0];
  if (reads[kind].halves) {
    all = _mm512_add_ps(all, acc->products[1]);
    all = _mm512_mask_add_ps(all, 0xff, all, terms);
  } else if (!reads[kind].negative) all = _mm512_mask_add_ps(all, 0xaa, all, terms);
  return _mm512_reduce_add_ps(all);
}

/* n runs of a row, n <= GROUP. */
VINL void add_runs(const read_kind kind, const unsigned char *w, int64_t first, const int part, const int n,
                   const x_group *x, row_sums *acc) {
  group g;
  read_group(kind, w, first, part, n, &g);
  add_group(kind, &g, x, acc);
}

VINL float one_row(const read_kind kind, const block_product *p, const unsigned char *w, const x_group *x) {
  const int64_t runs = runs_of(p);
  row_sums acc = {{_mm512_setzero_ps(), _mm512_setzero_ps()}, _mm256_setzero_ps()};
  int64_t first = 0;
  for (; first + 2 * GROUP <= runs; first += 2 * GROUP, x += 2) {
    add_runs(kind, w, first, 0, GROUP, x, &acc);
    add_runs(kind, w, first + GROUP, 1, GROUP, x + 1, &acc);
  }
  if (reads[kind].elements > BLOCK_RUN) return sum_of_row(kind, &acc); /* whole blocks */
  if (first + GROUP <= runs) add_runs(kind, w, first, 0, GROUP, x++, &acc), first += GROUP;
  switch (runs - first) { /* each number's masks are constants */
  case 1: add_runs(kind, w, first, 0, 1, x, &acc); break;
  case 2: add_runs(kind, w, first, 0, 2, x, &acc); break;
  case 3: add_runs(kind, w, first, 0, 3, x, &acc); break;
  default: break;
  }
  return sum_of_row(kind, &acc);
}

/* One row at a time: processors fetch one stream ahead better than two that take turns. */
VINL void row_by_row(const read_kind kind, const block_product *p) {
  const size_t bytes = block_row_bytes(p);
  for (int64_t r = 0; r < p->rows; r++)
    for (int64_t i = 0; i < p->n; i++)
      p->y[i * p->ldy + r] = one_row(kind, p, p->w + (size_t)r * bytes, (const x_group *)p->q + i * groups_of(p->k));
}

/* ---- sixteen rows side by side ----------------------------------------------------------------------------------- */

/* A part of k of sixteen rows: of each run a vector of four bytes of each row for each step, and scales and offsets of
 * both halves by row. */
typedef struct w_panel {
  uint8_t q[MOST_RUNS][STEPS][64];
  float scale[MOST_RUNS][2][ROWS], offset[MOST_RUNS][2][ROWS];
} w_panel;

/* Sixteen rows of sixteen words, the other way round. */
static __attribute__((noinline)) void transpose(const __m512i *x, __m512i *y) {
  __m512i a[16], b[16];
  CPUK_UNROLL
  for (int i = 0; i < 16; i += 2) {
    a[i] = _mm512_unpacklo_epi32(x[i], x[i + 1]);
    a[i + 1] = _mm512_unpackhi_epi32(x[i], x[i + 1]);
  }
  CPUK_UNROLL
  for (int i = 0; i < 16; i += 4)
    for (int h = 0; h < 2; h++) {
      b[i + 2 * h] = _mm512_unpacklo_epi64(a[i + h], a[i + 2 + h]);
      b[i + 2 * h + 1] = _mm512_unpackhi_epi64(a[i + h], a[i + 2 + h]);
    }
  CPUK_UNROLL
  for (int i = 0; i < 4; i++) { /* words i, i + 4, i + 8, i + 12 of rows: lanes of 128 bits of b[i], b[4 + i], .. */
    const __m512i low = _mm512_shuffle_i32x4(b[i], b[4 + i], 0x88), high = _mm512_shuffle_i32x4(b[i], b[4 + i], 0xdd);
    const __m512i low2 = _mm512_shuffle_i32x4(b[8 + i], b[12 + i], 0x88),
                  high2 = _mm512_shuffle_i32x4(b[8 + i], b[12 + i], 0xdd);
    y[i] = _mm512_shuffle_i32x4(low, low2, 0x88);
    y[4 + i] = _mm512_shuffle_i32x4(high, high2, 0x88);
    y[8 + i] = _mm512_shuffle_i32x4(low, low2, 0xdd);
    y[12 + i] = _mm512_shuffle_i32x4(high, high2, 0xdd);
  }
}

/* Eight numbers of each row, to eight vectors by row. */
static void transpose_terms(const __m256 *rows, __m512i *y) {
  __m512i x[ROWS];
  for (int r = 0; r < ROWS; r++) x[r] = _mm512_castps_si512(_mm512_castps256_ps512(rows[r]));
  transpose(x, y);
}

VINL void unpack_terms(const read_kind kind, const group *g, int n, int64_t at, w_panel *to) {
  const __m512 shift = _mm512_set1_ps((float)reads[kind].shift);
  const bool halves = reads[kind].halves;
  __m256 rows[ROWS];
  __m512i y[2][ROWS];
  for (int r = 0; r < ROWS; r++) rows[r] = g[r].terms;
  transpose_terms(rows, y[0]);
  if (halves) {
    for (int r = 0; r < ROWS; r++) rows[r] = g[r].offsets;
    transpose_terms(rows, y[1]);
  }
  for (int i = 0; i < n; i++)
    for (int h = 0; h < 1 + halves; h++) {
      const __m512i offset = halves ? y[1][2 * i + h] : y[0][2 * i + 1];
      _mm512_storeu_si512(to->scale[at + i][h], y[0][2 * i + h]);
      _mm512_storeu_ps(to->offset[at + i][h], _mm512_mul_ps(_mm512_castsi512_ps(offset), shift));
    }
}

/* n runs from `first` on of as many rows as there are from `row` on, to runs `at`.. of the panel. */
VINL void unpack_group(const read_kind kind, const block_product *p, int64_t row, int64_t first, int n, int64_t at,
                       w_panel *to) {
  const int part = (int)(first / GROUP % 2);
  const size_t bytes = block_row_bytes(p);
  group g[ROWS];
  memset(g, 0, sizeof g);
  for (int r = 0; r < ROWS && r < p->rows - row; r++)
    read_group(kind, p->w + (size_t)(row + r) * bytes, first, part, n, &g[r]);
  for (int h = 0; h < 2; h++) {
    __m512i x[ROWS], y[ROWS];
    for (int r = 0; r < ROWS; r++) x[r] = g[r].q[h];
    transpose(x, y);
    for (int i = 0; i < 4 * n; i++) _mm512_storeu_si512(to->q[at + i / 4][4 * h + i % 4], y[i]);
  }
  unpack_terms(kind, g, n, at, to);
}

/* What there is beside products of unsigned integers and a scale. */
typedef enum sum_kind { SUM_OFFSETS, SUM_BIAS, SUM_HALVES } sum_kind;

/* One run of the panel by n rows of x. */
VINL void add_run(const sum_kind kind, const w_panel *w, int64_t run, const x_panel *x, const int n, __m512 *acc) {
  const int halves = kind == SUM_HALVES ? 2 : 1, steps = STEPS / halves;
  CPUK_UNROLL
  for (int h = 0; h < halves; h++) {
    __m512i s[PANEL];
    const __m512 scale = _mm512_loadu_ps(w->scale[run][h]), offset = _mm512_loadu_ps(w->offset[run][h]);
    CPUK_UNROLL
    for (int i = 0; i < n; i++) s[i] = kind == SUM_BIAS ? _mm512_set1_epi32(x->bias[i]) : _mm512_setzero_si512();
    CPUK_UNROLL
    for (int j = 0; j < steps; j++) {
      const __m512i q = _mm512_loadu_si512(w->q[run][steps * h + j]);
      CPUK_UNROLL
      for (int i = 0; i < n; i++) {
        int32_t word;
        memcpy(&word, x->q[steps * h + j][i], sizeof word);
        s[i] = _mm512_dpbusd_epi32(s[i], q, _mm512_set1_epi32(word));
      }
    }
    CPUK_UNROLL
    for (int i = 0; i < n; i++) {
      acc[i] = _mm512_fmadd_ps(_mm512_mul_ps(_mm512_cvtepi32_ps(s[i]), scale), _mm512_set1_ps(x->scale[i]), acc[i]);
      if (kind != SUM_BIAS)
        acc[i] = _mm512_fmadd_ps(offset, _mm512_set1_ps(x->sum[halves == 2 ? h : 2][i]), acc[i]);
    }
  }
}

/* `runs` runs of the panel by the rows of x from x on, of which `have` exist, to y on; added to it where this isn't the
 * first part of k. */
typedef struct meeting {
  const block_product *p;
  const w_panel *w;
  const x_panel *x;
  int64_t runs, have;
  bool add;
  __mmask16 rows; /* that exist of the panel's */
  float *y;
} meeting;

VINL void columns(const sum_kind kind, const int n, const meeting *m) {
  __m512 acc[PANEL];
  CPUK_UNROLL
  for (int i = 0; i < n; i++)
    acc[i] = m->add && i < m->have ? _mm512_maskz_loadu_ps(m->rows, m->y + i * m->p->ldy) : _mm512_setzero_ps();
  for (int64_t r = 0; r < m->runs; r++) add_run(kind, m->w, r, m->x + r, n, acc);
  CPUK_UNROLL
  for (int i = 0; i < n; i++)
    if (i < m->have) _mm512_mask_storeu_ps(m->y + i * m->p->ldy, m->rows, acc[i]);
}

#define OF_SUMS(name, kind)                                                       \
  static void meet_##name(const meeting *m) {                                     \
    if (m->have > PANEL * 2 / 3) columns(kind, PANEL, m);                         \
    else if (m->have > PANEL / 3) columns(kind, PANEL * 2 / 3, m);                \
    else columns(kind, PANEL / 3, m);                                             \
  }
OF_SUMS(offsets, SUM_OFFSETS)
OF_SUMS(bias, SUM_BIAS)
OF_SUMS(halves, SUM_HALVES)

/* ---- by format --------------------------------------------------------------------------------------------------- */

typedef struct kind_row {
  void (*row_by_row)(const block_product *p);
  void (*unpack)(const block_product *p, int64_t row, int64_t first, int64_t runs, w_panel *to);
  void (*meet)(const meeting *m);
} kind_row;

#define OF_KIND(CODE, name, ...)                                                                                  \
  static void rows_##name(const block_product *p) { row_by_row(READ_##CODE, p); }                                 \
  static void unpack_##name(const block_product *p, int64_t row, int64_t first, int64_t runs, w_panel *to) {      \
    int64_t at = 0;                                                                                               \
    for (; at + GROUP <= runs; at += GROUP) unpack_group(READ_##CODE, p, row, first + at, GROUP, at, to);         \
    if (at < runs) unpack_group(READ_##CODE, p, row, first + at, (int)(runs - at), at, to);                       \
  }
BLOCK_LAYOUTS(OF_KIND)

#define ROW(CODE, name, elements, bytes, shift, at_fifth, at_q, has_offset, negative, halves) \
  {rows_##name, unpack_##name, (halves) ? meet_halves : (negative) ? meet_bias : meet_offsets},
static const kind_row kinds[] = {BLOCK_LAYOUTS(ROW)};
#undef ROW

static void sixteen_rows(const kind_row *kind, const block_product *p, int64_t row) {
  w_panel w;
  const int64_t all = runs_of(p);
  meeting m = {.p = p, .w = &w, .rows = avx512_first(p->rows - row < ROWS ? (size_t)(p->rows - row) : ROWS)};
  for (int64_t part = 0; part < all; part += MOST_RUNS) {
    m.runs = all - part < MOST_RUNS ? all - part : MOST_RUNS;
    m.add = part > 0;
    kind->unpack(p, row, part, m.runs, &w);
    for (int64_t i = 0; i < p->n; i += PANEL) {
      m.x = (const x_panel *)p->q + i / PANEL * all + part;
      m.y = p->y + i * p->ldy + row;
      m.have = p->n - i;
      kind->meet(&m);
    }
  }
}

static void multiply(const block_product *p) {
  const kind_row *kind = &kinds[read_kind_of(p->format)];
  if (!p->q) cpuk_block_floats_avx2(p);
  else if (p->n < FEW) kind->row_by_row(p);
  else
    for (int64_t row = 0; row < p->rows; row += ROWS) sixteen_rows(kind, p, row);
}

const block_kernels cpuk_blocks_avx512vnni = {.x_step = PANEL, .w_step = ROWS, .rounded_bytes = rounded_bytes,
                                              .round = round_rows, .multiply = multiply};
#endif
