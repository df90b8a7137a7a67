/* tests/simt/test_simt_tile.c - the hand-written Tile IR programs of tests/tile on every emulated device against the
 * CPU backend: the same text, two lowerings that share nothing below Tile IR. Tolerance: a few roundings of the
 * result's type on top of what f32 sums of the programs' lengths (at most 4096) may differ by. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/dtype.h"
#include "core/base/str.h"
#include "tessera/tessera.h"
#include "tests/simt/backend_emu.h"
#include "tests/simt/emu_check.h"
#include "tests/support/tile_gen.h"

enum { MAX_TENSORS = 8 };
static tsr_context *ctx;

typedef struct run { void *out[MAX_TENSORS]; tsr_tensor_info info[MAX_TENSORS]; int n; bool unsupported; } run;

/* Floats in [-1, 1), integers from 0 to 11; the same for the same tensor of a program. */
static void *random_input(const tsr_tensor_info *t, unsigned seed) {
  void *p = malloc(t->bytes);
  for (size_t i = 0; i < t->bytes / tsr_dtype_size(t->dtype); i++) {
    seed = seed * 1664525 + 1013904223;
    dtype_store(t->dtype, p, i,
                dtype_is_float(t->dtype) ? (double)(seed >> 8) / (1 << 23) - 1 : (double)((seed >> 16) % 12));
  }
  return p;
}

static run run_on(const char *device, const char *text, const char *file) {
  run r = {.n = 0};
  tsr_device *dev;
  tsr_program *p;
  tsr_binding in[MAX_TENSORS] = {{0}}, out[MAX_TENSORS] = {{0}};
  ok(tsr_device_open(ctx, device, &dev), device);
  tsr_status st = tsr_program_parse(dev, text, strlen(text), file, NULL, &p);
  if (tsr_status_code(st) == TSR_UNSUPPORTED) {
    printf("skipped: %s on %s: %s\n", file, device, tsr_status_message(st));
    tsr_status_free(st);
    tsr_device_close(&dev);
    r.unsupported = true;
    return r;
  }
  ok(st, file);
  for (int i = 0; i < tsr_program_n_inputs(p); i++) {
    tsr_tensor_info t = tsr_program_input(p, i);
    void *data = random_input(&t, (unsigned)i + 1);
    ok(tsr_buffer_create(dev, t.bytes, TSR_MEMORY_DEVICE, &in[i].buffer), file);
    ok(tsr_buffer_write(in[i].buffer, 0, data, t.bytes), file);
    free(data);
  }
  r.n = tsr_program_n_outputs(p);
  for (int i = 0; i < r.n; i++) {
    r.info[i] = tsr_program_output(p, i);
    r.info[i].name = "";
    r.out[i] = malloc(r.info[i].bytes);
    ok(tsr_buffer_create(dev, r.info[i].bytes, TSR_MEMORY_DEVICE, &out[i].buffer), file);
  }
  ok(tsr_program_run(p, NULL, in, out), file);
  for (int i = 0; i < r.n; i++) ok(tsr_buffer_read(out[i].buffer, 0, r.out[i], r.info[i].bytes), file);
  for (int i = 0; i < MAX_TENSORS; i++) {
    tsr_buffer_destroy(&in[i].buffer);
    tsr_buffer_destroy(&out[i].buffer);
  }
  tsr_program_destroy(&p);
  tsr_device_close(&dev);
  return r;
}

static void compare(const run *a, const run *b, const char *name, const char *device) {
  assert_int_equal(a->n, b->n);
  for (int i = 0; i < a->n; i++) {
    tsr_dtype t = a->info[i].dtype;
    size_t n = a->info[i].bytes / tsr_dtype_size(t);
    double largest = 0;
    for (size_t k = 0; k < n; k++) largest = fmax(largest, fabs(dtype_load(t, a->out[i], k)));
    for (size_t k = 0; k < n; k++) {
      double x = dtype_load(t, a->out[i], k), y = dtype_load(t, b->out[i], k);
      double tolerance = dtype_is_float(t) ? 2 * dtype_get(t)->eps * fabs(x) + 64 * 6e-8 * largest : 0;
      if (t == TSR_F16 || t == TSR_BF16)
        tolerance += dtype_get(t)->eps * largest; /* flash attention rounds its weights to that type */
      if (!(fabs(x - y) <= tolerance))
        fail_msg("%s on %s: output %d element %zu is %g, on the CPU %g", name, device, i, k, y, x);
    }
  }
}

