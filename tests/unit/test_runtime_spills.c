/* A kernel that spills, or whose wgmma is serialized, is not taken without a word: the compile driver tries lighter
 * schedules and says why; what the author fixed is kept and said; the tuner's candidate fails. Against the fake CUDA
 * driver, whose compiler spills as it is told. */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/runtime/spills.h"
#include "core/runtime/tune.h"
#include "tessera/tessera.h"

static void (*fake_heavy)(const char *words, int spill_bytes, int serialized);
static tsr_context *ctx;
static tsr_device *dev;
static int warnings;

static void on_log(void *user, tsr_log_level level, const char *text) {
  warnings += strstr(text, "no other schedule to take") != NULL;
}

static const char product[] =
    "\"builtin.module\"() ({ \"tessera.graph.func\"() ({\n^bb0(%A: tensor<4096x4096xbf16>, %B: tensor<4096x4096xbf16>):\n%0 = \"tessera.graph.matmul\"(%A, %B)\n"
    "\"tessera.graph.return\"(%0)\n}) {sym_name = \"main\"} }) : () -> ()\n";
static const char rows[] =
    "\"builtin.module\"() ({ \"tessera.graph.func\"() ({\n^bb0(%A: tensor<64x65536xf32>):\n%0 = \"tessera.graph.softmax\"(%A)\n"
    "\"tessera.graph.return\"(%0)\n}) {sym_name = \"main\"} }) : () -> ()\n";

static tsr_program *compiled(const char *text, const tsr_schedule *by_hand) {
  tsr_program *p;
  warnings = 0;
  tsr_status st = tsr_program_parse(dev, text, strlen(text), "spills",
                                    &(tsr_compile_options){.schedules = by_hand, .n_schedules = by_hand != NULL}, &p);
  if (st) fail_msg("%s", tsr_status_message(st));
  return p;
}

/* How often the words are in the plan's Schedule IR, and in the explanation. */
static void expect_said(tsr_program *p, const char *in_schedule, const char *in_explanation) {
  char *text;
  assert_null(tsr_program_dump(p, TSR_LEVEL_SCHEDULE, &text, NULL));
  if (in_schedule && !strstr(text, in_schedule)) fail_msg("\"%s\" is not in\n%s", in_schedule, text);
  if (!in_schedule) assert_null(strstr(text, "legalized"));
  tsr_text_free(ctx, &text);
  assert_null(tsr_program_explain(p, &text));
  if (in_explanation && !strstr(text, in_explanation)) fail_msg("\"%s\" is not in\n%s", in_explanation, text);
  if (!in_explanation) assert_null(strstr(text, "spill"));
  tsr_text_free(ctx, &text);
}

static void a_spill_gives_way_to_a_lighter_tile(void **state) {
  fake_heavy("m64n256k16", 44, 0); /* the default, 128x256, and 256x256 */
  tsr_program *p = compiled(product, NULL);
  tsr_kernel_info k = tsr_program_kernel(p, 0);
  assert_int_equal(k.spill_bytes, 0);
  assert_true(k.tile[0] == 128 && k.tile[1] == 128);
  expect_said(p, "reason = \"44 bytes of registers spill\"", "44 bytes of registers spill: another schedule is taken");
  expect_said(p, "original = \"128x256x64", "spill_retry");
  assert_int_equal(warnings, 0);
  tsr_program_destroy(&p);
}

static void a_serialized_wgmma_gives_way_too(void **state) {
  fake_heavy("m64n256k16", 0, 1);
  tsr_program *p = compiled(product, NULL);
  assert_non_null(strstr(tsr_program_kernel(p, 0).path, "m64n128"));
  expect_said(p, "wgmma is serialized", "wgmma is serialized");
  tsr_program_destroy(&p);
}

static void a_spilling_row_gives_way_to_more_threads(void **state) {
  fake_heavy("KERNEL(256) ", 8, 0);
  tsr_program *p = compiled(rows, NULL);
  assert_int_equal(tsr_program_kernel(p, 0).block[0], 512);
  expect_said(p, "8 bytes of registers spill", "8 bytes of registers spill");
  tsr_program_destroy(&p);
}

static void what_always_spills_is_said(void **state) {
  fake_heavy("KERNEL(", 12, 0);
  tsr_program *p = compiled(product, NULL);
  assert_int_equal(tsr_program_kernel(p, 0).spill_bytes, 12);
  assert_int_equal(warnings, 1);
  expect_said(p, "12 bytes of registers spill", "no other schedule to take");
  tsr_program_destroy(&p);
}

