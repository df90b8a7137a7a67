/* core/passes/graph/views.c - see graph/views.h. */
#include "core/passes/graph/views.h"

#include <string.h>

void graph_replace(ir_op *op, ir_value *v) {
  if (!v->name && v->def) v->name = op->results[0]->name;
  ir_forward(op->results[0], v);
  ir_op_remove(op);
}

bool graph_has_value(const ir_op *op, bool (*is)(const ir_value *v)) {
  for (int i = 0; i < op->n_operands; i++)
    if (is(op->operands[i])) return true;
  for (int i = 0; i < op->n_results; i++)
    if (is(op->results[i])) return true;
  return false;
}

tsr_status graph_stand_in(ir_op *op, bool (*is)(const ir_value *v), graph_pairs_fn build) {
  ir_builder b = ir_before(op);
  b.loc = op->loc;
  ir_value **x = arena_array(&op->module->arena, ir_value *, op->n_operands + 1);
  if (!x) return st_oom();
  for (int i = 0; i < op->n_operands; i++) x[i] = is(op->operands[i]) ? op->operands[i]->data : op->operands[i];
  ir_value *y = build(&b, op, x);
  if (!y) return st_oom();
  if (is(op->results[0])) op->results[0]->data = y; /* op itself is dead */
  else graph_replace(op, y);
  return NULL;
}

bool graph_has_unknown(const ir_op *op) {
  for (int i = 0; i < op->n_operands; i++)
    if (ir_type_count(op->operands[i]->type) == IR_DYNAMIC) return true;
  return false;
}

static bool one_element(const ir_value *v) { return ir_type_count(v->type) == 1; }

/* Which operand of op is the first that is its i-th: a square reads one twice. */
static int first_read(const ir_op *op, int i) {
  int k = 0;
  while (op->operands[k] != op->operands[i]) k++;
  return k;
}

static int reads(const ir_op *op, int i) {
  int n = 0;
  for (int k = 0; k < op->n_operands; k++) n += op->operands[k] == op->operands[i];
  return n;
}

enum { DEEPEST = 32 };

/* Is v computed by this view's operand chain alone, elementwise, from values that are in memory anyway? uses: by the op
 * that comes next in the chain. */
static bool hoistable(const ir_value *v, int uses, int depth) {
  const ir_op *op = v->def;
  if (!op || graph_is(op, G_CONSTANT) || graph_is_alias(op)) return depth > 0;
  if (!(op->def->flags & IR_ELEMENTWISE) || v->n_uses != uses || depth > DEEPEST) return false;
  for (int i = 0; i < op->n_operands; i++) {
    const ir_value *x = op->operands[i];
    if (one_element(x) || first_read(op, i) != i) continue;
    if (x->type->rank != v->type->rank ||
        memcmp(x->type->dims, v->type->dims, sizeof *v->type->dims * (size_t)v->type->rank))
      return false;
    if (!hoistable(x, reads(op, i), depth + 1)) return false;
  }
  return true;
}

bool graph_view_is_free(const ir_value *v) { return hoistable(v, 1, 1); }

/* v as the view has it, by the same ops on its operands as the view has those; uses and depth as in hoistable. A value
 * of one element that something else reads too, into which hoistable doesn't look, is not computed a second time. */
static ir_value *pull(ir_builder *b, const ir_op *view, ir_value *v, int uses, int depth) {
  const ir_op *op = v->def;
  bool computed = op && op->def->flags & IR_ELEMENTWISE && v->n_uses == uses && depth <= DEEPEST,
       to_one = one_element(view->results[0]);
  /* One element repeats along whatever the others have, in any shape: as no dimensions, or, where the result is one
   * element too, as its own. */
  if (one_element(v) && !to_one) return graph_reshape(b, v, 0, NULL);
  if (one_element(v) && !computed)
    return graph_reshape(b, v, view->results[0]->type->rank, view->results[0]->type->dims);
  if (!computed) return graph_build_like(b, view, &v);
  ir_value *x[3];
  for (int i = 0; i < op->n_operands; i++)
    x[i] = first_read(op, i) < i ? x[first_read(op, i)]
                                : pull(b, view, op->operands[i], reads(op, i), depth + 1);
  return graph_build_like(b, op, x);
}

static bool hoist_view(ir_op *op, const pass_options *opts) {
  ir_builder b = ir_before(op);
  ir_value *v = pull(&b, op, op->operands[0], 1, 0);
  if (b.failed) return false;
  trace_add(opts->trace, "fuse", "hoist_view", op, true, "above the elementwise ops that feed it");
  graph_replace(op, v);
  return true;
}

/* Each element once: what is computed above it is as much as below. */
static bool keeps_all(const ir_op *op) { return graph_reshapes(op) || graph_moves_of(op) == MOVES_ORDER; }

tsr_status graph_hoist_views(ir_op *func, const pass_options *opts) {
  for (ir_op *op = func->regions[0]->first, *next; op; op = next) {
    next = op->next;
    ir_settle(op);
    if (keeps_all(op) && op->operands[0]->def && pass_enabled(opts, "fusion", "hoist_view") && !graph_has_unknown(op) &&
        hoistable(op->operands[0], 1, 0))
      if (!hoist_view(op, opts)) return st_oom();
  }
  ir_dce(func);
  return NULL;
}

ir_value *graph_along_result(ir_builder *b, ir_value *v, bool transposed) {
  int64_t dims[TSR_MAX_RANK];
  if (!v || !transposed || !v->type->rank) return v;
  const int n = v->type->rank < 2 ? 2 : v->type->rank; /* a vector is of rows */
  memcpy(dims, v->type->dims, sizeof dims);
  dims[n - 2] = v->type->dims[v->type->rank - 1];
  dims[n - 1] = v->type->rank < 2 ? 1 : v->type->dims[n - 2];
  return graph_reshape(b, v, n, dims);
}
