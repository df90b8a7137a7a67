/* core/passes/tile/expand_row.c - see tile/expand_row.h. The statistics are those of tile/row_recipe.c; maps around
 * them are joined afterwards (tile/fuse_maps.c). */
#include "core/passes/tile/expand_row.h"

#include "core/ir/tile/row.h"
#include "core/ir/tile/tile.h"
#include "core/passes/tile/fuse_maps.h"
#include "core/passes/tile/region_map.h"
#include "core/passes/tile/row_recipe.h"

static bool gives_argument(const ir_block *region) {
  return region->last == region->first && region->last->n_operands == 1 &&
         region->last->operands[0] == region->args[0];
}

/* Operand i of a role as a fragment of the argument's type. A window that only this op reads is taken where its load
 * is, so that addresses don't live long. */
static ir_value *fragment(kb_kernel *k, ir_op *op, const tile_row *r, tile_row_role role, int i, const ir_type *t) {
  ir_value *v = r->v[role][i];
  if (v->def && v->def->def->code == T_WINDOW && v->n_uses == 1 && v->def->parent == op->parent)
    ir_op_move(v->def, op->parent, op);
  return region_load(&k->b, op, v, t, tile_row_swapped(r, role, i));
}

/* The rows' operands are loaded, then the prologue is computed, then the weights are loaded: the order in which the
 * lowering of graph ops reads them. */
static tsr_status load_all(kb_kernel *k, ir_op *op, const tile_row *r, ir_value **x, ir_value **weights) {
  const ir_block *region = r->prologue;
  ir_value *frags[TILE_ROW_MOST] = {NULL};
  for (int i = 0; i < r->n[ROW_X]; i++) {
    frags[i] = NULL;
    if (region->args[i]->n_uses && !(frags[i] = fragment(k, op, r, ROW_X, i, region->args[i]->type))) return st_oom();
  }
  *x = frags[0];
  if (!gives_argument(region)) {
    const ir_op *map = region_map(&k->b, region, frags, (int[]){0}, 1, r->m, r->columns);
    *x = map ? map->results[0] : NULL;
  }
  for (int i = 0; i < r->n[ROW_WEIGHT]; i++)
    if (!(weights[i] = fragment(k, op, r, ROW_WEIGHT, i, ir_type_scalar(k->m, r->type)))) return st_oom();
  return (*x = kb_spread(k, *x, &(kb_space){.tn = r->columns})) ? NULL : st_oom();
}

static tsr_status compute(kb_kernel *k, const tile_row *r, ir_value *x, ir_value *const *weights, ir_value **out) {
  const bool careful = r->care == ROW_CARE_ALWAYS;
  row_work w = {.recipe = careful ? r->recipe->careful : r->recipe,
                .count = (double)r->columns,
                .eps = r->eps,
                .wrap = r->wrap,
                .may_lose = r->care == ROW_CARE_LOST,
                .x = x};
  TSR_TRY(kb_row_stats(k, &w));
  *out = w.stat[0];
  if (!w.recipe->per_element) return NULL;
  *out = kb_row_elements(k, &w, w.recipe->apply);
  for (int i = 0; i < r->n[ROW_WEIGHT]; i++) *out = kb_map2(k, i ? SC_ADD : SC_MUL, *out, weights[i]);
  return *out ? NULL : st_oom();
}

/* What the epilogue yields: y itself where it is handed on and has the results' shape, else results of one map. */
static tsr_status epilogue(kb_kernel *k, ir_op *op, const tile_row *r, ir_value *y) {
  const ir_block *region = r->epilogue;
  ir_value *frags[TILE_ROW_MOST + 1] = {y};
  int yields[REGION_MAP_MOST];
  const int64_t width = tile_row_width(r);
  if (op->n_results > TILE_ROW_MOST) return ir_error(op, NULL, "has too many results");
  if (gives_argument(region) && y->type->dims[0] == r->m && y->type->dims[1] == width) {
    ir_forward(op->results[0], y);
    return NULL;
  }
  for (int i = 0; i < r->n[ROW_OTHER]; i++) {
    const ir_value *arg = region->args[1 + i];
    frags[1 + i] = NULL;
    if (arg->n_uses && !(frags[1 + i] = fragment(k, op, r, ROW_OTHER, i, arg->type))) return st_oom();
  }
  for (int i = 0; i < op->n_results; i++) yields[i] = i;
  const ir_op *map = region_map(&k->b, region, frags, yields, op->n_results, r->m, width);
  if (!map) return st_oom();
  for (int i = 0; i < op->n_results; i++) ir_forward(op->results[i], map->results[i]);
  return NULL;
}

static tsr_status expand(ir_op *op) {
  const tile_options opts = {.policy = ir_get_str(op, "policy", "fast")};
  kb_kernel k = {.m = op->module, .b = ir_before(op), .opts = &opts};
  ir_value *x = NULL, *weights[TILE_ROW_MOST], *y = NULL;
  tile_row r;
  TSR_TRY(tile_row_get(op, &r));
  k.b.loc = op->loc;
  TSR_TRY(load_all(&k, op, &r, &x, weights));
  TSR_TRY(compute(&k, &r, x, weights, &y));
  TSR_TRY(epilogue(&k, op, &r, y));
  ir_op_remove(op);
  return k.b.failed ? st_oom() : NULL;
}

static tsr_status expand_in(ir_block *b, bool (*takes)(const ir_op *row), bool *changed) {
  for (ir_op *o = b->first, *next; o; o = next) {
    next = o->next;
    ir_settle(o);
    for (int r = 0; r < o->n_regions; r++) TSR_TRY(expand_in(o->regions[r], takes, changed));
    if (o->def->code != T_ROW || (takes && takes(o))) continue;
    TSR_TRY(expand(o));
    *changed = true;
  }
  return NULL;
}

tsr_status tile_expand_row(ir_module *m, bool (*takes)(const ir_op *row)) {
  bool any = false;
  for (ir_op *o = m->root->regions[0]->first; o; o = o->next) {
    bool changed = false;
    if (o->def->level != IR_TILE || o->def->code != T_KERNEL) continue;
    TSR_TRY(expand_in(o->regions[0], takes, &changed));
    if (!changed) continue;
    TSR_TRY(tile_fuse_maps_of(o));
    ir_dce(o);
    any = true;
  }
  return any ? ir_verify(m) : NULL;
}
