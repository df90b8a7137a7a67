/* tests/conformance/test_attention_not_finite.c - attention of scores that aren't finite, and of keys that aren't seen
 * and are NaN or infinite, as docs/ir.md has it: on a device, and by the reference. Heads are one wide, so that a query
 * alone says what its scores are: finite, all +inf, all -inf or NaN. The expectation is computed here from the rule.
 * Tolerance: eight roundings of the type on values below 1; the log-sum-exp, of at most some ten, in f32 with 16.
 * TSR_TEST_DEVICE (cpu:0). Exit 77: the device is not here. */
#include <math.h>

#include "core/base/dtype.h"
#include "core/base/str.h"
#include "tests/conformance/device_run.h"
#include "tests/conformance/open_device.h"

enum { HEADS = 4, WIDTH = 2, MOST_M = 40, MOST_N = 1130 };

/* bad: this key is NaN and its neighbour, if there is one, infinite. */
typedef struct option {
  const char *name, *attrs;
  enum { NO_BIAS, HIDES_SOME, HIDES_ALL, SOME_MINUS_INF, ALL_MINUS_INF, ZEROS } bias;
  int64_t length; /* from the end; 1: there are no lengths */
  bool causal;
  int64_t window;
  enum { NONE_BAD, FIRST_BAD, LAST_BAD } bad;
} option;

static const option options[] = {
    {"nothing", "", NO_BIAS, 1, false, 0, NONE_BAD},
    {"causal", "causal = true, ", NO_BIAS, 1, true, 0, LAST_BAD},
    {"a window", "window = 3, ", NO_BIAS, 1, false, 3, FIRST_BAD},
    {"a causal window", "causal = true, window = 2, ", NO_BIAS, 1, true, 2, FIRST_BAD},
    {"a mask", "", HIDES_SOME, 1, false, 0, FIRST_BAD},
    {"a mask of nothing", "", HIDES_ALL, 1, false, 0, FIRST_BAD},
    {"a bias", "", ZEROS, 1, false, 0, NONE_BAD},
    {"a bias of -inf for some", "", SOME_MINUS_INF, 1, false, 0, NONE_BAD},
    {"a bias of -inf for all", "", ALL_MINUS_INF, 1, false, 0, NONE_BAD},
    {"lengths", "", NO_BIAS, -3, false, 0, LAST_BAD},
    {"no keys of a length", "", NO_BIAS, -MOST_N, false, 0, LAST_BAD},
    {"lengths, causal", "causal = true, ", NO_BIAS, -3, true, 0, LAST_BAD},
};

typedef struct attention {
  const option *o;
  tsr_dtype t;
  int64_t m, n;
  double q[HEADS * MOST_M], k[MOST_N], v[MOST_N * WIDTH];
} attention;

/* Of the option's bias the element of key j; a mask's is 1 where the key is seen. */
static double bias_at(const option *o, int64_t j) {
  switch (o->bias) {
    case HIDES_SOME: return j > 2;
    case SOME_MINUS_INF: return j > 2 ? 0 : -INFINITY;
    case ALL_MINUS_INF: return -INFINITY;
    default: return 0;
  }
}

static bool is_mask(const option *o) { return o->bias == HIDES_SOME || o->bias == HIDES_ALL; }

static int64_t length_of(const attention *a) {
  if (a->o->length == 1) return a->n;
  return a->n + a->o->length > 0 ? a->n + a->o->length : 0;
}

static void fill(attention *a) {
  static const double of_head[HEADS] = {0.5, INFINITY, -INFINITY, NAN};
  for (int64_t i = 0; i < HEADS * a->m; i++) a->q[i] = of_head[i / a->m];
  for (int64_t j = 0; j < a->n; j++) {
    a->k[j] = 1 + (double)(j % 5) / 4;
    for (int64_t w = 0; w < WIDTH; w++) a->v[j * WIDTH + w] = (double)((j * 3 + w * 5) % 17) / 16 - 0.5;
  }
  if (a->o->bad == FIRST_BAD) a->k[0] = NAN, a->k[a->n > 1] = a->n > 1 ? INFINITY : NAN;
  if (a->o->bad == LAST_BAD) a->k[a->n - 1] = NAN;
}

