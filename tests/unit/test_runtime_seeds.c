/* Two short lines of IR text, without types, in the body of a kernel. Schedule IR: the product of the operands under
 * that tile, and autotune = true hands the tile to the tuner. Tile IR: one matrix instruction, where the device lists
 * it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "tessera/tune.h"
#include "tests/support/api_check.h"

enum { M = 96, N = 160, K = 64 };

static const char *text_of(const char *line, const char *dtype) {
  static char text[2048];
  snprintf(text, sizeof text,
           "\"builtin.module\"() ({\n\"tessera.schedule.program\"() ({\n^bb0(%%a: tensor<%dx%dx%s>, %%b: tensor<%dx%dx%s>):\n"
           "%%r = \"tessera.schedule.kernel\"(%%a, %%b) ({\n^bb0(%%A: tensor<%dx%dx%s>, %%B: tensor<%dx%dx%s>):\n%s\n\"tessera.schedule.yield\"(%%0)\n"
           "}) {sym_name = \"matmul_0\", family = \"matmul\", space = [1, %d, %d, %d]} : (tensor<%dx%dx%s>, tensor<%dx%dx%s>) -> tensor<%dx%dx%s>\n"
           "\"tessera.schedule.return\"(%%r)\n}) {sym_name = \"main\"}\n}) : () -> ()\n",
           M, K, dtype, K, N, dtype, M, K, dtype, K, N, dtype, line, M, N, K, M, K, dtype, K, N, dtype, M, N, dtype);
  return text;
}

#define TILE(autotune) "%0 = \"tessera.schedule.tile\"(%A, %B)\n       {m=128, n=128, k=64, autotune=" autotune "}"

/* The program's tile with the line, and how many candidates were timed on the way. */
static void compile(const char *line, const char *cache, tsr_tune tune, int64_t tile[3], uint64_t *measured, bool run) {
  tsr_context *ctx;
  tsr_device *dev;
  tsr_program *p;
  const char *text = text_of(line, "f32");
  OK(tsr_context_create(&(tsr_context_desc){.abi_version = TSR_ABI_VERSION, .cache_dir = cache}, &ctx));
  OK(tsr_device_open(ctx, "cpu:0", &dev));
  OK(tsr_program_parse(dev, text, strlen(text), "seed", &(tsr_compile_options){.tune = tune}, &p));
  memcpy(tile, tsr_program_kernel(p, 0).tile, 3 * sizeof *tile);
  *measured = tsr_context_tune_counters(ctx).measurements;
  if (run) {
    static float a[M * K], b[K * N], y[M * N];
    for (int i = 0; i < M * K; i++) a[i] = (float)(i % 7 - 3);
    for (int i = 0; i < K * N; i++) b[i] = (float)(i % 5 - 2);
    tsr_buffer *in[2], *out;
    OK(tsr_buffer_create(dev, sizeof a, TSR_MEMORY_DEVICE, &in[0]));
    OK(tsr_buffer_create(dev, sizeof b, TSR_MEMORY_DEVICE, &in[1]));
    OK(tsr_buffer_create(dev, sizeof y, TSR_MEMORY_DEVICE, &out));
    OK(tsr_buffer_write(in[0], 0, a, sizeof a));
    OK(tsr_buffer_write(in[1], 0, b, sizeof b));
    OK(tsr_program_run(p, NULL, (tsr_binding[]){{in[0], 0}, {in[1], 0}}, &(tsr_binding){out, 0}));
    OK(tsr_buffer_read(out, 0, y, sizeof y));
    for (int i = 0; i < M; i++)
      for (int j = 0; j < N; j++) {
        float want = 0; /* whole numbers: exact in any order */
        for (int k = 0; k < K; k++) want += a[i * K + k] * b[k * N + j];
        assert_true(y[i * N + j] == want);
      }
    tsr_buffer_destroy(&in[0]);
    tsr_buffer_destroy(&in[1]);
    tsr_buffer_destroy(&out);
  }
  tsr_program_destroy(&p);
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
}

static void seeds_tile_is_a_product_under_that_tile(void **state) {
  int64_t tile[3];
  uint64_t measured;
  compile("%0 = \"tessera.schedule.tile\"(%A, %B) {m=32, n=64, k=64}", "", TSR_TUNE_OFF, tile, &measured, true);
  assert_true(tile[0] == 32 && tile[1] == 64 && tile[2] == 64 && measured == 0);
  compile(TILE("true"), "", TSR_TUNE_OFF, tile, &measured, true);
  assert_true(measured == 0);
}

static void autotune_hands_the_tile_to_the_tuner(void **state) {
  char dir[] = "/tmp/tsr-seeds-XXXXXX", cmd[100];
  int64_t tile[3];
  uint64_t measured;
  assert_non_null(mkdtemp(dir));
  compile(TILE("false"), dir, TSR_TUNE_FULL, tile, &measured, false);
  assert_int_equal(measured, 0); /* written by hand: it stays */
  compile(TILE("true"), dir, TSR_TUNE_FULL, tile, &measured, true);
  assert_true(measured > 0);
  snprintf(cmd, sizeof cmd, "rm -rf %s", dir);
  assert_int_equal(system(cmd), 0);
}

