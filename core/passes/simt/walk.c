/* core/passes/simt/walk.c - one Tile IR op after the other: the dispatch by op. */
#include "core/passes/simt/access.h"
#include "core/passes/simt/build.h"
#include "core/passes/simt/control.h"
#include "core/passes/simt/element.h"
#include "core/passes/simt/fft.h"
#include "core/passes/simt/gather.h"
#include "core/passes/simt/layout.h"
#include "core/passes/simt/matrix/gemm.h"
#include "core/passes/simt/memory.h"
#include "core/passes/simt/reduce.h"
#include "core/passes/simt/registers.h"
#include "core/passes/simt/shared.h"
#include "core/passes/simt/state.h"
#include "core/passes/simt/transpose.h"
#include "core/passes/simt/walk.h"
#include "core/passes/simt/whole/stage_queue.h"

static tsr_status lower_leaf_scalar(simt *c, ir_op *op) {
  simt_val *s = simt_bind(c, op->results[0], SV_SCALAR);
  const ir_type *t = op->results[0]->type;
  if (!s) return st_oom();
  if (op->def->code == T_BLOCK_ID) {
    int64_t grid[3] = {1, 1, 1}, axis = ir_get_int(op, "axis", 0);
    if (axis < 0 || axis > 2) return simt_unsupported(c, op, "0, 1 or 2", "axis %lld", (long long)axis);
    ir_get_ints(c->tile, "grid", grid, 3);
    s->v = c->in->block_id[axis];
    s->lo = 0, s->hi = grid[axis] > 0 ? grid[axis] - 1 : 0, s->mult = s->hi ? 1 : 0;
    if (!s->hi) s->v = sx_int(c, 0);
  } else if (t->kind == IR_T_INDEX) {
    s->lo = s->hi = ir_get_int(op, "value", 0);
    s->mult = gcd64(s->lo, 0);
    s->v = sx_int(c, s->lo);
  } else {
    s->v = sx_value(c, t->dtype, op);
    s->lo = INT64_MIN, s->hi = INT64_MAX, s->mult = 1;
  }
  return c->b.failed ? st_oom() : NULL;
}

/* Of a fragment of one element, which all threads hold. */
static tsr_status lower_one_element(simt *c, ir_op *op) {
  simt_frag f;
  TSR_TRY(simt_regs(c, &simt_of(op->operands[0])->frag, &f));
  simt_val *s = simt_bind(c, op->results[0], SV_SCALAR);
  if (!s) return st_oom();
  s->v = f.v[0];
  s->lo = INT64_MIN, s->hi = INT64_MAX, s->mult = 1;
  return NULL;
}

static tsr_status lower_load_scalar(simt *c, ir_op *op) {
  if (op->operands[0]->type->kind == IR_T_FRAG) return lower_one_element(c, op);
  const simt_mem *m = &simt_of(op->operands[0])->mem;
  ir_value *at = m->base, *ok = m->inside;
  for (int d = 0; d < m->rank; d++) {
    const simt_val *i = simt_of(op->operands[1 + d]);
    if (i->lo < 0) ok = sx_all(c, ok, sx_compare(c, "ge", i->v, sx_int(c, 0)));
    if (m->limit[d]) ok = sx_all(c, ok, sx_compare(c, "lt", i->v, m->limit[d]));
    else if (i->hi >= m->dims[d]) ok = sx_all(c, ok, sx_compare(c, "lt", i->v, sx_int(c, m->dims[d])));
    at = sx_add(c, at, sx_muli(c, i->v, m->strides[d]));
  }
  if (ok) at = sx_select(c, ok, at, simt_harmless(c, m));
  ir_value *v = sx_load(c, m, at, 1);
  if (ok) v = sx_select(c, ok, v, sx_num(c, m->dtype, 0));
  simt_val *s = simt_bind(c, op->results[0], SV_SCALAR);
  if (!s) return st_oom();
  s->v = v;
  s->lo = INT64_MIN, s->hi = INT64_MAX, s->mult = 1;
  return c->b.failed ? st_oom() : NULL;
}

