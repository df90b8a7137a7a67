/* core/import/onnx/ops_compare.c - ONNX's comparisons, logic and choices. */
#include "core/base/dtype.h"
#include "core/import/onnx/tables.h"

#define COMPARE(name, predicate)                                                                                       \
  static void name(cv *c) { cv_out(c, 0, cv_compare(c, predicate, cv_need(c, 0), cv_need(c, 1))); }
COMPARE(op_equal, "eq")
COMPARE(op_less, "lt") COMPARE(op_greater, "gt") COMPARE(op_less_equal, "le") COMPARE(op_greater_equal, "ge")
#define LOGIC(name, CODE)                                                                                              \
  static void name(cv *c) { cv_out(c, 0, cv_op2(c, CODE, cv_need(c, 0), cv_need(c, 1))); }
    LOGIC(op_and, G_AND) LOGIC(op_or, G_OR) LOGIC(op_xor, G_XOR)

        static void op_not(cv *c) {
  cv_out(c, 0, cv_op1(c, G_NOT, cv_need(c, 0)));
}
static void op_isnan(cv *c) { cv_out(c, 0, cv_op1(c, G_ISNAN, cv_need(c, 0))); }

static void op_isinf(cv *c) {
  ir_value *x = cv_need(c, 0), *y = cv_op1(c, G_ISINF, x);
  const bool negative = cv_int(c, "detect_negative", 1), positive = cv_int(c, "detect_positive", 1);
  if (!negative || !positive) {
    ir_value *side = cv_compare(c, positive ? "gt" : "lt", x, cv_like(c, x, 0));
    y = cv_op2(c, G_AND, y, side);
    if (!negative && !positive && x) y = cv_fill(c, TSR_BOOL, x->type->rank, x->type->dims, 0);
  }
  cv_out(c, 0, y);
}

static void op_where(cv *c) { cv_out(c, 0, cv_where(c, cv_need(c, 0), cv_need(c, 1), cv_need(c, 2))); }

const cv_row onnx_rows_compare[] = {{"Equal", 7, op_equal},
                                    {"Less", 7, op_less},
                                    {"Greater", 7, op_greater},
                                    {"LessOrEqual", 12, op_less_equal},
                                    {"GreaterOrEqual", 12, op_greater_equal},
                                    {"And", 7, op_and},
                                    {"Or", 7, op_or},
                                    {"Xor", 7, op_xor},
                                    {"BitwiseAnd", 18, op_and},
                                    {"BitwiseOr", 18, op_or},
                                    {"BitwiseXor", 18, op_xor},
                                    {"Not", 1, op_not},
                                    {"BitwiseNot", 18, op_not},
                                    {"IsNaN", 9, op_isnan},
                                    {"IsInf", 10, op_isinf},
                                    {"Where", 9, op_where},
                                    {NULL, 0, NULL}};
