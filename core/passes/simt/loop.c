/* core/passes/simt/loop.c - loops of Target IR, and the values that a loop or branch of Tile IR carries across its
 * region. */
#include <string.h>

#include "core/passes/simt/build.h"
#include "core/passes/simt/layout.h"
#include "core/passes/simt/loop.h"
#include "core/passes/simt/registers.h"
#include "core/passes/simt/state.h"

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

tsr_status simt_flatten(simt *c, const ir_value *t, bool opaque, ir_value **v, int *n) {
  simt_frag f = {0};
  if (t->type->kind == IR_T_FRAG) TSR_TRY(crossing(c, t, opaque, &f));
  append(t, &f, v, n);
  return NULL;
}

tsr_status simt_unflatten(simt *c, ir_value *t, const simt_frag *shape, ir_value **v, int *at) {
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
tsr_status simt_count_values(simt *c, ir_value **t, int n, int *count) {
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

/* Pipelines count this many steps ahead of their loop. */
enum { STEPS_AHEAD = 8 };

tsr_status simt_check_counter(simt *c, const ir_op *op) {
  const simt_val *from = simt_of(op->operands[0]), *to = simt_of(op->operands[1]), *step = simt_of(op->operands[2]);
  int64_t ahead, end = 0;
  if (step->hi < 1) return simt_unsupported(c, op, NULL, "the step of a loop must be positive");
  if (step->hi == INT64_MAX && step->lo < INT64_MAX / STEPS_AHEAD) return NULL;
  if (__builtin_mul_overflow(step->hi, (int64_t)STEPS_AHEAD, &ahead) ||
      ((to->hi != INT64_MAX || to->lo == to->hi) && __builtin_add_overflow(to->hi, ahead, &end)))
    return simt_unsupported(c, op, "end it earlier, or take smaller steps", "the counter of a loop may exceed 64 bits");
  if (end > INT32_MAX || (from->lo < INT32_MIN && from->lo != INT64_MIN)) c->wide_index = true;
  return NULL;
}

void simt_bind_counter(simt *c, const ir_op *op, ir_value *v, int64_t first) {
  const simt_val *from = simt_of(op->operands[0]), *to = simt_of(op->operands[1]), *step = simt_of(op->operands[2]);
  simt_val *s = simt_bind(c, op->regions[0]->args[0], SV_SCALAR);
  if (!s) return;
  s->v = v;
  if (from->lo == INT64_MIN || __builtin_add_overflow(from->lo, first, &s->lo)) s->lo = INT64_MIN;
  s->hi = to->hi == INT64_MAX || to->hi == INT64_MIN ? to->hi : to->hi - 1;
  if (from->lo == from->hi && step->lo == step->hi && step->lo > 0 && s->hi != INT64_MAX && s->hi >= from->lo)
    s->hi =
        wrap_add(from->lo, wrap_mul((int64_t)(((uint64_t)s->hi - (uint64_t)from->lo) / (uint64_t)step->lo), step->lo));
  s->mult = gcd64(from->mult, step->mult);
  if (s->mult > 1 && s->hi > 0 && s->hi != INT64_MAX) s->hi = s->hi / s->mult * s->mult; /* a part of k ends with k */
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
  for (int i = 0; i < op->n_results; i++) TSR_TRY(simt_unflatten(c, op->regions[0]->args[1 + i], &shape[i], v, &at));
  return NULL;
}

tsr_status simt_carry_yield(simt *c, ir_op *op, ir_value **v) {
  int n = 0;
  for (int i = 0; i < op->n_results; i++)
    TSR_TRY(simt_flatten(c, op->regions[0]->last->operands[i], simt_is_carried_opaque(c, op, i), v, &n));
  return NULL;
}

tsr_status simt_carry_out(simt *c, ir_op *op, const simt_frag *shape, ir_value **v) {
  int at = 0;
  for (int i = 0; i < op->n_results; i++) TSR_TRY(simt_unflatten(c, op->results[i], &shape[i], v, &at));
  return NULL;
}
