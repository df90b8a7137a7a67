/* core/emit/spirv/math.c - transcendental functions in f32. Vulkan lets a driver be off by 2^-11 in sin and says
 * nothing about tanh near 0 or erf, so these are built from multiplications here; exp, log and sqrt lean on the driver
 * where its bound (3 ulp or so) is good enough. Polynomials: erf after N. Juffa's erff, tanh after Cephes. Sine, cosine
 * and powers: emit/spirv/trig.c, emit/spirv/pow.c. */
#include "core/device/dialect.h"
#include "core/emit/spirv/mx.h"

/* ---- where a subgroup is a CPU's SIMD register, and results below the normal range are 0 anyway ------------------ */

static bool counts_operations(mx m) { return caps_simd_like(m.e->caps) && !m.e->caps->denorm_f32; }

/* x, but at least lo and at most hi; NaN is kept. */
static uint32_t within(mx m, uint32_t x, double lo, double hi) {
  const uint32_t low = mx_k(m, lo), high = mx_k(m, hi);
  x = mx_pick(m, mx_cmp(m, OpFOrdLessThan, x, low), low, x);
  return mx_pick(m, mx_cmp(m, OpFOrdGreaterThan, x, high), high, x);
}

/* The whole number n nearest to a product, and its bits plus `bias` in the low bits of a word: both are left by adding
 * 1.5 * 2^23. */
typedef struct whole { uint32_t n, bits; } whole;
static whole nearest(mx m, uint32_t product, int bias) {
  const uint32_t magic = mx_k(m, 12582912 + bias), sum = mx_xadd(m, product, magic);
  return (whole){mx_xsub(m, sum, magic), mx_bits(m, sum)};
}

/* In this order: left to itself the compiler makes other sums of them, and errors of 1.2 ulp become 1.7. */
static uint32_t xfma(mx m, uint32_t a, uint32_t b, uint32_t c) { return mx_xadd(m, mx_xmul(m, a, b), c); }
static uint32_t pair(mx m, uint32_t x, const double *c) { return xfma(m, x, mx_k(m, c[1]), mx_k(m, c[0])); }
static uint32_t sign_of(mx m, uint32_t x) { return mx_u(m, OpBitwiseAnd, mx_bits(m, x), mx_uk(m, 0x80000000u)); }

/* 2 (e^r - 1), |r| <= ln 2 / 2, in chains that run beside each other. */
static uint32_t twice_expm1(mx m, uint32_t r) {
  const uint32_t r2 = mx_xmul(m, r, r), high = xfma(m, r, mx_k(m, 0.01672635525988899), mx_k(m, 0.083333109255756174)),
                 low = xfma(m, r, mx_k(m, 0.33333153996484848), mx_k(m, 1)),
                 v = xfma(m, r2, xfma(m, r2, mx_k(m, 0.0027852363620978686), high), low);
  return xfma(m, r2, v, mx_xadd(m, r, r));
}

/* e^x as 2 e^r times 2^(n - 1), whose bits n + 126 are from 0 (the number 0) to 255 (infinity). */
static uint32_t exp_flushed(mx m, uint32_t x) {
  const uint32_t t = within(m, x, -87.4, 89.2);
  const whole w = nearest(m, mx_xmul(m, t, mx_k(m, 1.44269504088896341)), 126);
  const uint32_t r = mx_reduce(m, mx_reduce(m, t, w.n, 0.693145751953125), w.n, 1.42860677e-6),
                 y = mx_xadd(m, twice_expm1(m, r), mx_k(m, 2));
  return mx_xmul(m, y, mx_from_bits(m, mx_u(m, OpShiftLeftLogical, w.bits, mx_uk(m, 23))));
}

/* gelu as max(a, 0) - |a| Q(|a|), Q(t) = erfc(t / sqrt 2) / 2 = 2^(z - 1) with z a polynomial fitted by what it makes
 * of Q: 0 at t = 0, so that Q is nearly right there, and off by less than 3e-9 everywhere. No branch of erf is computed
 * in vain, and the polynomials' terms are paired: a chain of half the length. */
