/* core/import/onnx/ops_product.c - ONNX's matrix products of numbers. */
#include <string.h>

#include "core/base/dtype.h"
#include "core/import/onnx/bytes.h"
#include "core/import/onnx/tables.h"

/* numpy's: vectors are a row before and a column behind; of bytes less zero points where `bytes`. */
static ir_value *product(cv *c, ir_value *x, ir_value *y, bool bytes, ir_value *zx, ir_value *zy) {
  const bool row = cv_rank(x) == 1, column = cv_rank(y) == 1;
  if (!x || !y) return NULL;
  if (row) x = cv_reshape(c, x, 2, (int64_t[]){1, x->type->dims[0]});
  if (column) y = cv_reshape(c, y, 2, (int64_t[]){y->type->dims[0], 1});
  ir_value *z = bytes ? bytes_product(c, x, zx, y, zy) : cv_op2(c, G_MATMUL, x, y);
  if (!z || (!row && !column)) return z;
  int64_t dims[TSR_MAX_RANK];
  int rank = 0;
  for (int i = 0; i < z->type->rank; i++) {
    const bool goes = (row && i == z->type->rank - 2) || (column && i == z->type->rank - 1);
    if (!goes) dims[rank++] = z->type->dims[i];
  }
  return cv_reshape(c, z, rank, dims);
}

static void op_matmul(cv *c) { cv_out(c, 0, product(c, cv_need(c, 0), cv_need(c, 1), false, NULL, NULL)); }

/* alpha a b + beta c */
static void op_gemm(cv *c) {
  ir_value *x = cv_need(c, 0), *y = cv_need(c, 1);
  const double alpha = cv_float(c, "alpha", 1), beta = cv_float(c, "beta", 1);
  ir_value *z = cv_at2(c, G_MATMUL, x, y, TSR_BOOLEAN("transpose_a", cv_int(c, "transA", 0) != 0),
                       TSR_BOOLEAN("transpose_b", cv_int(c, "transB", 0) != 0));
  if (alpha != 1) z = cv_op2(c, G_MUL, z, cv_like(c, z, alpha));
  if (cv_has(c, 2) && beta != 0) {
    ir_value *more = cv_need(c, 2);
    if (beta != 1) more = cv_op2(c, G_MUL, more, cv_like(c, more, beta));
    z = cv_op2(c, G_ADD, z, more);
  }
  cv_out(c, 0, z);
}

static void op_einsum(cv *c) {
  ir_value *x[CV_MOST_OPERANDS];
  const size_t n = c->node->n_in;
  if (n > CV_MOST_OPERANDS) return cv_out(c, 0, cv_refuse(c, "%zu operands", n));
  for (size_t i = 0; i < n; i++) x[i] = cv_need(c, (int)i);
  char plain[256];
  size_t k = 0;
  for (const char *s = cv_str(c, "equation", ""); *s && k + 1 < sizeof plain; s++)
    if (*s != ' ') plain[k++] = *s;
  plain[k] = 0;
  cv_out(c, 0, cv_make(c, G_EINSUM, (int)n, x, CV_AT(TSR_STRING("equation", plain))));
}

/* A vector of zero points is of rows (of a) or columns (of b). */
static void op_matmul_integer(cv *c) {
  ir_value *za = cv_in(c, 2);
  if (cv_rank(za) == 1) za = cv_reshape(c, za, 2, (int64_t[]){za->type->dims[0], 1});
  cv_out(c, 0, product(c, cv_need(c, 0), cv_need(c, 1), true, za, cv_in(c, 3)));
}

static ir_value *determinant(cv *c, ir_value *x) {
  const int rank = cv_rank(x);
  const int64_t n = cv_dim(x, rank - 1);
  if (n == 1) return x;
  ir_value *sum = NULL;
  for (int64_t k = 0; k < n && !c->failed; k++) {
    ir_value *below = cv_part(c, x, rank - 2, 1, n - 1), *parts[2];
    int n_parts = 0;
    if (k) parts[n_parts++] = cv_part(c, below, rank - 1, 0, k);
    if (k + 1 < n) parts[n_parts++] = cv_part(c, below, rank - 1, k + 1, n - 1 - k);
    ir_value *minor = determinant(c, cv_concat(c, n_parts, parts, rank - 1));
    ir_value *term = cv_op2(c, G_MUL, cv_part(c, cv_part(c, x, rank - 2, 0, 1), rank - 1, k, 1), minor);
    sum = !sum ? term : cv_op2(c, k % 2 ? G_SUB : G_ADD, sum, term);
  }
  return sum;
}

/* By Laplace's expansion. */
static void op_det(cv *c) {
  ir_value *x = cv_need(c, 0);
  const int rank = cv_rank(x);
  if (rank < 2 || cv_dim(x, rank - 1) != cv_dim(x, rank - 2) || cv_dim(x, rank - 1) < 1 || cv_dim(x, rank - 1) > 4)
    return cv_out(c, 0, cv_refuse(c, "determinants of more than 4 rows"));
  cv_out(c, 0, cv_reshape(c, determinant(c, x), rank - 2, x->type->dims));
}

const cv_row onnx_rows_product[] = {{"MatMul", 1, op_matmul},  {"Gemm", 7, op_gemm},
                                    {"Einsum", 12, op_einsum}, {"MatMulInteger", 10, op_matmul_integer},
                                    {"Det", 11, op_det},       {NULL, 0, NULL}};
