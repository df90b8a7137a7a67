/* Block formats by two other routes than the code's: blocks are put together bit by bit from lists of bit positions
 * and compared with what was put in; and sums over pseudo-random blocks are those of gguf-py 0.19 (its NumPy
 * functions), recorded here. All scales are powers of two or small integers, so that every value is exact. */
#include "core/base/block_format.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/dtype.h"

static uint32_t seed = 7;
static unsigned draw(void) { return (seed = seed * 1664525u + 1013904223u) >> 24; }

static void put_f16(unsigned char *p, float f) {
  uint16_t h = dtype_f32_to_f16(f);
  p[0] = (unsigned char)h, p[1] = (unsigned char)(h >> 8);
}

/* ---- recorded ---------------------------------------------------------------------------------------------------- */

static const struct {
  const char *name;
  int at[2];
  float scale[2];
  double sum; /* of (i + 1) y[i] over three blocks */
} recorded[] = {
    {"q4_0", {0}, {0.5f}, -769.5},
    {"q4_1", {0, 2}, {0.5f, -0.25f}, 17114.5},
    {"q5_0", {0}, {0.5f}, 3879.0},
    {"q5_1", {0, 2}, {0.5f, -0.25f}, 36238.0},
    {"q8_0", {0}, {0.5f}, 28003.0},
    {"iq4_nl", {0}, {0.5f}, -6536.0},
    {"q2_k", {80, 82}, {0.5f, 0.25f}, 1204870.0},
    {"q3_k", {108}, {0.5f}, 276623.0},
    {"q4_k", {0, 2}, {0.5f, 0.25f}, 30180097.5},
    {"q5_k", {0, 2}, {0.5f, 0.25f}, 76262948.5},
    {"q6_k", {208}, {0.5f}, -5568378.5},
};

static void blocks_are_those_of_gguf_py(void **state) {
  for (size_t k = 0; k < sizeof recorded / sizeof *recorded; k++) {
    const block_format *f = block_format_by_name(recorded[k].name);
    assert_non_null(f);
    seed = 7;
    double sum = 0;
    for (int block = 0; block < 3; block++) {
      unsigned char b[512];
      float y[BLOCK_MOST_ELEMENTS];
      for (uint32_t i = 0; i < f->bytes; i++) b[i] = (unsigned char)draw();
      for (int i = 0; i < 2; i++)
        if (recorded[k].scale[i] != 0) put_f16(b + recorded[k].at[i], recorded[k].scale[i]);
      f->dequantize(b, y);
      for (uint32_t i = 0; i < f->elements; i++) sum += (double)(block * (int)f->elements + (int)i + 1) * (double)y[i];
    }
    if (sum != recorded[k].sum) print_message("%s: %.17g\n", recorded[k].name, sum);
    assert_true(sum == recorded[k].sum);
  }
}

/* ---- put together bit by bit ------------------------------------------------------------------------------------- */

/* Where bit k of an integer lies in its block, counted in bits from the block's start. */
typedef int (*bit_place)(int i, int k);

typedef struct layout {
  const char *name;
  int bits;          /* of an element's integer */
  bit_place element; /* i: element */
  int lowest;        /* what integer 0 stands for */
  int d_at, m_at;    /* bytes of the f16 scales, -1: none */
  int m_sign;        /* y = d scale q + m_sign m least */
  int run, scale_bits; /* elements that share a scale; 0: none */
  bit_place scale, least; /* i: number of the run */
  int scale_lowest;
} layout;

/* Blocks of 32: two elements in a byte, sixteen bytes. */
static int half_bytes(int from, int i, int k) { return 8 * (from + i % 16) + (i < 16 ? k : 4 + k); }
static int q4_0_bit(int i, int k) { return half_bytes(2, i, k); }
static int q4_1_bit(int i, int k) { return half_bytes(4, i, k); }
static int q5_0_bit(int i, int k) { return k == 4 ? 8 * 2 + i : half_bytes(6, i, k); }
static int q5_1_bit(int i, int k) { return k == 4 ? 8 * 4 + i : half_bytes(8, i, k); }
static int q8_0_bit(int i, int k) { return 8 * (2 + i) + k; }