static uint32_t gelu_flushed(mx m, uint32_t a) {
  static const double c[] = {-1.1511044492606095,  -0.4592188184230406,    -0.05244727874465621,
                             0.00695877293756496,  -1.7577432237490457e-5, -2.627688593840399e-4,
                             6.695168513591979e-5, -8.006592447605063e-6,  3.9143798517915945e-7},
                      d[] = {0.69314720286693,   0.24022647914669,   0.055503324324345,
                             0.0096184370592726, 0.0013398892931973, 0.00015353494215974};
  const uint32_t zero = mx_k(m, 0), end = mx_k(m, 5.8), abs = mx_abs(m, a),
                 inside = mx_cmp(m, OpFOrdLessThan, abs, end), t = mx_pick(m, inside, abs, end);
  const uint32_t t2 = mx_xmul(m, t, t), t4 = mx_xmul(m, t2, t2), low = xfma(m, pair(m, t, c + 2), t2, pair(m, t, c)),
                 high = xfma(m, t4, mx_k(m, c[8]), xfma(m, pair(m, t, c + 6), t2, pair(m, t, c + 4))),
                 z = mx_xmul(m, xfma(m, t4, high, low), t);
  const whole w = nearest(m, z, -1);
  const uint32_t f = mx_xsub(m, z, w.n), f2 = mx_xmul(m, f, f),
                 v = xfma(m, f2, xfma(m, f2, mx_k(m, d[5]), pair(m, f, d + 3)), pair(m, f, d + 1)),
                 y = mx_xadd(m, xfma(m, f2, v, mx_xmul(m, f, mx_k(m, d[0]))), mx_k(m, 1)),
                 up = mx_u(m, OpShiftLeftLogical, w.bits, mx_uk(m, 23)),
                 q = mx_from_bits(m, mx_u(m, OpIAdd, mx_bits(m, y), up));
  const uint32_t positive = mx_pick(m, mx_cmp(m, OpFOrdLessThan, a, zero), zero, a),
                 y_abs = mx_xsub(m, positive, mx_xmul(m, t, mx_pick(m, inside, q, zero)));
  return mx_from_bits(m, mx_u(m, OpBitwiseOr, mx_bits(m, y_abs), sign_of(m, a)));
}

/* Where results are rounded to 16 bits: the driver's own power of 2, which is right to 2^-15 or better over all of its
 * range (Vulkan allows 3 + 2 |x| units of f32), and the only way to the processor's multiply-add on llvmpipe, which
 * takes those of a shader apart. */
static bool rounds(mx m) { return m.e->rounds && counts_operations(m); }
static uint32_t exp2_(mx m, uint32_t x) { return GLSL(m.e, GlslExp2, m.ft, x); }
static uint32_t exp_rounded(mx m, uint32_t x) { return exp2_(m, mx_mul(m, x, mx_k(m, 1.44269504088896341))); }

/* gelu as above, Q by a shorter polynomial: off by less than 3e-7, and by 1e-4 of itself. From 14 on the power is 0. */
static uint32_t gelu_rounded(mx m, uint32_t a) {
  static const double c[] = {-7.012489251487751e-7, 4.1005385981086466e-5, -0.0007892099606642479, 0.008052158570732413,
                             -0.053256096123128184, -0.4589478855964869,   -1.151133415396204,     -1};
  enum { N = sizeof c / sizeof *c };
  const uint32_t zero = mx_k(m, 0), most = mx_k(m, 14), abs = mx_abs(m, a),
                 t = mx_pick(m, mx_cmp(m, OpFOrdLessThan, most, abs), most, abs);
  uint32_t z = mx_k(m, c[0]);
  for (int i = 1; i < N; i++) z = mx_add(m, mx_mul(m, z, t), mx_k(m, c[i]));
  const uint32_t positive = mx_pick(m, mx_cmp(m, OpFOrdLessThan, a, zero), zero, a),
                 y = mx_sub(m, positive, mx_mul(m, t, exp2_(m, z)));
  return mx_from_bits(m, mx_u(m, OpBitwiseOr, mx_bits(m, y), sign_of(m, a)));
}

/* e^x = 2^n * e^r, |r| <= ln 2 / 2, with coefficients fitted over that range. Past the clamps the product itself
 * becomes 0 or infinity. */
