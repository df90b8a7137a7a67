/* core/passes/graph/simplify.c - runs the rewrite rules to a fixed point; common subexpressions and dead ops. See
 * graph/simplify.h. Rules are tried in the order of graph/rules.h at each op, in program order. */
#include "core/passes/graph/simplify.h"

#include <string.h>

#include "core/base/hash.h"
#include "core/ir/attrs.h"
#include "core/passes/graph/horizontal.h"
#include "core/passes/graph/rules.h"
#include "core/passes/graph/user_rule.h"
#include "core/passes/graph/views.h"

enum { MAX_SWEEPS = 64 };

static const struct { const char *name; bool rounds; rewrite_fn fn; const char *help; } rules[] = {
#define ROW(name, rounds, help) {#name, rounds, rule_##name, help},
    GRAPH_RULES(ROW)
#undef ROW
};
enum { N_RULES = sizeof rules / sizeof *rules };

size_t graph_simplify_rules(graph_rule_info *out, size_t cap) {
  static const graph_rule_info own[] = {
      {"common_subexpression", "equal ops on equal operands -> one", false},
      {"horizontal", "products of one value with constant matrices -> one, and windows of its result", false},
      {"dead_code", "ops whose results nothing needs", false}};
  enum { N_OWN = sizeof own / sizeof *own };
  size_t n = 0;
  for (int i = 0; i < N_RULES; i++, n++)
    if (n < cap) out[n] = (graph_rule_info){rules[i].name, rules[i].help, rules[i].rounds};
  for (int i = 0; i < N_OWN; i++, n++)
    if (n < cap) out[n] = own[i];
  return n;
}

/* How often the application's rules may fire in a function: what one of them gives may be matched again, so that two
 * can go on for ever, and grow. */
enum { FIRINGS_A_RULE = 64, FIRINGS_AN_OP = 16 };

/* Rewriting of one function. */
typedef struct sweep {
  const pass_options *o;
  const char *pass;
  bool own;        /* the library's rules too */
  bool first;      /* no sweep came before this one */
  int left, fired; /* of the application's rules */
} sweep;

static sweep sweep_begin(const ir_op *func, const pass_options *o, const char *pass, bool own) {
  sweep s = {.o = o, .pass = pass, .own = own, .first = true, .left = FIRINGS_A_RULE * o->n_rules};
  for (const ir_op *op = func->regions[0]->first; o->n_rules && op; op = op->next) s.left += FIRINGS_AN_OP;
  return s;
}

/* One of the library's rules, or behind those one of the application's. */
typedef struct any_rule { const char *name; bool rounds; rewrite_fn fn; const user_rule *user; } any_rule;

static any_rule rule_at(const pass_options *o, int i) {
  if (i < N_RULES) return (any_rule){rules[i].name, rules[i].rounds, rules[i].fn, NULL};
  const user_rule *u = o->rules[i - N_RULES];
  return (any_rule){u->name, u->rounds, NULL, u};
}

static ir_value *apply(const any_rule *x, rewrite *r, char *why, size_t n) {
  if (!x->user) return x->fn(r);
  ir_value *v = user_rule_apply(x->user, &r->b, r->op, why, n);
  if (*why) r->why = why;
  return v;
}

/* Tries all rules at op. With `refusals`, records why they didn't fire instead (nothing fires then). */
static tsr_status rewrite_op(ir_op *op, sweep *s, bool refusals, bool *changed) {
  const pass_options *o = s->o;
  for (int i = s->own ? 0 : N_RULES; i < N_RULES + o->n_rules; i++) {
    const any_rule x = rule_at(o, i);
    bool on = pass_enabled(o, "rewrites", x.name), may = on && !(x.rounds && o->exact);
    if ((!may || (x.user && s->left <= 0)) && !refusals) continue;
    char why[200] = "";
    rewrite r = {ir_before(op), op, NULL, o, s->first || refusals};
    ir_value *v = apply(&x, &r, why, sizeof why);
    if (r.b.failed) return st_oom();
    if (refusals) {
      if (v && !on) r.why = "switched off";
      else if (v && !may) r.why = "it would change rounding";
      else if (v && x.user) r.why = "the application's rules have fired as often as they may";
      if (r.why) trace_add(o->trace, s->pass, x.name, op, false, "%s", r.why);
      continue; /* what the rule built is dead */
    }
    if (!v || v == op->results[0]) continue;
    trace_add(o->trace, s->pass, x.name, op, true, "%s", "");
    if (x.user) s->left--, s->fired++;
    graph_replace(op, v);
    *changed = true;
    return NULL;
  }
  return NULL;
}

