/* core/base/dtype.c - see dtype.h. Narrow floats share one rounding routine driven by (exponent bits, mantissa bits).
 */
#include "core/base/dtype.h"

#include <math.h>
#include <string.h>

static const dtype_info infos[TSR_N_DTYPES] = {
    [TSR_DTYPE_NONE] = {"none", "none", 0, 0, false, false, 0, 0},
    [TSR_F64] = {"f64", "f64", 8, 52, true, true, 1.7976931348623157e308, 1.1102230246251565e-16},
    [TSR_F32] = {"f32", "f32", 4, 23, true, true, 3.4028234663852886e38, 5.9604644775390625e-08},
    [TSR_TF32] = {"tf32", "tf32", 4, 10, true, true, 3.4028234663852886e38, 4.8828125e-04},
    [TSR_F16] = {"f16", "f16", 2, 10, true, true, 65504.0, 4.8828125e-04},
    [TSR_BF16] = {"bf16", "bf16", 2, 7, true, true, 3.3895313892515355e38, 3.90625e-03},
    [TSR_F8E4M3] = {"fp8_e4m3", "f8E4M3FN", 1, 3, true, true, 448.0, 6.25e-02},
    [TSR_F8E5M2] = {"fp8_e5m2", "f8E5M2", 1, 2, true, true, 57344.0, 1.25e-01},
    [TSR_I64] = {"i64", "i64", 8, 0, false, true, 9223372036854775807.0, 0},
    [TSR_I32] = {"i32", "i32", 4, 0, false, true, 2147483647.0, 0},
    [TSR_I16] = {"i16", "i16", 2, 0, false, true, 32767.0, 0},
    [TSR_I8] = {"i8", "i8", 1, 0, false, true, 127.0, 0},
    [TSR_U8] = {"u8", "ui8", 1, 0, false, false, 255.0, 0},
    [TSR_BOOL] = {"bool", "i1", 1, 0, false, false, 1.0, 0},
    [TSR_COMPLEX32] = {"complex32", "complex<f16>", 4, 10, false, true, 65504.0, 4.8828125e-04, TSR_F16},
    [TSR_COMPLEX64] = {"complex64", "complex<f32>", 8, 23, false, true, 3.4028234663852886e38, 5.9604644775390625e-08,
                       TSR_F32},
    [TSR_COMPLEX128] = {"complex128", "complex<f64>", 16, 52, false, true, 1.7976931348623157e308,
                        1.1102230246251565e-16, TSR_F64},
    [TSR_U16] = {"u16", "ui16", 2, 0, false, false, 65535.0, 0, .word = TSR_I16},
    [TSR_U32] = {"u32", "ui32", 4, 0, false, false, 4294967295.0, 0, .word = TSR_I32},
    [TSR_U64] = {"u64", "ui64", 8, 0, false, false, 18446744073709551615.0, 0, .word = TSR_I64},
    [TSR_I4] = {"i4", "i4", 0, 0, false, true, 7.0, 0, .byte = TSR_I8},
    [TSR_U4] = {"u4", "ui4", 0, 0, false, false, 15.0, 0, .byte = TSR_U8},
};

const dtype_info *dtype_get(tsr_dtype t) { return &infos[(unsigned)t < TSR_N_DTYPES ? t : TSR_DTYPE_NONE]; }

tsr_dtype dtype_complex(tsr_dtype part) {
  for (int t = 1; t < TSR_N_DTYPES; t++)
    if (part && infos[t].part == part) return (tsr_dtype)t;
  return TSR_DTYPE_NONE;
}

size_t tsr_dtype_size(tsr_dtype t) { return dtype_get(t)->size; }
size_t tsr_dtype_bytes(tsr_dtype t, size_t n) { return dtype_packed(t) ? n / 2 + n % 2 : n * dtype_get(t)->size; }
const char *tsr_dtype_name(tsr_dtype t) { return dtype_get(t)->name; }

