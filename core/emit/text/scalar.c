/* core/emit/text/scalar.c - C++ expressions of the scalar operations (core/ir/scalar_ops.h), on scalars or one element
 * of vectors. Narrow floats are computed in f32 and rounded; integers wrap, so they are computed unsigned. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/dtype.h"
#include "core/base/number.h"
#include "core/emit/text/scalar.h"

static bool is_narrow(tsr_dtype t) { return t == TSR_F16 || t == TSR_BF16 || t == TSR_F8E4M3 || t == TSR_F8E5M2; }
static bool is_index(const ir_type *t) { return t->kind == IR_T_INDEX; }
static bool is_float(const ir_type *t) { return !is_index(t) && dtype_is_float(t->dtype); }

static const char *element_type(text_printer *p, const ir_type *t) {
  return is_index(t) ? p->wide ? "long long" : "int" : text_storage(t->dtype);
}

static const char *float_literal(text_printer *p, tsr_dtype t, double v) {
  char s[48];
  if (isnan(v) || isinf(v)) {
    const char *pos = t == TSR_F64
                          ? isnan(v) ? "bits<double>(0x7ff8000000000000ull)" : "bits<double>(0x7ff0000000000000ull)"
                      : isnan(v) ? "bits<float>(0x7fc00000u)"
                                 : "bits<float>(0x7f800000u)";
    const char *x = v < 0 ? text_fmt(p, "-%s", pos) : pos;
    return is_narrow(t) ? text_fmt(p, "%s(%s)", text_storage(t), x) : x;
  }
  number_print(s, sizeof s, t == TSR_F64 ? "%.17g" : "%.9g", v);
  const char *point = strpbrk(s, ".e") ? "" : ".0";
  if (is_narrow(t)) return text_fmt(p, "%s(%s%sf)", text_storage(t), s, point);
  return text_fmt(p, t == TSR_F64 ? "%s%s" : "%s%sf", s, point);
}

const char *text_const(text_printer *p, const ir_type *t, const ir_attr *value) {
  bool whole = value->kind == IR_A_INT || value->kind == IR_A_BOOL;
  if (is_float(t)) {
    double v = whole ? (double)value->u.i : value->u.f;
    if (t->dtype != TSR_F64) v = (double)(float)v;
    return float_literal(p, t->dtype, v);
  }
  const double f = whole ? 0 : value->u.f; /* infinities, the identities of reductions, saturate; NaN is 0 */
  long long i = whole       ? (long long)value->u.i
                : f != f    ? 0
                : f >= 0x1p63 ? INT64_MAX
                : f < -0x1p63 ? INT64_MIN
                              : (long long)f;
  if (!is_index(t) && t->dtype == TSR_BOOL) return i ? "true" : "false";
  if (i == INT64_MIN || (!is_index(t) && t->dtype == TSR_I64))
    return i == INT64_MIN ? "(-9223372036854775807ll - 1)" : text_fmt(p, "%lldll", i);
  if (i == INT32_MIN) return "(-2147483647 - 1)";
  return text_fmt(p, "%lld", i);
}

