/* Custom ops through the public interface alone: between fused ops, with attributes, by IR text, captured, failing,
 * with sources. On vulkan:0 too where there is one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <math.h>

#include "tessera/profile.h"
#include "tessera/tune.h"
#include "tests/support/api_check.h"

#define FAILS(code, says, e)                                          \
  do {                                                                \
    tsr_status f_ = (e);                                              \
    assert_int_equal(tsr_status_code(f_), code);                      \
    if (!strstr(tsr_status_message(f_), says)) fail_msg("\"%s\" does not say \"%s\"", tsr_status_message(f_), says); \
    assert_null(strchr(tsr_status_message(f_), '\n'));                \
    tsr_status_free(f_);                                              \
  } while (0)

/* ---- the ops: my.swish(x) = x / (1 + exp(-beta x)); my.rowdot(x, y)[i] = sum over j of x[i][j] y[i][j] ----------- */

typedef struct counts { long calls, rows, fail_from; } counts;

static bool swish_infer(void *user, const tsr_custom_call *c, char *why, size_t n) {
  if (c->operands[0].dtype != TSR_F32)
    return snprintf(why, n, "swish takes f32, not %s", tsr_dtype_name(c->operands[0].dtype)), false;
  for (int i = 0; i < c->n_attrs; i++) {
    const tsr_attr *a = &c->attrs[i];
    if (strcmp(a->name, "bounds")) continue;
    if (a->kind != TSR_ATTR_FLOATS || a->n_floats != 2 || a->floats[0] != -0.5 || a->floats[1] != 3)
      return snprintf(why, n, "bounds are no list of -0.5 and 3"), false;
  }
  c->result->dtype = TSR_F32;
  c->result->shape = c->operands[0].shape;
  return true;
}

static bool swish_cpu(void *user, const tsr_custom_call *c, int64_t first, int64_t last, char *why, size_t n) {
  counts *k = user;
  double beta = 1;
  for (int i = 0; i < c->n_attrs; i++)
    if (!strcmp(c->attrs[i].name, "beta")) beta = c->attrs[i].f;
  int64_t row = 1;
  for (int i = 1; i < c->result->shape.rank; i++) row *= c->result->shape.dims[i];
  const float *x = c->operands[0].data;
  float *y = c->result->data;
  if (k) {
    __atomic_add_fetch(&k->calls, 1, __ATOMIC_RELAXED);
    __atomic_add_fetch(&k->rows, last - first, __ATOMIC_RELAXED);
    if (last > k->fail_from) return snprintf(why, n, "the kernel doesn't like row %ld", k->fail_from), false;
  }
  for (int64_t i = first * row; i < last * row; i++) y[i] = (float)((double)x[i] / (1 + exp(-beta * (double)x[i])));
  return true;
}

static bool rowdot_infer(void *user, const tsr_custom_call *c, char *why, size_t n) {
  const tsr_shape *a = &c->operands[0].shape, *b = &c->operands[1].shape;
  if (a->rank != 2 || b->rank != 2 || a->dims[0] != b->dims[0] || a->dims[1] != b->dims[1]) return false;
  c->result->dtype = TSR_F32;
  c->result->shape = (tsr_shape){.rank = 1, .dims = {a->dims[0]}};
  return true;
}

static bool rowdot_cpu(void *user, const tsr_custom_call *c, int64_t first, int64_t last, char *why, size_t n) {
  int64_t cols = c->operands[0].shape.dims[1];
  const float *a = c->operands[0].data, *b = c->operands[1].data;
  for (int64_t i = first; i < last; i++) {
    double sum = 0;
    for (int64_t j = 0; j < cols; j++) sum += (double)a[i * cols + j] * (double)b[i * cols + j];
    ((float *)c->result->data)[i] = (float)sum;
  }
  return true;
}

