/* examples/spectral.c - Poisson's equation, -(u_xx + u_yy) = f, periodic in x and y, by Fourier transforms: each wave
 * of f is divided by the square of its wave number. f is made from u = exp(sin x + cos y), so that the result can be
 * compared with the solution: the error falls faster than any power of the spacing, down to rounding.
 *
 *   spectral [DEVICE]                       (cpu:0)
 *
 * Prints a line for each grid and type; exits with 1 if an error is above what truncation and rounding explain. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tessera/tessera.h>

static void check(tsr_status s) {
  if (!s) return;
  fprintf(stderr, "%s\n", tsr_status_message(s));
  exit(1);
}

static void *room(size_t bytes) {
  void *p = calloc(1, bytes);
  if (!p) exit(1);
  return p;
}

static void put(tsr_dtype t, void *p, size_t i, double v) {
  if (t == TSR_F64) ((double *)p)[i] = v;
  else ((float *)p)[i] = (float)v;
}

static double get(tsr_dtype t, const void *p, size_t i) { return t == TSR_F64 ? ((double *)p)[i] : ((float *)p)[i]; }

/* The spectrum of u over that of f: complex numbers [n, n / 2 + 1], as rfft orders waves. The mean of u is free: 0. */
static void *inverse_laplacian(tsr_dtype t, int n, size_t size) {
  const int half = n / 2 + 1;
  void *p = room((size_t)(n * half) * 2 * size);
  for (int i = 0; i < n; i++)
    for (int j = 0; j < half; j++) {
      const double ky = i <= n / 2 ? i : i - n, kx = j, square = kx * kx + ky * ky;
      put(t, p, 2 * (size_t)(i * half + j), square > 0 ? 1 / square : 0);
    }
  return p;
}

static void solver(tsr_context *ctx, tsr_dtype t, int n, tsr_graph **g) {
  static const int64_t both[] = {0, 1};
  const tsr_attr axes = TSR_INTS("axes", both, 2), back[] = {TSR_INTS("axes", both, 2), TSR_INT("n", n)};
  const size_t size = t == TSR_F64 ? 8 : 4;
  void *waves = inverse_laplacian(t, n, size);
  tsr_value v[2];
  check(tsr_graph_create(ctx, "poisson", g));
  check(tsr_graph_input(*g, "f", t, (tsr_shape){2, {n, n}}, &v[0]));
  check(tsr_graph_op(*g, "rfft", v, 1, &axes, 1, &v[0]));
  check(tsr_graph_constant(*g, t == TSR_F64 ? TSR_COMPLEX128 : TSR_COMPLEX64, (tsr_shape){2, {n, n / 2 + 1}}, waves,
                           &v[1]));
  check(tsr_graph_op(*g, "pointwise_mul", v, 2, NULL, 0, &v[0]));
  check(tsr_graph_op(*g, "irfft", v, 1, back, 2, &v[0]));
  check(tsr_graph_output(*g, v[0]));
  free(waves);
}

/* u, and what its equation has on the right. */
static double solution(double x, double y) { return exp(sin(x) + cos(y)); }
static double source(double x, double y) {
  return -(cos(x) * cos(x) - sin(x) + sin(y) * sin(y) - cos(y)) * solution(x, y);
}

/* The modified Bessel function I_k(1), the size of wave k of exp(sin x) and of exp(cos y). */
static double wave(int k) {
  double term = 1, sum = 0;
  for (int i = 1; i <= k; i++) term /= 2.0 * i;
  for (int i = 0; i < 20; i++) sum += term, term /= 4.0 * (i + 1) * (i + 1 + k);
  return sum;
}

/* The largest error on a grid of n x n points; negative: the device can't compute with the type. */
static double solve(tsr_context *ctx, tsr_device *dev, tsr_dtype t, int n) {
  const double step = 2 * 3.14159265358979323846 / n;
  const size_t points = (size_t)n * (size_t)n, bytes = points * (t == TSR_F64 ? 8 : 4);
  tsr_graph *g;
  tsr_program *p;
  tsr_buffer *in, *out;
  double worst = 0;
  solver(ctx, t, n, &g);
  tsr_status st = tsr_program_compile(dev, g, &(tsr_compile_options){.tune = TSR_TUNE_OFF}, &p);
  tsr_graph_destroy(&g);
  if (tsr_status_code(st) == TSR_UNSUPPORTED) {
    tsr_status_free(st);
    return -1;
  }
  check(st);
  void *f = room(bytes);
  for (size_t i = 0; i < points; i++)
    put(t, f, i, source((double)(i % (size_t)n) * step, (double)(i / (size_t)n) * step));
  check(tsr_buffer_create(dev, bytes, TSR_MEMORY_DEVICE, &in));
  check(tsr_buffer_create(dev, bytes, TSR_MEMORY_DEVICE, &out));
  check(tsr_buffer_write(in, 0, f, bytes));
  check(tsr_program_run(p, NULL, &(tsr_binding){in, 0}, &(tsr_binding){out, 0}));
  check(tsr_buffer_read(out, 0, f, bytes));
  const double mean = wave(0) * wave(0);
  for (size_t i = 0; i < points; i++) {
    const double u = solution((double)(i % (size_t)n) * step, (double)(i / (size_t)n) * step) - mean,
                 error = fabs(get(t, f, i) - u);
    if (isnan(error)) worst = INFINITY;
    else if (error > worst) worst = error;
  }
  free(f);
  tsr_buffer_destroy(&in);
  tsr_buffer_destroy(&out);
  tsr_program_destroy(&p);
  return worst;
}

int main(int argc, char **argv) {
  static const int sizes[] = {6, 8, 12, 16, 24, 32, 100};
  static const struct { tsr_dtype t; const char *name; double unit; } types[] = {{TSR_F32, "f32", 0x1p-24},
                                                                                {TSR_F64, "f64", 0x1p-53}};
  tsr_context *ctx;
  tsr_device *dev;
  bool good = true;
  check(tsr_context_create(NULL, &ctx));
  check(tsr_device_open(ctx, argc > 1 ? argv[1] : "cpu:0", &dev));
  for (int t = 0; t < 2; t++)
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
      const int n = sizes[i];
      /* Waves from n / 2 on are missing or taken for others: of each axis a few such, times those of the other, whose
       * sum is e. Rounding: some units of the largest value of f, 3 e^2, in each transform. */
      const double bound = 4 * exp(1) * wave(n / 2) + 8 * types[t].unit * 3 * exp(2),
                   error = solve(ctx, dev, types[t].t, n);
      if (error < 0) {
        printf("%s: the device doesn't compute with it\n", types[t].name);
        break;
      }
      printf("%s %3dx%-3d  error %.1e, bound %.1e\n", types[t].name, n, n, error, bound);
      good &= error <= bound;
    }
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
  return good ? 0 : 1;
}
