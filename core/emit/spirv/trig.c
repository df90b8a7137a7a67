/* core/emit/spirv/trig.c - sine and cosine of f32 over its whole range: x = q * pi/2 + r, then a polynomial in r (the
 * kernels are Cephes'). Up to 12,000 pi/2 is subtracted in four parts of at most 11 bits, whose products with q are
 * exact; beyond, the product of x with the bits of 2/pi that matter is formed in integers (Payne and Hanek 1983), under
 * a branch that ordinary arguments skip. */
#include "core/emit/spirv/mx.h"

#define LIMIT 12000.0

/* 32 zero bits, then the first 224 bits of 2/pi. */
static const uint32_t two_over_pi[8] = {0,          0xa2f9836e, 0x4e441529, 0xfc2757d1,
                                        0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab};

typedef struct reduced { uint32_t r, q; } reduced; /* the remainder in [-pi/4, pi/4], and the quadrant */

static reduced by_parts(mx m, uint32_t x) {
  static const double parts[] = {1.5703125, 4.837512969970703125e-4, 7.5495336204767227e-8, 2.5633440682570896e-12};
  uint32_t q = mx_round(m, mx_mul(m, x, mx_k(m, 0.636619772367581))), r = x;
  for (int i = 0; i < 4; i++) r = mx_reduce(m, r, q, parts[i]);
  uint32_t whole = mx_pick(m, mx_cmp(m, OpFOrdLessThan, mx_abs(m, q), mx_k(m, LIMIT)), q, mx_k(m, 0));
  return (reduced){r, mx_whole(m, whole)};
}

/* Word `at` (0 to 4) + i of the table. */
static uint32_t table_word(mx m, uint32_t at, int i) {
  uint32_t w = mx_uk(m, two_over_pi[i]);
  for (uint32_t k = 1; k < 5; k++)
    w = mx_upick(m, VAL(&m.e->s, OpIEqual, m.bt, at, mx_uk(m, k)), mx_uk(m, two_over_pi[i + (int)k]), w);
  return w;
}

/* The top 64 of 96 bits of |x| * 2/pi modulo 4: 2 of the quadrant, 62 of the fraction. x = mant * 2^(e - 23); of the
 * table the bits from weight 2^1 on after that scaling are needed, those above give multiples of 4. */
static mx_pair turns(mx m, uint32_t b) {
  uint32_t e = mx_u(m, OpShiftRightLogical, b, mx_uk(m, 23)),
           mant = mx_u(m, OpBitwiseOr, mx_u(m, OpBitwiseAnd, b, mx_uk(m, 0x7fffff)), mx_uk(m, 0x800000));
  uint32_t pos = mx_u(m, OpISub, e, mx_uk(m, 127 + 23 - 30)), at = mx_u(m, OpShiftRightLogical, pos, mx_uk(m, 5)),
           sh = mx_u(m, OpBitwiseAnd, pos, mx_uk(m, 31));
  uint32_t back = mx_u(m, OpISub, mx_uk(m, 31), sh), w[3], next = table_word(m, at, 0);
  for (int i = 0; i < 3; i++) {
    uint32_t high = mx_u(m, OpShiftLeftLogical, next, sh);
    next = table_word(m, at, i + 1);
    w[i] =
        mx_u(m, OpBitwiseOr, high, mx_u(m, OpShiftRightLogical, mx_u(m, OpShiftRightLogical, next, mx_uk(m, 1)), back));
  }
  mx_pair low = mx_two(m, OpUMulExtended, mant, w[2]), mid = mx_two(m, OpUMulExtended, mant, w[1]);
  mx_pair sum = mx_pair_add(m, mid, (mx_pair){low.high, mx_uk(m, 0)});
  return mx_pair_add(m, sum, (mx_pair){mx_uk(m, 0), mx_u(m, OpIMul, mant, w[0])});
}

/* The signed fraction s times pi/2 * 2^-64. Its upper 12 bits times the upper 11 of pi/2 are exact, so that one
 * rounding counts. */
static uint32_t of_fraction(mx m, mx_pair s) {
  uint32_t minus = VAL(&m.e->s, OpSLessThan, m.bt, s.high, mx_uk(m, 0));
  mx_pair opposite = mx_pair_neg(m, s);
  mx_pair x = {mx_upick(m, minus, opposite.low, s.low), mx_upick(m, minus, opposite.high, s.high)};
  uint32_t small = VAL(&m.e->s, OpIEqual, m.bt, x.high, mx_uk(m, 0)),
           zeros = mx_upick(m, small, mx_uk(m, 32), mx_uk(m, 0));
  x = (mx_pair){mx_upick(m, small, mx_uk(m, 0), x.low), mx_upick(m, small, x.low, x.high)};
  uint32_t top = GLSL(m.e, GlslFindUMsb, m.ut, mx_u(m, OpBitwiseOr, x.high, mx_uk(m, 1))),
           by = mx_u(m, OpISub, mx_uk(m, 31), top);
  x = mx_pair_shl(m, x, by);
  uint32_t exponent = mx_u(m, OpISub, mx_uk(m, 127 - 32), mx_u(m, OpIAdd, zeros, by));
  uint32_t scale = mx_from_bits(m, mx_u(m, OpShiftLeftLogical, exponent, mx_uk(m, 23)));
  uint32_t rest = mx_u(m, OpBitwiseOr, mx_u(m, OpShiftLeftLogical, x.high, mx_uk(m, 12)),
                       mx_u(m, OpShiftRightLogical, x.low, mx_uk(m, 20)));
  uint32_t head = VAL(&m.e->s, OpConvertUToF, m.ft, mx_u(m, OpBitwiseAnd, x.high, mx_uk(m, 0xfff00000u))),
           tail = VAL(&m.e->s, OpConvertUToF, m.ft, rest);
  const double upper = 1.5703125, lower = 1.57079632679489661923 - 1.5703125;
  uint32_t r =
      mx_xadd(m, mx_xmul(m, head, mx_k(m, upper)),
              mx_xadd(m, mx_xmul(m, head, mx_k(m, lower)), mx_xmul(m, tail, mx_k(m, (upper + lower) * 0x1p-12))));
  r = mx_xmul(m, r, scale);
  return mx_pick(m, minus, mx_neg(m, r), r);
}

