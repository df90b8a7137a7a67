/* tests/conformance/test_activation_limits.c - silu, gelu and gelu by tanh where they end, the same on every device:
 * -0 at -inf, infinite at inf, NaN at NaN, zeros keep their sign, and the result of a negative argument is negative or
 * -0 wherever it underflows (docs/precision.md), which silu does not before its result does. As elementwise kernels,
 * behind a product, and as scalars of a Tile IR kernel; by the reference too. TSR_TEST_DEVICE (cpu:0). Exit 77: the
 * device is not here. */
#include <math.h>

#include "core/base/dtype.h"
#include "core/base/str.h"
#include "tests/conformance/device_run.h"
#include "tests/conformance/open_device.h"

/* The emulator's, when this is linked with it (tests/simt). */
extern const void *const conformance_backends[] __attribute__((weak));

enum { N = 64, N_OPS = 3 };
static const tsr_dtype types[] = {TSR_F32, TSR_F16, TSR_BF16, TSR_F64};
static const char *const graph_ops[N_OPS] = {"silu", "gelu", "gelu"},
                  *const tile_ops[N_OPS] = {"silu", "gelu", "gelu_tanh"};
typedef enum form { ELEMENTWISE, EPILOGUE, SCALAR, N_FORMS } form;
static const char *const forms[N_FORMS] = {"elementwise", "behind a product", "scalar"};

/* The edges, then powers of two of either sign through the type's normal range. */
static double argument(tsr_dtype t, int i) {
  double max = dtype_get(t)->max;
  const double edges[] = {-INFINITY, INFINITY, NAN,   -0.0, 0,   -max, max,  -1000,
                          1000,      -104,     -88.8, -30,  -13, -6,   -5.5, -1,
                          -63.9,     -64.1, -90,   -92,  -712};
  int n = sizeof edges / sizeof *edges, top, least = t == TSR_F64 ? -1000 : t == TSR_F16 ? -13 : -120;
  if (i < n) return edges[i];
  frexp(max, &top);
  double e = least + (double)(top - 1 - least) * (i - n) / (N - n);
  return (i & 1 ? -1 : 1) * ldexp(1, (int)e);
}

/* A result each of the ops. */
static void put_graph(strb *b, form f, tsr_dtype t) {
  const char *m = dtype_get(t)->mlir;
  strb_puts(b, "\"tessera.graph.func\"() ({\n");
  if (f == ELEMENTWISE) strb_printf(b, "^bb0(%%x: tensor<%dx%s>):\n", N, m);
  else /* times one: an infinity stays one */
    strb_printf(b, "^bb0(%%a: tensor<%dx1x%s>, %%b: tensor<1x1x%s>):\n", N, m, m);
  for (int i = 0; i < N_OPS; i++) { /* a product each, so that each op is an epilogue */
    if (f == EPILOGUE)
      strb_printf(b, "%%x%d = \"tessera.graph.matmul\"(%%a, %%b) {tile_shape = [%d, 16, 16]}\n", i, 16 << i);
    strb_printf(b, "%%r%d = \"tessera.graph.%s\"(%%x", i, graph_ops[i]);
    if (f == EPILOGUE) strb_printf(b, "%d", i);
    strb_printf(b, ")%s\n", i == 2 ? " {approximate = \"tanh\"}" : "");
  }
  strb_puts(b, "\"tessera.graph.return\"(%r0, %r1, %r2)\n}) {sym_name = \"main\"}\n");
}

/* A block an element. */
static void put_scalars(strb *b, tsr_dtype t) {
  const char *m = dtype_get(t)->mlir;
  strb_printf(b, "\"tessera.tile.kernel\"() ({\n^bb0(%%a: !tessera.view<%dx%s>", N, m);
  for (int i = 0; i < N_OPS; i++) strb_printf(b, ", %%y%d: !tessera.view<%dx%s>", i, N, m);
  strb_puts(b, "):\n%i = \"tessera.tile.block_id\"() {axis = 0}\n%x = \"tessera.tile.load_scalar\"(%a, %i)\n");
  for (int i = 0; i < N_OPS; i++)
    strb_printf(b,
                "%%r%d = \"tessera.tile.%s\"(%%x)\n%%f%d = \"tessera.tile.splat\"(%%r%d) : (%s) -> "
                "!tessera.frag<1x%s>\n%%w%d = \"tessera.tile.window\"(%%y%d, %%i) {sizes = [1]}\n"
                "\"tessera.tile.store\"(%%f%d, %%w%d)\n",
                i, tile_ops[i], i, i, m, m, i, i, i, i);
  strb_printf(b, "\"tessera.tile.return\"()\n}) {sym_name = \"k\", grid = [%d, 1, 1], outputs = %d}\n", N, N_OPS);
}

