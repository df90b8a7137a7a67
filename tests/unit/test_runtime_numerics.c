/* Numerics through the public interface, for the contraction, every reduction and every row operation in each data type
 * on the CPU: the bits under `deterministic` for any number of threads and run, f32 accumulation of 16-bit inputs, and
 * sums that only `kahan_sum` gets right. That results are right under each policy at all is the random suite's matter
 * (tests/conformance). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <math.h>

#include "core/base/dtype.h"
#include "tests/support/api_check.h"

typedef struct job {
  const char *op;
  tsr_dtype dtype;
  int64_t m, n;    /* the operand; of a matmul its rows and depth */
  int64_t columns; /* of a matmul */
  int axis;        /* of a reduction; 2 = both */
} job;

static bool is_matmul(const job *j) { return !strcmp(j->op, "matmul"); }
static bool reduces(const job *j) { return !strncmp(j->op, "reduce_", 7); }

static void build(tsr_context *ctx, const job *j, tsr_graph **g) {
  tsr_value v[2];
  int64_t axes[2] = {j->axis == 2 ? 0 : j->axis, 1};
  tsr_attr a = TSR_INTS("axes", axes, j->axis == 2 ? 2 : 1);
  OK(tsr_graph_create(ctx, "main", g));
  OK(tsr_graph_input(*g, "x", j->dtype, (tsr_shape){2, {j->m, j->n}}, &v[0]));
  if (is_matmul(j)) OK(tsr_graph_input(*g, "y", j->dtype, (tsr_shape){2, {j->n, j->columns}}, &v[1]));
  OK(tsr_graph_op(*g, j->op, v, is_matmul(j) ? 2 : 1, &a, reduces(j) ? 1 : 0, &v[0]));
  OK(tsr_graph_output(*g, v[0]));
}

/* The bytes of the result; free them. x and y are in j's type. */
static void *run(const job *j, tsr_policy policy, const void *x, const void *y, size_t *bytes) {
  tsr_context *ctx;
  tsr_device *dev;
  tsr_graph *g;
  tsr_program *p;
  tsr_binding in[2] = {{NULL}}, out = {NULL};
  const void *data[2] = {x, y};
  OK(tsr_context_create(&(tsr_context_desc){.cache_dir = ""}, &ctx));
  OK(tsr_device_open(ctx, "cpu:0", &dev));
  build(ctx, j, &g);
  OK(tsr_program_compile(dev, g, &(tsr_compile_options){.policy = policy, .tune = TSR_TUNE_OFF}, &p));
  for (int i = 0; i < tsr_program_n_inputs(p); i++) {
    OK(tsr_buffer_create(dev, tsr_program_input(p, i).bytes, TSR_MEMORY_DEVICE, &in[i].buffer));
    OK(tsr_buffer_write(in[i].buffer, 0, data[i], tsr_program_input(p, i).bytes));
  }
  *bytes = tsr_program_output(p, 0).bytes;
  void *r = malloc(*bytes + 1);
  OK(tsr_buffer_create(dev, *bytes, TSR_MEMORY_DEVICE, &out.buffer));
  OK(tsr_program_run(p, NULL, in, &out));
  OK(tsr_buffer_read(out.buffer, 0, r, *bytes));
  tsr_buffer_destroy(&in[0].buffer);
  tsr_buffer_destroy(&in[1].buffer);
  tsr_buffer_destroy(&out.buffer);
  tsr_program_destroy(&p);
  tsr_graph_destroy(&g);
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
  return r;
}

static double first(tsr_dtype t, void *bytes) {
  double v = dtype_load(t, bytes, 0);
  free(bytes);
  return v;
}

static const tsr_dtype floats[] = {TSR_F32, TSR_BF16, TSR_F16, TSR_F64};
enum { N_FLOATS = 4 };

/* Half a unit in the last place of 1. */
static double rounding(tsr_dtype t) {
  return t == TSR_F64 ? 0x1p-53 : t == TSR_F32 ? 0x1p-24 : t == TSR_F16 ? 0x1p-11 : 0x1p-8;
}

/* ---- deterministic ----------------------------------------------------------------------------------------------- */

