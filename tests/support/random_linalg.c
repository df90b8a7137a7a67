/* tests/support/random_linalg.c - random graphs of ops on whole matrices: factors of matrices that have them, and their
 * products, which are the matrices again. */
#include "tests/support/random_build.h"

static bool coin(build *b) { return rng_range(b->r, 0, 1) != 0; }

/* A batch of matrices: mostly small ones, as the reference takes the cube of their extent. */
static tsr_shape matrices(build *b, int64_t rows, int64_t columns) {
  tsr_shape s = {.rank = 2 + (int)rng_range(b->r, 0, 2)};
  for (int i = 0; i < s.rank - 2; i++) s.dims[i] = rng_range(b->r, 1, 3);
  s.dims[s.rank - 2] = rows, s.dims[s.rank - 1] = columns;
  return s;
}

static int64_t side(build *b) { return rng_range(b->r, 0, 3) ? rng_range(b->r, 1, 24) : rng_range(b->r, 0, 90); }

/* x with `by` added to the diagonal of its square matrices. */
static tsr_value with_diagonal(build *b, tsr_value x, tsr_dtype t, int64_t n, double by) {
  const int64_t dims[2] = {n, n};
  tsr_value place[2], v[2] = {x, 0};
  for (int i = 0; i < 2; i++) {
    const tsr_attr a[2] = {TSR_INTS("shape", dims, 2), TSR_INT("axis", i)};
    place[i] = op(b, "iota", 0, NULL, 2, a);
  }
  const tsr_attr equal = TSR_STRING("predicate", "eq"), type = TSR_STRING("dtype", t == TSR_F64 ? "f64" : "f32");
  const float narrow = (float)by;
  tsr_value one = op(b, "compare", 2, place, 1, &equal), number = 0;
  one = op(b, "cast", 1, &one, 1, &type);
  if (!b->st)
    b->st = tsr_graph_constant(b->g, t, (tsr_shape){.rank = 0}, t == TSR_F64 ? (const void *)&by : &narrow, &number);
  v[1] = op2(b, "mul", one, number);
  return op2(b, "add", v[0], v[1]);
}

/* A x = b by Cholesky's factors, or by one triangle. */
static void solves(build *b, tsr_dtype t) {
  const int64_t n = side(b);
  const bool upper = coin(b), factor = coin(b);
  tsr_shape s = matrices(b, n, n), columns = s;
  columns.dims[s.rank - 1] = rng_range(b->r, 0, 2) ? rng_range(b->r, 1, 9) : rng_range(b->r, 60, 70);
  tsr_attr a[3] = {TSR_BOOLEAN("upper", upper), TSR_BOOLEAN("transpose", factor ? upper : coin(b)),
                   TSR_BOOLEAN("unit_diagonal", !factor && rng_range(b->r, 0, 3) == 0)};
  tsr_value x[2] = {with_diagonal(b, input(b, t, s), t, n, 20 + 4 * (double)n), input(b, t, columns)};
  if (factor) x[0] = op(b, "cholesky", 1, x, 1, a);
  if (factor && coin(b)) output(b, x[0]);
  x[1] = op(b, "tri_solve", 2, x, 3, a);
  output(b, x[1]);
  if (!factor) return;
  a[1].i = !a[1].i;
  output(b, op(b, "tri_solve", 2, x, 3, a));
}

/* All results, or some of them in what follows. */
static void factors(build *b, tsr_dtype t) {
  const bool svd = coin(b);
  const int64_t m = side(b), n = coin(b) ? m : side(b);
  tsr_value x = input(b, t, matrices(b, svd && m > 24 ? 24 : m, svd && n > 24 ? 24 : n)), y[3] = {0};
  if (!b->st) b->st = tsr_graph_op_results(b->g, svd ? "svd" : "qr", &x, 1, NULL, 0, y, svd ? 3 : 2);
  say(b, svd ? " svd" : " qr");
  const int which = (int)rng_range(b->r, 0, 3);
  if (which == 3)
    for (int i = 0; i < (svd ? 3 : 2); i++) output(b, y[i]);
  else output(b, op1(b, coin(b) ? "neg" : "relu", y[svd ? which : which % 2]));
}

void random_linalg(build *b) {
  const tsr_dtype t = rng_range(b->r, 0, 2) ? TSR_F32 : TSR_F64;
  if (coin(b)) solves(b, t);
  else factors(b, t);
}
