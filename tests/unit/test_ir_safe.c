/* What the verifier lets through is safe to run: programs that break a rule are refused, and those at the rules' edges run on cpu:0 with the
 * results that their text gives. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/str.h"
#include "tests/support/ir_run.h"

static tsr_context *ctx;
static tsr_device *dev;

static int open_cpu(void **state) {
  tsr_status st = tsr_context_create(&(tsr_context_desc){.cache_dir = ""}, &ctx);
  if (!st) st = tsr_device_open(ctx, "cpu:0", &dev);
  if (!st) return 0;
  printf("%s\n", tsr_status_message(st));
  tsr_status_free(st);
  return 1;
}

static int close_cpu(void **state) {
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
  return 0;
}

static void runs(const char *text, void *out, size_t bytes) {
  tsr_status st = ir_run(dev, text, out, bytes);
  if (st) fail_msg("%s\n%.3000s", tsr_status_message(st), text);
}

/* ---- long programs --------------------------------------------------------------------------------------------- */

/* More registers than 16 bits count: the map reads the last one. */
static void map_reads_register_beyond_65536(void **state) {
  enum { N = 70000 };
  float y[4];
  strb b;
  strb_init(&b, NULL);
  strb_puts(&b, "\"builtin.module\"() ({\n\"tessera.target.program\"() ({\n^bb0(%A: tensor<4xf32>):\n%B = \"tessera.target.buffer\"() : () -> tensor<4xf32>\n"
                "\"tessera.target.launch\"(%A, %B) {kernel = \"k\"}\n\"tessera.target.return\"(%B)\n}) {sym_name = \"main\"}\n"
                "\"tessera.target.kernel\"() ({\n^bb0(%a: !tessera.view<4xf32>, %b: !tessera.view<4xf32>):\n");
  for (int i = 0; i < N; i++) strb_printf(&b, "%%c%d = \"tessera.target.const\"() {value = %d.0 : f64} : () -> f32\n", i, i);
  strb_printf(&b, "\"tessera.target.map\"(%%b, %%a) ({\n^bb0(%%x: f32):\n%%y = \"tessera.target.add\"(%%x, %%c%d)\n\"tessera.target.yield\"(%%y)\n})\n"
                  "\"tessera.target.return\"()\n}) {sym_name = \"k\", dialect = \"cpu\", grid = [1, 1, 1], outputs = 1}\n})\n", N - 1);
  runs(strb_text(&b), y, sizeof y);
  for (int i = 0; i < 4; i++) assert_true(y[i] == (float)(1 + i % 2 + N - 1));
  strb_clear(&b);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(map_reads_register_beyond_65536)};
  return cmocka_run_group_tests(tests, open_cpu, close_cpu);
}
