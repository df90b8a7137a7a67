/* What of Vulkan's limits the backend asks before it uses them, on values made up here: no device is needed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "backends/vulkan/vk.h"

/* A required subgroup size: the stage must be among requiredSubgroupSizeStages
 * (VUID-VkPipelineShaderStageCreateInfo-pNext-02755), the size within the device's
 * (VkPipelineShaderStageRequiredSubgroupSizeCreateInfo, 02761 and 02762), the block at most
 * maxComputeWorkgroupSubgroups of them (02756). */
static void subgroup_size_is_required_only_where_allowed(void **state) {
  static const struct {
    bool control, compute;
    uint32_t most;
    int least, largest, subgroup, threads;
    bool may;
  } rows[] = {{true, true, 32, 32, 64, 32, 1024, true},
              {true, false, 32, 32, 64, 32, 64, false}, /* a public AMD report lists no stage */
              {false, true, 32, 32, 64, 32, 64, false},
              {true, true, 8, 8, 32, 8, 64, true},
              {true, true, 8, 8, 32, 8, 72, false},
              {true, true, 64, 8, 32, 16, 1024, true},
              {true, true, 63, 8, 32, 16, 1024, false},
              {true, true, 32, 32, 64, 16, 64, false},
              {true, true, 32, 32, 64, 128, 128, false},
              {true, true, 32, 32, 64, 0, 64, false},
              {true, true, 0, 32, 64, 32, 32, false}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    vk_features f = {.subgroup_size_control = rows[i].control};
    vk_limits l = {.sized_compute = rows[i].compute, .max_subgroups = rows[i].most};
    tsr_caps c = {.subgroup_min = rows[i].least, .subgroup_max = rows[i].largest};
    if (vk_may_require(&f, &l, &c, rows[i].subgroup, rows[i].threads) != rows[i].may) fail_msg("row %d", (int)i);
  }
}

/* The self-test compares for equality: operands that every type has, none negative (RDNA3's f16 WMMA), sums below 2048,
 * which f16 holds. */
static void selftest_values_are_small_and_not_negative(void **state) {
  int kinds[3] = {0};
  for (size_t i = 0; i < 1u << 20; i++) {
    int v = vk_selftest_value(i);
    assert_in_range(v, 0, 2);
    kinds[v]++;
  }
  for (int v = 0; v < 3; v++) assert_true(kinds[v] > 1 << 16);
  for (size_t k = 256; k <= 1024; k *= 2)
    for (size_t row = 0; row < 64; row++)
      for (size_t column = 0; column < 64; column++) {
        int sum = 0;
        for (size_t i = 0; i < k; i++) sum += vk_selftest_value(row * k + i) * vk_selftest_value(i * 1024 + column);
        assert_in_range(sum, 0, 2048);
      }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(subgroup_size_is_required_only_where_allowed),
                                     cmocka_unit_test(selftest_values_are_small_and_not_negative)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