/* my.swish as Tile IR for every backend, without beta: one block per row. */
static size_t swish_source(void *user, const char *backend, const tsr_custom_call *c, char *text, size_t bytes) {
  long long m = (long long)c->result->shape.dims[0], n = (long long)c->result->shape.dims[1];
  return (size_t)snprintf(text, bytes,
                          "\"tessera.tile.kernel\"() ({\n^bb0(%%x: !tessera.view<%lldx%lldxf32>, %%y: !tessera.view<%lldx%lldxf32>):\n"
                          "%%i = \"tessera.tile.block_id\"() {axis = 0}\n%%z = \"tessera.tile.const\"() {value = 0}\n"
                          "%%wx = \"tessera.tile.window\"(%%x, %%i, %%z) {sizes = [1, %lld]}\n%%wy = \"tessera.tile.window\"(%%y, %%i, %%z) {sizes = [1, %lld]}\n"
                          "%%v = \"tessera.tile.load\"(%%wx)\n%%r = \"tessera.tile.map\"(%%v) ({\n^bb0(%%p: f32):\n%%s = \"tessera.tile.sigmoid\"(%%p)\n"
                          "%%q = \"tessera.tile.mul\"(%%p, %%s)\n\"tessera.tile.yield\"(%%q)\n})\n\"tessera.tile.store\"(%%r, %%wy)\n\"tessera.tile.return\"()\n"
                          "}) {sym_name = \"swish\", grid = [%lld, 1, 1], outputs = 1}\n",
                          m, n, m, n, n, n, m);
}

static size_t bad_source(void *user, const char *backend, const tsr_custom_call *c, char *text, size_t bytes) {
  return (size_t)snprintf(text, bytes, "\"tessera.tile.kernel\"(");
}

static tsr_status register_ops(tsr_context *ctx, counts *k, bool with_source) {
  tsr_custom_op swish = {.name = "my.swish",
                         .n_operands = 1,
                         .infer = swish_infer,
                         .cpu = swish_cpu,
                         .source = with_source ? swish_source : NULL,
                         .user = k};
  tsr_custom_op rowdot = {.name = "my.rowdot", .n_operands = 2, .infer = rowdot_infer, .cpu = rowdot_cpu};
  tsr_status st = tsr_custom_op_register(ctx, &swish);
  return st ? st : tsr_custom_op_register(ctx, &rowdot);
}

/* ---- a graph with three of them between fused ops ---------------------------------------------------------------- */

enum { M = 300, K = 70, N = 90 };

/* s = swish(relu(A B), beta 1.5); t = sum over rows of transpose(swish(transpose(B))); results: rowdot(s, s) * 2 and
 * softmax(s + t). */
static tsr_status build(tsr_context *ctx, tsr_graph **g) {
  tsr_value a, b, v, w, p[2], t;
  tsr_attr beta[2] = {TSR_FLOAT("beta", 1.5), TSR_FLOATS("bounds", ((const double[]){-0.5, 3}), 2)};
  tsr_attr perm = TSR_INTS("perm", ((const int64_t[]){1, 0}), 2),
           axes = TSR_INTS("axes", ((const int64_t[]){0}), 1);
  tsr_status st = tsr_graph_create(ctx, "main", g);
  if (!st) st = tsr_graph_input(*g, "A", TSR_F32, (tsr_shape){2, {M, K}}, &a);
  if (!st) st = tsr_graph_input(*g, "B", TSR_F32, (tsr_shape){2, {K, N}}, &b);
  if (!st) st = tsr_graph_op(*g, "matmul", (tsr_value[]){a, b}, 2, NULL, 0, &v);
  if (!st) st = tsr_graph_op(*g, "relu", &v, 1, NULL, 0, &v);
  if (!st) st = tsr_graph_op(*g, "my.swish", &v, 1, beta, 2, &v);
  if (!st) st = tsr_graph_op(*g, "my.rowdot", (tsr_value[]){v, v}, 2, NULL, 0, &w);
  if (!st) st = tsr_graph_op(*g, "add", (tsr_value[]){w, w}, 2, NULL, 0, &w);
  if (!st) st = tsr_graph_output(*g, w);
  if (!st) st = tsr_graph_op(*g, "transpose", &b, 1, &perm, 1, &t);
  if (!st) st = tsr_graph_op(*g, "my.swish", &t, 1, NULL, 0, &t);
  if (!st) st = tsr_graph_op(*g, "transpose", &t, 1, &perm, 1, &t);
  if (!st) st = tsr_graph_op(*g, "reduce_sum", &t, 1, &axes, 1, &t);
  p[0] = v, p[1] = t;
  if (!st) st = tsr_graph_op(*g, "add", p, 2, NULL, 0, &v);
  if (!st) st = tsr_graph_op(*g, "softmax", &v, 1, NULL, 0, &v);
  return st ? st : tsr_graph_output(*g, v);
}

