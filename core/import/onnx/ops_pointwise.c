/* core/import/onnx/ops_pointwise.c - ONNX's elementwise ops on numbers. */
#include <math.h>
#include <string.h>

#include "core/base/dtype.h"
#include "core/import/onnx/tables.h"
#include "core/import/onnx_data.h"
#include "core/import/onnx_tensor.h"

#define ONE(name, CODE)                                                                                                \
  static void name(cv *c) { cv_out(c, 0, cv_op1(c, CODE, cv_need(c, 0))); }
#define TWO(name, CODE)                                                                                                \
  static void name(cv *c) { cv_out(c, 0, cv_op2(c, CODE, cv_need(c, 0), cv_need(c, 1))); }
ONE(op_neg, G_NEG)
ONE(op_abs, G_ABS) ONE(op_exp, G_EXP) ONE(op_log, G_LOG) ONE(op_sqrt, G_SQRT) ONE(op_tanh, G_TANH) ONE(op_erf, G_ERF)
    ONE(op_sin, G_SIN) ONE(op_cos, G_COS) ONE(op_tan, G_TAN) ONE(op_asin, G_ASIN) ONE(op_acos, G_ACOS)
        ONE(op_atan, G_ATAN) ONE(op_sinh, G_SINH) ONE(op_cosh, G_COSH) ONE(op_asinh, G_ASINH) ONE(op_acosh, G_ACOSH)
            ONE(op_atanh, G_ATANH) ONE(op_sigmoid, G_SIGMOID) ONE(op_relu, G_RELU) ONE(op_sign, G_SIGN)
                ONE(op_hardswish, G_HARDSWISH) ONE(op_softplus, G_SOFTPLUS) ONE(op_mish, G_MISH)
                    ONE(op_softsign, G_SOFTSIGN) TWO(op_add, G_ADD) TWO(op_sub, G_SUB) TWO(op_mul, G_MUL)
                        TWO(op_div, G_DIV)

    /* Of integers these leave them as they are. */
    static void to_whole(cv *c, graph_code code) {
  ir_value *x = cv_need(c, 0);
  cv_out(c, 0, x && !cv_is_float(x) ? x : cv_op1(c, code, x));
}
static void op_floor(cv *c) { to_whole(c, G_FLOOR); }
static void op_ceil(cv *c) { to_whole(c, G_CEIL); }
static void op_round(cv *c) { to_whole(c, G_ROUND); }

static void op_identity(cv *c) { cv_out(c, 0, cv_has(c, 0) ? cv_any(c, 0) : cv_need(c, 0)); }

static void op_reciprocal(cv *c) {
  ir_value *x = cv_need(c, 0);
  cv_out(c, 0, cv_op2(c, G_DIV, cv_like(c, x, 1), x));
}

/* ONNX before version 7 broadcast the second operand at `axis`. */
static ir_value *old_operand(cv *c) {
  ir_value *x = cv_need(c, 0), *y = cv_need(c, 1);
  const onnx_attr *axis = cv_attr(c, "axis");
  if (!x || !y || !axis || y->type->rank >= x->type->rank) return y;
  int64_t dims[TSR_MAX_RANK];
  const int at = cv_axis(c, axis->i, x->type->rank);
  for (int i = 0; i < x->type->rank; i++) dims[i] = i >= at && i < at + y->type->rank ? y->type->dims[i - at] : 1;
  return cv_reshape(c, y, x->type->rank, dims);
}
#define OLD(name, CODE)                                                                                                \
  static void name(cv *c) { cv_out(c, 0, cv_op2(c, CODE, cv_need(c, 0), old_operand(c))); }
OLD(old_add, G_ADD)
OLD(old_sub, G_SUB) OLD(old_mul, G_MUL) OLD(old_div, G_DIV)

    /* Folds all operands. */
    static ir_value *over_all(cv *c, graph_code code) {
  ir_value *x = cv_need(c, 0);
  for (size_t i = 1; i < c->node->n_in; i++) x = cv_op2(c, code, x, cv_need(c, (int)i));
  return x;
}
static void op_min(cv *c) { cv_out(c, 0, over_all(c, G_MIN)); }
static void op_max(cv *c) { cv_out(c, 0, over_all(c, G_MAX)); }
static void op_sum(cv *c) { cv_out(c, 0, over_all(c, G_ADD)); }
static void op_mean(cv *c) {
  ir_value *x = over_all(c, G_ADD);
  cv_out(c, 0, cv_op2(c, G_DIV, x, cv_like(c, x, (double)c->node->n_in)));
}

