/* core/ir/graph/ops/compose_moe.c - composite ops of mixtures of experts: router, moe_dispatch, moe_combine,
 * grouped_matmul, recursive_mixture. A token's k choices become slots, rows of a buffer in which each expert's tokens
 * follow one another: rooms of equal size with a capacity (GShard, Lepikhin et al. 2020: all first choices come before
 * the second ones), or one after the other without (dropless; MegaBlocks, Gale et al. 2022). */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/dtype.h"
#include "core/base/int_math.h"
#include "core/ir/graph/ops/compose.h"

/* ---- router ------------------------------------------------------------------------------------------------------ */

typedef struct routing {
  int64_t k, capacity; /* 0: dropless */
  bool selected;       /* softmax over those that were chosen, else over all */
} routing;
typedef struct routed {
  ir_value *weights, *experts, *slots, *counts;
} routed;

static tsr_status routing_of(const ir_op *op, int64_t tokens, int64_t experts, routing *out) {
  const char *over = ir_get_str(op, "softmax", "selected");
  *out = (routing){ir_get_int(op, "k", 2), ir_get_int(op, "capacity", 0), !strcmp(over, "selected")};
  if (!out->selected && strcmp(over, "all")) return ir_error(op, "selected, all", "unknown softmax \"%s\"", over);
  if (out->k < 1 || (experts != IR_DYNAMIC && out->k > experts))
    return ir_error(op, "1 up to the number of experts", "k is %lld of %lld experts", (long long)out->k,
                    (long long)experts);
  if (out->capacity < 0) return ir_error(op, "0: dropless", "capacity %lld is negative", (long long)out->capacity);
  int64_t rows;
  if (tokens == IR_DYNAMIC || experts == IR_DYNAMIC) return NULL;
  if (__builtin_mul_overflow(out->capacity ? experts : tokens, out->capacity ? out->capacity : out->k, &rows) ||
      rows > INT32_MAX / 2 || tokens > INT32_MAX / 2 / out->k)
    return ir_error(op, "split it", "more than %d slots", INT32_MAX / 2);
  return NULL;
}

static int64_t n_slots(const routing *q, int64_t tokens, int64_t experts) {
  return q->capacity ? experts * q->capacity : tokens * q->k;
}

/* v [t, k] with the choices before the tokens, [1, k t, 1], and back. */
static ir_value *by_choice(ir_builder *b, ir_value *v) {
  if (!v) return NULL;
  const int64_t n = ir_type_count(v->type);
  return graph_reshape(b, graph_transpose(b, v, (int[]){1, 0}), 3, (int64_t[]){1, n, 1});
}

static ir_value *by_token(ir_builder *b, ir_value *v, int64_t tokens, int64_t k) {
  v = v ? graph_reshape(b, v, 2, (int64_t[]){k, tokens}) : NULL;
  return v ? graph_transpose(b, v, (int[]){1, 0}) : NULL;
}

/* Of groups of these sizes, one after the other, the ends, or the starts. Of few groups each sums those before it, in
 * one kernel. */
static ir_value *bounds_of(ir_builder *b, ir_value *sizes, int64_t n, bool ends) {
  enum { FEW = 64 };
  const int64_t dims[] = {n, n};
  const ir_type *square = n <= FEW ? ir_type_tensor(b->m, TSR_I32, 2, dims) : NULL;
  if (!sizes) return NULL;
  if (square) {
    ir_value *before = graph_compare(b, ends ? CMP_LE : CMP_LT, graph_iota(b, TSR_I32, square, 1),
                                     graph_iota(b, TSR_I32, square, 0));
    ir_value *each = compose_spread(b, graph_reshape(b, sizes, 2, (int64_t[]){1, n}), square);
    return compose_fold(b, G_REDUCE_SUM, SELECT(before, each, graph_number(b, TSR_I32, 0)), 1);
  }
  ir_value *v = graph_reshape(b, sizes, 3, (int64_t[]){1, n, 1});
  v = compose_prefix(b, G_REDUCE_SUM, v, TSR_I32, !ends, false);
  return v ? graph_reshape(b, v, 1, &n) : NULL;
}

