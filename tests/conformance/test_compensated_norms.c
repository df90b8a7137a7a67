/* tests/conformance/test_compensated_norms.c - norms under the policy kahan_sum where the row isn't ordinary, as the
 * reference has them: NaN and infinities in the row, numbers at the end of the type's range, and rows beside them that
 * must not notice. Rows that a block holds whole, and longer ones. Tolerance: the sum's terms are exact to a rounding
 * of f32 under this policy, so a result is off by the roundings of a mean, a root and a quotient, 16 of them at most,
 * of which f32's count on a number near the row's largest, and one of the type. TSR_TEST_DEVICE (cpu:0). Exit 77: the
 * device is not here. */
#include <math.h>

#include "core/base/dtype.h"
#include "tests/conformance/device_run.h"
#include "tests/conformance/open_device.h"

enum { MOST = 9001 };
typedef enum content { ORDINARY, INFINITE, MINUS, BOTH, A_NAN, LAST, LARGEST, LARGE, N_ROWS } content;
static const char *const what[N_ROWS] = {"ordinary", "an infinity", "-inf", "both infinities", "a NaN",
                                         "an infinity at the end", "the largest numbers", "large numbers"};

static double element(content c, int i, int n, double max) {
  double x = (double)(i % 7) - 3;
  switch (c) {
  case INFINITE: return i == n / 3 ? INFINITY : x;
  case MINUS: return i == n / 2 ? -INFINITY : x;
  case BOTH: return i == n / 3 ? INFINITY : i == n / 2 ? -INFINITY : x;
  case A_NAN: return i == n / 2 ? NAN : x;
  case LAST: return i == n - 1 ? INFINITY : x;
  case LARGEST: return i % 2 ? -max : max;
  case LARGE: return (i % 2 ? -1 : 1) * max / (2 + i % 5);
  default: return x;
  }
}

static void put_text(char *text, size_t size, const char *op, tsr_dtype t, int n, bool weights) {
  const char *m = dtype_get(t)->mlir;
  char second[64] = "";
  if (weights) snprintf(second, sizeof second, ", %%w: tensor<%dx%s>", n, m);
  snprintf(text, size,
           "\"tessera.graph.func\"() ({\n^bb0(%%x: tensor<%dx%dx%s>%s):\n%%r = \"tessera.graph.%s\"(%%x%s)\n"
           "\"tessera.graph.return\"(%%r)\n}) {sym_name = \"main\"}\n",
           N_ROWS, n, m, second, op, weights ? ", %w" : "");
}

static tsr_status reference(tsr_context *ctx, const char *text, const void *const *in, double *want) {
  tsr_graph *g = NULL;
  tsr_status st = tsr_graph_parse(ctx, text, strlen(text), "text", &g);
  if (!st) st = tsr_graph_reference(g, in, (double *[]){want}, NULL);
  tsr_graph_destroy(&g);
  return st;
}

/* docs/precision.md: on GPUs numbers whose squares leave f32 are right in rows that are held whole. */
static bool is_promised(const char *device, content c, tsr_dtype t, int n) {
  bool beyond = t == TSR_F64 || ((c == LARGEST || c == LARGE) && t != TSR_F16);
  return c < LARGEST || !strncmp(device, "cpu", 3) || !beyond || (n <= 1000 && t != TSR_F64);
}

static int one(tsr_context *ctx, tsr_device *dev, const char *device, const char *op, tsr_dtype t, int n,
               bool weights) {
  static double x[N_ROWS * MOST], w[MOST], out[N_ROWS * MOST], want[N_ROWS * MOST];
  char text[600];
  int bad = 0;
  for (int r = 0; r < N_ROWS; r++)
    for (int i = 0; i < n; i++) dtype_store(t, x, (size_t)(r * n + i), element((content)r, i, n, dtype_get(t)->max));
  for (int i = 0; i < n; i++) dtype_store(t, w, (size_t)i, 1);
  put_text(text, sizeof text, op, t, n, weights);
  tsr_status st = reference(ctx, text, (const void *[]){x, w}, want);
  if (!st)
    st = device_run(dev, text, &(tsr_compile_options){.tune = TSR_TUNE_OFF, .policy = TSR_POLICY_KAHAN_SUM},
                    (const void *[]){x, w}, (void *[]){out});
  if (st) {
    bool none = tsr_status_code(st) == TSR_UNSUPPORTED;
    printf("%s%s of %s: %s\n", none ? "unsupported: " : "FAIL ", op, tsr_dtype_name(t), tsr_status_message(st));
    tsr_status_free(st);
    return none ? -1 : 1;
  }
  for (int r = 0; r < N_ROWS; r++) {
    int wrong = 0;
    for (int i = 0; i < n && is_promised(device, (content)r, t, n); i++) {
      double got = dtype_load(t, out, (size_t)(r * n + i)), e = want[r * n + i];
      double tolerance = dtype_get(t)->eps * (1 + fabs(e)) + 16 * dtype_get(TSR_F32)->eps * (1 + fabs(e));
      if (isnan(e) ? isnan(got) : fabs(got - e) <= tolerance) continue;
      if (!wrong++)
        printf("FAIL %s of %s, %d columns%s, %s: element %d is %g, not %g\n", op, tsr_dtype_name(t), n,
               weights ? " with weights" : "", what[r], i, got, e);
    }
    bad += wrong > 0;
  }
  return bad;
}

int main(void) {
  static const tsr_dtype types[] = {TSR_F32, TSR_F16, TSR_BF16, TSR_F64};
  static const int lengths[] = {4, 100, 1000, MOST};
  static const char *const ops[] = {"layernorm", "rmsnorm"};
  tsr_context *ctx;
  tsr_device *dev;
  const char *device;
  int n = 0, bad = 0;
  int rc = open_for_test(&(tsr_context_desc){.cache_dir = ""}, &ctx, &dev, &device);
  if (rc) return rc;
  for (int op = 0; op < 2; op++)
    for (int t = 0; t < 4; t++)
      for (int l = 0; l < 4; l++)
        for (int weights = 0; weights < 1 + (lengths[l] == 100); weights++) {
          int b = one(ctx, dev, device, ops[op], types[t], lengths[l], weights);
          n += b >= 0, bad += b > 0 ? b : 0;
        }
  close_for_test(&ctx, &dev);
  printf("%s: %d norms of %d rows, %d rows wrong\n", device, n, N_ROWS, bad);
  return bad || !n;
}
