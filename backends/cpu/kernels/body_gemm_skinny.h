/* The skinny kernels of every kind. Included after body_gemm_int.h. */

#ifndef v_sum
VINL float v_sum(vf v) {
  float t[VF];
  v_store(t, v);
  for (int h = VF / 2; h > 0; h /= 2)
    for (int i = 0; i < h; i++) t[i] += t[i + h];
  return t[0];
}
#endif
#ifndef v_sum4
VINL void v_sum4(float *to, const vf *v) {
  for (int i = 0; i < 4; i++) to[i] = v_sum(v[i]);
}
#endif
VINL double skinny_sum_f64(vd v) {
  double t[VD];
  vd_store(t, v);
  for (int h = VD / 2; h > 0; h /= 2)
    for (int i = 0; i < h; i++) t[i] += t[i + h];
  return t[0];
}
VINL int32_t skinny_sum_i32(vi v) {
  uint32_t s = 0;
  for (int i = 0; i < VF; i++) s += (uint32_t)v[i];
  return (int32_t)s;
}
VINL void skinny_sum4_f64(double *to, const vd *v) {
  for (int i = 0; i < 4; i++) to[i] = skinny_sum_f64(v[i]);
}
VINL void skinny_sum4_i32(int32_t *to, const vi *v) {
  for (int i = 0; i < 4; i++) to[i] = skinny_sum_i32(v[i]);
}

/* Short rows are no stream that a processor would see: those so many rows after b's, a little at a time, so that
 * fetching and arithmetic overlap. What lies behind the last row is most often the next product's, and never read. */
enum { SKINNY_SHORT = 512, SKINNY_AHEAD = 4096, SKINNY_LINE = 64 };
VINL void skinny_fetch(const void *b, ptrdiff_t row_bytes, size_t width_bytes, size_t least, size_t rows) {
  if (width_bytes > SKINNY_SHORT || !width_bytes) return;
  const size_t ahead = SKINNY_AHEAD / width_bytes > least ? SKINNY_AHEAD / width_bytes : least;
  uintptr_t row = (uintptr_t)b + ahead * (uintptr_t)row_bytes;
  for (size_t i = 0; i < rows; i++, row += (uintptr_t)row_bytes)
    for (size_t at = 0; at < width_bytes; at += SKINNY_LINE) __builtin_prefetch((const void *)(row + at));
}

#define S_FN(name) skinny_f32_##name
#define S_EXTERN CPUK_FN(skinny_f32)
#define S_FAMILY_F32
#define S_AS float
#define S_B float
#define S_READ_A(d, s, n) memcpy(d, s, (n) * 4)
#define S_GROUP(p, ld) v_load(p)
#define S_GROUP_N(p, ld, n) v_load_n(p, n)
#define S_DOT(p) v_load(p)
#define S_DOT_N(p, n) v_load_n(p, n)
#include "body_skinny_tile.h"

#define S_FN(name) skinny_bf16_##name
#define S_EXTERN CPUK_FN(skinny_bf16)
#define S_FAMILY_F32
#define S_AS uint16_t
#define S_B uint16_t
#define S_READ_A(d, s, n) LANES.convert[CPUK_BF16][CPUK_F32](d, s, n)
#define S_GROUP(p, ld) v_from_bf16(vh_load(p))
#define S_GROUP_N(p, ld, n) v_from_bf16(vh_load_n(p, n))
#define S_DOT(p) v_from_bf16(vh_load(p))
#define S_DOT_N(p, n) v_from_bf16(vh_load_n(p, n))
#include "body_skinny_tile.h"

#define S_FN(name) skinny_f16_##name
#define S_EXTERN CPUK_FN(skinny_f16)
#define S_FAMILY_F32
#define S_AS uint16_t
#define S_B uint16_t
#define S_READ_A(d, s, n) LANES.convert[CPUK_F16][CPUK_F32](d, s, n)
#define S_GROUP(p, ld) v_from_f16(vh_load(p))
#define S_GROUP_N(p, ld, n) v_from_f16(vh_load_n(p, n))
#define S_DOT(p) v_from_f16(vh_load(p))
#define S_DOT_N(p, n) v_from_f16(vh_load_n(p, n))
#include "body_skinny_tile.h"

#define S_FN(name) skinny_f64_##name
#define S_EXTERN CPUK_FN(skinny_f64)
#define S_FAMILY_F64
#define S_AS double
#define S_B double
#define S_READ_A(d, s, n) memcpy(d, s, (n) * 8)
#define S_GROUP(p, ld) vd_load(p)
#define S_GROUP_N(p, ld, n) vd_load_n(p, n)
#define S_DOT(p) vd_load(p)
#define S_DOT_N(p, n) vd_load_n(p, n)
#include "body_skinny_tile.h"

/* Bytes: groups of two 16-bit halves. Row-major B: two rows are widened and put together; transposed: neighbours along
 * k. */
VINL vi bytes_group(const int8_t *p, ptrdiff_t ld) { return (vi_load_i8(p) & 0xffff) | (vi_load_i8(p + ld) << 16); }
VINL vi bytes_group_n(const int8_t *p, ptrdiff_t ld, size_t n) {
  int8_t t[2 * VF] = {0};
  memcpy(t, p, n);
  memcpy(t + VF, p + ld, n);
  return bytes_group(t, VF);
}
VINL vi bytes_dot_n(const int8_t *p, size_t n) {
  int8_t t[2 * VF] = {0};
  memcpy(t, p, n);
  return vi_load_i8_pairs(t);
}
VINL void bytes_read_s8(int16_t *d, const int8_t *s, size_t n) {
  for (size_t i = 0; i < n; i++) d[i] = s[i];
}
VINL void bytes_read_u8(int16_t *d, const uint8_t *s, size_t n) {
  for (size_t i = 0; i < n; i++) d[i] = s[i];
}

#define S_FN(name) skinny_s8s8_##name
#define S_EXTERN CPUK_FN(skinny_s8s8)
#define S_FAMILY_I32
#define S_AS int8_t
#define S_B int8_t
#define S_READ_A(d, s, n) bytes_read_s8(d, s, n)
#define S_GROUP(p, ld) bytes_group(p, ld)
#define S_GROUP_N(p, ld, n) bytes_group_n(p, ld, n)
#define S_DOT(p) vi_load_i8_pairs(p)
#define S_DOT_N(p, n) bytes_dot_n(p, n)
#include "body_skinny_tile.h"

#define S_FN(name) skinny_u8s8_##name
#define S_EXTERN CPUK_FN(skinny_u8s8)
#define S_FAMILY_I32
#define S_AS uint8_t
#define S_B int8_t
#define S_READ_A(d, s, n) bytes_read_u8(d, s, n)
#define S_GROUP(p, ld) bytes_group(p, ld)
#define S_GROUP_N(p, ld, n) bytes_group_n(p, ld, n)
#define S_DOT(p) vi_load_i8_pairs(p)
#define S_DOT_N(p, n) bytes_dot_n(p, n)
#include "body_skinny_tile.h"
