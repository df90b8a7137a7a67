/* core/passes/graph/layouts.c - see layouts.h. */
#include "core/passes/graph/layouts.h"

#include "core/ir/graph/ops.h"
#include "core/ir/layout.h"

bool graph_has_layouts(const ir_op *func) {
  const ir_block *r = func->regions[0];
  for (int i = 0; i < r->n_args; i++)
    if (r->args[i]->layout) return true;
  for (int i = 0; i < r->last->n_operands; i++)
    if (r->last->operands[i]->layout) return true;
  return false;
}

static bool lies_otherwise(const ir_value *v) { return v->layout && !ir_layout_is_row_major(v->layout); }

/* The shard's entries in memory's order; what is partial stays behind them. */
static const char *shard_in_memory(arena *a, const char *shard, const char *layout) {
  strb b;
  strb_init(&b, &a->al);
  for (int i = 0; layout[i]; i++) {
    const char *entry = shard;
    for (int d = ir_layout_dim(layout, i); d > 0; d--) entry += strcspn(entry, ",") + 1;
    if (i) strb_putc(&b, ',');
    strb_put(&b, entry, strcspn(entry, ",|"));
  }
  strb_puts(&b, shard + strcspn(shard, "|"));
  const char *out = strb_ok(&b) ? arena_str(a, strb_text(&b)) : NULL;
  strb_clear(&b);
  return out;
}

static bool move_shard(arena *a, ir_value *to, const ir_value *from, const char *layout) {
  to->shard = from->shard ? shard_in_memory(a, from->shard, layout) : NULL;
  return to->shard || !from->shard;
}

/* v becomes what is in memory; all that read it read the transpose. */
static tsr_status take_input(ir_op *func, ir_builder *b, ir_value *v) {
  int back[TSR_MAX_RANK];
  int64_t dims[TSR_MAX_RANK];
  const char *layout = v->layout, *shard = v->shard;
  for (int i = 0; i < v->type->rank; i++) {
    back[ir_layout_dim(layout, i)] = i;
    dims[i] = v->type->dims[ir_layout_dim(layout, i)];
  }
  if (!move_shard(&func->module->arena, v, v, layout)) return st_oom();
  v->type = ir_type_tensor(func->module, v->type->dtype, v->type->rank, dims);
  v->layout = NULL;
  ir_value *y = v->type ? graph_transpose(b, v, back) : NULL;
  if (!y) return st_oom();
  y->shard = shard, y->layout = layout; /* it may be a result as it is */
  ir_replace_uses(func, v, y);
  ir_set_operand(y->def, 0, v);
  return NULL;
}

static tsr_status give_result(ir_builder *b, ir_op *ret, int i) {
  const ir_value *v = ret->operands[i];
  int order[TSR_MAX_RANK];
  for (int d = 0; d < v->type->rank; d++) order[d] = ir_layout_dim(v->layout, d);
  ir_value *y = graph_transpose(b, ret->operands[i], order);
  if (!y || !move_shard(&ret->module->arena, y, v, v->layout)) return st_oom();
  ir_set_operand(ret, i, y);
  return NULL;
}

static tsr_status apply(ir_op *func, pass_trace *trace) {
  ir_block *r = func->regions[0];
  ir_builder front = ir_before(r->first), back = ir_before(r->last);
  int n = 0;
  front.loc = back.loc = func->loc;
  for (int i = 0; i < r->n_args; i++) {
    const bool moved = lies_otherwise(r->args[i]);
    if (moved) TSR_TRY(take_input(func, &front, r->args[i]));
    n += moved;
  }
  for (int i = 0; i < r->last->n_operands; i++) {
    const bool moved = lies_otherwise(r->last->operands[i]);
    if (moved) TSR_TRY(give_result(&back, r->last, i));
    n += moved;
  }
  for (int i = 0; i < r->n_args; i++) r->args[i]->layout = NULL;
  for (ir_op *o = r->first; o; o = o->next)
    for (int i = 0; i < o->n_results; i++) o->results[i]->layout = NULL;
  trace_add(trace, "layouts", "layout", func, n > 0, "%d inputs and results that aren't row-major: transposes", n);
  return graph_sign(func) ? NULL : st_oom();
}

tsr_status graph_apply_layouts(ir_module *m, const pass_options *opts) {
  bool changed = false;
  ir_begin(m);
  for (ir_op *f = m->root->regions[0]->first; f; f = f->next) {
    if (!graph_is(f, G_FUNC) || !graph_has_layouts(f)) continue;
    tsr_status st = apply(f, opts ? opts->trace : NULL);
    if (st) return ir_cause(m, NULL, st);
    changed = true;
  }
  return changed ? ir_verify(m) : NULL;
}

void graph_drop_layouts(ir_op *func) {
  const ir_op *ret = func->regions[0]->last;
  for (ir_op *o = func->regions[0]->first; o; o = o->next)
    for (int i = 0; i < o->n_results; i++) {
      bool given = false;
      for (int k = 0; k < ret->n_operands && o->results[i]->layout && !given; k++)
        given = ret->operands[k] == o->results[i];
      if (!given) o->results[i]->layout = NULL;
    }
}
