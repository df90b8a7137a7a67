/* core/ir/graph/ops/adjoint.h - writing reverse-mode derivatives of ops: given g, the gradient of an op's result, build
 * the gradients of its operands. Gradients of operands that are not floats are left out. */
#ifndef CORE_IR_GRAPH_OPS_ADJOINT_H
#define CORE_IR_GRAPH_OPS_ADJOINT_H
#include "core/ir/graph/ops/row.h"

#define ADD(x, y) graph_op2(b, G_ADD, x, y)
#define SUB(x, y) graph_op2(b, G_SUB, x, y)
#define MUL(x, y) graph_op2(b, G_MUL, x, y)
#define DIV(x, y) graph_op2(b, G_DIV, x, y)
#define NEG(x) graph_op1(b, G_NEG, x)
#define SELECT(c, x, y) graph_op3(b, G_SELECT, c, x, y)
#define NUM(v) graph_number(b, op->results[0]->type->dtype, v)
#define IN(i) (op->operands[i])
#define OUT (op->results[0])
#define BEGIN(name) static bool name(ir_builder *b, ir_op *op, ir_value *g, ir_value **grads)
#define END return !b->failed

/* No gradients: the op is constant around almost every point. */
bool adjoint_none(ir_builder *b, ir_op *op, ir_value *g, ir_value **grads);
/* Sums g over what broadcasting repeated, down to the dimensions of t. */
ir_value *adjoint_reduced(ir_builder *b, ir_value *g, const ir_type *t);
/* grads[i] = g, summed over what broadcasting repeated, down to operand i's type. */
void adjoint_give(ir_builder *b, ir_op *op, ir_value **grads, int i, ir_value *g);
#endif
