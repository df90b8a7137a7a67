/* core/passes/tile/row_chunked.c - multi-pass reductions: rows that don't fit the registers of a block are read in
 * chunks, once for each pass. Each row operation of the body has a loop that keeps one partial result per lane and
 * column of the chunk, and combines these once at its end; a last loop computes and stores the results of full width.
 * Whatever is elementwise is computed again in each loop that needs it. Reads of a row: softmax 2 (running maximum and
 * sum in one loop), rmsnorm 2, layernorm 3 (the variance is that about the mean), a reduction 1. Works for every device
 * that has loops; CPU kernels don't need it. */
#include <math.h>
#include <string.h>

#include "core/base/dtype.h"
#include "core/device/dialect.h"
#include "core/passes/schedule/kernel.h"
#include "core/passes/tile/build.h"

enum { LOOP_CARRIES = 2 };

static int64_t threads_of(const kern *k) {
  const tsr_caps *c = k->opts->caps;
  int64_t warps = k->params.warps > 0 ? k->params.warps : 8;
  return warps * (c->subgroup > 0 ? c->subgroup : 32);
}

bool kb_rows_are_long(const kern *k, const space *s) {
  int64_t most = caps_simd_like(k->opts->caps)
                     ? 128
                     : SCHED_MOST_PER_THREAD; /* elements of a thread; a CPU's SIMD lanes spill to a near cache */
  return k->opts->caps->dialect != DIALECT_CPU && s->tm * s->tn > most * threads_of(k) && s->dims[s->rank - 1] > 0;
}

bool kb_rows_by_cluster(const kern *k, const space *s) {
  int64_t blocks = k->params.cluster;
  return blocks > 1 && k->opts->caps->clusters && s->tm == 1 && s->tn <= SCHED_MOST_PER_THREAD * blocks * threads_of(k);
}

/* Columns of a chunk: 16, 8 or 4 for each thread, so that all chunks are whole if possible. */
static int64_t chunk_of(const kern *k, int64_t n) {
  int64_t threads = threads_of(k);
  for (int64_t each = 16; each >= 4; each /= 2)
    if (n % (threads * each) == 0) return threads * each;
  return threads * 8;
}

/* One loop over the chunks of a row; space s is the chunk's, alone in its loop, so that no value of another loop is
 * taken for one of its own. */
typedef struct pass {
  space *s;
  ir_op *loop;
  ir_builder outside;
  ir_value *carried[LOOP_CARRIES];
} pass;

static tsr_status begin(kern *k, const space *row, int n, ir_value *const *init, pass *p) {
  int r = row->rank;
  int64_t length = row->dims[r - 1], chunk = chunk_of(k, length);
  ir_value *operands[3 + LOOP_CARRIES] = {k->zero, kb_index(k, length), kb_index(k, chunk)};
  const ir_type *types[LOOP_CARRIES];
  if (!(p->s = arena_dup(&k->m->arena, row, sizeof *row))) return st_oom();
  for (int i = 0; i < n; i++) {
    if (!(operands[3 + i] = init[i])) return st_oom();
    types[i] = init[i]->type;
  }
  if (!(p->loop = ir_op_new(&k->b, ir_find_op("tessera.tile.for"), 3 + n, operands, n, types, 1))) return st_oom();
  if (!(p->s->at[r - 1] = ir_block_arg(k->m, p->loop->regions[0], ir_type_index(k->m), NULL))) return st_oom();
  for (int i = 0; i < n; i++)
    if (!(p->carried[i] = ir_block_arg(k->m, p->loop->regions[0], types[i], NULL))) return st_oom();
  p->s->tn = chunk;
  p->outside = k->b;
  k->b = ir_at_end(k->m, p->loop->regions[0]);
  return NULL;
}

static tsr_status end(kern *k, pass *p, int n, ir_value *const *next) {
  for (int i = 0; i < n; i++)
    if (!next[i]) return st_oom();
  if (!ir_build0(&k->b, "tessera.tile.yield", n, next) || k->b.failed) return st_oom();
  k->b = p->outside;
  return NULL;
}

static ir_value *constant(kern *k, const space *row, tsr_dtype t, double v) {
  ir_value *x =
      ir_build1(&k->b, "tessera.tile.fill", kb_frag(k, t, row->tm, chunk_of(k, row->dims[row->rank - 1])), 0, NULL);
  return x && ir_set_attr(x->def, "value", ir_attr_float(k->m, v)) ? x : NULL;
}