static reduced by_words(mx m, uint32_t x) {
  uint32_t b = mx_bits(m, x), mag = mx_u(m, OpBitwiseAnd, b, mx_uk(m, 0x7fffffffu));
  /* Arguments of the other way and what is not finite: any whose position lies in the table. */
  uint32_t ours = mx_and(m, VAL(&m.e->s, OpUGreaterThanEqual, m.bt, mag, mx_uk(m, 0x45800000u)),
                         VAL(&m.e->s, OpULessThan, m.bt, mag, mx_uk(m, 0x7f800000u)));
  mx_pair f = turns(m, mx_upick(m, ours, mag, mx_uk(m, 0x46000000u)));
  uint32_t q = mx_u(m, OpShiftRightLogical, mx_u(m, OpIAdd, f.high, mx_uk(m, 1u << 29)), mx_uk(m, 30));
  uint32_t r = of_fraction(m, mx_pair_shl(m, f, mx_uk(m, 2)));
  uint32_t minus = VAL(&m.e->s, OpINotEqual, m.bt, mag, b);
  return (reduced){mx_pick(m, minus, mx_neg(m, r), r), mx_upick(m, minus, VAL(&m.e->s, OpSNegate, m.ut, q), q)};
}

/* by_words where it must be, around a branch for the invocations that have no such component. */
static reduced reduce_argument(mx m, uint32_t x) {
  reduced near = by_parts(m, x);
  uint32_t large = mx_cmp(m, OpFOrdGreaterThanEqual, mx_abs(m, x), mx_k(m, LIMIT));
  uint32_t any = m.n == 1 ? large : VAL(&m.e->s, OpAny, e_bool(m.e), large), enter = spv_id(&m.e->s),
           merge = spv_id(&m.e->s), before = m.e->label;
  SPV(&m.e->s, m.e->s.body, OpSelectionMerge, merge, 0);
  SPV(&m.e->s, m.e->s.body, OpBranchConditional, any, enter, merge);
  e_block(m.e, enter);
  reduced far = by_words(m, x);
  far = (reduced){mx_pick(m, large, far.r, near.r), mx_upick(m, large, far.q, near.q)};
  uint32_t last = m.e->label;
  SPV(&m.e->s, m.e->s.body, OpBranch, merge);
  e_block(m.e, merge);
  uint32_t r = VAL(&m.e->s, OpPhi, m.ft, far.r, last, near.r, before),
           q = VAL(&m.e->s, OpPhi, m.ut, far.q, last, near.q, before);
  uint32_t finite = mx_cmp(m, OpFOrdLessThan, mx_abs(m, x), mx_inf(m));
  return (reduced){mx_pick(m, finite, r, mx_quiet(m)), q};
}

uint32_t mx_sin_cos(mx m, uint32_t x, uint32_t shift) {
  static const double s[] = {-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1},
                      c[] = {2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2};
  reduced a = reduce_argument(m, x);
  uint32_t i = mx_u(m, OpIAdd, a.q, mx_uk(m, shift)), r = a.r, z = mx_mul(m, r, r),
           sn = mx_fma(m, mx_mul(m, mx_poly(m, z, s, 3), z), r, r);
  uint32_t cs = mx_fma(m, mx_mul(m, mx_poly(m, z, c, 3), z), z, mx_fma(m, z, mx_k(m, -0.5), mx_k(m, 1)));
  uint32_t odd = VAL(&m.e->s, OpINotEqual, m.bt, mx_u(m, OpBitwiseAnd, i, mx_uk(m, 1)), mx_uk(m, 0));
  uint32_t y = mx_pick(m, odd, cs, sn),
           flip = mx_u(m, OpShiftLeftLogical, mx_u(m, OpBitwiseAnd, i, mx_uk(m, 2)), mx_uk(m, 30));
  y = mx_from_bits(m, mx_u(m, OpBitwiseXor, mx_bits(m, y), flip));
  return shift ? y : mx_pick(m, mx_cmp(m, OpFOrdEqual, x, mx_k(m, 0)), x, y); /* -0 */
}
