/* core/ir/graph/ops/attention.c - flash_attention: its row, shape rule, and what it stands for in other ops. The
 * expansion is the definition: the oracle, work and sharding follow from it, and so does the program where no kernel
 * takes the op whole. The derivative has the keys block by block. */
#include <math.h>

#include "core/base/dtype.h"
#include "core/ir/graph/ops/compose.h"

enum { Q, K, V, BIAS };                     /* operands, the last of which may be lengths: they alone are i32 */
enum { BATCH, HEADS, LENGTH, WIDTH, RANK }; /* their dimensions */

/* ---- shape rule -------------------------------------------------------------------------------------------------- */

static tsr_status check_operands(ir_op *op) {
  static const char *const names[] = {"q", "k", "v"};
  char a[128];
  TSR_TRY(shape_floats(op));
  for (int i = Q; i <= V; i++) {
    if (TYPE(i)->dtype != TYPE(Q)->dtype)
      return ir_error(op, graph_no_cast, "%s is %s for %s", names[i], tsr_dtype_name(TYPE(i)->dtype),
                      tsr_dtype_name(TYPE(Q)->dtype));
    if (TYPE(i)->rank != RANK)
      return ir_error(op, "[batch, heads, length, head_dim]", "%s is %s", names[i], shape_text(TYPE(i), a, sizeof a));
  }
  if (tsr_dtype_size(TYPE(Q)->dtype) < 2)
    return ir_error(op, "cast q, k and v to f16 or wider", "no attention in %s", tsr_dtype_name(TYPE(Q)->dtype));
  return NULL;
}

static tsr_status check_shapes(ir_op *op) {
  const int64_t *q = TYPE(Q)->dims, *k = TYPE(K)->dims, *v = TYPE(V)->dims;
  char a[128], c[128];
  if (shape_differs(q[BATCH], k[BATCH]) || shape_differs(q[BATCH], v[BATCH]))
    return ir_error(op, "q, k and v have one batch", "batches of %lld, %lld and %lld", (long long)q[BATCH],
                    (long long)k[BATCH], (long long)v[BATCH]);
  if (shape_differs(k[HEADS], v[HEADS]) || shape_differs(k[LENGTH], v[LENGTH]))
    return ir_error(op, "a value for each key", "keys %s and values %s", shape_text(TYPE(K), a, sizeof a),
                    shape_text(TYPE(V), c, sizeof c));
  if (shape_differs(q[WIDTH], k[WIDTH]))
    return ir_error(op, "queries and keys are multiplied", "queries of %lld elements, keys of %lld",
                    (long long)q[WIDTH], (long long)k[WIDTH]);
  if (q[HEADS] != IR_DYNAMIC && k[HEADS] != IR_DYNAMIC && (k[HEADS] ? q[HEADS] % k[HEADS] : q[HEADS]))
    return ir_error(op, "each head of keys serves as many heads of queries", "%lld heads of queries for %lld of keys",
                    (long long)q[HEADS], (long long)k[HEADS]);
  return NULL;
}

/* i32, which no bias is. */
static int lengths_of(const ir_op *op) {
  const int last = op->n_operands - 1;
  return last > V && TYPE(last)->dtype == TSR_I32 ? last : 0;
}

static tsr_status check_lengths(ir_op *op) {
  const int at = lengths_of(op);
  if (op->n_operands > BIAS + 1 && !at)
    return ir_error(op, "i32, behind the bias", "lengths are %s", tsr_dtype_name(TYPE(op->n_operands - 1)->dtype));
  const ir_type *t = at ? TYPE(at) : NULL;
  char a[128];
  if (!at || (t->rank == 1 && !shape_differs(t->dims[0], TYPE(Q)->dims[BATCH])) ||
      (t->rank == 2 && !shape_differs(t->dims[0], TYPE(Q)->dims[BATCH]) &&
       !shape_differs(t->dims[1], TYPE(K)->dims[HEADS])))
    return NULL;
  return ir_error(op, "[batch], or [batch, kv_heads]", "lengths %s for a batch of %lld and %lld heads of keys",
                  shape_text(t, a, sizeof a), (long long)TYPE(Q)->dims[BATCH], (long long)TYPE(K)->dims[HEADS]);
}

