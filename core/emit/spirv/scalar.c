/* core/emit/spirv/scalar.c - scalar and vector arithmetic of Target IR with the semantics of core/ir/scalar_ops.h on
 * any driver: min and max keep NaN, integer division by zero is 0, narrow floats without arithmetic go through f32. */
#include <string.h>

#include "core/base/int_math.h"
#include "core/emit/spirv/internal.h"

static bool is_float(tsr_dtype t) { return dtype_is_float(t); }
static bool is_signed(tsr_dtype t) { return dtype_get(t)->is_signed; }
static int bits_of(tsr_dtype t) { return 8 * (int)tsr_dtype_size(t); }
/* The type in which values of t are computed. */
static tsr_dtype compute_type(const emitter *e, tsr_dtype t) {
  bool as_bits = t == TSR_BF16 || t == TSR_F8E4M3 || t == TSR_F8E5M2 || t == TSR_TF32;
  return as_bits || (t == TSR_F16 && !e->caps->f16) ? TSR_F32 : t;
}

static uint32_t keep(emitter *e, uint32_t id) {
  if (e->exact) SPV(&e->s, SEC_DECORATIONS, OpDecorate, id, DecNoContraction);
  return id;
}

static uint32_t bool_type(emitter *e, int n) { return e_vec(e, e_bool(e), n); }

static uint32_t e_min_max(emitter *e, bool max, vt v, uint32_t a, uint32_t b) {
  uint32_t type = e_reg(e, v.t, v.n), bt = bool_type(e, v.n);
  if (v.t == TSR_BOOL) return VAL(&e->s, max ? OpLogicalOr : OpLogicalAnd, type, a, b);
  if (!is_float(v.t))
    return GLSL(e, is_signed(v.t) ? (max ? GlslSMax : GlslSMin) : (max ? GlslUMax : GlslUMin), type, a, b);
  /* a when it is beyond b or NaN, else b: NaN in either operand comes through. */
  uint32_t beyond = VAL(&e->s, max ? OpFOrdGreaterThan : OpFOrdLessThan, bt, a, b),
           nan = VAL(&e->s, OpFUnordNotEqual, bt, a, a);
  return VAL(&e->s, OpSelect, type, VAL(&e->s, OpLogicalOr, bt, beyond, nan), a, b);
}

/* Division and remainder of integers: x / 0 = 0, so x rem 0 = x; the most negative number / -1 wraps. */
static uint32_t int_div(emitter *e, bool rem, vt v, uint32_t a, uint32_t b) {
  int bits = bits_of(v.t);
  uint32_t type = e_reg(e, v.t, v.n), bt = bool_type(e, v.n), zero = e_const_int(e, bits, 0, v.n),
           one = e_const_int(e, bits, 1, v.n);
  uint32_t is_zero = VAL(&e->s, OpIEqual, bt, b, zero), bad = is_zero, minus = 0;
  if (is_signed(v.t)) {
    minus = VAL(&e->s, OpIEqual, bt, b, e_const_int(e, bits, -1, v.n));
    bad = VAL(&e->s, OpLogicalOr, bt, is_zero, minus);
  }
  uint32_t safe = VAL(&e->s, OpSelect, type, bad, one, b);
  uint32_t q = VAL(&e->s, is_signed(v.t) ? (rem ? OpSRem : OpSDiv) : rem ? OpUMod : OpUDiv, type, a, safe);
  if (minus && !rem) q = VAL(&e->s, OpSelect, type, minus, VAL(&e->s, OpSNegate, type, a), q);
  return VAL(&e->s, OpSelect, type, is_zero, rem ? a : zero, q);
}

static uint32_t shift(emitter *e, int code, vt v, uint32_t a, uint32_t b) {
  /* Amounts beyond the width: 0, or the sign for shifts right of signed types. */
  int bits = bits_of(v.t);
  uint32_t type = e_reg(e, v.t, v.n), bt = bool_type(e, v.n);
  uint32_t last = e_const_int(e, bits, bits - 1, v.n), big = VAL(&e->s, OpUGreaterThan, bt, b, last),
           amount = VAL(&e->s, OpSelect, type, big, last, b);
  if (code == SC_SHR && is_signed(v.t)) return VAL(&e->s, OpShiftRightArithmetic, type, a, amount);
  uint32_t r = VAL(&e->s, code == SC_SHL ? OpShiftLeftLogical : OpShiftRightLogical, type, a, amount);
  return VAL(&e->s, OpSelect, type, big, e_const_int(e, bits, 0, v.n), r);
}

