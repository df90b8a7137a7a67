/* core/passes/simt/pipeline.c - software pipelining of a loop that copies tiles to shared memory, waits and computes.
 * Two copies of each tile: while iteration i computes from one, the tiles of i + 1 are loaded to registers; after the
 * computation they are stored to the other. One barrier per iteration, loads in flight during the arithmetic. */
#include <string.h>

#include "core/device/dialect.h"
#include "core/passes/simt/build.h"
#include "core/passes/simt/gather.h"
#include "core/passes/simt/layout.h"
#include "core/passes/simt/loop.h"
#include "core/passes/simt/memory.h"
#include "core/passes/simt/pipeline.h"
#include "core/passes/simt/pipeline_match.h"
#include "core/passes/simt/shared.h"

/* ---- emission ---------------------------------------------------------------------------------------------------- */

typedef struct flight { const simt_layout *l; ir_value **v; simt_mem to; } flight; /* one tile's registers */

static tsr_status lower_addresses(simt *c, const ir_op *loop, const tile_pipelined *p) {
  for (ir_op *op = loop->regions[0]->first; op != p->wait; op = op->next)
    if (tile_is_address_op(op)) TSR_TRY(c->in->lower(c, op));
  return NULL;
}

static int width_of(const simt *c, const simt_mem *from, const simt_mem *to) {
  int most = dialect_of(c->caps)->moves_freely ? 16 : 8, a = simt_access_width(c, from, most),
      b = simt_access_width(c, to, most);
  return a < b ? a : b;
}

static const simt_layout *flight_layout(simt *c, const ir_op *op) {
  const simt_mem *to = &simt_of(op->operands[1])->mem;
  int w = op->def->code == T_COPY ? simt_asked_width(op, width_of(c, &simt_of(op->operands[0])->mem, to)) : 1;
  return simt_copy_layout(c, to->rank, to->dims, w);
}

static tsr_status load_flight(simt *c, ir_op *op, flight *f) {
  if (op->def->code == T_GATHER) {
    for (int r = 0; r < f->l->n_regs; r++)
      TSR_TRY(simt_gather_reg(c, op, f->l, &simt_of(op->operands[0])->mem, r, &f->v[r]));
    return NULL;
  }
  return simt_load_clipped(c, f->l, &simt_of(op->operands[0])->mem, f->v);
}

static tsr_status store_flight(simt *c, const flight *f, ir_value *stage_base) {
  simt_mem to = f->to;
  if (stage_base) to.base = sx_add(c, to.base, stage_base);
  ir_value *owner = simt_owner(c, f->l);
  ir_op *only = owner ? sx_if(c, owner, 0, NULL, false) : NULL;
  TSR_TRY(simt_access_regs(c, f->l, &to, true, false, 0, f->l->n_regs, f->v));
  if (only) sx_close(c, only, 0, NULL);
  return NULL;
}

/* Element type of a tile's registers in flight. */
static tsr_dtype flight_dtype(const ir_op *op) { return simt_in_memory(op->operands[0]->type->dtype); }

static tsr_status prepare(simt *c, const tile_pipelined *p, flight *f, bool *fits) {
  int total = 0;
  for (int i = 0; i < p->n; i++) {
    const simt_val *s = simt_of(p->tile[i]);
    if (s->stages < 2) *fits = false;
    f[i].to = s->mem;
    if (!(f[i].l = flight_layout(c, p->producer[i]))) return st_oom();
    total += f[i].l->n_regs;
    f[i].v = arena_array(&c->m->arena, ir_value *, f[i].l->n_regs + 1);
    if (!f[i].v) return st_oom();
  }
  if (total > 256) *fits = false;
  return NULL;
}

/* Stage 0 before the loop. */
static tsr_status prologue(simt *c, ir_op *op, const tile_pipelined *p, flight *f) {
  const simt_val *from = simt_of(op->operands[0]), *to = simt_of(op->operands[1]);
  bool runs = from->hi < to->lo;
  for (int i = 0; i < p->n; i++) {
    const simt_val *s = simt_of(p->tile[i]);
    simt_write(c, s->mem.lo, s->mem.lo + s->stages * s->stage_bytes);
  }
  simt_bind_counter(c, op, from->v, 0);
  ir_op *branch = runs ? NULL : sx_if(c, sx_compare(c, "lt", from->v, to->v), 0, NULL, false);
  TSR_TRY(lower_addresses(c, op, p));
  for (int i = 0; i < p->n; i++) TSR_TRY(load_flight(c, p->producer[i], &f[i]));
  for (int i = 0; i < p->n; i++) TSR_TRY(store_flight(c, &f[i], NULL));
  if (branch) sx_close(c, branch, 0, NULL);
  simt_barrier(c);
  return c->b.failed ? st_oom() : NULL;
}

