/* core/base/block_format.c - see block_format.h. The functions are the reference that kernels are held against: one
 * element after the other, in f32. d and m are f16 scales; q is a quantised integer. */
#include "core/base/block_format.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "core/base/dtype.h"

typedef const unsigned char *bytes;

static unsigned u16(bytes p) { return p[0] | (unsigned)p[1] << 8; }
static uint32_t u32(bytes p) { return u16(p) | (uint32_t)u16(p + 2) << 16; }
static float f16(bytes p) { return dtype_f16_to_f32((uint16_t)u16(p)); }

static void f32_element(bytes b, float *out) {
  uint32_t u = u32(b);
  memcpy(out, &u, sizeof u);
}

static void f16_element(bytes b, float *out) { *out = f16(b); }
static void bf16_element(bytes b, float *out) { *out = dtype_bf16_to_f32((uint16_t)u16(b)); }

/* ---- blocks of 32: byte j of q holds element j in its low half and element j + 16 in its high half --------------- */

/* d, q[16]: d (q - 8) */
static void q4_0(bytes b, float *out) {
  float d = f16(b);
  for (int j = 0; j < 16; j++) {
    out[j] = d * (float)((int)(b[2 + j] & 15) - 8);
    out[j + 16] = d * (float)((int)(b[2 + j] >> 4) - 8);
  }
}

void block_q4_0_put(const uint8_t q[BLOCK_RUN], unsigned char *block) {
  for (int j = 0; j < 16; j++) block[2 + j] = (unsigned char)(q[j] | q[j + 16] << 4);
}

/* d, m, q[16]: d q + m */
static void q4_1(bytes b, float *out) {
  float d = f16(b), m = f16(b + 2);
  for (int j = 0; j < 16; j++) {
    out[j] = d * (float)(b[4 + j] & 15) + m;
    out[j + 16] = d * (float)(b[4 + j] >> 4) + m;
  }
}

/* Element j's fifth bit is bit j of `high`. */
static int five_bits(uint32_t high, bytes q, int j) {
  int low = j < 16 ? q[j] & 15 : q[j - 16] >> 4;
  return low | (int)(high >> j & 1) << 4;
}

/* d, high (4 bytes), q[16]: d (q - 16) */
static void q5_0(bytes b, float *out) {
  float d = f16(b);
  for (int j = 0; j < 32; j++) out[j] = d * (float)(five_bits(u32(b + 2), b + 6, j) - 16);
}

/* d, m, high (4 bytes), q[16]: d q + m */
static void q5_1(bytes b, float *out) {
  float d = f16(b), m = f16(b + 2);
  for (int j = 0; j < 32; j++) out[j] = d * (float)five_bits(u32(b + 4), b + 8, j) + m;
}

/* d, q[32] signed: d q */
static void q8_0(bytes b, float *out) {
  float d = f16(b);
  for (int j = 0; j < 32; j++) out[j] = d * (float)(int8_t)b[2 + j];
}

