/* core/passes/tile/row_ops.c - row operations (reductions, softmax, norms) by their recipes: of rows that a block holds
 * whole, and what a row that is taken in chunks computes from its statistics (tile/row_chunked.c). */
#include <math.h>
#include <string.h>

#include "core/base/dtype.h"
#include "core/base/policy.h"
#include "core/ir/reducer.h"
#include "core/ir/tile/tile.h"
#include "core/passes/tile/map.h"
#include "core/passes/tile/row_recipe.h"

/* Whether rows that a norm loses are looked for, or all are computed with care: for compensated sums, which deserve a
 * mean to match, and on the CPU where none of its own kernels takes them. */
static tile_row_care care_of(const kb_kernel *k, const row_work *w) {
  const bool cpu = k->opts->caps->dialect == DIALECT_CPU,
             kernel = w->op->operands[0]->type->dtype != TSR_F64 && w->count > 1 && !k->opts->by_parts,
             plain = policy_named(k->opts->policy) != TSR_POLICY_KAHAN_SUM && (kernel || !cpu);
  return !w->recipe->careful ? ROW_CARE_NEVER
         : !plain            ? ROW_CARE_ALWAYS
         : w->may_lose       ? ROW_CARE_LOST
                             : ROW_CARE_NEVER;
}

/* A row without elements: the identity of the operation (the mean is 0 / 0). */
static tsr_status reduce_nothing(kb_kernel *k, const ir_op *op, const kb_space *s, ir_value **out) {
  tsr_dtype t = kb_compute(op->results[0]->type->dtype);
  const recipe_fold *fold = &op->def->recipe->fold[0];
  const double v = fold->finish[0].arg == ARG_COUNT ? NAN : ir_reducer_identity(ir_reducer_named(fold->op), t);
  return (*out = kb_fill(&k->b, kb_frag(k, t, s->tm, 1), v)) ? NULL : st_oom();
}

/* y times the second operand, plus the third. */
static tsr_status weigh(kb_kernel *k, const ir_op *op, ir_value *y, ir_value *const *weights, ir_value **out) {
  for (int i = 1; i < op->n_operands; i++) y = kb_map2(k, i == 1 ? SC_MUL : SC_ADD, y, weights[i]);
  return (*out = y) ? NULL : st_oom();
}

/* A weight in the type that the row is computed in. */
static tsr_status typed(kb_kernel *k, ir_value **v, tsr_dtype t) {
  ir_op *load = (*v)->def;
  ir_value *args[1];
  ir_builder r;
  if ((*v)->type->dtype == t) return NULL;
  if (load && load->def->level == IR_TILE && load->def->code == T_LOAD) { /* which widens by itself */
    const ir_type *wide = kb_frag(k, t, (*v)->type->dims[0], (*v)->type->dims[1]);
    return (*v = ir_build1(&k->b, load->def->name, wide, 1, load->operands)) ? NULL : st_oom();
  }
  ir_op *map = kb_map_open(k, 1, v, args, &r, NULL, 0);
  return map && (*v = kb_map_close(k, map, &r, kb_cast_to(k, &r, args[0], t))) ? NULL : st_oom();
}

/* A region whose only argument is what it yields. */
static bool hand_on(kb_kernel *k, ir_block *region, tsr_dtype t) {
  ir_value *x = ir_block_arg(k->m, region, ir_type_scalar(k->m, t), NULL);
  ir_builder r = ir_at_end(k->m, region);
  return x && ir_build0(&r, "tessera.tile.yield", 1, &x);
}

static bool adds_eps(const recipe_step *s) {
  for (; s->code != STEP_END; s++)
    if (s->arg == ARG_EPS) return true;
  return false;
}

static bool has_eps(const row_recipe *r) {
  bool has = r->per_element && adds_eps(r->apply);
  for (int i = 0; i < r->n_folds; i++) has |= adds_eps(r->fold[i].term) || adds_eps(r->fold[i].finish);
  return has;
}

