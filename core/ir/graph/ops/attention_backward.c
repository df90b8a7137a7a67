/* core/ir/graph/ops/attention_backward.c - the derivative of flash_attention: the op flash_attention_backward with its
 * row, shape rule and what it stands for in other ops, and the adjoint that builds it. exp(score - log-sum-exp) is
 * computed again for keys block by block, so that no more scores than those of a block are in memory (Dao et al.
 * 2022). With p that, the gradient of a score is p (dy v - shift), where shift is the sum of dy y over the width less
 * the gradient of the log-sum-exp. */
#include <math.h>

#include "core/base/dtype.h"
#include "core/base/int_math.h"
#include "core/ir/graph/ops/attention.h"

/* ---- shape rule -------------------------------------------------------------------------------------------------- */

static tsr_status check_given(ir_op *op, int operand, const char *name, tsr_dtype t, int rank, const int64_t *dims) {
  const ir_type *x = TYPE(operand);
  ir_type like = {.kind = IR_T_TENSOR, .dtype = t, .rank = rank};
  char a[128], c[128];
  bool fits = x->dtype == t && x->rank == rank;
  for (int i = 0; i < rank; i++) {
    like.dims[i] = dims[i];
    fits = fits && !shape_differs(x->dims[i], dims[i]);
  }
  return fits
             ? NULL
             : ir_error(op, NULL, "%s is %s, not %s", name, shape_text(x, a, sizeof a), shape_text(&like, c, sizeof c));
}

static tsr_status infer_backward(ir_op *op, const ir_type **results) {
  TSR_TRY(attention_check(op));
  const ir_type *q = TYPE(Q);
  const int64_t y[RANK] = {q->dims[BATCH], q->dims[HEADS], q->dims[LENGTH], TYPE(V)->dims[WIDTH]};
  const tsr_dtype accum = graph_accum_default(q->dtype);
  TSR_TRY(check_given(op, DY, "dy", q->dtype, RANK, y));
  TSR_TRY(check_given(op, LSE, "the log-sum-exp", accum, RANK - 1, q->dims));
  TSR_TRY(check_given(op, SHIFT, "shift", accum, RANK - 1, q->dims));
  if (op->n_results != 3) return ir_error(op, "dq, dk and dv", "%d results", op->n_results);
  for (int i = Q; i <= V; i++) TSR_TRY(shape_finish(op, accum, RANK, TYPE(i)->dims, &results[i]));
  return NULL;
}

/* ---- what it stands for ------------------------------------------------------------------------------------------ */

enum { LEAST_KEYS = 128, MOST_BLOCKS = 16 };

typedef struct attention_back {
  ir_builder *b;
  const ir_op *op; /* flash_attention_backward */
  graph_attention x;
  bool for_bias;         /* its gradient alone is wanted; else those of q, k and v */
  ir_value *lse, *shift; /* columns: [batch, heads, queries, 1] */
  ir_value *dq, *dbias;  /* so far */
  int n;                 /* blocks of keys, whose gradients are */
  ir_value *dk[MOST_BLOCKS + 1], *dv[MOST_BLOCKS + 1], *by_key[MOST_BLOCKS + 1]; /* by_key: of a bias that has keys */
} attention_back;

static ir_value *as_column(const attention_back *a, ir_value *v) {
  return graph_reshape(a->b, v, RANK, (int64_t[]){a->x.batch, a->x.heads, a->x.m, 1});
}

/* A product of what is stored [.., k, m] where transpose_a by [.., k, n]; in the type of sums. */
static ir_value *product(const attention_back *a, ir_value *x, ir_value *y, bool transpose_a) {
  return compose_oriented_as(a->b, x, y, transpose_a, false, a->x.accum);
}

/* The blocks' parts of a gradient, one behind the other. */
static ir_value *joined(const attention_back *a, ir_value *const *parts, int axis) {
  for (int i = 0; i < a->n; i++)
    if (!parts[i]) return NULL;
  return a->n > 1 ? graph_concat(a->b, a->n, parts, axis) : parts[0];
}

static ir_value *narrow(const attention_back *a, ir_value *v) {
  const ir_op *op = a->op;
  return graph_cast(a->b, v, TYPE(Q)->dtype);
}

