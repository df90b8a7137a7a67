/* Values that conversion decides about: integers that don't fit where they are cast to wrap; what is hidden from
 * attention stays so. And models whose shapes, pads, repeats and scales are floats: whole numbers count as what they
 * are, NaN, infinities and fractions are refused in one line, and nothing is converted that C leaves undefined. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>
#include <math.h>

#include "core/import/onnx.h"
#include "core/import/onnx/convert.h"
#include "core/ir/graph/eval.h"
#include "core/ir/graph/ops.h"
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

/* ---- values ------------------------------------------------------------------------------------------------------ */

static void add_data(message *g, const char *name, int type, int rank, const int64_t *dims, const void *data,
                     size_t n) {
  message t = tensor(name, type, rank, dims);
  bytes(&t, 9, data, n);
  inside(g, 5, &t);
}

/* What the only output of a model without inputs is. */
static void evaluate(const message *g, void *out) {
  message m = model_of(g, 23);
  onnx_model *read;
  ir_module *module;
  assert_null(onnx_parse(m.p, m.n, "m.onnx", &read));
  tsr_status st = onnx_convert(read, &(onnx_options){.any_dim = 2}, NULL, &module, NULL);
  if (st) fail_msg("%s", tsr_status_message(st));
  onnx_close(&read);
  assert_null(graph_eval(graph_find_func(module, NULL), NULL, (void *const[]){out}, NULL));
  ir_module_destroy(&module);
}

static void casts_between_integers_wrap(void **state) {
  static const struct { int type, bytes; bool is_signed; } types[] = {{3, 1, true},  {2, 1, false}, {5, 2, true},
                                                                      {4, 2, false}, {6, 4, true},  {12, 4, false},
                                                                      {7, 8, true},  {13, 8, false}};
  enum { N = 10, TYPES = sizeof types / sizeof *types };
  static const uint64_t numbers[N] = {0, 1, 127, 128, 200, 0x8001, 0x80000005, UINT64_MAX, (uint64_t)1 << 63,
                                      0x7ffffffffffffffd};
  for (int a = 0; a < TYPES; a++)
    for (int b = 0; b < TYPES; b++) {
      unsigned char in[8 * N], want[8 * N], got[8 * N + 64];
      for (int i = 0; i < N; i++) {
        uint64_t v = numbers[i];
        const int shift = 64 - 8 * types[a].bytes;
        memcpy(in + i * types[a].bytes, &v, (size_t)types[a].bytes);
        v = types[a].is_signed ? (uint64_t)((int64_t)(v << shift) >> shift) : v << shift >> shift;
        memcpy(want + i * types[b].bytes, &v, (size_t)types[b].bytes);
      }
      message g = {.n = 0}, o = node_of("Cast", NAMES("x"), NAMES("y"));
      add_int(&o, "to", types[b].type);
      add_data(&g, "x", types[a].type, 1, (int64_t[]){N}, in, (size_t)(N * types[a].bytes));
      inside(&g, 1, &o);
      add_value(&g, 12, "y");
      evaluate(&g, got);
      if (memcmp(got, want, (size_t)(N * types[b].bytes))) fail_msg("type %d to %d", types[a].type, types[b].type);
    }
}

static void large_numbers_are_exact(void **state) {
  const int64_t large = ((int64_t)1 << 53) + 1, steps[3] = {large, large + 3, 1}, size = 2;
  int64_t got[8];
  message g = {.n = 0}, o = node_of("Range", NAMES("a", "b", "c"), NAMES("y"));
  for (int i = 0; i < 3; i++) add_data(&g, (const char *[]){"a", "b", "c"}[i], I64, 0, NULL, &steps[i], 8);
  inside(&g, 1, &o);
  add_value(&g, 12, "y");
  evaluate(&g, got);
  for (int i = 0; i < 3; i++) assert_true(got[i] == large + i);
  message h = {.n = 0}, fill = node_of("ConstantOfShape", NAMES("s"), NAMES("y")),
          t = tensor("", I64, 1, (int64_t[]){1});
  bytes(&t, 9, &large, 8);
  add_tensor(&fill, "value", &t);
  add_data(&h, "s", I64, 1, (int64_t[]){1}, &size, 8);
  inside(&h, 1, &fill);
  add_value(&h, 12, "y");
  evaluate(&h, got);
  assert_true(got[0] == large && got[1] == large);
}

static void hidden_keys_stay_hidden(void **state) {
  const float zeros[4] = {0}, v[2] = {0, 100};
  float got[4];
  message g = {.n = 0}, o = node_of("Attention", NAMES("q", "q", "v"), NAMES("y"));
  add_int(&o, "is_causal", 1);
  add_float(&o, "softcap", 2);
  add_data(&g, "q", F32, 4, (int64_t[]){1, 1, 2, 1}, zeros, 8);
  add_data(&g, "v", F32, 4, (int64_t[]){1, 1, 2, 1}, v, 8);
  inside(&g, 1, &o);
  add_value(&g, 12, "y");
  evaluate(&g, got);
  assert_true(got[0] == 0 && fabsf(got[1] - 50) < 1e-4f);
}

/* Two rows of three keys, of which the first sees two: by a mask of numbers, of each query's numbers, by how many there
 * are, by where they end and begin. */
static void masks_of_all_forms_hide_the_same_keys(void **state) {
  static const int32_t keys[] = {1, 1, 0, 1, 1, 1}, each[] = {1, 1, 0, 1, 1, 0, 1, 1, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1},
                       lengths[] = {2, 3}, ends[] = {2, 3, 0, 0};
  static const struct { const int32_t *m; int rank; int64_t dims[3]; } forms[] = {
      {keys, 2, {2, 3}}, {each, 3, {2, 3, 3}}, {lengths, 1, {2}}, {ends, 1, {4}}};
  float x[24], got[2][24];
  for (int i = 0; i < 24; i++) x[i] = (float)(i * 37 % 23) / 8 - 1;
  for (int f = 0; f < 4; f++) {
    message g = {.n = 0}, o = node_of("MultiHeadAttention", NAMES("x", "x", "x", "", "m"), NAMES("y"));
    int64_t n = 1;
    for (int i = 0; i < forms[f].rank; i++) n *= forms[f].dims[i];
    text(&o, 7, "com.microsoft");
    add_int(&o, "num_heads", 2);
    add_data(&g, "x", F32, 3, (int64_t[]){2, 3, 4}, x, sizeof x);
    add_data(&g, "m", 6, forms[f].rank, forms[f].dims, forms[f].m, (size_t)n * 4);
    inside(&g, 1, &o);
    add_value(&g, 12, "y");
    evaluate(&g, got[f > 0]);
    if (f) assert_memory_equal(got[1], got[0], sizeof got[0]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(whole_numbers_may_be_floats),
      cmocka_unit_test(others_are_refused),
      cmocka_unit_test(triangles_have_frequencies),
      cmocka_unit_test(casts_between_integers_wrap),
      cmocka_unit_test(large_numbers_are_exact),
      cmocka_unit_test(hidden_keys_stay_hidden),
      cmocka_unit_test(masks_of_all_forms_hide_the_same_keys),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
