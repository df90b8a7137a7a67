/* core/passes/graph/patterns.c - the rewrite rules that recognise an operator written out from its parts. The whole op
 * is one kernel with its own, better conditioned formula. See graph/rules.h. */
#include <math.h>
#include <string.h>

#include "core/base/dtype.h"
#include "core/passes/graph/rules.h"

static ir_value *result(const rewrite *r) { return r->op->results[0]; }

/* Is c the number `want` as far as the type t can say? */
static bool about(double c, double want, tsr_dtype t) {
  double u = dtype_get(t)->eps > 1e-6 ? 2 * dtype_get(t)->eps : 2e-6;
  return fabs(c - want) <= u * fabs(want);
}

/* v as `coefficient * product of factors`: looks through multiplications, divisions by numbers and small powers. */
typedef struct product {
  double coefficient;
  ir_value *factors[8];
  int n; /* > 8: too many */
} product;

static void add_factors(product *p, ir_value *v, int depth) {
  ir_op *op = v->def;
  double c;
  if (splat_of(v, &c)) {
    p->coefficient *= c;
  } else if (depth < 8 && graph_is(op, G_MUL)) {
    add_factors(p, op->operands[0], depth + 1);
    add_factors(p, op->operands[1], depth + 1);
  } else if (depth < 8 && graph_is(op, G_DIV) && splat_of(op->operands[1], &c) && c != 0) {
    p->coefficient /= c;
    add_factors(p, op->operands[0], depth + 1);
  } else if (depth < 8 && graph_is(op, G_POW) && splat_of(op->operands[1], &c) && (c == 2 || c == 3)) {
    for (int i = 0; i < (int)c; i++) add_factors(p, op->operands[0], depth + 1);
  } else {
    if (p->n < 8) p->factors[p->n] = v;
    p->n++;
  }
}

static product product_of(ir_value *v) {
  product p = {.coefficient = 1};
  add_factors(&p, v, 0);
  return p;
}

/* v = number + other. */
static ir_value *plus_number(ir_value *v, double *c) {
  if (!graph_is(v->def, G_ADD)) return NULL;
  if (splat_of(v->def->operands[0], c)) return v->def->operands[1];
  return splat_of(v->def->operands[1], c) ? v->def->operands[0] : NULL;
}

ir_value *rule_recognize_relu(rewrite *r) {
  if (!graph_is(r->op, G_MAX)) return NULL;
  for (int i = 0; i < 2; i++)
    if (is_number(r->op->operands[i], 0) && r->op->operands[1 - i]->type == result(r)->type)
      return graph_op1(&r->b, G_RELU, r->op->operands[1 - i]);
  return NULL;
}

ir_value *rule_recognize_rsqrt(rewrite *r) {
  if (!graph_is(r->op, G_DIV) || !is_number(r->op->operands[0], 1) || !graph_is(r->op->operands[1]->def, G_SQRT))
    return NULL;
  ir_value *x = r->op->operands[1]->def->operands[0];
  return x->type == result(r)->type ? graph_op1(&r->b, G_RSQRT, x) : NULL;
}

/* v = 1 + exp(-x). */
static ir_value *logistic_denominator(ir_value *v) {
  double c;
  ir_value *e = plus_number(v, &c);
  if (!e || c != 1 || !graph_is(e->def, G_EXP)) return NULL;
  product p = product_of(e->def->operands[0]);
  if (graph_is(e->def->operands[0]->def, G_NEG)) return e->def->operands[0]->def->operands[0];
  return p.n == 1 && p.coefficient == -1 ? p.factors[0] : NULL;
}

ir_value *rule_recognize_sigmoid(rewrite *r) {
  if (!graph_is(r->op, G_DIV) || !is_number(r->op->operands[0], 1)) return NULL;
  ir_value *x = logistic_denominator(r->op->operands[1]);
  return x && x->type == result(r)->type ? graph_op1(&r->b, G_SIGMOID, x) : NULL;
}

ir_value *rule_recognize_silu(rewrite *r) {
  ir_value **o = r->op->operands;
  if (graph_is(r->op, G_DIV)) {
    ir_value *x = logistic_denominator(o[1]);
    return x && x == o[0] && x->type == result(r)->type ? graph_op1(&r->b, G_SILU, x) : NULL;
  }
  if (!graph_is(r->op, G_MUL)) return NULL;
  for (int i = 0; i < 2; i++)
    if (graph_is(o[i]->def, G_SIGMOID) && o[i]->def->operands[0] == o[1 - i]) return graph_op1(&r->b, G_SILU, o[1 - i]);
  return NULL;
}

/* ---- gelu ------------------------------------------------------------------------------------------------------ */

