/* core/passes/graph/simplify.c - runs the rewrite rules to a fixed point; common subexpressions and dead ops. See
 * graph/simplify.h. Rules are tried in the order of graph/rules.h at each op, in program order. */
#include "core/passes/graph/simplify.h"

#include <string.h>

#include "core/base/hash.h"
#include "core/passes/graph/rules.h"
#include "core/passes/graph/views.h"

enum { MAX_SWEEPS = 64 };

static const struct { const char *name; bool rounds; rewrite_fn fn; const char *help; } rules[] = {
#define ROW(name, rounds, help) {#name, rounds, rule_##name, help},
    GRAPH_RULES(ROW)
#undef ROW
};
enum { N_RULES = sizeof rules / sizeof *rules };

size_t graph_simplify_rules(graph_rule_info *out, size_t cap) {
  static const graph_rule_info own[] = {{"common_subexpression", "equal ops on equal operands -> one", false},
                                        {"dead_code", "ops whose results nothing needs", false}};
  size_t n = 0;
  for (int i = 0; i < N_RULES; i++, n++)
    if (n < cap) out[n] = (graph_rule_info){rules[i].name, rules[i].help, rules[i].rounds};
  for (int i = 0; i < 2; i++, n++)
    if (n < cap) out[n] = own[i];
  return n;
}

/* Tries all rules at op. With `refusals`, records why they didn't fire instead (nothing fires then). */
static tsr_status rewrite_op(ir_op *op, const pass_options *o, bool refusals, bool *changed) {
  for (int i = 0; i < N_RULES; i++) {
    bool on = pass_enabled(o, "rewrites", rules[i].name), may = on && !(rules[i].rounds && o->exact);
    if (!may && !refusals) continue;
    rewrite r = {ir_before(op), op, NULL, o};
    ir_value *v = rules[i].fn(&r);
    if (r.b.failed) return st_oom();
    if (refusals) {
      if (v && !on) r.why = "switched off";
      else if (v) r.why = "it would change rounding";
      if (r.why) trace_add(o->trace, "simplify", rules[i].name, op, false, "%s", r.why);
      continue; /* what the rule built is dead */
    }
    if (!v || v == op->results[0]) continue;
    trace_add(o->trace, "simplify", rules[i].name, op, true, "%s", "");
    graph_replace(op, v);
    *changed = true;
    return NULL;
  }
  return NULL;
}

/* ---- common subexpressions ------------------------------------------------------------------------------------- */

static bool same_attr(const ir_attr *a, const ir_attr *b) {
  if (a->kind != b->kind) return false;
  switch (a->kind) {
  case IR_A_UNIT: return true;
  case IR_A_FLOAT: return !memcmp(&a->u.f, &b->u.f, sizeof a->u.f);
  case IR_A_STR: return !strcmp(a->u.s, b->u.s);
  case IR_A_TYPE: return a->u.type == b->u.type;
  case IR_A_ARRAY:
    if (a->u.array.n != b->u.array.n) return false;
    for (int i = 0; i < a->u.array.n; i++)
      if (!same_attr(a->u.array.v[i], b->u.array.v[i])) return false;
    return true;
  case IR_A_DENSE:
    return a->u.dense.type == b->u.dense.type && a->u.dense.splat == b->u.dense.splat &&
           a->u.dense.bytes == b->u.dense.bytes && !memcmp(a->u.dense.data, b->u.dense.data, a->u.dense.bytes);
  default: return a->u.i == b->u.i;
  }
}

static bool same_op(const ir_op *a, const ir_op *b) {
  if (a->def != b->def || a->n_operands != b->n_operands || a->n_attrs != b->n_attrs ||
      a->results[0]->type != b->results[0]->type)
    return false;
  for (int i = 0; i < a->n_operands; i++)
    if (a->operands[i] != b->operands[i]) return false;
  for (int i = 0; i < a->n_attrs; i++) {
    const ir_attr *other = ir_get_attr(b, a->attrs[i].name);
    if (!other || !same_attr(a->attrs[i].attr, other)) return false;
  }
  return true;
}

static uint64_t hash_attr(uint64_t h, const ir_attr *a) {
  h = hash_u64(h, (uint64_t)a->kind);
  switch (a->kind) {
  case IR_A_UNIT: return h;
  case IR_A_STR: return hash_str(h, a->u.s);
  case IR_A_TYPE: return hash_u64(h, (uint64_t)(uintptr_t)a->u.type);
  case IR_A_DENSE: return hash_bytes(hash_u64(h, (uint64_t)a->u.dense.bytes), a->u.dense.data, a->u.dense.bytes);
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

tsr_status graph_simplify(ir_op *func, const pass_options *opts) {
  static const pass_options none = {0};
  const pass_options *o = opts ? opts : &none;
  bool changed = true;
  for (int sweep = 0; changed && sweep < MAX_SWEEPS; sweep++) {
    changed = false;
    for (ir_op *op = func->regions[0]->first, *next; op; op = next) {
      next = op->next;
      ir_settle(op);
      if (op->def->level == IR_GRAPH && (op->def->flags & IR_PURE)) TSR_TRY(rewrite_op(op, o, false, &changed));
    }
    if (pass_enabled(o, "rewrites", "common_subexpression")) TSR_TRY(common_subexpressions(func, o, &changed));
    dead_code(func, o);
  }
  if (!o->trace) return NULL;
  for (ir_op *op = func->regions[0]->first, *next; op; op = next) {
    next = op->next;
    if (op->def->level == IR_GRAPH && (op->def->flags & IR_PURE)) TSR_TRY(rewrite_op(op, o, true, &changed));
  }
  ir_dce(func); /* what the refused rules built */
  return NULL;
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
