/* core/emit/spirv/math64.c - transcendental functions of f64, of which SPIR-V has none, out of multiplications, a
 * component at a time. Polynomials are fitted to the functions (Chebyshev interpolation of 60 digits); errors are of a
 * few units in the last place. */
#include "core/emit/spirv/dx.h"

/* e^x = 2^n * e^r, |r| <= ln 2 / 2. Past the clamps the product itself becomes 0 or infinity. */
uint32_t dx_exp(mx d, uint32_t x, uint32_t low) {
  static const double c[] = {1.6086677666787362e-10, 2.091821231913398e-09,  2.5052070959803662e-08,
                             2.755726307730941e-07,  2.7557319247344507e-06, 2.4801587336630949e-05,
                             0.00019841269841263252, 0.0013888888888879004,  0.0083333333333333332,
                             0.041666666666666678,   0.16666666666666666,    0.5};
  uint32_t nan = mx_nan(d, x), t = mx_clamp(d, mx_pick(d, nan, mx_k(d, 0), x), -747, 711);
  uint32_t n = mx_round(d, mx_mul(d, t, mx_k(d, 1.44269504088896341)));
  uint32_t r = mx_reduce(d, mx_reduce(d, t, n, LN2_HIGH), n, LN2_LOW);
  if (low) r = mx_add(d, r, low);
  uint32_t y = mx_fma(d, mx_mul(d, r, r), mx_poly(d, r, c, 12), r);
  uint32_t i = VAL(&d.e->s, OpConvertFToS, d.ut, n);
  return mx_pick(d, nan, x, dx_scale(d, mx_add(d, y, mx_k(d, 1)), i));
}

uint32_t dx_mantissa(mx d, uint32_t x, uint32_t *n) {
  uint32_t tiny = mx_cmp(d, OpFOrdLessThan, x, mx_k(d, 2.2250738585072014e-308));
  mx_pair w = dx_words(d, mx_pick(d, tiny, mx_mul(d, x, mx_k(d, 0x1p54)), x));
  uint32_t from = mx_u(d, OpISub, w.high, mx_uk(d, 0x3fe6a09eu)), /* sqrt(1/2) */
      ex = mx_u(d, OpShiftRightArithmetic, from, mx_uk(d, 20));
  w.high = mx_u(d, OpISub, w.high, mx_u(d, OpShiftLeftLogical, ex, mx_uk(d, 20)));
  *n = mx_sub(d, VAL(&d.e->s, OpConvertSToF, d.ft, ex), mx_pick(d, tiny, mx_k(d, 54), mx_k(d, 0)));
  return dx_from_words(d, w);
}

/* log x = n ln 2 + log(1 + f), sqrt(1/2) <= 1 + f < sqrt 2; log(1 + f) = 2 atanh(s), s = f / (2 + f), written so that f
 * itself, which is exact, is the largest term. */
static uint32_t log_(mx d, uint32_t x) {
  static const double c[] = {0.13100721383503491, 0.13267418596474884, 0.15386290534658992, 0.18181794700897799,
                             0.22222222400547759, 0.28571428570764451, 0.4000000000000094,  0.66666666666666663};
  uint32_t n, f = mx_sub(d, dx_mantissa(d, x, &n), mx_k(d, 1));
  uint32_t s = mx_div(d, f, mx_add(d, f, mx_k(d, 2))), z = mx_mul(d, s, s);
  uint32_t more = mx_mul(d, z, mx_poly(d, z, c, 8)), half = mx_mul(d, mx_mul(d, f, f), mx_k(d, 0.5));
  uint32_t low = mx_fma(d, s, mx_add(d, half, more), mx_mul(d, n, mx_k(d, LN2_LOW)));
  uint32_t r = mx_sub(d, mx_mul(d, n, mx_k(d, LN2_HIGH)), mx_keep(d, mx_sub(d, mx_keep(d, mx_sub(d, half, low)), f)));
  uint32_t inf = dx_inf(d);
  r = mx_pick(d, mx_cmp(d, OpFOrdEqual, x, inf), inf, r);
  r = mx_pick(d, mx_cmp(d, OpFOrdEqual, x, mx_k(d, 0)), mx_neg(d, inf), r);
  return mx_pick(d, mx_cmp(d, OpFOrdGreaterThanEqual, x, mx_k(d, 0)), r, dx_quiet(d));
}

