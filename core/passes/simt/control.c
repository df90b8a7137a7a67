/* core/passes/simt/control.c - one Tile IR op after the other; loops and branches.
 * A loop's body is made once; if the accesses pending at its end could conflict with those at its start, it is made
 * again with them pending at the start, so that a barrier appears exactly where an iteration meets the one before. */
#include <string.h>

#include "core/passes/simt/state.h"

/* ---- loops and branches in Target IR --------------------------------------------------------------------------------
 */

tsr_status simt_begin_for(simt *c, ir_value *from, ir_value *to, ir_value *step, int n, ir_value **v, ir_op **out) {
  ir_value **operands = arena_array(&c->m->arena, ir_value *, n + 3);
  const ir_type **types = arena_array(&c->m->arena, const ir_type *, n + 1);
  if (!operands || !types || c->b.failed) return st_oom();
  operands[0] = from, operands[1] = to, operands[2] = step;
  for (int i = 0; i < n; i++) {
    operands[3 + i] = v[i];
    types[i] = v[i]->type;
  }
  ir_op *op = ir_op_new(&c->b, ir_find_op("tessera.target.for"), n + 3, operands, n, types, 1);
  if (!op || !ir_block_arg(c->m, op->regions[0], ir_type_index(c->m), NULL)) return st_oom();
  for (int i = 0; i < n; i++)
    if (!(v[i] = ir_block_arg(c->m, op->regions[0], types[i], NULL))) return st_oom();
  op->scratch = (int64_t)sx_mark(c);
  c->b = ir_at_end(c->m, op->regions[0]);
  *out = op;
  return NULL;
}

tsr_status simt_end_for(simt *c, ir_op *loop, int n, ir_value **v) {
  sx_close(c, loop, n, v);
  for (int i = 0; i < n; i++) v[i] = loop->results[i];
  return c->b.failed ? st_oom() : NULL;
}

/* ---- carried values
 * ------------------------------------------------------------------------------------------------------ */

bool simt_is_carried_opaque(const simt *c, const ir_op *loop, int i) {
  return c->path->opaque && loop->results[i]->type->kind == IR_T_FRAG && c->path->keeps(c, loop->results[i]);
}

/* The Target IR values that stand for a Tile IR value when it crosses a region. */
static tsr_status crossing(simt *c, const ir_value *t, bool opaque, simt_frag *f) {
  const simt_val *s = simt_of(t);
  *f = s->frag;
  if (!opaque) TSR_TRY(simt_regs(c, &s->frag, f));
  else if (f->splat) TSR_TRY(c->path->fill(c, f->layout, f->dtype, f->splat, f));
  else if (!f->opaque) TSR_TRY(c->path->from_regs(c, f, f));
  return NULL;
}

/* f: what crosses when t is a fragment. */
static void append(const ir_value *t, const simt_frag *f, ir_value **v, int *n) {
  if (t->type->kind != IR_T_FRAG) {
    v[(*n)++] = simt_of(t)->v;
    return;
  }
  memcpy(v + *n, f->v, sizeof *v * (size_t)f->n);
  *n += f->n;
}

static tsr_status flatten(simt *c, const ir_value *t, bool opaque, ir_value **v, int *n) {
  simt_frag f = {0};
  if (t->type->kind == IR_T_FRAG) TSR_TRY(crossing(c, t, opaque, &f));
  append(t, &f, v, n);
  return NULL;
}

static tsr_status unflatten(simt *c, ir_value *t, const simt_frag *shape, ir_value **v, int *at) {
  simt_val *s = simt_bind(c, t, t->type->kind == IR_T_FRAG ? SV_FRAG : SV_SCALAR);
  if (!s) return st_oom();
  if (t->type->kind != IR_T_FRAG) {
    s->v = v[(*at)++];
    s->lo = INT64_MIN, s->hi = INT64_MAX, s->mult = 1;
    return NULL;
  }
  simt_frag f = *shape;
  if (!(f.v = arena_dup(&c->m->arena, v + *at, sizeof *v * (size_t)f.n))) return st_oom();
  f.splat = NULL;
  s->frag = f;
  *at += f.n;
  return NULL;
}

/* Upper bound of how many values n Tile IR values become. */
static tsr_status count_values(simt *c, ir_value **t, int n, int *count) {
  tsr_status st = NULL;
  *count = 1;
  for (int i = 0; i < n; i++) {
    if (t[i]->type->kind != IR_T_FRAG) {
      ++*count;
      continue;
    }
    const simt_layout *l = simt_layout_of(c, t[i], &st);
    if (!l) return st;
    *count += l->n_regs;
  }
  return NULL;
}