/* The chunk of a row operation's operand; columns beyond the row are `other`. */
static tsr_status operand(kern *k, ir_op *op, const pass *p, const ir_type *orig, double other, ir_value **out) {
  const space *s = p->s;
  int64_t n = s->dims[s->rank - 1];
  ir_value *x;
  TSR_TRY(kb_operand(k, op->operands[0], s, orig, FORM_FULL, &x));
  x = kb_spread(k, x, s);
  *out = n % s->tn ? kb_mask(k, x, s->at[s->rank - 1], n, other) : x;
  return *out ? NULL : st_oom();
}

/* The sum (maximum, ...) of what `of` makes of the operand; stat: given to `of`. */
typedef ir_value *(*term)(kern *k, ir_value *x, ir_value *stat);
static ir_value *itself(kern *k, ir_value *x, ir_value *stat) { return x; }
static ir_value *square(kern *k, ir_value *x, ir_value *stat) { return kb_map2(k, SC_MUL, x, x); }
static ir_value *square_about(kern *k, ir_value *x, ir_value *stat) {
  return square(k, kb_map2(k, SC_SUB, x, stat), NULL);
}

typedef struct fold { int code; const char *name; double identity; term of; } fold;

/* next[0] = sum + x; with compensation, next[1] holds what the sum has lost so far: nothing once it is infinite, where
 * inf - inf is no loss. */
static void accumulate(kern *k, const fold *f, bool compensated, ir_value *const *carried, ir_value *x,
                       ir_value **next) {
  if (x && compensated) x = kb_map2(k, SC_SUB, x, carried[1]);
  next[0] = x ? kb_map2(k, f->code, carried[0], x) : NULL;
  if (next[0] && compensated) next[1] = kb_finite(k, kb_map2(k, SC_SUB, kb_map2(k, SC_SUB, next[0], carried[0]), x));
}

static tsr_status run_fold(kern *k, ir_op *op, const space *row, const ir_type *orig, const fold *f, ir_value *stat,
                           ir_value **out) {
  pass p = {0};
  tsr_dtype t = kb_compute(op->operands[0]->type->dtype);
  bool about = f->of == square_about; /* a column beyond the row must become 0 after the subtraction */
  bool compensated = f->code == SC_ADD && dtype_is_float(t) && !strcmp(k->opts->policy, "kahan_sum");
  ir_value *x, *next[2] = {NULL, NULL},
               *init[2] = {constant(k, row, t, f->identity), compensated ? constant(k, row, t, 0) : NULL};
  TSR_TRY(begin(k, row, 1 + compensated, init, &p));
  TSR_TRY(operand(k, op, &p, orig, f->identity, &x));
  x = f->of(k, x, stat);
  int64_t n = row->dims[row->rank - 1];
  if (about && n % p.s->tn) x = kb_mask(k, x, p.s->at[row->rank - 1], n, 0);
  accumulate(k, f, compensated, p.carried, x, next);
  TSR_TRY(end(k, &p, 1 + compensated, next));
  return (*out = kb_reduce(k, f->name, p.loop->results[0])) ? NULL : st_oom();
}

/* Maximum so far and sum of exponentials about it, per lane; in the end the sum's reciprocal, as short rows have it;
 * the start is finite, so that rows with -inf stay clear of inf - inf. */
static tsr_status run_softmax(kern *k, ir_op *op, const space *row, const ir_type *orig, ir_value **stat) {
  pass p = {0};
  tsr_dtype t = kb_compute(op->operands[0]->type->dtype);
  double least = t == TSR_F64 ? -1.7e308 : -3.4e38;
  ir_value *x, *next[2], *init[2] = {constant(k, row, t, least), constant(k, row, t, 0)};
  TSR_TRY(begin(k, row, 2, init, &p));
  TSR_TRY(operand(k, op, &p, orig, -INFINITY, &x));
  next[0] = kb_map2(k, SC_MAX, p.carried[0], x);
  ir_value *before = kb_map2(k, SC_MUL, p.carried[1], kb_map1(k, SC_EXP, kb_map2(k, SC_SUB, p.carried[0], next[0])));
  next[1] = kb_map2(k, SC_ADD, before, kb_map1(k, SC_EXP, kb_map2(k, SC_SUB, x, next[0])));
  TSR_TRY(end(k, &p, 2, next));
  ir_value *most = p.loop->results[0], *sum = p.loop->results[1];
  stat[0] = kb_reduce(k, "max", most);
  stat[1] = kb_reciprocal(
      k, kb_reduce(k, "sum", kb_map2(k, SC_MUL, sum, kb_map1(k, SC_EXP, kb_map2(k, SC_SUB, most, stat[0])))));
  return stat[0] && stat[1] ? NULL : st_oom();
}

