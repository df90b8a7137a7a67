/* core/passes/tile/row.c - the family of kernels on rows (reductions, softmax, norms): a block holds whole rows, in its
 * own registers or a cluster's, or takes them in chunks. */
#include "core/base/int_math.h"
#include "core/passes/schedule/defaults.h"
#include "core/passes/tile/build.h"

/* The shape [.., m, n] of a reduction kernel: that of the operand of its first row operation, else of the widest
 * result. */
static const ir_type *row_shape(const ir_op *kernel) {
  const ir_type *best = NULL;
  for (const ir_op *o = kernel->regions[0]->first; o; o = o->next) {
    if (o->def->level != IR_GRAPH) continue;
    if (graph_is_row_op(o)) return o->operands[0]->type;
    if (o->n_results && (!best || ir_type_count(o->results[0]->type) > ir_type_count(best))) best = o->results[0]->type;
  }
  return best;
}

tsr_status family_row(kb_kernel *k) {
  const ir_type *orig = row_shape(k->src);
  kb_stride_rows rows;
  kb_space s;
  if (!orig || orig->rank < 1) return ir_error(k->src, NULL, "a reduction kernel needs a shape with rows");
  if (!kb_collect(k, orig, &rows)) return st_oom();
  kb_space_make(&s, orig, orig->rank - 1, &rows);
  int64_t m = s.dims[s.rank - 2], n = s.dims[s.rank - 1];
  s.tn = max64(1, n);
  s.tm = k->params.m > 0 ? min64(k->params.m, max64(1, m)) : sched_block_rows(k->src, k->opts->caps, m, s.tn);
  if (!kb_note_tile(k, s.tm, s.tn, 1)) return st_oom();
  TSR_TRY(kb_space_grid(k, &s));
  if (kb_rows_by_cluster(k, &s) && !kb_has_transposed(&s, &rows)) {
    if (!ir_set_attr(k->op, "cluster", ir_attr_ints(k->m, (int64_t[]){k->params.cluster, 1, 1}, 3))) return st_oom();
    return kb_write_results(k, &s, orig);
  }
  return kb_rows_are_long(k, &s) ? kb_long_rows(k, &s, orig) : kb_write_results(k, &s, orig);
}
