/* Ops on whole matrices (tri_solve, cholesky, qr, svd): the oracle against values worked out by hand, the CPU's
 * routines by what the factors multiply to, across the ends of their blocks, matrices that have no factors, the calls
 * in a program's text at each level, and what other devices say. Each op in each type on each device is
 * test_op_types.c's, the routines against the oracle the random suite's, gradients are test_graph_autodiff.c's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "tests/support/api_check.h"
#include "tests/support/graph_text.h"

enum { MOST = 5 };

static const char *func(const char *args, const char *body, const char *results) {
  static char text[2048];
  snprintf(text, sizeof text,
           "\"tessera.graph.func\"() ({\n^bb0(%s):\n%s\n\"tessera.graph.return\"(%s)\n}) {sym_name = \"main\"}\n", args,
           body, results);
  return text;
}

typedef struct rig {
  tsr_context *ctx;
  tsr_device *dev;
  tsr_program *p;
} rig;

static rig opened(const char *device) {
  rig r = {NULL};
  OK(tsr_context_create(&(tsr_context_desc){.cache_dir = ""}, &r.ctx));
  OK(tsr_device_open(r.ctx, device, &r.dev));
  return r;
}

static rig compiled(const char *text) {
  rig r = opened("cpu:0");
  OK(tsr_program_parse(r.dev, text, strlen(text), "test.mlir", NULL, &r.p));
  return r;
}

static void close_rig(rig *r) {
  tsr_program_destroy(&r->p);
  tsr_device_close(&r->dev);
  tsr_context_destroy(&r->ctx);
}

static void run(rig *r, const void *const *in, void *const *out) {
  tsr_binding b[2][MOST] = {{{0}}};
  for (int side = 0; side < 2; side++)
    for (int i = 0; i < (side ? tsr_program_n_outputs(r->p) : tsr_program_n_inputs(r->p)); i++) {
      const tsr_tensor_info t = side ? tsr_program_output(r->p, i) : tsr_program_input(r->p, i);
      OK(tsr_buffer_create(r->dev, t.bytes, TSR_MEMORY_DEVICE, &b[side][i].buffer));
      if (!side) OK(tsr_buffer_write(b[side][i].buffer, 0, in[i], t.bytes));
    }
  OK(tsr_program_run(r->p, NULL, b[0], b[1]));
  for (int i = 0; i < tsr_program_n_outputs(r->p); i++)
    OK(tsr_buffer_read(b[1][i].buffer, 0, out[i], tsr_program_output(r->p, i).bytes));
  for (int i = 0; i < 2 * MOST; i++) tsr_buffer_destroy(&b[i / MOST][i % MOST].buffer);
}

/* ---- values by hand ---------------------------------------------------------------------------------------------- */

