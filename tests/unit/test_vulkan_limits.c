/* What of Vulkan's limits the backend asks before it uses them, on values made up here: no device is needed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/vulkan/reported.h"

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

/* The first row that fits decides; what is no row fits nothing. */
static void first_row_of_known_failures_decides(void **state) {
  static const char list[] = "# llvmpipe* | * | * | a comment\n\n  no row\n* | * | only three\n | * | * | empty\n"
                             "llvmpipe* | 26.1.* | matrix 8x8x8 f16* | slow\r\nllvmpipe* | 26.* | matrix * | ok\n"
                             "*|*|matrix *|others\nMali* | 1.[0-4].? | device | hangs";
  static const struct {
    const char *name, *version, *step, *why;
  } rows[] = {{"llvmpipe (256 bits)", "26.1.6", "matrix 8x8x8 f16 x f16 -> f32 subgroup", "known bad: slow"},
              {"llvmpipe (256 bits)", "26.1.6", "matrix 8x8x8 i8 x i8 -> i32 subgroup", NULL},
              {"llvmpipe (256 bits)", "22.3.6", "matrix 8x8x8 i8 x i8 -> i32 subgroup", "known bad: others"},
              {"llvmpipe (256 bits)", "26.1.6", "device", NULL},
              {"Mali-G57", "1.4.0", "device", "known bad: hangs"},
              {"Mali-G57", "1.5.0", "device", NULL},
              {"", "", "", NULL}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    vk_id id = {.key = ""};
    char why[128] = "";
    snprintf(id.name, sizeof id.name, "%s", rows[i].name);
    snprintf(id.version, sizeof id.version, "%s", rows[i].version);
    bool bad = vk_known_bad(list, &id, rows[i].step, why);
    if (bad != !!rows[i].why || (bad && strcmp(why, rows[i].why))) fail_msg("row %d: %s", (int)i, why);
  }
}

/* Each word of the knob makes its own part of the report less, tells what takes its place, and nothing else. */
static void hidden_features_are_not_reported(void **state) {
  vk_all_features f;
  vk_all_properties q;
  const vk_features used = {.explicit_layout = true, .budget = true, .binaries = true};
  char said[512];
  memset(&f, 1, sizeof f), memset(&q, 1, sizeof q);
  q.v11.subgroupSupportedOperations = UINT32_MAX;
  vk_say_lacking(&f, &q, &used, said, sizeof said);
  assert_string_equal(said, "");
  setenv("TSR_VK_HIDE", "timeline,shuffle,rte,coopmat,shared=16384,invocations=128,buffer=0,allocation=8388608", 1);
  vk_hide_features(&f), vk_hide_properties(&q);
  assert_false(f.v12.timelineSemaphore);
  assert_true(f.v13.synchronization2 && f.base.features.shaderInt64 && f.v12.bufferDeviceAddress);
  assert_int_equal(q.v11.subgroupSupportedOperations, UINT32_MAX & ~(uint32_t)VK_SUBGROUP_FEATURE_SHUFFLE_BIT);
  assert_false(q.v12.shaderRoundingModeRTEFloat16 || q.v12.shaderRoundingModeRTEFloat32 ||
               q.v12.shaderRoundingModeRTEFloat64);
  assert_true(q.v12.shaderDenormPreserveFloat64 && q.v12.shaderSignedZeroInfNanPreserveFloat16);
  assert_int_equal(q.base.properties.limits.maxComputeSharedMemorySize, 16384);
  assert_int_equal(q.base.properties.limits.maxComputeWorkGroupInvocations, 128);
  for (int i = 0; i < 3; i++) assert_int_equal(q.base.properties.limits.maxComputeWorkGroupSize[i], 128);
  assert_int_equal(q.v13.maxBufferSize, 0);
  assert_int_equal(q.v11.maxMemoryAllocationSize, 8388608);
  assert_true(vk_hides_extension("VK_KHR_cooperative_matrix"));
  assert_false(vk_hides_extension("VK_NV_cooperative_matrix2") || vk_hides_extension("VK_KHR_shader_clock"));
  vk_say_lacking(&f, &q, &used, said, sizeof said);
  assert_string_equal(said,
                      "fences for timeline semaphores; shared memory for subgroup shuffles; hidden by TSR_VK_HIDE: "
                      "timeline,shuffle,rte,coopmat,shared=16384,invocations=128,buffer=0,allocation=8388608");
  setenv("TSR_VK_HIDE", "shared=99999999", 1); /* more than there is */
  vk_hide_properties(&q);
  assert_int_equal(q.base.properties.limits.maxComputeSharedMemorySize, 16384);
  q.v13.maxBufferSize = UINT64_MAX;
  setenv("TSR_VK_HIDE", "buffer=8589934592", 1); /* beyond 32 bits */
  vk_hide_properties(&q);
  assert_true(q.v13.maxBufferSize == 8589934592u);
  unsetenv("TSR_VK_HIDE");
}

/* Each extension that has something in its place by itself. */
static void absent_extensions_are_told_apart(void **state) {
  static const struct {
    vk_features used;
    const char *want;
  } rows[] = {{{.budget = true, .binaries = true}, "shared memory as words for explicit layout"},
              {{.explicit_layout = true, .binaries = true}, "the driver's own refusals for memory budgets"},
              {{.explicit_layout = true, .budget = true}, "the driver's pipeline cache for pipeline binaries"}};
  vk_all_features f;
  vk_all_properties q;
  char said[512];
  memset(&f, 1, sizeof f), memset(&q, 1, sizeof q);
  q.v11.subgroupSupportedOperations = UINT32_MAX;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    vk_say_lacking(&f, &q, &rows[i].used, said, sizeof said);
    assert_string_equal(said, rows[i].want);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(absent_extensions_are_told_apart),
                                     cmocka_unit_test(hidden_features_are_not_reported),
                                     cmocka_unit_test(first_row_of_known_failures_decides),
                                     cmocka_unit_test(subgroup_size_is_required_only_where_allowed),
                                     cmocka_unit_test(selftest_values_are_small_and_not_negative)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
