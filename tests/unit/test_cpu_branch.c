/* Branches of hand-written block programs on the CPU: the logical complement of a bool decides as its opposite. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/api_check.h"

/* y = x < 1 ? 7 : 9, by a branch on not (x < 1). */
static const char text[] =
    "\"builtin.module\"() ({\n\"tessera.tile.program\"() ({\n^bb0(%X: tensor<1xi32>):\n"
    "%Y = \"tessera.tile.buffer\"() : () -> tensor<1x1xf32>\n"
    "\"tessera.tile.launch\"(%X, %Y) {kernel = \"k\"}\n\"tessera.tile.return\"(%Y)\n}) {sym_name = \"main\"}\n"
    "\"tessera.tile.kernel\"() ({\n^bb0(%x: !tessera.view<1xi32>, %y: !tessera.view<1x1xf32>):\n"
    "%zero = \"tessera.tile.const\"() {value = 0}\n%one = \"tessera.tile.const\"() {value = 1}\n"
    "%n32 = \"tessera.tile.load_scalar\"(%x, %zero)\n%n = \"tessera.tile.cast\"(%n32) : (i32) -> index\n"
    "%below = \"tessera.tile.compare\"(%n, %one) {predicate = \"lt\"}\n%above = \"tessera.tile.not\"(%below)\n"
    "%r = \"tessera.tile.if\"(%above) ({\n"
    "%a = \"tessera.tile.fill\"() {value = 9.0} : () -> !tessera.frag<1x1xf32>\n\"tessera.tile.yield\"(%a)\n}, {\n"
    "%b = \"tessera.tile.fill\"() {value = 7.0} : () -> !tessera.frag<1x1xf32>\n\"tessera.tile.yield\"(%b)\n})\n"
    "\"tessera.tile.store\"(%r, %y)\n\"tessera.tile.return\"()\n"
    "}) {sym_name = \"k\", grid = [1, 1, 1], outputs = 1}\n}) : () -> ()\n";

static void not_of_a_bool_is_logical(void **state) {
  tsr_context *ctx;
  tsr_device *dev;
  tsr_program *p;
  OK(tsr_context_create(&(tsr_context_desc){.cache_dir = ""}, &ctx));
  OK(tsr_device_open(ctx, "cpu:0", &dev));
  OK(tsr_program_parse(dev, text, strlen(text), "branch", NULL, &p));
  for (int32_t x = -1; x <= 3; x++) {
    tsr_binding in = {0}, out = {0};
    float y = 0;
    OK(tsr_buffer_create(dev, sizeof x, TSR_MEMORY_DEVICE, &in.buffer));
    OK(tsr_buffer_create(dev, sizeof y, TSR_MEMORY_DEVICE, &out.buffer));
    OK(tsr_buffer_write(in.buffer, 0, &x, sizeof x));
    OK(tsr_program_run(p, NULL, &in, &out));
    OK(tsr_buffer_read(out.buffer, 0, &y, sizeof y));
    assert_true(y == (x < 1 ? 7 : 9));
    tsr_buffer_destroy(&in.buffer);
    tsr_buffer_destroy(&out.buffer);
  }
  tsr_program_destroy(&p);
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(not_of_a_bool_is_logical)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
