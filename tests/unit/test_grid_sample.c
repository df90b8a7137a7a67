/* grid_sample against the formulas of ONNX's GridSample in plain C: the oracle and the CPU, each mode and padding, one
 * to three axes, coordinates inside, outside, far away and not finite; into how many kernels it becomes. Each type on
 * each device is test_op_types.c's, gradients are test_graph_autodiff.c's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "tests/support/api_check.h"
#include "tests/support/graph_text.h"

enum { BATCH = 2, CHANNELS = 3, POINTS = 24, MOST = 4096 };
static const char *const modes[] = {"linear", "nearest", "cubic"}, *const paddings[] = {"zeros", "border", "reflection"};

typedef struct sample {
  int n, extent[3], mode, padding;
  bool align;
} sample;

static double reflect(double x, double low, double high) {
  const double range = high - low;
  if (range == 0) return low;
  while (x < low || x > high) x = x < low ? 2 * low - x : 2 * high - x;
  return x;
}

/* The image at whole places, by the padding. */
static double pixel(const sample *s, const float *image, const int *at) {
  int place = 0;
  for (int i = 0; i < s->n; i++) {
    const int n = s->extent[i];
    int p = at[i];
    if (s->padding == 0 && (p < 0 || p >= n)) return 0;
    if (s->padding == 1) p = p < 0 ? 0 : p >= n ? n - 1 : p;
    if (s->padding == 2) p = (int)reflect(p, s->align ? 0 : -0.5, s->align ? n - 1 : n - 0.5);
    place = place * n + p;
  }
  return image[place];
}

