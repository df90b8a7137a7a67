/* core/import/onnx/ops_norm.c - ONNX's normalizations. */
#include <string.h>

#include "core/base/dtype.h"
#include "core/import/onnx/tables.h"

/* ---- batches ----------------------------------------------------------------------------------------------------- */

static int64_t all_but(int rank, int axis, int64_t *axes) {
  int n = 0;
  for (int i = 0; i < rank; i++)
    if (i != axis) axes[n++] = i;
  return n;
}

/* With the batch's own statistics, and the running ones moved towards them. */
static void train(cv *c, ir_value *x, double eps) {
  int64_t axes[TSR_MAX_RANK];
  const int rank = cv_rank(x), n = (int)all_but(rank, 1, axes);
  const double momentum = cv_float(c, "momentum", 0.9f);
  ir_value *mean = cv_reduce(c, G_REDUCE_MEAN, x, axes, n, true), *d = cv_op2(c, G_SUB, x, mean);
  ir_value *variance = cv_reduce(c, G_REDUCE_MEAN, cv_op2(c, G_MUL, d, d), axes, n, true);
  ir_value *root = cv_op1(c, G_SQRT, cv_op2(c, G_ADD, variance, cv_like(c, x, eps)));
  ir_value *y = cv_op2(c, G_MUL, cv_op2(c, G_DIV, d, root), cv_along(c, cv_need(c, 1), 1, rank));
  cv_out(c, 0, cv_op2(c, G_ADD, y, cv_along(c, cv_need(c, 2), 1, rank)));
  ir_value *now[2] = {mean, variance};
  for (int i = 0; i < 2; i++) {
    ir_value *old = cv_need(c, 3 + i);
    if (!cv_wants(c, 1 + i) || !old || !now[i]) continue;
    ir_value *fresh = cv_cast(c, cv_reshape(c, now[i], 1, old->type->dims), old->type->dtype);
    cv_out(c, 1 + i,
           cv_op2(c, G_ADD, cv_op2(c, G_MUL, old, cv_like(c, old, momentum)),
                  cv_op2(c, G_MUL, fresh, cv_like(c, old, 1 - momentum))));
  }
}

static void op_batch_norm(cv *c) {
  ir_value *x = cv_need(c, 0);
  const double eps = cv_float(c, "epsilon", 1e-5f);
  if (!x) return;
  if (c->version >= 14 && cv_int(c, "training_mode", 0)) return train(c, x, eps);
  ir_value *v[4] = {cv_need(c, 3), cv_need(c, 4), cv_need(c, 1), cv_need(c, 2)};
  for (int i = 0; i < 4; i++)
    if (v[i] && v[i]->type->dtype != x->type->dtype) v[i] = cv_cast(c, v[i], TSR_F32);
  if (cv_rank(x) < 2) return cv_out(c, 0, cv_refuse(c, "no channels"));
  cv_out(c, 0, cv_make(c, G_BATCH_NORM, 5, (ir_value *[]){x, v[0], v[1], v[2], v[3]}, CV_AT(TSR_FLOAT("eps", eps))));
}

static void op_instance_norm(cv *c) {
  cv_out(c, 0,
         cv_make(c, G_INSTANCE_NORM, 3, (ir_value *[]){cv_need(c, 0), cv_need(c, 1), cv_need(c, 2)},
                 CV_AT(TSR_FLOAT("eps", cv_float(c, "epsilon", 1e-5f)))));
}

/* Up to version 20 scale and bias are of groups. */
static ir_value *by_channel(cv *c, ir_value *x, int64_t groups, int64_t channels) {
  if (!x || cv_dim(x, 0) == channels) return x;
  x = cv_reshape(c, x, 2, (int64_t[]){groups, 1});
  return cv_reshape(c, cv_broadcast(c, x, 2, (int64_t[]){groups, channels / groups}), 1, &channels);
}

