/* Custom ops through the public interface alone: between fused ops, with attributes, by IR text, captured, with
 * sources. On vulkan:0 too where there is one. What goes wrong is in test_runtime_custom_faults.c. */
#include "tests/unit/custom_ops.h"

#include "tessera/profile.h"
#include "tessera/tune.h"

static size_t bad_source(void *user, const char *backend, const tsr_custom_call *c, char *text, size_t bytes) {
  return (size_t)snprintf(text, bytes, "\"tessera.tile.kernel\"(");
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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(custom_ops_between_fused_ops_match_the_reference),
      cmocka_unit_test(custom_source_replaces_the_cpu_kernel),
      cmocka_unit_test(custom_ops_on_vulkan_fall_back_by_policy),
      cmocka_unit_test(custom_ops_are_in_every_dump_and_run_from_it),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
