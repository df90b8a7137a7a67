/* core/emit/spirv/dx.h - what the files of scalar functions of f64 share: short names for instructions on one f64 and
 * on the two words that it is. No 64-bit integers are needed. Only core/emit/spirv/{math64,trig64}.c include it. */
#ifndef CORE_EMIT_SPIRV_DX_H
#define CORE_EMIT_SPIRV_DX_H
#include "core/emit/spirv/mx.h"

typedef struct dx {
  emitter *e;
  uint32_t t;
  mx m;
} dx; /* f64; its words */

static inline dx dx_of(emitter *e) { return (dx){e, e_float(e, 64), mx_of(e, 1)}; }
static inline uint32_t dx_k(dx d, double v) { return e_const_f64(d.e, v, 1); }
static inline uint32_t dx_op(dx d, int op, uint32_t a, uint32_t b) { return VAL(&d.e->s, op, d.t, a, b); }
static inline uint32_t dx_add(dx d, uint32_t a, uint32_t b) { return dx_op(d, OpFAdd, a, b); }
static inline uint32_t dx_sub(dx d, uint32_t a, uint32_t b) { return dx_op(d, OpFSub, a, b); }
static inline uint32_t dx_mul(dx d, uint32_t a, uint32_t b) { return dx_op(d, OpFMul, a, b); }
static inline uint32_t dx_div(dx d, uint32_t a, uint32_t b) { return dx_op(d, OpFDiv, a, b); }
static inline uint32_t dx_neg(dx d, uint32_t a) { return VAL(&d.e->s, OpFNegate, d.t, a); }
static inline uint32_t dx_fma(dx d, uint32_t a, uint32_t b, uint32_t c) { return GLSL(d.e, GlslFma, d.t, a, b, c); }
static inline uint32_t dx_abs(dx d, uint32_t a) { return GLSL(d.e, GlslFAbs, d.t, a); }
static inline uint32_t dx_round(dx d, uint32_t a) { return GLSL(d.e, GlslRoundEven, d.t, a); }
static inline uint32_t dx_clamp(dx d, uint32_t a, double lo, double hi) {
  return GLSL(d.e, GlslFMin, d.t, GLSL(d.e, GlslFMax, d.t, a, dx_k(d, lo)), dx_k(d, hi));
}
static inline uint32_t dx_cmp(dx d, int op, uint32_t a, uint32_t b) { return VAL(&d.e->s, op, d.m.bt, a, b); }
static inline uint32_t dx_nan(dx d, uint32_t a) { return dx_cmp(d, OpFUnordNotEqual, a, a); }
static inline uint32_t dx_pick(dx d, uint32_t c, uint32_t a, uint32_t b) {
  return VAL(&d.e->s, OpSelect, d.t, c, a, b);
}
/* a - n * c for a constant so short that the product is exact. */
static inline uint32_t dx_reduce(dx d, uint32_t a, uint32_t n, double c) {
  return mx_keep(d.m, dx_sub(d, a, mx_keep(d.m, dx_mul(d, n, dx_k(d, c)))));
}

static inline mx_pair dx_words(dx d, uint32_t x) {
  uint32_t both = VAL(&d.e->s, OpBitcast, e_vec(d.e, d.m.ut, 2), x);
  return (mx_pair){VAL(&d.e->s, OpCompositeExtract, d.m.ut, both, 0),
                   VAL(&d.e->s, OpCompositeExtract, d.m.ut, both, 1)};
}
static inline uint32_t dx_from_words(dx d, mx_pair w) {
  return VAL(&d.e->s, OpBitcast, d.t, VAL(&d.e->s, OpCompositeConstruct, e_vec(d.e, d.m.ut, 2), w.low, w.high));
}
static inline uint32_t dx_bits(dx d, uint32_t high) {
  return dx_from_words(d, (mx_pair){mx_uk(d.m, 0), mx_uk(d.m, high)});
}
static inline uint32_t dx_inf(dx d) { return dx_bits(d, 0x7ff00000u); }
static inline uint32_t dx_quiet(dx d) { return dx_bits(d, 0x7ff80000u); }
/* |a| with the sign of s. */
static inline uint32_t dx_copysign(dx d, uint32_t a, uint32_t s) {
  mx_pair w = dx_words(d, a);
  uint32_t sign = mx_u(d.m, OpBitwiseAnd, dx_words(d, s).high, mx_uk(d.m, 0x80000000u));
  w.high = mx_u(d.m, OpBitwiseOr, mx_u(d.m, OpBitwiseAnd, w.high, mx_uk(d.m, 0x7fffffffu)), sign);
  return dx_from_words(d, w);
}

/* Horner, the highest power's coefficient first. */
static inline uint32_t dx_poly(dx d, uint32_t x, const double *c, int n) {
  uint32_t r = dx_k(d, c[0]);
  for (int i = 1; i < n; i++) r = dx_fma(d, r, x, dx_k(d, c[i]));
  return r;
}

/* y * 2^i for i from -2044 to 2046, in two steps so that the ends of the range don't overflow early. */
static inline uint32_t dx_power_of_2(dx d, uint32_t i) {
  uint32_t up = mx_u(d.m, OpShiftLeftLogical, mx_u(d.m, OpIAdd, i, mx_uk(d.m, 1023)), mx_uk(d.m, 20));
  return dx_from_words(d, (mx_pair){mx_uk(d.m, 0), up});
}
static inline uint32_t dx_scale(dx d, uint32_t y, uint32_t i) {
  uint32_t half = mx_u(d.m, OpShiftRightArithmetic, i, mx_uk(d.m, 1));
  return dx_mul(d, dx_mul(d, y, dx_power_of_2(d, half)), dx_power_of_2(d, mx_u(d.m, OpISub, i, half)));
}

uint32_t dx_sin_cos(dx d, uint32_t x, uint32_t shift); /* sin for shift 0, cos for 1: emit/spirv/trig64.c */

#endif