/* What has no such product is told where it stands; before, the value was lost on the way. */
static void tile_without_a_product_is_one_clear_line(void **state) {
  static const struct { const char *line, *dtype, *says; } bad[] = {
      {"%0 = \"tessera.schedule.tile\"(%A, %A) {m=32, n=64, k=64}", "f32", "differ in type"},
      {"%0 = \"tessera.schedule.tile\"(%A, %B) {m=32, n=64, k=64}", "i8", "but is tensor<96x160xi32>"}, /* its sums are i32 */
      {"%0 = \"tessera.schedule.tile\"(%A, %B, %B) {m=32, n=64, k=64}", "f32", "two operands"}};
  tsr_context *ctx;
  tsr_device *dev;
  tsr_program *p;
  OK(tsr_context_create(&(tsr_context_desc){.abi_version = TSR_ABI_VERSION, .cache_dir = ""}, &ctx));
  OK(tsr_device_open(ctx, "cpu:0", &dev));
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    const char *text = text_of(bad[i].line, bad[i].dtype);
    tsr_status st = tsr_program_parse(dev, text, strlen(text), "seed", NULL, &p);
    if (!st || !strstr(tsr_status_message(st), "seed:") || !strstr(tsr_status_message(st), bad[i].says))
      fail_msg("%s", tsr_status_message(st));
    tsr_status_free(st);
  }
  static const char in_graph[] =
      "\"builtin.module\"() ({\n\"tessera.graph.func\"() ({\n^bb0(%A: tensor<64x64xf32>, %B: "
      "tensor<64x64xf32>):\n" TILE("true") "\n\"tessera.graph.return\"(%0)\n}) {sym_name = \"main\"}\n}) : () -> ()\n";
  tsr_status st = tsr_program_parse(dev, in_graph, strlen(in_graph), "seed", NULL, &p);
  if (!st || !strstr(tsr_status_message(st), "seed:4:6: is no operation of Graph IR"))
    fail_msg("%s", tsr_status_message(st));
  tsr_status_free(st);
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
}

static void seeds_mma_sync_runs_where_the_device_lists_it(void **state) {
  static const char text[] = "\"builtin.module\"() ({\n\"tessera.tile.kernel\"() ({\n"
                             "^bb0(%a: !tessera.view<16x16xbf16>, %b: !tessera.view<16x16xbf16>, %c: !tessera.view<16x16xf32>, %o: !tessera.view<16x16xf32>):\n"
                             "%fragA = \"tessera.tile.load\"(%a) : (!tessera.view<16x16xbf16>) -> !tessera.frag<16x16xbf16>\n"
                             "%fragB = \"tessera.tile.load\"(%b) : (!tessera.view<16x16xbf16>) -> !tessera.frag<16x16xbf16>\n"
                             "%fragC0 = \"tessera.tile.load\"(%c) : (!tessera.view<16x16xf32>) -> !tessera.frag<16x16xf32>\n"
                             "%fragC = \"tessera.tile.mma_sync\"(%fragA, %fragB, %fragC0)\n          {m=16, n=16, k=16, dtype=\"bf16\"}\n"
                             "\"tessera.tile.store\"(%fragC, %o)\n\"tessera.tile.return\"()\n}) {sym_name = \"product\", grid = [1, 1, 1], outputs = 1}\n}) : () -> ()\n";
  uint16_t a[256], b[256];
  float c[256], y[256];
  for (int i = 0; i < 256; i++) {
    float va = (float)(i % 7 - 3), vb = (float)(i % 5 - 2);
    uint32_t bits;
    memcpy(&bits, &va, 4), a[i] = (uint16_t)(bits >> 16); /* small whole numbers are bf16 as they are */
    memcpy(&bits, &vb, 4), b[i] = (uint16_t)(bits >> 16);
    c[i] = (float)(i % 11);
  }
  const void *data[3] = {a, b, c};
  const size_t bytes[3] = {sizeof a, sizeof b, sizeof c};
  tsr_context *ctx;
  tsr_device *dev;
  tsr_program *p;
  tsr_binding in[3] = {{0}}, out = {0};
  OK(tsr_context_create(&(tsr_context_desc){.abi_version = TSR_ABI_VERSION, .cache_dir = ""}, &ctx));
  OK(tsr_device_open(ctx, "cpu:0", &dev));
  OK(tsr_program_parse(dev, text, strlen(text), "seed", NULL, &p));
  for (int i = 0; i < 3; i++) {
    OK(tsr_buffer_create(dev, bytes[i], TSR_MEMORY_DEVICE, &in[i].buffer));
    OK(tsr_buffer_write(in[i].buffer, 0, data[i], bytes[i]));
  }
  OK(tsr_buffer_create(dev, sizeof y, TSR_MEMORY_DEVICE, &out.buffer));
  OK(tsr_program_run(p, NULL, in, &out));
  OK(tsr_buffer_read(out.buffer, 0, y, sizeof y));
  for (int i = 0; i < 16; i++)
    for (int j = 0; j < 16; j++) {
      float want = c[i * 16 + j];
      for (int k = 0; k < 16; k++) want += (float)((i * 16 + k) % 7 - 3) * (float)((k * 16 + j) % 5 - 2);
      assert_true(y[i * 16 + j] == want);
    }
  for (int i = 0; i < 3; i++) tsr_buffer_destroy(&in[i].buffer);
  tsr_buffer_destroy(&out.buffer);
  tsr_program_destroy(&p);
  tsr_device_close(&dev);
  OK(tsr_device_open(ctx, "null:spirv", &dev)); /* no matrix instructions */
  tsr_status st = tsr_program_parse(dev, text, strlen(text), "seed", NULL, &p);
  if (!st || !strstr(tsr_status_message(st),
                     "seed:7:10: kernel \"product\": spirv has no enabled 16x16x16 matrix instruction for bf16"))
    fail_msg("%s", tsr_status_message(st));
  tsr_status_free(st);
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(seeds_tile_is_a_product_under_that_tile),
                                     cmocka_unit_test(autotune_hands_the_tile_to_the_tuner),
                                     cmocka_unit_test(tile_without_a_product_is_one_clear_line),
                                     cmocka_unit_test(seeds_mma_sync_runs_where_the_device_lists_it)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
