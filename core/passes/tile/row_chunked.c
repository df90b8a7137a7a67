/* core/passes/tile/row_chunked.c - multi-pass reductions: rows that don't fit the registers of a block are read in
 * chunks, once for each pass. Each row operation of the body has a loop that keeps one partial result per lane and
 * column of the chunk, and combines these once at its end; a last loop computes and stores the results of full width.
 * Whatever is elementwise is computed again in each loop that needs it. Reads of a row: one for each fold of the recipe
 * (ir/recipe.h; one for both of softmax) and one for results of full width. Works for every device that has loops; CPU
 * kernels don't need it. */
#include <math.h>
#include <string.h>

#include "core/base/dtype.h"
#include "core/base/policy.h"
#include "core/device/dialect.h"
#include "core/ir/reducer.h"
#include "core/passes/schedule/kernel.h"
#include "core/passes/tile/row_recipe.h"

enum { LOOP_CARRIES = 2 };

static int64_t threads_of(const kb_kernel *k) {
  const tsr_caps *c = k->opts->caps;
  int64_t warps = k->params.warps > 0 ? k->params.warps : 8;
  return warps * (c->subgroup > 0 ? c->subgroup : 32);
}

bool kb_rows_are_long(const kb_kernel *k, const kb_space *s) {
  int64_t most = caps_simd_like(k->opts->caps)
                     ? 128
                     : SCHED_MOST_PER_THREAD; /* elements of a thread; a CPU's SIMD lanes spill to a near cache */
  return k->opts->caps->dialect != DIALECT_CPU && s->tm * s->tn > most * threads_of(k) && s->dims[s->rank - 1] > 0;
}

bool kb_rows_by_cluster(const kb_kernel *k, const kb_space *s) {
  int64_t blocks = k->params.cluster;
  return blocks > 1 && k->opts->caps->clusters && s->tm == 1 && s->tn <= SCHED_MOST_PER_THREAD * blocks * threads_of(k);
}

/* Columns of a chunk: 16, 8 or 4 for each thread, so that all chunks are whole if possible. */
static int64_t chunk_of(const kb_kernel *k, int64_t n) {
  int64_t threads = threads_of(k);
  for (int64_t each = 16; each >= 4; each /= 2)
    if (n % (threads * each) == 0) return threads * each;
  return threads * 8;
}

/* The careful folds are hardly ever run, so few columns each: less to compile, and fewer registers are taken from the
 * others. */
static int64_t fold_chunk(const kb_kernel *k, const row_work *w) {
  return w->recipe == w->op->def->recipe ? chunk_of(k, w->row->dims[w->row->rank - 1]) : threads_of(k) * 4;
}

/* One loop over the chunks of a row; space s is the chunk's, alone in its loop, so that no value of another loop is
 * taken for one of its own. */
typedef struct pass {
  kb_space *s;
  ir_op *loop;
  ir_builder outside;
  ir_value *carried[LOOP_CARRIES];
} pass;

static tsr_status begin(kb_kernel *k, const kb_space *row, int64_t chunk, int n, ir_value *const *init, pass *p) {
  int r = row->rank;
  ir_value *operands[3 + LOOP_CARRIES] = {k->zero, kb_index(k, row->dims[r - 1]), kb_index(k, chunk)};
  const ir_type *types[LOOP_CARRIES];
  if (!(p->s = arena_dup(&k->m->arena, row, sizeof *row))) return st_oom();
  for (int i = 0; i < n; i++) {
    if (!(operands[3 + i] = init[i])) return st_oom();
    types[i] = init[i]->type;
  }
  if (!(p->loop = ir_op_new(&k->b, ir_find_op("tessera.tile.for"), 3 + n, operands, n, types, 1))) return st_oom();
  if (!ir_set_attr(p->loop, "rolled", ir_attr_bool(k->m, true))) return st_oom();
  if (!(p->s->at[r - 1] = ir_block_arg(k->m, p->loop->regions[0], ir_type_index(k->m), NULL))) return st_oom();
  for (int i = 0; i < n; i++)
    if (!(p->carried[i] = ir_block_arg(k->m, p->loop->regions[0], types[i], NULL))) return st_oom();
  p->s->tn = chunk;
  p->outside = k->b;
  k->b = ir_at_end(k->m, p->loop->regions[0]);
  return NULL;
}

static tsr_status end(kb_kernel *k, pass *p, int n, ir_value *const *next) {
  for (int i = 0; i < n; i++)
    if (!next[i]) return st_oom();
  if (!ir_build0(&k->b, "tessera.tile.yield", n, next) || k->b.failed) return st_oom();
  k->b = p->outside;
  return NULL;
}

static ir_value *constant(kb_kernel *k, const kb_space *row, int64_t chunk, tsr_dtype t, double v) {
  return kb_fill(&k->b, kb_frag(k, t, row->tm, chunk), v);
}

/* The chunk of a row operation's operand. */
static tsr_status operand(kb_kernel *k, const row_work *w, const pass *p, ir_value **out) {
  TSR_TRY(kb_operand(k, w->op->operands[0], p->s, w->orig, FORM_FULL, out));
  return (*out = kb_spread(k, *out, p->s)) ? NULL : st_oom();
}

/* x, with `other` in columns beyond the row. */
static ir_value *within(kb_kernel *k, const pass *p, ir_value *x, double other) {
  int64_t n = p->s->dims[p->s->rank - 1];
  return x && n % p->s->tn ? kb_mask(k, x, p->s->at[p->s->rank - 1], n, other) : x;
}

