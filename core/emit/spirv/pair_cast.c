/* core/emit/spirv/pair_cast.c - conversions between 64-bit integers of two words and all other types, by the rules of
 * emit/spirv/cast.c: to integers saturates, NaN gives 0, to floats rounds once. */
#include <math.h>

#include "core/emit/spirv/pair.h"

/* ---- to i64 ---- */

static uint32_t number(mx m, tsr_dtype t, double v) { return e_const(m.e, t, v, m.n); }

/* f32 or f64: its two halves are exact, since a float has no more bits than its type. */
static mx_pair from_float(mx m, tsr_dtype t, uint32_t x) {
  emitter *e = m.e;
  uint32_t ft = e_reg(e, t, m.n), limit = number(m, t, 0x1p63);
  uint32_t over = mx_cmp(m, OpFOrdGreaterThanEqual, x, limit),
           under = mx_cmp(m, OpFOrdLessThanEqual, x, VAL(&e->s, OpFNegate, ft, limit));
  uint32_t bad = mx_or(m, mx_or(m, over, under), mx_cmp(m, OpFUnordNotEqual, x, x));
  uint32_t tame = VAL(&e->s, OpSelect, ft, bad, number(m, t, 0), x), a = GLSL(e, GlslFAbs, ft, tame);
  uint32_t high = GLSL(e, GlslTrunc, ft, VAL(&e->s, OpFMul, ft, a, number(m, t, 0x1p-32)));
  uint32_t above = mx_keep(m, VAL(&e->s, OpFMul, ft, high, number(m, t, 0x1p32))),
           low = mx_keep(m, VAL(&e->s, OpFSub, ft, a, above));
  mx_pair r = {VAL(&e->s, OpConvertFToU, m.ut, low), VAL(&e->s, OpConvertFToU, m.ut, high)};
  r = mx_pair_pick(m, mx_cmp(m, OpFOrdLessThan, tame, number(m, t, 0)), mx_pair_neg(m, r), r);
  r = mx_pair_pick(m, over, mx_pair_k(m, INT64_MAX), r);
  return mx_pair_pick(m, under, mx_pair_k(m, INT64_MIN), r);
}

mx_pair pair_from(mx m, tsr_dtype from, uint32_t x) {
  if (from == TSR_BOOL) return (mx_pair){mx_upick(m, x, mx_uk(m, 1), mx_uk(m, 0)), mx_uk(m, 0)};
  if (dtype_is_float(from)) {
    tsr_dtype by = from == TSR_F64 ? TSR_F64 : TSR_F32;
    return from_float(m, by, e_cast(m.e, x, from, by, m.n));
  }
  bool is_signed = dtype_get(from)->is_signed;
  uint32_t low = e_resize(m.e, is_signed ? OpSConvert : OpUConvert, 8 * (int)tsr_dtype_size(from), 32, m.n, x);
  return (mx_pair){low, is_signed ? mx_u(m, OpShiftRightArithmetic, low, mx_uk(m, 31)) : mx_uk(m, 0)};
}

/* ---- from i64 ---- */

/* The 32 highest bits of a magnitude from its first one on, the last telling whether any below was lost, and 2^i that
 * they count in. */
static uint32_t leading(mx m, mx_pair a, uint32_t *i) {
  uint32_t zero = mx_uk(m, 0), small = VAL(&m.e->s, OpIEqual, m.bt, a.high, zero);
  mx_pair x = mx_pair_pick(m, small, (mx_pair){zero, a.low}, a);
  uint32_t first = GLSL(m.e, GlslFindUMsb, m.ut, mx_u(m, OpBitwiseOr, x.high, mx_uk(m, 1))),
           by = mx_u(m, OpISub, mx_uk(m, 31), first);
  x = mx_pair_shl(m, x, by);
  *i = mx_u(m, OpISub, mx_upick(m, small, zero, mx_uk(m, 32)), by);
  uint32_t lost = VAL(&m.e->s, OpINotEqual, m.bt, x.low, zero);
  return mx_u(m, OpBitwiseOr, x.high, mx_upick(m, lost, mx_uk(m, 1), zero));
}

/* As an f32: rounded to nearest or, for a further rounding to a narrower type, to 24 bits that are odd where any was
 * lost. */
static uint32_t to_f32(mx m, mx_pair a, bool odd) {
  uint32_t i, word = leading(m, mx_pair_abs(m, a), &i);
  if (odd) {
    uint32_t rest = mx_u(m, OpBitwiseAnd, word, mx_uk(m, 0xff));
    word = mx_u(m, OpBitwiseOr, mx_u(m, OpShiftRightLogical, word, mx_uk(m, 8)),
                mx_upick(m, VAL(&m.e->s, OpINotEqual, m.bt, rest, mx_uk(m, 0)), mx_uk(m, 1), mx_uk(m, 0)));
    i = mx_u(m, OpIAdd, i, mx_uk(m, 8));
  }
  uint32_t r = mx_mul(m, VAL(&m.e->s, OpConvertUToF, m.ft, word), mx_power_of_2(m, i));
  return mx_pick(m, mx_pair_negative(m, a), mx_neg(m, r), r);
}

static uint32_t to_f64(mx m, mx_pair a) {
  uint32_t dt = e_reg(m.e, TSR_F64, m.n),
           high = VAL(&m.e->s, OpFMul, dt, VAL(&m.e->s, OpConvertSToF, dt, a.high), number(m, TSR_F64, 0x1p32));
  return VAL(&m.e->s, OpFAdd, dt, high, VAL(&m.e->s, OpConvertUToF, dt, a.low));
}

uint32_t pair_to(mx m, mx_pair a, tsr_dtype to) {
  uint32_t zero = mx_uk(m, 0);
  if (to == TSR_BOOL) return VAL(&m.e->s, OpINotEqual, m.bt, mx_u(m, OpBitwiseOr, a.low, a.high), zero);
  if (to == TSR_F64) return to_f64(m, a);
  if (to == TSR_F32) return to_f32(m, a, false);
  if (dtype_is_float(to)) return e_cast(m.e, to_f32(m, a, true), TSR_F32, to, m.n);
  int bits = 8 * (int)tsr_dtype_size(to);
  bool is_signed = dtype_get(to)->is_signed;
  int64_t most = is_signed ? ((int64_t)1 << (bits - 1)) - 1 : ((int64_t)1 << bits) - 1,
          least = is_signed ? -most - 1 : 0;
  a = mx_pair_pick(m, mx_pair_less(m, true, mx_pair_k(m, most), a), mx_pair_k(m, most), a);
  a = mx_pair_pick(m, mx_pair_less(m, true, a, mx_pair_k(m, least)), mx_pair_k(m, least), a);
  return e_resize(m.e, is_signed ? OpSConvert : OpUConvert, 32, bits, m.n, a.low);
}