static uint32_t logic(emitter *e, int code, vt v, uint32_t a, uint32_t b) {
  bool flag = v.t == TSR_BOOL;
  int op = code == SC_AND  ? (flag ? OpLogicalAnd : OpBitwiseAnd)
           : code == SC_OR ? (flag ? OpLogicalOr : OpBitwiseOr)
           : flag          ? OpLogicalNotEqual
                           : OpBitwiseXor;
  if (bits_of(v.t) == 64 && !e->pairs) a = e_hide(e, a, v.n), b = e_hide(e, b, v.n);
  return VAL(&e->s, op, e_reg(e, v.t, v.n), a, b);
}

/* Bits 32 to 63 of the unsigned product of the low 32 bits. */
static uint32_t mul_high(emitter *e, vt v, uint32_t a, uint32_t b) {
  const int bits = bits_of(v.t), widen = is_signed(v.t) ? OpSConvert : OpUConvert;
  uint32_t type = e_reg(e, v.t, v.n), u32 = e_vec(e, e_int(e, 32), v.n);
  if (bits == 64) {
    uint32_t low = e_hide(e, e_const_int(e, 64, 0xffffffff, v.n), v.n);
    a = VAL(&e->s, OpBitwiseAnd, type, a, low), b = VAL(&e->s, OpBitwiseAnd, type, b, low);
    return VAL(&e->s, OpShiftRightLogical, type, VAL(&e->s, OpIMul, type, a, b), e_const_int(e, 64, 32, v.n));
  }
  a = e_resize(e, widen, bits, 32, v.n, a), b = e_resize(e, widen, bits, 32, v.n, b);
  uint32_t both = VAL(&e->s, OpUMulExtended, TYPE(&e->s, OpTypeStruct, u32, u32), a, b);
  uint32_t high = VAL(&e->s, OpCompositeExtract, u32, both, 1);
  return e_resize(e, OpUConvert, 32, bits, v.n, high);
}

static uint32_t binary(emitter *e, int code, vt v, uint32_t a, uint32_t b) {
  bool f = is_float(v.t);
  uint32_t type = e_reg(e, v.t, v.n);
  switch (code) {
  case SC_ADD: return keep(e, VAL(&e->s, f ? OpFAdd : OpIAdd, type, a, b));
  case SC_SUB: return keep(e, VAL(&e->s, f ? OpFSub : OpISub, type, a, b));
  case SC_MUL: return keep(e, VAL(&e->s, f ? OpFMul : OpIMul, type, a, b));
  case SC_DIV: return f ? keep(e, VAL(&e->s, OpFDiv, type, a, b)) : int_div(e, false, v, a, b);
  case SC_REM: return f ? e_float_rem(e, v, a, b) : int_div(e, true, v, a, b);
  case SC_POW: return e_int_pow(e, v, a, b);
  case SC_MIN:
  case SC_MAX: return e_min_max(e, code == SC_MAX, v, a, b);
  case SC_AND:
  case SC_OR:
  case SC_XOR: return logic(e, code, v, a, b);
  case SC_MUL_HIGH: return mul_high(e, v, a, b);
  default: return shift(e, code, v, a, b);
  }
}

uint32_t e_binary(emitter *e, int code, vt v, uint32_t a, uint32_t b) { return e_wrap(e, v, binary(e, code, v, a, b)); }

uint32_t e_combine(emitter *e, int code, vt v, uint32_t a, uint32_t b) {
  vt c = {compute_type(e, v.t), v.n};
  if (c.t != v.t) a = e_cast(e, a, v.t, c.t, v.n), b = e_cast(e, b, v.t, c.t, v.n);
  uint32_t r = e_binary(e, code, c, a, b);
  return c.t != v.t ? e_cast(e, r, c.t, v.t, v.n) : r;
}

