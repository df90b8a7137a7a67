/* core/emit/spirv/pow64.c - |a|^b = e^(b log |a|) in f64. The exponent's error is multiplied by up to 745, so the
 * logarithm and its product with b are sums of two doubles, whose parts are exact without a fused multiply-add, which
 * Vulkan doesn't promise. Then the cases of C's pow. */
#include "core/emit/spirv/dx.h"

typedef struct two { uint32_t high, low; } two; /* high + low; low is less than half a unit of high's last place */

/* a + b; exact where |a| >= |b|. */
static two quick_sum(mx d, uint32_t a, uint32_t b) {
  uint32_t s = mx_xadd(d, a, b);
  return (two){s, mx_xsub(d, b, mx_xsub(d, s, a))};
}

static two sum(mx d, uint32_t a, uint32_t b) {
  uint32_t s = mx_xadd(d, a, b), v = mx_xsub(d, s, a);
  return (two){s, mx_xadd(d, mx_xsub(d, a, mx_xsub(d, s, v)), mx_xsub(d, b, v))};
}

/* x in parts of 26 bits each. */
static two halves(mx d, uint32_t x) {
  uint32_t t = mx_xmul(d, x, mx_k(d, 134217729)), h = mx_xsub(d, t, mx_xsub(d, t, x));
  return (two){h, mx_xsub(d, x, h)};
}

static two product(mx d, uint32_t a, uint32_t b) {
  uint32_t p = mx_xmul(d, a, b);
  two x = halves(d, a), y = halves(d, b);
  uint32_t e = mx_xsub(d, mx_xmul(d, x.high, y.high), p);
  e = mx_xadd(d, mx_xadd(d, e, mx_xmul(d, x.high, y.low)), mx_xmul(d, x.low, y.high));
  return (two){p, mx_xadd(d, e, mx_xmul(d, x.low, y.low))};
}

static two times(mx d, two a, two b) {
  two p = product(d, a.high, b.high);
  uint32_t cross = mx_add(d, mx_mul(d, a.high, b.low), mx_mul(d, a.low, b.high));
  return quick_sum(d, p.high, mx_xadd(d, p.low, cross));
}

/* s + s^3 / 3 + s^5 / 5 + ..: half of log m, for s = (m - 1) / (m + 1). */
static two half_log(mx d, uint32_t m) {
  static const double c[] = {1.0 / 27, 1.0 / 25, 1.0 / 23, 1.0 / 21, 1.0 / 19, 1.0 / 17,
                             1.0 / 15, 1.0 / 13, 1.0 / 11, 1.0 / 9,  1.0 / 7,  1.0 / 5};
  uint32_t one = mx_k(d, 1), f = mx_xsub(d, m, one), g = mx_xadd(d, m, one), lost = mx_xsub(d, m, mx_xsub(d, g, one));
  uint32_t q = mx_div(d, f, g);
  two p = product(d, q, g);
  uint32_t left = mx_xsub(d, mx_xsub(d, mx_xsub(d, f, p.high), p.low), mx_xmul(d, q, lost));
  two s = quick_sum(d, q, mx_div(d, left, g)), z = times(d, s, s), cube = times(d, s, z),
      third = {mx_k(d, 0x1.5555555555555p-2), mx_k(d, 0x1.5555555555555p-56)};
  two x = times(d, cube, third);
  uint32_t rest = mx_mul(d, mx_mul(d, cube.high, z.high), mx_poly(d, z.high, c, 12));
  two r = quick_sum(d, s.high, x.high);
  uint32_t low = mx_xadd(d, r.low, mx_xadd(d, s.low, mx_xadd(d, x.low, rest)));
  return quick_sum(d, r.high, low);
}

static two log_of(mx d, uint32_t x) {
  uint32_t n, m = dx_mantissa(d, x, &n), twice = mx_k(d, 2);
  two h = half_log(d, m), r = sum(d, mx_xmul(d, n, mx_k(d, LN2_HIGH)), mx_mul(d, h.high, twice));
  uint32_t low = mx_xadd(d, mx_mul(d, n, mx_k(d, LN2_LOW)), mx_mul(d, h.low, twice));
  return quick_sum(d, r.high, mx_xadd(d, r.low, low));
}

/* Exponents beyond 2^70 give 0, infinity, or 1 for |a| = 1 (the caller's) as 2^70 does. */
static uint32_t power(mx d, uint32_t a, uint32_t b) {
  uint32_t tame = mx_clamp(d, b, -0x1p70, 0x1p70);
  two l = log_of(d, a), y = product(d, l.high, tame);
  uint32_t low = mx_xadd(d, y.low, mx_mul(d, l.low, tame));
  uint32_t far = mx_cmp(d, OpFOrdGreaterThan, mx_abs(d, y.high), mx_k(d, 800)); /* there low may be large */
  return dx_exp(d, y.high, mx_pick(d, far, mx_k(d, 0), low));
}

uint32_t dx_pow(mx d, uint32_t a, uint32_t b) {
  uint32_t inf = dx_inf(d), one = mx_k(d, 1), zero = mx_k(d, 0), mag = mx_abs(d, a);
  uint32_t is_zero = mx_cmp(d, OpFOrdEqual, mag, zero), is_inf = mx_cmp(d, OpFOrdEqual, mag, inf),
           below = mx_cmp(d, OpFOrdLessThan, b, zero), any_nan = mx_or(d, mx_nan(d, a), mx_nan(d, b));
  uint32_t unit = mx_cmp(d, OpFOrdEqual, mag, one),
           special = mx_or(d, mx_or(d, is_zero, is_inf), mx_or(d, any_nan, unit));
  uint32_t r = power(d, mx_pick(d, special, mx_k(d, 2), mag), mx_pick(d, any_nan, one, b));
  r = mx_pick(d, unit, one, r);
  r = mx_pick(d, is_zero, mx_pick(d, below, inf, zero), r);
  r = mx_pick(d, is_inf, mx_pick(d, below, zero, inf), r);
  uint32_t whole = mx_cmp(d, OpFOrdEqual, GLSL(d.e, GlslFloor, d.ft, b), b), h = mx_mul(d, b, mx_k(d, 0.5));
  uint32_t odd = mx_and(d, whole, mx_cmp(d, OpFUnordNotEqual, GLSL(d.e, GlslFloor, d.ft, h), h));
  uint32_t minus = VAL(&d.e->s, OpSLessThan, d.bt, dx_words(d, a).high, mx_uk(d, 0));
  r = mx_pick(d, mx_and(d, minus, odd), mx_neg(d, r), r);
  uint32_t defined = mx_or(d, mx_or(d, whole, is_inf), mx_cmp(d, OpFOrdEqual, mx_abs(d, b), inf));
  uint32_t undefined = mx_and(d, mx_cmp(d, OpFOrdLessThan, a, zero), VAL(&d.e->s, OpLogicalNot, d.bt, defined));
  r = mx_pick(d, mx_or(d, undefined, any_nan), dx_quiet(d), r);
  return mx_pick(d, mx_or(d, mx_cmp(d, OpFOrdEqual, a, one), mx_cmp(d, OpFOrdEqual, b, zero)), one, r);
}
