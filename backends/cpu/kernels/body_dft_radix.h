/* Butterflies of the transforms' passes: v[k] = sum over j of v[j] exp(-2 pi i j k / r), on vectors of complex numbers.
 * Included by body_dft.h once for each element type, which DFT_T, DFT_V and D name. */

typedef struct D(z) {
  DFT_V re, im;
} D(z);

VINL D(z) D(z_add)(D(z) a, D(z) b) { return (D(z)){a.re + b.re, a.im + b.im}; }
VINL D(z) D(z_sub)(D(z) a, D(z) b) { return (D(z)){a.re - b.re, a.im - b.im}; }
/* a + i b and a - i b */
VINL D(z) D(z_add_i)(D(z) a, D(z) b) { return (D(z)){a.re - b.im, a.im + b.re}; }
VINL D(z) D(z_sub_i)(D(z) a, D(z) b) { return (D(z)){a.re + b.im, a.im - b.re}; }
VINL D(z) D(z_mul)(D(z) a, DFT_V re, DFT_V im) {
  return (D(z)){DFT_FMA(-a.im, im, a.re * re), DFT_FMA(a.im, re, a.re * im)};
}
VINL D(z) D(z_load)(const DFT_T *p) { return (D(z)){DFT_LOAD(p), DFT_LOAD(p + DFT_LANES)}; }
VINL void D(z_store)(DFT_T *p, D(z) a) {
  DFT_STORE(p, a.re);
  DFT_STORE(p + DFT_LANES, a.im);
}

VINL void D(radix2)(D(z) *v) {
  const D(z) a = v[0];
  v[0] = D(z_add)(a, v[1]);
  v[1] = D(z_sub)(a, v[1]);
}

VINL void D(radix4)(D(z) *v) {
  const D(z) a = D(z_add)(v[0], v[2]), b = D(z_sub)(v[0], v[2]), c = D(z_add)(v[1], v[3]), d = D(z_sub)(v[1], v[3]);
  v[0] = D(z_add)(a, c);
  v[1] = D(z_sub_i)(b, d);
  v[2] = D(z_sub)(a, c);
  v[3] = D(z_add_i)(b, d);
}

VINL void D(radix8)(D(z) *v) {
  const DFT_V root = DFT_SET1((DFT_T)0.70710678118654752440);
  D(z) a[4] = {v[0], v[2], v[4], v[6]}, b[4] = {v[1], v[3], v[5], v[7]};
  D(radix4)(a);
  D(radix4)(b);
  b[1] = (D(z)){(b[1].re + b[1].im) * root, (b[1].im - b[1].re) * root};
  b[3] = (D(z)){(b[3].im - b[3].re) * root, -(b[3].re + b[3].im) * root};
  v[0] = D(z_add)(a[0], b[0]), v[4] = D(z_sub)(a[0], b[0]);
  v[1] = D(z_add)(a[1], b[1]), v[5] = D(z_sub)(a[1], b[1]);
  v[2] = D(z_sub_i)(a[2], b[2]), v[6] = D(z_add_i)(a[2], b[2]);
  v[3] = D(z_add)(a[3], b[3]), v[7] = D(z_sub)(a[3], b[3]);
}

/* Four times four. */
VINL void D(radix16)(D(z) *v) {
  static const DFT_T c[10] = {1, (DFT_T)0.92387953251128675613, (DFT_T)0.70710678118654752440,
                              (DFT_T)0.38268343236508977173, 0, (DFT_T)-0.38268343236508977173,
                              (DFT_T)-0.70710678118654752440, (DFT_T)-0.92387953251128675613, -1,
                              (DFT_T)-0.92387953251128675613};
  static const DFT_T s[10] = {0, (DFT_T)-0.38268343236508977173, (DFT_T)-0.70710678118654752440,
                              (DFT_T)-0.92387953251128675613, -1, (DFT_T)-0.92387953251128675613,
                              (DFT_T)-0.70710678118654752440, (DFT_T)-0.38268343236508977173, 0,
                              (DFT_T)0.38268343236508977173};
  D(z) a[4][4];
  CPUK_UNROLL for (int j = 0; j < 4; j++) {
    D(z) u[4] = {v[j], v[j + 4], v[j + 8], v[j + 12]};
    D(radix4)(u);
    CPUK_UNROLL for (int k = 0; k < 4; k++)
      a[k][j] = j && k ? D(z_mul)(u[k], DFT_SET1(c[j * k]), DFT_SET1(s[j * k])) : u[k];
  }
  CPUK_UNROLL for (int k = 0; k < 4; k++) {
    D(radix4)(a[k]);
    CPUK_UNROLL for (int j = 0; j < 4; j++) v[k + 4 * j] = a[k][j];
  }
}

