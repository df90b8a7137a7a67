/* core/passes/simt/shared.c - shared memory: offsets by liveness, scratch of single ops, and barriers by hazards.
 * Positions are a pre-order numbering of the Tile IR ops; a tile lives from its first to its last use, widened to whole
 * loops it lives across, and tiles that never live together may overlap. Hazards are tracked by byte ranges, so
 * overlapping tiles are covered too. */
#include <string.h>

#include "core/passes/simt/build.h"
#include "core/passes/simt/pipeline_match.h"
#include "core/passes/simt/shared.h"
#include "core/passes/simt/state.h"

enum { ALIGN = 16 };

tsr_status simt_shared_alloc(simt *c, const ir_op *op, int64_t bytes, int from, int to, int64_t *lo) {
  struct simt_impl *in = c->in;
  int64_t at = 0, limit = c->caps->shared_bytes - (c->path && c->path->shared_kept ? c->path->shared_kept(c) : 0);
  if (in->n_region == SIMT_MAX_REGION)
    return simt_unsupported(c, op, "use fewer shared tiles", "more than %d shared tiles at once", SIMT_MAX_REGION);
  for (bool moved = true; moved;) {
    moved = false;
    for (int i = 0; i < in->n_region; i++) {
      const simt_region *r = &in->region[i];
      if (r->from > to || r->to < from || r->lo >= at + bytes || r->hi <= at) continue;
      at = (r->hi + ALIGN - 1) / ALIGN * ALIGN;
      moved = true;
    }
  }
  if (at + bytes > limit) in->overflow = true;
  if (at + bytes > limit)
    return simt_unsupported(c, op, "use smaller tiles or fewer stages",
                            "needs %lld bytes of shared memory, %s has %lld per block", (long long)(at + bytes),
                            c->caps->arch, (long long)limit);
  in->region[in->n_region++] = (simt_region){at, at + bytes, from, to};
  if (at + bytes > in->shared_bytes) in->shared_bytes = at + bytes;
  *lo = at;
  return NULL;
}

/* ---- tiles of the program ---------------------------------------------------------------------------------------- */

static int number_ops(ir_op *op, int at) {
  op->scratch = at++;
  for (int r = 0; r < op->n_regions; r++)
    for (ir_op *o = op->regions[r]->first; o; o = o->next) at = number_ops(o, at);
  return at;
}

static int last_position(const ir_op *op) {
  int at = (int)op->scratch;
  for (int r = 0; r < op->n_regions; r++)
    if (op->regions[r]->last) at = last_position(op->regions[r]->last);
  return at;
}

typedef struct lifetime { const ir_value *v; const ir_block *home; int from, to; } lifetime;

static tsr_status widen(ir_op *op, void *user) {
  lifetime *l = user;
  bool uses = false;
  for (int i = 0; i < op->n_operands; i++) uses |= op->operands[i] == l->v;
  if (!uses) return NULL;
  const ir_op *top = op;
  while (top->parent != l->home) top = top->parent->parent;
  if (top->scratch < l->from) l->from = (int)top->scratch;
  if (last_position(top) > l->to) l->to = last_position(top);
  return NULL;
}

typedef struct planner { simt *c; bool staged; } planner;

static tsr_status place(ir_op *op, void *user) {
  planner *p = user;
  simt *c = p->c;
  if (op->def->code != T_ALLOC || op->def->level != IR_TILE) return NULL;
  ir_value *v = op->results[0];
  const ir_type *t = v->type;
  int64_t strides[TSR_MAX_RANK], bytes, lo;
  ir_type_strides(t, strides);
  bytes = round_up(simt_shared_bytes(t), ALIGN);
  int stages = p->staged ? simt_pipeline_stages(c, v) : 1;
  lifetime l = {v, op->parent, INT32_MAX, 0};
  TSR_TRY(ir_walk((ir_op *)c->tile, widen, &l));
  if (l.from > l.to) l.from = l.to = (int)op->scratch;
  c->in->staged |= stages > 1;
  TSR_TRY(simt_shared_alloc(c, op, bytes * stages, l.from, l.to, &lo));
  simt_val *s = simt_bind(c, v, SV_MEM);
  const ir_type *ptr = ir_type_get(
      c->m,
      &(ir_type){.kind = IR_T_PTR, .dtype = t->dtype == TSR_BOOL ? TSR_U8 : simt_in_memory(t->dtype), .use = "shared"});
  if (!s || !ptr) return st_oom();
  s->stages = stages;
  s->stage_bytes = bytes;
  s->mem = (simt_mem){.dtype = simt_in_memory(t->dtype),
                      .shared = true,
                      .rank = t->rank,
                      .lo = lo,
                      .hi = lo + bytes,
                      .base = sx_int(c, 0)};
  s->mem.ptr = sx_op(c, TG_SHARED, ptr, 0, NULL);
  if (!s->mem.ptr || !ir_set_attr(s->mem.ptr->def, "offset", ir_attr_int(c->m, lo))) return st_oom();
  memcpy(s->mem.dims, t->dims, sizeof s->mem.dims);
  memcpy(s->mem.strides, strides, sizeof strides);
  return NULL;
}

