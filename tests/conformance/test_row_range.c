/* tests/conformance/test_row_range.c - norms at the ends of the range, on a device: a row of equal numbers has no
 * deviation, and a row is normalised whatever its magnitude. Values worked out by hand.
 *   TSR_TEST_DEVICE (cpu:0). Exit 77: the device is not here. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/dtype.h"
#include "tessera/tessera.h"

/* The emulator, when the program is linked with it (tests/simt). */
extern const void *const conformance_backends[] __attribute__((weak));
static int wrong, ran;
static const char *device;
/* A fast sum of n elements has a rounding for each that one lane adds, and the norm half of them. `one` allows 4u, so
 * with one lane n / 8, as on the CPU when its kernels of whole rows are off, and with the 256 of a GPU's block
 * n / 2048. Those kernels themselves have nothing for it. */
static double one_of;

/* What stands about the op: nothing; weights, all 1; a sum of x and zeros, which is a result too. */
typedef enum form { ALONE, WEIGHTED, OF_SUM } form;
static const char *const form_names[] = {"alone", "with weights", "of a sum"};

/* One program over x of shape [2, n], compiled once for all the rows that it is given. */
typedef struct norm {
  const char *op;
  tsr_dtype t;
  int n;
  tsr_policy policy;
  form form;
  double eps;
  tsr_program *p;
  tsr_binding in[2], out[2];
  void *data;
} norm;

static size_t bytes_of(const norm *x) { return tsr_dtype_size(x->t) * 2 * (size_t)x->n; }

/* False, and said where it isn't for want of support. */
static bool went(const norm *x, tsr_status st) {
  bool ok = !st, lacks = tsr_status_code(st) == TSR_UNSUPPORTED;
  if (st && !lacks) printf("FAIL %s of %s: %s\n", x->op, tsr_dtype_name(x->t), tsr_status_message(st)), wrong++;
  tsr_status_free(st);
  return ok;
}

static bool prepare(tsr_context *ctx, tsr_device *dev, norm *x) {
  const tsr_attr attrs[] = {{.name = "eps", .kind = TSR_ATTR_FLOAT, .f = x->eps}};
  const size_t bytes = bytes_of(x);
  tsr_graph *g = NULL;
  tsr_value v[2];
  const bool weighted = x->form == WEIGHTED, of_sum = x->form == OF_SUM;
  x->data = malloc(bytes);
  tsr_status st = tsr_graph_create(ctx, "main", &g);
  if (!st) st = tsr_graph_input(g, "x", x->t, (tsr_shape){.rank = 2, .dims = {2, x->n}}, &v[0]);
  if (!st && weighted) st = tsr_graph_input(g, "w", x->t, (tsr_shape){.rank = 1, .dims = {x->n}}, &v[1]);
  if (!st && of_sum) st = tsr_graph_input(g, "z", x->t, (tsr_shape){.rank = 2, .dims = {2, x->n}}, &v[1]);
  if (!st && of_sum) st = tsr_graph_op(g, "add", v, 2, NULL, 0, &v[0]);
  if (!st) st = tsr_graph_op(g, x->op, v, 1 + weighted, attrs, 1, &v[1]);
  if (!st) st = tsr_graph_output(g, v[1]);
  if (!st && of_sum) st = tsr_graph_output(g, v[0]);
  if (!st) st = tsr_program_compile(dev, g, &(tsr_compile_options){.policy = x->policy, .tune = TSR_TUNE_OFF}, &x->p);
  for (int i = 0; !st && i < 1 + (x->form != ALONE); i++)
    st = tsr_buffer_create(dev, bytes, TSR_MEMORY_DEVICE, &x->in[i].buffer);
  for (int i = 0; !st && i < 1 + of_sum; i++)
    st = tsr_buffer_create(dev, bytes, TSR_MEMORY_DEVICE, &x->out[i].buffer);
  for (int i = 0; i < 2 * x->n; i++) dtype_store(x->t, x->data, (size_t)i, weighted);
  if (!st && x->form != ALONE) st = tsr_buffer_write(x->in[1].buffer, 0, x->data, weighted ? bytes / 2 : bytes);
  tsr_graph_destroy(&g);
  return went(x, st);
}

/* got receives the 2n elements of the result. */
static bool evaluate(const norm *x, const double *rows, double *got) {
  const size_t bytes = bytes_of(x);
  for (int i = 0; i < 2 * x->n; i++) dtype_store(x->t, x->data, (size_t)i, rows[i]);
  tsr_status st = tsr_buffer_write(x->in[0].buffer, 0, x->data, bytes);
  if (!st) st = tsr_program_run(x->p, NULL, x->in, x->out);
  if (!st) st = tsr_buffer_read(x->out[0].buffer, 0, x->data, bytes);
  for (int i = 0; !st && i < 2 * x->n; i++) got[i] = dtype_load(x->t, x->data, (size_t)i);
  ran += !st;
  return went(x, st);
}

static void drop(norm *x) {
  for (int i = 0; i < 2; i++) tsr_buffer_destroy(&x->in[i].buffer), tsr_buffer_destroy(&x->out[i].buffer);
  tsr_program_destroy(&x->p);
  free(x->data);
}

/* A row of equal numbers, and one that what is done for the first must not spoil: of +-1, where as many fit. */
static void constant(const norm *x, double value, double u, double *rows, double *got) {
  for (int i = 0; i < 2 * x->n; i++) rows[i] = i < x->n || x->n % 2 ? value : i % 2 ? -1 : 1;
  if (!evaluate(x, rows, got)) return;
  for (int i = 0; i < 2 * x->n; i++)
    if (i < x->n || x->n % 2 ? got[i] != 0 : !(fabs(got[i] - rows[i] / sqrt(1 + 1e-5)) <= 4 * u)) {
      printf("FAIL %s layernorm of %d times %g in %s, policy %d, %s: %g at %d\n", device, x->n, value,
             tsr_dtype_name(x->t), x->policy, form_names[x->form], got[i], i);
      wrong++;
      break;
    }
}

