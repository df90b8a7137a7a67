/* core/emit/spirv/mx.h - what the files of scalar functions in SPIR-V share: short names for instructions on n
 * components of f32
 * (`mx`), with the 32-bit words of such values, and structured control flow. Only core/emit/spirv/{math,trig,pow,rem,
 * pair*,repeat}.c include it. */
#ifndef CORE_EMIT_SPIRV_MX_H
#define CORE_EMIT_SPIRV_MX_H
#include "core/emit/spirv/internal.h"

/* f32, or f64 if it is wide (dx.h), bool and u32 of n components. */
typedef struct mx { emitter *e; int n; bool wide; uint32_t ft, bt, ut; } mx;

static inline mx mx_of(emitter *e, int n) {
  return (mx){e, n, false, e_vec(e, e_float(e, 32), n), e_vec(e, e_bool(e), n), e_vec(e, e_int(e, 32), n)};
}
static inline uint32_t mx_k(mx m, double v) {
  return m.wide ? e_const_f64(m.e, v, m.n) : e_const_f32(m.e, v, m.n);
}
static inline uint32_t mx_add(mx m, uint32_t a, uint32_t b) { return VAL(&m.e->s, OpFAdd, m.ft, a, b); }
static inline uint32_t mx_sub(mx m, uint32_t a, uint32_t b) { return VAL(&m.e->s, OpFSub, m.ft, a, b); }
static inline uint32_t mx_mul(mx m, uint32_t a, uint32_t b) { return VAL(&m.e->s, OpFMul, m.ft, a, b); }
static inline uint32_t mx_div(mx m, uint32_t a, uint32_t b) { return VAL(&m.e->s, OpFDiv, m.ft, a, b); }
static inline uint32_t mx_neg(mx m, uint32_t a) { return VAL(&m.e->s, OpFNegate, m.ft, a); }
static inline uint32_t mx_fma(mx m, uint32_t a, uint32_t b, uint32_t c) { return GLSL(m.e, GlslFma, m.ft, a, b, c); }
static inline uint32_t mx_abs(mx m, uint32_t a) { return GLSL(m.e, GlslFAbs, m.ft, a); }
static inline uint32_t mx_round(mx m, uint32_t a) { return GLSL(m.e, GlslRoundEven, m.ft, a); }
static inline uint32_t mx_clamp(mx m, uint32_t a, double lo, double hi) {
  return GLSL(m.e, GlslFMin, m.ft, GLSL(m.e, GlslFMax, m.ft, a, mx_k(m, lo)), mx_k(m, hi));
}
static inline uint32_t mx_cmp(mx m, int op, uint32_t a, uint32_t b) { return VAL(&m.e->s, op, m.bt, a, b); }
static inline uint32_t mx_nan(mx m, uint32_t a) { return mx_cmp(m, OpFUnordNotEqual, a, a); }
static inline uint32_t mx_pick(mx m, uint32_t c, uint32_t a, uint32_t b) {
  return VAL(&m.e->s, OpSelect, m.ft, c, a, b);
}
static inline uint32_t mx_and(mx m, uint32_t a, uint32_t b) { return VAL(&m.e->s, OpLogicalAnd, m.bt, a, b); }
static inline uint32_t mx_or(mx m, uint32_t a, uint32_t b) { return VAL(&m.e->s, OpLogicalOr, m.bt, a, b); }
static inline uint32_t mx_bits(mx m, uint32_t a) { return VAL(&m.e->s, OpBitcast, m.ut, a); }
static inline uint32_t mx_from_bits(mx m, uint32_t a) { return VAL(&m.e->s, OpBitcast, m.ft, a); }
static inline uint32_t mx_u(mx m, int op, uint32_t a, uint32_t b) { return VAL(&m.e->s, op, m.ut, a, b); }
static inline uint32_t mx_upick(mx m, uint32_t c, uint32_t a, uint32_t b) {
  return VAL(&m.e->s, OpSelect, m.ut, c, a, b);
}
static inline uint32_t mx_uk(mx m, uint32_t v) { return e_const_int(m.e, 32, v, m.n); }
static inline uint32_t mx_inf(mx m) { return mx_from_bits(m, mx_uk(m, 0x7f800000u)); }
static inline uint32_t mx_quiet(mx m) { return mx_from_bits(m, mx_uk(m, 0x7fc00000u)); }

