/* core/emit/spirv_math.c - transcendental functions in f32. Vulkan lets a driver be off by 2^-11 in sin and says nothing about
 * tanh near 0 or erf, so these are built from multiplications here; exp, log and sqrt lean on the driver where its bound (3 ulp or so)
 * is good enough. Polynomials: erf after N. Juffa's erff, tanh and the sine and cosine kernels after Cephes. */
#include "core/emit/spirv_emit.h"

typedef struct mx { emitter *e; int n; uint32_t ft, bt; } mx; /* n components of f32 */

static uint32_t k(mx m, double v) { return e_const_f32(m.e, v, m.n); }
static uint32_t add(mx m, uint32_t a, uint32_t b) { return VAL(&m.e->s, OpFAdd, m.ft, a, b); }
static uint32_t sub(mx m, uint32_t a, uint32_t b) { return VAL(&m.e->s, OpFSub, m.ft, a, b); }
static uint32_t mul(mx m, uint32_t a, uint32_t b) { return VAL(&m.e->s, OpFMul, m.ft, a, b); }
static uint32_t divide(mx m, uint32_t a, uint32_t b) { return VAL(&m.e->s, OpFDiv, m.ft, a, b); }
static uint32_t neg(mx m, uint32_t a) { return VAL(&m.e->s, OpFNegate, m.ft, a); }
static uint32_t fma_(mx m, uint32_t a, uint32_t b, uint32_t c) { return GLSL(m.e, GlslFma, m.ft, a, b, c); }
static uint32_t fabs_(mx m, uint32_t a) { return GLSL(m.e, GlslFAbs, m.ft, a); }
static uint32_t cmp(mx m, int op, uint32_t a, uint32_t b) { return VAL(&m.e->s, op, m.bt, a, b); }
static uint32_t pick(mx m, uint32_t c, uint32_t a, uint32_t b) { return VAL(&m.e->s, OpSelect, m.ft, c, a, b); }
static uint32_t ut(mx m) { return e_vec(m.e, e_int(m.e, 32), m.n); }
static uint32_t bits(mx m, uint32_t a) { return VAL(&m.e->s, OpBitcast, ut(m), a); }
static uint32_t from_bits(mx m, uint32_t a) { return VAL(&m.e->s, OpBitcast, m.ft, a); }
static uint32_t uop(mx m, int op, uint32_t a, uint32_t b) { return VAL(&m.e->s, op, ut(m), a, b); }
static uint32_t uk(mx m, uint32_t v) { return e_const_int(m.e, 32, v, m.n); }

/* a - n * c for a short constant c: exactly these two roundings. Left alone, compilers factor n out of a sum of such terms, and
 * the point of splitting the constant is lost. */
static uint32_t reduce(mx m, uint32_t a, uint32_t n, double c) {
  uint32_t p = mul(m, n, k(m, c)), r = sub(m, a, p);
  SPV(&m.e->s, SEC_DECORATIONS, OpDecorate, p, DecNoContraction);
  SPV(&m.e->s, SEC_DECORATIONS, OpDecorate, r, DecNoContraction);
  return r;
}

/* |a| with the sign bit of s. */
static uint32_t copysign_(mx m, uint32_t a, uint32_t s) {
  return from_bits(m, uop(m, OpBitwiseOr, bits(m, a), uop(m, OpBitwiseAnd, bits(m, s), uk(m, 0x80000000u))));
}

static uint32_t poly(mx m, uint32_t x, const double *c, int n) {
  uint32_t r = k(m, c[0]);
  for (int i = 1; i < n; i++) r = fma_(m, r, x, k(m, c[i]));
  return r;
}

/* 2^i, -126 <= i <= 127. */
static uint32_t power_of_2(mx m, uint32_t i) { return from_bits(m, uop(m, OpShiftLeftLogical, uop(m, OpIAdd, i, uk(m, 127)), uk(m, 23))); }

/* e^x = 2^n * e^r, |r| <= ln 2 / 2; the power is applied in two steps so that the ends of the range don't overflow early. Past the
 * clamps the product itself becomes 0 or infinity. */
static uint32_t exp_(mx m, uint32_t x) {
  static const double c[] = {1.3888889e-3, 8.3333333e-3, 4.1666668e-2, 1.6666667e-1, 0.5, 1.0, 1.0};
  uint32_t nan = cmp(m, OpFUnordNotEqual, x, x);
  uint32_t t = GLSL(m.e, GlslFMin, m.ft, GLSL(m.e, GlslFMax, m.ft, pick(m, nan, k(m, 0), x), k(m, -105)), k(m, 89.5));
  uint32_t n = GLSL(m.e, GlslRoundEven, m.ft, mul(m, t, k(m, 1.44269504088896341)));
  uint32_t r = reduce(m, reduce(m, t, n, 0.693145751953125), n, 1.42860677e-6);
  uint32_t i = VAL(&m.e->s, OpConvertFToS, ut(m), n), half = uop(m, OpShiftRightArithmetic, i, uk(m, 1));
  uint32_t y = mul(m, mul(m, poly(m, r, c, 7), power_of_2(m, half)), power_of_2(m, uop(m, OpISub, i, half)));
  return pick(m, nan, x, y);
}

