/* Convolutions without their windows in memory: each element of the result is a chain over k of a[k] times the image's
 * element `offsets[k]` behind the place's first one. VF places that lie next to each other in the image, a strip, are
 * one vector; a tile is some rows by some strips. Included once per instruction set, after vec_<isa>.h. */

/* Strips of a tile of several rows: what registers hold beside the image's and the weights' vectors. */
#if VF == 16 || defined(__aarch64__)
#define CONVOLVE_STRIPS 4
#else
#define CONVOLVE_STRIPS 2
#endif
#define CONVOLVE_MOST 8 /* of a tile */
#define CONVOLVE_FEW 4  /* of a tile of one row that is the only one */

#ifndef v_pick
/* The elements in the set bits of `lanes`, first ones first; behind them any. */
VINL vf v_pick(vf v, uint32_t lanes) {
  float x[VF], y[VF] = {0};
  v_store(x, v);
  for (int i = 0, n = 0; i < VF; i++)
    if (lanes >> i & 1) y[n++] = x[i];
  return v_load(y);
}
#endif

/* Elements [k0, k1) of the chains of the strips from `strips` on. */
typedef struct convolve_part {
  const cpuk_convolve_args *p;
  const cpuk_convolve_strip *strips;
  size_t k0, k1;
} convolve_part;

VINL void convolve_tile(const int rows, const int n, const convolve_part *part, size_t row,
                        const cpuk_convolve_strip *s) {
  const cpuk_convolve_args *p = part->p;
  const float *a = p->a + (ptrdiff_t)row * p->lda, *x[CONVOLVE_MOST];
  float *c = p->c + (ptrdiff_t)row * p->ldc, *sums = NULL;
  const ptrdiff_t lda = p->lda, ldc = p->ldc;
  const int32_t *offsets = p->offsets;
  const size_t end = part->k1;
  vf acc[6][CONVOLVE_MOST];
  if (part->k0 > 0 || end < p->k) sums = p->sums + row * CPUK_CONVOLVE_PLACES + (s - part->strips) * VF;
  CPUK_UNROLL
  for (int j = 0; j < n; j++) x[j] = p->image + s[j].from;
  CPUK_UNROLL
  for (int i = 0; i < rows; i++)
    CPUK_UNROLL
    for (int j = 0; j < n; j++)
      acc[i][j] = part->k0 > 0 ? v_load(sums + i * CPUK_CONVOLVE_PLACES + j * VF) : v_set1(0);
  CPUK_NO_UNROLL
  for (size_t l = part->k0; l < end; l++) {
    const ptrdiff_t at = offsets[l];
    vf b[CONVOLVE_MOST];
    CPUK_UNROLL
    for (int j = 0; j < n; j++) b[j] = v_load(x[j] + at);
    CPUK_UNROLL
    for (int i = 0; i < rows; i++) {
      const vf w = v_set1(a[i * lda + (ptrdiff_t)l]);
      CPUK_UNROLL
      for (int j = 0; j < n; j++) acc[i][j] = v_fma(w, b[j], acc[i][j]);
    }
  }
  if (end < p->k) {
    CPUK_UNROLL
    for (int i = 0; i < rows; i++)
      CPUK_UNROLL
      for (int j = 0; j < n; j++) v_store(sums + i * CPUK_CONVOLVE_PLACES + j * VF, acc[i][j]);
    return;
  }
  CPUK_UNROLL
  for (int j = 0; j < n; j++)
    CPUK_UNROLL
    for (int i = 0; i < rows; i++) {
      float *to = c + i * ldc + s[j].to;
      if (s[j].n == VF) {
        v_store(to, acc[i][j]);
        continue;
      }
      const bool holes = s[j].lanes & (s[j].lanes + 1);
      v_store_n(to, holes ? v_pick(acc[i][j], s[j].lanes) : acc[i][j], (size_t)s[j].n);
    }
}

