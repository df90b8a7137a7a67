/* core/base/sample.h - measured values: put in order, and the one in the middle. */
#ifndef CORE_BASE_SAMPLE_H
#define CORE_BASE_SAMPLE_H
#include <stddef.h>
#include <stdlib.h>

static inline int sample_compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}
/* Ascending, in place. */
static inline void sample_sort(double *v, size_t n) {
  if (n) qsort(v, n, sizeof *v, sample_compare);
}
/* Of values in order; between the two in the middle where n is even; 0 of none. */
static inline double sample_median(const double *v, size_t n) {
  return !n ? 0 : n % 2 ? v[n / 2] : 0.5 * (v[n / 2 - 1] + v[n / 2]);
}
#endif
