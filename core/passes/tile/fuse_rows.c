/* core/passes/tile/fuse_rows.c - tessera.tile.row takes in what only it reads and what alone reads it; see
 * tile/fuse_maps.h. Input: kernels whose maps were joined. tile/expand_row.c writes the same out again. */
#include <string.h>

#include "core/ir/tile/row.h"
#include "core/ir/tile/tile.h"
#include "core/passes/tile/fuse_maps.h"

static bool is(const ir_value *v, int code) {
  return v->def && v->def->def->level == IR_TILE && v->def->def->code == code;
}

/* What may stand between a load and the op that it is taken into: the order of loads and of all else stays. */
static bool is_quiet(const ir_op *o) {
  return o->def->code == T_LOAD || o->def->code == T_WINDOW || o->def->code == T_VIEW || o->def->code == T_CONST ||
         ir_is_scalar(o);
}

/* Operand i, loaded for this op alone, becomes the view; `from`: the load must stand behind it. NULL: anywhere. */
static bool take_load(ir_op *row, int i, const ir_op *from) {
  const ir_value *v = row->operands[i];
  if (!is(v, T_LOAD) || v->n_uses != 1 || v->def->parent != row->parent ||
      v->def->operands[0]->type->kind != IR_T_VIEW)
    return true;
  ir_op *load = v->def;
  const ir_op *o = load;
  while (o && o != row && is_quiet(o)) o = o->next;
  if (o != row) return true;
  for (o = from ? from : load; o != row && o != load; o = o->next) {}
  if (o == row) return true;
  const ir_attr *width = ir_get_attr(load, "vectorize");
  if (width && !ir_set_attr(row, "vectorize", ir_attr_copy(row->module, width))) return false;
  ir_set_operand(row, i, load->operands[0]);
  ir_op_remove(load);
  return true;
}

/* Moves the ops of a map's region in front of `before`; its arguments become `args`. Returns what it yields. */
static ir_value *splice(ir_op *map, ir_value *const *args, ir_block *to, ir_op *before) {
  ir_block *from = map->regions[0];
  ir_value *y = from->last->operands[0];
  if (y->owner == from) y = args[y->index];
  ir_op_remove(from->last);
  while (from->first) {
    ir_op *o = from->first;
    for (int i = 0; i < o->n_operands; i++)
      if (o->operands[i]->owner == from) ir_set_operand(o, i, args[o->operands[i]->index]);
    ir_op_move(o, to, before);
  }
  return y;
}

/* May the row operation take the map in? Its regions are told elements, not where they stand. */
static bool is_joined(const ir_op *map, const ir_op *row, int more) {
  for (const ir_op *o = map->regions[0]->first; o; o = o->next)
    if (o->def->level == IR_TILE && o->def->code == T_INDEX) return false;
  return map->n_results == 1 && map->n_operands && map->parent == row->parent &&
         row->n_operands + map->n_operands + more <= TILE_ROW_MOST;
}

/* Nothing was taken into the region yet. */
static bool hands_on(const ir_block *region) {
  return region->n_args == 1 && region->last->operands[0] == region->args[0];
}

static int uses(const ir_op *o, const ir_value *v) {
  int n = tile_reads(o, v);
  for (int r = 0; r < o->n_regions; r++)
    for (const ir_op *in = o->regions[r]->first; in; in = in->next) n += uses(in, v);
  return n;
}

/* May others read the rows, which a map gives, from the op, which then keeps them? That of a reduction, behind which
 * they all stand. */
static bool can_keep(const ir_op *row, const ir_value *v) {
  const row_recipe *r = recipe_named(ir_get_str(row, "recipe", ""));
  if (row->n_results != 1 || !r || r->per_element || uses(row, v) != 1) return false;
  for (const ir_op *o = v->def->next; o != row; o = o->next)
    if (uses(o, v)) return false;
  return true;
}

/* The map's result becomes the op's last one. */
static bool keep(ir_op *row, ir_op *map) {
  ir_value **all = arena_array(&row->module->arena, ir_value *, 2), *v = map->results[0];
  if (!all) return false;
  all[0] = row->results[0], all[1] = v;
  v->def = row, v->index = 1;
  row->results = all, row->n_results = 2, map->n_results = 0;
  return ir_set_attr(row, "keeps_rows", ir_attr_bool(row->module, true));
}