const int8_t block_iq4_nl_levels[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

/* d, q[16]: d level[q], sixteen levels that lie closer around zero */
static void iq4_nl(bytes b, float *out) {
  float d = f16(b);
  for (int j = 0; j < 16; j++) {
    out[j] = d * (float)block_iq4_nl_levels[b[2 + j] & 15];
    out[j + 16] = d * (float)block_iq4_nl_levels[b[2 + j] >> 4];
  }
}

/* ---- blocks of 256: two halves of 128, or four groups of 64; a scale for every 16 or 32 elements ----------------- */

/* scale[16] (low half the scale, high half the minimum), q[64], d, m: d scale q - m minimum.
 * Element 32 j + l of a half is bits 2j of that half's byte l. */
static void q2_k(bytes b, float *out) {
  float d = f16(b + 80), m = f16(b + 82);
  for (int i = 0; i < 256; i++) {
    int half = i / 128, j = i % 128 / 32, l = i % 32, s = b[i / 16];
    int q = b[16 + 32 * half + l] >> 2 * j & 3;
    out[i] = d * (float)(s & 15) * (float)q - m * (float)(s >> 4);
  }
}

/* Scale i of the sixteen of six bits in twelve bytes: the low four bits in halves of the first eight, the high two
 * from the last four. */
static int q3_scale(bytes s, int i) {
  int low = i < 8 ? s[i] & 15 : s[i - 8] >> 4;
  return (low | (s[8 + i % 4] >> 2 * (i / 4) & 3) << 4) - 32;
}

/* high[32], q[64], scale[12], d: d scale (q - 4), where q's third bit is bit 4 half + j of byte l of `high`. */
static void q3_k(bytes b, float *out) {
  float d = f16(b + 108);
  for (int i = 0; i < 256; i++) {
    int half = i / 128, j = i % 128 / 32, l = i % 32;
    int q = (b[32 + 32 * half + l] >> 2 * j & 3) | (b[l] >> (4 * half + j) & 1) << 2;
    out[i] = d * (float)q3_scale(b + 96, i / 16) * (float)(q - 4);
  }
}

/* Scale and minimum i of the eight pairs of six bits in twelve bytes: the first four of each have bytes of their own,
 * whose top bits are those of the last four. */
static void q4_scale(bytes s, int i, int *scale, int *least) {
  if (i < 4) {
    *scale = s[i] & 63;
    *least = s[i + 4] & 63;
  } else {
    *scale = (s[i + 4] & 15) | s[i - 4] >> 6 << 4;
    *least = s[i + 4] >> 4 | s[i] >> 6 << 4;
  }
}

/* d, m, scale[12], q[128]: d scale q - m minimum. Byte l of a group holds elements l and l + 32. */
static void q4_k(bytes b, float *out) {
  float d = f16(b), m = f16(b + 2);
  for (int i = 0; i < 256; i++) {
    int scale, least, byte = b[16 + 32 * (i / 64) + i % 32];
    q4_scale(b + 4, i / 32, &scale, &least);
    out[i] = d * (float)scale * (float)(i / 32 % 2 ? byte >> 4 : byte & 15) - m * (float)least;
  }
}

/* d, m, scale[12], high[32], q[128]: as q4_k, with the fifth bit of element 32 s + l in bit s of byte l of `high`. */
static void q5_k(bytes b, float *out) {
  float d = f16(b), m = f16(b + 2);
  for (int i = 0; i < 256; i++) {
    int scale, least, byte = b[48 + 32 * (i / 64) + i % 32];
    int q = (i / 32 % 2 ? byte >> 4 : byte & 15) | (b[16 + i % 32] >> i / 32 & 1) << 4;
    q4_scale(b + 4, i / 32, &scale, &least);
    out[i] = d * (float)scale * (float)q - m * (float)least;
  }
}

/* q[128], high[64], scale[16] signed, d: d scale (q - 32). Of element 32 j + l in a half, the low four bits are in
 * byte 32 (j % 2) + l of that half's q (high half of the byte for j > 1), the high two are bits 2j of its byte l. */
static void q6_k(bytes b, float *out) {
  float d = f16(b + 208);
  for (int i = 0; i < 256; i++) {
    int half = i / 128, j = i % 128 / 32, l = i % 32, byte = b[64 * half + 32 * (j % 2) + l];
    int q = (j > 1 ? byte >> 4 : byte & 15) | (b[128 + 32 * half + l] >> 2 * j & 3) << 4;
    out[i] = d * (float)(int8_t)b[192 + i / 16] * (float)(q - 32);
  }
}

/* ---- runs of 32 as integers -------------------------------------------------------------------------------------- */

static void set(block_run *r, float scale, float offset) {
  r->scale[0] = r->scale[1] = scale;
  r->offset[0] = r->offset[1] = offset;
}

static void halves(bytes q, block_run *r) {
  for (int j = 0; j < 16; j++) r->q[j] = (int8_t)(q[j] & 15), r->q[j + 16] = (int8_t)(q[j] >> 4);
}

static void unpack_q4_0(bytes b, int i, block_run *r) {
  (void)i;
  halves(b + 2, r);
  set(r, f16(b), -8 * f16(b));
}

static void unpack_q4_1(bytes b, int i, block_run *r) {
  (void)i;
  halves(b + 4, r);
  set(r, f16(b), f16(b + 2));
}

static void unpack_q5_0(bytes b, int i, block_run *r) {
  (void)i;
  for (int j = 0; j < 32; j++) r->q[j] = (int8_t)five_bits(u32(b + 2), b + 6, j);
  set(r, f16(b), -16 * f16(b));
}

static void unpack_q5_1(bytes b, int i, block_run *r) {
  (void)i;
  for (int j = 0; j < 32; j++) r->q[j] = (int8_t)five_bits(u32(b + 4), b + 8, j);
  set(r, f16(b), f16(b + 2));
}

static void unpack_q8_0(bytes b, int i, block_run *r) {
  (void)i;
  memcpy(r->q, b + 2, sizeof r->q);
  set(r, f16(b), 0);
}

static void unpack_iq4_nl(bytes b, int i, block_run *r) {
  (void)i;
  for (int j = 0; j < 16; j++) {
    r->q[j] = block_iq4_nl_levels[b[2 + j] & 15];
    r->q[j + 16] = block_iq4_nl_levels[b[2 + j] >> 4];
  }
  set(r, f16(b), 0);
}

static void unpack_q2_k(bytes b, int i, block_run *r) {
  const float d = f16(b + 80), m = f16(b + 82);
  for (int l = 0; l < 32; l++) r->q[l] = (int8_t)(b[16 + 32 * (i / 4) + l] >> 2 * (i % 4) & 3);
  for (int h = 0; h < 2; h++) {
    const int s = b[2 * i + h];
    r->scale[h] = d * (float)(s & 15);
    r->offset[h] = -m * (float)(s >> 4);
  }
}

static void unpack_q3_k(bytes b, int i, block_run *r) {
  const float d = f16(b + 108);
  for (int l = 0; l < 32; l++)
    r->q[l] = (int8_t)((b[32 + 32 * (i / 4) + l] >> 2 * (i % 4) & 3) | (b[l] >> i & 1) << 2);
  for (int h = 0; h < 2; h++) {
    r->scale[h] = d * (float)q3_scale(b + 96, 2 * i + h);
    r->offset[h] = -4 * r->scale[h];
  }
}

static void unpack_q4_k(bytes b, int i, block_run *r) {
  int scale, least;
  q4_scale(b + 4, i, &scale, &least);
  for (int l = 0; l < 32; l++) {
    const int byte = b[16 + 32 * (i / 2) + l];
    r->q[l] = (int8_t)(i % 2 ? byte >> 4 : byte & 15);
  }
  set(r, f16(b) * (float)scale, -f16(b + 2) * (float)least);
}

static void unpack_q5_k(bytes b, int i, block_run *r) {
  int scale, least;
  q4_scale(b + 4, i, &scale, &least);
  for (int l = 0; l < 32; l++) {
    const int byte = b[48 + 32 * (i / 2) + l];
    r->q[l] = (int8_t)((i % 2 ? byte >> 4 : byte & 15) | (b[16 + l] >> i & 1) << 4);
  }
  set(r, f16(b) * (float)scale, -f16(b + 2) * (float)least);
}

static void unpack_q6_k(bytes b, int i, block_run *r) {
  const float d = f16(b + 208);
  const int half = i / 4, j = i % 4;
  for (int l = 0; l < 32; l++) {
    const int byte = b[64 * half + 32 * (j % 2) + l];
    r->q[l] = (int8_t)((j > 1 ? byte >> 4 : byte & 15) | (b[128 + 32 * half + l] >> 2 * j & 3) << 4);
  }
  for (int h = 0; h < 2; h++) {
    r->scale[h] = d * (float)(int8_t)b[192 + 2 * i + h];
    r->offset[h] = -32 * r->scale[h];
  }
}

static const block_format table[] = {
    {"f32", 0, 1, 4, TSR_F32, f32_element, NULL, 0, false},
    {"f16", 1, 1, 2, TSR_F16, f16_element, NULL, 0, false},
    {"q4_0", 2, 32, 18, TSR_DTYPE_NONE, q4_0, unpack_q4_0, 15, false},
    {"q4_1", 3, 32, 20, TSR_DTYPE_NONE, q4_1, unpack_q4_1, 15, false},
    {"q5_0", 6, 32, 22, TSR_DTYPE_NONE, q5_0, unpack_q5_0, 31, false},
    {"q5_1", 7, 32, 24, TSR_DTYPE_NONE, q5_1, unpack_q5_1, 31, false},
    {"q8_0", 8, 32, 34, TSR_DTYPE_NONE, q8_0, unpack_q8_0, 128, true},
    {"q8_1", 9, 32, 36, TSR_DTYPE_NONE, NULL, NULL, 0, false},
    {"q2_k", 10, 256, 84, TSR_DTYPE_NONE, q2_k, unpack_q2_k, 3, false},
    {"q3_k", 11, 256, 110, TSR_DTYPE_NONE, q3_k, unpack_q3_k, 7, false},
    {"q4_k", 12, 256, 144, TSR_DTYPE_NONE, q4_k, unpack_q4_k, 15, false},
    {"q5_k", 13, 256, 176, TSR_DTYPE_NONE, q5_k, unpack_q5_k, 31, false},
    {"q6_k", 14, 256, 210, TSR_DTYPE_NONE, q6_k, unpack_q6_k, 63, false},
    {"q8_k", 15, 256, 292, TSR_DTYPE_NONE, NULL, NULL, 0, false},
    {"iq2_xxs", 16, 256, 66, TSR_DTYPE_NONE, NULL, NULL, 0, false},
    {"iq2_xs", 17, 256, 74, TSR_DTYPE_NONE, NULL, NULL, 0, false},
    {"iq3_xxs", 18, 256, 98, TSR_DTYPE_NONE, NULL, NULL, 0, false},
    {"iq1_s", 19, 256, 50, TSR_DTYPE_NONE, NULL, NULL, 0, false},
    {"iq4_nl", 20, 32, 18, TSR_DTYPE_NONE, iq4_nl, unpack_iq4_nl, 127, true},
    {"iq3_s", 21, 256, 110, TSR_DTYPE_NONE, NULL, NULL, 0, false},
    {"iq2_s", 22, 256, 82, TSR_DTYPE_NONE, NULL, NULL, 0, false},
    {"iq4_xs", 23, 256, 136, TSR_DTYPE_NONE, NULL, NULL, 0, false},
    {"i8", 24, 1, 1, TSR_I8, NULL, NULL, 0, false},
    {"i16", 25, 1, 2, TSR_I16, NULL, NULL, 0, false},
    {"i32", 26, 1, 4, TSR_I32, NULL, NULL, 0, false},
    {"i64", 27, 1, 8, TSR_I64, NULL, NULL, 0, false},
    {"f64", 28, 1, 8, TSR_F64, NULL, NULL, 0, false},
    {"iq1_m", 29, 256, 56, TSR_DTYPE_NONE, NULL, NULL, 0, false},
    {"bf16", 30, 1, 2, TSR_BF16, bf16_element, NULL, 0, false},
    {"tq1_0", 34, 256, 54, TSR_DTYPE_NONE, NULL, NULL, 0, false},
    {"tq2_0", 35, 256, 66, TSR_DTYPE_NONE, NULL, NULL, 0, false},
    {"mxfp4", 39, 32, 17, TSR_DTYPE_NONE, NULL, NULL, 0, false},
};

const block_format *block_format_at(size_t i) { return i < sizeof table / sizeof *table ? &table[i] : NULL; }

const block_format *block_format_by_code(uint32_t code) {
  for (size_t i = 0; i < sizeof table / sizeof *table; i++)
    if (table[i].code == code) return &table[i];
  return NULL;
}

const block_format *block_format_by_name(const char *name) {
  for (size_t i = 0; i < sizeof table / sizeof *table; i++)
    if (!strcmp(table[i].name, name)) return &table[i];
  return NULL;
}

static float to_f16(float x) { return dtype_f16_to_f32(dtype_f32_to_f16(x)); }

static uint32_t bits_of(float x) {
  uint32_t u;
  memcpy(&u, &x, sizeof u);
  return u;
}

/* To the nearest integer, of two the even one: below 2^22 the last bits of x + 1.5 * 2^23 are it. */
static int nearest(float x) {
  const float magic = 12582912;
  return (int)(bits_of(x + magic) - bits_of(magic));
}

/* One run; without branches in its loops, for compilers that make vectors of them. */
static void quantize_run(const float *x, bool q8_1, block_q8 *out) {
  enum { NOT_FINITE = 0x7f800000 };
  uint32_t top = 0;
  for (int j = 0; j < BLOCK_RUN; j++) {
    const uint32_t u = bits_of(x[j]) & 0x7fffffff;
    top = u > top ? u : top;
  }
  float largest, inverse;
  memcpy(&largest, &top, sizeof largest);
  inverse = top && top < NOT_FINITE ? 127 / largest : 0;
  if (!(inverse <= FLT_MAX)) inverse = 0; /* so small that the scale is 0 as well */
  out->scale = top < NOT_FINITE ? to_f16(largest / 127) : NAN;
  int sum[2] = {0, 0};
  for (int h = 0; h < 2; h++)
    for (int j = 0; j < BLOCK_RUN / 2; j++) {
      const int q = inverse > 0 ? nearest(x[16 * h + j] * inverse) : 0;
      out->q[16 * h + j] = (int8_t)q;
      sum[h] += q;
    }
  for (int h = 0; h < 2; h++) out->sum[h] = out->scale * (float)sum[h];
  if (!q8_1) return;
  out->sum[0] = top < NOT_FINITE ? to_f16(largest / 127 * (float)(sum[0] + sum[1])) : NAN;
  out->sum[1] = 0;
}

void block_quantize(const float *x, int64_t n, bool q8_1, block_q8 *out) {
  for (; n > 0; n -= BLOCK_RUN) quantize_run(x, q8_1, out++), x += BLOCK_RUN;
}
