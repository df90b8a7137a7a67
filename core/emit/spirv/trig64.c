/* core/emit/spirv/trig64.c - sine and cosine of f64 over its whole range: x = q * pi/2 + r, then a polynomial in r. Up
 * to 10^6 pi/2 is subtracted in three parts whose products with q are exact; beyond, the product of x with the bits of
 * 2/pi that matter is formed in words (Payne and Hanek 1983), under a branch that ordinary arguments skip. */
#include "core/emit/spirv/dx.h"

#define LIMIT 1e6

/* 64 zero bits, then the first 1152 bits of 2/pi. */
static const uint32_t two_over_pi[] = {
    0,           0,           0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u, 0xdb629599u, 0x3c439041u,
    0xfe5163abu, 0xdebbc561u, 0xb7246e3au, 0x424dd2e0u, 0x06492eeau, 0x09d1921cu, 0xfe1deb1cu, 0xb129a73eu,
    0xe88235f5u, 0x2ebb4484u, 0xe99c7026u, 0xb45f7e41u, 0x3991d639u, 0x835339f4u, 0x9c845f8bu, 0xbdf9283bu,
    0x1ff897ffu, 0xde05980fu, 0xef2f118bu, 0x5a0a6d1fu, 0x6d367ecfu, 0x27cb09b7u, 0x4f463f66u, 0x9e5fea2du,
    0x7527bac7u, 0xebe5f17bu, 0x3d0739f7u, 0x8a5292eau, 0x6bfb5fb1u, 0x1f8d5d08u};
enum { TABLE = sizeof two_over_pi / sizeof *two_over_pi, WINDOW = 5 };

typedef struct reduced {
  uint32_t r, q;
} reduced; /* the remainder in [-pi/4, pi/4], and the quadrant */

static reduced by_parts(mx d, uint32_t x) {
  static const double parts[] = {1.5707963267341256, 6.077100506303966e-11, 2.0222662487959506e-21};
  uint32_t q = mx_round(d, mx_mul(d, x, mx_k(d, 0.636619772367581343))), r = x;
  for (int i = 0; i < 3; i++) r = mx_reduce(d, r, q, parts[i]);
  uint32_t whole = mx_pick(d, mx_cmp(d, OpFOrdLessThan, mx_abs(d, q), mx_k(d, LIMIT)), q, mx_k(d, 0));
  return (reduced){r, VAL(&d.e->s, OpConvertFToS, d.ut, whole)};
}

/* The table as a Function variable, whose elements an index reaches. */
static uint32_t table(emitter *e) {
  uint32_t w[TABLE + 1] = {TYPE(&e->s, OpTypeArray, e_int(e, 32), e_u32(e, TABLE))};
  for (int i = 0; i < TABLE; i++) w[1 + i] = e_u32(e, two_over_pi[i]);
  uint32_t all = spv_once(&e->s, OpConstantComposite, w, TABLE + 1, true), id = spv_id(&e->s);
  SPV(&e->s, SEC_VARS, OpVariable, e_ptr(e, StorageFunction, w[0]), id, StorageFunction, all);
  return id;
}

/* The bits of the table from `pos` on, as words, the first one first. */
static void window(mx d, uint32_t pos, uint32_t out[WINDOW]) {
  emitter *e = d.e;
  uint32_t var = table(e), pt = e_ptr(e, StorageFunction, d.ut), at = mx_u(d, OpShiftRightLogical, pos, mx_uk(d, 5)),
           by = mx_u(d, OpBitwiseAnd, pos, mx_uk(d, 31)), w[WINDOW + 1];
  for (uint32_t i = 0; i <= WINDOW; i++)
    w[i] = VAL(&e->s, OpLoad, d.ut, VAL(&e->s, OpAccessChain, pt, var, mx_u(d, OpIAdd, at, mx_uk(d, i))));
  for (int i = 0; i < WINDOW; i++) out[i] = mx_pair_shl(d, (mx_pair){w[i + 1], w[i]}, by).high;
}

/* sum[0..at] += value at word `at`, the first word the highest; what leaves it is a multiple of 4 turns. */
static void add_at(mx m, uint32_t *sum, int at, uint32_t value) {
  for (; at >= 0; at--) {
    mx_pair r = mx_two(m, OpIAddCarry, sum[at], value);
    sum[at] = r.low, value = r.high;
  }
}

/* |x| * 2/pi modulo 4, of which the two highest bits are whole: x = mantissa * 2^(field - 1075). */
static void turns(mx d, mx_pair x, uint32_t sum[WINDOW]) {
  uint32_t field = mx_u(d, OpShiftRightLogical, x.high, mx_uk(d, 20)), w[WINDOW];
  uint32_t mantissa[2] = {x.low,
                          mx_u(d, OpBitwiseOr, mx_u(d, OpBitwiseAnd, x.high, mx_uk(d, 0xfffff)), mx_uk(d, 0x100000))};
  window(d, mx_u(d, OpISub, field, mx_uk(d, 1075 - 62)), w);
  for (int i = 0; i < WINDOW; i++) sum[i] = mx_uk(d, 0);
  for (int i = WINDOW - 1; i >= 0; i--)
    for (int k = 0; k < 2 && i - k >= 0; k++) {
      mx_pair p = mx_two(d, OpUMulExtended, mantissa[k], w[i]);
      add_at(d, sum, i - k, p.low);
      add_at(d, sum, i - k - 1, p.high);
    }
}

