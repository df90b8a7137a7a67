/* core/passes/simt/whole/match.c - see simt/whole/match.h. */
#include "core/passes/simt/whole/match.h"

#include <string.h>

#include "core/base/dtype.h"
#include "core/base/int_math.h"
#include "core/passes/simt/state.h"

/* ---- matching -------------------------------------------------------------------------------------------------- */

static bool is_op(const ir_op *op, int code) { return op && op->def->level == IR_TILE && op->def->code == code; }

static bool known(const ir_value *v, int64_t *out) {
  if (!v->def || !is_op(v->def, T_CONST) || v->type->kind != IR_T_INDEX) return false;
  *out = ir_get_int(v->def, "value", 0);
  return true;
}

/* The range of a part of a split contraction: from = anything, to = min(from + a constant depth, a constant). */
static bool match_part(const ir_value *from, const ir_value *to, int64_t *depth, int64_t *k) {
  if (!to->def || to->def->def->code != SC_MIN || !known(to->def->operands[1], k)) return false;
  const ir_value *end = to->def->operands[0];
  return end->def && end->def->def->code == SC_ADD && end->def->operands[0] == from &&
         known(end->def->operands[1], depth);
}

/* The argument under a chain of views that keep the origin. */
static ir_value *argument_of(ir_value *v) {
  while (v->def && is_op(v->def, T_VIEW) && v->type->offset == 0) v = v->def->operands[0];
  return v->def || v->type->kind != IR_T_VIEW || v->type->offset ? NULL : v;
}

static bool match_window(ir_value *v, const ir_op **window, ir_value **arg, const ir_type **view, int kept[2]) {
  int64_t sizes[TSR_MAX_RANK];
  int n = 0;
  if (!v->def || !is_op(v->def, T_WINDOW)) return false;
  int rank = ir_get_ints(v->def, "sizes", sizes, TSR_MAX_RANK);
  for (int d = 0; d < rank; d++) {
    if (!sizes[d]) continue;
    if (n == 2) return false;
    kept[n++] = d;
  }
  *window = v->def;
  *view = v->def->operands[0]->type;
  *arg = argument_of(v->def->operands[0]);
  return n == 2 && *arg;
}

/* The side's window, whose rows are contiguous. */
static bool match_side(const tile_contract *c, contract_role side, simt_side *s) {
  int kept[2];
  int64_t strides[TSR_MAX_RANK];
  if (!tile_contract_is_plain(c, side) || !match_window(c->v[side][0], &s->window, &s->arg, &s->view, kept))
    return false;
  ir_type_strides(s->view, strides);
  s->row = kept[0];
  s->col = kept[1];
  s->k_dim = tile_contract_k_offset(c, side, 0);
  s->transposed = tile_contract_swapped(c, side, 0);
  s->dtype = s->view->dtype;
  return kept[1] == s->view->rank - 1 && strides[s->col] == 1;
}

enum { MAX_ARGS = 16, MAX_OPS = 128 }; /* of an epilogue's map */
enum { MAX_DEPTH = 12 };               /* of an index expression */

/* Every op of the epilogue must be one that simt_epilogue knows, on tiles of the accumulator's shape. */
static const char *check_epilogue(const simt_matmul *mm, const ir_op *op, simt_matmul *out) {
  for (; op; op = op->next) {
    if (ir_is_scalar(op)) continue;
    int n_ops = 0;
    switch (op->def->code) {
      case T_BLOCK_ID:
      case T_CONST:
      case T_VIEW:
      case T_WINDOW:
      case T_FILL:
      case T_RETURN:
      case T_YIELD: break;
      case T_MAP:
        if (op->n_operands > MAX_ARGS) return "the epilogue's map takes too many tiles";
        for (const ir_op *x = op->regions[0]->first; x; x = x->next, n_ops++)
          if (!ir_is_scalar(x) && x->def->code != T_INDEX && x->def->code != T_CONST && x->def->code != T_YIELD)
            return "the epilogue's map is not elementwise";
        if (n_ops > MAX_OPS) return "the epilogue's map is too long";
        break;
      case T_SPLAT:
        if (!op->operands[0]->def || !is_op(op->operands[0]->def, T_CONST))
          return "the epilogue spreads what it computes";
        break;
      case T_LOAD: {
        const ir_op *w;
        ir_value *arg;
        const ir_type *view;
        int kept[2];
        if (!match_window(op->operands[0], &w, &arg, &view, kept))
          return "the epilogue reads something else than windows";
        break;
    }
    case T_STORE: {
      const ir_op *w;
      ir_value *arg;
      const ir_type *view;
      int kept[2];
      if (!match_window(op->operands[1], &w, &arg, &view, kept))
        return "the epilogue stores to something else than windows";
      const ir_type *f = op->operands[0]->type;
      if (f->dims[0] != mm->bm || f->dims[1] != mm->bn || kept[1] != view->rank - 1)
        return "the epilogue stores another shape";
      if (out->n_stores == 4) return "too many results";
      out->stores[out->n_stores++] = op;
      break;
    }
    default: return "the epilogue is not elementwise";
    }
  }
  return out->n_stores ? NULL : "nothing is stored";
}

