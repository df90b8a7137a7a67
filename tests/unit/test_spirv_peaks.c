/* The loops that measure peaks of cooperative matrices, for every matrix shape of every recorded Vulkan device: they
 * are Target IR, and SPIR-V that the validator takes. tests/conformance/test_vulkan_peaks.c runs them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>
#include <spirv-tools/libspirv.h>

#include "core/runtime/peak_matrix.h"
#include "tests/support/recorded.h"
#include "tests/support/spirv_check.h"

/* Older validators don't know the capabilities of matrices; tests/unit/test_spirv_matrix.c counts those. */
static bool validate(const uint32_t *words, size_t n, char *why, size_t cap) {
  spv_context ctx = spvContextCreate(SPV_ENV_VULKAN_1_3);
  spv_diagnostic d = NULL;
  spv_const_binary_t b = {words, n};
  spv_result_t r = spvValidate(ctx, &b, &d);
  int number;
  if (r != SPV_SUCCESS && d && sscanf(d->error, "Invalid capability operand: %d", &number) == 1) r = SPV_SUCCESS;
  if (r != SPV_SUCCESS) snprintf(why, cap, "%s", d ? d->error : "unknown error");
  spvDiagnosticDestroy(d);
  spvContextDestroy(ctx);
  return r == SPV_SUCCESS;
}

static void every_recorded_shape_gives_valid_code(void **state) {
  int n, n_shapes = 0;
  const recorded_device *devices = recorded_devices(&n);
  for (int i = 0; i < n; i++)
    for (int k = 0; k < devices[i].caps.n_matrix; k++) {
      const tsr_matrix_shape *x = &devices[i].caps.matrix[k];
      if (!devices[i].caps.coopmat || x->scope != SCOPE_SUBGROUP || x->a != x->b) continue;
      for (int down = 1; down <= 4; down++) {
        strb s;
        peak_matrix p = {*x, down, 1 + down % 3, 1 + down * 100, 7};
        strb_init(&s, &al_default);
        peak_matrix_text(&s, &p, &devices[i].caps);
        assert_true(strb_ok(&s));
        const char *why = spirv_check(strb_text(&s), &devices[i].caps, "OpCooperativeMatrixMulAddKHR", validate);
        if (why) fail_msg("%s, shape %d: %s\n%s", devices[i].name, k, why, strb_text(&s));
        strb_clear(&s);
        n_shapes++;
      }
    }
  assert_true(n_shapes > 50);
}

static void operations_count_multiply_and_add(void **state) {
  const peak_matrix p = {{.m = 16, .n = 8, .k = 32}, 2, 3, 5, 7};
  assert_true(peak_matrix_operations(&p) == 2.0 * 16 * 8 * 32 * 6 * 35);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_recorded_shape_gives_valid_code),
                                     cmocka_unit_test(operations_count_multiply_and_add)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
