/* core/runtime/specialize.c - a graph with unknown dimensions becomes one for given shapes: its inputs get them and
 * every type is inferred anew. Input: a graph and a shape per input; output: a new, complete graph of known dimensions,
 * which remembers what was unknown so that tuning decisions can be shared (core/tune/bucket.h). */
#include <string.h>

#include "core/base/dtype.h"
#include "core/ir/graph/ops.h"
#include "core/runtime/internal.h"
#include "core/tune/bucket.h"

static tsr_status set_input(const tsr_graph *g, ir_value *v, const tsr_shape *s) {
  const char *name = v->name ? v->name : "?";
  TSR_TRY(rt_check_shape(g, "graph_specialize", v->type->dtype, s));
  bool fits = s->rank == v->type->rank;
  for (int i = 0; fits && i < s->rank; i++)
    fits = v->type->dims[i] == IR_DYNAMIC ? s->dims[i] >= 0 : v->type->dims[i] == s->dims[i];
  if (!fits)
    return ir_error_at(g->func, v->loc, TSR_SHAPE_MISMATCH, "known dimensions stay as they are",
                       "the shape given for input %%%s does not fit its type", name);
  const ir_type *before = v->type;
  v->type = ir_type_tensor(g->m, v->type->dtype, s->rank, s->dims);
  return v->type && bucket_note(g->func, before, v->type) ? NULL : st_oom();
}

static tsr_status infer_again(tsr_graph *g, ir_op *op) {
  bool custom = graph_is_kind(op, GRAPH_CUSTOM), found = false;
  if (!op->n_results) return NULL;
  const ir_type **t = arena_array(&g->m->arena, const ir_type *, op->n_results);
  if (!t) return st_oom();
  if (custom) TSR_TRY(rt_custom_infer(g, ir_get_str(op, "callee", ""), op, t, &found));
  else if (op->def->infer) TSR_TRY(op->def->infer(op, t));
  for (int i = 0; i < op->n_results; i++) {
    const ir_type *before = op->results[i]->type;
    if (!t[i]) continue;
    op->results[i]->type = t[i];
    if (!bucket_note(g->func, before, t[i])) return st_oom();
  }
  return NULL;
}

tsr_status tsr_graph_specialize(const tsr_graph *g, const tsr_shape *shapes, int n, tsr_graph **out) {
  RT_OUT("graph_specialize", out);
  RT_NEED("graph_specialize", "g", g);
  if (n != tsr_graph_n_inputs(g))
    return RT_BAD(g->ctx, "graph_specialize", NULL, "%d shapes for %d inputs", n, tsr_graph_n_inputs(g));
  TSR_TRY(rt_check_array("graph_specialize", "shapes", shapes, n));
  tsr_graph *s;
  TSR_TRY(rt_graph_new(g->ctx, &s));
  tsr_status st = ir_module_clone(g->m, &s->m);
  if (st) goto done;
  s->func = graph_find_func(s->m, NULL);
  ir_block *r = s->func->regions[0];
  for (int i = 0; i < n; i++) TSR_GOTO(set_input(s, r->args[i], &shapes[i]));
  for (ir_op *o = r->first; o; o = o->next) TSR_GOTO(infer_again(s, o));
  if (!graph_sign(s->func)) {
    st = st_oom();
    goto done;
  }
  TSR_GOTO(ir_verify(s->m));
  TSR_GOTO(rt_graph_close(s, s->func));
  *out = s;
done:
  if (st && s->m) st = ir_cause(s->m, NULL, st);
  if (st) tsr_graph_destroy(&s);
  return st;
}
