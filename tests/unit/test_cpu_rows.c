/* The CPU's fused reduction kernels, through the public interface: they're used where they should be, and the results
 * are right with them and without (the switch reduction_kernels), for lengths that fit no vector, few and many rows,
 * 16-bit rows, weights, and neighbours that keep a value alive for something else. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/dtype.h"
#include "tests/support/api_check.h"

typedef enum form { SOFTMAX, LAYERNORM, LAYERNORM_WEIGHTS, RMSNORM_WEIGHT, SCALED_SOFTMAX, SHARED_NORM, N_FORMS } form;

static tsr_value op(tsr_graph *g, const char *name, int n, const tsr_value *v) {
  tsr_value out;
  OK(tsr_graph_op(g, name, v, n, NULL, 0, &out));
  return out;
}

static tsr_graph *build(tsr_context *ctx, form f, tsr_dtype t, int64_t rows, int64_t cols) {
  tsr_graph *g;
  tsr_value x, w, b, y;
  tsr_shape full = {.rank = 2, .dims = {rows, cols}}, one = {.rank = 1, .dims = {cols}};
  OK(tsr_graph_create(ctx, "main", &g));
  OK(tsr_graph_input(g, "x", t, full, &x));
  OK(tsr_graph_input(g, "w", t, one, &w));
  OK(tsr_graph_input(g, "b", t, one, &b));
  switch (f) {
  case SOFTMAX: y = op(g, "softmax", 1, (tsr_value[]){x}); break;
  case LAYERNORM: y = op(g, "layernorm", 1, (tsr_value[]){x}); break;
  case LAYERNORM_WEIGHTS: y = op(g, "layernorm", 3, (tsr_value[]){x, w, b}); break;
  case RMSNORM_WEIGHT: y = op(g, "rmsnorm", 2, (tsr_value[]){x, w}); break;
  case SCALED_SOFTMAX: y = op(g, "softmax", 1, (tsr_value[]){op(g, "mul", 2, (tsr_value[]){x, x})}); break;
  default: y = op(g, "add", 2, (tsr_value[]){op(g, "layernorm", 1, (tsr_value[]){x}), x}); break;
  }
  OK(tsr_graph_output(g, y));
  return g;
}

static void fill(void *p, tsr_dtype t, int64_t n, uint32_t seed) {
  for (int64_t i = 0; i < n; i++) {
    seed = seed * 1664525u + 1013904223u;
    dtype_store(t, p, i, ((double)(seed >> 8) / 8388608.0 - 1) * 3);
  }
}

/* The kernel that each form is taken by as a whole, by the start of its name. */
static const char *const whole[N_FORMS] = {"row_softmax\"",   "row_normalize\"", "row_normalize\"",
                                           "row_normalize\"", "row_softmax\"",   "row_normalize\""};

/* Largest error in units of the tolerance; *calls = the target text has reduction kernels: then
 * it is one, the form's. */
