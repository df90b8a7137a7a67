/* The register-tile gemm of one kind, written once: included per kind with these macros set, which it undefines at its end.
 *
 *   G_FN(name)         names this kind's functions
 *   G_ELT G_ACC        one k-group of A as it is broadcast (float, double, or 4 bytes of a dot product); element of C
 *   G_PACKED           element of packed operands; sizeof(G_ELT) / sizeof(G_PACKED) of them make a group
 *   G_VEC G_BVEC G_LANES  vector of accumulators; of operands, if another; lanes
 *   G_MR G_NV          rows, and vectors of columns, of the register tile (at most 16 and 4)
 *   G_BCAST(p)         vector of the k-group at p
 *   G_LOADB(p)         one B vector, from the aligned panel, p counts in G_ELT
 *   G_MADD(acc, a, b)  acc + a . b
 *   G_LOADC G_LOADC_N G_STOREC G_STOREC_N G_ZERO
 *   G_COMP             optional: the panel ends with one row of C's type to be added once (offset compensation of s8 x s8)
 *
 * Panels: B is [k-group][G_NV * G_LANES] groups; A is row-major whether packed or not (a row is broadcast group by group), so the rows of a
 * block are dealt evenly to tiles: 16 rows are 8 + 8, not 12 + 4. Each element of C is one chain over k, C first. */

#ifndef G_BVEC
#define G_BVEC G_VEC
#endif

VINL void G_FN(tile)(const int mr, const int nv, const bool tail, const cpuk_block_args *p, G_ACC *c, const char *a, ptrdiff_t lda,
                     const G_ELT *b, size_t groups, size_t last) {
  enum { NR = G_NV * G_LANES };
  G_VEC acc[16][G_NV];
  if (p->accumulate) {
    CPUK_UNROLL
    for (int i = 0; i < mr; i++)
      CPUK_UNROLL
      for (int j = 0; j < nv; j++)
        acc[i][j] = tail && j == nv - 1 ? G_LOADC_N(c + i * p->ldc + j * G_LANES, last) : G_LOADC(c + i * p->ldc + j * G_LANES);
  } else {
    CPUK_UNROLL
    for (int i = 0; i < mr; i++)
      CPUK_UNROLL
      for (int j = 0; j < nv; j++) acc[i][j] = G_ZERO;
  }
  const G_ELT *end = b + groups * NR;
#ifdef G_COMP
  CPUK_UNROLL
  for (int j = 0; j < nv; j++) {
    G_VEC comp = G_LOADC((const G_ACC *)end + j * G_LANES);
    CPUK_UNROLL
    for (int i = 0; i < mr; i++) acc[i][j] += comp;
  }
#endif
  CPUK_NO_UNROLL
  for (; b != end; b += NR, a += sizeof(G_ELT)) {
    G_BVEC bv[G_NV];
    CPUK_UNROLL
    for (int j = 0; j < nv; j++) bv[j] = G_LOADB(b + j * G_LANES);
    CPUK_UNROLL
    for (int i = 0; i < mr; i++) {
      G_BVEC av = G_BCAST(a + i * lda);
      CPUK_UNROLL
      for (int j = 0; j < nv; j++) acc[i][j] = G_MADD(acc[i][j], av, bv[j]);
    }
  }
  CPUK_UNROLL
  for (int i = 0; i < mr; i++)
    CPUK_UNROLL
    for (int j = 0; j < nv; j++)
      if (tail && j == nv - 1) G_STOREC_N(c + i * p->ldc + j * G_LANES, acc[i][j], last);
      else G_STOREC(c + i * p->ldc + j * G_LANES, acc[i][j]);
}

/* Tiles of a constant number of vectors, any number of rows. */
#define G_ROWS(r, nv, tail) \
  case r: G_FN(tile)(r, nv, tail, p, c, a, lda, b, groups, last); break;
#define G_COLUMN(name, nv, tail)                                                                                           \
  static void G_FN(name)(int rows, const cpuk_block_args *p, G_ACC *c, const char *a, ptrdiff_t lda, const G_ELT *b,       \
                         size_t groups, size_t last) {                                                                     \
    switch (rows) { G_ROW_CASES(nv, tail) }                                                                                \
  }