/* An odd prime: numbers that are conjugate to one another share their products. */
VINL void D(odd)(D(z) *v, const int r, const double (*root)[2]) {
  D(z) sum[6], difference[6], first = v[0];
  CPUK_UNROLL for (int j = 1; j <= r / 2; j++) {
    sum[j - 1] = D(z_add)(v[j], v[r - j]);
    difference[j - 1] = D(z_sub)(v[j], v[r - j]);
    v[0] = D(z_add)(v[0], sum[j - 1]);
  }
  CPUK_UNROLL for (int k = 1; k <= r / 2; k++) {
    D(z) a = first, b = {DFT_SET1(0), DFT_SET1(0)};
    CPUK_UNROLL for (int j = 1; j <= r / 2; j++) {
      const DFT_V c = DFT_SET1((DFT_T)root[j * k % r][0]), s = DFT_SET1((DFT_T)root[j * k % r][1]);
      a = (D(z)){DFT_FMA(c, sum[j - 1].re, a.re), DFT_FMA(c, sum[j - 1].im, a.im)};
      b = (D(z)){DFT_FMA(s, difference[j - 1].re, b.re), DFT_FMA(s, difference[j - 1].im, b.im)};
    }
    v[k] = D(z_sub_i)(a, b);
    v[r - k] = D(z_add_i)(a, b);
  }
}
VINL void D(radix3)(D(z) *v) { D(odd)(v, 3, dft_roots3); }
VINL void D(radix5)(D(z) *v) { D(odd)(v, 5, dft_roots5); }
VINL void D(radix7)(D(z) *v) { D(odd)(v, 7, dft_roots7); }
VINL void D(radix11)(D(z) *v) { D(odd)(v, 11, dft_roots11); }
VINL void D(radix13)(D(z) *v) { D(odd)(v, 13, dft_roots13); }

/* y[q + s (r p + k)] = exp(-2 pi i p k / (r m)) sum over j of x[q + s (p + m j)] exp(-2 pi i j k / r), q < s, p < m
 * (Stockham: results are in order after the last pass). */
#define DFT_PASS(R)                                                                                       \
  VINL void D(pass##R##_of)(const cpuk_dft_stage *g, const DFT_T *x, DFT_T *y, const bool twiddled) {      \
    const size_t leg = g->s * g->m * 2 * DFT_LANES, out = g->s * 2 * DFT_LANES;                            \
    const DFT_T *w = g->w;                                                                                \
    for (size_t p = 0; p < g->m; p++, w += 2 * (R - 1))                                                   \
      for (size_t q = 0; q < g->s; q++) {                                                                 \
        const DFT_T *from = x + (q + g->s * p) * 2 * DFT_LANES;                                           \
        DFT_T *to = y + (q + g->s * R * p) * 2 * DFT_LANES;                                               \
        D(z) v[R];                                                                                        \
        CPUK_UNROLL for (int k = 0; k < R; k++) v[k] = D(z_load)(from + (size_t)k * leg);                 \
        D(radix##R)(v);                                                                                   \
        D(z_store)(to, v[0]);                                                                             \
        CPUK_UNROLL for (int k = 1; k < R; k++) {                                                         \
          if (twiddled) v[k] = D(z_mul)(v[k], DFT_SET1(w[2 * k - 2]), DFT_SET1(w[2 * k - 1]));            \
          D(z_store)(to + (size_t)k * out, v[k]);                                                         \
        }                                                                                                 \
      }                                                                                                   \
  }                                                                                                       \
  static void D(pass##R)(const cpuk_dft_stage *g, const DFT_T *x, DFT_T *y) {                              \
    if (g->m == 1) D(pass##R##_of)(g, x, y, false);                                                       \
    else D(pass##R##_of)(g, x, y, true);                                                                  \
  }
DFT_PASS(2)
DFT_PASS(3)
DFT_PASS(4)
DFT_PASS(5)
DFT_PASS(7)
DFT_PASS(8)
DFT_PASS(11)
DFT_PASS(13)
DFT_PASS(16)
#undef DFT_PASS

/* All passes, from a to b and back; where the result is. */
static DFT_T *D(passes)(const cpuk_dft_plan *plan, DFT_T *a, DFT_T *b) {
  static void (*const pass[CPUK_DFT_MOST_RADIX + 1])(const cpuk_dft_stage *g, const DFT_T *x, DFT_T *y) = {
      [2] = D(pass2), [3] = D(pass3),   [4] = D(pass4),   [5] = D(pass5),  [7] = D(pass7),
      [8] = D(pass8), [11] = D(pass11), [13] = D(pass13), [16] = D(pass16)};
  for (int i = 0; i < plan->n_stages; i++) {
    pass[plan->stage[i].radix](&plan->stage[i], a, b);
    DFT_T *t = a;
    a = b, b = t;
  }
  return a;
}
