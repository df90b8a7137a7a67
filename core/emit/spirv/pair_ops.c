/* core/emit/spirv/pair_ops.c - scalar operations on i64 where the device has no 64-bit integers: each part of such a
 * value is two, low words and high words (e_parts). Semantics of core/ir/scalar_ops.h. */
#include "core/emit/spirv/pair.h"

/* Amounts beyond 63: 0, or the sign. */
static mx_pair shift(mx m, int code, mx_pair a, mx_pair b) {
  emitter *e = m.e;
  uint32_t zero = mx_uk(m, 0), last = mx_uk(m, 63);
  uint32_t big = mx_or(m, VAL(&e->s, OpINotEqual, m.bt, b.high, zero), VAL(&e->s, OpUGreaterThan, m.bt, b.low, last));
  uint32_t amount = mx_upick(m, big, last, b.low);
  if (code != SC_SHR) return mx_pair_pick(m, big, mx_pair_k(m, 0), mx_pair_shl_far(m, a, amount));
  mx_pair r = mx_pair_shr(m, OpShiftRightArithmetic, a, mx_u(m, OpBitwiseAnd, amount, mx_uk(m, 31)));
  uint32_t sign = mx_u(m, OpShiftRightArithmetic, a.high, mx_uk(m, 31));
  return mx_pair_pick(m, VAL(&e->s, OpUGreaterThan, m.bt, amount, mx_uk(m, 31)), (mx_pair){r.high, sign}, r);
}

/* x / 0 = 0 and x rem 0 = x; the smallest number / -1 wraps. */
static mx_pair divide(mx m, bool rem, mx_pair a, mx_pair b) {
  mx_pair r, zero = mx_pair_k(m, 0), q = mx_pair_divide(m, mx_pair_abs(m, a), mx_pair_abs(m, b), &r);
  uint32_t none = mx_pair_equal(m, b, zero), minus = mx_pair_negative(m, a);
  if (rem) return mx_pair_pick(m, none, a, mx_pair_pick(m, minus, mx_pair_neg(m, r), r));
  uint32_t differ = VAL(&m.e->s, OpLogicalNotEqual, m.bt, minus, mx_pair_negative(m, b));
  return mx_pair_pick(m, none, zero, mx_pair_pick(m, differ, mx_pair_neg(m, q), q));
}

/* By squaring; negative exponents give 0 but for bases 1 and -1. */
static mx_pair power(mx m, mx_pair a, mx_pair b) {
  emitter *e = m.e;
  mx_pair zero = mx_pair_k(m, 0), one = mx_pair_k(m, 1), minus = mx_pair_k(m, -1);
  uint32_t below = mx_pair_negative(m, b);
  mx_pair n = mx_pair_pick(m, below, zero, b);
  mx_repeat l = mx_repeat_begin(e, m.ut, 6, (uint32_t[]){a.low, a.high, n.low, n.high, one.low, one.high});
  mx_pair base = {l.id[0], l.id[1]}, left = {l.id[2], l.id[3]}, r = {l.id[4], l.id[5]};
  uint32_t use = VAL(&e->s, OpINotEqual, m.bt, mx_u(m, OpBitwiseAnd, left.low, one.low), zero.low);
  r = mx_pair_pick(m, use, mx_pair_mul(m, r, base), r);
  base = mx_pair_mul(m, base, base);
  left = mx_pair_shr(m, OpShiftRightLogical, left, one.low);
  uint32_t go_on = VAL(&e->s, OpLogicalNot, m.bt, mx_pair_equal(m, left, zero));
  mx_repeat_end(e, &l, m.n, (uint32_t[]){base.low, base.high, left.low, left.high, r.low, r.high}, go_on);
  uint32_t odd = VAL(&e->s, OpINotEqual, m.bt, mx_u(m, OpBitwiseAnd, b.low, one.low), zero.low);
  mx_pair unit = mx_pair_pick(m, mx_pair_equal(m, a, minus), mx_pair_pick(m, odd, minus, one),
                              mx_pair_pick(m, mx_pair_equal(m, a, one), one, zero));
  return mx_pair_pick(m, below, unit, r);
}

static mx_pair both(mx m, int op, mx_pair a, mx_pair b) {
  return (mx_pair){mx_u(m, op, a.low, b.low), mx_u(m, op, a.high, b.high)};
}