static const struct {
  const char *args, *body, *results;
  double in[2][9], want[3][9];
  int n[3];
} values[] = {
    {"%a: tensor<2x2xf64>", "%0 = \"tessera.graph.cholesky\"(%a)", "%0", {{4, 777, 2, 10}}, {{2, 0, 1, 3}}, {4}},
    {"%a: tensor<2x2xf64>", "%0 = \"tessera.graph.cholesky\"(%a) {upper = true}", "%0", {{4, 2, 777, 10}}, {{2, 1, 0, 3}}, {4}},
    {"%a: tensor<2x2xf64>, %b: tensor<2x1xf64>", "%0 = \"tessera.graph.tri_solve\"(%a, %b)", "%0", {{2, 777, 3, 4}, {4, 2}}, {{2, -1}}, {2}},
    {"%a: tensor<2x2xf64>, %b: tensor<2x1xf64>", "%0 = \"tessera.graph.tri_solve\"(%a, %b) {upper = true}", "%0", {{2, 3, 777, 4}, {7, 4}}, {{2, 1}}, {2}},
    {"%a: tensor<2x2xf64>, %b: tensor<2x1xf64>", "%0 = \"tessera.graph.tri_solve\"(%a, %b) {transpose = true}", "%0", {{2, 777, 3, 4}, {7, 4}}, {{2, 1}}, {2}},
    {"%a: tensor<2x2xf64>, %b: tensor<2x1xf64>", "%0 = \"tessera.graph.tri_solve\"(%a, %b) {upper = true, transpose = true, unit_diagonal = true}", "%0", {{777, 3, 777, 777}, {4, 2}}, {{4, -10}}, {2}},
    {"%a: tensor<2x2xf64>", "%0, %1 = \"tessera.graph.qr\"(%a)", "%0, %1", {{3, 1, -4, 2}}, {{0.6, 0.8, -0.8, 0.6}, {5, -1, 0, 2}}, {4, 4}},
    {"%a: tensor<2x1xf64>", "%0, %1 = \"tessera.graph.qr\"(%a)", "%0, %1", {{-3, 4}}, {{-0.6, 0.8}, {5}}, {2, 1}},
    {"%a: tensor<1x2xf64>", "%0, %1 = \"tessera.graph.qr\"(%a)", "%0, %1", {{-3, 4}}, {{-1}, {3, -4}}, {1, 2}},
    {"%a: tensor<2x2xf64>", "%0, %1, %2 = \"tessera.graph.svd\"(%a)", "%0, %1, %2", {{0, -2, 3, 0}}, {{0, 1, 1, 0}, {3, 2}, {1, 0, 0, -1}}, {4, 2, 4}},
    {"%a: tensor<1x2xf64>", "%0, %1, %2 = \"tessera.graph.svd\"(%a)", "%0, %1, %2", {{-3, 4}}, {{1}, {5}, {-0.6, 0.8}}, {1, 1, 2}},
};

static void factors_have_the_values_worked_out_by_hand(void **state) {
  for (size_t c = 0; c < sizeof values / sizeof *values; c++) {
    const char *text = func(values[c].args, values[c].body, values[c].results);
    double got[2][3][9];
    const void *const in[] = {values[c].in[0], values[c].in[1]};
    ir_module *m = gt_parse(text);
    OK(graph_eval(graph_find_func(m, NULL), in, (void *const[]){got[0][0], got[0][1], got[0][2]}, NULL));
    ir_module_destroy(&m);
    rig r = compiled(text);
    run(&r, in, (void *const[]){got[1][0], got[1][1], got[1][2]});
    close_rig(&r);
    for (int side = 0; side < 2; side++)
      for (int k = 0; k < 3; k++)
        for (int i = 0; i < values[c].n[k]; i++)
          if (!(fabs(got[side][k][i] - values[c].want[k][i]) <= 1e-14))
            fail_msg("%s by the %s: element %d of result %d is %.17g, not %g", values[c].body, side ? "CPU" : "oracle",
                     i, k, got[side][k][i], values[c].want[k][i]);
  }
}

/* Of elements of up to 15; a tolerance that is large, or infinite, would let wrong factors pass. */
static void tolerances_of_good_matrices_are_small(void **state) {
  static const struct { const char *body, *results; } ops[] = {
      {"%0 = \"tessera.graph.cholesky\"(%a)", "%0"},
      {"%0 = \"tessera.graph.tri_solve\"(%a, %a) {upper = true}", "%0"},
      {"%0, %1 = \"tessera.graph.qr\"(%a)", "%0, %1"},
      {"%0, %1, %2 = \"tessera.graph.svd\"(%a)", "%0, %1, %2"},
  };
  enum { N = 12 };
  float a[N * N];
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) a[i * N + j] = i == j ? 4.0f + (float)i : 1.0f / (float)(2 + i + j);
  for (size_t c = 0; c < sizeof ops / sizeof *ops; c++) {
    float got[3][N * N];
    double off[3][N * N] = {{0}};
    ir_module *m = gt_parse(func("%a: tensor<12x12xf32>", ops[c].body, ops[c].results));
    OK(graph_eval(graph_find_func(m, NULL), (const void *const[]){a}, (void *const[]){got[0], got[1], got[2]},
                  (double *const[]){off[0], off[1], off[2]}));
    ir_module_destroy(&m);
    for (int i = 0; i < 3 * N * N; i++)
      if (!(off[i / N / N][i % (N * N)] < 2e-2))
        fail_msg("%s: tolerance %g of element %d", ops[c].body, off[i / N / N][i % (N * N)], i);
  }
}

