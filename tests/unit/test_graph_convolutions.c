/* Tests of the rule fft_convolution: products of spectra have a convolution's values, on the oracle, for any number of
 * axes, layout, groups, steps, gaps and padding; it fires where it is estimated to cost less and tells both costs, and
 * where it is asked for; what switches it off. And that the CPU reads windows of any size in place, and images whose
 * channels lie next to each other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/dtype.h"
#include "core/passes/graph/convolutions.h"
#include "tests/support/api_check.h"
#include "tests/support/graph_text.h"

static uint32_t seed = 2026;
static int draw(int low, int high) {
  seed = seed * 1664525u + 1013904223u;
  return low + (int)((seed >> 8) % (uint32_t)(high - low + 1));
}

/* "[1, 2, ..]" or "1x2x.." */
static void list(char *out, const int *v, int n, const char *between) {
  *out = 0;
  for (int i = 0; i < n; i++) sprintf(out + strlen(out), "%s%d", i ? between : "", v[i]);
}

static tsr_caps cpu(void) { return (tsr_caps){.dialect = DIALECT_CPU, .n_cores = 1, .vector_bytes = 32}; }

static tsr_status choose(ir_module *m, tsr_precision mode, const char *disable, bool exact, pass_trace *t) {
  const tsr_caps c = cpu();
  trace_init(t, NULL);
  return graph_choose_convolutions(m, &c, mode,
                                   &(pass_options){.windows = true, .disable = disable, .exact = exact, .trace = t});
}

/* A random convolution of 1 to 3 axes that asks for spectra; its operands' and result's types in `args`, `type`. */
static const char *random_convolution(void) {
  static const char *const types[] = {"f32", "f64", "f16", "bf16"};
  const int n = draw(1, 3), groups = draw(1, 3), in = draw(1, 2), out = draw(1, 2), batch = draw(0, 5) % 3,
            last = draw(0, 1), bias = draw(0, 1);
  const char *t = types[draw(0, 3)];
  int x[5] = {batch}, w[5], y[5] = {batch}, v[4][3];
  char text[7][64], args[300], body[600], type[80];
  x[last ? n + 1 : 1] = groups * in, y[last ? n + 1 : 1] = groups * out;
  w[last ? n : 1] = in, w[last ? n + 1 : 0] = groups * out;
  for (int i = 0; i < n; i++) {
    const int kernel = draw(1, 5), stride = draw(1, 3), gap = draw(1, 2), span = (kernel - 1) * gap + 1;
    const int low = draw(0, span - 1), high = draw(0, span - 1), extent = span + draw(0, 9);
    v[0][i] = stride, v[1][i] = gap, v[2][i] = low, v[3][i] = high;
    w[i + (last ? 0 : 2)] = kernel, x[i + (last ? 1 : 2)] = extent > low + high ? extent - low - high : 1;
    y[i + (last ? 1 : 2)] = (x[i + (last ? 1 : 2)] + low + high - span) / stride + 1;
    if (x[i + (last ? 1 : 2)] + low + high < span) return NULL;
  }
  list(text[0], x, n + 2, "x"), list(text[1], w, n + 2, "x"), list(text[2], y, n + 2, "x");
  for (int i = 0; i < 4; i++) list(text[3 + i], v[i], n, ", ");
  snprintf(args, sizeof args, "%%x: tensor<%sx%s>, %%w: tensor<%sx%s>, %%b: tensor<%dx%s>", text[0], t, text[1], t,
           groups * out, t);
  snprintf(body, sizeof body,
           "%%0 = \"tessera.graph.conv%dd\"(%%x, %%w%s) {algorithm = \"fft\", groups = %d, layout = \"%s\", strides = "
           "[%s], dilations = [%s], low = [%s], high = [%s]}\n",
           n, bias ? ", %b" : "", groups, last ? "nhwc" : "nchw", text[3], text[4], text[5], text[6]);
  snprintf(type, sizeof type, "tensor<%sx%s>", text[2], t);
  return gt_func(args, body, "%0", type);
}

/* The oracle computes in doubles: spectra have their rounding, of at most 250 products of numbers up to 2, and that of
 * the results' type; also where a window has nothing but zeros. */
