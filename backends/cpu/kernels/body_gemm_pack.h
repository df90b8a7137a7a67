/* Packing, shared by the gemm kinds of an instruction set. Included after vec_<isa>.h and before the kinds.
 *
 * A: row-major, one row after the other, converted to the packed type, k padded with zeros to whole groups; rows are
 * gemm_row_bytes apart. B: panels of nr columns, [k / kr][nr][kr], zeros past n and past k. */

/* An odd number of cache lines, so that the rows of a tile fall in different sets of L1. */
static inline size_t gemm_row_bytes(size_t bytes) { return ((bytes + 63) / 64 | 1) * 64; }

#define LANES CPUK_FN(lanes)
#define GEMM_CHUNK(kr) ((kr) == 1 ? 4 : 8) /* b_chunk */

/* out[i] (packed type, contiguous) = src[i * step], n elements. */
static void pack_vector(void *out, cpuk_dtype to, const char *src, cpuk_dtype from, ptrdiff_t step, size_t n) {
  size_t e = cpuk_dtype_bytes(from), o = cpuk_dtype_bytes(to);
  cpuk_convert_fn convert = LANES.convert[from][to];
  if (step == 1) {
    convert(out, src, n); /* equal types: a copy */
    return;
  }
  uint64_t t[128];
  for (size_t i = 0; i < n; i += 128) {
    size_t w = n - i < 128 ? n - i : 128;
    CPUK_FN(copy2d)(&(cpuk_copy_args){t, src + (ptrdiff_t)(i * e) * step, 1, 1, step, 1, w, 1, e});
    convert((char *)out + i * o, t, w);
  }
}

static void pack_a_rows(const cpuk_pack_args *p, cpuk_dtype to, size_t kr) {
  size_t e = cpuk_dtype_bytes(p->type), o = cpuk_dtype_bytes(to), k = p->cols, kp = (k + kr - 1) / kr * kr;
  size_t row = gemm_row_bytes(kp * o);
  const bool in_blocks = p->type == to && p->cs != 1; /* a transposed A */
  if (in_blocks)
    CPUK_FN(copy2d)(&(cpuk_copy_args){p->dst, p->src, (ptrdiff_t)(row / o), 1, p->rs, p->cs, p->rows, k, e});
  if (in_blocks && kp == k) return;
  for (size_t i = 0; i < p->rows; i++) {
    char *d = (char *)p->dst + i * row;
    if (!in_blocks) pack_vector(d, to, (const char *)p->src + (ptrdiff_t)(i * e) * p->rs, p->type, p->cs, k);
    memset(d + k * o, 0, (kp - k) * o);
  }
}

/* One piece of a panel, w <= nr columns and h rows of k, contiguous in out ([h][nr], packed type), zeros past w.
 * Returns nothing that isn't set. */
static void pack_b_piece(void *out, cpuk_dtype to, size_t nr, const char *src, const cpuk_pack_args *p, size_t h,
                         size_t w) {
  size_t e = cpuk_dtype_bytes(p->type), o = cpuk_dtype_bytes(to);
  uint64_t t[16 * 64];
  void *raw = p->type == to ? out : t;
  if (w < nr) memset(raw, 0, h * nr * e);
  CPUK_FN(copy2d)(&(cpuk_copy_args){raw, src, (ptrdiff_t)nr, 1, p->rs, p->cs, h, w, e});
  if (raw != out) LANES.convert[p->type][to](out, raw, h * nr);
  (void)o;
}

/* Rows fetched ahead while whole panels are packed: rows whose stride has a high power of two in it don't stay in L2
 * together, wherever they were fetched to before. */
enum { PACK_AHEAD = 8 };

/* Whole panels of the packed type, columns contiguous: a row of all of them, then the next, so that each line is read
 * once. */
static void pack_b_whole(char *d, const char *s, ptrdiff_t row_bytes, size_t k, size_t panels, size_t width,
                         size_t panel_bytes) {
  for (size_t i = 0; i < k; i++, s += row_bytes, d += width)
    for (size_t j = 0; j < panels; j++)
      for (size_t v = j * width; v < (j + 1) * width; v += VF * 4) {
        __builtin_prefetch(s + PACK_AHEAD * row_bytes + v, 0, 3);
        v_store((float *)(void *)(d + j * (panel_bytes - width) + v), v_load((const float *)(const void *)(s + v)));
      }
}

/* Panels without grouping (kr = 1). */
static inline void pack_b_plain(const cpuk_pack_args *p, cpuk_dtype to, size_t nr, size_t panel_bytes) {
  size_t e = cpuk_dtype_bytes(p->type), o = cpuk_dtype_bytes(to), k = p->rows, step = nr;
  const bool vectors = p->type == to && p->cs == 1 && nr * o % (VF * 4) == 0;
  for (size_t j = 0; j < p->cols; j += step) {
    size_t w = p->cols - j < nr ? p->cols - j : nr, whole = (p->cols - j) / nr;
    char *d = (char *)p->dst + j / nr * panel_bytes;
    const char *s = (const char *)p->src + (ptrdiff_t)(j * e) * p->cs;
    if (vectors && whole > 0) {
      if (whole > GEMM_CHUNK(1)) whole = GEMM_CHUNK(1);
      pack_b_whole(d, s, p->rs * (ptrdiff_t)e, k, whole, nr * o, panel_bytes);
      step = whole * nr;
      continue;
    }
    step = nr;
    for (size_t i = 0; i < k; i += 16) {
      size_t h = k - i < 16 ? k - i : 16;
      pack_b_piece(d + i * nr * o, to, nr, s + (ptrdiff_t)(i * e) * p->rs, p, h, w);
    }
  }
}

/* ---- what the tiles and blocks of every kind use ---- */

typedef struct gemm_tile_args {
  void *c;
  const char *a;
  ptrdiff_t lda, ldc; /* bytes; elements */
  size_t groups, last; /* last: columns in the last vector of a tail tile */
  const char *soon;    /* NULL, or what to fetch into L2 on the way, soon_step bytes a group */
  ptrdiff_t soon_step;
  bool accumulate;
} gemm_tile_args;

/* The columns [j, j + w) of a plain B, to be packed. */
static inline cpuk_pack_args *gemm_chunk(const cpuk_block_args *p, size_t j, size_t w, cpuk_pack_args *out) {
  *out = *p->b_plain;
  out->src = (const char *)out->src + (ptrdiff_t)j * out->cs * (ptrdiff_t)cpuk_dtype_bytes(out->type);
  out->cols = w;
  return out;
}

/* What panel `i` of a chunk fetches of the next chunk of a plain row-major B, which starts at column j: of the chunk's
 * kr rows per group, as many bytes as a group of a packed panel has, so that the chunk's panels fetch all of it
 * together. Hardware doesn't foresee such short rows. */
static inline void gemm_soon_plain(gemm_tile_args *t, const cpuk_block_args *p, size_t j, size_t i, size_t group_bytes,
                                   size_t kr) {
  cpuk_pack_args c;
  size_t e = cpuk_dtype_bytes(p->b_plain->type), row = GEMM_CHUNK(kr) * group_bytes / kr, at = i * group_bytes;
  t->soon = NULL;
  if (j >= p->n || p->b_plain->cs != 1 || group_bytes % 64 != 0) return;
  gemm_chunk(p, j, 0, &c);
  t->soon = (const char *)c.src + (ptrdiff_t)(at / row) * c.rs * (ptrdiff_t)e + at % row;
  t->soon_step = (ptrdiff_t)kr * c.rs * (ptrdiff_t)e;
}