tsr_dtype tsr_dtype_parse(const char *name) {
  static const struct { const char *name; tsr_dtype t; } aliases[] = {
      {"fp64", TSR_F64}, {"fp32", TSR_F32}, {"float32", TSR_F32}, {"fp16", TSR_F16}, {"float16", TSR_F16},
      {"bfloat16", TSR_BF16}, {"f8e4m3", TSR_F8E4M3}, {"f8e5m2", TSR_F8E5M2}, {"s8", TSR_I8}, {"int8", TSR_I8},
      {"int32", TSR_I32}, {"uint8", TSR_U8}, {"uint16", TSR_U16},
      {"uint32", TSR_U32}, {"uint64", TSR_U64}, {"int4", TSR_I4}, {"uint4", TSR_U4}};
  if (!name) return TSR_DTYPE_NONE;
  for (int t = 1; t < TSR_N_DTYPES; t++)
    if (!strcmp(name, infos[t].name) || !strcmp(name, infos[t].mlir)) return (tsr_dtype)t;
  for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
    if (!strcmp(name, aliases[i].name)) return aliases[i].t;
  return TSR_DTYPE_NONE;
}

tsr_dtype dtype_parse_real(const char *name) {
  const tsr_dtype t = tsr_dtype_parse(name);
  return dtype_is_complex(t) ? TSR_DTYPE_NONE : t;
}

static uint32_t bits_of(float f) {
  uint32_t u;
  memcpy(&u, &f, 4);
  return u;
}

static float float_of(uint32_t u) {
  float f;
  memcpy(&f, &u, 4);
  return f;
}

/* The magnitude of f rounded to a float with `m` mantissa bits and exponent bias `bias`, as an integer code without
 * sign; may come out above the largest finite code, which the caller saturates or turns into infinity. */
static uint32_t round_code(float f, int m, int bias) {
  uint32_t u = bits_of(f) & 0x7fffffffu;
  int e = (int)(u >> 23) - 127 + bias; /* the biased exponent in the narrow type */
  uint32_t mant = (u & 0x7fffffu) | ((u >> 23) ? 0x800000u : 0);
  if (!(u >> 23)) e++;
  int shift = 23 - m;
  if (e <= 0) {
    shift += 1 - e;
    if (shift > 25) return 0;
    uint32_t half = 1u << (shift - 1), rest = mant & ((1u << shift) - 1), q = mant >> shift;
    return q + (rest > half || (rest == half && (q & 1)));
  }
  uint32_t half = 1u << (shift - 1), rest = mant & ((1u << shift) - 1), q = mant >> shift;
  q += rest > half || (rest == half && (q & 1));
  return ((uint32_t)e << m) + q - (1u << m);
}

static float expand(uint32_t code, int m, int bias) {
  int e = (int)(code >> m);
  uint32_t mant = code & ((1u << m) - 1);
  return e ? ldexpf((float)(mant | (1u << m)), e - bias - m) : ldexpf((float)mant, 1 - bias - m);
}

float dtype_f16_to_f32(uint16_t h) {
  uint32_t code = h & 0x7fffu;
  float r = code >= 0x7c00u ? float_of(0x7f800000u | ((code & 0x3ffu) << 13)) : expand(code, 10, 15);
  return (h & 0x8000u) ? -r : r;
}

uint16_t dtype_f32_to_f16(float f) {
  uint16_t sign = (uint16_t)((bits_of(f) >> 16) & 0x8000u);
  if (isnan(f)) return (uint16_t)(sign | 0x7e00u);
  uint32_t code = isinf(f) ? 0x7c00u : round_code(f, 10, 15);
  return (uint16_t)(sign | (code > 0x7c00u ? 0x7c00u : code));
}

float dtype_bf16_to_f32(uint16_t h) { return float_of((uint32_t)h << 16); }

uint16_t dtype_f32_to_bf16(float f) {
  uint32_t u = bits_of(f);
  if (isnan(f)) return (uint16_t)((u >> 16) | 0x40u);
  return (uint16_t)((u + 0x7fffu + ((u >> 16) & 1)) >> 16);
}

static float dtype_f8e4m3_to_f32(uint8_t h) {
  uint32_t code = h & 0x7fu;
  float r = code == 0x7fu ? NAN : expand(code, 3, 7);
  return (h & 0x80u) ? -r : r;
}

static uint8_t dtype_f32_to_f8e4m3(float f) {
  uint8_t sign = (uint8_t)((bits_of(f) >> 24) & 0x80u);
  if (isnan(f)) return (uint8_t)(sign | 0x7fu);
  uint32_t code = isinf(f) ? 0x7eu : round_code(f, 3, 7);
  return (uint8_t)(sign | (code > 0x7eu ? 0x7eu : code));
}

static float dtype_f8e5m2_to_f32(uint8_t h) {
  uint32_t code = h & 0x7fu;
  float r = code > 0x7cu ? NAN : code == 0x7cu ? INFINITY : expand(code, 2, 15);
  return (h & 0x80u) ? -r : r;
}

