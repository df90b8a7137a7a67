/* Convolutions by Winograd's transforms on the CPU: their values on every instruction set, of random shapes, with what
 * is fused into them, weights constant and not; that their bits are those of any number of threads; that what isn't a
 * number stays in its tiles; where the rule winograd fires, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "tests/support/api_check.h"

enum { MOST = 5 << 18, MOST_MADDS = 1 << 24 };

typedef struct shape {
  int n, c, h, w, out, low[2], high[2];
  bool constant, relu, residual, computed; /* computed: the weights, in the same program */
} shape;

static uint32_t seed = 77;
static int draw(int low, int high) {
  seed = seed * 1664525u + 1013904223u;
  return low + (int)((seed >> 8) % (uint32_t)(high - low + 1));
}

static float number(void) { return (float)draw(-(1 << 20), 1 << 20) * 0x1p-20f; }

static int out_of(const shape *s, int axis) { return (axis ? s->w : s->h) + s->low[axis] + s->high[axis] - 2; }
static size_t n_x(const shape *s) { return (size_t)(s->n * s->c * s->h * s->w); }
static size_t n_w(const shape *s) { return (size_t)(s->out * s->c * 9); }
static size_t n_y(const shape *s) { return (size_t)(s->n * s->out * out_of(s, 0) * out_of(s, 1)); }

static shape random_shape(void) {
  for (;;) {
    shape s = {.n = draw(1, 3), .c = draw(1, 70), .h = draw(1, 40), .w = draw(1, 40), .out = draw(1, 70),
               .low = {draw(0, 2), draw(0, 2)}, .high = {draw(0, 2), draw(0, 2)}, .constant = draw(0, 1),
               .relu = draw(0, 1), .residual = draw(0, 1)};
    s.computed = !s.constant && draw(0, 1);
    if (out_of(&s, 0) >= 1 && out_of(&s, 1) >= 2 && n_x(&s) < MOST && n_y(&s) * (size_t)s.c < MOST_MADDS / 9)
      return s;
  }
}

/* x, w, bias and what is added. */
static float x[MOST], w[70 * 70 * 9], bias[70], more[MOST], y[MOST];

static void fill(const shape *s) {
  for (size_t i = 0; i < n_x(s); i++) x[i] = number();
  for (size_t i = 0; i < n_w(s); i++) w[i] = number();
  for (int i = 0; i < s->out; i++) bias[i] = number();
  for (size_t i = 0; i < n_y(s); i++) more[i] = number();
}

static tsr_status compile(tsr_context *ctx, tsr_device *dev, const shape *s, const char *algorithm,
                          const tsr_compile_options *o, tsr_program **p) {
  const int64_t low[2] = {s->low[0], s->low[1]}, high[2] = {s->high[0], s->high[1]};
  const tsr_attr attrs[] = {TSR_INTS("low", low, 2), TSR_INTS("high", high, 2), TSR_STRING("algorithm", algorithm)};
  const tsr_shape weights = {4, {s->out, s->c, 3, 3}};
  tsr_graph *g = NULL;
  tsr_value v[3], r;
  tsr_status st = tsr_graph_create(ctx, "main", &g);
  *p = NULL;
  if (!st) st = tsr_graph_input(g, "x", TSR_F32, (tsr_shape){4, {s->n, s->c, s->h, s->w}}, &v[0]);
  if (!st && s->constant) st = tsr_graph_constant(g, TSR_F32, weights, w, &v[1]);
  if (!st && !s->constant) st = tsr_graph_input(g, "w", TSR_F32, weights, &v[1]);
  if (!st && s->residual)
    st = tsr_graph_input(g, "r", TSR_F32, (tsr_shape){4, {s->n, s->out, out_of(s, 0), out_of(s, 1)}}, &r);
  if (!st && s->computed) st = tsr_graph_op(g, "neg", &v[1], 1, NULL, 0, &v[1]);
  if (!st) st = tsr_graph_constant(g, TSR_F32, (tsr_shape){1, {s->out}}, bias, &v[2]);
  if (!st) st = tsr_graph_op(g, "conv2d", v, 3, attrs, 3, v);
  if (!st && s->residual) st = tsr_graph_op(g, "add", (tsr_value[]){v[0], r}, 2, NULL, 0, v);
  if (!st && s->relu) st = tsr_graph_op(g, "relu", v, 1, NULL, 0, v);
  if (!st) st = tsr_graph_output(g, v[0]);
  if (!st) st = tsr_program_compile(dev, g, o, p);
  tsr_graph_destroy(&g);
  return st;
}