/* Loads the next iteration's tiles to registers, zeros if there is none. */
static tsr_status fetch_next(simt *c, ir_op *op, const tile_pipelined *p, flight *f, ir_value *next, ir_value *more) {
  int total = 0, at = 0, w[TILE_PIPELINED_MOST];
  for (int i = 0; i < p->n; i++) {
    w[i] = sx_together(c, f[i].l->n_regs, f[i].l->vec[f[i].l->rank - 1]);
    total += f[i].l->n_regs / w[i];
  }
  const ir_type **types = arena_array(&c->m->arena, const ir_type *, total + 1);
  ir_value **v = arena_array(&c->m->arena, ir_value *, total + 1);
  if (!types || !v) return st_oom();
  for (int i = 0; i < p->n; i++)
    for (int r = 0; r < f[i].l->n_regs; r += w[i]) types[at++] = sx_pack_type(c, flight_dtype(p->producer[i]), w[i]);
  ir_op *branch = sx_if(c, more, total, types, true);
  if (!branch) return st_oom();
  simt_bind_counter(c, op, next, simt_of(op->operands[2])->lo > 0 ? simt_of(op->operands[2])->lo : 0);
  TSR_TRY(lower_addresses(c, op, p));
  at = 0;
  for (int i = 0; i < p->n; i++) {
    TSR_TRY(load_flight(c, p->producer[i], &f[i]));
    sx_pack(c, f[i].l->n_regs, w[i], f[i].v, v + at);
    at += f[i].l->n_regs / w[i];
  }
  sx_else(c, branch, total, v);
  at = 0;
  for (int i = 0; i < p->n; i++) {
    for (int r = 0; r < f[i].l->n_regs; r++) f[i].v[r] = sx_num(c, flight_dtype(p->producer[i]), 0);
    sx_pack(c, f[i].l->n_regs, w[i], f[i].v, v + at);
    at += f[i].l->n_regs / w[i];
  }
  sx_close(c, branch, total, v);
  if (c->b.failed) return st_oom();
  at = 0;
  for (int i = 0; i < p->n; i++) {
    sx_unpack(c, f[i].l->n_regs, w[i], branch->results + at, f[i].v);
    at += f[i].l->n_regs / w[i];
  }
  return NULL;
}

static ir_value *stage_offset(simt *c, const simt_val *s, ir_value *stage) {
  return sx_muli(c, stage, s->stage_bytes / (int64_t)tsr_dtype_size(s->mem.dtype));
}

static tsr_status body(simt *c, ir_op *op, const tile_pipelined *p, flight *f, ir_value *k, ir_value *stage) {
  const simt_val *to = simt_of(op->operands[1]), *step = simt_of(op->operands[2]);
  ir_value *next = sx_add(c, k, step->v), *more = sx_compare(c, "lt", next, to->v);
  TSR_TRY(fetch_next(c, op, p, f, next, more));
  simt_bind_counter(c, op, k, 0);
  TSR_TRY(lower_addresses(c, op, p));
  for (int i = 0; i < p->n; i++) {
    simt_val *s = simt_of(p->tile[i]);
    s->mem.base = sx_add(c, f[i].to.base, stage_offset(c, s, stage));
    s->mem.mult = s->stage_bytes / (int64_t)tsr_dtype_size(s->mem.dtype);
  }
  for (ir_op *o = p->wait->next; o; o = o->next) TSR_TRY(c->in->lower(c, o));
  ir_value *other = sx_sub(c, sx_int(c, 1), stage);
  /* Matrix instructions may be moved down behind a branch, and so behind the loads; storing zeros at the end does no
   * harm. */
  ir_op *branch = dialect_of(c->caps)->moves_freely ? NULL : sx_if(c, more, 0, NULL, false);
  for (int i = 0; i < p->n; i++) TSR_TRY(store_flight(c, &f[i], stage_offset(c, simt_of(p->tile[i]), other)));
  if (branch) sx_close(c, branch, 0, NULL);
  simt_barrier(c);
  for (int i = 0; i < p->n; i++) simt_of(p->tile[i])->mem = f[i].to;
  return c->b.failed ? st_oom() : NULL;
}

