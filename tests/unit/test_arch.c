/* What is said of NVIDIA and AMD devices, against what their vendors say: which architecture's code a device runs (CUDA
 * C++ programming guide, "Binary Compatibility" and the list of GPUs by compute capability), at what rate the
 * instructions of the text run, how many compute units and dies there are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/device/arch.h"
#include "core/ir/ir.h"
#include "core/tune/device.h"
#include "core/tune/kernel.h"

static tsr_caps caps_of(const char *arch) {
  tsr_caps c;
  tsr_status st = arch_caps_of(strncmp(arch, "sm_", 3) ? DIALECT_HIP : DIALECT_CUDA, arch, &c);
  if (st) fail_msg("%s: %s", arch, tsr_status_message(st));
  return c;
}

/* Code for X.y runs on X.z from z = y on, but code with the suffix a on X.y alone: only Hopper, which has one member,
 * may have it. */
static void device_of_a_family_runs_its_code(void **state) {
  static const struct {
    int major, minor;
    const char *arch;
  } parts[] = {{8, 0, "sm_80"},   {8, 6, "sm_86"},   {8, 7, "sm_86"},
               {8, 9, "sm_89"},   {9, 0, "sm_90a"}, /* H100, GH200 */
               {10, 0, "sm_100"}, {10, 3, "sm_100"}, /* B200, B300 */ {12, 0, "sm_120"},
               {12, 1, "sm_120"} /* RTX 50, GB10 */};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    const char *arch = arch_of_capability(parts[i].major, parts[i].minor);
    int major = 0, minor = 0;
    assert_string_equal(arch, parts[i].arch);
    assert_int_equal(sscanf(arch, "sm_%d", &major), 1);
    minor = major % 10, major /= 10;
    assert_int_equal(major, parts[i].major);
    assert_true(minor <= parts[i].minor);
    if (strchr(arch, 'a')) assert_int_equal(minor, parts[i].minor);
    assert_string_equal(caps_of(arch).arch, arch);
  }
  assert_null(arch_of_capability(7, 5));
}

static void name_that_users_type_is_known(void **state) {
  static const char *const names[][2] = {{"sm_90", "sm_90a"},   {"sm_100a", "sm_100"}, {"sm_103", "sm_100"},
                                         {"sm_103a", "sm_100"}, {"sm_120a", "sm_120"}, {"sm_121", "sm_120"},
                                         {"sm_121a", "sm_120"}};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) assert_string_equal(caps_of(names[i][0]).arch, names[i][1]);
  static const char *const wrong[] = {"", "sm_", "sm_70", "sm_80a", "sm_110", "sm_1200", "sm_120ab", "gfx942"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    tsr_caps c;
    tsr_status st = arch_caps_of(DIALECT_CUDA, wrong[i], &c);
    assert_int_equal(tsr_status_code(st), TSR_NOT_FOUND);
    assert_non_null(strstr(tsr_status_hint(st), "sm_120"));
    tsr_status_free(st);
  }
}

/* B200's 2,250 TFLOP/s of bf16 and 4,500 of fp8 (data sheet) are tcgen05's. */
static void rates_are_those_of_the_instructions_used(void **state) {
  tsr_caps b200 = caps_of("sm_100"), h100 = caps_of("sm_90a");
  assert_true(b200.peak_flops_matrix <= 2250e12 / 4 + 1e12);
  assert_true(b200.peak_flops_matrix > caps_of("sm_80").peak_flops_matrix);
  tune_device b = tune_device_from_caps(&b200, NULL), h = tune_device_from_caps(&h100, NULL);
  assert_true(tune_device_peak(&b, TSR_F8E4M3, true) == tune_device_peak(&b, TSR_BF16, true));
  assert_true(tune_device_peak(&b, TSR_I8, true) == 2 * tune_device_peak(&b, TSR_BF16, true));
  assert_true(tune_device_peak(&h, TSR_F8E4M3, true) == 2 * tune_device_peak(&h, TSR_BF16, true));
  const tune_device *guide = tune_device_find("GB200");
  assert_true(guide->matrix_gflops <= 2500e3 / 4);
  assert_true(tune_device_peak(guide, TSR_F8E4M3, true) == tune_device_peak(guide, TSR_BF16, true));
}

/* Dense peaks of the vendors' data sheets and white papers, in TFLOP/s or TOP/s with sums in f32 or i32, against the
 * rows' rates in the proportion of f16's; the sheets round to three digits and more. GA102's f16 with f32 sums is half
 * of what its i8 is measured by. */
