/* core/passes/graph/words.c - see words.h. An unsigned value's data field is its word. */
#include "core/passes/graph/words.h"

#include "core/base/dtype.h"
#include "core/ir/graph/ops.h"
#include "core/passes/graph/views.h"

static bool has_word(const ir_value *v) { return dtype_word(v->type->dtype) != TSR_DTYPE_NONE; }

static bool has_words(const ir_op *func) {
  for (const ir_op *o = func->regions[0]->first; o; o = o->next)
    if (graph_has_value(o, has_word)) return true;
  return false;
}

static tsr_status replace(ir_op *op) {
  if (!graph_ext(op) || !graph_ext(op)->words)
    return ir_error(op, NULL, "does not take %s", tsr_dtype_name(op->operands[0]->type->dtype));
  return graph_stand_in(op, has_word, graph_ext(op)->words);
}

/* What is called, or returned to, has its own types. */
static tsr_status give_unsigned(ir_op *op) {
  ir_builder b = ir_before(op);
  for (int i = 0; i < op->n_operands; i++) {
    ir_value *v = op->operands[i];
    if (!has_word(v) || !v->data || !v->def || v->def == op) continue;
    ir_value *y = graph_build(&b, G_AS_UNSIGNED, 1, (ir_value *[]){v->data});
    if (!y) return st_oom();
    if (op == op->parent->last) y->name = v->name, v->name = NULL;
    ir_set_operand(op, i, y);
  }
  return NULL;
}

/* Before `at`, the words of what is given: arguments, or results of a call. */
static tsr_status take_words(ir_op *at, ir_value *const *v, int n) {
  ir_builder b = ir_before(at);
  for (int i = 0; i < n; i++)
    if (has_word(v[i]) && !(v[i]->data = graph_build(&b, G_AS_SIGNED, 1, (ir_value *[]){v[i]}))) return st_oom();
  return NULL;
}

/* The words of what is no op's result to replace. */
static bool is_taken(const ir_op *op) {
  return graph_is(op, G_AS_SIGNED) && op->operands[0]->data == op->results[0];
}

static tsr_status function_to_words(ir_op *func) {
  ir_block *r = func->regions[0];
  ir_clear_data(func);
  TSR_TRY(take_words(r->first, r->args, r->n_args));
  for (ir_op *op = r->first, *next; op; op = next) {
    next = op->next;
    ir_settle(op);
    if (is_taken(op) || !graph_has_value(op, has_word)) continue;
    const bool calls = graph_is_kind(op, GRAPH_CONTROL) || graph_is_kind(op, GRAPH_CUSTOM);
    if (!calls && op != r->last) {
      TSR_TRY(replace(op));
      continue;
    }
    TSR_TRY(give_unsigned(op));
    if (op != r->last) TSR_TRY(take_words(next, op->results, op->n_results));
  }
  ir_dce(func);
  ir_clear_data(func);
  return NULL;
}

tsr_status graph_to_words(ir_module *m) {
  bool changed = false;
  ir_begin(m);
  for (ir_op *f = m->root->regions[0]->first; f; f = f->next) {
    if (!graph_is(f, G_FUNC) || !has_words(f)) continue;
    tsr_status st = function_to_words(f);
    if (st) return ir_cause(m, NULL, st);
    changed = true;
  }
  return changed ? ir_verify(m) : NULL;
}
