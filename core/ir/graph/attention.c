/* core/ir/graph/attention.c - an attention as all see it: graph_attention of ir/graph/ops.h. */
#include <math.h>

#include "core/ir/graph/ops.h"

enum { BATCH, HEADS, LENGTH, WIDTH }; /* dimensions of q, k and v */

static const ir_type *type_of(const ir_op *op, int operand) { return op->operands[operand]->type; }

int graph_attention_first_optional(const ir_op *op) { return graph_is_kind(op, GRAPH_ATTENTION_BACKWARD) ? 6 : 3; }

graph_attention graph_attention_get(const ir_op *op) {
  const int last = op->n_operands - 1, first = graph_attention_first_optional(op),
            lengths = last >= first && type_of(op, last)->dtype == TSR_I32 ? last : 0;
  const ir_type *q = type_of(op, 0), *k = type_of(op, 1), *v = type_of(op, 2),
                *bias = op->n_operands > first && lengths != first ? type_of(op, first) : NULL;
  const double by_width = q->dims[WIDTH] > 0 ? 1 / sqrt((double)q->dims[WIDTH]) : 1;
  return (graph_attention){.batch = q->dims[BATCH],
                           .heads = q->dims[HEADS],
                           .kv_heads = k->dims[HEADS],
                           .m = q->dims[LENGTH],
                           .n = k->dims[LENGTH],
                           .k = q->dims[WIDTH],
                           .v = v->dims[WIDTH],
                           .scale = ir_get_float(op, "scale", by_width),
                           .softcap = ir_get_float(op, "softcap", 0),
                           .causal = ir_get_bool(op, "causal", false),
                           .window = ir_get_int(op, "window", 0),
                           .bias = bias ? first : 0,
                           .lengths = lengths,
                           .has_bias = bias && bias->dtype != TSR_BOOL,
                           .has_mask = bias && bias->dtype == TSR_BOOL,
                           .accum = graph_accum_default(q->dtype)};
}

const char *graph_attention_refusal(const ir_op *op) {
  enum { WIDEST = 256 }; /* a query's result stays in registers */
  const graph_attention x = graph_attention_get(op);
  for (int i = 0; i < op->n_operands; i++)
    if (ir_type_count(type_of(op, i)) == IR_DYNAMIC) return "a dimension is unknown";
  if (x.k > WIDEST || x.v > WIDEST) return "heads are wider than 256";
  if (!x.k || !x.n || !x.v) return "nothing is multiplied";
  if (graph_is_kind(op, GRAPH_ATTENTION_BACKWARD) && !(x.batch && x.heads && x.m)) return "nothing is summed";
  if (x.m > INT32_MAX / 2 || x.n > INT32_MAX / 2) return "places are numbered by 32 bits";
  return NULL;
}