/* The slot of each choice: its expert's first one and how many came there before. rows: none. */
static ir_value *slots_of(ir_builder *b, const routing *q, ir_value *experts, ir_value *open, ir_value **counts,
                          int64_t n_experts) {
  const int64_t tokens = experts ? experts->type->dims[0] : 0, n = tokens * q->k;
  const int64_t rows = n_slots(q, tokens, n_experts), dims[] = {1, n, n_experts};
  const ir_type *like = ir_type_tensor(b->m, TSR_I32, 3, dims);
  if (!experts || !open || !like) return NULL;
  ir_value *mine = compose_spread(b, by_choice(b, experts), like);
  ir_value *hit = graph_compare(b, CMP_EQ, mine, graph_iota(b, TSR_I32, like, 2));
  hit = graph_op2(b, G_AND, hit, compose_spread(b, by_choice(b, open), like));
  ir_value *zero = graph_number(b, TSR_I32, 0), *one = SELECT(hit, graph_number(b, TSR_I32, 1), zero);
  ir_value *before = compose_prefix(b, G_REDUCE_SUM, one, TSR_I32, true, false);
  ir_value *all = compose_fold(b, G_REDUCE_SUM, one, 1), *start;
  if (!before || !all) return NULL;
  if (q->capacity) {
    ir_value *room = graph_number(b, TSR_I32, (double)q->capacity);
    hit = graph_op2(b, G_AND, hit, graph_compare(b, CMP_LT, before, room));
    start = MUL(graph_iota(b, TSR_I32, like, 2), room);
    all = graph_op2(b, G_MIN, all, room);
  } else {
    start = bounds_of(b, graph_reshape(b, all, 1, &n_experts), n_experts, false);
    start = start ? compose_spread(b, graph_reshape(b, start, 3, (int64_t[]){1, 1, n_experts}), like) : NULL;
  }
  *counts = graph_reshape(b, all, 1, &n_experts);
  ir_value *none = graph_number(b, TSR_I32, (double)rows);
  ir_value *slot = compose_fold(b, G_REDUCE_SUM, SELECT(hit, SUB(ADD(start, before), none), zero), 2);
  return by_token(b, slot ? ADD(slot, none) : NULL, tokens, q->k);
}

/* Of logits [tokens, experts]. */
static bool route(ir_builder *b, const routing *q, ir_value *logits, routed *out) {
  if (!logits || b->failed) return false;
  const tsr_dtype t = compose_float(logits->type->dtype);
  const int64_t tokens = logits->type->dims[0], n = logits->type->dims[1];
  ir_value *x = graph_cast(b, logits, t);
  ir_value *at = compose_first(b, graph_reshape(b, x, 3, (int64_t[]){tokens, n, 1}), q->k, true);
  at = out->experts = at ? graph_reshape(b, at, 2, (int64_t[]){tokens, q->k}) : NULL;
  ir_value *chosen = graph_indexed_build(b, G_GATHER_ELEMENTS, 2, (ir_value *[]){x, at}, "axis", 1, false);
  ir_value *w = chosen;
  if (q->selected) w = compose_along(b, G_SOFTMAX, chosen, 1);
  else
    w = graph_indexed_build(b, G_GATHER_ELEMENTS, 2, (ir_value *[]){compose_along(b, G_SOFTMAX, x, 1), at}, "axis", 1,
                            false);
  if (!w || !chosen) return false;
  ir_value *open = graph_compare(b, CMP_NE, chosen, LIKE(chosen, -INFINITY));
  out->slots = slots_of(b, q, at, open, &out->counts, n);
  if (!out->slots) return false;
  const double rows = (double)n_slots(q, tokens, n);
  w = SELECT(graph_compare(b, CMP_LT, out->slots, graph_number(b, TSR_I32, rows)), w, LIKE(w, 0));
  out->weights = graph_cast(b, w, logits->type->dtype);
  return !b->failed;
}

static tsr_status infer_router(ir_op *op, const ir_type **results) {
  routing q;
  TSR_TRY(shape_floats(op));
  const ir_type *x = TYPE(0);
  char a[128];
  if (x->rank != 2) return ir_error(op, "[tokens, experts]", "logits are %s", shape_text(x, a, sizeof a));
  TSR_TRY(routing_of(op, x->dims[0], x->dims[1], &q));
  const int64_t dims[] = {x->dims[0], q.k};
  TSR_TRY(shape_finish(op, x->dtype, 2, dims, results));
  TSR_TRY(shape_finish(op, TSR_I32, 2, dims, results + 1));
  TSR_TRY(shape_finish(op, TSR_I32, 2, dims, results + 2));
  return shape_finish(op, TSR_I32, 1, &x->dims[1], results + 3);
}

