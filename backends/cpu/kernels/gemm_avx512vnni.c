/* The integer gemm kinds on AVX-512 VNNI: vpdpbusd multiplies u8 by s8 and adds groups of four to 32 bits, without
 * saturation. s8 x s8: A is packed with 128 added, and each B panel ends with -128 times its column sums, which start
 * the accumulators. */
#if defined(__x86_64__)
#include "internal.h"

#define CPUK_SUFFIX avx512
#include "vec_avx512.h"

#include "body_gemm_pack.h"

#include "body_gemm_groups.h"

enum { NR = 32, MR = 12 };

static size_t groups_of(size_t k) { return (k + 3) / 4; }
static size_t bytes_a_panel_bytes(size_t k) { return MR * gemm_row_bytes(groups_of(k) * 4); }
static size_t s8s8_b_panel_bytes(size_t k) { return groups_of(k) * NR * 4 + NR * 4; }
static size_t u8s8_b_panel_bytes(size_t k) { return groups_of(k) * NR * 4; }

static void u8s8_pack_a(const cpuk_pack_args *p) {
  pack_a_rows(&(cpuk_pack_args){p->dst, p->src, CPUK_U8, p->rs, p->cs, p->rows, p->cols}, CPUK_U8, 4);
}
static void s8s8_pack_a(const cpuk_pack_args *p) {
  size_t row = gemm_row_bytes(groups_of(p->cols) * 4), pad = groups_of(p->cols) * 4 - p->cols;
  for (size_t i = 0; i < p->rows; i++) {
    uint8_t *d = (uint8_t *)p->dst + i * row;
    const uint8_t *s = (const uint8_t *)p->src + (ptrdiff_t)i * p->rs;
    if (p->cs == 1)
      for (size_t q = 0; q < p->cols; q += 64) {
        __mmask64 m = p->cols - q >= 64 ? ~0ull : (1ull << (p->cols - q)) - 1;
        _mm512_mask_storeu_epi8(d + q, m, _mm512_xor_si512(_mm512_maskz_loadu_epi8(m, s + q), _mm512_set1_epi8(-128)));
      }
    else
      for (size_t q = 0; q < p->cols; q++) d[q] = s[(ptrdiff_t)q * p->cs] ^ 0x80;
    memset(d + p->cols, 0, pad);
  }
}
static void u8s8_pack_b(const cpuk_pack_args *p) {
  pack_b_groups(p, 1, NR, groups_of(p->rows) * 4, u8s8_b_panel_bytes(p->rows));
}
static void s8s8_pack_b(const cpuk_pack_args *p) {
  size_t panel = s8s8_b_panel_bytes(p->rows), groups = groups_of(p->rows);
  pack_b_groups(p, 1, NR, groups * 4, panel);
  for (size_t j = 0; j < p->cols; j += NR) {
    char *d = (char *)p->dst + j / NR * panel;
    __m512i s0 = _mm512_setzero_si512(), s1 = s0, ones = _mm512_set1_epi8(1);
    for (size_t q = 0; q < groups; q++) {
      s0 = _mm512_dpbusd_epi32(s0, ones, _mm512_loadu_si512(d + q * 128));
      s1 = _mm512_dpbusd_epi32(s1, ones, _mm512_loadu_si512(d + q * 128 + 64));
    }
    _mm512_storeu_si512(d + groups * 128, _mm512_sub_epi32(_mm512_setzero_si512(), _mm512_slli_epi32(s0, 7)));
    _mm512_storeu_si512(d + groups * 128 + 64, _mm512_sub_epi32(_mm512_setzero_si512(), _mm512_slli_epi32(s1, 7)));
  }
}

VINL vi vnni_bcast(const char *p) {
  int32_t g;
  memcpy(&g, p, 4);
  return vi_set1(g);
}
VINL vi vnni_load_n(const int32_t *p, size_t n) { return (vi)_mm512_maskz_loadu_epi32(avx512_first(n), p); }
VINL void vnni_store_n(int32_t *p, vi v, size_t n) { _mm512_mask_storeu_epi32(p, avx512_first(n), (__m512i)v); }

#define G_FN(name) s8s8_##name
#define G_COMP
#include "gemm_avx512vnni_tile.h"

#define G_FN(name) u8s8_##name
#include "gemm_avx512vnni_tile.h"

const cpuk_gemm cpuk_gemm_s8s8_avx512vnni = {
    .name = "s8s8 avx512 vnni", .pack_type = CPUK_I8, .acc_type = CPUK_I32, .pack_types = 1u << CPUK_I8, .a_inplace = -1, .mr = MR,
    .nr = NR, .kr = 4, .b_chunk = GEMM_CHUNK(4), .a_panel_bytes = bytes_a_panel_bytes, .b_panel_bytes = s8s8_b_panel_bytes, .pack_a = s8s8_pack_a,
    .pack_b = s8s8_pack_b, .block = s8s8_block, .skinny = cpuk_skinny_s8s8_avx512,
};
const cpuk_gemm cpuk_gemm_u8s8_avx512vnni = {
    .name = "u8s8 avx512 vnni", .pack_type = CPUK_I8, .acc_type = CPUK_I32, .pack_types = 1u << CPUK_I8 | 1u << CPUK_U8,
    .a_inplace = CPUK_U8, .mr = MR, .nr = NR, .kr = 4, .b_chunk = GEMM_CHUNK(4), .a_panel_bytes = bytes_a_panel_bytes, .b_panel_bytes = u8s8_b_panel_bytes,
    .pack_a = u8s8_pack_a, .pack_b = u8s8_pack_b, .block = u8s8_block, .skinny = cpuk_skinny_u8s8_avx512,
};
#endif
