/* core/passes/graph/user_rule_match.c - where an application's rule matches, and what it builds there; see
 * graph/user_rule.h. Values of the two functions are numbered (value->scratch), so that a match is an array. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/dtype.h"
#include "core/ir/attrs.h"
#include "core/passes/graph/user_rule.h"

typedef struct matcher {
  const user_rule *r;
  ir_value *bound[RULE_MOST_VALUES];
  unsigned flipped; /* bit i: commuting operation i of the pattern takes its operands the other way round */
  tsr_dtype t;      /* what the written element type stands for; TSR_DTYPE_NONE until a hole says it */
} matcher;

/* ---- attributes ------------------------------------------------------------------------------------------------ */

/* Counted from the front or from the back, as the pattern counts. */
static int64_t as_written(int64_t axis, int64_t written, int rank) {
  if (written < 0) return axis < 0 ? axis : axis - rank;
  return axis < 0 ? axis + rank : axis;
}

static bool same_axes(const ir_op *p, const ir_op *op, const char *name) {
  int64_t want[TSR_MAX_RANK], have[TSR_MAX_RANK];
  const int rank = op->n_operands ? op->operands[0]->type->rank : op->results[0]->type->rank;
  int n = ir_get_ints(p, name, want, TSR_MAX_RANK);
  if (n != ir_get_ints(op, name, have, TSR_MAX_RANK)) return false;
  for (int i = 0; i < n; i++)
    if (as_written(have[i], want[i], rank) != want[i]) return false;
  return true;
}

static bool same_axis(const ir_op *p, const ir_op *op) {
  const int rank = op->n_operands ? op->operands[0]->type->rank : op->results[0]->type->rank;
  const int64_t want = ir_get_int(p, "axis", -1);
  return as_written(ir_get_int(op, "axis", -1), want, rank) == want;
}

/* The attribute `dtype` of a cast and its like: the written type stands for the matched one. */
static bool same_dtype_name(const matcher *m, const ir_op *p, const ir_op *op, const char *name) {
  const char *want = ir_get_str(p, name, ""), *have = ir_get_str(op, name, "");
  if (m->t && !strcmp(want, tsr_dtype_name(m->r->written))) want = tsr_dtype_name(m->t);
  return !strcmp(want, have);
}

static bool same_named(const matcher *m, const ir_op *p, const ir_op *op, const ir_attr_def *d) {
  const ir_attr *want = ir_get_attr(p, d->name), *have = ir_get_attr(op, d->name);
  if (d->kind == IR_A_INT && !strcmp(d->name, "axis")) return same_axis(p, op);
  if (!want && !have) return true;
  switch (d->kind) {
  case IR_A_INT: return ir_get_int(p, d->name, 0) == ir_get_int(op, d->name, 0);
  case IR_A_UNIT:
  case IR_A_BOOL: return ir_get_bool(p, d->name, false) == ir_get_bool(op, d->name, false);
  case IR_A_FLOAT: return ir_get_float(p, d->name, 0) == ir_get_float(op, d->name, 0);
  case IR_A_STR:
    return !strcmp(d->name, "dtype") ? same_dtype_name(m, p, op, d->name)
                                     : !strcmp(ir_get_str(p, d->name, ""), ir_get_str(op, d->name, ""));
  case IR_A_ARRAY:
    if (want && have && !strcmp(d->name, "axes")) return same_axes(p, op, d->name);
    return want && have && ir_attr_same(want, have);
  default: return want && have && ir_attr_same(want, have);
  }
}

static bool in_table(const ir_op *op, const char *name) {
  for (const ir_attr_def *d = op->def->attrs; d && d->name; d++)
    if (!strcmp(d->name, name)) return true;
  return false;
}

/* Those beyond the op's row: of custom ops. */
static bool same_others(const ir_op *a, const ir_op *b) {
  for (int i = 0; i < a->n_attrs; i++) {
    const ir_attr *x = ir_get_attr(b, a->attrs[i].name);
    if (!in_table(a, a->attrs[i].name) && !(x && ir_attr_same(a->attrs[i].attr, x))) return false;
  }
  return true;
}

static bool same_attrs(const matcher *m, const ir_op *p, const ir_op *op) {
  for (const ir_attr_def *d = p->def->attrs; d && d->name; d++)
    if (!same_named(m, p, op, d)) return false;
  return same_others(p, op) && same_others(op, p);
}

/* ---- values ---------------------------------------------------------------------------------------------------- */

