/* tools/tessera/graph_text.c - see graph_text.h. */
#include "tools/tessera/graph_text.h"

#include <string.h>

#include "core/ir/graph/ops.h"

bool tally_add(tallies *t, const char *name) {
  for (size_t i = 0; i < t->n; i++)
    if (!strcmp(t->v[i].name, name)) return t->v[i].n++, true;
  if (!al_grow(NULL, &t->v, &t->cap, t->n + 1, sizeof *t->v)) return false;
  t->v[t->n++] = (tally){name, 1};
  return true;
}

void tally_clear(tallies *t) {
  al_free_array(NULL, t->v, t->cap);
  *t = (tallies){NULL};
}

static const char *short_name(const ir_op *op) {
  static const char level[] = "tessera.graph.";
  const char *name = op->def->name;
  return strncmp(name, level, sizeof level - 1) ? name : name + sizeof level - 1;
}

static void count_constant(graph_text *g, const ir_op *op) {
  const ir_attr *value = ir_get_attr(op, "value");
  int64_t n = op->n_results ? ir_type_count(op->results[0]->type) : 0;
  g->parameters += n > 0 ? (uint64_t)n : 0;
  g->bytes += value && value->kind == IR_A_DENSE ? value->u.dense.bytes : 0;
}

static tsr_status count_op(ir_op *op, void *user) {
  graph_text *g = user;
  if (op == g->func) return NULL;
  if (op->def == graph_def(G_RETURN)) {
    if (op->parent == g->func->regions[0]) g->ret = op;
    return NULL;
  }
  if (op->def == graph_def(G_CONSTANT)) count_constant(g, op);
  if (op->def == graph_def(G_CUSTOM) && !tally_add(&g->custom, ir_get_str(op, "callee", ""))) return st_oom();
  return tally_add(&g->ops, short_name(op)) ? NULL : st_oom();
}

tsr_status graph_text_read(const char *text, size_t bytes, const char *file, graph_text *out) {
  *out = (graph_text){NULL};
  TSR_TRY(ir_parse(NULL, text, bytes, file, &out->m));
  out->func = graph_find_func(out->m, NULL);
  if (!out->func)
    return st_make(NULL, TSR_PARSE_ERROR, ST_WHERE("graph", NULL, NULL), "%s:1:1: expected a tessera.graph.func", file);
  return ir_walk(out->func, count_op, out);
}

const char *graph_text_output_name(const graph_text *g, int i) {
  const char *name = g->ret && i < g->ret->n_operands ? g->ret->operands[i]->name : NULL;
  return name ? name : "";
}

int graph_text_find_output(const graph_text *g, const char *name, size_t n) {
  for (int i = 0; g->ret && i < g->ret->n_operands; i++) {
    const char *x = graph_text_output_name(g, i);
    if (strlen(x) == n && !strncmp(x, name, n)) return i;
  }
  return -1;
}

void graph_text_clear(graph_text *g) {
  tally_clear(&g->ops);
  tally_clear(&g->custom);
  ir_module_destroy(&g->m);
}
