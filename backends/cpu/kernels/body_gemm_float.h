/* The float kinds of an instruction set: f32, f64, and what is packed into them (f16, bf16, mixed, f32 under Kahan).
 * Included after vec_<isa>.h and body_gemm_pack.h; GEMM_F32_MR/NV and GEMM_F64_MR/NV give the register tiles. */

#define FLOAT_TYPES (1u << CPUK_F32 | 1u << CPUK_F16 | 1u << CPUK_BF16 | 1u << CPUK_F8E4M3 | 1u << CPUK_F8E5M2)

#define F32_NR (GEMM_F32_NV * VF)
static size_t f32_a_panel_bytes(size_t k) { return GEMM_F32_MR * gemm_row_bytes(k * 4); }
static size_t f32_b_panel_bytes(size_t k) { return (k * F32_NR * 4 + 63) / 64 * 64; }
static void f32_pack_a(const cpuk_pack_args *p) { pack_a_rows(p, CPUK_F32, 1); }
static void f32_pack_b(const cpuk_pack_args *p) { pack_b_plain(p, CPUK_F32, F32_NR, f32_b_panel_bytes(p->rows)); }
#define G_FN(name) f32_##name
#define G_ELT float
#define G_PACKED float
#define G_ACC float
#define G_VEC vf
#define G_LANES VF
#define G_MR GEMM_F32_MR
#define G_NV GEMM_F32_NV
#define G_BCAST(p) v_set1(*(const float *)(const void *)(p))
#define G_LOADB(p) v_load(p)
#define G_MADD(acc, a, b) v_fma(a, b, acc)
#ifdef v_fma_at
#define G_MADD_AT(acc, p, b) v_fma_at((const float *)(const void *)(p), b, acc)
#endif
#define G_STEPS 2
#define G_FIRST
#define G_LOADC(p) v_load(p)
#define G_LOADC_N(p, n) v_load_n(p, n)
#define G_STOREC(p, v) v_store(p, v)
#define G_STOREC_N(p, v, n) v_store_n(p, v, n)
#define G_ZERO v_set1(0)
#include "body_gemm_tile.h"

#define F64_NR (GEMM_F64_NV * VD)
static size_t f64_a_panel_bytes(size_t k) { return GEMM_F64_MR * gemm_row_bytes(k * 8); }
static size_t f64_b_panel_bytes(size_t k) { return (k * F64_NR * 8 + 63) / 64 * 64; }
static void f64_pack_a(const cpuk_pack_args *p) { pack_a_rows(p, CPUK_F64, 1); }
static void f64_pack_b(const cpuk_pack_args *p) { pack_b_plain(p, CPUK_F64, F64_NR, f64_b_panel_bytes(p->rows)); }
#define G_FN(name) f64_##name
#define G_ELT double
#define G_PACKED double
#define G_ACC double
#define G_VEC vd
#define G_LANES VD
#define G_MR GEMM_F64_MR
#define G_NV GEMM_F64_NV
#define G_BCAST(p) vd_set1(*(const double *)(const void *)(p))
#define G_LOADB(p) vd_load(p)
#define G_MADD(acc, a, b) vd_fma(a, b, acc)
#define G_LOADC(p) vd_load(p)
#define G_LOADC_N(p, n) vd_load_n(p, n)
#define G_STOREC(p, v) vd_store(p, v)
#define G_STOREC_N(p, v, n) vd_store_n(p, v, n)
#define G_ZERO vd_set1(0)
#include "body_gemm_tile.h"

/* ---- f64 in twice the precision: Dot2 over the f64 panels, one row by two vectors at a time ---- */

#ifndef v_fma
VINL vl vd_above(vd x, double limit) { return (vl)(x > vd_set1(limit)) | (vl)(x < vd_set1(-limit)); }
#endif
VINL void two_prod(vd a, vd b, vd *p, vd *e) {
  *p = a * b;
#ifdef v_fma
  *e = vd_fma(a, b, -*p);
#else /* Dekker's split: a factor or product near the end of the range is taken 2^-64 times, or it would overflow */
  vd sa = vd_sel(vd_above(a, 0x1p990) | vd_above(*p, 0x1p1000), vd_set1(0x1p64), vd_set1(1));
  vd sb = vd_sel(vd_above(b, 0x1p990), vd_set1(0x1p64), vd_set1(1)), q = *p / sa / sb;
  a /= sa, b /= sb;
  vd ca = a * 134217729.0, cb = b * 134217729.0;
  vd ah = ca - (ca - a), bh = cb - (cb - b), al = a - ah, bl = b - bh;
  *e = (al * bl - (((q - ah * bh) - al * bh) - ah * bl)) * sa * sb;
#endif
}
static void dot2_row(const cpuk_block_args *p, size_t i, size_t j, const double *a, const double *b) {
  double *c = (double *)p->c + (ptrdiff_t)i * p->ldc, *x = (double *)p->comp + (ptrdiff_t)i * p->ldc;
  for (size_t v = 0; v < F64_NR && j + v < p->n; v += VD) {
    size_t w = p->n - j - v < VD ? p->n - j - v : VD;
    vd s = vd_set1(0), e = vd_set1(0);
    if (p->accumulate) s = vd_load_n(c + j + v, w), e = vd_load_n(x + j + v, w);
    for (size_t q = 0; q < p->k; q++) {
      vd h, l;
      two_prod(vd_set1(a[q]), vd_load(b + q * F64_NR + v), &h, &l);
      e += l;
      TWO_SUM_INTO(vd, s, e, h);
    }
    vd_store_n(c + j + v, s, w);
    vd_store_n(x + j + v, vd_sel((vl)(s - s == vd_set1(0)), e, vd_set1(0)), w); /* not finite: no compensation */
  }
}
static void dot2_panel(const cpuk_block_args *p, size_t j, const void *b) {
  ptrdiff_t lda = p->lda != 0 ? p->lda : (ptrdiff_t)(gemm_row_bytes(p->k * 8) / 8);
  for (size_t i = 0; i < p->m; i++) dot2_row(p, i, j, (const double *)p->a + (ptrdiff_t)i * lda, b);
}
static void dot2_block(const cpuk_block_args *p) {
  cpuk_pack_args one;
  for (size_t j = 0; j < p->n; j += F64_NR) {
    if (p->b_plain != NULL) f64_pack_b(gemm_chunk(p, j, p->n - j < F64_NR ? p->n - j : F64_NR, &one));
    dot2_panel(p, j, p->b_plain != NULL ? p->b_plain->dst : (const char *)p->b + j / F64_NR * f64_b_panel_bytes(p->k));
  }
}