/* What may stand before the contraction: it writes nothing. */
static bool is_quiet(const ir_op *op) {
  switch (op->def->code) {
  case T_BLOCK_ID: case T_CONST: case T_VIEW: case T_WINDOW: case T_ALLOC: case T_FILL: case T_SPLAT: case T_LOAD:
  case T_MAP: return true;
  default: return ir_is_scalar(op);
  }
}

/* The one loop or contraction of a block, NULL where another stands in it or something is written before. */
static const ir_op *only_one(const ir_block *b) {
  const ir_op *found = NULL;
  for (const ir_op *op = b->first; op; op = op->next) {
    const bool candidate = is_op(op, T_FOR) || is_op(op, T_CONTRACT);
    if (candidate ? found != NULL : !found && !is_quiet(op)) return NULL;
    if (candidate) found = op;
  }
  return found;
}

/* The kernel's contraction, alone in it or in a loop over tiles. */
static bool find_contraction(const ir_op *kernel, tile_contract *c, const ir_op **tiles) {
  const ir_op *at = only_one(kernel->regions[0]);
  int64_t step;
  if (at && is_op(at, T_FOR) && !at->n_results) {
    *tiles = at;
    if (!tile_const_index(at->operands[2], &step) || step != 1 || !(at = only_one(at->regions[0]))) return false;
    for (const ir_op *op = (*tiles)->next; op; op = op->next)
      if (!is_op(op, T_RETURN)) return false;
  }
  if (!at || is_op(at, T_FOR)) return at && tile_contract_of_loop(at, c);
  tsr_status st = tile_contract_get(at, c);
  const bool found = !st && tile_contract_gives_sum(c);
  tsr_status_free(st);
  return found;
}

/* Which part of k, and whether the operands have it. */
static bool match_range(const tile_contract *c, simt_matmul *mm) {
  int64_t from, to = 0, depth = 0, ka = mm->a.view->dims[mm->a.k_dim], kb = mm->b.view->dims[mm->b.k_dim];
  bool whole = tile_const_index(c->from, &from) && !from && tile_const_index(c->to, &to);
  if (!whole && !mm->tiles && (!match_part(c->from, c->to, &depth, &to) || depth % c->k)) return false;
  if (mm->tiles) to = ka;
  mm->k = whole || mm->tiles ? to : depth;
  mm->first_k = whole ? NULL : c->from;
  mm->last_k = mm->tiles ? c->to : NULL;
  for (int side = 0; side < 2 && !c->counter; side++)
    if (tile_contract_repeats(c, (contract_role)side, 0) && to > c->k) return false;
  /* k beyond the operands' own extent reads zeros; both must agree on it for a full sum. */
  return whole ? ka >= to || kb >= to : ka == to && kb == to; /* the last part may run beyond, into zeros */
}

/* Is v certain to leave 0 .. INT32_MAX for some block? *hi: how far it goes, where that is known (a difference's isn't:
 * from 0 on, as the schedules' are). These kernels compute with 32-bit indices and ask only whether a tile ends within
 * its view. */
static bool leaves(const simt_matmul *mm, const ir_value *v, int depth, int64_t *hi) {
  int64_t a, b;
  const ir_op *op = v->def;
  *hi = 0;
  if (depth > MAX_DEPTH || (!op && v->index)) return false;
  if (known(v, hi)) return *hi < 0 || *hi > INT32_MAX;
  if (!op) { /* a loop's counter */
    const ir_op *loop = v->owner->parent;
    return is_op(loop, T_FOR) &&
           (leaves(mm, loop->operands[0], depth + 1, &a) || leaves(mm, loop->operands[1], depth + 1, hi));
  }
  if (is_op(op, T_BLOCK_ID)) {
    *hi = mm->grid[ir_get_int(op, "axis", 0)] - 1;
    return false;
  }
  if (!ir_is_scalar(op) || op->n_operands != 2) return false;
  if (leaves(mm, op->operands[0], depth + 1, &a) || leaves(mm, op->operands[1], depth + 1, &b)) return true;
  switch (op->def->code) {
  case SC_ADD: *hi = a + b; break;
  case SC_MUL: *hi = a * b; break;
  case SC_MIN: *hi = min64(a, b); break;
  case SC_MAX: *hi = max64(a, b); break;
  case SC_REM: case SC_DIV: *hi = a; break;
  default: break;
  }
  return *hi > INT32_MAX;
}

typedef struct far { const simt_matmul *mm; bool found; } far;