static const char *cast(text_printer *p, const ir_type *from, const ir_type *to, const char *x) {
  tsr_dtype f = is_index(from) ? p->wide ? TSR_I64 : TSR_I32 : from->dtype,
            t = is_index(to) ? p->wide ? TSR_I64 : TSR_I32 : to->dtype;
  const char *type = text_storage(t);
  if (f == t) return x;
  if (t == TSR_BOOL) return text_fmt(p, "(%s != 0)", is_narrow(f) ? text_fmt(p, "float(%s)", x) : x);
  if (f == TSR_I32 || f == TSR_I64) {
    if (t == TSR_TF32) return text_fmt(p, "tf32_round(to_odd((long long)(%s)))", x);
    if (is_narrow(t)) return text_fmt(p, "%s(to_odd((long long)(%s)))", type, x);
  }
  if (t == TSR_TF32)
    return text_fmt(p, "tf32_round(%s)", f == TSR_F64 ? text_fmt(p, "to_odd(%s)", x) : text_fmt(p, "float(%s)", x));
  if (is_narrow(t))
    return text_fmt(p, f == TSR_F64 || f == TSR_F32 || f == TSR_TF32 ? "%s(%s)" : "%s(float(%s))", type, x);
  if (dtype_is_float(f) && !dtype_is_float(t))
    return text_fmt(p, is_narrow(f) ? "to_int<%s>(float(%s))" : "to_int<%s>(%s)", type, x);
  if (!dtype_is_float(f) && f != TSR_BOOL && !dtype_is_float(t) && tsr_dtype_size(t) <= tsr_dtype_size(f))
    return text_fmt(p, "narrow<%s>(%s)", type, x);
  return text_fmt(p, is_narrow(f) ? "%s(float(%s))" : "%s(%s)", strchr(type, ' ') ? text_fmt(p, "(%s)", type) : type,
                  x);
}

/* Wrapping arithmetic: + - * on integers. */
static const char *wrap(text_printer *p, const ir_type *t, const char *a, const char *sign, const char *b) {
  if (is_index(t)) return text_fmt(p, "(%s %s %s)", a, sign, b);
  if (t->dtype == TSR_I32) return text_fmt(p, "int(unsigned(%s) %s unsigned(%s))", a, sign, b);
  if (t->dtype == TSR_I64)
    return text_fmt(p, "(long long)((unsigned long long)(%s) %s (unsigned long long)(%s))", a, sign, b);
  return text_fmt(p, "(%s)(%s %s %s)", text_storage(t->dtype), a, sign, b);
}

static const char *const float_calls[SC_N] = {
    [SC_EXP] = "fexp",     [SC_LOG] = "flog",        [SC_SQRT] = "fsqrt", [SC_RSQRT] = "frsqrt",
    [SC_TANH] = "ftanh",   [SC_ERF] = "ferf",        [SC_SIN] = "fsin",   [SC_COS] = "fcos",
    [SC_FLOOR] = "ffloor", [SC_ABS] = "fabs_",       [SC_POW] = "fpow",   [SC_REM] = "ffmod",
    [SC_MIN] = "fmin_nan", [SC_MAX] = "fmax_nan",    [SC_FMA] = "ffma",   [SC_ROUND] = "frint",
};

static const char *float_call(int code) { return float_calls[code] ? float_calls[code] : scalar_rows[code].name; }

static const char *compare(text_printer *p, int predicate, const char *const *x) {
  static const char *const signs[N_CMP] = {"==", "!=", "<", "<=", ">", ">="};
  return text_fmt(p, "(%s %s %s)", x[0], signs[predicate], x[1]);
}

static const char *float_op(text_printer *p, int code, const char *const *x, int n) {
  static const char *const signs[SC_N] = {[SC_ADD] = "+", [SC_SUB] = "-", [SC_MUL] = "*", [SC_DIV] = "/"};
  if (signs[code]) return text_fmt(p, "(%s %s %s)", x[0], signs[code], x[1]);
  if (code == SC_NEG) return text_fmt(p, "(-%s)", x[0]);
  return n == 1 ? text_fmt(p, "%s(%s)", float_call(code), x[0])
         : n == 2 ? text_fmt(p, "%s(%s, %s)", float_call(code), x[0], x[1])
                  : text_fmt(p, "%s(%s, %s, %s)", float_call(code), x[0], x[1], x[2]);
}

/* Is b a constant from 0 on below `end`? */
static bool is_known_below(const ir_value *b, int end) {
  const ir_attr *a = b->def && b->def->def->code == TG_CONST ? ir_get_attr(b->def, "value") : NULL;
  double v = !a ? -1 : a->kind == IR_A_INT ? (double)a->u.i : a->kind == IR_A_FLOAT ? a->u.f : -1;
  return v >= 0 && v < end;
}