static bool sees(const attention *a, int64_t i, int64_t j) {
  const int64_t length = length_of(a), after = j - (i + length - a->m);
  if (j >= length || (a->o->causal && after > 0)) return false;
  if (a->o->window && (after <= -a->o->window || after >= a->o->window)) return false;
  return !is_mask(a->o) || bias_at(a->o, j) != 0;
}

static bool may_hide_rows(const attention *a) {
  return a->o->bias || a->o->length != 1 || ((a->o->causal || a->o->window) && a->m > a->n);
}

/* y[WIDTH], then the log-sum-exp, of query i of a head. */
static void expect(const attention *a, int64_t head, int64_t i, double *y) {
  double top = -INFINITY, sum = 0, all[WIDTH] = {0};
  bool seen = false, nan = false;
  for (int pass = 0; pass < 2; pass++)
    for (int64_t j = 0; j < a->n; j++) {
      if (!sees(a, i, j)) continue;
      const double s = a->q[head * a->m + i] * a->k[j] + (is_mask(a->o) ? 0 : bias_at(a->o, j));
      seen = true, nan |= isnan(s);
      if (!pass) top = fmax(top, s);
      if (!pass || isinf(top)) continue;
      sum += exp(s - top);
      for (int w = 0; w < WIDTH; w++) all[w] += exp(s - top) * a->v[j * WIDTH + w];
    }
  const bool zeros = !seen || (!nan && top == -INFINITY && may_hide_rows(a));
  for (int w = 0; w < WIDTH; w++) y[w] = zeros ? 0 : nan || isinf(top) ? NAN : all[w] / sum;
  y[WIDTH] = nan ? NAN : isinf(top) ? top : top + log(sum);
}

static bool is_right(double want, double got, double tolerance) {
  if (isnan(want) || isnan(got)) return isnan(want) && isnan(got);
  return got == want || fabs(got - want) <= tolerance;
}

/* How many elements are wrong; y and lse hold doubles where t is f64. */
static int compare(const attention *a, const char *by, tsr_dtype t, const void *y, tsr_dtype sums, const void *lse) {
  int wrong = 0;
  for (int64_t r = 0; r < HEADS * a->m; r++) {
    double want[WIDTH + 1];
    expect(a, r / a->m, r % a->m, want);
    for (int w = 0; w <= WIDTH; w++) {
      const double got = w < WIDTH ? dtype_load(t, y, (size_t)(r * WIDTH + w)) : dtype_load(sums, lse, (size_t)r),
                   eps = w < WIDTH ? 8 * dtype_get(a->t)->eps : 16 * dtype_get(TSR_F32)->eps * 10;
      if (!is_right(want[w], got, eps) && !wrong++)
        printf("FAIL %s of %s, %s, %lld queries, %lld keys: query %lld of head %lld: %s %g, not %g\n", a->o->name,
               tsr_dtype_name(a->t), by, (long long)a->m, (long long)a->n, (long long)(r % a->m), (long long)(r / a->m),
               w < WIDTH ? "result" : "log-sum-exp", got, want[w]);
    }
  }
  return wrong;
}

static void write_text(const attention *a, strb *text) {
  const char *t = dtype_get(a->t)->mlir;
  const long long m = a->m, n = a->n;
  const option *o = a->o;
  strb_printf(text,
              "\"tessera.graph.func\"() ({\n^bb0(%%q: tensor<1x%dx%lldx1x%s>, %%k: tensor<1x1x%lldx1x%s>, %%v: "
              "tensor<1x1x%lldx%dx%s>, %%b: tensor<%lldx%s>, %%l: tensor<1xi32>):\n",
              HEADS, m, t, n, t, n, WIDTH, t, n, is_mask(o) ? "i1" : t);
  strb_printf(text, "%%y, %%s = \"tessera.graph.flash_attention\"(%%q, %%k, %%v%s%s) {%sscale = 1.0}\n",
              o->bias ? ", %b" : "", o->length == 1 ? "" : ", %l", o->attrs);
  strb_printf(text, "\"tessera.graph.return\"(%%y, %%s)\n}) {sym_name = \"main\"}\n");
}

typedef struct tally {
  int ran, unsupported, bad;
} tally;