static void run(tsr_device *dev, tsr_program *p, const shape *s, float *out) {
  const size_t sizes[] = {n_x(s), n_w(s), n_y(s)};
  const float *from[] = {x, w, more};
  tsr_binding in[3] = {{NULL, 0}}, result = {NULL, 0};
  int n = 0;
  for (int i = 0; i < 3; i++) {
    if ((i == 1 && s->constant) || (i == 2 && !s->residual)) continue;
    OK(tsr_buffer_create(dev, sizes[i] * sizeof *x, TSR_MEMORY_DEVICE, &in[n].buffer));
    OK(tsr_buffer_write(in[n++].buffer, 0, from[i], sizes[i] * sizeof *x));
  }
  OK(tsr_buffer_create(dev, n_y(s) * sizeof *x, TSR_MEMORY_DEVICE, &result.buffer));
  for (int i = 0; i < 2; i++) OK(tsr_program_run(p, NULL, in, &result));
  OK(tsr_buffer_read(result.buffer, 0, out, n_y(s) * sizeof *x));
  while (n--) tsr_buffer_destroy(&in[n].buffer);
  tsr_buffer_destroy(&result.buffer);
}

static void open_cpu(const char *isa, const char *threads, tsr_context **ctx, tsr_device **dev) {
  setenv("TSR_CPU_ISA", isa, 1), setenv("TSR_THREADS", threads, 1);
  *dev = NULL;
  OK(tsr_context_create(&(tsr_context_desc){.cache_dir = ""}, ctx));
  tsr_status st = tsr_device_open(*ctx, "cpu:0", dev);
  tsr_status_free(st); /* another machine's */
}

static void close_cpu(tsr_context **ctx, tsr_device **dev) {
  tsr_device_close(dev);
  tsr_context_destroy(ctx);
  unsetenv("TSR_CPU_ISA"), unsetenv("TSR_THREADS");
}

static double want_of(const shape *s, int n, int o, int at) {
  const int wide = out_of(s, 1), top = at / wide - s->low[0], left = at % wide - s->low[1];
  double sum = 0;
  for (int c = 0; c < s->c; c++)
    for (int k = 0; k < 9; k++) {
      const int i = top + k / 3, j = left + k % 3;
      if (i < 0 || j < 0 || i >= s->h || j >= s->w) continue;
      sum += (double)x[((n * s->c + c) * s->h + i) * s->w + j] * (double)w[(o * s->c + c) * 9 + k];
    }
  sum = (s->computed ? -sum : sum) + (double)bias[o];
  if (s->residual) sum += (double)more[(n * s->out + o) * out_of(s, 0) * wide + at];
  return s->relu && sum < 0 ? 0 : sum;
}

/* Six standard deviations of the roundings of a chain over the channels and of the transforms, of the points' root mean
 * squares: 24 sqrt(channels) times those of image and weights, a third each (docs/precision.md). */
static double tolerance(const shape *s) { return 6 * sqrt(s->c + 16) * 0x1p-24 * (24 * sqrt(s->c) / 3 + 4); }

static void values_are_a_convolutions_on_every_instruction_set(void **state) {
  static const char *const sets[] = {"portable", "avx2", "avx512", "neon"};
  int tiles[2] = {0};
  for (int i = 0; i < 4; i++) {
    tsr_context *ctx;
    tsr_device *dev;
    open_cpu(sets[i], "2", &ctx, &dev);
    for (int k = 0; k < 16 && dev; k++) {
      /* First one whose image is more than a block may read. */
      static const shape large = {1, 70, 56, 300, 1, {1, 1}, {1, 1}, .constant = true};
      const shape s = k ? random_shape() : large;
      const int places = out_of(&s, 0) * out_of(&s, 1);
      tsr_program *p;
      char *target;
      fill(&s);
      OK(compile(ctx, dev, &s, "winograd", &(tsr_compile_options){.tune = TSR_TUNE_OFF}, &p));
      OK(tsr_program_dump(p, TSR_LEVEL_TARGET, &target, NULL));
      if (!strstr(target, "winograd = ")) fail_msg("%s: not by transforms", sets[i]);
      tiles[strstr(target, "winograd = 4") != NULL]++;
      tsr_text_free(ctx, &target);
      run(dev, p, &s, y);
      for (size_t e = 0; e < n_y(&s); e++) {
        const int at = (int)e % places, o = (int)e / places % s.out, n = (int)e / places / s.out;
        const double want = want_of(&s, n, o, at), off = fabs((double)y[e] - want);
        if (!(off <= tolerance(&s)))
          fail_msg("%s, %dx%dx%dx%d to %d: entry %d, channel %d, place %d is %g, not %g", sets[i], s.n, s.c, s.h, s.w,
                   s.out, n, o, at, (double)y[e], want);
      }
      tsr_program_destroy(&p);
    }
    close_cpu(&ctx, &dev);
  }
  assert_true(tiles[0] && tiles[1]);
}

