/* core/emit/cpu/gen.c - see gen.h. */
#include "core/emit/cpu/gen.h"

int gen_push(gen *g, gen_table *t, const void *row) {
  char *v = t->v;
  if (g->oom || !al_grow(g->al, &v, &t->cap, t->n + 1, t->size)) {
    g->oom = true;
    return 0;
  }
  t->v = v;
  memcpy(v + t->n * t->size, row, t->size);
  return (int)t->n++;
}

int gen_instr(gen *g, cpu_opcode op, int n, const int *a, int64_t imm, int extra) {
  cpu_instr i = {.op = op, .extra = extra, .imm = imm};
  for (int k = 0; k < n; k++) i.a[k] = a[k];
  return gen_push(g, &g->instrs, &i);
}

int gen_ints(gen *g, const int64_t *v, int n) {
  int first = (int)g->extra.n;
  for (int i = 0; i < n; i++) gen_push(g, &g->extra, &v[i]);
  return first;
}

int gen_desc(gen *g, const ir_value *v) {
  const ir_type *t = v->type;
  cpu_desc d = {.kind = t->kind == IR_T_ARRAY ? CPU_D_TILE : CPU_D_VIEW, .dtype = t->dtype, .rank = t->rank};
  memcpy(d.dims, t->dims, sizeof d.dims);
  ir_type_strides(t, d.strides);
  if (d.kind == CPU_D_TILE) d.offset = ir_get_int(v->def, "offset", 0);
  else d.reg = (int32_t)v->scratch;
  return gen_push(g, &g->descs, &d);
}

int64_t gen_whole(const ir_op *op) {
  const ir_attr *a = ir_get_attr(op, "value");
  const ir_type *t = op->results[0]->type;
  const tsr_dtype type = t->kind == IR_T_INDEX ? TSR_I64 : t->dtype;
  union { uint64_t u; int64_t i; char c[8]; } one = {0};
  if (a && a->kind == IR_A_INT) return type == TSR_BOOL ? a->u.i != 0 : dtype_wrap(type, a->u.i);
  dtype_store(type, &one, 0, ir_get_float(op, "value", 0));
  return type == TSR_I64 ? one.i : (int64_t)dtype_load(type, &one, 0);
}

int gen_variant(const ir_op *op) {
  if (op->def->code == SC_NOT) return op->operands[0]->type->dtype == TSR_BOOL;
  return scalar_predicate(ir_get_str(op, "predicate", scalar_predicate_name(CMP_EQ)));
}
