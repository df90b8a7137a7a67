/* core/dist/estimate.c - see estimate.h. */
#include "core/dist/estimate.h"

#include "core/ir/graph/collective.h"

static double bytes_of(const ir_type *t) { return (double)ir_type_bytes(t); }

double dist_collective_us(dist_links *l, const ir_op *op, double *bytes, const char **algorithm) {
  const graph_collective c = graph_collective_get(op);
  *bytes = bytes_of(op->def->code == G_ALL_GATHER ? op->results[0]->type : op->operands[0]->type);
  return dist_coll_us(l, dist_coll_op((graph_code)op->def->code), dist_mesh_axes_of(l->mesh, c.axes), *bytes,
                      algorithm);
}

double dist_collective_sent(dist_links *l, const ir_op *op) {
  const graph_collective c = graph_collective_get(op);
  double bytes;
  dist_collective_us(l, op, &bytes, NULL);
  return dist_coll_sent(l, dist_coll_op((graph_code)op->def->code), dist_mesh_axes_of(l->mesh, c.axes), bytes);
}

/* Pointwise ops run in the kernel that makes their operands: only what comes from elsewhere is read. */
double dist_op_us(const dist_links *l, const ir_op *op, double *flops) {
  graph_space s;
  *flops = 0;
  if (!op->n_results || !op->n_operands || graph_is_alias(op) || !graph_space_of(op, &s)) return 0;
  double bytes = s.bytes;
  for (int i = 0; i < op->n_operands && graph_is_kind(op, GRAPH_POINTWISE); i++)
    if (op->operands[i]->def && !graph_is_kind(op->operands[i]->def, GRAPH_COLLECTIVE))
      bytes -= 2 * bytes_of(op->operands[i]->type); /* neither written nor read */
  *flops = s.flops;
  return dist_compute_us(l->machine, op->operands[0]->type->dtype, s.flops, bytes > 0 ? bytes : 0);
}

static double step_us(const dist_step *x, dist_links *l, double *flops) {
  double us = 0, bytes, f;
  for (int i = 0; i < x->n_ops; i++) {
    if (x->kind == DIST_COMM) us += dist_collective_us(l, x->ops[i], &bytes, NULL);
    else if (x->kind == DIST_LOCAL)
      us += dist_compute_us(l->machine, TSR_F32, 0, 2 * bytes_of(x->ops[i]->results[0]->type));
    else us += dist_op_us(l, x->ops[i], &f), *flops += f;
  }
  return us;
}

/* A value inside a step that its readers' kernels work out as they go: what is read element by element alone, and
 * elements that a reduction adds up. */
static bool in_registers(const dist_step *x, int from, const ir_value *v) {
  const bool pointwise = graph_is_kind(v->def, GRAPH_POINTWISE);
  bool all = true;
  int readers = 0;
  for (int i = from + 1; i < x->n_ops; i++)
    for (int k = 0; k < x->ops[i]->n_operands; k++) {
      if (x->ops[i]->operands[k] != v) continue;
      readers++;
      all &= graph_is_kind(x->ops[i], GRAPH_POINTWISE) || (pointwise && graph_is_kind(x->ops[i], GRAPH_REDUCTION));
    }
  return all && (pointwise || readers == 1);
}

/* The most that values inside a step take at once, each from its op to its last reader. */
static double inside(const dist_step *x) {
  double now = 0, most = 0;
  for (int i = 0; i < x->n_ops; i++) {
    for (int k = 0; k < x->ops[i]->n_results; k++)
      if (x->ops[i]->results[k]->scratch < 0 && !graph_is_alias(x->ops[i]) &&
          !in_registers(x, i, x->ops[i]->results[k]))
        now += bytes_of(x->ops[i]->results[k]->type);
    if (now > most) most = now;
    for (int k = 0; k < x->ops[i]->n_operands; k++) {
      const ir_value *v = x->ops[i]->operands[k];
      bool later = v->scratch >= 0 || !v->def || graph_is_alias(v->def);
      for (int j = i + 1; j < x->n_ops && !later; j++)
        for (int o = 0; o < x->ops[j]->n_operands; o++) later |= x->ops[j]->operands[o] == v;
      for (int o = 0; o < k; o++) later |= x->ops[i]->operands[o] == v;
      for (int j = 0; j < i && !later; j++) /* it was counted where it was made */
        if (x->ops[j] == v->def) later = in_registers(x, j, v);
      if (!later) now -= bytes_of(v->type);
    }
  }
  return most;
}

static double hidden_of(const dist_estimate *e, const dist_event *x) {
  double us = 0;
  for (int i = 0; i < e->n_events; i++) {
    const dist_event *y = &e->events[i];
    const double from = x->from > y->from ? x->from : y->from, to = x->to < y->to ? x->to : y->to;
    if (y->stream != x->stream && to > from) us += to - from;
  }
  return us;
}

tsr_status dist_estimate_make(arena *a, const dist_program *p, const dist_schedule *s, dist_links *l,
                              dist_estimate *out) {
  double free[DIST_STREAMS] = {0}, own = 0;
  *out = (dist_estimate){.n_events = s->n_steps, .events = arena_array(a, dist_event, s->n_steps + 1)};
  if (!out->events) return st_oom();
  for (int i = 0; i < s->n_steps; i++) {
    const dist_step *x = &s->steps[i];
    double from = free[x->stream];
    for (int k = 0; k < x->n_waits; k++)
      if (out->events[x->waits[k]].to > from) from = out->events[x->waits[k]].to;
    const double us = step_us(x, l, &out->flops);
    out->events[i] = (dist_event){i, x->stream, from, free[x->stream] = from + us};
    *(x->kind == DIST_COMM ? &out->comm_us : &out->compute_us) += us;
    for (int k = 0; k < x->n_ops && x->kind == DIST_COMM; k++) out->sent += dist_collective_sent(l, x->ops[k]);
    if (out->events[i].to > out->us) out->us = out->events[i].to;
    if (x->kind == DIST_COMPUTE) own += inside(x); /* each step is a program, with memory of its own */
  }
  out->exposed_us = out->comm_us;
  for (int i = 0; i < s->n_steps; i++)
    if (s->steps[i].kind == DIST_COMM) out->exposed_us -= hidden_of(out, &out->events[i]);
  out->between = (double)s->workspace + own;
  for (int i = 0; i < p->n_inputs; i++) out->inputs += bytes_of(p->func->regions[0]->args[i]->type);
  for (int i = 0; i < p->n_outputs; i++) out->outputs += bytes_of(p->func->regions[0]->last->operands[i]->type);
  return NULL;
}