static double keys(double d) {
  const double a = -0.75;
  d = fabs(d);
  if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
  return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

static double interpolated(const sample *s, const float *image, const double *x, int axis, int *at) {
  if (axis == s->n) return pixel(s, image, at);
  if (s->mode == 1) {
    at[axis] = (int)nearbyint(x[axis]);
    return interpolated(s, image, x, axis + 1, at);
  }
  const int below = (int)floor(x[axis]), first = s->mode == 2 ? -1 : 0, count = s->mode == 2 ? 4 : 2;
  double sum = 0;
  for (int k = first; k < first + count; k++) {
    const double d = x[axis] - (below + k), w = s->mode == 2 ? keys(d) : 1 - fabs(d);
    at[axis] = below + k;
    sum += w * interpolated(s, image, x, axis + 1, at);
  }
  return sum;
}

/* grid: the last axis's coordinate first. */
static double expected(const sample *s, const float *image, const float *grid) {
  double x[3];
  int at[3];
  for (int i = 0; i < s->n; i++) {
    const int n = s->extent[i];
    const double g = grid[s->n - 1 - i], low = s->align ? 0 : -0.5, high = s->align ? n - 1 : n - 0.5;
    x[i] = s->align ? (g + 1) / 2 * (n - 1) : ((g + 1) * n - 1) / 2;
    if (s->mode == 1) x[i] = nearbyint(x[i]);
    if (s->padding == 0) x[i] = fmin(fmax(x[i], -9), n + 9); /* nothing is there */
    else if (s->padding == 1 && (x[i] < low || x[i] > high)) x[i] = fmin(fmax(x[i], 0), n - 1);
    else if (s->padding == 2) x[i] = reflect(x[i], low, high);
  }
  return interpolated(s, image, x, 0, at);
}

static const char *text_of(const sample *s, const char *type) {
  static char text[1024];
  char dims[64] = "";
  for (int i = 0; i < s->n; i++) snprintf(dims + strlen(dims), 16, "%dx", s->extent[i]);
  snprintf(text, sizeof text,
           "\"tessera.graph.func\"() ({\n^bb0(%%x: tensor<%dx%dx%s%s>, %%g: tensor<%dx%d%s%dxf32>):\n%%0 = "
           "\"tessera.graph.grid_sample\"(%%x, %%g) {mode = \"%s\", padding_mode = \"%s\", align_corners = %s}\n"
           "\"tessera.graph.return\"(%%0)\n}) {sym_name = \"main\"}\n",
           BATCH, CHANNELS, dims, type, BATCH, POINTS, s->n == 1 ? "x" : s->n == 2 ? "x1x" : "x1x1x", s->n,
           modes[s->mode], paddings[s->padding], s->align ? "true" : "false");
  return text;
}

static void run(const char *text, const void *const *in, void *out, int *n_kernels) {
  tsr_context *ctx;
  tsr_device *dev;
  tsr_program *p;
  tsr_binding b[2] = {{0}}, o = {0};
  OK(tsr_context_create(&(tsr_context_desc){.cache_dir = ""}, &ctx));
  OK(tsr_device_open(ctx, "cpu:0", &dev));
  OK(tsr_program_parse(dev, text, strlen(text), "test.mlir", NULL, &p));
  for (int i = 0; i < 2; i++) {
    const tsr_tensor_info t = tsr_program_input(p, i);
    OK(tsr_buffer_create(dev, t.bytes, TSR_MEMORY_DEVICE, &b[i].buffer));
    OK(tsr_buffer_write(b[i].buffer, 0, in[i], t.bytes));
  }
  OK(tsr_buffer_create(dev, tsr_program_output(p, 0).bytes, TSR_MEMORY_DEVICE, &o.buffer));
  OK(tsr_program_run(p, NULL, b, &o));
  OK(tsr_buffer_read(o.buffer, 0, out, tsr_program_output(p, 0).bytes));
  *n_kernels = tsr_program_n_kernels(p);
  for (int i = 0; i < 2; i++) tsr_buffer_destroy(&b[i].buffer);
  tsr_buffer_destroy(&o.buffer);
  tsr_program_destroy(&p);
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
}

static float drawn(unsigned *seed) {
  return (float)((*seed = *seed * 1664525u + 1013904223u) >> 8) / 8388608.0f - 1;
}

/* Multiples of 1/8 with extents that keep places exact, some of them on edges and halves, then any numbers. */
static void fill_grid(float *grid, int n, unsigned seed) {
  for (int i = 0; i < n; i++) grid[i] = i % 3 ? 2.5f * drawn(&seed) : (float)((int)(20 * drawn(&seed))) / 8;
}

/* Sums of at most 64 products of numbers below 1 in f32, whose weights are off by the rounding of a place below 40. */
enum { MOST_ROUNDINGS = 400 };

/* Returns how many the oracle knows nothing of: where rounding decides which places are read. */
static int check(const sample *s, const float *x, const float *grid, const float *got, const double *tolerance,
                  const char *who) {
  int image = 1, unknown = 0;
  for (int i = 0; i < s->n; i++) image *= s->extent[i];
  for (int b = 0; b < BATCH; b++)
    for (int c = 0; c < CHANNELS; c++)
      for (int p = 0; p < POINTS; p++) {
        const double want = expected(s, x + (b * CHANNELS + c) * image, grid + (b * POINTS + p) * s->n);
        const int at = (b * CHANNELS + c) * POINTS + p;
        const float have = got[at];
        if (tolerance && tolerance[at] == INFINITY) {
          unknown++;
          continue;
        }
        if (!(fabs(have - want) <= MOST_ROUNDINGS * 0x1p-24))
          fail_msg("%s: %s, %s, align %d, axes %d: point %d is %g, not %g", who, modes[s->mode], paddings[s->padding],
                   s->align, s->n, p, have, want);
      }
  return unknown;
}

static void samples_follow_the_formulas(void **state) {
  static float x[MOST], grid[BATCH * POINTS * 3], got[BATCH * CHANNELS * POINTS];
  static double tolerance[BATCH * CHANNELS * POINTS];
  unsigned seed = 5;
  int unknown = 0, all = 0;
  for (int i = 0; i < MOST; i++) x[i] = drawn(&seed);
  for (int k = 0; k < 3 * 3 * 3 * 2 * 2; k++) {
    static const int extents[2][3] = {{4, 7, 5}, {8, 1, 3}};
    sample s = {.n = 1 + k % 3, .mode = k / 3 % 3, .padding = k / 9 % 3, .align = k / 27 % 2};
    memcpy(s.extent, extents[k / 54], sizeof s.extent);
    fill_grid(grid, BATCH * POINTS * s.n, (unsigned)k);
    /* Where rounding to the nearest place is within a rounding of the other one, either is right. */
    for (int i = 0; i < BATCH * POINTS * s.n && s.mode == 1; i++) grid[i] += 0.003f;
    const void *const in[] = {x, grid};
    const char *text = text_of(&s, "f32");
    ir_module *m = gt_parse(text);
    OK(graph_eval(graph_find_func(m, NULL), in, (void *const[]){got}, (double *const[]){tolerance}));
    ir_module_destroy(&m);
    unknown += check(&s, x, grid, got, tolerance, "oracle");
    all += BATCH * CHANNELS * POINTS;
    int kernels;
    run(text, in, got, &kernels);
    check(&s, x, grid, got, NULL, "cpu");
  }
  assert_true(unknown < all / 2);
}

static void far_places_and_what_is_not_finite(void **state) {
  static const float far[] = {INFINITY, -INFINITY, 1e30f, -1e30f};
  static const float x[BATCH * CHANNELS * 4] = {1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4};
  for (int mode = 0; mode < 3; mode++)
    for (int padding = 0; padding < 2; padding++) {
      const sample s = {.n = 1, .extent = {4}, .mode = mode, .padding = padding};
      float grid[BATCH * POINTS] = {0}, got[BATCH * CHANNELS * POINTS];
      int kernels;
      memcpy(grid, far, sizeof far);
      grid[4] = NAN;
      run(text_of(&s, "f32"), (const void *const[]){x, grid}, got, &kernels);
      for (int i = 0; i < 4; i++) assert_float_equal(got[i], padding ? (i % 2 ? 1 : 4) : 0, 1e-6);
      if (mode == 1) assert_float_equal(got[4], 1, 0);
      else assert_true(isnan(got[4]));
    }
}

/* Places and weights, the image as rows, one gather, the sum. */
static void a_sample_is_few_kernels(void **state) {
  static float x[MOST], grid[BATCH * POINTS * 3], got[BATCH * CHANNELS * POINTS];
  const sample s = {.n = 2, .extent = {4, 7}};
  int kernels;
  run(text_of(&s, "f32"), (const void *const[]){x, grid}, got, &kernels);
  assert_in_range(kernels, 3, 5);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(samples_follow_the_formulas),
      cmocka_unit_test(far_places_and_what_is_not_finite),
      cmocka_unit_test(a_sample_is_few_kernels),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
