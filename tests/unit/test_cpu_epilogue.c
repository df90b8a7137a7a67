/* Where the CPU accumulates a product that has an epilogue: in the memory of the result, unless the epilogue reads that
 * memory (a sum that is carried on, written by hand) or the result has another type. Results are right for ragged
 * sizes, one and several blocks of k. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/dtype.h"
#include "tests/support/api_check.h"

typedef enum form { BIAS_GELU, ROW_SCALE, SQUARE, TWO_VECTORS, RESIDUAL, BIAS_RESIDUAL, N_FORMS } form;
enum { A, B, COLUMNS, ROWS, FULL, N_INPUTS };

static tsr_value op(tsr_graph *g, const char *name, tsr_value x, tsr_value y) {
  tsr_value out;
  OK(tsr_graph_op(g, name, (tsr_value[]){x, y}, strcmp(name, "gelu") ? 2 : 1, NULL, 0, &out));
  return out;
}

static tsr_graph *build(tsr_context *ctx, form f, tsr_dtype t, const int64_t s[3]) {
  const tsr_shape shapes[N_INPUTS] = {
      {2, {s[0], s[2]}}, {2, {s[2], s[1]}}, {1, {s[1]}}, {2, {s[0], 1}}, {2, {s[0], s[1]}}};
  static const char *const names[N_INPUTS] = {"A", "B", "columns", "rows", "full"};
  tsr_graph *g;
  tsr_value v[N_INPUTS], y;
  OK(tsr_graph_create(ctx, "main", &g));
  for (int i = 0; i < N_INPUTS; i++) OK(tsr_graph_input(g, names[i], t, shapes[i], &v[i]));
  y = op(g, "matmul", v[A], v[B]);
  if (f == BIAS_GELU) y = op(g, "gelu", op(g, "add", y, v[COLUMNS]), v[0]);
  if (f == ROW_SCALE) y = op(g, "mul", y, v[ROWS]);
  if (f == SQUARE) y = op(g, "mul", y, y);
  if (f == TWO_VECTORS) y = op(g, "add", op(g, "mul", y, v[ROWS]), v[COLUMNS]);
  if (f == RESIDUAL) y = op(g, "add", y, v[FULL]);
  if (f == BIAS_RESIDUAL) y = op(g, "add", op(g, "add", y, v[COLUMNS]), v[FULL]);
  OK(tsr_graph_output(g, y));
  return g;
}

/* The call of the product writes a window of the result, no scratch tile. */
static bool in_place(tsr_context *ctx, const tsr_program *p) {
  char *text;
  OK(tsr_program_dump(p, TSR_LEVEL_TARGET, &text, NULL));
  const char *call = strstr(text, "fn = \"matmul\"");
  assert_non_null(call);
  const char *type = strstr(call, "} : (");
  assert_non_null(type);
  bool yes = !strncmp(type + 5, "!tessera.view", 13);
  tsr_text_free(ctx, &text);
  return yes;
}

static double run(tsr_context *ctx, tsr_device *dev, form f, tsr_dtype t, const int64_t s[3],
                  bool *accumulates_in_place) {
  tsr_graph *g = build(ctx, f, t, s);
  tsr_program *p;
  OK(tsr_program_compile(dev, g, &(tsr_compile_options){.tune = TSR_TUNE_OFF}, &p));
  assert_int_equal(tsr_program_n_kernels(p), 1);
  *accumulates_in_place = in_place(ctx, p);
  tsr_binding in[N_INPUTS] = {{0}}, out = {0};
  void *data[N_INPUTS];
  uint32_t seed = 7;
  for (int i = 0; i < N_INPUTS; i++) {
    size_t bytes = tsr_program_input(p, i).bytes;
    assert_non_null(data[i] = malloc(bytes));
    for (size_t k = 0; k < bytes / tsr_dtype_size(t); k++) {
      seed = seed * 1664525u + 1013904223u;
      dtype_store(t, data[i], (int64_t)k, (double)(seed >> 8) / 8388608.0 - 1);
    }
    OK(tsr_buffer_create(dev, bytes, TSR_MEMORY_DEVICE, &in[i].buffer));
    OK(tsr_buffer_write(in[i].buffer, 0, data[i], bytes));
  }
  size_t bytes = tsr_program_output(p, 0).bytes, n = bytes / tsr_dtype_size(t);
  OK(tsr_buffer_create(dev, bytes, TSR_MEMORY_DEVICE, &out.buffer));
  void *got = malloc(bytes);
  double *want = malloc(n * sizeof *want), *tolerance = malloc(n * sizeof *tolerance), worst = 0;
  assert_true(got && want && tolerance);
  OK(tsr_program_run(p, NULL, in, &out));
  OK(tsr_buffer_read(out.buffer, 0, got, bytes));
  OK(tsr_graph_reference(g, (const void *const *)data, &want, &tolerance));
  for (size_t i = 0; i < n; i++) {
    double err = fabs(dtype_load(t, got, (int64_t)i) - want[i]) / tolerance[i];
    if (!(err <= worst)) worst = err;
  }
  tsr_buffer_destroy(&out.buffer);
  for (int i = 0; i < N_INPUTS; i++) tsr_buffer_destroy(&in[i].buffer), free(data[i]);
  free(got), free(want), free(tolerance);
  tsr_program_destroy(&p);
  tsr_graph_destroy(&g);
  return worst;
}

