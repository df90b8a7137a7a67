/* core/ir/graph/table.h - the functions that rows of ir/graph/ops.c point at, besides the inference rules. */
#ifndef CORE_IR_GRAPH_TABLE_H
#define CORE_IR_GRAPH_TABLE_H
#include "core/ir/graph/ops.h"

/* ir/graph/scalar.c: X(CODE, name, takes integers too) */
#define GRAPH_SCALARS(X)                                                                                            \
  X(ADD, add, 1) X(SUB, sub, 1) X(MUL, mul, 1) X(DIV, div, 1) X(REM, rem, 1) X(POW, pow, 1) X(MIN, min, 1) X(MAX, max, 1) \
  X(AND, and, 1) X(OR, or, 1) X(NEG, neg, 1) X(ABS, abs, 1) X(EXP, exp, 0) X(LOG, log, 0) X(SQRT, sqrt, 0)             \
  X(RSQRT, rsqrt, 0) X(TANH, tanh, 0) X(ERF, erf, 0) X(SIGMOID, sigmoid, 0) X(RELU, relu, 1) X(GELU, gelu, 0)        \
  X(SILU, silu, 0) X(SIN, sin, 0) X(COS, cos, 0) X(FLOOR, floor, 0) X(NOT, not, 1) X(COMPARE, compare, 1)           \
  X(SELECT, select, 1)

#define DECLARE(CODE, name, integer)                  \
  double scalar_##name(int variant, const double *x); \
  int64_t integer_##name(int variant, const int64_t *x);
GRAPH_SCALARS(DECLARE)
#undef DECLARE

/* ir/graph/eval_ops.c */
tsr_status eval_elementwise(graph_evaluator *e, ir_op *op, int64_t at);
tsr_status eval_cast(graph_evaluator *e, ir_op *op, int64_t at);
tsr_status eval_constant(graph_evaluator *e, ir_op *op, int64_t at);
tsr_status eval_matmul(graph_evaluator *e, ir_op *op, int64_t at);
tsr_status eval_reduce(graph_evaluator *e, ir_op *op, int64_t at);
tsr_status eval_softmax(graph_evaluator *e, ir_op *op, int64_t at);
tsr_status eval_norm(graph_evaluator *e, ir_op *op, int64_t at);
tsr_status eval_move(graph_evaluator *e, ir_op *op, int64_t at); /* reshape, transpose, slice, broadcast */
tsr_status eval_concat(graph_evaluator *e, ir_op *op, int64_t at);
tsr_status eval_pad(graph_evaluator *e, ir_op *op, int64_t at);

/* ir/graph/adjoint.c */
#define GRAPH_ADJOINTS(X)                                                                                                  \
  X(zero) X(add) X(sub) X(mul) X(div) X(rem) X(pow) X(max) X(min) X(neg) X(abs) X(exp) X(log) X(sqrt) X(rsqrt) X(tanh) X(erf)  \
  X(sigmoid) X(relu) X(gelu) X(silu) X(sin) X(cos) X(select) X(cast) X(broadcast) X(matmul) X(reduce_sum) X(reduce_mean)       \
  X(reduce_extreme) X(reduce_prod) X(softmax) X(norm) X(reshape) X(transpose) X(slice) X(concat) X(pad)

#define DECLARE(name) bool adjoint_##name(ir_builder *b, ir_op *op, ir_value *grad, ir_value **grads);
GRAPH_ADJOINTS(DECLARE)
#undef DECLARE
#endif
