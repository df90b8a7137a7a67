/* core/emit/spirv/dx.h - what the files of scalar functions of f64 share: short names for instructions on the two words
 * that an f64 is. No 64-bit integers are needed. Only core/emit/spirv/{math64,pow64,trig64}.c
 * include it. */
#ifndef CORE_EMIT_SPIRV_DX_H
#define CORE_EMIT_SPIRV_DX_H
#include "core/emit/spirv/mx.h"

/* Arithmetic on one f64: that of mx.h, whose words are then u32 all the same. */
static inline mx dx_of(emitter *e) {
  const uint32_t f64 = e_float(e, 64);
  mx d = mx_of(e, 1);
  d.wide = true;
  d.ft = f64;
  return d;
}

static inline mx_pair dx_words(mx d, uint32_t x) {
  uint32_t both = VAL(&d.e->s, OpBitcast, e_vec(d.e, d.ut, 2), x);
  return (mx_pair){VAL(&d.e->s, OpCompositeExtract, d.ut, both, 0),
                   VAL(&d.e->s, OpCompositeExtract, d.ut, both, 1)};
}
static inline uint32_t dx_from_words(mx d, mx_pair w) {
  return e_of_two(d.e, d.ft, VAL(&d.e->s, OpCompositeConstruct, e_vec(d.e, d.ut, 2), w.low, w.high));
}
static inline uint32_t dx_bits(mx d, uint32_t high) {
  return dx_from_words(d, (mx_pair){mx_uk(d, 0), mx_uk(d, high)});
}
static inline uint32_t dx_inf(mx d) { return dx_bits(d, 0x7ff00000u); }
static inline uint32_t dx_quiet(mx d) { return dx_bits(d, 0x7ff80000u); }
/* |a| with the sign of s. */
static inline uint32_t dx_copysign(mx d, uint32_t a, uint32_t s) {
  mx_pair w = dx_words(d, a);
  uint32_t sign = mx_u(d, OpBitwiseAnd, dx_words(d, s).high, mx_uk(d, 0x80000000u));
  w.high = mx_u(d, OpBitwiseOr, mx_u(d, OpBitwiseAnd, w.high, mx_uk(d, 0x7fffffffu)), sign);
  return dx_from_words(d, w);
}

/* y * 2^i for i from -2044 to 2046, in two steps so that the ends of the range don't overflow early. */
static inline uint32_t dx_power_of_2(mx d, uint32_t i) {
  uint32_t up = mx_u(d, OpShiftLeftLogical, mx_u(d, OpIAdd, i, mx_uk(d, 1023)), mx_uk(d, 20));
  return dx_from_words(d, (mx_pair){mx_uk(d, 0), up});
}
static inline uint32_t dx_scale(mx d, uint32_t y, uint32_t i) {
  uint32_t half = mx_u(d, OpShiftRightArithmetic, i, mx_uk(d, 1));
  return mx_mul(d, mx_mul(d, y, dx_power_of_2(d, half)), dx_power_of_2(d, mx_u(d, OpISub, i, half)));
}

/* ln 2 in two parts, the first of 33 bits: times an exponent it is exact. */
#define LN2_HIGH 0.69314718060195446
#define LN2_LOW  -4.2009150726810846e-11

/* ---- functions of the other files ---- */
/* e^(x + low) for low of less than 2^-40; 0: x alone. emit/spirv/math64.c, as the next one. */
uint32_t dx_exp(mx d, uint32_t x, uint32_t low);
/* m of x = m * 2^n for x > 0, from sqrt(1/2) to sqrt(2). */
uint32_t dx_mantissa(mx d, uint32_t x, uint32_t *n);
uint32_t dx_pow(mx d, uint32_t a, uint32_t b);         /* emit/spirv/pow64.c */
uint32_t dx_sin_cos(mx d, uint32_t x, uint32_t shift); /* sin for shift 0, cos for 1: emit/spirv/trig64.c */

#endif