/* All ops in order. */
static tsr_status rewrite_all(ir_op *func, sweep *s, bool refusals, bool *changed) {
  for (ir_op *op = func->regions[0]->first, *next; op; op = next) {
    next = op->next;
    ir_settle(op);
    if (op->def->level == IR_GRAPH && (op->def->flags & IR_PURE)) TSR_TRY(rewrite_op(op, s, refusals, changed));
  }
  return NULL;
}

/* Why nothing fired, for the trace; goes over what the refused rules built. */
static tsr_status tell_refusals(ir_op *func, sweep *s) {
  bool changed = false;
  if (!s->o->trace) return NULL;
  TSR_TRY(rewrite_all(func, s, true, &changed));
  ir_dce(func);
  return NULL;
}

/* ---- common subexpressions ------------------------------------------------------------------------------------- */

static bool same_op(const ir_op *a, const ir_op *b) {
  if (a->def != b->def || a->n_operands != b->n_operands || a->results[0]->type != b->results[0]->type) return false;
  for (int i = 0; i < a->n_operands; i++)
    if (a->operands[i] != b->operands[i]) return false;
  return ir_attrs_same(a, b);
}

static uint64_t hash_attr(uint64_t h, const ir_attr *a) {
  h = hash_u64(h, (uint64_t)a->kind);
  switch (a->kind) {
  case IR_A_UNIT: return h;
  case IR_A_STR: return hash_str(h, a->u.s);
  case IR_A_TYPE: return hash_u64(h, (uint64_t)(uintptr_t)a->u.type);
  case IR_A_DENSE:
    if (a->u.dense.file) return hash_u64(h, (uint64_t)(uintptr_t)a->u.dense.data);
    return hash_bytes(hash_u64(h, (uint64_t)a->u.dense.bytes), a->u.dense.data, a->u.dense.bytes);
  case IR_A_ARRAY:
    for (int i = 0; i < a->u.array.n; i++) h = hash_attr(h, a->u.array.v[i]);
    return h;
  default: return hash_u64(h, (uint64_t)a->u.i);
  }
}

static uint64_t hash_op(const ir_op *op) {
  uint64_t h = hash_u64(HASH_SEED, (uint64_t)op->def->code);
  for (int i = 0; i < op->n_operands; i++) h = hash_u64(h, (uint64_t)(uintptr_t)op->operands[i]);
  for (int i = 0; i < op->n_attrs; i++)
    h += hash_mix(hash_attr(hash_str(HASH_SEED, op->attrs[i].name), op->attrs[i].attr)); /* in any order */
  return hash_mix(hash_u64(h, (uint64_t)(uintptr_t)op->results[0]->type));
}

static tsr_status common_subexpressions(ir_op *func, const pass_options *o, bool *changed) {
  const tsr_allocator *al = &func->module->arena.al;
  size_t n = 1, cap = 64;
  for (ir_op *op = func->regions[0]->first; op; op = op->next) n++;
  while (cap < 2 * n) cap *= 2;
  ir_op **table = al_zalloc(al, cap * sizeof *table);
  if (!table) return st_oom();
  for (ir_op *op = func->regions[0]->first, *next; op; op = next) {
    next = op->next;
    ir_settle(op);
    if (!(op->def->flags & IR_PURE) || op->n_results != 1) continue;
    size_t at = hash_op(op) & (cap - 1);
    while (table[at] && !same_op(table[at], op)) at = (at + 1) & (cap - 1);
    if (!table[at]) {
      table[at] = op;
      continue;
    }
    trace_add(o->trace, "simplify", "common_subexpression", op, true, "%s", "");
    graph_replace(op, table[at]->results[0]);
    *changed = true;
  }
  al_free_array(al, table, cap);
  return NULL;
}

