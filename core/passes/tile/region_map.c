/* core/passes/tile/region_map.c - see tile/region_map.h. */
#include "core/passes/tile/region_map.h"

#include "core/passes/tile/build.h"

ir_value *region_fill(ir_builder *b, tsr_dtype t, int64_t rows, int64_t columns) {
  const int64_t dims[2] = {rows, columns};
  return kb_fill(b, ir_type_frag(b->m, t, 2, dims), 0);
}

ir_value *region_transposed(ir_builder *b, ir_value *v) {
  ir_op *t = v ? ir_op_new(b, ir_find_op("tessera.tile.transpose"), 1, &v, 1, NULL, 0) : NULL;
  if (!t || !ir_set_attr(t, "perm", ir_attr_ints(b->m, (int64_t[]){1, 0}, 2))) return NULL;
  const int64_t dims[2] = {v->type->dims[1], v->type->dims[0]};
  return (t->results[0]->type = ir_type_frag(b->m, v->type->dtype, 2, dims)) ? t->results[0] : NULL;
}

bool region_note_width(const ir_op *op, ir_op *access) {
  const int64_t n = ir_get_int(op, "vectorize", 0);
  return access && (n < 1 || ir_set_attr(access, "vectorize", ir_attr_int(op->module, n)));
}

ir_value *region_load(ir_builder *b, const ir_op *op, ir_value *v, const ir_type *argument, bool transpose) {
  if (v->type->kind != IR_T_FRAG) {
    v = ir_build1(b, "tessera.tile.load", ir_type_frag(b->m, argument->dtype, 2, v->type->dims), 1, &v);
    if (!v || !region_note_width(op, v->def)) return NULL;
  }
  return transpose ? region_transposed(b, v) : v;
}

static ir_value *copied(void *user, ir_value *v) {
  const ir_block *from = user;
  return v->owner == from || (v->def && v->def->parent == from) ? v->data : NULL;
}

/* The region's ops, where its arguments' data fields say what these became, and the yield of the values asked for. */
static bool copy_body(ir_builder *r, const ir_block *region, const int *yields, int n) {
  ir_value *y[REGION_MAP_MOST];
  for (const ir_op *o = region->first; o != region->last; o = o->next) {
    r->loc = o->loc;
    const ir_op *copy = ir_op_copy(r, o, copied, (void *)region);
    if (!copy) return false;
    for (int i = 0; i < o->n_results; i++) o->results[i]->data = copy->results[i];
  }
  for (int i = 0; i < n; i++) {
    ir_value *v = region->last->operands[yields[i]], *c = copied((void *)region, v);
    y[i] = c ? c : v;
  }
  return ir_build0(r, "tessera.tile.yield", n, y) != NULL;
}

ir_op *region_map(ir_builder *b, const ir_block *region, ir_value *const *frags, const int *yields, int n, int64_t rows,
                  int64_t columns) {
  ir_value *operands[REGION_MAP_MOST];
  bool whole = false;
  int live = 0;
  for (int i = 0; i < region->n_args; i++) {
    if (!frags[i]) continue;
    whole |= frags[i]->type->dims[0] == rows && frags[i]->type->dims[1] == columns;
    operands[live++] = frags[i];
  }
  if (!whole && !(operands[live++] = region_fill(b, region->args[0]->type->dtype, rows, columns))) return NULL;
  ir_op *map = ir_op_new(b, ir_find_op("tessera.tile.map"), live, operands, n, NULL, 1);
  if (!map) return NULL;
  ir_block *to = map->regions[0];
  for (int i = 0; i < live; i++)
    if (!ir_block_arg(b->m, to, ir_type_scalar(b->m, operands[i]->type->dtype), NULL)) return NULL;
  for (int i = 0, at = 0; i < region->n_args; i++) region->args[i]->data = frags[i] ? to->args[at++] : NULL;
  ir_builder r = ir_at_end(b->m, to);
  if (!copy_body(&r, region, yields, n)) return NULL;
  const ir_type *types[REGION_MAP_MOST] = {NULL};
  tsr_status st = map->def->infer(map, types);
  if (st) return ir_refuse(b->m, st), NULL;
  for (int i = 0; i < n; i++) map->results[i]->type = types[i];
  return map;
}