static bool same(ir_module *a, ir_module *b, unsigned from) {
  ir_op *f[2] = {graph_find_func(a, NULL), graph_find_func(b, NULL)};
  const ir_type *y = f[0]->regions[0]->last->operands[0]->type;
  gt_data in = gt_random(f[0], from, -2, 2), out[2] = {gt_outputs(f[0]), gt_outputs(f[1])};
  bool is = true;
  for (int i = 0; i < 2; i++) assert_null(graph_eval(f[i], (const void *const *)in.p, out[i].p, NULL));
  for (int64_t i = 0; i < ir_type_count(y); i++) {
    const double want = dtype_load(y->dtype, out[0].p[0], i), got = dtype_load(y->dtype, out[1].p[0], i),
                 tolerance = 250 * 4 * 64 * 0x1p-53 + 2 * graph_rounding(y->dtype, want);
    is &= fabs(got - want) <= tolerance;
  }
  for (int i = 0; i < 2; i++) gt_free(&out[i]);
  gt_free(&in);
  return is;
}

static void spectra_have_a_convolutions_values(void **state) {
  int n = 0;
  for (int i = 0; i < 150; i++) {
    const char *text = random_convolution();
    if (!text) continue;
    ir_module *direct = gt_parse(text), *spectra = gt_parse(text);
    pass_trace t;
    tsr_status st = choose(spectra, TSR_PRECISION_STANDARD, NULL, false, &t);
    if (st) fail_msg("%s in\n%s", tsr_status_message(st), text);
    if (trace_count(&t, "fft_convolution", true) != 1) fail_msg("it did not fire on\n%s", text);
    if (!same(direct, spectra, (unsigned)i))
      fail_msg("other values: seed %d,\n%s", i, text);
    trace_clear(&t);
    ir_module_destroy(&direct);
    ir_module_destroy(&spectra);
    n++;
  }
  assert_true(n > 100);
}

#define LONG "%x: tensor<1x1x8192xf32>, %w: tensor<1x1x2049xf32>"
#define LONG_TYPE "tensor<1x1x6144xf32>"
#define SHORT "%x: tensor<1x1x64x64xf32>, %w: tensor<1x1x7x7xf32>"
#define SHORT_TYPE "tensor<1x1x58x58xf32>"
#define LARGE "%x: tensor<1x1x64x64xf32>, %w: tensor<1x1x31x31xf32>"
#define LARGE_TYPE "tensor<1x1x34x34xf32>"

static void it_fires_where_it_costs_less_and_tells_why(void **state) {
  static const struct {
    const char *args, *op, *type, *attrs, *disable;
    tsr_precision mode;
    bool exact, fires;
    const char *says; /* NULL: no line at all */
  } cases[] = {
      {LONG, "conv1d", LONG_TYPE, "", NULL, TSR_PRECISION_STANDARD, false, true, "us by spectra, "},
      {SHORT, "conv2d", SHORT_TYPE, "", NULL, TSR_PRECISION_STANDARD, false, false, "us by spectra, "},
      {LARGE, "conv2d", LARGE_TYPE, "", NULL, TSR_PRECISION_STANDARD, false, false, "us directly"},
      {LONG, "conv1d", LONG_TYPE, "", NULL, TSR_PRECISION_STANDARD, true, false, "it would change rounding"},
      {LONG, "conv1d", LONG_TYPE, "", NULL, TSR_PRECISION_SAFE, false, false, "precision safe"},
      {LONG, "conv1d", LONG_TYPE, "", "rewrites", TSR_PRECISION_STANDARD, false, false, "switched off"},
      {LONG, "conv1d", LONG_TYPE, "", "fft_convolution", TSR_PRECISION_STANDARD, false, false, "switched off"},
      {LONG, "conv1d", LONG_TYPE, "algorithm = \"direct\"", NULL, TSR_PRECISION_STANDARD, false, false, NULL},
      {LONG, "conv1d", LONG_TYPE, "algorithm = \"fft\"", NULL, TSR_PRECISION_SAFE, true, true, "asked for"},
      {SHORT, "conv2d", SHORT_TYPE, "algorithm = \"fft\"", NULL, TSR_PRECISION_STANDARD, true, true, "asked for"},
      {"%x: tensor<?x1x8192xf32>, %w: tensor<1x1x2049xf32>", "conv1d", "tensor<?x1x6144xf32>", "", NULL,
       TSR_PRECISION_STANDARD, false, false, "a dimension is unknown"},
      {"%x: tensor<0x1x8192xf32>, %w: tensor<1x1x2049xf32>", "conv1d", "tensor<0x1x6144xf32>", "", NULL,
       TSR_PRECISION_STANDARD, false, false, "nothing to multiply"},
      {"%x: tensor<1x1x8192xi8>, %w: tensor<1x1x2049xi8>", "conv1d", "tensor<1x1x6144xi32>", "", NULL,
       TSR_PRECISION_STANDARD, false, false, "integers"},
      {"%x: tensor<1x1x8192xf32>, %w: tensor<1x1x3xf32>", "conv1d", "tensor<1x1x8190xf32>", "", NULL,
       TSR_PRECISION_STANDARD, false, false, NULL},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char body[200];
    pass_trace t;
    snprintf(body, sizeof body, "%%0 = \"tessera.graph.%s\"(%%x, %%w) {%s}\n", cases[i].op, cases[i].attrs);
    ir_module *m = gt_parse(gt_func(cases[i].args, body, "%0", cases[i].type));
    assert_null(choose(m, cases[i].mode, cases[i].disable, cases[i].exact, &t));
    if (trace_count(&t, "fft_convolution", true) != cases[i].fires) fail_msg("case %zu: fired %d", i, !cases[i].fires);
    assert_int_equal(t.n, cases[i].says != NULL);
    if (cases[i].says && !strstr(t.v[0].reason, cases[i].says)) fail_msg("case %zu: \"%s\"", i, t.v[0].reason);
    trace_clear(&t);
    ir_module_destroy(&m);
  }
}