static uint8_t dtype_f32_to_f8e5m2(float f) {
  uint8_t sign = (uint8_t)((bits_of(f) >> 24) & 0x80u);
  if (isnan(f)) return (uint8_t)(sign | 0x7eu);
  uint32_t code = isinf(f) ? 0x7cu : round_code(f, 2, 15);
  return (uint8_t)(sign | (code > 0x7cu ? 0x7cu : code));
}

static float tf32_round(float f) {
  if (!isfinite(f)) return f;
  uint32_t u = bits_of(f);
  return float_of((u + 0xfffu + ((u >> 13) & 1)) & ~0x1fffu);
}

/* Of any alignment: constants may lie anywhere in a mapped file. */
#define LOAD(name, T) \
  static T load_##name(const void *p, size_t i) { \
    T v; \
    memcpy(&v, (const char *)p + i * sizeof v, sizeof v); \
    return v; \
  }
LOAD(f64, double) LOAD(f32, float) LOAD(u16, uint16_t) LOAD(i64, int64_t) LOAD(i32, int32_t) LOAD(i16, int16_t)
LOAD(u32, uint32_t) LOAD(u64, uint64_t)

static unsigned nibble(const void *p, size_t i) { return ((const uint8_t *)p)[i / 2] >> 4 * (i % 2) & 15; }

static void put_nibble(void *p, size_t i, int64_t v) {
  uint8_t *at = (uint8_t *)p + i / 2;
  const unsigned shift = 4 * (i % 2);
  *at = (uint8_t)((*at & ~(15u << shift)) | ((unsigned)v & 15) << shift);
}

double dtype_load(tsr_dtype t, const void *p, size_t i) {
  switch (dtype_part(t)) {
  case TSR_F64: return load_f64(p, i);
  case TSR_F32:
  case TSR_TF32: return load_f32(p, i);
  case TSR_F16: return dtype_f16_to_f32(load_u16(p, i));
  case TSR_BF16: return dtype_bf16_to_f32(load_u16(p, i));
  case TSR_F8E4M3: return dtype_f8e4m3_to_f32(((const uint8_t *)p)[i]);
  case TSR_F8E5M2: return dtype_f8e5m2_to_f32(((const uint8_t *)p)[i]);
  case TSR_I64: return (double)load_i64(p, i);
  case TSR_I32: return load_i32(p, i);
  case TSR_I16: return load_i16(p, i);
  case TSR_I8: return ((const int8_t *)p)[i];
  case TSR_U8: return ((const uint8_t *)p)[i];
  case TSR_U16: return load_u16(p, i);
  case TSR_U32: return load_u32(p, i);
  case TSR_U64: return (double)load_u64(p, i);
  case TSR_I4: return (int)(nibble(p, i) ^ 8) - 8;
  case TSR_U4: return nibble(p, i);
  case TSR_BOOL: return ((const uint8_t *)p)[i] != 0;
  default: return 0;
  }
}

int64_t dtype_load_int(tsr_dtype t, const void *p, size_t i) {
  return dtype_is_long(t) ? load_i64(p, i) : (int64_t)dtype_load(t, p, i);
}

static uint64_t to_u64(double v) { return !(v > 0) ? 0 : v >= 0x1p64 ? UINT64_MAX : (uint64_t)v; }

static int64_t to_int(double v, int64_t lo, int64_t hi) {
  if (isnan(v)) return 0;
  if (v <= (double)lo) return lo;
  if (v >= (double)hi) return hi;
  return (int64_t)v;
}

/* Via float for the narrow types would round twice; going to odd first keeps one rounding. */
static float to_odd(double v) {
  float f = (float)v;
  if (isnan(v) || isinf(f) || (double)f == v) return f;
  if (fabs((double)f) > fabs(v)) f = nextafterf(f, 0.0f);
  return float_of(bits_of(f) | 1);
}

