/* core/import/onnx/ops_slice.c - ONNX's Slice and what is like it: regular parts of a tensor. */
#include <string.h>

#include "core/base/dtype.h"
#include "core/import/onnx/tables.h"

enum { MOST_REVERSED = 1 << 24 };

/* Every step-th element backwards, by a gather with constant places. */
static ir_value *backwards(cv *c, ir_value *x, int axis, int64_t start, int64_t n, int64_t step) {
  int64_t *at = n <= MOST_REVERSED ? arena_array(&c->a, int64_t, n + 1) : NULL;
  for (int64_t i = 0; at && i < n; i++) at[i] = start + i * step;
  return at ? cv_gather(c, x, cv_ints_constant(c, at, (int)n), axis) : cv_refuse(c, "too many elements backwards");
}

static int64_t clamped(int64_t v, int64_t n, int64_t low, int64_t high) {
  if (v < 0) v = v < -n ? low : v + n;
  return v < low ? low : v > high ? high : v;
}

static ir_value *one_axis(cv *c, ir_value *x, int axis, int64_t start, int64_t end, int64_t step) {
  const int64_t n = cv_dim(x, axis);
  if (!step) return cv_refuse(c, "a step of 0");
  if (step > 0) {
    const int64_t from = clamped(start, n, 0, n), to = clamped(end, n, 0, n);
    int64_t starts[TSR_MAX_RANK] = {0}, sizes[TSR_MAX_RANK], strides[TSR_MAX_RANK] = {1, 1, 1, 1, 1, 1, 1, 1};
    if (!x || (!from && to == n && step == 1)) return x;
    memcpy(sizes, x->type->dims, sizeof sizes);
    starts[axis] = from;
    if (step > n && n) step = n; /* one element: any step that stays in range */
    sizes[axis] = to > from ? (to - from + step - 1) / step : 0;
    strides[axis] = step < 1 ? 1 : step;
    return cv_slice(c, x, starts, sizes, strides);
  }
  const int64_t from = clamped(start, n, n ? 0 : -1, n - 1), to = end < -n ? -1 : clamped(end, n, -1, n - 1);
  const int64_t size = from > to && step > -n - 1 ? (from - to + -step - 1) / -step : from > to ? 1 : 0;
  return backwards(c, x, axis, from, size, step);
}

static void op_slice(cv *c) {
  ir_value *x = cv_need(c, 0);
  int64_t v[4][TSR_MAX_RANK];
  const bool old = c->version < 10;
  const int n = cv_list(c, old ? "starts" : NULL, 1, v[0], TSR_MAX_RANK);
  const int n_ends = cv_list(c, old ? "ends" : NULL, 2, v[1], TSR_MAX_RANK);
  const int n_axes = cv_list(c, old ? "axes" : NULL, 3, v[2], TSR_MAX_RANK);
  const int n_steps = cv_list(c, NULL, 4, v[3], TSR_MAX_RANK);
  if (n < 0 || n != n_ends || (n_axes >= 0 && n_axes != n) || (n_steps >= 0 && n_steps != n))
    return cv_out(c, 0, cv_refuse(c, "starts, ends, axes and steps differ in number"));
  for (int i = 0; i < n; i++) {
    const int axis = n_axes < 0 ? i : cv_axis(c, v[2][i], cv_rank(x));
    if (axis >= cv_rank(x)) cv_refuse(c, "axis %d of %d dimensions", axis, cv_rank(x));
    x = c->failed ? NULL : one_axis(c, x, axis, v[0][i], v[1][i], n_steps < 0 ? 1 : v[3][i]);
  }
  cv_out(c, 0, x);
}

/* Elements whose condition holds, which must be known. */
static void op_compress(cv *c) {
  ir_value *x = cv_need(c, 0), *cond = cv_fold(c, cv_need(c, 1), true);
  if (!cond) return cv_out(c, 0, cv_refuse(c, "how many are left depends on what the inputs hold"));
  int axis = 0;
  if (cv_attr(c, "axis")) axis = cv_axis(c, cv_int(c, "axis", 0), cv_rank(x));
  else if (x) x = cv_reshape(c, x, 1, (int64_t[]){ir_type_count(x->type)});
  const int64_t most = ir_type_count(cond->type);
  int64_t *at = arena_array(&c->a, int64_t, most + 1), n = 0;
  for (int64_t i = 0; at && i < most && i < cv_dim(x, axis); i++)
    if (graph_constant_at(cond->def, i) != 0) at[n++] = i;
  cv_out(c, 0, at ? cv_gather(c, x, cv_ints_constant(c, at, (int)n), axis) : NULL);
}

/* The first lengths[b] elements of each entry in reverse. */
static void op_reverse_sequence(cv *c) {
  ir_value *x = cv_need(c, 0), *lengths = cv_need(c, 1);
  const int time = cv_axis(c, cv_int(c, "time_axis", 0), cv_rank(x));
  const int batch = cv_axis(c, cv_int(c, "batch_axis", 1), cv_rank(x));
  if (!x || time == batch) return cv_out(c, 0, cv_refuse(c, "time_axis and batch_axis are one"));
  ir_value *at = cv_iota(c, TSR_I64, x->type->rank, x->type->dims, time);
  ir_value *n = cv_along(c, lengths, batch, x->type->rank);
  ir_value *mirrored = cv_op2(c, G_SUB, cv_op2(c, G_SUB, n, cv_number(c, TSR_I64, 1)), at);
  ir_value *from = cv_where(c, cv_compare(c, "lt", at, n), mirrored, at);
  cv_out(c, 0, cv_at2(c, G_GATHER_ELEMENTS, x, from, TSR_INT("axis", time)));
}

const cv_row onnx_rows_slice[] = {{"Slice", 1, op_slice},
                                  {"Compress", 9, op_compress},
                                  {"ReverseSequence", 10, op_reverse_sequence},
                                  {NULL, 0, NULL}};
