/* core/import/onnx/ops_quantize.c - ONNX's quantized tensors: integers with a scale and a zero point, of the whole
 * tensor, of each place along an axis or of blocks along it. */
#include <string.h>

#include "core/base/dtype.h"
#include "core/import/onnx/bytes.h"
#include "core/import/onnx/tables.h"
#include "core/import/onnx_data.h"
#include "core/import/onnx_tensor.h"

/* Scale or zero point so that it broadcasts against x, whose axis it goes along. */
static ir_value *spread(cv *c, ir_value *s, const ir_value *x, int axis, int64_t block) {
  const int rank = cv_rank(x);
  if (!s || !x) return NULL;
  if (!block && ir_type_count(s->type) == 1) return cv_reshape(c, s, 0, (int64_t[]){0});
  if (!block) return s->type->rank == 1 ? cv_along(c, s, axis, rank) : s;
  int64_t split[TSR_MAX_RANK + 1], wide[TSR_MAX_RANK + 1], joined[TSR_MAX_RANK];
  if (s->type->rank != rank || rank >= TSR_MAX_RANK || block < 1 || block > cv_dim(x, axis))
    return cv_refuse(c, "scales of %d dimensions", s->type->rank);
  for (int i = 0, k = 0; i < rank; i++) {
    wide[k] = split[k] = joined[i] = s->type->dims[i];
    k++;
    if (i != axis) continue;
    split[k] = 1;
    wide[k++] = block;
    joined[i] *= block;
  }
  s = cv_broadcast(c, cv_reshape(c, s, rank + 1, split), rank + 1, wide);
  return cv_part(c, cv_reshape(c, s, rank, joined), axis, 0, x->type->dims[axis]);
}

static int quantized_axis(cv *c, const ir_value *x) {
  const int rank = cv_rank(x);
  const int64_t axis = cv_int(c, "axis", 1);
  return rank < 2 || axis >= rank || axis < -rank ? 0 : cv_axis(c, axis, rank); /* of scalars' scales it says nothing */
}

/* round(y) as that type holds it: what lies beyond is its end. */
static ir_value *saturated(cv *c, ir_value *y, const char *type) {
  const tsr_dtype t = onnx_dtype(type);
  const onnx_small_float small = onnx_small_float_of(type);
  if (!t || small == ONNX_F8E8M0) return cv_refuse(c, "to type %s", type);
  if (small) return cv_to_small_float(c, y, small);
  const int bits = onnx_narrow_bits(type);
  if (bits) {
    const int most = 1 << (*type == 'i' ? bits - 1 : bits);
    y = cv_op2(c, G_MAX, y, cv_like(c, y, *type == 'i' ? -most : 0));
    y = cv_op2(c, G_MIN, y, cv_like(c, y, most - 1));
  }
  if (t == TSR_F8E5M2) {
    y = cv_op2(c, G_MAX, y, cv_like(c, y, -dtype_get(t)->max));
    y = cv_op2(c, G_MIN, y, cv_like(c, y, dtype_get(t)->max));
  }
  return cv_cast(c, y, t);
}

static void op_quantize(cv *c) {
  ir_value *x = cv_need(c, 0), *scale = cv_need(c, 1), *zero = cv_in(c, 2);
  const int axis = quantized_axis(c, x);
  const int64_t to = cv_int(c, "output_dtype", 0), block = cv_int(c, "block_size", 0);
  const char *type = to > 0 ? onnx_type_name((uint64_t)to) : cv_type_name(c, 2);
  if (!*type) type = zero ? tsr_dtype_name(zero->type->dtype) : "u8";
  if (!x || !scale || c->failed) return cv_out(c, 0, NULL);
  const tsr_dtype wide = x->type->dtype == TSR_F64 ? TSR_F64 : TSR_F32;
  const bool whole = !dtype_is_float(onnx_dtype(type));
  ir_value *y = cv_op2(c, G_DIV, cv_cast(c, x, wide), cv_cast(c, spread(c, scale, x, axis, block), wide));
  if (whole) y = cv_op1(c, G_ROUND, y);
  if (zero && whole) y = cv_op2(c, G_ADD, y, cv_cast(c, spread(c, zero, x, axis, block), wide));
  if (!whole && !onnx_small_float_of(type) && !cv_int(c, "saturate", 1)) cv_refuse(c, "without saturation");
  cv_out_as(c, 0, saturated(c, y, type), type);
}

/* (x - zero) scale */
static ir_value *dequantized(cv *c, ir_value *x, ir_value *scale, ir_value *zero, int axis, int64_t block) {
  if (!x || !scale) return NULL;
  ir_value *v = dtype_is_float(x->type->dtype) ? cv_cast(c, x, TSR_F32) : cv_cast(c, x, TSR_I32);
  if (zero) v = cv_op2(c, G_SUB, v, cv_cast(c, spread(c, zero, x, axis, block), v ? v->type->dtype : TSR_I32));
  return cv_op2(c, G_MUL, cv_cast(c, v, TSR_F32), cv_cast(c, spread(c, scale, x, axis, block), TSR_F32));
}