/* ---- cp.async: a stage queue, filled stages - 1 iterations ahead ---- */

typedef struct stage_queue {
  const simt_layout *l[TILE_PIPELINED_MOST];
  int w[TILE_PIPELINED_MOST];
  simt_mem to[TILE_PIPELINED_MOST];
  int stages;
} stage_queue;

/* Elements per cp.async of a tile (4, 8 or 16 bytes); 0 if it can't. */
static int async_width(const simt *c, const ir_op *copy, const simt_mem *from, const simt_mem *to) {
  int size = (int)tsr_dtype_size(to->dtype), a = simt_access_width(c, from, 16 / size),
      b = simt_access_width(c, to, 16 / size), w = simt_asked_width(copy, a < b ? a : b);
  for (int d = 0; d < from->rank; d++)
    if (from->limit[d] && d == from->rank - 1)
      while (w > 1 && from->limit_mult[d] % w) w /= 2;
  return from->dtype == to->dtype && w * size >= 4 ? w : 0;
}

static tsr_status plan_stage_queue(simt *c, const tile_pipelined *p, stage_queue *r, bool *fits) {
  *fits = c->caps->async_copy;
  for (int i = 0; i < p->n && *fits; i++) {
    const simt_val *s = simt_of(p->tile[i]);
    if (p->producer[i]->def->code != T_COPY || s->stages < 2) *fits = false;
    else if (!(r->w[i] = async_width(c, p->producer[i], &simt_of(p->producer[i]->operands[0])->mem, &s->mem)))
      *fits = false;
    else if (!(r->l[i] = simt_copy_layout(c, s->mem.rank, s->mem.dims, r->w[i]))) return st_oom();
    r->to[i] = s->mem;
    if (*fits) r->stages = s->stages;
  }
  return NULL;
}

static void group_op(simt *c, int code, int pending) {
  ir_op *op = sx_effect(c, code, 0, NULL);
  if (op && pending >= 0 && !ir_set_attr(op, "pending", ir_attr_int(c->m, pending))) c->b.failed = true;
}

/* Issues the tiles of iteration k into a stage, if there is such an iteration; always closes a group. */
static tsr_status issue(simt *c, ir_op *op, const tile_pipelined *p, const stage_queue *r, ir_value *k, int64_t first,
                        ir_value *stage) {
  const simt_val *to = simt_of(op->operands[1]);
  ir_op *branch = sx_if(c, sx_compare(c, "lt", k, to->v), 0, NULL, false);
  simt_bind_counter(c, op, k, first);
  TSR_TRY(lower_addresses(c, op, p));
  for (int i = 0; i < p->n; i++) {
    simt_mem m = r->to[i];
    m.base = sx_add(c, m.base, stage_offset(c, simt_of(p->tile[i]), stage));
    TSR_TRY(simt_copy_async(c, r->l[i], &simt_of(p->producer[i]->operands[0])->mem, &m, r->w[i]));
  }
  if (branch) sx_close(c, branch, 0, NULL);
  group_op(c, TG_CP_COMMIT, -1);
  return c->b.failed ? st_oom() : NULL;
}

static tsr_status stage_queue_body(simt *c, ir_op *op, const tile_pipelined *p, const stage_queue *r, ir_value *k,
                                   ir_value *stage) {
  const simt_val *step = simt_of(op->operands[2]);
  group_op(c, TG_CP_WAIT, r->stages - 2);
  simt_barrier(c);
  ir_value *ahead = sx_add(c, stage, sx_int(c, r->stages - 1)),
           *wraps = sx_compare(c, "ge", ahead, sx_int(c, r->stages));
  ir_value *into = sx_select(c, wraps, sx_addi(c, ahead, -r->stages), ahead);
  TSR_TRY(issue(c, op, p, r, sx_add(c, k, sx_muli(c, step->v, r->stages - 1)),
                (r->stages - 1) * (step->lo > 0 ? step->lo : 0), into));
  simt_bind_counter(c, op, k, 0);
  TSR_TRY(lower_addresses(c, op, p));
  for (int i = 0; i < p->n; i++) {
    simt_val *s = simt_of(p->tile[i]);
    s->mem.base = sx_add(c, r->to[i].base, stage_offset(c, s, stage));
    s->mem.mult = s->stage_bytes / (int64_t)tsr_dtype_size(s->mem.dtype);
    s->mem.hi = s->mem.lo + s->stages * s->stage_bytes;
  }
  for (ir_op *o = p->wait->next; o; o = o->next) TSR_TRY(c->in->lower(c, o));
  for (int i = 0; i < p->n; i++) simt_of(p->tile[i])->mem = r->to[i];
  return c->b.failed ? st_oom() : NULL;
}