static tsr_status find_far(ir_op *op, void *user) {
  far *f = user;
  int64_t hi;
  for (int i = 1; is_op(op, T_WINDOW) && i < op->n_operands; i++) f->found |= leaves(f->mm, op->operands[i], 0, &hi);
  return NULL;
}

/* Some window begins before its view or beyond 32 bits, or a view needs wider indices. */
static bool reaches_far(const simt_matmul *mm) {
  far f = {mm, false};
  const ir_block *r = mm->kernel->regions[0];
  for (int i = 0; i < r->n_args; i++)
    if (simt_view_is_wide(r->args[i]->type)) return true;
  tsr_status_free(ir_walk((ir_op *)mm->kernel, find_far, &f));
  return f.found;
}

bool simt_matmul_match(const ir_op *kernel, simt_matmul *out, const char **why) {
  simt_matmul mm = {.kernel = kernel};
  tile_contract c;
  *why = "not a matmul kernel";
  if (!find_contraction(kernel, &c, &mm.tiles)) return false;
  if (!strcmp(ir_get_str(c.attrs, "policy", "fast"), "kahan_sum")) {
    *why = "compensated sums need the scalar path";
    return false;
  }
  if (!match_side(&c, CONTRACT_A, &mm.a) || !match_side(&c, CONTRACT_B, &mm.b) ||
      (mm.a.window == mm.b.window && mm.a.k_dim != mm.b.k_dim)) {
    *why = "operands are not plain windows with unit stride";
    return false;
  }
  if (!match_range(&c, &mm)) return false;
  mm.sum = c.result;
  mm.counter = c.counter;
  mm.c = c.sum;
  mm.bm = c.m, mm.bn = c.n_, mm.bk = c.k;
  mm.m = mm.a.view->dims[mm.a.transposed ? mm.a.col : mm.a.row];
  mm.n = mm.b.view->dims[mm.b.transposed ? mm.b.row : mm.b.col];
  mm.stages = (int)ir_get_int(c.op, "stages", 0);
  ir_get_ints(kernel, "grid", mm.grid, 3);
  if (reaches_far(&mm)) {
    *why = "indices may be negative or leave 32 bits";
    return false;
  }
  *out = mm;
  *why = check_epilogue(&mm, c.op->next, out);
  return !*why;
}

/* ---- index expressions ----------------------------------------------------------------------------------------- */

