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

VINL void convolve_tile(const int rows, const int n, const cpuk_convolve_args *p, size_t row,
                        const cpuk_convolve_strip *s) {
  const float *a = p->a + (ptrdiff_t)row * p->lda, *x[CONVOLVE_MOST];
  float *c = p->c + (ptrdiff_t)row * p->ldc;
  const ptrdiff_t lda = p->lda, ldc = p->ldc;
  const int32_t *offsets = p->offsets;
  const size_t k = p->k;
  vf acc[6][CONVOLVE_MOST];
  CPUK_UNROLL
  for (int j = 0; j < n; j++) x[j] = p->image + s[j].from;
  CPUK_UNROLL
  for (int i = 0; i < rows; i++)
    CPUK_UNROLL
    for (int j = 0; j < n; j++) acc[i][j] = v_set1(0);
  CPUK_NO_UNROLL
  for (size_t l = 0; l < k; l++) {
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
  CPUK_UNROLL
  for (int j = 0; j < n; j++)
    CPUK_UNROLL
    for (int i = 0; i < rows; i++) {
      float *to = c + i * ldc + s[j].to;
      if (s[j].n == VF) v_store(to, acc[i][j]);
      else v_store_n(to, acc[i][j], (size_t)s[j].n);
    }
}

#define CONVOLVE_TILE(name, rows, n)                                                                          \
  static void name(const cpuk_convolve_args *p, size_t row, const cpuk_convolve_strip *s) {                  \
    convolve_tile(rows, n, p, row, s);                                                                        \
  }
CONVOLVE_TILE(convolve_6, 6, CONVOLVE_STRIPS)
CONVOLVE_TILE(convolve_4, 4, CONVOLVE_STRIPS)
CONVOLVE_TILE(convolve_2, 2, CONVOLVE_STRIPS)
CONVOLVE_TILE(convolve_1, 1, CONVOLVE_STRIPS)
CONVOLVE_TILE(convolve_row, 1, CONVOLVE_MOST) /* all there is: as many chains as hide an addition's latency */

static void CPUK_FN(convolve)(const cpuk_convolve_args *p) {
  static const struct {
    size_t rows;
    void (*run)(const cpuk_convolve_args *p, size_t row, const cpuk_convolve_strip *s);
  } tiles[] = {{6, convolve_6}, {4, convolve_4}, {2, convolve_2}, {1, convolve_1}};
  const size_t step = p->m == 1 ? CONVOLVE_MOST : CONVOLVE_STRIPS;
  for (size_t done = 0; done < p->n_strips; done += step) {
    const cpuk_convolve_strip *s = p->strips + done;
    cpuk_convolve_strip rest[CONVOLVE_MOST];
    if (p->n_strips - done < step) { /* the last one as often as fills the tile */
      for (size_t j = 0; j < step; j++) rest[j] = done + j < p->n_strips ? s[j] : p->strips[p->n_strips - 1];
      s = rest;
    }
    if (p->m == 1) {
      convolve_row(p, 0, s);
      continue;
    }
    size_t row = 0;
    for (size_t t = 0; row < p->m; row += tiles[t].rows) {
      while (p->m - row < tiles[t].rows) t++;
      tiles[t].run(p, row, s);
    }
  }
}
