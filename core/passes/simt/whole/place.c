/* core/passes/simt/whole/place.c - code that every lowering of a whole kernel needs: index expressions and the epilogue
 * of a few neighbouring elements; see simt/whole/match.h. */
#include <string.h>

#include "core/base/dtype.h"
#include "core/passes/simt/whole/match.h"

static bool is_op(const ir_op *op, int code) { return op && op->def->level == IR_TILE && op->def->code == code; }

/* ---- index expressions ----------------------------------------------------------------------------------------- */

ir_value *simt_place_index(const simt_place *p, const ir_value *v) {
  int64_t c;
  if (!v->def) return p->mm->tiles && v == p->mm->tiles->regions[0]->args[0] ? p->tile : NULL;
  if (simt_known_index(v, &c)) return tg_index(p->t, c);
  if (is_op(v->def, T_BLOCK_ID)) return p->block[ir_get_int(v->def, "axis", 0) % 3];
  if (!ir_is_scalar(v->def)) return NULL;
  ir_value *x[3] = {NULL, NULL, NULL};
  for (int i = 0; i < v->def->n_operands && i < 3; i++)
    if (!(x[i] = simt_place_index(p, v->def->operands[i]))) return NULL;
  switch (v->def->def->code) {
  case SC_ADD: return tg_add(p->t, x[0], x[1]);
  case SC_SUB: return tg_sub(p->t, x[0], x[1]);
  case SC_MUL: return tg_mul(p->t, x[0], x[1]);
  case SC_DIV: return tg_div(p->t, x[0], x[1]);
  case SC_REM: return tg_rem(p->t, x[0], x[1]);
  case SC_MIN: return tg_min(p->t, x[0], x[1]);
  default: break;
  }
  if (v->def->def->code == SC_COMPARE) return tg_compare(p->t, ir_get_str(v->def, "predicate", "eq"), x[0], x[1]);
  return tg_value(p->t, ir_find_like(IR_TARGET, v->def->def)->name,
                  v->type->kind == IR_T_INDEX ? ir_type_index(p->t->m) : tg_scalar_type(p->t, v->type->dtype),
                  v->def->n_operands, x);
}

ir_value *simt_place_offset(const simt_place *p, const ir_op *window, int d) {
  const simt_matmul *mm = p->mm;
  const simt_side *side = window == mm->a.window ? &mm->a : window == mm->b.window ? &mm->b : NULL;
  const ir_value *at = window->operands[1 + d];
  int64_t base;
  if (!side || d != side->k_dim) return simt_place_index(p, at);
  if (at == mm->counter || (tile_const_index(at, &base) && !base)) return p->k;
  return tg_add(p->t, simt_place_index(p, at), p->k);
}

/* ---- epilogue -------------------------------------------------------------------------------------------------- */

typedef struct evaluation {
  const simt_place *p;
  ir_value *row, *col;
  int w;
  ir_value *const *acc;
} evaluation;

static void evaluate(const evaluation *e, const ir_value *v, ir_value **out);

static int kept_dims(const ir_op *window, int kept[2]) {
  int64_t sizes[TSR_MAX_RANK];
  int n = 0, rank = ir_get_ints(window, "sizes", sizes, TSR_MAX_RANK);
  for (int d = 0; d < rank; d++)
    if (sizes[d] && n < 2) kept[n++] = d;
  return n;
}

static ir_value *arg_value(const simt_place *p, ir_value *arg) { return p->args[arg->index]; }

/* Element index of (row, col) in a window; with clamp the position is first moved into the view. */
static ir_value *address(const simt_place *p, const ir_op *window, ir_value *row, ir_value *col, int w, bool clamp) {
  const ir_type *view = window->operands[0]->type;
  int64_t strides[TSR_MAX_RANK];
  int kept[2];
  ir_value *sum = tg_index(p->t, 0);
  ir_type_strides(view, strides);
  kept_dims(window, kept);
  for (int d = 0; d < view->rank; d++) {
    if (!strides[d]) continue;
    ir_value *at = simt_place_offset(p, window, d);
    bool is_row = d == kept[0], is_col = d == kept[1];
    if (is_row) at = tg_add(p->t, at, row);
    if (is_col) at = tg_add(p->t, at, col);
    int64_t tile = is_row   ? p->mm->bm
                   : is_col ? p->mm->bn
                            : 1,
            last = view->dims[d] - (is_col && view->dims[d] >= w ? w : 1);
    if (clamp && (is_row || is_col) && view->dims[d] % tile) at = tg_min(p->t, at, tg_index(p->t, last < 0 ? 0 : last));
    sum = tg_add(p->t, sum, tg_muli(p->t, at, strides[d]));
  }
  return sum;
}

/* Elements that may be read at once from this window at a column that is a multiple of w. */
static bool vector_ok(const simt_place *p, const ir_op *window, int w) {
  const ir_type *view = window->operands[0]->type;
  int64_t strides[TSR_MAX_RANK];
  int kept[2];
  ir_type_strides(view, strides);
  kept_dims(window, kept);
  if (strides[kept[1]] != 1 || view->dims[kept[1]] % w || p->mm->bn % w) return false;
  for (int d = 0; d < view->rank; d++)
    if (d != kept[1] && strides[d] % w) return false;
  return true;
}

