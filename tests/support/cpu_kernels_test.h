/* What the tests of the CPU kernels share: counted checks, a seeded generator, storage conversions that are too simple
 * to be wrong. */
#ifndef TESTS_SUPPORT_CPU_KERNELS_TEST_H
#define TESTS_SUPPORT_CPU_KERNELS_TEST_H

#include "backends/cpu/kernels/kernels.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int n_failures, n_checks;
#define CHECK(cond, ...)                                 \
  do {                                                   \
    n_checks++;                                          \
    if (!(cond) && n_failures++ < 20) {                  \
      printf("%s:%d: %s: ", __FILE__, __LINE__, #cond);  \
      printf(__VA_ARGS__);                               \
      printf("\n");                                      \
    }                                                    \
  } while (0)

static uint64_t test_seed = 1;
static inline uint32_t test_u32(void);
/* The whole range of 64 bits, small values as often as large ones. */
static inline int64_t test_i64(void) { return (int64_t)((uint64_t)test_u32() << 32 | test_u32()) >> test_u32() % 64; }
static inline uint32_t test_u32(void) {
  test_seed = test_seed * 6364136223846793005ull + 1442695040888963407ull;
  return (uint32_t)(test_seed >> 32);
}
static inline double test_unit(void) { return test_u32() * 0x1p-31 - 1; } /* [-1, 1) */

static inline float test_bits(uint32_t u) {
  float f;
  memcpy(&f, &u, 4);
  return f;
}
static inline uint32_t test_to_bits(float f) {
  uint32_t u;
  memcpy(&u, &f, 4);
  return u;
}

/* The value of one stored element; i64 is rounded. */
static inline double test_read(cpuk_dtype t, const void *p, size_t i) {
  const uint16_t *h = p;
  const uint8_t *b = p;
  switch (t) {
    case CPUK_F32: return ((const float *)p)[i];
    case CPUK_F64: return ((const double *)p)[i];
    case CPUK_BF16: return test_bits((uint32_t)h[i] << 16);
    case CPUK_I8: return ((const int8_t *)p)[i];
    case CPUK_U8: return b[i];
    case CPUK_I32: return ((const int32_t *)p)[i];
    case CPUK_I16: return ((const int16_t *)p)[i];
    case CPUK_I64: return (double)((const int64_t *)p)[i];
    case CPUK_BOOL: return b[i] != 0;
    default: break;
  }
  int ebits = t == CPUK_F16 || t == CPUK_F8E5M2 ? 5 : 4, mbits = t == CPUK_F16 ? 10 : t == CPUK_F8E5M2 ? 2 : 3;
  uint32_t x = t == CPUK_F16 ? h[i] : b[i], m = x & ((1u << mbits) - 1), e = x >> mbits & ((1u << ebits) - 1);
  double s = x >> (ebits + mbits) & 1 ? -1 : 1;
  int bias = (1 << (ebits - 1)) - 1;
  if (t == CPUK_F8E4M3 ? (x & 0x7f) == 0x7f : e == (1u << ebits) - 1)
    return t != CPUK_F8E4M3 && m == 0 ? s * INFINITY : NAN;
  return e == 0 ? s * ldexp(m, 1 - bias - mbits) : s * ldexp((1u << mbits) + m, (int)e - bias - mbits);
}

/* Fills with values that each type holds exactly: small multiples of 1/8 for floats, the whole range for integers. */
static inline void test_fill(cpuk_dtype t, void *p, size_t n) {
  for (size_t i = 0; i < n; i++) {
    float f = (float)((int)(test_u32() % 33) - 16) / 8;
    switch (t) {
      case CPUK_F32: ((float *)p)[i] = (float)test_unit(); break;
      case CPUK_F64: ((double *)p)[i] = test_unit(); break;
      case CPUK_BF16: ((uint16_t *)p)[i] = (uint16_t)(test_to_bits(f) >> 16); break;
      case CPUK_F16:
        ((uint16_t *)p)[i] = (uint16_t)(f == 0 ? 0
                                               : (test_to_bits(f) >> 16 & 0x8000) |
                                                     (((test_to_bits(f) & 0x7fffffff) - (112u << 23)) >> 13));
        break;
      case CPUK_I32: ((int32_t *)p)[i] = (int32_t)test_u32(); break;
      case CPUK_I16: ((int16_t *)p)[i] = (int16_t)test_u32(); break;
      case CPUK_I64: ((int64_t *)p)[i] = test_i64(); break;
      case CPUK_BOOL: ((uint8_t *)p)[i] = (uint8_t)(test_u32() & 1); break;
      case CPUK_F8E4M3: ((uint8_t *)p)[i] = (uint8_t)(0x20 + test_u32() % 0x20); break;
      case CPUK_F8E5M2: ((uint8_t *)p)[i] = (uint8_t)(0x30 + test_u32() % 0x10); break;
      default: ((uint8_t *)p)[i] = (uint8_t)test_u32(); break;
    }
  }
}

static inline void *test_alloc(size_t bytes) {
  void *p = aligned_alloc(64, (bytes + 127) / 64 * 64);
  if (p == NULL) abort();
  return p;
}

static inline int test_report(const char *name) {
  printf("%s: %d checks, %d failures\n", name, n_checks, n_failures);
  return n_failures != 0;
}

#endif
