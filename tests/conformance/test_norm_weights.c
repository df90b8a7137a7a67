/* Norms of f64 rows whose weights are f32, as layernorm and rmsnorm take them: given, computed by the kernel itself,
 * one number, the same twice; rows that a block holds whole and rows in chunks. Against the formulas in f64. */
#include <math.h>
#include <stdio.h>

#include "tests/conformance/device_run.h"
#include "tests/conformance/open_device.h"

enum { ROWS = 3, MOST = 40000 };

/* %x [3, n] f64, %w [n] f32 -> %0 */
static const struct { const char *name, *body; bool centred, beta; double factor, shift; } forms[] = {
    {"given", "%0 = \"tessera.graph.rmsnorm\"(%x, %w) {eps = 0.5}\n", false, false, 1, 0},
    {"computed", "%v = \"tessera.graph.neg\"(%w)\n%0 = \"tessera.graph.rmsnorm\"(%x, %v) {eps = 0.5}\n", false, false,
     -1, 0},
    {"given twice", "%0 = \"tessera.graph.layernorm\"(%x, %w, %w) {eps = 0.5}\n", true, true, 1, 0},
    {"computed twice", "%v = \"tessera.graph.neg\"(%w)\n%0 = \"tessera.graph.layernorm\"(%x, %v, %v) {eps = 0.5}\n",
     true, true, -1, 0},
    {"numbers", "%v = \"tessera.graph.constant\"() {value = dense<3.0> : tensor<%nxf32>}\n"
                "%0 = \"tessera.graph.layernorm\"(%x, %v, %v) {eps = 0.5}\n",
     true, true, 0, 3},
};

static double x[ROWS * MOST], got[ROWS * MOST];
static float w[MOST];

/* The first element of the row at which a result isn't what the formula says; n: none. */
static int differs(int f, const double *row, const double *y, int n) {
  double mean = 0, square = 0;
  for (int i = 0; i < n && forms[f].centred; i++) mean += row[i] / n;
  for (int i = 0; i < n; i++) square += (row[i] - mean) * (row[i] - mean) / n;
  for (int i = 0; i < n; i++) {
    const double weight = forms[f].factor * w[i] + forms[f].shift,
                 want = (row[i] - mean) / sqrt(square + 0.5) * weight + (forms[f].beta ? weight : 0);
    if (!(fabs(y[i] - want) <= 1e-11 * (1 + fabs(want)))) {
      printf("FAIL %s, rows of %d: element %d is %.17g, not %.17g\n", forms[f].name, n, i, y[i], want);
      return i;
    }
  }
  return n;
}

int main(void) {
  static const int lengths[] = {1, 2, 33, 300, MOST};
  tsr_context *ctx;
  tsr_device *dev;
  const char *device;
  int wrong = 0, rc = open_for_test(&(tsr_context_desc){.cache_dir = ""}, &ctx, &dev, &device);
  if (rc) return rc;
  for (int i = 0; i < ROWS * MOST; i++) x[i] = i * 37 % 101 / 16.0 - 2;
  for (int i = 0; i < MOST; i++) w[i] = (float)(1 + i * 29 % 64 / 64.0);
  for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++)
    for (int f = 0; f < (int)(sizeof forms / sizeof *forms); f++) {
      const int n = lengths[l];
      char text[900], body[400], *at;
      snprintf(body, sizeof body, "%s", forms[f].body);
      if ((at = strstr(body, "%n"))) { /* the numbers' extent */
        char rest[200];
        snprintf(rest, sizeof rest, "%d%s", n, at + 2);
        snprintf(at, sizeof body - (size_t)(at - body), "%s", rest);
      }
      snprintf(text, sizeof text,
               "\"tessera.graph.func\"() ({\n^bb0(%%x: tensor<%dx%dxf64>, %%w: tensor<%dxf32>):\n%s"
               "\"tessera.graph.return\"(%%0)\n}) {sym_name = \"main\"}\n",
               ROWS, n, n, body);
      tsr_status st = device_run(dev, text, NULL, (const void *const[]){x, w}, (void *const[]){got});
      if (st) printf("FAIL %s, rows of %d: %s\n", forms[f].name, n, tsr_status_message(st)), wrong++;
      for (int r = 0; r < ROWS && !st; r++)
        if (differs(f, x + r * n, got + r * n, n) < n) {
          wrong++;
          break;
        }
      tsr_status_free(st);
    }
  close_for_test(&ctx, &dev);
  return wrong > 0;
}