static void op_dequantize(cv *c) {
  ir_value *x = cv_need(c, 0), *scale = cv_need(c, 1);
  ir_value *y = dequantized(c, x, scale, cv_in(c, 2), quantized_axis(c, x), cv_int(c, "block_size", 0));
  const int64_t to = cv_int(c, "output_dtype", 0);
  const tsr_dtype t = to ? onnx_dtype_of(to) : scale ? scale->type->dtype : TSR_F32;
  cv_out(c, 0, t ? cv_cast(c, y, t) : cv_refuse(c, "output_dtype %lld", (long long)to));
}

void cv_quantize_dynamic(cv *c, ir_value *x, ir_value *out[3]) {
  ir_value *zero = cv_number(c, TSR_F32, 0);
  ir_value *low = cv_op2(c, G_MIN, cv_op1(c, G_REDUCE_MIN, x), zero);
  ir_value *high = cv_op2(c, G_MAX, cv_op1(c, G_REDUCE_MAX, x), zero);
  ir_value *range = cv_op2(c, G_SUB, high, low), *scale = cv_op2(c, G_DIV, range, cv_number(c, TSR_F32, 255));
  /* Zeros alone have scale 1, as ONNX Runtime has it. */
  scale = cv_where(c, cv_compare(c, "eq", range, zero), cv_number(c, TSR_F32, 1), scale);
  ir_value *at = cv_op1(c, G_ROUND, cv_op2(c, G_DIV, cv_op1(c, G_NEG, low), scale));
  ir_value *point = cv_cast(c, at, TSR_U8);
  ir_value *y = cv_op1(c, G_ROUND, cv_op2(c, G_DIV, x, scale));
  out[0] = cv_cast(c, cv_op2(c, G_ADD, y, cv_cast(c, point, TSR_F32)), TSR_U8);
  out[1] = scale;
  out[2] = point;
}

static void op_dynamic(cv *c) {
  ir_value *out[3];
  cv_quantize_dynamic(c, cv_need(c, 0), out);
  for (int i = 0; i < 3; i++)
    if (cv_wants(c, i) || c->failed) cv_out(c, i, out[i]);
}

/* Requantized to the zero point's type. */
static ir_value *requantized(cv *c, ir_value *y, ir_value *scale, ir_value *zero) {
  if (!y || !zero || !scale) return NULL;
  y = cv_op1(c, G_ROUND, cv_op2(c, G_DIV, y, cv_cast(c, scale, y->type->dtype)));
  return cv_cast(c, cv_op2(c, G_ADD, y, cv_cast(c, zero, y->type->dtype)), zero->type->dtype);
}

/* Scale or zero point of a product's operand: a vector is of rows (of a) or columns (of b). */
static ir_value *of_side(cv *c, ir_value *v, bool rows) {
  if (v && v->type->rank == 1 && v->type->dims[0] == 1) return cv_reshape(c, v, 0, (int64_t[]){0});
  return v && rows && v->type->rank == 1 ? cv_reshape(c, v, 2, (int64_t[]){v->type->dims[0], 1}) : v;
}

/* round(sum * (sa sb / sy)) + zero, the sum exact */
static void op_qlinear_matmul(cv *c) {
  ir_value *v[8];
  for (int i = 0; i < 8; i++) v[i] = cv_need(c, i);
  ir_value *sums = bytes_product(c, v[0], of_side(c, v[2], true), v[3], of_side(c, v[5], false));
  sums = cv_cast(c, sums, TSR_F32);
  ir_value *sa = cv_cast(c, of_side(c, v[1], true), TSR_F32), *sb = cv_cast(c, of_side(c, v[4], false), TSR_F32);
  ir_value *scaled = cv_op2(c, G_MUL, sums, cv_op2(c, G_MUL, sa, sb));
  cv_out(c, 0, requantized(c, scaled, of_side(c, v[6], true), of_side(c, v[7], true)));
}

const cv_row onnx_rows_quantize[] = {{"QuantizeLinear", 10, op_quantize},
                                     {"DequantizeLinear", 10, op_dequantize},
                                     {"DynamicQuantizeLinear", 11, op_dynamic},
                                     {"QLinearMatMul", 10, op_qlinear_matmul},
                                     {NULL, 0, NULL}};
const cv_row onnx_rows_quantize_contrib[] = {
    {"QuantizeLinear", 1, op_quantize}, {"DequantizeLinear", 1, op_dequantize}, {NULL, 0, NULL}};
