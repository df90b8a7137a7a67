/* core/passes/tile/row_ops.c - row operations (reductions, softmax, norms) by their recipes: of rows that a block holds
 * whole, and what a row that is taken in chunks computes from its statistics (tile/row_chunked.c). */
#include <math.h>
#include <string.h>

#include "core/passes/tile/row_recipe.h"

/* On GPUs, rows that a norm loses are found by their variance (tile/row_recipe.c); the CPU's reduction kernels, which
 * see to that themselves, take a plain norm as well (cpu/reduction_kernels.c). Compensated sums deserve a mean to
 * match. */
static const row_recipe *recipe_of(const kb_kernel *k, const ir_op *op, double n) {
  const row_recipe *r = graph_ext(op)->recipe;
  bool cpu = k->opts->caps->dialect == DIALECT_CPU,
       kernel = op->operands[0]->type->dtype != TSR_F64 && n > 1 && !k->opts->by_parts,
       plain = strcmp(k->opts->policy, "kahan_sum") && (kernel || !cpu);
  return r->careful && !plain ? r->careful : r;
}

/* A row without elements: the identity of the operation (the mean is 0 / 0). */
static tsr_status reduce_nothing(kb_kernel *k, const ir_op *op, const kb_space *s, ir_value **out) {
  tsr_dtype t = kb_compute(op->results[0]->type->dtype);
  double v = op->def->code == G_REDUCE_PROD   ? 1
             : op->def->code == G_REDUCE_MAX  ? -INFINITY
             : op->def->code == G_REDUCE_MIN  ? INFINITY
             : op->def->code == G_REDUCE_MEAN ? NAN
                                              : 0;
  return (*out = kb_fill(&k->b, kb_frag(k, t, s->tm, 1), v)) ? NULL : st_oom();
}

/* y times the second operand, plus the third. */
static tsr_status weigh(kb_kernel *k, const ir_op *op, ir_value *y, ir_value *const *weights, ir_value **out) {
  for (int i = 1; i < op->n_operands; i++) y = kb_map2(k, i == 1 ? SC_MUL : SC_ADD, y, weights[i]);
  return (*out = y) ? NULL : st_oom();
}

tsr_status kb_row_op(kb_kernel *k, ir_op *op, const kb_space *s, const ir_type *orig, ir_value **out) {
  ir_value *v[3];
  double n = (double)s->dims[s->rank - 1];
  if (n == 0) return reduce_nothing(k, op, s, out);
  for (int i = 0; i < op->n_operands; i++) TSR_TRY(kb_operand(k, op->operands[i], s, orig, FORM_FULL, &v[i]));
  k->b.loc = op->loc;
  row_work w = {.op = op, .recipe = recipe_of(k, op, n), .x = kb_spread(k, v[0], s), .row = s, .orig = orig};
  if (!w.x) return st_oom();
  TSR_TRY(kb_row_stats(k, &w));
  *out = w.stat[0];
  return w.recipe->per_element ? weigh(k, op, kb_row_elements(k, &w, w.recipe->apply), v, out) : NULL;
}

tsr_status kb_row_apply(kb_kernel *k, ir_op *op, const kb_space *s, const ir_type *orig, ir_value **out) {
  const kb_node *n = op->results[0]->data;
  row_work w = {.op = op, .recipe = n->recipe, .row = s, .orig = orig};
  ir_value *v[3];
  memcpy(w.stat, n->stat, sizeof w.stat);
  *out = w.stat[0];
  if (!w.recipe->per_element) return NULL;
  for (int i = 0; i < op->n_operands; i++) TSR_TRY(kb_operand(k, op->operands[i], s, orig, FORM_FULL, &v[i]));
  k->b.loc = op->loc;
  return weigh(k, op, kb_row_chain(k, &w, w.recipe->apply, kb_spread(k, v[0], s)), v, out);
}
