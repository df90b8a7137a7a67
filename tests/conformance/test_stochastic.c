/* tests/conformance/test_stochastic.c - stochastic rounding gives the same bits on every device: those of Philox
 * 4x32-10 and of the two neighbours of each number, computed here in plain C.
 *   TSR_TEST_DEVICE (cpu:0). Exit 77: the device is not here. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/dtype.h"
#include "tests/conformance/device_run.h"

/* Further backends that the program brings along (tests/simt links this file with the emulator's). */
extern const void *const conformance_backends[] __attribute__((weak));

enum { N = 4099 };
static const uint32_t key[2] = {0x1234, 0xfedcba98}, counter[4] = {0xfffffffe, 0xffffffff, 3, 4};

/* The word of element i: number i mod 4 of the block of counter + i / 4. */
static uint32_t philox(uint32_t i) {
  const uint64_t low = ((uint64_t)counter[1] << 32 | counter[0]) + i / 4;
  const uint32_t carry = low < i / 4;
  uint32_t c[4] = {(uint32_t)low, (uint32_t)(low >> 32), counter[2] + carry, counter[3]}, k[2] = {key[0], key[1]};
  for (int r = 0; r < 10; r++) {
    const uint64_t a = (uint64_t)c[0] * 0xd2511f53, b = (uint64_t)c[2] * 0xcd9e8d57;
    const uint32_t next[4] = {(uint32_t)(b >> 32) ^ c[1] ^ k[0], (uint32_t)b, (uint32_t)(a >> 32) ^ c[3] ^ k[1],
                              (uint32_t)a};
    memcpy(c, next, sizeof c);
    k[0] += 0x9e3779b9, k[1] += 0xbb67ae85;
  }
  return c[i % 4];
}

static double value_of(tsr_dtype t, uint32_t code) { return dtype_load(t, &code, 0); }

/* Bits are a sign and a magnitude: the neighbour is one more or less of this. */
static uint32_t rounded(tsr_dtype t, float x, uint32_t word) {
  const uint32_t sign = UINT32_C(1) << (8 * tsr_dtype_size(t) - 1);
  uint32_t near = 0;
  dtype_store(t, &near, 0, (double)x);
  const double at = value_of(t, near), off = (double)x - at, u = (double)(word >> 8) * 0x1p-24;
  if (!isfinite(at) || off == 0) return near;
  const bool outwards = at == 0 || (off > 0) == (at > 0);
  const uint32_t zero = off < 0 ? sign : 0, other = at == 0 ? zero | 1 : outwards ? near + 1 : near - 1;
  const double there = value_of(t, other);
  return isfinite(there) && u * fabs(there - at) < fabs(off) ? other : near;
}

/* Of all sizes that are no denormal number in f32, near the ends of t's range too. */
static float number(uint32_t i) {
  const uint32_t h = (i + 1) * UINT32_C(2654435761);
  const float m = 1 + (float)(h >> 9) * 0x1p-23f, s = i & 1 ? -1.0f : 1.0f;
  return s * ldexpf(m, (int)(h % 61) - 30 + (i % 7 == 0 ? 16 : 0));
}

static int wrong_of(tsr_device *dev, tsr_dtype t) {
  static float x[N];
  static unsigned char y[2 * N];
  char text[700];
  int wrong = 0;
  for (uint32_t i = 0; i < N; i++) x[i] = number(i);
  snprintf(text, sizeof text,
           "\"tessera.graph.func\"() ({\n^bb0(%%x: tensor<%dxf32>, %%k: tensor<2xi32>, %%c: tensor<4xi32>):\n"
           "%%0 = \"tessera.graph.stochastic_cast\"(%%x, %%k, %%c) {dtype = \"%s\"}\n"
           "\"tessera.graph.return\"(%%0)\n}) {sym_name = \"main\"}\n",
           N, tsr_dtype_name(t));
  tsr_status st = device_run(dev, text, &(tsr_compile_options){.tune = TSR_TUNE_OFF}, (const void *[]){x, key, counter},
                             (void *[]){y});
  if (st) printf("%s: %s\n", tsr_dtype_name(t), tsr_status_message(st));
  for (uint32_t i = 0; !st && i < N; i++) {
    uint32_t have = 0;
    const uint32_t want = rounded(t, x[i], philox(i));
    memcpy(&have, y + i * tsr_dtype_size(t), tsr_dtype_size(t));
    if (have != want && wrong++ < 5)
      printf("FAIL %.9g as %s is %g, not %g\n", (double)x[i], tsr_dtype_name(t), value_of(t, have), value_of(t, want));
  }
  wrong += st != NULL;
  tsr_status_free(st);
  return wrong;
}

int main(void) {
  static const tsr_dtype types[] = {TSR_BF16, TSR_F16, TSR_F8E4M3, TSR_F8E5M2};
  const char *device = getenv("TSR_TEST_DEVICE") ? getenv("TSR_TEST_DEVICE") : "cpu:0";
  tsr_context *ctx;
  tsr_device *dev = NULL;
  int wrong = 0;
  const tsr_context_desc desc = {.cache_dir = "", .extra_backends = conformance_backends};
  tsr_status st = tsr_context_create(&desc, &ctx);
  if (!st) st = tsr_device_open(ctx, device, &dev);
  if (st) {
    printf("%s\n", tsr_status_message(st));
    const int rc = tsr_status_code(st) == TSR_UNAVAILABLE ? 77 : 1;
    tsr_status_free(st);
    tsr_context_destroy(&ctx);
    return rc;
  }
  for (size_t t = 0; t < sizeof types / sizeof *types; t++) wrong += wrong_of(dev, types[t]);
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
  printf("%s: %d wrong\n", device, wrong);
  return wrong != 0;
}
