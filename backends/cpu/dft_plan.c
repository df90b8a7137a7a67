/* backends/cpu/dft_plan.c - see dft_plan.h. Numbers of points without a prime factor above 13 are split into radices;
 * others become convolutions (Bluestein, IEEE Trans. Audio Electroacoust. 18(4), 1970), whose transforms have no factor
 * above 5. */
#include "backends/cpu/dft_plan.h"

#include <math.h>
#include <string.h>

static size_t without(size_t n, size_t factor) {
  while (n % factor == 0) n /= factor;
  return n;
}

static bool is_smooth(size_t n) {
  static const size_t factors[] = {2, 3, 5, 7, 11, 13};
  for (size_t i = 0; i < sizeof factors / sizeof *factors; i++) n = without(n, factors[i]);
  return n == 1;
}

size_t dft_plan_length(size_t n) {
  static const size_t odd[] = {1, 3, 5, 9, 15};
  size_t best = 0;
  if (is_smooth(n)) return n;
  for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
    size_t m = odd[i];
    while (m < 2 * n - 1) m *= 2;
    if (!best || m < best) best = m;
  }
  return best;
}

/* exp(-pi i p / n), of an angle that is reduced as an integer before it is rounded. */
static void half_root(size_t p, size_t n, double out[2]) {
  const double a = -3.14159265358979323846 * (double)(p % (2 * n)) / (double)n;
  out[0] = cos(a), out[1] = sin(a);
}
static void root(size_t p, size_t n, double out[2]) { half_root(2 * (p % n), n, out); }

/* ---- tables ------------------------------------------------------------------------------------------------------ */

static size_t number_bytes(bool f64) { return f64 ? sizeof(double) : sizeof(float); }

static void put(void *table, bool f64, size_t i, double v) {
  if (f64) ((double *)table)[i] = v;
  else ((float *)table)[i] = (float)v;
}

static void *table(dft_plan *d, size_t bytes) {
  void *at = d->tables ? d->tables + d->used : NULL;
  d->used += (bytes + 63) / 64 * 64;
  return at;
}

/* The radices of length, largest powers of 2 first. */
static void choose_radices(cpuk_dft_plan *p, bool wide) {
  static const int odd[] = {13, 11, 7, 5, 3};
  size_t left = p->length;
  int twos = 0;
  p->n_stages = 0;
  for (; left % 2 == 0; left /= 2) twos++;
  while (twos > 0) {
    int k = twos == 4 && !wide ? 2 : twos <= 4 ? twos : wide && twos != 6 && twos != 9 ? 4 : 3;
    if (!wide && k == 4) k = 2;
    p->stage[p->n_stages++].radix = 1 << k;
    twos -= k;
  }
  for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
    for (; left % (size_t)odd[i] == 0; left /= (size_t)odd[i]) p->stage[p->n_stages++].radix = odd[i];
}

static void make_stages(dft_plan *d, bool f64) {
  cpuk_dft_plan *p = &d->p;
  size_t s = 1, left = p->length;
  for (int i = 0; i < p->n_stages; i++) {
    cpuk_dft_stage *g = &p->stage[i];
    const size_t r = (size_t)g->radix;
    g->s = s, g->m = left / r;
    void *w = table(d, 2 * (r - 1) * g->m * number_bytes(f64));
    for (size_t at = 0; w && at < (r - 1) * g->m; at++) {
      double v[2];
      root(at / (r - 1) * (at % (r - 1) + 1), left, v);
      put(w, f64, 2 * at, v[0]), put(w, f64, 2 * at + 1, v[1]);
    }
    g->w = w;
    s *= r, left /= r;
  }
}