static void op_group_norm(cv *c) {
  ir_value *x = cv_need(c, 0);
  const int64_t groups = cv_int(c, "num_groups", 1), channels = cv_dim(x, 1);
  if (groups < 1 || channels % groups) return cv_out(c, 0, cv_refuse(c, "%lld groups", (long long)groups));
  ir_value *gamma = by_channel(c, cv_need(c, 1), groups, channels),
           *beta = by_channel(c, cv_need(c, 2), groups, channels);
  cv_out(c, 0,
         cv_make(c, G_GROUP_NORM, 3, (ir_value *[]){x, gamma, beta},
                 CV_AT(TSR_INT("groups", groups), TSR_FLOAT("eps", cv_float(c, "epsilon", 1e-5f)))));
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

typedef struct rows_of {
  int axis;
  int64_t outer, inner;
} rows_of;

static rows_of rows_from(cv *c, const ir_value *x) {
  rows_of r = {cv_axis(c, cv_int(c, "axis", -1), cv_rank(x)), 1, 1};
  for (int i = 0; i < cv_rank(x); i++) *(i < r.axis ? &r.outer : &r.inner) *= x->type->dims[i];
  return r;
}

/* A scale of the row's shape as one vector; NULL: of another shape, which broadcasts. */
static ir_value *as_row(cv *c, ir_value *v, const rows_of *r) {
  return v && ir_type_count(v->type) == r->inner ? cv_reshape(c, v, 1, &r->inner) : NULL;
}

static bool plain_scale(const ir_value *v, const ir_value *x) {
  return !v || v->type->dtype == x->type->dtype || v->type->dtype == TSR_F32;
}

/* The kernel, where scale and bias are vectors along the row. */
static ir_value *whole_rows(cv *c, graph_code code, ir_value *x, ir_value *scale, ir_value *bias, const rows_of *r,
                            double eps) {
  ir_value *g = as_row(c, scale, r), *b = as_row(c, bias, r);
  if ((scale && !g) || (bias && !b) || !plain_scale(scale, x) || !plain_scale(bias, x)) return NULL;
  ir_value *flat = cv_reshape(c, x, 2, (int64_t[]){r->outer, r->inner});
  ir_value *y = cv_make(c, code, 1 + !!g + !!b, (ir_value *[]){flat, g, b}, CV_AT(TSR_FLOAT("eps", eps)));
  return cv_reshape(c, y, x->type->rank, x->type->dims);
}

static int axes_from(const ir_value *x, int axis, int64_t *axes) {
  int n = 0;
  for (int i = axis; i < cv_rank(x); i++) axes[n++] = i;
  return n;
}

static void op_layer_norm(cv *c) {
  ir_value *x = cv_need(c, 0), *scale = cv_in(c, 1), *bias = cv_in(c, 2);
  const double eps = cv_float(c, "epsilon", 1e-5f);
  if (!x || c->failed) return cv_out(c, 0, NULL);
  const rows_of r = rows_from(c, x);
  const bool statistics = cv_wants(c, 1) || cv_wants(c, 2);
  ir_value *y = statistics ? NULL : whole_rows(c, G_LAYERNORM, x, scale, bias, &r, eps);
  if (y || c->failed) return cv_out(c, 0, y);
  int64_t axes[TSR_MAX_RANK];
  const int n = axes_from(x, r.axis, axes);
  const tsr_dtype t = x->type->dtype, wide = t == TSR_F64 ? TSR_F64 : TSR_F32;
  ir_value *f = cv_cast(c, x, wide), *mean = cv_reduce(c, G_REDUCE_MEAN, f, axes, n, true);
  ir_value *d = cv_op2(c, G_SUB, f, mean);
  ir_value *variance = cv_reduce(c, G_REDUCE_MEAN, cv_op2(c, G_MUL, d, d), axes, n, true);
  ir_value *inverse =
      cv_op2(c, G_DIV, cv_number(c, wide, 1), cv_op1(c, G_SQRT, cv_op2(c, G_ADD, variance, cv_number(c, wide, eps))));
  y = cv_cast(c, cv_op2(c, G_MUL, d, inverse), t);
  if (scale) y = cv_op2(c, G_MUL, y, cv_cast(c, scale, t));
  if (bias) y = cv_op2(c, G_ADD, y, cv_cast(c, bias, t));
  cv_out(c, 0, y);
  if (cv_wants(c, 1)) cv_out(c, 1, mean);
  if (cv_wants(c, 2)) cv_out(c, 2, inverse);
}

static void op_rms_norm(cv *c) {
  ir_value *x = cv_need(c, 0), *scale = cv_need(c, 1);
  const double eps = cv_float(c, "epsilon", 1e-5f);
  if (!x || !scale) return cv_out(c, 0, NULL);
  const rows_of r = rows_from(c, x);
  ir_value *y = whole_rows(c, G_RMSNORM, x, scale, NULL, &r, eps);
  if (!y && !c->failed) {
    y = whole_rows(c, G_RMSNORM, x, NULL, NULL, &r, eps);
    y = cv_op2(c, G_MUL, y, cv_cast(c, scale, x->type->dtype));
  }
  cv_out(c, 0, y);
}

/* x / (sum of |x|^p)^(1/p); NaN for a row of zeros, as ONNX's own case of it has */
static void op_lp_norm(cv *c) {
  ir_value *given = cv_need(c, 0);
  if (!given) return;
  ir_value *x = cv_cast(c, given, given->type->dtype == TSR_F64 ? TSR_F64 : TSR_F32), *size = cv_op1(c, G_ABS, x);
  const int64_t axis = cv_axis(c, cv_int(c, "axis", -1), cv_rank(x)), p = cv_int(c, "p", 2);
  if (p != 1 && p != 2) return cv_out(c, 0, cv_refuse(c, "p is 1 or 2"));
  if (p == 2) size = cv_op2(c, G_MUL, x, x);
  size = cv_reduce(c, G_REDUCE_SUM, size, &axis, 1, true);
  cv_out(c, 0, cv_cast(c, cv_op2(c, G_DIV, x, p == 2 ? cv_op1(c, G_SQRT, size) : size), given->type->dtype));
}

static void op_mean_variance(cv *c) {
  ir_value *given = cv_need(c, 0);
  if (!given) return;
  ir_value *x = cv_cast(c, given, given->type->dtype == TSR_F64 ? TSR_F64 : TSR_F32);
  int64_t axes[TSR_MAX_RANK] = {0, 2, 3};
  const int n_axes = cv_ints(c, "axes", axes, TSR_MAX_RANK), n = n_axes < 0 ? 3 : n_axes;
  for (int i = 0; i < n; i++) axes[i] = cv_axis(c, axes[i], cv_rank(x));
  ir_value *mean = cv_reduce(c, G_REDUCE_MEAN, x, axes, n, true), *d = cv_op2(c, G_SUB, x, mean);
  ir_value *variance = cv_reduce(c, G_REDUCE_MEAN, cv_op2(c, G_MUL, d, d), axes, n, true);
  ir_value *y = cv_op2(c, G_DIV, d, cv_op2(c, G_ADD, cv_op1(c, G_SQRT, variance), cv_like(c, x, 1e-9)));
  cv_out(c, 0, cv_cast(c, y, given->type->dtype));
}

const cv_row onnx_rows_norm[] = {{"BatchNormalization", 7, op_batch_norm},
                                 {"InstanceNormalization", 1, op_instance_norm},
                                 {"GroupNormalization", 18, op_group_norm},
                                 {"LayerNormalization", 17, op_layer_norm},
                                 {"RMSNormalization", 23, op_rms_norm},
                                 {"SimplifiedLayerNormalization", 1, op_rms_norm},
                                 {"LpNormalization", 1, op_lp_norm},
                                 {"MeanVarianceNormalization", 9, op_mean_variance},
                                 {NULL, 0, NULL}};
