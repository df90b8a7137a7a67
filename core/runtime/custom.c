/* core/runtime/custom.c - users' own ops: registration, inference, and their CPU kernels. */
#include <string.h>

#include "core/ir/graph_ops.h"
#include "core/runtime/custom.h"

const rt_custom *rt_custom_find(const tsr_context *c, const char *name) {
  for (const rt_custom *x = c->custom; x; x = x->next)
    if (name && !strcmp(x->op.name, name)) return x;
  return NULL;
}

tsr_status tsr_custom_op_register(tsr_context *c, const tsr_custom_op *op) {
  if (!op->name || !*op->name || !op->infer || !op->cpu || op->n_operands < 0 || op->n_operands > RT_CUSTOM_OPERANDS)
    return RT_BAD(c, "custom_op_register", NULL, "needs a name, infer, cpu and 0 to %d operands", RT_CUSTOM_OPERANDS);
  if (rt_custom_find(c, op->name)) return RT_BAD(c, "custom_op_register", NULL, "\"%s\" is registered already", op->name);
  rt_custom *x = al_new(&c->al, rt_custom);
  if (!x) return st_oom();
  x->op = *op;
  x->name_bytes = strlen(op->name) + 1;
  char *name = al_alloc(&c->al, x->name_bytes, 16);
  if (!name) {
    al_delete(&c->al, x);
    return st_oom();
  }
  memcpy(name, op->name, x->name_bytes);
  x->op.name = name;
  x->op.tile_ir = NULL;
  pthread_mutex_lock(&c->lock);
  x->next = c->custom;
  c->custom = x;
  pthread_mutex_unlock(&c->lock);
  return NULL;
}

void rt_custom_clear(tsr_context *c) {
  for (rt_custom *x = c->custom, *next; x; x = next) {
    next = x->next;
    al_free(&c->al, (void *)(uintptr_t)x->op.name, x->name_bytes, 16);
    al_delete(&c->al, x);
  }
  c->custom = NULL;
}

static tsr_custom_tensor tensor_of(const ir_type *t) {
  tsr_custom_tensor x = {.dtype = t->dtype, .shape.rank = t->rank};
  memcpy(x.shape.dims, t->dims, sizeof x.shape.dims);
  return x;
}

tsr_status rt_custom_infer(tsr_graph *g, const char *name, ir_op *op, const ir_type **result, bool *found) {
  const rt_custom *x = rt_custom_find(g->ctx, name);
  *found = x != NULL;
  if (!x) return NULL;
  if (op->n_operands != x->op.n_operands) return ir_error(op, NULL, "%s takes %d operands, has %d", name, x->op.n_operands, op->n_operands);
  tsr_custom_tensor in[RT_CUSTOM_OPERANDS], out = {0};
  for (int i = 0; i < op->n_operands; i++) in[i] = tensor_of(op->operands[i]->type);
  char why[256] = "";
  if (!x->op.infer(x->op.user, in, op->n_operands, &out, why, sizeof why)) return st_make(&g->ctx->al, TSR_SHAPE_MISMATCH, ST_WHERE("graph", name, NULL), "%s", *why ? why : "the operands don't fit");
  if (!tsr_dtype_size(out.dtype) || out.shape.rank < 0 || out.shape.rank > TSR_MAX_RANK) return ir_error(op, NULL, "%s inferred an impossible type", name);
  *result = ir_type_tensor(g->m, out.dtype, out.shape.rank, out.shape.dims);
  return *result ? NULL : st_oom();
}

void rt_custom_run(const rt_custom *x, const ir_type *const *types, void *const *data) {
  tsr_custom_tensor t[RT_CUSTOM_OPERANDS + 1];
  int n = x->op.n_operands;
  for (int i = 0; i <= n; i++) {
    t[i] = tensor_of(types[i]);
    t[i].data = data[i];
  }
  x->op.cpu(x->op.user, t, n, &t[n], 0, t[n].shape.rank ? t[n].shape.dims[0] : 1);
}
