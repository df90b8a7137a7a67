/* Fourier transforms: the oracle and the CPU against the sum of the definition in long double, at sizes of every way in
 * which they are computed; norms, axes, halves of real spectra, and what refuses them. Each type on each device is
 * test_op_types.c's, gradients are test_graph_autodiff.c's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <complex.h>
#include <math.h>

#include "core/base/dtype.h"
#include "tests/support/api_check.h"
#include "tests/support/graph_text.h"

enum { MOST = 4096 };

typedef struct transform {
  int rank, n_axes;
  int64_t dims[3];
  int axes[3];
  int sign;
  const char *norm;
} transform;

static int64_t count(const transform *t) {
  int64_t n = 1;
  for (int i = 0; i < t->rank; i++) n *= t->dims[i];
  return n;
}

/* The definition, axis by axis. */
static void sum_of(const transform *t, double complex *x) {
  static long double complex line[MOST], y[MOST];
  double points = 1;
  for (int k = 0; k < t->n_axes; k++) {
    const int axis = t->axes[k];
    int64_t after = 1, n = t->dims[axis];
    for (int i = axis + 1; i < t->rank; i++) after *= t->dims[i];
    points *= (double)n;
    for (int64_t at = 0; at < count(t); at++) {
      if (at / after % n) continue;
      for (int64_t j = 0; j < n; j++) line[j] = x[at + j * after];
      for (int64_t i = 0; i < n; i++) {
        y[i] = 0;
        for (int64_t j = 0; j < n; j++) {
          const long double a = (long double)t->sign * 2 * 3.14159265358979323846264L * (i * j % n) / n;
          y[i] += line[j] * (cosl(a) + I * sinl(a));
        }
      }
      for (int64_t j = 0; j < n; j++) x[at + j * after] = (double complex)y[j];
    }
  }
  const bool inverse = t->sign > 0;
  const double scale = !strcmp(t->norm, "ortho") ? 1 / sqrt(points)
                       : !strcmp(t->norm, inverse ? "backward" : "forward") ? 1 / points : 1;
  for (int64_t i = 0; i < count(t); i++) x[i] *= scale;
}

static const char *text_of(const transform *t, const char *type, const char *op, const char *more) {
  static char text[1024];
  char dims[64] = "", axes[64] = "";
  for (int i = 0; i < t->rank; i++) snprintf(dims + strlen(dims), 24, "%dx", (int)t->dims[i]);
  for (int i = 0; i < t->n_axes; i++) snprintf(axes + strlen(axes), 24, "%s%d", i ? ", " : "", t->axes[i]);
  snprintf(text, sizeof text,
           "\"builtin.module\"() ({\n\"tessera.graph.func\"() ({\n^bb0(%%x: tensor<%s%s>):\n"
           "%%0 = \"tessera.graph.%s\"(%%x) {axes = [%s], norm = \"%s\"%s}\n\"tessera.graph.return\"(%%0)\n}) "
           "{sym_name = \"main\"}\n})\n",
           dims, type, op, axes, t->norm, more);
  return text;
}

static const transform cases[] = {
    {1, 1, {1}, {0}, -1, "backward"},          {2, 1, {3, 2}, {1}, 1, "backward"},
    {2, 1, {2, 7}, {1}, -1, "forward"},        {1, 1, {32}, {0}, 1, "forward"},
    {2, 1, {3, 37}, {-1 + 2}, -1, "ortho"},    {2, 1, {60, 2}, {0}, 1, "ortho"},
    {1, 1, {127}, {0}, -1, "backward"},        {2, 1, {2, 131}, {1}, 1, "backward"},
    {1, 1, {262}, {0}, -1, "backward"},        {1, 1, {1009}, {0}, -1, "ortho"},
    {2, 1, {2, 1024}, {1}, -1, "backward"},    {1, 1, {1155}, {0}, 1, "backward"},
    {2, 2, {12, 35}, {0, 1}, -1, "backward"},  {3, 2, {5, 3, 66}, {2, 0}, 1, "ortho"},
    {3, 3, {4, 6, 10}, {0, 1, 2}, 1, "backward"}, {3, 1, {4, 0, 10}, {2}, -1, "backward"},
};

