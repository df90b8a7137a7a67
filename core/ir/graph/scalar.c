/* core/ir/graph/scalar.c - what the elementwise ops compute for one element: in double, and for integers in int64 with
 * the caller wrapping to the type. The reference that every backend is compared with. */
#include <math.h>

#include "core/ir/graph/table.h"

#define F1(name, expr) \
  double scalar_##name(int variant, const double *x) { double a = x[0]; return expr; }
#define F2(name, expr) \
  double scalar_##name(int variant, const double *x) { double a = x[0], b = x[1]; return expr; }
#define I1(name, expr) \
  int64_t integer_##name(int variant, const int64_t *x) { int64_t a = x[0]; return expr; }
#define I2(name, expr) \
  int64_t integer_##name(int variant, const int64_t *x) { int64_t a = x[0], b = x[1]; return expr; }
#define WRAP(a, op, b) (int64_t)((uint64_t)(a) op (uint64_t)(b))

F2(add, a + b)
F2(sub, a - b)
F2(mul, a * b)
F2(div, a / b)
F2(rem, fmod(a, b))
F2(pow, pow(a, b))
F2(min, isnan(a) || isnan(b) ? NAN : a < b ? a : b)
F2(max, isnan(a) || isnan(b) ? NAN : a > b ? a : b)
F2(and, (double)((int64_t)a & (int64_t)b))
F2(or, (double)((int64_t)a | (int64_t)b))
F1(neg, -a)
F1(abs, fabs(a))
F1(exp, exp(a))
F1(log, log(a))
F1(sqrt, sqrt(a))
F1(rsqrt, 1 / sqrt(a))
F1(tanh, tanh(a))
F1(erf, erf(a))
F1(sigmoid, 1 / (1 + exp(-a)))
F1(relu, a < 0 ? 0 : a)
F1(silu, a == -INFINITY ? -0.0 : a / (1 + exp(-a)))
F1(sin, sin(a))
F1(cos, cos(a))
F1(floor, floor(a))
F1(not, a == 0)

double scalar_gelu(int variant, const double *x) {
  double a = x[0];
  if (a == -INFINITY) return -0.0;
  if (variant) return 0.5 * a * (1 + tanh(0.79788456080286535588 * (a + 0.044715 * a * a * a)));
  return 0.5 * a * erfc(-a * 0.70710678118654752440);
}

double scalar_compare(int variant, const double *x) {
  double a = x[0], b = x[1];
  switch (variant) {
  case CMP_EQ: return a == b;
  case CMP_NE: return a != b;
  case CMP_LT: return a < b;
  case CMP_LE: return a <= b;
  case CMP_GT: return a > b;
  default: return a >= b;
  }
}

double scalar_select(int variant, const double *x) { return x[0] != 0 ? x[1] : x[2]; }

I2(add, WRAP(a, +, b))
I2(sub, WRAP(a, -, b))
I2(mul, WRAP(a, *, b))
I2(div, b == 0 ? 0 : b == -1 ? WRAP(0, -, a) : a / b)
I2(rem, b == 0 ? a : b == -1 ? 0 : a % b)
I2(min, a < b ? a : b)
I2(max, a > b ? a : b)
I2(and, a & b)
I2(or, a | b)
I1(neg, WRAP(0, -, a))
I1(abs, a < 0 ? WRAP(0, -, a) : a)
I1(relu, a < 0 ? 0 : a)

int64_t integer_pow(int variant, const int64_t *x) {
  uint64_t base = (uint64_t)x[0], r = 1;
  if (x[1] < 0) return x[0] == 1 ? 1 : x[0] == -1 ? (x[1] & 1 ? -1 : 1) : 0;
  for (uint64_t e = (uint64_t)x[1]; e; e >>= 1, base *= base)
    if (e & 1) r *= base;
  return (int64_t)r;
}

/* The variant tells bool (logical) from integers (bitwise). */
int64_t integer_not(int variant, const int64_t *x) { return variant ? !x[0] : ~x[0]; }

int64_t integer_compare(int variant, const int64_t *x) {
  int64_t a = x[0], b = x[1];
  switch (variant) {
  case CMP_EQ: return a == b;
  case CMP_NE: return a != b;
  case CMP_LT: return a < b;
  case CMP_LE: return a <= b;
  case CMP_GT: return a > b;
  default: return a >= b;
  }
}

int64_t integer_select(int variant, const int64_t *x) { return x[0] ? x[1] : x[2]; }
