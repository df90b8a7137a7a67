/* bf16 x bf16 -> f32 on AVX-512 BF16. vdpbf16ps adds two products to each accumulator, the odd one first, each with one
 * rounding as an FMA does; it rounds to nearest even whatever the mode, and takes denormal inputs and results for zero
 * (Intel SDM). Where operands could make denormals (body_gemm_groups.h says when), the same two FMAs are done in f32:
 * the same bits, but for the denormals, which stay. Used where it's at full rate (select.c). */
#if defined(__x86_64__)
#include "internal.h"

#define CPUK_SUFFIX avx512
#include "vec_avx512.h"

#include "body_gemm_pack.h"

#include "body_gemm_groups.h"

enum { NR = 32, MR = 12 };
#include "body_gemm_small.h"

static size_t bf16_a_panel_bytes(size_t k) { return MR * gemm_row_bytes((k + 1) / 2 * 4); }
static size_t bf16_b_panel_bytes(size_t k) { return (k + 1) / 2 * NR * 4 + PANEL_END; }
static void bf16_pack_a(const cpuk_pack_args *p) { pack_a_rows(p, CPUK_BF16, 2); }
static void bf16_pack_b(const cpuk_pack_args *p) {
  pack_b_small(p, NR, (p->rows + 1) / 2 * 2, bf16_b_panel_bytes(p->rows));
}

VINL vi bf16_bcast(const char *p) {
  int32_t g;
  memcpy(&g, p, 4);
  return vi_set1(g);
}

/* A has small numbers. */
static bool small_is_needed(const cpuk_block_args *p, ptrdiff_t lda, size_t groups) {
  vi least = least_start();
  for (size_t i = 0; i < p->m; i++) least = least_in(least, (const char *)p->a + (ptrdiff_t)i * lda, groups * 2);
  return least_is_small(least);
}

#define G_FN(name) small_##name
#define G_ROWS_ONLY
#define G_ELT int32_t
#define G_PACKED int16_t
#define G_ACC float
#define G_VEC vf
#define G_BVEC vi
#define G_LANES VF
#define G_MR 12
#define G_NV 2
#define G_BCAST(p) bf16_bcast(p)
#define G_LOADB(p) vi_load(p)
#define G_MADD(acc, a, b) v_fma(bf16_even(a), bf16_even(b), v_fma(bf16_odd(a), bf16_odd(b), acc))
#define G_LOADC(p) v_load(p)
#define G_LOADC_N(p, n) v_load_n(p, n)
#define G_STOREC(p, v) v_store(p, v)
#define G_STOREC_N(p, v, n) v_store_n(p, v, n)
#define G_ZERO v_set1(0)
#include "body_gemm_tile.h"

#define G_FN(name) bf16_##name
#define G_EXACT(name) small_##name
#define G_ELT int32_t
#define G_PACKED int16_t
#define G_ACC float
#define G_VEC vf
#define G_BVEC vi
#define G_LANES VF
#define G_MR 12
#define G_NV 2
#define G_BCAST(p) bf16_bcast(p)
#define G_LOADB(p) vi_load(p)
#define G_MADD(acc, a, b) _mm512_dpbf16_ps(acc, (__m512bh)(a), (__m512bh)(b))
#define G_LOADC(p) v_load(p)
#define G_LOADC_N(p, n) v_load_n(p, n)
#define G_STOREC(p, v) v_store(p, v)
#define G_STOREC_N(p, v, n) v_store_n(p, v, n)
#define G_ZERO v_set1(0)
#include "body_gemm_tile.h"

const cpuk_gemm cpuk_gemm_bf16_avx512bf16 = {
    .name = "bf16 avx512 bf16", .pack_type = CPUK_BF16, .acc_type = CPUK_F32,
    .pack_types = 1u << CPUK_BF16 | 1u << CPUK_F8E4M3 | 1u << CPUK_F8E5M2, .a_inplace = CPUK_BF16, .mr = MR, .nr = NR, .kr = 2, .b_chunk = GEMM_CHUNK(2),
    .a_panel_bytes = bf16_a_panel_bytes, .b_panel_bytes = bf16_b_panel_bytes, .pack_a = bf16_pack_a, .pack_b = bf16_pack_b,
    .block = bf16_block, .skinny = cpuk_skinny_bf16_avx512,
};
#endif
