/* core/ir/graph/shard.c - what becomes of an op's result where an axis of an operand is sharded: it follows from the
 * op's kind and index expression, of moves from attributes and extents. See ir/graph/ops.h. */
#include <string.h>

#include "core/ir/graph/expand.h"

/* The operand-th term of an expression whose ends are written out, and how many letters it has besides '*'. */
static const char *term_of(const char *index, int operand, int *letters) {
  while (operand--) index = strchr(index, ',') + 1;
  if (*index == '*') index++;
  *letters = (int)strcspn(index, ",-");
  return index;
}

static graph_shard by_index(const ir_op *op, int operand, int axis, int *to) {
  char index[64];
  int n, n_result, rank = op->operands[operand]->type->rank;
  graph_index(op, index, sizeof index);
  const char *term = term_of(index, operand, &n), *result = strchr(index, '>') + 1;
  result += *result == '*';
  n_result = (int)strlen(result);
  int leading = rank - n, lead_result = op->results[0]->type->rank - n_result;
  if (axis < leading) *to = lead_result - leading + axis;
  else {
    const char *same = memchr(result, term[axis - leading], (size_t)n_result);
    if (!same) return SHARD_PARTIAL;
    *to = lead_result + (int)(same - result);
  }
  return SHARD_CARRIES;
}

static graph_shard of_reduction(const ir_op *op, int axis, int *to) {
  bool reduced[TSR_MAX_RANK];
  bool kept = op->results[0]->type->rank == op->operands[0]->type->rank;
  graph_axes(op, reduced);
  *to = axis;
  for (int i = 0; i < axis && !kept; i++) *to -= reduced[i];
  return reduced[axis] ? SHARD_PARTIAL : SHARD_CARRIES;
}

static graph_shard of_move(const ir_op *op, int axis, int *to) {
  const graph_axis_fn axis_of = graph_ext(op)->axis_of;
  if (!axis_of && axis >= op->results[0]->type->rank) return SHARD_WHOLE; /* as_complex: the parts stay together */
  *to = axis_of ? axis_of(op, axis) : axis;
  return *to < 0 ? SHARD_WHOLE : SHARD_CARRIES;
}

/* What a composite op does to an axis: followed through the ops that it stands for. scratch: the axis along which a
 * value is sharded, -1 = whole. A value that several operands shard must be sharded by all of them alike. */
static graph_shard along(ir_op *func, int argument, int axis, int *to) {
  ir_block *body = func->regions[0];
  const ir_value *y = body->last->operands[0];
  bool partial = false;
  for (int i = 0; i < body->n_args; i++) body->args[i]->scratch = i == argument ? axis : -1;
  for (ir_op *o = body->first; o != body->last; o = o->next) {
    o->results[0]->scratch = -1;
    for (int i = 0; i < o->n_operands; i++) {
      int at = (int)o->operands[i]->scratch, next;
      if (at < 0) continue;
      graph_shard s = partial ? SHARD_WHOLE : graph_shard_of(o, i, at, &next);
      if (s == SHARD_WHOLE || (s == SHARD_CARRIES && o->results[0]->scratch >= 0 && o->results[0]->scratch != next))
        return SHARD_WHOLE;
      if (s == SHARD_PARTIAL) next = axis, partial = true;
      o->results[0]->scratch = next;
    }
  }
  for (int i = 1; i < body->last->n_operands; i++)
    if (body->last->operands[i]->scratch != y->scratch || partial) return SHARD_WHOLE;
  if (partial) return y->def && y->scratch >= 0 ? SHARD_PARTIAL : SHARD_WHOLE;
  *to = (int)y->scratch;
  return *to >= 0 ? SHARD_CARRIES : SHARD_WHOLE;
}

static graph_shard of_composite(const ir_op *op, int operand, int axis, int *to) {
  ir_module *m;
  ir_op *func;
  int argument = 0;
  tsr_status st = graph_expansion(op, &m, &func);
  if (st) return tsr_status_free(st), SHARD_WHOLE;
  while (op->operands[argument] != op->operands[operand]) argument++;
  graph_shard s = graph_has_composite(func) ? SHARD_WHOLE : along(func, argument, axis, to); /* unknown dimensions */
  ir_module_destroy(&m);
  return s;
}

