/* The gradients of flash_attention as one kernel of the CPU: against the other ops that say the same, over options and
 * random shapes; the memory and launches that they take; bits that don't depend on threads; where other ops are taken.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <math.h>

#include "tests/support/attention_case.h"

static void run(tsr_device *dev, const attention_case *c, const attention_gradient *g, void **out, size_t *bytes) {
  void *in[ATTENTION_INPUTS];
  attention_fill(c, g, in);
  attention_run(dev, g, in, out, bytes);
  for (int i = 0; i < g->n_in; i++) free(in[i]);
}

/* ---- the same numbers as other ops give -------------------------------------------------------------------------- */

/* Sums of up to some thousand products of numbers below 1, in two orders: 64 roundings of the largest gradient. */
static void compare(tsr_context *ctx, tsr_device *dev, const attention_case *c, const char *name) {
  const double eps = attention_rounding(c->t);
  void *out[2][ATTENTION_INPUTS];
  size_t bytes[ATTENTION_INPUTS];
  int n_out = 0;
  for (int how = ATTENTION_KERNEL; how <= ATTENTION_OTHER_OPS; how++) {
    attention_gradient g;
    attention_compile(ctx, dev, c, how, &g);
    assert_true(attention_says(ctx, g.p, "kernel flash_attention_backward") == (how == ATTENTION_KERNEL));
    run(dev, c, &g, out[how], bytes);
    n_out = g.n_out;
    tsr_program_destroy(&g.p);
  }
  for (int i = 1; i < n_out; i++) {
    const size_t n = bytes[i] / tsr_dtype_size(c->t);
    double largest = 0;
    for (size_t k = 0; k < n; k++) largest = fmax(largest, fabs(dtype_load(c->t, out[1][i], k)));
    for (size_t k = 0; k < n; k++) {
      const double x = dtype_load(c->t, out[0][i], k), y = dtype_load(c->t, out[1][i], k);
      if (!(fabs(x - y) <= 64 * eps * largest))
        fail_msg("%s: gradient %d, number %zu of %zu: %.9g, by other ops %.9g", name, i, k, n, x, y);
    }
    assert_true(largest > 0);
  }
  for (int i = 0; i < n_out; i++) free(out[0][i]), free(out[1][i]);
}

static void gradients_of_each_option_are_those_of_other_ops(void **state) {
  static const struct {
    const char *name;
    attention_case c;
  } cases[] = {
      {"plain", {TSR_F64, 1, 2, 2, 40, 40, 8, 8}},
      {"causal over several tiles", {TSR_F32, 1, 2, 2, 300, 300, 16, 16, .causal = true}},
      {"causal, more keys", {TSR_F64, 1, 2, 2, 150, 400, 8, 8, .causal = true}},
      {"causal, more queries", {TSR_F64, 2, 1, 1, 400, 150, 8, 8, .causal = true}},
      {"a window", {TSR_F64, 1, 2, 2, 300, 300, 8, 8, .window = 40}},
      {"a causal window", {TSR_F64, 1, 2, 2, 300, 280, 8, 8, .window = 40, .causal = true}},
      {"a window of one", {TSR_F64, 1, 2, 2, 140, 300, 8, 8, .window = 1}},
      {"a cap", {TSR_F64, 1, 2, 2, 150, 150, 8, 8, .softcap = 0.7, .scale = 2}},
      {"a cap and a bias", {TSR_F64, 2, 2, 2, 150, 150, 8, 8, .softcap = 0.7, .bias = true, .causal = true}},
      {"a negative scale", {TSR_F64, 1, 2, 2, 150, 150, 8, 8, .scale = -0.5}},
      {"a bias", {TSR_F64, 2, 4, 2, 30, 150, 8, 5, .bias = true}},
      {"a mask", {TSR_F64, 2, 2, 2, 150, 30, 8, 8, .mask = true}},
      {"a mask and causal", {TSR_F32, 1, 4, 1, 150, 150, 8, 8, .mask = true, .causal = true}},
      {"heads that share keys", {TSR_F64, 2, 6, 2, 130, 140, 8, 12}},
      {"one head of keys, causal", {TSR_F64, 1, 6, 1, 260, 300, 8, 3, .causal = true}},
      {"lengths", {TSR_F64, 6, 2, 1, 30, 40, 8, 8, .lengths = true}},
      {"lengths, causal", {TSR_F64, 6, 2, 1, 30, 40, 8, 8, .lengths = true, .causal = true}},
      {"lengths, a window", {TSR_F64, 6, 1, 1, 30, 40, 8, 8, .lengths = true, .window = 7}},
      {"lengths, a mask", {TSR_F64, 6, 2, 2, 30, 40, 8, 8, .lengths = true, .mask = true}},
      {"widths of 1", {TSR_F64, 1, 1, 1, 17, 33, 1, 1}},
      {"one query", {TSR_F64, 3, 2, 2, 1, 33, 4, 4, .causal = true}},
      {"one key", {TSR_F64, 3, 2, 2, 33, 1, 4, 4}},
      {"narrow", {TSR_BF16, 1, 2, 2, 150, 150, 16, 16, .causal = true}},
      {"wide heads", {TSR_F32, 1, 1, 1, 70, 70, 256, 200}},
      {"many heads, so that keys are in one part", {TSR_F64, 4, 5, 5, 300, 300, 4, 4, .causal = true}},
  };
  tsr_context *ctx;
  tsr_device *dev;
  OK(tsr_context_create(&(tsr_context_desc){.cache_dir = ""}, &ctx));
  OK(tsr_device_open(ctx, "cpu:0", &dev));
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) compare(ctx, dev, &cases[i].c, cases[i].name);
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
}

