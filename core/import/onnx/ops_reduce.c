/* core/import/onnx/ops_reduce.c - ONNX's reductions over axes, which are an attribute or, later, an operand. */
#include <string.h>

#include "core/base/dtype.h"
#include "core/import/onnx/tables.h"

typedef struct reduction {
  int64_t axes[TSR_MAX_RANK];
  int n;
  bool keep, nothing; /* nothing: no axes, and that means none */
} reduction;

/* Before and after: what is done to elements and to the result. */
static reduction read(cv *c, ir_value *x) {
  reduction r = {.keep = cv_int(c, "keepdims", 1) != 0};
  r.n = cv_list(c, "axes", 1, r.axes, TSR_MAX_RANK);
  if (r.n <= 0) {
    r.nothing = cv_int(c, "noop_with_empty_axes", 0) != 0;
    r.n = r.nothing ? 0 : cv_rank(x);
    for (int i = 0; i < r.n; i++) r.axes[i] = i;
  }
  for (int i = 0; i < r.n; i++) r.axes[i] = cv_axis(c, r.axes[i], cv_rank(x));
  return r;
}

static ir_value *over(cv *c, graph_code code, ir_value *x, const reduction *r) {
  return x && x->type->rank ? cv_reduce(c, code, x, r->axes, r->n, r->keep) : x;
}

static void plain(cv *c, graph_code code) {
  ir_value *x = cv_need(c, 0);
  const reduction r = read(c, x);
  const bool is_bool = x && x->type->dtype == TSR_BOOL;
  ir_value *y = over(c, code, is_bool ? cv_cast(c, x, TSR_U8) : x, &r);
  cv_out(c, 0, is_bool ? cv_cast(c, y, TSR_BOOL) : y);
}
static void op_sum(cv *c) { plain(c, G_REDUCE_SUM); }
static void op_max(cv *c) { plain(c, G_REDUCE_MAX); }
static void op_min(cv *c) { plain(c, G_REDUCE_MIN); }
static void op_prod(cv *c) { plain(c, G_REDUCE_PROD); }

/* Of integers the sum divided by the count. */
static void op_mean(cv *c) {
  ir_value *x = cv_need(c, 0);
  const reduction r = read(c, x);
  if (!x || cv_is_float(x)) return cv_out(c, 0, over(c, G_REDUCE_MEAN, x, &r));
  int64_t n = 1;
  for (int i = 0; i < r.n; i++) n *= x->type->dims[r.axes[i]];
  cv_out(c, 0, cv_op2(c, G_DIV, over(c, G_REDUCE_SUM, x, &r), cv_like(c, x, (double)n)));
}

static void op_l1(cv *c) {
  ir_value *x = cv_need(c, 0);
  const reduction r = read(c, x);
  cv_out(c, 0, over(c, G_REDUCE_SUM, cv_op1(c, G_ABS, x), &r));
}

/* Roots and logarithms of integers are computed as floats, and cut. */
static ir_value *as_float(cv *c, ir_value *x) {
  return x && !cv_is_float(x) ? cv_cast(c, x, dtype_get(x->type->dtype)->size > 2 ? TSR_F64 : TSR_F32) : x;
}

static void op_l2(cv *c) {
  ir_value *x = cv_need(c, 0), *f = as_float(c, x);
  const reduction r = read(c, x);
  ir_value *y = cv_op1(c, G_SQRT, over(c, G_REDUCE_SUM, cv_op2(c, G_MUL, f, f), &r));
  if (x) cv_out(c, 0, cv_cast(c, y, x->type->dtype));
}

static void op_sum_square(cv *c) {
  ir_value *x = cv_need(c, 0);
  const reduction r = read(c, x);
  cv_out(c, 0, over(c, G_REDUCE_SUM, cv_op2(c, G_MUL, x, x), &r));
}