static tsr_status check_bias(ir_op *op) {
  if (op->n_operands <= BIAS || lengths_of(op) == BIAS) return NULL;
  const ir_type *t = TYPE(BIAS);
  const int64_t scores[RANK] = {TYPE(Q)->dims[BATCH], TYPE(Q)->dims[HEADS], TYPE(Q)->dims[LENGTH],
                                TYPE(K)->dims[LENGTH]};
  char a[128];
  if (t->dtype != TYPE(Q)->dtype && t->dtype != TSR_F32 && t->dtype != TSR_BOOL)
    return ir_error(op, "q's type, f32 or bool", "bias is %s for %s", tsr_dtype_name(t->dtype),
                    tsr_dtype_name(TYPE(Q)->dtype));
  bool fits = t->rank <= RANK;
  for (int i = 0; fits && i < t->rank; i++)
    fits = t->dims[i] == 1 || !shape_differs(t->dims[i], scores[RANK - t->rank + i]);
  if (fits) return NULL;
  return ir_error(op, "it is repeated along dimensions of 1, or that it lacks",
                  "bias %s for scores [%lld, %lld, %lld, %lld]", shape_text(t, a, sizeof a), (long long)scores[0],
                  (long long)scores[1], (long long)scores[2], (long long)scores[3]);
}

static tsr_status check_numbers(ir_op *op) {
  const double scale = ir_get_float(op, "scale", 1), cap = ir_get_float(op, "softcap", 0);
  const int64_t window = ir_get_int(op, "window", 0);
  if (!isfinite(scale)) return ir_error(op, "a finite number", "scale %g", scale);
  if (!isfinite(cap) || cap < 0) return ir_error(op, "0 for none, else positive and finite", "softcap %g", cap);
  if (window < 0 || window > INT32_MAX)
    return ir_error(op, "0 for none, else 1 to 2147483647", "window %lld", (long long)window);
  return NULL;
}

static tsr_status infer_attention(ir_op *op, const ir_type **results) {
  TSR_TRY(check_operands(op));
  TSR_TRY(check_shapes(op));
  TSR_TRY(check_lengths(op));
  TSR_TRY(check_bias(op));
  TSR_TRY(check_numbers(op));
  const int64_t *q = TYPE(Q)->dims;
  if (op->n_results < 1 || op->n_results > 2)
    return ir_error(op, "the attention, then perhaps the log-sum-exp of the scores", "%d results", op->n_results);
  if (op->n_results > 1) TSR_TRY(shape_finish(op, graph_accum_default(TYPE(Q)->dtype), RANK - 1, q, &results[1]));
  return shape_finish(op, TYPE(Q)->dtype, RANK, (int64_t[]){q[BATCH], q[HEADS], q[LENGTH], TYPE(V)->dims[WIDTH]},
                      results);
}

/* ---- what it stands for ------------------------------------------------------------------------------------------ */

/* Heads that share keys are rows of one product. */
static ir_value *fold_heads(ir_builder *b, const graph_attention *x, ir_value *y, int64_t width) {
  if (x->heads == x->kv_heads || !x->kv_heads) return y;
  return graph_reshape(b, y, RANK, (int64_t[]){x->batch, x->kv_heads, x->heads / x->kv_heads * x->m, width});
}

static ir_value *unfold_heads(ir_builder *b, const graph_attention *x, ir_value *y, int64_t width) {
  if (x->heads == x->kv_heads || !x->kv_heads) return y;
  return graph_reshape(b, y, RANK, (int64_t[]){x->batch, x->heads, x->m, width});
}

/* The lengths, 0 to n, one for each head: [batch, heads, 1, 1]. */
static ir_value *lengths(ir_builder *b, const ir_op *op, const graph_attention *x) {
  ir_value *l = IN(x->lengths), *none = graph_number(b, TSR_I32, 0);
  const int64_t shared = l->type->rank > 1 ? x->kv_heads : 1, group = shared > 1 ? x->heads / x->kv_heads : 1;
  l = graph_op2(b, G_MIN, graph_op2(b, G_MAX, l, none), graph_number(b, TSR_I32, (double)x->n));
  l = graph_reshape(b, l, RANK, (int64_t[]){x->batch, shared, 1, 1});
  if (group == 1) return l;
  l = graph_broadcast(b, l, RANK, (int64_t[]){x->batch, shared, group, 1});
  return graph_reshape(b, l, RANK, (int64_t[]){x->batch, x->heads, 1, 1});
}

/* Some neighbouring keys of an attention. */
typedef struct key_block {
  int64_t start, n;
} key_block;

/* Which keys a query sees by its place, of the shape of the scores: it is computed where they are. length: of the keys,
 * NULL: n. */