/* By the reference, at the same inputs. */
static int by_reference(tsr_context *ctx, const attention *a, const char *text, const void *const *in) {
  static double y[HEADS * MOST_M * WIDTH], lse[HEADS * MOST_M], e[2][HEADS * MOST_M * WIDTH];
  tsr_graph *g = NULL;
  tsr_status st = tsr_graph_parse(ctx, text, strlen(text), "text", &g);
  if (!st) st = tsr_graph_reference(g, in, (double *[]){y, lse}, (double *[]){e[0], e[1]});
  if (st) printf("FAIL reference: %s\n", tsr_status_message(st));
  const int wrong = st ? 1 : compare(a, "the reference", TSR_F64, y, TSR_F64, lse);
  tsr_status_free(st);
  tsr_graph_destroy(&g);
  return wrong;
}

static void one(tsr_context *ctx, tsr_device *dev, attention *a, tally *sum) {
  static double q[HEADS * MOST_M], k[MOST_N], v[MOST_N * WIDTH], b[MOST_N], y[HEADS * MOST_M * WIDTH],
      lse[HEADS * MOST_M];
  const int32_t length[2] = {(int32_t)length_of(a)};
  strb text;
  strb_init(&text, NULL);
  fill(a);
  for (int64_t i = 0; i < HEADS * a->m; i++) dtype_store(a->t, q, (size_t)i, a->q[i]);
  for (int64_t i = 0; i < a->n; i++) dtype_store(a->t, k, (size_t)i, a->k[i]);
  for (int64_t i = 0; i < a->n * WIDTH; i++) dtype_store(a->t, v, (size_t)i, a->v[i]);
  for (int64_t i = 0; i < a->n; i++)
    if (is_mask(a->o)) ((unsigned char *)b)[i] = bias_at(a->o, i) != 0;
    else dtype_store(a->t, b, (size_t)i, bias_at(a->o, i));
  write_text(a, &text);
  const void *const in[] = {q, k, v, b, length};
  tsr_status st =
      device_run(dev, strb_text(&text), &(tsr_compile_options){.tune = TSR_TUNE_OFF}, in, (void *[]){y, lse});
  if (st) {
    const bool none = tsr_status_code(st) == TSR_UNSUPPORTED;
    printf("%s%s of %s: %s\n", none ? "unsupported: " : "FAIL ", a->o->name, tsr_dtype_name(a->t),
           tsr_status_message(st));
    sum->unsupported += none, sum->bad += !none;
  } else {
    const tsr_dtype sums = a->t == TSR_F64 ? TSR_F64 : TSR_F32;
    sum->ran++;
    sum->bad += compare(a, "the device", a->t, y, sums, lse) > 0;
  }
  sum->bad += by_reference(ctx, a, strb_text(&text), in) > 0;
  tsr_status_free(st);
  strb_clear(&text);
}

int main(void) {
  /* The first ones on every device: drivers compile such kernels for a second. */
  enum { ON_ALL = 2 };
  static const struct {
    tsr_dtype t;
    int64_t m, n;
  } shapes[] = {{TSR_F32, 1, MOST_N}, {TSR_F32, MOST_M, 9},  {TSR_F32, 1, 9},         {TSR_F32, MOST_M, 300},
                {TSR_F32, 2, 1100},   {TSR_BF16, 1, MOST_N}, {TSR_BF16, MOST_M, 300}, {TSR_F16, 1, MOST_N},
                {TSR_F64, 1, MOST_N}, {TSR_F32, 3, 1}};
  static attention a;
  tsr_context *ctx;
  tsr_device *dev;
  const char *device;
  tsr_context_desc desc = {.cache_dir = ""};
  tally t = {0};
  int rc = open_for_test(&desc, &ctx, &dev, &device);
  if (rc) return rc;
  const size_t n_shapes = strncmp(device, "cpu", 3) ? ON_ALL : sizeof shapes / sizeof *shapes;
  for (size_t s = 0; s < n_shapes; s++)
    for (size_t o = 0; o < sizeof options / sizeof *options; o++) {
      a.o = &options[o], a.t = shapes[s].t, a.m = shapes[s].m, a.n = shapes[s].n;
      one(ctx, dev, &a, &t);
    }
  close_for_test(&ctx, &dev);
  printf("%s: %d programs, %d unsupported, %d bad\n", device, t.ran, t.unsupported, t.bad);
  return t.bad || !t.ran;
}