static void add_bias(attention_back *a, ir_value *ds, key_block keys) {
  ir_builder *b = a->b;
  const ir_op *op = a->op;
  ir_type t = *TYPE(a->x.bias);
  const bool each = attention_bias_has_keys(op, &a->x);
  if (!ds || b->failed) return;
  if (each) t.dims[t.rank - 1] = keys.n;
  ir_value *part = adjoint_reduced(b, ds, ir_type_tensor(b->m, a->x.accum, t.rank, t.dims));
  if (each) a->by_key[a->n] = part;
  else a->dbias = compose_join(b, G_ADD, a->dbias, part);
  a->n++;
}

static void add_keys(attention_back *a, key_block keys) {
  ir_builder *b = a->b;
  const ir_op *op = a->op;
  const graph_attention *x = &a->x;
  ir_value *bounded, *s = attention_scores(b, op, x, keys, &bounded), *dy = attention_fold(b, x, IN(DY), x->v);
  ir_value *p = s ? graph_op1(b, G_EXP, SUB(s, a->lse)) : NULL;
  ir_value *ds = p ? compose_dots(b, dy, attention_of_keys(b, IN(V), LENGTH, keys), x->accum) : NULL;
  ds = ds ? attention_unfold(b, x, ds, keys.n) : NULL;
  ds = ds ? SUB(ds, a->shift) : NULL;
  if (!ds) return;
  ds = MUL(p, ds);
  if (a->for_bias) {
    add_bias(a, ds, keys);
    return;
  }
  a->dv[a->n] = product(a, attention_fold(b, x, narrow(a, p), keys.n), dy, true);
  if (bounded && ds) {
    bounded = attention_unfold(b, x, bounded, keys.n);
    ds = MUL(ds, SUB(LIKE(ds, 1), MUL(bounded, bounded)));
  }
  if (ds && x->scale != 1) ds = MUL(ds, LIKE(ds, x->scale));
  ds = ds ? attention_fold(b, x, narrow(a, ds), keys.n) : NULL;
  if (!ds) return;
  a->dk[a->n++] = product(a, ds, attention_fold(b, x, IN(Q), x->k), true);
  a->dq = compose_join(b, G_ADD, a->dq, product(a, ds, attention_of_keys(b, IN(K), LENGTH, keys), false));
}

/* All keys, a block at a time. A query that sees nothing has a log-sum-exp of -inf. */
static void add_all(attention_back *a) {
  ir_builder *b = a->b;
  const ir_op *op = a->op;
  const int64_t size = max64(LEAST_KEYS, round_up(a->x.n / MOST_BLOCKS, 64));
  ir_value *l = IN(LSE);
  if (graph_attention_may_hide_rows(&a->x)) l = SELECT(graph_compare(b, CMP_EQ, l, LIKE(l, -INFINITY)), LIKE(l, 0), l);
  a->lse = as_column(a, l);
  a->shift = as_column(a, IN(SHIFT));
  for (int64_t at = 0; at < a->x.n && !b->failed; at += size)
    add_keys(a, (key_block){at, min64(a->x.n - at, size)});
}

/* Without scores. Heads without width have some: of them, the bias and the log-sum-exp there are gradients. */
static bool is_empty(const graph_attention *x) { return !x->batch || !x->heads || !x->m || !x->n; }

EXPAND(expand_backward) {
  attention_back a = {.b = b, .op = op, .x = graph_attention_get(op)};
  if (is_empty(&a.x)) {
    for (int i = 0; i < op->n_results; i++) out[i] = graph_fill(b, op->results[i]->type, 0);
    DONE;
  }
  add_all(&a);
  if (b->failed || !a.dq) return false;
  out[Q] = attention_unfold(b, &a.x, a.dq, a.x.k);
  out[K] = joined(&a, a.dk, LENGTH);
  out[V] = joined(&a, a.dv, LENGTH);
  DONE;
}

/* ---- adjoint of flash_attention ---------------------------------------------------------------------------------- */

/* What the op lacks is computed anew. */
static ir_op *with_log_sum(ir_builder *b, ir_op *op, tsr_dtype accum) {
  const ir_type *types[2] = {OUT->type, ir_type_tensor(b->m, accum, RANK - 1, TYPE(Q)->dims)};
  if (op->n_results > 1) return op;
  ir_op *both = types[1] ? ir_op_new(b, op->def, op->n_operands, op->operands, 2, types, 0) : NULL;
  return both && ir_attrs_copy(both, op) ? both : NULL;
}