/* log x = e ln 2 + log(1 + f), sqrt(1/2) <= 1 + f < sqrt 2 (Cephes logf). */
static uint32_t log_(mx m, uint32_t x) {
  static const double c[] = {7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1, -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1};
  uint32_t tiny = cmp(m, OpFOrdLessThan, x, k(m, 1.17549435e-38)), up = pick(m, tiny, mul(m, x, k(m, 8388608)), x), b = bits(m, up);
  uint32_t shifted = uop(m, OpISub, b, uk(m, 0x3f3504f3u)); /* sqrt(1/2) */
  uint32_t ex = VAL(&m.e->s, OpShiftRightArithmetic, ut(m), shifted, uk(m, 23));
  uint32_t f = sub(m, from_bits(m, uop(m, OpISub, b, uop(m, OpShiftLeftLogical, ex, uk(m, 23)))), k(m, 1));
  uint32_t n = sub(m, VAL(&m.e->s, OpConvertSToF, m.ft, ex), pick(m, tiny, k(m, 23), k(m, 0)));
  uint32_t z = mul(m, f, f), y = mul(m, mul(m, poly(m, f, c, 9), f), z);
  y = fma_(m, n, k(m, -2.12194440e-4), y);
  y = fma_(m, z, k(m, -0.5), y);
  uint32_t r = fma_(m, n, k(m, 0.693359375), add(m, f, y));
  uint32_t inf = from_bits(m, uk(m, 0x7f800000u)), nan = from_bits(m, uk(m, 0x7fc00000u));
  r = pick(m, cmp(m, OpFOrdEqual, x, inf), inf, r);
  r = pick(m, cmp(m, OpFOrdEqual, x, k(m, 0)), neg(m, inf), r);
  return pick(m, cmp(m, OpFOrdGreaterThanEqual, x, k(m, 0)), r, nan);
}

static uint32_t tanh_(mx m, uint32_t x) {
  static const double c[] = {-5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2, 1.33314422036e-1, -3.33332819422e-1};
  uint32_t a = fabs_(m, x), z = mul(m, x, x), small = fma_(m, mul(m, poly(m, z, c, 5), z), x, x);
  uint32_t big = sub(m, k(m, 1), divide(m, k(m, 2), add(m, exp_(m, add(m, a, a)), k(m, 1))));
  return pick(m, cmp(m, OpFOrdLessThan, a, k(m, 0.625)), small, copysign_(m, big, x));
}

static uint32_t erf_(mx m, uint32_t x) {
  static const double near[] = {-5.96761703e-4, 4.99119423e-3, -2.67681349e-2, 1.12819925e-1, -3.76125336e-1, 1.28379166e-1};
  uint32_t t = fabs_(m, x), s = mul(m, x, x), small = fma_(m, poly(m, s, near, 6), x, x);
  uint32_t r = fma_(m, k(m, -1.72853470e-5), t, k(m, 3.83197126e-4)), v = fma_(m, k(m, -3.88396438e-3), t, k(m, 2.42546219e-2));
  r = fma_(m, r, s, v);
  r = fma_(m, r, t, k(m, -1.06777877e-1));
  r = fma_(m, r, t, k(m, -6.34846687e-1));
  r = fma_(m, r, t, k(m, -1.28717512e-1));
  r = fma_(m, r, t, neg(m, t));
  uint32_t big = copysign_(m, sub(m, k(m, 1), exp_(m, r)), x);
  big = pick(m, cmp(m, OpFOrdGreaterThan, t, k(m, 4)), copysign_(m, k(m, 1), x), big); /* also where the polynomial overflows */
  return pick(m, cmp(m, OpFOrdGreaterThan, t, k(m, 0.927734375)), big, small);
}

/* sin (shift 0) or cos (shift 1): reduction by multiples of pi/2 in three parts, good to |x| of about ten thousand. */
static uint32_t sin_cos(mx m, uint32_t x, uint32_t shift) {
  static const double s[] = {-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1}, c[] = {2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2};
  uint32_t q = GLSL(m.e, GlslRoundEven, m.ft, mul(m, x, k(m, 0.636619772367581)));
  uint32_t r = reduce(m, reduce(m, reduce(m, x, q, 1.5703125), q, 4.837512969970703125e-4), q, 7.54978995489188216e-8);
  uint32_t sane = cmp(m, OpFOrdLessThan, fabs_(m, q), k(m, 2e9));
  uint32_t i = uop(m, OpIAdd, VAL(&m.e->s, OpConvertFToS, ut(m), pick(m, sane, q, k(m, 0))), uk(m, shift));
  uint32_t z = mul(m, r, r), sn = fma_(m, mul(m, poly(m, z, s, 3), z), r, r);
  uint32_t cs = fma_(m, mul(m, poly(m, z, c, 3), z), z, fma_(m, z, k(m, -0.5), k(m, 1)));
  uint32_t odd = VAL(&m.e->s, OpINotEqual, m.bt, uop(m, OpBitwiseAnd, i, uk(m, 1)), uk(m, 0));
  uint32_t y = pick(m, odd, cs, sn), flip = uop(m, OpShiftLeftLogical, uop(m, OpBitwiseAnd, i, uk(m, 2)), uk(m, 30));
  return from_bits(m, uop(m, OpBitwiseXor, bits(m, y), flip));
}