static void an_authors_tile_is_kept_and_said(void **state) {
  fake_heavy("m64n256k16", 20, 0);
  tsr_program *p = compiled(product, &(tsr_schedule){.m = 128, .n = 256, .k = 64});
  assert_int_equal(tsr_program_kernel(p, 0).spill_bytes, 20);
  assert_int_equal(warnings, 1);
  expect_said(p, NULL, "20 bytes of registers spill, and there is no other schedule to take");
  tsr_program_destroy(&p);
}

/* Tile IR has no schedule to change. */
static void a_spilling_tile_program_is_said(void **state) {
  static const char add[] =
      "\"builtin.module\"() ({ \"tessera.tile.kernel\"() ({\n^bb0(%a: !tessera.view<8x64xf32>, %c: !tessera.view<8x64xf32>):\n%z = \"tessera.tile.const\"() {value = 0}\n"
      "%w = \"tessera.tile.window\"(%a, %z, %z) {sizes = [8, 64]}\n%x = \"tessera.tile.load\"(%w)\n%v = \"tessera.tile.window\"(%c, %z, %z) {sizes = [8, 64]}\n"
      "\"tessera.tile.store\"(%x, %v)\n\"tessera.tile.return\"()\n}) {sym_name = \"copy\", grid = [1, 1, 1]} }) : () -> ()\n";
  fake_heavy("KERNEL(", 16, 0);
  tsr_program *p = compiled(add, NULL);
  char *text;
  assert_int_equal(warnings, 1);
  assert_null(tsr_program_explain(p, &text));
  assert_non_null(strstr(text, "16 bytes of registers spill, and there is no other schedule to take"));
  tsr_text_free(ctx, &text);
  tsr_program_destroy(&p);
}

static void without_spills_nothing_is_said(void **state) {
  fake_heavy("", 0, 0);
  tsr_program *p = compiled(product, NULL);
  assert_non_null(strstr(tsr_program_kernel(p, 0).path, "m64n256"));
  expect_said(p, NULL, NULL);
  tsr_program_destroy(&p);
}

/* The kernel as a target of the tuner: the candidate that spills can't be prepared, another can. */
static void a_spilling_candidate_fails_in_the_tuner(void **state) {
  fake_heavy("", 0, 0);
  tsr_program *p = compiled(product, NULL);
  static rt_kernel k;
  tune_device d = tune_device_from_caps(&dev->caps, "");
  ir_op *kernel = p->levels[TSR_LEVEL_SCHEDULE]->root->regions[0]->first->regions[0]->first;
  while (kernel && kernel->def->code != S_KERNEL) kernel = kernel->next;
  bool worth;
  void *prepared = NULL;
  assert_null(rt_kernel_open(dev, kernel, TSR_POLICY_FAST, &d, rt_compile, &k, &worth));
  assert_true(worth);
  fake_heavy("m64n256k16", 4, 0);
  tune_config c = k.dflt;
  c.pipeline_stages = 2; /* the default itself is compiled as if untuned, so it gives way to a lighter one */
  tsr_status st = k.target.prepare(k.target.user, &c, &prepared);
  assert_int_equal(tsr_status_code(st), TSR_UNSUPPORTED);
  assert_non_null(strstr(tsr_status_message(st), "4 bytes of registers spill"));
  tsr_status_free(st);
  assert_null(prepared);
  c.n = 128;
  assert_null(k.target.prepare(k.target.user, &c, &prepared));
  k.target.release(k.target.user, prepared);
  rt_kernel_close(&k);
  tsr_program_destroy(&p);
}

int main(void) {
  const char *lib = TSR_BINARY_DIR "/tests/libfakecuda.so";
  void *h = dlopen(lib, RTLD_NOW);
  if (!h) return 1;
  *(void **)&fake_heavy = dlsym(h, "fake_heavy");
  setenv("TSR_LIBCUDA", lib, 1);
  setenv("TSR_NVRTC", lib, 1);
  tsr_status st = tsr_context_create(&(tsr_context_desc){.cache_dir = "", .log = on_log}, &ctx);
  if (!st) st = tsr_device_open(ctx, "cuda:0", &dev);
  if (st) return fprintf(stderr, "%s\n", tsr_status_message(st)), 1;
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_spill_gives_way_to_a_lighter_tile),
                                     cmocka_unit_test(a_serialized_wgmma_gives_way_too),
                                     cmocka_unit_test(a_spilling_row_gives_way_to_more_threads),
                                     cmocka_unit_test(what_always_spills_is_said),
                                     cmocka_unit_test(an_authors_tile_is_kept_and_said),
                                     cmocka_unit_test(a_spilling_tile_program_is_said),
                                     cmocka_unit_test(without_spills_nothing_is_said),
                                     cmocka_unit_test(a_spilling_candidate_fails_in_the_tuner)};
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
  return failed != 0;
}
