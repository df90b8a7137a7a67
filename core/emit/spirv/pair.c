/* core/emit/spirv/pair.c - 64-bit integers as two 32-bit words of n components each: what the scalar operations on them
 * (emit/spirv/pair_ops.c) and the reduction of large angles are made of. */
#include "core/emit/spirv/pair.h"

mx_pair mx_two(mx m, int op, uint32_t a, uint32_t b) {
  uint32_t r = VAL(&m.e->s, op, TYPE(&m.e->s, OpTypeStruct, m.ut, m.ut), a, b);
  return (mx_pair){VAL(&m.e->s, OpCompositeExtract, m.ut, r, 0), VAL(&m.e->s, OpCompositeExtract, m.ut, r, 1)};
}

mx_pair mx_pair_add(mx m, mx_pair a, mx_pair b) {
  mx_pair low = mx_two(m, OpIAddCarry, a.low, b.low);
  return (mx_pair){low.low, mx_u(m, OpIAdd, mx_u(m, OpIAdd, a.high, b.high), low.high)};
}

mx_pair mx_pair_not(mx m, mx_pair a) {
  return (mx_pair){VAL(&m.e->s, OpNot, m.ut, a.low), VAL(&m.e->s, OpNot, m.ut, a.high)};
}

mx_pair mx_pair_k(mx m, int64_t v) {
  return (mx_pair){mx_uk(m, (uint32_t)(uint64_t)v), mx_uk(m, (uint32_t)((uint64_t)v >> 32))};
}

mx_pair mx_pair_neg(mx m, mx_pair a) { return mx_pair_add(m, mx_pair_not(m, a), mx_pair_k(m, 1)); }

mx_pair mx_pair_pick(mx m, uint32_t c, mx_pair a, mx_pair b) {
  return (mx_pair){mx_upick(m, c, a.low, b.low), mx_upick(m, c, a.high, b.high)};
}

static uint32_t is(mx m, int op, uint32_t a, uint32_t b) { return VAL(&m.e->s, op, m.bt, a, b); }

uint32_t mx_pair_equal(mx m, mx_pair a, mx_pair b) {
  return mx_and(m, is(m, OpIEqual, a.low, b.low), is(m, OpIEqual, a.high, b.high));
}

uint32_t mx_pair_less(mx m, bool is_signed, mx_pair a, mx_pair b) {
  uint32_t high = is(m, is_signed ? OpSLessThan : OpULessThan, a.high, b.high);
  return mx_or(m, high, mx_and(m, is(m, OpIEqual, a.high, b.high), is(m, OpULessThan, a.low, b.low)));
}

uint32_t mx_pair_negative(mx m, mx_pair a) { return is(m, OpSLessThan, a.high, mx_uk(m, 0)); }

mx_pair mx_pair_abs(mx m, mx_pair a) { return mx_pair_pick(m, mx_pair_negative(m, a), mx_pair_neg(m, a), a); }

mx_pair mx_pair_mul(mx m, mx_pair a, mx_pair b) {
  mx_pair r = mx_two(m, OpUMulExtended, a.low, b.low);
  uint32_t cross = mx_u(m, OpIAdd, mx_u(m, OpIMul, a.low, b.high), mx_u(m, OpIMul, a.high, b.low));
  return (mx_pair){r.low, mx_u(m, OpIAdd, r.high, cross)};
}

mx_pair mx_pair_shl(mx m, mx_pair x, uint32_t by) {
  uint32_t back = mx_u(m, OpISub, mx_uk(m, 31), by),
           over = mx_u(m, OpShiftRightLogical, mx_u(m, OpShiftRightLogical, x.low, mx_uk(m, 1)), back);
  return (mx_pair){mx_u(m, OpShiftLeftLogical, x.low, by),
                   mx_u(m, OpBitwiseOr, mx_u(m, OpShiftLeftLogical, x.high, by), over)};
}

mx_pair mx_pair_shl_far(mx m, mx_pair x, uint32_t by) {
  mx_pair r = mx_pair_shl(m, x, mx_u(m, OpBitwiseAnd, by, mx_uk(m, 31)));
  return mx_pair_pick(m, is(m, OpUGreaterThan, by, mx_uk(m, 31)), (mx_pair){mx_uk(m, 0), r.low}, r);
}

mx_pair mx_pair_shr(mx m, int op, mx_pair x, uint32_t by) {
  uint32_t back = mx_u(m, OpISub, mx_uk(m, 31), by),
           over = mx_u(m, OpShiftLeftLogical, mx_u(m, OpShiftLeftLogical, x.high, mx_uk(m, 1)), back);
  return (mx_pair){mx_u(m, OpBitwiseOr, mx_u(m, OpShiftRightLogical, x.low, by), over), mx_u(m, op, x.high, by)};
}

/* Restoring division, a bit at a time: the dividend leaves its words at the top, the quotient enters at the bottom. */
mx_pair mx_pair_divide(mx m, mx_pair a, mx_pair b, mx_pair *rest) {
  emitter *e = m.e;
  uint32_t zero = mx_uk(m, 0), one = mx_uk(m, 1), top = mx_uk(m, 31);
  mx_repeat l = mx_repeat_begin(e, m.ut, 5, (uint32_t[]){a.low, a.high, zero, zero, mx_uk(m, 64)});
  mx_pair q = {l.id[0], l.id[1]}, r = {l.id[2], l.id[3]};
  uint32_t bit = mx_u(m, OpShiftRightLogical, q.high, top);
  r = mx_pair_shl(m, r, one), q = mx_pair_shl(m, q, one);
  r.low = mx_u(m, OpBitwiseOr, r.low, bit);
  uint32_t less = mx_pair_less(m, false, r, b);
  r = mx_pair_pick(m, less, r, mx_pair_add(m, r, mx_pair_neg(m, b)));
  q.low = mx_u(m, OpBitwiseOr, q.low, mx_upick(m, less, zero, one));
  uint32_t left = mx_u(m, OpISub, l.id[4], one);
  mx_repeat_end(e, &l, m.n, (uint32_t[]){q.low, q.high, r.low, r.high, left}, is(m, OpINotEqual, left, zero));
  *rest = r;
  return q;
}