static double run(tsr_context *ctx, tsr_device *dev, form f, tsr_dtype t, int64_t rows, int64_t cols,
                  const char *disable, bool *calls) {
  tsr_graph *g = build(ctx, f, t, rows, cols);
  tsr_program *p;
  tsr_compile_options co = {.tune = TSR_TUNE_OFF, .disable = disable};
  OK(tsr_program_compile(dev, g, &co, &p));
  char *text;
  OK(tsr_program_dump(p, TSR_LEVEL_TARGET, &text, NULL));
  const char *call = strstr(text, "fn = \"row_");
  *calls = call != NULL;
  if (call && (strstr(call + 1, "fn = \"row_") || strncmp(call + 6, whole[f], strlen(whole[f]))))
    fail_msg("form %d isn't one call of %.12s", f, whole[f]);
  if (call && f == SHARED_NORM && rows == 1 && strstr(text, "target.map"))
    fail_msg("one row that a norm is added to isn't taken by its kernel");
  tsr_text_free(ctx, &text);
  size_t e = tsr_dtype_size(t), n = (size_t)(rows * cols);
  void *x = malloc(n * e), *w = malloc((size_t)cols * e), *b = malloc((size_t)cols * e), *y = calloc(n, e);
  double *want = malloc(n * sizeof *want), *tolerance = malloc(n * sizeof *tolerance), worst = 0;
  assert_true(x && w && b && y && want && tolerance);
  fill(x, t, rows * cols, 1);
  fill(w, t, cols, 2);
  fill(b, t, cols, 3);
  tsr_binding in[3] = {{0}}, out = {0};
  const void *data[3] = {x, w, b};
  for (int i = 0; i < 3; i++) {
    size_t bytes = i ? (size_t)cols * e : n * e;
    OK(tsr_buffer_create(dev, bytes, TSR_MEMORY_DEVICE, &in[i].buffer));
    OK(tsr_buffer_write(in[i].buffer, 0, data[i], bytes));
  }
  OK(tsr_buffer_create(dev, n * e, TSR_MEMORY_DEVICE, &out.buffer));
  OK(tsr_program_run(p, NULL, in, &out));
  OK(tsr_buffer_read(out.buffer, 0, y, n * e));
  for (int i = 0; i < 3; i++) tsr_buffer_destroy(&in[i].buffer);
  tsr_buffer_destroy(&out.buffer);
  OK(tsr_graph_reference(g, (const void *[]){x, w, b}, &want, &tolerance));
  for (size_t i = 0; i < n; i++) {
    double err = fabs(dtype_load(t, y, (int64_t)i) - want[i]) / tolerance[i];
    if (!(err <= worst)) worst = err;
  }
  free(x), free(w), free(b), free(y), free(want), free(tolerance);
  tsr_program_destroy(&p);
  tsr_graph_destroy(&g);
  return worst;
}

static void rows_every_form_is_right_with_and_without_reduction_kernels(void **state) {
  static const int64_t shapes[][2] = {{1, 2}, {3, 17}, {5, 127}, {37, 1001}, {1, 5000}, {64, 64}};
  static const tsr_dtype types[] = {TSR_F32, TSR_BF16, TSR_F16};
  tsr_context *ctx;
  tsr_device *dev;
  OK(tsr_context_create(NULL, &ctx));
  OK(tsr_device_open(ctx, "cpu:0", &dev));
  for (int off = 0; off < 3; off++) { /* on, off by the environment, off by the compile options */
    setenv("TSR_DISABLE", off == 1 ? "reduction_kernels" : "", 1);
    for (int f = 0; f < N_FORMS; f++)
      for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
          bool calls;
          double worst = run(ctx, dev, (form)f, types[t], shapes[s][0], shapes[s][1],
                             off == 2 ? "reduction_kernels" : NULL, &calls);
          if (!(worst <= 1))
            fail_msg("form %d, %lldx%lld, %s%s: error %g of the tolerance", f, (long long)shapes[s][0],
                     (long long)shapes[s][1], tsr_dtype_name(types[t]), off ? ", without reduction kernels" : "",
                     worst);
          if (off ? calls : !calls)
            fail_msg("form %d, %lldx%lld, %s: reduction kernels %s", f, (long long)shapes[s][0],
                     (long long)shapes[s][1], tsr_dtype_name(types[t]), calls ? "in spite of the knob" : "are missing");
        }
  }
  unsetenv("TSR_DISABLE");
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
}

/* ---- reductions and attention ---------------------------------------------------------------------------------- */