/* lavapipe (Mesa 26.1) rounds odd halves of f64 toward zero by GLSL's RoundEven. */
static uint32_t round_f64(emitter *e, vt v, uint32_t a) {
  const uint32_t type = e_reg(e, v.t, v.n), bools = bool_type(e, v.n), one = e_const(e, v.t, 1, v.n),
                 half = e_const(e, v.t, 0.5, v.n), zero = e_const(e, v.t, 0, v.n), below = GLSL(e, GlslFloor, type, a),
                 part = VAL(&e->s, OpFSub, type, a, below),
                 pairs = GLSL(e, GlslFloor, type, VAL(&e->s, OpFMul, type, below, half)),
                 even = e_compare(e, CMP_EQ, v, VAL(&e->s, OpFAdd, type, pairs, pairs), below),
                 tie = VAL(&e->s, OpLogicalAnd, bools, e_compare(e, CMP_EQ, v, part, half),
                           VAL(&e->s, OpLogicalNot, bools, even)),
                 up = VAL(&e->s, OpLogicalOr, bools, e_compare(e, CMP_GT, v, part, half), tie),
                 r = VAL(&e->s, OpSelect, type, up, VAL(&e->s, OpFAdd, type, below, one), below),
                 gone = VAL(&e->s, OpLogicalAnd, bools, e_compare(e, CMP_EQ, v, r, zero),
                            e_compare(e, CMP_LT, v, a, zero)); /* from below 0 to -0 */
  return VAL(&e->s, OpSelect, type, gone, e_const(e, v.t, -0.0, v.n), r);
}

static uint32_t unary(emitter *e, int code, vt v, uint32_t a) {
  bool f = is_float(v.t);
  uint32_t type = e_reg(e, v.t, v.n);
  switch (code) {
  case SC_NOT: return VAL(&e->s, v.t == TSR_BOOL ? OpLogicalNot : OpNot, type, a);
  case SC_NEG: return VAL(&e->s, f ? OpFNegate : OpSNegate, type, a);
  case SC_ABS: return f ? GLSL(e, GlslFAbs, type, a) : is_signed(v.t) ? GLSL(e, GlslSAbs, type, a) : a;
  case SC_SQRT: return GLSL(e, GlslSqrt, type, a);
  case SC_RSQRT: return VAL(&e->s, OpFDiv, type, e_const(e, v.t, 1, v.n), GLSL(e, GlslSqrt, type, a));
  case SC_FLOOR: return GLSL(e, GlslFloor, type, a);
  case SC_ROUND: return v.t == TSR_F64 ? round_f64(e, v, a) : GLSL(e, GlslRoundEven, type, a);
  default: return e_min_max(e, true, v, a, e_const(e, v.t, 0, v.n)); /* relu */
  }
}

uint32_t e_unary(emitter *e, int code, vt v, uint32_t a) { return e_wrap(e, v, unary(e, code, v, a)); }

static uint32_t fma3(emitter *e, vt v, uint32_t a, uint32_t b, uint32_t c) {
  uint32_t type = e_reg(e, v.t, v.n);
  if (is_float(v.t)) return GLSL(e, GlslFma, type, a, b, c);
  return e_wrap(e, v, VAL(&e->s, OpIAdd, type, VAL(&e->s, OpIMul, type, a, b), c));
}

uint32_t e_compare(emitter *e, int predicate, vt v, uint32_t a, uint32_t b) {
  static const struct { int f, s, u, flag; } rows[N_CMP] = {
      [CMP_EQ] = {OpFOrdEqual, OpIEqual, OpIEqual, OpLogicalEqual},
      [CMP_NE] = {OpFUnordNotEqual, OpINotEqual, OpINotEqual, OpLogicalNotEqual},
      [CMP_LT] = {OpFOrdLessThan, OpSLessThan, OpULessThan, 0},
      [CMP_LE] = {OpFOrdLessThanEqual, OpSLessThanEqual, OpULessThanEqual, 0},
      [CMP_GT] = {OpFOrdGreaterThan, OpSGreaterThan, OpUGreaterThan, 0},
      [CMP_GE] = {OpFOrdGreaterThanEqual, OpSGreaterThanEqual, OpUGreaterThanEqual, 0},
  };
  const int i = predicate;
  if (v.t == TSR_BOOL && rows[i].flag) return VAL(&e->s, rows[i].flag, bool_type(e, v.n), a, b);
  if (v.t == TSR_BOOL) { /* ordered as 0 and 1 */
    a = e_cast(e, a, TSR_BOOL, TSR_I32, v.n), b = e_cast(e, b, TSR_BOOL, TSR_I32, v.n);
    v.t = TSR_I32;
  }
  return VAL(&e->s, is_float(v.t) ? rows[i].f : is_signed(v.t) ? rows[i].s : rows[i].u, bool_type(e, v.n), a, b);
}

/* x < c, where x is a signed integer s made wider and c a number that s can hold, is a comparison of s: no words of 64
 * bits, and right on Mesa 22.3, whose own such step is not. One of a and b is the number. */