static void what_cannot_be_is_refused(void **state) {
  static const struct { const char *args, *type, *attrs, *says; } cases[] = {
      {LONG, LONG_TYPE, "algorithm = \"fast\"", "unknown algorithm \"fast\""},
      {"%x: tensor<1x1x8192xi8>, %w: tensor<1x1x2049xi8>", "tensor<1x1x6144xi32>", "algorithm = \"fft\"",
       "spectra of integers are not exact"},
      {"%x: tensor<1x1x5000000xf32>, %w: tensor<1x1x1xf32>", "tensor<1x1x5000000xf32>", "algorithm = \"fft\"",
       "more than 2^22 points"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char body[200];
    snprintf(body, sizeof body, "%%0 = \"tessera.graph.conv1d\"(%%x, %%w) {%s}\n", cases[i].attrs);
    const char *said = gt_error(gt_func(cases[i].args, body, "%0", cases[i].type));
    if (!strstr(said, cases[i].says)) fail_msg("case %zu: \"%s\"", i, said);
  }
}

/* Collected they would take 16 MiB, more than the 4 that a tile may have. */
static void windows_of_any_size_are_read_in_place(void **state) {
  const char *text = gt_func("%x: tensor<1x32x64x64xf32>, %w: tensor<32x1x31x31xf32>",
                             "%0 = \"tessera.graph.conv2d\"(%x, %w) {groups = 32, low = [15, 15], high = [15, 15], "
                             "algorithm = \"direct\"}\n",
                             "%0", "tensor<1x32x64x64xf32>");
  tsr_context *ctx;
  tsr_device *dev;
  tsr_program *p;
  char *target;
  OK(tsr_context_create(&(tsr_context_desc){.cache_dir = ""}, &ctx));
  OK(tsr_device_open(ctx, "cpu:0", &dev));
  OK(tsr_program_parse(dev, text, strlen(text), "test", &(tsr_compile_options){.tune = TSR_TUNE_OFF}, &p));
  OK(tsr_program_dump(p, TSR_LEVEL_TARGET, &target, NULL));
  assert_non_null(strstr(target, "fn = \"convolve\""));
  tsr_text_free(ctx, &target);
  tsr_program_destroy(&p);
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
}

/* What a program of the text computes on the CPU; *reads: it reads windows by "convolve". */
static void run_on_cpu(const char *text, const gt_data *in, float *out, bool *reads) {
  tsr_context *ctx;
  tsr_device *dev;
  tsr_program *p;
  tsr_binding b[3] = {{0}};
  char *target;
  OK(tsr_context_create(&(tsr_context_desc){.cache_dir = ""}, &ctx));
  OK(tsr_device_open(ctx, "cpu:0", &dev));
  OK(tsr_program_parse(dev, text, strlen(text), "test", &(tsr_compile_options){.tune = TSR_TUNE_OFF}, &p));
  OK(tsr_program_dump(p, TSR_LEVEL_TARGET, &target, NULL));
  *reads = strstr(target, "fn = \"convolve\"") != NULL;
  tsr_text_free(ctx, &target);
  for (int i = 0; i < 3; i++) {
    const tsr_tensor_info t = i < 2 ? tsr_program_input(p, i) : tsr_program_output(p, 0);
    OK(tsr_buffer_create(dev, t.bytes, TSR_MEMORY_DEVICE, &b[i].buffer));
    if (i < 2) OK(tsr_buffer_write(b[i].buffer, 0, in->p[i], t.bytes));
  }
  OK(tsr_program_run(p, NULL, b, b + 2));
  OK(tsr_buffer_read(b[2].buffer, 0, out, tsr_program_output(p, 0).bytes));
  for (int i = 0; i < 3; i++) tsr_buffer_destroy(&b[i].buffer);
  tsr_program_destroy(&p);
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
}

/* Pixels of up to four channels are read along the lines where they lie, of more are collected; Winograd's transforms,
 * of windows of 3x3, take neither. Sums of at most 245 products below 1. */
static void images_are_read_pixel_by_pixel(void **state) {
  enum { H = 20, W = 23, OUT = 9, MOST = 2 * OUT * 25 * 28 };
  for (int k = 0; k < 60; k++) {
    const int c = k % 5 + 1, kernel = k % 3 ? k % 3 == 1 ? 3 : 7 : 1, step = k % 4 + 1,
              pad = kernel == 1 ? 0 : draw(0, 2), batch = draw(1, 2), depthwise = c > 1 && k % 7 == 0,
              out = depthwise ? c : OUT;
    const int h = (H + 2 * pad - kernel) / step + 1, w = (W + 2 * pad - kernel) / step + 1;
    static float got[MOST], want[MOST];
    char args[160], body[400], type[60];
    bool reads;
    snprintf(args, sizeof args, "%%x: tensor<%dx%dx%dx%dxf32>, %%w: tensor<%dx%dx%dx%dxf32>", batch, H, W, c, out,
             depthwise ? 1 : c, kernel, kernel);
    snprintf(body, sizeof body,
             "%%p = \"tessera.graph.transpose\"(%%x) {perm = [0, 3, 1, 2]}\n%%0 = \"tessera.graph.conv2d\"(%%p, %%w) "
             "{groups = %d, strides = [%d, %d], low = [%d, %d], high = [%d, %d]}\n",
             depthwise ? c : 1, step, step, pad, pad, pad, pad);
    snprintf(type, sizeof type, "tensor<%dx%dx%dx%dxf32>", batch, out, h, w);
    const char *text = gt_func(args, body, "%0", type);
    ir_module *m = gt_parse(text);
    gt_data in = gt_random(graph_find_func(m, NULL), (unsigned)k, -1, 1);
    OK(graph_eval(graph_find_func(m, NULL), (const void *const *)in.p, (void *const[]){want}, NULL));
    run_on_cpu(text, &in, got, &reads);
    if (kernel == 7) assert_int_equal(reads, c <= 4);
    if (kernel == 1 && !depthwise) assert_false(reads); /* a plain product of the places that there are */
    for (int i = 0; i < batch * out * h * w; i++)
      if (!(fabs((double)got[i] - (double)want[i]) <= 245 * 245 * 0x1p-24))
        fail_msg("case %d, element %d: %g, not %g\n%s", k, i, (double)got[i], (double)want[i], text);
    gt_free(&in);
    ir_module_destroy(&m);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(spectra_have_a_convolutions_values),
      cmocka_unit_test(it_fires_where_it_costs_less_and_tells_why),
      cmocka_unit_test(what_cannot_be_is_refused),
      cmocka_unit_test(windows_of_any_size_are_read_in_place),
      cmocka_unit_test(images_are_read_pixel_by_pixel),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
