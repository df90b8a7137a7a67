/* The integer loops of the elementwise kernels, once for i32 and once for i64. Included by body_elementwise.h, whose
 * loop macros it uses. All arithmetic wraps: it is done on the unsigned type. */

#define INT_MEANINGS(p, T, U)                                                                        \
  static inline T p##_wrap(U x) { return (T)x; }                                                     \
  static inline T p##_div(T a, T b) { return b == 0 ? 0 : b == -1 ? p##_wrap((U)0 - (U)a) : a / b; } \
  static inline T p##_rem(T a, T b) { return b == 0 ? a : b == -1 ? 0 : a % b; }                     \
  static inline T p##_pow(T a, T b) {                                                                \
    if (b < 0) return a == 1 ? 1 : a == -1 ? ((b & 1) ? -1 : 1) : 0;                                 \
    U r = 1, x = (U)a;                                                                               \
    for (U e = (U)b; e != 0; e >>= 1, x *= x)                                                        \
      if (e & 1) r *= x;                                                                             \
    return p##_wrap(r);                                                                              \
  }

#define INT_LOOPS(p, T, U)                                                  \
  UNARY_LOOP(NEG_##p, T, p##_wrap((U)0 - (U)x))                             \
  UNARY_LOOP(ABS_##p, T, p##_wrap(x < 0 ? (U)0 - (U)x : (U)x))              \
  UNARY_LOOP(RELU_##p, T, x < 0 ? 0 : x)                                    \
  UNARY_LOOP(NOT_##p, T, ~x)                                                \
  BINARY_PLAIN(add_##p, T, p##_wrap((U)x + (U)y))                           \
  BINARY_PLAIN(sub_##p, T, p##_wrap((U)x - (U)y))                           \
  BINARY_PLAIN(mul_##p, T, p##_wrap((U)x * (U)y))                           \
  BINARY_PLAIN(mul_high_##p, T, p##_wrap((U)((uint64_t)(uint32_t)x * (uint32_t)y >> 32)))                \
  BINARY_PLAIN(div_##p, T, p##_div(x, y))                                   \
  BINARY_PLAIN(pow_##p, T, p##_pow(x, y))                                   \
  BINARY_PLAIN(min_##p, T, x < y ? x : y)                                   \
  BINARY_PLAIN(max_##p, T, x < y ? y : x)                                   \
  BINARY_PLAIN(rem_##p, T, p##_rem(x, y))                                   \
  BINARY_PLAIN(and_##p, T, x & y)                                           \
  BINARY_PLAIN(or_##p, T, x | y)                                            \
  BINARY_PLAIN(xor_##p, T, x ^ y)                                           \
  static void fma_##p(void *dst, const void *a, const void *b, const void *c, size_t n) {        \
    const T *q = a, *r = b, *s = c;                                                              \
    T *d = dst;                                                                                  \
    for (size_t i = 0; i < n; i++) d[i] = p##_wrap((U)q[i] * (U)r[i] + (U)s[i]);                 \
  }
INT_MEANINGS(i32, int32_t, uint32_t)
INT_MEANINGS(i64, int64_t, uint64_t)
INT_LOOPS(i32, int32_t, uint32_t)
INT_LOOPS(i64, int64_t, uint64_t)
