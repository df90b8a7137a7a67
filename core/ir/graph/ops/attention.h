/* core/ir/graph/ops/attention.h - what flash_attention and its derivative share: rules of operands, and how heads,
 * keys and scores are written in other ops. A function that builds gives NULL once the builder has failed. */
#ifndef CORE_IR_GRAPH_OPS_ATTENTION_H
#define CORE_IR_GRAPH_OPS_ATTENTION_H
#include "core/ir/graph/ops/compose.h"

enum { Q, K, V, BIAS, DY = BIAS, LSE, SHIFT }; /* operands; BIAS: of flash_attention, the others of its derivative */
enum { BATCH, HEADS, LENGTH, WIDTH, RANK };    /* dimensions of q, k and v */

/* The rules of q, k, v, of the bias and lengths behind the other operands, and of attributes. */
tsr_status attention_check(ir_op *op);

/* Some neighbouring keys of an attention. */
typedef struct key_block {
  int64_t start, n;
} key_block;

/* Heads that share keys as rows of one product, and back. */
ir_value *attention_fold(ir_builder *b, const graph_attention *x, ir_value *y, int64_t width);
ir_value *attention_unfold(ir_builder *b, const graph_attention *x, ir_value *y, int64_t width);
/* The keys' part of v, along an axis that has all of them. */
ir_value *attention_of_keys(ir_builder *b, ir_value *v, int axis, key_block keys);
/* Does the bias, or mask, have a column for each key? */
bool attention_bias_has_keys(const ir_op *op, const graph_attention *x);
/* [batch, heads, queries, keys.n]. bounded: what the cap's tanh is of each, NULL: there is no cap. */
ir_value *attention_scores(ir_builder *b, const ir_op *op, const graph_attention *x, key_block keys,
                           ir_value **bounded);
/* The adjoint of flash_attention. */
bool attention_adjoint(ir_builder *b, ir_op *op, ir_value *g, ir_value **grads);
#endif