/* The base's type; a float exponent of an integer base is computed as a float. */
static void op_pow(cv *c) {
  ir_value *x = cv_need(c, 0), *y = cv_need(c, 1);
  if (!x || !y) return cv_out(c, 0, NULL);
  const tsr_dtype t = x->type->dtype;
  if (!dtype_is_float(t) && cv_is_float(y)) {
    const tsr_dtype wide = y->type->dtype == TSR_F64 || t == TSR_I64 ? TSR_F64 : TSR_F32;
    ir_value *z = cv_op2(c, G_POW, cv_cast(c, x, wide), cv_cast(c, y, wide));
    return cv_out(c, 0, cv_cast(c, cv_op1(c, G_TRUNC, z), t));
  }
  cv_out(c, 0, cv_op2(c, G_POW, x, cv_cast(c, y, t)));
}

/* fmod: C's, the sign of the dividend; else Python's, the sign of the divisor. */
static void op_mod(cv *c) {
  ir_value *x = cv_need(c, 0), *y = cv_need(c, 1), *r = cv_op2(c, G_REM, x, y);
  if (cv_int(c, "fmod", 0) || !r) return cv_out(c, 0, r);
  if (cv_is_float(x)) return cv_out(c, 0, cv_refuse(c, "floats need fmod = 1"));
  ir_value *zero = cv_like(c, x, 0);
  ir_value *differ = cv_op2(c, G_XOR, cv_compare(c, "lt", r, zero), cv_compare(c, "lt", y, zero));
  ir_value *moves = cv_op2(c, G_AND, cv_compare(c, "ne", r, zero), differ);
  cv_out(c, 0, cv_where(c, moves, cv_op2(c, G_ADD, r, y), r));
}

static void op_gelu(cv *c) {
  cv_out(c, 0, cv_at1(c, G_GELU, cv_need(c, 0), TSR_STRING("approximate", cv_str(c, "approximate", "none"))));
}

static void op_hardsigmoid(cv *c) {
  cv_out(c, 0,
         cv_at1(c, G_HARDSIGMOID, cv_need(c, 0), TSR_FLOAT("alpha", cv_float(c, "alpha", 0.2f)),
                TSR_FLOAT("beta", cv_float(c, "beta", 0.5))));
}

static void with_alpha(cv *c, graph_code code, double dflt) {
  cv_out(c, 0, cv_at1(c, code, cv_need(c, 0), TSR_FLOAT("alpha", cv_float(c, "alpha", dflt))));
}
static void op_leaky_relu(cv *c) { with_alpha(c, G_LEAKY_RELU, 0.01f); }
static void op_elu(cv *c) { with_alpha(c, G_ELU, 1); }
static void op_celu(cv *c) { with_alpha(c, G_CELU, 1); }

/* gamma (x above 0, else alpha (e^x - 1)) */
static void op_selu(cv *c) {
  ir_value *x = cv_need(c, 0);
  ir_value *elu = cv_at1(c, G_ELU, x, TSR_FLOAT("alpha", cv_float(c, "alpha", 1.67326319217681884765625)));
  cv_out(c, 0, cv_op2(c, G_MUL, elu, cv_like(c, x, cv_float(c, "gamma", 1.05070102214813232421875))));
}

static void op_prelu(cv *c) { cv_out(c, 0, cv_op2(c, G_PRELU, cv_need(c, 0), cv_need(c, 1))); }

static void op_thresholded_relu(cv *c) {
  ir_value *x = cv_need(c, 0), *above = cv_compare(c, "gt", x, cv_like(c, x, cv_float(c, "alpha", 1)));
  cv_out(c, 0, cv_where(c, above, x, cv_like(c, x, 0)));
}

/* x + bias below -lambd, x - bias above lambd, else 0 */
static void op_shrink(cv *c) {
  ir_value *x = cv_need(c, 0), *bias = cv_like(c, x, cv_float(c, "bias", 0)), *zero = cv_like(c, x, 0);
  const double at = cv_float(c, "lambd", 0.5);
  ir_value *low, *high;
  if (x && !cv_is_float(x)) { /* lambd need not be an integer */
    low = cv_compare(c, "lt", cv_cast(c, x, TSR_F32), cv_number(c, TSR_F32, -at));
    high = cv_compare(c, "gt", cv_cast(c, x, TSR_F32), cv_number(c, TSR_F32, at));
  } else {
    low = cv_compare(c, "lt", x, cv_like(c, x, -at));
    high = cv_compare(c, "gt", x, cv_like(c, x, at));
  }
  ir_value *rest = cv_where(c, high, cv_op2(c, G_SUB, x, bias), zero);
  cv_out(c, 0, cv_where(c, low, cv_op2(c, G_ADD, x, bias), rest));
}

static void op_swish(cv *c) {
  ir_value *x = cv_need(c, 0);
  const double alpha = cv_float(c, "alpha", 1);
  if (alpha == 1) return cv_out(c, 0, cv_op1(c, G_SILU, x));
  cv_out(c, 0, cv_op2(c, G_MUL, x, cv_op1(c, G_SIGMOID, cv_op2(c, G_MUL, x, cv_like(c, x, alpha)))));
}