EXPAND(expand_router) {
  routing q;
  routed r = {0};
  tsr_status_free(routing_of(op, TYPE(0)->dims[0], TYPE(0)->dims[1], &q));
  if (!ir_type_count(TYPE(0))) {
    for (int i = 0; i < 4; i++) out[i] = graph_fill(b, op->results[i]->type, 0);
    DONE;
  }
  if (!route(b, &q, IN(0), &r)) return false;
  out[0] = r.weights, out[1] = r.experts, out[2] = r.slots, out[3] = r.counts;
  DONE;
}

/* ---- moe_dispatch, moe_combine ----------------------------------------------------------------------------------- */

/* Rows of x at these places, [places.., width]; zeros for a place that is none. */
static ir_value *rows_at(ir_builder *b, ir_value *x, ir_value *places) {
  return graph_indexed_build(b, G_GATHER, 2, (ir_value *[]){x, places}, "axis", 0, false);
}

static ir_value *dispatch(ir_builder *b, ir_value *x, ir_value *slots, int64_t rows) {
  if (!x || !slots) return NULL;
  const int64_t tokens = x->type->dims[0], d = x->type->dims[1], k = slots->type->dims[1], n = tokens * k;
  ir_value *v = graph_reshape(b, x, 3, (int64_t[]){tokens, 1, d});
  v = graph_reshape(b, graph_broadcast(b, v, 3, (int64_t[]){tokens, k, d}), 2, (int64_t[]){n, d});
  const int64_t dims[] = {rows, d};
  ir_value *none = graph_fill(b, ir_type_tensor(b->m, x->type->dtype, 2, dims), 0);
  ir_value *at = graph_reshape(b, slots, 2, (int64_t[]){n, 1});
  return graph_indexed_build(b, G_SCATTER_ND, 3, (ir_value *[]){none, at, v}, "batch_dims", 0, false);
}

/* Products of no row count for nothing, whatever their weight. */
static ir_value *combine(ir_builder *b, ir_value *y, ir_value *slots, ir_value *weights, tsr_dtype t) {
  if (!y || !slots || !weights) return NULL;
  const tsr_dtype wide = compose_float(t);
  const int64_t tokens = slots->type->dims[0], k = slots->type->dims[1], d = y->type->dims[1];
  ir_value *v = graph_cast(b, rows_at(b, y, slots), wide);
  ir_value *w = graph_reshape(b, graph_cast(b, weights, wide), 3, (int64_t[]){tokens, k, 1});
  if (!v || !w) return NULL;
  ir_value *at = graph_reshape(b, slots, 3, (int64_t[]){tokens, k, 1});
  const tsr_dtype index = slots->type->dtype;
  ir_value *is_row = graph_compare(b, CMP_LT, at, graph_number(b, index, (double)y->type->dims[0]));
  w = compose_spread(b, SELECT(is_row, w, LIKE(w, 0)), v->type);
  v = w ? compose_fold(b, G_REDUCE_SUM, MUL(v, w), 1) : NULL;
  v = graph_cast(b, v, t);
  return v ? graph_reshape(b, v, 2, (int64_t[]){tokens, d}) : NULL;
}

static tsr_status check_slots(ir_op *op, int i, int64_t tokens) {
  const ir_type *s = TYPE(i);
  char a[128];
  if (s->dtype != TSR_I32 && s->dtype != TSR_I64)
    return ir_error(op, graph_no_cast, "slots are %s, not i32 or i64", tsr_dtype_name(s->dtype));
  if (s->rank != 2 || shape_differs(s->dims[0], tokens))
    return ir_error(op, "[tokens, choices]", "slots are %s for %lld tokens", shape_text(s, a, sizeof a),
                    (long long)tokens);
  return NULL;
}