static ir_value *band(ir_builder *b, const graph_attention *x, key_block keys, const ir_type *like, ir_value *length) {
  if (!length && !graph_attention_is_banded(x)) return NULL;
  ir_value *key = graph_iota(b, TSR_I32, like, RANK - 1);
  if (keys.start) key = ADD(key, graph_number(b, TSR_I32, (double)keys.start));
  ir_value *seen = length ? graph_compare(b, CMP_LT, key, length) : NULL;
  if (!graph_attention_is_banded(x)) return seen;
  ir_value *first =
      length ? SUB(length, graph_number(b, TSR_I32, (double)x->m)) : graph_number(b, TSR_I32, (double)(x->n - x->m));
  ir_value *place = ADD(graph_iota(b, TSR_I32, like, RANK - 2), first);
  ir_value *after = SUB(key, place), *window = graph_number(b, TSR_I32, (double)x->window);
  if (x->causal) seen = compose_join(b, G_AND, seen, graph_compare(b, CMP_LE, after, graph_number(b, TSR_I32, 0)));
  if (x->window) seen = compose_join(b, G_AND, seen, graph_compare(b, CMP_GT, after, NEG(window)));
  if (x->window && !x->causal) seen = compose_join(b, G_AND, seen, graph_compare(b, CMP_LT, after, window));
  return seen;
}

/* The keys' part of v, along an axis that has all of them. */
static ir_value *of_keys(ir_builder *b, ir_value *v, int axis, key_block keys) {
  int64_t starts[TSR_MAX_RANK] = {0}, sizes[TSR_MAX_RANK];
  if (!v) return NULL;
  for (int i = 0; i < v->type->rank; i++) sizes[i] = v->type->dims[i];
  starts[axis] = keys.start, sizes[axis] = keys.n;
  return graph_cut(b, v, starts, sizes);
}

/* Does the bias, or mask, have a column for each key? */
static bool bias_has_keys(const ir_op *op) { return TYPE(BIAS)->rank && TYPE(BIAS)->dims[TYPE(BIAS)->rank - 1] != 1; }

static ir_value *bias_of(ir_builder *b, const ir_op *op, key_block keys) {
  return bias_has_keys(op) ? of_keys(b, IN(BIAS), TYPE(BIAS)->rank - 1, keys) : IN(BIAS);
}

/* [batch, heads, queries, keys.n]. bounded: what the cap's tanh is of each, NULL: there is no cap. */
static ir_value *scores(ir_builder *b, const ir_op *op, const graph_attention *x, key_block keys, ir_value **bounded) {
  ir_value *s = compose_dots(b, fold_heads(b, x, IN(Q), x->k), of_keys(b, IN(K), LENGTH, keys), x->accum);
  *bounded = NULL;
  if (!s) return NULL;
  if (x->scale != 1) s = MUL(s, LIKE(s, x->scale));
  if (x->softcap > 0) {
    *bounded = s = graph_op1(b, G_TANH, DIV(s, LIKE(s, x->softcap)));
    s = s ? MUL(s, LIKE(s, x->softcap)) : NULL;
  }
  s = unfold_heads(b, x, s, keys.n);
  if (x->has_bias) s = ADD(s, graph_cast(b, bias_of(b, op, keys), x->accum));
  ir_value *length = x->lengths ? lengths(b, op, x) : NULL, *seen = s ? band(b, x, keys, s->type, length) : NULL;
  if (x->has_mask) seen = compose_join(b, G_AND, seen, bias_of(b, op, keys));
  return seen ? SELECT(seen, s, LIKE(s, -INFINITY)) : s;
}

EXPAND(expand_attention) {
  const graph_attention x = graph_attention_get(op);
  const bool along[TSR_MAX_RANK] = {[RANK - 1] = true}, hides = graph_attention_may_hide_rows(&x);
  ir_value *bounded, *s = scores(b, op, &x, (key_block){0, x.n}, &bounded), *none = NULL;
  if (!s) return false;
  if (op->n_results > 1) out[1] = graph_reduce(b, G_LOGSUMEXP, s, along, false);
  if (hides) {
    none = graph_compare(b, CMP_EQ, graph_reduce(b, G_REDUCE_MAX, s, along, true), LIKE(s, -INFINITY));
    s = SELECT(none, LIKE(s, 0), s);
  }
  ir_value *p = fold_heads(b, &x, graph_cast(b, compose_along(b, G_SOFTMAX, s, -1), OUT->type->dtype), x.n);
  ir_value *y = unfold_heads(b, &x, compose_product(b, p, IN(V)), x.v);
  out[0] = hides ? SELECT(none, NUM(0), y) : y;
  DONE;
}