static bool narrow_compare(emitter *e, const ir_op *op) {
  const int i = e_value(e, op->operands[0])->is_const;
  const ir_value *wide = op->operands[i];
  const ir_op *cast = wide->def;
  const sv *number = e_value(e, op->operands[!i]);
  if (!number->is_const || !cast || cast->def->code != SC_CAST || e_parts(e, wide->type) != 1) return false;
  const vt w = e_part(e, wide->type), s = e_part(e, cast->operands[0]->type);
  if (is_float(w.t) || is_float(s.t) || s.t == TSR_BOOL || !is_signed(s.t) || !is_signed(w.t)) return false;
  if (tsr_dtype_size(s.t) >= tsr_dtype_size(w.t) || compute_type(e, s.t) != s.t) return false;
  if (dtype_wrap(s.t, number->c) != number->c) return false;
  const uint32_t c = e_const_int(e, 8 * (int)tsr_dtype_size(s.t), number->c, s.n),
                 x = e_value(e, cast->operands[0])->part[0];
  const int predicate = scalar_predicate(ir_get_str(op, "predicate", "eq"));
  e_define(e, op->results[0], (sv){.part = {e_compare(e, predicate, s, i ? c : x, i ? x : c)}});
  return true;
}

/* Index arithmetic on known numbers; false when it isn't that. */
static bool fold(emitter *e, const ir_op *op) {
  int64_t c[3] = {0};
  int code = op->def->code;
  if (op->results[0]->type->kind != IR_T_INDEX || op->n_operands > 3) return false;
  for (int i = 0; i < op->n_operands; i++) {
    const sv *x = e_value(e, op->operands[i]);
    if (op->operands[i]->type->kind != IR_T_INDEX || !x->is_const) return false;
    c[i] = x->c;
  }
  int64_t r;
  switch (code) {
  case SC_ADD: r = wrap_add(c[0], c[1]); break;
  case SC_SUB: r = wrap_sub(c[0], c[1]); break;
  case SC_MUL: r = wrap_mul(c[0], c[1]); break;
  case SC_FMA: r = wrap_add(wrap_mul(c[0], c[1]), c[2]); break;
  case SC_DIV: r = c[1] == -1 ? wrap_sub(0, c[0]) : c[1] ? c[0] / c[1] : 0; break;
  case SC_REM: r = c[1] == -1 ? 0 : c[1] ? c[0] % c[1] : c[0]; break;
  case SC_MIN: r = c[0] < c[1] ? c[0] : c[1]; break;
  case SC_MAX: r = c[0] > c[1] ? c[0] : c[1]; break;
  case SC_AND: r = c[0] & c[1]; break;
  case SC_OR: r = c[0] | c[1]; break;
  case SC_XOR: r = c[0] ^ c[1]; break;
  case SC_NEG: r = wrap_sub(0, c[0]); break;
  default: return false;
  }
  if (!e->wide && r != (int32_t)r) return false;
  e_define(e, op->results[0], e_index_const(e, r));
  return true;
}

/* x + 0, x * 1, x / 1 and division by a known divisor, for index values. */
static bool simplify(emitter *e, const ir_op *op) {
  if (op->n_operands != 2 || op->operands[0]->type->kind != IR_T_INDEX || op->results[0]->type->kind != IR_T_INDEX)
    return false;
  const sv *a = e_value(e, op->operands[0]), *b = e_value(e, op->operands[1]);
  int code = op->def->code;
  uint32_t type = e_reg(e, INDEX_DTYPE(e), 1);
  if ((code == SC_ADD || code == SC_MUL) && a->is_const) {
    const sv *t = a;
    a = b, b = t;
  }
  if (!b->is_const) return false;
  if (((code == SC_ADD || code == SC_SUB) && b->c == 0) || ((code == SC_MUL || code == SC_DIV) && b->c == 1)) {
    e_define(e, op->results[0], *a);
    return true;
  }
  if ((code == SC_MUL && b->c == 0) || (code == SC_REM && b->c == 1)) {
    e_define(e, op->results[0], e_index_const(e, 0));
    return true;
  }
  if ((code != SC_DIV && code != SC_REM) || b->c <= 0) return false;
  e_define(e, op->results[0],
           (sv){.part = {VAL(&e->s, code == SC_DIV ? OpSDiv : OpSRem, type, a->part[0], b->part[0])}});
  return true;
}

/* Without being told, drivers take x - x for 0, (a - b) - a for -b and 0 / x for 0, infinite or NaN as x may be. Sums
 * of a product stay free: they may become one fma. */
