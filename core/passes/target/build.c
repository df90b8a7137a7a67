/* core/passes/target/build.c - see target/build.h. */
#include "core/passes/target/build.h"

#include <string.h>

#include "core/base/dtype.h"
#include "core/ir/target/fold.h"

#define NAME(s) "tessera.target." s

ir_op *tg_op(tgb *t, const char *name, const ir_type *result, int n, ir_value *const *v) {
  return ir_op_new(&t->b, ir_find_op(name), n, v, result ? 1 : 0, result ? &result : NULL, 0);
}

ir_value *tg_value(tgb *t, const char *name, const ir_type *result, int n, ir_value *const *v) {
  for (int i = 0; i < n && !t->b.failed; i++) /* the type may lack because they do */
    if (!v[i]) ir_lacks(t->m, name, "operand %d is missing", i), t->b.failed = true;
  ir_op *op = result ? tg_op(t, name, result, n, v) : ir_lacks(t->m, name, "the result has no type");
  if (!op) t->b.failed = true;
  return op ? op->results[0] : NULL;
}

static void set(tgb *t, ir_op *op, const char *name, ir_attr *a) {
  if (!op || !a || !ir_set_attr(op, name, a)) t->b.failed = true;
}
void tg_int(tgb *t, ir_op *op, const char *name, int64_t v) { set(t, op, name, ir_attr_int(t->m, v)); }
void tg_flag(tgb *t, ir_op *op, const char *name, bool v) { set(t, op, name, ir_attr_bool(t->m, v)); }
void tg_text(tgb *t, ir_op *op, const char *name, const char *v) { set(t, op, name, ir_attr_str(t->m, v)); }

ir_value *tg_index(tgb *t, int64_t v) {
  ir_value *r = tg_value(t, NAME("const"), ir_type_index(t->m), 0, NULL);
  if (r) tg_int(t, r->def, "value", v);
  return r;
}

ir_value *tg_number(tgb *t, tsr_dtype d, double v) {
  ir_value *r = tg_value(t, NAME("const"), tg_scalar_type(t, d), 0, NULL);
  if (r) set(t, r->def, "value", ir_attr_float(t->m, v));
  return r;
}

bool tg_value_of(const ir_op *op, tsr_dtype d, int64_t *i, double *f) {
  const ir_attr *a = ir_get_attr(op, "value");
  *i = 0, *f = ir_get_float(op, "value", 0);
  if (dtype_is_float(d)) return false;
  if (!a || a->kind != IR_A_INT) *i = dtype_whole(d, *f);
  else *i = d == TSR_BOOL ? a->u.i != 0 : dtype_wrap(d, a->u.i);
  return true;
}

ir_value *tg_constant(tgb *t, tsr_dtype d, const ir_op *op) {
  int64_t i;
  double f;
  if (!tg_value_of(op, d, &i, &f)) return tg_number(t, d, f);
  ir_value *r = tg_value(t, NAME("const"), tg_scalar_type(t, d), 0, NULL);
  if (r) set(t, r->def, "value", ir_attr_int(t->m, i));
  return r;
}

static ir_value *two(tgb *t, int code, ir_value *a, ir_value *b) {
  return tg_value(t, ir_row(IR_TARGET, (size_t)code)->name, a ? a->type : NULL, TG_V(a, b));
}

static ir_value *folded(tgb *t, int code, ir_value *a, ir_value *b) {
  const target_folded f = target_fold(code, a, b);
  switch (f.kind) {
  case FOLD_FIRST: return a;
  case FOLD_SECOND: return b;
  case FOLD_NUMBER: return tg_index(t, f.number);
  case FOLD_OTHER: return two(t, f.code, a, tg_index(t, f.number));
  default: return two(t, code, a, b);
  }
}