static tsr_status lower_fill(simt *c, ir_op *op) {
  tsr_status st = NULL;
  tsr_dtype t = op->results[0]->type->dtype;
  const simt_layout *l = simt_layout_of(c, op->results[0], &st);
  simt_val *s = l ? simt_bind(c, op->results[0], SV_FRAG) : NULL;
  if (!s) return st ? st : st_oom();
  ir_value *v =
      op->def->code == T_FILL ? sx_value(c, t, op) : sx_cast(c, simt_of(op->operands[0])->v, t);
  s->frag = (simt_frag){.layout = l, .dtype = t, .splat = v};
  return c->b.failed ? st_oom() : NULL;
}

static tsr_status lower_load(simt *c, ir_op *op) {
  tsr_status st = NULL;
  if (ir_get_bool(op, "owned", false)) /* another thread may have stored an element than the one that would load it */
    return simt_unsupported(c, op, "keep it in a fragment", "a sum that grows in memory is for the CPU alone");
  const simt_layout *l = simt_layout_of(c, op->results[0], &st);
  simt_val *s = l ? simt_bind(c, op->results[0], SV_FRAG) : NULL;
  if (!s) return st ? st : st_oom();
  bool done = false;
  if (c->path->load) TSR_TRY(c->path->load(c, op, &simt_of(op->operands[0])->mem, l, &s->frag, &done));
  if (done) return NULL;
  return simt_load_frag(c, &simt_of(op->operands[0])->mem, l, op->results[0]->type->dtype, &s->frag);
}

static tsr_status lower_one(simt *c, ir_op *op) {
  bool done = false;
  if (c->in->queue) TSR_TRY(simt_stage_queue_op(c, op, &done));
  if (done) return NULL;
  switch (op->def->code) {
  case T_BLOCK_ID: case T_CONST: return lower_leaf_scalar(c, op);
  case T_VIEW: return simt_lower_view(c, op);
  case T_WINDOW: return simt_lower_window(c, op);
  case T_ALLOC: return NULL; /* placed by simt_shared_plan */
  case T_LOAD: return lower_load(c, op);
  case T_LOAD_SCALAR: return lower_load_scalar(c, op);
  case T_STORE: return simt_store_frag(c, &simt_of(op->operands[0])->frag, &simt_of(op->operands[1])->mem);
  case T_COPY: return simt_copy(c, op, &simt_of(op->operands[0])->mem, &simt_of(op->operands[1])->mem);
  case T_WAIT: return NULL; /* copies are complete in program order; the barrier comes with the first read */
  case T_BARRIER:
    if (c->in->n_access) simt_barrier(c);
    return NULL;
  case T_FILL: case T_SPLAT: return lower_fill(c, op);
  case T_GEMM: case T_MMA_SYNC: return simt_lower_gemm(c, op);
  case T_MAP: return simt_lower_map(c, op);
  case T_REDUCE: return simt_lower_reduce(c, op);
  case T_FOR: return simt_lower_for(c, op);
  case T_IF: return simt_lower_if(c, op);
  case T_GATHER: return simt_lower_gather(c, op, op->n_results ? NULL : &simt_of(op->operands[1])->mem);
  case T_SCATTER: return simt_lower_scatter(c, op);
  case T_FFT_STAGE: return simt_lower_fft(c, op);
  case T_TRANSPOSE: return simt_lower_transpose(c, op);
  case T_RESHAPE: return simt_lower_reshape(c, op);
  case T_DFT: return simt_unsupported(c, op, NULL, "is a kernel of the CPU alone");
  case T_YIELD: case T_RETURN: return NULL;
  default: break;
  }
  if (ir_is_scalar(op)) return simt_lower_scalar(c, op);
  return simt_unsupported(c, op, NULL, "has no place in a kernel");
}

tsr_status simt_lower_op(simt *c, ir_op *op) {
  struct simt_impl *in = c->in;
  const ir_op *outer = in->op;
  int outer_position = in->position, regions = in->n_region;
  in->op = op;
  in->position = (int)op->scratch;
  c->b.loc = op->loc;
  tsr_status st = lower_one(c, op);
  in->op = outer;
  in->position = outer_position;
  in->n_region = regions; /* scratch lives for one op */
  return st;
}
