/* core/passes/simt/hoist.c - loop-invariant address arithmetic moves out of loops. */
#include "core/passes/simt/hoist.h"
#include "core/passes/simt/state.h"

static bool inside(const ir_value *v, const ir_op *loop) {
  for (const ir_block *b = v->def ? v->def->parent : v->owner; b; b = b->parent ? b->parent->parent : NULL)
    if (b->parent == loop) return true;
  return false;
}

static void move_before(ir_op *op, ir_op *at) {
  ir_block *from = op->parent, *to = at->parent;
  *(op->prev ? &op->prev->next : &from->first) = op->next;
  *(op->next ? &op->next->prev : &from->last) = op->prev;
  op->parent = to;
  op->prev = at->prev;
  op->next = at;
  *(at->prev ? &at->prev->next : &to->first) = op;
  at->prev = op;
}

/* Address and predicate arithmetic only: hoisting data would lengthen live ranges. */
static bool may_hoist(const ir_op *op) {
  if (!(op->def->flags & (IR_SCALAR | IR_POSITION)) || !op->n_results) return false;
  const ir_type *t = op->results[0]->type;
  return t->kind == IR_T_INDEX || (t->kind == IR_T_SCALAR && t->dtype == TSR_BOOL);
}

static int hoist_from(ir_op *loop, ir_block *b) {
  int moved = 0;
  for (ir_op *op = b->first, *next; op; op = next) {
    next = op->next;
    bool invariant = may_hoist(op);
    for (int i = 0; i < op->n_operands && invariant; i++) invariant = !inside(op->operands[i], loop);
    if (invariant) {
      move_before(op, loop);
      moved++;
    }
    for (int r = 0; r < op->n_regions; r++) moved += hoist_from(loop, op->regions[r]);
  }
  return moved;
}

int sx_hoist(ir_op *op) {
  int moved = 0;
  for (int r = 0; r < op->n_regions; r++)
    for (ir_op *o = op->regions[r]->first; o; o = o->next) moved += sx_hoist(o);
  if (op->def->code == TG_FOR && op->def->level == IR_TARGET)
    for (int r = 0; r < op->n_regions; r++) moved += hoist_from(op, op->regions[r]);
  return moved;
}