/* The sum of dy y over the width, less the gradient of the log-sum-exp; NULL stands for zeros. */
static ir_value *shift_of(ir_builder *b, ir_value *dy, ir_value *y, ir_value *dl, tsr_dtype accum) {
  const bool along[TSR_MAX_RANK] = {[RANK - 1] = true};
  if (!dy) return NEG(dl);
  ir_value *products = MUL(graph_cast(b, dy, accum), graph_cast(b, y, accum));
  ir_value *sum = products ? graph_reduce(b, G_REDUCE_SUM, products, along, false) : NULL;
  return dl && sum ? SUB(sum, dl) : sum;
}

static ir_op *backward_of(ir_builder *b, ir_op *op, const graph_attention *x, ir_value *dy, ir_value *lse,
                          ir_value *shift) {
  ir_value *v[8] = {IN(Q), IN(K), IN(V), dy, lse, shift};
  const ir_type *types[3];
  int n = SHIFT + 1;
  for (int i = BIAS; i < op->n_operands; i++) v[n++] = IN(i);
  for (int i = Q; i <= V; i++)
    if (!(types[i] = ir_type_tensor(b->m, x->accum, RANK, TYPE(i)->dims))) return NULL;
  ir_op *back = dy && lse && shift ? ir_op_new(b, graph_def(G_FLASH_ATTENTION_BACKWARD), n, v, 3, types, 0) : NULL;
  return back && ir_attrs_copy(back, op) ? back : NULL;
}

bool attention_adjoint(ir_builder *b, ir_op *op, ir_value *g, ir_value **grads) {
  const graph_attention x = graph_attention_get(op);
  ir_value *dl = op->n_results > 1 ? op->results[1]->data : NULL;
  if (is_empty(&x) || (!g && !dl)) return true;
  ir_op *both = with_log_sum(b, op, x.accum);
  ir_value *shift = both ? shift_of(b, g, both->results[0], dl, x.accum) : NULL;
  ir_value *dy = g ? g : graph_fill(b, OUT->type, 0);
  ir_op *back = shift ? backward_of(b, op, &x, dy, both->results[1], shift) : NULL;
  if (!back) return false;
  for (int i = Q; i <= V; i++) grads[i] = graph_cast(b, back->results[i], TYPE(i)->dtype);
  if (!x.has_bias) END;
  attention_back a = {.b = b, .op = back, .x = graph_attention_get(back), .for_bias = true};
  add_all(&a);
  if (attention_bias_has_keys(op, &x)) a.dbias = joined(&a, a.by_key, TYPE(BIAS)->rank - 1);
  if (a.dbias) grads[BIAS] = graph_cast(b, a.dbias, TYPE(BIAS)->dtype);
  END;
}

/* ---- row --------------------------------------------------------------------------------------------------------- */

static const ir_opdef rows[] = {
    {COMPOSITE(FLASH_ATTENTION_BACKWARD, "flash_attention_backward", 6, 8, 3),
     .operands_doc = "q, k, v, dy, lse, shift, bias or mask, lengths",
     .types_doc = "f64, f32, f16, bf16; the bias also f32, the mask bool, lengths i32, lse and shift f32 or f64",
     .infer = infer_backward,
     .ext = ROW(GRAPH_ATTENTION_BACKWARD, .expand = expand_backward, .shown = "FlashAttnBackward"),
     .attrs =
         ATTRS({"scale", IR_A_FLOAT, false, NULL, "as of flash_attention, like the others"},
               {"causal", IR_A_BOOL, false, "false", "query i sees keys up to i + keys - queries"},
               {"window", IR_A_INT, false, "0", "keys that are so far from the query's place aren't seen; 0: all are"},
               {"softcap", IR_A_FLOAT, false, "0", "scores become softcap tanh(score / softcap); 0: they stay"}),
     .help =
         "The gradients dq, dk, dv of q, k and v of flash_attention with these operands and attributes, in the type of "
         "sums (f32, of f64 f64), where dy is the gradient of its first result, lse [batch, heads, queries] its second "
         "result, and shift, of that shape, the sum of dy times the first result over the width, less the gradient of "
         "lse. With p = exp(score - lse), which is computed again: dv = p^T dy, and with ds = scale p (dy v^T - "
         "shift), "
         "times 1 - tanh^2 where scores have a cap, dq = ds k and dk = ds^T q. What a query doesn't see has p = 0, and "
         "one that sees nothing, whose lse is -inf, no gradient. What NaN and infinity in keys and values that a query "
         "doesn't see do to its gradients, or in such a query and its dy to theirs, is left open. On the CPU one "
         "kernel, without the scores in memory; elsewhere other ops, for keys block by block."},
};

const ir_rows graph_attention_backward_ops = {rows, sizeof rows / sizeof *rows};