/* C++ leaves amounts that are negative or not below the width undefined: 0 there, of shifts right the sign. */
static const char *shift(text_printer *p, const ir_type *t, int code, const char *const *x, const ir_op *op) {
  bool wide = is_index(t) ? p->wide : t->dtype == TSR_I64, is_signed = is_index(t) || dtype_get(t->dtype)->is_signed;
  int bits = is_index(t) ? p->wide ? 64 : 32 : 8 * (int)tsr_dtype_size(t->dtype);
  const char *left = bits == 32 && is_signed
                         ? text_fmt(p, "int(unsigned(%s) << %s)", x[0], x[1])
                         : text_fmt(p, "(%s)((unsigned long long)(%s) << %s)", element_type(p, t), x[0], x[1]);
  if (is_known_below(op->operands[1], bits)) return code == SC_SHL ? left : text_fmt(p, "(%s >> %s)", x[0], x[1]);
  const char *inside = text_fmt(p, wide ? "(unsigned long long)(%s) < %d" : "unsigned(%s) < %d", x[1], bits);
  if (code == SC_SHL) return text_fmt(p, "(%s ? %s : 0)", inside, left);
  if (!is_signed) return text_fmt(p, "(%s ? %s >> %s : 0)", inside, x[0], x[1]);
  return text_fmt(p, "(%s >> (%s ? %s : %d))", x[0], inside, x[1], bits - 1);
}

static const char *int_op(text_printer *p, const ir_type *t, int code, const char *const *x, const ir_op *op) {
  const char *type = element_type(p, t);
  bool is_bool = !is_index(t) && t->dtype == TSR_BOOL;
  switch (code) {
  case SC_ADD: return is_bool ? text_fmt(p, "(%s || %s)", x[0], x[1]) : wrap(p, t, x[0], "+", x[1]);
  case SC_SUB: return wrap(p, t, x[0], "-", x[1]);
  case SC_MUL: return is_bool ? text_fmt(p, "(%s && %s)", x[0], x[1]) : wrap(p, t, x[0], "*", x[1]);
  case SC_DIV:
  case SC_REM: {
    const ir_op *d = op->operands[1]->def;
    bool plain =
        d && d->def->code == TG_CONST && ir_get_attr(d, "value")->u.i > 0 && ir_get_attr(d, "value")->kind == IR_A_INT;
    if (plain && is_index(t)) return text_fmt(p, code == SC_DIV ? "(%s / %s)" : "(%s %% %s)", x[0], x[1]);
    return text_fmt(p, code == SC_DIV ? "idiv<%s>(%s, %s)" : "irem<%s>(%s, %s)", type, x[0], x[1]);
  }
  case SC_POW: return text_fmt(p, "ipow<%s>(%s, %s)", type, x[0], x[1]);
  case SC_MIN: return text_fmt(p, "imin<%s>(%s, %s)", type, x[0], x[1]);
  case SC_MAX: return text_fmt(p, "imax<%s>(%s, %s)", type, x[0], x[1]);
  case SC_AND: return text_fmt(p, is_bool ? "(%s && %s)" : "(%s & %s)", x[0], x[1]);
  case SC_OR: return text_fmt(p, is_bool ? "(%s || %s)" : "(%s | %s)", x[0], x[1]);
  case SC_XOR: return text_fmt(p, is_bool ? "(%s != %s)" : "(%s ^ %s)", x[0], x[1]);
  case SC_MUL_HIGH: /* compilers know it as their instruction */
    return text_fmt(p, "(%s)((unsigned long long)(unsigned)(%s) * (unsigned)(%s) >> 32)", type, x[0], x[1]);
  case SC_SHL:
  case SC_SHR: return shift(p, t, code, x, op);
  case SC_NOT: return text_fmt(p, is_bool ? "!%s" : "(%s)(~%s)", is_bool ? x[0] : type, x[0]);
  case SC_NEG: return wrap(p, t, "0", "-", x[0]);
  case SC_ABS: return text_fmt(p, "(%s < 0 ? %s : %s)", x[0], wrap(p, t, "0", "-", x[0]), x[0]);
  case SC_FMA: return wrap(p, t, wrap(p, t, x[0], "*", x[1]), "+", x[2]);
  default: return "0";
  }
}