/* c as type t holds it. */
static double rounded(tsr_dtype t, double c) {
  uint64_t bits[2] = {0};
  dtype_store(t, bits, 0, c);
  return dtype_load(t, bits, 0);
}

static bool match_constant(const matcher *m, const ir_op *p, const ir_op *op) {
  double want, have;
  const tsr_dtype t = op->results[0]->type->dtype, written = p->results[0]->type->dtype;
  if (t != written && !(written == m->r->written && t == m->t)) return false;
  if (graph_splat(p, &want)) return graph_splat(op, &have) && rounded(t, want) == have;
  const ir_attr *a = ir_get_attr(p, "value"), *b = ir_get_attr(op, "value");
  return a && b && ir_attr_same(a, b);
}

static bool match_value(matcher *m, const ir_value *p, ir_value *v) {
  ir_value **place = &m->bound[p->scratch];
  if (*place) return *place == v;
  *place = v;
  if (!p->def) {
    if (p->type->dtype == m->r->written && !m->t) m->t = v->type->dtype;
    return true;
  }
  const ir_op *op = v->def;
  if (!op || op->def != p->def->def || op->n_operands != p->def->n_operands || op->n_results != p->def->n_results ||
      p->index != v->index)
    return false;
  const bool flip = p->def->scratch && m->flipped >> (p->def->scratch - 1) & 1;
  for (int i = 0; i < op->n_operands; i++)
    if (!match_value(m, p->def->operands[flip ? 1 - i : i], op->operands[i])) return false;
  for (int i = 0; i < op->n_results; i++) {
    ir_value **result = &m->bound[p->def->results[i]->scratch];
    if (*result && *result != op->results[i]) return false;
    *result = op->results[i];
  }
  return true;
}

/* What depends on the element type, which is known once all holes are bound. */
static bool match_attributes(const matcher *m) {
  for (const ir_op *p = m->r->pattern->regions[0]->first; !graph_is(p, G_RETURN); p = p->next) {
    const ir_op *op = m->bound[p->results[0]->scratch]->def;
    if (!(graph_is(p, G_CONSTANT) ? match_constant(m, p, op) : same_attrs(m, p, op))) return false;
  }
  return true;
}

static int n_commuting(const user_rule *r) {
  int n = 0;
  for (const ir_op *p = r->pattern->regions[0]->first; p; p = p->next) n += p->scratch != 0;
  return n;
}

static bool match(const user_rule *r, ir_value *v, matcher *m) {
  const ir_value *root = r->pattern->regions[0]->last->operands[0];
  if (v->def->def != root->def->def) return false;
  for (unsigned flipped = 0; flipped < 1u << n_commuting(r); flipped++) {
    *m = (matcher){.r = r, .flipped = flipped};
    if (match_value(m, root, v) && match_attributes(m)) return true;
  }
  return false;
}

/* ---- whether it may fire --------------------------------------------------------------------------------------- */

static bool fits_shape(const user_rule *r, const ir_type *want, const ir_type *have) {
  bool fits = r->any_shape || want->rank == have->rank;
  for (int i = 0; fits && !r->any_shape && i < want->rank; i++)
    fits = want->dims[i] == IR_DYNAMIC || want->dims[i] == have->dims[i];
  return fits;
}

static bool holes_fit(const matcher *m, ir_value **holes, char *why, size_t n) {
  const ir_block *args = m->r->pattern->regions[0];
  for (int i = 0; i < args->n_args; i++) {
    const ir_value *p = args->args[i], *v = holes[i] = m->bound[p->scratch];
    const bool stands = p->type->dtype == m->r->written;
    const char *name = p->name ? p->name : "?";
    if (stands ? v->type->dtype != m->t || !(m->r->types >> m->t & 1) : v->type->dtype != p->type->dtype) {
      snprintf(why, n, "%%%s does not take %s", name, tsr_dtype_name(v->type->dtype));
      return false;
    }
    if (!fits_shape(m->r, p->type, v->type)) {
      snprintf(why, n, "%%%s does not take a value of that shape", name);
      return false;
    }
  }
  return true;
}

/* Is a value inside the pattern read by anything that isn't? */
static bool is_shared(const matcher *m, const ir_value *root) {
  for (const ir_op *p = m->r->pattern->regions[0]->first; !graph_is(p, G_RETURN); p = p->next)
    for (int i = 0; i < p->n_results && p->results[i] != root && !graph_is(p, G_CONSTANT); i++) {
      const ir_value *v = m->bound[p->results[i]->scratch];
      int uses = 0; /* two of the pattern's values may be one of the program's */
      for (const ir_op *q = m->r->pattern->regions[0]->first; q; q = q->next)
        for (int k = 0; k < q->n_results; k++)
          uses += m->bound[q->results[k]->scratch] == v ? q->results[k]->n_uses : 0;
      if (v->n_uses > uses) return true;
    }
  return false;
}