static uint32_t tanh_(mx d, uint32_t x) {
  static const double c[] = {7.7438773255426588e-06,  -3.3510863259041063e-05, 9.440568000217939e-05,
                             -0.00023841575269367045, 0.00058989149484867435,  -0.0014558169553480793,
                             0.0035921265571986906,   -0.0088632354500178343,  0.021869488533603213,
                             -0.053968253968211762,   0.13333333333333305,     -0.33333333333333331};
  uint32_t a = mx_abs(d, x), z = mx_mul(d, x, x);
  uint32_t small = mx_fma(d, mx_mul(d, mx_poly(d, z, c, 12), z), x, x);
  uint32_t big = mx_sub(d, mx_k(d, 1), mx_div(d, mx_k(d, 2), mx_add(d, dx_exp(d, mx_add(d, a, a), 0), mx_k(d, 1))));
  uint32_t r = mx_pick(d, mx_cmp(d, OpFOrdLessThan, a, mx_k(d, 0.55)), small, big);
  return mx_pick(d, mx_nan(d, x), x, dx_copysign(d, r, x)); /* of -0 too */
}

/* Below 1 a series; above 1 - e^(-x^2) times a polynomial in (x - 3) / (x + 3); from 6 on 1. */
static uint32_t erf_(mx d, uint32_t x) {
  static const double near[] = {-4.2309458242953377e-12, 8.7090451290531062e-11,  -1.216456005728345e-09,
                                1.4792401209404813e-08,  -1.6364642158167616e-07, 1.6462045441468418e-06,
                                -1.4925647567519332e-05, 0.00012055332902888736,  -0.00085483270219348297,
                                0.0052239776254232985,   -0.02686617064512984,    0.11283791670955121,
                                -0.37612638903183754,    1.1283791670955126};
  static const double far[] = {-2.5925894581233316e-08, -2.3893874634747922e-07, -2.7269500546476834e-07,
                               1.2598817267482604e-06,  2.1169509641489688e-06,  -7.9798177043487269e-06,
                               -1.2860318447907675e-05, 6.4056733422068437e-05,  4.5255298034073955e-05,
                               -0.00059706195861583045, 0.00070774643851773534,  0.0042691363331483021,
                               -0.024392499318655416,   0.071665837197973467,    -0.15011593650077742,
                               0.2456038017123309,      -0.32623356004303722,    0.17900115118138996};
  uint32_t a = mx_abs(d, x), t = mx_clamp(d, a, 1, 6), z = mx_mul(d, x, x), three = mx_k(d, 3);
  uint32_t small = mx_mul(d, mx_poly(d, z, near, 14), x);
  uint32_t y = mx_div(d, mx_sub(d, t, three), mx_add(d, t, three)),
           rest = mx_mul(d, dx_exp(d, mx_neg(d, mx_mul(d, t, t)), 0), mx_poly(d, y, far, 18));
  uint32_t big = dx_copysign(d, mx_sub(d, mx_k(d, 1), rest), x),
           r = mx_pick(d, mx_cmp(d, OpFOrdLessThan, a, mx_k(d, 1)), small, big);
  return mx_pick(d, mx_nan(d, x), x, r);
}

/* ---- expansions of core/ir/scalar_ops.h ------------------------------------------------------------------------- */

typedef struct expanded {
  mx d;
  uint32_t a;
} expanded;

static uint32_t function(mx d, int code, uint32_t x, uint32_t y);