ir_value *tg_add(tgb *t, ir_value *a, ir_value *b) { return folded(t, SC_ADD, a, b); }
ir_value *tg_sub(tgb *t, ir_value *a, ir_value *b) { return folded(t, SC_SUB, a, b); }
ir_value *tg_mul(tgb *t, ir_value *a, ir_value *b) { return folded(t, SC_MUL, a, b); }
ir_value *tg_div(tgb *t, ir_value *a, ir_value *b) { return folded(t, SC_DIV, a, b); }
ir_value *tg_rem(tgb *t, ir_value *a, ir_value *b) { return folded(t, SC_REM, a, b); }
ir_value *tg_min(tgb *t, ir_value *a, ir_value *b) { return folded(t, SC_MIN, a, b); }
ir_value *tg_xor(tgb *t, ir_value *a, ir_value *b) { return folded(t, SC_XOR, a, b); }
ir_value *tg_addi(tgb *t, ir_value *a, int64_t k) { return tg_add(t, a, tg_index(t, k)); }
ir_value *tg_muli(tgb *t, ir_value *a, int64_t k) { return tg_mul(t, a, tg_index(t, k)); }
ir_value *tg_divi(tgb *t, ir_value *a, int64_t k) { return tg_div(t, a, tg_index(t, k)); }
ir_value *tg_remi(tgb *t, ir_value *a, int64_t k) { return tg_rem(t, a, tg_index(t, k)); }

ir_value *tg_compare(tgb *t, const char *predicate, ir_value *a, ir_value *b) {
  ir_value *r = tg_value(t, NAME("compare"), tg_scalar_type(t, TSR_BOOL), TG_V(a, b));
  if (r) tg_text(t, r->def, "predicate", predicate);
  return r;
}
ir_value *tg_select(tgb *t, ir_value *c, ir_value *a, ir_value *b) {
  return tg_value(t, NAME("select"), a ? a->type : NULL, TG_V(c, a, b));
}
ir_value *tg_cast(tgb *t, ir_value *v, tsr_dtype d) {
  if (v && v->type->kind == IR_T_SCALAR && v->type->dtype == d) return v;
  return tg_value(t, NAME("cast"), tg_scalar_type(t, d), TG_V(v));
}

const ir_type *tg_scalar_type(tgb *t, tsr_dtype d) {
  const ir_type *r = ir_type_scalar(t->m, d);
  if (!r) t->b.failed = true;
  return r;
}
static const ir_type *make_type(tgb *t, ir_type_kind kind, tsr_dtype d, int n, const char *use) {
  ir_type x = {.kind = kind, .dtype = d, .rank = n ? 1 : 0, .dims = {n}, .use = use};
  const ir_type *r = ir_type_get(t->m, &x);
  if (!r) t->b.failed = true;
  return r;
}
const ir_type *tg_vector_type(tgb *t, tsr_dtype d, int n) { return make_type(t, IR_T_VECTOR, d, n, NULL); }
const ir_type *tg_pointer_type(tgb *t, tsr_dtype d, const char *space) { return make_type(t, IR_T_PTR, d, 0, space); }

