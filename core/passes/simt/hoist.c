/* core/passes/simt/hoist.c - loop-invariant address arithmetic moves out of loops; what is
 * stored is computed right before it. */
#include "core/passes/simt/hoist.h"

#include <string.h>

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

/* ---- one store after the other --------------------------------------------------------------------------------- */

enum { STAYS, SINKS }; /* in ir_op.scratch */

/* Something other than a load is given the pointer. */
static bool is_written(const ir_block *b, const ir_value *ptr) {
  for (const ir_op *o = b->first; o; o = o->next) {
    for (int i = 0; i < o->n_operands && o->def->code != TG_LOAD; i++)
      if (o->operands[i] == ptr) return true;
    for (int r = 0; r < o->n_regions; r++)
      if (is_written(o->regions[r], ptr)) return true;
  }
  return false;
}

/* What was last found out: loads of one pointer stand together. */
typedef struct finding { const ir_value *ptr; bool written; } finding;

static bool may_sink(const ir_op *o, finding *last) {
  if (o->def->code == TG_LOAD) {
    const ir_value *ptr = o->operands[0];
    if (ptr != last->ptr) *last = (finding){ptr, strcmp(ptr->type->use, "global") || is_written(o->parent, ptr)};
    return !last->written;
  }
  return o->def->code == TG_EXTRACT || o->def->code == TG_VECTOR || o->def->flags & IR_SCALAR;
}

/* What op and its regions read of b's that sinks, in front of `at`. */
static void sink_operands(const ir_op *op, const ir_block *b, ir_op *at) {
  for (int i = 0; i < op->n_operands; i++) {
    ir_op *d = op->operands[i]->def;
    if (!d || d->parent != b || d->scratch != SINKS) continue;
    d->scratch = STAYS;
    sink_operands(d, b, at);
    move_before(d, at);
  }
  for (int r = 0; r < op->n_regions; r++)
    for (const ir_op *o = op->regions[r]->first; o; o = o->next) sink_operands(o, b, at);
}

void sx_sink(ir_block *b) {
  finding last = {NULL, false};
  for (ir_op *o = b->first; o; o = o->next) o->scratch = may_sink(o, &last) ? SINKS : STAYS;
  for (ir_op *o = b->first, *next; o; o = next) {
    next = o->next;
    if (o->scratch == STAYS) sink_operands(o, b, o);
  }
}
