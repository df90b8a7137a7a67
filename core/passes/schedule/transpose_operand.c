/* core/passes/schedule/transpose_operand.c - see schedule/transpose_operand.h. */
#include "core/passes/schedule/transpose_operand.h"

#include <stdio.h>
#include <string.h>

#include "core/base/dtype.h"
#include "core/ir/graph/ops.h"
#include "core/ir/schedule/schedule.h"

/* Least rows and columns: below, the product is bound by memory or by launches. */
enum { LEAST_ROWS = 128, LEAST_COLUMNS = 128, LEAST_DEPTH = 128 };

typedef struct transposer { const tsr_caps *caps; pass_trace *trace; } transposer;

static bool wants_k(const tsr_caps *c, const ir_op *product) {
  tsr_dtype a = product->operands[0]->type->dtype, b = product->operands[1]->type->dtype;
  graph_contract g = graph_contract_get(product);
  if (a != b || tsr_dtype_size(a) == 2 || g.m < LEAST_ROWS || g.n < LEAST_COLUMNS || g.k < LEAST_DEPTH) return false;
  for (int i = 0; i < c->n_matrix; i++)
    if (c->matrix[i].enabled && c->matrix[i].scope == SCOPE_WARPGROUP && c->matrix[i].a == a) return true;
  return false;
}

/* The operand comes from outside as it is, for the product alone; rows of the result must suit TMA. */
static bool can_transpose(const ir_op *kernel, const ir_op *product, int which) {
  const ir_value *v = product->operands[which];
  int r = v->type->rank;
  return v->owner && v->owner->parent == kernel && v->n_uses == 1 && r >= 2 && ir_type_count(v->type) > 0 &&
         v->type->dims[r - 2] * (int64_t)tsr_dtype_size(v->type->dtype) % 16 == 0;
}

/* A kernel before `at` that exchanges the last two dimensions of v. */
static ir_value *transposed(ir_op *at, ir_value *v, const char *name) {
  ir_module *m = at->module;
  ir_type t = *v->type;
  int r = t.rank;
  int64_t perm[TSR_MAX_RANK], space = ir_type_count(v->type);
  t.dims[r - 1] = v->type->dims[r - 2], t.dims[r - 2] = v->type->dims[r - 1];
  for (int i = 0; i < r; i++) perm[i] = i < r - 2 ? i : 2 * r - 3 - i;
  const ir_type *to = ir_type_get(m, &t);
  ir_builder b = ir_before(at);
  ir_op *k = to ? ir_op_new(&b, ir_find_op("tessera.schedule.kernel"), 1, &v, 1, &to, 1) : NULL;
  ir_value *arg = k ? ir_block_arg(m, k->regions[0], v->type, NULL) : NULL;
  if (!arg || !ir_set_attr(k, "sym_name", ir_attr_str(m, name)) ||
      !ir_set_attr(k, "family", ir_attr_str(m, "elementwise")) || !ir_set_attr(k, "space", ir_attr_ints(m, &space, 1)))
    return NULL;
  ir_builder in = ir_at_end(m, k->regions[0]);
  ir_value *y = ir_build1(&in, "tessera.graph.transpose", to, 1, &arg);
  if (!y || !ir_set_attr(y->def, "perm", ir_attr_ints(m, perm, r)) || !ir_build0(&in, "tessera.schedule.yield", 1, &y))
    return NULL;
  return k->results[0];
}

static tsr_status transpose_one(ir_op *kernel, ir_op *product, int which, const transposer *t) {
  ir_value *arg = product->operands[which];
  char name[256];
  snprintf(name, sizeof name, "%s_transpose_%c", ir_get_str(kernel, "sym_name", "kernel"), "ab"[which]);
  ir_value *v = transposed(kernel, kernel->operands[arg->index], name);
  if (!v) return st_oom();
  ir_set_operand(kernel, arg->index, v);
  arg->type = v->type;
  if (!graph_orient(product, which ? graph_is_transposed(product, 0) : false,
                    which ? true : graph_is_transposed(product, 1)))
    return st_oom();
  trace_add(t->trace, "schedule", "operand_transposed", product, true,
            "operand %d: the matrix instruction for %s reads along k only", which, tsr_dtype_name(arg->type->dtype));
  return NULL;
}

static tsr_status visit(ir_op *op, void *user) {
  const transposer *t = user;
  if (op->def->level != IR_SCHEDULE || op->def->code != S_KERNEL) return NULL;
  for (ir_op *o = op->regions[0]->first; o; o = o->next) {
    if (!graph_is_kind(o, GRAPH_CONTRACTION) || !wants_k(t->caps, o)) continue;
    graph_contract g = graph_contract_get(o);
    bool a = g.transpose_a, b = !g.transpose_b;
    if ((a && !can_transpose(op, o, 0)) || (b && !can_transpose(op, o, 1))) return NULL;
    if (a) TSR_TRY(transpose_one(op, o, 0, t));
    if (b) TSR_TRY(transpose_one(op, o, 1, t));
  }
  return NULL;
}

tsr_status schedule_transpose_operand(ir_module *m, const tsr_caps *caps, pass_trace *trace) {
  transposer t = {caps, trace};
  if (!caps->wgmma) return NULL;
  TSR_TRY(ir_walk(m->root, visit, &t));
  return ir_verify(m);
}