static uint32_t exp_(mx m, uint32_t x) {
  static const double c[] = {
      0.0013926181810489343, 0.008363177629994445, 0.041666554627878084, 0.16666576998242924, 0.5, 1.0, 1.0};
  if (rounds(m)) return exp_rounded(m, x);
  if (counts_operations(m)) return exp_flushed(m, x);
  uint32_t nan = mx_nan(m, x), t = mx_clamp(m, mx_pick(m, nan, mx_k(m, 0), x), -105, 89.5);
  uint32_t n = mx_round(m, mx_mul(m, t, mx_k(m, 1.44269504088896341)));
  uint32_t r = mx_reduce(m, mx_reduce(m, t, n, 0.693145751953125), n, 1.42860677e-6);
  return mx_pick(m, nan, x, mx_scale(m, mx_poly(m, r, c, 7), mx_whole(m, n)));
}

/* log x = e ln 2 + log(1 + f), sqrt(1/2) <= 1 + f < sqrt 2 (Cephes logf). */
static uint32_t log_(mx m, uint32_t x) {
  static const double c[] = {7.0376836292e-2,  -1.1514610310e-1, 1.1676998740e-1,  -1.2420140846e-1, 1.4249322787e-1,
                             -1.6668057665e-1, 2.0000714765e-1,  -2.4999993993e-1, 3.3333331174e-1};
  uint32_t tiny = mx_cmp(m, OpFOrdLessThan, x, mx_k(m, 1.17549435e-38)),
           up = mx_pick(m, tiny, mx_mul(m, x, mx_k(m, 8388608)), x), b = mx_bits(m, up);
  uint32_t shifted = mx_u(m, OpISub, b, mx_uk(m, 0x3f3504f3u)); /* sqrt(1/2) */
  uint32_t ex = VAL(&m.e->s, OpShiftRightArithmetic, m.ut, shifted, mx_uk(m, 23));
  uint32_t f =
      mx_sub(m, mx_from_bits(m, mx_u(m, OpISub, b, mx_u(m, OpShiftLeftLogical, ex, mx_uk(m, 23)))), mx_k(m, 1));
  uint32_t n = mx_sub(m, VAL(&m.e->s, OpConvertSToF, m.ft, ex), mx_pick(m, tiny, mx_k(m, 23), mx_k(m, 0)));
  uint32_t z = mx_mul(m, f, f), y = mx_mul(m, mx_mul(m, mx_poly(m, f, c, 9), f), z);
  y = mx_fma(m, n, mx_k(m, -2.12194440e-4), y);
  y = mx_fma(m, z, mx_k(m, -0.5), y);
  uint32_t r = mx_fma(m, n, mx_k(m, 0.693359375), mx_add(m, f, y));
  uint32_t inf = mx_inf(m), nan = mx_quiet(m);
  r = mx_pick(m, mx_cmp(m, OpFOrdEqual, x, inf), inf, r);
  r = mx_pick(m, mx_cmp(m, OpFOrdEqual, x, mx_k(m, 0)), mx_neg(m, inf), r);
  return mx_pick(m, mx_cmp(m, OpFOrdGreaterThanEqual, x, mx_k(m, 0)), r, nan);
}

static uint32_t tanh_(mx m, uint32_t x) {
  static const double c[] = {-5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2, 1.33314422036e-1,
                             -3.33332819422e-1};
  uint32_t a = mx_abs(m, x), z = mx_mul(m, x, x), small = mx_fma(m, mx_mul(m, mx_poly(m, z, c, 5), z), x, x);
  uint32_t big = mx_sub(m, mx_k(m, 1), mx_div(m, mx_k(m, 2), mx_add(m, exp_(m, mx_add(m, a, a)), mx_k(m, 1))));
  return mx_copysign(m, mx_pick(m, mx_cmp(m, OpFOrdLessThan, a, mx_k(m, 0.625)), small, big), x); /* of -0 too */
}