static void tile_programs_match_the_cpu(void **state) {
  static const char *const names[] = {
      "add",    "softmax", "layernorm", "matmul_f32",     "matmul_f16_bias_gelu", "matmul_direct", "flash_attention",
      "conv2d", "fft4096", "transpose", "embedding_mean", "column_stats", "contract", "uniform_element"};
  static char text[1 << 16];
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    char path[512];
    snprintf(path, sizeof path, "%s/tests/tile/%s.mlir", TSR_SOURCE_DIR, names[i]);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    text[fread(text, 1, sizeof text - 1, f)] = 0;
    fclose(f);
    run cpu = run_on("cpu:0", text, names[i]);
    for (int d = 0; d < EMU_N_DEVICES && !cpu.unsupported; d++) {
      char device[16];
      snprintf(device, sizeof device, "emu:%d", d);
      run emu = run_on(device, text, names[i]);
      if (!emu.unsupported) compare(&cpu, &emu, names[i], emu_device_arch[d]);
      for (int k = 0; k < emu.n; k++) free(emu.out[k]);
    }
    for (int k = 0; k < cpu.n; k++) free(cpu.out[k]);
  }
}

/* One to three consumer warpgroups, sizes that end within a tile, blocks with one step and with several: sm_90a streams
 * K and V by TMA into wgmma, P in registers, the softmax beside the product before it; two warpgroups in ping-pong. */
static void attention_runs_on_wgmma(void **state) {
  static const tile_attention_case cases[] = {
      {.heads = 2, .positions = 200, .width = 128, .rows = 128, .columns = 64, .t = TSR_BF16}, {.heads = 1, .positions = 250, .width = 128, .rows = 128, .columns = 128, .t = TSR_F16},
      {.heads = 2, .positions = 100, .width = 64, .rows = 64, .columns = 48, .t = TSR_F16}, {.heads = 1, .positions = 200, .width = 64, .rows = 192, .columns = 64, .t = TSR_BF16}};
  static char program[1 << 16];
  FILE *f = fopen(TSR_SOURCE_DIR "/tests/tile/flash_attention.mlir", "rb");
  assert_non_null(f);
  program[fread(program, 1, sizeof program - 1, f)] = 0;
  fclose(f);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    strb b;
    tsr_device *dev;
    tsr_program *p;
    strb_init(&b, &al_default);
    tile_gen_attention(&b, program, &cases[i]);
    ok(tsr_device_open(ctx, "emu:1", &dev), "emu:1");
    ok(tsr_program_parse(dev, strb_text(&b), b.n, "attention", NULL, &p), "attention");
    assert_string_equal(tsr_program_kernel(p, 0).path, "wgmma");
    assert_int_equal(tsr_program_kernel(p, 0).block[0], 128 + 2 * cases[i].rows);
    char *text;
    ok(tsr_program_dump(p, TSR_LEVEL_TARGET, &text, NULL), "dump");
    assert_non_null(strstr(text, "warpgroups, overlapped"));
    assert_int_equal(strstr(text, "ping-pong") != NULL, cases[i].rows == 128);
    tsr_text_free(ctx, &text);
    tsr_program_destroy(&p);
    tsr_device_close(&dev);
    run cpu = run_on("cpu:0", strb_text(&b), "attention"), emu = run_on("emu:1", strb_text(&b), "attention");
    compare(&cpu, &emu, "attention", "sm_90a");
    for (int k = 0; k < emu.n; k++) free(emu.out[k]), free(cpu.out[k]);
    strb_clear(&b);
  }
}

/* What a graph's attention becomes on sm_90a: its operands' batches may be views, its lengths end within tiles, masks
 * look at part of the keys. Each says whether it runs by wgmma. */
