/* core/passes/graph/horizontal.c - see horizontal.h. A value's data field is the list of its uses. What is joined is
 * written before the first of the products: all else that it reads are constants. */
#include "core/passes/graph/horizontal.h"

#include <string.h>

#include "core/base/dtype.h"
#include "core/ir/attrs.h"
#include "core/passes/graph/moves.h"
#include "core/passes/graph/rules.h"
#include "core/passes/graph/views.h"

enum { MOST_JOINED = 16 };

typedef struct use {
  ir_op *op;
  struct use *next;
} use;

typedef struct join {
  ir_op *products[MOST_JOINED];
  ir_value *last[MOST_JOINED]; /* what elementwise ops that all have make of them */
  int64_t columns[MOST_JOINED];
  int n;
} join;

static use *uses_of(const ir_value *v) { return v->data; }

/* The uses' memory is the caller's to free: *n of them. */
static use *note_uses(ir_op *func, size_t *n) {
  *n = 1;
  for (const ir_op *o = func->regions[0]->first; o; o = o->next) *n += (size_t)o->n_operands;
  use *all = al_alloc(&func->module->arena.al, *n * sizeof *all, 16), *u = all;
  if (!all) return NULL;
  ir_clear_data(func);
  for (ir_op *o = func->regions[0]->last; o; o = o->prev) {
    o->scratch = 0;
    for (int i = o->n_operands - 1; i >= 0; i--, u++) {
      *u = (use){o, o->operands[i]->data};
      o->operands[i]->data = u;
    }
  }
  return all;
}

/* ---- which products ---------------------------------------------------------------------------------------------- */

static bool is_product(const ir_op *op) { return graph_is_kind(op, GRAPH_CONTRACTION) || graph_is(op, G_BLOCK_MATMUL); }

/* The dimension of the matrix that the result's columns are. */
static int column_axis(const ir_op *product) {
  return graph_is(product, G_BLOCK_MATMUL) || graph_is_transposed(product, 1) ? 0 : 1;
}

static bool same_kind(const ir_op *a, const ir_op *b) {
  return a->def == b->def && a->n_operands == b->n_operands && ir_attrs_same(a, b);
}

/* The cast between a matrix as it is kept and its product, which its kernel makes; or NULL. */
static const ir_op *cast_of(const ir_op *product) {
  const ir_op *c = product->operands[1]->def;
  return graph_is(c, G_CAST) ? c : NULL;
}

static ir_value *matrix_of(const ir_op *product) {
  const ir_op *c = cast_of(product);
  return c ? c->operands[0] : product->operands[1];
}

static bool is_sibling(const ir_op *a, const ir_op *b) {
  const ir_type *x = matrix_of(a)->type, *y = matrix_of(b)->type;
  const ir_op *c = cast_of(a), *d = cast_of(b);
  const int other = 1 - column_axis(a);
  return same_kind(a, b) && !c == !d && (!c || same_kind(c, d)) && a->operands[0] == b->operands[0] && x->rank == 2 &&
         y->rank == 2 && x->dtype == y->dtype && x->dims[other] == y->dims[other] &&
         a->results[0]->type->dtype == b->results[0]->type->dtype;
}

static int64_t columns_of(const ir_value *v) { return v->type->dims[v->type->rank - 1]; }

/* Products of the first one's operand, itself included, that nothing has been said of. */
static join siblings(ir_op *first) {
  join j = {.n = 0};
  for (use *u = uses_of(first->operands[0]); u && j.n < MOST_JOINED; u = u->next) {
    if (u->op->scratch || !is_product(u->op) || !is_sibling(first, u->op)) continue;
    j.columns[j.n] = columns_of(u->op->results[0]);
    j.products[j.n++] = u->op;
    u->op->scratch = 1;
  }
  return j;
}

/* ---- elementwise ops that all have ------------------------------------------------------------------------------- */

/* The elementwise op that alone reads v and whose other operands are constants of one number for each column, or one
 * number; NULL: there is none. */