/* min(max(x, low), high) */
static void op_clip(cv *c) {
  ir_value *x = cv_need(c, 0);
  if (cv_has(c, 1)) x = cv_op2(c, G_MAX, x, cv_need(c, 1));
  if (cv_has(c, 2)) x = cv_op2(c, G_MIN, x, cv_need(c, 2));
  cv_out(c, 0, x);
}

static void old_clip(cv *c) {
  ir_value *x = cv_need(c, 0);
  if (cv_attr(c, "min")) x = cv_op2(c, G_MAX, x, cv_like(c, x, cv_float(c, "min", 0)));
  if (cv_attr(c, "max")) x = cv_op2(c, G_MIN, x, cv_like(c, x, cv_float(c, "max", 0)));
  cv_out(c, 0, x);
}

static void op_bit_shift(cv *c) {
  const bool left = cv_is(c, "direction", "", "LEFT");
  if (!left && !cv_is(c, "direction", "", "RIGHT")) cv_refuse(c, "direction is LEFT or RIGHT");
  cv_out(c, 0, cv_op2(c, left ? G_SHIFT_LEFT : G_SHIFT_RIGHT, cv_need(c, 0), cv_need(c, 1)));
}

/* ---- types ------------------------------------------------------------------------------------------------------- */

#define WORD 0x1p32

/* The low bits of x as a number of t, of fewer than 64: ONNX wraps, where Graph IR's cast saturates. */
static ir_value *low_bits(cv *c, ir_value *x, tsr_dtype t, int bits) {
  const tsr_dtype as = x->type->dtype == TSR_U64 ? TSR_U64 : TSR_I64;
  ir_value *low = cv_op2(c, G_AND, cv_cast(c, x, as), cv_number(c, as, ldexp(1, bits) - 1));
  low = cv_cast(c, low, TSR_I64);
  if (dtype_get(t)->is_signed) {
    ir_value *big = cv_compare(c, "ge", low, cv_number(c, TSR_I64, ldexp(1, bits - 1)));
    low = cv_where(c, big, cv_op2(c, G_SUB, low, cv_number(c, TSR_I64, ldexp(1, bits))), low);
  }
  return cv_cast(c, low, t);
}

/* All 64 bits of x as the other type, t, of u64 and i64: in two words. */
static ir_value *same_bits(cv *c, ir_value *x, tsr_dtype t) {
  const tsr_dtype as = t == TSR_U64 ? TSR_I64 : TSR_U64;
  x = cv_cast(c, x, as);
  ir_value *low = cv_op2(c, G_AND, x, cv_number(c, as, WORD - 1));
  ir_value *high = cv_op2(c, G_DIV, cv_op2(c, G_SUB, x, low), cv_number(c, as, WORD));
  if (as == TSR_I64) {
    ir_value *below = cv_compare(c, "lt", high, cv_number(c, as, 0));
    high = cv_where(c, below, cv_op2(c, G_ADD, high, cv_number(c, as, WORD)), high);
  }
  high = cv_op2(c, G_MUL, cv_cast(c, high, t), cv_number(c, t, WORD));
  return cv_op2(c, G_ADD, high, cv_cast(c, low, t));
}

/* What is too large for fp8 becomes the largest number, or with saturate = 0 infinity, of f8e4m3 NaN. */
static ir_value *to_fp8(cv *c, ir_value *x, tsr_dtype t) {
  const bool saturates = cv_int(c, "saturate", 1) != 0;
  if (!dtype_is_float(x->type->dtype) || saturates == (t == TSR_F8E4M3) || dtype_holds(t, x->type->dtype))
    return cv_cast(c, x, t);
  if (saturates) {
    x = cv_op2(c, G_MAX, x, cv_like(c, x, -dtype_get(t)->max));
    return cv_cast(c, cv_op2(c, G_MIN, x, cv_like(c, x, dtype_get(t)->max)), t);
  }
  if (t == TSR_F8E5M2) return cv_cast(c, x, t);
  ir_value *fits = cv_compare(c, "le", cv_op1(c, G_ABS, x), cv_like(c, x, 464)); /* half way to what follows 448 */
  return cv_where(c, fits, cv_cast(c, x, t), cv_number(c, t, NAN));
}

