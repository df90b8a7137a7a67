/* tests/conformance/test_softmax_large.c - softmax of rows whose exponentials overflow or vanish without the maximum
 * taken out first: values near the type's largest, all equal, one far above the rest, and -inf beside numbers. The
 * expectation is a sum in double of what the stored values are. Tolerance: an element is exp of a difference of stored
 * values, which f32 holds to 2^-24 of the larger operand, so x carries an error of |x - max| 2^-23 and its exponential
 * as much relatively; 32 ulp of f32 for exp, sum and quotient on any device, then one rounding to the type. */
#include <math.h>

#include "core/base/dtype.h"
#include "tests/conformance/open_device.h"

enum { ROWS = 8, MOST = 1500 };
static const struct {
  tsr_dtype t;
  double largest, eps;
} types[] = {{TSR_F32, 3e38, 0x1p-24}, {TSR_F16, 65000, 0x1p-11}, {TSR_BF16, 3e38, 0x1p-8}};
static const int widths[] = {1, 2, 31, 200, MOST};

static double value(int row, int i, int n, double largest) {
  switch (row) {
    case 0: return largest;                         /* all equal, none of whose exponentials is finite */
    case 1: return -largest;                        /* all of whose exponentials are 0 */
    case 2: return i == n / 2 ? largest : -largest; /* the difference itself overflows */
    case 3: return 1000 + i % 7;                    /* differences are small */
    case 4: return -1000 - i % 5;
    case 5: return i % 3 ? -INFINITY : 100 + i % 4; /* masked: these weigh nothing */
    case 6: return i == n - 1 ? 88 : -88;
    default: return (i % 2 ? 1 : -1) * 60.0 * ((double)i / (n > 1 ? n - 1 : 1));
  }
}

static void want_row(const double *x, int n, double *y) {
  double top = -INFINITY, sum = 0;
  for (int i = 0; i < n; i++) top = x[i] > top ? x[i] : top;
  for (int i = 0; i < n; i++) sum += y[i] = exp(x[i] - top);
  for (int i = 0; i < n; i++) y[i] /= sum;
}

static int compare(const double *x, const double *want, const void *got, tsr_dtype t, size_t at, int n, double eps) {
  double top = -INFINITY;
  for (int i = 0; i < n; i++) top = x[i] > top ? x[i] : top;
  for (int i = 0; i < n; i++) {
    double g = dtype_load(t, got, at + (size_t)i), away = isfinite(x[i]) ? fmin(top - x[i], 200) : 0;
    double tolerance = want[i] * (32 * 0x1p-23 + away * 0x1p-22 + eps) +
                       (t == TSR_F16 ? 0x1p-24 : 0x1p-126); /* below the least normal number a device may flush */
    if (fabs(g - want[i]) <= tolerance) continue;
    printf("row %d of %d columns, %s: element %d is %.9g, expected %.9g\n", (int)(at / (size_t)n), n, tsr_dtype_name(t),
           i, g, want[i]);
    return 1;
  }
  return 0;
}

static tsr_status run(tsr_device *dev, tsr_dtype t, int n, void *in, void *out, size_t bytes) {
  char text[400];
  tsr_program *p = NULL;
  tsr_binding x = {NULL, 0}, y = {NULL, 0};
  snprintf(text, sizeof text,
           "\"tessera.graph.func\"() ({\n^bb0(%%A: tensor<%dx%dx%s>):\n%%0 = \"tessera.graph.softmax\"(%%A) {axis = "
           "-1}\n\"tessera.graph.return\"(%%0)\n}) {sym_name = \"main\"}\n",
           ROWS, n, tsr_dtype_name(t));
  tsr_status st = tsr_program_parse(dev, text, strlen(text), "softmax", NULL, &p);
  if (!st) st = tsr_buffer_create(dev, bytes, TSR_MEMORY_DEVICE, &x.buffer);
  if (!st) st = tsr_buffer_create(dev, bytes, TSR_MEMORY_DEVICE, &y.buffer);
  if (!st) st = tsr_buffer_write(x.buffer, 0, in, bytes);
  if (!st) st = tsr_program_run(p, NULL, &x, &y);
  if (!st) st = tsr_buffer_read(y.buffer, 0, out, bytes);
  tsr_buffer_destroy(&x.buffer);
  tsr_buffer_destroy(&y.buffer);
  tsr_program_destroy(&p);
  return st;
}

/* 0 right, 1 wrong, 2 unsupported. */
static int one(tsr_device *dev, size_t type, int n) {
  static float in[ROWS * MOST], out[ROWS * MOST];
  static double x[MOST], want[MOST];
  tsr_dtype t = types[type].t;
  for (int r = 0; r < ROWS; r++)
    for (int i = 0; i < n; i++) dtype_store(t, in, (size_t)(r * n + i), value(r, i, n, types[type].largest));
  tsr_status st = run(dev, t, n, in, out, (size_t)(ROWS * n) * tsr_dtype_size(t));
  if (st) {
    int rc = tsr_status_code(st) == TSR_UNSUPPORTED ? 2 : 1;
    printf("%s, %d columns: %s\n", tsr_dtype_name(t), n, tsr_status_message(st));
    tsr_status_free(st);
    return rc;
  }
  int wrong = 0;
  for (int r = 0; r < ROWS; r++) {
    for (int i = 0; i < n; i++) x[i] = dtype_load(t, in, (size_t)(r * n + i));
    want_row(x, n, want);
    wrong |= compare(x, want, out, t, (size_t)(r * n), n, types[type].eps);
  }
  return wrong;
}

int main(void) {
  tsr_context *ctx;
  tsr_device *dev;
  const char *device;
  int count[3] = {0}, rc = open_for_test(&(tsr_context_desc){.cache_dir = ""}, &ctx, &dev, &device);
  if (rc) return rc;
  for (size_t t = 0; t < sizeof types / sizeof *types; t++)
    for (size_t w = 0; w < sizeof widths / sizeof *widths; w++) count[one(dev, t, widths[w])]++;
  close_for_test(&ctx, &dev);
  printf("%s: %d right, %d wrong, %d skipped as unsupported\n", device, count[0], count[1], count[2]);
  return count[1] || !count[0];
}