static uint32_t erf_(mx m, uint32_t x) {
  static const double near[] = {-5.96761703e-4, 4.99119423e-3,  -2.67681349e-2,
                                1.12819925e-1,  -3.76125336e-1, 1.28379166e-1};
  uint32_t t = mx_abs(m, x), s = mx_mul(m, x, x), small = mx_fma(m, mx_poly(m, s, near, 6), x, x);
  uint32_t r = mx_fma(m, mx_k(m, -1.72853470e-5), t, mx_k(m, 3.83197126e-4)),
           v = mx_fma(m, mx_k(m, -3.88396438e-3), t, mx_k(m, 2.42546219e-2));
  r = mx_fma(m, r, s, v);
  r = mx_fma(m, r, t, mx_k(m, -1.06777877e-1));
  r = mx_fma(m, r, t, mx_k(m, -6.34846687e-1));
  r = mx_fma(m, r, t, mx_k(m, -1.28717512e-1));
  r = mx_fma(m, r, t, mx_neg(m, t));
  uint32_t big = mx_copysign(m, mx_sub(m, mx_k(m, 1), exp_(m, r)), x);
  big = mx_pick(m, mx_cmp(m, OpFOrdGreaterThan, t, mx_k(m, 4)), mx_copysign(m, mx_k(m, 1), x),
                big); /* also where the polynomial overflows */
  return mx_pick(m, mx_cmp(m, OpFOrdGreaterThan, t, mx_k(m, 0.927734375)), big, small);
}

/* ---- expansions of core/ir/scalar_ops.h ------------------------------------------------------------------------- */

typedef struct expanded { mx m; uint32_t a; } expanded;

static scalar_value expanded_name(void *user, char name) { return (scalar_value){.id = ((expanded *)user)->a}; }
static scalar_value expanded_number(void *user, double v) {
  return (scalar_value){.id = mx_k(((expanded *)user)->m, v)};
}

static uint32_t step(mx m, int code, int variant, const scalar_value *x) {
  const vt f32 = {TSR_F32, m.n};
  switch (code) {
  case SC_ADD: return mx_add(m, x[0].id, x[1].id);
  case SC_MUL: return mx_mul(m, x[0].id, x[1].id);
  case SC_DIV: return mx_div(m, x[0].id, x[1].id);
  case SC_NEG: return mx_neg(m, x[0].id);
  case SC_FMA: return mx_fma(m, x[0].id, x[1].id, x[2].id);
  case SCALAR_FINITE: return GLSL(m.e, GlslFMax, m.ft, x[0].id, mx_k(m, -3.4028234663852886e38));
  case SC_COMPARE: return e_compare(m.e, variant, f32, x[0].id, x[1].id);
  case SC_SELECT: return mx_pick(m, x[0].id, x[1].id, x[2].id);
  default: break;
  }
  if (e_is_math(code)) return e_math(m.e, code, m.n, x[0].id, x[1].id);
  return scalar_rows[code].operands == 1 ? e_unary(m.e, code, f32, x[0].id)
                                         : e_binary(m.e, code, f32, x[0].id, x[1].id);
}

static scalar_value expanded_apply(void *user, int code, int variant, const scalar_value *x) {
  return (scalar_value){.id = step(((expanded *)user)->m, code, variant, x)};
}

static uint32_t expand(mx m, const char *text, uint32_t a) {
  expanded x = {m, a};
  scalar_reader r = {&x, expanded_name, expanded_number, expanded_apply};
  scalar_value v = {0};
  scalar_read(&text, &r, &v);
  return v.id;
}

uint32_t e_math(emitter *e, int code, int n, uint32_t x, uint32_t y) {
  mx m = mx_of(e, n);
  if (code == SC_GELU && rounds(m)) return gelu_rounded(m, x);
  if (code == SC_GELU && counts_operations(m)) return gelu_flushed(m, x);
  if (scalar_rows[code].expansion) return expand(m, scalar_rows[code].expansion, x);
  switch (code) {
  case SC_POW: return mx_pow(m, x, y);
  case SC_EXP: return exp_(m, x);
  case SC_LOG: return log_(m, x);
  case SC_RSQRT: return GLSL(e, GlslInverseSqrt, m.ft, x);
  case SC_TANH: return tanh_(m, x);
  case SC_ERF: return erf_(m, x);
  case SC_SIN: return mx_sin_cos(m, x, 0);
  default: return mx_sin_cos(m, x, 1);
  }
}
