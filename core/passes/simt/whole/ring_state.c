/* core/passes/simt/whole/ring_state.c - see simt/whole/ring_state.h. */
#include "core/passes/simt/whole/ring_state.h"

ring_tile *simt_ring_tile(struct simt_ring *r, const ir_value *v) {
  for (int i = 0; i < r->n; i++)
    if (r->tile[i].shared == v) return &r->tile[i];
  return NULL;
}

void simt_ring_advance(simt *c, const struct simt_ring *r, ir_value **next) {
  ir_value *one = sx_addi(c, r->stage, 1), *wraps = sx_compare(c, "eq", one, sx_int(c, r->stages));
  next[0] = sx_select(c, wraps, sx_int(c, 0), one);
  next[1] = sx_select(c, wraps, sx_sub(c, sx_int(c, 1), r->phase), r->phase);
}

void simt_ring_release(simt *c, ir_value *stage) {
  ir_op *first = sx_if(c, sx_compare(c, "eq", c->lane, sx_int(c, 0)), 0, NULL, false);
  ir_build0(&c->b, "tessera.target.mbar_arrive", 2, (ir_value *[]){c->in->ring->empty, stage});
  sx_close(c, first, 0, NULL);
}
