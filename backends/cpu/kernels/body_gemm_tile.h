/* The register-tile gemm of one kind, written once: included per kind with these macros set, which it undefines at its
 * end.
 *
 *   G_FN(name)         names this kind's functions
 *   G_ELT G_ACC        one k-group of A as it is broadcast (float, double, or 4 bytes of a dot product); element of C
 *   G_PACKED           element of packed operands; sizeof(G_ELT) / sizeof(G_PACKED) of them make a group
 *   G_VEC G_BVEC G_LANES  vector of accumulators; of operands, if another; lanes
 *   G_MR G_NV          rows, and vectors of columns, of the register tile (at most 16 and 4)
 *   G_BCAST(p)         vector of the k-group at p
 *   G_LOADB(p)         one B vector, from the aligned panel, p counts in G_ELT
 *   G_MADD(acc, a, b)  acc + a . b
 *   G_MADD_AT(acc, p, b)  optional: acc + (k-group at p) . b in one instruction that broadcasts from memory
 *   G_STEPS            optional: k-groups a turn of the main loop
 *   G_FIRST            optional: chunks may have a walk of their own, for an A from memory and for short sums
 *   G_LOADC G_LOADC_N G_STOREC G_STOREC_N G_ZERO
 *   G_EXACT(name)      optional: names another kind with the same panels, whose rows take over where its is_needed (by
 *                      A) or is_needed_for (by a panel and its columns of C) says so; see gemm_avx512bf16.c
 *   G_ROWS_ONLY        optional: no block, for such another kind
 *   G_COMP             optional: the panel ends with one row of C's type to be added once (offset compensation of s8 x
 *                      s8)
 *
 * Panels: B is [k-group][G_NV * G_LANES] groups; A is row-major whether packed or not (a row is broadcast group by
 * group), so the rows of a block are dealt evenly to tiles: 16 rows are 8 + 8, not 12 + 4. Each element of C is one
 * chain over k, C first. */

#ifndef G_BVEC
#define G_BVEC G_VEC
#endif
#ifndef G_STEPS
#define G_STEPS 1
#endif
VINL void G_FN(tile)(const int mr, const int nv, const bool tail, const bool fetch, const gemm_tile_args *p,
                     const G_ELT *b) {
  enum { NR = G_NV * G_LANES };
  G_ACC *c = p->c;
  const char *a = p->a;
  const ptrdiff_t lda = p->lda, ldc = p->ldc;
  const size_t last = p->last;
  const ptrdiff_t soon_step = p->soon_step;
  const char *soon = p->soon;
  G_VEC acc[16][G_NV];
  if (p->accumulate) {
    CPUK_UNROLL
    for (int i = 0; i < mr; i++)
      CPUK_UNROLL
      for (int j = 0; j < nv; j++)
        acc[i][j] =
            tail && j == nv - 1 ? G_LOADC_N(c + i * ldc + j * G_LANES, last) : G_LOADC(c + i * ldc + j * G_LANES);
  } else {
    CPUK_UNROLL
    for (int i = 0; i < mr; i++)
      CPUK_UNROLL
      for (int j = 0; j < nv; j++) acc[i][j] = G_ZERO;
    /* Its lines are there when it is stored; in L2, as panels pass through L1 meanwhile. */
    CPUK_UNROLL
    for (int i = 0; i < mr; i++)
      CPUK_UNROLL
      for (int v = 0; v < nv * (int)(G_LANES * sizeof(G_ACC)); v += 64)
        __builtin_prefetch((const char *)(c + i * ldc) + v, 0, 2);
  }
  const G_ELT *end = b + p->groups * NR;
#ifdef G_COMP
  CPUK_UNROLL
  for (int j = 0; j < nv; j++) {
    G_VEC comp = G_LOADC((const G_ACC *)end + j * G_LANES);
    CPUK_UNROLL
    for (int i = 0; i < mr; i++) acc[i][j] += comp;
  }
#endif
  CPUK_UNROLL_BY(G_STEPS)
  for (; b != end; b += NR, a += sizeof(G_ELT)) {
    G_BVEC bv[G_NV];
    if (fetch) {
      for (int v = 0; v < (int)(NR * sizeof(G_ELT)); v += 64) __builtin_prefetch(soon + v, 0, 2);
      soon += soon_step;
    }
    CPUK_UNROLL
    for (int j = 0; j < nv; j++) bv[j] = G_LOADB(b + j * G_LANES);
    CPUK_UNROLL
    for (int i = 0; i < mr; i++) {
#ifdef G_MADD_AT
      /* Each third row: fewer instructions, more loads, and the core has too few of either for all rows. */
      if (i % 3 == 0) {
        CPUK_UNROLL
        for (int j = 0; j < nv; j++) acc[i][j] = G_MADD_AT(acc[i][j], a + i * lda, bv[j]);
        continue;
      }
#endif
      G_BVEC av = G_BCAST(a + i * lda);
      CPUK_UNROLL
      for (int j = 0; j < nv; j++) acc[i][j] = G_MADD(acc[i][j], av, bv[j]);
    }
  }
  CPUK_UNROLL
  for (int i = 0; i < mr; i++)
    CPUK_UNROLL
    for (int j = 0; j < nv; j++)
      if (tail && j == nv - 1) G_STOREC_N(c + i * ldc + j * G_LANES, acc[i][j], last);
      else G_STOREC(c + i * ldc + j * G_LANES, acc[i][j]);
}

