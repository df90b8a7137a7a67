/* core/import/onnx/ops_index.c - ONNX's gathers and scatters. */
#include <string.h>

#include "core/base/dtype.h"
#include "core/import/onnx/tables.h"

static void op_gather(cv *c) {
  ir_value *x = cv_need(c, 0);
  cv_out(c, 0, cv_gather(c, x, cv_need(c, 1), cv_axis(c, cv_int(c, "axis", 0), cv_rank(x))));
}

/* The part of x that indices reach which are shorter than it along other axes than theirs. */
static ir_value *reached(cv *c, ir_value *x, const ir_value *indices, int axis) {
  for (int i = 0; x && indices && cv_rank(indices) == cv_rank(x) && i < cv_rank(x); i++)
    if (i != axis && cv_dim(indices, i) < cv_dim(x, i)) x = cv_part(c, x, i, 0, cv_dim(indices, i));
  return x;
}

/* x with its part of index 0 on, along each axis, replaced: what is behind it along an axis is put behind it. */
static ir_value *put_back(cv *c, ir_value *x, ir_value *part) {
  for (int i = 0; part && i < cv_rank(x); i++) {
    const int64_t have = cv_dim(part, i), all = cv_dim(x, i);
    if (have == all) continue;
    ir_value *rest = cv_part(c, x, i, have, all - have);
    for (int j = i + 1; j < cv_rank(x); j++)
      if (cv_dim(part, j) < cv_dim(x, j)) rest = cv_part(c, rest, j, 0, cv_dim(part, j));
    part = cv_concat(c, 2, (ir_value *[]){part, rest}, i);
  }
  return part;
}

static void op_gather_elements(cv *c) {
  ir_value *x = cv_need(c, 0), *indices = cv_need(c, 1);
  const int axis = cv_axis(c, cv_int(c, "axis", 0), cv_rank(x));
  cv_out(c, 0, cv_at2(c, G_GATHER_ELEMENTS, reached(c, x, indices, axis), indices, TSR_INT("axis", axis)));
}

static void op_gather_nd(cv *c) {
  cv_out(c, 0, cv_at2(c, G_GATHER_ND, cv_need(c, 0), cv_need(c, 1), TSR_INT("batch_dims", cv_int(c, "batch_dims", 0))));
}

/* Bounds and products over what several updates leave at one element: one scatter after the other, each of the updates
 * at one place of the list, which are then different elements of the result or none. */
static ir_value *one_by_one(cv *c, ir_value *x, ir_value *indices, ir_value *updates, int axis, graph_code code) {
  const int64_t n = cv_dim(indices, axis);
  int64_t rest = 1;
  for (int i = 0; i < cv_rank(indices); i++) rest *= i == axis ? 1 : cv_dim(indices, i);
  if (n > 64) return cv_refuse(c, "more than 64 updates along the axis with this reduction");
  for (int64_t i = 0; i < n && x && rest; i++) {
    ir_value *at = cv_part(c, indices, axis, i, 1), *with = cv_part(c, updates, axis, i, 1);
    ir_value *there = cv_at2(c, G_GATHER_ELEMENTS, x, at, TSR_INT("axis", axis));
    x = cv_make(c, G_SCATTER, 3, (ir_value *[]){x, at, cv_op2(c, code, there, with)}, CV_AT(TSR_INT("axis", axis)));
  }
  return x;
}

static void op_scatter_elements(cv *c) {
  ir_value *x = cv_need(c, 0), *indices = cv_need(c, 1), *updates = cv_need(c, 2);
  const char *how = cv_str(c, "reduction", "none");
  const int axis = cv_axis(c, cv_int(c, "axis", 0), cv_rank(x));
  ir_value *part = reached(c, x, indices, axis), *y = NULL;
  ir_value *const in[3] = {part, indices, updates};
  if (!strcmp(how, "none")) y = cv_make(c, G_SCATTER, 3, in, CV_AT(TSR_INT("axis", axis)));
  else if (!strcmp(how, "add")) y = cv_make(c, G_SCATTER_ADD, 3, in, CV_AT(TSR_INT("axis", axis)));
  else if (!strcmp(how, "mul")) y = one_by_one(c, part, indices, updates, axis, G_MUL);
  else if (!strcmp(how, "max")) y = one_by_one(c, part, indices, updates, axis, G_MAX);
  else if (!strcmp(how, "min")) y = one_by_one(c, part, indices, updates, axis, G_MIN);
  else cv_refuse(c, "reduction %s", how);
  cv_out(c, 0, put_back(c, x, y));
}

