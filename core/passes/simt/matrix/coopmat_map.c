/* core/passes/simt/matrix/coopmat_map.c - element code on accumulators that stay cooperative matrices: a map is one
 * expression per matrix (all operands in the type of the sums, so that they have one element order), its operands are
 * loaded as matrices (a bias row with stride 0), a reduction is one matrix op (NV). Anything else is left to registers
 * through scratch: positions in a map without NV's per-element operations, types that no accumulator has, windows that
 * end inside without tensor addressing. */
#include <string.h>

#include "core/ir/reducer.h"
#include "core/passes/simt/matrix/coopmat_map.h"
#include "core/passes/simt/build.h"
#include "core/passes/simt/element.h"
#include "core/passes/simt/layout.h"
#include "core/passes/simt/matrix/coopmat_tile.h"
#include "core/passes/simt/memory.h"
#include "core/passes/simt/shared.h"

enum { MAX_OPERANDS = 8, MAX_DEPTH = 12 };

/* ---- what stays a matrix ----------------------------------------------------------------------------------------- */

static bool keeps(const simt *c, const ir_value *v, int depth);

/* Types that f32 holds exactly. */
static bool computes_in(tsr_dtype t) { return t == TSR_F32 || t == TSR_F16 || t == TSR_BF16; }

static bool is_frag2(const ir_value *v) { return v->type->kind == IR_T_FRAG && v->type->rank == 2; }

/* Expressions of scalars, with positions only where the driver tells them. */
static bool is_expression(const simt *c, const ir_op *map) {
  const ir_block *b = map->regions[0];
  for (const ir_op *op = b->first; op; op = op->next) {
    int code = op->def->code;
    if (code == T_INDEX ? !c->caps->coopmat2_per_element : !ir_is_scalar(op) && code != T_CONST && code != T_YIELD)
      return false;
    for (int i = 0; i < op->n_operands;
         i++) /* whole numbers are exact only as far as they are turned into floats at once */
      if (op->operands[i]->type->kind == IR_T_SCALAR && op->operands[i]->owner == b && !op->operands[i]->def &&
          op->operands[i]->type->dtype == TSR_I32 && (code != SC_CAST || op->results[0]->type->dtype != TSR_F32))
        return false;
  }
  return true;
}

static bool is_uniform(const ir_value *v) {
  return v->def && (v->def->def->code == T_FILL || v->def->def->code == T_SPLAT);
}

static bool map_kept(const simt *c, const ir_op *op, int depth) {
  bool any = false;
  if (!op->n_results || op->n_operands > MAX_OPERANDS || !is_expression(c, op) || !coop_has_accumulator(c, TSR_F32))
    return false;
  for (int i = 0; i < op->n_results; i++) {
    const ir_type *t = op->results[i]->type;
    if (!is_frag2(op->results[i]) || !computes_in(t->dtype) || !coop_has_accumulator(c, t->dtype)) return false;
  }
  for (int i = 0; i < op->n_operands; i++) {
    const ir_value *v = op->operands[i];
    if (is_uniform(v)) continue;
    if (!is_frag2(v) || !coop_has_accumulator(c, v->type->dtype) ||
        (!computes_in(v->type->dtype) && v->type->dtype != TSR_I32))
      return false;
    bool load = v->def && v->def->def->code == T_LOAD;
    any |= !load && keeps(c, v, depth + 1);
  }
  return any;
}

static bool reduce_kept(const simt *c, const ir_op *op, int depth) {
  const ir_type *t = op->operands[0]->type;
  if (!c->caps->coopmat2_reduce || !is_frag2(op->operands[0]) || t->dtype != TSR_F32 ||
      op->results[0]->type->dtype != TSR_F32 || ir_reducer_of(op)->code == SC_MUL)
    return false;
  if (ir_policy(op) == TSR_POLICY_KAHAN_SUM || (t->dims[0] <= 1 || t->dims[1] <= 1)) return false;
  return keeps(c, op->operands[0], depth + 1);
}

/* Is v in block b only used by ops that take matrices? */
static bool used_as_matrix(const simt *c, const ir_block *b, const ir_value *v, int depth) {
  for (const ir_op *op = b->first; op; op = op->next) {
    for (int i = 0; i < op->n_operands; i++) {
      if (op->operands[i] != v) continue;
      int code = op->def->code;
      bool ok = code == T_GEMM    ? i == 0
                : code == T_YIELD ? true
                : code == T_MAP   ? map_kept(c, op, depth + 1)
                                  : code == T_REDUCE && reduce_kept(c, op, depth + 1);
      if (!ok) return false;
    }
    for (int r = 0; r < op->n_regions && op->def->code != T_MAP; r++)
      if (!used_as_matrix(c, op->regions[r], v, depth)) return false;
  }
  return true;
}

