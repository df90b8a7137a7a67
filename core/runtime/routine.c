/* core/runtime/routine.c - see routine.h: the table of routines, and how a call in a program's text is checked. */
#include "core/runtime/routine.h"

#include <stdio.h>
#include <string.h>

#include "core/ir/graph/ops.h"

static const routine_row rows[] = {
    {"tri_solve", {"upper", "transpose", "unit_diagonal"}, routine_tri_solve},
    {"cholesky", {"upper"}, routine_cholesky},
    {"qr", {NULL}, routine_qr},
    {"svd", {NULL}, routine_svd},
    {"recurrence", {"reverse", "linear_before_reset"}, routine_recurrence, {"cell", "activation"}},
    {"cumsum", {"exclusive", "reverse"}, routine_cumsum, .numbers = {"axis"}},
    {"cumprod", {"exclusive", "reverse"}, routine_cumprod, .numbers = {"axis"}},
    {"sort", {"descending"}, routine_sort, .numbers = {"axis"}},
    {"topk", {"largest"}, routine_topk, .numbers = {"axis"}},
    {"dequantize", {NULL}, routine_dequantize, {"format"}},
    {"block_matmul", {NULL}, routine_block_matmul, {"format", "activations"}},
};

static const routine_row *find(const char *name) {
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (!strcmp(rows[i].name, name)) return &rows[i];
  return NULL;
}

/* The op of Graph IR that the call stands for, in a module of its own, with the types that its rule infers. */
static tsr_status graph_op_of(ir_module *m, const ir_op *call, const ir_opdef *def, ir_op **out) {
  ir_builder b = ir_at_end(m, m->root->regions[0]);
  ir_op *func = ir_op_new(&b, graph_def(G_FUNC), 0, NULL, 0, NULL, 1);
  ir_value *x[ROUTINE_MOST_TENSORS];
  const ir_type *types[ROUTINE_MOST_TENSORS] = {NULL};
  const int n = call->n_operands - def->n_results;
  for (int i = 0; func && i < n; i++)
    if (!(x[i] = ir_block_arg(m, func->regions[0], ir_type_get(m, call->operands[i]->type), NULL))) return st_oom();
  if (!func) return st_oom();
  b = ir_at_end(m, func->regions[0]);
  b.loc = call->loc;
  ir_op *op = *out = ir_op_new(&b, def, n, x, def->n_results, NULL, 0);
  if (!op) return st_oom();
  for (int i = 0; i < call->n_attrs; i++)
    if (strcmp(call->attrs[i].name, "callee") &&
        !ir_set_attr(op, call->attrs[i].name, ir_attr_copy(m, call->attrs[i].attr)))
      return st_oom();
  TSR_TRY(def->infer(op, types));
  for (int i = 0; i < def->n_results; i++) op->results[i]->type = types[i];
  return NULL;
}

static tsr_status check_results(const ir_op *call, const ir_op *op) {
  for (int i = 0; i < op->n_results; i++) {
    const ir_value *v = call->operands[op->n_operands + i];
    const ir_type *t = v->type, *want = op->results[i]->type;
    if (!v->def || !(v->def->def->flags & IR_BUFFER))
      return ir_error(call, NULL, "operand %d must be a buffer: the routine writes it", op->n_operands + i);
    if (t->dtype != want->dtype || t->rank != want->rank ||
        memcmp(t->dims, want->dims, sizeof *t->dims * (size_t)t->rank))
      return ir_error_at(call, call->loc, TSR_SHAPE_MISMATCH, "write the types that it infers",
                         "result %d is not of the type that %s infers", i, op->def->name);
    for (int k = 0; k < op->n_operands + i; k++)
      if (call->operands[k] == v) return ir_error(call, NULL, "operand %d is written and read", op->n_operands + i);
  }
  return NULL;
}

static void fill(routine_call *c, const ir_op *call, const ir_op *op) {
  const ir_type *first = call->operands[0]->type;
  graph_space s;
  c->type = first->dtype;
  c->batch = 1;
  for (int i = 0; i < first->rank - 2; i++) c->batch *= first->dims[i];
  c->n_tensors = call->n_operands;
  for (int i = 0; i < call->n_operands; i++) {
    c->tensor[i].rank = call->operands[i]->type->rank;
    c->tensor[i].type = call->operands[i]->type->dtype;
    memcpy(c->tensor[i].dims, call->operands[i]->type->dims, sizeof c->tensor[i].dims);
  }
  for (int i = 0; i < ROUTINE_MOST_FLAGS && c->row->flags[i]; i++)
    c->flag[i] = ir_get_bool(op, c->row->flags[i], false);
  for (int i = 0; i < ROUTINE_MOST_WORDS && c->row->words[i]; i++)
    snprintf(c->word[i], sizeof c->word[i], "%s", ir_get_str(op, c->row->words[i], ""));
  for (int i = 0; i < ROUTINE_MOST_NUMBERS && c->row->numbers[i]; i++)
    c->number[i] = ir_get_int(op, c->row->numbers[i], 0);
  if (graph_space_of(op, &s)) c->flops = s.flops;
}

tsr_status routine_bind(tsr_program *p, const ir_op *call, routine_call **out) {
  const char *name = ir_get_str(call, "callee", "");
  const routine_row *row = find(name);
  const graph_row *known = graph_row_named(name);
  if (!row || !known)
    return ir_error(call, "ir.md names them at tessera.tile.routine", "no routine \"%s\"", name);
  char full[64] = "tessera.graph.";
  const ir_opdef *def = ir_find_op(strcat(full, row->name));
  const int n = call->n_operands - def->n_results;
  if (n < def->min_operands || n > def->max_operands)
    return ir_error(call, NULL, "%s takes %d to %d operands and has %d results, not %d in all", name, def->min_operands,
                    def->max_operands, def->n_results, call->n_operands);
  routine_call *c = *out = arena_new(&p->arena, routine_call);
  if (!c) return st_oom();
  *c = (routine_call){.row = row, .n_results = def->n_results, .dev = p->dev, .al = &p->ctx->al};
  ir_module *m;
  ir_op *op = NULL;
  tsr_status st = NULL;
  TSR_TRY(ir_module_create(&p->ctx->al, &m));
  TSR_GOTO(graph_op_of(m, call, def, &op));
  TSR_GOTO(check_results(call, op));
  fill(c, call, op);
done:
  if (st) st = ir_cause(m, NULL, st);
  ir_module_destroy(&m);
  return st;
}
