/* core/dist/chunk.c - see chunk.h. */
#include "core/dist/chunk.h"

#include <stdio.h>
#include <string.h>

#include "core/ir/graph/collective.h"

enum { MOST_CHUNKS = 16 };

/* A product, the collective that alone reads it, and, of an all-reduce in two halves, the second one. */
typedef struct unit {
  ir_op *product, *first, *second;
  int64_t rows;
  int64_t cuts;   /* of the rows by the collective: a chunk has as many */
  int64_t pieces; /* of the rows that the ranks are left with: a chunk has rows of each */
} unit;

static bool same_place(const ir_op *a, const ir_op *b) {
  const graph_collective x = graph_collective_get(a), y = graph_collective_get(b);
  return !strcmp(x.axes, y.axes) && x.dim == y.dim;
}

/* The op's data is the all_gather that alone reads it, or NULL. */
static bool find_unit(ir_op *op, unit *u) {
  if (op->def->code != G_ALL_REDUCE && op->def->code != G_REDUCE_SCATTER) return false;
  ir_op *product = op->operands[0]->def;
  if (!graph_is_kind(product, GRAPH_CONTRACTION) || product->results[0]->n_uses != 1) return false;
  const ir_type *t = product->results[0]->type;
  *u = (unit){.product = product, .first = op, .second = op->data, .rows = t->dims[t->rank - 2], .cuts = 1};
  if (op->def->code == G_REDUCE_SCATTER && graph_collective_get(op).dim == t->rank - 2)
    u->cuts = graph_collective_get(op).ranks;
  u->pieces = u->second ? 1 : u->cuts;
  return u->rows > 0 && (u->pieces == 1 || product->operands[0]->type->rank < TSR_MAX_RANK);
}

static bool can_be_cut(const unit *u, int n) { return u->rows % (u->cuts * n) == 0; }

static double bytes_of(const ir_value *v) { return (double)ir_type_bytes(v->type); }

/* Of a collective of 1/n of the bytes. */
static double part_us(dist_links *l, const ir_op *op, int n) {
  double bytes;
  if (!op) return 0;
  dist_collective_us(l, op, &bytes, NULL);
  return dist_coll_us(l, dist_coll_op((graph_code)op->def->code),
                      dist_mesh_axes_of(l->mesh, graph_collective_get(op).axes), bytes / n, NULL);
}

/* Modelled time of a unit alone in n chunks, rows copied apart and results together; 1: as it is. */
static double unit_us(dist_links *l, const unit *u, int n) {
  const ir_value *a = u->product->operands[0], *b = u->product->operands[1], *y = u->product->results[0];
  const ir_op *last = u->second ? u->second : u->first;
  const tsr_dtype t = a->type->dtype;
  double flops;
  const double whole = dist_op_us(l, u->product, &flops), comm = part_us(l, u->first, n) + part_us(l, u->second, n);
  if (n == 1) return whole + comm;
  const double copied = dist_compute_us(l->machine, t, 0, 2 * bytes_of(a) / n),
               joined = dist_compute_us(l->machine, t, 0, 2 * bytes_of(last->results[0])),
               moved = (bytes_of(a) + bytes_of(y)) / n + bytes_of(b),
               product = dist_compute_us(l->machine, t, flops / n, moved) + copied;
  return product + (n - 1) * (product > comm ? product : comm) + comm + joined;
}

static int choose(dist_links *l, const unit *u, int asked) {
  if (asked) return can_be_cut(u, asked) ? asked : 1;
  int best = 1;
  for (int n = 2; n <= MOST_CHUNKS; n *= 2)
    if (can_be_cut(u, n) && unit_us(l, u, n) < unit_us(l, u, best)) best = n;
  return best;
}

/* ---- rewriting --------------------------------------------------------------------------------------------------- */

/* Rows of chunk i of n of the first operand: one block, or a block of each piece. */
static ir_value *rows_of(ir_builder *b, const unit *u, int i, int n) {
  ir_value *a = u->product->operands[0];
  const int dim = a->type->rank - (graph_is_transposed(u->product, 0) ? 1 : 2), rank = a->type->rank;
  int64_t starts[TSR_MAX_RANK] = {0}, sizes[TSR_MAX_RANK + 1];
  memcpy(sizes, a->type->dims, sizeof *sizes * (size_t)rank);
  const int64_t rows = u->rows / u->pieces / n;
  if (u->pieces == 1) {
    starts[dim] = i * rows, sizes[dim] = rows;
    return graph_cut(b, a, starts, sizes);
  }
  memmove(&sizes[dim + 1], &sizes[dim], sizeof *sizes * (size_t)(rank - dim));
  sizes[dim] = u->pieces, sizes[dim + 1] = u->rows / u->pieces;
  a = graph_reshape(b, a, rank + 1, sizes);
  starts[dim + 1] = i * rows, sizes[dim + 1] = rows;
  if (!a || !(a = graph_cut(b, a, starts, sizes))) return NULL;
  memmove(&sizes[dim], &sizes[dim + 1], sizeof *sizes * (size_t)(rank - dim));
  sizes[dim] = rows * u->pieces;
  return graph_reshape(b, a, rank, sizes);
}

static ir_value *like(ir_builder *b, const ir_op *op, ir_value *x, int chunk) {
  ir_value *y = graph_build_like(b, op, &x);
  return y && ir_set_attr(y->def, "chunk", ir_attr_int(b->m, chunk)) ? y : NULL;
}

