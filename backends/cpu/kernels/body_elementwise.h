/* Elementwise kernels over strips. Included once per instruction set, after body_math.h.
 *
 * f32 is written with vectors; f64, the integers and bool are plain loops over a scalar expression, which the compiler
 * vectorises where it can. */

/* ---- scalar meanings ---- */

static inline double f64_max(double a, double b) { return a != a || a > b ? a : b; }
static inline double f64_min(double a, double b) { return a != a || a < b ? a : b; }
static inline double f64_sigmoid(double x) {
  double e = exp(-fabs(x));
  return (x < 0 ? e : 1) / (1 + e);
}
static inline double f64_gelu(double x) {
  return isinf(x) ? (x > 0 ? x : -0.0) : 0.5 * x * erfc(-x * 0.70710678118654752440);
}
static inline double f64_gelu_tanh(double x) {
  return isinf(x) ? (x > 0 ? x : -0.0) : x * f64_sigmoid(1.5957691216057307117 * (x + 0.044715 * x * x * x));
}

/* ---- unary ---- */

#define UNARY_F32(name, expr)                                         \
  static void name##_f32(void *dst, const void *a, size_t n) {        \
    const float *p = a;                                               \
    float *d = dst;                                                   \
    size_t i = 0;                                                     \
    for (; i + VF <= n; i += VF) {                                    \
      vf x = v_load(p + i);                                           \
      v_store(d + i, expr);                                           \
    }                                                                 \
    if (i < n) {                                                      \
      vf x = v_load_n(p + i, n - i);                                  \
      v_store_n(d + i, expr, n - i);                                  \
    }                                                                 \
  }
#define UNARY_LOOP(name, T, expr)                              \
  static void name(void *dst, const void *a, size_t n) {       \
    const T *p = a;                                            \
    T *d = dst;                                                \
    for (size_t i = 0; i < n; i++) {                           \
      T x = p[i];                                              \
      d[i] = (T)(expr);                                        \
    }                                                          \
  }
#define UNARY_FLOAT(name, f32_expr, f64_expr) UNARY_F32(name, f32_expr) UNARY_LOOP(name##_f64, double, f64_expr)

/* X(CODE, f32, f64) of those on floats alone, and of those on integers too (body_integers.h has these). */
#define UNARY_FLOATS(X)                                                                     \
  X(EXP, v_exp(x), exp(x))                                                                  \
  X(LOG, v_log(x), log(x))                                                                  \
  X(SQRT, v_sqrt(x), sqrt(x))                                                               \
  X(RSQRT, v_rsqrt(x), 1 / sqrt(x))                                                         \
  X(TANH, v_tanh(x), tanh(x))                                                               \
  X(ERF, v_erf(x), erf(x))                                                                  \
  X(SIGMOID, v_sigmoid(x), f64_sigmoid(x))                                                  \
  X(GELU, v_gelu(x), f64_gelu(x))                                                           \
  X(GELU_TANH, v_gelu_tanh(x), f64_gelu_tanh(x))                                            \
  X(SILU, v_finite(x) * v_sigmoid(v_finite(x)), x == -INFINITY ? -0.0 : x * f64_sigmoid(x)) \
  X(SIN, v_sin(x), sin(x))                                                                  \
  X(COS, v_cos(x), cos(x))                                                                  \
  X(FLOOR, v_floor(x), floor(x))                                                            \
  X(ROUND, v_rint(x), rint(x))
/* Errors: kernels.h; of SILU 3.5 ulp, + 2^-140 where its sigmoid is denormal. */
#define UNARY_NUMBERS(X)           \
  X(NEG, v_neg(x), -x)             \
  X(ABS, v_abs(x), fabs(x))        \
  X(RELU, v_relu(x), x <= 0 ? 0 : x)
UNARY_FLOATS(UNARY_FLOAT)
UNARY_NUMBERS(UNARY_FLOAT)
UNARY_LOOP(not_bool, uint8_t, x == 0)

/* ---- binary ---- */

/* One body for the three forms: a_step and b_step are constants, 0 for a scalar. */
#define BINARY_F32(name, expr)                                                                                         \
  VINL void name##_f32_body(float *d, const float *p, const float *q, size_t n, const int a_scalar,                    \
                            const int b_scalar) {                                                                      \
    vf as = v_set1(a_scalar ? p[0] : 0), bs = v_set1(b_scalar ? q[0] : 0);                                             \
    size_t i = 0;                                                                                                      \
    for (; i + VF <= n; i += VF) {                                                                                     \
      vf x = a_scalar ? as : v_load(p + i), y = b_scalar ? bs : v_load(q + i);                                         \
      v_store(d + i, expr);                                                                                            \
    }                                                                                                                  \
    if (i < n) {                                                                                                       \
      vf x = a_scalar ? as : v_load_n(p + i, n - i), y = b_scalar ? bs : v_load_n(q + i, n - i);                       \
      v_store_n(d + i, expr, n - i);                                                                                   \
    }                                                                                                                  \
  }                                                                                                                    \
  static void name##_f32(void *d, const void *a, const void *b, size_t n) { name##_f32_body(d, a, b, n, 0, 0); }       \
  static void name##_f32_vs(void *d, const void *a, const void *b, size_t n) {                                         \
    if (n) name##_f32_body(d, a, b, n, 0, 1);                                                                          \
  }                                                                                                                    \
  static void name##_f32_sv(void *d, const void *a, const void *b, size_t n) {                                         \
    if (n) name##_f32_body(d, a, b, n, 1, 0);                                                                          \
  }

