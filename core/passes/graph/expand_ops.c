/* core/passes/graph/expand_ops.c - see expand_ops.h. */
#include "core/passes/graph/expand_ops.h"

#include <string.h>

#include "core/base/dtype.h"
#include "core/ir/graph/expand.h"

static const char *name_of(const ir_op *op) { return ir_short_name(op->def); }

static void note(void *user, const ir_op *op, int n_ops) {
  const pass_options *o = user;
  pass_trace *trace = o ? o->trace : NULL;
  if (n_ops < 0) trace_add(trace, "expand_ops", "expand", op, false, "%s has an unknown dimension", name_of(op));
  else trace_add(trace, "expand_ops", "expand", op, true, "expanded %s into %d ops", name_of(op), n_ops);
}

/* Of a routine that other ops can say too: why they do; NULL: it stays a call of the host. */
static const char *by_other_ops(const pass_options *o, const ir_op *op) {
  if (!pass_enabled(o, "fusion", name_of(op))) return "switched off";
  for (int i = 0; i < op->n_operands; i++)
    if (dtype_word(op->operands[i]->type->dtype)) return "words of unsigned integers are ordered by other ops";
  for (int i = 0; i < op->n_operands; i++)
    if (dtype_packed(op->operands[i]->type->dtype)) return "packed elements are ordered by other ops";
  if (o && o->routines) return NULL;
  const graph_host host = graph_ext(op)->host ? graph_ext(op)->host(op) : HOST_NEVER;
  if (host == HOST_NEVER) return "the device computes it by other ops";
  return host == HOST_IF_ALLOWED && o && o->no_host ? "no fall-back to the host" : NULL;
}

/* Has it a kernel of its own, that is switched on and takes an op of this size? */
static bool keep(void *user, const ir_op *op) {
  const pass_options *o = user;
  if (graph_is_kind(op, GRAPH_ROUTINE)) {
    const char *why = by_other_ops(o, op);
    trace_add(o ? o->trace : NULL, "expand_ops", name_of(op), op, !why, "%s", why ? why : "one call of the host");
    return !why;
  }
  const bool backward = graph_is_kind(op, GRAPH_ATTENTION_BACKWARD);
  if (!backward && !graph_is_kind(op, GRAPH_ATTENTION)) return false;
  const char *why = !pass_enabled(o, "fusion", name_of(op))     ? "switched off"
                    : backward && !(o && o->attention_backward) ? "other ops here, for keys block by block"
                                                                : graph_attention_refusal(op);
  trace_add(o ? o->trace : NULL, "expand_ops", name_of(op), op, !why, "%s", why ? why : "a kernel takes it whole");
  return !why;
}

tsr_status graph_expand_module(ir_module *m, const pass_options *opts) {
  const graph_expand_options o = {.windows = opts && opts->windows, .note = note, .keep = keep, .user = (void *)opts};
  bool changed = false;
  ir_begin(m);
  for (ir_op *f = m->root->regions[0]->first; f; f = f->next) {
    if (!graph_is(f, G_FUNC) || !graph_has_composite(f)) continue;
    tsr_status st = graph_expand(f, &o);
    if (st) return ir_cause(m, NULL, st);
    changed = true;
  }
  return changed ? ir_verify(m) : NULL;
}
