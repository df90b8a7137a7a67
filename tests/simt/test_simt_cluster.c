/* tests/simt/test_simt_cluster.c - softmax and the norms of rows that the blocks of a cluster hold together (sm_90), in
 * the emulator against the reference and within its tolerances: ordinary rows, constant ones, rows whose squares leave
 * f32, and rows that end inside a block's share. */
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

enum { ROWS = 4, MOST = 5000, BLOCK_WARPS = 2 };
static tsr_context *ctx;
static char x[ROWS * MOST * 4], gain[MOST * 4], bias[MOST * 4], raw[ROWS * MOST * 4];
static double want[ROWS * MOST], tolerance[ROWS * MOST];

static const char *const ops[] = {"softmax\"(%x)", "rmsnorm\"(%x, %g)", "layernorm\"(%x)", "layernorm\"(%x, %g, %b)"};
static const struct { int64_t cluster; int length; tsr_dtype t; tsr_policy policy; } cases[] = {
    {2, 2000, TSR_F32, TSR_POLICY_DEFAULT},
    {4, 4099, TSR_F32, TSR_POLICY_DEFAULT},
    {8, 5000, TSR_BF16, TSR_POLICY_DEFAULT},
    {4, 1025, TSR_F32, TSR_POLICY_KAHAN_SUM},
};

/* Row 0 is ordinary, 1 constant, 2 of huge numbers, 3 of small ones about 1. */
static void fill(tsr_dtype t, int length) {
  unsigned seed = 17;
  for (int i = 0; i < ROWS * length; i++) {
    seed = seed * 1664525 + 1013904223;
    const double u = (double)(seed >> 8) / (1 << 23) - 1;
    const int row = i / length;
    dtype_store(t, x, (size_t)i, row == 0 ? u : row == 1 ? 60000 : row == 2 ? u * 1e20 : 1 + u / 64);
  }
  for (int i = 0; i < length; i++) {
    dtype_store(t, gain, (size_t)i, 1 + (i % 7) * 0.125);
    dtype_store(t, bias, (size_t)i, (i % 5) * 0.25 - 0.5);
  }
}

static void run(const char *text, size_t n, const char *what, size_t c) {
  char name[32];
  snprintf(name, sizeof name, "%.*s", (int)strcspn(what, "\""), what);
  const tsr_schedule s = {.kernel = name, .m = 1, .warps = BLOCK_WARPS, .cluster = cases[c].cluster};
  const tsr_compile_options o = {.policy = cases[c].policy, .tune = TSR_TUNE_OFF, .schedules = &s, .n_schedules = 1};
  const void *const data[] = {x, gain, bias};
  tsr_binding in[3] = {{0}}, out = {0};
  tsr_device *dev;
  tsr_program *p;
  char *target;
  ok(tsr_device_open(ctx, "emu:1", &dev), "emu:1");
  ok(tsr_program_parse(dev, text, n, what, &o, &p), what);
  ok(tsr_program_dump(p, TSR_LEVEL_TARGET, &target, NULL), "dump");
  if (!strstr(target, "cluster_store")) {
    char *why;
    ok(tsr_program_explain(p, &why), "explain");
    fail_msg("%s, case %zu: no cluster holds the row: %.1500s", what, c, why);
  }
  tsr_text_free(ctx, &target);
  for (int i = 0; i < 3; i++) {
    size_t bytes = tsr_program_input(p, i).bytes;
    ok(tsr_buffer_create(dev, bytes, TSR_MEMORY_DEVICE, &in[i].buffer), what);
    ok(tsr_buffer_write(in[i].buffer, 0, data[i], bytes), what);
  }
  ok(tsr_buffer_create(dev, tsr_program_output(p, 0).bytes, TSR_MEMORY_DEVICE, &out.buffer), what);
  ok(tsr_program_run(p, NULL, in, &out), what);
  ok(tsr_buffer_read(out.buffer, 0, raw, tsr_program_output(p, 0).bytes), what);
  for (int i = 0; i < 3; i++) tsr_buffer_destroy(&in[i].buffer);
  tsr_buffer_destroy(&out.buffer);
  tsr_program_destroy(&p);
  tsr_device_close(&dev);
}

static void check(const char *op, size_t c) {
  const char *t = dtype_get(cases[c].t)->mlir;
  const int length = cases[c].length;
  tsr_graph *g;
  strb b;
  strb_init(&b, &al_default);
  strb_printf(&b,
              "\"tessera.graph.func\"() ({\n^bb0(%%x: tensor<%dx%dx%s>, %%g: tensor<%dx%s>, %%b: tensor<%dx%s>):\n"
              "%%y = \"tessera.graph.%s\n\"tessera.graph.return\"(%%y)\n}) {sym_name = \"main\"}\n",
              ROWS, length, t, length, t, length, t, op);
  fill(cases[c].t, length);
  ok(tsr_graph_parse(ctx, strb_text(&b), b.n, op, &g), "parse");
  ok(tsr_graph_reference(g, (const void *const[]){x, gain, bias}, (double *const[]){want},
                         (double *const[]){tolerance}),
     "reference");
  run(strb_text(&b), b.n, op, c);
  for (int i = 0; i < ROWS * length; i++) {
    const double y = dtype_load(cases[c].t, raw, (size_t)i);
    if (!(fabs(y - want[i]) <= tolerance[i]))
      fail_msg("%s, case %zu: row %d, element %d is %.9g, not %.9g within %.3g", op, c, i / length, i % length, y,
               want[i], tolerance[i]);
  }
  tsr_graph_destroy(&g);
  strb_clear(&b);
}

static void row_of_a_cluster_matches_the_reference(void **state) {
  need_device(ctx, "emu:1");
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) check(ops[i], c);
}

int main(void) {
  if (system("g++ --version >/dev/null 2>&1")) return 77;
  const void *extra[] = {&emu_backend, NULL};
  ok(tsr_context_create(&(tsr_context_desc){.cache_dir = "", .extra_backends = extra}, &ctx), "context");
  const struct CMUnitTest tests[] = {cmocka_unit_test(row_of_a_cluster_matches_the_reference)};
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  tsr_context_destroy(&ctx);
  return failed != 0;
}