#define G(op)            "\"tessera.graph." op "\""
#define GRAPH(args, ops) G("func") "() ({\n^bb0(" args "):\n" ops G("return") "(%y)\n}) : () -> ()\n"
#define OF_X(ops)        GRAPH("%x: tensor<5x33xbf16>, %w: tensor<5x33xbf16>", ops)
#define SUM(x)           G("reduce_sum") "(" x ") {axes = [1], keepdims = true}\n"
#define MOST(x)          G("reduce_max") "(" x ") {axes = [1], keepdims = true}\n"
#define MEAN(x)          G("reduce_mean") "(" x ") {axes = [1], keepdims = true}\n"
#define EXP_SUM "%d = " G("sub") "(%x, %m)\n%e = " G("exp") "(%d)\n%s = " SUM("%e")
#define SQUARES_FROM_MEAN \
  "%m = " MEAN("%x") "%d = " G("sub") "(%x, %m)\n%s = " G("mul") "(%d, %d)\n%y = " MEAN("%s")

/* What is computed of a row is told to the lowering, whatever else reads the rows. */
static const struct {
  const char *text, *calls; /* the kernels of rows, in order */
} told[] = {
    {OF_X("%y = " SUM("%x")), "row_sum "},
    {OF_X("%y = " MOST("%x")), "row_max "},
    {OF_X("%s = " G("mul") "(%x, %x)\n%y = " SUM("%s")), "row_sqdev "},
    {OF_X("%s = " G("mul") "(%x, %w)\n%y = " MEAN("%s")), "row_sum "},
    {OF_X("%s = " G("mul") "(%x, %x)\n%a = " MEAN("%x") "%b = " SUM("%s") "%y = " G("sub") "(%b, %a)\n"),
     "row_sqdev row_sum "},
    {OF_X(SQUARES_FROM_MEAN), "row_sum row_sqdev "},
    {OF_X("%m = " MOST("%x") EXP_SUM "%l = " G("log") "(%s)\n%y = " G("add") "(%l, %m)\n"), "row_max row_exp "},
    {OF_X("%m = " MEAN("%x") EXP_SUM "%y = " G("sub") "(%e, %s)\n"), "row_sum row_exp "},
    {OF_X("%m = " MEAN("%x") "%d = " G("sub") "(%x, %m)\n%q = " G("mul") "(%d, %d)\n%s = " SUM("%q")
          "%r = " G("rsqrt") "(%s)\n%y = " G("mul") "(%d, %r)\n"), "row_sum row_sqdev row_norm "},
    {OF_X("%y = " G("reduce_min") "(%x) {axes = [1]}\n"), ""},
    {GRAPH("%q: tensor<1x2x40x8xf32>, %k: tensor<1x2x40x8xf32>, %v: tensor<1x2x40x8xf32>",
           "%y = " G("flash_attention") "(%q, %k, %v)\n"), "row_max row_exp row_norm "},
};

static void rows_calls_follow_what_was_told(void **state) {
  tsr_context *ctx;
  tsr_device *dev;
  OK(tsr_context_create(NULL, &ctx));
  OK(tsr_device_open(ctx, "cpu:0", &dev));
  for (int off = 0; off < 2; off++)
    for (size_t i = 0; i < sizeof told / sizeof *told; i++) {
      const tsr_compile_options co = {.tune = TSR_TUNE_OFF, .disable = off ? "reduction_kernels" : NULL};
      char *text, calls[128] = "";
      tsr_program *p;
      OK(tsr_program_parse(dev, told[i].text, strlen(told[i].text), "told", &co, &p));
      OK(tsr_program_dump(p, TSR_LEVEL_TARGET, &text, NULL));
      for (const char *at = text; (at = strstr(at, "fn = \"row_")); at += 6)
        snprintf(calls + strlen(calls), sizeof calls - strlen(calls), "%.*s ", (int)strcspn(at + 6, "\""), at + 6);
      if (strcmp(calls, off ? "" : told[i].calls))
        fail_msg("program %zu%s: \"%s\" and not \"%s\"", i, off ? ", switched off" : "", calls, told[i].calls);
      tsr_text_free(ctx, &text);
      tsr_program_destroy(&p);
    }
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(rows_every_form_is_right_with_and_without_reduction_kernels),
                                     cmocka_unit_test(rows_calls_follow_what_was_told)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