/* Blocks of 256: planes of two bits over 32 bytes, one after the other, for each half of the block. */
static int plane(int from, int i, int k) {
  return 8 * (from + (i < 128 ? 0 : 32) + i % 32) + (i % 128 - i % 32) / 16 + k;
}
static int q2_k_bit(int i, int k) { return plane(16, i, k); }
static int q2_k_scale(int i, int k) { return 8 * i + k; }
static int q2_k_least(int i, int k) { return 8 * i + 4 + k; }
static int q3_k_bit(int i, int k) { return k < 2 ? plane(32, i, k) : 8 * (i % 32) + i / 32; }
static int q3_k_scale(int i, int k) {
  if (k < 4) return 8 * (96 + (i & 7)) + (i & 8 ? 4 : 0) + k;
  return 8 * (104 + (i & 3)) + 2 * (i >> 2) + k - 4;
}

/* Two runs of 32 share 32 bytes, one in the low halves. */
static int q4_k_bit(int i, int k) { return 8 * (16 + i / 64 * 32 + (i & 31)) + (i & 32 ? 4 : 0) + k; }
static int q5_k_bit(int i, int k) { return k == 4 ? 8 * (16 + (i & 31)) + i / 32 : q4_k_bit(i, k) + 8 * 32; }
static int k_scale(int i, int k) {
  if (i < 4) return 8 * (4 + i) + k;
  return k < 4 ? 8 * (4 + 8 + i - 4) + k : 8 * (4 + i - 4) + 6 + k - 4;
}
static int k_least(int i, int k) {
  if (i < 4) return 8 * (4 + 4 + i) + k;
  return k < 4 ? 8 * (4 + 8 + i - 4) + 4 + k : 8 * (4 + 4 + i - 4) + 6 + k - 4;
}

static int q6_k_bit(int i, int k) {
  int half = i >= 128, in = i - 128 * half;
  if (k >= 4) return plane(128, i, k - 4);
  return 8 * (64 * half + in % 64) + (in >= 64 ? 4 : 0) + k;
}
static int q6_k_scale(int i, int k) { return 8 * (192 + i) + k; }

static const layout layouts[] = {
    {"q4_0", 4, q4_0_bit, -8, 0, -1},
    {"q4_1", 4, q4_1_bit, 0, 0, 2, 1},
    {"q5_0", 5, q5_0_bit, -16, 0, -1},
    {"q5_1", 5, q5_1_bit, 0, 0, 2, 1},
    {"q8_0", 8, q8_0_bit, 0, 0, -1},
    {"q2_k", 2, q2_k_bit, 0, 80, 82, -1, 16, 4, q2_k_scale, q2_k_least, 0},
    {"q3_k", 3, q3_k_bit, -4, 108, -1, 0, 16, 6, q3_k_scale, NULL, -32},
    {"q4_k", 4, q4_k_bit, 0, 0, 2, -1, 32, 6, k_scale, k_least, 0},
    {"q5_k", 5, q5_k_bit, 0, 0, 2, -1, 32, 6, k_scale, k_least, 0},
    {"q6_k", 6, q6_k_bit, -32, 208, -1, 0, 16, 8, q6_k_scale, NULL, 0},
};

static unsigned char block[512], taken[512];

static void put_bits(bit_place place, int i, int n, unsigned v) {
  for (int k = 0; k < n; k++) {
    int at = place(i, k);
    assert_false(taken[at / 8] >> at % 8 & 1); /* no bit has two meanings */
    taken[at / 8] |= (unsigned char)(1 << at % 8);
    if (v >> k & 1) block[at / 8] |= (unsigned char)(1 << at % 8);
  }
}

static void put_scale(int at, float f) {
  put_f16(block + at, f);
  assert_true(!taken[at] && !taken[at + 1]);
  taken[at] = taken[at + 1] = 0xff;
}

