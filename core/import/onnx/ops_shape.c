/* core/import/onnx/ops_shape.c - ONNX's ops that make constants, or tell shapes, which are known by now. */
#include <math.h>
#include <string.h>

#include "core/base/dtype.h"
#include "core/import/onnx/tables.h"
#include "core/import/onnx_data.h"

static int64_t bounded(int64_t at, int64_t n) {
  if (at < 0) at += n;
  return at < 0 ? 0 : at > n ? n : at;
}

static void op_shape(cv *c) {
  ir_value *x = cv_need(c, 0);
  const int64_t rank = cv_rank(x), start = bounded(cv_int(c, "start", 0), rank);
  const int64_t end = bounded(cv_int(c, "end", rank), rank);
  if (x) cv_out(c, 0, cv_ints_constant(c, x->type->dims + start, (int)(end > start ? end - start : 0)));
}

static void op_size(cv *c) {
  ir_value *x = cv_need(c, 0);
  const int64_t n = x ? ir_type_count(x->type) : 0;
  cv_out(c, 0, cv_constant(c, TSR_I64, 0, NULL, &n));
}

static ir_value *floats(cv *c, const onnx_attr *a) {
  float *v = arena_array(&c->a, float, a->n + 1);
  for (size_t i = 0; v && i < a->n; i++) v[i] = (float)a->floats[i];
  return v ? cv_constant(c, TSR_F32, 1, (int64_t[]){(int64_t)a->n}, v) : cv_refuse(c, "out of memory");
}

static void op_constant(cv *c) {
  const onnx_attr *a = c->node->n_attrs ? cv_attr(c, c->node->attrs[0].name) : NULL;
  ir_value *v = NULL;
  if (!a) v = cv_refuse(c, "it has no value");
  else if (!strcmp(a->name, "value") && a->kind == ONNX_TENSOR) v = cv_tensor(c, a->tensor);
  else if (a->kind == ONNX_INT) v = cv_constant(c, TSR_I64, 0, NULL, &a->i);
  else if (a->kind == ONNX_INTS) v = cv_ints_constant(c, a->ints, (int)a->n);
  else if (a->kind == ONNX_FLOAT) v = cv_number(c, TSR_F32, a->f);
  else if (a->kind == ONNX_FLOATS) v = floats(c, a);
  else
    v = cv_refuse(c, "its value is a %s",
                  a->kind == ONNX_STRING || a->kind == ONNX_STRINGS ? "string" : "sparse tensor");
  cv_out_as(c, 0, v, a && a->kind == ONNX_TENSOR ? a->tensor->type : "");
}

static void op_constant_of_shape(cv *c) {
  const onnx_attr *a = cv_attr(c, "value");
  int64_t dims[TSR_MAX_RANK];
  const int n = cv_known_ints(c, 0, dims, TSR_MAX_RANK);
  const ir_value *v = a && a->kind == ONNX_TENSOR ? cv_tensor(c, a->tensor) : NULL;
  if (v && ir_type_count(v->type) != 1) cv_refuse(c, "its value has %lld elements", (long long)ir_type_count(v->type));
  for (int i = 0; i < n; i++)
    if (dims[i] < 0) cv_refuse(c, "a dimension of %lld", (long long)dims[i]);
  if (n < 0 || c->failed) return cv_out(c, 0, NULL);
  const tsr_dtype t = v ? v->type->dtype : TSR_F32;
  const double number = v ? graph_constant_at(v->def, 0) : 0;
  const bool exact = !v || dtype_is_float(t) || fabs(number) < 0x1p53; /* numbers are doubles here */
  ir_value *y = exact ? cv_fill(c, t, n, dims, number)
                      : graph_broadcast(&c->b, graph_reshape(&c->b, (ir_value *)(uintptr_t)v, 0, NULL), n, dims);
  cv_out_as(c, 0, y, v ? a->tensor->type : "");
}

/* How many steps of delta there are from start to before limit, all whole numbers; -1: delta is 0. */
static double whole_steps(int64_t start, int64_t limit, int64_t delta) {
  if (!delta) return -1;
  if (delta > 0 ? start >= limit : start <= limit) return 0;
  const uint64_t apart = delta > 0 ? (uint64_t)limit - (uint64_t)start : (uint64_t)start - (uint64_t)limit,
                 step = delta > 0 ? (uint64_t)delta : 0 - (uint64_t)delta;
  return (double)((apart - 1) / step + 1);
}

