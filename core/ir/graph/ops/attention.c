/* core/ir/graph/ops/attention.c - flash_attention: its row, shape rule, and what it stands for in other ops. The
 * expansion is the definition: the oracle, work and sharding follow from it, and so does the program where no kernel
 * takes the op whole. Its derivative is attention_backward.c. */
#include "core/ir/graph/ops/attention.h"

#include <math.h>

#include "core/base/dtype.h"

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
  return last >= graph_attention_first_optional(op) && TYPE(last)->dtype == TSR_I32 ? last : 0;
}

static tsr_status check_lengths(ir_op *op) {
  const int at = lengths_of(op);
  if (op->n_operands > graph_attention_first_optional(op) + 1 && !at)
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
  const int at = graph_attention_first_optional(op);
  if (op->n_operands <= at || lengths_of(op) == at) return NULL;
  const ir_type *t = TYPE(at);
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

tsr_status attention_check(ir_op *op) {
  TSR_TRY(check_operands(op));
  TSR_TRY(check_shapes(op));
  TSR_TRY(check_lengths(op));
  TSR_TRY(check_bias(op));
  return check_numbers(op);
}

static tsr_status infer_attention(ir_op *op, const ir_type **results) {
  TSR_TRY(attention_check(op));
  const int64_t *q = TYPE(Q)->dims;
  if (op->n_results < 1 || op->n_results > 2)
    return ir_error(op, "the attention, then perhaps the log-sum-exp of the scores", "%d results", op->n_results);
  if (op->n_results > 1) TSR_TRY(shape_finish(op, graph_accum_default(TYPE(Q)->dtype), RANK - 1, q, &results[1]));
  return shape_finish(op, TYPE(Q)->dtype, RANK, (int64_t[]){q[BATCH], q[HEADS], q[LENGTH], TYPE(V)->dims[WIDTH]},
                      results);
}

/* ---- what it stands for ------------------------------------------------------------------------------------------ */

ir_value *attention_fold(ir_builder *b, const graph_attention *x, ir_value *y, int64_t width) {
  if (x->heads == x->kv_heads || !x->kv_heads) return y;
  return graph_reshape(b, y, RANK, (int64_t[]){x->batch, x->kv_heads, x->heads / x->kv_heads * x->m, width});
}

ir_value *attention_unfold(ir_builder *b, const graph_attention *x, ir_value *y, int64_t width) {
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

ir_value *attention_of_keys(ir_builder *b, ir_value *v, int axis, key_block keys) {
  int64_t starts[TSR_MAX_RANK] = {0}, sizes[TSR_MAX_RANK];
  if (!v) return NULL;
  for (int i = 0; i < v->type->rank; i++) sizes[i] = v->type->dims[i];
  starts[axis] = keys.start, sizes[axis] = keys.n;
  return graph_cut(b, v, starts, sizes);
}

bool attention_bias_has_keys(const ir_op *op, const graph_attention *x) {
  const ir_type *t = TYPE(x->bias);
  return t->rank && t->dims[t->rank - 1] != 1;
}

static ir_value *bias_of(ir_builder *b, const ir_op *op, const graph_attention *x, key_block keys) {
  ir_value *bias = IN(x->bias);
  return attention_bias_has_keys(op, x) ? attention_of_keys(b, bias, bias->type->rank - 1, keys) : bias;
}

ir_value *attention_scores(ir_builder *b, const ir_op *op, const graph_attention *x, key_block keys,
                           ir_value **bounded) {
  ir_value *s = compose_dots(b, attention_fold(b, x, IN(Q), x->k), attention_of_keys(b, IN(K), LENGTH, keys), x->accum);
  *bounded = NULL;
  if (!s) return NULL;
  if (x->scale != 1) s = MUL(s, LIKE(s, x->scale));
  if (x->softcap > 0) {
    *bounded = s = graph_op1(b, G_TANH, DIV(s, LIKE(s, x->softcap)));
    s = s ? MUL(s, LIKE(s, x->softcap)) : NULL;
  }
  s = attention_unfold(b, x, s, keys.n);
  if (x->has_bias) s = ADD(s, graph_cast(b, bias_of(b, op, x, keys), x->accum));
  ir_value *length = x->lengths ? lengths(b, op, x) : NULL, *seen = s ? band(b, x, keys, s->type, length) : NULL;
  if (x->has_mask) seen = compose_join(b, G_AND, seen, bias_of(b, op, x, keys));
  return seen ? SELECT(seen, s, LIKE(s, -INFINITY)) : s;
}

EXPAND(expand_attention) {
  const graph_attention x = graph_attention_get(op);
  const bool along[TSR_MAX_RANK] = {[RANK - 1] = true}, hides = graph_attention_may_hide_rows(&x);
  ir_value *bounded, *s = attention_scores(b, op, &x, (key_block){0, x.n}, &bounded), *none = NULL;
  if (!s) return false;
  if (op->n_results > 1) out[1] = graph_reduce(b, G_LOGSUMEXP, s, along, false);
  if (hides) {
    none = graph_compare(b, CMP_EQ, graph_reduce(b, G_REDUCE_MAX, s, along, true), LIKE(s, -INFINITY));
    s = SELECT(none, LIKE(s, 0), s);
  }
  ir_value *p = attention_fold(b, &x, graph_cast(b, compose_along(b, G_SOFTMAX, s, -1), OUT->type->dtype), x.n);
  ir_value *y = attention_unfold(b, &x, compose_product(b, p, IN(V)), x.v);
  out[0] = hides ? SELECT(none, NUM(0), y) : y;
  DONE;
}

/* ---- row --------------------------------------------------------------------------------------------------------- */

static const ir_opdef rows[] = {
    {COMPOSITE(FLASH_ATTENTION, "flash_attention", 3, 5, IR_VARIADIC), .operands_doc = "q, k, v, bias or mask, lengths",
     .types_doc = "f64, f32, f16, bf16; the bias also f32, the mask bool, lengths i32", .infer = infer_attention,
     .ext = ROW(GRAPH_ATTENTION, .expand = expand_attention, .adjoint = attention_adjoint, .shown = "FlashAttn"),
     .attrs = ATTRS({"scale", IR_A_FLOAT, false, NULL, "of the products; 1 / sqrt(head_dim) if absent"},
                    {"causal", IR_A_BOOL, false, "false", "query i sees keys up to i + keys - queries"},
                    {"window", IR_A_INT, false, "0",
                     "keys that are so far from the query's place, or farther, aren't seen; 0: all are"},
                    {"softcap", IR_A_FLOAT, false, "0", "scores become softcap tanh(score / softcap); 0: they stay"}),
     .help =
         "softmax(cap(scale q k^T) + bias) v of q [batch, heads, queries, head_dim], k [batch, kv_heads, keys, "
         "head_dim] and v [batch, kv_heads, keys, width]; heads / kv_heads neighbouring heads share keys and values. "
         "The bias is added, and a mask says which keys are seen; both are repeated to [batch, heads, queries, "
         "keys]. The place of query i is that of key i + keys - queries. With lengths, [batch] or [batch, kv_heads], "
         "there are so many keys, 0 to all of them: what lies behind is not seen, and the place of query i is that of "
         "key i + length - queries. The second result, if asked for, is log(sum(exp(score))) of each query, [batch, "
         "heads, queries], f32, of f64 f64: -inf where nothing is seen. A query that sees no key gives zeros. So does "
         "one that sees none whose score isn't -inf, where whole rows may be hidden: by a bias, a mask, lengths, or "
         "places of more queries than keys; elsewhere it gives NaN, as softmax does. So does a score that is NaN or "
         "+inf. A key that isn't seen does nothing, NaN or infinite as it may be; what its value does then is left "
         "open: tiles of keys that no query of a block sees are skipped, and in the others it is multiplied by 0. One "
         "kernel, without the scores in memory."},
};

const ir_rows graph_attention_ops = {rows, sizeof rows / sizeof *rows};
