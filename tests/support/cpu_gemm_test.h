/* Runs one gemm kind's kernels the way the interpreter does and compares them with a plain product, in f64 or in
 * wrapping 64-bit integers. */
#ifndef TESTS_SUPPORT_CPU_GEMM_TEST_H
#define TESTS_SUPPORT_CPU_GEMM_TEST_H

#include "tests/support/cpu_kernels_test.h"

typedef struct gemm_case {
  cpuk_gemm_kind kind;
  cpuk_dtype a_type, b_type;
  size_t m, n, k, bm, bn, bk; /* block sizes; 0 = everything at once */
  bool a_trans, b_trans, in_place, accumulate, b_plain;
} gemm_case;

typedef struct gemm_data {
  void *a, *b;
  ptrdiff_t a_rs, a_cs, b_rs, b_cs;
  double *want, *bound; /* the product; the sum of |a b| plus |c| */
  double *start;        /* C before */
  int64_t *whole;       /* the product of integers, modulo 2^64 */
} gemm_data;

static inline bool gemm_is_integer(cpuk_dtype t) {
  return t == CPUK_I8 || t == CPUK_U8 || t == CPUK_I16 || t == CPUK_I32 || t == CPUK_I64;
}
static inline int64_t gemm_integer(cpuk_dtype t, const void *p, size_t i) {
  if (t == CPUK_I64) return ((const int64_t *)p)[i];
  return gemm_is_integer(t) ? (int64_t)test_read(t, p, i) : 0;
}

/* An operand read once, row after row. */
static inline double *gemm_values(cpuk_dtype t, const void *p, ptrdiff_t rs, ptrdiff_t cs, size_t rows, size_t cols) {
  double *v = test_alloc(rows * cols * 8);
  for (size_t i = 0; i < rows; i++)
    for (size_t j = 0; j < cols; j++)
      v[i * cols + j] = test_read(t, p, (size_t)((ptrdiff_t)i * rs + (ptrdiff_t)j * cs));
  return v;
}
static inline uint64_t *gemm_integers(cpuk_dtype t, const void *p, ptrdiff_t rs, ptrdiff_t cs, size_t rows,
                                      size_t cols) {
  uint64_t *v = test_alloc(rows * cols * 8);
  for (size_t i = 0; i < rows; i++)
    for (size_t j = 0; j < cols; j++)
      v[i * cols + j] = (uint64_t)gemm_integer(t, p, (size_t)((ptrdiff_t)i * rs + (ptrdiff_t)j * cs));
  return v;
}

/* What the kernels are held against; a row of sums at once, each by its terms in order. */
static inline void gemm_sums(const gemm_case *t, gemm_data *d) {
  const size_t n = t->n, k = t->k;
  double *a = gemm_values(t->a_type, d->a, d->a_rs, d->a_cs, t->m, k),
         *b = gemm_values(t->b_type, d->b, d->b_rs, d->b_cs, k, n);
  for (size_t i = 0; i < t->m; i++) {
    double *s = d->want + i * n, *e = d->bound + i * n;
    for (size_t j = 0; j < n; j++) s[j] = e[j] = 0;
    for (size_t q = 0; q < k; q++)
      for (size_t j = 0; j < n; j++) {
        const double x = a[i * k + q] * b[q * n + j];
        s[j] += x, e[j] += fabs(x);
      }
    for (size_t j = 0; j < n; j++) s[j] += d->start[i * n + j], e[j] += fabs(d->start[i * n + j]);
  }
  free(a), free(b);
}
static inline void gemm_integer_sums(const gemm_case *t, gemm_data *d) {
  const size_t n = t->n, k = t->k;
  uint64_t *a = gemm_integers(t->a_type, d->a, d->a_rs, d->a_cs, t->m, k),
           *b = gemm_integers(t->b_type, d->b, d->b_rs, d->b_cs, k, n), *w = (uint64_t *)d->whole;
  for (size_t i = 0; i < t->m * n; i++) w[i] = (uint64_t)(int64_t)d->start[i];
  for (size_t i = 0; i < t->m; i++)
    for (size_t q = 0; q < k; q++)
      for (size_t j = 0; j < n; j++) w[i * n + j] += a[i * k + q] * b[q * n + j];
  free(a), free(b);
}