/* The same of whole slices. */
static ir_value *slices_one_by_one(cv *c, ir_value *x, ir_value *indices, ir_value *updates, graph_code code) {
  const int last = cv_rank(indices) - 1;
  int64_t n = 1, at_dims[2], with_dims[TSR_MAX_RANK + 1];
  for (int i = 0; i < last; i++) n *= cv_dim(indices, i);
  if (!x || !indices || !updates || n > 64 || last < 0) return cv_refuse(c, "more than 64 updates with this reduction");
  at_dims[0] = with_dims[0] = n;
  at_dims[1] = cv_dim(indices, last);
  const int rank = updates->type->rank - last;
  for (int i = 0; i < rank; i++) with_dims[1 + i] = updates->type->dims[last + i];
  indices = cv_reshape(c, indices, 2, at_dims);
  updates = cv_reshape(c, updates, 1 + rank, with_dims);
  for (int64_t i = 0; i < n && x; i++) {
    ir_value *at = cv_part(c, indices, 0, i, 1), *with = cv_part(c, updates, 0, i, 1);
    ir_value *there = cv_op2(c, G_GATHER_ND, x, at);
    x = cv_op3(c, G_SCATTER_ND, x, at, cv_op2(c, code, there, with));
  }
  return x;
}

static void op_scatter_nd(cv *c) {
  ir_value *x = cv_need(c, 0), *indices = cv_need(c, 1), *updates = cv_need(c, 2);
  const char *how = cv_str(c, "reduction", "none");
  ir_value *const in[3] = {x, indices, updates};
  if (!strcmp(how, "none") || !strcmp(how, "add"))
    cv_out(c, 0, cv_make(c, G_SCATTER_ND, 3, in, CV_AT(TSR_STRING("reduction", how))));
  else if (!strcmp(how, "mul")) cv_out(c, 0, slices_one_by_one(c, x, indices, updates, G_MUL));
  else if (!strcmp(how, "max")) cv_out(c, 0, slices_one_by_one(c, x, indices, updates, G_MAX));
  else if (!strcmp(how, "min")) cv_out(c, 0, slices_one_by_one(c, x, indices, updates, G_MIN));
  else cv_out(c, 0, cv_refuse(c, "reduction %s", how));
}

/* values[1] at the index, values[0] elsewhere; an index beyond the depth has none. */
static void op_one_hot(cv *c) {
  ir_value *at = cv_need(c, 0), *values = cv_need(c, 2);
  const int64_t depth = cv_known_int(c, 1, 0);
  if (!at || !values || c->failed) return cv_out(c, 0, NULL);
  if (cv_is_float(at)) at = cv_cast(c, at, TSR_I64);
  ir_value *hot = cv_at1(c, G_ONE_HOT, at, TSR_INT("depth", depth), TSR_INT("axis", cv_int(c, "axis", -1)),
                         TSR_STRING("dtype", "bool"));
  const int64_t none[1] = {0};
  ir_value *off = cv_reshape(c, cv_part(c, values, 0, 0, 1), 0, none);
  ir_value *on = cv_reshape(c, cv_part(c, values, 0, 1, 1), 0, none);
  cv_out(c, 0, cv_where(c, hot, on, off));
}

/* A cache with new elements written at write_indices along an axis, round and round where mode is circular. */
static void op_tensor_scatter(cv *c) {
  ir_value *past = cv_need(c, 0), *update = cv_need(c, 1);
  const int axis = cv_axis(c, cv_int(c, "axis", -2), cv_rank(past));
  if (!past || !update || axis < 1) return cv_out(c, 0, cv_refuse(c, "the axis is the batch's"));
  ir_value *at = cv_iota(c, TSR_I64, update->type->rank, update->type->dims, axis);
  if (cv_has(c, 2)) at = cv_op2(c, G_ADD, at, cv_along(c, cv_need(c, 2), 0, update->type->rank));
  if (cv_is(c, "mode", "linear", "circular"))
    at = cv_op2(c, G_REM, at, cv_number(c, TSR_I64, (double)past->type->dims[axis]));
  cv_out(c, 0, cv_make(c, G_SCATTER, 3, (ir_value *[]){past, at, update}, CV_AT(TSR_INT("axis", axis))));
}

const cv_row onnx_rows_index[] = {{"Gather", 1, op_gather},
                                  {"GatherElements", 11, op_gather_elements},
                                  {"GatherND", 11, op_gather_nd},
                                  {"Scatter", 9, op_scatter_elements},
                                  {"ScatterElements", 11, op_scatter_elements},
                                  {"ScatterND", 11, op_scatter_nd},
                                  {"OneHot", 9, op_one_hot},
                                  {"TensorScatter", 24, op_tensor_scatter},
                                  {NULL, 0, NULL}};