/* Of one block and of several, cut along lines and along rows. */
static void bits_are_those_of_any_number_of_threads(void **state) {
  static const char *const threads[] = {"1", "2", "3", "5"};
  static const shape shapes[] = {{1, 20, 40, 39, 24, {1, 1}, {1, 1}, .constant = true},
                                 {1, 60, 7, 7, 70, {1, 1}, {1, 1}},
                                 {2, 70, 14, 14, 70, {1, 1}, {1, 1}, .constant = true, .relu = true}};
  static float first[MOST];
  for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
    fill(&shapes[k]);
    for (int i = 0; i < 4; i++) {
      tsr_context *ctx;
      tsr_device *dev;
      tsr_program *p;
      open_cpu("auto", threads[i], &ctx, &dev);
      OK(compile(ctx, dev, &shapes[k], "winograd", &(tsr_compile_options){.policy = TSR_POLICY_DETERMINISTIC}, &p));
      run(dev, p, &shapes[k], i ? y : first);
      if (i && memcmp(first, y, n_y(&shapes[k]) * sizeof *y)) fail_msg("case %zu: %s threads", k, threads[i]);
      tsr_program_destroy(&p);
      close_cpu(&ctx, &dev);
    }
  }
}

/* The windows that have it are no numbers, and all that are four places away from these are as before. */
static void what_is_no_number_stays_in_its_tiles(void **state) {
  static const float odd[] = {INFINITY, -INFINITY, NAN};
  const shape s = {1, 16, 30, 30, 16, {1, 1}, {1, 1}, .constant = true};
  tsr_context *ctx;
  tsr_device *dev;
  tsr_program *p;
  static float before[MOST];
  fill(&s);
  open_cpu("auto", "2", &ctx, &dev);
  OK(compile(ctx, dev, &s, "winograd", NULL, &p));
  run(dev, p, &s, before);
  for (int k = 0; k < 3; k++) {
    const int i = draw(0, 29), j = draw(0, 29);
    const float was = x[i * 30 + j];
    x[i * 30 + j] = odd[k];
    run(dev, p, &s, y);
    x[i * 30 + j] = was;
    for (int e = 0; e < 16 * 900; e++) {
      const int far_i = abs(e % 900 / 30 - i), far_j = abs(e % 30 - j);
      if (far_i <= 1 && far_j <= 1 && isfinite(y[e])) fail_msg("%d %d: %d is %g", i, j, e, (double)y[e]);
      if ((far_i > 4 || far_j > 4) && y[e] != before[e]) fail_msg("%d %d: %d is other", i, j, e);
    }
  }
  tsr_program_destroy(&p);
  close_cpu(&ctx, &dev);
}

/* ---- the rule ---------------------------------------------------------------------------------------------------- */