ir_value *simt_place_index(const simt_place *p, const ir_value *v) {
  int64_t c;
  if (!v->def) return p->mm->tiles && v == p->mm->tiles->regions[0]->args[0] ? p->tile : NULL;
  if (known(v, &c)) return tg_index(p->t, c);
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
  char name[64];
  const char *last = strrchr(v->def->def->name, '.');
  strcpy(name, "tessera.target");
  strncat(name, last, sizeof name - strlen(name) - 1);
  if (v->def->def->code == SC_COMPARE) return tg_compare(p->t, ir_get_str(v->def, "predicate", "eq"), x[0], x[1]);
  return tg_value(p->t, name,
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

static void evaluate_load(const evaluation *e, const ir_op *load, ir_value **out) {
  const simt_place *p = e->p;
  const ir_op *window = load->operands[0]->def;
  const ir_type *f = load->results[0]->type;
  int64_t strides[TSR_MAX_RANK];
  int kept[2];
  ir_type_strides(window->operands[0]->type, strides);
  kept_dims(window, kept);
  ir_value *arg = arg_value(p, argument_of(window->operands[0])), *zero = tg_index(p->t, 0);
  ir_value *row = f->dims[0] == 1 ? zero : e->row, *col = f->dims[1] == 1 ? zero : e->col;
  bool one = f->dims[1] == 1 || strides[kept[1]] == 0;
  if (one || !vector_ok(p, window, e->w)) {
    for (int i = 0; i < e->w; i++) {
      if (one && i) out[i] = out[0];
      else
        out[i] = tg_cast(
            p->t, tg_load(p->t, arg, address(p, window, row, one ? col : tg_addi(p->t, col, i), 1, true), 1), f->dtype);
    }
    return;
  }
  ir_value *v = tg_load(p->t, arg, address(p, window, row, col, e->w, true), e->w);
  for (int i = 0; i < e->w; i++) out[i] = tg_cast(p->t, tg_extract(p->t, v, i), f->dtype);
}

/* A scalar of a map's region for element i; region arguments come from args. */
static ir_value *region_value(const evaluation *e, const ir_op *map, const ir_value *v, int i, ir_value *const *args,
                              ir_value **memo) {
  const simt_place *p = e->p;
  tgb *t = p->t;
  if (!v->def) return v->owner && v->owner->parent == map ? args[v->index] : NULL;
  const ir_op *op = v->def;
  if (op->parent != map->regions[0]) { /* an outer scalar */
    int64_t c;
    if (known(v, &c) || v->type->kind == IR_T_INDEX) return simt_place_index(p, v);
    if (is_op(op, T_CONST))
      return tg_number(t, v->type->dtype, ir_get_float(op, "value", (double)ir_get_int(op, "value", 0)));
  }
  if (memo[op->scratch]) return memo[op->scratch];
  ir_value *r = NULL, *x[3] = {NULL, NULL, NULL};
  if (is_op(op, T_CONST)) {
    const ir_attr *a = ir_get_attr(op, "value");
    double f = a->kind == IR_A_INT ? (double)a->u.i : a->u.f;
    r = v->type->kind == IR_T_INDEX ? tg_index(t, (int64_t)f) : tg_number(t, v->type->dtype, f);
  } else if (is_op(op, T_INDEX)) {
    const ir_type *f = map->results[0]->type;
    int64_t d = ir_get_int(op, "dim", 0);
    r = f->dims[d] == 1 ? tg_index(t, 0) : d ? tg_addi(t, e->col, i) : e->row;
  } else {
    char name[64] = "tessera.target";
    strncat(name, strrchr(op->def->name, '.'), sizeof name - strlen(name) - 1);
    for (int k = 0; k < op->n_operands && k < 3; k++) x[k] = region_value(e, map, op->operands[k], i, args, memo);
    r = tg_value(t, name, v->type->kind == IR_T_INDEX ? ir_type_index(t->m) : tg_scalar_type(t, v->type->dtype),
                 op->n_operands, x);
    if (r && op->def->code == SC_COMPARE) tg_text(t, r->def, "predicate", ir_get_str(op, "predicate", "eq"));
  }
  memo[op->scratch] = r;
  return r;
}

static void evaluate_map(const evaluation *e, const ir_op *map, int result, ir_value **out) {
  ir_value *args[MAX_ARGS][8], *one[MAX_ARGS], *memo[MAX_OPS];
  int n_ops = 0;
  const int n = map->n_operands;
  for (ir_op *op = map->regions[0]->first; op; op = op->next) op->scratch = n_ops++;
  for (int a = 0; a < n; a++) {
    const ir_type *f = map->operands[a]->type;
    evaluation inner = *e;
    if (f->dims[0] == 1) inner.row = tg_index(e->p->t, 0);
    evaluate(&inner, map->operands[a], args[a]);
  }
  for (int i = 0; i < e->w; i++) {
    memset(memo, 0, sizeof memo);
    for (int a = 0; a < n; a++) one[a] = args[a][i];
    out[i] = region_value(e, map, map->regions[0]->last->operands[result], i, one, memo);
  }
}

static void evaluate(const evaluation *e, const ir_value *v, ir_value **out) {
  tgb *t = e->p->t;
  const ir_op *op = v->def;
  ir_value *x = NULL;
  if (v == e->p->mm->sum) {
    for (int i = 0; i < e->w; i++) out[i] = e->acc[i];
    return;
  }
  switch (op->def->code) {
  case T_LOAD: evaluate_load(e, op, out); return;
  case T_MAP: evaluate_map(e, op, v->index, out); return;
  case T_FILL: x = tg_number(t, v->type->dtype, ir_get_float(op, "value", 0)); break;
  case T_SPLAT: {
    const ir_op *s = op->operands[0]->def;
    x = s && is_op(s, T_CONST)
            ? tg_number(t, v->type->dtype, ir_get_float(s, "value", (double)ir_get_int(s, "value", 0)))
            : NULL;
    break;
  }
  default: break;
  }
  if (!x) ir_lacks(t->m, op->def->name, "is no part of an epilogue"), t->b.failed = true;
  for (int i = 0; i < e->w; i++) out[i] = x;
}

static const ir_type *store_view(const simt_matmul *mm, int s) {
  return mm->stores[s]->operands[1]->def->operands[0]->type;
}

void simt_epilogue(const simt_place *p, int s, ir_value *row, ir_value *col, int w, ir_value *const *acc,
                   ir_value **out) {
  evaluation e = {p, row, col, w, acc};
  tsr_dtype to = store_view(p->mm, s)->dtype;
  evaluate(&e, p->mm->stores[s]->operands[0], out);
  for (int i = 0; i < w; i++) out[i] = tg_cast(p->t, out[i], to);
}

ir_value *simt_store_target(const simt_place *p, int s) {
  return arg_value(p, argument_of(p->mm->stores[s]->operands[1]->def->operands[0]));
}

ir_value *simt_store_address(const simt_place *p, int s, ir_value *row, ir_value *col, ir_value **inside) {
  const ir_op *window = p->mm->stores[s]->operands[1]->def;
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

int simt_store_width(const simt_matmul *mm, int s) {
  simt_place p = {.mm = mm};
  const ir_op *window = mm->stores[s]->operands[1]->def;
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
