/* core/passes/simt/pipeline_match.c - which loops are pipelined, and how many copies of their tiles they want. */
#include "core/passes/simt/pipeline_match.h"

#include "core/device/dialect.h"

static bool wants_stages(const simt *c, const ir_op *loop) {
  int64_t stages = ir_get_int(loop, "stages", 0);
  if (!stages) stages = ir_get_int(c->tile, "stages", 0);
  return stages ? stages > 1 : !caps_simd_like(c->caps);
}

/* Copies of each tile: two, or as many as two thirds of shared memory take where copies run by themselves (at most 4).
 */
static int stage_queue_depth(const simt *c, const tile_pipelined *p) {
  int64_t bytes = 0, stages;
  if (!c->caps->async_copy) return 2;
  for (int i = 0; i < p->n; i++) {
    const ir_type *t = p->tile[i]->type;
    if (p->producer[i]->def->code != T_COPY || p->producer[i]->operands[0]->type->dtype != t->dtype) return 2;
    bytes += simt_shared_bytes(t) + 256;
  }
  stages = c->caps->shared_bytes * 2 / 3 / bytes;
  return stages > 4 ? 4 : stages < 2 ? 2 : (int)stages;
}

bool simt_pipeline_match(const simt *c, const ir_op *loop, tile_pipelined *p) {
  return wants_stages(c, loop) && tile_pipelined_get(loop, p);
}

int simt_pipeline_stages(const simt *c, const ir_value *shared) {
  tile_pipelined p;
  /* Any producer of the tile stands directly in its loop. */
  for (const ir_op *op = c->tile->regions[0]->first; op; op = op->next)
    if (op->def->code == T_FOR && simt_pipeline_match(c, op, &p))
      for (int i = 0; i < p.n; i++)
        if (p.tile[i] == shared) return stage_queue_depth(c, &p);
  return 1;
}