static void product_accumulates_in_the_result(void **state) {
  static const int64_t shapes[][3] = {{64, 64, 64}, {37, 101, 19}, {1, 300, 70}, {200, 1, 33}, {53, 70, 2100}};
  static const tsr_dtype types[] = {TSR_F32, TSR_BF16};
  tsr_context *ctx;
  tsr_device *dev;
  OK(tsr_context_create(NULL, &ctx));
  OK(tsr_device_open(ctx, "cpu:0", &dev));
  for (int f = 0; f < N_FORMS; f++)
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
      for (size_t t = 0; t < 2; t++) {
        bool have;
        double worst = run(ctx, dev, (form)f, types[t], shapes[s], &have);
        if (!(worst <= 1))
          fail_msg("form %d, shape %zu, %s: error %g of the tolerance", f, s, tsr_dtype_name(types[t]), worst);
        if (have != (types[t] == TSR_F32))
          fail_msg("form %d, shape %zu, %s: in place %d", f, s, tsr_dtype_name(types[t]), have);
      }
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
}

/* C = A B + C, written by hand: the sum is read before it is overwritten. */
static void sum_carried_on_is_not_overwritten(void **state) {
  static const char text[] =
      "\"builtin.module\"() ({\n\"tessera.tile.program\"() ({\n^bb0(%A: tensor<8x8xf32>):\n%C = \"tessera.tile.buffer\"() : () -> tensor<8x8xf32>\n"
      "\"tessera.tile.launch\"(%A, %C) {kernel = \"copy\"}\n\"tessera.tile.launch\"(%A, %C) {kernel = \"carry\"}\n\"tessera.tile.return\"(%C)\n}) {sym_name = \"main\"}\n"
      "\"tessera.tile.kernel\"() ({\n^bb0(%a: !tessera.view<8x8xf32>, %c: !tessera.view<8x8xf32>):\n%z = \"tessera.tile.const\"() {value = 0}\n"
      "%v = \"tessera.tile.window\"(%a, %z, %z) {sizes = [8, 8]}\n%w = \"tessera.tile.window\"(%c, %z, %z) {sizes = [8, 8]}\n%x = \"tessera.tile.load\"(%v)\n"
      "\"tessera.tile.store\"(%x, %w)\n\"tessera.tile.return\"()\n}) {sym_name = \"copy\", grid = [1, 1, 1], outputs = 1}\n"
      "\"tessera.tile.kernel\"() ({\n^bb0(%a: !tessera.view<8x8xf32>, %c: !tessera.view<8x8xf32>):\n%z = \"tessera.tile.const\"() {value = 0}\n%n = \"tessera.tile.const\"() {value = 8}\n"
      "%w = \"tessera.tile.window\"(%c, %z, %z) {sizes = [8, 8]}\n%f = \"tessera.tile.fill\"() {value = 0.0} : () -> !tessera.frag<8x8xf32>\n"
      "%p = \"tessera.tile.alloc\"() : () -> !tessera.shared<8x8xf32>\n%q = \"tessera.tile.alloc\"() : () -> !tessera.shared<8x8xf32>\n"
      "%r = \"tessera.tile.for\"(%z, %n, %n, %f) ({\n^bb0(%k: index, %y: !tessera.frag<8x8xf32>):\n%s = \"tessera.tile.window\"(%a, %z, %k) {sizes = [8, 8]}\n\"tessera.tile.copy\"(%s, %p)\n"
      "%t = \"tessera.tile.window\"(%a, %k, %z) {sizes = [8, 8]}\n\"tessera.tile.copy\"(%t, %q)\n\"tessera.tile.wait\"()\n%g = \"tessera.tile.gemm\"(%y, %p, %q)\n\"tessera.tile.yield\"(%g)\n})\n"
      "%u = \"tessera.tile.window\"(%c, %z, %z) {sizes = [8, 8]}\n%o = \"tessera.tile.load\"(%u)\n%m = \"tessera.tile.map\"(%r, %o) ({\n^bb0(%x: f32, %h: f32):\n%d = \"tessera.tile.add\"(%x, %h)\n"
      "\"tessera.tile.yield\"(%d)\n})\n\"tessera.tile.store\"(%m, %w)\n\"tessera.tile.return\"()\n}) {sym_name = \"carry\", grid = [1, 1, 1], outputs = 1}\n}) : () -> ()\n";
  tsr_context *ctx;
  tsr_device *dev;
  tsr_program *p;
  tsr_binding in = {0}, out = {0};
  float a[64], c[64];
  OK(tsr_context_create(NULL, &ctx));
  OK(tsr_device_open(ctx, "cpu:0", &dev));
  OK(tsr_program_parse(dev, text, sizeof text - 1, "carry", NULL, &p));
  for (int i = 0; i < 64; i++) a[i] = (float)(i % 7) - 2;
  OK(tsr_buffer_create(dev, sizeof a, TSR_MEMORY_DEVICE, &in.buffer));
  OK(tsr_buffer_create(dev, sizeof c, TSR_MEMORY_DEVICE, &out.buffer));
  OK(tsr_buffer_write(in.buffer, 0, a, sizeof a));
  OK(tsr_program_run(p, NULL, &in, &out));
  OK(tsr_buffer_read(out.buffer, 0, c, sizeof c));
  for (int i = 0; i < 64; i++) {
    float want = a[i];
    for (int k = 0; k < 8; k++) want += a[i / 8 * 8 + k] * a[k * 8 + i % 8];
    assert_true(c[i] == want);
  }
  tsr_buffer_destroy(&in.buffer);
  tsr_buffer_destroy(&out.buffer);
  tsr_program_destroy(&p);
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(product_accumulates_in_the_result),
                                     cmocka_unit_test(sum_carried_on_is_not_overwritten)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