/* Elements of a tile in memory, as t. */
static void evaluate_view(const evaluation *e, const ir_value *v, tsr_dtype t, ir_value **out) {
  const simt_place *p = e->p;
  const ir_op *window = v->def;
  const int64_t *dims = v->type->dims;
  int64_t strides[TSR_MAX_RANK];
  int kept[2];
  ir_type_strides(window->operands[0]->type, strides);
  kept_dims(window, kept);
  ir_value *arg = arg_value(p, simt_argument_of(window->operands[0])), *zero = tg_index(p->t, 0);
  ir_value *row = dims[0] == 1 ? zero : e->row, *col = dims[1] == 1 ? zero : e->col;
  bool one = dims[1] == 1 || strides[kept[1]] == 0;
  if (one || !vector_ok(p, window, e->w)) {
    for (int i = 0; i < e->w; i++) {
      if (one && i) out[i] = out[0];
      else
        out[i] = tg_cast(p->t,
                         tg_load(p->t, arg, address(p, window, row, one ? col : tg_addi(p->t, col, i), 1, true), 1), t);
    }
    return;
  }
  ir_value *x = tg_load(p->t, arg, address(p, window, row, col, e->w, true), e->w);
  for (int i = 0; i < e->w; i++) out[i] = tg_cast(p->t, tg_extract(p->t, x, i), t);
}

/* An elementwise region: a map's, or the contraction's epilogue. */
typedef struct elements {
  const ir_block *block;
  int64_t dims[2];            /* of its tiles */
  ir_value *args[SIMT_EPILOGUE_ARGS][8]; /* by argument, for w neighbours */
  bool needed[SIMT_EPILOGUE_ARGS];
  bool seen[SIMT_EPILOGUE_OPS];
} elements;

/* Notes the arguments that v depends on. */
static void need(elements *r, const ir_value *v) {
  if (!v->def) {
    if (v->owner == r->block) r->needed[v->index] = true;
    return;
  }
  if (v->def->parent != r->block || r->seen[v->def->scratch]) return;
  r->seen[v->def->scratch] = true;
  for (int i = 0; i < v->def->n_operands; i++) need(r, v->def->operands[i]);
}

/* A scalar of a region for element i. */
static ir_value *region_value(const evaluation *e, const elements *g, const ir_value *v, int i, ir_value **memo) {
  const simt_place *p = e->p;
  tgb *t = p->t;
  if (!v->def) return v->owner == g->block ? g->args[v->index][i] : NULL;
  const ir_op *op = v->def;
  if (op->parent != g->block) { /* an outer scalar */
    int64_t c;
    if (simt_known_index(v, &c) || v->type->kind == IR_T_INDEX) return simt_place_index(p, v);
    return is_op(op, T_CONST) ? tg_constant(t, v->type->dtype, op) : NULL;
  }
  if (memo[op->scratch]) return memo[op->scratch];
  ir_value *r = NULL, *x[3] = {NULL, NULL, NULL};
  if (is_op(op, T_CONST)) {
    r = v->type->kind == IR_T_INDEX ? tg_index(t, ir_get_int(op, "value", 0)) : tg_constant(t, v->type->dtype, op);
  } else if (is_op(op, T_INDEX)) {
    int64_t d = ir_get_int(op, "dim", 0);
    r = g->dims[d] == 1 ? tg_index(t, 0) : d ? tg_addi(t, e->col, i) : e->row;
  } else {
    for (int k = 0; k < op->n_operands && k < 3; k++) x[k] = region_value(e, g, op->operands[k], i, memo);
    r = tg_value(t, ir_find_like(IR_TARGET, op->def)->name,
                 v->type->kind == IR_T_INDEX ? ir_type_index(t->m) : tg_scalar_type(t, v->type->dtype), op->n_operands,
                 x);
    if (r && op->def->code == SC_COMPARE) tg_text(t, r->def, "predicate", ir_get_str(op, "predicate", "eq"));
  }
  memo[op->scratch] = r;
  return r;
}

/* What a region yields; operands: what its arguments from `first` on are of. The one before is the sum. */
static void evaluate_region(const evaluation *e, elements *g, ir_value *const *operands, int first, const ir_value *y,
                            ir_value **out) {
  ir_value *memo[SIMT_EPILOGUE_OPS];
  int n_ops = 0;
  for (ir_op *op = g->block->first; op; op = op->next) op->scratch = n_ops++;
  need(g, y);
  for (int a = 0; a < g->block->n_args; a++) {
    if (!g->needed[a]) continue;
    if (a < first) {
      for (int i = 0; i < e->w; i++) g->args[a][i] = e->acc[i];
      continue;
    }
    const ir_value *v = operands[a - first];
    evaluation inner = *e;
    if (v->type->dims[0] == 1) inner.row = tg_index(e->p->t, 0);
    if (v->type->kind == IR_T_VIEW) evaluate_view(&inner, v, g->block->args[a]->type->dtype, g->args[a]);
    else evaluate(&inner, v, g->args[a]);
  }
  for (int i = 0; i < e->w; i++) {
    memset(memo, 0, sizeof memo);
    out[i] = region_value(e, g, y, i, memo);
  }
}

