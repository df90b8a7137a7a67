/* Profiles tell which schedules are not those that were asked for: each such row of text and JSON has the original, the
 * one that runs and why, as tsr_program_kernel has; the others have neither. Against the fake CUDA driver, whose device
 * has limits that tiles break. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/json.h"
#include "tessera/profile.h"
#include "tests/support/api_check.h"

static tsr_context *ctx;
static tsr_device *dev;
static int warnings;
static char warned[1024];

static void on_log(void *user, tsr_log_level level, const char *text) {
  if (level != TSR_LOG_WARN || !strstr(text, "schedule_legalize")) return;
  warnings++;
  snprintf(warned, sizeof warned, "%s", text);
}

/* A product under a tile of the author's, and a softmax that nobody gave any. */
static const char *text_with(const char *tile) {
  static char text[512];
  snprintf(text, sizeof text,
           "\"tessera.graph.func\"() ({\n^bb0(%%A: tensor<512x512xf32>):\n"
           "%%0 = \"tessera.graph.matmul\"(%%A, %%A) {tile_shape = [%s]}\n%%1 = \"tessera.graph.softmax\"(%%0)\n"
           "\"tessera.graph.return\"(%%1)\n}) {sym_name = \"main\"}\n",
           tile);
  return text;
}

static void profile_of(const char *tile, tsr_fallback fallback, char **json, char **rows) {
  const char *text = text_with(tile);
  tsr_profile *p;
  warnings = 0;
  OK(tsr_text_profile(dev, text, strlen(text), "x", &(tsr_compile_options){.fallback = fallback}, 2, &p));
  OK(tsr_profile_json(p, json));
  OK(tsr_profile_text(p, true, rows));
  tsr_profile_destroy(&p);
}

/* The row of an op, in JSON. */
static const json *row_of(const json *root, const char *op) {
  const json *rows = json_get(root, "rows");
  for (const json *r = rows ? rows->first : NULL; r; r = r->next)
    if (!strcmp(json_str(r, "op", ""), op)) return r;
  fail_msg("no row of %s", op);
  return NULL;
}

static void legalised_tile_stands_in_the_profile_with_both(void **state) {
  char *text, *rows;
  json *j;
  arena a;
  arena_init(&a, NULL);
  profile_of("512, 512, 256", TSR_FALLBACK_WARN, &text, &rows);
  assert_int_equal(warnings, 1);
  assert_non_null(strstr(warned, "matmul_0: 512x512x256"));
  OK(json_parse(&a, text, strlen(text), "profile", &j));
  const json *matmul = row_of(j, "matmul"), *softmax = row_of(j, "softmax");
  const char *why = json_str(matmul, "original_why", ""), *arrow = strstr(why, " -> ");
  assert_memory_equal(json_str(matmul, "original", ""), "512x512x256 ", 12);
  assert_string_not_equal(json_str(matmul, "detail", ""), "512x512x256");
  assert_non_null(arrow); /* what was asked for, what runs, and why */
  assert_non_null(strstr(why, "512x512x256"));
  assert_true(strstr(why, "512x512x256") < arrow);
  assert_memory_equal(arrow + 4, json_str(matmul, "detail", "?"), strlen(json_str(matmul, "detail", "?")));
  assert_non_null(strstr(arrow, "shared memory per block"));
  assert_string_equal(json_str(softmax, "original", "?"), "");
  assert_string_equal(json_str(softmax, "original_why", "?"), "");
  const char *told = strstr(rows, "asked for, or in the table: 512x512x256 ");
  assert_non_null(told);
  assert_null(strstr(told + 1, "asked for, or in the table"));
  arena_clear(&a);
  tsr_text_free(ctx, &text);
  tsr_text_free(ctx, &rows);
}

static void policies_decide_whether_it_is_a_warning_or_an_error(void **state) {
  char *json, *rows;
  profile_of("512, 512, 256", TSR_FALLBACK_ALLOW, &json, &rows);
  assert_int_equal(warnings, 0);
  assert_non_null(strstr(json, "\"original\": \"512x512x256 "));
  tsr_text_free(ctx, &json);
  tsr_text_free(ctx, &rows);
  tsr_profile *p;
  const char *text = text_with("512, 512, 256");
  tsr_status st =
      tsr_text_profile(dev, text, strlen(text), "x", &(tsr_compile_options){.fallback = TSR_FALLBACK_ERROR}, 2, &p);
  assert_non_null(st);
  assert_null(p);
  tsr_status_free(st);
}

static void fitting_tile_has_no_original(void **state) {
  char *json, *rows;
  profile_of("64, 64, 32", TSR_FALLBACK_WARN, &json, &rows);
  assert_int_equal(warnings, 0);
  assert_non_null(strstr(json, "\"original\": \"\""));
  assert_null(strstr(json, "\"original\": \"6"));
  assert_null(strstr(rows, "asked for, or in the table"));
  tsr_text_free(ctx, &json);
  tsr_text_free(ctx, &rows);
}

static tsr_program *program_of(const char *tile) {
  const char *text = text_with(tile);
  tsr_program *p;
  OK(tsr_program_parse(dev, text, strlen(text), "x", NULL, &p));
  return p;
}

/* One runs 256x512x16 because it was asked for, the other because it had to: they are not one row. */
static void same_tile_asked_for_and_legalised_are_two_rows(void **state) {
  tsr_program *legalised = program_of("512, 512, 256"), *asked = program_of("256, 512, 16");
  tsr_kernel_info l = tsr_program_kernel(legalised, 0), k = tsr_program_kernel(asked, 0);
  assert_memory_equal(l.tile, k.tile, sizeof k.tile);
  assert_string_equal(k.original, "");
  tsr_buffer *b[2];
  tsr_profile *prof;
  char *json;
  for (int i = 0; i < 2; i++) OK(tsr_buffer_create(dev, 512 * 512 * 4, TSR_MEMORY_DEVICE, &b[i]));
  tsr_binding in = {b[0], 0}, out = {b[1], 0};
  OK(tsr_profile_create(ctx, &prof));
  OK(tsr_profile_step(prof, legalised, NULL, &in, &out));
  OK(tsr_profile_step(prof, asked, NULL, &in, &out));
  OK(tsr_profile_json(prof, &json));
  const char *first = strstr(json, "\"kernel\": \"matmul_0\"");
  assert_non_null(first);
  assert_non_null(strstr(first + 1, "\"kernel\": \"matmul_0\""));
  tsr_text_free(ctx, &json);
  tsr_profile_destroy(&prof);
  for (int i = 0; i < 2; i++) tsr_buffer_destroy(&b[i]);
  tsr_program_destroy(&legalised);
  tsr_program_destroy(&asked);
}

int main(void) {
  const char *lib = TSR_BINARY_DIR "/tests/libfakecuda.so";
  setenv("TSR_LIBCUDA", lib, 1);
  setenv("TSR_NVRTC", lib, 1);
  tsr_status st = tsr_context_create(&(tsr_context_desc){.cache_dir = "", .log = on_log}, &ctx);
  if (!st) st = tsr_device_open(ctx, "cuda:0", &dev);
  if (st) return fprintf(stderr, "%s\n", tsr_status_message(st)), 1;
  const struct CMUnitTest tests[] = {cmocka_unit_test(legalised_tile_stands_in_the_profile_with_both),
                                     cmocka_unit_test(policies_decide_whether_it_is_a_warning_or_an_error),
                                     cmocka_unit_test(fitting_tile_has_no_original),
                                     cmocka_unit_test(same_tile_asked_for_and_legalised_are_two_rows)};
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
  return failed != 0;
}