typedef struct data {
  float a[M * K], b[K * N], dot[M], soft[M * N];
  double want_dot[M], want_soft[M * N], tol_dot[M], tol_soft[M * N];
} data;

static void fill(data *d) {
  for (int i = 0; i < M * K; i++) d->a[i] = (float)((i * 7919 % 2001 - 1000) / 1500.0);
  for (int i = 0; i < K * N; i++) d->b[i] = (float)((i * 104729 % 2001 - 1000) / 1500.0);
}

static void compare(const data *d) {
  for (int i = 0; i < M; i++)
    if (!(fabs(d->dot[i] - d->want_dot[i]) <= d->tol_dot[i]))
      fail_msg("dot %d: %g, want %g +- %g", i, (double)d->dot[i], d->want_dot[i], d->tol_dot[i]);
  for (int i = 0; i < M * N; i++)
    if (!(fabs(d->soft[i] - d->want_soft[i]) <= d->tol_soft[i]))
      fail_msg("softmax %d: %g, want %g +- %g", i, (double)d->soft[i], d->want_soft[i], d->tol_soft[i]);
}

/* The reference by hand, in f64 from the f32 inputs, checks the oracle too. */
static void check_oracle(const data *d) {
  for (int i = 0; i < M; i += 37) {
    double sum = 0;
    for (int j = 0; j < N; j++) {
      double v = 0;
      for (int k = 0; k < K; k++) v += (double)d->a[i * K + k] * (double)d->b[k * N + j];
      v = v > 0 ? v / (1 + exp(-1.5 * v)) : 0;
      sum += v * v;
    }
    assert_true(fabs(2 * sum - d->want_dot[i]) <= d->tol_dot[i]);
    assert_true(d->tol_dot[i] < 1e-3 * (1 + fabs(d->want_dot[i])));
  }
}

static void run_on(tsr_context *ctx, const char *id, tsr_fallback policy, int want_fallbacks) {
  static data d;
  tsr_device *dev;
  tsr_graph *g;
  tsr_program *p;
  tsr_buffer *in[2], *out[2];
  fill(&d);
  OK(tsr_device_open(ctx, id, &dev));
  OK(build(ctx, &g));
  OK(tsr_program_compile(dev, g, &(tsr_compile_options){.fallback = policy}, &p));
  assert_int_equal(tsr_program_n_fallbacks(p), want_fallbacks);
  OK(tsr_graph_reference(g, (const void *[]){d.a, d.b}, (double *[]){d.want_dot, d.want_soft},
                         (double *[]){d.tol_dot, d.tol_soft}));
  check_oracle(&d);
  OK(tsr_buffer_create(dev, sizeof d.a, TSR_MEMORY_DEVICE, &in[0]));
  OK(tsr_buffer_create(dev, sizeof d.b, TSR_MEMORY_DEVICE, &in[1]));
  OK(tsr_buffer_create(dev, sizeof d.dot, TSR_MEMORY_DEVICE, &out[0]));
  OK(tsr_buffer_create(dev, sizeof d.soft, TSR_MEMORY_DEVICE, &out[1]));
  OK(tsr_buffer_write(in[0], 0, d.a, sizeof d.a));
  OK(tsr_buffer_write(in[1], 0, d.b, sizeof d.b));
  tsr_binding bi[2] = {{in[0], 0}, {in[1], 0}}, bo[2] = {{out[0], 0}, {out[1], 0}};
  for (int way = 0; way < 3; way++) {
    tsr_recording *rec = NULL;
    double ns[32];
    assert_true(tsr_program_n_kernels(p) <= 32);
    if (way == 0) OK(tsr_program_run(p, NULL, bi, bo));
    if (way == 1) {
      tsr_stream *s;
      OK(tsr_stream_create(dev, 0, &s));
      OK(tsr_capture_begin(s));
      OK(tsr_program_run(p, s, bi, bo));
      OK(tsr_capture_end(s, &rec));
      OK(tsr_recording_replay(rec, s));
      OK(tsr_recording_replay(rec, s));
      OK(tsr_stream_sync(s, -1));
      tsr_recording_destroy(&rec);
      tsr_stream_destroy(&s);
    }
    if (way == 2) OK(tsr_program_profile(p, NULL, bi, bo, ns));
    memset(d.dot, 0, sizeof d.dot);
    memset(d.soft, 0, sizeof d.soft);
    OK(tsr_buffer_read(out[0], 0, d.dot, sizeof d.dot));
    OK(tsr_buffer_read(out[1], 0, d.soft, sizeof d.soft));
    compare(&d);
    memset(d.dot, 0, sizeof d.dot);
    OK(tsr_buffer_write(out[0], 0, d.dot, sizeof d.dot));
  }
  for (int i = 0; i < 2; i++) {
    tsr_buffer_destroy(&in[i]);
    tsr_buffer_destroy(&out[i]);
  }
  tsr_program_destroy(&p);
  tsr_graph_destroy(&g);
  tsr_device_close(&dev);
}

