/* tests/conformance/test_convolution.c - convolutions of many blocks with constant weights, which backends pack once:
 * the same program runs twice, on different images. Operands are small whole numbers, so that every sum is exact in
 * f32 and the expectation, a sum in integers, has to be met. Then by products of spectra and by Winograd's transforms,
 * whose results are not exact. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "tests/conformance/open_device.h"

typedef struct shape {
  int n, c, h, w, out, kernel, stride, pad, groups, last, wider; /* wider: elements between those of a window */
} shape;

/* Several tiles of output channels by several of places; weights whose rows lie 1024 bytes apart, which CPUs pack, and
 * others; few places, many places; pointwise; groups; both layouts. Lines of one place to more than a vector's, 1 to 5
 * apart, windows larger than the image, images larger than a cache, each channel for itself; short lines one behind the
 * other, from one place to a vector's and one more; windows that have every second or third line of the image alone, or
 * every second element. */
static const shape shapes[] = {
    {1, 256, 15, 15, 512, 1, 2, 0, 1, 0}, {1, 256, 7, 9, 272, 3, 1, 1, 1, 0}, {2, 256, 9, 9, 270, 1, 1, 0, 1, 0},
    {1, 3, 70, 66, 20, 7, 2, 3, 1, 0},    {2, 64, 30, 31, 40, 3, 1, 1, 1, 0}, {3, 96, 12, 13, 80, 3, 2, 1, 4, 0},
    {1, 256, 7, 9, 272, 3, 1, 1, 1, 1},   {1, 3, 70, 66, 20, 7, 2, 3, 1, 1},  {2, 64, 30, 31, 40, 3, 1, 1, 1, 1},
    {2, 256, 9, 9, 270, 1, 1, 0, 1, 1},   {2, 96, 12, 13, 80, 3, 2, 1, 4, 1}, {2, 40, 20, 21, 40, 3, 1, 1, 40, 1},
    {2, 40, 20, 21, 40, 3, 1, 1, 40, 0},  {1, 33, 17, 1, 33, 5, 2, 2, 33, 0}, {1, 24, 40, 70, 24, 7, 1, 3, 24, 0},
    {1, 8, 23, 50, 7, 5, 3, 2, 1, 0},     {1, 8, 40, 61, 6, 3, 5, 1, 1, 0},   {1, 200, 30, 200, 9, 3, 1, 1, 1, 0},
    {1, 4, 3, 3, 5, 7, 1, 3, 1, 0},       {2, 16, 9, 40, 32, 3, 1, 1, 16, 0}, {1, 1, 1, 1, 1, 1, 2, 0, 1, 0},
    {1, 5, 1, 37, 13, 3, 4, 1, 1, 0},     {1, 40, 13, 13, 24, 3, 1, 1, 1, 0}, {1, 6, 26, 26, 7, 3, 1, 0, 1, 0},
    {2, 12, 10, 10, 12, 3, 1, 1, 12, 0},  {1, 2, 40, 1, 3, 3, 1, 1, 1, 0},    {2, 3, 11, 16, 4, 5, 1, 2, 1, 0},
    {1, 3, 19, 17, 13, 3, 1, 1, 1, 0},    {1, 7, 50, 4, 7, 7, 1, 3, 7, 0},    {1, 20, 52, 52, 48, 3, 1, 1, 1, 0},
    {1, 4, 64, 64, 4, 21, 1, 10, 4, 0},   {1, 2, 40, 70, 3, 31, 1, 15, 1, 0}, {1, 3, 33, 40, 6, 17, 2, 8, 3, 1},
    {1, 64, 14, 14, 64, 5, 2, 2, 64, 0},  {1, 64, 7, 7, 64, 5, 1, 2, 64, 0},    {3, 9, 15, 11, 9, 3, 3, 2, 9, 0},
    {1, 256, 14, 14, 70, 1, 2, 0, 1, 0},  {2, 64, 56, 56, 12, 1, 2, 0, 1, 0},   {1, 5, 17, 29, 7, 1, 3, 0, 1, 0},
    {1, 6, 20, 33, 6, 1, 4, 0, 6, 0},     {1, 6, 20, 33, 6, 1, 5, 0, 6, 0},     {2, 12, 15, 16, 8, 3, 2, 2, 1, 0, 1},
    {2, 12, 15, 16, 12, 3, 2, 1, 12, 0, 1}, {1, 4, 21, 37, 6, 3, 4, 3, 1, 0, 1}, {1, 4, 30, 7, 6, 3, 2, 0, 2, 0, 2},
    {1, 9, 16, 24, 9, 3, 3, 3, 9, 0, 2},  {1, 3, 40, 1, 5, 1, 2, 0, 1, 0},      {1, 3, 1, 40, 5, 1, 2, 0, 1, 0},
    {2, 7, 18, 19, 5, 3, 1, 2, 1, 0, 1},
};

