/* core/import/block_format.c - see block_format.h. The functions are the reference that kernels are held against: one
 * element after the other, in f32. d and m are f16 scales; q is a quantised integer. */
#include "core/import/block_format.h"

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

/* d, q[16]: d level[q], sixteen levels that lie closer around zero */
static void iq4_nl(bytes b, float *out) {
  static const int8_t level[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
  float d = f16(b);
  for (int j = 0; j < 16; j++) {
    out[j] = d * (float)level[b[2 + j] & 15];
    out[j + 16] = d * (float)level[b[2 + j] >> 4];
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

static const block_format table[] = {
    {"f32", 0, 1, 4, TSR_F32, f32_element},
    {"f16", 1, 1, 2, TSR_F16, f16_element},
    {"q4_0", 2, 32, 18, TSR_DTYPE_NONE, q4_0},
    {"q4_1", 3, 32, 20, TSR_DTYPE_NONE, q4_1},
    {"q5_0", 6, 32, 22, TSR_DTYPE_NONE, q5_0},
    {"q5_1", 7, 32, 24, TSR_DTYPE_NONE, q5_1},
    {"q8_0", 8, 32, 34, TSR_DTYPE_NONE, q8_0},
    {"q8_1", 9, 32, 36, TSR_DTYPE_NONE, NULL},
    {"q2_k", 10, 256, 84, TSR_DTYPE_NONE, q2_k},
    {"q3_k", 11, 256, 110, TSR_DTYPE_NONE, q3_k},
    {"q4_k", 12, 256, 144, TSR_DTYPE_NONE, q4_k},
    {"q5_k", 13, 256, 176, TSR_DTYPE_NONE, q5_k},
    {"q6_k", 14, 256, 210, TSR_DTYPE_NONE, q6_k},
    {"q8_k", 15, 256, 292, TSR_DTYPE_NONE, NULL},
    {"iq2_xxs", 16, 256, 66, TSR_DTYPE_NONE, NULL},
    {"iq2_xs", 17, 256, 74, TSR_DTYPE_NONE, NULL},
    {"iq3_xxs", 18, 256, 98, TSR_DTYPE_NONE, NULL},
    {"iq1_s", 19, 256, 50, TSR_DTYPE_NONE, NULL},
    {"iq4_nl", 20, 32, 18, TSR_DTYPE_NONE, iq4_nl},
    {"iq3_s", 21, 256, 110, TSR_DTYPE_NONE, NULL},
    {"iq2_s", 22, 256, 82, TSR_DTYPE_NONE, NULL},
    {"iq4_xs", 23, 256, 136, TSR_DTYPE_NONE, NULL},
    {"i8", 24, 1, 1, TSR_I8, NULL},
    {"i16", 25, 1, 2, TSR_I16, NULL},
    {"i32", 26, 1, 4, TSR_I32, NULL},
    {"i64", 27, 1, 8, TSR_I64, NULL},
    {"f64", 28, 1, 8, TSR_F64, NULL},
    {"iq1_m", 29, 256, 56, TSR_DTYPE_NONE, NULL},
    {"bf16", 30, 1, 2, TSR_BF16, bf16_element},
    {"tq1_0", 34, 256, 54, TSR_DTYPE_NONE, NULL},
    {"tq2_0", 35, 256, 66, TSR_DTYPE_NONE, NULL},
    {"mxfp4", 39, 32, 17, TSR_DTYPE_NONE, NULL},
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
