/* core/ir/graph/ops/linalg.c - tri_solve, cholesky, qr, svd: rows and shape rules. Each works on the matrices of the
 * last two dimensions, all before them being a batch, and is a call of the host (GRAPH_ROUTINE). */
#include "core/ir/graph/ops/linalg_rows.h"

#include <string.h>

#define TYPE(i) (op->operands[i]->type)

/* ---- shape rules ------------------------------------------------------------------------------------------------- */

static tsr_status check_matrices(ir_op *op) {
  char a[128];
  TSR_TRY(shape_floats(op));
  for (int i = 0; i < op->n_operands; i++) {
    const ir_type *t = TYPE(i);
    if (t->dtype != TSR_F32 && t->dtype != TSR_F64)
      return ir_error(op, "cast to f32 or f64", "no factors in %s", tsr_dtype_name(t->dtype));
    if (t->rank < 2) return ir_error(op, "[.., rows, columns]", "needs matrices, not %s", shape_text(t, a, sizeof a));
  }
  return shape_same_dtype(op, 0);
}

static tsr_status check_square(ir_op *op) {
  const ir_type *t = TYPE(0);
  char a[128];
  return shape_differs(t->dims[t->rank - 2], t->dims[t->rank - 1])
             ? ir_error(op, "as many rows as columns", "%s is not square", shape_text(t, a, sizeof a))
             : NULL;
}

static tsr_status infer_cholesky(ir_op *op, const ir_type **results) {
  TSR_TRY(check_matrices(op));
  TSR_TRY(check_square(op));
  return shape_finish(op, TYPE(0)->dtype, TYPE(0)->rank, TYPE(0)->dims, results);
}

static tsr_status infer_tri_solve(ir_op *op, const ir_type **results) {
  TSR_TRY(check_matrices(op));
  TSR_TRY(check_square(op));
  const ir_type *t = TYPE(0), *x = TYPE(1);
  char a[128], c[128];
  bool fits = t->rank == x->rank;
  for (int i = 0; fits && i < t->rank - 1; i++) fits = !shape_differs(t->dims[i], x->dims[i]);
  if (!fits)
    return ir_error(op, "equal batches and as many rows", "%s for the matrix %s", shape_text(x, c, sizeof c),
                    shape_text(t, a, sizeof a));
  return shape_finish(op, x->dtype, x->rank, x->dims, results);
}

/* Result i: a's batch, then rows and columns; columns of -1: none, a vector. */
static tsr_status finish(ir_op *op, int64_t rows, int64_t columns, const ir_type **result) {
  const ir_type *t = TYPE(0);
  int64_t dims[TSR_MAX_RANK];
  memcpy(dims, t->dims, sizeof dims);
  dims[t->rank - 2] = rows;
  dims[t->rank - 1] = columns;
  return shape_finish(op, t->dtype, t->rank - (columns == -1), dims, result);
}

/* The shorter side. */
static tsr_status shorter(ir_op *op, int64_t *k) {
  const ir_type *t = TYPE(0);
  const int64_t m = t->dims[t->rank - 2], n = t->dims[t->rank - 1];
  *k = m == IR_DYNAMIC || n == IR_DYNAMIC ? IR_DYNAMIC : m < n ? m : n;
  return NULL;
}

static tsr_status infer_qr(ir_op *op, const ir_type **results) {
  int64_t k;
  TSR_TRY(check_matrices(op));
  TSR_TRY(shorter(op, &k));
  TSR_TRY(finish(op, TYPE(0)->dims[TYPE(0)->rank - 2], k, &results[0]));
  return finish(op, k, TYPE(0)->dims[TYPE(0)->rank - 1], &results[1]);
}

static tsr_status infer_svd(ir_op *op, const ir_type **results) {
  int64_t k;
  TSR_TRY(check_matrices(op));
  TSR_TRY(shorter(op, &k));
  TSR_TRY(finish(op, TYPE(0)->dims[TYPE(0)->rank - 2], k, &results[0]));
  TSR_TRY(finish(op, k, -1, &results[1]));
  return finish(op, k, TYPE(0)->dims[TYPE(0)->rank - 1], &results[2]);
}

