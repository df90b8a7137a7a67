/* core/passes/cpu/reduction_kernels.c - see cpu/reduction_kernels.h. Every op is looked at by itself, then loads that
 * only kernels read. Every test is conservative: "no" leaves the op to the general path. */
#include "core/passes/cpu/reduction_kernels.h"

#include <string.h>

#include "core/base/alloc.h"
#include "core/ir/tile/row.h"
#include "core/ir/tile/tile.h"
#include "core/passes/cpu/row_memory.h"
#include "core/passes/cpu/row_takes.h"

const row_act *rows_find(const row_plan *p, const ir_op *op) {
  for (size_t i = 0; i < p->n; i++)
    if (p->v[i].op == op) return &p->v[i];
  return NULL;
}

void rows_clear(row_plan *p) {
  al_free_array(p->al, p->v, p->cap);
  *p = (row_plan){.al = p->al};
}

static bool add(row_plan *p, row_act a) {
  if (!al_grow(p->al, &p->v, &p->cap, p->n + 1, sizeof *p->v)) return false;
  p->v[p->n++] = a;
  return true;
}

/* ---- shapes ---------------------------------------------------------------------------------------------------- */

static bool has_code(const ir_value *v, int code) { return v && v->def && v->def->def->code == code; }
static bool is_frag2(const ir_value *v) { return v && v->type->kind == IR_T_FRAG && v->type->rank == 2; }
static bool shape_is(const ir_value *v, int64_t rows, int64_t cols) {
  return is_frag2(v) && v->type->dims[0] == rows && v->type->dims[1] == cols;
}

/* A whole row operand: memory of a row type, or a fragment that is computed in f32. */
static bool is_base(const ir_value *v) {
  if (!is_frag2(v) || v->type->dims[1] < 2 || !rows_dtype(v->type->dtype)) return false;
  return has_code(v, T_LOAD) ? rows_inside(v->def->operands[0]) : v->type->dtype == TSR_F32;
}

/* One number a row, in scratch memory as f32. */
static bool is_per_row(const ir_value *v, int64_t rows) {
  return shape_is(v, rows, 1) && v->type->dtype == TSR_F32 && v->def && !has_code(v, T_LOAD);
}

/* One row for all rows, as f32; a load of another type is converted into a tile. */
static bool is_repeated(const ir_value *v, int64_t cols) {
  if (!shape_is(v, 1, cols) || v->type->dtype != TSR_F32) return false;
  return !has_code(v, T_LOAD) || rows_type(v->def->operands[0]->type);
}

/* ---- maps that scale rows -------------------------------------------------------------------------------------- */

/* The operand of the map that a value of its body stands for; NULL if it is computed there. */
static ir_value *outer(const ir_op *map, const ir_value *v) {
  return v->owner && v->owner == map->regions[0] ? map->operands[v->index] : NULL;
}

static bool body_is(const ir_value *v, int code) { return v->def && !v->owner && v->def->def->code == code; }

/* x - m[r] */
static bool body_is_sub(const ir_op *map, const ir_value *y, ir_value **x, ir_value **m) {
  if (!body_is(y, SC_SUB)) return false;
  *x = outer(map, y->def->operands[0]);
  *m = outer(map, y->def->operands[1]);
  return *x && *m && is_base(*x) && is_per_row(*m, (*x)->type->dims[0]);
}

/* The other factor or term of y = a op b, when one of them is an operand of the map of the given shape. */
static const ir_value *split(const ir_op *map, const ir_value *y, int code, bool (*shape)(const ir_value *, int64_t),
                             int64_t n, ir_value **found) {
  if (!body_is(y, code)) return NULL;
  for (int i = 1; i >= 0; i--) {
    ir_value *o = outer(map, y->def->operands[i]);
    if (!o || !shape(o, n)) continue;
    *found = o;
    return y->def->operands[1 - i];
  }
  return NULL;
}

