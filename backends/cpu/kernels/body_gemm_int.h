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

VINL int16_t int_widen(const char *p, const cpuk_dtype t) {
  int16_t wide;
  if (t != CPUK_I16) return t == CPUK_U8 ? *(const uint8_t *)p : *(const int8_t *)p;
  memcpy(&wide, p, sizeof wide);
  return wide;
}

VINL ptrdiff_t int_bytes(const cpuk_dtype t) { return t == CPUK_I16 ? 2 : 1; }

/* With a constant type, and a constant step of one element where elements lie side by side, these are vector code. */
VINL void int_pack_a_of(const cpuk_pack_args *p, const cpuk_dtype t, const ptrdiff_t cs) {
  const ptrdiff_t e = int_bytes(t);
  const size_t row = gemm_row_bytes((p->cols + 1) / 2 * 4);
  for (size_t i = 0; i < p->rows; i++) {
    int16_t *restrict d = (void *)((char *)p->dst + i * row);
    const char *s = (const char *)p->src + (ptrdiff_t)i * p->rs * e;
    for (size_t q = 0; q < p->cols; q++) d[q] = int_widen(s + (ptrdiff_t)q * cs * e, t);
    if (p->cols % 2) d[p->cols] = 0;
  }
}
/* Two rows of a panel, a k-group: w columns. */
VINL void int_pair(int16_t *restrict d, const char *s, const char *next, const size_t w, const cpuk_dtype t,
                   const ptrdiff_t step) {
  for (size_t v = 0; v < w; v++) {
    d[2 * v] = int_widen(s + (ptrdiff_t)v * step, t);
    d[2 * v + 1] = int_widen(next + (ptrdiff_t)v * step, t);
  }
}
VINL void int_pack_b_of(const cpuk_pack_args *p, const cpuk_dtype t, const ptrdiff_t cs) {
  const ptrdiff_t e = int_bytes(t), rs = p->rs * e;
  const size_t panel = int_b_panel_bytes(p->rows);
  for (size_t j = 0; j < p->cols; j += INT_NR) {
    const size_t w = p->cols - j < INT_NR ? p->cols - j : INT_NR;
    int16_t *d = (void *)((char *)p->dst + j / INT_NR * panel);
    const char *s = (const char *)p->src + (ptrdiff_t)j * cs * e;
    if (w < INT_NR || p->rows % 2) memset(d, 0, panel);
    for (size_t q = 0; q + 1 < p->rows; q += 2, s += 2 * rs, d += 2 * INT_NR)
      if (w == INT_NR) int_pair(d, s, s + rs, INT_NR, t, cs * e);
      else int_pair(d, s, s + rs, w, t, cs * e);
    if (p->rows % 2)
      for (size_t v = 0; v < w; v++) d[2 * v] = int_widen(s + (ptrdiff_t)v * cs * e, t);
  }
}
#define INT_PACK(operand, t) \
  case t: p->cs == 1 ? int_pack_##operand##_of(p, t, 1) : int_pack_##operand##_of(p, t, p->cs); break;
#define INT_PACKS(operand)                                  \
  static void int_pack_##operand(const cpuk_pack_args *p) { \
    switch (p->type) {                                      \
      INT_PACK(operand, CPUK_U8)                            \
      INT_PACK(operand, CPUK_I16)                           \
      default: INT_PACK(operand, CPUK_I8)                   \
    }                                                       \
  }
INT_PACKS(a)
INT_PACKS(b)
#undef INT_PACKS
#undef INT_PACK

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