/* The argument of gelu's tanh: sqrt(2/pi) (x + 0.044715 x^3), or with x taken out. */
static bool is_gelu_cubic(ir_value *v, const ir_value *x) {
  product p = product_of(v);
  tsr_dtype t = x->type->dtype;
  double c;
  if (!about(p.coefficient, 0.79788456080286535588, t)) return false;
  if (p.n == 1 && graph_is(p.factors[0]->def, G_ADD)) {
    ir_value **s = p.factors[0]->def->operands;
    for (int i = 0; i < 2; i++) {
      product q = product_of(s[1 - i]);
      if (s[i] == x && q.n == 3 && about(q.coefficient, 0.044715, t) && q.factors[0] == x && q.factors[1] == x &&
          q.factors[2] == x)
        return true;
    }
  } else if (p.n == 2) {
    int i = p.factors[0] == x ? 1 : 0;
    ir_value *rest = p.factors[1 - i] == x ? plus_number(p.factors[i], &c) : NULL;
    product q = {0};
    if (rest && c == 1) q = product_of(rest);
    return q.n == 2 && about(q.coefficient, 0.044715, t) && q.factors[0] == x && q.factors[1] == x;
  }
  return false;
}

ir_value *rule_recognize_gelu(rewrite *r) {
  if (!graph_is(r->op, G_MUL) && !graph_is(r->op, G_DIV)) return NULL;
  product p = product_of(result(r));
  if (p.n != 2) return NULL;
  for (int i = 0; i < 2; i++) {
    ir_value *x = p.factors[i];
    double c;
    ir_value *rest = plus_number(p.factors[1 - i], &c); /* c + c * f(..) */
    if (!rest || x->type != result(r)->type) continue;
    product f = product_of(rest);
    tsr_dtype t = x->type->dtype;
    if (f.n != 1 || f.coefficient != c || !about(p.coefficient * c, 0.5, t)) continue;
    ir_op *g = f.factors[0]->def;
    if (graph_is(g, G_ERF)) {
      product a = product_of(g->operands[0]);
      if (a.n == 1 && a.factors[0] == x && about(a.coefficient, 0.70710678118654752440, t))
        return graph_op1(&r->b, G_GELU, x);
    } else if (graph_is(g, G_TANH) && is_gelu_cubic(g->operands[0], x)) {
      ir_value *y = graph_op1(&r->b, G_GELU, x);
      if (y && !ir_set_attr(y->def, "approximate", ir_attr_str(r->b.m, "tanh"))) r->b.failed = true;
      return y;
    }
  }
  return NULL;
}

/* ---- rows ------------------------------------------------------------------------------------------------------ */

/* v is, perhaps repeated along the row again, the reduction `code` of x over one axis. */
static bool reduction_of(const ir_value *v, graph_code code, const ir_value *x, int *axis) {
  const ir_op *op = v->def;
  bool reduced[TSR_MAX_RANK], kept;
  if (graph_is(op, G_BROADCAST)) op = op->operands[0]->def;
  const ir_type *seen = op ? op->results[0]->type : NULL;
  if (graph_is(op, G_RESHAPE)) op = op->operands[0]->def;
  if (!graph_is(op, code) || op->operands[0] != x || graph_axes(op, reduced) != 1) return false;
  *axis = 0;
  while (!reduced[*axis]) ++*axis;
  kept = seen->rank == x->type->rank;
  for (int i = 0; kept && i < x->type->rank; i++) kept = seen->dims[i] == (reduced[i] ? 1 : x->type->dims[i]);
  return kept;
}

ir_value *rule_recognize_softmax(rewrite *r) {
  int axis, max_axis;
  if (!graph_is(r->op, G_DIV)) return NULL;
  ir_value *e = r->op->operands[0];
  if (!graph_is(e->def, G_EXP) || e->type != result(r)->type ||
      !reduction_of(r->op->operands[1], G_REDUCE_SUM, e, &axis))
    return NULL;
  ir_value *x = e->def->operands[0];
  if (graph_is(x->def, G_SUB) && x->def->operands[0]->type == x->type &&
      reduction_of(x->def->operands[1], G_REDUCE_MAX, x->def->operands[0], &max_axis)) {
    if (max_axis != axis) {
      r->why = "maximum and sum are over different axes";
      return NULL;
    }
    x = x->def->operands[0];
  }
  ir_value *y = graph_op1(&r->b, G_SOFTMAX, x);
  if (y && !ir_set_attr(y->def, "axis", ir_attr_int(r->b.m, axis - x->type->rank))) r->b.failed = true;
  return y;
}

