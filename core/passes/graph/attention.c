/* core/passes/graph/attention.c - the rewrite rule that recognises attention written as its parts: a product of a
 * softmax along the last axis, whose scores are a product, scaled, and shifted or masked. Casts between floats, numbers
 * on either side and on the queries, and where-masks, as exporters write them, are looked through. The whole is one
 * kernel that keeps scores in the block. See graph/rules.h. */
#include <math.h>
#include <string.h>

#include "core/base/dtype.h"
#include "core/passes/graph/rules.h"
#include "core/passes/switches.h"

enum { RANK = 4 };

typedef struct attention {
  rewrite *r;
  double scale;
  ir_value *q, *k, *v; /* k as [.., keys, width] */
  ir_value *bias;      /* NULL: none */
} attention;

static ir_value *refuse(rewrite *r, const char *why) {
  r->why = why;
  return NULL;
}

static bool is_float(const ir_value *v) { return dtype_is_float(v->type->dtype); }

/* v before casts between floats, which the kernel does without; *shared: something else needs what is left out. */
static ir_value *through_casts(ir_value *v, bool *shared) {
  while (graph_is(v->def, G_CAST) && is_float(v) && is_float(v->def->operands[0])) {
    *shared |= v->n_uses != 1;
    v = v->def->operands[0];
  }
  return v;
}

/* v without a number that it is multiplied by. */
static ir_value *through_scale(ir_value *v, double *scale) {
  double c;
  const ir_op *op = v->def;
  for (int i = 0; i < 2; i++)
    if (graph_is(op, G_MUL) && splat_of(op->operands[i], &c) && op->operands[1 - i]->type == v->type && isfinite(c)) {
      *scale *= c;
      return op->operands[1 - i];
    }
  if (graph_is(op, G_DIV) && splat_of(op->operands[1], &c) && c != 0 && isfinite(c) &&
      op->operands[0]->type == v->type) {
    *scale /= c;
    return op->operands[0];
  }
  return v;
}

/* The product that scores come from, through casts and factors; NULL: none. */
static ir_op *scores_of(ir_value *v, double *scale, bool *shared) {
  for (ir_value *next;; v = next) {
    *shared |= v->n_uses != 1;
    if (graph_is_kind(v->def, GRAPH_CONTRACTION)) return v->def;
    next = through_scale(through_casts(v, shared), scale);
    if (next == v) return NULL;
  }
}

/* Where `seen` is false the scores are this: nothing of the key is left. */
static bool hides(double fill) { return fill <= -1e9; }

static ir_value *negated(ir_builder *b, ir_value *mask) { return graph_op1(b, G_NOT, mask); }

/* The bias that stands for select(mask, s, fill), or for it with its sides exchanged: the mask itself where nothing can
 * be left of a row, which else is the average of all values. */
static ir_value *bias_of(attention *a, ir_value *mask, double fill, bool seen_first, tsr_dtype t) {
  ir_builder *b = &a->r->b;
  if (isinf(fill)) return seen_first ? mask : negated(b, mask);
  ir_value *none = graph_number(b, t, 0), *hidden = graph_number(b, t, fill);
  return graph_op3(b, G_SELECT, mask, seen_first ? none : hidden, seen_first ? hidden : none);
}

/* What the softmax is of: the scores' product, with a->scale and a->bias set. NULL: something else. */
static ir_op *match_scores(attention *a, ir_value *v, bool *shared) {
  double fill;
  bool also;
  *shared |= v->n_uses != 1;
  v = through_casts(v, shared);
  ir_op *op = v->def, *product;
  *shared |= v->n_uses != 1;
  for (int i = 0; graph_is(op, G_ADD) && i < 2; i++) {
    a->scale = 1, also = *shared;
    if (op->operands[i]->type != v->type || !(product = scores_of(op->operands[i], &a->scale, &also))) continue;
    a->bias = op->operands[1 - i];
    return *shared = also, product;
  }
  for (int i = 1; graph_is(op, G_SELECT) && i < 3; i++) {
    a->scale = 1, also = *shared;
    if (!splat_of(op->operands[3 - i], &fill) || !hides(fill) || op->operands[i]->type != v->type ||
        !(product = scores_of(op->operands[i], &a->scale, &also)))
      continue;
    a->bias = bias_of(a, op->operands[0], fill, i == 1, v->type->dtype);
    return *shared = also, a->bias ? product : NULL;
  }
  a->scale = 1;
  return scores_of(v, &a->scale, shared);
}

/* The last two dimensions exchanged. */
static ir_value *swapped(ir_builder *b, ir_value *v) {
  int perm[TSR_MAX_RANK];
  const int n = v->type->rank;
  for (int i = 0; i < n; i++) perm[i] = i;
  perm[n - 1] = n - 2, perm[n - 2] = n - 1;
  return graph_transpose(b, v, perm);
}