static void gradients_of_random_shapes_are_those_of_other_ops(void **state) {
  unsigned seed = 20;
  tsr_context *ctx;
  tsr_device *dev;
  OK(tsr_context_create(&(tsr_context_desc){.cache_dir = ""}, &ctx));
  OK(tsr_device_open(ctx, "cpu:0", &dev));
  for (int i = 0; i < 40; i++) {
    attention_case c = {.t = attention_next(&seed) % 3 ? TSR_F64 : TSR_F32, .batch = 1 + attention_next(&seed) % 3};
    char name[160];
    c.kv_heads = 1 + attention_next(&seed) % 2, c.heads = c.kv_heads * (1 + attention_next(&seed) % 3);
    c.m = 1 + attention_next(&seed) % 300, c.n = 1 + attention_next(&seed) % 300, c.k = 1 + attention_next(&seed) % 20;
    c.v = 2 + attention_next(&seed) % 20;
    c.causal = attention_next(&seed) % 2, c.window = attention_next(&seed) % 3 ? 0 : 1 + attention_next(&seed) % 100;
    c.mask = attention_next(&seed) % 3 == 0, c.bias = !c.mask && attention_next(&seed) % 2;
    c.softcap = attention_next(&seed) % 3 ? 0 : 1.5, c.scale = attention_next(&seed) % 2 ? 0 : 0.3;
    if (c.n < 3) c.n = 3; /* of less there may be nothing but zeros */
    snprintf(name, sizeof name, "case %d: %lldx%lldx%lldx%lldx%lld of %lld heads of keys, width %lld%s", i,
             (long long)c.batch, (long long)c.heads, (long long)c.m, (long long)c.n, (long long)c.k,
             (long long)c.kv_heads, (long long)c.v, c.causal ? ", causal" : "");
    compare(ctx, dev, &c, name);
  }
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
}

/* ---- memory, launches, bits -------------------------------------------------------------------------------------- */

static long workspace(tsr_context *ctx, tsr_program *p) {
  char *told;
  OK(tsr_program_explain(p, &told));
  const char *at = strstr(told, "workspace ");
  assert_non_null(at);
  const long bytes = strtol(at + strlen("workspace "), NULL, 10);
  tsr_text_free(ctx, &told);
  return bytes;
}

/* Twice the length, twice the temporaries: the result, its log-sum-exp, shift, and dq of each part. */
static void temporaries_grow_as_the_length_and_launches_stay(void **state) {
  tsr_context *ctx;
  tsr_device *dev;
  long before = 0;
  int launches = 0;
  OK(tsr_context_create(&(tsr_context_desc){.cache_dir = ""}, &ctx));
  OK(tsr_device_open(ctx, "cpu:0", &dev));
  for (int64_t n = 512; n <= 8192; n *= 2) {
    const attention_case c = {TSR_F32, 2, 8, 8, n, n, 64, 64, .causal = true};
    attention_gradient g, by_parts;
    attention_compile(ctx, dev, &c, ATTENTION_KERNEL, &g);
    attention_compile(ctx, dev, &c, ATTENTION_OTHER_OPS, &by_parts);
    const long bytes = workspace(ctx, g.p), scores = c.batch * c.heads * n * n * 4;
    if (before) assert_true(bytes <= 2 * before + 4096);
    assert_true(workspace(ctx, by_parts.p) > 2 * bytes);
    assert_true(bytes < scores / 2);
    if (launches) assert_int_equal(tsr_program_n_kernels(g.p), launches);
    launches = tsr_program_n_kernels(g.p);
    before = bytes;
    tsr_program_destroy(&g.p);
    tsr_program_destroy(&by_parts.p);
  }
  print_message("%d launches, %ld bytes of temporaries for 16 heads of length 8192\n", launches, before);
  assert_int_equal(launches, 5); /* attention, the loss in two steps, shift, the gradients */
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
}