static double complex number(uint64_t *s) {
  double v[2];
  for (int i = 0; i < 2; i++) {
    *s = *s * 6364136223846793005u + 1442695040888963407u;
    v[i] = (double)(float)((double)(*s >> 40) / (1 << 23) - 1);
  }
  return v[0] + v[1] * I;
}

/* The graph's oracle gives want within its own tolerance; out: that tolerance. */
static void check_oracle(const char *text, const void *in, const double *want, int64_t n, double *tolerance) {
  ir_module *m = gt_parse(text);
  ir_op *f = graph_find_func(m, NULL);
  gt_data out = gt_outputs(f);
  assert_null(graph_eval(f, (const void *const[]){in}, out.p, (double *const[]){tolerance}));
  const tsr_dtype t = f->regions[0]->last->operands[0]->type->dtype;
  for (int64_t i = 0; i < n; i++) {
    const double e = fabs(dtype_load(t, out.p[0], (size_t)i) - want[i]);
    if (!(e <= tolerance[i])) fail_msg("%s: number %d is off by %g, tolerance %g", text, (int)i, e, tolerance[i]);
  }
  gt_free(&out);
  ir_module_destroy(&m);
}

/* What the CPU gives, to be freed; y: of what kind. */
static void *run_cpu(const char *text, const void *in, size_t bytes, tsr_policy policy, tsr_tensor_info *y) {
  tsr_context *ctx;
  tsr_device *dev;
  tsr_program *p;
  tsr_binding b[2] = {{0}};
  OK(tsr_context_create(&(tsr_context_desc){.cache_dir = "", .policy = policy}, &ctx));
  OK(tsr_device_open(ctx, "cpu:0", &dev));
  OK(tsr_program_parse(dev, text, strlen(text), "test.mlir", NULL, &p));
  *y = tsr_program_output(p, 0);
  char *got = malloc(y->bytes + 1);
  OK(tsr_buffer_create(dev, bytes + 1, TSR_MEMORY_DEVICE, &b[0].buffer));
  OK(tsr_buffer_create(dev, y->bytes + 1, TSR_MEMORY_DEVICE, &b[1].buffer));
  OK(tsr_buffer_write(b[0].buffer, 0, in, bytes));
  OK(tsr_program_run(p, NULL, &b[0], &b[1]));
  OK(tsr_buffer_read(b[1].buffer, 0, got, y->bytes));
  for (int i = 0; i < 2; i++) tsr_buffer_destroy(&b[i].buffer);
  tsr_program_destroy(&p);
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
  return got;
}

static void check_cpu(const char *text, const void *in, size_t bytes, const double *want, const double *tolerance) {
  tsr_tensor_info y;
  void *got = run_cpu(text, in, bytes, TSR_POLICY_DEFAULT, &y);
  const size_t n = y.bytes / tsr_dtype_size(dtype_part(y.dtype));
  for (size_t i = 0; i < n; i++) {
    const double e = fabs(dtype_load(y.dtype, got, i) - want[i]);
    if (!(e <= tolerance[i])) fail_msg("%s: number %d is off by %g, tolerance %g", text, (int)i, e, tolerance[i]);
  }
  free(got);
}

static void transforms_are_the_sums_of_the_definition(void **state) {
  static double complex x[MOST], y[MOST];
  static double tolerance[2 * MOST];
  static float narrow[2 * MOST];
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    const transform *t = &cases[c];
    const int64_t n = count(t);
    uint64_t seed = c;
    for (int64_t i = 0; i < n; i++) {
      y[i] = x[i] = number(&seed);
      narrow[2 * i] = (float)creal(x[i]), narrow[2 * i + 1] = (float)cimag(x[i]);
    }
    sum_of(t, y);
    const char *op = t->sign < 0 ? "fft" : "ifft";
    check_oracle(text_of(t, "complex<f64>", op, ""), x, (double *)y, 2 * n, tolerance);
    check_oracle(text_of(t, "complex<f32>", op, ""), narrow, (double *)y, 2 * n, tolerance);
    check_cpu(text_of(t, "complex<f32>", op, ""), narrow, (size_t)n * 8, (double *)y, tolerance);
  }
}