static bool carried_kept(const simt *c, const ir_op *loop, int i, int depth) {
  const ir_block *b = loop->regions[0];
  return is_frag2(loop->results[i]) && coop_has_accumulator(c, loop->results[i]->type->dtype) &&
         keeps(c, b->last->operands[i], depth + 1) && used_as_matrix(c, b, b->args[1 + i], depth + 1);
}

/* Values of a loop depend on themselves: beyond some depth the answer is yes, which the rest of the chain may still
 * refuse. */
static bool keeps(const simt *c, const ir_value *v, int depth) {
  const ir_op *op = v->def;
  if (depth > MAX_DEPTH) return true;
  if (!op) {
    const ir_op *loop = v->owner->parent;
    return loop && loop->def->level == IR_TILE && loop->def->code == T_FOR && v->index >= 1 &&
           carried_kept(c, loop, v->index - 1, depth);
  }
  switch (op->def->code) {
  case T_GEMM: return true;
  case T_MAP: return map_kept(c, op, depth);
  case T_REDUCE: return reduce_kept(c, op, depth);
  case T_FOR:
    for (int i = 0; i < op->n_results; i++)
      if (op->results[i] == v) return carried_kept(c, op, i, depth);
    return false;
  default: return false;
  }
}

bool coop_keeps(const simt *c, const ir_value *v) { return keeps(c, v, 0); }

typedef struct scan { const simt *c; bool found; const ir_value *v; bool used, kept; } scan;

static tsr_status find_registers(ir_op *op, void *user) {
  scan *s = user;
  int code = op->def->code;
  if (op->def->level != IR_TILE || code == T_GEMM || code == T_MMA_SYNC || code == T_FOR || code == T_YIELD)
    return NULL;
  for (int i = 0; i < op->n_operands; i++) {
    const ir_value *v = op->operands[i];
    if (v->type->kind != IR_T_FRAG || !keeps(s->c, v, 0)) continue;
    bool ok = code == T_MAP      ? map_kept(s->c, op, 0)
              : code == T_REDUCE ? reduce_kept(s->c, op, 0)
                                 : code == T_STORE && s->c->caps->coopmat2_tensor &&
                                       coop_has_accumulator(s->c, op->operands[1]->type->dtype);
    s->found |= !ok;
  }
  return NULL;
}

bool coop_needs_registers(const simt *c) {
  scan s = {.c = c};
  tsr_status_free(ir_walk((ir_op *)c->tile, find_registers, &s));
  return s.found;
}

static tsr_status find_use(ir_op *op, void *user) {
  scan *s = user;
  for (int i = 0; i < op->n_operands; i++) {
    if (op->operands[i] != s->v) continue;
    s->used = true;
    s->kept &= op->def->level == IR_TILE && op->def->code == T_MAP && map_kept(s->c, op, 0);
  }
  return NULL;
}

/* ---- loads ------------------------------------------------------------------------------------------------------- */

tsr_status coop_load_frag(simt *c, const ir_op *op, const simt_mem *m, const simt_layout *l, simt_frag *out,
                          bool *done) {
  scan s = {.c = c, .v = op->results[0], .kept = true};
  *done = false;
  if (!c->shape.m || !is_frag2(op->results[0]) || !coop_has_accumulator(c, m->dtype)) return NULL;
  TSR_TRY(ir_walk((ir_op *)c->tile, find_use, &s));
  coop_grid g = coop_grid_of(c, l);
  bool clipped = simt_interior(c, m) != NULL;
  if (!s.used || !s.kept || !coop_covers(c, &g, l->dims) ||
      !coop_reaches(c, m, coop_acc_minor(c, m->dims[1] <= 1 ? m->dims[0] > 1 : m->strides[1] != 1), clipped))
    return NULL;
  int n = g.n[0] * g.n[1];
  const ir_type *from = coop_acc_type(c, m->dtype), *to = coop_acc_type(c, op->results[0]->type->dtype);
  ir_value **v = arena_array(&c->m->arena, ir_value *, n);
  if (!v || !from || !to) return st_oom();
  bool col = m->dims[1] <= 1 ? m->dims[0] > 1 : m->strides[1] != 1;
  coop_place at = {{coop_origin(c, &g, 0), coop_origin(c, &g, 1)}, {0, 0}};
  if (m->shared) simt_read(c, m->lo, m->hi);
  for (int t = 0; t < n; t++) {
    at.off[0] = coop_offset(&g, 0, t / g.n[1]);
    at.off[1] = coop_offset(&g, 1, t % g.n[1]);
    v[t] = coop_cast(c, coop_load(c, from, m, &at, col, clipped), to);
  }
  *out = (simt_frag){.layout = l, .dtype = op->results[0]->type->dtype, .v = v, .n = n, .opaque = true};
  *done = true;
  return c->b.failed ? st_oom() : NULL;
}

