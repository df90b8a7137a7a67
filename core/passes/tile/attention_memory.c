/* core/passes/tile/attention_memory.c - kernels of attention: where operands and results lie, products and loops; see
 * tile/attention_scores.h. */
#include <string.h>

#include "core/passes/tile/attention_scores.h"

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static kb_mem result_of(const kb_kernel *k, int i) {
  ir_value *arg = k->op->regions[0]->args[k->src->n_operands + (k->workspace ? 1 : 0) + i];
  kb_mem m = {.arg = arg, .dtype = arg->type->dtype, .rank = arg->type->rank};
  memcpy(m.dims, arg->type->dims, sizeof m.dims);
  ir_type_strides(arg->type, m.strides);
  return m;
}

/* The memory of an operand. */
static int memory_of(const attend *a, int operand) {
  static const int by_place[] = {ATTEND_Q, ATTEND_K, ATTEND_V, ATTEND_DY, ATTEND_LSE, ATTEND_SHIFT};
  if (operand && operand == a->x.lengths) return ATTEND_LENGTHS;
  if (operand && operand == a->x.bias) return ATTEND_BIAS;
  return by_place[operand];
}

tsr_status attend_find_memory(attend *a, const ir_op *op) {
  kb_kernel *k = a->k;
  const bool backward = graph_is_kind(op, GRAPH_ATTENTION_BACKWARD);
  const ir_op *yield = k->src->regions[0]->last;
  for (int i = 0; i < op->n_operands; i++) {
    const kb_node *n = kb_node_of(k, op->operands[i]);
    if (!n) return st_oom();
    if (!n->is_mem || !n->m.arg) return ir_error(op, NULL, "operand %d must lie in memory", i);
    a->mem[memory_of(a, i)] = n->m;
  }
  for (int i = 0; i < yield->n_operands && (backward || k->split != SPLIT_PARTS); i++)
    for (int r = 0; r < op->n_results; r++)
      if (yield->operands[i] == op->results[r]) a->mem[(backward ? ATTEND_DQ : ATTEND_OUT) + r] = result_of(k, i);
  return NULL;
}

kb_space attend_space(const attend *a, int64_t heads, int64_t places, int64_t width, int64_t tm, int64_t tn) {
  kb_space s = {.rank = ATTEND_RANK,
                .dims = {a->x.batch, heads, places, width},
                .tm = tm,
                .tn = tn,
                .orig_rank = ATTEND_RANK,
                .plain = true};
  for (int i = 0; i < ATTEND_RANK; i++) s.from[i] = i;
  return s;
}

tsr_status attend_window(attend *a, int memory, const kb_space *s, attend_side *out) {
  int64_t strides[TSR_MAX_RANK + 2];
  kb_space_strides(&a->mem[memory], s, FORM_FULL, strides);
  return kb_window(a->k, &a->mem[memory], s, strides, memory == ATTEND_BIAS ? NULL : &out->flipped, &out->v);
}

ir_value *attend_key_count(attend *a) {
  kb_kernel *k = a->k;
  const kb_mem *m = &a->mem[ATTEND_LENGTHS];
  ir_value *all = kb_index(k, a->x.n);
  if (!m->arg) return all;
  ir_type t = {.kind = IR_T_VIEW, .dtype = m->dtype, .rank = m->rank, .has_strides = true, .offset = m->offset};
  memcpy(t.dims, m->dims, sizeof t.dims);
  memcpy(t.strides, m->strides, sizeof *t.strides * (size_t)m->rank);
  ir_value *v[3] = {ir_build1(&k->b, "tessera.tile.view", ir_type_get(k->m, &t), 1, &m->arg), a->rows.at[ATTEND_BATCH],
                    a->kv_head};
  ir_value *n = v[0] ? ir_build1(&k->b, "tessera.tile.load_scalar", NULL, 1 + m->rank, v) : NULL;
  n = n ? ir_build1(&k->b, "tessera.tile.cast", ir_type_index(k->m), 1, &n) : NULL;
  return n ? kb_op2(k, "tessera.tile.min", kb_op2(k, "tessera.tile.max", n, k->zero), all) : NULL;
}

/* ---- products and loops ------------------------------------------------------------------------------------------ */

ir_value *attend_gemm(attend *a, ir_value *acc, const attend_side *x, const attend_side *y, bool by_rows) {
  kb_kernel *k = a->k;
  if (!acc || !x->v || !y->v) return NULL;
  ir_op *g = ir_op_new(&k->b, ir_find_op("tessera.tile.gemm"), 3, (ir_value *[]){acc, x->v, y->v}, 1, &acc->type, 0);
  return g && ir_set_attr(g, "transpose_a", ir_attr_bool(k->m, x->flipped)) &&
                 ir_set_attr(g, "transpose_b", ir_attr_bool(k->m, y->flipped != by_rows)) &&
                 ir_set_attr(g, "policy", ir_attr_str(k->m, k->opts->policy))
             ? g->results[0]
             : NULL;
}

tsr_status attend_for(attend *a, const attend_loop *l, ir_value **carried) {
  enum { MOST = ATTEND_N_CARRIED };
  kb_kernel *k = a->k;
  ir_value *operands[3 + MOST] = {l->from, l->to, kb_index(k, l->step)}, *args[MOST], *next[MOST];
  const ir_type *types[MOST];
  const int n = l->n_carried;
  for (int i = 0; i < n; i++) operands[3 + i] = carried[i], types[i] = carried[i]->type;
  ir_op *f = operands[0] && operands[1] && operands[2]
                 ? ir_op_new(&k->b, ir_find_op("tessera.tile.for"), 3 + n, operands, n, types, 1)
                 : NULL;
  ir_value *at = f ? ir_block_arg(k->m, f->regions[0], ir_type_index(k->m), NULL) : NULL;
  if (!at) return st_oom();
  for (int i = 0; i < n; i++)
    if (!(args[i] = ir_block_arg(k->m, f->regions[0], types[i], NULL))) return st_oom();
  if (l->staged && (!ir_set_attr(f, "pipelined", ir_attr_bool(k->m, true)) ||
                    !ir_set_attr(f, "stages", ir_attr_int(k->m, k->params.pipeline_stages))))
    return st_oom();
  const ir_builder outside = k->b;
  k->b = ir_at_end(k->m, f->regions[0]);
  tsr_status st = l->body(a, at, l->user, args, next);
  const bool ok = !st && ir_build0(&k->b, "tessera.tile.yield", n, next) && !k->b.failed;
  k->b = outside;
  if (st || !ok) return st ? st : st_oom();
  if (n) memcpy(carried, f->results, sizeof *carried * (size_t)n);
  return NULL;
}