static void dead_code(ir_op *func, const pass_options *o) {
  int n = pass_enabled(o, "rewrites", "dead_code") ? ir_dce(func) : 0;
  if (n) trace_add(o->trace, "simplify", "dead_code", func, true, "%d ops", n);
}

static void tell_bound(ir_op *func, const sweep *s, bool changed) {
  if (s->o->n_rules && s->left <= 0)
    trace_add(s->o->trace, s->pass, "bound", func, false, "the application's rules fired %d times and were stopped",
              s->fired);
  else if (changed)
    trace_add(s->o->trace, s->pass, "bound", func, false, "rules still fired in sweep %d, the last", MAX_SWEEPS);
}

tsr_status graph_simplify(ir_op *func, const pass_options *opts) {
  static const pass_options none = {0};
  const pass_options *o = opts ? opts : &none;
  sweep s = sweep_begin(func, o, "simplify", true);
  bool changed = true;
  for (int n = 0; changed && n < MAX_SWEEPS; n++) {
    changed = false;
    TSR_TRY(rewrite_all(func, &s, false, &changed));
    s.first = false;
    if (pass_enabled(o, "rewrites", "common_subexpression")) TSR_TRY(common_subexpressions(func, o, &changed));
    dead_code(func, o);
    if (!changed) TSR_TRY(graph_join_products(func, o, false, &changed));
  }
  tell_bound(func, &s, changed);
  if (o->trace) TSR_TRY(graph_join_products(func, o, true, &changed));
  return tell_refusals(func, &s);
}

/* *fired: how often, negative where that is the bound and not the end. */
static tsr_status apply_rules(ir_op *func, const pass_options *o, int *fired) {
  sweep s = sweep_begin(func, o, "rules", false);
  bool changed = o->n_rules != 0;
  for (int n = 0; changed && n < MAX_SWEEPS; n++) {
    changed = false;
    TSR_TRY(rewrite_all(func, &s, false, &changed));
    ir_dce(func);
  }
  *fired = changed || s.left <= 0 ? -s.fired : s.fired;
  tell_bound(func, &s, changed);
  return tell_refusals(func, &s);
}

tsr_status graph_simplify_module(ir_module *m, const pass_options *opts) {
  ir_begin(m);
  for (ir_op *f = m->root->regions[0]->first; f; f = f->next)
    if (graph_is(f, G_FUNC)) {
      tsr_status st = graph_simplify(f, opts);
      if (st) return ir_cause(m, NULL, st);
    }
  return ir_verify(m);
}

tsr_status graph_apply_rules_module(ir_module *m, const pass_options *o) {
  if (!o->n_rules) return NULL;
  ir_begin(m);
  for (ir_op *f = m->root->regions[0]->first; f; f = f->next) {
    int fired = 0;
    tsr_status st = graph_is(f, G_FUNC) ? apply_rules(f, o, &fired) : NULL;
    if (st) return ir_cause(m, NULL, st);
  }
  return ir_verify(m);
}

tsr_status graph_rule_ends(const tsr_allocator *al, const user_rule *r) {
  ir_module *m = NULL;
  int fired = 0;
  TSR_TRY(ir_module_clone(r->m, &m));
  tsr_status st = apply_rules(graph_find_func(m, "replacement"), &(pass_options){.rules = &r, .n_rules = 1}, &fired);
  ir_module_destroy(&m);
  if (!st && fired < 0)
    st = st_make(al, TSR_INVALID_ARGUMENT, ST_WHERE("rule", r->name, NULL),
                 "it fires on what it gives, without end: %d times", -fired);
  return st;
}