/* Real numbers have the first half of the spectrum, and come back from it. */
static void halves_of_real_spectra(void **state) {
  static double complex y[MOST];
  static double x[MOST], half[2 * MOST], tolerance[2 * MOST];
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    transform t = cases[c];
    const int64_t n = count(&t);
    const int last = t.axes[t.n_axes - 1];
    int64_t after = 1, kept = t.dims[last] / 2 + 1, m = 0;
    char more[32];
    uint64_t seed = c;
    t.sign = -1;
    for (int i = last + 1; i < t.rank; i++) after *= t.dims[i];
    for (int64_t i = 0; i < n; i++) y[i] = x[i] = creal(number(&seed));
    sum_of(&t, y);
    for (int64_t i = 0; i < n; i++)
      if (i / after % t.dims[last] < kept) half[2 * m] = creal(y[i]), half[2 * m++ + 1] = cimag(y[i]);
    check_oracle(text_of(&t, "f64", "rfft", ""), x, half, 2 * m, tolerance);
    check_cpu(text_of(&t, "f64", "rfft", ""), x, (size_t)n * 8, half, tolerance);
    snprintf(more, sizeof more, ", n = %d", (int)t.dims[last]);
    t.dims[last] = kept;
    check_oracle(text_of(&t, "complex<f64>", "irfft", more), half, x, n, tolerance);
    check_cpu(text_of(&t, "complex<f64>", "irfft", more), half, (size_t)m * 16, x, tolerance);
  }
}

static void bad_transforms_get_one_clear_line(void **state) {
  static const struct { const char *type, *op, *attrs, *says; } bad[] = {
      {"4xf32", "fft", "", "takes complex numbers, not f32"},
      {"4xcomplex<f32>", "rfft", "", "takes real numbers, not complex64"},
      {"4xi32", "rfft", "", "takes real numbers, not i32"},
      {"4xbf16", "rfft", "", "takes real numbers, not bf16"},
      {"4xf64", "irfft", "", "takes complex numbers, not f64"},
      {"4xcomplex<f32>", "fft", "axes = [1]", "axis"},
      {"4x4xcomplex<f32>", "fft", "axes = [0, -2]", "axis 0 is given twice"},
      {"4xcomplex<f32>", "fft", "axes = []", "1 to 3 integers"},
      {"1x1x1x1xcomplex<f32>", "ifft", "axes = [0, 1, 2, 3]", "1 to 3 integers"},
      {"complex<f32>", "fft", "", "axis"},
      {"4xcomplex<f32>", "fft", "norm = \"unitary\"", "unknown norm \"unitary\""},
      {"4x0xcomplex<f32>", "fft", "", "axis 1 has no elements to transform"},
      {"1073741825xcomplex<f32>", "fft", "", "has 1073741825 points"},
      {"5xcomplex<f32>", "irfft", "n = 7", "n = 7 of 5 numbers"},
      {"5xcomplex<f32>", "irfft", "n = -8", "n = -8 of 5 numbers"},
      {"5xcomplex<f32>", "fft", "n = 5", "n"},
      {"4xcomplex<f32>", "dft", "axis = 0", "complex"},
      {"4x2xf16", "dft", "axis = 0", "transforms pairs of f16"},
      {"4x3xf32", "dft", "axis = 0", "the last dimension is 3, not 2"},
      {"f32", "dft", "axis = 0", "not 2"},
      {"4x2xf32", "dft", "axis = 1", "axis 1 to 1 of 1 dimensions"},
      {"4x5x2xf32", "dft", "axis = 0, to = -1", "axis 0 to -1 of 2 dimensions"},
      {"4x5x2xf32", "dft", "axis = 1, twiddle = true", "axis 1 to 1 of 2 dimensions"},
      {"4x5x2xf32", "dft", "axis = 0, to = 1, twiddle = true", "axis 0 to 1 of 2 dimensions"},
      {"4x0x2xf32", "dft", "axis = 1", "axis 1 has 0 points"},
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    char text[512];
    snprintf(text, sizeof text,
             "\"builtin.module\"() ({\n\"tessera.graph.func\"() ({\n^bb0(%%x: tensor<%s>):\n"
             "%%0 = \"tessera.graph.%s\"(%%x) {%s}\n\"tessera.graph.return\"(%%0)\n}) {sym_name = \"main\"}\n})\n",
             bad[i].type, bad[i].op, bad[i].attrs);
    const char *said = gt_error(text);
    if (!gt_says(said, bad[i].says)) fail_msg("%s(%s) {%s}: %s", bad[i].op, bad[i].type, bad[i].attrs, said);
    assert_null(strchr(said, '\n'));
  }
}

