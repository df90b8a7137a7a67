/* core/dist/taken.c - see taken.h. */
#include "core/dist/taken.h"

#include "core/ir/graph/perm.h"

bool *dist_taken(arena *a, const ir_op *func) {
  const ir_block *body = func->regions[0];
  int n = 0;
  for (const ir_op *o = body->first; o; o = o->next) n++;
  bool *taken = arena_array(a, bool, n + 1);
  int *products = arena_array(a, int, n + 1); /* by op: how often products read it */
  if (!taken || !products) return NULL;
  for (const ir_op *o = body->first; o; o = o->next)
    for (int i = 0; i < 2 && graph_is_kind(o, GRAPH_CONTRACTION); i++)
      if (o->operands[i]->def) products[o->operands[i]->def->scratch]++;
  for (const ir_op *o = body->first; o; o = o->next)
    taken[o->scratch] = graph_swaps_last(o) && products[o->scratch] == o->results[0]->n_uses;
  return taken;
}