static tsr_status infer_dispatch(ir_op *op, const ir_type **results) {
  TSR_TRY(shape_floats(op));
  const ir_type *x = TYPE(0);
  char a[128];
  const int64_t rows = ir_get_int(op, "rows", 0);
  if (x->rank != 2) return ir_error(op, "[tokens, width]", "x is %s", shape_text(x, a, sizeof a));
  TSR_TRY(check_slots(op, 1, x->dims[0]));
  if (rows < 0 || rows > INT32_MAX) return ir_error(op, NULL, "%lld rows", (long long)rows);
  return shape_finish(op, x->dtype, 2, (int64_t[]){rows, x->dims[1]}, results);
}

static bool is_empty(const ir_op *op) {
  bool empty = false;
  for (int i = 0; i < op->n_operands; i++) empty |= ir_type_count(TYPE(i)) == 0;
  return empty || ir_type_count(op->results[0]->type) == 0;
}

EXPAND(expand_dispatch) {
  out[0] = is_empty(op) ? graph_fill(b, OUT->type, 0) : dispatch(b, IN(0), IN(1), ir_get_int(op, "rows", 0));
  DONE;
}

/* A token has what its rows have. */
BEGIN(adjoint_dispatch) {
  const tsr_dtype t = TYPE(0)->dtype;
  if (is_empty(op)) {
    grads[0] = graph_fill(b, TYPE(0), 0);
    END;
  }
  g = graph_cast(b, rows_at(b, g, IN(1)), compose_float(t));
  grads[0] = graph_cast(b, compose_fold(b, G_REDUCE_SUM, g, 1), t);
  END;
}

static tsr_status infer_combine(ir_op *op, const ir_type **results) {
  TSR_TRY(shape_floats(op));
  const ir_type *y = TYPE(0), *w = TYPE(2);
  char a[128], c[128];
  if (y->rank != 2) return ir_error(op, "[rows, width]", "y is %s", shape_text(y, a, sizeof a));
  TSR_TRY(check_slots(op, 1, IR_DYNAMIC));
  if (!dtype_is_float(w->dtype)) return ir_error(op, graph_no_cast, "weights are %s", tsr_dtype_name(w->dtype));
  const ir_type *s = TYPE(1);
  if (w->rank != 2 || shape_differs(w->dims[0], s->dims[0]) || shape_differs(w->dims[1], s->dims[1]))
    return ir_error(op, "a weight for each slot", "weights are %s for slots %s", shape_text(w, a, sizeof a),
                    shape_text(s, c, sizeof c));
  if (y->dims[0] > INT32_MAX) return ir_error(op, "split it", "%lld rows", (long long)y->dims[0]);
  return shape_finish(op, y->dtype, 2, (int64_t[]){s->dims[0], y->dims[1]}, results);
}

EXPAND(expand_combine) {
  out[0] = is_empty(op) ? graph_fill(b, OUT->type, 0) : combine(b, IN(0), IN(1), IN(2), TYPE(0)->dtype);
  DONE;
}

/* ---- grouped_matmul ---------------------------------------------------------------------------------------------- */

static tsr_status infer_grouped(ir_op *op, const ir_type **results) {
  TSR_TRY(shape_floats(op));
  const ir_type *x = TYPE(0), *w = TYPE(1), *c = TYPE(2);
  char a[128], d[128];
  if (w->dtype != x->dtype)
    return ir_error(op, graph_no_cast, "operands are %s and %s", tsr_dtype_name(x->dtype), tsr_dtype_name(w->dtype));
  if (x->rank != 2 || w->rank != 3 || shape_differs(x->dims[1], w->dims[1]))
    return ir_error(op, "[rows, k] by [groups, k, n]", "%s by %s", shape_text(x, a, sizeof a),
                    shape_text(w, d, sizeof d));
  if (c->dtype != TSR_I32 && c->dtype != TSR_I64)
    return ir_error(op, graph_no_cast, "counts are %s, not i32 or i64", tsr_dtype_name(c->dtype));
  if (c->rank != 1 || shape_differs(c->dims[0], w->dims[0]))
    return ir_error(op, "how many rows each group has", "counts are %s for %lld groups", shape_text(c, a, sizeof a),
                    (long long)w->dims[0]);
  if (x->dims[0] > INT32_MAX / 4) return ir_error(op, "split it", "%lld rows", (long long)x->dims[0]);
  return shape_finish(op, x->dtype, 2, (int64_t[]){x->dims[0], w->dims[2]}, results);
}