static void evaluate_map(const evaluation *e, const ir_op *map, int result, ir_value **out) {
  const ir_block *block = map->regions[0];
  const int64_t *dims = map->results[0]->type->dims;
  elements g = {.block = block, .dims = {dims[0], dims[1]}};
  evaluate_region(e, &g, map->operands, 0, block->last->operands[result], out);
}

/* What the contraction's epilogue yields. */
static void evaluate_epilogue(const evaluation *e, const ir_value *y, ir_value **out) {
  const simt_matmul *mm = e->p->mm;
  elements g = {.block = mm->epilogue, .dims = {mm->bm, mm->bn}};
  evaluate_region(e, &g, mm->others, 1, y, out);
}

static void evaluate(const evaluation *e, const ir_value *v, ir_value **out) {
  tgb *t = e->p->t;
  const ir_op *op = v->def;
  ir_value *x = NULL;
  const simt_matmul *mm = e->p->mm;
  if (op && op == mm->contract) {
    if (mm->epilogue) return evaluate_epilogue(e, mm->epilogue->last->operands[mm->n_outputs + v->index], out);
    for (int i = 0; i < e->w; i++) out[i] = e->acc[i];
    return;
  }
  switch (op->def->code) {
  case T_LOAD: evaluate_view(e, op->operands[0], v->type->dtype, out); return;
  case T_MAP: evaluate_map(e, op, v->index, out); return;
  case T_FILL: x = tg_constant(t, v->type->dtype, op); break;
  case T_SPLAT:
    if (is_op(op->operands[0]->def, T_CONST)) x = tg_constant(t, v->type->dtype, op->operands[0]->def);
    break;
  default: break;
  }
  if (!x) ir_lacks(t->m, op->def->name, "is no part of an epilogue"), t->b.failed = true;
  for (int i = 0; i < e->w; i++) out[i] = x;
}

static const ir_type *store_view(const simt_matmul *mm, int s) {
  return mm->stores[s].window->operands[0]->type;
}

void simt_epilogue(const simt_place *p, int s, ir_value *row, ir_value *col, int w, ir_value *const *acc,
                   ir_value **out) {
  evaluation e = {p, row, col, w, acc};
  tsr_dtype to = store_view(p->mm, s)->dtype;
  const ir_value *v = p->mm->stores[s].value;
  if (v->type->kind == IR_T_SCALAR) evaluate_epilogue(&e, v, out);
  else evaluate(&e, v, out);
  for (int i = 0; i < w; i++) out[i] = tg_cast(p->t, out[i], to);
}

ir_value *simt_store_target(const simt_place *p, int s) {
  return arg_value(p, simt_argument_of(p->mm->stores[s].window->operands[0]));
}

/* Address (element index into the store's argument) of (row, col), and whether it lies inside (NULL = always). */
static ir_value *simt_store_address(const simt_place *p, int s, ir_value *row, ir_value *col, ir_value **inside) {
  const ir_op *window = p->mm->stores[s].window;
  const ir_type *view = store_view(p->mm, s);
  int kept[2];
  ir_value *ok[2] = {NULL, NULL};
  kept_dims(window, kept);
  if (view->dims[kept[0]] % p->mm->bm)
    ok[0] = tg_compare(p->t, "lt", tg_add(p->t, simt_place_offset(p, window, kept[0]), row),
                       tg_index(p->t, view->dims[kept[0]]));
  if (view->dims[kept[1]] % p->mm->bn)
    ok[1] = tg_compare(p->t, "lt", tg_add(p->t, simt_place_offset(p, window, kept[1]), col),
                       tg_index(p->t, view->dims[kept[1]]));
  *inside = ok[0] && ok[1] ? tg_value(p->t, "tessera.target.and", ok[0]->type, TG_V(ok[0], ok[1]))
            : ok[0]        ? ok[0]
                           : ok[1];
  return address(p, window, row, col, 1, false);
}

/* Neighbours along a row that one access may cover: 1, 2 or 4 elements. */
static int simt_store_width(const simt_matmul *mm, int s) {
  simt_place p = {.mm = mm};
  const ir_op *window = mm->stores[s].window;
  return vector_ok(&p, window, 4) ? 4 : vector_ok(&p, window, 2) ? 2 : 1;
}

void simt_store_direct(const simt_place *p, int s, ir_value *row, ir_value *col, int w, ir_value *const *acc) {
  ir_value *out[8], *inside = NULL, *at;
  int step = simt_store_width(p->mm, s);
  if (step > w) step = w;
  for (int i = 0; i < w; i += step) {
    ir_value *c = tg_addi(p->t, col, i);
    at = simt_store_address(p, s, row, c, &inside);
    ir_op *guard = inside ? tg_if(p->t, inside) : NULL;
    simt_epilogue(p, s, row, c, step, acc + i, out);
    tg_store(p->t, tg_vector(p->t, step, out), simt_store_target(p, s), at);
    if (inside) tg_close(p->t, guard);
  }
}
