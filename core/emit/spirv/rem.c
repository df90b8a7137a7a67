/* core/emit/spirv/rem.c - what floats and integers compute by whole numbers: the exact remainder of two floats (OpFRem
 * may be a - b * trunc(a / b), which loses whole quotients), and integer powers. */
#include "core/emit/spirv/mx.h"

/* One width of float: its words are integers of the same width. */
typedef struct ix { emitter *e; int n, bits, mant; uint32_t it, ft, bt; } ix; /* mant: explicit bits of mantissa */

static uint32_t k(ix m, int64_t v) { return e_const_int(m.e, m.bits, v, m.n); }
static uint32_t op(ix m, int code, uint32_t a, uint32_t b) { return VAL(&m.e->s, code, m.it, a, b); }
static uint32_t is(ix m, int code, uint32_t a, uint32_t b) { return VAL(&m.e->s, code, m.bt, a, b); }
static uint32_t either(ix m, uint32_t a, uint32_t b) { return VAL(&m.e->s, OpLogicalOr, m.bt, a, b); }
static uint32_t pick(ix m, uint32_t c, uint32_t a, uint32_t b) { return VAL(&m.e->s, OpSelect, m.it, c, a, b); }

/* Exponent field and mantissa of a magnitude's bits; subnormals have field 1 and no leading bit. */
static void parts(ix m, uint32_t b, uint32_t *field, uint32_t *mantissa) {
  uint32_t e = op(m, OpShiftRightLogical, b, k(m, m.mant)),
           low = op(m, OpBitwiseAnd, b, k(m, ((int64_t)1 << m.mant) - 1)), normal = is(m, OpINotEqual, e, k(m, 0));
  *mantissa = pick(m, normal, op(m, OpBitwiseOr, low, k(m, (int64_t)1 << m.mant)), low);
  *field = pick(m, normal, e, k(m, 1));
}

/* r * 2^(field - bias - mant), r <= the largest mantissa, as bits. */
static uint32_t assemble(ix m, uint32_t r, uint32_t field) {
  int bias = (1 << (m.bits - m.mant - 2)) - 1;
  uint32_t f = VAL(&m.e->s, OpBitcast, m.it, VAL(&m.e->s, OpConvertUToF, m.ft, r)),
           up = op(m, OpISub, field, k(m, bias + m.mant));
  uint32_t normal = op(m, OpIAdd, f, op(m, OpShiftLeftLogical, up, k(m, m.mant)));
  uint32_t to = op(m, OpIAdd, op(m, OpShiftRightLogical, f, k(m, m.mant)), up),
           fits = is(m, OpSGreaterThan, to, k(m, 0));
  uint32_t shift = pick(m, fits, k(m, 0), op(m, OpISub, field, k(m, 1))), sub = op(m, OpShiftLeftLogical, r, shift);
  return pick(m, either(m, is(m, OpIEqual, r, k(m, 0)), VAL(&m.e->s, OpLogicalNot, m.bt, fits)), sub, normal);
}

/* Long division in base 2^s, s the bits that a word has beside the mantissa: exact for any quotient, with subnormals on
 * every driver. */
uint32_t e_float_rem(emitter *e, vt v, uint32_t a, uint32_t b) {
  bool wide = v.t == TSR_F64;
  if (wide && (e->pairs || e->caps->no_pack64)) return mx_pair_rem(e, v.n, a, b);
  int bits = wide ? 64 : 32, mant = wide ? 52 : 23;
  ix m = {e, v.n, bits, mant, e_vec(e, e_int(e, bits), v.n), e_vec(e, e_float(e, bits), v.n), e_vec(e, e_bool(e), v.n)};
  int64_t top = wide ? INT64_MIN : (int64_t)0x80000000, inf = wide ? (int64_t)0x7ff0000000000000 : 0x7f800000,
          quiet = wide ? (int64_t)0x7ff8000000000000 : 0x7fc00000;
  uint32_t wa = VAL(&e->s, OpBitcast, m.it, a), wb = VAL(&e->s, OpBitcast, m.it, b),
           sign = op(m, OpBitwiseAnd, wa, k(m, top));
  uint32_t ma = op(m, OpBitwiseXor, wa, sign), mb = op(m, OpBitwiseAnd, wb, k(m, ~top)), ea, eb, x, y;
  uint32_t none = either(m, is(m, OpUGreaterThanEqual, ma, k(m, inf)),
                         either(m, is(m, OpUGreaterThan, mb, k(m, inf)), is(m, OpIEqual, mb, k(m, 0))));
  uint32_t same = is(m, OpULessThan, ma, mb), idle = either(m, none, same);
  parts(m, ma, &ea, &x);
  parts(m, mb, &eb, &y);
  y = pick(m, idle, k(m, 1), y);
  uint32_t step = k(m, bits - mant - 1), distance = pick(m, idle, k(m, 0), op(m, OpISub, ea, eb));
  mx_repeat r = mx_repeat_begin(e, m.it, 3, (uint32_t[]){x, distance, y});
  uint32_t s = pick(m, is(m, OpSLessThan, r.id[1], step), r.id[1], step), left = op(m, OpISub, r.id[1], s);
  uint32_t rest = op(m, OpUMod, op(m, OpShiftLeftLogical, r.id[0], s), r.id[2]);
  mx_repeat_end(e, &r, v.n, (uint32_t[]){rest, left, r.id[2]}, is(m, OpSGreaterThan, left, k(m, 0)));
  uint32_t out = pick(m, same, ma, assemble(m, rest, eb));
  return VAL(&e->s, OpBitcast, m.ft, pick(m, none, k(m, quiet), op(m, OpBitwiseOr, out, sign)));
}

/* By squaring; negative exponents give 0 but for bases 1 and -1. */
uint32_t e_int_pow(emitter *e, vt v, uint32_t a, uint32_t b) {
  bool is_signed = dtype_get(v.t)->is_signed;
  ix m = {e, v.n, 8 * (int)tsr_dtype_size(v.t), 0, e_reg(e, v.t, v.n), 0, e_vec(e, e_bool(e), v.n)};
  uint32_t zero = k(m, 0), one = k(m, 1), odd = is(m, OpINotEqual, op(m, OpBitwiseAnd, b, one), zero);
  uint32_t below = is_signed ? is(m, OpSLessThan, b, zero) : 0;
  mx_repeat r = mx_repeat_begin(e, m.it, 3, (uint32_t[]){a, below ? pick(m, below, zero, b) : b, one});
  uint32_t use = is(m, OpINotEqual, op(m, OpBitwiseAnd, r.id[1], one), zero),
           product = pick(m, use, op(m, OpIMul, r.id[2], r.id[0]), r.id[2]);
  uint32_t left = op(m, OpShiftRightLogical, r.id[1], one);
  mx_repeat_end(e, &r, v.n, (uint32_t[]){op(m, OpIMul, r.id[0], r.id[0]), left, product},
                is(m, OpINotEqual, left, zero));
  if (!below) return product;
  uint32_t minus = is(m, OpIEqual, a, k(m, -1)),
           unit = pick(m, minus, pick(m, odd, k(m, -1), one), pick(m, is(m, OpIEqual, a, one), one, zero));
  return pick(m, below, unit, product);
}