/* For 0..n - 1 the group that it is in: how many ended before. */
static ir_value *group_of(ir_builder *b, ir_value *ends, int64_t n) {
  const int64_t groups = ends->type->dims[0], dims[] = {n, groups};
  const ir_type *like = ir_type_tensor(b->m, TSR_I32, 2, dims);
  if (!like) return NULL;
  ir_value *v = compose_spread(b, graph_reshape(b, ends, 2, (int64_t[]){1, groups}), like);
  v = graph_compare(b, CMP_LE, v, graph_iota(b, TSR_I32, like, 0));
  return compose_fold(b, G_REDUCE_SUM, SELECT(v, graph_number(b, TSR_I32, 1), graph_number(b, TSR_I32, 0)), 1);
}

/* Columns of numbers beside one another, [n, count]: a lookup of all is one gather. */
static ir_value *table_of(ir_builder *b, int count, ir_value **columns, int64_t n) {
  for (int i = 0; i < count; i++)
    if (!columns[i] || !(columns[i] = graph_reshape(b, columns[i], 2, (int64_t[]){n, 1}))) return NULL;
  return graph_concat(b, count, columns, 1);
}

/* Column i of what was looked up, [rows, 1]. */
static ir_value *column_of(ir_builder *b, ir_value *found, int i) {
  return found ? graph_cut(b, found, (int64_t[]){0, i}, (int64_t[]){found->type->dims[0], 1}) : NULL;
}

/* Each group's rows are filled up to whole blocks, of which each is multiplied by its group's matrix: as many products
 * as rows and at most a block more for each group. What fills up is zeros, and isn't read back. */
static ir_value *grouped(ir_builder *b, ir_value *x, ir_value *w, ir_value *counts) {
  if (!x || !w || !counts || b->failed) return NULL;
  const int64_t rows = x->type->dims[0], groups = w->type->dims[0], n = w->type->dims[2];
  int64_t block = 8;
  while (block < 128 && block * groups < rows) block *= 2;
  const int64_t blocks = ceil_div(rows, block) + groups, dims[] = {blocks, block};
#define NUMBER(v) graph_number(b, TSR_I32, (double)(v))
  ir_value *size = graph_op2(b, G_MAX, graph_cast(b, counts, TSR_I32), NUMBER(0));
  ir_value *ends = bounds_of(b, size, groups, true), *starts = SUB(ends, size);
  ir_value *parts = DIV(ADD(size, NUMBER(block - 1)), NUMBER(block));
  ir_value *last = bounds_of(b, parts, groups, true), *first = SUB(last, parts);
  const int64_t each[] = {rows, 1};
  const ir_type *like = ir_type_tensor(b->m, TSR_I32, 2, dims), *column = ir_type_tensor(b->m, TSR_I32, 2, each);
  if (!ends || !last || !like || !column || b->failed) return NULL;
  /* Which rows each block has: the table's entries of its group; of none they are 0, and it has no rows. */
  ir_value *of = group_of(b, last, blocks), *table = table_of(b, 3, (ir_value *[]){starts, first, ends}, groups);
  ir_value *found = table ? rows_at(b, table, of) : NULL, *info[3] = {NULL};
  for (int i = 0; i < 3; i++)
    if (!(info[i] = compose_spread(b, column_of(b, found, i), like))) return NULL;
  ir_value *row = MUL(SUB(graph_iota(b, TSR_I32, like, 0), info[1]), NUMBER(block));
  row = ADD(ADD(row, info[0]), graph_iota(b, TSR_I32, like, 1));
  row = SELECT(graph_compare(b, CMP_LT, row, info[2]), row, NUMBER(rows));
  ir_value *y = compose_product(b, rows_at(b, x, row), rows_at(b, w, of));
  y = y ? graph_reshape(b, y, 2, (int64_t[]){blocks * block, n}) : NULL;
  /* And back: a row's place in its group, behind the blocks of the groups before. */
  ir_value *mine = group_of(b, ends, rows);
  found = mine ? rows_at(b, table, mine) : NULL;
  for (int i = 0; i < 2; i++)
    if (!(info[i] = column_of(b, found, i))) return NULL;
  ir_value *at = SUB(graph_iota(b, TSR_I32, column, 0), info[0]);
  at = at ? ADD(at, MUL(info[1], NUMBER(block))) : NULL;
  ir_value *is_row = graph_compare(b, CMP_LT, graph_reshape(b, mine, 2, column->dims), NUMBER(groups));
  at = at && is_row ? graph_reshape(b, SELECT(is_row, at, NUMBER(blocks * block)), 1, &rows) : NULL;
#undef NUMBER
  return rows_at(b, y, at);
}

