/* core/passes/graph/canonical.c - see graph/canonical.h. */
#include "core/passes/graph/canonical.h"

#include "core/base/dtype.h"
#include "core/ir/graph/ops.h"
#include "core/ir/kernel_family.h"
#include "core/passes/graph/fold_columns.h"
#include "core/passes/graph/views.h"

/* ---- reductions ------------------------------------------------------------------------------------------------ */

/* The operand's dimensions with neighbours of one kind merged and those of extent 1 dropped: kept and reduced
 * alternate. */
typedef struct runs {
  int n;
  int64_t extent[TSR_MAX_RANK + 1];
  bool reduced[TSR_MAX_RANK + 1];
} runs;

static void runs_push(runs *r, int64_t extent, bool reduced) {
  if (r->n && r->reduced[r->n - 1] == reduced) {
    r->extent[r->n - 1] *= extent;
  } else {
    r->extent[r->n] = extent;
    r->reduced[r->n++] = reduced;
  }
}

static runs runs_of(const ir_op *op) {
  runs r = {0};
  bool reduced[TSR_MAX_RANK];
  const ir_type *t = op->operands[0]->type;
  graph_axes(op, reduced);
  for (int i = 0; i < t->rank; i++)
    if (t->dims[i] != 1) runs_push(&r, t->dims[i], reduced[i]);
  return r;
}

/* Reduces the last reduced run of x (shaped like r) and drops it from r. */
static ir_value *reduce_last_run(ir_builder *b, graph_code code, ir_value *x, runs *r) {
  int at = r->n - 1, perm[TSR_MAX_RANK];
  while (!r->reduced[at]) at--;
  if (at < r->n - 1) {
    for (int i = 0; i < r->n; i++) perm[i] = i < at ? i : i + 1;
    perm[r->n - 1] = at;
    x = graph_transpose(b, x, perm);
  }
  bool last[TSR_MAX_RANK] = {0};
  last[r->n - 1] = true;
  x = graph_reduce(b, code, x, last, false);
  runs left = {0};
  for (int i = 0; i < r->n; i++)
    if (i != at) runs_push(&left, r->extent[i], r->reduced[i]);
  *r = left;
  return graph_reshape(b, x, r->n, r->extent);
}

static bool is_canonical(const ir_op *op) {
  bool reduced[TSR_MAX_RANK];
  int rank = op->operands[0]->type->rank;
  return rank > 0 && graph_axes(op, reduced) == 1 && reduced[rank - 1];
}

static bool canonical_reduce(ir_builder *b, ir_op *op, const pass_options *opts) {
  ir_value *x = op->operands[0];
  const ir_type *out = op->results[0]->type;
  runs r = runs_of(op);
  int steps = 0;
  for (int i = 0; i < r.n; i++) steps += r.reduced[i];
  tsr_dtype t = x->type->dtype;
  /* Between two steps narrow floats would be rounded once more than the program says. */
  bool widen = steps > 1 && dtype_is_float(t) && tsr_dtype_size(t) < 4;
  x = graph_reshape(b, x, r.n, r.extent);
  if (widen) x = graph_cast(b, x, TSR_F32);
  for (int i = 0; i < steps; i++) x = reduce_last_run(b, (graph_code)op->def->code, x, &r);
  if (widen) x = graph_cast(b, x, t);
  x = graph_reshape(b, x, out->rank, out->dims);
  if (b->failed) return false;
  trace_add(opts->trace, "fuse", "canonical_reduce", op, true, "over the last dimension, in %d step%s", steps,
            steps == 1 ? "" : "s");
  graph_replace(op, x);
  return true;
}

/* A norm along another axis than the last; norms with weights have no axis of their own. */
static bool canonical_norm(ir_builder *b, ir_op *op, const pass_options *opts) {
  ir_value *x = op->operands[0];
  int rank = x->type->rank, axis = graph_axis(op), perm[TSR_MAX_RANK];
  for (int i = 0; i < rank; i++) perm[i] = i == axis ? rank - 1 : i == rank - 1 ? axis : i;
  ir_value *y = graph_op1(b, (graph_code)op->def->code, graph_transpose(b, x, perm));
  y = graph_transpose(b, y, perm);
  if (!y) return false;
  trace_add(opts->trace, "fuse", "canonical_softmax", op, true, "axis %d becomes the last", axis);
  graph_replace(op, y);
  return true;
}

/* ---- concat ---------------------------------------------------------------------------------------------------- */

/* More operands than one kernel takes: neighbours are joined first, and what they give is joined again. */
static bool canonical_concat(ir_builder *b, ir_op *op, const pass_options *opts) {
  int n = op->n_operands, axis = graph_axis(op), steps = 0;
  ir_value **x = arena_dup(&b->m->arena, op->operands, sizeof *x * (size_t)n);
  for (; x && n > 1 && !b->failed; steps++) {
    int parts = 0;
    for (int i = 0; i < n; i += SCHED_MOST_ARGS) {
      int some = n - i < SCHED_MOST_ARGS ? n - i : SCHED_MOST_ARGS;
      x[parts++] = some == 1 ? x[i] : graph_concat(b, some, x + i, axis);
    }
    n = parts;
  }
  if (!x || b->failed) return false;
  trace_add(opts->trace, "fuse", "canonical_concat", op, true, "%d operands, in %d steps", op->n_operands, steps);
  graph_replace(op, x[0]);
  return true;
}

tsr_status graph_canonicalize(ir_op *func, const pass_options *opts) {
  for (ir_op *op = func->regions[0]->first, *next; op; op = next) {
    next = op->next;
    ir_settle(op);
    if (op->def->level != IR_GRAPH || graph_has_unknown(op)) continue;
    ir_builder b = ir_before(op);
    if (graph_is_kind(op, GRAPH_REDUCTION) && !is_canonical(op)) {
      if (!canonical_reduce(&b, op, opts)) return st_oom();
    } else if (graph_is_kind(op, GRAPH_NORM) && graph_axis(op) != op->operands[0]->type->rank - 1) {
      if (!canonical_norm(&b, op, opts)) return st_oom();
    } else if (graph_is_kind(op, GRAPH_COPY) && op->n_operands > SCHED_MOST_ARGS) {
      if (!canonical_concat(&b, op, opts)) return st_oom();
    }
  }
  if (pass_enabled(opts, "fusion", "fold_batch")) TSR_TRY(graph_fold_batch(func, opts));
  if (pass_enabled(opts, "fusion", "fold_columns")) TSR_TRY(graph_fold_columns(func, opts));
  ir_dce(func);
  return graph_hoist_views(func, opts);
}