static void op_log_sum(cv *c) {
  ir_value *x = cv_need(c, 0), *f = as_float(c, x);
  const reduction r = read(c, x);
  ir_value *y = cv_op1(c, G_LOG, over(c, G_REDUCE_SUM, f, &r));
  if (x) cv_out(c, 0, cv_cast(c, y, x->type->dtype));
}

static void op_log_sum_exp(cv *c) {
  ir_value *x = cv_need(c, 0), *f = as_float(c, x);
  const reduction r = read(c, x);
  ir_value *y = r.n ? over(c, G_LOGSUMEXP, f, &r) : f;
  if (x) cv_out(c, 0, cv_cast(c, y, x->type->dtype));
}

static void arg(cv *c, graph_code code) {
  ir_value *x = cv_need(c, 0);
  const int axis = cv_axis(c, cv_int(c, "axis", 0), cv_rank(x));
  cv_out(c, 0,
         cv_at1(c, code, x, TSR_INT("axis", axis), TSR_BOOLEAN("keepdims", cv_int(c, "keepdims", 1) != 0),
                TSR_BOOLEAN("select_last_index", cv_int(c, "select_last_index", 0) != 0), TSR_STRING("dtype", "i64")));
}
static void op_argmax(cv *c) { arg(c, G_ARGMAX); }
static void op_argmin(cv *c) { arg(c, G_ARGMIN); }

/* ---- softmax and its kind ---------------------------------------------------------------------------------------- */

/* Up to version 12 all axes from `axis` on are one. */
static void along(cv *c, ir_value *(*fn)(cv *c, ir_value *x, int axis)) {
  ir_value *x = cv_need(c, 0);
  const bool flat = c->version < 13;
  const int axis = cv_axis(c, cv_int(c, "axis", flat ? 1 : -1), cv_rank(x) ? cv_rank(x) : 1);
  if (!x || !flat) return cv_out(c, 0, fn(c, x, axis));
  int64_t dims[2] = {1, 1};
  for (int i = 0; i < x->type->rank; i++) dims[i >= axis] *= x->type->dims[i];
  cv_out(c, 0, cv_reshape(c, fn(c, cv_reshape(c, x, 2, dims), 1), x->type->rank, x->type->dims));
}

static ir_value *softmax(cv *c, ir_value *x, int axis) { return cv_at1(c, G_SOFTMAX, x, TSR_INT("axis", axis)); }
static ir_value *log_softmax(cv *c, ir_value *x, int axis) {
  return cv_at1(c, G_LOG_SOFTMAX, x, TSR_INT("axis", axis));
}
static ir_value *hardmax(cv *c, ir_value *x, int axis) {
  ir_value *at = cv_at1(c, G_ARGMAX, x, TSR_INT("axis", axis));
  return !x ? NULL
            : cv_at1(c, G_ONE_HOT, at, TSR_INT("depth", x->type->dims[axis]), TSR_INT("axis", axis),
                     TSR_STRING("dtype", tsr_dtype_name(x->type->dtype)));
}
static void op_softmax(cv *c) { along(c, softmax); }
static void op_log_softmax(cv *c) { along(c, log_softmax); }
static void op_hardmax(cv *c) { along(c, hardmax); }

const cv_row onnx_rows_reduce[] = {{"ReduceSum", 1, op_sum},        {"ReduceMean", 1, op_mean},
                                   {"ReduceMax", 1, op_max},        {"ReduceMin", 1, op_min},
                                   {"ReduceProd", 1, op_prod},      {"ReduceL1", 1, op_l1},
                                   {"ReduceL2", 1, op_l2},          {"ReduceSumSquare", 1, op_sum_square},
                                   {"ReduceLogSum", 1, op_log_sum}, {"ReduceLogSumExp", 1, op_log_sum_exp},
                                   {"ArgMax", 1, op_argmax},        {"ArgMin", 1, op_argmin},
                                   {"Softmax", 1, op_softmax},      {"LogSoftmax", 1, op_log_softmax},
                                   {"Hardmax", 1, op_hardmax},      {NULL, 0, NULL}};
