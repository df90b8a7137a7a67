/* core/ir/graph/ops/fourier.c - see fourier.h. The transform is a plain one of mixed radices. */
#include "core/ir/graph/ops/fourier.h"

#include <math.h>
#include <string.h>

#include "core/ir/graph/ops/row.h"

#define PI 3.14159265358979323846

static int64_t smallest_factor(int64_t n) {
  for (int64_t f = 2; f * f <= n; f++)
    if (n % f == 0) return f;
  return n;
}

/* y[k] = sum over j of x[j stride] exp(sign 2 pi i j k / n), with the roots of all n stride points in a table; z is
 * scratch for n numbers. */
static void mixed_radix(const double (*roots)[2], const double (*x)[2], int64_t n, int64_t stride, double (*y)[2],
                        double (*z)[2]) {
  const int64_t r = smallest_factor(n), m = n / r;
  if (n == 1) {
    y[0][0] = x[0][0], y[0][1] = x[0][1];
    return;
  }
  for (int64_t q = 0; q < r; q++) mixed_radix(roots, x + q * stride, m, stride * r, z + q * m, y + q * m);
  for (int64_t k = 0; k < n; k++) {
    double re = 0, im = 0;
    for (int64_t q = 0; q < r; q++) {
      const double *w = roots[q * k % n * stride], *v = z[q * m + k % m];
      re += v[0] * w[0] - v[1] * w[1];
      im += v[0] * w[1] + v[1] * w[0];
    }
    y[k][0] = re, y[k][1] = im;
  }
}

void fourier_root(int64_t p, int64_t n, double out[2]) {
  const double a = 2 * PI * (double)(p % n) / (double)n;
  out[0] = cos(a), out[1] = sin(a);
}

bool fourier_transform(const tsr_allocator *al, double (*x)[2], int64_t n, int sign) {
  const size_t bytes = (size_t)n * 3 * sizeof *x;
  double(*y)[2] = al_alloc(al, bytes, 16), (*roots)[2] = y ? y + 2 * n : NULL;
  if (!y) return false;
  for (int64_t k = 0; k < n; k++) fourier_root(k, n, roots[k]), roots[k][1] *= sign;
  mixed_radix((const double(*)[2])roots, (const double(*)[2])x, n, 1, y, y + n);
  memcpy(x, y, (size_t)n * sizeof *y);
  al_free(al, y, bytes, 16);
  return true;
}

/* ---- tolerances ------------------------------------------------------------------------------------------------ */

void fourier_sums_add(fourier_sums *s, double weight, double v, double carried) {
  s->finite &= isfinite(v) && carried < INFINITY;
  s->abs += weight * fabs(v);
  s->square += weight * weight * v * v;
  s->error += weight * weight * carried * carried;
}

/* A part of the result is a sum of 2 n products of a part and a sine, each of magnitude `abs` at most together: the
 * bound of such sums (ir/graph/eval.h), whether they are added in one or in several passes. What several passes add:
 * each rounds its numbers once more, after the twiddle factors, twice; their norm is that of the input times the root
 * of the pass's points, so that an element is off by no more than the norm of the whole result. The convolution of
 * large primes has two transforms of up to 4 n points and three such products. */
double fourier_own_error(const fourier_sums *s, tsr_dtype t, double scale, double rounding_of_zero) {
  const double unit = num_unit(t), n = s->n, passes = 1 + log2(4 * n);
  if (!s->finite || s->abs >= dtype_get(t == TSR_F64 ? TSR_F64 : TSR_F32)->max / 4) return INFINITY;
  return scale * unit * (2 * sqrt(2 * n) * s->abs + 4 * passes * sqrt(2 * n * s->square)) + n * rounding_of_zero;
}

double fourier_inherited(const fourier_sums *s, double scale, double v) {
  const double common = s->square > 0 ? 0.5 * sqrt(s->error / s->square) * fabs(v) : 0; /* as num_sum_inherited */
  return hypot(scale * sqrt(s->error), common);
}
