/* backends/cpu/fft.c - one Stockham stage over the last dimension (tile op fft_stage): for every j the radix points
 * that lie N/r apart are twiddled and combined by a radix-r butterfly. Written for autovectorisation over runs of equal
 * twiddles. */
#include <math.h>
#include <string.h>

#include "backends/cpu/vm.h"

enum { MAX_RADIX = 16 };

typedef struct stage {
  int64_t n, span;
  int radix;
  double sign;
} stage;

static void cell(const stage *s, double angle, double *c, double *d) {
  *c = cos(angle);
  *d = s->sign * sin(angle);
}

/* y[p] = sum over q of x[q] * v^(p q), by the definition for each p with a table of the r-th roots. */
static void butterfly(const stage *s, const double *roots, const double *xr, const double *xi, double *yr, double *yi) {
  int r = s->radix;
  for (int p = 0; p < r; p++) {
    double a = 0, b = 0;
    for (int q = 0; q < r; q++) {
      int t = (p * q) % r;
      double c = roots[2 * t], d = roots[2 * t + 1];
      a += xr[q] * c - xi[q] * d;
      b += xr[q] * d + xi[q] * c;
    }
    yr[p] = a;
    yi[p] = b;
  }
}

#define STAGE(NAME, T)                                                                                           \
  static void NAME(const stage *s, const double *roots, const T *re, const T *im, T *ore, T *oim) {              \
    int64_t groups = s->n / s->radix;                                                                            \
    int r = s->radix;                                                                                            \
    for (int64_t k = 0; k < s->span; k++) {                                                                      \
      double tw[2 * MAX_RADIX], xr[MAX_RADIX], xi[MAX_RADIX], yr[MAX_RADIX], yi[MAX_RADIX];                      \
      for (int q = 0; q < r; q++)                                                                                \
        cell(s, -6.283185307179586476925 * (double)(q * k) / (double)(r * s->span), &tw[2 * q], &tw[2 * q + 1]); \
      for (int64_t j = k; j < groups; j += s->span) {                                                            \
        for (int q = 0; q < r; q++) {                                                                            \
          double a = re[j + q * groups], b = im[j + q * groups];                                                 \
          xr[q] = a * tw[2 * q] - b * tw[2 * q + 1];                                                             \
          xi[q] = a * tw[2 * q + 1] + b * tw[2 * q];                                                             \
        }                                                                                                        \
        butterfly(s, roots, xr, xi, yr, yi);                                                                     \
        int64_t at = j / s->span * s->span * r + k;                                                              \
        for (int p = 0; p < r; p++) {                                                                            \
          ore[at + p * s->span] = (T)yr[p];                                                                      \
          oim[at + p * s->span] = (T)yi[p];                                                                      \
        }                                                                                                        \
      }                                                                                                          \
    }                                                                                                            \
  }
STAGE(stage_f32, float)
STAGE(stage_f64, double)

void vm_fft(const vm *v, const cpu_instr *i) {
  const cpu_desc *ore = vm_desc(v, i->a[0]), *oim = vm_desc(v, i->a[1]), *re = vm_desc(v, i->a[2]),
                 *im = vm_desc(v, i->a[3]);
  stage s = {re->dims[re->rank - 1], i->imm, i->a[4], i->a[5] ? -1 : 1};
  double roots[2 * MAX_RADIX];
  if (s.radix < 2 || s.radix > MAX_RADIX || s.span < 1) return;
  for (int t = 0; t < s.radix; t++) cell(&s, -6.283185307179586476925 * t / s.radix, &roots[2 * t], &roots[2 * t + 1]);
  int64_t rows = 1;
  for (int k = 0; k < re->rank - 1; k++) rows *= re->dims[k];
  for (int64_t r = 0; r < rows; r++) {
    int64_t at = r * s.n;
    if (re->dtype == TSR_F64)
      stage_f64(&s, roots, (const double *)(void *)vm_base(v, re) + at, (const double *)(void *)vm_base(v, im) + at,
                (double *)(void *)vm_base(v, ore) + at, (double *)(void *)vm_base(v, oim) + at);
    else
      stage_f32(&s, roots, (const float *)(void *)vm_base(v, re) + at, (const float *)(void *)vm_base(v, im) + at,
                (float *)(void *)vm_base(v, ore) + at, (float *)(void *)vm_base(v, oim) + at);
  }
}
