/* core/emit/spirv/pair_rem.c - the exact remainder of two f64 on devices without 64-bit integers: emit/spirv/rem.c's
 * long division a bit at a time, on mantissas of two words. */
#include "core/emit/spirv/pair.h"

typedef struct num {
  mx_pair mantissa;
  uint32_t field;
} num; /* mantissa * 2^(field - 1075) */

static uint32_t is(mx m, int op, uint32_t a, uint32_t b) { return VAL(&m.e->s, op, m.bt, a, b); }

static mx_pair words_of(mx m, uint32_t x) {
  uint32_t both = VAL(&m.e->s, OpBitcast, e_vec(m.e, m.ut, 2), x);
  return (mx_pair){VAL(&m.e->s, OpCompositeExtract, m.ut, both, 0), VAL(&m.e->s, OpCompositeExtract, m.ut, both, 1)};
}

/* Of a magnitude's words; subnormals have field 1 and no leading bit. */
static num parts(mx m, mx_pair w) {
  uint32_t field = mx_u(m, OpShiftRightLogical, w.high, mx_uk(m, 20)),
           low = mx_u(m, OpBitwiseAnd, w.high, mx_uk(m, 0xfffff)), normal = is(m, OpINotEqual, field, mx_uk(m, 0));
  uint32_t lead = mx_upick(m, normal, mx_uk(m, 0x100000), mx_uk(m, 0));
  return (num){{w.low, mx_u(m, OpBitwiseOr, low, lead)}, mx_upick(m, normal, field, mx_uk(m, 1))};
}

/* The words of r * 2^(field - 1075), r below 2^53. */
static mx_pair assemble(mx m, mx_pair r, uint32_t field) {
  uint32_t zero = mx_uk(m, 0), one = mx_uk(m, 1), small = is(m, OpIEqual, r.high, zero);
  uint32_t first = GLSL(m.e, GlslFindUMsb, m.ut, mx_u(m, OpBitwiseOr, mx_upick(m, small, r.low, r.high), one));
  uint32_t want = mx_u(m, OpISub, mx_upick(m, small, mx_uk(m, 52), mx_uk(m, 20)), first),
           most = mx_u(m, OpISub, field, one), by = GLSL(m.e, GlslUMin, m.ut, want, most);
  mx_pair x = mx_pair_shl_far(m, r, by);
  uint32_t normal = is(m, OpINotEqual, mx_u(m, OpBitwiseAnd, x.high, mx_uk(m, 0x100000)), zero);
  uint32_t up = mx_upick(m, normal, mx_u(m, OpISub, field, by), zero);
  uint32_t high = mx_u(m, OpBitwiseAnd, x.high, mx_uk(m, 0xfffff));
  return (mx_pair){x.low, mx_u(m, OpBitwiseOr, high, mx_u(m, OpShiftLeftLogical, up, mx_uk(m, 20)))};
}

static mx_pair less_y(mx m, mx_pair x, mx_pair y) {
  return mx_pair_pick(m, mx_pair_less(m, false, x, y), x, mx_pair_add(m, x, mx_pair_neg(m, y)));
}

static uint32_t one_component(mx m, uint32_t a, uint32_t b) {
  emitter *e = m.e;
  uint32_t zero = mx_uk(m, 0), one = mx_uk(m, 1), top = mx_uk(m, 0x80000000u);
  mx_pair wa = words_of(m, a), wb = words_of(m, b), inf = {zero, mx_uk(m, 0x7ff00000u)};
  uint32_t sign = mx_u(m, OpBitwiseAnd, wa.high, top);
  wa.high = mx_u(m, OpBitwiseXor, wa.high, sign);
  wb.high = mx_u(m, OpBitwiseAnd, wb.high, mx_uk(m, 0x7fffffffu));
  uint32_t none = mx_or(m, is(m, OpUGreaterThanEqual, wa.high, inf.high),
                        mx_or(m, mx_pair_less(m, false, inf, wb), mx_pair_equal(m, wb, (mx_pair){zero, zero})));
  uint32_t same = mx_pair_less(m, false, wa, wb), idle = mx_or(m, none, same);
  num x = parts(m, wa), y = parts(m, wb);
  uint32_t distance = mx_upick(m, idle, zero, mx_u(m, OpISub, x.field, y.field));
  mx_repeat l = mx_repeat_begin(e, m.ut, 3, (uint32_t[]){x.mantissa.low, x.mantissa.high, distance});
  mx_pair r = less_y(m, (mx_pair){l.id[0], l.id[1]}, y.mantissa);
  uint32_t more = is(m, OpINotEqual, l.id[2], zero);
  r = mx_pair_pick(m, more, mx_pair_shl(m, r, one), r);
  mx_repeat_end(e, &l, 1, (uint32_t[]){r.low, r.high, mx_u(m, OpISub, l.id[2], one)}, more);
  r = mx_pair_pick(m, same, wa, assemble(m, r, y.field));
  r.high = mx_u(m, OpBitwiseOr, r.high, sign);
  r = mx_pair_pick(m, none, (mx_pair){zero, mx_uk(m, 0x7ff80000u)}, r);
  return e_of_two(e, e_float(e, 64), VAL(&e->s, OpCompositeConstruct, e_vec(e, m.ut, 2), r.low, r.high));
}

uint32_t mx_pair_rem(emitter *e, int n, uint32_t a, uint32_t b) {
  uint32_t out[4], one = e_float(e, 64);
  mx m = mx_of(e, 1);
  if (n == 1) return one_component(m, a, b);
  for (uint32_t i = 0; i < (uint32_t)n; i++)
    out[i] = one_component(m, VAL(&e->s, OpCompositeExtract, one, a, i), VAL(&e->s, OpCompositeExtract, one, b, i));
  return spv_val_n(&e->s, OpCompositeConstruct, e_vec(e, one, n), out, n);
}