static void bits_do_not_depend_on_threads(void **state) {
  static const attention_case cases[] = {{TSR_F32, 1, 2, 2, 700, 700, 16, 16, .causal = true},
                                         {TSR_F32, 2, 4, 2, 300, 900, 16, 8},
                                         {TSR_BF16, 1, 2, 2, 500, 600, 16, 8, .causal = true},
                                         {TSR_F32, 1, 2, 1, 700, 600, 16, 16, .mode = TSR_PRECISION_DETERMINISTIC},
                                         {TSR_F16, 1, 2, 2, 500, 600, 8, 8, .mode = TSR_PRECISION_DETERMINISTIC}};
  static const char *const threads[] = {"1", "2", "5"};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    void *out[3][ATTENTION_INPUTS];
    size_t bytes[ATTENTION_INPUTS];
    attention_gradient g;
    for (int t = 0; t < 3; t++) {
      tsr_context *ctx;
      tsr_device *dev;
      setenv("TSR_THREADS", threads[t], 1);
      OK(tsr_context_create(&(tsr_context_desc){.cache_dir = ""}, &ctx));
      OK(tsr_device_open(ctx, "cpu:0", &dev));
      attention_compile(ctx, dev, &cases[i], ATTENTION_KERNEL, &g);
      assert_true(attention_says(ctx, g.p, "kernel flash_attention_backward"));
      run(dev, &cases[i], &g, out[t], bytes);
      tsr_program_destroy(&g.p);
      tsr_device_close(&dev);
      tsr_context_destroy(&ctx);
    }
    for (int r = 1; r < g.n_out; r++)
      for (int t = 1; t < 3; t++) assert_memory_equal(out[0][r], out[t][r], bytes[r]);
    for (int r = 0; r < g.n_out; r++)
      for (int t = 0; t < 3; t++) free(out[t][r]);
  }
  unsetenv("TSR_THREADS");
}

/* ---- where other ops are taken ----------------------------------------------------------------------------------- */

static void other_devices_and_modes_take_other_ops_and_say_so(void **state) {
  static const struct {
    const char *device;
    tsr_precision mode;
  } cases[] = {{"cuda:sm_90a", TSR_PRECISION_STANDARD}, {"null:spirv", TSR_PRECISION_STANDARD},
               {"cpu:0", TSR_PRECISION_TF32},           {"cpu:0", TSR_PRECISION_AGGRESSIVE},
               {"cpu:0", TSR_PRECISION_SAFE},           {"cpu:0", TSR_PRECISION_DETERMINISTIC}};
  const attention_case c = {TSR_F32, 1, 2, 2, 64, 64, 16, 16};
  tsr_context *ctx;
  OK(tsr_context_create(&(tsr_context_desc){.cache_dir = ""}, &ctx));
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    tsr_device *dev;
    attention_gradient g;
    OK(tsr_device_open(ctx, cases[i].device, &dev));
    tsr_graph *graph = attention_loss(ctx, &c, &g);
    OK(tsr_program_compile(dev, graph, &(tsr_compile_options){.precision = cases[i].mode, .tune = TSR_TUNE_OFF}, &g.p));
    const bool whole = cases[i].mode == TSR_PRECISION_DETERMINISTIC;
    assert_true(attention_says(ctx, g.p,
                     "flash_attention_backward refused at tessera.graph.flash_attention_backward: other ops "
                     "here, for keys block by block") == !whole);
    assert_true(attention_says(ctx, g.p, "kernel flash_attention_backward") == whole);
    tsr_program_destroy(&g.p);
    tsr_graph_destroy(&graph);
    tsr_device_close(&dev);
  }
  tsr_context_destroy(&ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(gradients_of_each_option_are_those_of_other_ops),
      cmocka_unit_test(gradients_of_random_shapes_are_those_of_other_ops),
      cmocka_unit_test(temporaries_grow_as_the_length_and_launches_stay),
      cmocka_unit_test(bits_do_not_depend_on_threads),
      cmocka_unit_test(other_devices_and_modes_take_other_ops_and_say_so),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
