/* core/passes/graph/complex.c - see complex.h. A complex value's data field is its pairs, a real tensor with a last
 * axis of 2, real and imaginary part. */
#include "core/passes/graph/complex.h"

#include "core/base/dtype.h"
#include "core/ir/graph/ops.h"
#include "core/passes/graph/views.h"

static bool is_complex(const ir_value *v) { return dtype_is_complex(v->type->dtype); }

static bool takes_part(const ir_op *op) {
  for (int i = 0; i < op->n_operands; i++)
    if (is_complex(op->operands[i])) return true;
  return op->n_results == 1 && is_complex(op->results[0]);
}

static bool has_complex(const ir_op *func) {
  for (const ir_op *o = func->regions[0]->first; o; o = o->next)
    if (takes_part(o)) return true;
  return false;
}

static tsr_status split_op(ir_op *op) {
  if (!graph_ext(op) || !graph_ext(op)->pairs) return ir_error(op, NULL, "does not take complex numbers");
  return graph_stand_in(op, is_complex, graph_ext(op)->pairs);
}

/* What a function returns has its own type. */
static tsr_status join_results(ir_op *ret) {
  ir_builder b = ir_before(ret);
  for (int i = 0; i < ret->n_operands; i++) {
    ir_value *v = ret->operands[i];
    if (!is_complex(v) || !v->def) continue;
    ir_value *y = graph_as_complex(&b, v->data);
    if (!y) return st_oom();
    y->name = v->name;
    v->name = NULL;
    ir_set_operand(ret, i, y);
  }
  return NULL;
}

tsr_status graph_split_complex(ir_op *func) {
  ir_block *r = func->regions[0];
  if (!has_complex(func)) return NULL;
  ir_clear_data(func);
  ir_builder b = ir_before(r->first);
  for (int i = 0; i < r->n_args; i++)
    if (is_complex(r->args[i]) && !(r->args[i]->data = graph_as_real(&b, r->args[i]))) return st_oom();
  for (ir_op *op = r->first, *next; op; op = next) {
    next = op->next;
    ir_settle(op);
    const bool argument = graph_is(op, G_AS_REAL) && !op->operands[0]->def && op->operands[0]->data == op->results[0];
    if (!argument && op != r->last && takes_part(op)) TSR_TRY(split_op(op));
  }
  TSR_TRY(join_results(r->last));
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