/* ---- dct, stft, istft -------------------------------------------------------------------------------------------- */

/* Of the type's definition; norm: 0 backward, 1 forward, 2 ortho. */
static double cosine_sum(const double *x, int n, int k, int type, int norm) {
  const long double pi = 3.14159265358979323846264L;
  long double y = 0;
  for (int j = 0; j < n; j++) {
    const int even = type == 2 ? k : j, odd = type == 2 ? j : k;
    long double v = x[j] * cosl(pi * (long double)(even * (2 * odd + 1) % (4 * n)) / (2 * n));
    if (type == 2 || j) v *= 2;
    if (norm == 2 && type == 3) v *= j ? 1 / sqrtl(2.0L * n) : 1 / sqrtl(n);
    y += v;
  }
  if (norm == 2 && type == 2) y /= sqrtl((k ? 2.0L : 4.0L) * n);
  return (double)(norm == 1 ? y / (2 * n) : y);
}

static void cosine_transforms_are_the_sums_of_the_definition(void **state) {
  static const int sizes[] = {1, 2, 3, 8, 37, 100};
  static const char *const norms[] = {"backward", "forward", "ortho"};
  for (int i = 0; i < 36; i++) {
    const int n = sizes[i / 6], type = 2 + i % 2, norm = i / 2 % 3, inner = 1 + i % 3;
    double x[300], line[100], want[300], tolerance[300];
    char text[512];
    uint64_t seed = (uint64_t)i;
    for (int k = 0; k < n * inner; k++) x[k] = creal(number(&seed));
    for (int c = 0; c < inner; c++) {
      for (int k = 0; k < n; k++) line[k] = x[k * inner + c];
      for (int k = 0; k < n; k++) want[k * inner + c] = cosine_sum(line, n, k, type, norm);
    }
    snprintf(text, sizeof text,
             "\"builtin.module\"() ({\n\"tessera.graph.func\"() ({\n^bb0(%%x: tensor<%dx%dxf64>):\n%%0 = "
             "\"tessera.graph.dct\"(%%x) {axis = 0, type = %d, norm = \"%s\"}\n\"tessera.graph.return\"(%%0)\n}) "
             "{sym_name = \"main\"}\n})\n",
             n, inner, type, norms[norm]);
    check_oracle(text, x, want, n * inner, tolerance);
    check_cpu(text, x, (size_t)(n * inner) * 8, want, tolerance);
  }
}

/* "x" with the op's text in it. */
static const char *frames_text(const char *type, const char *body, const char *more) {
  static char text[1024];
  snprintf(text, sizeof text,
           "\"builtin.module\"() ({\n\"tessera.graph.func\"() ({\n^bb0(%%x: tensor<%s>):\n%s%s\n"
           "\"tessera.graph.return\"(%%0)\n}) {sym_name = \"main\"}\n})\n",
           type, body, more);
  return text;
}

#define WINDOW "%w = \"tessera.graph.constant\"() {value = dense<[0.5, 2.0, -1.0, 0.25, 1.0]> : tensor<5xf64>}\n"

static void frames_are_windowed_transforms(void **state) {
  static const double window[] = {0.5, 2, -1, 0.25, 1};
  double x[13], want[3 * 3 * 2], tolerance[18];
  uint64_t seed = 3;
  for (int i = 0; i < 13; i++) x[i] = creal(number(&seed));
  for (int frame = 0; frame < 3; frame++)
    for (int k = 0; k < 3; k++) {
      double complex y = 0;
      for (int j = 0; j < 5; j++) y += window[j] * x[4 * frame + j] * cexp(-2 * I * 3.14159265358979323846 * j * k / 5);
      want[6 * frame + 2 * k] = creal(y), want[6 * frame + 2 * k + 1] = cimag(y);
    }
  const char *text = frames_text("13xf64", WINDOW, "%0 = \"tessera.graph.stft\"(%x, %w) {size = 5, hop = 4}");
  check_oracle(text, x, want, 18, tolerance);
  check_cpu(text, x, sizeof x, want, tolerance);
}