static bool set_attributes(kb_kernel *k, ir_op *row, const row_work *w, const kb_space *s) {
  const bool careful = w->recipe->careful != NULL, wraps = w->recipe->fold[0].finish[0].code == STEP_WRAP && w->wrap;
  ir_module *m = k->m;
  return ir_set_attr(row, "recipe", ir_attr_str(m, ir_short_name(w->op->def))) &&
         ir_set_attr(row, "maps", ir_attr_str(m, &"mn,mn,mn"[3 * (3 - row->n_operands)])) &&
         ir_set_attr(row, "tile", ir_attr_ints(m, (int64_t[]){s->tm, s->tn}, 2)) &&
         (row->n_operands < 2 || ir_set_attr(row, "weights", ir_attr_int(m, row->n_operands - 1))) &&
         (!has_eps(w->op->def->recipe) || ir_set_attr(row, "eps", ir_attr_float(m, w->eps))) &&
         (!careful || ir_set_attr(row, "care", ir_attr_str(m, tile_row_cares[care_of(k, w)]))) &&
         (!wraps || ir_set_attr(row, "wrap", ir_attr_str(m, dtype_get(w->wrap)->name))) &&
         ir_set_attr(row, "policy", ir_attr_str(m, k->opts->policy));
}

tsr_status kb_row_op(kb_kernel *k, ir_op *op, const kb_space *s, const ir_type *orig, ir_value **out) {
  ir_value *v[3];
  const int64_t n = s->dims[s->rank - 1];
  if (n == 0) return reduce_nothing(k, op, s, out);
  for (int i = 0; i < op->n_operands; i++) TSR_TRY(kb_operand(k, op->operands[i], s, orig, FORM_FULL, &v[i]));
  k->b.loc = op->loc;
  for (int i = 1; i < op->n_operands; i++) TSR_TRY(typed(k, &v[i], v[0]->type->dtype));
  const row_work w = kb_row_work(op, n);
  const ir_type *t = kb_frag(k, v[0]->type->dtype, s->tm, w.recipe->per_element ? s->tn : 1);
  ir_op *row = ir_op_new(&k->b, ir_find_op("tessera.tile.row"), op->n_operands, v, 1, &t, 2);
  if (!row || !set_attributes(k, row, &w, s)) return st_oom();
  for (int r = 0; r < 2; r++)
    if (!hand_on(k, row->regions[r], t->dtype)) return st_oom();
  *out = row->results[0];
  return NULL;
}

ir_value *kb_row_of(kb_kernel *k, const char *recipe, ir_value *x, ir_value **rows) {
  ir_module *m = k->m;
  if (!x) return NULL;
  const int64_t *dims = x->type->dims;
  const ir_type *t[] = {kb_frag(k, x->type->dtype, dims[0], recipe_named(recipe)->per_element ? dims[1] : 1), x->type};
  ir_op *row = ir_op_new(&k->b, ir_find_op("tessera.tile.row"), 1, &x, rows ? 2 : 1, t, 2);
  if (!row || !ir_set_attr(row, "recipe", ir_attr_str(m, recipe)) || !ir_set_attr(row, "maps", ir_attr_str(m, "mn")) ||
      !ir_set_attr(row, "tile", ir_attr_ints(m, dims, 2)) ||
      (rows && !ir_set_attr(row, "keeps_rows", ir_attr_bool(m, true))) ||
      !ir_set_attr(row, "policy", ir_attr_str(m, k->opts->policy)))
    return NULL;
  for (int r = 0; r < 2; r++)
    if (!hand_on(k, row->regions[r], x->type->dtype)) return NULL;
  if (rows) *rows = row->results[1];
  return row->results[0];
}

tsr_status kb_row_apply(kb_kernel *k, ir_op *op, const kb_space *s, const ir_type *orig, ir_value **out) {
  const kb_node *n = op->results[0]->data;
  row_work w = kb_row_work(op, s->dims[s->rank - 1]);
  w.recipe = n->recipe;
  ir_value *v[3];
  memcpy(w.stat, n->stat, sizeof w.stat);
  *out = w.stat[0];
  if (!w.recipe->per_element) return NULL;
  for (int i = 0; i < op->n_operands; i++) TSR_TRY(kb_operand(k, op->operands[i], s, orig, FORM_FULL, &v[i]));
  k->b.loc = op->loc;
  for (int i = 1; i < op->n_operands; i++) TSR_TRY(typed(k, &v[i], v[0]->type->dtype));
  return weigh(k, op, kb_row_chain(k, &w, w.recipe->apply, kb_spread(k, v[0], s)), v, out);
}