static void one_block(const layout *l, const block_format *f) {
  int q[256], scale[256], least[256];
  float y[BLOCK_MOST_ELEMENTS];
  int n = (int)f->elements, runs = l->run ? n / l->run : 0;
  memset(block, 0, sizeof block);
  memset(taken, 0, sizeof taken);
  put_scale(l->d_at, 0.125f);
  if (l->m_at >= 0) put_scale(l->m_at, 0.5f);
  for (int i = 0; i < runs; i++) {
    unsigned v = draw() & ((1u << l->scale_bits) - 1), u = draw() & ((1u << l->scale_bits) - 1);
    put_bits(l->scale, i, l->scale_bits, v);
    scale[i] = l->scale_bits == 8 ? (int)(int8_t)v : (int)v + l->scale_lowest;
    least[i] = (int)u;
    if (l->least) put_bits(l->least, i, l->scale_bits, u);
  }
  for (int i = 0; i < n; i++) {
    unsigned v = draw() & ((1u << l->bits) - 1);
    put_bits(l->element, i, l->bits, v);
    q[i] = l->bits == 8 ? (int)(int8_t)v : (int)v + l->lowest;
  }
  for (uint32_t i = 0; i < f->bytes; i++) assert_int_equal(taken[i], 0xff); /* and every bit has one */
  f->dequantize(block, y);
  for (int i = 0; i < n; i++) {
    double want = 0.125 * q[i] * (runs ? scale[i / l->run] : 1);
    if (l->m_at >= 0) want += 0.5 * l->m_sign * (runs ? least[i / l->run] : 1);
    if ((double)y[i] != want) print_message("%s: element %d is %g, not %g\n", l->name, i, (double)y[i], want);
    assert_true((double)y[i] == want);
  }
}

static void blocks_hold_what_was_put_in(void **state) {
  for (size_t k = 0; k < sizeof layouts / sizeof *layouts; k++) {
    const block_format *f = block_format_by_name(layouts[k].name);
    assert_non_null(f);
    for (int n = 0; n < 20; n++) one_block(&layouts[k], f);
  }
}

static void iq4_nl_levels_are_those_of_the_format(void **state) {
  static const float levels[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
  const block_format *f = block_format_by_name("iq4_nl");
  unsigned char b[18];
  float y[32];
  put_f16(b, 2);
  for (int i = 0; i < 16; i++) b[2 + i] = (unsigned char)(i | (15 - i) << 4);
  f->dequantize(b, y);
  for (int i = 0; i < 16; i++) assert_true(y[i] == 2 * levels[i] && y[16 + i] == 2 * levels[15 - i]);
}

static void plain_elements_are_themselves(void **state) {
  float y;
  block_format_by_name("f32")->dequantize((const unsigned char *)"\0\0\x20\xc1", &y);
  assert_true(y == -10);
  block_format_by_name("f16")->dequantize((const unsigned char *)"\0\xc9", &y);
  assert_true(y == -10);
  block_format_by_name("bf16")->dequantize((const unsigned char *)"\x20\xc1", &y);
  assert_true(y == -10);
}

static void rows_are_found_by_number_and_name_once(void **state) {
  size_t n = 0;
  for (; block_format_at(n); n++) {
    const block_format *f = block_format_at(n);
    assert_ptr_equal(block_format_by_code(f->code), f);
    assert_ptr_equal(block_format_by_name(f->name), f);
    assert_true(f->elements <= BLOCK_MOST_ELEMENTS && f->bytes);
    if (f->dtype) assert_int_equal(f->bytes, tsr_dtype_size(f->dtype));
    else assert_true(f->elements > 1);
  }
  assert_int_equal(n, 32);
  assert_null(block_format_by_code(4)); /* removed from the format */
  assert_null(block_format_by_name("q4"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(blocks_are_those_of_gguf_py),
      cmocka_unit_test(blocks_hold_what_was_put_in),
      cmocka_unit_test(iq4_nl_levels_are_those_of_the_format),
      cmocka_unit_test(plain_elements_are_themselves),
      cmocka_unit_test(rows_are_found_by_number_and_name_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
