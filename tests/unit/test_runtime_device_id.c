/* The attribute `device` of a schedule program, which is text that anyone may write: a device that there is, here or
 * elsewhere, or an error where the program stands that lists what there is. Devices are opened under the same names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tessera/tessera.h"
#include "tests/support/api_check.h"

static int warnings;
static char warned[512];

static void note(void *user, tsr_log_level level, const char *text) {
  if (level > TSR_LOG_WARN) return;
  warnings++;
  snprintf(warned, sizeof warned, "%s", text);
}

static const char *program_for(const char *device) {
  static char text[1024];
  snprintf(text, sizeof text,
           "\n\"tessera.schedule.program\"() ({\n^bb0(%%A: tensor<4xf32>):\n"
           "%%0 = \"tessera.schedule.kernel\"(%%A) ({\n^bb0(%%1: tensor<4xf32>):\n%%2 = \"tessera.graph.neg\"(%%1)\n"
           "\"tessera.schedule.yield\"(%%2)\n}) {sym_name = \"k\", family = \"elementwise\", space = [4]} : "
           "(tensor<4xf32>) -> tensor<4xf32>\n"
           "\"tessera.schedule.return\"(%%0)\n}) {sym_name = \"main\", device = \"%s\"}\n",
           device);
  return text;
}

static tsr_status compile_for(tsr_device *on, const char *device) {
  tsr_program *p = NULL;
  const char *text = program_for(device);
  warnings = 0;
  tsr_status st = tsr_program_parse(on, text, strlen(text), "x", NULL, &p);
  assert_int_equal(!st, p != NULL);
  tsr_program_destroy(&p);
  return st;
}

static void expect_refused(tsr_device *on, const char *device, const char *known) {
  char want[128];
  snprintf(want, sizeof want, "no device is called \"%.64s\"", device);
  tsr_status st = compile_for(on, device);
  if (tsr_status_code(st) != TSR_VERIFY_ERROR) fail_msg("\"%s\": %s", device, tsr_status_message(st));
  if (!strstr(tsr_status_message(st), "x:2:1: ") || !strstr(tsr_status_message(st), want) ||
      !strstr(tsr_status_hint(st), known))
    fail_msg("\"%s\": %s, without %s or %s", device, tsr_status_message(st), want, known);
  tsr_status_free(st);
}

static tsr_context *ctx;
static tsr_device *on[2];

static int open_all(void **state) {
  OK(tsr_context_create(&(tsr_context_desc){.cache_dir = "", .log = note}, &ctx));
  OK(tsr_device_open(ctx, "cpu:0", &on[0]));
  OK(tsr_device_open(ctx, "null:spirv", &on[1]));
  return 0;
}

static int close_all(void **state) {
  for (int d = 0; d < 2; d++) tsr_device_close(&on[d]);
  tsr_context_destroy(&ctx);
  return 0;
}

/* Of a backend that isn't built nobody knows the architectures. */
static bool is_built(const char *device) {
  const tsr_backend_info *b;
  size_t name = strcspn(device, ":");
  int n;
  OK(tsr_backends(ctx, &b, &n));
  for (int i = 0; i < n; i++)
    if (strlen(b[i].name) == name && !strncmp(b[i].name, device, name)) return b[i].built;
  return true;
}

static void unknown_backends_are_refused_with_those_that_there_are(void **state) {
  static const char *const names[] = {"cpu", "vulkan", "cuda", "hip", "null"};
  static const char *const devices[] = {
      "banana", " ", ":", ":0", "CPU:0", "cp", "cpuu:0", "cpu,vulkan", "cpu ", "not built:0", "%s%n",
      "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"};
  for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
    for (int d = 0; d < 2; d++)
      for (size_t k = 0; k < sizeof names / sizeof *names; k++) expect_refused(on[d], devices[i], names[k]);
}

static void unknown_numbers_and_architectures_are_refused_with_the_table(void **state) {
  static const struct { const char *device, *known; } cases[] = {
      {"cpu:", "cpu:0"},
      {"cpu:banana", "cpu:0"},
      {"cpu:-1", "cpu:0"},
      {"cpu:0x1", "cpu:0"},
      {"cpu:123456", "cpu:0"},
      {"cpu:0 ", "cpu:0"},
      {"cpu:0,vulkan:0", "cpu:0"},
      {"null:sm_80", "null:0, or of its architectures cpu, spirv"},
      {"cuda:sm_999", "cuda:0, or of its architectures sm_80, sm_86"},
      {"cuda:gfx942", "cuda:0, or of its architectures sm_80, sm_86"},
      {"hip:sm_80", "gfx942"},
      {"vulkan:banana", "vulkan:0"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    for (int d = 0; d < 2; d++)
      if (is_built(cases[i].device)) expect_refused(on[d], cases[i].device, cases[i].known);
}

static void devices_that_there_are_compile_and_others_than_this_are_told(void **state) {
  static const char *const devices[] = {"",
                                        "cpu",
                                        "cpu:0",
                                        "cpu:7",
                                        "vulkan:0",
                                        "vulkan:99999",
                                        "cuda:3",
                                        "cuda:sm_90a",
                                        "cuda:sm_90",
                                        "hip:gfx90a",
                                        "null:0",
                                        "null:spirv",
                                        "vulkan:no/such/record.json"};
  for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
    for (int d = 0; d < 2; d++) {
      const char *own = d ? "null" : "cpu";
      bool other = *devices[i] && strncmp(devices[i], own, strlen(own)) != 0;
      OK(compile_for(on[d], devices[i]));
      assert_int_equal(warnings, other);
      if (other && !strstr(warned, devices[i])) fail_msg("%s isn't named: %s", devices[i], warned);
    }
}

static void devices_are_opened_by_names_of_the_same_table(void **state) {
  tsr_device *d;
  if (!is_built("cuda:sm_80")) skip();
  tsr_status st = tsr_device_open(ctx, "cuda:sm_999", &d);
  assert_int_equal(tsr_status_code(st), TSR_UNAVAILABLE);
  assert_non_null(strstr(tsr_status_hint(st), "sm_80, sm_86"));
  tsr_status_free(st);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(unknown_backends_are_refused_with_those_that_there_are),
      cmocka_unit_test(unknown_numbers_and_architectures_are_refused_with_the_table),
      cmocka_unit_test(devices_that_there_are_compile_and_others_than_this_are_told),
      cmocka_unit_test(devices_are_opened_by_names_of_the_same_table)};
  return cmocka_run_group_tests(tests, open_all, close_all);
}
