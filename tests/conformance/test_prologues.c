/* Elementwise ops in front of a product that are no longer finite at 0, of which the ends of tiles are full: divided by
 * an operand, and by numbers of one element, for sums of any length. Against the sums in f64. */
#include <math.h>
#include <stdio.h>

#include "tests/conformance/device_run.h"
#include "tests/conformance/open_device.h"

enum { ROWS = 5, COLUMNS = 7, MOST = 130 };

/* %x [5, k], %w [k, 7], %s [1, 1] */
static const struct { const char *name, *body; } forms[] = {
    {"1 / x", "%y = \"tessera.graph.div\"(%one, %x)\n%0 = \"tessera.graph.matmul\"(%y, %w)\n"},
    {"1 / w", "%y = \"tessera.graph.div\"(%one, %w)\n%0 = \"tessera.graph.matmul\"(%x, %y)\n"},
    {"-1 / x", "%z = \"tessera.graph.neg\"(%x)\n%y = \"tessera.graph.div\"(%one, %z)\n"
               "%0 = \"tessera.graph.matmul\"(%y, %w)\n"},
    {"x / s", "%y = \"tessera.graph.div\"(%x, %s)\n%0 = \"tessera.graph.matmul\"(%y, %w)\n"},
    {"w / s", "%y = \"tessera.graph.div\"(%w, %s)\n%0 = \"tessera.graph.matmul\"(%x, %y)\n"},
    {"x * s", "%y = \"tessera.graph.mul\"(%x, %s)\n%0 = \"tessera.graph.matmul\"(%y, %w)\n"},
};

static double term(int form, double x, double w, double s) {
  switch (form) {
  case 0: return w / x;
  case 1: return x / w;
  case 2: return -w / x;
  case 5: return x * s * w;
  default: return x * w / s;
  }
}

int main(void) {
  static const int lengths[] = {1, 2, 3, 5, 8, 17, 33, 64, MOST};
  static float x[ROWS * MOST], w[MOST * COLUMNS], got[ROWS * COLUMNS];
  const float s = 0.75f;
  tsr_context *ctx;
  tsr_device *dev;
  const char *device;
  int wrong = 0, rc = open_for_test(&(tsr_context_desc){.cache_dir = ""}, &ctx, &dev, &device);
  if (rc) return rc;
  for (int i = 0; i < ROWS * MOST; i++) x[i] = (float)(1 + i * 37 % 64 / 64.0);
  for (int i = 0; i < MOST * COLUMNS; i++) w[i] = (float)(1 + i * 29 % 64 / 64.0);
  for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++)
    for (int f = 0; f < (int)(sizeof forms / sizeof *forms); f++) {
      const int k = lengths[l];
      char text[900];
      snprintf(text, sizeof text,
               "\"tessera.graph.func\"() ({\n^bb0(%%x: tensor<%dx%dxf32>, %%w: tensor<%dx%dxf32>, %%s: "
               "tensor<1x1xf32>):\n"
               "%%one = \"tessera.graph.constant\"() {value = dense<1.0> : tensor<f32>}\n%s"
               "\"tessera.graph.return\"(%%0)\n}) {sym_name = \"main\"}\n",
               ROWS, k, k, COLUMNS, forms[f].body);
      tsr_status st = device_run(dev, text, NULL, (const void *const[]){x, w, &s}, (void *const[]){got});
      if (st) printf("FAIL %s, k %d: %s\n", forms[f].name, k, tsr_status_message(st)), wrong++;
      for (int e = 0; e < ROWS * COLUMNS && !st; e++) {
        double want = 0;
        for (int i = 0; i < k; i++) want += term(f, x[e / COLUMNS * k + i], w[i * COLUMNS + e % COLUMNS], s);
        if (fabs(got[e] - want) <= 1e-5 * fabs(want)) continue;
        printf("FAIL %s, k %d: element %d is %g, not %g\n", forms[f].name, k, e, got[e], want);
        wrong++;
        break;
      }
      tsr_status_free(st);
    }
  close_for_test(&ctx, &dev);
  return wrong > 0;
}
