/* core/passes/graph/packed.c - see packed.h. A packed value's data field is its elements as i8 or u8; that of a reshape
 * of elements read from bytes, pairs along a last axis of 2, is these bytes. */
#include "core/passes/graph/packed.h"

#include <string.h>

#include "core/base/dtype.h"
#include "core/ir/graph/ops.h"
#include "core/passes/graph/views.h"

static bool is_packed(const ir_value *v) { return dtype_packed(v->type->dtype) != TSR_DTYPE_NONE; }

static bool has_packed(const ir_op *func) {
  const ir_block *r = func->regions[0];
  for (int i = 0; i < r->n_args; i++)
    if (is_packed(r->args[i])) return true;
  for (const ir_op *o = r->first; o; o = o->next)
    if (graph_has_value(o, is_packed)) return true;
  return false;
}

static bool calls(const ir_op *op) { return graph_is_kind(op, GRAPH_CONTROL) || graph_is_kind(op, GRAPH_CUSTOM); }

/* Is v, of a packed type, in memory as such? */
static bool is_given(const ir_value *v) {
  return !v->def || graph_is(v->def, G_AS_PACKED) || calls(v->def);
}

/* ---- into bytes and back ----------------------------------------------------------------------------------------- */

static tsr_status replace(ir_op *op) {
  if (!graph_ext(op) || !graph_ext(op)->words)
    return ir_error(op, "cast it to i8 or u8", "does not take %s",
                    tsr_dtype_name((op->n_operands ? op->operands[0] : op->results[0])->type->dtype));
  return graph_stand_in(op, is_packed, graph_packed_op);
}

/* What is called, or returned to, has its own types, and so has as_bytes. Until all ops are replaced and those before
 * are gone, such an operand is the elements: what feeds nothing else is then computed where it is packed. */
typedef struct want {
  ir_op *op;
  int operand;
  const ir_type *type;
  const char *name;
} want;

typedef struct wants {
  want *v;
  size_t n, cap;
} wants;

/* Of an odd number of elements the last byte's high bits are whatever the caller put there, and 0 in a result: an
 * argument that is returned is packed anew. */
static bool has_loose_bits(const ir_op *op, const ir_value *v) {
  return op == op->parent->last && !v->def && ir_type_count(v->type) % 2;
}

static tsr_status want_packed(ir_op *op, wants *w) {
  for (int i = 0; i < op->n_operands; i++) {
    ir_value *v = op->operands[i];
    if (!is_packed(v) || (is_given(v) && !has_loose_bits(op, v))) continue;
    if (!al_grow(&op->module->arena.al, &w->v, &w->cap, w->n + 1, sizeof *w->v)) return st_oom();
    w->v[w->n++] = (want){op, i, v->type, op == op->parent->last ? v->name : NULL};
    ir_set_operand(op, i, v->data);
  }
  return NULL;
}

static tsr_status give_packed(const want *w) {
  ir_builder b = ir_before(w->op);
  ir_value *x = w->op->operands[w->operand];
  if (!w->op->parent) return NULL; /* nothing needed it */
  b.loc = w->op->loc;
  x->n_uses--; /* that by op */
  ir_value *y = graph_is(w->op, G_AS_BYTES) ? graph_pack_bytes(&b, x) : graph_pack(&b, x, w->type);
  x->n_uses++;
  if (!y) return st_oom();
  if (graph_is(w->op, G_AS_BYTES)) return ir_replace_uses(w->op->parent->parent, w->op->results[0], y), NULL;
  if (w->name) y->name = w->name;
  ir_set_operand(w->op, w->operand, y);
  return NULL;
}

/* Before `at`, the elements of what is given: arguments, or results of a call. */
static tsr_status take_elements(ir_op *at, ir_value *const *v, int n) {
  ir_builder b = ir_before(at);
  for (int i = 0; i < n; i++)
    if (is_packed(v[i]) && !(v[i]->data = graph_unpack(&b, v[i]))) return st_oom();
  return NULL;
}

static tsr_status convert(ir_op *op, ir_op *next, wants *w) {
  if (!graph_has_value(op, is_packed)) return NULL;
  const bool ends = !next, keeps = calls(op) || graph_is(op, G_AS_PACKED) || graph_is(op, G_AS_BYTES);
  if (!ends && !keeps) return replace(op);
  TSR_TRY(want_packed(op, w));
  return ends ? NULL : take_elements(next, op->results, op->n_results);
}

