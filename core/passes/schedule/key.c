/* core/passes/schedule/key.c - see schedule/key.h. */
#include "core/passes/schedule/key.h"

#include <string.h>

static void put_word(strb *b, uint64_t v) { strb_put(b, (const char *)&v, sizeof v); }
static void put_pointer(strb *b, const void *p) { put_word(b, (uint64_t)(uintptr_t)p); }

static void put_string(strb *b, const char *s) {
  put_word(b, strlen(s));
  strb_puts(b, s);
}

static void put_attr(strb *b, const ir_attr *a) {
  put_word(b, (uint64_t)a->kind);
  switch (a->kind) {
  case IR_A_UNIT: return;
  case IR_A_STR: put_string(b, a->u.s); return;
  case IR_A_TYPE: put_pointer(b, a->u.type); return;
  case IR_A_ARRAY:
    put_word(b, (uint64_t)a->u.array.n);
    for (int i = 0; i < a->u.array.n; i++) put_attr(b, a->u.array.v[i]);
    return;
  case IR_A_DENSE:
    put_pointer(b, a->u.dense.type);
    put_word(b, a->u.dense.splat);
    put_word(b, a->u.dense.bytes);
    if (a->u.dense.file) put_pointer(b, a->u.dense.data);
    else strb_put(b, a->u.dense.data, a->u.dense.bytes);
    return;
  default: put_word(b, (uint64_t)a->u.i); /* FLOAT: its bits */
  }
}

static void put_attrs(strb *b, const ir_op *op, const char *but) {
  for (int i = 0; i < op->n_attrs; i++) {
    if (but && !strcmp(op->attrs[i].name, but)) continue;
    put_string(b, op->attrs[i].name);
    put_attr(b, op->attrs[i].attr);
  }
  put_word(b, UINT64_MAX);
}

static bool put_op(strb *b, const ir_op *op, int64_t *next) {
  if (op->n_regions) return false;
  put_pointer(b, op->def);
  put_word(b, (uint64_t)op->n_operands);
  for (int i = 0; i < op->n_operands; i++) put_word(b, (uint64_t)op->operands[i]->scratch);
  put_word(b, (uint64_t)op->n_results);
  for (int i = 0; i < op->n_results; i++) {
    op->results[i]->scratch = (*next)++;
    put_pointer(b, op->results[i]->type);
  }
  put_attrs(b, op, NULL);
  return true;
}

bool sched_key(const ir_op *kernel, strb *out) {
  const ir_block *r = kernel->regions[0];
  int64_t next = 0;
  out->n = 0;
  put_attrs(out, kernel, "sym_name");
  put_pointer(out, kernel->parent);
  put_word(out, (uint64_t)r->n_args);
  for (int i = 0; i < r->n_args; i++) {
    r->args[i]->scratch = next++;
    put_pointer(out, r->args[i]->type);
    put_word(out, sched_is_constant(kernel, r->args[i]));
  }
  for (const ir_op *o = r->first; o; o = o->next)
    if (!put_op(out, o, &next)) return false;
  return true;
}