/* Tiles of a constant number of vectors, any number of rows. */
#define G_ROWS(r, nv, tail, fetch) \
  case r: G_FN(tile)(r, nv, tail, fetch, p, b); break;
#define G_COLUMN(name, nv, tail, fetch)                                                       \
  static void G_FN(name)(int rows, const gemm_tile_args *p, const G_ELT *b) {          \
    switch (rows) { G_ROW_CASES(nv, tail, fetch) }                                            \
  }
#if G_MR == 4
#define G_ROW_CASES(nv, tail, fetch) \
  G_ROWS(1, nv, tail, fetch) G_ROWS(2, nv, tail, fetch) G_ROWS(3, nv, tail, fetch) G_ROWS(4, nv, tail, fetch)
#elif G_MR == 6
#define G_ROW_CASES(nv, tail, fetch)                                                                                   \
  G_ROWS(1, nv, tail, fetch)                                                                                           \
  G_ROWS(2, nv, tail, fetch) G_ROWS(3, nv, tail, fetch) G_ROWS(4, nv, tail, fetch) G_ROWS(5, nv, tail, fetch)          \
      G_ROWS(6, nv, tail, fetch)
#elif G_MR == 12
#define G_ROW_CASES(nv, tail, fetch)                                                                                   \
  G_ROWS(1, nv, tail, fetch)                                                                                           \
  G_ROWS(2, nv, tail, fetch) G_ROWS(3, nv, tail, fetch) G_ROWS(4, nv, tail, fetch) G_ROWS(5, nv, tail, fetch)          \
      G_ROWS(6, nv, tail, fetch) G_ROWS(7, nv, tail, fetch) G_ROWS(8, nv, tail, fetch) G_ROWS(9, nv, tail, fetch)      \
          G_ROWS(10, nv, tail, fetch) G_ROWS(11, nv, tail, fetch) G_ROWS(12, nv, tail, fetch)
#endif
G_COLUMN(column, G_NV, false, false)
G_COLUMN(column_fetch, G_NV, false, true)
#if G_NV == 2
G_COLUMN(column_tail1, 1, true, false)
G_COLUMN(column_tail2, 2, true, false)
#elif G_NV == 4
G_COLUMN(column_tail1, 1, true, false)
G_COLUMN(column_tail2, 2, true, false)
G_COLUMN(column_tail3, 3, true, false)
G_COLUMN(column_tail4, 4, true, false)
#endif

