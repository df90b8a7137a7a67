/* core/import/onnx/ops_ml.c - the ops of ai.onnx.ml on numbers that need no tree and no text: what scikit-learn's
 * pipelines have before and behind their models. Features are along the last axis. */
#include <string.h>

#include "core/base/dtype.h"
#include "core/import/onnx/tables.h"

/* A list of numbers, n of them or, spread over all, one; NULL: there is none, or it was refused. */
static ir_value *numbers(cv *c, const char *name, int64_t n) {
  const onnx_attr *a = cv_attr(c, name);
  if (!a || c->failed) return NULL;
  if (a->kind != ONNX_FLOATS || (a->n != 1 && (int64_t)a->n != n))
    return cv_refuse(c, "%s has %zu numbers for %lld", name, a->n, (long long)n);
  float *v = arena_array(&c->a, float, a->n + 1);
  if (!v) return cv_refuse(c, "out of memory");
  for (size_t i = 0; i < a->n; i++) v[i] = (float)a->floats[i];
  return cv_constant(c, TSR_F32, 1, (int64_t[]){(int64_t)a->n}, v);
}

static int64_t features(cv *c, const ir_value *x) {
  if (x && !cv_rank(x)) cv_refuse(c, "a number without features");
  return cv_dim(x, cv_rank(x) - 1);
}

/* (x - offset) scale */
static void op_scaler(cv *c) {
  ir_value *x = cv_need(c, 0);
  const int64_t n = features(c, x);
  ir_value *offset = numbers(c, "offset", n), *scale = numbers(c, "scale", n);
  x = cv_cast(c, x, TSR_F32);
  if (offset) x = cv_op2(c, G_SUB, x, offset);
  if (scale) x = cv_op2(c, G_MUL, x, scale);
  cv_out(c, 0, x);
}

static void op_binarizer(cv *c) {
  ir_value *x = cv_need(c, 0);
  if (!x) return cv_out(c, 0, NULL);
  ir_value *number = cv_is_float(x) ? x : cv_cast(c, x, TSR_F32);
  ir_value *above = cv_compare(c, "gt", number, cv_like(c, number, cv_float(c, "threshold", 0)));
  cv_out(c, 0, cv_cast(c, above, x->type->dtype));
}

/* The features with these numbers; of a vector, as a matrix of one row. */
static void op_array_feature_extractor(cv *c) {
  ir_value *x = cv_need(c, 0), *at = cv_need(c, 1);
  if (!x || !at) return cv_out(c, 0, NULL);
  features(c, x);
  if (cv_rank(x) == 1) x = cv_with_axis(c, x, 0);
  at = cv_reshape(c, at, 1, (int64_t[]){ir_type_count(at->type)});
  cv_out(c, 0, cv_gather(c, x, at, cv_rank(x) - 1));
}

/* Each row by its maximum, its sum of magnitudes or its length; where that is 0, as it is. */
static void op_normalizer(cv *c) {
  ir_value *x = cv_cast(c, cv_need(c, 0), TSR_F32), *by = NULL;
  const char *norm = cv_str(c, "norm", "MAX");
  const int64_t last = cv_rank(x) - 1;
  features(c, x);
  if (!strcmp(norm, "MAX")) by = cv_reduce(c, G_REDUCE_MAX, x, &last, 1, true);
  else if (!strcmp(norm, "L1")) by = cv_reduce(c, G_REDUCE_SUM, cv_op1(c, G_ABS, x), &last, 1, true);
  else if (!strcmp(norm, "L2"))
    by = cv_op1(c, G_SQRT, cv_reduce(c, G_REDUCE_SUM, cv_op2(c, G_MUL, x, x), &last, 1, true));
  else cv_refuse(c, "unknown norm \"%s\"", norm);
  if (!by) return cv_out(c, 0, NULL);
  ir_value *none = cv_compare(c, "eq", by, cv_like(c, by, 0));
  cv_out(c, 0, cv_op2(c, G_DIV, x, cv_where(c, none, cv_like(c, by, 1), by)));
}

/* x coefficients^T + intercepts */
static void op_linear_regressor(cv *c) {
  ir_value *x = cv_cast(c, cv_need(c, 0), TSR_F32);
  const int64_t n = features(c, x), targets = cv_int(c, "targets", 1);
  if (x && cv_rank(x) == 1) x = cv_with_axis(c, x, 0);
  if (!cv_is(c, "post_transform", "NONE", "NONE")) cv_refuse(c, "post_transform");
  if (targets < 1 || targets > 1 << 20 || n < 1 || n > 1 << 20) cv_refuse(c, "%lld targets", (long long)targets);
  if (!cv_attr(c, "coefficients")) cv_refuse(c, "no coefficients");
  if (c->failed) return cv_out(c, 0, NULL);
  ir_value *w = numbers(c, "coefficients", targets * n), *b = numbers(c, "intercepts", targets);
  if (w && ir_type_count(w->type) != targets * n) w = cv_refuse(c, "one coefficient for all");
  w = w ? cv_reshape(c, w, 2, (int64_t[]){targets, n}) : NULL;
  ir_value *y = cv_at2(c, G_MATMUL, x, w, TSR_BOOLEAN("transpose_b", true));
  cv_out(c, 0, b ? cv_op2(c, G_ADD, y, b) : y);
}

const cv_row onnx_rows_ml[] = {{"Scaler", 1, op_scaler},
                               {"Binarizer", 1, op_binarizer},
                               {"ArrayFeatureExtractor", 1, op_array_feature_extractor},
                               {"Normalizer", 1, op_normalizer},
                               {"LinearRegressor", 1, op_linear_regressor},
                               {NULL, 0, NULL}};