static void quiet(void *user, tsr_log_level level, const char *text) {
  if (level == TSR_LOG_WARN && strstr(text, "my.")) ++*(int *)user;
}

static tsr_context *open_context(int *warnings) {
  tsr_context *ctx;
  tsr_context_desc desc = {.cache_dir = "", .log = quiet, .log_user = warnings};
  OK(tsr_context_create(&desc, &ctx));
  return ctx;
}

static void custom_ops_between_fused_ops_match_the_reference(void **state) {
  int warnings = 0;
  counts k = {.fail_from = 1 << 30};
  tsr_context *ctx = open_context(&warnings);
  OK(register_ops(ctx, &k, false));
  run_on(ctx, "cpu:0", TSR_FALLBACK_ERROR, 0); /* the CPU's own kernel is no fall-back */
  assert_true(k.calls > 2);
  assert_int_equal(warnings, 0);
  tsr_context_destroy(&ctx);
}

/* swish(A[6,10]) from IR text, by its source alone; false where there is no such device. */
static bool run_source(tsr_context *ctx, const char *id, const char *text) {
  float x[60], y[60];
  tsr_device *dev;
  tsr_program *p;
  tsr_buffer *in, *out;
  tsr_status st = tsr_device_open(ctx, id, &dev);
  if (st) {
    printf("skipped: %s: %s\n", id, tsr_status_message(st));
    tsr_status_free(st);
    return false;
  }
  OK(tsr_program_parse(dev, text, strlen(text), "source.mlir", &(tsr_compile_options){.fallback = TSR_FALLBACK_ERROR},
                       &p));
  assert_int_equal(tsr_program_n_fallbacks(p), 0);
  OK(tsr_buffer_create(dev, sizeof x, TSR_MEMORY_DEVICE, &in));
  OK(tsr_buffer_create(dev, sizeof y, TSR_MEMORY_DEVICE, &out));
  for (int i = 0; i < 60; i++) x[i] = (float)(i - 30) / 8;
  OK(tsr_buffer_write(in, 0, x, sizeof x));
  OK(tsr_program_run(p, NULL, &(tsr_binding){in, 0}, &(tsr_binding){out, 0}));
  OK(tsr_buffer_read(out, 0, y, sizeof y));
  /* The product's rounding and an exponential and a quotient good to a few units in the last place: 1e-6 relative
   * covers them. */
  for (int i = 0; i < 60; i++)
    assert_true(fabs((double)y[i] - (double)x[i] / (1 + exp(-(double)x[i]))) <= 1e-6 * fabs((double)x[i]));
  tsr_buffer_destroy(&in);
  tsr_buffer_destroy(&out);
  tsr_program_destroy(&p);
  tsr_device_close(&dev);
  return true;
}