/* Axes that indices address are needed whole, and so is what is written in order. */
static graph_shard of_indexed(const ir_op *op, int operand, int axis, int *to) {
  const graph_indexed x = graph_indexed_get(op);
  *to = axis;
  if (x.scatters && operand == 0) {
    for (int k = 0; k < x.n_indexed; k++)
      if (x.indexed[k] == axis) return SHARD_WHOLE;
    return SHARD_CARRIES;
  }
  for (int d = 0; d < x.rank; d++) {
    if ((operand == 0 ? x.of_table[d] : operand == 1 ? x.of_indices[d] : d) != axis) continue;
    *to = x.scatters ? x.of_table[d] : d;
    return *to < 0 ? SHARD_WHOLE : SHARD_CARRIES;
  }
  return SHARD_WHOLE;
}

/* A routine with an attribute `axis` takes row by row along it. */
static bool runs_along(const ir_op *op) {
  for (const ir_attr_def *a = op->def->attrs; a && a->name; a++)
    if (!strcmp(a->name, "axis")) return true;
  return false;
}

/* A routine works on whole matrices: what is before their two dimensions is a batch. An index expression says which
 * axis of a matrix the routine takes apart, all else being one. */
static graph_shard of_routine(const ir_op *op, int operand, int axis, int *to) {
  const int rank = op->operands[operand]->type->rank;
  *to = axis;
  if (axis < rank - 2) return SHARD_CARRIES;
  if (!graph_ext(op)->index) return SHARD_WHOLE;
  char index[64];
  int n;
  graph_index(op, index, sizeof index);
  const char letter = term_of(index, operand, &n)[axis - (rank - 2)], *end = strchr(index, '-');
  int uses = 0;
  for (const char *c = index; c < end; c++) uses += *c == letter;
  return uses == 1 ? by_index(op, operand, axis, to) : SHARD_WHOLE;
}

static bool transforms(const ir_op *op, int axis) {
  int axes[GRAPH_SPECTRAL_AXES];
  bool is = false;
  for (int i = graph_spectral_axes(op, axes); i-- > 0;) is |= axes[i] == axis;
  return is;
}

static graph_shard of_dft(const ir_op *op, int axis, int *to) {
  const graph_dft d = graph_dft_get(op);
  const int rest = axis - (axis > d.axis);
  *to = rest + (rest >= d.to);
  const bool whole = axis == d.axis || (d.twiddled && axis == d.axis + 1) || axis == op->operands[0]->type->rank - 1;
  return whole ? SHARD_WHOLE : SHARD_CARRIES;
}

/* Entries of the batch and groups that windows leave apart. */
static graph_shard of_windows(const ir_op *op, int axis, int *to) {
  const graph_windows w = graph_windows_get(op);
  for (*to = 0; *to < w.n[0]; ++*to)
    if (w.step[*to][axis] == 1) return SHARD_CARRIES;
  return SHARD_WHOLE;
}

graph_shard graph_shard_of(const ir_op *op, int operand, int axis, int *to) {
  const ir_type *x = op->operands[operand]->type;
  graph_shard s = SHARD_CARRIES;
  *to = axis;
  switch (graph_kind_of(op)) {
  case GRAPH_POINTWISE:
  case GRAPH_CONTRACTION: s = by_index(op, operand, axis, to); break;
  case GRAPH_REDUCTION: s = of_reduction(op, axis, to); break;
  case GRAPH_NORM: s = operand || axis == graph_axis(op) ? SHARD_WHOLE : SHARD_CARRIES; break;
  case GRAPH_MOVE: s = graph_ext(op)->index ? by_index(op, operand, axis, to) : of_move(op, axis, to); break;
  case GRAPH_COPY: break;
  case GRAPH_DFT: s = of_dft(op, axis, to); break;
  case GRAPH_SPECTRAL: s = transforms(op, axis) ? SHARD_WHOLE : SHARD_CARRIES; break;
  case GRAPH_WINDOWS: s = of_windows(op, axis, to); break;
  case GRAPH_ATTENTION:
  case GRAPH_ATTENTION_BACKWARD:
  case GRAPH_COMPOSITE: return of_composite(op, operand, axis, to);
  case GRAPH_GATHER:
  case GRAPH_SCATTER: s = of_indexed(op, operand, axis, to); break;
  case GRAPH_ROUTINE:
    if (runs_along(op)) {
      s = axis == graph_axis(op) ? SHARD_WHOLE : SHARD_CARRIES;
      break;
    }
    if (graph_is_composite(op)) return of_composite(op, operand, axis, to);
    s = of_routine(op, operand, axis, to);
    break;
  default: return SHARD_WHOLE;
  }
  if (s != SHARD_CARRIES) return s;
  int64_t extent = op->results[0]->type->dims[*to]; /* another one: broadcast, cut, joined or padded */
  return extent == x->dims[axis] && extent != IR_DYNAMIC ? SHARD_CARRIES : SHARD_WHOLE;
}
