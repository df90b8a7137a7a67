/* core/passes/simt/whole/stage_queue_state.c - see simt/whole/stage_queue_state.h. */
#include "core/passes/simt/whole/stage_queue_state.h"
#include "core/passes/simt/build.h"

stage_queue_tile *simt_stage_queue_tile(struct simt_stage_queue *r, const ir_value *v) {
  for (int i = 0; i < r->n; i++)
    if (r->tile[i].shared == v) return &r->tile[i];
  return NULL;
}

void simt_stage_queue_advance(simt *c, const struct simt_stage_queue *r, ir_value **next) {
  ir_value *one = sx_addi(c, r->stage, 1), *wraps = sx_compare(c, "eq", one, sx_int(c, r->stages));
  next[0] = sx_select(c, wraps, sx_int(c, 0), one);
  next[1] = sx_select(c, wraps, sx_sub(c, sx_int(c, 1), r->phase), r->phase);
}

void simt_stage_queue_release(simt *c, ir_value *stage) {
  ir_op *first = sx_if(c, sx_compare(c, "eq", c->lane, sx_int(c, 0)), 0, NULL, false);
  ir_build0(&c->b, "tessera.target.mbar_arrive", 2, (ir_value *[]){c->in->queue->empty, stage});
  sx_close(c, first, 0, NULL);
}