/* ---- residuals --------------------------------------------------------------------------------------------------- */

/* Draws in [-1, 1]. */
static float drawn(unsigned *seed) { return (float)((*seed = *seed * 1664525u + 1013904223u) >> 8) / 8388608.0f - 1; }

/* Largest |x y - z|, x [m, k] or its transpose, y [k, n] or its transpose, z NULL: the identity. */
static double off_by(const float *x, const float *y, const float *z, int m, int k, int n, bool tx, bool ty) {
  double worst = 0;
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++) {
      double s = z ? -z[i * n + j] : -(i == j);
      for (int p = 0; p < k; p++) s += (double)x[tx ? p * m + i : i * k + p] * y[ty ? j * k + p : p * n + j];
      worst = isnan(s) ? INFINITY : fmax(worst, fabs(s));
    }
  return worst;
}

enum { SIDE = 150, BATCH = 5 }; /* a batch goes to cores matrix by matrix, one alone by its blocks and panels */

/* Symmetric and diagonally dominant: |l| <= 13 an element, sums of 150 products of which one rounds by 2^-24 of 169. */
static void cholesky_and_solve_give_the_matrix_back(void **state) {
  static float a[BATCH * SIDE * SIDE], b[BATCH * SIDE * 70], l[BATCH * SIDE * SIDE], x[BATCH * SIDE * 70];
  unsigned seed = 7;
  for (int i = 0; i < BATCH * SIDE * SIDE; i++) a[i] = drawn(&seed);
  for (int k = 0; k < BATCH; k++)
    for (int i = 0; i < SIDE; i++) {
      float *row = a + (k * SIDE + i) * SIDE;
      row[i] += SIDE;
      for (int j = 0; j < i; j++) row[j] = a[(k * SIDE + j) * SIDE + i];
    }
  for (int i = 0; i < BATCH * SIDE * 70; i++) b[i] = drawn(&seed);
  for (int batch = 1; batch <= BATCH; batch += BATCH - 1) {
    char args[128];
    snprintf(args, sizeof args, "%%a: tensor<%dx%dx%dxf32>, %%b: tensor<%dx%dx70xf32>", batch, SIDE, SIDE, batch, SIDE);
    rig r =
        compiled(func(args, "%0 = \"tessera.graph.cholesky\"(%a)\n%1 = \"tessera.graph.tri_solve\"(%0, %b)", "%0, %1"));
    run(&r, (const void *const[]){a, b}, (void *const[]){l, x});
    for (int k = 0; k < batch; k++) {
      const float *lk = l + k * SIDE * SIDE;
      assert_true(off_by(lk, lk, a + k * SIDE * SIDE, SIDE, SIDE, SIDE, false, true) <= 1e-3);
      assert_true(off_by(lk, x + k * SIDE * 70, b + k * SIDE * 70, SIDE, SIDE, 70, false, false) <= 1e-4);
      for (int i = 0; i < SIDE; i++)
        for (int j = i + 1; j < SIDE; j++) assert_true(lk[i * SIDE + j] == 0);
    }
    close_rig(&r);
  }
}

/* Rounding of a few hundred rotations and reflections of vectors no longer than 12. */
static void orthogonal_factors_give_the_matrix_back(void **state) {
  enum { M = 70, N = 40 };
  static float a[M * N], q[M * N], r[N * M], u[M * N], s[N], v[N * M];
  unsigned seed = 5;
  for (int i = 0; i < M * N; i++) a[i] = drawn(&seed);
  for (int i = 0; i < M; i++) a[i * N + 3] = i < N ? 0 : a[i * N + 3]; /* in wide ones rows of zeros in part */
  for (int wide = 0; wide < 2; wide++) {
    const int m = wide ? N : M, n = wide ? M : N;
    char args[64];
    snprintf(args, sizeof args, "%%a: tensor<%dx%dxf32>", m, n);
    rig g = compiled(
        func(args, "%0, %1 = \"tessera.graph.qr\"(%a)\n%2, %3, %4 = \"tessera.graph.svd\"(%a)", "%0, %1, %2, %3, %4"));
    run(&g, (const void *const[]){a}, (void *const[]){q, r, u, s, v});
    close_rig(&g);
    assert_true(off_by(q, r, a, m, N, n, false, false) <= 2e-5);
    assert_true(off_by(q, q, NULL, N, m, N, true, false) <= 1e-5 && off_by(u, u, NULL, N, m, N, true, false) <= 1e-5);
    assert_true(off_by(v, v, NULL, N, n, N, false, true) <= 1e-5);
    for (int i = 0; i < N; i++) {
      assert_true(r[i * n + i] >= 0 && s[i] >= 0 && (!i || s[i] <= s[i - 1]));
      for (int j = 0; j < m; j++) u[j * N + i] *= s[i];
    }
    assert_true(off_by(u, v, a, m, N, n, false, false) <= 5e-5);
  }
}

