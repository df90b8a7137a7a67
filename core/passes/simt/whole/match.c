/* core/passes/simt/whole/match.c - see simt/whole/match.h. */
#include "core/passes/simt/whole/match.h"

#include <string.h>

#include "core/base/dtype.h"
#include "core/base/int_math.h"
#include "core/passes/simt/state.h"

static bool is_op(const ir_op *op, int code) { return op && op->def->level == IR_TILE && op->def->code == code; }

bool simt_known_index(const ir_value *v, int64_t *out) {
  if (!v->def || !is_op(v->def, T_CONST) || v->type->kind != IR_T_INDEX) return false;
  *out = ir_get_int(v->def, "value", 0);
  return true;
}

/* The range of a part of a split contraction: from = anything, to = min(from + a constant depth, a constant). */
static bool match_part(const ir_value *from, const ir_value *to, int64_t *depth, int64_t *k) {
  if (!to->def || to->def->def->code != SC_MIN || !simt_known_index(to->def->operands[1], k)) return false;
  const ir_value *end = to->def->operands[0];
  return end->def && end->def->def->code == SC_ADD && end->def->operands[0] == from &&
         simt_known_index(end->def->operands[1], depth);
}

ir_value *simt_argument_of(ir_value *v) {
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
  *arg = simt_argument_of(v->def->operands[0]);
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

enum { MAX_DEPTH = 12 }; /* of an index expression */

static const char *check_region(const ir_block *region) {
  int n_ops = 0;
  for (const ir_op *x = region->first; x; x = x->next, n_ops++)
    if (!ir_is_scalar(x) && x->def->code != T_INDEX && x->def->code != T_CONST && x->def->code != T_YIELD)
      return "the epilogue's map is not elementwise";
  return region->n_args > SIMT_EPILOGUE_ARGS ? "the epilogue's map takes too many tiles"
         : n_ops > SIMT_EPILOGUE_OPS         ? "the epilogue's map is too long"
                                   : NULL;
}

static const char *check_read(ir_value *v) {
  const ir_op *w;
  ir_value *arg;
  const ir_type *view;
  int kept[2];
  return match_window(v, &w, &arg, &view, kept) ? NULL : "the epilogue reads something else than windows";
}

/* value goes to the memory that v shows, if that is a tile of the product's shape. */
static const char *add_store(simt_matmul *mm, ir_value *v, const ir_value *value) {
  const ir_op *w;
  ir_value *arg;
  const ir_type *view;
  int kept[2];
  if (!match_window(v, &w, &arg, &view, kept)) return "the epilogue stores to something else than windows";
  if (v->type->dims[0] != mm->bm || v->type->dims[1] != mm->bn || kept[1] != view->rank - 1)
    return "the epilogue stores another shape";
  if (mm->n_stores == (int)(sizeof mm->stores / sizeof *mm->stores)) return "too many results";
  mm->stores[mm->n_stores++] = (simt_stored){value, w};
  return NULL;
}

/* The epilogue of the op itself. */
static const char *check_contract(const tile_contract *c, simt_matmul *mm) {
  const char *why = c->epilogue ? check_region(c->epilogue) : NULL;
  for (int role = CONTRACT_OTHER; role < CONTRACT_N_ROLES && !why; role++)
    for (int i = 0; i < c->n[role] && !why; i++) {
      ir_value *v = c->v[role][i];
      if (tile_contract_swapped(c, (contract_role)role, i)) why = "the epilogue is not elementwise";
      else if (role == CONTRACT_OUT) why = add_store(mm, v, c->epilogue->last->operands[i]);
      else if (v->type->kind == IR_T_VIEW) why = check_read(v);
    }
  return why;
}

/* Every op before and behind the contraction must be one that simt_epilogue knows, on tiles of the sum's shape. */
static const char *check_ops(simt_matmul *mm, const ir_op *op) {
  const char *why = NULL;
  for (; op && !why; op = op->next) {
    if (ir_is_scalar(op) || op == mm->contract || op == mm->tiles) continue;
    switch (op->def->code) {
    case T_BLOCK_ID: case T_CONST: case T_VIEW: case T_WINDOW: case T_ALLOC: case T_FILL: case T_RETURN: case T_YIELD:
      break;
    case T_MAP: why = check_region(op->regions[0]); break;
    case T_SPLAT:
      if (!op->operands[0]->def || !is_op(op->operands[0]->def, T_CONST)) why = "the epilogue spreads what it computes";
      break;
    case T_LOAD: why = check_read(op->operands[0]); break;
    case T_STORE: {
      const ir_type *f = op->operands[0]->type;
      why = f->dims[0] != mm->bm || f->dims[1] != mm->bn ? "the epilogue stores another shape"
                                                          : add_store(mm, op->operands[1], op->operands[0]);
      break;
    }
    default: why = "the epilogue is not elementwise";
    }
  }
  return why;
}

static const char *check_epilogue(const tile_contract *c, simt_matmul *mm) {
  const char *why = check_contract(c, mm);
  if (!why && mm->tiles) why = check_ops(mm, mm->tiles->parent->first);
  if (!why) why = check_ops(mm, c->op->parent->first);
  return why || mm->n_stores ? why : "nothing is stored";
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
static bool find_contraction(const ir_op *kernel, tile_contract *c, const ir_op **tiles, const char **why) {
  const ir_op *at = only_one(kernel->regions[0]);
  int64_t step;
  if (at && is_op(at, T_FOR) && !at->n_results) {
    *tiles = at;
    if (!tile_const_index(at->operands[2], &step) || step != 1 || !(at = only_one(at->regions[0]))) return false;
    for (const ir_op *op = (*tiles)->next; op; op = op->next)
      if (!is_op(op, T_RETURN)) return false;
  }
  *why = at ? ir_get_str(at, "refused", *why) : *why;
  if (!at || is_op(at, T_FOR)) return at && tile_contract_of_loop(at, c);
  tsr_status st = tile_contract_get(at, c);
  tsr_status_free(st);
  return !st;
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
  if (simt_known_index(v, hi)) return *hi < 0 || *hi > INT32_MAX;
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
  if (!find_contraction(kernel, &c, &mm.tiles, why)) return false;
  if (kernel->regions[0]->n_args > WHOLE_MOST_ARGS) {
    *why = "too many arguments";
    return false;
  }
  if (ir_policy(c.attrs) == TSR_POLICY_KAHAN_SUM) {
    *why = "compensated sums need the scalar path";
    return false;
  }
  if (!match_side(&c, CONTRACT_A, &mm.a) || !match_side(&c, CONTRACT_B, &mm.b) ||
      (mm.a.window == mm.b.window && mm.a.k_dim != mm.b.k_dim)) {
    *why = "operands are not plain windows with unit stride";
    return false;
  }
  if (!match_range(&c, &mm)) return false;
  mm.contract = c.op, mm.epilogue = c.epilogue, mm.others = c.v[CONTRACT_OTHER], mm.n_outputs = c.n[CONTRACT_OUT];
  mm.counter = c.counter;
  mm.c = c.sum;
  mm.bm = c.m, mm.bn = c.n_, mm.bk = c.k;
  mm.m = mm.a.view->dims[mm.a.transposed ? mm.a.col : mm.a.row];
  mm.n = mm.b.view->dims[mm.b.transposed ? mm.b.row : mm.b.col];
  mm.stages = (int)ir_get_int(c.op, "stages", 0);
  ir_get_ints(kernel, "grid", mm.grid, 3);
  if (!mm.grid[0] || !mm.grid[1] || !mm.grid[2]) { /* blocks find their tiles by dividing by extents */
    *why = "the grid has no blocks";
    return false;
  }
  if (reaches_far(&mm)) {
    *why = "indices may be negative or leave 32 bits";
    return false;
  }
  *why = check_epilogue(&c, &mm);
  *out = mm;
  return !*why;
}