EXPAND(expand_grouped) {
  out[0] = is_empty(op) ? graph_fill(b, OUT->type, 0) : grouped(b, IN(0), IN(1), IN(2));
  DONE;
}

/* ---- recursive_mixture ------------------------------------------------------------------------------------------- */

/* An elementwise function of one operand that has a derivative, by its name; NULL: there is none. */
static const ir_opdef *activation_of(const ir_op *op) {
  char name[64];
  snprintf(name, sizeof name, "tessera.graph.%s", ir_get_str(op, "activation", "relu"));
  const ir_opdef *d = ir_find_op(name);
  const graph_row *row = d ? d->ext : NULL;
  if (!row || row->kind != GRAPH_POINTWISE) return NULL;
  const scalar_row *f = &scalar_rows[row->scalar];
  return f->operands == 1 && f->derivative && *f->derivative ? d : NULL;
}

static tsr_status infer_mixture(ir_op *op, const ir_type **results) {
  static const int ranks[] = {2, 3, 3, 3};
  static const char *const names[] = {"x", "gates", "up", "down"};
  static const char *const forms[] = {"[tokens, width]", "[depth, width, experts]", "[experts, width, hidden]",
                                      "[experts, hidden, width]"};
  routing q;
  char a[128];
  TSR_TRY(shape_floats(op));
  TSR_TRY(shape_same_dtype(op, 0));
  const ir_type *x = TYPE(0), *g = TYPE(1), *up = TYPE(2), *down = TYPE(3);
  for (int i = 0; i < 4; i++)
    if (TYPE(i)->rank != ranks[i])
      return ir_error(op, forms[i], "%s is %s", names[i], shape_text(TYPE(i), a, sizeof a));
  if (shape_differs(g->dims[1], x->dims[1]) || shape_differs(up->dims[1], x->dims[1]) ||
      shape_differs(down->dims[2], x->dims[1]))
    return ir_error(op, "x, gates, up and down have one width", "widths of %lld, %lld, %lld and %lld",
                    (long long)x->dims[1], (long long)g->dims[1], (long long)up->dims[1], (long long)down->dims[2]);
  if (shape_differs(g->dims[2], up->dims[0]) || shape_differs(up->dims[0], down->dims[0]))
    return ir_error(op, NULL, "%lld, %lld and %lld experts", (long long)g->dims[2], (long long)up->dims[0],
                    (long long)down->dims[0]);
  if (shape_differs(up->dims[2], down->dims[1]))
    return ir_error(op, NULL, "hidden widths of %lld and %lld", (long long)up->dims[2], (long long)down->dims[1]);
  if (g->dims[0] == IR_DYNAMIC || g->dims[0] > 64)
    return ir_error(op, "64 at most", "gates of %lld levels", (long long)g->dims[0]);
  if (!activation_of(op))
    return ir_error(op, "relu, gelu, ...: an elementwise op of one operand", "unknown activation \"%s\"",
                    ir_get_str(op, "activation", ""));
  TSR_TRY(routing_of(op, x->dims[0], g->dims[2], &q));
  results[0] = x;
  return NULL;
}

/* What the experts make of x, one level. */
static ir_value *mixture(ir_builder *b, const ir_op *op, const routing *q, ir_value *x, ir_value *gate) {
  const ir_type *up = TYPE(2);
  const int64_t experts = up->dims[0], width = up->dims[1], rows = n_slots(q, TYPE(0)->dims[0], experts);
  const int64_t rooms[] = {experts, q->capacity, width};
  routed r = {0};
  if (!route(b, q, compose_product(b, x, gate), &r)) return NULL;
  ir_value *v = dispatch(b, x, r.slots, rows);
  if (q->capacity) {
    v = v ? compose_product(b, graph_reshape(b, v, 3, rooms), IN(2)) : NULL;
    v = v ? compose_product(b, graph_op1(b, (graph_code)activation_of(op)->code, v), IN(3)) : NULL;
    v = v ? graph_reshape(b, v, 2, (int64_t[]){rows, width}) : NULL;
  } else {
    v = grouped(b, v, IN(2), r.counts);
    v = v ? grouped(b, graph_op1(b, (graph_code)activation_of(op)->code, v), IN(3), r.counts) : NULL;
  }
  return combine(b, v, r.slots, r.weights, x->type->dtype);
}

