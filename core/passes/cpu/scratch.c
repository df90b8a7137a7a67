/* core/passes/cpu/scratch.c - see cpu/scratch.h. */
#include "core/passes/cpu/scratch.h"

static int64_t number(ir_op *op, int64_t at) {
  op->scratch = at++;
  for (int r = 0; r < op->n_regions; r++)
    for (ir_op *o = op->regions[r]->first; o; o = o->next) at = number(o, at);
  return at;
}

void scratch_number(ir_op *root) { number(root, 0); }

int64_t scratch_end(const ir_op *op) {
  int64_t end = op->scratch;
  for (int r = 0; r < op->n_regions; r++)
    if (op->regions[r]->last) end = scratch_end(op->regions[r]->last) + 1;
  return end;
}

static int64_t uses_in(const ir_block *b, const ir_value *v, bool nested) {
  int64_t last = -1;
  for (const ir_op *o = b->first; o; o = o->next) {
    for (int i = 0; i < o->n_operands; i++)
      if (o->operands[i] == v && o->scratch > last) last = o->scratch;
    for (int r = 0; r < o->n_regions; r++)
      if (uses_in(o->regions[r], v, true) >= 0) last = scratch_end(o);
  }
  return last;
}

int64_t scratch_last_use(const ir_value *v) {
  const ir_block *b = v->owner ? v->owner : v->def->parent;
  int64_t last = uses_in(b, v, false), def = v->def ? v->def->scratch : b->parent->scratch;
  return last > def ? last : def;
}

int scratch_alloc(scratch_intervals *s, int64_t start, int64_t end, int64_t bytes) {
  if (!al_grow(s->al, &s->v, &s->cap, s->n + 1, sizeof *s->v)) return -1;
  bytes = (bytes + 63) & ~(int64_t)63;
  int64_t at = 0;
  for (bool moved = true; moved;) {
    moved = false;
    for (size_t i = 0; i < s->n; i++) {
      const scratch_interval *o = &s->v[i];
      if (o->start <= end && start <= o->end && at < o->offset + o->bytes && o->offset < at + bytes) {
        at = o->offset + o->bytes;
        moved = true;
      }
    }
  }
  s->v[s->n] = (scratch_interval){.start = start, .end = end, .offset = at, .bytes = bytes};
  if (at + bytes > s->total) s->total = at + bytes;
  return (int)s->n++;
}

void scratch_clear(scratch_intervals *s) { al_free_array(s->al, s->v, s->cap); }
