/* core/import/onnx/region.c - see region.h. */
#include "core/import/onnx/region.h"

#include "core/import/onnx/sequence.h"

enum { COPIED = 64 }; /* elements: constants of no more are copied into a region */

typedef struct captures {
  ir_value *v[GRAPH_CONTROL_OPERANDS];
  int n;
} captures;

static bool give_up(cv *c) {
  c->oom = c->failed = true;
  return false;
}

bool cv_region_begin(cv *c, cv_region *r, int n, ir_value *const *like, ir_value **args) {
  ir_builder b = ir_at_end(c->b.m, c->b.m->root->regions[0]);
  *r = (cv_region){.outside = c->b};
  if (c->failed) return false;
  r->func = ir_op_new(&b, graph_def(G_FUNC), 0, NULL, 0, NULL, 1);
  if (!r->func) return give_up(c);
  for (int i = 0; i < n; i++)
    if (!(args[i] = ir_block_arg(c->b.m, r->func->regions[0], like[i]->type, NULL))) return give_up(c);
  c->b = ir_at_end(c->b.m, r->func->regions[0]);
  c->regions++;
  return r->open = true;
}

bool cv_region_end(cv *c, cv_region *r, int n, ir_value *const *results) {
  if (r->open) c->regions--;
  r->open = false;
  for (int i = 0; i < n && !c->failed; i++)
    if (!results[i] || cv_is_sequence(results[i]))
      cv_refuse(c, results[i] ? "a result is a sequence" : "a result can't be computed");
  const bool built = !c->failed && (ir_op_new(&c->b, graph_def(G_RETURN), n, results, 0, NULL, 0) || give_up(c));
  c->b = r->outside;
  if (built) ir_dce(r->func);
  return built;
}

static int place_of(cv *c, captures *all, ir_value *v) {
  for (int i = 0; i < all->n; i++)
    if (all->v[i] == v) return i;
  if (all->n == GRAPH_CONTROL_OPERANDS) return cv_refuse(c, "a region that uses more than %d values", all->n), 0;
  all->v[all->n] = v;
  return all->n++;
}

static ir_block *block_of(const ir_value *v) { return v->def ? v->def->parent : v->owner; }
static bool is_small(const ir_value *v) {
  return graph_is(v->def, G_CONSTANT) && ir_type_count(v->type) <= COPIED;
}
static ir_value *same(void *user, ir_value *v) { return v; }

/* Small constants come in, other values of the outside are listed. */
static bool capture(cv *c, const cv_region *r, captures *all) {
  ir_block *in = r->func->regions[0];
  for (ir_op *op = in->first; op && !c->failed; op = op->next)
    for (int i = 0; i < op->n_operands && !c->failed; i++) {
      ir_value *v = op->operands[i];
      if (block_of(v) == in) continue;
      if (!is_small(v)) place_of(c, all, v);
      else {
        ir_builder b = ir_before(in->first);
        ir_op *copy = ir_op_copy(&b, v->def, same, NULL);
        if (!copy) return give_up(c);
        ir_set_operand(op, i, copy->results[0]);
      }
    }
  return !c->failed;
}

static bool use_arguments(cv *c, const cv_region *r, captures *all) {
  ir_block *in = r->func->regions[0];
  const int first = in->n_args;
  for (int i = 0; i < all->n; i++)
    if (!ir_block_arg(c->b.m, in, all->v[i]->type, NULL)) return give_up(c);
  for (ir_op *op = in->first; op; op = op->next)
    for (int i = 0; i < op->n_operands; i++)
      if (block_of(op->operands[i]) != in)
        ir_set_operand(op, i, in->args[first + place_of(c, all, op->operands[i])]);
  return true;
}

static bool build(cv *c, graph_code code, cv_region r[2], int n, ir_value *const *operands, int64_t max_trips,
                  ir_value **out) {
  captures all = {.n = 0};
  ir_value *v[2 * GRAPH_CONTROL_OPERANDS];
  const int64_t carried = code == G_WHILE ? n : 0;
  ir_op *op = NULL;
  if (!r[0].func || !r[1].func || c->failed) return false;
  for (int i = 0; i < 2; i++)
    if (!capture(c, &r[i], &all)) return false;
  if (n + all.n >= GRAPH_CONTROL_OPERANDS) return cv_refuse(c, "a region that uses %d values", n + all.n) != NULL;
  for (int i = 0; i < 2; i++)
    if (!use_arguments(c, &r[i], &all)) return false;
  for (int i = 0; i < n; i++) v[i] = operands[i];
  for (int i = 0; i < all.n; i++) v[n + i] = all.v[i];
  tsr_status st = graph_control_build(&c->b, code, n + all.n, v, r[0].func, r[1].func, carried, max_trips, &op);
  if (!st) {
    for (int i = 0; i < op->n_results; i++) out[i] = op->results[i];
    return true;
  }
  if (tsr_status_code(st) == TSR_OUT_OF_MEMORY) give_up(c);
  else cv_refuse(c, "%s", tsr_status_cause(st));
  tsr_status_free(st);
  if (op) ir_op_remove(op);
  return false;
}

static bool build_and_clear(cv *c, graph_code code, cv_region r[2], int n, ir_value *const *operands, int64_t max_trips,
                            ir_value **out) {
  const bool built = build(c, code, r, n, operands, max_trips, out);
  for (int i = 0; i < 2; i++)
    if (r[i].func) ir_op_remove(r[i].func);
  return built;
}

bool cv_if(cv *c, ir_value *cond, cv_region r[2], ir_value **out) {
  return build_and_clear(c, G_IF, r, 1, &cond, 0, out);
}

bool cv_while(cv *c, cv_region r[2], int n, ir_value *const *operands, int64_t max_trips, ir_value **out) {
  return build_and_clear(c, G_WHILE, r, n, operands, max_trips, out);
}
