/* Packing for dot-product instructions, whose operands are groups of 4 bytes along k: 2 bf16 or 4 bytes. Included after
 * body_gemm_pack.h. B panels are [k / kr][nr][kr], A is row-major (pack_a_rows); both padded with zeros to k_pad, a
 * multiple of kr. */

/* ---- small bf16 numbers ----
 * Dot products of bf16 take denormals for zeros. Where every nonzero operand is at least 2^-55, each product is a
 * multiple of 2^-124 and so is every sum of them: nothing is denormal anywhere. `least` keeps the smallest magnitude
 * met but 0, as the largest of the doubled, negated bits: 0 stays 0, and the sign is shifted out. */
enum { BF16_SMALL = (127 - 55) << 8 }; /* the bits of 2^-55 without the sign */
VINL vi least_start(void) { return vi_set1(0); }
VINL vi least_of(vi least, vi pairs) {
  return (vi)_mm512_max_epu16((__m512i)least, _mm512_mullo_epi16((__m512i)pairs, _mm512_set1_epi16(-2)));
}
VINL bool least_is_small(vi least) {
  return _mm512_cmpgt_epu16_mask((__m512i)least, _mm512_set1_epi16((short)-BF16_SMALL)) != 0;
}
VINL vi pairs_load(const char *p) { return (vi)_mm512_loadu_si512(p); } /* 2-byte elements lie at any even address */
/* n numbers at p. */
static vi least_in(vi least, const char *p, size_t n) {
  size_t i = 0;
  vi other = least; /* two chains */
  for (; i + 4 * VF <= n; i += 4 * VF) {
    least = least_of(least, pairs_load(p + i * 2));
    other = least_of(other, pairs_load(p + (i + 2 * VF) * 2));
  }
  least = (vi)_mm512_max_epu16((__m512i)least, (__m512i)other);
  for (; i + 2 * VF <= n; i += 2 * VF) least = least_of(least, pairs_load(p + i * 2));
  if (i < n) least = least_of(least, (vi)_mm512_maskz_loadu_epi16((__mmask32)((1u << (n - i)) - 1), p + i * 2));
  return least;
}

VINL vi group_row16(const char *p) { return vh_widen(vh_load((const uint16_t *)(const void *)p)); }
/* Two rows of 2 VF 2-byte elements, pair by pair. */
VINL vi group_pairs(int32_t *d, const char *row0, const char *row1, vi least) {
  static const uint16_t order[4 * VF] = {
#define PAIR(i) i, 32 + (i)
      PAIR(0),  PAIR(1),  PAIR(2),  PAIR(3),  PAIR(4),  PAIR(5),  PAIR(6),  PAIR(7),  PAIR(8),  PAIR(9),  PAIR(10),
      PAIR(11), PAIR(12), PAIR(13), PAIR(14), PAIR(15), PAIR(16), PAIR(17), PAIR(18), PAIR(19), PAIR(20), PAIR(21),
      PAIR(22), PAIR(23), PAIR(24), PAIR(25), PAIR(26), PAIR(27), PAIR(28), PAIR(29), PAIR(30), PAIR(31)};
#undef PAIR
  const vi a = pairs_load(row0), b = pairs_load(row1);
  const __m512i lo = _mm512_loadu_si512(order), hi = _mm512_loadu_si512(order + 2 * VF);
  vi_store(d, (vi)_mm512_permutex2var_epi16((__m512i)a, lo, (__m512i)b));
  vi_store(d + VF, (vi)_mm512_permutex2var_epi16((__m512i)a, hi, (__m512i)b));
  return least_of(least_of(least, a), b);
}
/* One group row of a panel from kr rows of contiguous columns. */
VINL vi group_rows(int32_t *d, const char *const *row, size_t esize, size_t nr, vi least) {
  size_t j = 0;
  for (; esize == 2 && j + 2 * VF <= nr; j += 2 * VF) least = group_pairs(d + j, row[0] + j * 2, row[1] + j * 2, least);
  for (; j < nr; j += VF) {
    vi g = esize == 2 ? group_row16(row[0] + j * 2) | (group_row16(row[1] + j * 2) << 16)
                      : (vi_load_u8(row[0] + j) | (vi_load_u8(row[1] + j) << 8)) |
                            ((vi_load_u8(row[2] + j) << 16) | (vi_load_u8(row[3] + j) << 24));
    if (esize == 2) least = least_of(least, g);
    vi_store(d + j, g);
  }
  return least;
}