static bool must_stand(const emitter *e, const ir_op *op, vt v) {
  const int code = op->def->code;
  const ir_value *const *x = (const ir_value *const *)op->operands;
  if (e->exact || !is_float(v.t)) return false; /* `keep` has seen to it */
  if (code == SC_DIV) return true;
  if (code != SC_ADD && code != SC_SUB) return false;
  for (int i = 0; i < 2 && x[0] != x[1]; i++)
    if (x[i]->def && x[i]->def->def->code == SC_MUL) return false;
  return true;
}

static uint32_t arithmetic(emitter *e, const ir_op *op, vt v, const uint32_t *x) {
  int code = op->def->code;
  /* Functions are computed in f32 whatever the float type, but for f64. */
  bool math = e_is_math(code) && is_float(v.t) && v.t != TSR_F64,
       math64 = e_is_math(code) && v.t == TSR_F64 && code != SC_RSQRT;
  bool by_f32 = math || (code == SC_REM && v.t == TSR_F16);
  tsr_dtype c = by_f32 ? TSR_F32 : compute_type(e, v.t);
  uint32_t y[3] = {0};
  for (int i = 0; i < op->n_operands; i++) y[i] = c != v.t ? e_cast(e, x[i], v.t, c, v.n) : x[i];
  vt w = {c, v.n};
  uint32_t r;
  if (math) r = e_math(e, code, v.n, y[0], y[1]);
  else if (math64) r = e_math64(e, code, v.n, y[0], y[1]);
  else if (code == SC_FMA) r = fma3(e, w, y[0], y[1], y[2]);
  else if (op->n_operands == 2) r = e_binary(e, code, w, y[0], y[1]);
  else r = e_unary(e, code, w, y[0]);
  if (must_stand(e, op, w)) SPV(&e->s, SEC_DECORATIONS, OpDecorate, r, DecNoContraction);
  return c != v.t ? e_cast(e, r, c, v.t, v.n) : r;
}

static uint32_t select_part(emitter *e, vt v, uint32_t c, uint32_t a, uint32_t b) {
  return VAL(&e->s, OpSelect, e_reg(e, v.t, v.n), c, a, b);
}

static tsr_status check(emitter *e, const ir_op *op, vt v) {
  int code = op->def->code;
  if (v.t != TSR_BOOL) return NULL;
  if (scalar_rows[code].traits & SCALAR_OF_BOOL) return NULL;
  return e_fail(e, op, TSR_VERIFY_ERROR, "cast to an integer first", "not defined on bool");
}

tsr_status e_scalar_op(emitter *e, const ir_op *op) {
  int code = op->def->code;
  if (fold(e, op) || simplify(e, op) || e_pair_op(e, op)) return NULL;
  if (code == SC_COMPARE && narrow_compare(e, op)) return NULL;
  const ir_type *first = op->operands[code == SC_SELECT ? 1 : 0]->type;
  int n_parts = e_parts(e, first);
  vt v = e_part(e, first);
  TSR_TRY(check(e, op, v));
  sv r = {.part = {0}};
  for (int p = 0; p < n_parts; p++) {
    uint32_t x[3] = {0};
    for (int i = 0; i < op->n_operands; i++) {
      const sv *s = e_value(e, op->operands[i]);
      x[i] = s->part[e_parts(e, op->operands[i]->type) > 1 ? p : 0];
    }
    if (code == SC_COMPARE) {
      tsr_dtype c = compute_type(e, v.t);
      for (int i = 0; i < 2 && c != v.t; i++) x[i] = e_cast(e, x[i], v.t, c, v.n);
      r.part[p] = e_compare(e, scalar_predicate(ir_get_str(op, "predicate", "eq")), (vt){c, v.n}, x[0], x[1]);
    } else if (code == SC_SELECT) {
      r.part[p] = select_part(e, v, e_condition(e, op->operands[0]->type, x[0], v.n), x[1], x[2]);
    } else if (code == SC_CAST) {
      r.part[p] = e_cast(e, x[0], v.t, e_dtype(e, op->results[0]->type), v.n);
    } else {
      r.part[p] = arithmetic(e, op, v, x);
    }
  }
  if (code == SC_CAST && op->results[0]->type->kind == IR_T_INDEX && e_value(e, op->operands[0])->is_const)
    r.is_const = true, r.c = e_value(e, op->operands[0])->c;
  e_define(e, op->results[0], r);
  return NULL;
}