/* A signal comes back from its frames wherever one of them has it; what none has is 0. */
static void signals_come_back_from_their_frames(void **state) {
  for (int hop = 1; hop <= 7; hop++) {
    const int frames = 4, length = 5 + (frames - 1) * hop;
    double x[26], want[26], tolerance[26];
    char type[32], more[256];
    uint64_t seed = 7;
    for (int i = 0; i < length; i++) x[i] = creal(number(&seed)), want[i] = i % hop < 5 || i >= length - 5 ? x[i] : 0;
    snprintf(type, sizeof type, "%dxf64", length);
    snprintf(more, sizeof more,
             "%%1 = \"tessera.graph.stft\"(%%x, %%w) {size = 5, hop = %d}\n"
             "%%0 = \"tessera.graph.istft\"(%%1, %%w) {size = 5, hop = %d}",
             hop, hop);
    const char *text = frames_text(type, WINDOW, more);
    check_oracle(text, x, want, length, tolerance);
    check_cpu(text, x, (size_t)length * 8, want, tolerance);
  }
}

/* Two frames that disagree: what is nearest to both by squares. */
static void overlapping_frames_are_averaged_by_the_squares_of_windows(void **state) {
  const double spectra[] = {2, 0, 2, 0, 8, 0, 0, 0}; /* [2, 0] and [4, 4] */
  const double want[] = {2, (3 * 0 + 1 * 4) / 10.0, 4.0 / 3};
  double tolerance[3];
  const char *text = frames_text("2x2xcomplex<f64>",
                                 "%w = \"tessera.graph.constant\"() {value = dense<[1.0, 3.0]> : tensor<2xf64>}\n",
                                 "%0 = \"tessera.graph.istft\"(%x, %w) {hop = 1}");
  check_oracle(text, spectra, want, 3, tolerance);
  check_cpu(text, spectra, sizeof spectra, want, tolerance);
}

/* Of element i of an image of 5 by 6 at frequency row, column. */
static double turns(int row, int column, int i) { return (double)(row * (i / 6)) / 5 + (double)(column * (i % 6)) / 6; }

/* The definition: of the spectrum 5 by 6 of two channels the rows 0, 1 and -1 and the columns 0 and 1, times weights,
 * added up, and back. x, the weights' real and their imaginary parts are one operand. */
static void spectral_convolutions_keep_the_lowest_frequencies(void **state) {
  enum { CHANNELS = 2, ROWS = 5, COLUMNS = 6, IMAGE = ROWS * COLUMNS, WEIGHTS = CHANNELS * 3 * 2 };
  enum { ALL = CHANNELS * IMAGE + 2 * WEIGHTS };
  static const int modes[3] = {0, 1, ROWS - 1};
  const double pi = 3.14159265358979323846;
  double v[ALL], want[IMAGE] = {0}, tolerance[IMAGE];
  uint64_t seed = 11;
  for (int i = 0; i < ALL; i++) v[i] = creal(number(&seed));
  const double *re = v + 2 * IMAGE, *im = re + WEIGHTS;
  for (int a = 0; a < 3; a++)
    for (int k = 0; k < 2; k++) {
      double complex y = 0;
      for (int c = 0; c < CHANNELS; c++) {
        double complex sum = 0;
        for (int i = 0; i < IMAGE; i++)
          sum += v[c * IMAGE + i] * cexp(-2 * pi * I * turns(modes[a], k, i));
        const int w = (c * 3 + a) * 2 + k;
        y += (re[w] + im[w] * I) * sum;
      }
      for (int i = 0; i < IMAGE; i++)
        want[i] += (k ? 2 : 1) / (double)IMAGE *
                   creal(y * cexp(2 * pi * I * turns(modes[a], k, i)));
    }
  const char *text = frames_text(
      "84xf64",
      "%a = \"tessera.graph.slice\"(%x) {starts = [0], sizes = [60]}\n%b = \"tessera.graph.slice\"(%x) {starts = [60], sizes = "
      "[12]}\n%c = \"tessera.graph.slice\"(%x) {starts = [72], sizes = [12]}\n",
      "%d = \"tessera.graph.reshape\"(%a) {shape = [1, 2, 5, 6]}\n%e = \"tessera.graph.complex\"(%b, %c)\n%f = "
      "\"tessera.graph.reshape\"(%e) {shape = [2, 1, 3, 2]}\n%0 = \"tessera.graph.spectral_conv\"(%d, %f)");
  check_oracle(text, v, want, IMAGE, tolerance);
  check_cpu(text, v, sizeof v, want, tolerance);
}