/* ---- matrices without factors ------------------------------------------------------------------------------------ */

static void matrices_without_factors_give_nan_and_orthogonal_vectors(void **state) {
  rig r = compiled(func("%a: tensor<2x2xf32>, %b: tensor<3x2xf32>",
                        "%0 = \"tessera.graph.cholesky\"(%a)\n%1, %2, %3 = \"tessera.graph.svd\"(%b)", "%0, %1, %2, %3"));
  float l[4], u[6], s[2], v[4];
  run(&r, (const void *const[]){(float[]){1, 0, 2, 1}, (float[]){1, 1, 1, 1, 1, 1}}, (void *const[]){l, u, s, v});
  assert_true(l[0] == 1 && l[1] == 0 && l[2] == 2 && isnan(l[3]));
  assert_true(fabsf(s[0] - sqrtf(6)) < 1e-6f && s[1] < 1e-6f); /* of rank 1: vectors all the same */
  assert_true(off_by(u, u, NULL, 2, 3, 2, true, false) < 1e-6 && off_by(v, v, NULL, 2, 2, 2, false, true) < 1e-6);
  run(&r, (const void *const[]){(float[]){NAN, 0, 2, 1}, (float[]){1, INFINITY, 1, 1, 1, 1}},
      (void *const[]){l, u, s, v});
  assert_true(isnan(l[0]) && l[1] == 0 && isnan(l[2]) && isnan(l[3]));
  for (int i = 0; i < 2; i++) assert_true(isnan(s[i]) && isnan(u[i]) && isnan(v[i]));
  run(&r, (const void *const[]){(float[]){1, 0, 0, 1}, (float[6]){0}}, (void *const[]){l, u, s, v});
  assert_true(s[0] == 0 && s[1] == 0 && off_by(u, u, NULL, 2, 3, 2, true, false) < 1e-6);
  close_rig(&r);
}

/* ---- programs ---------------------------------------------------------------------------------------------------- */

static void calls_are_in_every_dump_and_run_from_it(void **state) {
  rig r =
      compiled(func("%a: tensor<2x3xf32>", "%0, %1 = \"tessera.graph.qr\"(%a)\n%2 = \"tessera.graph.neg\"(%1)", "%2"));
  for (int level = TSR_LEVEL_GRAPH; level <= TSR_LEVEL_TARGET; level++) {
    tsr_program *again;
    char *text, *text2;
    size_t n;
    OK(tsr_program_dump(r.p, (tsr_level)level, &text, &n));
    assert_non_null(strstr(text, level < TSR_LEVEL_TILE ? "tessera.graph.qr" : ".routine\""));
    OK(tsr_program_parse(r.dev, text, n, "dump.mlir", NULL, &again));
    OK(tsr_program_dump(again, (tsr_level)level, &text2, NULL));
    assert_string_equal(text, text2);
    tsr_text_free(r.ctx, &text2);
    tsr_text_free(r.ctx, &text);
    tsr_program_destroy(&again);
  }
  assert_string_equal(tsr_program_kernel(r.p, 0).family, "routine");
  assert_string_equal(tsr_program_kernel(r.p, 0).name, "qr");
  assert_true(tsr_program_kernel(r.p, 0).flops > 0);
  close_rig(&r);
}

