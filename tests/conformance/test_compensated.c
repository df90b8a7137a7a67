/* tests/conformance/test_compensated.c - sums under the policy kahan_sum are what IEEE says where they are not finite:
 * infinite for an infinite term and for what overflows, NaN for inf - inf and for NaN alone. Reductions of rows and of
 * columns, products and means, short and longer than a block's registers hold, in f32, f16, bf16 and f64. Finite sums
 * are exact to a rounding.
 *   TSR_TEST_DEVICE (cpu:0). Exit 77: the device is not here. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/dtype.h"
#include "tessera/tessera.h"

enum { ROWS = 7 };
typedef enum content { INFINITE, MINUS, BOTH, A_NAN, OVERFLOW, FINITE, LAST } content; /* of a row */
static const struct { const char *op, *body; bool along_columns; } cases[] = {
    {"sum", "%r = \"tessera.graph.reduce_sum\"(%a) {axes = [1]}", false},
    {"sum of columns", "%r = \"tessera.graph.reduce_sum\"(%a) {axes = [0]}", true},
    {"mean", "%r = \"tessera.graph.reduce_mean\"(%a) {axes = [1]}", false},
    {"matmul", "%r = \"tessera.graph.matmul\"(%a, %b)", false}};

/* Element i of n; the sum is `*sum`. */
static double element(content c, long i, long n, double max, double tenth, double *sum) {
  bool here = i == n / 3, there = i == n / 2;
  switch (c) {
  case INFINITE: *sum = INFINITY; return here ? INFINITY : 1;
  case LAST: *sum = INFINITY; return i == n - 1 ? INFINITY : 1;
  case MINUS: *sum = -INFINITY; return there ? -INFINITY : 1;
  case BOTH: *sum = NAN; return here ? INFINITY : there ? -INFINITY : 1;
  case A_NAN: *sum = NAN; return here ? NAN : 1;
  case OVERFLOW: *sum = INFINITY; return max;
  default: *sum = (double)n * tenth; return tenth;
  }
}

static tsr_status run(tsr_context *ctx, tsr_device *dev, const char *text, void *const *in, void *out) {
  tsr_graph *g = NULL;
  tsr_program *p = NULL;
  tsr_binding bi[2] = {{0}}, bo = {0};
  tsr_status st = tsr_graph_parse(ctx, text, strlen(text), "text", &g);
  if (!st)
    st = tsr_program_compile(dev, g, &(tsr_compile_options){.tune = TSR_TUNE_OFF, .policy = TSR_POLICY_KAHAN_SUM}, &p);
  for (int i = 0; !st && i < tsr_program_n_inputs(p); i++) {
    st = tsr_buffer_create(dev, tsr_program_input(p, i).bytes, TSR_MEMORY_DEVICE, &bi[i].buffer);
    if (!st) st = tsr_buffer_write(bi[i].buffer, 0, in[i], tsr_program_input(p, i).bytes);
  }
  if (!st) st = tsr_buffer_create(dev, tsr_program_output(p, 0).bytes, TSR_MEMORY_DEVICE, &bo.buffer);
  if (!st) st = tsr_program_run(p, NULL, bi, &bo);
  if (!st) st = tsr_buffer_read(bo.buffer, 0, out, tsr_program_output(p, 0).bytes);
  for (int i = 0; i < 2; i++) tsr_buffer_destroy(&bi[i].buffer);
  tsr_buffer_destroy(&bo.buffer);
  tsr_program_destroy(&p);
  tsr_graph_destroy(&g);
  return st;
}

/* Number of wrong rows; -1: the device can't. f16 overflows in the result only, as sums are kept in f32. */
static int one(tsr_context *ctx, tsr_device *dev, size_t k, tsr_dtype t, long n) {
  static double a[ROWS * 70000], b[70000 * 3], out[ROWS * 3];
  char text[700], type[64];
  const char *m = dtype_get(t)->mlir;
  bool product = !strcmp(cases[k].op, "matmul"), mean = !strcmp(cases[k].op, "mean"), columns = cases[k].along_columns;
  double want[ROWS], max = dtype_get(t)->max;
  dtype_store(t, a, 0, 0.1);
  const double tenth = dtype_load(t, a, 0);
  for (int r = 0; r < ROWS; r++)
    for (long i = 0; i < n; i++)
      dtype_store(t, a, columns ? (size_t)(i * ROWS + r) : (size_t)(r * n + i),
                  element((content)r, i, n, max, tenth, &want[r]));
  for (long i = 0; i < 3 * n; i++) dtype_store(t, b, (size_t)i, 1);
  snprintf(type, sizeof type, "%ldx%ldx%s", columns ? n : ROWS, columns ? (long)ROWS : n, m);
  char second[64] = "";
  if (product) snprintf(second, sizeof second, ", %%b: tensor<%ldx3x%s>", n, m);
  snprintf(text, sizeof text,
           "\"tessera.graph.func\"() ({\n^bb0(%%a: tensor<%s>%s):\n%s\n\"tessera.graph.return\"(%%r)\n}) {sym_name = "
           "\"main\"}\n",
           type, second, cases[k].body);
  tsr_status st = run(ctx, dev, text, (void *[]){a, b}, out);
  if (st) printf("%s of %s: %s\n", cases[k].op, tsr_dtype_name(t), tsr_status_message(st));
  int bad = st ? tsr_status_code(st) == TSR_UNSUPPORTED ? -1 : 1 : 0;
  tsr_status_free(st);
  for (int r = 0; r < ROWS && bad >= 0; r++) {
    double got = dtype_load(t, out, (size_t)(product ? 3 * r : r)), w = mean && isfinite(want[r]) ? tenth : want[r];
    if (mean && r == OVERFLOW && tsr_dtype_size(t) == 2 && t == TSR_F16) continue; /* the mean of what fits f32 */
    bool ok = isnan(w) ? isnan(got) : isinf(w) ? got == w : fabs(got - w) <= w * 2 * dtype_get(t)->eps;
    if (!ok) printf("FAIL %s of %ld %s, row %d: %g, not %g\n", cases[k].op, n, tsr_dtype_name(t), r, got, w);
    bad += !ok;
  }
  return bad;
}

int main(void) {
  static const tsr_dtype types[] = {TSR_F32, TSR_F64, TSR_F16, TSR_BF16};
  static const long lengths[] = {4, 100, 1000, 65537};
  const char *device = getenv("TSR_TEST_DEVICE") ? getenv("TSR_TEST_DEVICE") : "cpu:0";
  tsr_context *ctx = NULL;
  tsr_device *dev = NULL;
  int bad = 0, n = 0;
  tsr_status st = tsr_context_create(&(tsr_context_desc){.cache_dir = ""}, &ctx);
  if (!st) st = tsr_device_open(ctx, device, &dev);
  if (st) {
    printf("%s\n", tsr_status_message(st));
    int rc = tsr_status_code(st) == TSR_UNAVAILABLE ? 77 : 1;
    tsr_status_free(st);
    tsr_context_destroy(&ctx);
    return rc;
  }
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
      for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
        if (types[t] == TSR_F16 && lengths[l] > 60000) continue; /* the finite row's sum has no f16 */
        int b = one(ctx, dev, k, types[t], lengths[l]);
        n += b >= 0, bad += b > 0;
      }
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
  printf("%s: %d sums, %d wrong\n", device, n, bad);
  return bad || !n;
}