#if G_MR == 4
#define G_ROW_CASES(nv, tail) G_ROWS(1, nv, tail) G_ROWS(2, nv, tail) G_ROWS(3, nv, tail) G_ROWS(4, nv, tail)
#elif G_MR == 6
#define G_ROW_CASES(nv, tail) \
  G_ROWS(1, nv, tail) G_ROWS(2, nv, tail) G_ROWS(3, nv, tail) G_ROWS(4, nv, tail) G_ROWS(5, nv, tail) G_ROWS(6, nv, tail)
#elif G_MR == 12
#define G_ROW_CASES(nv, tail)                                                                                                 \
  G_ROWS(1, nv, tail) G_ROWS(2, nv, tail) G_ROWS(3, nv, tail) G_ROWS(4, nv, tail) G_ROWS(5, nv, tail) G_ROWS(6, nv, tail)     \
  G_ROWS(7, nv, tail) G_ROWS(8, nv, tail) G_ROWS(9, nv, tail) G_ROWS(10, nv, tail) G_ROWS(11, nv, tail) G_ROWS(12, nv, tail)
#endif
G_COLUMN(column, G_NV, false)
#if G_NV == 2
G_COLUMN(column_tail1, 1, true)
G_COLUMN(column_tail2, 2, true)
#elif G_NV == 4
G_COLUMN(column_tail1, 1, true)
G_COLUMN(column_tail2, 2, true)
G_COLUMN(column_tail3, 3, true)
G_COLUMN(column_tail4, 4, true)
#endif

static void G_FN(panel)(int rows, size_t width, const cpuk_block_args *p, G_ACC *c, const char *a, ptrdiff_t lda, const G_ELT *b,
                        size_t groups) {
  enum { NR = G_NV * G_LANES };
  if (width == NR) {
    G_FN(column)(rows, p, c, a, lda, b, groups, G_LANES);
    return;
  }
  size_t nv = (width + G_LANES - 1) / G_LANES, last = width - (nv - 1) * G_LANES;
  switch (nv) {
    case 1: G_FN(column_tail1)(rows, p, c, a, lda, b, groups, last); break;
    case 2: G_FN(column_tail2)(rows, p, c, a, lda, b, groups, last); break;
#if G_NV == 4
    case 3: G_FN(column_tail3)(rows, p, c, a, lda, b, groups, last); break;
    case 4: G_FN(column_tail4)(rows, p, c, a, lda, b, groups, last); break;
#endif
  }
}

/* Panels of B outside, tiles of A inside: a B panel stays in L1 while the A block streams from L2. */
static void G_FN(block)(const cpuk_block_args *p) {
  enum { NR = G_NV * G_LANES, KR = sizeof(G_ELT) / sizeof(G_PACKED) };
  size_t groups = (p->k + KR - 1) / KR, tiles = (p->m + G_MR - 1) / G_MR;
  ptrdiff_t lda = p->lda != 0 ? p->lda * (ptrdiff_t)sizeof(G_PACKED) : (ptrdiff_t)gemm_row_bytes(groups * sizeof(G_ELT));
  size_t panel_bytes = G_FN(b_panel_bytes)(p->k);
  for (size_t j = 0; j < p->n; j += NR) {
    const G_ELT *b = (const void *)((const char *)p->b + j / NR * panel_bytes);
    size_t width = p->n - j < NR ? p->n - j : NR;
    for (size_t t = 0, i = 0; t < tiles; t++) {
      size_t rows = p->m / tiles + (t < p->m % tiles);
      G_FN(panel)((int)rows, width, p, (G_ACC *)p->c + (ptrdiff_t)i * p->ldc + (ptrdiff_t)j, (const char *)p->a + (ptrdiff_t)i * lda, lda, b,
                  groups);
      i += rows;
    }
  }
}

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
#undef G_LOADC
#undef G_LOADC_N
#undef G_STOREC
#undef G_STOREC_N
#undef G_ZERO
#undef G_COMP