static void same_bits(const job *j, const void *x, const void *y) {
  static const char *const threads[] = {"1", "2", "3", "5"};
  void *want = NULL;
  size_t bytes, again;
  for (int i = 0; i < 5; i++) { /* the last number of threads twice */
    setenv("TSR_THREADS", threads[i < 4 ? i : 3], 1);
    void *have = run(j, TSR_POLICY_DETERMINISTIC, x, y, &again);
    if (!want) {
      want = have, bytes = again;
      continue;
    }
    if (bytes != again || memcmp(want, have, bytes))
      fail_msg("%s %s %lldx%lld: other bits with %s threads", j->op, tsr_dtype_name(j->dtype), (long long)j->m,
               (long long)j->n, threads[i < 4 ? i : 3]);
    free(have);
  }
  unsetenv("TSR_THREADS");
  free(want);
}

static void deterministic_bits_are_those_of_every_run_and_thread_count(void **state) {
  static const char *const ops[] = {"reduce_sum",  "reduce_mean", "reduce_max", "reduce_min",
                                    "reduce_prod", "softmax",     "layernorm",  "rmsnorm"};
  enum { MOST = 3 * 70001 };
  static uint8_t x[MOST * 8], y[MOST * 8];
  for (int d = 0; d < N_FLOATS; d++) {
    tsr_dtype t = floats[d];
    for (size_t i = 0; i < MOST; i++) {
      dtype_store(t, x, i, (double)(i * 2654435761u % 4001) / 1500.0 - 1.3);
      dtype_store(t, y, i, (double)(i * 40503u % 3001) / 1500.0 - 1.0);
    }
    for (size_t o = 0; o < sizeof ops / sizeof *ops; o++) {
      bool axes = !strncmp(ops[o], "reduce_", 7);
      for (int axis = axes ? 0 : 1; axis <= (axes ? 2 : 1); axis++)
        same_bits(&(job){ops[o], t, 131, 517, 0, axis}, x, y);
      same_bits(&(job){ops[o], t, 3, 70001, 0, 1}, x, y);
    }
    same_bits(&(job){"matmul", t, 130, 1037, 70, 0}, x, y);
    same_bits(&(job){"matmul", t, 1, 1037, 190, 0}, x, y);
    same_bits(&(job){"matmul", t, 3, 5000, 5, 0}, x, y);
  }
  for (size_t i = 0; i < MOST; i++) x[i] = (uint8_t)(i * 131), y[i] = (uint8_t)(i * 77);
  same_bits(&(job){"matmul", TSR_I8, 130, 1037, 70, 0}, x, y);
}

/* ---- f32 accumulation -------------------------------------------------------------------------------------------- */

/* 4096 ones: a bf16 sum stays at 256, an f16 sum at 2048. */
static void sixteen_bit_inputs_are_accumulated_in_f32(void **state) {
  enum { N = 4096 };
  static uint8_t ones[N * 8];
  size_t bytes;
  for (int policy = TSR_POLICY_FAST; policy <= TSR_POLICY_KAHAN_SUM; policy++)
    for (int d = 0; d < N_FLOATS; d++) {
      tsr_dtype t = floats[d];
      for (size_t i = 0; i < N; i++) dtype_store(t, ones, i, 1);
      const struct { job j; double want; } cases[] = {
          {{"reduce_sum", t, 1, N, 0, 1}, N}, {{"reduce_sum", t, N, 1, 0, 0}, N}, {{"reduce_sum", t, 64, 64, 0, 2}, N}, {{"reduce_mean", t, 1, N, 0, 1}, 1}, {{"reduce_mean", t, N, 1, 0, 0}, 1},
          {{"matmul", t, 1, N, 1, 0}, N},     {{"softmax", t, 1, N, 0, 0}, 1.0 / N},   {{"rmsnorm", t, 1, N, 0, 0}, 1}};
      for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double have = first(t, run(&cases[i].j, (tsr_policy)policy, ones, ones, &bytes));
        /* rmsnorm's eps moves it by 5e-6; what is left is the rounding of the result. */
        if (!(fabs(have - cases[i].want) <= 6e-6 * cases[i].want + rounding(t) * cases[i].want))
          fail_msg("%s of %s ones, policy %s: %.9g, want %.9g", cases[i].j.op, tsr_dtype_name(t),
                   tsr_policy_name((tsr_policy)policy), have, cases[i].want);
      }
    }
}

/* ---- kahan_sum --------------------------------------------------------------------------------------------------- */

/* B, 2048 times s, -B: beside B one s is lost in an accumulator of `bits` bits, and the exact sum of the rest fits the
 * type. */