#define CONVOLVE_TILE(name, rows, n)                                                                          \
  static void name(const convolve_part *p, size_t row, const cpuk_convolve_strip *s) {                       \
    convolve_tile(rows, n, p, row, s);                                                                        \
  }
#define CONVOLVE_TILES(n)                                                                                     \
  CONVOLVE_TILE(convolve_6_##n, 6, n)                                                                         \
  CONVOLVE_TILE(convolve_4_##n, 4, n)                                                                         \
  CONVOLVE_TILE(convolve_2_##n, 2, n)                                                                         \
  CONVOLVE_TILE(convolve_1_##n, 1, n)
CONVOLVE_TILES(1)
CONVOLVE_TILES(2)
#if CONVOLVE_STRIPS == 4
CONVOLVE_TILES(3)
CONVOLVE_TILES(4)
#endif
CONVOLVE_TILE(convolve_row, 1, CONVOLVE_MOST) /* all there is: as many chains as hide an addition's latency */
CONVOLVE_TILE(convolve_row_few, 1, CONVOLVE_FEW)

/* One row of weights; the last strip as often as fills a tile. */
static void convolve_alone(const cpuk_convolve_args *p) {
  const convolve_part all = {p, p->strips, 0, p->k};
  for (size_t done = 0, step; done < p->n_strips; done += step) {
    const cpuk_convolve_strip *s = p->strips + done;
    const size_t left = p->n_strips - done;
    cpuk_convolve_strip rest[CONVOLVE_MOST];
    step = left > CONVOLVE_FEW ? CONVOLVE_MOST : CONVOLVE_FEW;
    if (left < step) {
      for (size_t j = 0; j < step; j++) rest[j] = s[j < left ? j : left - 1];
      s = rest;
    }
    if (step == CONVOLVE_MOST) convolve_row(&all, 0, s);
    else convolve_row_few(&all, 0, s);
  }
}

/* As few tiles as there can be, all about as wide. Rows far apart are written in pieces of some length, since all of
 * them at once are more pages, and more streams of lines, than a processor keeps track of. */
static void CPUK_FN(convolve)(const cpuk_convolve_args *p) {
#define CONVOLVE_OF(n) {convolve_6_##n, convolve_4_##n, convolve_2_##n, convolve_1_##n}
  static const size_t rows[] = {6, 4, 2, 1};
  static void (*const tiles[CONVOLVE_STRIPS][4])(const convolve_part *, size_t, const cpuk_convolve_strip *) = {
      CONVOLVE_OF(1), CONVOLVE_OF(2),
#if CONVOLVE_STRIPS == 4
      CONVOLVE_OF(3), CONVOLVE_OF(4),
#endif
  };
  if (p->n_strips == 0) return;
  if (p->m == 1) {
    convolve_alone(p);
    return;
  }
  const size_t groups = (p->n_strips + CONVOLVE_STRIPS - 1) / CONVOLVE_STRIPS, n = p->n_strips / groups,
               longer = p->n_strips % groups;
  enum { TOGETHER = CPUK_CONVOLVE_PLACES / (CONVOLVE_STRIPS * VF) };
  const size_t k_step = p->k_step > 0 && p->k_step < p->k ? p->k_step : p->k;
  for (size_t first = 0; first < groups; first += TOGETHER) {
    const size_t end = first + TOGETHER < groups ? first + TOGETHER : groups;
    convolve_part part = {p, p->strips + first * n + (first < longer ? first : longer), 0, k_step};
    for (;; part.k0 = part.k1, part.k1 = part.k1 + k_step < p->k ? part.k1 + k_step : p->k) {
      for (size_t row = 0, t = 0; row < p->m; row += rows[t]) {
        while (p->m - row < rows[t]) t++;
        for (size_t g = first; g < end; g++)
          tiles[n - 1 + (g < longer)][t](&part, row, p->strips + g * n + (g < longer ? g : longer));
      }
      if (part.k1 == p->k) break;
    }
  }
}
