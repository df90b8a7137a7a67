/* The integer kinds for machines without a byte dot product, and s16 everywhere: both operands are widened to 16 bits
 * and pairs of k are multiplied and added to 32 bits (pmaddwd's arithmetic). That is exact for bytes of any sign, and
 * wraps for s16, where 2 * (-32768)^2 = 2^31 is the only pair of products that doesn't fit. Included after vec_<isa>.h
 * and body_gemm_pack.h. */

#ifndef vi_madd16
VINL vi vi_madd16(vi a, vi b) {
  return (vi)((vu)(((a << 16) >> 16) * ((b << 16) >> 16)) + (vu)((a >> 16) * (b >> 16)));
}
#endif

#define INT_NR (GEMM_F32_NV * VF)
static size_t int_a_panel_bytes(size_t k) { return GEMM_F32_MR * gemm_row_bytes((k + 1) / 2 * 4); }
static size_t int_b_panel_bytes(size_t k) { return ((k + 1) / 2 * INT_NR * 4 + 63) / 64 * 64; }

VINL int16_t int_widen(const char *p, cpuk_dtype t) {
  int16_t wide;
  if (t != CPUK_I16) return t == CPUK_U8 ? *(const uint8_t *)p : *(const int8_t *)p;
  memcpy(&wide, p, sizeof wide);
  return wide;
}

static void int_pack_a(const cpuk_pack_args *p) {
  size_t row = gemm_row_bytes((p->cols + 1) / 2 * 4);
  const ptrdiff_t e = (ptrdiff_t)cpuk_dtype_bytes(p->type);
  for (size_t i = 0; i < p->rows; i++) {
    int16_t *d = (void *)((char *)p->dst + i * row);
    const char *s = (const char *)p->src + (ptrdiff_t)i * p->rs * e;
    for (size_t q = 0; q < p->cols; q++) d[q] = int_widen(s + (ptrdiff_t)q * p->cs * e, p->type);
    if (p->cols % 2) d[p->cols] = 0;
  }
}
static void int_pack_b(const cpuk_pack_args *p) {
  size_t panel = int_b_panel_bytes(p->rows);
  const ptrdiff_t e = (ptrdiff_t)cpuk_dtype_bytes(p->type);
  for (size_t j = 0; j < p->cols; j += INT_NR) {
    size_t w = p->cols - j < INT_NR ? p->cols - j : INT_NR;
    int16_t *d = (void *)((char *)p->dst + j / INT_NR * panel);
    const char *s = (const char *)p->src + (ptrdiff_t)j * p->cs * e;
    memset(d, 0, panel);
    for (size_t q = 0; q < p->rows; q++)
      for (size_t v = 0; v < w; v++)
        d[(q / 2 * INT_NR + v) * 2 + q % 2] = int_widen(s + ((ptrdiff_t)q * p->rs + (ptrdiff_t)v * p->cs) * e, p->type);
  }
}

VINL vi int_group(const char *p) {
  int32_t g;
  memcpy(&g, p, 4);
  return vi_set1(g);
}
VINL vi vi_load_n(const int32_t *p, size_t n) { return (vi)v_load_n((const float *)(const void *)p, n); }
VINL void vi_store_n(int32_t *p, vi v, size_t n) { v_store_n((float *)(void *)p, (vf)v, n); }

#define G_FN(name) int_##name
#define G_ELT int32_t
#define G_PACKED int16_t
#define G_ACC int32_t
#define G_VEC vi
#define G_LANES VF
#define G_MR GEMM_F32_MR
#define G_NV GEMM_F32_NV
#define G_BCAST(p) int_group(p)
#define G_LOADB(p) vi_load(p)
#define G_MADD(acc, a, b) (vi)((vu)(acc) + (vu)vi_madd16(a, b))
#define G_LOADC(p) vi_load(p)
#define G_LOADC_N(p, n) vi_load_n(p, n)
#define G_STOREC(p, v) vi_store(p, v)
#define G_STOREC_N(p, v, n) vi_store_n(p, v, n)
#define G_ZERO vi_set1(0)
#include "body_gemm_tile.h"
