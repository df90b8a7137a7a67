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
/* The greatest common divisor of two of any sign, 0 being a multiple of all: of 2^63 and 0 it is 2^62, as far as
 * accesses go. */
static inline int64_t gcd64(int64_t a, int64_t b) {
  uint64_t x = a < 0 ? 0 - (uint64_t)a : (uint64_t)a, y = b < 0 ? 0 - (uint64_t)b : (uint64_t)b;
  while (y) {
    uint64_t t = x % y;
    x = y, y = t;
  }
  return x > INT64_MAX ? (int64_t)1 << 62 : (int64_t)x;
}
#endif