static ir_op *follower(const ir_value *v) {
  const use *u = uses_of(v);
  if (v->n_uses != 1 || !u || !(u->op->def->flags & IR_ELEMENTWISE) || u->op->n_operands > 2) return NULL;
  const ir_type *t = u->op->results[0]->type;
  if (t->rank != v->type->rank || memcmp(t->dims, v->type->dims, sizeof *t->dims * (size_t)t->rank)) return NULL;
  for (int i = 0; i < u->op->n_operands; i++) {
    const ir_value *x = u->op->operands[i];
    const int64_t n = ir_type_count(x->type);
    if (x == v) continue;
    if (!graph_is(x->def, G_CONSTANT) || dtype_packed(x->type->dtype)) return NULL;
    if (n != 1 && (n != columns_of(v) || columns_of(x) != n)) return NULL;
  }
  return u->op;
}

/* Where v stands among op's operands. */
static int place_of(const ir_op *op, const ir_value *v) {
  int i = 0;
  while (op->operands[i] != v) i++;
  return i;
}

static bool is_sum(const ir_op *op) { return graph_is(op, G_ADD) && dtype_is_float(op->results[0]->type->dtype); }

/* The same op follows all of them; a sum may be missing (NULL): one with -0 is what it was. */
static bool followers(const join *j, ir_op *next[MOST_JOINED]) {
  bool sums = false;
  for (int i = 0; i < j->n; i++) {
    next[i] = follower(j->last[i]);
    sums |= next[i] && is_sum(next[i]);
  }
  for (int i = 0; i < j->n && sums; i++)
    if (next[i] && !is_sum(next[i])) next[i] = NULL;
  for (int i = 0; i < j->n && !sums; i++)
    if (!next[i] || !same_kind(next[i], next[0]) || place_of(next[i], j->last[i]) != place_of(next[0], j->last[0]) ||
        next[i]->results[0]->type->dtype != next[0]->results[0]->type->dtype)
      return false;
  return true;
}

/* ---- constants of all -------------------------------------------------------------------------------------------- */

/* `rows` times a row of all parts, n[i] elements of part i each; a part has as many, one row, one element, or is NULL:
 * -0. The axis that is joined is the last of `t`, or, of one row, the first. */
static ir_value *joined(ir_builder *b, const ir_type *t, ir_value *const *parts, const int64_t *n, int n_parts,
                        int64_t rows) {
  const size_t size = tsr_dtype_size(t->dtype), bytes = (size_t)ir_type_bytes(t);
  unsigned char *all = al_alloc(&b->m->arena.al, bytes + 1, 64), *to = all, zero[16] = {0};
  if (!all) return b->failed = true, NULL;
  dtype_store(t->dtype, zero, 0, -0.0);
  for (int64_t r = 0; r < rows; r++)
    for (int i = 0; i < n_parts; i++) {
      const ir_attr *a = parts[i] ? ir_get_attr(parts[i]->def, "value") : NULL;
      const bool one = !a || a->u.dense.splat || a->u.dense.bytes == size;
      const unsigned char *from = a ? a->u.dense.data : zero;
      const size_t row = (size_t)n[i] * size;
      if (one)
        for (int64_t k = 0; k < n[i]; k++) memcpy(to + (size_t)k * size, from, size);
      else memcpy(to, from + (size_t)r * row, row);
      to += row;
    }
  ir_value *v = graph_elements(b, t, all);
  al_free(&b->m->arena.al, all, bytes + 1, 64);
  return v;
}

static ir_value *joined_matrix(ir_builder *b, const join *j) {
  const int axis = column_axis(j->products[0]);
  const ir_type *like = matrix_of(j->products[0])->type;
  int64_t dims[2] = {like->dims[0], like->dims[1]}, n[MOST_JOINED];
  ir_value *parts[MOST_JOINED];
  dims[axis] = 0;
  for (int i = 0; i < j->n; i++) {
    parts[i] = matrix_of(j->products[i]);
    dims[axis] += j->columns[i];
    n[i] = axis ? j->columns[i] : j->columns[i] * like->dims[1];
  }
  const ir_type *t = ir_type_tensor(b->m, like->dtype, 2, dims);
  ir_value *all = t ? joined(b, t, parts, n, j->n, axis ? dims[0] : 1) : NULL;
  const ir_op *cast = cast_of(j->products[0]);
  return all && cast ? graph_build_like(b, cast, &all) : all;
}