/* |a| with the sign bit of s. */
static inline uint32_t mx_copysign(mx m, uint32_t a, uint32_t s) {
  return mx_from_bits(m,
                      mx_u(m, OpBitwiseOr, mx_bits(m, a), mx_u(m, OpBitwiseAnd, mx_bits(m, s), mx_uk(m, 0x80000000u))));
}

/* Horner, the highest power's coefficient first. */
static inline uint32_t mx_poly(mx m, uint32_t x, const double *c, int n) {
  uint32_t r = mx_k(m, c[0]);
  for (int i = 1; i < n; i++) r = mx_fma(m, r, x, mx_k(m, c[i]));
  return r;
}

/* A whole number of less than 2^22, of either sign, as an integer: it stands in the low bits once 1.5 * 2^23 is added.
 * llvmpipe converts lane by lane, with compares for what saturates, which took two thirds of an exponential's time. */
static inline uint32_t mx_whole(mx m, uint32_t n) {
  return mx_u(m, OpISub, mx_bits(m, mx_add(m, n, mx_k(m, 12582912))), mx_uk(m, 0x4b400000u));
}

/* Operations whose one rounding each is part of the method: left alone, compilers factor and reorder sums that only
 * look redundant. */
static inline uint32_t mx_keep(mx m, uint32_t id) {
  SPV(&m.e->s, SEC_DECORATIONS, OpDecorate, id, DecNoContraction);
  return id;
}
static inline uint32_t mx_xadd(mx m, uint32_t a, uint32_t b) { return mx_keep(m, mx_add(m, a, b)); }
static inline uint32_t mx_xsub(mx m, uint32_t a, uint32_t b) { return mx_keep(m, mx_sub(m, a, b)); }
static inline uint32_t mx_xmul(mx m, uint32_t a, uint32_t b) { return mx_keep(m, mx_mul(m, a, b)); }
/* a - n * c for a short constant c. */
static inline uint32_t mx_reduce(mx m, uint32_t a, uint32_t n, double c) {
  return mx_xsub(m, a, mx_xmul(m, n, mx_k(m, c)));
}

/* 2^i, -126 <= i <= 127; y * 2^i for i down to -252 and up to 254, in two steps so that the ends of the range don't
 * overflow early. */
static inline uint32_t mx_power_of_2(mx m, uint32_t i) {
  return mx_from_bits(m, mx_u(m, OpShiftLeftLogical, mx_u(m, OpIAdd, i, mx_uk(m, 127)), mx_uk(m, 23)));
}
static inline uint32_t mx_scale(mx m, uint32_t y, uint32_t i) {
  uint32_t half = mx_u(m, OpShiftRightArithmetic, i, mx_uk(m, 1));
  return mx_mul(m, mx_mul(m, y, mx_power_of_2(m, half)), mx_power_of_2(m, mx_u(m, OpISub, i, half)));
}

/* ---- 64 bits as two words, since devices may lack 64-bit integers: emit/spirv/pair.c ---- */
typedef struct mx_pair { uint32_t low, high; } mx_pair;
/* An op with two results: OpIAddCarry, OpUMulExtended. */
mx_pair mx_two(mx m, int op, uint32_t a, uint32_t b);
mx_pair mx_pair_add(mx m, mx_pair a, mx_pair b);
mx_pair mx_pair_neg(mx m, mx_pair a);
mx_pair mx_pair_pick(mx m, uint32_t c, mx_pair a, mx_pair b);
mx_pair mx_pair_shl(mx m, mx_pair x, uint32_t by); /* by 0 to 31 */
/* The exact remainder of f64 of n components by such words: emit/spirv/pair_rem.c. */
uint32_t mx_pair_rem(emitter *e, int n, uint32_t a, uint32_t b);

/* ---- loops within an operation: emit/spirv/repeat.c ---- */
enum { MX_CARRIED = 6 };
typedef struct mx_repeat { uint32_t head, cont, merge, id[MX_CARRIED]; size_t patch[MX_CARRIED]; int n; } mx_repeat;
/* n carried values, which are id[] in the body; then what they become, each of n_components. */
mx_repeat mx_repeat_begin(emitter *e, uint32_t type, int n, const uint32_t *init);
void mx_repeat_end(emitter *e, const mx_repeat *r, int n_components, const uint32_t *next, uint32_t go_on);

/* ---- functions of the other files: f32 of n components ---- */
uint32_t mx_sin_cos(mx m, uint32_t x, uint32_t shift); /* sin for shift 0, cos for 1 */
uint32_t mx_pow(mx m, uint32_t a, uint32_t b);

#endif
