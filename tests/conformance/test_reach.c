/* tests/conformance/test_reach.c - the three Tile IR programs that show what the level can say (flash attention,
 * convolution as an implicit matrix product, a 4096-point FFT) run on a device and are compared with plain
 * double-precision loops.
 *   TSR_TEST_DEVICE (cpu:0). Exit 77: the device is not here. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/dtype.h"
#include "tests/conformance/open_device.h"
#include "tests/conformance/random_graph.h"

typedef struct reach {
  tsr_context *ctx;
  tsr_device *dev;
  int wrong;
} reach;

typedef struct run {
  int n_in, n_out;
  tsr_tensor_info in[4], out[4];
  double *x[4], *y[4]; /* operands as the device saw them, and its results */
} run;

static char *slurp(const char *name, size_t *bytes) {
  char path[512];
  snprintf(path, sizeof path, "%s/tests/tile/%s.mlir", TSR_SOURCE_DIR, name);
  FILE *f = fopen(path, "rb");
  char *text = f ? calloc(1, 1 << 16) : NULL;
  *bytes = text ? fread(text, 1, (1 << 16) - 1, f) : 0;
  if (f) fclose(f);
  return text;
}

static size_t count(const tsr_tensor_info *t) { return t->bytes / tsr_dtype_size(t->dtype); }

static tsr_status execute(reach *r, tsr_program *p, run *x) {
  tsr_binding in[4] = {{0}}, out[4] = {{0}};
  tsr_status st = NULL;
  rng random = {42};
  x->n_in = tsr_program_n_inputs(p);
  x->n_out = tsr_program_n_outputs(p);
  for (int i = 0; i < x->n_in && !st; i++) {
    tsr_tensor_info t = x->in[i] = tsr_program_input(p, i);
    void *data = malloc(t.bytes);
    x->x[i] = malloc(sizeof(double) * count(&t));
    for (size_t k = 0; k < count(&t); k++) dtype_store(t.dtype, data, k, 2 * rng_unit(&random) - 1);
    for (size_t k = 0; k < count(&t); k++) x->x[i][k] = dtype_load(t.dtype, data, k);
    st = tsr_buffer_create(r->dev, t.bytes, TSR_MEMORY_DEVICE, &in[i].buffer);
    if (!st) st = tsr_buffer_write(in[i].buffer, 0, data, t.bytes);
    free(data);
  }
  for (int i = 0; i < x->n_out && !st; i++) {
    x->out[i] = tsr_program_output(p, i);
    st = tsr_buffer_create(r->dev, x->out[i].bytes, TSR_MEMORY_DEVICE, &out[i].buffer);
  }
  if (!st) st = tsr_program_run(p, NULL, in, out);
  for (int i = 0; i < x->n_out && !st; i++) {
    void *data = malloc(x->out[i].bytes);
    x->y[i] = malloc(sizeof(double) * count(&x->out[i]));
    st = tsr_buffer_read(out[i].buffer, 0, data, x->out[i].bytes);
    for (size_t k = 0; k < count(&x->out[i]); k++) x->y[i][k] = dtype_load(x->out[i].dtype, data, k);
    free(data);
  }
  for (int i = 0; i < 4; i++) {
    tsr_buffer_destroy(&in[i].buffer);
    tsr_buffer_destroy(&out[i].buffer);
  }
  return st;
}

/* Each returns the largest error relative to the tolerance it states. */

/* Scores of f16 operands summed in f32 over 64 terms, probabilities rounded to f16 before the second product, f16
 * results: the outputs are means of values below 1, so 4 roundings to f16 (2^-11 each) bound the error. */
static double check_attention(const run *x) {
  enum { H = 4, S = 200, D = 64 };
  const double tolerance = 4 * 4.8828125e-4;
  double worst = 0;
  for (int h = 0; h < H; h++)
    for (int i = 0; i < S; i++) {
      double s[S], m = -INFINITY, l = 0;
      for (int j = 0; j <= i; j++) {
        s[j] = 0;
        for (int d = 0; d < D; d++) s[j] += x->x[0][(h * S + i) * D + d] * x->x[1][(h * S + j) * D + d];
        s[j] /= sqrt((double)D);
        if (s[j] > m) m = s[j];
      }
      for (int j = 0; j <= i; j++) l += s[j] = exp(s[j] - m);
      for (int d = 0; d < D; d++) {
        double o = 0;
        for (int j = 0; j <= i; j++) o += s[j] / l * x->x[2][(h * S + j) * D + d];
        double e = fabs(o - x->y[0][(h * S + i) * D + d]) / tolerance;
        if (!(e <= worst)) worst = e;
      }
    }
  return worst;
}