EXPAND(expand_mixture) {
  routing q;
  const ir_type *g = TYPE(1);
  tsr_status_free(routing_of(op, TYPE(0)->dims[0], g->dims[2], &q));
  out[0] = IN(0);
  for (int64_t i = 0; i < g->dims[0] && out[0] && !is_empty(op); i++) {
    ir_value *gate = graph_cut(b, IN(1), (int64_t[]){i, 0, 0}, (int64_t[]){1, g->dims[1], g->dims[2]});
    gate = gate ? graph_reshape(b, gate, 2, g->dims + 1) : NULL;
    ir_value *y = gate ? mixture(b, op, &q, out[0], gate) : NULL;
    out[0] = y ? ADD(out[0], y) : NULL;
  }
  DONE;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

#define ROUTING \
  {"k", IR_A_INT, false, "2", "experts of a token"}, \
      {"capacity", IR_A_INT, false, "0", "rows of an expert; what comes later is dropped. 0: dropless"}, \
      {"softmax", IR_A_STR, false, "selected", "over the logits of those that are selected, or all"}
#define NO_SLOT " A slot that is no row is a dropped token's."

static const ir_opdef rows[] = {
    {COMPOSITE(ROUTER, "router", 1, 1, 4), .operands_doc = "logits", .types_doc = FLOATS, .infer = infer_router,
     BY(expand_router), .attrs = ATTRS(ROUTING),
     .help = "Sends each token to the k experts of the largest logits, of [tokens, experts]. The results: the softmax of "
             "these as weights, and the experts, [tokens, k], the largest first as topk has them; each one's slot, a row "
             "of the buffer that moe_dispatch fills; how many rows each expert has. With a capacity expert e has rows e "
             "capacity on, and all first choices come before the second; what finds no room, and experts of logit -inf, "
             "have weight 0 and the number of rows as slot."},
    {COMPOSITE(MOE_DISPATCH, "moe_dispatch", 2, 2, 1), .operands_doc = "x, slots",
     .types_doc = FLOATS "; slots: i64, i32", .infer = infer_dispatch,
     .ext = ROW(GRAPH_COMPOSITE, .adjoint = adjoint_dispatch, .expand = expand_dispatch),
     .attrs = ATTRS({"rows", IR_A_INT, true, NULL, "of the result: experts times capacity, or tokens times k"}),
     .help = "A buffer of rows, zeros but for the tokens of x [tokens, width] at their slots [tokens, k]." NO_SLOT},
    {COMPOSITE(MOE_COMBINE, "moe_combine", 3, 3, 1), .operands_doc = "y, slots, weights",
     .types_doc = FLOATS "; slots: i64, i32", .infer = infer_combine, BY(expand_combine),
     .help = "Each token's rows of y [rows, width] at its slots [tokens, k], times their weights, added up in f32 or "
             "f64." NO_SLOT " It adds nothing."},
    {COMPOSITE(GROUPED_MATMUL, "grouped_matmul", 3, 3, 1), .operands_doc = "x, w, counts",
     .types_doc = FLOATS "; counts: i64, i32", .infer = infer_grouped, BY(expand_grouped),
     .help = "Rows of x [rows, k], of which the first counts[0] are multiplied by w[0] of [groups, k, n], the next "
             "counts[1] by w[1], and so on. Rows behind all groups give zeros; a negative count is none."},
    {COMPOSITE(RECURSIVE_MIXTURE, "recursive_mixture", 4, 4, 1), .operands_doc = "x, gates, up, down",
     .types_doc = FLOATS, .infer = infer_mixture, BY(expand_mixture),
     .attrs = ATTRS(ROUTING, {"activation", IR_A_STR, false, "relu", "between the two products: an elementwise op by its name"}),
     .help = "x plus a mixture of experts of it, again and again: gates [depth, width, experts] give each level's logits "
             "x gates[i]; the experts, up [experts, width, hidden] and down [experts, hidden, width], are the same at "
             "every level."},
};

const ir_rows graph_compose_moe_ops = {rows, sizeof rows / sizeof *rows};
