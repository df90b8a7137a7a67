/* core/emit/spirv/cast.c - conversions between all data types in SPIR-V: to narrower floats round to nearest even and
 * keep NaN, to integers saturates, NaN gives 0 (the rules of core/base/dtype.h). bf16 and fp8 are handled as bits, so
 * that they need no extension, f16 where the device has no arithmetic for it. */
#include <math.h>

#include "core/emit/spirv/internal.h"

static uint32_t bin(emitter *e, int op, int bits, int n, uint32_t a, uint32_t b) {
  return VAL(&e->s, op, e_vec(e, e_int(e, bits), n), a, b);
}
static uint32_t u(emitter *e, uint32_t v, int n) { return e_const_int(e, 32, v, n); }
static uint32_t bits_f32(emitter *e, uint32_t x, int n) { return VAL(&e->s, OpBitcast, e_vec(e, e_int(e, 32), n), x); }
static uint32_t f32_bits(emitter *e, uint32_t x, int n) {
  return VAL(&e->s, OpBitcast, e_vec(e, e_float(e, 32), n), x);
}
static uint32_t widen(emitter *e, uint32_t x, int bits, int n) { return e_resize(e, OpUConvert, bits, 32, n, x); }
static uint32_t pick(emitter *e, uint32_t type, uint32_t c, uint32_t a, uint32_t b) {
  return VAL(&e->s, OpSelect, type, c, a, b);
}

static uint32_t bf16_to_f32(emitter *e, uint32_t x, int n) {
  return f32_bits(e, bin(e, OpShiftLeftLogical, 32, n, widen(e, x, 16, n), u(e, 16, n)), n);
}

static uint32_t f32_to_bf16(emitter *e, uint32_t x, int n) {
  uint32_t ut = e_vec(e, e_int(e, 32), n), bt = e_vec(e, e_bool(e), n), b = bits_f32(e, x, n);
  uint32_t high = bin(e, OpShiftRightLogical, 32, n, b, u(e, 16, n));
  uint32_t odd = bin(e, OpBitwiseAnd, 32, n, high, u(e, 1, n));
  uint32_t sum = bin(e, OpIAdd, 32, n, bin(e, OpIAdd, 32, n, b, u(e, 0x7fff, n)), odd);
  uint32_t rounded = bin(e, OpShiftRightLogical, 32, n, sum, u(e, 16, n)),
           quiet = bin(e, OpBitwiseOr, 32, n, high, u(e, 0x40, n));
  uint32_t r = pick(e, ut, VAL(&e->s, OpFUnordNotEqual, bt, x, x), quiet, rounded);
  return e_resize(e, OpUConvert, 32, 16, n, r);
}

/* fp8, and f16 where the device has none: m mantissa bits, exponent bias; codes above max_code become inf_code. */
typedef struct small { int bits, m, bias; uint32_t max_code, inf_code, nan_code; } small;
static small small_of(tsr_dtype t) {
  return t == TSR_F16      ? (small){16, 10, 15, 0x7bff, 0x7c00, 0x7e00}
         : t == TSR_F8E4M3 ? (small){8, 3, 7, 0x7e, 0x7e, 0x7f}
                           : (small){8, 2, 15, 0x7b, 0x7c, 0x7e};
}

/* Shifts the code under f32's mantissa and scales by 2^(127 - bias): exact, also for subnormal codes on drivers that
 * flush f32 subnormals, because those are handled as integer * power of two. */