static bool is_square(const ir_value *v, const ir_value *x) {
  const ir_op *op = v->def;
  return (graph_is(op, G_MUL) && op->operands[0] == x && op->operands[1] == x) ||
         (graph_is(op, G_POW) && op->operands[0] == x && is_number(op->operands[1], 2));
}

/* v = the mean over the last axis of d * d. */
static bool mean_square(const ir_value *v, const ir_value *d) {
  const ir_op *op = v->def;
  int axis;
  if (graph_is(op, G_BROADCAST)) op = op->operands[0]->def;
  if (graph_is(op, G_RESHAPE)) op = op->operands[0]->def;
  if (!op || op->n_operands != 1 || !is_square(op->operands[0], d)) return false;
  return reduction_of(v, G_REDUCE_MEAN, op->operands[0], &axis) && axis == d->type->rank - 1;
}

/* op = d / sqrt(mean(d * d) + eps) in one of its spellings; d and eps. */
static ir_value *normalized(const ir_op *op, double *eps) {
  bool times = graph_is(op, G_MUL);
  if (!times && !graph_is(op, G_DIV)) return NULL;
  for (int i = 0; i < (times ? 2 : 1); i++) {
    ir_value *d = op->operands[i], *s = op->operands[1 - i];
    if (d->type != op->results[0]->type) continue;
    if (graph_is(s->def, G_BROADCAST)) s = s->def->operands[0];
    if (!graph_is(s->def, times ? G_RSQRT : G_SQRT)) continue;
    ir_value *under = s->def->operands[0], *rest = plus_number(under, eps);
    if (!rest) rest = under, *eps = 0;
    if (*eps >= 0 && mean_square(rest, d)) return d;
  }
  return NULL;
}

static ir_value *norm(rewrite *r, graph_code code, ir_value *x, double eps) {
  ir_value *y = graph_op1(&r->b, code, x);
  if (y && !ir_set_attr(y->def, "eps", ir_attr_float(r->b.m, eps))) r->b.failed = true;
  return y;
}

ir_value *rule_recognize_layernorm(rewrite *r) {
  double eps;
  int axis;
  ir_value *d = normalized(r->op, &eps);
  if (!d || !graph_is(d->def, G_SUB)) return NULL;
  ir_value *x = d->def->operands[0];
  if (x->type != d->type || !reduction_of(d->def->operands[1], G_REDUCE_MEAN, x, &axis) || axis != x->type->rank - 1)
    return NULL;
  return norm(r, G_LAYERNORM, x, eps);
}

ir_value *rule_recognize_rmsnorm(rewrite *r) {
  double eps;
  int axis;
  ir_value *x = normalized(r->op, &eps);
  if (!x) return NULL;
  if (graph_is(x->def, G_SUB) && reduction_of(x->def->operands[1], G_REDUCE_MEAN, x->def->operands[0], &axis))
    return NULL; /* the other norm's */
  return norm(r, G_RMSNORM, x, eps);
}

/* v as a vector of n elements along the last dimension, or NULL. */
static ir_value *as_row(rewrite *r, ir_value *v, int64_t n) {
  const ir_type *t = v->type;
  if (t->rank < 1 || t->dims[t->rank - 1] != n || ir_type_count(t) != n) return NULL;
  return graph_reshape(&r->b, v, 1, &n);
}

/* A norm: its rows may be multiplied and shifted. */
static bool takes_weights(const ir_op *op) { return graph_is_kind(op, GRAPH_NORM) && op->def->max_operands > 1; }

ir_value *rule_norm_affine(rewrite *r) {
  bool times = graph_is(r->op, G_MUL);
  if (!times && !graph_is(r->op, G_ADD)) return NULL;
  for (int i = 0; i < 2; i++) {
    ir_value *y = r->op->operands[i], *w = r->op->operands[1 - i];
    if (!takes_weights(y->def) || y->type != result(r)->type || w->type->rank > y->type->rank) continue;
    int have = y->def->n_operands;
    if (have != (times ? 1 : 2) || have == y->def->def->max_operands) continue;
    if (y->n_uses != 1) {
      r->why = "the plain norm is also needed";
      continue;
    }
    ir_value *row = as_row(r, w, y->type->dims[y->type->rank - 1]);
    if (!row) {
      if (!r->b.failed && ir_type_count(w->type) != 1) r->why = "the factor is not one number per column";
      continue;
    }
    ir_value *x[3] = {y->def->operands[0], times ? row : y->def->operands[1], row};
    ir_value *z = graph_build(&r->b, (graph_code)y->def->def->code, have + 1, x);
    if (z && !ir_set_attr(z->def, "eps", ir_attr_float(r->b.m, ir_get_float(y->def, "eps", 1e-5)))) r->b.failed = true;
    return z;
  }
  return NULL;
}