void simt_bind_counter(simt *c, const ir_op *op, ir_value *v, int64_t first) {
  const simt_val *from = simt_of(op->operands[0]), *to = simt_of(op->operands[1]), *step = simt_of(op->operands[2]);
  simt_val *s = simt_bind(c, op->regions[0]->args[0], SV_SCALAR);
  if (!s) return;
  s->v = v;
  s->lo = from->lo == INT64_MIN ? INT64_MIN : from->lo + first;
  s->hi = to->hi == INT64_MAX ? INT64_MAX : to->hi - 1;
  if (from->lo == from->hi && step->lo == step->hi && step->lo > 0 && s->hi != INT64_MAX && s->hi >= from->lo)
    s->hi = from->lo + (s->hi - from->lo) / step->lo * step->lo;
  s->mult = simt_gcd(from->mult, step->mult);
  if (s->mult > 1 && s->hi > 0 && s->hi != INT64_MAX) s->hi = s->hi / s->mult * s->mult; /* a part of k ends with k */
}

/* ---- for
 * --------------------------------------------------------------------------------------------------------------- */

typedef struct carried { simt_frag *shape; ir_value **v; int n; } carried;

static tsr_status for_body(simt *c, ir_op *op, const carried *in, ir_op **loop, ir_value **v) {
  const ir_block *b = op->regions[0];
  int at = 0, n = 0;
  memcpy(v, in->v, sizeof *v * (size_t)in->n);
  TSR_TRY(simt_begin_for(c, simt_of(op->operands[0])->v, simt_of(op->operands[1])->v, simt_of(op->operands[2])->v,
                         in->n, v, loop));
  /* A stream is as fast as it has bytes in flight: the loads of four steps together. Conversions from 8-bit floats take
   * many registers on some devices. */
  bool f8 = c->tile->regions[0]->n_args > 1 && dtype_is_float(c->tile->regions[0]->args[1]->type->dtype) &&
            tsr_dtype_size(c->tile->regions[0]->args[1]->type->dtype) == 1;
  if (!strcmp(ir_get_str(c->tile, "matrix_path", ""), "stream") &&
      !ir_set_attr(*loop, "unroll_by", ir_attr_int(c->m, f8 ? 1 : 4)))
    return st_oom();
  simt_bind_counter(c, op, (*loop)->regions[0]->args[0], 0);
  for (int i = 0; i < op->n_results; i++) TSR_TRY(unflatten(c, b->args[1 + i], &in->shape[i], v, &at));
  TSR_TRY(simt_lower_block(c, b));
  for (int i = 0; i < op->n_results; i++)
    TSR_TRY(flatten(c, b->last->operands[i], simt_is_carried_opaque(c, op, i), v, &n));
  return simt_end_for(c, *loop, n, v);
}

tsr_status simt_carry(simt *c, ir_op *op, simt_frag **shape, ir_value ***v, int *n) {
  int most = 1; /* a path may keep more values of a fragment than its layout has registers */
  *shape = arena_array(&c->m->arena, simt_frag, op->n_results + 1);
  if (!*shape) return st_oom();
  for (int i = 0; i < op->n_results; i++) {
    bool frag = op->results[i]->type->kind == IR_T_FRAG;
    if (frag) TSR_TRY(crossing(c, op->operands[3 + i], simt_is_carried_opaque(c, op, i), &(*shape)[i]));
    most += frag ? (*shape)[i].n : 1;
  }
  if (!(*v = arena_array(&c->m->arena, ir_value *, most))) return st_oom();
  *n = 0;
  for (int i = 0; i < op->n_results; i++) append(op->operands[3 + i], &(*shape)[i], *v, n);
  return NULL;
}

tsr_status simt_carry_in(simt *c, ir_op *op, const simt_frag *shape, ir_value **v) {
  int at = 0;
  for (int i = 0; i < op->n_results; i++) TSR_TRY(unflatten(c, op->regions[0]->args[1 + i], &shape[i], v, &at));
  return NULL;
}

tsr_status simt_carry_yield(simt *c, ir_op *op, ir_value **v) {
  int n = 0;
  for (int i = 0; i < op->n_results; i++)
    TSR_TRY(flatten(c, op->regions[0]->last->operands[i], simt_is_carried_opaque(c, op, i), v, &n));
  return NULL;
}

tsr_status simt_carry_out(simt *c, ir_op *op, const simt_frag *shape, ir_value **v) {
  int at = 0;
  for (int i = 0; i < op->n_results; i++) TSR_TRY(unflatten(c, op->results[i], &shape[i], v, &at));
  return NULL;
}

tsr_status simt_lower_for(simt *c, ir_op *op) {
  carried in = {0};
  bool done = false;
  TSR_TRY(simt_pipeline_for(c, op, &done));
  if (done) return NULL;
  TSR_TRY(simt_carry(c, op, &in.shape, &in.v, &in.n));
  ir_value **v = arena_array(&c->m->arena, ir_value *, in.n + 1);
  simt_shared_state before, after;
  ir_op *loop = NULL;
  if (!v) return st_oom();
  simt_shared_save(c, &before);
  TSR_TRY(for_body(c, op, &in, &loop, v));
  simt_shared_save(c, &after);
  simt_shared_restore(c, &before);
  if (simt_shared_join(c, &after)) {
    ir_op_remove(loop);
    TSR_TRY(for_body(c, op, &in, &loop, v));
    simt_shared_join(c, &before); /* the loop may not run at all */
  }
  return simt_carry_out(c, op, in.shape, v);
}