/* ---- computed where it is read ----------------------------------------------------------------------------------- */

static bool is_read(const ir_value *v) { return v->data && graph_is(v->def, G_RESHAPE); }

/* v beside values of shape `pairs`, instead of beside their reshape; NULL: that would put it into memory. */
static ir_value *beside(ir_builder *b, ir_value *v, const ir_type *whole) {
  const ir_type *t = v->type;
  const int64_t last = t->rank ? t->dims[t->rank - 1] : 1;
  int64_t dims[TSR_MAX_RANK];
  if (is_read(v)) return v->def->operands[0];
  if (!t->rank) return v;
  if (t->rank == TSR_MAX_RANK || (last != 1 && last != whole->dims[whole->rank - 1])) return NULL;
  if (last != 1 && v->def && !graph_is(v->def, G_CONSTANT) && !graph_is_alias(v->def)) return NULL;
  memcpy(dims, t->dims, sizeof *dims * (size_t)t->rank);
  if (last != 1) dims[t->rank - 1] /= 2;
  dims[t->rank] = last == 1 ? 1 : 2;
  return graph_reshape(b, v, t->rank + 1, dims);
}

/* op of pairs, and the reshape of its result. */
static tsr_status read_here(ir_op *op, pass_trace *trace) {
  const ir_type *whole = op->results[0]->type;
  ir_builder b = ir_before(op);
  ir_value *x[3], *bytes = NULL;
  b.loc = op->loc;
  for (int i = 0; i < op->n_operands; i++) {
    if (is_read(op->operands[i])) bytes = op->operands[i]->data;
    x[i] = beside(&b, op->operands[i], whole);
    if (b.failed) return st_oom();
    if (!x[i]) {
      trace_add(trace, "packed", "packed_reads", op, false, "another operand is computed");
      return NULL;
    }
  }
  ir_value *y = graph_build_like(&b, op, x);
  y = y ? graph_reshape(&b, y, whole->rank, whole->dims) : NULL;
  if (!y) return st_oom();
  trace_add(trace, "packed", "packed_reads", op, true, "computed where two elements are read of a byte");
  graph_replace(op, y);
  y->data = bytes;
  return NULL;
}

static tsr_status read_where_needed(ir_op *func, const pass_options *opts) {
  if (!pass_enabled(opts, "fusion", "packed_reads")) return NULL;
  for (ir_op *op = func->regions[0]->first, *next; op; op = next) {
    bool reads = false;
    next = op->next;
    ir_settle(op);
    if (!(op->def->flags & IR_ELEMENTWISE) || op->n_results != 1) continue;
    for (int i = 0; i < op->n_operands; i++)
      reads |= is_read(op->operands[i]) && op->results[0]->type->rank == op->operands[i]->type->rank;
    if (reads) TSR_TRY(read_here(op, opts ? opts->trace : NULL));
  }
  return NULL;
}

static tsr_status replace_all(ir_op *func, wants *w) {
  ir_block *r = func->regions[0];
  TSR_TRY(take_elements(r->first, r->args, r->n_args));
  for (ir_op *op = r->first, *next; op; op = next) {
    next = op->next;
    ir_settle(op);
    TSR_TRY(convert(op, next, w));
  }
  ir_dce(func); /* of packed ops, which are computed otherwise now; an as_bytes may go too */
  return NULL;
}

static tsr_status function_to_bytes(ir_op *func, const pass_options *opts) {
  wants w = {NULL};
  ir_clear_data(func);
  tsr_status st = replace_all(func, &w);
  for (size_t i = 0; i < w.n && !st; i++) st = give_packed(&w.v[i]);
  al_free_array(&func->module->arena.al, w.v, w.cap);
  TSR_TRY(st);
  ir_dce(func);
  TSR_TRY(read_where_needed(func, opts));
  ir_dce(func);
  ir_clear_data(func);
  return NULL;
}

tsr_status graph_to_bytes(ir_module *m, const pass_options *opts) {
  bool changed = false;
  ir_begin(m);
  for (ir_op *f = m->root->regions[0]->first; f; f = f->next) {
    if (!graph_is(f, G_FUNC) || !has_packed(f)) continue;
    tsr_status st = function_to_bytes(f, opts);
    if (st) return ir_cause(m, NULL, st);
    changed = true;
  }
  return changed ? ir_verify(m) : NULL;
}