/* ---- maps -------------------------------------------------------------------------------------------------------- */

typedef struct mapping {
  ir_op *op;            /* Tile IR */
  const coop_grid *g;   /* of the results */
  simt_frag in[MAX_OPERANDS];
  coop_grid grids[MAX_OPERANDS];
  bool positions;
} mapping;

static bool uses_positions(const ir_op *map) {
  for (const ir_op *op = map->regions[0]->first; op; op = op->next)
    if (op->def->code == T_INDEX) return true;
  return false;
}

static bool bind_argument(simt *c, ir_value *to, ir_value *x) {
  simt_val *s = x ? simt_bind(c, to, SV_SCALAR) : NULL;
  if (!s) return false;
  s->v = sx_cast(c, x, to->type->dtype);
  s->wide = s->v != x ? x : NULL;
  return true;
}

/* Result `which` of matrix (i, j): a mat_map over the operands' matrices. */
static tsr_status map_matrix(simt *c, const mapping *p, int which, int i, int j, ir_value **out) {
  ir_value *v[MAX_OPERANDS], *y[64], *origin[2];
  const ir_type *type = coop_acc_type(c, TSR_F32), *scalar = ir_type_scalar(c->m, TSR_F32),
                *index = ir_type_index(c->m);
  const ir_block *region = p->op->regions[0];
  int n = 0;
  if (!type || !scalar || !index) return st_oom();
  for (int k = 0; k < p->op->n_operands; k++) {
    const simt_frag *f = &p->in[k];
    const coop_grid *g = &p->grids[k];
    if (!f->splat) v[n++] = f->v[(g->n[0] > 1 ? i : 0) * g->n[1] + (g->n[1] > 1 ? j : 0)];
  }
  for (int d = 0; d < 2; d++) origin[d] = coop_origin(c, p->g, d);
  ir_op *op = c->b.failed ? NULL : ir_op_new(&c->b, ir_find_op("tessera.target.mat_map"), n, v, 1, &type, 1);
  if (!op || (p->positions && !ir_set_attr(op, "coords", ir_attr_bool(c->m, true)))) return st_oom();
  op->scratch = (int64_t)sx_mark(c);
  c->b = ir_at_end(c->m, op->regions[0]);
  for (int k = 0; k < p->op->n_operands; k++)
    if (!bind_argument(c, region->args[k],
                       p->in[k].splat ? p->in[k].splat : ir_block_arg(c->m, op->regions[0], scalar, NULL)))
      return st_oom();
  for (int d = 0; d < 2; d++) {
    ir_value *at = p->positions ? ir_block_arg(c->m, op->regions[0], index, NULL) : NULL;
    bool single = p->g->l->dims[d] <= 1;
    c->in->coord[d] = single ? sx_int(c, 0)
                      : at   ? sx_addi(c, sx_add(c, origin[d], at), coop_offset(p->g, d, d ? j : i))
                             : NULL;
    c->in->coord_max[d] = single ? 0 : p->g->l->dims[d] - 1;
  }
  TSR_TRY(simt_inline(c, region, y));
  ir_value *r = y[which];
  if (!r) return st_oom();
  /* The result's rounding is done on matrices, if it is the last step. */
  bool rounded = r->def && r->def->def->code == SC_CAST && r->type->kind == IR_T_SCALAR && r->type->dtype != TSR_F32 &&
                 r->def->operands[0]->type == scalar;
  r = rounded ? r->def->operands[0] : sx_cast(c, r, TSR_F32);
  sx_close(c, op, 1, &r);
  *out = op->results[0];
  return c->b.failed ? st_oom() : NULL;
}

/* All matrices of an operand in f32. */
static tsr_status widen(simt *c, simt_frag *f, coop_grid *g) {
  const ir_type *type = coop_acc_type(c, TSR_F32);
  *g = coop_grid_of(c, f->layout);
  ir_value **v = arena_array(&c->m->arena, ir_value *, f->n);
  if (!v || !type) return st_oom();
  for (int i = 0; i < f->n; i++) v[i] = coop_cast(c, f->v[i], type);
  f->v = v;
  return c->b.failed ? st_oom() : NULL;
}

