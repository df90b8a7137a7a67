/* tests/conformance/test_functions64.c - functions of f64 over their whole range against the host's, in units in the
 * last place; NaN, infinities and signs of zeros in their places. SPIR-V has none of them, so core/emit/spirv/math64.c
 * makes them. TSR_TEST_DEVICE (cpu:0). Exit 77: the device is not here. */
#include <float.h>
#include <math.h>

#include "tests/conformance/device_run.h"
#include "tests/conformance/open_device.h"

enum { N = 4096 };

/* most: ulp allowed. absolute: below 1 errors count as those of 1 do (where a
 * sine is near 0 its argument's reduction is what is left of it). */
typedef struct function {
  const char *name;
  double (*of)(double);
  double most, low, high; /* exponents of ordinary arguments */
  bool absolute;
} function;

static const function functions[] = {{"exp", exp, 3, -60, 9.5, false}, {"log", log, 3, -1020, 1023, false},
                                     {"tanh", tanh, 8, -60, 6, false}, {"erf", erf, 6, -60, 3, false},
                                     {"sin", sin, 3, -60, 1023, true}, {"cos", cos, 3, -60, 1023, true},
                                     {"round", nearbyint, 0, -3, 60, false}, {"floor", floor, 0, -3, 60, false}};

static uint64_t state = 20261125;
static double uniform(void) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (double)(state >> 11) * 0x1p-53;
}

static double argument(int i, double low, double high) {
  static const double edges[] = {0.0,
                                 -0.0,
                                 INFINITY,
                                 -INFINITY,
                                 NAN,
                                 1,
                                 -1,
                                 0.5,
                                 -0.5,
                                 1.5,
                                 -1.5,
                                 2.5,
                                 3.5,
                                 709.5,
                                 -0.25,
                                 0x1p52 - 0.5,
                                 -0x1p53 - 2,
                                 2,
                                 709.7,
                                 -745,
                                 710,
                                 -746,
                                 DBL_MAX,
                                 -DBL_MAX,
                                 DBL_MIN,
                                 6,
                                 0.55,
                                 1e6,
                                 1048576,
                                 1e22,
                                 1.5707963267948966,
                                 3.141592653589793};
  const int n = sizeof edges / sizeof *edges;
  if (i < n) return edges[i];
  double x = exp2(low + (high - low) * uniform());
  if (x > DBL_MAX) x = DBL_MAX;
  return i % 2 ? -x : x;
}

static double ulp_of(double y, bool absolute) {
  double a = fabs(y);
  if (absolute && a < 0.5) a = 0.5;
  return a < DBL_MIN ? 0x1p-1074 : nextafter(a, INFINITY) - a;
}

static bool wrong_kind(double got, double want) {
  if (isnan(want) || isnan(got)) return !(isnan(want) && isnan(got));
  if (isinf(want)) return got != want;
  return want == 0 && got == 0 && signbit(want) != signbit(got);
}

/* How many are wrong; the largest error is printed. */
static int judge(const char *name, const double *a, const double *b, const double *got, const double *want, double most,
                 bool absolute) {
  int wrong = 0, at = 0;
  double worst = 0;
  for (int i = 0; i < N; i++) {
    double off = isfinite(want[i]) ? fabs(got[i] - want[i]) / ulp_of(want[i], absolute) : 0;
    /* Subnormal results may be 0 where a device flushes. */
    if (fabs(want[i]) < DBL_MIN && fabs(got[i]) <= DBL_MIN) off = 0;
    bool bad = wrong_kind(got[i], want[i]) || off > most;
    if (bad && ++wrong <= 5)
      printf("FAIL %s(%.17g, %.17g) is %.17g, not %.17g: %.3g ulp\n", name, a[i], b ? b[i] : 0, got[i], want[i], off);
    if (off > worst) worst = off, at = i;
  }
  printf("%s: %.2f ulp at %.17g\n", name, worst, a[at]);
  return wrong;
}

static tsr_status run(tsr_device *dev, const char *name, bool two, const double *a, const double *b, double *out) {
  char text[600];
  snprintf(text, sizeof text,
           "\"tessera.graph.func\"() ({\n^bb0(%%a: tensor<%dxf64>%s):\n%%r = \"tessera.graph.%s\"(%%a%s)\n"
           "\"tessera.graph.return\"(%%r)\n}) {sym_name = \"main\"}\n",
           N, two ? ", %b: tensor<4096xf64>" : "", name, two ? ", %b" : "");
  return device_run(dev, text, NULL, (const void *const[]){a, b}, (void *const[]){out});
}

int main(void) {
  static double a[N], b[N], got[N], want[N];
  tsr_context *ctx;
  tsr_device *dev;
  const char *device;
  int rc = open_for_test(&(tsr_context_desc){.cache_dir = ""}, &ctx, &dev, &device), wrong = 0;
  if (rc) return rc;
  tsr_status st = NULL;
  for (size_t f = 0; f < sizeof functions / sizeof *functions && !st; f++) {
    const function *x = &functions[f];
    for (int i = 0; i < N; i++) a[i] = argument(i, x->low, x->high), want[i] = x->of(a[i]);
    st = run(dev, x->name, false, a, NULL, got);
    if (!st) wrong += judge(x->name, a, NULL, got, want, x->most, x->absolute);
  }
  for (int i = 0; i < N; i++) {
    const bool far = i > 2048; /* all normal bases, and exponents by which results are all that there are */
    a[i] = i < 529 ? argument(i / 23, 0, 0) : argument(i, far ? -1021 : -10, far ? 1024 : 10);
    b[i] = i < 529 ? argument(i % 23, 0, 0) : i % 3 ? argument(i, -6, 6) : floor(20 * uniform()) - 10;
    if (far && i % 3) a[i] = fabs(a[i]), b[i] = (1500 * uniform() - 750) / log(a[i]);
    if (far && i % 7 == 0) a[i] = 1 + (uniform() - 0.5) * 1e-6, b[i] = (1400 * uniform() - 700) / log(a[i]);
    want[i] = pow(a[i], b[i]);
  }
  if (!st) st = run(dev, "pow", true, a, b, got);
  if (!st) wrong += judge("pow", a, b, got, want, 2, false);
  if (st) printf("%s%s\n", tsr_status_code(st) == TSR_UNSUPPORTED ? "skipped: " : "FAIL ", tsr_status_message(st));
  rc = tsr_status_code(st) == TSR_UNSUPPORTED ? 77 : st || wrong;
  tsr_status_free(st);
  close_for_test(&ctx, &dev);
  return rc;
}
