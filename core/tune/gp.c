/* core/tune/gp.c - see gp.h. The signal variance is profiled out in closed form, so only lengths and the noise share
 * are searched. Everything is n^3 of n <= 256 and runs in one preallocated block. */
#include "core/tune/gp.h"

#include <math.h>
#include <string.h>

struct gp {
  tsr_allocator al;
  size_t bytes;
  int dim, cap, n;
  double length[GP_MAX_DIM];
  double noise;               /* share of the signal variance on the diagonal */
  double shift, scale, signal; /* y = shift + scale * z; signal variance of z */
  double log_likelihood;
  double *x, *y, *chol, *alpha, *work;
};

static const double length_grid[] = {0.15, 0.3, 0.6, 1.2, 2.5, 6.0};
static const double noise_grid[] = {1e-6, 1e-4, 1e-3, 1e-2, 5e-2};
enum { N_LENGTHS = sizeof length_grid / sizeof *length_grid, N_NOISES = sizeof noise_grid / sizeof *noise_grid };

tsr_status gp_create(const tsr_allocator *al, int dim, int cap, gp **out) {
  *out = NULL;
  if (dim < 1 || dim > GP_MAX_DIM || cap < 1)
    return st_make(al, TSR_INVALID_ARGUMENT, ST_WHERE("tune", "gp", NULL), "%d dimensions, %d points", dim, cap);
  size_t doubles = (size_t)cap * ((size_t)dim + 3) + (size_t)cap * (size_t)cap;
  size_t bytes = sizeof(gp) + doubles * sizeof(double);
  gp *g = al_zalloc(al, bytes);
  if (!g) return st_oom();
  g->al = al && al->alloc ? *al : al_default;
  g->bytes = bytes;
  g->dim = dim;
  g->cap = cap;
  g->x = (double *)(g + 1);
  g->y = g->x + (size_t)cap * (size_t)dim;
  g->alpha = g->y + cap;
  g->work = g->alpha + cap;
  g->chol = g->work + cap;
  *out = g;
  return NULL;
}

void gp_destroy(gp **g) {
  if (!*g) return;
  tsr_allocator al = (*g)->al;
  al_free(&al, *g, (*g)->bytes, 16);
  *g = NULL;
}

bool gp_add(gp *g, const double *x, double y) {
  if (g->n == g->cap || !isfinite(y)) return false;
  memcpy(g->x + (size_t)g->n * (size_t)g->dim, x, (size_t)g->dim * sizeof *x);
  g->y[g->n++] = y;
  return true;
}

double gp_log_likelihood(const gp *g) { return g->log_likelihood; }
const double *gp_lengths(const gp *g) { return g->length; }

static double kernel(const gp *g, const double *a, const double *b) {
  double r2 = 0;
  for (int i = 0; i < g->dim; i++) {
    double d = (a[i] - b[i]) / g->length[i];
    r2 += d * d;
  }
  double r = sqrt(5 * r2);
  return (1 + r + 5.0 / 3.0 * r2) * exp(-r);
}

static void standardise(gp *g) {
  double sum = 0, sq = 0;
  for (int i = 0; i < g->n; i++) sum += g->y[i];
  g->shift = sum / g->n;
  for (int i = 0; i < g->n; i++) sq += (g->y[i] - g->shift) * (g->y[i] - g->shift);
  g->scale = sq > 0 ? sqrt(sq / g->n) : 1;
}