static void G_FN(panel)(int rows, size_t width, gemm_tile_args *p, const G_ELT *b) {
  enum { NR = G_NV * G_LANES };
  if (width == NR) {
    if (p->soon != NULL) G_FN(column_fetch)(rows, p, b);
    else G_FN(column)(rows, p, b);
    return;
  }
  size_t nv = (width + G_LANES - 1) / G_LANES;
  p->last = width - (nv - 1) * G_LANES;
  switch (nv) {
    case 1: G_FN(column_tail1)(rows, p, b); break;
    case 2: G_FN(column_tail2)(rows, p, b); break;
#if G_NV == 4
    case 3: G_FN(column_tail3)(rows, p, b); break;
    case 4: G_FN(column_tail4)(rows, p, b); break;
#endif
  }
}

/* All row tiles of the block against one panel. The first `fetching` of them fetch into L2, line by line as they go,
 * what `soon` tells: where tiles are few, memory sets the pace and mustn't be idle. */
static void G_FN(rows)(const cpuk_block_args *p, gemm_tile_args t, size_t j, const void *b, size_t fetching) {
  enum { NR = G_NV * G_LANES };
  const size_t tiles = (p->m + G_MR - 1) / G_MR, width = p->n - j < NR ? p->n - j : NR;
  const char *soon = t.soon;
  t.c = (G_ACC *)p->c + j;
  for (size_t q = 0; q < tiles; q++) {
    size_t rows = p->m / tiles + (q < p->m % tiles);
    t.soon = q < fetching && soon != NULL ? soon + (ptrdiff_t)(q * t.groups) * t.soon_step : NULL;
    G_FN(panel)((int)rows, width, &t, b);
    t.a += (ptrdiff_t)rows * t.lda;
    t.c = (G_ACC *)t.c + (ptrdiff_t)rows * p->ldc;
  }
}

#ifdef G_FIRST
/* A's rows lie one after the other, and are so many that they come from memory. */
static bool G_FN(comes)(const cpuk_block_args *p, const gemm_tile_args *t) {
  return p->m >= 8 * G_MR && t->lda == (ptrdiff_t)(t->groups * sizeof(G_ELT));
}

/* Short sums into rows far apart: what is written sets the pace, and comes in one piece for a chunk's columns only if
 * they follow one another. */
static bool G_FN(writes)(const cpuk_block_args *p) {
  return p->k <= 256 && p->m >= 4 * G_MR && (size_t)p->ldc * sizeof(G_ACC) >= 4096 && !p->accumulate;
}

/* A chunk of which each tile takes all panels, b, and fetches the rows of the next tile into L2 on the way: the first
 * one where A comes from memory, as one panel's arithmetic is too short to hide that; all where writing sets the
 * pace. */
static void G_FN(across)(const cpuk_block_args *p, gemm_tile_args t, size_t j0, const char *b, size_t width,
                        size_t panel_bytes) {
  enum { NR = G_NV * G_LANES, KR = sizeof(G_ELT) / sizeof(G_PACKED), CHUNK = GEMM_CHUNK(KR) };
  const size_t tiles = (p->m + G_MR - 1) / G_MR, panels = (width + NR - 1) / NR;
  G_ACC *c = (G_ACC *)p->c + j0;
  for (size_t q = 0; q < tiles; q++) {
    const size_t rows = p->m / tiles + (q < p->m % tiles), next = p->m / tiles + (q + 1 < p->m % tiles);
    const ptrdiff_t share = (ptrdiff_t)(next * (size_t)t.lda / panels);
    for (size_t j = 0; j < panels; j++) {
      const G_ELT *panel = (const G_ELT *)(const void *)(b + j * panel_bytes);
      t.c = c + j * NR;
      t.soon = t.a + (ptrdiff_t)rows * t.lda + (ptrdiff_t)j * share;
      t.soon_step = share / (ptrdiff_t)t.groups;
      if (q + 1 == tiles && p->b_plain != NULL) gemm_soon_plain(&t, p, j0 + CHUNK * NR, j, NR * sizeof(G_ELT), KR);
      else if (q + 1 == tiles) t.soon = (const char *)panel + panel_bytes, t.soon_step = NR * sizeof(G_ELT);
      G_FN(panel)((int)rows, width - j * NR < NR ? width - j * NR : NR, &t, panel);
    }
    t.a += (ptrdiff_t)rows * t.lda;
    c += (ptrdiff_t)rows * p->ldc;
  }
}
#endif

