/* core/passes/tile/row_again.c - see tile/row_again.h. */
#include "core/passes/tile/row_again.h"

#include "core/ir/tile/tile.h"

enum { MOST_AGAIN = 24 }; /* ops for one value */

/* The kernel's outputs are its last arguments. */
static bool is_only_read(const ir_op *kernel, const ir_value *v) {
  const ir_block *body = kernel->regions[0];
  while (v->def && (v->def->def->code == T_WINDOW || v->def->def->code == T_VIEW)) v = v->def->operands[0];
  return v->owner == body && v->index < body->n_args - ir_get_int(kernel, "outputs", body->n_args);
}

static bool is_elementwise(const ir_op *map) {
  for (const ir_op *o = map->regions[0]->first; o; o = o->next)
    if (o->def->code == T_INDEX) return false;
  return map->n_results == 1 && map->n_operands;
}

static bool can(const ir_op *kernel, const ir_value *v, int *left) {
  const ir_op *o = v->def;
  if (v->type->rank != 2) return false;
  if (v->type->kind == IR_T_VIEW) return is_only_read(kernel, v);
  if (v->type->kind != IR_T_FRAG || !o || o->parent != kernel->regions[0] || --*left < 0) return false;
  switch (o->def->code) {
  case T_FILL: case T_SPLAT: return true;
  case T_LOAD: break;
  case T_MAP:
    if (is_elementwise(o)) break;
    return false;
  default: return false;
  }
  for (int i = 0; i < o->n_operands; i++)
    if (!can(kernel, o->operands[i], left)) return false;
  return true;
}

bool row_again_can(const ir_op *kernel, const ir_value *v) {
  int left = MOST_AGAIN;
  return can(kernel, v, &left);
}

bool row_again_narrow(ir_op *access) {
  return access && ir_set_attr(access, "vectorize", ir_attr_int(access->module, 1));
}

ir_value *row_again_view(ir_builder *b, const row_columns *c, ir_value *view) {
  const int64_t sizes[2] = {view->type->dims[0], c->n};
  ir_value *operands[3] = {view, c->zero, c->from};
  if (view->type->dims[1] == 1) return view;
  ir_op *w = ir_op_new(b, ir_find_op("tessera.tile.window"), 3, operands, 1, NULL, 0);
  if (!w || !ir_set_attr(w, "sizes", ir_attr_ints(b->m, sizes, 2))) return NULL;
  tsr_status st = w->def->infer(w, &w->results[0]->type);
  return st ? ir_refuse(b->m, st), NULL : w->results[0];
}

typedef struct operands { const ir_op *op; ir_value *v[MOST_AGAIN]; } operands;

static ir_value *mapped(void *user, ir_value *v) {
  const operands *o = user;
  for (int i = 0; i < o->op->n_operands; i++)
    if (o->op->operands[i] == v) return o->v[i];
  return NULL;
}

ir_value *row_again(ir_builder *b, const row_columns *c, ir_value *frag) {
  const int64_t dims[2] = {frag->type->dims[0], frag->type->dims[1] == 1 ? 1 : c->n};
  operands in = {.op = frag->def};
  for (int i = 0; i < in.op->n_operands; i++) {
    ir_value *v = in.op->operands[i];
    in.v[i] = v->type->kind == IR_T_VIEW   ? row_again_view(b, c, v)
              : v->type->kind == IR_T_FRAG ? row_again(b, c, v)
                                           : v;
    if (!in.v[i]) return NULL;
  }
  ir_op *copy = ir_op_copy(b, in.op, mapped, &in);
  if (!copy || (copy->def->code == T_LOAD && !row_again_narrow(copy))) return NULL;
  copy->results[0]->name = NULL;
  return (copy->results[0]->type = ir_type_frag(b->m, frag->type->dtype, 2, dims)) ? copy->results[0] : NULL;
}