static int out_of(int x, const shape *s) {
  return (x + 2 * s->pad - (s->kernel - 1) * (s->wider + 1) - 1) / s->stride + 1;
}

static size_t image_at(const shape *s, int channels, int h, int w, int n, int c, int y, int x) {
  return (size_t)(s->last ? ((n * h + y) * w + x) * channels + c : ((n * channels + c) * h + y) * w + x);
}

static size_t weight_at(const shape *s, int o, int c, int y, int x) {
  const int in = s->c / s->groups, k = s->kernel;
  return (size_t)(s->last ? ((y * k + x) * in + c) * s->out + o : ((o * in + c) * k + y) * k + x);
}

static void fill(float *x, size_t n, uint32_t seed) {
  for (size_t i = 0; i < n; i++) seed = seed * 1664525u + 1013904223u, x[i] = (float)(int)(seed >> 24 & 7) - 3;
}

static int element(const shape *s, const float *x, const float *w, int n, int o, int y, int at_x) {
  const int in = s->c / s->groups, group = o / (s->out / s->groups);
  int sum = o % 5; /* the bias */
  for (int ky = 0; ky < s->kernel; ky++)
    for (int kx = 0; kx < s->kernel; kx++) {
      const int iy = y * s->stride + ky * (s->wider + 1) - s->pad, ix = at_x * s->stride + kx * (s->wider + 1) - s->pad;
      if (iy < 0 || ix < 0 || iy >= s->h || ix >= s->w) continue;
      for (int c = 0; c < in; c++)
        sum += (int)x[image_at(s, s->c, s->h, s->w, n, group * in + c, iy, ix)] * (int)w[weight_at(s, o, c, ky, kx)];
    }
  return sum > 0 ? sum : 0; /* relu */
}

typedef enum algorithm { DIRECT, FFT, WINOGRAD, N_ALGORITHMS } algorithm;
static const char *const names[N_ALGORITHMS] = {"direct", "fft", "winograd"};

/* Small enough for that many transforms; what Winograd's are for. */
static bool takes(const shape *s, algorithm a) {
  if (a == FFT) return s->c * s->out < 200;
  return a == DIRECT || (s->kernel == 3 && s->stride == 1 && s->groups == 1 && !s->last && !s->wider &&
                         out_of(s->w, s) > 1);
}

/* What a result may be off by: nothing; of Winograd's transforms six standard deviations of as many roundings as a
 * chain over the channels and the transforms have, of the points' root mean squares (docs/precision.md); of spectra,
 * whose every number has a part of all of the image, the transforms' 2 sqrt(log2 n) roundings each (Higham and Mary
 * 2019, as in core/ir/graph/eval.h) of the image's norm times the weights', which are uniform in -3..4. */
static double tolerance(const shape *s, algorithm a) {
  const double in = s->c / s->groups, n = (double)(s->h + 2 * s->pad) * (s->w + 2 * s->pad), mean_square = 5.5;
  const double norms = mean_square * in * sqrt((double)s->h * s->w) * s->kernel;
  if (a == WINOGRAD) return 6 * sqrt(in + 16) * 0x1p-24 * 24 * sqrt(in) * mean_square;
  return a == FFT ? 3 * 2 * sqrt(1 + log2(n)) * 0x1p-24 * norms : 0;
}

static int compare(const shape *s, algorithm a, const float *x, const float *w, const float *y) {
  const double tol = tolerance(s, a);
  const int h = out_of(s->h, s), wide = out_of(s->w, s);
  for (int n = 0; n < s->n; n++)
    for (int o = 0; o < s->out; o++)
      for (int i = 0; i < h * wide; i++) {
        const float got = y[image_at(s, s->out, h, wide, n, o, i / wide, i % wide)];
        const int want = element(s, x, w, n, o, i / wide, i % wide);
        if (fabs((double)got - want) <= tol) continue;
        printf("%d channels to %d, kernel %d, %s, %s: entry %d, channel %d, place %d is %g, not %d\n", s->c, s->out,
               s->kernel, s->last ? "nhwc" : "nchw", names[a], n, o, i, (double)got, want);
        return 1;
      }
  return 0;
}

