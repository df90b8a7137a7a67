/* core/passes/graph/expand_ops.c - see expand_ops.h. */
#include "core/passes/graph/expand_ops.h"

#include <string.h>

#include "core/ir/graph/expand.h"

static void note(void *user, const ir_op *op, int n_ops) {
  const char *name = strrchr(op->def->name, '.') + 1;
  if (n_ops < 0) trace_add(user, "expand_ops", "expand", op, false, "%s has an unknown dimension", name);
  else trace_add(user, "expand_ops", "expand", op, true, "expanded %s into %d ops", name, n_ops);
}

tsr_status graph_expand_module(ir_module *m, const pass_options *opts) {
  const graph_expand_options o = {.note = note, .user = opts ? opts->trace : NULL};
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