tsr_status simt_shared_plan(simt *c) {
  number_ops((ir_op *)c->tile, 0);
  planner p = {c, !c->in->unstaged};
  tsr_status st = ir_walk((ir_op *)c->tile, place, &p);
  if (!st || tsr_status_code(st) != TSR_UNSUPPORTED) return st;
  /* Without the pipeline's second copies it may fit. */
  tsr_status_free(st);
  c->in->n_region = 0;
  c->in->shared_bytes = 0;
  c->in->staged = false;
  p.staged = false;
  return ir_walk((ir_op *)c->tile, place, &p);
}

/* ---- scratch ----------------------------------------------------------------------------------------------------- */

/* Bytes of shared memory for the op being lowered; *lo receives their offset. TSR_UNSUPPORTED beyond the device's
 * limit. */
static tsr_status simt_scratch(simt *c, int64_t bytes, int64_t *lo) {
  const ir_op *op = c->in->op ? c->in->op : c->tile;
  return simt_shared_alloc(c, op, (bytes + ALIGN - 1) / ALIGN * ALIGN, c->in->position, c->in->position, lo);
}

tsr_status simt_scratch_tile(simt *c, tsr_dtype t, int rank, const int64_t *dims, int64_t pad, simt_mem *out) {
  ir_type shape = {.kind = IR_T_SHARED, .dtype = t, .rank = rank, .pad = pad};
  simt_mem m = {.dtype = simt_in_memory(t), .shared = true, .rank = rank, .base = sx_int(c, 0)};
  memcpy(shape.dims, dims, sizeof *dims * (size_t)rank);
  memcpy(m.dims, dims, sizeof *dims * (size_t)rank);
  ir_type_strides(&shape, m.strides);
  int64_t bytes = simt_shared_bytes(&shape);
  TSR_TRY(simt_scratch(c, bytes, &m.lo));
  m.hi = m.lo + bytes;
  const ir_type *ptr = ir_type_get(
      c->m, &(ir_type){.kind = IR_T_PTR, .dtype = t == TSR_BOOL ? TSR_U8 : simt_in_memory(t), .use = "shared"});
  m.ptr = ptr ? sx_op(c, TG_SHARED, ptr, 0, NULL) : NULL;
  if (!m.ptr || !ir_set_attr(m.ptr->def, "offset", ir_attr_int(c->m, m.lo))) return st_oom();
  *out = m;
  return NULL;
}

/* ---- hazards ----------------------------------------------------------------------------------------------------- */

void simt_barrier(simt *c) {
  sx_effect(c, c->warps == c->cluster ? TG_WARP_BARRIER : TG_BARRIER, 0, NULL);
  c->in->n_access = 0;
}

static bool known_access(const struct simt_impl *in, simt_access a) {
  for (int i = 0; i < in->n_access; i++) {
    const simt_access *b = &in->access[i];
    if (b->lo <= a.lo && b->hi >= a.hi && b->write == a.write) return true;
  }
  return false;
}

static void access_shared(simt *c, simt_access a) {
  struct simt_impl *in = c->in;
  for (int i = 0; i < in->n_access; i++) {
    const simt_access *b = &in->access[i];
    if (b->lo < a.hi && a.lo < b->hi && (a.write || b->write)) {
      simt_barrier(c);
      break;
    }
  }
  if (known_access(in, a)) return;
  if (in->n_access == SIMT_MAX_ACCESS) simt_barrier(c);
  in->access[in->n_access++] = a;
}

void simt_read(simt *c, int64_t lo, int64_t hi) { access_shared(c, (simt_access){lo, hi, false}); }
void simt_write(simt *c, int64_t lo, int64_t hi) { access_shared(c, (simt_access){lo, hi, true}); }

void simt_shared_save(const simt *c, simt_shared_state *s) {
  memcpy(s->access, c->in->access, sizeof s->access);
  s->n_access = c->in->n_access;
  s->n_region = c->in->n_region;
}

void simt_shared_restore(simt *c, const simt_shared_state *s) {
  memcpy(c->in->access, s->access, sizeof s->access);
  c->in->n_access = s->n_access;
  c->in->n_region = s->n_region;
}

bool simt_shared_join(simt *c, const simt_shared_state *s) {
  struct simt_impl *in = c->in;
  bool added = false;
  for (int i = 0; i < s->n_access; i++) {
    if (known_access(in, s->access[i])) continue;
    added = true;
    if (in->n_access < SIMT_MAX_ACCESS) in->access[in->n_access++] = s->access[i];
    else in->access[0] = (simt_access){0, INT64_MAX, true}; /* no room to be exact */
  }
  return added;
}
