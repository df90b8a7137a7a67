/* core/emit/spirv/pow.c - |a|^b = 2^(b * log2 |a|) in f32. The exponent's error is multiplied by up to 128, so the
 * logarithm is kept as two floats: heads of 12 bits, whose products are exact without a fused multiply-add (Vulkan
 * promises none), and tails. Largest error of 12 million pairs over the whole range: 1.2 ulp. Then the cases of C's
 * pow. */
#include "core/emit/spirv/mx.h"

typedef struct two { uint32_t head, tail; } two; /* head + tail; the head has 12 bits */

static uint32_t upper(mx m, uint32_t x) {
  return mx_from_bits(m, mx_u(m, OpBitwiseAnd, mx_bits(m, x), mx_uk(m, 0xfffff000u)));
}

/* atanh(f / g) for g = 2 + f, f = mant - 1: half of log(mant). */
static two half_log(mx m, uint32_t mant) {
  static const double c[] = {0.11524260549520603, 0.1428111493096728, 0.2000000753549714};
  uint32_t one = mx_k(m, 1), third = mx_k(m, 1.0 / 3), f = mx_xsub(m, mant, one), g = mx_xadd(m, mant, one),
           g_lost = mx_xsub(m, mant, mx_xsub(m, g, one));
  uint32_t inv = mx_div(m, one, g), s = mx_mul(m, f, inv), sh = upper(m, s), gh = upper(m, g), gt = mx_xsub(m, g, gh);
  uint32_t left = mx_xsub(m, mx_xsub(m, mx_xsub(m, f, mx_xmul(m, sh, gh)), mx_xmul(m, sh, gt)), mx_xmul(m, sh, g_lost)),
           sl = mx_mul(m, left, inv);
  /* s^3 / 3 in two parts, s = sh + sl; the higher powers in one. */
  uint32_t z = mx_xmul(m, sh, sh), wh = upper(m, mx_mul(m, z, third)),
           wl = mx_mul(m, mx_xsub(m, z, mx_xmul(m, wh, mx_k(m, 3))), third);
  uint32_t cube = mx_xmul(m, sh, wh), sum = mx_xadd(m, sh, cube), lost = mx_xsub(m, cube, mx_xsub(m, sum, sh)),
           s2 = mx_mul(m, s, s);
  uint32_t small = mx_mul(m, mx_add(m, z, mx_mul(m, sh, sl)), sl);
  small =
      mx_add(m, mx_mul(m, mx_mul(m, s, mx_mul(m, s2, s2)), mx_poly(m, s2, c, 3)), mx_add(m, mx_mul(m, sh, wl), small));
  uint32_t head = upper(m, sum);
  return (two){head, mx_xadd(m, mx_xsub(m, sum, head), mx_xadd(m, lost, mx_add(m, sl, small)))};
}

static two log2_of(mx m, uint32_t mag) {
  const double k = 2.8853900817779268, k_head = 2.884765625; /* 2 / ln 2 */
  uint32_t tiny = mx_cmp(m, OpFOrdLessThan, mag, mx_k(m, 1.17549435e-38)),
           b = mx_bits(m, mx_pick(m, tiny, mx_mul(m, mag, mx_k(m, 8388608)), mag));
  uint32_t ex = mx_u(m, OpShiftRightArithmetic, mx_u(m, OpISub, b, mx_uk(m, 0x3f3504f3u)),
                     mx_uk(m, 23)); /* mant from sqrt(1/2) */
  uint32_t mant = mx_from_bits(m, mx_u(m, OpISub, b, mx_u(m, OpShiftLeftLogical, ex, mx_uk(m, 23))));
  uint32_t n = mx_sub(m, VAL(&m.e->s, OpConvertSToF, m.ft, ex), mx_pick(m, tiny, mx_k(m, 23), mx_k(m, 0)));
  two a = half_log(m, mant);
  uint32_t hi = mx_xmul(m, a.head, mx_k(m, k_head)),
           lo = mx_add(m, mx_mul(m, a.head, mx_k(m, k - k_head)), mx_mul(m, a.tail, mx_k(m, k)));
  uint32_t sum = mx_xadd(m, n, hi);
  lo = mx_xadd(m, lo, mx_xsub(m, hi, mx_xsub(m, sum, n)));
  uint32_t head = upper(m, mx_xadd(m, sum, lo));
  return (two){head, mx_xsub(m, lo, mx_xsub(m, head, sum))};
}

