/* The Gaussian process against a brute-force one (dense elimination, no Cholesky), expected improvement against
 * quadrature. */
#include "core/tune/gp.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { N = 12, DIM = 3 };

static double unit(uint64_t *s) {
  *s = *s * 6364136223846793005ull + 1442695040888963407ull;
  return (double)(*s >> 11) / 9007199254740992.0;
}

static double matern(const double *a, const double *b, const double *length) {
  double r2 = 0;
  for (int i = 0; i < DIM; i++) r2 += pow((a[i] - b[i]) / length[i], 2);
  double r = sqrt(r2);
  return (1 + sqrt(5) * r + 5 * r2 / 3) * exp(-sqrt(5) * r);
}

/* Solves A x = b by elimination with pivoting; returns log |det A|. */
static double solve(double A[N][N], double *b) {
  double log_det = 0;
  for (int c = 0; c < N; c++) {
    int p = c;
    for (int r = c + 1; r < N; r++)
      if (fabs(A[r][c]) > fabs(A[p][c])) p = r;
    for (int k = 0; k < N; k++) {
      double t = A[c][k];
      A[c][k] = A[p][k], A[p][k] = t;
    }
    double t = b[c];
    b[c] = b[p], b[p] = t;
    log_det += log(fabs(A[c][c]));
    for (int r = 0; r < N; r++) {
      if (r == c) continue;
      double f = A[r][c] / A[c][c];
      for (int k = c; k < N; k++) A[r][k] -= f * A[c][k];
      b[r] -= f * b[c];
    }
  }
  for (int c = 0; c < N; c++) b[c] /= A[c][c];
  return log_det;
}

static void make_data(double x[N][DIM], double *y, uint64_t seed) {
  for (int i = 0; i < N; i++) {
    for (int d = 0; d < DIM; d++) x[i][d] = unit(&seed);
    y[i] = 5 + sin(4 * x[i][0]) + 0.5 * x[i][1] * x[i][1] + 0.05 * unit(&seed);
  }
}

static void predict_equals_brute_force(void **state) {
  static const double lengths[][DIM] = {{0.3, 0.6, 1.2}, {1, 1, 1}, {0.15, 6, 0.6}};
  for (int v = 0; v < 3; v++) {
    double x[N][DIM], y[N], A[N][N], z[N], shift = 0, scale = 0;
    const double noise = 1e-3;
    make_data(x, y, 42 + (uint64_t)v);
    gp *g = NULL;
    assert_null(gp_create(NULL, DIM, N, &g));
    for (int i = 0; i < N; i++) assert_true(gp_add(g, x[i], y[i]));
    assert_false(gp_add(g, x[0], y[0])); /* full */
    assert_true(gp_fit_fixed(g, lengths[v], noise));
    for (int i = 0; i < N; i++) shift += y[i] / N;
    for (int i = 0; i < N; i++) scale += pow(y[i] - shift, 2) / N;
    scale = sqrt(scale);
    for (int i = 0; i < N; i++) {
      z[i] = (y[i] - shift) / scale;
      for (int j = 0; j < N; j++) A[i][j] = matern(x[i], x[j], lengths[v]) + (i == j ? noise + 1e-9 : 0);
    }
    double K[N][N], alpha[N], quad = 0;
    memcpy(K, A, sizeof K), memcpy(alpha, z, sizeof alpha);
    double log_det = solve(K, alpha);
    for (int i = 0; i < N; i++) quad += z[i] * alpha[i];
    double signal = quad / N;
    assert_true(fabs(gp_log_likelihood(g) - (-0.5 * N * log(signal) - 0.5 * log_det)) < 1e-8);
    uint64_t seed = 7;
    for (int t = 0; t < 20; t++) {
      double q[DIM], k[N], w[N], mean = 0, reduce = 0, got_mean, got_var;
      for (int d = 0; d < DIM; d++) q[d] = unit(&seed);
      for (int i = 0; i < N; i++) k[i] = w[i] = matern(q, x[i], lengths[v]);
      memcpy(K, A, sizeof K);
      solve(K, w);
      for (int i = 0; i < N; i++) mean += k[i] * alpha[i], reduce += k[i] * w[i];
      gp_predict(g, q, &got_mean, &got_var);
      /* Tolerances: condition number about 1e4 times double rounding, with a margin of 100. */
      assert_true(fabs(got_mean - (shift + scale * mean)) < 1e-9);
      assert_true(fabs(got_var - scale * scale * signal * (1 - reduce)) < 1e-9);
    }
    gp_destroy(&g);
    assert_null(g);
  }
}