#ifndef G_ROWS_ONLY
/* Panels of B outside, tiles of A inside: a B panel stays in L1 while the A block streams from L2. */
static void G_FN(block)(const cpuk_block_args *p) {
  enum { NR = G_NV * G_LANES, KR = sizeof(G_ELT) / sizeof(G_PACKED), CHUNK = GEMM_CHUNK(KR) };
  const size_t groups = (p->k + KR - 1) / KR, panel_bytes = G_FN(b_panel_bytes)(p->k);
  gemm_tile_args t = {.a = p->a, .accumulate = p->accumulate, .groups = groups, .ldc = p->ldc, .last = G_LANES};
  t.lda = p->lda != 0 ? p->lda * (ptrdiff_t)sizeof(G_PACKED) : (ptrdiff_t)gemm_row_bytes(groups * sizeof(G_ELT));
#ifdef G_EXACT
  const bool exact = G_EXACT(is_needed)(p, t.lda, groups),
             look = p->accumulate && (p->small_sums == NULL || *p->small_sums);
#endif
  for (size_t j0 = 0; j0 < p->n; j0 += CHUNK * NR) {
    size_t width = p->n - j0 < CHUNK * NR ? p->n - j0 : CHUNK * NR;
    const char *b = (const char *)p->b + j0 / NR * panel_bytes;
    cpuk_pack_args chunk;
    if (p->b_plain != NULL) {
      G_FN(pack_b)(gemm_chunk(p, j0, width, &chunk));
      b = p->b_plain->dst;
    }
#ifdef G_FIRST
    if ((j0 == 0 && G_FN(comes)(p, &t)) || G_FN(writes)(p)) {
      G_FN(across)(p, t, j0, b, width, panel_bytes);
      continue;
    }
#endif
    for (size_t j = 0; j < width; j += NR) {
      const char *panel = b + j / NR * panel_bytes;
#ifdef G_EXACT
      if (exact || G_EXACT(is_needed_for)(p, look, panel + panel_bytes, j0 + j)) {
        G_EXACT(rows)(p, t, j0 + j, panel, 0);
        if (p->small_sums != NULL) *p->small_sums = true;
        continue;
      }
#endif
      if (p->b_plain != NULL) gemm_soon_plain(&t, p, j0 + CHUNK * NR, j / NR, NR * sizeof(G_ELT), KR);
      else t.soon = panel + panel_bytes, t.soon_step = NR * sizeof(G_ELT) / (p->m > G_MR ? 2 : 1);
      G_FN(rows)(p, t, j0 + j, panel, p->b_plain != NULL || p->m <= G_MR ? 1 : 2);
    }
  }
}
#endif

#undef G_ROWS
#undef G_COLUMN
#undef G_ROW_CASES
#undef G_FN
#undef G_ELT
#undef G_ACC
#undef G_PACKED
#undef G_VEC
#undef G_BVEC
#undef G_LANES
#undef G_MR
#undef G_NV
#undef G_BCAST
#undef G_LOADB
#undef G_MADD
#undef G_MADD_AT
#undef G_STEPS
#undef G_FIRST
#undef G_LOADC
#undef G_LOADC_N
#undef G_STOREC
#undef G_STOREC_N
#undef G_ZERO
#undef G_COMP
#undef G_EXACT
#undef G_ROWS_ONLY
