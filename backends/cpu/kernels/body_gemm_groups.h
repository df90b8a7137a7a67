/* Packing for dot-product instructions, whose operands are groups of 4 bytes along k: 2 bf16 or 4 bytes. Included after body_gemm_pack.h.
 * B panels are [k / kr][nr][kr], A is row-major (pack_a_rows); both padded with zeros to k_pad, a multiple of kr. */

VINL vi group_row16(const char *p) { return vh_widen(vh_load((const uint16_t *)(const void *)p)); }
/* One group row of a panel from kr rows of contiguous columns. */
VINL void group_rows(int32_t *d, const char *const *row, size_t esize, size_t nr) {
  for (size_t j = 0; j < nr; j += VF) {
    vi g = esize == 2 ? group_row16(row[0] + j * 2) | (group_row16(row[1] + j * 2) << 16)
                      : (vi_load_u8(row[0] + j) | (vi_load_u8(row[1] + j) << 8)) |
                            ((vi_load_u8(row[2] + j) << 16) | (vi_load_u8(row[3] + j) << 24));
    vi_store(d + j, g);
  }
}

/* Whole panels, columns contiguous: a group of rows of all of them, then the next; rows past k are zeros. */
static void pack_b_group_rows(char *d, const char *s, ptrdiff_t row_bytes, size_t esize, size_t k, size_t k_pad, size_t nr, size_t panels, size_t panel_bytes) {
  static const char zeros[64 * 2];
  const size_t kr = 4 / esize;
  for (size_t q = 0; q < k_pad; q += kr, d += nr * 4)
    for (size_t j = 0; j < panels; j++) {
      const char *row[4];
      for (size_t r = 0; r < kr; r++) {
        row[r] = q + r < k ? s + (ptrdiff_t)(q + r) * row_bytes + j * nr * esize : zeros;
        __builtin_prefetch(row[r] + PACK_AHEAD * row_bytes, 0, 3);
      }
      int32_t *out = (int32_t *)(void *)(d + j * panel_bytes);
      if (esize == 2) group_rows(out, row, 2, nr);
      else group_rows(out, row, 1, nr);
    }
}

/* Any strides: element (q, j) of w columns goes to byte (q / kr * nr + j) * 4 + q % kr * esize of the panel. */
static void pack_b_group_any(char *d, const char *s, ptrdiff_t rs, ptrdiff_t cs, size_t esize, size_t k, size_t w, size_t nr) {
  size_t kr = 4 / esize;
  for (size_t q = 0; q < k; q++)
    for (size_t j = 0; j < w; j++)
      memcpy(d + (q / kr * nr + j) * 4 + q % kr * esize, s + ((ptrdiff_t)q * rs + (ptrdiff_t)j * cs) * (ptrdiff_t)esize, esize);
}

/* src of the packed type itself (2-byte or 1-byte elements). */
static void pack_b_groups(const cpuk_pack_args *p, size_t esize, size_t nr, size_t k_pad, size_t panel_bytes) {
  size_t kr = 4 / esize, k = p->rows, step = nr;
  for (size_t j = 0; j < p->cols; j += step) {
    size_t w = p->cols - j < nr ? p->cols - j : nr, whole = (p->cols - j) / nr;
    char *d = (char *)p->dst + j / nr * panel_bytes;
    const char *s = (const char *)p->src + (ptrdiff_t)j * p->cs * (ptrdiff_t)esize;
    if (whole > 0 && p->cs == 1) {
      if (whole > GEMM_CHUNK(2)) whole = GEMM_CHUNK(2);
      pack_b_group_rows(d, s, p->rs * (ptrdiff_t)esize, esize, k, k_pad, nr, whole, panel_bytes);
      step = whole * nr;
      continue;
    }
    step = nr;
    memset(d, 0, k_pad / kr * nr * 4);
    if (p->rs == 1 && p->cs % (ptrdiff_t)kr == 0) { /* groups are contiguous: a transpose of 32-bit elements, then the odd rest of k */
      CPUK_FN(copy2d)(&(cpuk_copy_args){d, s, (ptrdiff_t)nr, 1, 1, p->cs / (ptrdiff_t)kr, k / kr, w, 4});
      pack_b_group_any(d + k / kr * nr * 4, s + k / kr * 4, p->rs, p->cs, esize, k % kr, w, nr);
    } else {
      pack_b_group_any(d, s, p->rs, p->cs, esize, k, w, nr);
    }
  }
}

/* f8 operands of a bf16 kind are converted 64 rows of k at a time. */
static inline void pack_b_groups_bf16(const cpuk_pack_args *p, size_t nr, size_t k_pad, size_t panel_bytes) {
  if (p->type == CPUK_BF16) {
    pack_b_groups(p, 2, nr, k_pad, panel_bytes);
    return;
  }
  for (size_t j = 0; j < p->cols; j += nr) {
    size_t w = p->cols - j < nr ? p->cols - j : nr;
    char *d = (char *)p->dst + j / nr * panel_bytes;
    memset(d, 0, k_pad / 2 * nr * 4);
    for (size_t q = 0; q < p->rows; q += 64) {
      uint8_t raw[64 * 64];
      uint16_t wide[64 * 64];
      size_t h = p->rows - q < 64 ? p->rows - q : 64;
      const char *s = (const char *)p->src + (ptrdiff_t)q * p->rs + (ptrdiff_t)j * p->cs;
      CPUK_FN(copy2d)(&(cpuk_copy_args){raw, s, (ptrdiff_t)w, 1, p->rs, p->cs, h, w, 1});
      LANES.convert[p->type][CPUK_BF16](wide, raw, h * w);
      pack_b_group_any(d + q / 2 * nr * 4, (const char *)wide, (ptrdiff_t)w, 1, 2, h, w, nr);
    }
  }
}