static void attention_of_graphs_runs_on_wgmma(void **state) {
  static const struct { const char *args, *operands, *attrs; bool wgmma; } cases[] = {
#define QKV(batch, heads, shared, queries, keys, width, t)                                                            \
  "%q: tensor<" batch "x" heads "x" queries "x" width "x" t ">, %k: tensor<" batch "x" shared "x" keys "x" width \
  "x" t ">, %v: tensor<" batch "x" shared "x" keys "x" width "x" t ">"
      {QKV("1", "2", "2", "256", "256", "128", "f16"), "%q, %k, %v", "", true},
      {QKV("2", "3", "1", "200", "200", "64", "bf16"), "%q, %k, %v", "{causal = true}", true},
      {QKV("1", "4", "2", "130", "330", "64", "f16"), "%q, %k, %v", "{causal = true, window = 100}", true},
      {QKV("2", "2", "2", "70", "100", "128", "bf16"), "%q, %k, %v", "{softcap = 3.0, scale = 0.2}", true},
      {QKV("2", "2", "2", "128", "190", "64", "f16") ", %b: tensor<1x2x128x190xf32>", "%q, %k, %v, %b", "", true},
      {QKV("2", "2", "2", "128", "190", "64", "f16") ", %b: tensor<2x1x1x190xi1>", "%q, %k, %v, %b", "", true},
      {QKV("1", "1", "1", "64", "64", "64", "f16"), "%q, %k, %v", "", true},
      {QKV("1", "2", "2", "200", "200", "64", "f32"), "%q, %k, %v", "", false},
      {QKV("1", "2", "2", "100", "90", "80", "f16"), "%q, %k, %v", "", false},
#undef QKV
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[1200];
    tsr_device *dev;
    tsr_program *p;
    snprintf(text, sizeof text,
             "\"tessera.graph.func\"() ({\n^bb0(%s):\n%%0 = \"tessera.graph.flash_attention\"(%s) %s\n"
             "\"tessera.graph.return\"(%%0)\n}) {sym_name = \"main\"}\n",
             cases[i].args, cases[i].operands, cases[i].attrs);
    ok(tsr_device_open(ctx, "emu:1", &dev), "emu:1");
    ok(tsr_program_parse(dev, text, strlen(text), "attention", NULL, &p), text);
    if (!strcmp(tsr_program_kernel(p, 0).path, "wgmma") != cases[i].wgmma)
      fail_msg("case %zu runs by %s", i, tsr_program_kernel(p, 0).path);
    tsr_program_destroy(&p);
    tsr_device_close(&dev);
    run cpu = run_on("cpu:0", text, "attention"), emu = run_on("emu:1", text, "attention");
    compare(&cpu, &emu, text, "sm_90a");
    for (int k = 0; k < emu.n; k++) free(emu.out[k]), free(cpu.out[k]);
  }
}

/* Widths that the warps of a block do not share evenly: what a warp has behind the end is not read from what lies
 * behind the tile in shared memory. */
static void attention_is_as_wide_as_it_likes(void **state) {
  static const int widths[] = {16, 48, 80, 96, 112};
  for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
    char text[700];
    snprintf(text, sizeof text,
             "\"tessera.graph.func\"() ({\n^bb0(%%q: tensor<1x1x70x%dxf16>, %%k: tensor<1x1x100x%dxf16>, "
             "%%v: tensor<1x1x100x%dxf16>):\n%%0 = \"tessera.graph.flash_attention\"(%%q, %%k, %%v)\n"
             "\"tessera.graph.return\"(%%0)\n}) {sym_name = \"main\"}\n", widths[i], widths[i], widths[i]);
    run cpu = run_on("cpu:0", text, "attention");
    for (int d = 0; d < EMU_N_DEVICES; d++) {
      char device[16];
      snprintf(device, sizeof device, "emu:%d", d);
      run emu = run_on(device, text, "attention");
      compare(&cpu, &emu, text, emu_device_arch[d]);
      for (int k = 0; k < emu.n; k++) free(emu.out[k]);
    }
    for (int k = 0; k < cpu.n; k++) free(cpu.out[k]);
  }
}

int main(void) {
  if (system("g++ --version >/dev/null 2>&1")) return 77;
  const void *extra[] = {&emu_backend, NULL};
  ok(tsr_context_create(&(tsr_context_desc){.cache_dir = "", .extra_backends = extra}, &ctx), "context");
  const struct CMUnitTest tests[] = {cmocka_unit_test(attention_runs_on_wgmma),
                                     cmocka_unit_test(attention_of_graphs_runs_on_wgmma),
                                     cmocka_unit_test(attention_is_as_wide_as_it_likes),
                                     cmocka_unit_test(tile_programs_match_the_cpu)};
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  tsr_context_destroy(&ctx);
  return failed != 0;
}