static inline gemm_data gemm_data_make(const gemm_case *t) {
  size_t m = t->m, n = t->n, k = t->k, pad = 3;
  gemm_data d = {0};
  d.a_rs = t->a_trans ? 1 : (ptrdiff_t)(k + pad), d.a_cs = t->a_trans ? (ptrdiff_t)(m + pad) : 1;
  d.b_rs = t->b_trans ? 1 : (ptrdiff_t)(n + pad), d.b_cs = t->b_trans ? (ptrdiff_t)(k + pad) : 1;
  size_t na = (m + pad) * (k + pad), nb = (k + pad) * (n + pad);
  d.a = test_alloc(na * 8), d.b = test_alloc(nb * 8);
  test_fill(t->a_type, d.a, na);
  test_fill(t->b_type, d.b, nb);
  d.whole = test_alloc(m * n * 8);
  d.want = test_alloc(m * n * 8), d.bound = test_alloc(m * n * 8), d.start = test_alloc(m * n * 8);
  for (size_t i = 0; i < m * n; i++) d.start[i] = t->accumulate ? (double)((int)(test_u32() % 64) - 32) : 0;
  gemm_sums(t, &d);
  if (gemm_is_integer(t->a_type) && gemm_is_integer(t->b_type)) gemm_integer_sums(t, &d);
  return d;
}
static inline void gemm_data_free(gemm_data *d) {
  free(d->a), free(d->b), free(d->want), free(d->bound), free(d->start), free(d->whole);
}

/* gamma_k of an f32 or f64 chain (Higham 2002, 3.1), one rounding more for C; integers are exact. */
static inline double gemm_tolerance(const gemm_case *t, cpuk_dtype acc) {
  double u = acc == CPUK_F32 ? 0x1p-24 : acc == CPUK_F64 ? 0x1p-53 : 0;
  return ((double)t->k + 2) * u * 1.01;
}

static inline void gemm_compare(const char *what, const cpuk_gemm *g, const gemm_case *t, const gemm_data *d,
                                const void *c, size_t ldc) {
  int bad = 0;
  size_t at = 0;
  for (size_t i = 0; i < t->m; i++)
    for (size_t j = 0; j < t->n; j++) {
      double err = fabs(test_read(g->acc_type, c, i * ldc + j) - d->want[i * t->n + j]);
      if (gemm_is_integer(g->acc_type)) {
        int64_t whole = d->whole[i * t->n + j];
        err = gemm_integer(g->acc_type, c, i * ldc + j) == (g->acc_type == CPUK_I32 ? (int32_t)(uint32_t)whole : whole)
                  ? 0
                  : INFINITY;
      }
      if (!(err <= gemm_tolerance(t, g->acc_type) * d->bound[i * t->n + j]) && !bad++) at = i * t->n + j;
    }
  CHECK(bad == 0, "%s %s %zux%zux%zu at%d bt%d acc%d: %d wrong, first at %zu,%zu: %g for %g", what, g->name, t->m, t->n,
        t->k, t->a_trans, t->b_trans, t->accumulate, bad, at / t->n, at % t->n,
        test_read(g->acc_type, c, at / t->n * ldc + at % t->n), d->want[at]);
}

static inline void gemm_write(cpuk_dtype acc, void *c, size_t i, double v) {
  if (acc == CPUK_F32) ((float *)c)[i] = (float)v;
  else if (acc == CPUK_F64) ((double *)c)[i] = v;
  else if (acc == CPUK_I64) ((int64_t *)c)[i] = (int64_t)v;
  else ((int32_t *)c)[i] = (int32_t)v;
}

/* C with a margin that must stay as it was. */
static inline char *gemm_c(const cpuk_gemm *g, const gemm_case *t, const gemm_data *d, size_t ldc) {
  size_t e = cpuk_dtype_bytes(g->acc_type);
  char *c = test_alloc(t->m * ldc * e);
  memset(c, 0x5a, t->m * ldc * e);
  if (t->accumulate)
    for (size_t i = 0; i < t->m; i++)
      for (size_t j = 0; j < t->n; j++) gemm_write(g->acc_type, c, i * ldc + j, d->start[i * t->n + j]);
  return c;
}
static inline void gemm_check_margin(const cpuk_gemm *g, const gemm_case *t, const char *c, size_t ldc) {
  size_t e = cpuk_dtype_bytes(g->acc_type);
  for (size_t i = 0; i < t->m; i++)
    for (size_t x = t->n * e; x < ldc * e; x++)
      if (c[i * ldc * e + x] != 0x5a) {
        CHECK(false, "%s %zux%zux%zu wrote past row %zu", g->name, t->m, t->n, t->k, i);
        return;
      }
}