/* s, -s, s, ..: the mean is 0 and the deviation s, if there are as many of each. */
static void alternating(const norm *x, double size, double u, double *rows, double *got) {
  if (x->n % 2) return;
  for (int i = 0; i < 2 * x->n; i++) rows[i] = i % 2 ? -size : size;
  if (!evaluate(x, rows, got)) return;
  for (int i = 0; i < 2 * x->n; i++) {
    double want = (i % 2 ? -1 : 1) / sqrt(1 + (size == 1 ? 1e-5 : 0));
    if (fabs(got[i] - want) <= 4 * u) continue;
    printf("FAIL %s %s of %d times +-%g in %s, policy %d, %s: %g\n", device, x->op, x->n, size, tsr_dtype_name(x->t),
           x->policy, form_names[x->form], got[i]);
    wrong++;
    break;
  }
}

static void one(tsr_context *ctx, tsr_device *dev, tsr_dtype t, int n, tsr_policy policy, form form) {
  double *rows = malloc(sizeof *rows * 4 * (size_t)n), *got = rows + 2 * n, max = dtype_get(t)->max,
         u = dtype_get(t)->eps + dtype_get(TSR_F32)->eps * (policy == TSR_POLICY_FAST ? 8 + n / one_of : 8);
  const double constants[] = {6e4, 0.1, -59999.7, max, 1}, sizes[] = {1, max / 4, t == TSR_F16 ? 1 : 3e19,
                                                                      t == TSR_F16   ? 1e-7
                                                                      : t == TSR_F64 ? 1e-200
                                                                                     : 1e-30};
  for (int which = 0; which < (n % 2 ? 1 : 4); which++) {
    norm x = {which % 2 ? "rmsnorm" : "layernorm", t, n, policy, form, which < 2 ? 1e-5 : 0};
    const bool able = prepare(ctx, dev, &x);
    for (size_t c = 0; able && which == 0 && c < sizeof constants / sizeof *constants; c++)
      constant(&x, constants[c], u, rows, got);
    for (size_t c = 0; able && c < sizeof sizes / sizeof *sizes; c++)
      if ((sizes[c] < 1) == (x.eps == 0)) alternating(&x, sizes[c], u, rows, got);
    drop(&x);
  }
  free(rows);
}

static void many(tsr_context *ctx, tsr_device *dev) {
  static const tsr_dtype types[] = {TSR_F32, TSR_F16, TSR_BF16, TSR_F64};
  static const int lengths[] = {1, 2, 1000, 1024, 70};
  static const tsr_policy policies[] = {TSR_POLICY_FAST, TSR_POLICY_KAHAN_SUM, TSR_POLICY_DETERMINISTIC};
  for (int t = 0; t < 4; t++)
    for (int n = 0; n < 5; n++)
      for (int p = 0; p < 3; p++)
        for (int w = 0; w < 2; w++)
          if (p < 2 || (w && lengths[n] == 70)) one(ctx, dev, types[t], lengths[n], policies[p], w ? WEIGHTED : ALONE);
  one(ctx, dev, TSR_F32, 1000, TSR_POLICY_FAST, OF_SUM);
  one(ctx, dev, TSR_BF16, 4096, TSR_POLICY_FAST, OF_SUM);
  for (int p = 0; p < 2; p++) { /* what no block holds in its registers */
    one(ctx, dev, TSR_F32, 70002, policies[p], WEIGHTED);
    one(ctx, dev, TSR_BF16, 65536, policies[p], ALONE);
  }
  /* The mean of so many equal numbers is rounded to more than the numbers are. */
  one(ctx, dev, TSR_F32, 300001, TSR_POLICY_FAST, ALONE);
}

/* Each case is compiled by the host's compiler and run thread by thread. */
static void few(tsr_context *ctx, tsr_device *dev) {
  one(ctx, dev, TSR_F32, 70, TSR_POLICY_FAST, WEIGHTED);
  one(ctx, dev, TSR_BF16, 1000, TSR_POLICY_FAST, OF_SUM);
  one(ctx, dev, TSR_F32, 20002, TSR_POLICY_FAST, ALONE);
}

int main(void) {
  tsr_context *ctx = NULL;
  tsr_device *dev = NULL;
  device = getenv("TSR_TEST_DEVICE") ? getenv("TSR_TEST_DEVICE") : "cpu:0";
  one_of = strncmp(device, "cpu", 3) ? 2048 : INFINITY;
  if (getenv("TSR_DISABLE") && strstr(getenv("TSR_DISABLE"), "reduction_kernels")) one_of = 8;
  tsr_status st =
      tsr_context_create(&(tsr_context_desc){.cache_dir = "", .extra_backends = conformance_backends}, &ctx);
  if (!st) st = tsr_device_open(ctx, device, &dev);
  if (st) {
    printf("%s\n", tsr_status_message(st));
    int rc = tsr_status_code(st) == TSR_UNAVAILABLE ? 77 : 1;
    tsr_status_free(st);
    tsr_context_destroy(&ctx);
    return rc;
  }
  if (!strncmp(device, "emu", 3)) few(ctx, dev);
  else many(ctx, dev);
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
  printf("%s: %d cases, %d wrong\n", device, ran, wrong);
  return wrong != 0 || ran < 30;
}