/* [.., n, d] as [batch, heads, n, d]. Dimensions are put in front, and batch and heads repeated, by a view: a reshape
 * would want the elements in order. NULL: they don't repeat. */
static ir_value *as_heads(ir_builder *b, ir_value *v, const int64_t *lead, bool may_share_heads) {
  int64_t dims[RANK] = {1, 1, 1, 1};
  const int missing = RANK - v->type->rank;
  memcpy(dims + missing, v->type->dims, sizeof *dims * (size_t)v->type->rank);
  if ((dims[0] != lead[0] && dims[0] != 1) || (dims[1] != lead[1] && dims[1] != 1)) return NULL;
  const bool share = may_share_heads && dims[1] == 1;
  return graph_broadcast(b, v, RANK, (int64_t[]){lead[0], share ? 1 : lead[1], dims[2], dims[3]});
}

static const char *why_not(const attention *a, const ir_op *root, const ir_op *product, bool shared) {
  const tsr_dtype t = root->results[0]->type->dtype;
  if (!pass_enabled(a->r->options, "fusion", "flash_attention")) return "flash_attention is switched off";
  if (shared) return "something else needs the scores or their softmax";
  if (root->results[0]->type->rank > RANK) return "more than four dimensions";
  if (a->q->type->dtype != t || a->k->type->dtype != t || a->v->type->dtype != t || tsr_dtype_size(t) < 2)
    return "queries, keys and values are not of one type of 16 bits or more";
  if (ir_get_attr(root, "accum_dtype") || ir_get_attr(product, "accum_dtype") || ir_get_attr(root, "tile_shape") ||
      ir_get_attr(product, "tile_shape"))
    return "its products have types of sums or tiles of their own";
  if (a->bias && a->bias->type->dtype != TSR_BOOL && a->bias->type->dtype != t && a->bias->type->dtype != TSR_F32)
    return "its bias has another type";
  return a->bias && a->bias->type->rank > RANK ? "more than four dimensions" : NULL;
}

static ir_value *build(attention *a, const ir_value *result) {
  ir_builder *b = &a->r->b;
  int64_t lead[2] = {1, 1};
  const ir_type *t = result->type;
  for (int i = 0; i + 2 < t->rank; i++) lead[i + 4 - t->rank] = t->dims[i];
  ir_value *x[4] = {as_heads(b, a->q, lead, false), as_heads(b, a->k, lead, true), as_heads(b, a->v, lead, true),
                    a->bias};
  if (b->failed) return NULL;
  if (!x[0] || !x[1] || !x[2]) return refuse(a->r, "batches or heads don't repeat");
  if (x[1]->type->dims[1] != x[2]->type->dims[1]) { /* only one of them is shared by all heads */
    x[1] = as_heads(b, a->k, lead, false), x[2] = as_heads(b, a->v, lead, false);
    if (b->failed || !x[1] || !x[2]) return NULL;
  }
  ir_value *y = graph_build(b, G_FLASH_ATTENTION, a->bias ? 4 : 3, x);
  if (!y || !ir_set_attr(y->def, "scale", ir_attr_float(b->m, a->scale))) return b->failed = true, NULL;
  const char *why = graph_attention_refusal(y->def);
  return why ? refuse(a->r, why) : graph_reshape(b, y, t->rank, t->dims);
}

ir_value *rule_recognize_attention(rewrite *r) {
  const ir_op *root = r->op;
  if (!graph_is_kind(root, GRAPH_CONTRACTION) || graph_is_transposed(root, 0)) return NULL;
  bool shared = root->operands[0]->n_uses != 1;
  ir_value *p = through_casts(root->operands[0], &shared);
  shared |= p->n_uses != 1;
  if (!graph_is(p->def, G_SOFTMAX) || graph_axis(p->def) != p->type->rank - 1) return NULL;
  if (ir_type_count(p->type) == IR_DYNAMIC) return refuse(r, "a dimension is unknown");
  attention a = {.r = r, .scale = 1};
  const ir_op *product = match_scores(&a, p->def->operands[0], &shared);
  if (r->b.failed) return NULL;
  if (!product || !is_float(product->results[0])) return refuse(r, "the softmax is not of a product's rows");
  if (graph_is_transposed(product, 0)) return refuse(r, "the queries are transposed");
  a.q = through_scale(product->operands[0], &a.scale);
  a.k = through_scale(product->operands[1], &a.scale);
  a.v = root->operands[1];
  const char *why = why_not(&a, root, product, shared);
  if (why) return refuse(r, why);
  if (!graph_is_transposed(product, 1)) a.k = swapped(&r->b, a.k);
  if (graph_is_transposed(root, 1)) a.v = swapped(&r->b, a.v);
  return a.k && a.v ? build(&a, root->results[0]) : NULL;
}
