/* core/passes/tile/fuse_maps.c - joins maps: a map whose only consumer is another map of the same shape is computed
 * inside it. Also drops the zero operands that only spread a shape. Invariant: results and their order stay. */
#include "core/passes/tile/fuse_maps.h"

#include <string.h>

#include "core/ir/tile/tile.h"

static bool is_map(const ir_op *op) { return op && op->def->level == IR_TILE && op->def->code == T_MAP; }

static bool same_dims(const ir_type *a, const ir_type *b) {
  return a->rank == b->rank && !memcmp(a->dims, b->dims, sizeof *a->dims * (size_t)a->rank);
}

static bool can_join(const ir_op *user, const ir_value *v) {
  const ir_op *p = v->def;
  if (!is_map(p) || p->parent != user->parent || p->n_results != 1 || !same_dims(v->type, user->results[0]->type))
    return false;
  return tile_reads(user, v) == v->n_uses && user->n_operands + p->n_operands < TILE_MAP_OPERANDS;
}

/* Each distinct fragment of the map appears once: arguments of equal operands become the first of them. */
static void merge_equal(ir_op *map) {
  ir_block *r = map->regions[0];
  for (int i = 0; i < map->n_operands; i++)
    for (int k = i + 1; k < map->n_operands;) {
      if (map->operands[k] != map->operands[i]) {
        k++;
        continue;
      }
      ir_replace_uses(map, r->args[k], r->args[i]);
      map->operands[k]->n_uses--;
      for (int j = k; j + 1 < map->n_operands; j++)
        map->operands[j] = map->operands[j + 1], r->args[j] = r->args[j + 1], r->args[j]->index = j;
      map->n_operands--;
      r->n_args--;
    }
}

/* The map's argument for a fragment, which is added if it has none. */
static ir_value *argument_for(ir_op *map, ir_value *frag) {
  for (int i = 0; i < map->n_operands; i++)
    if (map->operands[i] == frag) return map->regions[0]->args[i];
  ir_value *a = ir_block_arg(map->module, map->regions[0], ir_type_scalar(map->module, frag->type->dtype), NULL);
  return a && ir_add_operand(map, frag) ? a : NULL;
}

/* The producer takes the user's place, its results and, behind its own ops, its ops: what is there already is not
 * copied, so that a chain of n maps costs n. */
static tsr_status join(ir_op *user, ir_value *v) {
  ir_op *p = v->def;
  ir_block *to = p->regions[0], *from = user->regions[0];
  ir_value *args[64], *value;
  merge_equal(p);
  value = to->last->operands[0];
  for (int i = 0; i < user->n_operands; i++)
    if (!(args[i] = user->operands[i] == v ? value : argument_for(p, user->operands[i]))) return st_oom();
  ir_op_remove(to->last);
  while (from->first) {
    ir_op *o = from->first;
    for (int i = 0; i < o->n_operands; i++)
      if (o->operands[i]->owner == from) ir_set_operand(o, i, args[o->operands[i]->index]);
    ir_op_move(o, to, NULL);
  }
  ir_op_move(p, user->parent, user);
  p->results = user->results;
  p->n_results = user->n_results;
  for (int i = 0; i < p->n_results; i++) p->results[i]->def = p, p->results[i]->name = NULL;
  p->attrs = user->attrs;
  p->n_attrs = user->n_attrs;
  p->loc = user->loc;
  ir_op_remove(user);
  return NULL;
}

/* A map region that never uses an argument does not need the operand, as long as the shape stays. */
static bool drop_unused(ir_op *map) {
  ir_block *r = map->regions[0];
  for (int i = 0; i < r->n_args && map->n_operands > 1; i++) {
    if (r->args[i]->n_uses) continue;
    ir_value *v = map->operands[i];
    bool needed = true;
    for (int d = 0; d < v->type->rank; d++)
      if (v->type->dims[d] != 1) {
        needed = true;
        for (int k = 0; k < map->n_operands; k++)
          if (k != i && map->operands[k]->type->dims[d] == v->type->dims[d]) needed = false;
        if (needed) break;
      } else {
        needed = false;
      }
    if (needed) continue;
    v->n_uses--;
    for (int k = i; k + 1 < map->n_operands; k++)
      map->operands[k] = map->operands[k + 1], r->args[k] = r->args[k + 1], r->args[k]->index = k;
    map->n_operands--;
    r->n_args--;
    return true;
  }
  return false;
}

static tsr_status fuse_in(ir_block *b) {
  for (ir_op *o = b->first, *next; o; o = next) {
    next = o->next;
    for (int r = 0; r < o->n_regions && !is_map(o); r++) TSR_TRY(fuse_in(o->regions[r]));
    if (!is_map(o)) continue;
    for (int i = 0; i < o->n_operands; i++)
      if (can_join(o, o->operands[i])) {
        next = o->operands[i]->def; /* the joined map, which then stands where o stood: looked at again */
        TSR_TRY(join(o, o->operands[i]));
        break;
      }
  }
  for (ir_op *o = b->first; o; o = o->next)
    while (is_map(o) && drop_unused(o)) {}
  return NULL;
}

tsr_status tile_fuse_maps_of(ir_op *kernel) { return fuse_in(kernel->regions[0]); }

tsr_status tile_fuse_maps(ir_module *m) {
  for (ir_op *o = m->root->regions[0]->first; o; o = o->next)
    if (o->def->level == IR_TILE && o->def->code == T_KERNEL) TSR_TRY(fuse_in(o->regions[0]));
  return NULL;
}
