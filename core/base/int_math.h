/* core/base/int_math.h - integer arithmetic of extents and tiles. Divisors and units are positive, and sums stay within
 * 64 bits: what may exceed them saturates where it is computed (core/tune/occupancy.c). */
#ifndef CORE_BASE_INT_MATH_H
#define CORE_BASE_INT_MATH_H
#include <stdint.h>

/* The smaller of two. */
static inline int64_t min64(int64_t a, int64_t b) { return a < b ? a : b; }
/* The larger of two. */
static inline int64_t max64(int64_t a, int64_t b) { return a > b ? a : b; }
/* v within least .. most; most counts where they cross. */
static inline int64_t clamp64(int64_t v, int64_t least, int64_t most) {
  return v > most ? most : v < least ? least : v;
}
/* How many pieces of b cover a. */
static inline int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
/* The least multiple of `to` that isn't below n. */
static inline int64_t round_up(int64_t n, int64_t to) { return ceil_div(n, to) * to; }
/* The least power of two that isn't below v; v is at most 2^62. */
static inline int64_t pow2_ceil(int64_t v) {
  int64_t p = 1;
  while (p < v) p *= 2;
  return p;
}
#endif