static bool is_norm(const ir_op *map, row_act *a) {
  if (map->n_results != 1) return false;
  const ir_value *v = map->results[0], *y = map->regions[0]->last->operands[0], *rest;
  if (!is_frag2(v) || v->type->dims[1] < 2 || v->type->dtype != TSR_F32) return false;
  int64_t rows = v->type->dims[0], cols = v->type->dims[1];
  *a = (row_act){.op = map, .kind = ROW_NORM};
  if ((rest = split(map, y, SC_ADD, is_repeated, cols, &a->shift))) y = rest;
  for (int with_scale = 1; with_scale >= 0 && !a->factor;
       with_scale--) { /* a block of one row: what repeats looks like the row itself */
    const ir_value *z = y;
    a->scale = NULL;
    if (with_scale && (rest = split(map, z, SC_MUL, is_repeated, cols, &a->scale))) z = rest;
    rest = split(map, z, SC_MUL, is_per_row, rows, &a->factor);
    a->x = rest ? outer(map, rest) : NULL;
    if (rest && !a->x && !body_is_sub(map, rest, &a->x, &a->mean)) a->x = a->mean = NULL;
  }
  return a->x && shape_is(a->x, rows, cols) && is_base(a->x);
}

/* ---- the plan -------------------------------------------------------------------------------------------------- */

/* How often the plan's ops would have read v where a kernel reads the memory that it was loaded from. */
static int covered_uses(const row_plan *p, const ir_value *v) {
  int n = 0;
  for (size_t i = 0; i < p->n; i++) {
    const row_act *a = &p->v[i];
    if (a->kind == ROW_WHOLE) n += (a->x == v) + (a->scale == v) + (a->shift == v);
    if (a->kind != ROW_NORM) continue;
    for (int k = 0; k < a->op->n_operands; k++) n += a->op->operands[k] == v;
  }
  return n;
}

/* A scale or shift that isn't f32 in memory: the kernels read it from a tile. */
static bool needs_tile(const row_plan *p, const ir_value *v) {
  for (size_t i = 0; i < p->n; i++)
    if ((p->v[i].scale == v || p->v[i].shift == v) && v->def->operands[0]->type->dtype != TSR_F32) return true;
  return false;
}

/* A row op, which its own lowering takes whole (cpu/row.c): it reads rows and weights where they are. */
static bool plan_row(row_plan *p, const ir_op *op) {
  tile_row r;
  tsr_status st = tile_row_get(op, &r);
  tsr_status_free(st);
  return st || add(p, (row_act){.op = op,
                                .kind = ROW_WHOLE,
                                .x = cpu_row_reads(&r),
                                .scale = r.n[ROW_WEIGHT] > 0 ? r.v[ROW_WEIGHT][0] : NULL,
                                .shift = r.n[ROW_WEIGHT] > 1 ? r.v[ROW_WEIGHT][1] : NULL});
}

static bool writes(const ir_op *o) {
  return o->def->code == T_STORE || o->def->code == T_COPY || o->def->code == T_SCATTER ||
         o->def->code == T_DFT || o->def->code == T_GATHER ||
         o->def->code == T_IF || o->def->code == T_FOR || o->def->code == T_CONTRACT;
}

/* Nothing is written between the load and its last reader. */
static bool stays(const ir_op *load) {
  const ir_op *last = load;
  for (const ir_op *o = load->next; o; o = o->next)
    for (int k = 0; k < o->n_operands; k++)
      if (o->operands[k] == load->results[0]) last = o;
  for (const ir_op *o = load->next; o && o != last->next; o = o->next)
    if (writes(o)) return false;
  return true;
}

tsr_status rows_plan(row_plan *p, const ir_block *block) {
  row_act a;
  for (ir_op *o = block->first; o; o = o->next) {
    bool ok = true;
    if (o->def->code == T_ROW) ok = plan_row(p, o);
    else if (o->def->code == T_MAP && is_norm(o, &a)) ok = add(p, a);
    if (!ok) return st_oom();
  }
  for (ir_op *o = block->first; o; o = o->next) {
    ir_value *v = o->n_results ? o->results[0] : NULL;
    if (o->def->code == T_LOAD && is_base(v) && !needs_tile(p, v) && v->n_uses && covered_uses(p, v) == v->n_uses &&
        stays(o) && !add(p, (row_act){.op = o, .kind = ROW_DIRECT}))
      return st_oom();
  }
  return NULL;
}