/* type: what ONNX calls it, t: what it is held in. */
static ir_value *cast_to(cv *c, ir_value *x, tsr_dtype t, const char *type) {
  const onnx_small_float small = onnx_small_float_of(type);
  if (!x || small) return x ? cv_to_small_float(c, x, small) : NULL;
  const tsr_dtype from = x->type->dtype;
  const int narrow = onnx_narrow_bits(type), bits = narrow ? narrow : dtype_bits(t);
  const bool whole = !dtype_is_float(from) && from != TSR_BOOL;
  if (narrow) return low_bits(c, x, t, bits);
  if (!dtype_is_float(t) && t != TSR_BOOL && whole && !dtype_holds(t, from))
    return bits < 64 ? low_bits(c, x, t, bits) : same_bits(c, x, t);
  return t == TSR_F8E5M2 || t == TSR_F8E4M3 ? to_fp8(c, x, t) : cv_cast(c, x, t);
}

static void op_cast(cv *c) {
  const int64_t to = cv_int(c, "to", 0);
  const tsr_dtype t = onnx_dtype_of(to);
  const char *name = to < 0 ? "type?" : onnx_type_name((uint64_t)to);
  cv_out_as(c, 0, t ? cast_to(c, cv_need(c, 0), t, name) : cv_refuse(c, "to type %s", name), name);
}

static void op_cast_like(cv *c) {
  ir_value *like = cv_need(c, 1);
  const char *name = cv_type_name(c, 1);
  cv_out_as(c, 0, like ? cast_to(c, cv_need(c, 0), like->type->dtype, name) : NULL, name);
}

static void op_dropout(cv *c) {
  ir_value *x = cv_need(c, 0);
  const bool trains = cv_has(c, 2) && c->version >= 12 && cv_known_int(c, 2, 0);
  if (trains && cv_known_number(c, 1, 0.5) != 0) cv_refuse(c, "training_mode: its random numbers are the runtime's");
  cv_out(c, 0, x);
  if (x && cv_wants(c, 1)) cv_out(c, 1, cv_fill(c, TSR_BOOL, x->type->rank, x->type->dims, 1));
}

const cv_row onnx_rows_pointwise[] = {{"Add", 7, op_add},
                                      {"Sub", 7, op_sub},
                                      {"Mul", 7, op_mul},
                                      {"Div", 7, op_div},
                                      {"Add", 1, old_add},
                                      {"Sub", 1, old_sub},
                                      {"Mul", 1, old_mul},
                                      {"Div", 1, old_div},
                                      {"Neg", 1, op_neg},
                                      {"Abs", 1, op_abs},
                                      {"Exp", 1, op_exp},
                                      {"Log", 1, op_log},
                                      {"Sqrt", 1, op_sqrt},
                                      {"Tanh", 1, op_tanh},
                                      {"Erf", 9, op_erf},
                                      {"Sin", 7, op_sin},
                                      {"Cos", 7, op_cos},
                                      {"Tan", 7, op_tan},
                                      {"Asin", 7, op_asin},
                                      {"Acos", 7, op_acos},
                                      {"Atan", 7, op_atan},
                                      {"Sinh", 9, op_sinh},
                                      {"Cosh", 9, op_cosh},
                                      {"Asinh", 9, op_asinh},
                                      {"Acosh", 9, op_acosh},
                                      {"Atanh", 9, op_atanh},
                                      {"Floor", 1, op_floor},
                                      {"Ceil", 1, op_ceil},
                                      {"Round", 11, op_round},
                                      {"Sigmoid", 1, op_sigmoid},
                                      {"Relu", 1, op_relu},
                                      {"Sign", 9, op_sign},
                                      {"HardSwish", 14, op_hardswish},
                                      {"Softplus", 1, op_softplus},
                                      {"Mish", 18, op_mish},
                                      {"Softsign", 1, op_softsign},
                                      {"Identity", 1, op_identity},
                                      {"Reciprocal", 1, op_reciprocal},
                                      {"Min", 1, op_min},
                                      {"Max", 1, op_max},
                                      {"Sum", 1, op_sum},
                                      {"Mean", 1, op_mean},
                                      {"Pow", 7, op_pow},
                                      {"Mod", 10, op_mod},
                                      {"Gelu", 20, op_gelu},
                                      {"HardSigmoid", 1, op_hardsigmoid},
                                      {"LeakyRelu", 1, op_leaky_relu},
                                      {"Elu", 1, op_elu},
                                      {"Celu", 12, op_celu},
                                      {"Selu", 1, op_selu},
                                      {"PRelu", 7, op_prelu},
                                      {"ThresholdedRelu", 10, op_thresholded_relu},
                                      {"Shrink", 9, op_shrink},
                                      {"Swish", 24, op_swish},
                                      {"Clip", 11, op_clip},
                                      {"Clip", 1, old_clip},
                                      {"BitShift", 11, op_bit_shift},
                                      {"Cast", 6, op_cast},
                                      {"CastLike", 15, op_cast_like},
                                      {"Dropout", 1, op_dropout},
                                      {NULL, 0, NULL}};