void dtype_store(tsr_dtype t, void *p, size_t i, double v) {
  switch (dtype_part(t)) {
  case TSR_F64: ((double *)p)[i] = v; break;
  case TSR_F32: ((float *)p)[i] = (float)v; break;
  case TSR_TF32: ((float *)p)[i] = tf32_round(to_odd(v)); break;
  case TSR_F16: ((uint16_t *)p)[i] = dtype_f32_to_f16(to_odd(v)); break;
  case TSR_BF16: ((uint16_t *)p)[i] = dtype_f32_to_bf16(to_odd(v)); break;
  case TSR_F8E4M3: ((uint8_t *)p)[i] = dtype_f32_to_f8e4m3(to_odd(v)); break;
  case TSR_F8E5M2: ((uint8_t *)p)[i] = dtype_f32_to_f8e5m2(to_odd(v)); break;
  case TSR_I64: ((int64_t *)p)[i] = to_int(v, INT64_MIN, INT64_MAX); break;
  case TSR_I32: ((int32_t *)p)[i] = (int32_t)to_int(v, INT32_MIN, INT32_MAX); break;
  case TSR_I16: ((int16_t *)p)[i] = (int16_t)to_int(v, INT16_MIN, INT16_MAX); break;
  case TSR_I8: ((int8_t *)p)[i] = (int8_t)to_int(v, INT8_MIN, INT8_MAX); break;
  case TSR_U8: ((uint8_t *)p)[i] = (uint8_t)to_int(v, 0, UINT8_MAX); break;
  case TSR_U16: ((uint16_t *)p)[i] = (uint16_t)to_int(v, 0, UINT16_MAX); break;
  case TSR_U32: ((uint32_t *)p)[i] = (uint32_t)to_int(v, 0, UINT32_MAX); break;
  case TSR_U64: ((uint64_t *)p)[i] = to_u64(v); break;
  case TSR_I4: put_nibble(p, i, to_int(v, -8, 7)); break;
  case TSR_U4: put_nibble(p, i, to_int(v, 0, 15)); break;
  case TSR_BOOL: ((uint8_t *)p)[i] = v != 0; break;
  default: break;
  }
}

/* To odd: rounding it again gives what rounding v once would. */
static double int_to_odd(int64_t v) {
  uint64_t m = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
  if (m >> 53) m = (m & ~(uint64_t)0xfff) | ((m & 0xfff) ? 0x1000 : 0);
  return v < 0 ? -(double)m : (double)m;
}

void dtype_store_int(tsr_dtype t, void *p, size_t i, int64_t v) {
  if (t == TSR_I64) ((int64_t *)p)[i] = v;
  else if (t == TSR_U64) ((uint64_t *)p)[i] = v < 0 ? 0 : (uint64_t)v;
  else dtype_store(t, p, i, t == TSR_F64 ? (double)v : int_to_odd(v));
}

int64_t dtype_wrap(tsr_dtype t, int64_t v) {
  switch (t) {
  case TSR_I32: return (int32_t)(uint32_t)v;
  case TSR_I16: return (int16_t)(uint16_t)v;
  case TSR_I8: return (int8_t)(uint8_t)v;
  case TSR_U8: return (uint8_t)v;
  case TSR_U16: return (uint16_t)v;
  case TSR_U32: return (uint32_t)v;
  case TSR_I4: return ((v & 15) ^ 8) - 8;
  case TSR_U4: return v & 15;
  default: return v;
  }
}

int64_t dtype_whole(tsr_dtype t, double v) {
  union { int64_t i; char c[8]; } one = {0};
  dtype_store(t, &one, 0, v);
  return dtype_load_int(t, &one, 0);
}

bool dtype_holds(tsr_dtype wide, tsr_dtype narrow) {
  const dtype_info *w = dtype_get(wide), *n = dtype_get(narrow);
  if (wide == narrow) return true;
  if (w->part || n->part) return w->part && n->part && dtype_holds(w->part, n->part);
  if (narrow == TSR_BOOL) return true;
  if (w->is_float && n->is_float)
    return w->mantissa_bits >= n->mantissa_bits && w->max >= n->max && w->size > n->size;
  if (w->is_float) return n->max < ldexp(1, w->mantissa_bits + 1);
  return !n->is_float && w->max >= n->max && (w->is_signed || !n->is_signed);
}

tsr_dtype cpu_compute_type(tsr_dtype t) {
  switch (t) {
  case TSR_F64: return TSR_F64;
  case TSR_F32: case TSR_TF32: case TSR_F16: case TSR_BF16: case TSR_F8E4M3: case TSR_F8E5M2: return TSR_F32;
  case TSR_I64: return TSR_I64;
  case TSR_I32: case TSR_I16: case TSR_I8: case TSR_U8: return TSR_I32;
  case TSR_BOOL: return TSR_BOOL;
  default: return TSR_DTYPE_NONE;
  }
}