static void calls_that_make_no_sense_are_errors(void **state) {
  static const struct { const char *call, *types, *says; } bad[] = {
      {"%a, %q, %r) {callee = \"lu\"}", "3x2x|3x2x|2x2x", "no routine \"lu\""},
      {"%a, %q, %r) {callee = \"neg\"}", "3x2x|3x2x|2x2x", "no routine \"neg\""},
      {"%a, %q) {callee = \"qr\"}", "3x2x|3x2x|2x2x", "takes 1 to 1 operands and has 2 results, not 2 in all"},
      {"%a, %q, %r) {callee = \"qr\"}", "3x2x|3x3x|2x2x", "result 0 is not of the type"},
      {"%a, %q, %r) {callee = \"qr\"}", "3x2x|3x2x|4x", "result 1 is not of the type"},
      {"%a, %a, %r) {callee = \"qr\"}", "3x2x|3x2x|2x2x", "must be a buffer"},
      {"%a, %q, %q) {callee = \"qr\"}", "2x2x|2x2x|2x2x", "is written and read"},
      {"%a, %r) {callee = \"cholesky\"}", "3x2x|3x2x|3x2x", "is not square"},
      {"%a, %q, %r) {callee = \"qr\"}", "6x|3x2x|2x2x", "needs matrices"},
  };
  rig r = opened("cpu:0");
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    char text[1024], a[16], q[16], t[16];
    assert_int_equal(sscanf(bad[i].types, "%15[^|]|%15[^|]|%15s", a, q, t), 3);
    snprintf(text, sizeof text,
             "\"tessera.tile.program\"() ({\n^bb0(%%a: tensor<%sf32>):\n%%q = \"tessera.tile.buffer\"() : () -> "
             "tensor<%sf32>\n%%r = \"tessera.tile.buffer\"() : () -> tensor<%sf32>\n\"tessera.tile.routine\"(%s\n"
             "\"tessera.tile.return\"(%%r)\n}) {sym_name = \"main\"}\n",
             a, q, t, bad[i].call);
    tsr_program *p = NULL;
    tsr_status st = tsr_program_parse(r.dev, text, strlen(text), "test.mlir", NULL, &p);
    if (!st || !strstr(tsr_status_message(st), bad[i].says) || strchr(tsr_status_message(st), '\n'))
      fail_msg("%s: %s", bad[i].call, st ? tsr_status_message(st) : "accepted");
    tsr_status_free(st);
    assert_null(p);
  }
  close_rig(&r);
}

static void other_devices_say_that_the_host_computes(void **state) {
  rig r = opened("cuda:sm_90a"); /* compiles without hardware, runs nothing */
  const char *text = func("%a: tensor<8x8xf32>", "%0 = \"tessera.graph.cholesky\"(%a)", "%0");
  tsr_compile_options o = {.fallback = TSR_FALLBACK_ALLOW};
  OK(tsr_program_parse(r.dev, text, strlen(text), "test.mlir", &o, &r.p));
  assert_int_equal(tsr_program_n_fallbacks(r.p), 1);
  char *why;
  OK(tsr_program_explain(r.p, &why));
  assert_non_null(strstr(why, "cholesky has no kernel for cuda"));
  tsr_text_free(r.ctx, &why);
  tsr_program_destroy(&r.p);
  o.fallback = TSR_FALLBACK_ERROR;
  tsr_status st = tsr_program_parse(r.dev, text, strlen(text), "test.mlir", &o, &r.p);
  assert_int_equal(tsr_status_code(st), TSR_UNSUPPORTED);
  assert_true(gt_says(tsr_status_message(st), "the op cholesky has no kernel for cuda"));
  tsr_status_free(st);
  close_rig(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(factors_have_the_values_worked_out_by_hand),
      cmocka_unit_test(tolerances_of_good_matrices_are_small),
      cmocka_unit_test(cholesky_and_solve_give_the_matrix_back),
      cmocka_unit_test(orthogonal_factors_give_the_matrix_back),
      cmocka_unit_test(matrices_without_factors_give_nan_and_orthogonal_vectors),
      cmocka_unit_test(calls_are_in_every_dump_and_run_from_it),
      cmocka_unit_test(calls_that_make_no_sense_are_errors),
      cmocka_unit_test(other_devices_say_that_the_host_computes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