enum { SMALL = 2048, TERMS = SMALL + 2 };
static void adversarial(tsr_dtype t, void *x, double *big, double *small, int *bits) {
  *bits = t == TSR_F64 ? 53 : 24;
  *big = t == TSR_F16 ? 0x1p14 : t == TSR_F64 ? 0x1p53 : 0x1p24;
  *small = *big * ldexp(1, -*bits);
  for (size_t i = 0; i < TERMS; i++) dtype_store(t, x, i, i == 0 ? *big : i == TERMS - 1 ? -*big : *small);
}

static void kahan_sum_beats_the_naive_bound_in_every_type(void **state) {
  static uint8_t x[TERMS * 8], ones[TERMS * 8];
  size_t bytes;
  for (int d = 0; d < N_FLOATS; d++) {
    tsr_dtype t = floats[d];
    double big, small;
    int bits;
    adversarial(t, x, &big, &small, &bits);
    for (size_t i = 0; i < TERMS; i++) dtype_store(t, ones, i, 1);
    double exact = SMALL * small, sum_abs = 2 * big + exact, u = ldexp(1, -bits);
    double naive = (TERMS - 1) * u * sum_abs,
           kahan = (2 * u + 2 * TERMS * u * u) * sum_abs; /* Higham, Accuracy and Stability, 4.3 */
    assert_true(naive > 100 * kahan && naive > exact);
    const struct {
      job j;
      double scale;
    } cases[] = {{{"reduce_sum", t, 1, TERMS, 0, 1}, 1},
                 {{"reduce_sum", t, TERMS, 1, 0, 0}, 1},
                 {{"reduce_sum", t, 2, TERMS / 2, 0, 2}, 1},
                 {{"reduce_mean", t, 1, TERMS, 0, 1}, TERMS},
                 {{"matmul", t, 1, TERMS, 1, 0}, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
      double want = exact / cases[i].scale, have = first(t, run(&cases[i].j, TSR_POLICY_KAHAN_SUM, x, ones, &bytes));
      if (!(fabs(have - want) <= kahan / cases[i].scale + rounding(t) * fabs(want)))
        fail_msg("%s %lldx%lld of %s: %.9g, want %.9g +- %.3g", cases[i].j.op, (long long)cases[i].j.m,
                 (long long)cases[i].j.n, tsr_dtype_name(t), have, want, kahan / cases[i].scale);
    }
  }
}

/* Rows whose sum inside is 1 and very many terms that one by one are lost beside it: of exponentials, of squares. */
static void kahan_sum_reaches_into_row_operations(void **state) {
  enum { N = 60000 };
  static uint8_t x[N * 8];
  static const int64_t lengths[] = {1000, N};
  size_t bytes;
  for (int d = 0; d < N_FLOATS; d++)
    for (int l = 0; l < 2; l++) {
      tsr_dtype t = floats[d];
      int64_t n = lengths[l];
      double tiny = t == TSR_F64 ? 0x1p-27 : 0x1p-12, lost = -(t == TSR_F64 ? 37.5 : 17.5),
             tol = 16 * (t == TSR_F64 ? 0x1p-53 : 0x1p-24);
      /* softmax: exp(lost) is less than half a unit beside 1 */
      for (int64_t i = 0; i < n; i++) dtype_store(t, x, (size_t)i, i ? lost : 0);
      double term = exp(dtype_load(t, x, 1)), want = 1 / (1 + (double)(n - 1) * term);
      double have = first(t, run(&(job){"softmax", t, 1, n, 0, 0}, TSR_POLICY_KAHAN_SUM, x, NULL, &bytes));
      if (!(fabs(have - want) <= tol + rounding(t) * want))
        fail_msg("softmax of %lld %s: %.17g, want %.17g", (long long)n, tsr_dtype_name(t), have, want);
      /* rmsnorm and layernorm: squares of `tiny` beside 1; the signs alternate so that the mean is small */
      for (int64_t i = 0; i < n; i++) dtype_store(t, x, (size_t)i, i ? (i % 2 ? tiny : -tiny) : 1);
      double squares = 1 + (double)(n - 1) * tiny * tiny, mean = (1 + (n % 2 ? 0 : tiny)) / (double)n, eps = 1e-5;
      want = 1 / sqrt(squares / (double)n + eps);
      have = first(t, run(&(job){"rmsnorm", t, 1, n, 0, 0}, TSR_POLICY_KAHAN_SUM, x, NULL, &bytes));
      if (!(fabs(have - want) <= tol * want + rounding(t) * want))
        fail_msg("rmsnorm of %lld %s: %.17g, want %.17g", (long long)n, tsr_dtype_name(t), have, want);
      double var = squares / (double)n - mean * mean;
      want = (1 - mean) / sqrt(var + eps);
      have = first(t, run(&(job){"layernorm", t, 1, n, 0, 0}, TSR_POLICY_KAHAN_SUM, x, NULL, &bytes));
      if (!(fabs(have - want) <= tol * want + rounding(t) * want))
        fail_msg("layernorm of %lld %s: %.17g, want %.17g", (long long)n, tsr_dtype_name(t), have, want);
    }
}

/* ---- scopes ------------------------------------------------------------------------------------------------------ */

/* A sum of TERMS floats as IR text, with `attrs` on the function. */
static tsr_status compile_text(tsr_policy in_context, const char *attrs, const tsr_compile_options *o,
                               char **explained) {
  tsr_context *ctx;
  tsr_device *dev;
  tsr_program *p = NULL;
  char text[1024];
  OK(tsr_context_create(&(tsr_context_desc){.policy = in_context, .cache_dir = ""}, &ctx));
  OK(tsr_device_open(ctx, "cpu:0", &dev));
  int n = snprintf(text, sizeof text,
                   "\"builtin.module\"() ({\n\"tessera.graph.func\"() ({\n^bb0(%%A: tensor<1x%dxf32>):\n%%0 = \"tessera.graph.reduce_sum\"(%%A) {axes = [1]} : (tensor<1x%dxf32>) -> tensor<1xf32>\n"
                   "\"tessera.graph.return\"(%%0) : (tensor<1xf32>) -> ()\n}) {sym_name = \"main\"%s} : () -> ()\n}) : () -> ()\n", TERMS, TERMS, attrs);
  tsr_status st = tsr_program_parse(dev, text, (size_t)n, "scopes.mlir", o, &p);
  if (!st) {
    char *tile = NULL, *heads = NULL;
    OK(tsr_program_dump(p, TSR_LEVEL_TILE, &tile, NULL));
    OK(tsr_program_explain(p, &heads));
    *explained = malloc(strlen(tile) + strlen(heads) + 1);
    strcat(strcpy(*explained, heads), tile);
    tsr_text_free(ctx, &tile);
    tsr_text_free(ctx, &heads);
  }
  tsr_program_destroy(&p);
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
  return st;
}

static void the_innermost_scope_that_names_a_policy_decides(void **state) {
  static const struct { tsr_policy context; const char *text; tsr_policy options; const char *want; } cases[] = {
      {TSR_POLICY_DETERMINISTIC, "", TSR_POLICY_DEFAULT, "deterministic"},
      {TSR_POLICY_FAST, ", policy = \"kahan_sum\"", TSR_POLICY_DEFAULT, "kahan_sum"},
      {TSR_POLICY_KAHAN_SUM, ", policy = \"fast\"", TSR_POLICY_DEFAULT, "fast"},
      {TSR_POLICY_FAST, ", policy = \"kahan_sum\"", TSR_POLICY_DETERMINISTIC, "deterministic"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char *said, head[64], reduce[64];
    OK(compile_text(cases[i].context, cases[i].text, &(tsr_compile_options){.policy = cases[i].options}, &said));
    snprintf(head, sizeof head, "policy %s,", cases[i].want);
    snprintf(reduce, sizeof reduce, "policy = \"%s\"", cases[i].want);
    assert_non_null(strstr(said, head));
    const char *at = strstr(said, "policy = \"");
    assert_non_null(at);
    for (; at; at = strstr(at + 1, "policy = \""))
      assert_memory_equal(at, reduce, strlen(reduce)); /* the program, the kernel, the reduction */
    free(said);
  }
}

/* Two sums in one program, each with its own policy. */
static void a_launch_may_have_a_policy_of_its_own(void **state) {
  static const char text[] =
      "\"builtin.module\"() ({\n\"tessera.schedule.program\"() ({\n^bb0(%A: tensor<4x64xf32>):\n"
      "%0 = \"tessera.schedule.kernel\"(%A) ({\n^bb0(%a: tensor<4x64xf32>):\n%r = \"tessera.graph.reduce_sum\"(%a) {axes = [1]} : (tensor<4x64xf32>) -> tensor<4xf32>\n"
      "\"tessera.schedule.yield\"(%r) : (tensor<4xf32>) -> ()\n}) {sym_name = \"careful\", family = \"row\", policy = \"%s\"} : (tensor<4x64xf32>) -> tensor<4xf32>\n"
      "%1 = \"tessera.schedule.kernel\"(%A) ({\n^bb0(%b: tensor<4x64xf32>):\n%s = \"tessera.graph.reduce_sum\"(%b) {axes = [1]} : (tensor<4x64xf32>) -> tensor<4xf32>\n"
      "\"tessera.schedule.yield\"(%s) : (tensor<4xf32>) -> ()\n}) {sym_name = \"quick\", family = \"row\"} : (tensor<4x64xf32>) -> tensor<4xf32>\n"
      "\"tessera.schedule.return\"(%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> ()\n}) {sym_name = \"main\"} : () -> ()\n}) : () -> ()\n";
  tsr_context *ctx;
  tsr_device *dev;
  tsr_program *p;
  char good[2048], bad[2048], *tile;
  const char *cut = strstr(text, "policy = \"%s") + strlen("policy = \"");
  int head = (int)(cut - text);
  snprintf(good, sizeof good, "%.*skahan_sum%s", head, text, cut + 2);
  snprintf(bad, sizeof bad, "%.*ssloppy%s", head, text, cut + 2);
  OK(tsr_context_create(&(tsr_context_desc){.cache_dir = ""}, &ctx));
  OK(tsr_device_open(ctx, "cpu:0", &dev));
  OK(tsr_program_parse(dev, good, strlen(good), "launch.mlir", NULL, &p));
  OK(tsr_program_dump(p, TSR_LEVEL_TILE, &tile, NULL));
  const char *careful = strstr(tile, "op = \"sum\", policy = \"kahan_sum\""),
             *quick = careful ? strstr(careful, "recipe = \"reduce_sum\"") : NULL;
  assert_non_null(quick); /* the kernels have no compensated sum: that one is written out */
  quick = strstr(quick, "policy = \"");
  assert_true(quick && !strncmp(quick, "policy = \"fast\"", strlen("policy = \"fast\"")));
  tsr_text_free(ctx, &tile);
  tsr_program_destroy(&p);
  tsr_status st = tsr_program_parse(dev, bad, strlen(bad), "launch.mlir", NULL, &p);
  assert_int_equal(tsr_status_code(st), TSR_VERIFY_ERROR);
  assert_non_null(strstr(tsr_status_message(st), "sloppy"));
  tsr_status_free(st);
  tsr_device_close(&dev);
  tsr_context_destroy(&ctx);
}

static void an_unknown_policy_or_precision_is_one_clear_line(void **state) {
  static const struct { const char *text; tsr_precision precision; tsr_code code; const char *says; } cases[] = {
      {", policy = \"sloppy\"", TSR_PRECISION_STANDARD, TSR_VERIFY_ERROR, "scopes.mlir:2:1"},
      {", precision = \"bold\"", TSR_PRECISION_STANDARD, TSR_VERIFY_ERROR, "unknown precision mode"},
      {", precision = \"aggressive\", fp8_scales = \"row\"", TSR_PRECISION_STANDARD, TSR_VERIFY_ERROR, "unknown fp8_scales"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char *said = NULL;
    tsr_status st =
        compile_text(TSR_POLICY_FAST, cases[i].text, &(tsr_compile_options){.precision = cases[i].precision}, &said);
    assert_int_equal(tsr_status_code(st), cases[i].code);
    if (!strstr(tsr_status_message(st), cases[i].says)) fail_msg("%s", tsr_status_message(st));
    tsr_status_free(st);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(deterministic_bits_are_those_of_every_run_and_thread_count),
      cmocka_unit_test(sixteen_bit_inputs_are_accumulated_in_f32),
      cmocka_unit_test(kahan_sum_beats_the_naive_bound_in_every_type),
      cmocka_unit_test(kahan_sum_reaches_into_row_operations),
      cmocka_unit_test(the_innermost_scope_that_names_a_policy_decides),
      cmocka_unit_test(a_launch_may_have_a_policy_of_its_own),
      cmocka_unit_test(an_unknown_policy_or_precision_is_one_clear_line),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