/* ---- work: as LAPACK counts it (Golub and Van Loan, Matrix Computations, tables 5.2 and 8.6) --------------------- */

static double rows_of(const ir_type *t) { return (double)t->dims[t->rank - 2]; }
static double columns_of(const ir_type *t) { return (double)t->dims[t->rank - 1]; }

static double work_cholesky(const ir_op *op) {
  const double n = rows_of(TYPE(0));
  return n * n * n / 3;
}

static double work_tri_solve(const ir_op *op) {
  const double n = rows_of(TYPE(0));
  return n * n * columns_of(TYPE(1));
}

/* Householder's reflections, and the factor q out of them. */
static double work_qr(const ir_op *op) {
  const double m = rows_of(TYPE(0)), n = columns_of(TYPE(0)), k = m < n ? m : n;
  return 4 * (m * n * k - (m + n) * k * k / 2 + k * k * k / 3);
}

/* A sweep of rotations is 6 m n^2, of which about 6 are needed. */
static double work_svd(const ir_op *op) {
  const double m = rows_of(TYPE(0)), n = columns_of(TYPE(0)), k = m < n ? m : n;
  return 6 * 6 * (m < n ? n : m) * k * k;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

#define ROUTINE(CODE, LOW, N, R, doc)                                                                                  \
  NAME(CODE, #LOW), .flags = IR_PURE, .min_operands = N, .max_operands = N, .n_results = R, .operands_doc = doc,        \
  .types_doc = "f64, f32", .infer = infer_##LOW
#define UPPER(what) {"upper", IR_A_BOOL, false, "false", what}
#define ON_THE_HOST " It runs on the host's cores: on another device with copies there and back, which the trace tells."

static const ir_opdef rows[] = {
    {ROUTINE(TRI_SOLVE, tri_solve, 2, 1, "a, b"),
     .ext = ROW(GRAPH_ROUTINE, eval_tri_solve, adjoint_tri_solve, .work = work_tri_solve, .index = "*aa,*an->*an",
                .shown = "TriSolve"),
     .attrs = ATTRS(UPPER("the triangle of a that is read; false: the lower one"),
                    {"transpose", IR_A_BOOL, false, "false", "solves with the transposed matrix"},
                    {"unit_diagonal", IR_A_BOOL, false, "false", "takes the diagonal as ones and doesn't read it"}),
     .help = "x with a x = b, for the triangle of a [.., n, n] and b [.., n, columns]; of a's other elements none is read. "
             "A zero on the diagonal gives infinities and NaN as IEEE divides." ON_THE_HOST},
    {ROUTINE(CHOLESKY, cholesky, 1, 1, "a"),
     .ext = ROW(GRAPH_ROUTINE, eval_cholesky, adjoint_cholesky, .work = work_cholesky, .shown = "Cholesky"),
     .attrs = ATTRS(UPPER("gives u with u^T u = a, of a's upper triangle")),
     .help = "The lower triangle l with l l^T = a, of a symmetric positive definite a [.., n, n] whose lower triangle alone "
             "is read; zeros above it. From the first column on whose pivot isn't positive, elements are NaN or "
             "infinite." ON_THE_HOST},
    {ROUTINE(QR, qr, 1, 2, "a"),
     .ext = ROW(GRAPH_ROUTINE, eval_qr, adjoint_qr, .work = work_qr, .shown = "QR"),
     .help = "q [.., m, k] of orthonormal columns and the upper triangle r [.., k, n] with q r = a, k the shorter side of a "
             "[.., m, n]; no element of r's diagonal is negative." ON_THE_HOST},
    {ROUTINE(SVD, svd, 1, 3, "a"),
     .ext = ROW(GRAPH_ROUTINE, eval_svd, adjoint_svd, .work = work_svd, .shown = "SVD"),
     .help = "u [.., m, k], s [.., k] and v [.., k, n] with u diag(s) v = a, k the shorter side of a [.., m, n]: columns of u "
             "and rows of v are orthonormal, s is not negative and falls. Of each column of u the element that is largest "
             "in magnitude is positive, the first of equal ones. All is NaN where an element of a matrix isn't "
             "finite." ON_THE_HOST},
};

const ir_rows graph_linalg_ops = {rows, sizeof rows / sizeof *rows};
