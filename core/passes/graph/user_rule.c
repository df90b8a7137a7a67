/* core/passes/graph/user_rule.c - what makes an application's text a rule; see graph/user_rule.h. */
#include "core/passes/graph/user_rule.h"

#include <stdio.h>
#include <string.h>

#include "core/ir/types.h"

#define BAD(al, r, hint, ...) st_make(al, TSR_INVALID_ARGUMENT, ST_WHERE("rule", (r)->name, hint), __VA_ARGS__)

/* Numbers the values of a function and, from 1 on, its commuting operations. */
static tsr_status number_values(const tsr_allocator *al, const user_rule *r, ir_op *func, const char *what) {
  ir_block *body = func->regions[0];
  int n = 0, commuting = 0;
  for (int i = 0; i < body->n_args; i++) body->args[i]->scratch = n++;
  for (ir_op *o = body->first; o; o = o->next) {
    o->scratch = 0;
    if (o->n_regions || (!(o->def->flags & IR_PURE) && !graph_is(o, G_RETURN)))
      return BAD(al, r, NULL, "the %s holds %s, which is no operation on tensors", what, o->def->name);
    if (o->def->flags & IR_COMMUTES && o->n_operands == 2 && o->operands[0] != o->operands[1]) o->scratch = ++commuting;
    for (int i = 0; i < o->n_results; i++) o->results[i]->scratch = n++;
    if (n > RULE_MOST_VALUES || o->n_operands > RULE_MOST_VALUES)
      return BAD(al, r, NULL, "the %s has more than %d values", what, RULE_MOST_VALUES);
  }
  if (commuting > RULE_MOST_COMMUTING)
    return BAD(al, r, "all their orders are tried", "the %s has %d commuting operations, more than %d", what, commuting,
               RULE_MOST_COMMUTING);
  return NULL;
}

static const char *hole_name(const ir_value *v) { return v->name ? v->name : "?"; }

/* The same holes, each bound by the pattern; one result of one type. */
static tsr_status check_interface(const tsr_allocator *al, const user_rule *r) {
  const ir_block *p = r->pattern->regions[0], *q = r->replacement->regions[0];
  if (p->last->n_operands != 1 || q->last->n_operands != 1)
    return BAD(al, r, NULL, "pattern and replacement have one result each, not %d and %d", p->last->n_operands,
               q->last->n_operands);
  if (p->n_args != q->n_args || !p->n_args)
    return BAD(al, r, "both have the same arguments", "%d hole(s) in the pattern, %d in the replacement", p->n_args,
               q->n_args);
  for (int i = 0; i < p->n_args; i++)
    if (!ir_type_same(p->args[i]->type, q->args[i]->type))
      return BAD(al, r, NULL, "hole %%%s is of one type in the pattern and of another in the replacement",
                 hole_name(p->args[i]));
  if (!ir_type_same(p->last->operands[0]->type, q->last->operands[0]->type))
    return BAD(al, r, NULL, "the replacement's result is of another type than the pattern's");
  const ir_op *root = p->last->operands[0]->def;
  if (!root || graph_is(root, G_CONSTANT) || root->n_results != 1)
    return BAD(al, r, NULL, "the pattern's result is no operation with one result");
  return NULL;
}

/* Marks what the pattern's result is made of. */
static void reach(const ir_value *v, bool *seen) {
  if (seen[v->scratch]) return;
  seen[v->scratch] = true;
  for (int i = 0; v->def && i < v->def->n_operands; i++) reach(v->def->operands[i], seen);
}

static tsr_status check_bound(const tsr_allocator *al, const user_rule *r) {
  const ir_block *p = r->pattern->regions[0];
  bool seen[RULE_MOST_VALUES] = {0};
  reach(p->last->operands[0], seen);
  for (int i = 0; i < p->n_args; i++)
    if (!seen[p->args[i]->scratch])
      return BAD(al, r, "the replacement would read what nothing gives", "the pattern does not bind hole %%%s",
                 hole_name(p->args[i]));
  for (const ir_op *o = p->first; !graph_is(o, G_RETURN); o = o->next) {
    bool any = false;
    for (int i = 0; i < o->n_results; i++) any |= seen[o->results[i]->scratch];
    if (!any) return BAD(al, r, NULL, "%s of the pattern is no part of its result", o->def->name);
  }
  return NULL;
}

tsr_status user_rule_make(const tsr_allocator *al, user_rule *r) {
  tsr_status st = NULL;
  TSR_GOTO(ir_parse(al, r->text, r->text_bytes, r->name, &r->m));
  r->pattern = graph_find_func(r->m, "pattern");
  r->replacement = graph_find_func(r->m, "replacement");
  if (!r->pattern || !r->replacement)
    TSR_GOTO(BAD(al, r, "\"tessera.graph.func\"() ({...}) {sym_name = \"pattern\"}",
                 "the text has no function called \"%s\"", r->pattern ? "replacement" : "pattern"));
  TSR_GOTO(check_interface(al, r));
  TSR_GOTO(number_values(al, r, r->pattern, "pattern"));
  TSR_GOTO(number_values(al, r, r->replacement, "replacement"));
  TSR_GOTO(check_bound(al, r));
  r->written = r->pattern->regions[0]->args[0]->type->dtype;
  r->types |= 1ull << r->written;
done:
  if (st) user_rule_clear(r);
  return st;
}

void user_rule_clear(user_rule *r) { ir_module_destroy(&r->m); }