/* next[0] = sum + x; with compensation, next[1] holds what the sum has lost so far: nothing once it is infinite, where
 * inf - inf is no loss. */
static void accumulate(kb_kernel *k, int code, bool compensated, ir_value *const *carried, ir_value *x,
                       ir_value **next) {
  if (x && compensated) x = kb_map2(k, SC_SUB, x, carried[1]);
  next[0] = x ? kb_map2(k, code, carried[0], x) : NULL;
  if (next[0] && compensated) next[1] = kb_finite(k, kb_map2(k, SC_SUB, kb_map2(k, SC_SUB, next[0], carried[0]), x));
}

static tsr_status chunked_fold(kb_kernel *k, row_work *w, const recipe_fold *f, ir_value **out) {
  pass p = {0};
  tsr_dtype t = kb_compute(w->op->operands[0]->type->dtype);
  const ir_reducer *g = ir_reducer_named(f->op);
  const double identity = ir_reducer_identity(g, t); /* columns beyond the row count as it too */
  bool compensated = g->code == SC_ADD && dtype_is_float(t) && policy_named(k->opts->policy) == TSR_POLICY_KAHAN_SUM;
  const int64_t chunk = fold_chunk(k, w);
  ir_value *x, *next[2] = {NULL, NULL}, *init[2] = {constant(k, w->row, chunk, t, identity),
                                                    compensated ? constant(k, w->row, chunk, t, 0) : NULL};
  TSR_TRY(begin(k, w->row, chunk, 1 + compensated, init, &p));
  TSR_TRY(operand(k, w, &p, &x));
  x = within(k, &p, kb_row_chain(k, w, f->term, x), identity);
  accumulate(k, g->code, compensated, p.carried, x, next);
  TSR_TRY(end(k, &p, 1 + compensated, next));
  return (*out = kb_reduce(k, f->op, p.loop->results[0])) ? NULL : st_oom();
}

/* Maximum so far and sum of exponentials about it, per lane; the start is finite, so that rows with -inf stay clear of
 * inf - inf. */
static tsr_status chunked_online(kb_kernel *k, row_work *w) {
  pass p = {0};
  tsr_dtype t = kb_compute(w->op->operands[0]->type->dtype);
  double least = t == TSR_F64 ? -1.7e308 : -3.4e38;
  const int64_t chunk = fold_chunk(k, w);
  ir_value *x, *next[2], *init[2] = {constant(k, w->row, chunk, t, least), constant(k, w->row, chunk, t, 0)};
  TSR_TRY(begin(k, w->row, chunk, 2, init, &p));
  TSR_TRY(operand(k, w, &p, &x));
  if (!(x = within(k, &p, x, -INFINITY))) return st_oom();
  next[0] = kb_map2(k, SC_MAX, p.carried[0], x);
  ir_value *before = kb_map2(k, SC_MUL, p.carried[1], kb_map1(k, SC_EXP, kb_map2(k, SC_SUB, p.carried[0], next[0])));
  next[1] = kb_map2(k, SC_ADD, before, kb_map1(k, SC_EXP, kb_map2(k, SC_SUB, x, next[0])));
  TSR_TRY(end(k, &p, 2, next));
  ir_value *most = p.loop->results[0], *sum = p.loop->results[1], *all;
  w->stat[0] = kb_row_chain(k, w, w->recipe->fold[0].finish, kb_reduce(k, "max", most));
  all = kb_map2(k, SC_MUL, sum, kb_map1(k, SC_EXP, kb_map2(k, SC_SUB, most, w->stat[0])));
  w->stat[1] = kb_row_chain(k, w, w->recipe->fold[1].finish, kb_reduce(k, "sum", all));
  return w->stat[0] && w->stat[1] ? NULL : st_oom();
}

static tsr_status run_row_op(kb_kernel *k, ir_op *op, const kb_space *row, const ir_type *orig, kb_node *n) {
  row_work w = kb_row_work(op, row->dims[row->rank - 1]);
  w.row = row, w.orig = orig, w.fold = chunked_fold, w.online = chunked_online;
  k->b.loc = op->loc;
  TSR_TRY(kb_row_stats(k, &w));
  memcpy(n->stat, w.stat, sizeof n->stat);
  n->recipe = w.recipe;
  return NULL;
}

tsr_status kb_long_rows(kb_kernel *k, kb_space *s, const ir_type *orig) {
  pass last = {0};
  int full = 0, n = k->src->n_results;
  ir_value *window;
  for (ir_op *o = k->src->regions[0]->first; o; o = o->next) {
    kb_node *x =
        o->def->level == IR_GRAPH && o->n_results == 1 && graph_is_row_op(o) ? kb_node_of(k, o->results[0]) : NULL;
    if (x) TSR_TRY(run_row_op(k, o, s, orig, x));
  }
  for (int i = 0; i < n; i++) {
    if (kb_form_of(k->src->results[i]->type, orig) == FORM_FULL) {
      full++;
      continue;
    }
    TSR_TRY(kb_result_window(k, i, s, orig, &window));
    TSR_TRY(kb_store_result(k, i, s, orig, window));
  }
  if (!full) return NULL;
  TSR_TRY(begin(k, s, chunk_of(k, s->dims[s->rank - 1]), 0, NULL, &last));
  for (int i = 0; i < n; i++) {
    if (kb_form_of(k->src->results[i]->type, orig) != FORM_FULL) continue;
    TSR_TRY(kb_result_window(k, i, last.s, orig, &window));
    TSR_TRY(kb_store_result(k, i, last.s, orig, window));
  }
  return end(k, &last, 0, NULL);
}