static void it_fires_where_it_costs_less_and_tells_why(void **state) {
  static const shape large = {1, 64, 28, 28, 64, {1, 1}, {1, 1}, .constant = true},
                     few = {1, 3, 28, 28, 64, {1, 1}, {1, 1}, .constant = true};
  static const struct {
    const shape *s;
    const char *algorithm, *disable;
    tsr_policy policy;
    tsr_precision mode;
    const char *says; /* in the trace; NULL: no line */
  } cases[] = {
      {&large, "auto", "", TSR_POLICY_FAST, TSR_PRECISION_STANDARD, "winograd fired"},
      {&large, "direct", "", TSR_POLICY_FAST, TSR_PRECISION_STANDARD, NULL},
      {&large, "winograd", "", TSR_POLICY_DETERMINISTIC, TSR_PRECISION_SAFE, "asked for"},
      {&large, "auto", "", TSR_POLICY_DETERMINISTIC, TSR_PRECISION_STANDARD, "it would change rounding"},
      {&large, "auto", "", TSR_POLICY_KAHAN_SUM, TSR_PRECISION_STANDARD, "it would change rounding"},
      {&large, "auto", "", TSR_POLICY_FAST, TSR_PRECISION_SAFE, "precision safe"},
      {&large, "auto", "winograd", TSR_POLICY_FAST, TSR_PRECISION_STANDARD, "switched off"},
      {&few, "auto", "", TSR_POLICY_FAST, TSR_PRECISION_STANDARD, "fewer than 16 channels"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    tsr_context *ctx;
    tsr_device *dev;
    tsr_program *p;
    char *trace;
    setenv("TSR_DISABLE", cases[i].disable, 1);
    open_cpu("auto", "2", &ctx, &dev);
    OK(compile(ctx, dev, cases[i].s, cases[i].algorithm,
               &(tsr_compile_options){.policy = cases[i].policy, .precision = cases[i].mode}, &p));
    OK(tsr_program_explain(p, &trace));
    const char *line = strstr(trace, "winograd");
    if (!cases[i].says != !line || (line && !strstr(trace, cases[i].says))) fail_msg("case %zu:\n%s", i, trace);
    tsr_text_free(ctx, &trace);
    tsr_program_destroy(&p);
    close_cpu(&ctx, &dev);
    unsetenv("TSR_DISABLE");
  }
}

static void what_cannot_be_is_refused(void **state) {
  static const struct { const char *x, *w, *y, *attrs, *says; } cases[] = {
      {"1x4x8x8xf64", "4x4x3x3xf64", "1x4x6x6xf64", "", "are for f32"},
      {"1x8x8x4xf32", "3x3x4x4xf32", "1x6x6x4xf32", ", layout = \"nhwc\"", "channels that are axis 1"},
      {"1x4x8x8xf32", "4x2x3x3xf32", "1x4x6x6xf32", ", groups = 2", "one group"},
      {"1x4x8x8xf32", "4x4x5x5xf32", "1x4x4x4xf32", "", "3x3 neighbours"},
      {"1x4x8x8xf32", "4x4x3x3xf32", "1x4x3x3xf32", ", strides = [2, 2]", "3x3 neighbours"},
      {"1x4x8x8xf32", "4x4x3x3xf32", "1x4x4x4xf32", ", dilations = [2, 2]", "3x3 neighbours"},
      {"1x4x8x3xf32", "4x4x3x3xf32", "1x4x6x1xf32", "", "several places"},
      {"1x512x4x512xf32", "4x512x3x3xf32", "1x4x2x510xf32", "", "less than 2^20"},
  };
  tsr_context *ctx;
  tsr_device *dev;
  tsr_program *p;
  open_cpu("auto", "1", &ctx, &dev);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[900];
    snprintf(text, sizeof text,
             "\"tessera.graph.func\"() ({\n^bb0(%%x: tensor<%s>, %%w: tensor<%s>):\n"
             "  %%0 = \"tessera.graph.conv2d\"(%%x, %%w) {algorithm = \"winograd\"%s} : (tensor<%s>, tensor<%s>) -> "
             "tensor<%s>\n"
             "  \"tessera.graph.return\"(%%0) : (tensor<%s>) -> ()\n}) {sym_name = \"main\"} : () -> ()\n",
             cases[i].x, cases[i].w, cases[i].attrs, cases[i].x, cases[i].w, cases[i].y, cases[i].y);
    tsr_status st = tsr_program_parse(dev, text, strlen(text), "test", NULL, &p);
    if (!st || !strstr(tsr_status_message(st), cases[i].says))
      fail_msg("case %zu: %s", i, st ? tsr_status_message(st) : "taken");
    tsr_status_free(st);
  }
  const shape s = {1, 16, 8, 8, 16, {1, 1}, {1, 1}, .constant = true};
  tsr_status st = compile(ctx, dev, &s, "winograd", &(tsr_compile_options){.policy = TSR_POLICY_KAHAN_SUM}, &p);
  assert_non_null(st);
  assert_int_equal(tsr_status_code(st), TSR_UNSUPPORTED);
  assert_non_null(strstr(tsr_status_message(st), "not under kahan_sum"));
  tsr_status_free(st);
  close_cpu(&ctx, &dev);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(values_are_a_convolutions_on_every_instruction_set),
      cmocka_unit_test(bits_are_those_of_any_number_of_threads),
      cmocka_unit_test(what_is_no_number_stays_in_its_tiles),
      cmocka_unit_test(it_fires_where_it_costs_less_and_tells_why),
      cmocka_unit_test(what_cannot_be_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