static void rates_of_types_are_those_of_the_data_sheets(void **state) {
  static const struct {
    const char *arch;
    double f16;
    struct { tsr_dtype t; double peak; } of[6];
  } parts[] = {
      {"sm_80", 312, {{TSR_BF16, 312}, {TSR_TF32, 156}, {TSR_I8, 624}}},
      {"sm_86", 71, {{TSR_BF16, 71}, {TSR_TF32, 35.6}, {TSR_I8, 284}}},
      {"sm_89", 362, {{TSR_TF32, 183}, {TSR_I8, 733}, {TSR_F8E4M3, 733}}},
      {"sm_90a", 989.4, {{TSR_TF32, 494.7}, {TSR_I8, 1979}, {TSR_F8E5M2, 1979}}},
      {"sm_120", 209.5, {{TSR_TF32, 104.8}, {TSR_I8, 838}, {TSR_F8E4M3, 419}}},
      {"gfx90a", 383, {{TSR_BF16, 383}, {TSR_I8, 383}, {TSR_F32, 95.7}, {TSR_F64, 95.7}}},
      {"gfx942", 1307.4, {{TSR_TF32, 653.7}, {TSR_I8, 2614.9}, {TSR_F8E4M3, 2614.9}, {TSR_F32, 163.4}, {TSR_F64, 163.4}}},
      {"gfx950", 2516.6, {{TSR_I8, 5033.2}, {TSR_F8E4M3, 5033.2}, {TSR_F32, 157.3}, {TSR_F64, 78.6}}},
      {"gfx1100", 122.9, {{TSR_BF16, 122.9}, {TSR_I8, 122.9}}},
      {"gfx1201", 194.6, {{TSR_BF16, 194.6}, {TSR_I8, 389.3}, {TSR_F8E4M3, 389.3}}},
  };
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    tsr_caps c = caps_of(parts[i].arch);
    tune_device d = tune_device_from_caps(&c, NULL);
    for (int k = 0; parts[i].of[k].peak > 0; k++) {
      double got = tune_device_peak(&d, parts[i].of[k].t, true) / tune_device_peak(&d, TSR_F16, true);
      assert_float_equal(got, parts[i].of[k].peak / parts[i].f16, 0.02 * got);
    }
  }
}

/* The f16 peak of a row is its cores' rate at a clock that the part has: 1.4 (A100) to 3.0 GHz (RX 9070 XT). */
static void peaks_are_rates_by_cores_and_clock(void **state) {
  static const char *const archs[] = {"sm_80",  "sm_86",  "sm_89",  "sm_90a",  "sm_100", "sm_120",
                                      "gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201"};
  for (size_t i = 0; i < sizeof archs / sizeof *archs; i++) {
    tsr_caps c = caps_of(archs[i]);
    int at = caps_find_matrix(&c, TSR_F16, TSR_F16, TSR_F32);
    assert_true(at >= 0 && c.matrix[at].rate > 0);
    double hz = c.peak_flops_matrix / ((double)c.n_cores * c.matrix[at].rate);
    assert_true(hz > 1.35e9 && hz < 3.05e9);
  }
}

/* HIP's multiProcessorCount: compute units on CDNA, pairs of them (WGPs) on RDNA: 48 on a 7900 XTX, 32 on a 9070 XT,
 * whose rows say 96 and 64. */
static void processors_of_amd_are_compute_units_and_dies(void **state) {
  static const struct {
    const char *arch;
    int says, cores, dies;
  } parts[] = {{"gfx1100", 48, 96, 1},
               {"gfx1201", 32, 64, 1},
               {"gfx90a", 104, 104, 1},
               {"gfx942", 304, 304, 8},
               /* MI300X */ {"gfx942", 228, 228, 6},
               /* MI300A */ {"gfx942", 38, 38, 1},
               /* MI300X in CPX mode */ {"gfx942", 76, 76, 2},
               {"gfx950", 256, 256, 8},
               {"gfx950", 32, 32, 1},
               {"gfx950", 1, 1, 1}};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    tsr_caps c = caps_of(parts[i].arch);
    int listed = c.n_cores;
    if (!strncmp(parts[i].arch, "gfx1", 4)) assert_int_equal(listed, parts[i].cores);
    arch_set_processors(&c, parts[i].says);
    assert_int_equal(c.n_cores, parts[i].cores);
    assert_int_equal(c.n_dies, parts[i].dies);
  }
  assert_int_equal(caps_of("gfx942").n_dies, 8);
  assert_true(caps_of("gfx90a").mfma_flushes && !caps_of("gfx942").mfma_flushes); /* MIOpen's documentation */
  tsr_caps cuda = caps_of("sm_90a");
  arch_set_processors(&cuda, 114);
  assert_int_equal(cuda.n_cores, 114);
}

/* Older ROCm releases take 65,536 blocks along y and z. */
static void grid_limits_hold_on_every_release(void **state) {
  static const char *const archs[] = {"sm_80", "sm_90a", "gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201"};
  for (size_t i = 0; i < sizeof archs / sizeof *archs; i++) {
    tsr_caps c = caps_of(archs[i]);
    assert_in_range(c.max_grid[1], 1, 65536);
    assert_in_range(c.max_grid[2], 1, 65536);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(device_of_a_family_runs_its_code),
                                     cmocka_unit_test(name_that_users_type_is_known),
                                     cmocka_unit_test(rates_are_those_of_the_instructions_used),
                                     cmocka_unit_test(rates_of_types_are_those_of_the_data_sheets),
                                     cmocka_unit_test(peaks_are_rates_by_cores_and_clock),
                                     cmocka_unit_test(processors_of_amd_are_compute_units_and_dies),
                                     cmocka_unit_test(grid_limits_hold_on_every_release)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