/* The blocked product; returns C (ldc = n + 5) for the caller to compare bits with and free. */
static inline char *gemm_run_blocks(const cpuk_gemm *g, const gemm_case *t, const gemm_data *d) {
  size_t ldc = t->n + 5, e = cpuk_dtype_bytes(g->acc_type), ae = cpuk_dtype_bytes(t->a_type),
         be = cpuk_dtype_bytes(t->b_type);
  size_t bm = t->bm ? t->bm : t->m, bn = t->bn ? t->bn : t->n, bk = t->bk ? t->bk : t->k;
  char *c = gemm_c(g, t, d, ldc), *comp = test_alloc(t->m * ldc * 8);
  memset(comp, 0, t->m * ldc * 8);
  size_t pb_bytes = t->b_plain ? g->b_chunk * g->b_panel_bytes(bk) : cpuk_packed_b_bytes(g, bk, t->n);
  char *pb = test_alloc(pb_bytes), *pa = test_alloc(cpuk_packed_a_bytes(g, bm, bk));
  for (size_t k0 = 0; k0 < t->k || k0 == 0; k0 += bk) {
    size_t kw = t->k - k0 < bk ? t->k - k0 : bk;
    /* every panel apart, in backward order: they're independent */
    for (size_t j = (t->n + g->nr - 1) / g->nr; !t->b_plain && j-- > 0;) {
      size_t w = t->n - j * g->nr < g->nr ? t->n - j * g->nr : g->nr;
      const char *src =
          (const char *)d->b + ((ptrdiff_t)k0 * d->b_rs + (ptrdiff_t)(j * g->nr) * d->b_cs) * (ptrdiff_t)be;
      g->pack_b(&(cpuk_pack_args){pb + j * g->b_panel_bytes(kw), src, t->b_type, d->b_rs, d->b_cs, kw, w});
    }
    for (size_t i = 0; i < t->m; i += bm) {
      size_t h = t->m - i < bm ? t->m - i : bm;
      const char *src = (const char *)d->a + ((ptrdiff_t)i * d->a_rs + (ptrdiff_t)k0 * d->a_cs) * (ptrdiff_t)ae;
      if (!t->in_place) g->pack_a(&(cpuk_pack_args){pa, src, t->a_type, d->a_rs, d->a_cs, h, kw});
      for (size_t j = 0; j < t->n; j += bn) {
        size_t w = t->n - j < bn ? t->n - j : bn;
        const char *bsrc = (const char *)d->b + ((ptrdiff_t)k0 * d->b_rs + (ptrdiff_t)j * d->b_cs) * (ptrdiff_t)be;
        cpuk_pack_args plain = {pb, bsrc, t->b_type, d->b_rs, d->b_cs, kw, w};
        g->block(&(cpuk_block_args){.c = c + (i * ldc + j) * e, .ldc = (ptrdiff_t)ldc, .comp = comp + (i * ldc + j) * 8,
                                    .a = t->in_place ? src : pa, .lda = t->in_place ? d->a_rs : 0,
                                    .b = t->b_plain ? NULL : pb + j / g->nr * g->b_panel_bytes(kw), .b_plain = t->b_plain ? &plain : NULL,
                                    .m = h, .n = w, .k = kw, .accumulate = t->accumulate || k0 > 0});
      }
    }
    if (t->k == 0) break;
  }
  if (t->kind == CPUK_GEMM_F64_KAHAN)
    for (size_t i = 0; i < t->m * ldc; i++)
      if (i % ldc < t->n) ((double *)(void *)c)[i] += ((double *)(void *)comp)[i];
  gemm_compare("block", g, t, d, c, ldc);
  gemm_check_margin(g, t, c, ldc);
  free(pa), free(pb), free(comp);
  return c;
}

/* Columns from, from + 1, .. of the product by the skinny kernel, as a call of their own. */
static inline void gemm_skinny_columns(const cpuk_gemm *g, const gemm_case *t, const gemm_data *d, char *c, size_t ldc,
                                       size_t from, size_t n) {
  const char *b = (const char *)d->b + (ptrdiff_t)from * d->b_cs * (ptrdiff_t)cpuk_dtype_bytes(t->b_type);
  g->skinny(&(cpuk_skinny_args){c + from * cpuk_dtype_bytes(g->acc_type), (ptrdiff_t)ldc, d->a, d->a_rs, b, d->b_rs,
                                d->b_cs, t->m, n, t->k, t->accumulate});
}

/* Also in pieces of 1, 2, 3 .. columns, which kernels group otherwise, to the same bits. */
static inline void gemm_run_skinny(const cpuk_gemm *g, const gemm_case *t, const gemm_data *d) {
  size_t ldc = t->n + 5;
  char *c = gemm_c(g, t, d, ldc), *cut = gemm_c(g, t, d, ldc);
  gemm_skinny_columns(g, t, d, c, ldc, 0, t->n);
  gemm_compare("skinny", g, t, d, c, ldc);
  gemm_check_margin(g, t, c, ldc);
  for (size_t from = 0, n = 1; from < t->n; from += n++)
    gemm_skinny_columns(g, t, d, cut, ldc, from, t->n - from < n ? t->n - from : n);
  CHECK(memcmp(c, cut, t->m * ldc * cpuk_dtype_bytes(g->acc_type)) == 0, "%s %zux%zux%zu: bits depend on columns",
        g->name, t->m, t->n, t->k);
  free(c), free(cut);
}

#endif
