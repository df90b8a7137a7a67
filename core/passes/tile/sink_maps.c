/* core/passes/tile/sink_maps.c - see tile/fuse_maps.h: a graph's own norm takes a number a row from its rows once, sums
 * the squares of that and scales it. The difference costs no more to read than to compute: it goes where it is read, so
 * that it lies nowhere and rows are read as they came. */
#include <string.h>

#include "core/base/policy.h"
#include "core/ir/tile/row.h"
#include "core/ir/tile/tile.h"
#include "core/passes/tile/fuse_maps.h"

/* x - number[r], alone in a map. */
typedef struct difference {
  const ir_op *map;
  ir_value *x, *number;
} difference;

static bool is_difference(const ir_op *o, difference *d) {
  if (o->def->code != T_MAP || o->n_results != 1 || o->n_operands != 2) return false;
  const ir_block *r = o->regions[0];
  const ir_op *sub = r->first;
  const ir_type *t = o->results[0]->type;
  *d = (difference){o, o->operands[0], o->operands[1]};
  return sub->def->code == SC_SUB && sub->next == r->last && r->last->operands[0] == sub->results[0] &&
         sub->operands[0] == r->args[0] && sub->operands[1] == r->args[1] && t->rank == 2 && t->dtype == TSR_F32 &&
         t == d->x->type && d->number->type->dims[0] == t->dims[0] && d->number->type->dims[1] == 1;
}

/* A sum of squares of v, of a row op that has no other rows. */
static bool squares(const ir_op *o, const ir_value *v) {
  tile_row r;
  tsr_status st = o->def->code == T_ROW ? tile_row_get(o, &r) : NULL;
  if (o->def->code != T_ROW || st) return tsr_status_free(st), false;
  const ir_op *mul = r.prologue->first;
  bool yes = !r.recipe->per_element && r.n[ROW_X] == 1 && r.v[ROW_X][0] == v && !r.keeps_rows &&
             tile_reads(o, v) == 1 && r.m == v->type->dims[0] && o->n_operands < TILE_ROW_MOST &&
             ir_policy(o) != TSR_POLICY_KAHAN_SUM && mul->def->code == SC_MUL &&
             mul->operands[0] == mul->operands[1] &&
             mul->operands[0]->owner == r.prologue && mul->next == r.prologue->last &&
             r.prologue->last->operands[0] == mul->results[0];
  for (int i = 0; i < o->n_operands; i++) yes &= !r.swapped[i];
  return yes;
}

static bool maps(const ir_op *o, const ir_value *v) {
  return o->def->code == T_MAP && tile_reads(o, v) == 1 && o->n_operands < TILE_MAP_OPERANDS &&
         o->results[0]->type->rank == 2 && !memcmp(o->results[0]->type->dims, v->type->dims, 2 * sizeof *v->type->dims);
}

/* Every reader may have the difference, and one sums its squares. */
static bool is_sunk(const difference *d) {
  const ir_value *v = d->map->results[0];
  int seen = 0;
  bool any = false;
  for (const ir_op *o = d->map->next; o; o = o->next) {
    const bool s = tile_reads(o, v) && squares(o, v);
    if (!tile_reads(o, v)) continue;
    if (!s && !maps(o, v)) return false;
    any |= s, seen += tile_reads(o, v);
  }
  return any && seen == v->n_uses; /* none is inside a region */
}

/* In the reader's first region: what was the element of the difference is x's, and is made the difference. */
static tsr_status sink(const difference *d, ir_op *reader) {
  ir_block *region = reader->regions[0];
  const int n = region->n_args; /* of a row op its rows come first */
  int at = 0;
  while (reader->operands[at] != d->map->results[0]) at++;
  ir_value *x = region->args[at], *number = ir_block_arg(reader->module, region, x->type, NULL);
  if (!number || !ir_add_operand(reader, d->number)) return st_oom();
  for (int i = reader->n_operands - 1; i > n; i--) ir_set_operand(reader, i, reader->operands[i - 1]);
  ir_set_operand(reader, n, d->number);
  ir_set_operand(reader, at, d->x);
  ir_builder b = ir_before(region->first);
  ir_value *y = ir_build1(&b, "tessera.tile.sub", NULL, 2, (ir_value *[]){x, number});
  if (!y) return st_oom();
  ir_replace_uses(reader, x, y);
  ir_set_operand(y->def, 0, x);
  char names[3 * TILE_ROW_MOST] = "";
  if (reader->def->code != T_ROW) return NULL;
  for (int i = 0; i < reader->n_operands; i++) strcat(names, i ? ",mn" : "mn");
  return ir_set_attr(reader, "maps", ir_attr_str(reader->module, names)) ? NULL : st_oom();
}

static tsr_status sink_in(ir_block *b, bool *any) {
  for (ir_op *o = b->first, *next; o; o = next) {
    difference d;
    next = o->next;
    for (int r = 0; r < o->n_regions; r++) TSR_TRY(sink_in(o->regions[r], any));
    if (!is_difference(o, &d) || !is_sunk(&d)) continue;
    for (ir_op *u = o->next; u; u = u->next)
      if (tile_reads(u, o->results[0])) TSR_TRY(sink(&d, u));
    ir_op_remove(o);
    *any = true;
  }
  return NULL;
}

tsr_status tile_sink_maps(ir_module *m) {
  bool any = false;
  for (ir_op *o = m->root->regions[0]->first; o; o = o->next)
    if (o->def->level == IR_TILE && o->def->code == T_KERNEL && ir_get_bool(o, "reduction_kernels", true))
      TSR_TRY(sink_in(o->regions[0], &any));
  return any ? ir_verify(m) : NULL;
}