#define BINARY_LOOP(name, T, TO, expr)                                                                             \
  VINL void name##_body(TO *d, const T *p, const T *q, size_t n, const int a_scalar, const int b_scalar) {         \
    T as = 0, bs = 0;                                                                                              \
    if (n == 0) return;                                                                                            \
    if (a_scalar) as = p[0];                                                                                       \
    if (b_scalar) bs = q[0];                                                                                       \
    for (size_t i = 0; i < n; i++) {                                                                               \
      T x = a_scalar ? as : p[i], y = b_scalar ? bs : q[i];                                                        \
      d[i] = (TO)(expr);                                                                                           \
    }                                                                                                              \
  }                                                                                                                \
  static void name(void *d, const void *a, const void *b, size_t n) { name##_body(d, a, b, n, 0, 0); }             \
  static void name##_vs(void *d, const void *a, const void *b, size_t n) { name##_body(d, a, b, n, 0, 1); }
#define BINARY_LOOP_SV(name) \
  static void name##_sv(void *d, const void *a, const void *b, size_t n) { name##_body(d, a, b, n, 1, 0); }
#define BINARY_PLAIN(name, T, expr) BINARY_LOOP(name, T, T, expr) BINARY_LOOP_SV(name)

BINARY_F32(add, x + y)
BINARY_F32(sub, x - y)
BINARY_F32(mul, x *y)
BINARY_F32(div, x / y)
BINARY_F32(min, v_min(x, y))
BINARY_F32(max, v_max(x, y))
BINARY_PLAIN(pow_f32, float, powf(x, y))
BINARY_PLAIN(rem_f32, float, fmodf(x, y))
BINARY_PLAIN(add_f64, double, x + y)
BINARY_PLAIN(sub_f64, double, x - y)
BINARY_PLAIN(mul_f64, double, x *y)
BINARY_PLAIN(div_f64, double, x / y)
BINARY_PLAIN(pow_f64, double, pow(x, y))
BINARY_PLAIN(min_f64, double, f64_min(x, y))
BINARY_PLAIN(max_f64, double, f64_max(x, y))
BINARY_PLAIN(rem_f64, double, fmod(x, y))
BINARY_PLAIN(and_bool, uint8_t, (x != 0) & (y != 0))
BINARY_PLAIN(or_bool, uint8_t, (x != 0) | (y != 0))
BINARY_PLAIN(xor_bool, uint8_t, (x != 0) ^ (y != 0))

#include "body_integers.h"

#define BINARY_ROWS(suffix)                                                                            \
  {                                                                                                    \
    [SC_ADD] = {add_f32##suffix, add_f64##suffix, add_i32##suffix, or_bool##suffix, add_i64##suffix},  \
    [SC_SUB] = {sub_f32##suffix, sub_f64##suffix, sub_i32##suffix, NULL, sub_i64##suffix},             \
    [SC_MUL] = {mul_f32##suffix, mul_f64##suffix, mul_i32##suffix, and_bool##suffix, mul_i64##suffix}, \
    [SC_DIV] = {div_f32##suffix, div_f64##suffix, div_i32##suffix, NULL, div_i64##suffix},             \
    [SC_POW] = {pow_f32##suffix, pow_f64##suffix, pow_i32##suffix, NULL, pow_i64##suffix},             \
    [SC_MIN] = {min_f32##suffix, min_f64##suffix, min_i32##suffix, and_bool##suffix, min_i64##suffix}, \
    [SC_MAX] = {max_f32##suffix, max_f64##suffix, max_i32##suffix, or_bool##suffix, max_i64##suffix},  \
    [SC_REM] = {rem_f32##suffix, rem_f64##suffix, rem_i32##suffix, NULL, rem_i64##suffix},             \
    [SC_AND] = {NULL, NULL, and_i32##suffix, and_bool##suffix, and_i64##suffix}, [SC_OR] = {NULL, NULL, or_i32##suffix, or_bool##suffix, or_i64##suffix}, \
    [SC_MUL_HIGH] = {NULL, NULL, mul_high_i32##suffix, NULL, mul_high_i64##suffix},                    \
    [SC_XOR] = {NULL, NULL, xor_i32##suffix, xor_bool##suffix, xor_i64##suffix},                       \
  }
#define UNARY_FLOAT_ROW(CODE, f32, f64) [SC_##CODE] = {CODE##_f32, CODE##_f64},
#define UNARY_NUMBER_ROW(CODE, f32, f64) [SC_##CODE] = {CODE##_f32, CODE##_f64, CODE##_i32, NULL, CODE##_i64},
#define UNARY_ROWS \
  { UNARY_FLOATS(UNARY_FLOAT_ROW) UNARY_NUMBERS(UNARY_NUMBER_ROW) [SC_NOT] = {NULL, NULL, NOT_i32, not_bool, NOT_i64} }

/* ---- compare, select, fma ---- */

#define CMP_F32(name, expr)                                                                                     \
  VINL void name##_f32_body(uint8_t *d, const float *p, const float *q, size_t n, const int b_scalar) {         \
    vf bs = v_set1(b_scalar ? q[0] : 0);                                                                        \
    size_t i = 0;                                                                                               \
    for (; i + VF <= n; i += VF) {                                                                              \
      vf x = v_load(p + i), y = b_scalar ? bs : v_load(q + i);                                                  \
      vm_store_u8(d + i, expr);                                                                                 \
    }                                                                                                           \
    if (i < n) {                                                                                                \
      uint8_t t[VF];                                                                                            \
      vf x = v_load_n(p + i, n - i), y = b_scalar ? bs : v_load_n(q + i, n - i);                                \
      vm_store_u8(t, expr);                                                                                     \
      memcpy(d + i, t, n - i);                                                                                  \
    }                                                                                                           \
  }                                                                                                             \
  static void name##_f32(void *d, const void *a, const void *b, size_t n) { name##_f32_body(d, a, b, n, 0); }   \
  static void name##_f32_vs(void *d, const void *a, const void *b, size_t n) { if (n) name##_f32_body(d, a, b, n, 1); }
#define CMP(name, f32_expr, op)                                                                       \
  CMP_F32(name, f32_expr)                                                                             \
  BINARY_LOOP(name##_f64, double, uint8_t, x op y)                                                    \
  BINARY_LOOP(name##_i32, int32_t, uint8_t, x op y)                                                   \
  BINARY_LOOP(name##_i64, int64_t, uint8_t, x op y)                                                   \
  BINARY_LOOP(name##_bool, uint8_t, uint8_t, (x != 0)op(y != 0))
CMP(eq, v_eq(x, y), ==)
CMP(ne, vm_not(v_eq(x, y)), !=)
CMP(lt, v_lt(x, y), <)
CMP(le, v_le(x, y), <=)
CMP(gt, v_lt(y, x), >)
CMP(ge, v_le(y, x), >=)
#define CMP_ROW(name, suffix) \
  {name##_f32##suffix, name##_f64##suffix, name##_i32##suffix, name##_bool##suffix, name##_i64##suffix}
#define CMP_ROWS(suffix) \
  { CMP_ROW(eq, suffix), CMP_ROW(ne, suffix), CMP_ROW(lt, suffix), CMP_ROW(le, suffix), CMP_ROW(gt, suffix), CMP_ROW(ge, suffix) }

#define SELECT_LOOP(name, T)                                                                                    \
  VINL void name##_body(T *d, const uint8_t *c, const T *p, const T *q, size_t n, const int a_step,             \
                        const int b_step) {                                                                     \
    T as, bs;                                                                                                   \
    if (n == 0) return;                                                                                         \
    as = p[0], bs = q[0];                                                                                       \
    for (size_t i = 0; i < n; i++) {                                                                            \
      T x = a_step ? p[i] : as, y = b_step ? q[i] : bs;                                                         \
      d[i] = c[i] ? x : y;                                                                                      \
    }                                                                                                           \
  }                                                                                                             \
  static void name(void *d, const uint8_t *c, const void *a, int a_step, const void *b, int b_step, size_t n) { \
    if (a_step && b_step) name##_body(d, c, a, b, n, 1, 1);                                                     \
    else if (a_step) name##_body(d, c, a, b, n, 1, 0);                                                          \
    else if (b_step) name##_body(d, c, a, b, n, 0, 1);                                                          \
    else name##_body(d, c, a, b, n, 0, 0);                                                                      \
  }
SELECT_LOOP(select8, uint8_t)
SELECT_LOOP(select16, uint16_t)
SELECT_LOOP(select32, uint32_t)
SELECT_LOOP(select64, uint64_t)

static void fma_f32(void *dst, const void *a, const void *b, const void *c, size_t n) {
  const float *p = a, *q = b, *r = c;
  float *d = dst;
  size_t i = 0;
  for (; i + VF <= n; i += VF) v_store(d + i, v_fma(v_load(p + i), v_load(q + i), v_load(r + i)));
  if (i < n) v_store_n(d + i, v_fma(v_load_n(p + i, n - i), v_load_n(q + i, n - i), v_load_n(r + i, n - i)), n - i);
}
static void fma_f64(void *dst, const void *a, const void *b, const void *c, size_t n) {
  const double *p = a, *q = b, *r = c;
  double *d = dst;
  size_t i = 0;
  for (; i + VD <= n; i += VD) vd_store(d + i, vd_fma(vd_load(p + i), vd_load(q + i), vd_load(r + i)));
  if (i < n)
    vd_store_n(d + i, vd_fma(vd_load_n(p + i, n - i), vd_load_n(q + i, n - i), vd_load_n(r + i, n - i)), n - i);
}