ir_value *user_rule_apply(const user_rule *r, ir_builder *b, ir_op *op, char *why, size_t n) {
  ir_value *holes[RULE_MOST_VALUES], *out = NULL;
  matcher m;
  *why = 0;
  if (op->n_results != 1 || !match(r, op->results[0], &m)) return NULL;
  if (!holes_fit(&m, holes, why, n)) return NULL;
  if (!r->shared && is_shared(&m, r->pattern->regions[0]->last->operands[0])) {
    snprintf(why, n, "something else needs a value inside the pattern");
    return NULL;
  }
  if (r->fits && !r->fits(r->user, r, holes, why, n)) {
    if (!*why) snprintf(why, n, "its condition does not hold");
    return NULL;
  }
  ir_op *before = op->prev;
  tsr_status st = user_rule_build(r, r->replacement, b, holes, m.t, &out, why, n);
  if (st) b->failed = true;
  tsr_status_free(st);
  if (out && out->type != op->results[0]->type) {
    snprintf(why, n, "the replacement is of another type here");
    out = NULL;
  }
  while (!out && op->prev != before) ir_op_remove(op->prev);
  return out;
}

/* ---- building -------------------------------------------------------------------------------------------------- */

/* The attribute with the element type t for the written one. */
static ir_attr *retyped(const user_rule *r, ir_module *m, const ir_named_attr *a, tsr_dtype t) {
  const ir_attr *x = a->attr;
  if (x->kind == IR_A_STR && !strcmp(a->name, "dtype") && !strcmp(x->u.s, tsr_dtype_name(r->written)))
    return ir_attr_str(m, tsr_dtype_name(t));
  if (x->kind != IR_A_DENSE || t == r->written || x->u.dense.type->dtype != r->written) return ir_attr_copy(m, x);
  ir_type like = *x->u.dense.type;
  like.dtype = t;
  const ir_type *type = ir_type_get(m, &like);
  const size_t count = x->u.dense.splat ? 1 : (size_t)ir_type_count(&like), bytes = tsr_dtype_bytes(t, count);
  void *data = arena_alloc(&m->arena, bytes + 16);
  if (!type || !data) return NULL;
  memset(data, 0, bytes); /* elements of packed types share bytes */
  for (size_t i = 0; i < count; i++) dtype_store(t, data, i, dtype_load(r->written, x->u.dense.data, i));
  return ir_attr_dense(m, type, data, bytes, x->u.dense.splat);
}

static tsr_status build_op(const user_rule *r, const ir_op *p, ir_builder *b, ir_value **map, tsr_dtype t) {
  ir_value *operands[RULE_MOST_VALUES];
  for (int i = 0; i < p->n_operands; i++) operands[i] = map[p->operands[i]->scratch];
  ir_op *op = ir_op_new(b, p->def, p->n_operands, operands, p->n_results, NULL, 0);
  if (!op) return st_oom();
  for (int i = 0; i < p->n_attrs; i++)
    if (!ir_set_attr(op, p->attrs[i].name, retyped(r, b->m, &p->attrs[i], t))) return st_oom();
  if (graph_is_kind(op, GRAPH_CUSTOM) && r->infer) TSR_TRY(r->infer(r->user, op, &op->results[0]->type));
  for (int i = 0; i < p->n_results; i++) map[p->results[i]->scratch] = op->results[i];
  return ir_verify_op(op);
}

tsr_status user_rule_build(const user_rule *r, const ir_op *func, ir_builder *b, ir_value *const *holes, tsr_dtype t,
                           ir_value **out, char *why, size_t n) {
  ir_value *map[RULE_MOST_VALUES];
  const ir_block *body = func->regions[0];
  *out = NULL;
  for (int i = 0; i < body->n_args; i++) map[body->args[i]->scratch] = holes[i];
  for (const ir_op *p = body->first; !graph_is(p, G_RETURN); p = p->next) {
    tsr_status st = build_op(r, p, b, map, t);
    if (tsr_status_code(st) == TSR_OUT_OF_MEMORY) return st;
    if (st) {
      snprintf(why, n, "%s", tsr_status_cause(st));
      tsr_status_free(st);
      return NULL;
    }
  }
  *out = map[body->last->operands[0]->scratch];
  return NULL;
}