/* 2^(l * b). Exponents b beyond 2^40 give 0, infinity, or 1 for |a| = 1 (the caller's) as 2^40 does. */
static uint32_t power(mx m, two l, uint32_t b) {
  static const double c[] = {0.00015453262409320672,
                             0.0013390978248123866,
                             0.00961808237061666,
                             0.05550356898627073,
                             0.24022650760957306,
                             0.6931471880711763,
                             1};
  uint32_t tame = mx_clamp(m, b, -0x1p40, 0x1p40), bh = upper(m, tame), bt = mx_xsub(m, tame, bh);
  uint32_t hi = mx_xmul(m, bh, l.head), lo = mx_add(m, mx_mul(m, bt, l.head), mx_mul(m, tame, l.tail));
  uint32_t n = mx_round(m, mx_clamp(m, mx_add(m, hi, lo), -200, 200));
  uint32_t in = mx_cmp(m, OpFOrdLessThan, mx_abs(m, hi), mx_k(m, 199)),
           r = mx_pick(m, in, mx_xadd(m, mx_xsub(m, hi, n), lo), mx_k(m, 0));
  return mx_scale(m, mx_poly(m, r, c, 7), mx_whole(m, n));
}

uint32_t mx_pow(mx m, uint32_t a, uint32_t b) {
  uint32_t inf = mx_inf(m), nan = mx_quiet(m), one = mx_k(m, 1), zero = mx_k(m, 0), mag = mx_abs(m, a);
  uint32_t is_zero = mx_cmp(m, OpFOrdEqual, mag, zero), is_inf = mx_cmp(m, OpFOrdEqual, mag, inf),
           below = mx_cmp(m, OpFOrdLessThan, b, zero);
  uint32_t any_nan = mx_or(m, mx_nan(m, a), mx_nan(m, b));
  uint32_t special = mx_or(m, mx_or(m, is_zero, is_inf), any_nan);
  uint32_t r = power(m, log2_of(m, mx_pick(m, special, one, mag)), mx_pick(m, any_nan, one, b));
  r = mx_pick(m, is_zero, mx_pick(m, below, inf, zero), r);
  r = mx_pick(m, is_inf, mx_pick(m, below, zero, inf), r);
  uint32_t whole = mx_cmp(m, OpFOrdEqual, GLSL(m.e, GlslFloor, m.ft, b), b), h = mx_mul(m, b, mx_k(m, 0.5));
  uint32_t odd = mx_and(m, whole, mx_cmp(m, OpFUnordNotEqual, GLSL(m.e, GlslFloor, m.ft, h), h));
  uint32_t minus =
      VAL(&m.e->s, OpINotEqual, m.bt, mx_u(m, OpBitwiseAnd, mx_bits(m, a), mx_uk(m, 0x80000000u)), mx_uk(m, 0));
  r = mx_pick(m, mx_and(m, minus, odd), mx_neg(m, r), r);
  uint32_t defined = mx_or(m, whole, mx_or(m, is_inf, is_zero)),
           undefined = mx_and(m, minus, VAL(&m.e->s, OpLogicalNot, m.bt, defined));
  r = mx_pick(m, mx_or(m, undefined, any_nan), nan, r);
  return mx_pick(m, mx_or(m, mx_cmp(m, OpFOrdEqual, a, one), mx_cmp(m, OpFOrdEqual, b, zero)), one, r);
}
