/* core/passes/graph/outline.c - see outline.h. */
#include "core/passes/graph/outline.h"

#include <string.h>

#include "core/ir/graph/control.h"

/* What is written out: loops of few trips, and ifs of few elementwise ops, which cost less than asking the host. */
enum { MOST_TRIPS = 8, MOST_OPS = 16 };

/* Ops of a region, of which many is more than any bound: those that are not elementwise or moves. */
static int weight(const ir_block *r, bool elementwise) {
  int n = 0;
  for (const ir_op *o = r->first; o != r->last; o = o->next) {
    const graph_kind k = graph_kind_of(o);
    if (graph_has_regions(o)) return 1 << 16;
    if (elementwise && k != GRAPH_POINTWISE && k != GRAPH_CONSTANT && k != GRAPH_MOVE && k != GRAPH_INDEX)
      return 1 << 16;
    n += k != GRAPH_CONSTANT;
  }
  return n;
}

/* Why it is written out; NULL: its regions become functions. */
static const char *stays(const pass_options *o, const ir_op *op) {
  const bool loop = graph_is(op, G_WHILE);
  if (loop && pass_enabled(o, "rewrites", "unroll") && graph_trips(op) >= 0 && graph_trips(op) <= MOST_TRIPS)
    return "few trips: written out";
  if (loop) return NULL;
  if (graph_branch(op) >= 0) return "the condition is a constant: one region is left";
  return pass_enabled(o, "rewrites", "select_if") && weight(op->regions[0], true) <= MOST_OPS &&
                 weight(op->regions[1], true) <= MOST_OPS
             ? "short regions: both run, and a select takes one"
             : NULL;
}

static const char *add_function(ir_module *m, const ir_op *func, const ir_op *op, int r, int number) {
  static const char *const kept[] = {"policy", "precision", "fp8_scales", "memory_budget"}, *const parts[2][2] = {
                                                                                  {"then", "else"},
                                                                                  {"condition", "body"}};
  const bool loop = graph_is(op, G_WHILE);
  const char *name = arena_fmt(&m->arena, "%s_%s%d_%s", ir_get_str(func, "sym_name", "main"), loop ? "while" : "if",
                               number, parts[loop][r]);
  ir_builder end = ir_at_end(m, m->root->regions[0]);
  end.loc = op->loc;
  ir_op *f = name ? graph_outline(&end, op->regions[r], name) : NULL;
  for (size_t i = 0; f && i < sizeof kept / sizeof *kept; i++)
    if (ir_get_attr(func, kept[i]) && !ir_set_attr(f, kept[i], ir_get_attr(func, kept[i]))) return NULL;
  return f ? name : NULL;
}

/* A loop whose trips are known needs no condition. */
static tsr_status outline(const pass_options *o, ir_op *func, ir_op *op, int number) {
  ir_module *m = op->module;
  const bool loop = graph_is(op, G_WHILE);
  const int64_t trips = loop ? graph_trips(op) : -1, most = trips >= 0 ? trips : ir_get_int(op, "max_trips", 0);
  const char *first = trips >= 0 ? "" : add_function(m, func, op, 0, number),
             *second = add_function(m, func, op, 1, number);
  ir_builder b = ir_before(op);
  const ir_type *types[GRAPH_CONTROL_RESULTS];
  for (int i = 0; i < op->n_results; i++) types[i] = op->results[i]->type;
  ir_op *c = first && second
                 ? ir_op_new(&b, graph_def(G_CONTROL), op->n_operands, op->operands, op->n_results, types, 0)
                 : NULL;
  if (!c || !ir_set_attr(c, "kind", ir_attr_str(m, loop ? "while" : "if")) ||
      !ir_set_attr(c, "first", ir_attr_str(m, first)) || !ir_set_attr(c, "second", ir_attr_str(m, second)))
    return st_oom();
  if (loop && (!ir_set_attr(c, "carried", ir_attr_int(m, graph_carried(op))) ||
               !ir_set_attr(c, "max_trips", ir_attr_int(m, most))))
    return st_oom();
  if (trips >= 0)
    trace_add(o->trace, "outline", "while", op, true,
              "%lld trips, known now: the program %s runs so often, no trip asks the host", (long long)trips, second);
  else if (loop)
    trace_add(o->trace, "outline", "while", op, true,
              "the host runs %s while %s says so: a byte is read back at each trip", second, first);
  else
    trace_add(o->trace, "outline", "if", op, true, "the host reads the condition back and runs %s or %s", first,
              second);
  for (int i = 0; i < op->n_results; i++) {
    c->results[i]->name = op->results[i]->name;
    ir_replace_uses(func, op->results[i], c->results[i]);
  }
  ir_op_remove(op);
  return NULL;
}

tsr_status graph_outline_module(ir_module *m, const pass_options *opts) {
  static const pass_options none = {0};
  const pass_options *o = opts ? opts : &none;
  bool changed = false;
  ir_begin(m);
  for (ir_op *f = m->root->regions[0]->first; f; f = f->next) { /* those that are made come later */
    int number = 0;
    if (!graph_is(f, G_FUNC)) continue;
    for (ir_op *op = f->regions[0]->first, *next; op; op = next) {
      next = op->next;
      if (!graph_has_regions(op)) continue;
      const char *why = stays(o, op);
      if (why) {
        trace_add(o->trace, "outline", graph_is(op, G_WHILE) ? "while" : "if", op, false, "%s", why);
        continue;
      }
      tsr_status st = outline(o, f, op, number++);
      if (st) return ir_cause(m, NULL, st);
      changed = true;
    }
  }
  return changed ? ir_verify(m) : NULL;
}
