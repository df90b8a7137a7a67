/* Products whose sums or results have another type than what is fused behind them computes with: f32 to f64, f64 to
 * f32 and f16, f32 with sums in f64, behind them a number for each column or themselves; one row and many, sums of
 * which a part is left over and long ones. Whole numbers, so that results are exact. */
#include <stdio.h>

#include "tests/conformance/device_run.h"
#include "tests/conformance/open_device.h"

enum { MOST = 300, ROWS = 5, COLUMNS = 7 };

static const struct { const char *in, *attributes, *out; } types[] = {
    {"f32", "out_dtype = \"f64\"", "f64"},
    {"f64", "out_dtype = \"f32\"", "f32"},
    {"f64", "out_dtype = \"f16\"", "f16"},
    {"f32", "accum_dtype = \"f64\"", "f32"},
    {"f32", "accum_dtype = \"f64\", out_dtype = \"f16\"", "f16"},
};

/* %s [m, n] of the product's type */
static const char *const forms[] = {"%s = \"tessera.graph.add\"(%y, %b)\n",
                                    "%t = \"tessera.graph.neg\"(%y)\n%s = \"tessera.graph.mul\"(%t, %y)\n"};

static double element(int form, double y, double b) { return form == 0 ? y + b : -y * y; }

static int run_one(tsr_device *dev, int t, int form, int m, int k) {
  static double x[ROWS * MOST], w[MOST * COLUMNS], b[COLUMNS], got[ROWS * COLUMNS];
  char text[1400];
  for (int i = 0; i < m * k; i++) x[i] = i * 37 % 5 % 3 - 1;
  for (int i = 0; i < k * COLUMNS; i++) w[i] = i / COLUMNS % 7 ? 0 : i * 29 % 7 - 3; /* f16 holds the squares, too */
  for (int i = 0; i < COLUMNS; i++) b[i] = i % 11 - 5;
  snprintf(text, sizeof text,
           "\"tessera.graph.func\"() ({\n"
           "^bb0(%%x0: tensor<%dx%dxf64>, %%w0: tensor<%dx%dxf64>, %%b0: tensor<%dxf64>):\n"
           "%%x = \"tessera.graph.cast\"(%%x0) {dtype = \"%s\"}\n%%w = \"tessera.graph.cast\"(%%w0) {dtype = \"%s\"}\n"
           "%%b = \"tessera.graph.cast\"(%%b0) {dtype = \"%s\"}\n%%y = \"tessera.graph.matmul\"(%%x, %%w) {%s}\n%s"
           "%%0 = \"tessera.graph.cast\"(%%s) {dtype = \"f64\"}\n"
           "\"tessera.graph.return\"(%%0)\n}) {sym_name = \"main\"}\n",
           m, k, k, COLUMNS, COLUMNS, types[t].in, types[t].in, types[t].out, types[t].attributes, forms[form]);
  tsr_status st = device_run(dev, text, NULL, (const void *const[]){x, w, b}, (void *const[]){got});
  if (st) {
    printf("FAIL %s {%s}, form %d, %d rows, k %d: %s\n", types[t].in, types[t].attributes, form, m, k,
           tsr_status_message(st));
    tsr_status_free(st);
    return 1;
  }
  for (int e = 0; e < m * COLUMNS; e++) {
    double y = 0;
    for (int i = 0; i < k; i++) y += x[e / COLUMNS * k + i] * w[i * COLUMNS + e % COLUMNS];
    const double want = element(form, y, b[e % COLUMNS]);
    if (got[e] == want) continue;
    printf("FAIL %s {%s}, form %d, %d rows, k %d: element %d is %g, not %g\n", types[t].in, types[t].attributes, form,
           m, k, e, got[e], want);
    return 1;
  }
  return 0;
}

int main(void) {
  static const struct { int m, k; } shapes[] = {{1, 65}, {ROWS, 65}, {ROWS, MOST}};
  tsr_context *ctx;
  tsr_device *dev;
  const char *device;
  int wrong = 0, rc = open_for_test(&(tsr_context_desc){.cache_dir = ""}, &ctx, &dev, &device);
  if (rc) return rc;
  for (int t = 0; t < (int)(sizeof types / sizeof *types); t++)
    for (int form = 0; form < (int)(sizeof forms / sizeof *forms); form++)
      for (int i = 0; i < 3; i++) wrong += run_one(dev, t, form, shapes[i].m, shapes[i].k);
  close_for_test(&ctx, &dev);
  return wrong > 0;
}
