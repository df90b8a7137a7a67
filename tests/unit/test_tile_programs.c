/* The hand-written programs of tests/tile parse, verify and print to a text that parses to the same text again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/ir/ir.h"

static char *slurp(const char *name) {
  char path[512];
  snprintf(path, sizeof path, "%s/tests/tile/%s.mlir", TSR_SOURCE_DIR, name);
  FILE *f = fopen(path, "rb");
  assert_non_null(f);
  char *text = calloc(1, 1 << 16);
  assert_true(fread(text, 1, (1 << 16) - 1, f) > 0);
  fclose(f);
  return text;
}

static ir_module *parse(const char *text, const char *file) {
  ir_module *m = NULL;
  tsr_status st = ir_parse(NULL, text, strlen(text), file, &m);
  if (st) fail_msg("%s", tsr_status_message(st));
  return m;
}

static void programs_print_and_parse_alike(void **state) {
  static const char *const names[] = {
      "add",    "softmax", "layernorm", "matmul_f32",     "matmul_f16_bias_gelu", "matmul_direct", "flash_attention",
      "conv2d", "fft4096", "transpose", "embedding_mean", "column_stats", "contract", "uniform_element"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    char *text = slurp(names[i]);
    ir_module *m = parse(text, names[i]);
    strb a, b;
    strb_init(&a, NULL);
    strb_init(&b, NULL);
    ir_print(&a, m);
    ir_module *n = parse(strb_text(&a), names[i]);
    ir_print(&b, n);
    assert_string_equal(strb_text(&a), strb_text(&b));
    strb_clear(&a);
    strb_clear(&b);
    ir_module_destroy(&m);
    ir_module_destroy(&n);
    free(text);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(programs_print_and_parse_alike)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