/* L L^T = R + noise I with the current lengths; alpha = (R + noise I)^-1 z; profile likelihood. */
static bool factorise(gp *g) {
  int n = g->n;
  double *L = g->chol, log_det = 0, quad = 0;
  for (int i = 0; i < n; i++) {
    const double *xi = g->x + (size_t)i * (size_t)g->dim;
    for (int j = 0; j <= i; j++) {
      double s = i == j ? 1 + g->noise + 1e-9 : kernel(g, xi, g->x + (size_t)j * (size_t)g->dim);
      const double *Li = L + (size_t)i * (size_t)g->cap, *Lj = L + (size_t)j * (size_t)g->cap;
      for (int k = 0; k < j; k++) s -= Li[k] * Lj[k];
      if (i != j) L[(size_t)i * (size_t)g->cap + (size_t)j] = s / Lj[j];
      else if (s <= 0) return false;
      else L[(size_t)i * (size_t)g->cap + (size_t)i] = sqrt(s);
    }
    log_det += log(L[(size_t)i * (size_t)g->cap + (size_t)i]);
  }
  for (int i = 0; i < n; i++) { /* forward */
    double s = (g->y[i] - g->shift) / g->scale;
    for (int k = 0; k < i; k++) s -= L[(size_t)i * (size_t)g->cap + (size_t)k] * g->alpha[k];
    g->alpha[i] = s / L[(size_t)i * (size_t)g->cap + (size_t)i];
    quad += g->alpha[i] * g->alpha[i];
  }
  for (int i = n; i-- > 0;) { /* backward */
    double s = g->alpha[i];
    for (int k = i + 1; k < n; k++) s -= L[(size_t)k * (size_t)g->cap + (size_t)i] * g->alpha[k];
    g->alpha[i] = s / L[(size_t)i * (size_t)g->cap + (size_t)i];
  }
  g->signal = quad / n > 1e-12 ? quad / n : 1e-12;
  g->log_likelihood = -0.5 * n * log(g->signal) - log_det;
  return true;
}

/* Likelihood plus a weak prior: lengths near 1 (a smooth knob), noise near 1e-3. Few points should not overfit. */
static double score(gp *g) {
  if (!factorise(g)) return -INFINITY;
  double s = g->log_likelihood, ln = log(g->noise / 1e-3);
  for (int i = 0; i < g->dim; i++) {
    double l = log(g->length[i]);
    s -= 0.5 * l * l;
  }
  return s - 0.02 * ln * ln;
}

/* Best grid value of one hyper-parameter, the others held. */
static double improve(gp *g, double *param, const double *grid, int n, double best) {
  double keep = *param, chosen = keep;
  for (int i = 0; i < n; i++) {
    if (grid[i] == keep) continue;
    *param = grid[i];
    double s = score(g);
    if (s <= best + 1e-12) continue;
    best = s;
    chosen = grid[i];
  }
  *param = chosen;
  return best;
}

bool gp_fit(gp *g) {
  enum { SWEEPS = 3 };
  if (!g->n) return false;
  standardise(g);
  double best = -INFINITY, best_length = 1.2;
  g->noise = 1e-3;
  for (int i = 0; i < N_LENGTHS; i++) { /* one length for all as the start */
    for (int d = 0; d < g->dim; d++) g->length[d] = length_grid[i];
    double s = score(g);
    if (s <= best) continue;
    best = s;
    best_length = length_grid[i];
  }
  for (int d = 0; d < g->dim; d++) g->length[d] = best_length;
  for (int sweep = 0; sweep < SWEEPS && g->n > 2; sweep++) {
    double before = best;
    for (int d = 0; d < g->dim; d++) best = improve(g, &g->length[d], length_grid, N_LENGTHS, best);
    best = improve(g, &g->noise, noise_grid, N_NOISES, best);
    if (best <= before + 1e-6) break;
  }
  return factorise(g);
}

bool gp_fit_fixed(gp *g, const double *lengths, double noise) {
  if (!g->n) return false;
  standardise(g);
  memcpy(g->length, lengths, (size_t)g->dim * sizeof *lengths);
  g->noise = noise;
  return factorise(g);
}

void gp_predict(const gp *g, const double *x, double *mean, double *variance) {
  double m = 0, reduce = 0, *v = g->work;
  for (int i = 0; i < g->n; i++) {
    double k = kernel(g, x, g->x + (size_t)i * (size_t)g->dim), s = k;
    const double *Li = g->chol + (size_t)i * (size_t)g->cap;
    m += k * g->alpha[i];
    for (int j = 0; j < i; j++) s -= Li[j] * v[j];
    v[i] = s / Li[i];
    reduce += v[i] * v[i];
  }
  double var = g->signal * (1 - reduce);
  *mean = g->shift + g->scale * m;
  *variance = var > 0 ? g->scale * g->scale * var : 0;
}

double gp_expected_improvement(double mean, double variance, double best) {
  double sd = sqrt(variance);
  if (sd < 1e-12) return mean < best ? best - mean : 0;
  double z = (best - mean) / sd;
  double cdf = 0.5 * erfc(-z * 0.70710678118654752440), pdf = 0.39894228040143267794 * exp(-0.5 * z * z);
  double ei = (best - mean) * cdf + sd * pdf;
  return ei > 0 ? ei : 0;
}
