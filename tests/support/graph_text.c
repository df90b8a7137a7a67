/* tests/support/graph_text.c - see graph_text.h. */
#include "tests/support/graph_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/dtype.h"
#include "core/ir/schedule/schedule.h"

const char *gt_func(const char *args, const char *body, const char *results, const char *types) {
  static char text[1 << 16];
  snprintf(text, sizeof text,
           "\"builtin.module\"() ({\n\"tessera.graph.func\"() ({\n^bb0(%s):\n%s\n\"tessera.graph.return\"(%s) : (%s) -> ()\n"
           "}) {sym_name = \"main\"} : () -> ()\n}) : () -> ()\n", args, body, results, types);
  return text;
}

ir_module *gt_parse(const char *text) {
  ir_module *m;
  tsr_status st = ir_parse(NULL, text, strlen(text), "test.mlir", &m);
  if (!st) return m;
  fprintf(stderr, "%s\n%s\n", tsr_status_message(st), text);
  exit(1);
}

const char *gt_error(const char *text) {
  static char message[2048];
  ir_module *m;
  tsr_status st = ir_parse(NULL, text, strlen(text), "test.mlir", &m);
  snprintf(message, sizeof message, "%s", st ? tsr_status_message(st) : "");
  tsr_status_free(st);
  ir_module_destroy(&m);
  return message;
}

bool gt_says(const char *message, const char *what) {
  if (strstr(message, what)) return true;
  fprintf(stderr, "message: %s\nwanted:  %s\n", message, what);
  return false;
}

static void *room(gt_data *d, const ir_type *t) {
  size_t bytes = (size_t)ir_type_bytes(t);
  d->bytes[d->n] = bytes;
  return d->p[d->n++] = calloc(1, bytes + 16);
}

gt_data gt_random(const ir_op *func, unsigned seed, double lo, double hi) {
  gt_data d = {0};
  uint64_t s = seed * 2654435761u + 12345;
  const ir_block *r = func->regions[0];
  for (int i = 0; i < r->n_args; i++) {
    const ir_type *t = r->args[i]->type;
    void *p = room(&d, t);
    for (int64_t k = 0; k < graph_numbers(t); k++) {
      s = s * 6364136223846793005u + 1442695040888963407u;
      double u = (double)(s >> 11) / 9007199254740992.0;
      dtype_store(t->dtype, p, (size_t)k, t->dtype == TSR_BOOL ? u < 0.5 : lo + (hi - lo) * u);
    }
  }
  return d;
}

gt_data gt_outputs(const ir_op *func) {
  gt_data d = {0};
  const ir_op *ret = func->regions[0]->last;
  for (int i = 0; i < ret->n_operands; i++) room(&d, ret->operands[i]->type);
  return d;
}

void gt_free(gt_data *d) {
  for (int i = 0; i < d->n; i++) free(d->p[i]);
  d->n = 0;
}

bool gt_same(ir_op *a, ir_op *b, unsigned seed, double lo, double hi) {
  gt_data in = gt_random(a, seed, lo, hi);
  graph_evaluator *ea = NULL, *eb = NULL;
  tsr_status st = graph_evaluator_create(a, (const void *const *)in.p, &ea);
  if (!st) st = graph_evaluator_create(b, (const void *const *)in.p, &eb);
  if (!st) st = graph_evaluate_all(ea);
  if (!st) st = graph_evaluate_all(eb);
  bool same = !st && a->regions[0]->last->n_operands == b->regions[0]->last->n_operands;
  if (st) fprintf(stderr, "%s\n", tsr_status_message(st));
  for (int o = 0; same && o < a->regions[0]->last->n_operands; o++) {
    ir_value *va = a->regions[0]->last->operands[o], *vb = b->regions[0]->last->operands[o];
    same = va->type->dtype == vb->type->dtype && ir_type_count(va->type) == ir_type_count(vb->type);
    for (int64_t i = 0; same && i < graph_numbers(va->type); i++) {
      graph_num x, y;
      tsr_status_free(graph_element(ea, va, i, &x));
      tsr_status_free(graph_element(eb, vb, i, &y));
      same = graph_agrees(va->type->dtype, y.v, x);
      if (!same)
        fprintf(stderr, "output %d element %lld: %.9g and %.9g, tolerance %.3g\n", o, (long long)i, x.v, y.v, x.e);
    }
  }
  tsr_status_free(st);
  graph_evaluator_destroy(&ea);
  graph_evaluator_destroy(&eb);
  gt_free(&in);
  return same;
}

static ir_value *mapped(void *user, ir_value *v) { return v->data; }

static void copy_op(ir_builder *b, ir_op *o) {
  ir_op *c = ir_op_copy(b, o, mapped, NULL);
  for (int i = 0; i < o->n_results; i++) o->results[i]->data = c->results[i];
}

ir_module *gt_flatten(const ir_module *schedule) {
  ir_module *m;
  if (ir_module_create(NULL, &m)) exit(1);
  ir_op *program = schedule->root->regions[0]->first;
  ir_block *from = program->regions[0];
  ir_builder top = ir_at_end(m, m->root->regions[0]);
  ir_op *func = ir_op_new(&top, graph_def(G_FUNC), 0, NULL, 0, NULL, 1);
  ir_builder b = ir_at_end(m, func->regions[0]);
  for (int i = 0; i < from->n_args; i++)
    from->args[i]->data = ir_block_arg(m, func->regions[0], ir_type_get(m, from->args[i]->type), from->args[i]->name);
  for (ir_op *o = from->first; o; o = o->next) {
    if (o->def->level == IR_GRAPH) {
      copy_op(&b, o);
    } else if (o->def->code == S_KERNEL) {
      ir_block *body = o->regions[0];
      for (int i = 0; i < body->n_args; i++) body->args[i]->data = o->operands[i]->data;
      for (ir_op *x = body->first; x; x = x->next)
        if (x->def->level == IR_GRAPH) copy_op(&b, x);
      for (int i = 0; i < o->n_results; i++) o->results[i]->data = body->last->operands[i]->data;
    } else {
      ir_value *results[64];
      for (int i = 0; i < o->n_operands; i++) results[i] = o->operands[i]->data;
      ir_op_new(&b, graph_def(G_RETURN), o->n_operands, results, 0, NULL, 0);
    }
  }
  tsr_status st = ir_verify(m);
  if (st) {
    fprintf(stderr, "%s\n", tsr_status_message(st));
    exit(1);
  }
  return m;
}