static uint32_t small_to_f32(emitter *e, tsr_dtype t, uint32_t x, int n) {
  small f = small_of(t);
  uint32_t ut = e_vec(e, e_int(e, 32), n), ft = e_vec(e, e_float(e, 32), n), bt = e_vec(e, e_bool(e), n),
           w = widen(e, x, f.bits, n), top = 1u << (f.bits - 1);
  uint32_t code = bin(e, OpBitwiseAnd, 32, n, w, u(e, top - 1, n));
  uint32_t sign = bin(e, OpShiftLeftLogical, 32, n, bin(e, OpBitwiseAnd, 32, n, w, u(e, top, n)),
                      u(e, (uint32_t)(32 - f.bits), n));
  uint32_t normal = bin(e, OpIAdd, 32, n, bin(e, OpShiftLeftLogical, 32, n, code, u(e, (uint32_t)(23 - f.m), n)),
                        u(e, (uint32_t)(127 - f.bias) << 23, n));
  uint32_t sub =
      VAL(&e->s, OpFMul, ft, VAL(&e->s, OpConvertUToF, ft, code), e_const_f32(e, ldexp(1, 1 - f.bias - f.m), n));
  uint32_t r = pick(e, ut, VAL(&e->s, OpULessThan, bt, code, u(e, 1u << f.m, n)), bits_f32(e, sub, n), normal);
  if (t != TSR_F8E4M3) r = pick(e, ut, VAL(&e->s, OpIEqual, bt, code, u(e, f.inf_code, n)), u(e, 0x7f800000u, n), r);
  uint32_t nan = VAL(&e->s, OpUGreaterThan, bt, code, u(e, f.inf_code, n));
  r = pick(e, ut, nan, u(e, 0x7fc00000u, n), r);
  return f32_bits(e, bin(e, OpBitwiseOr, 32, n, r, sign), n);
}

static uint32_t f32_to_small(emitter *e, tsr_dtype t, uint32_t x, int n) {
  small f = small_of(t);
  uint32_t ut = e_vec(e, e_int(e, 32), n), ft = e_vec(e, e_float(e, 32), n), bt = e_vec(e, e_bool(e), n),
           b = bits_f32(e, x, n);
  uint32_t sign =
      bin(e, OpBitwiseAnd, 32, n, bin(e, OpShiftRightLogical, 32, n, b, u(e, (uint32_t)(32 - f.bits), n)),
          u(e, 1u << (f.bits - 1), n));
  uint32_t mag = bin(e, OpBitwiseAnd, 32, n, b, u(e, 0x7fffffffu, n));
  int shift = 23 - f.m;
  uint32_t odd =
      bin(e, OpBitwiseAnd, 32, n, bin(e, OpShiftRightLogical, 32, n, mag, u(e, (uint32_t)shift, n)), u(e, 1, n));
  uint32_t rounded = bin(e, OpIAdd, 32, n, bin(e, OpIAdd, 32, n, mag, u(e, (1u << (shift - 1)) - 1, n)), odd);
  uint32_t normal = bin(e, OpISub, 32, n, bin(e, OpShiftRightLogical, 32, n, rounded, u(e, (uint32_t)shift, n)),
                        u(e, (uint32_t)(127 - f.bias) << f.m, n));
  /* Below the smallest normal: |x| in units of the smallest subnormal, rounded to nearest even as an integer. */
  uint32_t scaled = VAL(&e->s, OpFMul, ft, f32_bits(e, mag, n), e_const_f32(e, ldexp(1, f.bias - 1 + f.m), n));
  uint32_t less = VAL(&e->s, OpULessThan, bt, mag, u(e, (uint32_t)(128 - f.bias) << 23, n));
  uint32_t tame = pick(e, ft, less, scaled, e_const_f32(e, 0, n));
  uint32_t sub = VAL(&e->s, OpConvertFToU, ut, GLSL(e, GlslRoundEven, ft, tame));
  uint32_t r = pick(e, ut, less, sub, normal);
  r = pick(e, ut, VAL(&e->s, OpUGreaterThan, bt, r, u(e, f.max_code, n)), u(e, f.inf_code, n), r);
  uint32_t huge = VAL(&e->s, OpUGreaterThanEqual, bt, mag, u(e, 0x47800000u, n)); /* 2^16: beyond all of them */
  r = pick(e, ut, huge, u(e, f.inf_code, n), r);
  r = pick(e, ut, VAL(&e->s, OpUGreaterThan, bt, mag, u(e, 0x7f800000u, n)), u(e, f.nan_code, n), r);
  return e_resize(e, OpUConvert, 32, f.bits, n, bin(e, OpBitwiseOr, 32, n, r, sign));
}

