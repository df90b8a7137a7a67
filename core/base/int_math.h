/* core/base/int_math.h - integer arithmetic of extents and tiles. Divisors and units are positive. Extents were checked
 * when the IR was verified; numbers that IR text alone vouches for go through the functions that wrap or saturate. */
#ifndef CORE_BASE_INT_MATH_H
#define CORE_BASE_INT_MATH_H
#include <stdbool.h>
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
static inline int64_t ceil_div(int64_t a, int64_t b) { return a / b + (a % b > 0); }
/* The least multiple of `to` that isn't below n. */
static inline int64_t round_up(int64_t n, int64_t to) { return ceil_div(n, to) * to; }
/* As a device computes in 64 bits: modulo 2^64. */
static inline int64_t wrap_add(int64_t a, int64_t b) { return (int64_t)((uint64_t)a + (uint64_t)b); }
static inline int64_t wrap_sub(int64_t a, int64_t b) { return (int64_t)((uint64_t)a - (uint64_t)b); }
static inline int64_t wrap_mul(int64_t a, int64_t b) { return (int64_t)((uint64_t)a * (uint64_t)b); }
/* How often a loop runs; its step is positive. */
static inline uint64_t loop_trips(int64_t from, int64_t to, int64_t step) {
  return to > from ? ((uint64_t)to - (uint64_t)from - 1) / (uint64_t)step + 1 : 0;
}
/* Where its counter stands when it ends; false: beyond 64 bits, so that `counter < to` holds for ever. */
static inline bool loop_end(int64_t from, int64_t to, int64_t step, int64_t *end) {
  const uint64_t whole = loop_trips(from, to, step) * (uint64_t)step; /* below 2^64 + step; wraps like the sum */
  *end = wrap_add(from, (int64_t)whole);
  return *end >= (to > from ? to : from);
}
/* The least power of two that isn't below v, 2^62 at most. */
static inline int64_t pow2_ceil(int64_t v) {
  int64_t p = 1;
  while (p < v && p < (int64_t)1 << 62) p *= 2;
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
