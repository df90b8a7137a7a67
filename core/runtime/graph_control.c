/* core/runtime/graph_control.c - if and while from C: other graphs become the regions; see tessera/graph.h. */
#include "core/ir/graph/control.h"
#include "core/runtime/internal.h"

/* A graph as a region: its function, complete. */
static tsr_status check_part(const tsr_graph *g, const char *fn, const char *what, const tsr_graph *part, int n) {
  if (!part) return rt_missing(fn, what);
  if (part == g) return RT_BAD(g->ctx, fn, "build it as a graph of its own", "the %s is the graph itself", what);
  if (tsr_graph_n_inputs(part) != n)
    return RT_BAD(g->ctx, fn, "its inputs are the operands", "the %s has %d inputs for %d operands", what,
                  tsr_graph_n_inputs(part), n);
  return NULL;
}

static tsr_status take_values(const tsr_graph *g, const char *fn, const tsr_value *v, int n, ir_value **out) {
  TSR_TRY(rt_check_array(fn, "operands", v, n));
  for (int i = 0; i < n; i++) {
    if (v[i] < 1 || v[i] > g->n_values) return RT_BAD(g->ctx, fn, NULL, "operand %d is not a value of this graph", i);
    out[i] = g->values[v[i] - 1];
  }
  return NULL;
}

static tsr_status add(tsr_graph *g, graph_code c, int n, ir_value *const *operands, const tsr_graph *first,
                      const tsr_graph *second, int64_t carried, int64_t max_trips, tsr_value *out) {
  ir_builder b = ir_before(g->func->regions[0]->last);
  ir_op *op = NULL;
  tsr_status st = graph_control_build(&b, c, n, operands, first->func, second->func, carried, max_trips, &op);
  for (int i = 0; !st && i < op->n_results; i++) st = rt_graph_note(g, op->results[i], &out[i]);
  if (st && op) ir_op_remove(op);
  return st;
}

/* What both have in common. first_operand: of those, which the regions don't see. */
static tsr_status build(tsr_graph *g, const char *fn, graph_code c, tsr_value cond, const char *const names[2],
                        const tsr_graph *first, const tsr_graph *second, const tsr_value *operands, int n,
                        int64_t carried, int64_t max_trips, tsr_value *out) {
  ir_value *v[GRAPH_CONTROL_OPERANDS + 1];
  const int before = c == G_IF ? 1 : 0;
  if (g->closed) return RT_BAD(g->ctx, fn, NULL, "the graph is complete and can't be extended");
  if (n < 0 || n > GRAPH_CONTROL_OPERANDS - 1)
    return RT_BAD(g->ctx, fn, "join tensors", "%d operands; at most %d", n, GRAPH_CONTROL_OPERANDS - 1);
  TSR_TRY(check_part(g, fn, names[0], first, n));
  TSR_TRY(check_part(g, fn, names[1], second, n));
  if (before) TSR_TRY(take_values(g, fn, &cond, 1, v));
  TSR_TRY(take_values(g, fn, operands, n, v + before));
  if (!g->within_pass) ir_begin(g->m);
  tsr_status st = add(g, c, n + before, v, first, second, carried, max_trips, out);
  return st && !g->within_pass ? ir_cause(g->m, NULL, st) : st;
}

tsr_status tsr_graph_if(tsr_graph *g, tsr_value condition, const tsr_graph *then_graph, const tsr_graph *else_graph,
                        const tsr_value *operands, int n, tsr_value *out) {
  static const char *const names[] = {"then graph", "else graph"};
  RT_NEED("graph_if", "g", g);
  RT_NEED("graph_if", "out", out);
  return build(g, "graph_if", G_IF, condition, names, then_graph, else_graph, operands, n, 0, 0, out);
}

tsr_status tsr_graph_while(tsr_graph *g, const tsr_graph *condition, const tsr_graph *body, const tsr_value *operands,
                           int n, int n_carried, int64_t max_trips, tsr_value *out) {
  static const char *const names[] = {"condition", "body"};
  RT_NEED("graph_while", "g", g);
  if (n_carried < 0 || n_carried > n || n_carried > GRAPH_CONTROL_RESULTS)
    return RT_BAD(g->ctx, "graph_while", NULL, "%d values carried of %d operands; at most %d", n_carried, n,
                  GRAPH_CONTROL_RESULTS);
  if (n_carried) RT_NEED("graph_while", "out", out);
  return build(g, "graph_while", G_WHILE, 0, names, condition, body, operands, n, n_carried, max_trips, out);
}