static uint32_t f32_to_tf32(emitter *e, uint32_t x, int n) {
  uint32_t bt = e_vec(e, e_bool(e), n), ft = e_vec(e, e_float(e, 32), n), b = bits_f32(e, x, n);
  uint32_t odd = bin(e, OpBitwiseAnd, 32, n, bin(e, OpShiftRightLogical, 32, n, b, u(e, 13, n)), u(e, 1, n));
  uint32_t sum = bin(e, OpIAdd, 32, n, bin(e, OpIAdd, 32, n, b, u(e, 0xfff, n)), odd);
  uint32_t finite =
      VAL(&e->s, OpULessThan, bt, bin(e, OpBitwiseAnd, 32, n, b, u(e, 0x7fffffffu, n)), u(e, 0x7f800000u, n));
  return pick(e, ft, finite, f32_bits(e, bin(e, OpBitwiseAnd, 32, n, sum, u(e, ~0x1fffu, n)), n), x);
}

static uint32_t float_const(emitter *e, tsr_dtype t, double v, int n) {
  return t == TSR_F64 ? e_const_f64(e, v, n) : e_const_f32(e, v, n);
}

/* from is F32 or F64. */
static uint32_t float_to_int(emitter *e, uint32_t x, tsr_dtype from, tsr_dtype to, int n) {
  int bits = 8 * (int)tsr_dtype_size(to), wide = bits < 32 ? 32 : bits;
  bool sign = dtype_get(to)->is_signed;
  uint32_t ft = e_reg(e, from, n), it = e_vec(e, e_int(e, wide), n), bt = e_vec(e, e_bool(e), n);
  double above = ldexp(1, sign ? bits - 1 : bits), below = sign ? -above : 0;
  int64_t max = sign ? (bits == 64 ? INT64_MAX : ((int64_t)1 << (bits - 1)) - 1) : ((int64_t)1 << bits) - 1,
          min = sign ? -max - 1 : 0;
  uint32_t over = VAL(&e->s, OpFOrdGreaterThanEqual, bt, x, float_const(e, from, above, n));
  uint32_t under = VAL(&e->s, OpFOrdLessThanEqual, bt, x, float_const(e, from, below, n));
  uint32_t nan = VAL(&e->s, OpFUnordNotEqual, bt, x, x);
  uint32_t bad = VAL(&e->s, OpLogicalOr, bt, VAL(&e->s, OpLogicalOr, bt, over, under), nan);
  uint32_t tame = pick(e, ft, bad, float_const(e, from, 0, n), x);
  uint32_t r = VAL(&e->s, OpConvertFToS, it, tame);
  r = pick(e, it, over, e_const_int(e, wide, max, n), r);
  r = pick(e, it, under, e_const_int(e, wide, min, n), r);
  return e_resize(e, OpUConvert, wide, bits, n, r);
}

/* An integer brought into the range of a type that is no wider. */
static uint32_t limited(emitter *e, uint32_t x, tsr_dtype from, tsr_dtype to, int n) {
  int bits = 8 * (int)tsr_dtype_size(from), to_bits = 8 * (int)tsr_dtype_size(to);
  bool sign = dtype_get(from)->is_signed, to_sign = dtype_get(to)->is_signed;
  uint32_t it = e_vec(e, e_int(e, bits), n), bt = e_vec(e, e_bool(e), n);
  int64_t max = to_sign ? ((int64_t)1 << (to_bits - 1)) - 1 : ((int64_t)1 << to_bits) - 1;
  if (!sign || to_sign == sign || to_bits < bits) { /* of the same width, no signed value is above an unsigned type */
    uint32_t most = e_const_int(e, bits, max, n);
    x = pick(e, it, VAL(&e->s, sign ? OpSGreaterThan : OpUGreaterThan, bt, x, most), most, x);
  }
  if (!sign) return x;
  uint32_t least = e_const_int(e, bits, to_sign ? -max - 1 : 0, n);
  return pick(e, it, VAL(&e->s, OpSLessThan, bt, x, least), least, x);
}