/* Whole panels, columns contiguous: a group of rows of all of them, then the next; rows past k are zeros. Returns
 * `least` of 2-byte elements. */
static vi pack_b_group_rows(char *d, const char *s, ptrdiff_t row_bytes, size_t esize, size_t k, size_t k_pad,
                            size_t nr, size_t panels, size_t panel_bytes) {
  static const char zeros[64 * 2];
  const size_t kr = 4 / esize;
  vi least = least_start();
  for (size_t q = 0; q < k_pad; q += kr, d += nr * 4)
    for (size_t j = 0; j < panels; j++) {
      const char *row[4];
      for (size_t r = 0; r < kr; r++) {
        row[r] = q + r < k ? s + (ptrdiff_t)(q + r) * row_bytes + j * nr * esize : zeros;
        __builtin_prefetch(row[r] + PACK_AHEAD * row_bytes, 0, 3);
      }
      int32_t *out = (int32_t *)(void *)(d + j * panel_bytes);
      if (esize == 2) least = group_rows(out, row, 2, nr, least);
      else group_rows(out, row, 1, nr, least);
    }
  return least;
}

/* Any strides: element (q, j) of w columns goes to byte (q / kr * nr + j) * 4 + q % kr * esize of the panel. */
static void pack_b_group_any(char *d, const char *s, ptrdiff_t rs, ptrdiff_t cs, size_t esize, size_t k, size_t w,
                             size_t nr) {
  size_t kr = 4 / esize;
  for (size_t q = 0; q < k; q++)
    for (size_t j = 0; j < w; j++)
      memcpy(d + (q / kr * nr + j) * 4 + q % kr * esize, s + ((ptrdiff_t)q * rs + (ptrdiff_t)j * cs) * (ptrdiff_t)esize,
             esize);
}

/* src of the packed type itself (2-byte or 1-byte elements). Tells whether there are small bf16 numbers. */
static bool pack_b_groups(const cpuk_pack_args *p, size_t esize, size_t nr, size_t k_pad, size_t panel_bytes) {
  size_t kr = 4 / esize, k = p->rows, step = nr;
  bool small = false;
  for (size_t j = 0; j < p->cols; j += step) {
    size_t w = p->cols - j < nr ? p->cols - j : nr, whole = (p->cols - j) / nr;
    char *d = (char *)p->dst + j / nr * panel_bytes;
    const char *s = (const char *)p->src + (ptrdiff_t)j * p->cs * (ptrdiff_t)esize;
    if (whole > 0 && p->cs == 1) {
      if (whole > GEMM_CHUNK(2)) whole = GEMM_CHUNK(2);
      small |=
          least_is_small(pack_b_group_rows(d, s, p->rs * (ptrdiff_t)esize, esize, k, k_pad, nr, whole, panel_bytes));
      step = whole * nr;
      continue;
    }
    step = nr;
    memset(d, 0, k_pad / kr * nr * 4);
    if (p->rs == 1 && p->cs % (ptrdiff_t)kr ==
                          0) { /* groups are contiguous: a transpose of 32-bit elements, then the odd rest of k */
      CPUK_FN(copy2d)(&(cpuk_copy_args){d, s, (ptrdiff_t)nr, 1, 1, p->cs / (ptrdiff_t)kr, k / kr, w, 4});
      pack_b_group_any(d + k / kr * nr * 4, s + k / kr * 4, p->rs, p->cs, esize, k % kr, w, nr);
    } else {
      pack_b_group_any(d, s, p->rs, p->cs, esize, k, w, nr);
    }
    if (esize == 2) small |= least_is_small(least_in(least_start(), d, k_pad * nr));
  }
  return small;
}

/* f8 operands of a bf16 kind are converted 64 rows of k at a time; none of them is small. */
static inline bool pack_b_groups_bf16(const cpuk_pack_args *p, size_t nr, size_t k_pad, size_t panel_bytes) {
  if (p->type == CPUK_BF16) return pack_b_groups(p, 2, nr, k_pad, panel_bytes);
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
  return false;
}
