/* core/passes/graph/fold_batch.c - [.., m, k] by one [k, n] becomes [.. * m, k] by [k, n]: full tiles where m is small,
 * and the matrix is read once. The product's elementwise consumers are moved in front of the reshape that restores the
 * shape, so that they stay its epilogue. See graph/canonical.h. */
#include <string.h>

#include "core/ir/graph/ops.h"
#include "core/passes/graph/canonical.h"
#include "core/passes/graph/views.h"

static bool known(const ir_type *t) { return ir_type_count(t) != IR_DYNAMIC; }

/* In memory whatever happens: reshaping it is an alias. */
static bool in_memory(const ir_value *v) {
  const ir_op *d = v->def;
  return !d || graph_is(d, G_CONSTANT) || graph_is_alias(d) || !(d->def->flags & (IR_ELEMENTWISE | IR_VIEWLIKE));
}

static bool one_matrix(const ir_type *t) {
  for (int i = 0; i + 2 < t->rank; i++)
    if (t->dims[i] != 1) return false;
  return true;
}

static const char *refused(const ir_op *op) {
  const ir_value *a = op->operands[0], *b = op->operands[1];
  if (graph_contract_get(op).transpose_a) return "the rows of a transposed operand do not lie one after the other";
  if (a->type->rank != op->results[0]->type->rank) return "the matrix has more batch dimensions than the rows";
  if (b->type->rank > 2 && !in_memory(b)) return "the matrix is computed in another shape";
  return in_memory(a) || graph_view_is_free(a) ? NULL : "the rows would have to be copied";
}

/* One matrix of windows for each entry of the batch. */
static bool is_batch_of_windows(const ir_op *op) {
  if (!graph_is_kind(op, GRAPH_WINDOWS)) return false;
  const graph_windows w = graph_windows_get(op);
  return w.n[0] == 1 && w.step[0][0] == 1;
}

/* The value of type [rows, n] whose reshape v is, else a reshape of v. */
static ir_value *folded(ir_builder *b, ir_value *v, int64_t rows, int64_t n) {
  if (is_batch_of_windows(v->def)) return graph_windows_flat(b, v->def);
  for (const ir_op *d = v->def; graph_reshapes(d); d = d->operands[0]->def) {
    const ir_type *t = d->operands[0]->type;
    if (t->rank == 2 && t->dims[0] == rows && t->dims[1] == n) return d->operands[0];
  }
  return graph_reshape(b, v, 2, (int64_t[]){rows, n});
}

/* Can op, an elementwise consumer of the shape `full`, work on rows instead? */
static bool follows(const ir_op *op, const ir_type *full) {
  if (!(op->def->flags & IR_ELEMENTWISE)) return false;
  const ir_type *t = op->results[0]->type;
  if (t->rank != full->rank || memcmp(t->dims, full->dims, sizeof *t->dims * (size_t)t->rank)) return false;
  for (int i = 0; i < op->n_operands; i++) {
    const ir_value *x = op->operands[i];
    bool same = x->type->rank == t->rank && !memcmp(x->type->dims, t->dims, sizeof *t->dims * (size_t)t->rank);
    bool row = x->type->rank <= 1 ||
               (x->type->rank < t->rank && ir_type_count(x->type) == x->type->dims[x->type->rank - 1] && in_memory(x));
    if (same ? !in_memory(x) && !graph_view_is_free(x) : !row) return false;
  }
  return true;
}

static ir_value *on_rows(ir_builder *b, const ir_op *op, int64_t rows, int64_t n) {
  ir_value *x[3];
  for (int i = 0; i < op->n_operands; i++) {
    ir_value *v = op->operands[i];
    x[i] = v->type->rank == op->results[0]->type->rank ? folded(b, v, rows, n)
           : v->type->rank > 1 ? graph_reshape(b, v, 1, (int64_t[]){v->type->dims[v->type->rank - 1]})
                               : v;
    if (!x[i]) return NULL;
  }
  return graph_build_like(b, op, x);
}

/* Replaces op by its twin on rows and the reshape that restores the shape. */
static bool restore(ir_builder *b, ir_op *op, ir_value *rows) {
  const ir_type *full = op->results[0]->type;
  ir_value *v = rows ? graph_reshape(b, rows, full->rank, full->dims) : NULL;
  if (!v) return false;
  graph_replace(op, v);
  return true;
}

static ir_value *product_on_rows(ir_builder *b, const ir_op *op, int64_t rows) {
  const ir_type *ta = op->operands[0]->type, *tb = op->operands[1]->type;
  ir_value *x[2] = {folded(b, op->operands[0], rows, ta->dims[ta->rank - 1]), op->operands[1]};
  if (tb->rank > 2) x[1] = graph_reshape(b, x[1], 2, tb->dims + tb->rank - 2);
  return x[0] && x[1] ? graph_build_like(b, op, x) : NULL;
}

/* Does an operand come from a folded product or consumer, restored to op's shape? */
static bool reads_folded(const ir_op *op) {
  for (int i = 0; i < op->n_operands; i++) {
    const ir_op *d = op->operands[i]->def;
    if (graph_reshapes(d) && d->scratch && op->operands[i]->type->rank > 2) return true;
  }
  return false;
}

/* Does op split the rows of a folded result further? */
static bool splits_folded(const ir_op *op) {
  if (!graph_reshapes(op) || !reads_folded(op)) return false;
  const ir_type *from = op->operands[0]->type, *to = op->results[0]->type;
  return to->rank > 2 && to->dims[to->rank - 1] == from->dims[from->rank - 1];
}

tsr_status graph_fold_batch(ir_op *func, const pass_options *opts) {
  for (ir_op *op = func->regions[0]->first; op; op = op->next) op->scratch = 0;
  for (ir_op *op = func->regions[0]->first, *next; op; op = next) {
    next = op->next;
    ir_settle(op);
    bool product = graph_is_kind(op, GRAPH_CONTRACTION);
    op->scratch = splits_folded(op);
    if (op->n_results != 1 || !known(op->results[0]->type) || op->results[0]->type->rank < 3) continue;
    if (product ? !one_matrix(op->operands[1]->type) || !known(op->operands[0]->type)
                : !reads_folded(op) || !follows(op, op->results[0]->type))
      continue;
    const char *why = product ? refused(op) : NULL;
    if (product) trace_add(opts->trace, "fuse", "fold_batch", op, !why, "%s", why ? why : "one product over all rows");
    if (why) continue;
    const ir_type *t = op->results[0]->type;
    int64_t rows = 1, n = t->dims[t->rank - 1];
    for (int i = 0; i + 1 < t->rank; i++) rows *= t->dims[i];
    ir_builder b = ir_before(op);
    if (!restore(&b, op, product ? product_on_rows(&b, op, rows) : on_rows(&b, op, rows, n))) return st_oom();
    next->prev->scratch = 1; /* the reshape that restored the shape */
  }
  return NULL;
}