/* f32 sums of 72 products below 1: n u sum|xy| with u = 2^-24. */
static double check_conv(const run *x) {
  enum { N = 2, H = 15, W = 17, C = 8, OH = 8, OW = 9, F = 24 };
  const double tolerance = 72 * 72 * 5.96e-8;
  double worst = 0;
  for (int n = 0; n < N; n++)
    for (int oy = 0; oy < OH; oy++)
      for (int ox = 0; ox < OW; ox++)
        for (int f = 0; f < F; f++) {
          double s = 0;
          for (int ky = 0; ky < 3; ky++)
            for (int kx = 0; kx < 3; kx++)
              for (int c = 0; c < C; c++) {
                int iy = oy * 2 + ky - 1, ix = ox * 2 + kx - 1;
                if (iy < 0 || iy >= H || ix < 0 || ix >= W) continue;
                s += x->x[0][((n * H + iy) * W + ix) * C + c] * x->x[1][((ky * 3 + kx) * C + c) * F + f];
              }
          double e = fabs(s - x->y[0][((n * OH + oy) * OW + ox) * F + f]) / tolerance;
          if (!(e <= worst)) worst = e;
        }
  return worst;
}

/* Three radix-16 stages: about 3 * 5 u log-growth on results of size sqrt(4096); 64 u sqrt(n) is generous and still far
 * below a wrong point. */
static double check_fft(const run *x) {
  enum { ROWS = 6, N = 4096 };
  const double tolerance = 64 * 5.96e-8 * 64;
  double worst = 0, *c = malloc(sizeof *c * N), *s = malloc(sizeof *s * N);
  for (int i = 0; i < N; i++) {
    c[i] = cos(-6.283185307179586 * i / N);
    s[i] = sin(-6.283185307179586 * i / N);
  }
  for (int row = 0; row < ROWS; row++)
    for (int k = 0; k < N; k += row ? 37 : 7) {
      double re = 0, im = 0;
      for (int i = 0; i < N; i++) {
        int t = (int)((long)i * k % N);
        double a = x->x[0][row * N + i], b = x->x[1][row * N + i];
        re += a * c[t] - b * s[t];
        im += a * s[t] + b * c[t];
      }
      double e = (fabs(re - x->y[0][row * N + k]) + fabs(im - x->y[1][row * N + k])) / tolerance;
      if (!(e <= worst)) worst = e;
    }
  free(c);
  free(s);
  return worst;
}

static void program(reach *r, const char *name, double (*check)(const run *x)) {
  size_t bytes;
  char *text = slurp(name, &bytes);
  tsr_program *p = NULL;
  run x = {0};
  tsr_status st = tsr_program_parse(r->dev, text, bytes, name, NULL, &p);
  if (!st) st = execute(r, p, &x);
  double worst = st ? INFINITY : check(&x);
  printf("%-16s %s%s\n", name, st ? tsr_status_message(st) : worst <= 1 ? "ok" : "WRONG", "");
  if (!st) printf("                 largest error %.3g of the tolerance\n", worst);
  if (!(worst <= 1)) r->wrong++;
  tsr_status_free(st);
  for (int i = 0; i < 4; i++) free(x.x[i]), free(x.y[i]);
  tsr_program_destroy(&p);
  free(text);
}

int main(void) {
  reach r = {0};
  const char *device;
  int rc = open_for_test(&(tsr_context_desc){.cache_dir = ""}, &r.ctx, &r.dev, &device);
  if (rc) return rc;
  program(&r, "flash_attention", check_attention);
  program(&r, "conv2d", check_conv);
  program(&r, "fft4096", check_fft);
  tsr_device_close(&r.dev);
  tsr_context_destroy(&r.ctx);
  printf("%d passed, %d failed\n", 3 - r.wrong, r.wrong);
  return r.wrong ? 1 : 0;
}
