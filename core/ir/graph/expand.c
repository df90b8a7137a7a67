/* core/ir/graph/expand.c - see ir/graph/expand.h. */
#include "core/ir/graph/expand.h"

enum { MOST_RESULTS = 64 };

bool graph_has_composite(const ir_op *func) {
  for (const ir_op *o = func->regions[0]->first; o; o = o->next)
    if (graph_is_composite(o)) return true;
  return false;
}

bool graph_may_expand(const ir_op *op) {
  if (!graph_is_composite(op)) return false;
  for (int i = 0; i < op->n_operands; i++)
    if (ir_type_count(op->operands[i]->type) == IR_DYNAMIC) return false;
  for (int i = 0; i < op->n_results; i++)
    if (ir_type_count(op->results[i]->type) == IR_DYNAMIC) return false;
  return true;
}

/* What op stands for, before it; op goes, and its readers are settled by the walk. */
static tsr_status replace(ir_op *op, const graph_expand_options *o) {
  ir_value *few[MOST_RESULTS] = {NULL}, **results = few;
  ir_builder b = ir_before(op);
  const ir_op *before = op->prev;
  const graph_row *row = graph_ext(op);
  const graph_expand_fn expand = o->windows && row->expand_windows ? row->expand_windows : row->expand;
  int n = 0;
  if (op->n_results > MOST_RESULTS && !(results = arena_array(&b.m->arena, ir_value *, op->n_results))) return st_oom();
  if (!expand(&b, op, results) || b.failed) return st_oom();
  for (const ir_op *x = op->prev; x != before; x = x->prev) n++;
  if (o->note) o->note(o->user, op, n);
  for (int i = 0; i < op->n_results; i++) {
    ir_value *v = results[i];
    if (!v || v->type != op->results[i]->type)
      return ir_error_at(op, op->loc, TSR_INTERNAL, NULL, "its expansion has another result %d than it", i);
    if (v->def && !v->name) v->name = op->results[i]->name;
    if (v->def && !v->shard) v->shard = op->results[i]->shard;
    if (v->def && !v->layout) v->layout = op->results[i]->layout;
    ir_forward(op->results[i], v);
  }
  ir_op_remove(op);
  return NULL;
}

tsr_status graph_expand(ir_op *func, const graph_expand_options *given) {
  static const graph_expand_options none = {0};
  const graph_expand_options *o = given ? given : &none;
  ir_block *body = func->regions[0];
  for (ir_op *op = body->first, *next; op; op = next) {
    next = op->next;
    ir_settle(op);
    if (!graph_is_composite(op) || (o->keep_adjoint && graph_ext(op)->adjoint)) continue;
    if (o->keep && o->keep(o->user, op)) continue;
    if (!graph_may_expand(op)) {
      if (o->note) o->note(o->user, op, -1);
      continue;
    }
    ir_op *before = op->prev;
    TSR_TRY(replace(op, o));
    next = before ? before->next : body->first; /* what it became may be composite again */
  }
  return NULL;
}

/* ---- copies ------------------------------------------------------------------------------------------------------ */

static ir_value *final(ir_value *v) {
  while (v->forward) v = v->forward;
  return v;
}

tsr_status graph_expanded_copy(ir_op *func, ir_module **out, ir_op **copy) {
  tsr_status st = NULL;
  TSR_TRY(ir_module_create(&func->module->arena.al, out));
  ir_builder b = ir_at_end(*out, (*out)->root->regions[0]);
  *copy = ir_op_copy(&b, func, NULL, NULL);
  if (!*copy) TSR_GOTO(st_oom());
  ir_block *from = func->regions[0], *to = (*copy)->regions[0];
  for (int i = 0; i < from->n_args; i++) from->args[i]->data = to->args[i];
  for (ir_op *o = from->first, *c = to->first; o; o = o->next, c = c->next)
    for (int i = 0; i < o->n_results; i++) o->results[i]->data = c->results[i];
  TSR_GOTO(graph_expand(*copy, NULL));
  for (ir_op *o = from->first; o; o = o->next)
    for (int i = 0; i < o->n_results; i++) o->results[i]->data = final(o->results[i]->data);
done:
  if (st) ir_module_destroy(out);
  return st;
}

typedef struct binding {
  const ir_op *op;
  const ir_block *body;
} binding;

static ir_value *argument(void *user, ir_value *v) {
  const binding *x = user;
  for (int i = 0; i < x->op->n_operands; i++)
    if (x->op->operands[i] == v) return x->body->args[i];
  return NULL;
}

tsr_status graph_alone(const ir_op *op, ir_module **out, ir_op **func, ir_op **copied) {
  tsr_status st = NULL;
  TSR_TRY(ir_module_create(&op->module->arena.al, out));
  ir_module *m = *out;
  ir_builder b = ir_at_end(m, m->root->regions[0]);
  *func = ir_op_new(&b, graph_def(G_FUNC), 0, NULL, 0, NULL, 1);
  if (!*func) TSR_GOTO(st_oom());
  ir_block *body = (*func)->regions[0];
  for (int i = 0; i < op->n_operands; i++)
    if (!ir_block_arg(m, body, ir_type_get(m, op->operands[i]->type), NULL)) TSR_GOTO(st_oom());
  b = ir_at_end(m, body);
  binding x = {op, body};
  ir_op *copy = ir_op_copy(&b, op, argument, &x);
  if (!copy || !ir_op_new(&b, graph_def(G_RETURN), copy->n_results, copy->results, 0, NULL, 0)) TSR_GOTO(st_oom());
  *copied = copy;
done:
  if (st) ir_module_destroy(out);
  return st;
}

tsr_status graph_expansion(const ir_op *op, ir_module **out, ir_op **func) {
  ir_op *copy;
  TSR_TRY(graph_alone(op, out, func, &copy));
  tsr_status st = graph_expand(*func, NULL);
  if (st) ir_module_destroy(out);
  return st;
}