static bool is_right(double x, double y, bool through_a_sum) {
  if (isnan(x)) return isnan(y);
  if (x == INFINITY) return y == INFINITY;
  if (x == 0 && through_a_sum) return y == 0; /* 0 + -0 is 0 */
  if (x == 0) return y == 0 && signbit(y) == signbit(x);
  if (x == -INFINITY) return y == 0 && signbit(y);
  return isfinite(y) && signbit(y) == signbit(x);
}

/* A silu that is a normal number is there, and near: exp(-x) overflows long before x exp(x) is gone. */
static bool is_near(tsr_dtype t, double x, double y) {
  const double least = t == TSR_F64 ? 0x1p-1022 : t == TSR_F16 ? 0x1p-14 : 0x1p-126;
  const double want = x < 0 ? x * exp(x) / (1 + exp(x)) : x / (1 + exp(-x));
  return !isfinite(want) || fabs(want) < 2 * least || fabs(y - want) <= 0.02 * fabs(want);
}

typedef struct tally { int ran, unsupported, bad; } tally;

static void compare(tsr_dtype t, const char *how, bool through_a_sum, const double *x, double y[N_OPS][N], tally *sum) {
  for (int op = 0; op < N_OPS; op++) {
    int wrong = 0;
    for (int i = 0; i < N; i++)
      if (!(is_right(x[i], y[op][i], through_a_sum) && (op || is_near(t, x[i], y[op][i]))) && !wrong++)
        printf("FAIL %s of %s, %s: of %g it is %g\n", tile_ops[op], tsr_dtype_name(t), how, x[i], y[op][i]);
    sum->ran++, sum->bad += wrong > 0;
  }
}

static void one(tsr_device *dev, form f, tsr_dtype t, tally *sum) {
  double in[N], out[N_OPS][N], x[N], y[N_OPS][N], unit = 0;
  strb text;
  strb_init(&text, NULL);
  for (int i = 0; i < N; i++) dtype_store(t, in, (size_t)i, argument(t, i)), x[i] = dtype_load(t, in, (size_t)i);
  dtype_store(t, &unit, 0, 1);
  if (f == SCALAR) put_scalars(&text, t);
  else put_graph(&text, f, t);
  tsr_status st = device_run(dev, strb_text(&text), &(tsr_compile_options){.tune = TSR_TUNE_OFF},
                             (const void *[]){in, &unit}, (void *[]){out[0], out[1], out[2]});
  strb_clear(&text);
  if (st) {
    bool none = tsr_status_code(st) == TSR_UNSUPPORTED;
    printf("%s%s, %s: %s\n", none ? "unsupported: " : "FAIL ", tsr_dtype_name(t), forms[f], tsr_status_message(st));
    sum->unsupported += none, sum->bad += !none;
    tsr_status_free(st);
    return;
  }
  for (int op = 0; op < N_OPS; op++)
    for (int i = 0; i < N; i++) y[op][i] = dtype_load(t, out[op], (size_t)i);
  compare(t, forms[f], f == EPILOGUE, x, y, sum);
}

/* The definition that all others are held against. */
static void reference(tsr_context *ctx, tally *sum) {
  tsr_graph *g = NULL;
  double in[N], y[N_OPS][N];
  strb text;
  strb_init(&text, NULL);
  for (int i = 0; i < N; i++) in[i] = argument(TSR_F64, i);
  put_graph(&text, ELEMENTWISE, TSR_F64);
  tsr_status st = tsr_graph_parse(ctx, strb_text(&text), strlen(strb_text(&text)), "text", &g);
  if (!st) st = tsr_graph_reference(g, (const void *[]){in}, (double *[]){y[0], y[1], y[2]}, NULL);
  if (st) printf("FAIL reference: %s\n", tsr_status_message(st)), sum->bad++;
  else compare(TSR_F64, "reference", false, in, y, sum);
  tsr_status_free(st);
  tsr_graph_destroy(&g);
  strb_clear(&text);
}

int main(void) {
  tsr_context *ctx;
  tsr_device *dev;
  const char *device;
  tsr_context_desc desc = {.cache_dir = "", .extra_backends = conformance_backends};
  tally t = {0};
  int rc = open_for_test(&desc, &ctx, &dev, &device);
  if (rc) return rc;
  reference(ctx, &t);
  for (int f = 0; f < N_FORMS; f++)
    for (size_t k = 0; k < sizeof types / sizeof *types; k++) one(dev, (form)f, types[k], &t);
  close_for_test(&ctx, &dev);
  printf("%s: %d results, %d programs unsupported, %d bad\n", device, t.ran, t.unsupported, t.bad);
  return t.bad || !t.ran;
}