static void custom_source_replaces_the_cpu_kernel(void **state) {
  int warnings = 0;
  counts k = {.fail_from = -1}; /* a call of the CPU kernel would fail */
  static const char text[] =
      "\"tessera.graph.func\"() ({\n^bb0(%A: tensor<6x10xf32>):\n%0 = \"tessera.graph.custom\"(%A) {callee = \"my.swish\"} : (tensor<6x10xf32>) -> tensor<6x10xf32>\n"
      "\"tessera.graph.return\"(%0)\n}) {sym_name = \"main\"}\n";
  tsr_context *ctx = open_context(&warnings);
  OK(register_ops(ctx, &k, true));
  assert_true(run_source(ctx, "cpu:0", text));
  bool vulkan = run_source(ctx, "vulkan:0", text);
  assert_int_equal(k.calls, 0);
  tsr_custom_op bad = {.name = "my.bad", .n_operands = 1, .infer = swish_infer, .cpu = swish_cpu, .source = bad_source};
  char with_bad[512];
  const char *name = strstr(text, "my.swish");
  tsr_device *dev;
  tsr_program *p;
  snprintf(with_bad, sizeof with_bad, "%.*smy.bad%s", (int)(name - text), text, name + 8);
  OK(tsr_custom_op_register(ctx, &bad));
  OK(tsr_device_open(ctx, "cpu:0", &dev));
  FAILS(TSR_PARSE_ERROR,
        "<my.bad for cpu>:1:", tsr_program_parse(dev, with_bad, strlen(with_bad), "bad.mlir", NULL, &p));
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
  if (!vulkan) skip(); /* the CPU was looked at */
}

/* Without a source the CPU kernels run between copies, if the policy lets them; rowdot never has one. */
static void custom_ops_on_vulkan_fall_back_by_policy(void **state) {
  int warnings = 0;
  counts k = {.fail_from = 1 << 30};
  tsr_context *ctx = open_context(&warnings);
  tsr_device *dev;
  tsr_graph *g;
  tsr_program *p;
  OK(register_ops(ctx, &k, false));
  tsr_status st = tsr_device_open(ctx, "vulkan:0", &dev);
  if (st) {
    printf("skipped: no Vulkan device: %s\n", tsr_status_message(st));
    tsr_status_free(st);
    tsr_context_destroy(&ctx);
    skip();
  }
  OK(build(ctx, &g));
  FAILS(TSR_UNSUPPORTED, "vulkan",
        tsr_program_compile(dev, g, &(tsr_compile_options){.fallback = TSR_FALLBACK_ERROR}, &p));
  assert_null(p);
  tsr_graph_destroy(&g);
  tsr_device_close(&dev);
  run_on(ctx, "vulkan:0", TSR_FALLBACK_ALLOW, 3);
  assert_int_equal(warnings, 0);
  run_on(ctx, "vulkan:0", TSR_FALLBACK_WARN, 3);
  assert_int_equal(warnings, 3);
  tsr_context_destroy(&ctx);
}

static void custom_ops_are_in_every_dump_and_run_from_it(void **state) {
  int warnings = 0;
  tsr_context *ctx = open_context(&warnings);
  tsr_device *dev, *shell;
  tsr_graph *g;
  tsr_program *p, *again;
  OK(register_ops(ctx, NULL, false));
  OK(tsr_device_open(ctx, "cpu:0", &dev));
  OK(build(ctx, &g));
  OK(tsr_program_compile(dev, g, NULL, &p));
  static const char *const prefix[] = {"tessera.graph.custom", "tessera.graph.custom", "tessera.tile.custom",
                                       "tessera.target.custom"};
  for (int level = TSR_LEVEL_GRAPH; level <= TSR_LEVEL_TARGET; level++) {
    char *text, *text2;
    size_t n;
    OK(tsr_program_dump(p, (tsr_level)level, &text, &n));
    assert_non_null(strstr(text, prefix[level]));
    assert_non_null(strstr(text, "callee = \"my.rowdot\""));
    assert_non_null(strstr(text, "beta = 1.5"));
    OK(tsr_program_parse(dev, text, n, "dump.mlir", NULL, &again));
    assert_int_equal(tsr_program_n_kernels(again), tsr_program_n_kernels(p));
    OK(tsr_program_dump(again, (tsr_level)level, &text2, NULL));
    assert_string_equal(text, text2);
    tsr_text_free(ctx, &text2);
    tsr_text_free(ctx, &text);
    tsr_program_destroy(&again);
  }
  tsr_profile *profile;
  char *rows;
  OK(tsr_graph_profile(dev, g, NULL, 2, &profile));
  OK(tsr_profile_json(profile, &rows));
  assert_non_null(strstr(rows, "\"label\": \"my.rowdot"));
  assert_non_null(strstr(rows, "\"op\": \"my.rowdot\", \"detail\""));
  tsr_text_free(ctx, &rows);
  tsr_profile_destroy(&profile);
  tsr_tune_report *tuned; /* the kernels around them are; an application's own op has no knobs that the tuner knows */
  OK(tsr_graph_tune(dev, g, NULL, &(tsr_tune_options){.samples = 2}, &tuned));
  assert_true(tsr_tune_report_count(tuned) >= 1);
  for (int i = 0; i < tsr_tune_report_count(tuned); i++)
    assert_null(strstr(tsr_tune_report_get(tuned, i).problem.op, "my."));
  tsr_tune_report_destroy(&tuned);
  int customs = 0;
  for (int i = 0; i < tsr_program_n_kernels(p); i++)
    customs += !strcmp(tsr_program_kernel(p, i).family, "custom") && !strncmp(tsr_program_kernel(p, i).name, "my.", 3);
  assert_int_equal(customs, 3);
  tsr_program_destroy(&p);
  OK(tsr_device_open(ctx, "cuda:sm_90a", &shell)); /* compiles without hardware, runs nothing */
  OK(tsr_program_compile(shell, g, &(tsr_compile_options){.fallback = TSR_FALLBACK_ALLOW}, &p));
  assert_int_equal(tsr_program_n_fallbacks(p), 3);
  char *why;
  OK(tsr_program_explain(p, &why));
  assert_non_null(strstr(why, "my.rowdot has no kernel for cuda"));
  tsr_text_free(ctx, &why);
  tsr_program_destroy(&p);
  tsr_device_close(&shell);
  tsr_graph_destroy(&g);
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
}

