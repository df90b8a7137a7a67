/* core/passes/graph/complex.c - see complex.h. A complex value's data field is its pairs, a real tensor with a last
 * axis of 2, real and imaginary part. */
#include "core/passes/graph/complex.h"

#include "core/base/dtype.h"
#include "core/ir/graph/ops.h"
#include "core/passes/graph/views.h"

static bool is_complex(const ir_value *v) { return dtype_is_complex(v->type->dtype); }

static bool has_complex(const ir_op *func) {
  for (const ir_op *o = func->regions[0]->first; o; o = o->next)
    if (graph_has_value(o, is_complex)) return true;
  return false;
}

static tsr_status split_op(ir_op *op) {
  if (!graph_ext(op) || !graph_ext(op)->pairs) return ir_error(op, NULL, "does not take complex numbers");
  return graph_stand_in(op, is_complex, graph_ext(op)->pairs);
}

/* Is v in memory as complex numbers, as what functions take and give is? */
static bool is_given(const ir_value *v) { return !v->def || graph_is_kind(v->def, GRAPH_CONTROL); }

/* What is called, or returned to, has its own types: complex ones, the same memory as the pairs. */
static tsr_status give_complex(ir_op *op) {
  ir_builder b = ir_before(op);
  for (int i = 0; i < op->n_operands; i++) {
    ir_value *v = op->operands[i];
    if (!is_complex(v) || is_given(v)) continue;
    ir_value *y = graph_as_complex(&b, v->data);
    if (!y) return st_oom();
    if (op == op->parent->last) y->name = v->name, v->name = NULL;
    ir_set_operand(op, i, y);
  }
  return NULL;
}

/* Before `at`, the pairs of what is given: arguments, or results of a call. */
static tsr_status take_pairs(ir_op *at, ir_value *const *v, int n) {
  ir_builder b = ir_before(at);
  for (int i = 0; i < n; i++)
    if (is_complex(v[i]) && !(v[i]->data = graph_as_real(&b, v[i]))) return st_oom();
  return NULL;
}

static tsr_status split(ir_op *op, ir_op *next) {
  const bool ends = !next;
  if (!graph_has_value(op, is_complex)) return NULL;
  if (!ends && !graph_is_kind(op, GRAPH_CONTROL)) return split_op(op);
  TSR_TRY(give_complex(op));
  return ends ? NULL : take_pairs(next, op->results, op->n_results);
}

tsr_status graph_split_complex(ir_op *func) {
  ir_block *r = func->regions[0];
  if (!has_complex(func)) return NULL;
  ir_clear_data(func);
  ir_op *first = r->first;
  TSR_TRY(take_pairs(first, r->args, r->n_args));
  for (ir_op *op = first, *next; op; op = next) {
    next = op->next;
    ir_settle(op);
    TSR_TRY(split(op, next));
  }
  ir_dce(func);
  ir_clear_data(func);
  return NULL;
}

tsr_status graph_split_complex_module(ir_module *m) {
  bool changed = false;
  ir_begin(m);
  for (ir_op *f = m->root->regions[0]->first; f; f = f->next) {
    if (!graph_is(f, G_FUNC) || !has_complex(f)) continue;
    tsr_status st = graph_split_complex(f);
    if (st) return ir_cause(m, NULL, st);
    changed = true;
  }
  return changed ? ir_verify(m) : NULL;
}
