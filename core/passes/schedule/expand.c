/* core/passes/schedule/expand.c - see schedule/expand.h. */
#include "core/passes/schedule/expand.h"

static tsr_status expand(ir_op *tile) {
  if (tile->def->level != IR_SCHEDULE || tile->def->code != S_TILE || tile->n_results != 1) return NULL;
  ir_builder b = ir_before(tile);
  b.loc = tile->loc;
  if (tile->n_operands != 2) return ir_error(tile, NULL, "a result needs two operands, here are %d", tile->n_operands);
  ir_op *plain = ir_build0(&b, tile->def->name, 0, NULL);
  ir_op *product =
      plain ? ir_op_new(&b, ir_find_op("tessera.graph.matmul"), 2, tile->operands, 1, &tile->results[0]->type, 0)
            : NULL;
  if (!product) return st_oom();
  for (int i = 0; i < tile->n_attrs; i++)
    if (!ir_set_attr(plain, tile->attrs[i].name, tile->attrs[i].attr)) return st_oom();
  TSR_TRY(ir_verify_op(product));
  ir_replace_uses(tile->parent->parent, tile->results[0], product->results[0]);
  ir_op_remove(tile);
  return NULL;
}

tsr_status schedule_expand(ir_module *m) {
  for (ir_op *p = m->root->regions[0]->first; p; p = p->next)
    for (ir_op *k = p->n_regions ? p->regions[0]->first : NULL; k; k = k->next)
      for (ir_op *o = k->n_regions ? k->regions[0]->first : NULL, *next; o; o = next) {
        next = o->next;
        TSR_TRY(expand(o));
      }
  return NULL;
}
