/* core/ir/graph/ops/blocks.h - dequantize and block_matmul as other ops (compose_blocks.c); the ops: blocks.c. */
#ifndef CORE_IR_GRAPH_OPS_BLOCKS_H
#define CORE_IR_GRAPH_OPS_BLOCKS_H
#include "core/ir/graph/ops/compose.h"

/* Can it be said by other ops: formats of blocks of 32, operands that are not rounded. */
bool graph_blocks_expand(const ir_op *op);
bool graph_expand_dequantize(ir_builder *b, const ir_op *op, ir_value **out);
bool graph_expand_block_matmul(ir_builder *b, const ir_op *op, ir_value **out);
#endif
