/* bf16 products whose dot-product instruction flushes denormals: a panel of B ends with a line that says whether it has
 * small numbers (body_gemm_groups.h), and a block takes the exact kernel for a panel where B, A or the sums so far have
 * some. Included after body_gemm_groups.h, with NR (columns of a panel) defined. */

enum { PANEL_END = 64 };
static void panel_end_set(char *end, bool small) { memcpy(end - PANEL_END, &(int32_t){small}, sizeof(int32_t)); }
static bool panel_end_small(const char *end) {
  int32_t small;
  memcpy(&small, end - PANEL_END, sizeof small);
  return small;
}

/* Packs B; panel_bytes with the line at the end. */
static void pack_b_small(const cpuk_pack_args *p, size_t nr, size_t k_pad, size_t panel_bytes) {
  const bool small = pack_b_groups_bf16(p, nr, k_pad, panel_bytes);
  for (size_t j = 0; j < p->cols; j += nr) panel_end_set((char *)p->dst + (j / nr + 1) * panel_bytes, small);
}

VINL vf bf16_odd(vi pairs) { return (vf)(pairs & (int32_t)0xffff0000); }
VINL vf bf16_even(vi pairs) { return (vf)(pairs << 16); }

/* B's panel has small numbers, or, if we're to look, a sum so far in m rows of C from column j on is small. */
static bool small_is_needed_for(const cpuk_block_args *p, bool look, const char *panel_end, size_t j) {
  bool small = panel_end_small(panel_end);
  const size_t w = p->n - j < NR ? p->n - j : NR;
  for (size_t i = 0; look && !small && i < p->m; i++)
    for (size_t v = 0; v < w; v += VF) {
      vf c = v_abs(v_load_n((const float *)p->c + (ptrdiff_t)i * p->ldc + j + v, w - v < VF ? w - v : VF));
      small |= vm_any(vm_and(v_lt(c, v_set1(0x1p-124f)), vm_not(v_eq(c, v_set1(0)))));
    }
  return small;
}