/* ---- derivative -------------------------------------------------------------------------------------------------- */

/* Keys block by block, as in the kernel: exp(score - log-sum-exp) is computed again, so that no more scores than those
 * of a block are in memory (Dao et al. 2022). With p that, the gradient of a score is p (dy v - sum of dy y over the
 * width + that of the log-sum-exp). */
enum { LEAST_KEYS = 128, MOST_BLOCKS = 16 };

typedef struct attention_back {
  ir_builder *b;
  ir_op *op;
  graph_attention x;
  ir_value *dy, *lse;   /* dy: NULL where only the log-sum-exp is read */
  ir_value *shift;      /* [batch, heads, queries, 1], what is taken from each product dy v */
  ir_value *dq, *dbias; /* so far */
  int n;                /* blocks of keys, whose gradients are */
  ir_value *dk[MOST_BLOCKS + 1], *dv[MOST_BLOCKS + 1], *by_key[MOST_BLOCKS + 1]; /* by_key: of a bias that has keys */
} attention_back;

static ir_value *as_column(const attention_back *a, ir_value *v) {
  return v ? graph_reshape(a->b, v, RANK, (int64_t[]){a->x.batch, a->x.heads, a->x.m, 1}) : NULL;
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
  ir_op *op = a->op;
  return graph_cast(a->b, v, TYPE(Q)->dtype);
}

static void add_bias(attention_back *a, ir_value *ds, key_block keys) {
  ir_builder *b = a->b;
  ir_op *op = a->op;
  ir_type t = *TYPE(BIAS);
  const bool each = bias_has_keys(op);
  if (!ds || b->failed) return;
  if (each) t.dims[t.rank - 1] = keys.n;
  ir_value *part = adjoint_reduced(b, ds, ir_type_tensor(b->m, a->x.accum, t.rank, t.dims));
  if (each) a->by_key[a->n] = part;
  else a->dbias = compose_join(b, G_ADD, a->dbias, part);
}

static void add_keys(attention_back *a, key_block keys) {
  ir_builder *b = a->b;
  ir_op *op = a->op;
  const graph_attention *x = &a->x;
  ir_value *bounded, *s = scores(b, op, x, keys, &bounded), *p = s ? graph_op1(b, G_EXP, SUB(s, a->lse)) : NULL;
  ir_value *ds = NULL;
  if (!p) return;
  if (a->dy) {
    ir_value *dy = fold_heads(b, x, a->dy, x->v);
    a->dv[a->n] = product(a, fold_heads(b, x, narrow(a, p), keys.n), dy, true);
    ds = compose_dots(b, dy, of_keys(b, IN(V), LENGTH, keys), x->accum);
    ds = ds ? unfold_heads(b, x, ds, keys.n) : NULL;
  }
  ds = ds ? SUB(ds, a->shift) : a->shift ? NEG(a->shift) : NULL;
  ds = ds ? MUL(p, ds) : NULL;
  if (x->has_bias) add_bias(a, ds, keys);
  if (bounded && ds) {
    bounded = unfold_heads(b, x, bounded, keys.n);
    ds = MUL(ds, SUB(LIKE(ds, 1), MUL(bounded, bounded)));
  }
  if (ds && x->scale != 1) ds = MUL(ds, LIKE(ds, x->scale));
  ds = ds ? fold_heads(b, x, narrow(a, ds), keys.n) : NULL;
  if (!ds) return;
  a->dk[a->n++] = product(a, ds, fold_heads(b, x, IN(Q), x->k), true);
  a->dq = compose_join(b, G_ADD, a->dq, product(a, ds, of_keys(b, IN(K), LENGTH, keys), false));
}

/* The log-sum-exp, which a query that sees nothing has none of; what the op lacks is computed anew. */
static bool begin_back(attention_back *a, ir_value **y) {
  ir_builder *b = a->b;
  ir_op *op = a->op;
  const ir_type *types[2] = {OUT->type, NULL};
  if (op->n_results == 1) {
    types[1] = ir_type_tensor(b->m, a->x.accum, RANK - 1, TYPE(Q)->dims);
    op = types[1] ? ir_op_new(b, op->def, op->n_operands, op->operands, 2, types, 0) : NULL;
    if (!op || !ir_attrs_copy(op, a->op)) return false;
  }
  *y = op->results[0];
  ir_value *l = op->results[1];
  if (graph_attention_may_hide_rows(&a->x)) l = SELECT(graph_compare(b, CMP_EQ, l, LIKE(l, -INFINITY)), LIKE(l, 0), l);
  return (a->lse = as_column(a, l)) != NULL;
}