tsr_status coop_map(simt *c, ir_op *op, bool *done) {
  mapping p = {.op = op, .positions = uses_positions(op)};
  tsr_status st = NULL;
  *done = false;
  if (!c->shape.m || !map_kept(c, op, 0)) return NULL;
  const simt_layout *l = simt_layout_of(c, op->results[0], &st);
  if (!l) return st;
  coop_grid g = coop_grid_of(c, l);
  p.g = &g;
  bool any = false;
  for (int k = 0; k < op->n_operands; k++) any |= simt_of(op->operands[k])->frag.opaque;
  if (!any || !coop_covers(c, &g, l->dims)) return NULL;
  for (int k = 0; k < op->n_operands; k++) {
    p.in[k] = simt_of(op->operands[k])->frag;
    if (!p.in[k].splat && !p.in[k].opaque) TSR_TRY(coop_from_regs(c, &p.in[k], &p.in[k]));
    if (!p.in[k].splat) TSR_TRY(widen(c, &p.in[k], &p.grids[k]));
  }
  int n = g.n[0] * g.n[1];
  for (int r = 0; r < op->n_results; r++) {
    tsr_dtype t = op->results[r]->type->dtype;
    ir_value **v = arena_array(&c->m->arena, ir_value *, n);
    if (!v) return st_oom();
    for (int k = 0; k < n; k++) {
      TSR_TRY(map_matrix(c, &p, r, k / g.n[1], k % g.n[1], &v[k]));
      v[k] = coop_cast(c, v[k], coop_acc_type(c, t));
    }
    simt_val *s = simt_bind(c, op->results[r], SV_FRAG);
    if (!s) return st_oom();
    s->frag = (simt_frag){.layout = l, .dtype = t, .v = v, .n = n, .opaque = true};
  }
  *done = true;
  return c->b.failed ? st_oom() : NULL;
}

/* ---- reductions -------------------------------------------------------------------------------------------------- */

/* a op b on matrices, element by element. */
static ir_value *combined(simt *c, int code, ir_value *a, ir_value *b) {
  const ir_type *scalar = ir_type_scalar(c->m, TSR_F32);
  ir_op *op = c->b.failed || !a || !b
                  ? NULL
                  : ir_op_new(&c->b, ir_find_op("tessera.target.mat_map"), 2, (ir_value *[]){a, b}, 1, &a->type, 1);
  if (!op || !scalar) {
    c->b.failed = true;
    return NULL;
  }
  op->scratch = (int64_t)sx_mark(c);
  c->b = ir_at_end(c->m, op->regions[0]);
  ir_value *x = ir_block_arg(c->m, op->regions[0], scalar, NULL), *y = ir_block_arg(c->m, op->regions[0], scalar, NULL);
  ir_value *r = sx_op(c, code, scalar, 2, (ir_value *[]){x, y});
  sx_close(c, op, 1, &r);
  return op->results[0];
}

tsr_status coop_reduce(simt *c, ir_op *op, bool *done) {
  const simt_frag *f = &simt_of(op->operands[0])->frag;
  const ir_reducer *reducer = ir_reducer_of(op);
  int axis = (int)ir_get_int(op, "axis", 0), code = reducer->code;
  tsr_status st = NULL;
  *done = false;
  if (!c->shape.m || !f->opaque || !reduce_kept(c, op, 0)) return NULL;
  coop_grid g = coop_grid_of(c, f->layout);
  const simt_layout *l = simt_layout_of(c, op->results[0], &st);
  if (!l) return st;
  if (!coop_covers(c, &g, f->layout->dims) || (!g.wide && f->layout->warps[axis] > 1))
    return NULL; /* other subgroups have the rest */
  int other = 1 - axis, n = g.n[other];
  ir_value **v = arena_array(&c->m->arena, ir_value *, n);
  if (!v) return st_oom();
  for (int i = 0; i < n; i++) {
    for (int k = 0; k < g.n[axis]; k++) {
      ir_value *x = f->v[axis ? i * g.n[1] + k : k * g.n[1] + i];
      v[i] = k ? combined(c, code, v[i], x) : x;
    }
    v[i] = sx_op(c, TG_MAT_REDUCE, v[i] ? v[i]->type : NULL, 1, &v[i]);
    if (!v[i] || !ir_set_attr(v[i]->def, "op", ir_attr_str(c->m, reducer->name)) ||
        !ir_set_attr(v[i]->def, "axis", ir_attr_int(c->m, axis)))
      return st_oom();
  }
  simt_val *s = simt_bind(c, op->results[0], SV_FRAG);
  if (!s) return st_oom();
  s->frag = (simt_frag){.layout = l, .dtype = TSR_F32, .v = v, .n = n, .opaque = true};
  *done = true;
  return c->b.failed ? st_oom() : NULL;
}