static tsr_status compiled(tsr_context *ctx, tsr_device *dev, const shape *s, algorithm a, const float *w,
                           tsr_program **p) {
  const int in = s->c / s->groups, k = s->kernel;
  const tsr_shape image = s->last ? (tsr_shape){4, {s->n, s->h, s->w, s->c}} : (tsr_shape){4, {s->n, s->c, s->h, s->w}};
  const tsr_shape weights = s->last ? (tsr_shape){4, {k, k, in, s->out}} : (tsr_shape){4, {s->out, in, k, k}};
  const int64_t strides[2] = {s->stride, s->stride}, pad[2] = {s->pad, s->pad},
                dilations[2] = {s->wider + 1, s->wider + 1};
  const tsr_attr attrs[] = {TSR_STRING("layout", s->last ? "nhwc" : "nchw"), TSR_INT("groups", s->groups),
                            TSR_INTS("strides", strides, 2), TSR_INTS("dilations", dilations, 2),
                            TSR_INTS("low", pad, 2), TSR_INTS("high", pad, 2),
                            TSR_STRING("algorithm", names[a])};
  float bias[600];
  tsr_graph *g = NULL;
  tsr_value v[3];
  for (int i = 0; i < s->out; i++) bias[i] = (float)(i % 5);
  tsr_status st = tsr_graph_create(ctx, "main", &g);
  if (!st) st = tsr_graph_input(g, "x", TSR_F32, image, &v[0]);
  if (!st) st = tsr_graph_constant(g, TSR_F32, weights, w, &v[1]);
  if (!st) st = tsr_graph_constant(g, TSR_F32, (tsr_shape){1, {s->out}}, bias, &v[2]);
  if (!st) st = tsr_graph_op(g, "conv2d", v, 3, attrs, (int)(sizeof attrs / sizeof *attrs), v);
  if (!st) st = tsr_graph_op(g, "relu", v, 1, NULL, 0, v);
  if (!st) st = tsr_graph_output(g, v[0]);
  if (!st) st = tsr_program_compile(dev, g, NULL, p);
  tsr_graph_destroy(&g);
  return st;
}

/* 0 right, 1 wrong. */
static int one(tsr_context *ctx, tsr_device *dev, const char *device, const shape *s, algorithm a) {
  const size_t n_x = (size_t)s->n * (size_t)s->c * (size_t)s->h * (size_t)s->w,
               n_w = (size_t)s->out * (size_t)(s->c / s->groups) * (size_t)s->kernel * (size_t)s->kernel,
               n_y = (size_t)s->n * (size_t)s->out * (size_t)out_of(s->h, s) * (size_t)out_of(s->w, s);
  float *x = malloc(n_x * sizeof *x), *w = malloc(n_w * sizeof *w), *y = malloc(n_y * sizeof *y);
  tsr_program *p = NULL;
  tsr_binding in = {NULL, 0}, out = {NULL, 0};
  int wrong = 0;
  if (!x || !w || !y) abort();
  fill(w, n_w, 7);
  tsr_status st = compiled(ctx, dev, s, a, w, &p);
  if (!st) st = tsr_buffer_create(dev, n_x * sizeof *x, TSR_MEMORY_DEVICE, &in.buffer);
  if (!st) st = tsr_buffer_create(dev, n_y * sizeof *y, TSR_MEMORY_DEVICE, &out.buffer);
  for (int run = 0; run < 2 && !st && !wrong; run++) {
    fill(x, n_x, 99u + (uint32_t)run);
    st = tsr_buffer_write(in.buffer, 0, x, n_x * sizeof *x);
    if (!st) st = tsr_program_run(p, NULL, &in, &out);
    if (!st) st = tsr_buffer_read(out.buffer, 0, y, n_y * sizeof *y);
    wrong = !st && compare(s, a, x, w, y);
  }
  /* The CPU alone has them; the others say so. */
  const bool refused = a == WINOGRAD && st && tsr_status_code(st) == TSR_UNSUPPORTED && strncmp(device, "cpu", 3);
  wrong |= st != NULL && !refused;
  if (st && !refused) printf("%d channels to %d: %s\n", s->c, s->out, tsr_status_message(st));
  tsr_status_free(st);
  tsr_buffer_destroy(&in.buffer);
  tsr_buffer_destroy(&out.buffer);
  tsr_program_destroy(&p);
  free(x);
  free(w);
  free(y);
  return wrong;
}

int main(void) {
  tsr_context *ctx;
  tsr_device *dev;
  const char *device;
  int count[2] = {0}, rc = open_for_test(&(tsr_context_desc){.cache_dir = ""}, &ctx, &dev, &device);
  if (rc) return rc;
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
    for (int a = 0; a < N_ALGORITHMS; a++)
      if (takes(&shapes[i], (algorithm)a)) count[one(ctx, dev, device, &shapes[i], (algorithm)a)]++;
  close_for_test(&ctx, &dev);
  printf("%s: %d right, %d wrong\n", device, count[0], count[1]);
  return count[1] > 0;
}