static void fit_finds_the_dimension_that_matters(void **state) {
  gp *g = NULL;
  uint64_t seed = 3;
  assert_null(gp_create(NULL, 2, 40, &g));
  assert_false(gp_fit(g));
  for (int i = 0; i < 40; i++) {
    double x[2] = {unit(&seed), unit(&seed)};
    assert_true(gp_add(g, x, sin(7 * x[0])));
  }
  assert_true(gp_fit(g));
  assert_true(gp_lengths(g)[0] < gp_lengths(g)[1]);
  double worst = 0;
  for (int i = 0; i < 50; i++) {
    double q[2] = {0.05 + 0.9 * unit(&seed), unit(&seed)}, m, v;
    gp_predict(g, q, &m, &v);
    if (fabs(m - sin(7 * q[0])) > worst) worst = fabs(m - sin(7 * q[0]));
  }
  assert_true(worst < 0.1);
  gp_destroy(&g);
}

static void fit_same_data_same_bits(void **state) {
  double x[N][DIM], y[N], m[2], v[2];
  make_data(x, y, 99);
  for (int run = 0; run < 2; run++) {
    gp *g = NULL;
    assert_null(gp_create(NULL, DIM, N + run * 50, &g)); /* capacity must not matter */
    for (int i = 0; i < N; i++) gp_add(g, x[i], y[i]);
    assert_true(gp_fit(g));
    gp_predict(g, (double[]){0.5, 0.2, 0.9}, &m[run], &v[run]);
    gp_destroy(&g);
  }
  assert_memory_equal(&m[0], &m[1], sizeof *m);
  assert_memory_equal(&v[0], &v[1], sizeof *v);
}

static void degenerate_data_is_survived(void **state) {
  gp *g = NULL;
  double m, v, x[2] = {0.5, 0.5};
  assert_null(gp_create(NULL, 2, 8, &g));
  assert_false(gp_add(g, x, NAN));
  assert_false(gp_add(g, x, INFINITY));
  for (int i = 0; i < 6; i++) assert_true(gp_add(g, x, 3)); /* one place, one value */
  assert_true(gp_fit(g));
  gp_predict(g, x, &m, &v);
  assert_true(fabs(m - 3) < 1e-9 && v >= 0 && isfinite(v));
  gp_destroy(&g);
  tsr_status st = gp_create(NULL, 0, 8, &g);
  assert_int_equal(tsr_status_code(st), TSR_INVALID_ARGUMENT);
  tsr_status_free(st);
  gp_destroy(&g);
}

static void expected_improvement_equals_quadrature(void **state) {
  static const double rows[][3] = {{0, 1, 0}, {1, 0.25, 0.5}, {-2, 4, 1}, {3, 1, 0}, {0.1, 1e-4, 0.1}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    double mean = rows[i][0], sd = sqrt(rows[i][1]), best = rows[i][2], sum = 0;
    const int steps = 200000;
    for (int k = 0; k < steps; k++) {
      double z = -10 + 20 * (k + 0.5) / steps, f = mean + sd * z;
      if (f < best) sum += (best - f) * exp(-0.5 * z * z) / sqrt(2 * 3.14159265358979323846) * 20 / steps;
    }
    assert_true(fabs(gp_expected_improvement(mean, rows[i][1], best) - sum) < 1e-6);
  }
  assert_true(gp_expected_improvement(1, 0, 3) == 2);
  assert_true(gp_expected_improvement(3, 0, 1) == 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(predict_equals_brute_force),
      cmocka_unit_test(fit_finds_the_dimension_that_matters),
      cmocka_unit_test(fit_same_data_same_bits),
      cmocka_unit_test(degenerate_data_is_survived),
      cmocka_unit_test(expected_improvement_equals_quadrature),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