BEGIN(adjoint_attention) {
  const bool along[TSR_MAX_RANK] = {[RANK - 1] = true};
  attention_back a = {.b = b, .op = op, .x = graph_attention_get(op), .dy = g};
  const int64_t rounded = (a.x.n / MOST_BLOCKS + 63) / 64 * 64, size = rounded > LEAST_KEYS ? rounded : LEAST_KEYS;
  ir_value *dl = op->n_results > 1 ? op->results[1]->data : NULL, *y;
  if (!ir_type_count(TYPE(Q)) || !ir_type_count(TYPE(K)) || !a.x.v || (!g && !dl)) return true;
  if (!begin_back(&a, &y)) return false;
  if (g) {
    ir_value *products = MUL(graph_cast(b, g, a.x.accum), graph_cast(b, y, a.x.accum));
    a.shift = products ? graph_reduce(b, G_REDUCE_SUM, products, along, true) : NULL;
  }
  if (dl) a.shift = a.shift ? SUB(a.shift, as_column(&a, dl)) : NEG(as_column(&a, dl));
  for (int64_t at = 0; at < a.x.n && !b->failed; at += size)
    add_keys(&a, (key_block){at, a.x.n - at < size ? a.x.n - at : size});
  if (b->failed || !a.dq) return false;
  grads[Q] = narrow(&a, unfold_heads(b, &a.x, a.dq, a.x.k));
  grads[K] = narrow(&a, joined(&a, a.dk, LENGTH));
  if (g) grads[V] = narrow(&a, joined(&a, a.dv, LENGTH));
  if (a.x.has_bias && bias_has_keys(op)) a.dbias = joined(&a, a.by_key, TYPE(BIAS)->rank - 1);
  if (a.dbias) grads[BIAS] = graph_cast(b, a.dbias, TYPE(BIAS)->dtype);
  END;
}

/* ---- row --------------------------------------------------------------------------------------------------------- */

static const ir_opdef rows[] = {
    {COMPOSITE(FLASH_ATTENTION, "flash_attention", 3, 5, IR_VARIADIC), .operands_doc = "q, k, v, bias or mask, lengths",
     .types_doc = "f64, f32, f16, bf16; the bias also f32, the mask bool, lengths i32", .infer = infer_attention,
     .ext = ROW(GRAPH_ATTENTION, .expand = expand_attention, .adjoint = adjoint_attention, .shown = "FlashAttn"),
     .attrs = ATTRS({"scale", IR_A_FLOAT, false, NULL, "of the products; 1 / sqrt(head_dim) if absent"},
                    {"causal", IR_A_BOOL, false, "false", "query i sees keys up to i + keys - queries"},
                    {"window", IR_A_INT, false, "0",
                     "keys that are so far from the query's place, or farther, aren't seen; 0: all are"},
                    {"softcap", IR_A_FLOAT, false, "0", "scores become softcap tanh(score / softcap); 0: they stay"}),
     .help =
         "softmax(cap(scale q k^T) + bias) v of q [batch, heads, queries, head_dim], k [batch, kv_heads, keys, "
         "head_dim] and v [batch, kv_heads, keys, width]; heads / kv_heads neighbouring heads share keys and values. "
         "The bias is added, and a mask says which keys are seen; both are repeated to [batch, heads, queries, "
         "keys]. The place of query i is that of key i + keys - queries. A query that sees no key, or none whose "
         "score isn't -inf, gives zeros. With lengths, [batch] or [batch, kv_heads], there are so many keys, 0 to "
         "all of them: what lies behind is not seen, and the place of query i is that of key i + length - queries. "
         "The second result, if asked for, is log(sum(exp(score))) of each query, [batch, heads, queries], f32, of "
         "f64 f64: -inf where nothing is seen. What the value of a key that isn't seen does to a result, where it is "
         "NaN "
         "or infinite, is left open. One kernel, without the scores in memory."},
};

const ir_rows graph_attention_ops = {rows, sizeof rows / sizeof *rows};