static void make_twiddles(dft_plan *d, bool f64, size_t lanes) {
  cpuk_dft_plan *p = &d->p;
  const size_t all = p->n * p->twiddled;
  if (!p->twiddled) return;
  p->n_fine = (size_t)ceil(sqrt((double)all));
  const size_t n_coarse = all / p->n_fine + 1;
  double *fine = table(d, 2 * p->n_fine * sizeof *fine), *coarse = table(d, 2 * n_coarse * sizeof *coarse);
  void *beside = table(d, 2 * lanes * p->n * number_bytes(f64));
  for (size_t i = 0; fine && i < p->n_fine; i++) root(i, all, fine + 2 * i);
  for (size_t i = 0; fine && i < n_coarse; i++) root(i * p->n_fine, all, coarse + 2 * i);
  for (size_t k = 0; fine && k < p->n; k++)
    for (size_t lane = 0; lane < lanes; lane++) {
      double v[2];
      root(k * lane, all, v);
      put(beside, f64, 2 * lanes * k + lane, v[0]), put(beside, f64, 2 * lanes * k + lanes + lane, v[1]);
    }
  p->fine = fine, p->coarse = coarse, p->beside = beside;
}

/* The chirp, and the transform of its conjugate on a ring of `length` points, by a plan for those in f64. */
static bool make_chirps(dft_plan *d, const tsr_allocator *al, const cpuk_dft *k, bool f64) {
  cpuk_dft_plan *p = &d->p;
  if (p->length == p->n) return true;
  void *chirp = table(d, 2 * p->n * number_bytes(f64)), *spectrum = table(d, 2 * p->length * number_bytes(f64));
  if (!chirp) return true;
  p->chirp = chirp, p->spectrum = spectrum;
  const size_t pairs = 2 * p->length * sizeof(double), bytes = pairs + 64 + cpuk_dft_scratch_bytes(k, true, p->length);
  dft_plan *ring = dft_plan_create(al, k, true, p->length, 0);
  double *x = ring ? al_alloc(al, bytes, 64) : NULL;
  if (x) {
    memset(x, 0, pairs);
    for (size_t j = 0; j < p->n; j++) {
      double v[2], *ahead = x + 2 * j, *behind = x + 2 * ((p->length - j) % p->length);
      half_root(j * j, p->n, v);
      put(chirp, f64, 2 * j, v[0]), put(chirp, f64, 2 * j + 1, v[1]);
      ahead[0] = behind[0] = v[0], ahead[1] = behind[1] = -v[1];
    }
    const cpuk_dft_side side = {2, 1, (const ptrdiff_t[]){0}};
    k->lines[true](&(cpuk_dft_args){.plan = &ring->p, .x = x, .y = x, .in = side, .out = side, .n_lines = 1,
                                    .scale = 1 / (double)p->length, .scratch = (char *)x + (pairs + 63) / 64 * 64});
    for (size_t i = 0; i < 2 * p->length; i++) put(spectrum, f64, i, x[i]);
  }
  al_free(al, x, bytes, 64);
  dft_plan_destroy(al, &ring);
  return x != NULL;
}

static bool make(dft_plan *d, const tsr_allocator *al, const cpuk_dft *k, bool f64) {
  d->used = 0;
  make_stages(d, f64);
  make_twiddles(d, f64, (size_t)k->lanes[f64]);
  return make_chirps(d, al, k, f64);
}

dft_plan *dft_plan_create(const tsr_allocator *al, const cpuk_dft *k, bool f64, size_t n, size_t twiddled) {
  dft_plan *d = al_new(al, dft_plan);
  if (!d) return NULL;
  d->p = (cpuk_dft_plan){.n = n, .length = dft_plan_length(n), .twiddled = twiddled};
  choose_radices(&d->p, k->lanes[0] >= 16);
  make(d, al, k, f64); /* counts bytes */
  d->bytes = d->used + 64;
  d->tables = al_alloc(al, d->bytes, 64);
  if (!d->tables || !make(d, al, k, f64)) dft_plan_destroy(al, &d);
  return d;
}

void dft_plan_destroy(const tsr_allocator *al, dft_plan **dp) {
  dft_plan *d = *dp;
  if (!d) return;
  al_free(al, d->tables, d->bytes, 64);
  al_delete(al, d);
  *dp = NULL;
}
