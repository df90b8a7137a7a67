/* Softmax divides once a row, in every lowering: rows that registers hold, and rows that are taken in chunks. The rest
 * is a product by the reciprocal, so that lowerings round alike. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/api_check.h"

static void one_division_for_each_row(void **state) {
  static const char *const ids[] = {"null:cuda", "null:hip"};
  static const int widths[] = {31, 1024, 50257};
  for (int d = 0; d < 2; d++)
    for (int w = 0; w < 3; w++) {
      tsr_context *ctx = NULL;
      tsr_device *dev = NULL;
      tsr_program *p = NULL;
      char text[400], *tile = NULL, digits[12];
      snprintf(text, sizeof text,
               "\"tessera.graph.func\"() ({\n^bb0(%%A: tensor<64x%dxf32>):\n%%0 = \"tessera.graph.softmax\"(%%A)\n"
               "\"tessera.graph.return\"(%%0)\n}) {sym_name = \"main\"}\n",
               widths[w]);
      OK(tsr_context_create(&(tsr_context_desc){.cache_dir = ""}, &ctx));
      OK(tsr_device_open(ctx, ids[d], &dev));
      OK(tsr_program_parse(dev, text, strlen(text), "softmax",
                           &(tsr_compile_options){.tune = TSR_TUNE_OFF, .keep_after = "expand_tiles"}, &p));
      OK(tsr_program_dump_after(p, &tile));
      const char *at = strstr(tile, "tessera.tile.div"), *type = at ? strstr(at, "-> !tessera.frag<") : NULL;
      assert_non_null(type);
      assert_null(strstr(at + 1, "tessera.tile.div"));
      assert_int_equal(sscanf(type, "-> !tessera.frag<%*dx%11[0-9]x", digits), 1);
      assert_string_equal(digits, "1");
      tsr_text_free(ctx, &tile);
      tsr_program_destroy(&p);
      tsr_device_close(&dev);
      tsr_context_destroy(&ctx);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(one_division_for_each_row)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
