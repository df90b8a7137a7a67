/* tests/conformance/test_not_finite.c - infinities and NaN go through small chains of arithmetic as IEEE says, on a
 * device and whatever its compiler knows about numbers: x - x is NaN for an infinite x, and so is 0 / x for a NaN. Each
 * chain is one kernel. The expectation is C's. Tolerance: a few roundings of the type on the operands' magnitudes; the
 * sign of a zero is not asked for. TSR_TEST_DEVICE (cpu:0). Exit 77: the device is not here. */
#include <math.h>

#include "core/base/dtype.h"
#include "core/base/str.h"
#include "tests/conformance/device_run.h"
#include "tests/conformance/open_device.h"

enum { SIDE = 9, N = SIDE * SIDE };
static const double values[SIDE] = {INFINITY, -INFINITY, NAN, 0, -0.0, 1, -2.5, 7, 0.125};
static const tsr_dtype types[] = {TSR_F32, TSR_F16, TSR_BF16, TSR_F64};

#define OP(to, name, x, y) to " = \"tessera.graph." name "\"(" x ", " y ")\n"
#define MINUS_A "%n = \"tessera.graph.neg\"(%a)\n"

/* X(what, body that defines %r of %a, %b and the constant %z of zeros, C) */
#define CHAINS(X)                                                                                                  \
  X(a_minus_a, OP("%r", "sub", "%a", "%a"), a - a)                                                                 \
  X(a_plus_minus_a, MINUS_A OP("%r", "add", "%a", "%n"), a - a)                                                    \
  X(difference_minus_a, OP("%d", "sub", "%a", "%b") OP("%r", "sub", "%d", "%a"), (a - b) - a)                      \
  X(difference_plus_b, OP("%d", "sub", "%a", "%b") OP("%r", "add", "%d", "%b"), (a - b) + b)                       \
  X(b_minus_sum, OP("%d", "add", "%a", "%b") OP("%r", "sub", "%b", "%d"), b - (a + b))                             \
  X(difference_of_itself, OP("%d", "sub", "%a", "%b") OP("%r", "sub", "%d", "%d"), (a - b) - (a - b))              \
  X(product_minus_itself, OP("%d", "mul", "%a", "%b") OP("%r", "sub", "%d", "%d"), a * b - a * b)                  \
  X(times_zero, OP("%r", "mul", "%a", "%z"), a * 0)                                                                \
  X(plus_product_with_zero, OP("%d", "mul", "%a", "%z") OP("%r", "add", "%d", "%b"), a * 0 + b)                    \
  X(a_over_a, OP("%r", "div", "%a", "%a"), a / a)                                                                  \
  X(zero_over_a, OP("%r", "div", "%z", "%a"), 0 / a)                                                               \
  X(product_over_a, OP("%d", "mul", "%a", "%b") OP("%r", "div", "%d", "%a"), a * b / a)                            \
  X(quotient_times_b, OP("%d", "div", "%a", "%b") OP("%r", "mul", "%d", "%b"), a / b * b)                          \
  X(product_minus_a, OP("%d", "mul", "%a", "%b") OP("%r", "sub", "%d", "%a"), a * b - a)

typedef struct chain {
  const char *name, *body;
  double (*value)(double a, double b);
} chain;
#define FUNCTION(name, body, c) \
  static double name(double a, double b) { return c; }
CHAINS(FUNCTION)
#define ROW(name, body, c) {#name, body, name},
static const chain chains[] = {CHAINS(ROW)};
enum { N_CHAINS = sizeof chains / sizeof *chains };

static bool is_right(tsr_dtype t, double want, double got, double size) {
  if (isnan(want) || isnan(got)) return isnan(want) && isnan(got);
  if (isinf(want) || isinf(got)) return want == got;
  return got == want || fabs(got - want) <= 8 * dtype_get(t)->eps * (fabs(want) + (isfinite(size) ? size : 0));
}

/* lavapipe takes a zero divided by anything for zero, also where the quotient is to be left as it stands; that of Mesa
 * 22 (Debian 12's) a constant zero times anything too. */
static bool by_driver(const tsr_device_info *d, const chain *c, double b, double got) {
  if (!strncmp(d->driver, "llvmpipe", 8) && !strcmp(c->name, "zero_over_a")) return got == 0;
  if (strncmp(d->driver, "llvmpipe Mesa 22.", 17)) return false;
  return (!strcmp(c->name, "times_zero") && got == 0) || (!strcmp(c->name, "plus_product_with_zero") && got == b);
}

typedef struct tally { int ran, unsupported, bad; } tally;

static void one(tsr_device *dev, tsr_dtype t, const chain *c, tally *sum) {
  const char *m = dtype_get(t)->mlir;
  double a[N], b[N], r[N];
  strb text;
  strb_init(&text, NULL);
  for (int i = 0; i < N; i++)
    dtype_store(t, a, (size_t)i, values[i / SIDE]), dtype_store(t, b, (size_t)i, values[i % SIDE]);
  strb_printf(&text,
              "\"tessera.graph.func\"() ({\n^bb0(%%a: tensor<%dx%s>, %%b: tensor<%dx%s>):\n%%z = "
              "\"tessera.graph.constant\"() {value = dense<0.0> : tensor<%dx%s>}\n%s\"tessera.graph.return\"(%%r)\n}) "
              "{sym_name = \"main\"}\n",
              N, m, N, m, N, m, c->body);
  tsr_status st = device_run(dev, strb_text(&text), &(tsr_compile_options){.tune = TSR_TUNE_OFF},
                             (const void *[]){a, b}, (void *[]){r});
  strb_clear(&text);
  if (st) {
    bool none = tsr_status_code(st) == TSR_UNSUPPORTED;
    printf("%s%s, %s: %s\n", none ? "unsupported: " : "FAIL ", tsr_dtype_name(t), c->name, tsr_status_message(st));
    sum->unsupported += none, sum->bad += !none;
    tsr_status_free(st);
    return;
  }
  int wrong = 0;
  for (int i = 0; i < N; i++) {
    const double x = values[i / SIDE], y = values[i % SIDE], want = c->value(x, y), got = dtype_load(t, r, (size_t)i);
    if (is_right(t, want, got, fabs(x) + fabs(y) + fabs(x * y)) || by_driver(tsr_device_get_info(dev), c, y, got))
      continue;
    if (!wrong++)
      printf("FAIL %s of %s: of %g and %g it is %g, not %g\n", c->name, tsr_dtype_name(t), x, y, got, want);
  }
  sum->ran++, sum->bad += wrong > 0;
}

int main(void) {
  tsr_context *ctx;
  tsr_device *dev;
  const char *device;
  tsr_context_desc desc = {.cache_dir = ""};
  tally t = {0};
  int rc = open_for_test(&desc, &ctx, &dev, &device);
  if (rc) return rc;
  for (size_t k = 0; k < sizeof types / sizeof *types; k++)
    for (int c = 0; c < N_CHAINS; c++) one(dev, types[k], &chains[c], &t);
  close_for_test(&ctx, &dev);
  printf("%s: %d results, %d programs unsupported, %d bad\n", device, t.ran, t.unsupported, t.bad);
  return t.bad || !t.ran;
}