/* A signed fraction of three words times pi/2. */
static uint32_t of_fraction(mx d, const uint32_t f[3]) {
  uint32_t minus = VAL(&d.e->s, OpSLessThan, d.bt, f[0], mx_uk(d, 0)), flipped[3], r = mx_k(d, 0);
  for (int i = 0; i < 3; i++) flipped[i] = VAL(&d.e->s, OpNot, d.ut, f[i]);
  add_at(d, flipped, 2, mx_uk(d, 1));
  for (int i = 2; i >= 0; i--) {
    uint32_t word = mx_upick(d, minus, flipped[i], f[i]);
    r = mx_mul(d, mx_add(d, r, VAL(&d.e->s, OpConvertUToF, d.ft, word)), mx_k(d, 0x1p-32));
  }
  r = mx_mul(d, r, mx_k(d, 1.57079632679489661923));
  return mx_pick(d, minus, mx_neg(d, r), r);
}

static reduced by_words(mx d, uint32_t x) {
  mx_pair w = dx_words(d, x);
  uint32_t sum[WINDOW], f[3], minus = VAL(&d.e->s, OpSLessThan, d.bt, w.high, mx_uk(d, 0));
  w.high = mx_u(d, OpBitwiseAnd, w.high, mx_uk(d, 0x7fffffffu));
  /* Arguments of the other way and what is not finite: any whose position lies in the table. */
  uint32_t ours = mx_and(d, VAL(&d.e->s, OpUGreaterThanEqual, d.bt, w.high, mx_uk(d, 0x41200000u)),
                         VAL(&d.e->s, OpULessThan, d.bt, w.high, mx_uk(d, 0x7ff00000u)));
  w.high = mx_upick(d, ours, w.high, mx_uk(d, 0x41300000u));
  turns(d, w, sum);
  uint32_t q = mx_u(d, OpShiftRightLogical, mx_u(d, OpIAdd, sum[0], mx_uk(d, 1u << 29)), mx_uk(d, 30));
  for (int i = 0; i < 3; i++) f[i] = mx_pair_shl(d, (mx_pair){sum[i + 1], sum[i]}, mx_uk(d, 2)).high;
  uint32_t r = of_fraction(d, f);
  return (reduced){mx_pick(d, minus, mx_neg(d, r), r), mx_upick(d, minus, VAL(&d.e->s, OpSNegate, d.ut, q), q)};
}

static reduced reduce_argument(mx d, uint32_t x) {
  emitter *e = d.e;
  reduced near = by_parts(d, x);
  uint32_t large = mx_cmp(d, OpFOrdGreaterThanEqual, mx_abs(d, x), mx_k(d, LIMIT)), enter = spv_id(&e->s),
           merge = spv_id(&e->s), before = e->label;
  SPV(&e->s, e->s.body, OpSelectionMerge, merge, 0);
  SPV(&e->s, e->s.body, OpBranchConditional, large, enter, merge);
  e_block(e, enter);
  reduced far = by_words(d, x);
  uint32_t last = e->label;
  SPV(&e->s, e->s.body, OpBranch, merge);
  e_block(e, merge);
  uint32_t r = VAL(&e->s, OpPhi, d.ft, far.r, last, near.r, before),
           q = VAL(&e->s, OpPhi, d.ut, far.q, last, near.q, before);
  uint32_t finite = mx_cmp(d, OpFOrdLessThan, mx_abs(d, x), dx_inf(d));
  return (reduced){mx_pick(d, finite, r, dx_quiet(d)), q};
}

uint32_t dx_sin_cos(mx d, uint32_t x, uint32_t shift) {
  static const double s[] = {-7.5860947896726206e-13, 1.6058521349954986e-10,  -2.5052106167335705e-08,
                             2.7557319219150783e-06,  -0.00019841269841264821, 0.0083333333333333315,
                             -0.16666666666666666},
                      c[] = {4.7455370173192583e-14,  -1.1470455178216906e-11, 2.0876755754879594e-09,
                             -2.7557319221298089e-07, 2.480158730158451e-05,   -0.0013888888888888887,
                             0.041666666666666664};
  reduced a = reduce_argument(d, x);
  uint32_t i = mx_u(d, OpIAdd, a.q, mx_uk(d, shift)), r = a.r, z = mx_mul(d, r, r),
           sn = mx_fma(d, mx_mul(d, mx_poly(d, z, s, 7), z), r, r);
  uint32_t cs = mx_fma(d, mx_mul(d, mx_poly(d, z, c, 7), z), z, mx_fma(d, z, mx_k(d, -0.5), mx_k(d, 1)));
  uint32_t odd = VAL(&d.e->s, OpINotEqual, d.bt, mx_u(d, OpBitwiseAnd, i, mx_uk(d, 1)), mx_uk(d, 0)),
           y = mx_pick(d, odd, cs, sn);
  mx_pair w = dx_words(d, y);
  uint32_t flip = mx_u(d, OpShiftLeftLogical, mx_u(d, OpBitwiseAnd, i, mx_uk(d, 2)), mx_uk(d, 30));
  w.high = mx_u(d, OpBitwiseXor, w.high, flip);
  y = dx_from_words(d, w);
  return shift ? y : mx_pick(d, mx_cmp(d, OpFOrdEqual, x, mx_k(d, 0)), x, y); /* -0 */
}