static tsr_status async_loop(simt *c, ir_op *op, const tile_pipelined *p, const stage_queue *r) {
  const simt_val *from = simt_of(op->operands[0]), *step = simt_of(op->operands[2]);
  simt_frag *shape;
  ir_value **v;
  int n;
  for (int i = 0; i < p->n; i++) {
    const simt_val *s = simt_of(p->tile[i]);
    simt_write(c, s->mem.lo, s->mem.lo + s->stages * s->stage_bytes);
  }
  simt_barrier(c);
  for (int s = 0; s + 1 < r->stages; s++)
    TSR_TRY(issue(c, op, p, r, sx_add(c, from->v, sx_muli(c, step->v, s)), s * (step->lo > 0 ? step->lo : 0),
                  sx_int(c, s)));
  TSR_TRY(simt_carry(c, op, &shape, &v, &n));
  v[n] = sx_int(c, 0);
  ir_op *loop;
  TSR_TRY(simt_begin_for(c, from->v, simt_of(op->operands[1])->v, step->v, n + 1, v, &loop));
  ir_value *stage = v[n];
  TSR_TRY(simt_carry_in(c, op, shape, v));
  TSR_TRY(stage_queue_body(c, op, p, r, loop->regions[0]->args[0], stage));
  TSR_TRY(simt_carry_yield(c, op, v));
  ir_value *next = sx_addi(c, stage, 1);
  v[n] = sx_select(c, sx_compare(c, "eq", next, sx_int(c, r->stages)), sx_int(c, 0), next);
  TSR_TRY(simt_end_for(c, loop, n + 1, v));
  group_op(c, TG_CP_WAIT, 0); /* only empty groups are left */
  simt_barrier(c);
  return simt_carry_out(c, op, shape, v);
}

/* A loop over whole products needs no unrolling; short ones unrolled whole would spill. */
static bool keep_rolled(simt *c, ir_op *loop) {
  return !dialect_of(c->caps)->moves_freely || ir_set_attr(loop, "unroll_by", ir_attr_int(c->m, 1));
}

tsr_status simt_pipeline_for(simt *c, ir_op *op, bool *done) {
  tile_pipelined p;
  flight f[TILE_PIPELINED_MOST];
  bool fits = true;
  simt_frag *shape;
  ir_value **v;
  int n;
  if (!simt_pipeline_match(c, op, &p)) return NULL;
  /* Addresses once, thrown away by dead code removal, so that widths are known. */
  simt_bind_counter(c, op, simt_of(op->operands[0])->v, 0);
  TSR_TRY(lower_addresses(c, op, &p));
  stage_queue r = {.stages = 2};
  TSR_TRY(plan_stage_queue(c, &p, &r, &fits));
  if (fits) {
    *done = true;
    return async_loop(c, op, &p, &r);
  }
  fits = true;
  TSR_TRY(prepare(c, &p, f, &fits));
  if (!fits) return NULL;
  TSR_TRY(prologue(c, op, &p, f));
  TSR_TRY(simt_carry(c, op, &shape, &v, &n));
  v[n] = sx_int(c, 0);
  ir_op *loop;
  TSR_TRY(simt_begin_for(c, simt_of(op->operands[0])->v, simt_of(op->operands[1])->v, simt_of(op->operands[2])->v,
                         n + 1, v, &loop));
  if (!keep_rolled(c, loop)) return st_oom();
  ir_value *stage = v[n];
  TSR_TRY(simt_carry_in(c, op, shape, v));
  TSR_TRY(body(c, op, &p, f, loop->regions[0]->args[0], stage));
  TSR_TRY(simt_carry_yield(c, op, v));
  v[n] = sx_sub(c, sx_int(c, 1), stage);
  TSR_TRY(simt_end_for(c, loop, n + 1, v));
  *done = true;
  return simt_carry_out(c, op, shape, v);
}