/* ---- what is not finite, threads, bad input ---------------------------------------------------------------------- */

/* By a kernel, by passes and as products: no finite number in the line, and no other bit in the others. */
static void lines_that_are_not_finite_stay_alone(void **state) {
  static const int sizes[] = {12, 100, 1009, 4099, 6000};
  static const float bad[] = {NAN, INFINITY, -INFINITY};
  static float x[3 * 2 * 6000];
  for (int i = 0; i < 10; i++) {
    const int n = sizes[i / 2];
    transform t = {2, 1, {3, n}, {1}, i % 3 ? -1 : 1, "backward"};
    tsr_tensor_info y;
    uint64_t seed = (uint64_t)i;
    const char *text = text_of(&t, "complex<f32>", t.sign < 0 ? "fft" : "ifft", "");
    if (i % 2) setenv("TSR_DISABLE", "dft", 1);
    for (int k = 0; k < 6 * n; k++) x[k] = (float)creal(number(&seed));
    float *without = run_cpu(text, x, (size_t)n * 24, TSR_POLICY_DEFAULT, &y);
    x[2 * n + i * 7 % (2 * n)] = bad[i % 3];
    float *with = run_cpu(text, x, (size_t)n * 24, TSR_POLICY_DEFAULT, &y);
    unsetenv("TSR_DISABLE");
    assert_memory_equal(with, without, (size_t)n * 8);
    assert_memory_equal(with + 4 * n, without + 4 * n, (size_t)n * 8);
    for (int k = n; k < 2 * n; k++)
      if (isfinite(with[2 * k]) && isfinite(with[2 * k + 1])) fail_msg("%d points: number %d is finite", n, k - n);
    free(with);
    free(without);
  }
}

/* Blocks of lines are cut by the number of threads: twiddle factors must not be. */
static void deterministic_bits_do_not_depend_on_threads(void **state) {
  static const int sizes[] = {60 * 70, 64 * 70, 8 * 1009};
  static float x[2 * 2 * 8 * 1009];
  uint64_t seed = 5;
  for (int k = 0; k < 4 * 8 * 1009; k++) x[k] = (float)creal(number(&seed));
  for (int i = 0; i < 3; i++) {
    const transform t = {2, 1, {2, sizes[i]}, {1}, -1, "backward"};
    void *first = NULL;
    for (int threads = 1; threads <= 3; threads++) {
      char number[16];
      tsr_tensor_info y;
      snprintf(number, sizeof number, "%d", threads);
      setenv("TSR_THREADS", number, 1);
      void *again = run_cpu(text_of(&t, "complex<f32>", "fft", ""), x, (size_t)sizes[i] * 16,
                            TSR_POLICY_DETERMINISTIC, &y);
      if (!first) {
        first = again;
        continue;
      }
      if (memcmp(first, again, y.bytes)) fail_msg("%d points: other bits with %d threads", sizes[i], threads);
      free(again);
    }
    free(first);
  }
  unsetenv("TSR_THREADS");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(transforms_are_the_sums_of_the_definition),
      cmocka_unit_test(halves_of_real_spectra),
      cmocka_unit_test(cosine_transforms_are_the_sums_of_the_definition),
      cmocka_unit_test(frames_are_windowed_transforms),
      cmocka_unit_test(signals_come_back_from_their_frames),
      cmocka_unit_test(overlapping_frames_are_averaged_by_the_squares_of_windows),
      cmocka_unit_test(spectral_convolutions_keep_the_lowest_frequencies),
      cmocka_unit_test(lines_that_are_not_finite_stay_alone),
      cmocka_unit_test(deterministic_bits_do_not_depend_on_threads),
      cmocka_unit_test(bad_transforms_get_one_clear_line),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