/* Operand k of what follows, for all columns. */
static ir_value *joined_row(ir_builder *b, const join *j, ir_op *const *next, int64_t columns) {
  ir_value *parts[MOST_JOINED];
  const ir_type *t = NULL;
  for (int i = 0; i < j->n; i++) {
    parts[i] = next[i] ? next[i]->operands[1 - place_of(next[i], j->last[i])] : NULL;
    if (parts[i]) t = parts[i]->type;
  }
  t = t ? ir_type_tensor(b->m, t->dtype, 1, &columns) : NULL;
  return t ? joined(b, t, parts, j->columns, j->n, 1) : NULL;
}

/* ---- what reads the results -------------------------------------------------------------------------------------- */

static const char *why_not_window(const ir_value *v, bool fuses);

/* NULL, or why a reader of v, columns from `first` on of a value of type `all`, would cost more than it did. fuses: the
 * product's kernel takes elementwise ops in. */
static const char *why_not_read(const ir_op *op, const ir_value *v, const ir_type *all, int64_t first, bool fuses) {
  switch (graph_kind_of(op)) {
    case GRAPH_POINTWISE: return fuses ? "elementwise ops of its own would be kernels of their own" : NULL;
    case GRAPH_MOVE:
      if (!graph_is_alias(op)) return NULL;
      if (all && !(graph_reshapes(op) && graph_reshape_keeps_slice(all, v->type, first, op->results[0]->type)))
        return "its columns would have to be copied";
      return why_not_window(op->results[0], fuses);
    case GRAPH_CONTRACTION: return v->type->rank == 2 || graph_is_transposed(op, 0) ? NULL : "a product of its rows";
    case GRAPH_REDUCTION:
    case GRAPH_NORM:
    case GRAPH_COPY:
    case GRAPH_SCATTER:
    case GRAPH_ATTENTION: return NULL;
    default: return "its columns would have to be copied";
  }
}

static const char *why_not_window(const ir_value *v, bool fuses) {
  const char *why = NULL;
  for (const use *u = uses_of(v); u && !why; u = u->next) why = why_not_read(u->op, v, NULL, 0, fuses);
  return why;
}

static const char *why_not(const join *j, int i, const ir_type *all, int64_t first) {
  const ir_op *p = j->products[i];
  const char *why = NULL;
  if (!j->last[i]->n_uses) return "nothing reads it";
  if (!graph_is(matrix_of(p)->def, G_CONSTANT)) return "its matrix is no constant: it would be copied in each run";
  if (p->operands[1]->n_uses != 1 && cast_of(p)) return "its matrix has other readers";
  if (dtype_packed(matrix_of(p)->type->dtype)) return "two elements of its matrix share a byte";
  if (ir_get_attr(p, "tile_shape")) return "a tile was asked for";
  if (ir_type_count(p->results[0]->type) < 1) return "a dimension is unknown, or 0";
  for (const use *u = uses_of(j->last[i]); u && !why; u = u->next)
    why = why_not_read(u->op, j->last[i], all, first, !graph_is(p, G_BLOCK_MATMUL));
  return why;
}

/* ---- joining ----------------------------------------------------------------------------------------------------- */

static int64_t all_columns(const join *j) {
  int64_t n = 0;
  for (int i = 0; i < j->n; i++) n += j->columns[i];
  return n;
}

static const ir_type *type_of_all(ir_module *m, const join *j) {
  const ir_type *t = j->products[0]->results[0]->type;
  int64_t dims[TSR_MAX_RANK];
  memcpy(dims, t->dims, sizeof dims);
  dims[t->rank - 1] = all_columns(j);
  return ir_type_tensor(m, t->dtype, t->rank, dims);
}