static void custom_op_misuse_is_one_clear_line(void **state) {
  int warnings = 0;
  counts k = {.fail_from = 200};
  static data d;
  tsr_context *ctx = open_context(&warnings);
  tsr_device *dev;
  tsr_graph *g;
  tsr_program *p;
  tsr_value a, b, y;
  OK(register_ops(ctx, &k, false));
  FAILS(TSR_INVALID_ARGUMENT, "registered already", register_ops(ctx, &k, false));
  FAILS(TSR_INVALID_ARGUMENT, "needs a name", tsr_custom_op_register(ctx, &(tsr_custom_op){.name = "x"}));
  OK(tsr_graph_create(ctx, "g", &g));
  OK(tsr_graph_input(g, "A", TSR_F16, (tsr_shape){2, {4, 5}}, &a));
  OK(tsr_graph_input(g, "B", TSR_F32, (tsr_shape){2, {4, 6}}, &b));
  FAILS(TSR_SHAPE_MISMATCH, "swish takes f32, not f16", tsr_graph_op(g, "my.swish", &a, 1, NULL, 0, &y));
  FAILS(TSR_SHAPE_MISMATCH, "the operands don't fit",
        tsr_graph_op(g, "my.rowdot", (tsr_value[]){a, b}, 2, NULL, 0, &y));
  FAILS(TSR_VERIFY_ERROR, "takes 2 operands, has 1", tsr_graph_op(g, "my.rowdot", &b, 1, NULL, 0, &y));
  FAILS(TSR_NOT_FOUND, "no such operation", tsr_graph_op(g, "my.unknown", &b, 1, NULL, 0, &y));
  tsr_graph_destroy(&g);
  OK(tsr_device_open(ctx, "cpu:0", &dev));
  static const char *const texts[][2] = {
      {"bad.mlir:3:6: no custom operation", "%0 = \"tessera.graph.custom\"(%A) {callee = \"my.unknown\"} : (tensor<6x10xf32>) -> tensor<6x10xf32>"},
      {"bad.mlir:3:6: the result's type is not what my.swish infers", "%0 = \"tessera.graph.custom\"(%A) {callee = \"my.swish\"} : (tensor<6x10xf32>) -> tensor<6x11xf32>"},
      {"bad.mlir:3:6", "%0 = \"tessera.graph.custom\"(%A) : (tensor<6x10xf32>) -> tensor<6x10xf32>"}};
  for (int i = 0; i < 3; i++) {
    char text[512];
    int n = snprintf(text, sizeof text,
                     "\"tessera.graph.func\"() ({\n^bb0(%%A: tensor<6x10xf32>):\n%s\n\"tessera.graph.return\"(%%0)\n}) "
                     "{sym_name = \"main\"}\n",
                     texts[i][1]);
    FAILS((i == 0   ? TSR_NOT_FOUND
           : i == 1 ? TSR_SHAPE_MISMATCH
                    : TSR_VERIFY_ERROR),
          texts[i][0], tsr_program_parse(dev, text, (size_t)n, "bad.mlir", NULL, &p));
  }
  /* A kernel that fails ends the run, and the program can run again. */
  tsr_buffer *in[2], *out[2];
  fill(&d);
  OK(build(ctx, &g));
  OK(tsr_program_compile(dev, g, NULL, &p));
  OK(tsr_buffer_create(dev, sizeof d.a, TSR_MEMORY_DEVICE, &in[0]));
  OK(tsr_buffer_create(dev, sizeof d.b, TSR_MEMORY_DEVICE, &in[1]));
  OK(tsr_buffer_create(dev, sizeof d.dot, TSR_MEMORY_DEVICE, &out[0]));
  OK(tsr_buffer_create(dev, sizeof d.soft, TSR_MEMORY_DEVICE, &out[1]));
  OK(tsr_buffer_write(in[0], 0, d.a, sizeof d.a));
  OK(tsr_buffer_write(in[1], 0, d.b, sizeof d.b));
  tsr_binding bi[2] = {{in[0], 0}, {in[1], 0}}, bo[2] = {{out[0], 0}, {out[1], 0}};
  FAILS(TSR_LAUNCH_FAILED, "my.swish: the kernel doesn't like row 200", tsr_program_run(p, NULL, bi, bo));
  FAILS(TSR_LAUNCH_FAILED, "row 200",
        tsr_graph_reference(g, (const void *[]){d.a, d.b}, (double *[]){d.want_dot, d.want_soft}, NULL));
  k.fail_from = 1 << 30;
  OK(tsr_program_run(p, NULL, bi, bo));
  for (int i = 0; i < 2; i++) {
    tsr_buffer_destroy(&in[i]);
    tsr_buffer_destroy(&out[i]);
  }
  tsr_program_destroy(&p);
  tsr_graph_destroy(&g);
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
}

