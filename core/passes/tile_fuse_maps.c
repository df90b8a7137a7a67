/* core/passes/tile_fuse_maps.c - joins maps: a map whose only consumer is another map of the same shape is computed inside it.
 * Also drops the zero operands that only spread a shape. Invariant: results and their order stay. */
#include <string.h>

#include "core/ir/tile.h"
#include "core/passes/schedule_to_tile.h"

static bool is_map(const ir_op *op) { return op && op->def->level == IR_TILE && op->def->code == T_MAP; }

static bool same_dims(const ir_type *a, const ir_type *b) { return a->rank == b->rank && !memcmp(a->dims, b->dims, sizeof *a->dims * (size_t)a->rank); }

static bool can_join(const ir_op *user, const ir_value *v) {
  const ir_op *p = v->def;
  if (!is_map(p) || p->parent != user->parent || p->n_results != 1 || !same_dims(v->type, user->results[0]->type)) return false;
  int uses = 0;
  for (int i = 0; i < user->n_operands; i++) uses += user->operands[i] == v;
  return uses == v->n_uses && user->n_operands + p->n_operands < 24;
}

typedef struct remap {
  const ir_block *from;
  ir_value **args;
} remap;

static ir_value *map_arg(void *user, ir_value *v) {
  remap *r = user;
  return v->owner == r->from ? r->args[v->index] : NULL;
}

/* Operands of `user` with v replaced by the producer's operands; each distinct fragment appears once. */
static int operand_index(ir_value **list, int *n, ir_value *v) {
  for (int i = 0; i < *n; i++)
    if (list[i] == v) return i;
  list[*n] = v;
  return (*n)++;
}

static tsr_status join(ir_op *user, ir_value *v) {
  ir_module *m = user->module;
  ir_op *p = v->def;
  ir_value *operands[64], *args[64];
  int n = 0, user_at[64], p_at[64];
  for (int i = 0; i < p->n_operands; i++) p_at[i] = operand_index(operands, &n, p->operands[i]);
  for (int i = 0; i < user->n_operands; i++) user_at[i] = user->operands[i] == v ? -1 : operand_index(operands, &n, user->operands[i]);
  ir_builder b = ir_before(user);
  const ir_type *types[16];
  if (user->n_results > 16) return NULL;
  for (int i = 0; i < user->n_results; i++) types[i] = user->results[i]->type;
  ir_op *joined = ir_op_new(&b, user->def, n, operands, user->n_results, types, 1);
  if (!joined) return st_oom();
  for (int i = 0; i < user->n_attrs; i++)
    if (!ir_set_attr(joined, user->attrs[i].name, user->attrs[i].attr)) return st_oom();
  ir_value *fresh[64];
  for (int i = 0; i < n; i++)
    if (!(fresh[i] = ir_block_arg(m, joined->regions[0], ir_type_scalar(m, operands[i]->type->dtype), NULL))) return st_oom();
  ir_builder in = ir_at_end(m, joined->regions[0]);
  /* The producer's ops, then the user's with the yielded scalar in place of its argument. Copies within one module: cloning the two
   * maps whole, then splicing, keeps every inner reference right. */
  for (int i = 0; i < p->n_operands; i++) args[i] = fresh[p_at[i]];
  remap r = {p->regions[0], args};
  ir_value *value = NULL;
  for (ir_op *o = p->regions[0]->first; o; o = o->next) {
    if (o->def->code == T_YIELD) {
      ir_value *y = o->operands[0], *mapped = map_arg(&r, y);
      value = mapped ? mapped : y->data ? y->data : y;
      break;
    }
    for (int i = 0; i < o->n_results; i++) o->results[i]->data = NULL;
    ir_value *ops[4];
    for (int i = 0; i < o->n_operands; i++) {
      ir_value *x = o->operands[i], *mapped = map_arg(&r, x);
      ops[i] = mapped ? mapped : x->def && x->def->parent == p->regions[0] ? x->data : x;
    }
    ir_op *c = ir_op_new(&in, o->def, o->n_operands, ops, o->n_results, NULL, 0);
    if (!c) return st_oom();
    for (int i = 0; i < o->n_results; i++) c->results[i]->type = o->results[i]->type, o->results[i]->data = c->results[i];
    for (int i = 0; i < o->n_attrs; i++)
      if (!ir_set_attr(c, o->attrs[i].name, o->attrs[i].attr)) return st_oom();
  }
  for (int i = 0; i < user->n_operands; i++) args[i] = user_at[i] < 0 ? value : fresh[user_at[i]];
  r = (remap){user->regions[0], args};
  for (ir_op *o = user->regions[0]->first; o; o = o->next) {
    ir_value *ops[16];
    if (o->n_operands > 16) return ir_error(o, NULL, "has too many operands");
    for (int i = 0; i < o->n_operands; i++) {
      ir_value *x = o->operands[i], *mapped = map_arg(&r, x);
      ops[i] = mapped ? mapped : x->def && x->def->parent == user->regions[0] ? x->data : x;
    }
    ir_op *c = ir_op_new(&in, o->def, o->n_operands, ops, o->n_results, NULL, 0);
    if (!c) return st_oom();
    for (int i = 0; i < o->n_results; i++) c->results[i]->type = o->results[i]->type, o->results[i]->data = c->results[i];
    for (int i = 0; i < o->n_attrs; i++)
      if (!ir_set_attr(c, o->attrs[i].name, o->attrs[i].attr)) return st_oom();
  }
  ir_op *scope = user->parent->parent;
  for (int i = 0; i < user->n_results; i++) ir_replace_uses(scope, user->results[i], joined->results[i]);
  ir_op_remove(user);
  ir_op_remove(p);
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
    for (int k = i; k + 1 < map->n_operands; k++) map->operands[k] = map->operands[k + 1], r->args[k] = r->args[k + 1], r->args[k]->index = k;
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
        ir_op *before = o->prev;
        TSR_TRY(join(o, o->operands[i]));
        /* The joined map stands where o stood: look at it again. */
        next = before && before->parent == b ? before->next : b->first;
        break;
      }
  }
  for (ir_op *o = b->first; o; o = o->next)
    while (is_map(o) && drop_unused(o)) {}
  return NULL;
}

tsr_status tile_fuse_maps(ir_module *m) {
  for (ir_op *o = m->root->regions[0]->first; o; o = o->next)
    if (o->def->level == IR_TILE && o->def->code == T_KERNEL) TSR_TRY(fuse_in(o->regions[0]));
  return NULL;
}
