/* tests/unit/test_runtime_legal.c - a schedule that is not the one that was asked for is told with both: as a warning
 * under the fall-back policy `warn`, in the trace, by tsr_kernel_info, and by explain, which always names the tile that
 * runs. Devices without hardware are enough. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tessera/tessera.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static int warnings;
static char warning[1024];
static void on_log(void *user, tsr_log_level level, const char *text) {
  if (level != TSR_LOG_WARN) return;
  warnings++;
  snprintf(warning, sizeof warning, "%s", text);
}

static const char *product(int side, const char *attrs) {
  static char text[512];
  snprintf(text, sizeof text,
           "\"tessera.graph.func\"() ({\n^bb0(%%A: tensor<%dx%dxf32>):\n%%0 = \"tessera.graph.matmul\"(%%A, %%A) "
           "{%s}\n\"tessera.graph.return\"(%%0)\n}) {sym_name = \"main\"}\n",
           side, side, attrs);
  return text;
}

typedef struct told {
  char explain[4096], original[256], why[640];
  tsr_code code;
} told;

static told compile(const char *device, const char *text, tsr_fallback fallback) {
  told t = {.code = TSR_OK};
  tsr_context *ctx;
  tsr_device *dev;
  tsr_program *p = NULL;
  char *explain = NULL;
  warnings = 0;
  assert_null(tsr_context_create(&(tsr_context_desc){.cache_dir = "", .fallback = fallback, .log = on_log}, &ctx));
  assert_null(tsr_device_open(ctx, device, &dev));
  tsr_status st = tsr_program_parse(dev, text, strlen(text), "x", NULL, &p);
  t.code = tsr_status_code(st);
  tsr_status_free(st);
  if (p) {
    assert_null(tsr_program_explain(p, &explain));
    snprintf(t.explain, sizeof t.explain, "%s", explain);
    snprintf(t.original, sizeof t.original, "%s", tsr_program_kernel(p, 0).original);
    snprintf(t.why, sizeof t.why, "%s", tsr_program_kernel(p, 0).original_why);
    tsr_text_free(ctx, &explain);
  }
  tsr_program_destroy(&p);
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
  return t;
}

static void too_large_tile_is_told_with_both(void **state) {
  const char *text = product(512, "tile_shape = [512, 512, 256]");
  told t = compile("cuda:sm_80", text, TSR_FALLBACK_WARN);
  assert_int_equal(t.code, TSR_OK);
  assert_int_equal(warnings, 1);
  assert_non_null(strstr(warning, "matmul_0: 512x512x256"));
  assert_non_null(strstr(warning, "shared memory per block"));
  assert_non_null(strstr(t.original, "512x512x256"));
  assert_non_null(strstr(t.why, " -> "));
  assert_non_null(strstr(t.explain, "schedule_legalize fired"));
  assert_non_null(strstr(t.explain, "asked for, or in the table: 512x512x256"));
  t = compile("cuda:sm_80", text, TSR_FALLBACK_ALLOW);
  assert_int_equal(warnings, 0);
  assert_non_null(strstr(t.original, "512x512x256"));
  t = compile("cuda:sm_80", text, TSR_FALLBACK_ERROR);
  assert_int_not_equal(t.code, TSR_OK);
}

static void fitting_tile_is_not_told(void **state) {
  told t = compile("cuda:sm_80", product(512, "tile_shape = [64, 64, 32]"), TSR_FALLBACK_WARN);
  assert_int_equal(warnings, 0);
  assert_string_equal(t.original, "");
  assert_null(strstr(t.explain, "schedule_legalize"));
  assert_null(strstr(t.explain, "tile_fitted"));
}

/* Nobody asked for a tile: the table's doesn't fit 64x64, and both are in the trace, without a warning. */
static void fitted_default_is_told_with_both(void **state) {
  told t = compile("cuda:sm_80", product(64, ""), TSR_FALLBACK_WARN);
  assert_int_equal(warnings, 0);
  assert_non_null(strstr(t.explain, "tile_fitted fired"));
  assert_non_null(strstr(t.explain, "128x128x32 -> "));
  assert_non_null(strstr(t.original, "128x128x32"));
}

static void explain_names_the_tile_that_runs(void **state) {
  static const char *const devices[] = {"cpu:0", "cuda:sm_80", "hip:gfx942", "null:spirv"};
  static const char softmax[] =
      "\"tessera.graph.func\"() ({\n^bb0(%A: tensor<64x96xf32>):\n%0 = \"tessera.graph.softmax\"(%A)\n%1 = "
      "\"tessera.graph.transpose\"(%0) {perm = [1, 0]}\n%2 = \"tessera.graph.exp\"(%A)\n"
      "%3 = \"tessera.graph.reduce_sum\"(%A) {axes = [0]}\n\"tessera.graph.return\"(%1, %2, %3)\n}) {sym_name = "
      "\"main\"}\n";
  for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
    const char *texts[] = {product(96, ""), softmax};
    for (int k = 0; k < 2; k++) {
      told t = compile(devices[i], texts[k], TSR_FALLBACK_WARN);
      assert_int_equal(t.code, TSR_OK);
      assert_non_null(strstr(t.explain, "kernel "));
      if (strstr(t.explain, "0x0x0") || strstr(t.explain, "x0x0") || strstr(t.explain, "of the device's own"))
        fail_msg("%s:\n%s", devices[i], t.explain);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(too_large_tile_is_told_with_both), cmocka_unit_test(fitting_tile_is_not_told),
      cmocka_unit_test(fitted_default_is_told_with_both), cmocka_unit_test(explain_names_the_tile_that_runs)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
