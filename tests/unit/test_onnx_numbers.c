/* Models whose shapes, pads, repeats and scales are floats: whole numbers count as what they are, NaN, infinities and
 * fractions are refused in one line, and nothing is converted that C leaves undefined. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>
#include <math.h>

#include "core/import/onnx.h"
#include "core/import/onnx/convert.h"
#include "tests/support/onnx_message.h"

/* OP(x, numbers): x is [2, 3], `numbers` n floats v; after `empty` operands that are left out. */
static tsr_status convert(const char *op, int empty, const float *v, int n, ir_module **out) {
  message g = {.n = 0}, x = value("x", 1, "N", 3), o;
  inside(&g, 11, &x);
  add_floats(&g, "numbers", 1, (int64_t[]){n}, v, (size_t)n);
  static const char *const at[3][5] = {{"x", "numbers"}, {"x", "", "numbers"}, {"x", "", "", "numbers"}};
  o = node_of(op, at[empty], NAMES("y"));
  if (!strcmp(op, "Resize")) add_string(&o, "keep_aspect_ratio_policy", "not_larger");
  inside(&g, 1, &o);
  add_value(&g, 12, "y");
  message m = model(&g);
  onnx_model *read;
  *out = NULL;
  tsr_status st = onnx_parse(m.p, m.n, "m.onnx", &read);
  if (st) return st;
  st = onnx_convert(read, &(onnx_options){.any_dim = 2}, NULL, out, NULL);
  onnx_close(&read);
  return st;
}

static const struct {
  const char *op;
  int empty, n;
  float good[4];
} rows[] = {
    {"Reshape", 0, 2, {3, 2}},
    {"Tile", 0, 2, {1, 2}},
    {"Expand", 0, 2, {2, 3}},
    {"Pad", 0, 4, {1, 0, 0, 2}},
    {"Resize", 1, 2, {2, 2}}, /* scales */
    {"Resize", 2, 2, {4, 6}}, /* sizes */
};

static void whole_numbers_may_be_floats(void **state) {
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    ir_module *m;
    tsr_status st = convert(rows[i].op, rows[i].empty, rows[i].good, rows[i].n, &m);
    if (st) fail_msg("%s: %s", rows[i].op, tsr_status_message(st));
    ir_module_destroy(&m);
  }
}

static void others_are_refused(void **state) {
  static const float bad[] = {NAN, INFINITY, -INFINITY, 1e30f, -1e30f, 0x1p63f, 1.5f};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
      for (int at = 0; at < rows[i].n; at++) {
        const bool is_scale = !strcmp(rows[i].op, "Resize") && rows[i].empty == 1;
        float v[4];
        ir_module *m;
        memcpy(v, rows[i].good, sizeof v);
        v[at] = bad[k];
        tsr_status st = convert(rows[i].op, rows[i].empty, v, rows[i].n, &m);
        if (is_scale && bad[k] == 1.5f) { /* the only one that is a scale */
          assert_null(st);
          ir_module_destroy(&m);
          continue;
        }
        if (!st) fail_msg("%s with %g was taken", rows[i].op, (double)bad[k]);
        assert_null(strchr(tsr_status_message(st), '\n'));
        tsr_status_free(st);
      }
    }
  }
}

/* Frequencies that no number of a spectrum's bins is. */
static void triangles_have_frequencies(void **state) {
  static const float bad[] = {NAN, INFINITY, -1e30f, 1e30f};
  for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
    message g = {.n = 0}, o = node_of("MelWeightMatrix", NAMES("bins", "points", "rate", "low", "high"), NAMES("y"));
    add_ints(&g, "bins", 0, NULL, (int64_t[]){4}, 1);
    add_ints(&g, "points", 0, NULL, (int64_t[]){64}, 1);
    add_ints(&g, "rate", 0, NULL, (int64_t[]){8000}, 1);
    add_floats(&g, "low", 0, NULL, (float[]){0}, 1);
    add_floats(&g, "high", 0, NULL, &bad[k], 1);
    inside(&g, 1, &o);
    add_value(&g, 12, "y");
    message m = model(&g);
    onnx_model *read;
    ir_module *module = NULL;
    assert_null(onnx_parse(m.p, m.n, "m.onnx", &read));
    tsr_status st = onnx_convert(read, &(onnx_options){.any_dim = 2}, NULL, &module, NULL);
    onnx_close(&read);
    if (!st) fail_msg("a frequency of %g was taken", (double)bad[k]);
    assert_non_null(strstr(tsr_status_message(st), "frequencies beyond the spectrum"));
    tsr_status_free(st);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(whole_numbers_may_be_floats),
      cmocka_unit_test(others_are_refused),
      cmocka_unit_test(triangles_have_frequencies),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
