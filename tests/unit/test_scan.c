/* cumsum and cumprod on the CPU, where they are one call: against sums in long double, along each axis, exclusive and
 * in reverse; long rows whose terms cancel; integers that wrap; what is not finite; the switch. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "core/base/dtype.h"
#include "tests/support/api_check.h"

enum { A = 3, N = 50, C = 70, ALL = A * N * C };

static void run(const char *op, const char *type, const char *dims, const char *attrs, const char *disable,
                const void *x, size_t bytes, void *y, int *n_kernels) {
  char text[512];
  tsr_context *ctx;
  tsr_device *dev;
  tsr_program *p;
  tsr_binding b[2] = {{0}};
  snprintf(text, sizeof text,
           "\"tessera.graph.func\"() ({\n^bb0(%%x: tensor<%sx%s>):\n%%0 = \"tessera.graph.%s\"(%%x) {%s}\n"
           "\"tessera.graph.return\"(%%0)\n}) {sym_name = \"main\"}\n",
           dims, type, op, attrs);
  OK(tsr_context_create(&(tsr_context_desc){.cache_dir = ""}, &ctx));
  OK(tsr_device_open(ctx, "cpu:0", &dev));
  OK(tsr_program_parse(dev, text, strlen(text), "test.mlir", &(tsr_compile_options){.disable = disable}, &p));
  *n_kernels = tsr_program_n_kernels(p);
  for (int i = 0; i < 2; i++) OK(tsr_buffer_create(dev, bytes, TSR_MEMORY_DEVICE, &b[i].buffer));
  OK(tsr_buffer_write(b[0].buffer, 0, x, bytes));
  OK(tsr_program_run(p, NULL, &b[0], &b[1]));
  OK(tsr_buffer_read(b[1].buffer, 0, y, bytes));
  for (int i = 0; i < 2; i++) tsr_buffer_destroy(&b[i].buffer);
  tsr_program_destroy(&p);
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
}

/* In f32, kept in f64: the last rounding, and 50 that are 2^-29 of it. */
static void prefixes_run_along_each_axis(void **state) {
  static float x[ALL], y[ALL];
  static const int dims[] = {A, N, C}, inner[] = {N * C, C, 1};
  unsigned seed = 1;
  for (int i = 0; i < ALL; i++) x[i] = (float)((seed = seed * 1664525u + 1013904223u) >> 8) / 8388608.0f - 1;
  for (int k = 0; k < 3 * 2 * 2 * 2; k++) {
    const int axis = k % 3;
    const bool product = k / 3 % 2, exclusive = k / 6 % 2, reverse = k / 12;
    char attrs[96];
    int n_kernels;
    snprintf(attrs, sizeof attrs, "axis = %d, exclusive = %s, reverse = %s", axis - 3, exclusive ? "true" : "false",
             reverse ? "true" : "false");
    run(product ? "cumprod" : "cumsum", "f32", "3x50x70", attrs, NULL, x, sizeof x, y, &n_kernels);
    assert_int_equal(n_kernels, 1);
    for (int i = 0; i < ALL; i++) {
      const int at = i / inner[axis] % dims[axis];
      long double want = product;
      for (int j = reverse ? dims[axis] - 1 : 0; j != at; j += reverse ? -1 : 1)
        want = product ? want * x[i + (j - at) * inner[axis]] : want + x[i + (j - at) * inner[axis]];
      if (!exclusive) want = product ? want * x[i] : want + x[i];
      if (!(fabsl(y[i] - want) <= 1.01L * 0x1p-24L * fabsl(want) + 1e-14L))
        fail_msg("%s: element %d is %g, not %Lg", attrs, i, y[i], want);
    }
  }
}

/* Of 2^16 terms that grow and cancel: two numbers hold the sum, one would lose it. */
static void long_sums_keep_what_cancels(void **state) {
  enum { LONG = 1 << 16 };
  static double x[LONG], y[LONG];
  int n_kernels;
  for (int i = 0; i < LONG; i++) x[i] = i % 2 ? -1e16 - i : 1e16 + i - 1;
  run("cumsum", "f64", "65536", "axis = 0", NULL, x, sizeof x, y, &n_kernels);
  for (int i = 1; i < LONG; i += 2) {
    long double want = 0;
    for (int j = 0; j <= i && i < 64; j++) want += x[j];
    if (i < 64) assert_true(y[i] == (double)want);
  }
}

static void integers_wrap_and_infinity_stays(void **state) {
  const uint8_t bytes[] = {200, 100, 3, 255}, sums[] = {200, 44, 47, 46}, products[] = {200, 32, 96, 160};
  const int64_t wide[] = {INT64_MAX, 1, -5}, wrapped[] = {INT64_MAX, INT64_MIN, INT64_MAX - 4};
  const double x[] = {1, INFINITY, 2, -INFINITY, 3};
  uint8_t y[4];
  int64_t z[3];
  double d[5];
  int n;
  run("cumsum", "ui8", "4", "axis = 0", NULL, bytes, sizeof bytes, y, &n);
  assert_memory_equal(y, sums, sizeof y);
  run("cumprod", "ui8", "4", "axis = 0", NULL, bytes, sizeof bytes, y, &n);
  assert_memory_equal(y, products, sizeof y);
  run("cumsum", "i64", "3", "axis = 0", NULL, wide, sizeof wide, z, &n);
  assert_memory_equal(z, wrapped, sizeof z);
  run("cumsum", "f64", "5", "axis = 0", NULL, x, sizeof x, d, &n);
  assert_true(d[0] == 1 && isinf(d[1]) && isinf(d[2]) && isnan(d[3]) && isnan(d[4]));
}

static void switched_off_other_ops_compute_it(void **state) {
  float x[300], y[2][300];
  int n[2];
  for (int i = 0; i < 300; i++) x[i] = (float)(i % 7);
  run("cumsum", "f32", "300", "axis = 0", NULL, x, sizeof x, y[0], &n[0]);
  run("cumsum", "f32", "300", "axis = 0", "cumsum", x, sizeof x, y[1], &n[1]);
  assert_memory_equal(y[0], y[1], sizeof y[0]); /* whole numbers: no rounding */
  assert_true(n[0] == 1 && n[1] > 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(prefixes_run_along_each_axis),
      cmocka_unit_test(long_sums_keep_what_cancels),
      cmocka_unit_test(integers_wrap_and_infinity_stays),
      cmocka_unit_test(switched_off_other_ops_compute_it),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
