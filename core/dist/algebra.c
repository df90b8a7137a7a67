/* core/dist/algebra.c - see algebra.h. */
#include "core/dist/algebra.h"

#include <string.h>

#include "core/base/dtype.h"

static dist_class *class_with(dist_class *c, int *n, int result, int reduced_dim) {
  for (int i = 0; i < *n; i++)
    if (c[i].result == result && (result >= 0 || reduced_dim < 0 || c[i].dim[0] == reduced_dim)) return &c[i];
  dist_class *x = &c[(*n)++];
  *x = (dist_class){.result = result};
  memset(x->dim, -1, sizeof x->dim);
  return x;
}

static void put(dist_class *c, int operand, int axis) { c->dim[operand] = (int8_t)axis; }

static dist_how how_of(const ir_op *op) {
  return graph_is(op, G_REDUCE_MAX)    ? DIST_MAX
         : graph_is(op, G_REDUCE_MIN)  ? DIST_MIN
         : graph_is(op, G_REDUCE_PROD) ? DIST_PROD
                                       : DIST_SUM;
}

/* Partial values are made by reductions and contractions alone. */
static bool may_be_partial(const ir_op *op) {
  return graph_is_kind(op, GRAPH_REDUCTION) || graph_is_kind(op, GRAPH_CONTRACTION);
}

/* Entries of the batch and heads apart from each other; queries too where a query's place doesn't matter. */
static int attention_classes(const ir_op *op, dist_class *c) {
  const graph_attention x = graph_attention_get(op);
  int n = 0;
  for (int d = 0; d < 3; d++) {
    if (d == 2 && (graph_attention_is_banded(&x) || x.lengths)) continue;
    dist_class *k = class_with(c, &n, d, -1);
    k->even = d == 1; /* heads of queries and of keys are counted against each other */
    for (int i = 0; i < (d == 2 ? 1 : 3); i++) put(k, i, d);
    const ir_type *bias = x.bias ? op->operands[x.bias]->type : NULL;
    const int at = bias ? d - (4 - bias->rank) : -1;
    if (at >= 0 && bias->dims[at] != 1) put(k, x.bias, at);
    if (x.lengths && d == 0) put(k, x.lengths, 0);
  }
  return n;
}

bool dist_classes(arena *a, const ir_op *op, dist_class **out, int *n) {
  *out = NULL;
  *n = 0;
  if (!op->n_operands || op->n_operands > DIST_MAX_OPERANDS || !op->n_results) return true;
  for (int i = 0; i < op->n_results; i++)
    if (ir_type_count(op->results[i]->type) == IR_DYNAMIC) return true;
  dist_class few[2 * TSR_MAX_RANK + 1];
  if (graph_is_kind(op, GRAPH_ATTENTION)) *n = attention_classes(op, few);
  for (int i = 0; i < op->n_operands && !graph_is_kind(op, GRAPH_ATTENTION); i++)
    for (int d = 0; d < op->operands[i]->type->rank; d++) {
      int to;
      const graph_shard s = graph_shard_of(op, i, d, &to);
      if (s == SHARD_WHOLE || (s == SHARD_PARTIAL && !may_be_partial(op))) continue;
      if (s == SHARD_CARRIES) {
        put(class_with(few, n, to, -1), i, d);
        continue;
      }
      dist_class *c = class_with(few, n, -1, graph_is_kind(op, GRAPH_REDUCTION) ? d : -1);
      put(c, i, d);
      c->how = how_of(op);
      c->rounds = dtype_is_float(dtype_part(op->results[0]->type->dtype)) && c->how != DIST_MAX && c->how != DIST_MIN;
    }
  if (*n && !(*out = arena_dup(a, few, sizeof *few * (size_t)*n))) return false;
  return true;
}

bool dist_passes_partial(const ir_op *op, uint64_t partial, dist_how how) {
  const uint64_t all = op->n_operands == 64 ? ~0ull : (1ull << op->n_operands) - 1;
  if (!op->n_operands || op->n_operands > DIST_MAX_OPERANDS) return false;
  if (graph_is_kind(op, GRAPH_MOVE) || graph_is(op, G_CONCAT)) return partial == all;
  if (how != DIST_SUM) return false;
  if (graph_is(op, G_ADD) || graph_is(op, G_SUB) || graph_is(op, G_NEG)) return partial == all;
  if (graph_is(op, G_MUL)) return partial == 1 || partial == 2;
  return graph_is(op, G_DIV) && partial == 1 && dtype_is_float(op->results[0]->type->dtype);
}