/* The map that gives the rows becomes the prologue, its operands, each once, the op's. */
static tsr_status take_prologue(ir_op *row) {
  const ir_value *v = row->operands[0];
  ir_block *region = row->regions[0];
  ir_value *operands[2 * TILE_ROW_MOST], *args[TILE_ROW_MOST];
  if (!hands_on(region) || !is(v, T_MAP) || !is_joined(v->def, row, 0) || (v->n_uses != 1 && !can_keep(row, v)))
    return NULL;
  ir_op *map = v->def;
  int n = 0;
  int64_t tile[2];
  if (ir_get_ints(row, "tile", tile, 2) != 2 || v->type->dims[0] != tile[0] || v->type->dims[1] != tile[1]) return NULL;
  for (int i = 0; i < map->n_operands; i++) {
    int k = 0;
    while (k < n && operands[k] != map->operands[i]) k++;
    if (k == n && k && !ir_block_arg(row->module, region, map->regions[0]->args[i]->type, NULL)) return st_oom();
    if (k == n) operands[n++] = map->operands[i];
    args[i] = region->args[k];
  }
  for (int i = 1; i < row->n_operands; i++) operands[n + i - 1] = row->operands[i];
  ir_value *y = splice(map, args, region, region->last);
  args[0]->type = map->regions[0]->args[0]->type;
  ir_set_operand(region->last, 0, y);
  const int all = n + row->n_operands - 1;
  for (int i = 0; i < all; i++) {
    if (i >= row->n_operands && !ir_add_operand(row, operands[i])) return st_oom();
    ir_set_operand(row, i, operands[i]);
  }
  if (v->n_uses && !keep(row, map)) return st_oom();
  ir_op_remove(map);
  return NULL;
}

/* The map that reads the result, which then stands where the map stood. */
static tsr_status take_epilogue(ir_op *row) {
  ir_value *y = row->results[0], *args[TILE_ROW_MOST];
  ir_block *region = row->regions[1];
  ir_op *map = row->next;
  while (map && is_quiet(map)) map = map->next;
  if (row->n_results != 1 || !hands_on(region) || !map || map->def->code != T_MAP || y->n_uses != 1 ||
      !is_joined(map, row, 0) || ir_type_count(map->results[0]->type) != ir_type_count(y->type))
    return NULL;
  bool reads = false;
  for (int i = 0; i < map->n_operands; i++) reads |= map->operands[i] == y;
  if (!reads) return NULL;
  for (int i = 0; i < map->n_operands; i++) {
    args[i] = region->args[0];
    if (map->operands[i] == y) continue;
    args[i] = ir_block_arg(row->module, region, map->regions[0]->args[i]->type, NULL);
    if (!args[i] || !ir_add_operand(row, map->operands[i])) return st_oom();
  }
  ir_set_operand(region->last, 0, splice(map, args, region, region->last));
  y->type = map->results[0]->type;
  ir_op_move(row, row->parent, map);
  ir_replace_uses(map->parent->parent, map->results[0], y);
  ir_op_remove(map);
  return NULL;
}

/* One map an operand: all that are taken in lie the usual way. */
static bool set_maps(ir_op *row) {
  char maps[3 * TILE_ROW_MOST] = "";
  for (int i = 0; i < row->n_operands; i++) strcat(maps, i ? ",mn" : "mn");
  return ir_set_attr(row, "maps", ir_attr_str(row->module, maps));
}

static tsr_status fuse_in(ir_block *b) {
  for (ir_op *o = b->first, *next; o; o = next) {
    next = o->next;
    for (int r = 0; r < o->n_regions; r++) TSR_TRY(fuse_in(o->regions[r]));
    if (o->def->level != IR_TILE || o->def->code != T_ROW) continue;
    TSR_TRY(take_prologue(o));
    const int n = o->n_operands;
    for (int i = 0; i < n; i++)
      if (!take_load(o, i, NULL)) return st_oom();
    const ir_op *before = o->prev;
    TSR_TRY(take_epilogue(o));
    for (int i = n; i < o->n_operands; i++)
      if (!take_load(o, i, before)) return st_oom();
    next = o->next;
    if (!set_maps(o)) return st_oom();
  }
  return NULL;
}

tsr_status tile_fuse_rows(ir_module *m) {
  for (ir_op *o = m->root->regions[0]->first; o; o = o->next)
    if (o->def->level == IR_TILE && o->def->code == T_KERNEL) TSR_TRY(fuse_in(o->regions[0]));
  return NULL;
}