/* Steps to what follows all of them; false: nothing does. */
static bool step(join *j, ir_op *next[MOST_JOINED]) {
  if (!followers(j, next)) return false;
  for (int i = 0; i < j->n; i++)
    if (next[i]) j->last[i] = next[i]->results[0];
  return true;
}

static void to_last(join *j) {
  ir_op *next[MOST_JOINED];
  for (int i = 0; i < j->n; i++) j->last[i] = j->products[i]->results[0];
  while (step(j, next)) continue;
}

/* Leaves out those that would lose; what is left may be one, or none. */
static bool keep_winners(ir_op *func, join *j, const pass_options *o, bool refusals) {
  for (bool again = true; again && j->n > 1;) {
    again = false;
    to_last(j);
    const ir_type *all = type_of_all(func->module, j);
    if (!all) return false;
    int64_t first = 0;
    for (int i = 0; i < j->n && !again; first += j->columns[i++]) {
      const char *why = why_not(j, i, all, first);
      if (!why) continue;
      if (refusals) trace_add(o->trace, "simplify", "horizontal", j->products[i], false, "%s", why);
      j->n--;
      for (int k = i; k < j->n; k++) j->products[k] = j->products[k + 1], j->columns[k] = j->columns[k + 1];
      again = true;
    }
  }
  return true;
}

static ir_value *follow(ir_builder *b, const join *j, ir_op *const *next, ir_value *y) {
  const ir_op *like = NULL;
  ir_value *x[2] = {y};
  int at = 0;
  for (int i = 0; i < j->n; i++)
    if (next[i]) like = next[i], at = place_of(next[i], j->last[i]);
  if (like->n_operands == 2) {
    x[at] = y;
    x[1 - at] = joined_row(b, j, next, columns_of(y));
    if (!x[1 - at]) return NULL;
  }
  return graph_build_like(b, like, x);
}

static bool write_joined(join *j) {
  ir_op *first = j->products[0], *next[MOST_JOINED];
  ir_builder b = ir_before(first);
  b.loc = first->loc;
  ir_value *matrix = joined_matrix(&b, j);
  ir_value *y = matrix ? graph_build_like(&b, first, (ir_value *[]){first->operands[0], matrix}) : NULL;
  for (int i = 0; i < j->n; i++) j->last[i] = j->products[i]->results[0];
  while (y && followers(j, next)) {
    y = follow(&b, j, next, y);
    for (int i = 0; i < j->n; i++)
      if (next[i]) j->last[i] = next[i]->results[0];
  }
  int64_t starts[TSR_MAX_RANK] = {0};
  for (int i = 0; i < j->n && y; i++) {
    ir_value *part = graph_cut(&b, y, starts, j->last[i]->type->dims);
    if (!part) return false;
    starts[y->type->rank - 1] += j->columns[i];
    for (use *u = uses_of(j->last[i]); u; u = u->next)
      for (int k = 0; k < u->op->n_operands; k++)
        if (u->op->operands[k] == j->last[i]) ir_set_operand(u->op, k, part);
  }
  return y != NULL;
}

tsr_status graph_join_products(ir_op *func, const pass_options *o, bool refusals, bool *changed) {
  const bool on = pass_enabled(o, "rewrites", "horizontal");
  if (!on && !refusals) return NULL;
  size_t n;
  use *uses = note_uses(func, &n);
  tsr_status st = uses ? NULL : st_oom();
  for (ir_op *op = func->regions[0]->first; op && !st; op = op->next) {
    if (op->scratch || !is_product(op)) continue;
    join j = siblings(op);
    if (j.n < 2) continue;
    if (!keep_winners(func, &j, o, refusals && on)) st = st_oom();
    if (st || j.n < 2) continue;
    if (refusals) {
      trace_add(o->trace, "simplify", "horizontal", op, false, "switched off");
      continue;
    }
    trace_add(o->trace, "simplify", "horizontal", op, true, "%d products of one value", j.n);
    if (!write_joined(&j)) st = st_oom();
    *changed = true;
  }
  if (uses) ir_clear_data(func);
  al_free(&func->module->arena.al, uses, n * sizeof *uses, 16);
  return st;
}