ir_value *tg_named(ir_value *v, const char *name) {
  if (v) v->name = name;
  return v;
}
ir_value *tg_local(tgb *t, tsr_dtype d, int n, const char *name) {
  return tg_named(tg_value(t, NAME("local"), make_type(t, IR_T_ARRAY, d, n, NULL), 0, NULL), name);
}
ir_value *tg_shared(tgb *t, tsr_dtype d, int64_t offset, const char *name) {
  ir_value *r = tg_value(t, NAME("shared"), tg_pointer_type(t, d, "shared"), 0, NULL);
  if (r) tg_int(t, r->def, "offset", offset);
  return tg_named(r, name);
}
ir_value *tg_get(tgb *t, ir_value *array, ir_value *at) {
  return tg_value(t, NAME("get"), array ? tg_scalar_type(t, array->type->dtype) : NULL, TG_V(array, at));
}
ir_value *tg_get_vector(tgb *t, ir_value *array, ir_value *at, int n) {
  return tg_value(t, NAME("get"), array ? tg_vector_type(t, array->type->dtype, n) : NULL, TG_V(array, at));
}
void tg_set(tgb *t, ir_value *v, ir_value *array, ir_value *at) { tg_op(t, NAME("set"), NULL, TG_V(v, array, at)); }
ir_value *tg_load(tgb *t, ir_value *p, ir_value *at, int n) {
  if (!p) return NULL;
  return tg_value(t, NAME("load"), n == 1 ? tg_scalar_type(t, p->type->dtype) : tg_vector_type(t, p->type->dtype, n),
                  TG_V(p, at));
}
void tg_store(tgb *t, ir_value *v, ir_value *p, ir_value *at) { tg_op(t, NAME("store"), NULL, TG_V(v, p, at)); }
ir_value *tg_extract(tgb *t, ir_value *v, int at) {
  if (!v || v->type->kind != IR_T_VECTOR) return v;
  ir_value *r = tg_value(t, NAME("extract"), tg_scalar_type(t, v->type->dtype), TG_V(v));
  if (r) tg_int(t, r->def, "at", at);
  return r;
}
ir_value *tg_vector(tgb *t, int n, ir_value *const *v) {
  if (n == 1) return v[0];
  return tg_value(t, NAME("vector"), v[0] ? tg_vector_type(t, v[0]->type->dtype, n) : NULL, n, v);
}
ir_value *tg_bitcast(tgb *t, ir_value *v, const ir_type *to) { return tg_value(t, NAME("bitcast"), to, TG_V(v)); }

ir_op *tg_for(tgb *t, ir_value *from, ir_value *to, ir_value *step, int n, ir_value *const *init, const char *name) {
  ir_value *v[3 + 16] = {from, to, step};
  const ir_type *types[16];
  for (int i = 0; i < n; i++) {
    v[3 + i] = init[i];
    types[i] = init[i] ? init[i]->type : NULL;
  }
  ir_op *op = ir_op_new(&t->b, ir_find_op(NAME("for")), 3 + n, v, n, types, 1);
  if (!op) return NULL;
  t->b = ir_at_end(t->m, op->regions[0]);
  if (!ir_block_arg(t->m, op->regions[0], ir_type_index(t->m), name)) t->b.failed = true;
  for (int i = 0; i < n && !t->b.failed; i++)
    if (!ir_block_arg(t->m, op->regions[0], types[i], init[i]->name)) t->b.failed = true;
  return op;
}
ir_value *tg_counter(ir_op *loop) { return loop && loop->regions[0]->n_args ? loop->regions[0]->args[0] : NULL; }
ir_value *tg_carried(ir_op *loop, int i) {
  return loop && loop->regions[0]->n_args > 1 + i ? loop->regions[0]->args[1 + i] : NULL;
}

ir_op *tg_unrolled(tgb *t, int64_t n, const char *name) {
  ir_op *op = tg_for(t, tg_index(t, 0), tg_index(t, n), tg_index(t, 1), 0, NULL, name);
  if (op) tg_flag(t, op, "unroll", true);
  return op;
}

ir_op *tg_if(tgb *t, ir_value *condition) {
  ir_op *op = ir_op_new(&t->b, ir_find_op(NAME("if")), 1, &condition, 0, NULL, 2);
  if (op) t->b = ir_at_end(t->m, op->regions[0]);
  return op;
}
void tg_else(tgb *t, ir_op *op) {
  tg_op(t, NAME("yield"), NULL, 0, NULL);
  bool failed = t->b.failed;
  if (op) t->b = ir_at_end(t->m, op->regions[1]);
  t->b.failed = failed;
}
void tg_end(tgb *t, ir_op *op, int n, ir_value *const *yields) {
  tg_op(t, NAME("yield"), NULL, n, yields);
  bool failed = t->b.failed;
  if (op) t->b = ir_at_end(t->m, op->parent);
  t->b.failed = failed || !op;
}