static uint32_t sigmoid(mx m, uint32_t x) { return divide(m, k(m, 1), add(m, k(m, 1), exp_(m, neg(m, x)))); }

static uint32_t gelu_tanh(mx m, uint32_t x) {
  uint32_t inner = mul(m, k(m, 0.7978845608028654), fma_(m, mul(m, mul(m, x, x), x), k(m, 0.044715), x));
  return mul(m, mul(m, k(m, 0.5), x), add(m, k(m, 1), tanh_(m, inner)));
}

/* |a|^b by the logarithm's head and tail: log2 error times b would cost digits. Then the cases of C's pow. */
static uint32_t pow_(mx m, uint32_t a, uint32_t b) {
  uint32_t inf = from_bits(m, uk(m, 0x7f800000u)), nan = from_bits(m, uk(m, 0x7fc00000u)), mag = fabs_(m, a);
  uint32_t lg = log_(m, mag), hi = mul(m, lg, b), lo = fma_(m, lg, b, neg(m, hi));
  /* one Newton step: the error of lg is log(mag * e^-lg) */
  uint32_t fix = sub(m, mul(m, mag, exp_(m, neg(m, lg))), k(m, 1));
  uint32_t tail = fma_(m, fix, b, lo), ok = cmp(m, OpFOrdLessThan, fabs_(m, tail), k(m, 0.5));
  uint32_t r = exp_(m, hi);
  uint32_t finite = cmp(m, OpFOrdLessThan, r, inf);
  ok = VAL(&m.e->s, OpLogicalAnd, m.bt, ok, finite);
  r = pick(m, ok, fma_(m, r, tail, r), r);
  r = pick(m, cmp(m, OpFOrdEqual, mag, k(m, 1)), mag, r);
  r = pick(m, cmp(m, OpFOrdEqual, b, k(m, 1)), mag, r);
  uint32_t whole = cmp(m, OpFOrdEqual, GLSL(m.e, GlslFloor, m.ft, b), b), h = mul(m, b, k(m, 0.5));
  uint32_t odd = VAL(&m.e->s, OpLogicalAnd, m.bt, whole, cmp(m, OpFUnordNotEqual, GLSL(m.e, GlslFloor, m.ft, h), h));
  uint32_t is_neg = VAL(&m.e->s, OpINotEqual, m.bt, uop(m, OpBitwiseAnd, bits(m, a), uk(m, 0x80000000u)), uk(m, 0));
  r = pick(m, VAL(&m.e->s, OpLogicalAnd, m.bt, is_neg, odd), neg(m, r), r);
  uint32_t below = VAL(&m.e->s, OpLogicalAnd, m.bt, cmp(m, OpFOrdLessThan, a, k(m, 0)), VAL(&m.e->s, OpLogicalNot, m.bt, whole));
  below = VAL(&m.e->s, OpLogicalAnd, m.bt, below, cmp(m, OpFOrdLessThan, mag, inf));
  r = pick(m, below, nan, r);
  uint32_t any_nan = VAL(&m.e->s, OpLogicalOr, m.bt, cmp(m, OpFUnordNotEqual, a, a), cmp(m, OpFUnordNotEqual, b, b));
  r = pick(m, any_nan, nan, r);
  uint32_t one = VAL(&m.e->s, OpLogicalOr, m.bt, cmp(m, OpFOrdEqual, a, k(m, 1)), cmp(m, OpFOrdEqual, b, k(m, 0)));
  return pick(m, one, k(m, 1), r);
}

bool e_is_math(int code) {
  switch (code) {
  case SC_POW: case SC_EXP: case SC_LOG: case SC_RSQRT: case SC_TANH: case SC_ERF: case SC_SIN: case SC_COS: case SC_SIGMOID:
  case SC_GELU: case SC_GELU_TANH: case SC_SILU: return true;
  default: return false;
  }
}

uint32_t e_math(emitter *e, int code, int n, uint32_t x, uint32_t y) {
  mx m = {e, n, e_vec(e, e_float(e, 32), n), e_vec(e, e_bool(e), n)};
  switch (code) {
  case SC_POW: return pow_(m, x, y);
  case SC_EXP: return exp_(m, x);
  case SC_LOG: return log_(m, x);
  case SC_RSQRT: return GLSL(e, GlslInverseSqrt, m.ft, x);
  case SC_TANH: return tanh_(m, x);
  case SC_ERF: return erf_(m, x);
  case SC_SIN: return sin_cos(m, x, 0);
  case SC_COS: return sin_cos(m, x, 1);
  case SC_SIGMOID: return sigmoid(m, x);
  case SC_GELU: return mul(m, mul(m, k(m, 0.5), x), add(m, k(m, 1), erf_(m, mul(m, x, k(m, 0.70710678118654752)))));
  case SC_GELU_TANH: return gelu_tanh(m, x);
  default: return mul(m, x, sigmoid(m, x)); /* silu */
  }
}
