/* core/passes/simt/pipeline_match.c - which loops are pipelined, and how many copies of their tiles they want. */
#include "core/passes/simt/pipeline_match.h"
#include "core/device/dialect.h"

#include <string.h>

static bool used_outside(const ir_op *op, const ir_value *v, const ir_op *loop) {
  if (op == loop) return false;
  for (int i = 0; i < op->n_operands; i++)
    if (op->operands[i] == v) return true;
  for (int r = 0; r < op->n_regions; r++)
    for (const ir_op *o = op->regions[r]->first; o; o = o->next)
      if (used_outside(o, v, loop)) return true;
  return false;
}

static bool writes_memory(const ir_op *op) {
  if (op->def->code == T_STORE || op->def->code == T_SCATTER || op->def->code == T_COPY || op->def->code == T_BARRIER ||
      op->def->code == T_WAIT)
    return true;
  if (op->def->code == T_GATHER && !op->n_results) return true;
  for (int r = 0; r < op->n_regions; r++)
    for (const ir_op *o = op->regions[r]->first; o; o = o->next)
      if (writes_memory(o)) return true;
  return false;
}

bool simt_is_address_op(const ir_op *op) {
  return ir_is_scalar(op) || op->def->code == T_CONST || op->def->code == T_BLOCK_ID || op->def->code == T_WINDOW ||
         op->def->code == T_VIEW;
}

/* Address arithmetic, then producers, then a full wait, then ops that write nothing but fragments. */
static bool match(const simt *c, const ir_op *loop, simt_pipeline *p) {
  memset(p, 0, sizeof *p);
  for (ir_op *op = loop->regions[0]->first; op; op = op->next) {
    if (p->wait) {
      if (writes_memory(op)) return false;
    } else if (op->def->code == T_WAIT) {
      if (ir_get_int(op, "pending", 0)) return false;
      p->wait = op;
    } else if (op->def->code == T_COPY || (op->def->code == T_GATHER && !op->n_results)) {
      ir_value *to = op->operands[1];
      if (p->n == SIMT_PIPELINE_TILES || to->type->kind != IR_T_SHARED || op->operands[0]->type->kind != IR_T_VIEW)
        return false;
      if (!to->def || used_outside(c->tile, to, loop)) return false;
      p->producer[p->n] = op;
      p->tile[p->n++] = to;
    } else if (!simt_is_address_op(op)) {
      return false;
    }
  }
  return p->wait && p->n;
}

static bool wants_stages(const simt *c, const ir_op *loop) {
  int64_t stages = ir_get_int(loop, "stages", 0);
  if (!stages) stages = ir_get_int(c->tile, "stages", 0);
  return stages ? stages > 1 : !caps_simd_like(c->caps);
}

/* Copies of each tile: two, or as many as two thirds of shared memory take where copies run by themselves (at most 4).
 */
static int stage_queue_depth(const simt *c, const simt_pipeline *p) {
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

bool simt_pipeline_match(const simt *c, const ir_op *loop, simt_pipeline *p) {
  return wants_stages(c, loop) && match(c, loop, p);
}

int simt_pipeline_stages(const simt *c, const ir_value *shared) {
  simt_pipeline p;
  /* Any producer of the tile stands directly in its loop. */
  for (const ir_op *op = c->tile->regions[0]->first; op; op = op->next)
    if (op->def->code == T_FOR && simt_pipeline_match(c, op, &p))
      for (int i = 0; i < p.n; i++)
        if (p.tile[i] == shared) return stage_queue_depth(c, &p);
  return 1;
}
