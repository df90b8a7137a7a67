/* tests/simt/fp.c - element types as doubles and back, from their definitions (IEEE 754; OCP 8-bit floating point 1.0;
 * the FNUZ forms of the CDNA3 ISA, section "Float8 data formats"). Independent of core/base/dtype.c on purpose. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/simt/sim.h"

/* `top` says what the largest exponent means: infinities and NaN (IEEE), only all-ones is NaN, or only the negative
 * zero is. */
typedef struct format { int mantissa, exponent, bias; enum { TOP_IEEE, TOP_NAN, TOP_FNUZ } top; } format;

static const format *format_of(int type) {
  static const format f16 = {10, 5, 15, TOP_IEEE}, bf16 = {7, 8, 127, TOP_IEEE}, e4m3 = {3, 4, 7, TOP_NAN},
                      e5m2 = {2, 5, 15, TOP_IEEE};
  static const format e4m3z = {3, 4, 8, TOP_FNUZ}, e5m2z = {2, 5, 16, TOP_FNUZ};
  switch (type) {
  case EMU_F16: return &f16;
  case EMU_BF16: return &bf16;
  case EMU_E4M3: return &e4m3;
  case EMU_E5M2: return &e5m2;
  case EMU_E4M3_FNUZ: return &e4m3z;
  case EMU_E5M2_FNUZ: return &e5m2z;
  default: return NULL;
  }
}

static double decode(uint32_t bits, const format *f) {
  int width = 1 + f->exponent + f->mantissa;
  uint32_t e = bits >> f->mantissa & ((1u << f->exponent) - 1), m = bits & ((1u << f->mantissa) - 1),
           all = (1u << f->exponent) - 1;
  double sign = bits >> (width - 1) & 1 ? -1.0 : 1.0;
  if (f->top == TOP_FNUZ && bits == 1u << (width - 1)) return NAN;
  if (f->top == TOP_IEEE && e == all) return m ? NAN : sign * INFINITY;
  if (f->top == TOP_NAN && e == all && m == (1u << f->mantissa) - 1) return NAN;
  if (!e) return sign * ldexp((double)m, 1 - f->bias - f->mantissa);
  return sign * ldexp((double)(m | 1u << f->mantissa), (int)e - f->bias - f->mantissa);
}

/* decode() of all codes of a type, made at the first use: products ask for the same few thousand again and again. */
static const float *decoded(int type) {
  static float *made[EMU_E5M2_FNUZ + 1];
  if (!made[type]) {
    int n = 1 << fp_bits(type);
    float *all = malloc((size_t)n * sizeof *all);
    if (!all) abort();
    for (int i = 0; i < n; i++) all[i] = (float)decode((uint32_t)i, format_of(type));
    made[type] = all;
  }
  return made[type];
}

static uint32_t encode(double x, const format *f) {
  int width = 1 + f->exponent + f->mantissa;
  uint32_t sign = (uint32_t)(signbit(x) != 0) << (width - 1), all = (1u << f->exponent) - 1;
  uint32_t top = f->top == TOP_IEEE ? all << f->mantissa
                                    : (all << f->mantissa | ((1u << f->mantissa) - 1)); /* infinity, or the last code */
  if (isnan(x))
    return f->top == TOP_FNUZ ? 1u << (width - 1) : f->top == TOP_NAN ? top : sign | top | 1u << (f->mantissa - 1);
  uint32_t largest = f->top == TOP_NAN ? top - 1 : top;
  if (x == 0) return f->top == TOP_FNUZ ? 0 : sign;
  int e = isinf(x) ? 1024 : ilogb(x);
  if (e < 1 - f->bias) e = 1 - f->bias;
  if (e > (int)all) return sign | largest;
  double q = nearbyint(ldexp(fabs(x), f->mantissa - e)); /* in units of the last place */
  uint64_t code = (uint64_t)q + ((uint64_t)(e + f->bias - 1) << f->mantissa);
  if (code > largest) code = largest;
  if (f->top == TOP_FNUZ && !code) return 0;
  return sign | (uint32_t)code;
}

float emu_widen(uint32_t bits, int type) { return decoded(type)[bits & ((1u << fp_bits(type)) - 1)]; }
uint32_t emu_narrow(float x, int type) { return encode(x, format_of(type)); }

int fp_bits(int type) {
  switch (type) {
  case EMU_F64: case EMU_I64: return 64;
  case EMU_F32: case EMU_TF32: case EMU_I32: return 32;
  case EMU_F16: case EMU_BF16: case EMU_I16: return 16;
  default: return 8;
  }
}

double fp_get(const void *p, int type, int index) {
  const uint8_t *at = (const uint8_t *)p + (size_t)index * (size_t)(fp_bits(type) / 8);
  uint64_t bits = 0;
  memcpy(&bits, at, (size_t)(fp_bits(type) / 8));
  switch (type) {
  case EMU_F64: { double d; memcpy(&d, &bits, 8); return d; }
  case EMU_TF32: bits &= ~0x1fffu; /* the unit ignores the low mantissa bits */ /* fallthrough */
  case EMU_F32: { float f; memcpy(&f, &bits, 4); return f; }
  case EMU_I32: return (int32_t)bits;
  case EMU_I16: return (int16_t)bits;
  case EMU_I8: return (int8_t)bits;
  case EMU_U8: return (uint8_t)bits;
  default: return decoded(type)[bits];
  }
}

void fp_put(void *p, int type, int index, double v) {
  uint8_t *at = (uint8_t *)p + (size_t)index * (size_t)(fp_bits(type) / 8);
  if (type == EMU_F64) {
    memcpy(at, &v, 8);
  } else if (type == EMU_F32) {
    float f = (float)v;
    memcpy(at, &f, 4);
  } else if (type == EMU_I32) {
    int32_t i = (int32_t)(uint32_t)(int64_t)v; /* wraps */
    memcpy(at, &i, 4);
  } else {
    uint32_t code = encode(v, format_of(type));
    memcpy(at, &code, (size_t)(fp_bits(type) / 8));
  }
}

/* The model of Khattak and Mikaitis, "Accurate Models of NVIDIA Tensor Cores" (arXiv 2512.07004), for fp8 on Ada and
 * Hopper: all products of an instruction and the accumulator are aligned with the largest of them, cut off below `bits`
 * bits (toward zero), added, and the sum cut off likewise. Also DeepGEMM, issue 50, and SageAttention2 (arXiv
 * 2411.10958), section 3: e8m13. */
static double cut(double x, double unit, double units) { return trunc(x * units) * unit; }

double fp_f8_sum(double acc, const double *products, int n, int bits) {
  double largest = fabs(acc), sum = acc;
  for (int i = 0; i < n; i++) {
    sum += products[i];
    if (fabs(products[i]) > largest) largest = fabs(products[i]);
  }
  if (!bits || !isfinite(sum) || largest == 0) return sum;
  double unit = ldexp(1, ilogb(largest) - bits + 1), units = 1 / unit; /* powers of two: nothing is rounded */
  sum = cut(acc, unit, units);
  for (int i = 0; i < n; i++) sum += cut(products[i], unit, units);
  if (sum == 0) return 0;
  unit = ldexp(1, ilogb(sum) - bits + 1);
  return cut(sum, unit, 1 / unit);
}
