/* core/ir/graph/control.c - see control.h: regions as functions and back, what is known of control flow before it runs,
 * and building it. */
#include "core/ir/graph/control.h"

#include <math.h>

/* ---- regions ----------------------------------------------------------------------------------------------------- */

static ir_value *mapped(void *user, ir_value *v) { return v->data; }

/* Nobody else's data is lost: a region's values have none outside of this call. */
bool graph_inline(ir_builder *b, const ir_block *region, ir_value *const *args, ir_value **results) {
  bool ok = true;
  for (int i = 0; i < region->n_args; i++) ok &= (region->args[i]->data = args[i]) != NULL;
  for (ir_op *o = region->first; ok && o != region->last; o = o->next) {
    ir_op *c = ir_op_copy(b, o, mapped, NULL);
    ok = c != NULL;
    for (int i = 0; ok && i < o->n_results; i++) o->results[i]->data = c->results[i];
  }
  for (int i = 0; ok && i < region->last->n_operands; i++) results[i] = region->last->operands[i]->data;
  for (int i = 0; i < region->n_args; i++) region->args[i]->data = NULL;
  for (ir_op *o = region->first; o; o = o->next)
    for (int i = 0; i < o->n_results; i++) o->results[i]->data = NULL;
  return ok && !b->failed;
}

ir_op *graph_outline(ir_builder *b, const ir_block *region, const char *name) {
  ir_op *func = ir_op_new(b, graph_def(G_FUNC), 0, NULL, 0, NULL, 1);
  ir_value **results = arena_array(&b->m->arena, ir_value *, region->last->n_operands + 1);
  if (!func || !results || !ir_set_attr(func, "sym_name", ir_attr_str(b->m, name))) return NULL;
  ir_block *body = func->regions[0];
  for (int i = 0; i < region->n_args; i++)
    if (!ir_block_arg_like(b->m, body, ir_type_get(b->m, region->args[i]->type), region->args[i])) return NULL;
  ir_builder in = ir_at_end(b->m, body);
  in.loc = region->parent ? region->parent->loc : b->loc;
  if (!graph_inline(&in, region, body->args, results)) return NULL;
  return ir_op_new(&in, graph_def(G_RETURN), region->last->n_operands, results, 0, NULL, 0) ? func : NULL;
}

int graph_carried(const ir_op *op) { return (int)ir_get_int(op, "carried", op->n_operands); }

/* ---- what is known before it runs -------------------------------------------------------------------------------- */

static bool constant_of(const ir_value *v, double *out) {
  return v->def && graph_is(v->def, G_CONSTANT) && graph_splat(v->def, out);
}

/* Of a value of one of the loop's regions that is the same at each trip: a constant, an operand that the body leaves as
 * it is, or gives anew as the same constant. */
static bool known(const ir_op *loop, const ir_value *v, double *out) {
  double again;
  if (v->def) return constant_of(v, out);
  if (!constant_of(loop->operands[v->index], out)) return false;
  if (v->index >= graph_carried(loop)) return true;
  const ir_value *next = loop->regions[REGION_BODY]->last->operands[v->index];
  if (!next->def && next->index == v->index) return true;
  return constant_of(next, &again) && again == *out;
}

/* A carried number that begins as a constant, to which each trip adds one, or from which it takes one. */
static bool counter(const ir_op *loop, const ir_value *v, double *from, double *step) {
  if (v->def || v->index >= graph_carried(loop) || !constant_of(loop->operands[v->index], from)) return false;
  const ir_value *next = loop->regions[REGION_BODY]->last->operands[v->index];
  const bool down = next->def && graph_is(next->def, G_SUB);
  if (!down && !(next->def && graph_is(next->def, G_ADD))) return false;
  for (int i = 0; i < (down ? 1 : 2); i++) {
    const ir_value *x = next->def->operands[i], *y = next->def->operands[1 - i];
    if (x->def || x->index != v->index || !known(loop, y, step)) continue;
    if (down) *step = -*step;
    return true;
  }
  return false;
}

static bool holds(int predicate, double a, double b) {
  switch (predicate) {
    case CMP_EQ: return a == b;
    case CMP_NE: return a != b;
    case CMP_LT: return a < b;
    case CMP_LE: return a <= b;
    case CMP_GT: return a > b;
    default: return a >= b;
  }
}

/* Integers of i32 and i64 and counts in f64 that stay exact: below 2^31. */
static int64_t count_trips(const ir_op *loop, const ir_op *compare, int64_t most) {
  double v[2], step[2] = {0, 0};
  bool moves = false;
  const tsr_dtype t = compare->operands[0]->type->dtype;
  if (t != TSR_I32 && t != TSR_I64) return -1;
  for (int i = 0; i < 2; i++) {
    if (known(loop, compare->operands[i], &v[i])) continue;
    if (!counter(loop, compare->operands[i], &v[i], &step[i])) return -1;
    moves = true;
  }
  if (!moves) return holds(graph_variant(compare), v[0], v[1]) ? most : 0;
  for (int64_t n = 0; n < 1 << 20; n++) {
    if (n == most || !holds(graph_variant(compare), v[0], v[1])) return n;
    for (int i = 0; i < 2; i++)
      if (fabs(v[i] += step[i]) > 0x7fffffff) return -1;
  }
  return -1;
}

int64_t graph_trips(const ir_op *op) {
  const ir_value *go = op->regions[REGION_COND]->last->operands[0];
  const int64_t most = ir_get_int(op, "max_trips", 0);
  double v;
  if (!most) return 0;
  if (known(op, go, &v)) return v != 0 ? most : 0;
  return go->def && graph_is(go->def, G_COMPARE) ? count_trips(op, go->def, most) : -1;
}

int graph_branch(const ir_op *op) {
  double v;
  return constant_of(op->operands[0], &v) ? (v != 0 ? REGION_THEN : REGION_ELSE) : -1;
}

/* ---- building ---------------------------------------------------------------------------------------------------- */

static bool copy_region(ir_builder *b, ir_block *to, const ir_op *func) {
  const ir_block *from = func->regions[0];
  ir_value **results = arena_array(&b->m->arena, ir_value *, from->last->n_operands + 1);
  for (int i = 0; i < from->n_args; i++)
    if (!ir_block_arg_like(b->m, to, ir_type_get(b->m, from->args[i]->type), from->args[i])) return false;
  ir_builder in = ir_at_end(b->m, to);
  return results && graph_inline(&in, from, to->args, results) &&
         ir_op_new(&in, graph_def(G_RETURN), from->last->n_operands, results, 0, NULL, 0);
}

tsr_status graph_control_build(ir_builder *b, graph_code c, int n, ir_value *const *operands, const ir_op *first,
                               const ir_op *second, int64_t carried, int64_t max_trips, ir_op **out) {
  const int results = c == G_WHILE ? (int)carried : first->regions[0]->last->n_operands;
  ir_op *op = *out = ir_op_new(b, graph_def(c), n, operands, results, NULL, 2);
  if (!op || !copy_region(b, op->regions[0], first) || !copy_region(b, op->regions[1], second)) return st_oom();
  if (c == G_WHILE && (!ir_set_attr(op, "carried", ir_attr_int(b->m, carried)) ||
                       !ir_set_attr(op, "max_trips", ir_attr_int(b->m, max_trips))))
    return st_oom();
  return ir_verify_op(op);
}

