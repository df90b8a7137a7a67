/* core/ir/graph/ops/linalg_rows.h - what the files of the ops on whole matrices share: linalg.c has rows and shape
 * rules, linalg_eval.c the oracle, linalg_adjoint.c the derivatives. */
#ifndef CORE_IR_GRAPH_OPS_LINALG_ROWS_H
#define CORE_IR_GRAPH_OPS_LINALG_ROWS_H
#include "core/ir/graph/ops/row.h"

tsr_status eval_tri_solve(graph_evaluator *e, ir_op *op, int64_t at);
tsr_status eval_cholesky(graph_evaluator *e, ir_op *op, int64_t at);
tsr_status eval_qr(graph_evaluator *e, ir_op *op, int64_t at);
tsr_status eval_svd(graph_evaluator *e, ir_op *op, int64_t at);

bool adjoint_tri_solve(ir_builder *b, ir_op *op, ir_value *g, ir_value **grads);
bool adjoint_cholesky(ir_builder *b, ir_op *op, ir_value *g, ir_value **grads);
bool adjoint_qr(ir_builder *b, ir_op *op, ir_value *g, ir_value **grads);
bool adjoint_svd(ir_builder *b, ir_op *op, ir_value *g, ir_value **grads);
#endif