/* ---- if
 * ------------------------------------------------------------------------------------------------------------------ */

static tsr_status if_types(simt *c, ir_op *op, const ir_type **types, simt_frag *shape, int *n) {
  tsr_status st = NULL;
  *n = 0;
  for (int i = 0; i < op->n_results; i++) {
    const ir_type *t = op->results[i]->type;
    if (t->kind != IR_T_FRAG) {
      types[(*n)++] = ir_type_get(c->m, t);
      continue;
    }
    const simt_layout *l = simt_layout_of(c, op->results[i], &st);
    if (!l) return st;
    shape[i] = (simt_frag){.layout = l, .dtype = t->dtype, .n = l->n_regs};
    for (int r = 0; r < l->n_regs; r++) types[(*n)++] = ir_type_scalar(c->m, t->dtype);
  }
  return NULL;
}

static tsr_status if_region(simt *c, const ir_op *op, int region, ir_value **v) {
  int n = 0;
  const ir_block *b = op->regions[region];
  TSR_TRY(simt_lower_block(c, b));
  for (int i = 0; i < op->n_results; i++) TSR_TRY(flatten(c, b->last->operands[i], false, v, &n));
  return NULL;
}

tsr_status simt_lower_if(simt *c, ir_op *op) {
  int most, n, at = 0;
  TSR_TRY(count_values(c, op->results, op->n_results, &most));
  ir_value **v = arena_array(&c->m->arena, ir_value *, most);
  const ir_type **types = arena_array(&c->m->arena, const ir_type *, most);
  simt_frag *shape = arena_array(&c->m->arena, simt_frag, op->n_results + 1);
  simt_shared_state before, after;
  if (!v || !types || !shape) return st_oom();
  TSR_TRY(if_types(c, op, types, shape, &n));
  simt_shared_save(c, &before);
  ir_op *branch = sx_if(c, simt_of(op->operands[0])->v, n, types, op->n_regions == 2);
  if (!branch) return st_oom();
  TSR_TRY(if_region(c, op, 0, v));
  simt_shared_save(c, &after);
  simt_shared_restore(c, &before);
  if (op->n_regions == 2) {
    sx_else(c, branch, n, v);
    TSR_TRY(if_region(c, op, 1, v));
  }
  sx_close(c, branch, n, v);
  simt_shared_join(c, &after);
  if (c->b.failed) return st_oom();
  for (int i = 0; i < op->n_results; i++) TSR_TRY(unflatten(c, op->results[i], &shape[i], branch->results, &at));
  return NULL;
}

/* ---- single ops
 * ----------------------------------------------------------------------------------------------------------- */

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
    s->mult = simt_gcd(s->lo, 0);
    s->v = sx_int(c, s->lo);
  } else {
    s->v = sx_num(c, t->dtype, ir_get_float(op, "value", 0));
    s->lo = INT64_MIN, s->hi = INT64_MAX, s->mult = 1;
  }
  return c->b.failed ? st_oom() : NULL;
}

static tsr_status lower_load_scalar(simt *c, ir_op *op) {
  const simt_mem *m = &simt_of(op->operands[0])->mem;
  ir_value *at = m->base, *ok = m->inside;
  for (int d = 0; d < m->rank; d++) {
    const simt_val *i = simt_of(op->operands[1 + d]);
    if (i->lo < 0) ok = sx_all(c, ok, sx_compare(c, "ge", i->v, sx_int(c, 0)));
    if (m->limit[d]) ok = sx_all(c, ok, sx_compare(c, "lt", i->v, m->limit[d]));
    else if (i->hi >= m->dims[d]) ok = sx_all(c, ok, sx_compare(c, "lt", i->v, sx_int(c, m->dims[d])));
    at = sx_add(c, at, sx_muli(c, i->v, m->strides[d]));
  }
  if (ok) at = sx_select(c, ok, at, sx_int(c, 0));
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
      op->def->code == T_FILL ? sx_num(c, t, ir_get_float(op, "value", 0)) : sx_cast(c, simt_of(op->operands[0])->v, t);
  s->frag = (simt_frag){.layout = l, .dtype = t, .splat = v};
  return c->b.failed ? st_oom() : NULL;
}

static tsr_status lower_load(simt *c, ir_op *op) {
  tsr_status st = NULL;
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
  if (c->in->ring) TSR_TRY(simt_ring_op(c, op, &done));
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
  case T_YIELD: case T_RETURN: return NULL;
  default: break;
  }
  if (op->def->code < SC_N) return simt_lower_scalar(c, op);
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

tsr_status simt_lower_block(simt *c, const ir_block *b) {
  for (ir_op *op = b->first; op; op = op->next) TSR_TRY(simt_lower_op(c, op));
  return c->b.failed ? st_oom() : NULL;
}
