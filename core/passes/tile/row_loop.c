/* core/passes/tile/row_loop.c - see tile/row_loop.h. */
#include "core/passes/tile/row_loop.h"

#include "core/base/dtype.h"
#include "core/base/policy.h"
#include "core/device/dialect.h"
#include "core/ir/reducer.h"

tsr_status row_loop_begin(kb_kernel *k, const kb_space *row, int64_t chunk, int n, ir_value *const *init, row_loop *p) {
  int r = row->rank;
  ir_value *operands[3 + ROW_LOOP_CARRIES] = {k->zero, kb_index(k, row->dims[r - 1]), kb_index(k, chunk)};
  const ir_type *types[ROW_LOOP_CARRIES];
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
  k->b.loc = p->outside.loc;
  return NULL;
}

tsr_status row_loop_end(kb_kernel *k, row_loop *p, int n, ir_value *const *next) {
  for (int i = 0; i < n; i++)
    if (!next[i]) return st_oom();
  if (!ir_build0(&k->b, "tessera.tile.yield", n, next) || k->b.failed) return st_oom();
  k->b = p->outside;
  return NULL;
}

ir_value *row_loop_constant(kb_kernel *k, const row_work *w, tsr_dtype t, double v) {
  return kb_fill(&k->b, kb_frag(k, t, w->row->tm, w->chunk), v);
}

ir_value *row_loop_within(kb_kernel *k, const row_loop *p, ir_value *x, double other) {
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

tsr_status row_loop_fold(kb_kernel *k, row_work *w, const recipe_fold *f, ir_value **out) {
  row_loop p = {0};
  const tsr_dtype t = w->type;
  const ir_reducer *g = ir_reducer_named(f->op);
  const double identity = ir_reducer_identity(g, t); /* columns beyond the row count as it too */
  bool compensated = g->code == SC_ADD && dtype_is_float(t) && policy_named(k->opts->policy) == TSR_POLICY_KAHAN_SUM;
  /* A SIMD register's lanes are added up for each chunk: a loop that carries a chunk's columns moves them through
   * memory each time around. */
  const bool narrow = !compensated && k->opts->caps && caps_simd_like(k->opts->caps);
  ir_value *x, *next[2] = {NULL, NULL},
               *init[2] = {narrow ? kb_fill(&k->b, kb_frag(k, t, w->row->tm, 1), identity)
                                  : row_loop_constant(k, w, t, identity),
                           compensated ? row_loop_constant(k, w, t, 0) : NULL};
  TSR_TRY(row_loop_begin(k, w->row, w->chunk, 1 + compensated, init, &p));
  TSR_TRY(w->operand(k, w, p.s, &x));
  x = row_loop_within(k, &p, kb_row_chain(k, w, f->term, x), identity);
  if (narrow) x = kb_reduce(k, f->op, x);
  accumulate(k, g->code, compensated, p.carried, x, next);
  TSR_TRY(row_loop_end(k, &p, 1 + compensated, next));
  *out = narrow ? p.loop->results[0] : kb_reduce(k, f->op, p.loop->results[0]);
  return *out ? NULL : st_oom();
}