/* start + i delta */
static void op_range(cv *c) {
  ir_value *start = cv_need(c, 0), *delta = cv_need(c, 2);
  double x[3] = {0, 0, 1};
  for (int i = 0; i < 3; i++) x[i] = cv_known_number(c, i, x[i]);
  double n = ceil((x[1] - x[0]) / x[2]);
  if (start && !dtype_is_float(start->type->dtype) && x[2] != 0)
    n = whole_steps(cv_known_int(c, 0, 0), cv_known_int(c, 1, 0), cv_known_int(c, 2, 1));
  if (c->failed) return cv_out(c, 0, NULL);
  if (isnan(n) || n > 1e9) return cv_out(c, 0, cv_refuse(c, "from %g to %g by %g", x[0], x[1], x[2]));
  const int64_t dims[1] = {n > 0 ? (int64_t)n : 0}, none[1] = {0};
  start = cv_reshape(c, start, 0, none);
  delta = cv_reshape(c, delta, 0, none);
  ir_value *at = cv_iota(c, start->type->dtype, 1, dims, 0);
  cv_out(c, 0, cv_op2(c, G_ADD, start, cv_op2(c, G_MUL, at, delta)));
}

static tsr_dtype type_attr(cv *c, const char *name, tsr_dtype dflt) {
  if (!cv_attr(c, name)) return dflt;
  const tsr_dtype t = onnx_dtype_of(cv_int(c, name, 0));
  if (!t) cv_refuse(c, "%s %lld", name, (long long)cv_int(c, name, 0));
  return t ? t : dflt;
}

static void op_eye_like(cv *c) {
  ir_value *x = cv_need(c, 0);
  const tsr_dtype t = type_attr(c, "dtype", x ? x->type->dtype : TSR_F32);
  if (cv_rank(x) != 2) return cv_out(c, 0, cv_refuse(c, "a matrix is needed"));
  ir_value *row = cv_iota(c, TSR_I64, 2, x->type->dims, 0), *column = cv_iota(c, TSR_I64, 2, x->type->dims, 1);
  ir_value *shifted = cv_op2(c, G_ADD, row, cv_number(c, TSR_I64, (double)cv_int(c, "k", 0)));
  cv_out(c, 0, cv_cast(c, cv_compare(c, "eq", shifted, column), t));
}

/* Windows of signal processing: a0 - a1 cos(2 pi i / n) + a2 cos(4 pi i / n). */
static void window(cv *c, double a0, double a1, double a2) {
  const int64_t n = cv_known_int(c, 0, 0);
  const bool periodic = cv_int(c, "periodic", 1) != 0;
  if (n < 0 || n > 1 << 22) cv_refuse(c, "a window of %lld", (long long)n);
  double *v = c->failed ? NULL : arena_array(&c->a, double, n + 1);
  const double span = periodic || n < 2 ? (double)n : (double)(n - 1);
  for (int64_t i = 0; v && i < n; i++) {
    const double x = 2 * 3.14159265358979323846 * (double)i / span;
    v[i] = a0 - a1 * cos(x) + a2 * cos(2 * x);
  }
  ir_value *y = v ? cv_constant(c, TSR_F64, 1, (int64_t[]){n}, v) : NULL;
  cv_out(c, 0, cv_cast(c, y, type_attr(c, "output_datatype", TSR_F32)));
}
static void op_hann(cv *c) { window(c, 0.5, 0.5, 0); }
static void op_hamming(cv *c) { window(c, 25.0 / 46, 21.0 / 46, 0); }
static void op_blackman(cv *c) { window(c, 0.42, 0.5, 0.08); }

const cv_row onnx_rows_shape[] = {{"Shape", 1, op_shape},
                                  {"Size", 1, op_size},
                                  {"Constant", 1, op_constant},
                                  {"ConstantOfShape", 9, op_constant_of_shape},
                                  {"Range", 11, op_range},
                                  {"EyeLike", 9, op_eye_like},
                                  {"HannWindow", 17, op_hann},
                                  {"HammingWindow", 17, op_hamming},
                                  {"BlackmanWindow", 17, op_blackman},
                                  {NULL, 0, NULL}};