/* Magnitudes from 2^limit on are cut by `shift` bits; the last bit kept tells whether any was lost. */
static uint32_t cut(emitter *e, uint32_t x, int bits, int limit, int shift, int n, uint32_t *scale) {
  uint32_t it = e_vec(e, e_int(e, bits), n), ft = e_vec(e, e_float(e, 32), n), bt = e_vec(e, e_bool(e), n),
           zero = e_const_int(e, bits, 0, n);
  uint32_t big = VAL(&e->s, OpUGreaterThanEqual, bt, x, e_const_int(e, bits, (int64_t)1 << limit, n));
  uint32_t below = e_const_int(e, bits, ((int64_t)1 << shift) - 1, n);
  uint32_t lost = VAL(&e->s, OpINotEqual, bt,
                      bin(e, OpBitwiseAnd, bits, n, x, bits == 64 ? e_hide(e, below, n) : below), zero);
  uint32_t high = bin(e, OpShiftRightLogical, bits, n, x, e_const_int(e, bits, shift, n));
  uint32_t odd = bin(e, OpBitwiseOr, bits, n, high, pick(e, it, lost, e_const_int(e, bits, 1, n), zero));
  *scale = VAL(&e->s, OpFMul, ft, *scale, pick(e, ft, big, e_const_f32(e, ldexp(1, shift), n), e_const_f32(e, 1, n)));
  return pick(e, it, big, odd, x);
}

/* An i32 or i64 as an f32 of at most 24 bits that is odd where bits were lost, so that rounding it gives what one
 * rounding would. Not by converting there and back: drivers take that for nothing done. */
static uint32_t int_to_odd(emitter *e, uint32_t x, int bits, int n) {
  uint32_t it = e_vec(e, e_int(e, bits), n), ft = e_vec(e, e_float(e, 32), n), bt = e_vec(e, e_bool(e), n),
           scale = e_const_f32(e, 1, n);
  uint32_t minus = VAL(&e->s, OpSLessThan, bt, x, e_const_int(e, bits, 0, n)),
           m = pick(e, it, minus, VAL(&e->s, OpSNegate, it, x), x);
  if (bits == 64) m = cut(e, m, bits, 48, 24, n, &scale), m = cut(e, m, bits, 32, 16, n, &scale);
  m = cut(e, m, bits, 24, 8, n, &scale);
  uint32_t r = VAL(&e->s, OpFMul, ft, VAL(&e->s, OpConvertUToF, ft, m), scale);
  return pick(e, ft, minus, VAL(&e->s, OpFNegate, ft, r), r);
}

/* Integer or bool source. */
static uint32_t from_int(emitter *e, uint32_t x, tsr_dtype from, tsr_dtype to, int n) {
  uint32_t type = e_reg(e, to, n);
  bool sign = dtype_get(from)->is_signed;
  if (from == TSR_BOOL) return pick(e, type, x, e_const(e, to, 1, n), e_const(e, to, 0, n));
  int bits = 8 * (int)tsr_dtype_size(from);
  if (to == TSR_BOOL) return VAL(&e->s, OpINotEqual, type, x, e_const_int(e, bits, 0, n));
  if (to == TSR_F64 || to == TSR_F32) return VAL(&e->s, sign ? OpConvertSToF : OpConvertUToF, type, x);
  if (dtype_is_float(to))
    return e_cast(e,
                  bits < 32 ? VAL(&e->s, sign ? OpConvertSToF : OpConvertUToF, e_reg(e, TSR_F32, n), x)
                            : int_to_odd(e, x, bits, n),
                  TSR_F32, to, n);
  if (tsr_dtype_size(to) <= tsr_dtype_size(from)) x = limited(e, x, from, to, n);
  if (tsr_dtype_size(to) == tsr_dtype_size(from)) return x;
  return e_resize(e, sign ? OpSConvert : OpUConvert, bits, 8 * (int)tsr_dtype_size(to), n, x);
}

