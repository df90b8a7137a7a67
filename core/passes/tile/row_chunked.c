/* core/passes/tile/row_chunked.c - multi-pass reductions: rows that don't fit the registers of a block are read in
 * chunks, once for each pass. Each row operation of the body has a loop that keeps one partial result per lane and
 * column of the chunk, and combines these once at its end; a last loop computes and stores the results of full width.
 * Whatever is elementwise is computed again in each loop that needs it. Reads of a row: one for each fold of the recipe
 * (ir/recipe.h; one for both of softmax but on a CPU's SIMD registers) and one for results of full width. Works for
 * every device that has loops; CPU kernels don't need it. */
#include <math.h>
#include <string.h>

#include "core/base/dtype.h"
#include "core/device/dialect.h"
#include "core/passes/schedule/kernel.h"
#include "core/passes/tile/row_loop.h"

static int64_t threads_of(const kb_kernel *k) {
  const tsr_caps *c = k->opts->caps;
  int64_t warps = k->params.warps > 0 ? k->params.warps : 8;
  return warps * (c->subgroup > 0 ? c->subgroup : 32);
}

bool kb_rows_are_long(const kb_kernel *k, const kb_space *s) {
  /* Elements of a thread; a CPU's SIMD lanes spill to a near cache. */
  const int64_t most = caps_simd_like(k->opts->caps) ? 128 : sched_held_per_thread(k->src, k->opts->caps);
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

/* The chunk of a row operation's operand. */
static tsr_status operand(kb_kernel *k, const row_work *w, const kb_space *s, ir_value **out) {
  TSR_TRY(kb_operand(k, w->op->operands[0], s, w->orig, FORM_FULL, out));
  return (*out = kb_spread(k, *out, s)) ? NULL : st_oom();
}

/* Maximum so far and sum of exponentials about it, per lane; the start is finite, so that rows with -inf stay clear of
 * inf - inf. */
static tsr_status chunked_online(kb_kernel *k, row_work *w) {
  row_loop p = {0};
  const tsr_dtype t = w->type;
  double least = t == TSR_F64 ? -1.7e308 : -3.4e38;
  ir_value *x, *next[2], *init[2] = {row_loop_constant(k, w, t, least), row_loop_constant(k, w, t, 0)};
  TSR_TRY(row_loop_begin(k, w->row, w->chunk, 2, init, &p));
  TSR_TRY(operand(k, w, p.s, &x));
  if (!(x = row_loop_within(k, &p, x, -INFINITY))) return st_oom();
  next[0] = kb_map2(k, SC_MAX, p.carried[0], x);
  ir_value *before = kb_map2(k, SC_MUL, p.carried[1], kb_map1(k, SC_EXP, kb_map2(k, SC_SUB, p.carried[0], next[0])));
  next[1] = kb_map2(k, SC_ADD, before, kb_map1(k, SC_EXP, kb_map2(k, SC_SUB, x, next[0])));
  TSR_TRY(row_loop_end(k, &p, 2, next));
  ir_value *most = p.loop->results[0], *sum = p.loop->results[1], *all;
  w->stat[0] = kb_row_chain(k, w, w->recipe->fold[0].finish, kb_reduce(k, "max", most));
  all = kb_map2(k, SC_MUL, sum, kb_map1(k, SC_EXP, kb_map2(k, SC_SUB, most, w->stat[0])));
  w->stat[1] = kb_row_chain(k, w, w->recipe->fold[1].finish, kb_reduce(k, "sum", all));
  return w->stat[0] && w->stat[1] ? NULL : st_oom();
}

static tsr_status run_row_op(kb_kernel *k, ir_op *op, const kb_space *row, const ir_type *orig, kb_node *n) {
  row_work w = kb_row_work(op, row->dims[row->rank - 1]);
  w.row = row, w.orig = orig, w.operand = operand, w.fold = row_loop_fold, w.online = chunked_online;
  w.type = kb_compute(op->operands[0]->type->dtype);
  w.chunk = chunk_of(k, row->dims[row->rank - 1]);
  w.careful_chunk = threads_of(k) * 4;
  k->b.loc = op->loc;
  TSR_TRY(kb_row_stats(k, &w));
  memcpy(n->stat, w.stat, sizeof n->stat);
  n->recipe = w.recipe;
  return NULL;
}

tsr_status kb_long_rows(kb_kernel *k, kb_space *s, const ir_type *orig) {
  row_loop last = {0};
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
  TSR_TRY(row_loop_begin(k, s, chunk_of(k, s->dims[s->rank - 1]), 0, NULL, &last));
  for (int i = 0; i < n; i++) {
    if (kb_form_of(k->src->results[i]->type, orig) != FORM_FULL) continue;
    TSR_TRY(kb_result_window(k, i, last.s, orig, &window));
    TSR_TRY(kb_store_result(k, i, last.s, orig, window));
  }
  return row_loop_end(k, &last, 0, NULL);
}
