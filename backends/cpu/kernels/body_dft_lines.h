/* Lines through a plan, DFT_LANES at a time. Included by body_dft.h for each element type. */

/* v[k] times w[k], numbers that are the same for all lines; swap: and then real and imaginary parts change places. */
static void D(scale_by)(DFT_T *v, const DFT_T *w, size_t n, bool swap) {
  for (size_t k = 0; k < n; k++, v += 2 * DFT_LANES, w += 2) {
    const D(z) a = D(z_mul)(D(z_load)(v), DFT_SET1(w[0]), DFT_SET1(w[1]));
    D(z_store)(v, swap ? (D(z)){a.im, a.re} : a);
  }
}

/* Bluestein: exp(-2 pi i j k / n) has the exponent (j - k)^2 - j^2 - k^2, so that a transform is a convolution with a
 * chirp between two products with one; a's buffer and b's have plan->length elements. */
static DFT_T *D(convolve)(const cpuk_dft_plan *plan, DFT_T *a, DFT_T *b) {
  D(scale_by)(a, plan->chirp, plan->n, false);
  memset(a + plan->n * 2 * DFT_LANES, 0, (plan->length - plan->n) * 2 * DFT_LANES * sizeof *a);
  DFT_T *y = D(passes)(plan, a, b);
  D(scale_by)(y, plan->spectrum, plan->length, true);
  y = D(passes)(plan, y, y == a ? b : a);
  for (size_t k = 0; k < plan->n; k++) {
    DFT_T *p = y + k * 2 * DFT_LANES;
    const D(z) v = D(z_load)(p);
    D(z_store)(p, (D(z)){v.im, v.re});
  }
  D(scale_by)(y, plan->chirp, plan->n, false);
  return y;
}

static void D(scale)(DFT_T *v, DFT_T by, size_t n) {
  for (size_t k = 0; k < 2 * n; k++, v += DFT_LANES) DFT_STORE(v, DFT_LOAD(v) * by);
}

/* exp(-2 pi i e / all), rounded once. */
VINL void D(root)(const cpuk_dft_plan *plan, size_t e, DFT_T *re, DFT_T *im) {
  const double *c = plan->coarse + 2 * (e / plan->n_fine), *f = plan->fine + 2 * (e % plan->n_fine);
  *re = (DFT_T)(c[0] * f[0] - c[1] * f[1]);
  *im = (DFT_T)(c[0] * f[1] + c[1] * f[0]);
}

/* Number k of each line times exp(-2 pi i j k / (n m)), j the line's place of m. */
static void D(twiddle_any)(const cpuk_dft_args *q, DFT_T *v) {
  const cpuk_dft_plan *plan = q->plan;
  const size_t all = plan->n * plan->twiddled;
  size_t e[DFT_LANES] = {0};
  bool one = true;
  for (size_t i = 1; i < q->n_lines; i++) one &= q->place[i] == q->place[0];
  for (size_t k = 0; k < plan->n; k++, v += 2 * DFT_LANES) {
    DFT_T r[2 * DFT_LANES] = {0};
    for (size_t i = 0; i < (one ? 1 : q->n_lines); i++) {
      D(root)(plan, e[i], &r[i], &r[DFT_LANES + i]);
      e[i] += q->place[i];
      if (e[i] >= all) e[i] -= all;
    }
    const D(z) w = one ? (D(z)){DFT_SET1(r[0]), DFT_SET1(r[DFT_LANES])} : D(z_load)(r);
    D(z_store)(v, D(z_mul)(D(z_load)(v), w.re, w.im));
  }
}

/* The same of lines in neighbouring places: the root of the place that begins their group is looked up, the others
 * differ from it by the same factors in all groups. So a line's factors don't depend on how many are beside it. */
static void D(twiddle_row)(const cpuk_dft_args *q, DFT_T *v) {
  const cpuk_dft_plan *plan = q->plan;
  const size_t all = plan->n * plan->twiddled, aside = q->place[0] % DFT_LANES, group = q->place[0] - aside;
  const DFT_T *beside = (const DFT_T *)plan->beside + aside;
  for (size_t k = 0, e = 0; k < plan->n; k++, v += 2 * DFT_LANES, beside += 2 * DFT_LANES) {
    DFT_T re, im;
    D(root)(plan, e, &re, &im);
    const D(z) u = {DFT_LOAD_N(beside, q->n_lines), DFT_LOAD_N(beside + DFT_LANES, q->n_lines)},
               w = D(z_mul)(u, DFT_SET1(re), DFT_SET1(im));
    D(z_store)(v, D(z_mul)(D(z_load)(v), w.re, w.im));
    e += group;
    if (e >= all) e -= all;
  }
}

static void D(lines)(const cpuk_dft_args *q) {
  const cpuk_dft_plan *plan = q->plan;
  DFT_T *a = q->scratch, *b = a + plan->length * 2 * DFT_LANES;
  D(load)(q, a);
  DFT_T *y = plan->chirp ? D(convolve)(plan, a, b) : D(passes)(plan, a, b);
  if (plan->twiddled && q->in_row) D(twiddle_row)(q, y);
  else if (plan->twiddled) D(twiddle_any)(q, y);
  if (q->scale != 1) D(scale)(y, (DFT_T)q->scale, plan->n);
  D(store)(q, y);
}