/* ---- failing allocations ----------------------------------------------------------------------------------------- */

static tsr_code whole_life(counting *c) {
  static data d;
  tsr_allocator al = {count_alloc, count_free, c};
  tsr_context_desc desc = {.allocator = &al, .cache_dir = ""};
  tsr_context *ctx = NULL;
  tsr_device *dev = NULL;
  tsr_graph *g = NULL;
  tsr_program *p = NULL;
  tsr_status st = tsr_context_create(&desc, &ctx);
  if (!st) st = register_ops(ctx, NULL, true);
  if (!st) st = tsr_device_open(ctx, "cpu:0", &dev);
  if (!st) st = build(ctx, &g);
  if (!st) st = tsr_program_compile(dev, g, NULL, &p);
  if (!st) st = tsr_graph_reference_at(g, (const void *[]){d.a, d.b}, 0, (int64_t[]){3}, 1, d.want_dot, d.tol_dot);
  tsr_code code = tsr_status_code(st);
  tsr_status_free(st);
  tsr_program_destroy(&p);
  tsr_graph_destroy(&g);
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
  return code;
}

static void every_failed_allocation_around_custom_ops_is_a_status(void **state) {
  counting c = {.left = 1L << 40};
  assert_int_equal(whole_life(&c), TSR_OK);
  assert_int_equal(c.live, 0);
  long needed = (1L << 40) - c.left;
  for (long i = 0; i < needed; i += 1 + i / 400) {
    c = (counting){.left = i};
    tsr_code code = whole_life(&c);
    if (code != TSR_OUT_OF_MEMORY && code != TSR_OK)
      fail_msg("allocation %ld of %ld: %s", i, needed, tsr_code_name(code));
    if (c.live) fail_msg("allocation %ld of %ld: %ld blocks leak", i, needed, c.live);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(custom_ops_between_fused_ops_match_the_reference),
      cmocka_unit_test(custom_source_replaces_the_cpu_kernel),
      cmocka_unit_test(custom_ops_on_vulkan_fall_back_by_policy),
      cmocka_unit_test(custom_ops_are_in_every_dump_and_run_from_it),
      cmocka_unit_test(custom_op_misuse_is_one_clear_line),
      cmocka_unit_test(every_failed_allocation_around_custom_ops_is_a_status),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