/* A conversion between floats. Mesa takes f32 -> f16 -> f32 for nothing done and drops the rounding unless the way down
 * is decorated. */
static uint32_t convert(emitter *e, uint32_t type, uint32_t x, bool narrower) {
  uint32_t r = VAL(&e->s, OpFConvert, type, x);
  if (narrower) SPV(&e->s, SEC_DECORATIONS, OpDecorate, r, DecNoContraction);
  return r;
}

/* LLVM compares two f32 that were f16 as f16, which it does lane by lane on a CPU: a bit operation that leaves all bits
 * as they are stands between. Not with the very zero of bitcast.c, which the f16 may have met before. */
static uint32_t no_longer_f16(emitter *e, uint32_t x, int n) {
  if (!e->hidden_zero || !e->caps->host_addresses) return x;
  uint32_t half = bin(e, OpShiftRightLogical, 64, 1, e->hidden_zero, e_const_int(e, 64, 1, 1));
  uint32_t zero = e_splat(e, e_int(e, 32), VAL(&e->s, OpUConvert, e_int(e, 32), half), n);
  return f32_bits(e, bin(e, OpBitwiseOr, 32, n, bits_f32(e, x, n), zero), n);
}

/* f64 to f32 rounded to odd, so that a second rounding gives what one would. */
static uint32_t to_odd(emitter *e, uint32_t x, int n) {
  uint32_t ut = e_vec(e, e_int(e, 32), n), dt = e_vec(e, e_float(e, 64), n), bt = e_vec(e, e_bool(e), n);
  uint32_t f = convert(e, e_vec(e, e_float(e, 32), n), x, true), b = bits_f32(e, f, n),
           back = VAL(&e->s, OpFConvert, dt, f);
  uint32_t grew = VAL(&e->s, OpFOrdGreaterThan, bt, GLSL(e, GlslFAbs, dt, back), GLSL(e, GlslFAbs, dt, x));
  uint32_t odd =
      bin(e, OpBitwiseOr, 32, n, bin(e, OpISub, 32, n, b, pick(e, ut, grew, u(e, 1, n), u(e, 0, n))), u(e, 1, n));
  return f32_bits(e, pick(e, ut, VAL(&e->s, OpFOrdEqual, bt, back, x), b, odd), n);
}

uint32_t e_cast(emitter *e, uint32_t x, tsr_dtype from, tsr_dtype to, int n) {
  if (from == to) return x;
  if (!dtype_is_float(from)) return from_int(e, x, from, to, n);
  /* Narrow floats first become f32, which holds them exactly. */
  switch (from) {
  case TSR_BF16: x = bf16_to_f32(e, x, n), from = TSR_F32; break;
  case TSR_F8E4M3:
  case TSR_F8E5M2: x = small_to_f32(e, from, x, n), from = TSR_F32; break;
  case TSR_TF32: from = TSR_F32; break;
  case TSR_F16:
    if (!e->caps->f16) x = small_to_f32(e, from, x, n), from = TSR_F32;
    else if (to != TSR_F64) x = no_longer_f16(e, convert(e, e_reg(e, TSR_F32, n), x, false), n), from = TSR_F32;
    break;
  default: break;
  }
  if (from == to) return x;
  uint32_t type = e_reg(e, to, n);
  if (to == TSR_BOOL) return VAL(&e->s, OpFUnordNotEqual, type, x, float_const(e, from, 0, n));
  if (!dtype_is_float(to)) return float_to_int(e, x, from, to, n);
  if (to == TSR_F64 || to == TSR_F32) return convert(e, type, x, tsr_dtype_size(to) < tsr_dtype_size(from));
  if (from == TSR_F64) x = to_odd(e, x, n);
  switch (to) {
  case TSR_F16: return e->caps->f16 ? convert(e, type, x, true) : f32_to_small(e, to, x, n);
  case TSR_BF16: return f32_to_bf16(e, x, n);
  case TSR_TF32: return f32_to_tf32(e, x, n);
  default: return f32_to_small(e, to, x, n);
  }
}
