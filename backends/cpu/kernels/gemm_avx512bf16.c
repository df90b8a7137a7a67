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

static size_t bf16_a_panel_bytes(size_t k) { return MR * gemm_row_bytes((k + 1) / 2 * 4); }
/* A panel ends with a line that says whether it has small numbers. */
enum { PANEL_END = 64 };
static size_t bf16_b_panel_bytes(size_t k) { return (k + 1) / 2 * NR * 4 + PANEL_END; }
static void bf16_pack_a(const cpuk_pack_args *p) { pack_a_rows(p, CPUK_BF16, 2); }
static void bf16_pack_b(const cpuk_pack_args *p) {
  size_t panel = bf16_b_panel_bytes(p->rows);
  int32_t small = pack_b_groups_bf16(p, NR, (p->rows + 1) / 2 * 2, panel);
  for (size_t j = 0; j < p->cols; j += NR)
    memcpy((char *)p->dst + (j / NR + 1) * panel - PANEL_END, &small, sizeof small);
}

VINL vi bf16_bcast(const char *p) {
  int32_t g;
  memcpy(&g, p, 4);
  return vi_set1(g);
}

VINL vf bf16_odd(vi pairs) { return (vf)(pairs & (int32_t)0xffff0000); }
VINL vf bf16_even(vi pairs) { return (vf)(pairs << 16); }

/* A has small numbers. */
static bool small_is_needed(const cpuk_block_args *p, ptrdiff_t lda, size_t groups) {
  vi least = least_start();
  for (size_t i = 0; i < p->m; i++) least = least_in(least, (const char *)p->a + (ptrdiff_t)i * lda, groups * 2);
  return least_is_small(least);
}
/* B's panel has some, or, if we're to look, a sum so far is small. */
static bool small_is_needed_for(const cpuk_block_args *p, bool look, const char *panel_end, size_t j) {
  int32_t small;
  memcpy(&small, panel_end - PANEL_END, sizeof small);
  const size_t w = p->n - j < NR ? p->n - j : NR;
  for (size_t i = 0; look && !small && i < p->m; i++)
    for (size_t v = 0; v < w; v += VF) {
      vf c = v_abs(v_load_n((const float *)p->c + (ptrdiff_t)i * p->ldc + j + v, w - v < VF ? w - v : VF));
      small |= vm_any(vm_and(v_lt(c, v_set1(0x1p-124f)), vm_not(v_eq(c, v_set1(0)))));
    }
  return small;
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