/* ---- expansions of core/ir/scalar_ops.h ------------------------------------------------------------------------- */

typedef struct expanded {
  text_printer *p;
  const char *a, *constant; /* type of a number, of floats */
  const ir_op *op;          /* on integers, else NULL */
} expanded;

static scalar_value expanded_name(void *user, char name) { return (scalar_value){.p = (void *)((expanded *)user)->a}; }

static scalar_value expanded_number(void *user, double v) {
  expanded *e = user;
  char digits[32];
  number_print(digits, sizeof digits, "%.17g", v);
  return (scalar_value){
      .p = (void *)(e->op ? text_fmt(e->p, "%s", digits) : text_fmt(e->p, "%s(%s)", e->constant, digits))};
}

static scalar_value expanded_apply(void *user, int code, int variant, const scalar_value *x) {
  expanded *e = user;
  const char *args[3] = {x[0].p, x[1].p, x[2].p};
  const char *r = code == SCALAR_FINITE ? text_fmt(e->p, "finite_below(%s)", args[0])
                  : code == SC_COMPARE  ? compare(e->p, variant, args)
                  : code == SC_SELECT   ? text_fmt(e->p, "(%s ? %s : %s)", args[0], args[1], args[2])
                  : e->op ? int_op(e->p, e->op->operands[0]->type, code, args, e->op)
                          : float_op(e->p, code, args, scalar_rows[code].operands);
  return (scalar_value){.p = (void *)r};
}

static const char *expand(expanded *e, const char *text) {
  scalar_reader r = {e, expanded_name, expanded_number, expanded_apply};
  scalar_value v = {.p = NULL};
  scalar_read(&text, &r, &v);
  return v.p;
}

/* Those that take long are functions of the prelude. */
static bool is_inline(int code) {
  return scalar_rows[code].expansion && !(scalar_rows[code].traits & SCALAR_FUNCTION);
}

void text_expansions(text_printer *p) {
  for (int code = 0; code < SC_N; code++) {
    const scalar_row *row = &scalar_rows[code];
    if (!row->expansion || is_inline(code)) continue;
    text_line(p, "template <class F> FN F %s(F x) { return %s; }", row->name,
              expand(&(expanded){p, "x", "F", NULL}, row->expansion));
  }
}

const char *text_scalar(text_printer *p, const ir_op *op, const char *e) {
  const char *x[3] = {"", "", ""};
  int code = op->def->code, n = op->n_operands;
  const ir_type *t = op->operands[0]->type;
  for (int i = 0; i < n && i < 3; i++) x[i] = text_operand(p, op, i, e);
  if (code == SC_CAST) return cast(p, t, op->results[0]->type, x[0]);
  if (code == SC_SELECT) return text_fmt(p, "(%s ? %s : %s)", x[0], x[1], x[2]);
  bool narrow = !is_index(t) && is_narrow(t->dtype);
  if (narrow)
    for (int i = 0; i < n && i < 3; i++) x[i] = text_fmt(p, "float(%s)", x[i]);
  if (code == SC_COMPARE) return compare(p, scalar_predicate(ir_get_str(op, "predicate", "eq")), x);
  expanded whole = {p, x[0], NULL, op},
           real = {p, x[0], text_fmt(p, "decltype(+%s)", x[0]), NULL}; /* the plus: a vector's element is a reference */
  if (!is_float(t)) return is_inline(code) ? expand(&whole, scalar_rows[code].expansion) : int_op(p, t, code, x, op);
  const char *r = is_inline(code) ? expand(&real, scalar_rows[code].expansion) : float_op(p, code, x, n);
  return narrow ? text_fmt(p, "%s(%s)", text_storage(t->dtype), r) : r;
}
