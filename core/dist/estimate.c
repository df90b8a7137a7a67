/* core/dist/estimate.c - see estimate.h. */
#include "core/dist/estimate.h"

#include "core/dist/overlap.h"
#include "core/dist/taken.h"
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

/* Ops of a step that move nothing: of transposes those that a product of the same step takes as they lie. */
static bool moves_nothing(const ir_op *op, const bool *taken) {
  return graph_is_alias(op) || (taken[op->scratch] && op->results[0]->scratch < 0);
}

static double step_us(const dist_step *x, dist_links *l, const bool *taken, double *flops) {
  double us = 0, bytes, f;
  for (int i = 0; i < x->n_ops; i++) {
    if (x->kind == DIST_COMM) us += dist_collective_us(l, x->ops[i], &bytes, NULL);
    else if (x->kind == DIST_LOCAL)
      us += dist_compute_us(l->machine, TSR_F32, 0, 2 * bytes_of(x->ops[i]->results[0]->type));
    else if (!moves_nothing(x->ops[i], taken)) us += dist_op_us(l, x->ops[i], &f), *flops += f;
  }
  return us;
}

/* Who reads a value inside a step: its data while `inside` runs. */
typedef struct readers {
  int n, last;           /* the last op */
  bool pointwise, folds; /* all are pointwise; all are that or reductions */
} readers;

/* A value inside a step that its readers' kernels work out as they go: what is read element by element alone, and
 * elements that a reduction adds up. */
static bool in_registers(const ir_value *v) {
  const readers *r = v->data;
  return graph_is_kind(v->def, GRAPH_POINTWISE) ? r->folds : r->pointwise && r->n == 1;
}

/* Every value that is made and used up in the step gets its readers; false: out of memory. */
static bool note_readers(arena *a, const dist_step *x, const bool *taken) {
  int n = 0;
  for (int i = 0; i < x->n_ops; i++) n += x->ops[i]->n_results;
  readers *next = arena_array(a, readers, n + 1);
  if (!next) return false;
  for (int i = 0; i < x->n_ops; i++) {
    const bool pointwise = graph_is_kind(x->ops[i], GRAPH_POINTWISE);
    for (int k = 0; k < x->ops[i]->n_operands; k++) {
      readers *r = x->ops[i]->operands[k]->data;
      if (!r) continue;
      r->n++, r->last = i;
      r->pointwise &= pointwise, r->folds &= pointwise || graph_is_kind(x->ops[i], GRAPH_REDUCTION);
    }
    for (int k = 0; k < x->ops[i]->n_results && !moves_nothing(x->ops[i], taken); k++) {
      if (x->ops[i]->results[k]->scratch >= 0) continue;
      *next = (readers){.last = -1, .pointwise = true, .folds = true};
      x->ops[i]->results[k]->data = next++;
    }
  }
  return true;
}

static void forget_readers(const dist_step *x) {
  for (int i = 0; i < x->n_ops; i++)
    for (int k = 0; k < x->ops[i]->n_results; k++) x->ops[i]->results[k]->data = NULL;
}

/* The most that values inside a step take at once, each from its op to its last reader. The func's values have no data
 * of others. */
static bool inside(arena *a, const dist_step *x, const bool *taken, double *most) {
  double now = 0;
  *most = 0;
  forget_readers(x);
  if (!note_readers(a, x, taken)) return false;
  for (int i = 0; i < x->n_ops; i++) {
    for (int k = 0; k < x->ops[i]->n_results; k++) {
      const ir_value *v = x->ops[i]->results[k];
      if (v->data && !in_registers(v)) now += bytes_of(v->type);
    }
    if (now > *most) *most = now;
    for (int k = 0; k < x->ops[i]->n_operands; k++) {
      const ir_value *v = x->ops[i]->operands[k];
      readers *r = v->data;
      if (!r || r->last != i || in_registers(v)) continue;
      now -= bytes_of(v->type);
      r->last = -1; /* it may be there twice */
    }
  }
  forget_readers(x);
  return true;
}

tsr_status dist_estimate_make(arena *a, const dist_program *p, const dist_schedule *s, dist_links *l,
                              dist_estimate *out) {
  double free[DIST_STREAMS] = {0}, own = 0, *hidden = arena_array(a, double, s->n_steps + 1);
  dist_span *spans = arena_array(a, dist_span, s->n_steps + 1);
  *out = (dist_estimate){.n_events = s->n_steps, .events = arena_array(a, dist_event, s->n_steps + 1)};
  const bool *taken = dist_taken(a, p->func);
  if (!out->events || !hidden || !spans || !taken) return st_oom();
  for (int i = 0; i < s->n_steps; i++) {
    const dist_step *x = &s->steps[i];
    double from = free[x->stream];
    for (int k = 0; k < x->n_waits; k++)
      if (out->events[x->waits[k]].to > from) from = out->events[x->waits[k]].to;
    const double us = step_us(x, l, taken, &out->flops);
    spans[i] = (dist_span){from, free[x->stream] = from + us};
    out->events[i] = (dist_event){i, x->stream, from, from + us};
    *(x->kind == DIST_COMM ? &out->comm_us : &out->compute_us) += us;
    for (int k = 0; k < x->n_ops && x->kind == DIST_COMM; k++) out->sent += dist_collective_sent(l, x->ops[k]);
    if (out->events[i].to > out->us) out->us = out->events[i].to;
    double values = 0;
    if (x->kind == DIST_COMPUTE && !inside(a, x, taken, &values)) return st_oom();
    own += values; /* each step is a program, with memory of its own */
  }
  dist_overlap(s, spans, hidden);
  out->exposed_us = out->comm_us;
  for (int i = 0; i < s->n_steps; i++)
    if (s->steps[i].kind == DIST_COMM) out->exposed_us -= hidden[i];
  out->between = (double)s->workspace + own;
  for (int i = 0; i < p->n_inputs; i++) out->inputs += bytes_of(p->func->regions[0]->args[i]->type);
  for (int i = 0; i < p->n_outputs; i++) out->outputs += bytes_of(p->func->regions[0]->last->operands[i]->type);
  return NULL;
}