static scalar_value expanded_name(void *user, char name) { return (scalar_value){.id = ((expanded *)user)->a}; }
static scalar_value expanded_number(void *user, double v) {
  return (scalar_value){.id = mx_k(((expanded *)user)->d, v)};
}

static uint32_t compare(mx d, int predicate, uint32_t a, uint32_t b) {
  static const int ops[N_CMP] = {
      [CMP_EQ] = OpFOrdEqual,         [CMP_NE] = OpFUnordNotEqual,  [CMP_LT] = OpFOrdLessThan,
      [CMP_LE] = OpFOrdLessThanEqual, [CMP_GT] = OpFOrdGreaterThan, [CMP_GE] = OpFOrdGreaterThanEqual};
  return mx_cmp(d, ops[predicate], a, b);
}

/* a when it is beyond b or NaN, else b. */
static uint32_t beyond(mx d, int op, uint32_t a, uint32_t b) {
  return mx_pick(d, mx_or(d, mx_cmp(d, op, a, b), mx_nan(d, a)), a, b);
}

static uint32_t step(mx d, int code, int variant, const scalar_value *x) {
  switch (code) {
    case SC_ADD: return mx_add(d, x[0].id, x[1].id);
    case SC_SUB: return mx_sub(d, x[0].id, x[1].id);
    case SC_MUL: return mx_mul(d, x[0].id, x[1].id);
    case SC_DIV: return mx_div(d, x[0].id, x[1].id);
    case SC_NEG: return mx_neg(d, x[0].id);
    case SC_ABS: return mx_abs(d, x[0].id);
    case SC_SQRT: return GLSL(d.e, GlslSqrt, d.ft, x[0].id);
    case SC_MIN: return beyond(d, OpFOrdLessThan, x[0].id, x[1].id);
    case SC_MAX: return beyond(d, OpFOrdGreaterThan, x[0].id, x[1].id);
    case SC_FMA: return mx_fma(d, x[0].id, x[1].id, x[2].id);
    case SCALAR_FINITE: return GLSL(d.e, GlslFMax, d.ft, x[0].id, mx_k(d, -1.7976931348623157e308));
    case SC_COMPARE: return compare(d, variant, x[0].id, x[1].id);
    case SC_SELECT: return mx_pick(d, x[0].id, x[1].id, x[2].id);
    default: return function(d, code, x[0].id, x[1].id);
  }
}

static scalar_value expanded_apply(void *user, int code, int variant, const scalar_value *x) {
  return (scalar_value){.id = step(((expanded *)user)->d, code, variant, x)};
}

static uint32_t function(mx d, int code, uint32_t x, uint32_t y) {
  if (scalar_rows[code].expansion) {
    const char *text = scalar_rows[code].expansion;
    expanded a = {d, x};
    scalar_reader r = {&a, expanded_name, expanded_number, expanded_apply};
    scalar_value v = {0};
    scalar_read(&text, &r, &v);
    return v.id;
  }
  switch (code) {
    case SC_POW: return dx_pow(d, x, y);
    case SC_EXP: return dx_exp(d, x, 0);
    case SC_LOG: return log_(d, x);
    case SC_TANH: return tanh_(d, x);
    case SC_ERF: return erf_(d, x);
    default: return dx_sin_cos(d, x, code == SC_COS);
  }
}

uint32_t e_math64(emitter *e, int code, int n, uint32_t x, uint32_t y) {
  mx d = dx_of(e);
  uint32_t out[4];
  if (n == 1) return function(d, code, x, y);
  for (uint32_t i = 0; i < (uint32_t)n; i++)
    out[i] = function(d, code, VAL(&e->s, OpCompositeExtract, d.ft, x, i),
                      y ? VAL(&e->s, OpCompositeExtract, d.ft, y, i) : 0);
  return spv_val_n(&e->s, OpCompositeConstruct, e_vec(e, d.ft, n), out, n);
}