static mx_pair binary(mx m, int code, mx_pair a, mx_pair b) {
  switch (code) {
    case SC_ADD: return mx_pair_add(m, a, b);
    case SC_SUB: return mx_pair_add(m, a, mx_pair_neg(m, b));
    case SC_MUL: return mx_pair_mul(m, a, b);
    case SC_DIV:
    case SC_REM: return divide(m, code == SC_REM, a, b);
    case SC_POW: return power(m, a, b);
    case SC_MIN: return mx_pair_pick(m, mx_pair_less(m, true, a, b), a, b);
    case SC_MAX: return mx_pair_pick(m, mx_pair_less(m, true, a, b), b, a);
    case SC_AND: return both(m, OpBitwiseAnd, a, b);
    case SC_OR: return both(m, OpBitwiseOr, a, b);
    case SC_XOR: return both(m, OpBitwiseXor, a, b);
    case SC_MUL_HIGH: return (mx_pair){mx_two(m, OpUMulExtended, a.low, b.low).high, mx_uk(m, 0)};
    default: return shift(m, code, a, b);
  }
}

static mx_pair unary(mx m, int code, mx_pair a) {
  switch (code) {
    case SC_NOT: return mx_pair_not(m, a);
    case SC_NEG: return mx_pair_neg(m, a);
    case SC_ABS: return mx_pair_abs(m, a);
    default: return mx_pair_pick(m, mx_pair_negative(m, a), mx_pair_k(m, 0), a); /* relu */
  }
}

static uint32_t compare(mx m, int predicate, mx_pair a, mx_pair b) {
  bool turned = predicate == CMP_GT || predicate == CMP_LE, negated;
  negated = predicate == CMP_NE || predicate == CMP_LE || predicate == CMP_GE;
  uint32_t r = predicate == CMP_EQ || predicate == CMP_NE ? mx_pair_equal(m, a, b)
               : turned                                   ? mx_pair_less(m, true, b, a)
                                                          : mx_pair_less(m, true, a, b);
  return negated ? VAL(&m.e->s, OpLogicalNot, m.bt, r) : r;
}

void e_pair_combine(emitter *e, int code, int n, uint32_t a[2], const uint32_t b[2]) {
  mx_pair r = binary(mx_of(e, n), code, (mx_pair){a[0], a[1]}, (mx_pair){b[0], b[1]});
  a[0] = r.low, a[1] = r.high;
}

/* Operand i of part p: both words, or the one of a type that is no i64. */
static mx_pair operand(emitter *e, const ir_op *op, int i, int p) {
  const ir_type *t = op->operands[i]->type;
  const sv *x = e_value(e, op->operands[i]);
  bool one = t->kind != IR_T_VECTOR; /* a scalar condition of a select of vectors */
  if (!e_is_pair(e, t)) return (mx_pair){x->part[one ? 0 : p], 0};
  return (mx_pair){x->part[one ? 0 : 2 * p], x->part[one ? 1 : 2 * p + 1]};
}

static mx_pair one_part(emitter *e, const ir_op *op, mx m, int p) {
  int code = op->def->code;
  mx_pair x[3] = {{0}};
  for (int i = 0; i < op->n_operands && i < 3; i++) x[i] = operand(e, op, i, p);
  if (code == SC_COMPARE)
    return (mx_pair){compare(m, scalar_predicate(ir_get_str(op, "predicate", "eq")), x[0], x[1]), 0};
  if (code == SC_SELECT) return mx_pair_pick(m, e_condition(e, op->operands[0]->type, x[0].low, m.n), x[1], x[2]);
  if (code == SC_FMA) return mx_pair_add(m, mx_pair_mul(m, x[0], x[1]), x[2]);
  if (code != SC_CAST) return op->n_operands == 2 ? binary(m, code, x[0], x[1]) : unary(m, code, x[0]);
  bool from = e_is_pair(e, op->operands[0]->type), to = e_is_pair(e, op->results[0]->type);
  if (from && to) return x[0];
  return to ? pair_from(m, e_dtype(e, op->operands[0]->type), x[0].low)
            : (mx_pair){pair_to(m, x[0], e_dtype(e, op->results[0]->type)), 0};
}

bool e_pair_op(emitter *e, const ir_op *op) {
  const ir_type *first = op->operands[op->def->code == SC_SELECT ? 1 : 0]->type, *result = op->results[0]->type;
  bool pairs = e_is_pair(e, result);
  if (!pairs && !e_is_pair(e, first)) return false;
  mx m = mx_of(e, e_part(e, first).n);
  sv r = {.part = {0}};
  for (int p = 0; 4 * p < e_length(first); p++) {
    mx_pair x = one_part(e, op, m, p);
    r.part[pairs ? 2 * p : p] = x.low;
    if (pairs) r.part[2 * p + 1] = x.high;
  }
  e_define(e, op->results[0], r);
  return true;
}