static tsr_status run_row_op(kern *k, ir_op *op, const space *row, const ir_type *orig, ir_value **stat) {
  static const fold sum = {SC_ADD, "sum", 0, itself}, most = {SC_MAX, "max", -INFINITY, itself},
                    least = {SC_MIN, "min", INFINITY, itself}, product = {SC_MUL, "prod", 1, itself},
                    squares = {SC_ADD, "sum", 0, square}, squares_about = {SC_ADD, "sum", 0, square_about};
  double n = (double)row->dims[row->rank - 1], eps = ir_get_float(op, "eps", 1e-5);
  bool whole_numbers = kb_compute(op->operands[0]->type->dtype) == TSR_I32;
  fold f;
  switch (op->def->code) {
  case G_REDUCE_SUM: case G_REDUCE_PROD:
    TSR_TRY(run_fold(k, op, row, orig, op->def->code == G_REDUCE_SUM ? &sum : &product, NULL, stat));
    return (stat[0] = kb_wrap(k, stat[0], op->results[0]->type->dtype)) ? NULL : st_oom();
  case G_REDUCE_MEAN:
    TSR_TRY(run_fold(k, op, row, orig, &sum, NULL, stat));
    break;
  case G_REDUCE_MAX: case G_REDUCE_MIN:
    f = op->def->code == G_REDUCE_MAX ? most : least;
    if (whole_numbers) f.identity = op->def->code == G_REDUCE_MAX ? INT32_MIN : INT32_MAX;
    return run_fold(k, op, row, orig, &f, NULL, stat);
  case G_SOFTMAX: return run_softmax(k, op, row, orig, stat);
  case G_LAYERNORM:
    TSR_TRY(run_fold(k, op, row, orig, &sum, NULL, stat));
    stat[0] = kb_map2_imm(k, SC_DIV, stat[0], n);
    TSR_TRY(run_fold(k, op, row, orig, &squares_about, stat[0], &stat[1]));
    stat[1] = kb_map1(k, SC_RSQRT, kb_map2_imm(k, SC_ADD, kb_map2_imm(k, SC_MUL, stat[1], 1 / n), eps));
    return stat[1] ? NULL : st_oom();
  case G_RMSNORM:
    TSR_TRY(run_fold(k, op, row, orig, &squares, NULL, stat));
    stat[0] = kb_map1(k, SC_RSQRT, kb_map2_imm(k, SC_ADD, kb_map2_imm(k, SC_MUL, stat[0], 1 / n), eps));
    return stat[0] ? NULL : st_oom();
  default: return ir_error(op, NULL, "is not an operation on rows");
  }
  return (stat[0] = kb_map2_imm(k, SC_DIV, stat[0], n)) ? NULL : st_oom();
}

tsr_status kb_long_rows(kern *k, space *s, const ir_type *orig) {
  pass last = {0};
  int full = 0, n = k->src->n_results;
  ir_value *window;
  for (ir_op *o = k->src->regions[0]->first; o; o = o->next) {
    node *x = o->def->level == IR_GRAPH && o->n_results == 1 && graph_is_row_op(o) ? node_of(k, o->results[0]) : NULL;
    if (x) TSR_TRY(run_row_op(k, o, s, orig, x->stat));
  }
  for (int i = 0; i < n; i++) {
    if (form_of(k->src->results[i]->type, orig) == FORM_FULL) {
      full++;
      continue;
    }
    TSR_TRY(kb_result_window(k, i, s, orig, &window));
    TSR_TRY(kb_store_result(k, i, s, orig, window));
  }
  if (!full) return NULL;
  TSR_TRY(begin(k, s, 0, NULL, &last));
  for (int i = 0; i < n; i++) {
    if (form_of(k->src->results[i]->type, orig) != FORM_FULL) continue;
    TSR_TRY(kb_result_window(k, i, last.s, orig, &window));
    TSR_TRY(kb_store_result(k, i, last.s, orig, window));
  }
  return end(k, &last, 0, NULL);
}