static bool rewrite(const unit *u, int n) {
  ir_value *few[MOST_CHUNKS], **parts = few;
  ir_builder b = ir_before(u->product);
  b.loc = u->product->loc;
  if (n > MOST_CHUNKS && !(parts = arena_array(&b.m->arena, ir_value *, n))) return false;
  for (int i = 0; i < n; i++) {
    ir_value *x[2] = {rows_of(&b, u, i, n), u->product->operands[1]};
    ir_value *y = x[0] ? graph_build_like(&b, u->product, x) : NULL;
    if (y) y = like(&b, u->first, y, i);
    if (y && u->second) y = like(&b, u->second, y, i);
    if (!(parts[i] = y)) return false;
  }
  ir_op *last = u->second ? u->second : u->first;
  ir_value *y = graph_concat(&b, n, parts, u->product->results[0]->type->rank - 2);
  if (!y) return false;
  y->name = last->results[0]->name;
  ir_forward(last->results[0], y);
  return true;
}

/* ---- the program ------------------------------------------------------------------------------------------------- */

static void tell(const dist_notes *notes, dist_links *l, const unit *u, int n) {
  const graph_collective c = graph_collective_get(u->first);
  char text[256];
  if (!notes || !notes->note) return;
  const char *what = strrchr(u->first->def->name, '.') + 1;
  if (n > 1)
    snprintf(text, sizeof text, "%s[%s] of a product of %lld rows in %d chunks: %.4g us, %.4g one after the other",
             what, c.axes, (long long)u->rows, n, unit_us(l, u, n), unit_us(l, u, 1));
  else
    snprintf(text, sizeof text, "%s[%s] of a product of %lld rows stays behind it: %.4g us, no chunks are faster", what,
             c.axes, (long long)u->rows, unit_us(l, u, 1));
  notes->note(notes->user, u->product, "chunks", n > 1, text);
}

/* Returns the number of units that were cut in *n. */
static tsr_status cut_up(ir_op *func, dist_links *l, int asked, const dist_notes *notes, int *n) {
  ir_block *body = func->regions[0];
  *n = 0;
  ir_begin(func->module);
  for (ir_op *op = body->first; op; op = op->next) op->data = NULL;
  for (ir_op *op = body->first; op; op = op->next) {
    ir_op *from = op->n_operands ? op->operands[0]->def : NULL;
    if (graph_is(op, G_ALL_GATHER) && graph_is(from, G_REDUCE_SCATTER) && from->results[0]->n_uses == 1 &&
        same_place(op, from))
      from->data = op;
  }
  bool ok = true;
  for (ir_op *op = body->first; op && ok; op = op->next) {
    unit u;
    if (!graph_is_kind(op, GRAPH_COLLECTIVE) || !find_unit(op, &u)) continue;
    const int chunks = choose(l, &u, asked);
    tell(notes, l, &u, chunks);
    if (chunks > 1) ok = rewrite(&u, chunks), ++*n;
  }
  for (ir_op *op = body->first; op; op = op->next) op->data = NULL, ir_settle(op);
  if (!ok) return ir_cause(func->module, NULL, st_oom());
  if (*n) ir_dce(func);
  return NULL;
}

static tsr_status modelled(const dist_program *p, ir_op *func, dist_links *l, const dist_schedule_options *o,
                           double *us) {
  dist_program x = *p;
  dist_schedule s;
  dist_estimate e;
  x.func = func;
  TSR_TRY(dist_schedule_make(func, o, &s));
  tsr_status st = dist_estimate_make(&s.arena, &x, &s, l, &e);
  *us = e.us;
  dist_schedule_clear(&s);
  return st;
}

/* Is the program with chunks faster than without? What computing hides anyway needs none. */
static tsr_status is_worth_it(const dist_program *p, dist_links *l, const dist_chunk_options *o,
                              const dist_notes *notes, bool *worth) {
  ir_module *copy;
  int n;
  double whole = 0, chunked = 0;
  char text[128];
  *worth = false;
  TSR_TRY(ir_module_clone(p->func->module, &copy));
  ir_op *func = graph_find_func(copy, ir_get_str(p->func, "sym_name", NULL));
  tsr_status st = cut_up(func, l, 0, notes, &n);
  if (!st && n) st = modelled(p, p->func, l, &o->schedule, &whole);
  if (!st && n) st = modelled(p, func, l, &o->schedule, &chunked);
  *worth = !st && n && chunked < whole;
  if (!st && n && notes && notes->note) {
    snprintf(text, sizeof text, "the program: %.4g us with chunks, %.4g without", chunked, whole);
    notes->note(notes->user, p->func, "chunks", *worth, text);
  }
  ir_module_destroy(&copy);
  return st;
}

tsr_status dist_chunk(dist_program *p, dist_links *l, const dist_chunk_options *o, const dist_notes *notes) {
  bool worth = o->chunks > 1;
  int n;
  if (o->chunks == 1 || (!o->chunks && o->schedule.one_stream)) return NULL;
  if (!worth) TSR_TRY(is_worth_it(p, l, o, notes, &worth));
  return worth ? cut_up(p->func, l, o->chunks, o->chunks ? notes : NULL, &n) : NULL;
}
