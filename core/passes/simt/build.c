/* core/passes/simt/build.c - making Target IR: constant folding, small algebra, value numbering.
 * Pure ops that were made before and are still visible are not made again; `mark` and `forget` bracket a region. */
#include <assert.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/device/dialect.h"
#include "core/ir/tables.h"
#include "core/passes/simt/build.h"
#include "core/passes/simt/state.h"
#include "core/passes/target/build.h"

/* The rows by their codes; of several with one code the first. */
__attribute__((noinline)) static void find_defs(struct simt_impl *in) {
  const ir_rows *r;
  for (size_t g = 0; (r = target_ops(g)); g++)
    for (const ir_opdef *t = r->rows; t < r->rows + r->n; t++)
      if ((size_t)t->code < sizeof in->defs / sizeof *in->defs && !in->defs[t->code]) in->defs[t->code] = t;
}

static const ir_opdef *def_of(simt *c, int code) {
  const ir_opdef **slot = &c->in->defs[code];
  if (!*slot) find_defs(c->in);
  assert(*slot);
  return *slot;
}

static bool any_null(simt *c, int code, int n, ir_value *const *v) {
  for (int i = 0; i < n && !c->b.failed; i++)
    if (!v[i]) ir_lacks(c->m, def_of(c, code)->name, "operand %d is missing", i), c->b.failed = true;
  return c->b.failed;
}

/* ---- constants: once per kernel, before everything else ---------------------------------------------------------- */

static bool is_constant(const ir_value *v, const ir_type *type, bool is_int, int64_t i, double f) {
  const ir_attr *a = v->def->attrs[0].attr; /* its only one */
  return v->type == type && (a->kind == IR_A_INT) == is_int && (is_int ? a->u.i == i : !memcmp(&a->u.f, &f, sizeof f));
}

ir_value *sx_constant(simt *c, const ir_type *type, bool is_int, int64_t i, double f) {
  struct simt_impl *in = c->in;
  if (!type || c->b.failed) return NULL;
  union { double f; uint64_t bits; } value = {.f = f};
  uint64_t h = hash_word(HASH_SEED, (uint64_t)(uintptr_t)type);
  h = hash_word(h, is_int ? (uint64_t)i : value.bits) % SIMT_CONSTANT_BUCKETS;
  for (size_t k = in->constant_buckets[h]; k; k = in->constants[k - 1].below)
    if (is_constant(in->constants[k - 1].v, type, is_int, i, f)) return in->constants[k - 1].v;
  ir_builder b = c->anchor ? ir_before(c->anchor) : c->b;
  ir_op *op = ir_op_new(&b, def_of(c, TG_CONST), 0, NULL, 1, &type, 0);
  if (!op || !ir_set_attr(op, "value", is_int ? ir_attr_int(c->m, i) : ir_attr_float(c->m, f)) ||
      !al_grow(&c->m->arena.al, &in->constants, &in->cap_constants, in->n_constants + 1, sizeof *in->constants)) {
    c->b.failed = true;
    return NULL;
  }
  in->constants[in->n_constants] = (simt_known){h, op->results[0], in->constant_buckets[h]};
  in->constant_buckets[h] = (uint32_t)++in->n_constants;
  return op->results[0];
}

ir_value *sx_int(simt *c, int64_t v) { return sx_constant(c, ir_type_index(c->m), true, v, 0); }

ir_value *sx_num(simt *c, tsr_dtype t, double v) {
  const ir_type *type = ir_type_scalar(c->m, t);
  if (dtype_is_float(t)) return sx_constant(c, type, false, 0, v);
  return sx_constant(c, type, true, dtype_whole(t, v), 0); /* infinities: the identities of min and max */
}

ir_value *sx_value(simt *c, tsr_dtype t, const ir_op *op) {
  int64_t i;
  double f;
  const bool is_int = tg_value_of(op, t, &i, &f);
  return sx_constant(c, ir_type_scalar(c->m, t), is_int, i, is_int ? 0 : f);
}

/* ---- value numbering --------------------------------------------------------------------------------------------- */

size_t sx_mark(const simt *c) { return c->in->n_known; }

static void sx_forget(simt *c, size_t mark) {
  struct simt_impl *in = c->in;
  while (in->n_known > mark) {
    const simt_known *k = &in->known[--in->n_known];
    in->buckets[k->hash % SIMT_BUCKETS] = k->below;
  }
}

static uint64_t hash_op(int code, const ir_type *type, const char *predicate, int n, ir_value *const *v) {
  uint64_t h = hash_word(hash_word(HASH_SEED, (uint64_t)code), (uint64_t)(uintptr_t)type);
  for (int i = 0; i < n; i++) h = hash_word(h, (uint64_t)(uintptr_t)v[i]);
  return hash_mix(predicate ? hash_str(h, predicate) : h);
}

static bool is_same(const ir_op *op, int code, const ir_type *type, const char *predicate, int n, ir_value *const *v) {
  if (op->def->code != code || op->n_operands != n || op->results[0]->type != type) return false;
  for (int i = 0; i < n; i++)
    if (op->operands[i] != v[i]) return false;
  return !predicate || !strcmp(predicate, ir_get_str(op, "predicate", ""));
}

static ir_value *find_known(simt *c, uint64_t h, int code, const ir_type *type, const char *predicate, int n,
                            ir_value *const *v) {
  struct simt_impl *in = c->in;
  for (size_t i = in->buckets[h % SIMT_BUCKETS]; i; i = in->known[i - 1].below)
    if (in->known[i - 1].hash == h && is_same(in->known[i - 1].v->def, code, type, predicate, n, v))
      return in->known[i - 1].v;
  return NULL;
}

ir_value *sx_numbered(simt *c, int code, const ir_type *type, const char *predicate, int n, ir_value *const *v) {
  struct simt_impl *in = c->in;
  uint64_t h = hash_op(code, type, predicate, n, v);
  ir_value *old = find_known(c, h, code, type, predicate, n, v);
  if (old) return old;
  ir_op *op = ir_op_new(&c->b, def_of(c, code), n, v, 1, &type, 0);
  if (!op) return NULL;
  if (predicate && !ir_set_attr(op, "predicate", ir_attr_str(c->m, predicate))) c->b.failed = true;
  if (!al_grow(&c->m->arena.al, &in->known, &in->cap_known, in->n_known + 1, sizeof *in->known)) {
    c->b.failed = true;
    return NULL;
  }
  in->known[in->n_known] = (simt_known){h, op->results[0], in->buckets[h % SIMT_BUCKETS]};
  in->buckets[h % SIMT_BUCKETS] = (uint32_t)++in->n_known;
  return op->results[0];
}

ir_value *sx_op(simt *c, int code, const ir_type *type, int n, ir_value *const *v) {
  if (any_null(c, code, n, v)) return NULL;
  const ir_opdef *def = def_of(c, code);
  if (!type) type = v[code == SC_SELECT ? 1 : 0]->type;
  if (def->flags & (IR_SCALAR | IR_POSITION)) return sx_numbered(c, code, type, NULL, n, v);
  ir_op *op = ir_op_new(&c->b, def, n, v, 1, &type, 0);
  return op ? op->results[0] : NULL;
}

ir_op *sx_effect(simt *c, int code, int n, ir_value *const *v) {
  if (any_null(c, code, n, v)) return NULL;
  return ir_op_new(&c->b, def_of(c, code), n, v, 0, NULL, 0);
}

/* ---- index algebra ----------------------------------------------------------------------------------------------- */

static ir_value *two(simt *c, int code, ir_value *a, ir_value *b) {
  return sx_op(c, code, NULL, 2, (ir_value *[]){a, b});
}
static bool is_index_op(const ir_value *v, int code) {
  return v->def && v->def->def->level == IR_TARGET && v->def->def->code == code && v->type->kind == IR_T_INDEX;
}

/* NULL: it is the operation itself. */
static ir_value *folded(simt *c, int code, ir_value *a, ir_value *b) {
  const target_folded f = target_fold(code, a, b);
  switch (f.kind) {
  case FOLD_FIRST: return a;
  case FOLD_SECOND: return b;
  case FOLD_NUMBER: return sx_int(c, f.number);
  case FOLD_OTHER: return two(c, f.code, a, sx_int(c, f.number));
  default: return NULL;
  }
}

static ir_value *simple(simt *c, int code, ir_value *a, ir_value *b) {
  if (any_null(c, code, 2, (ir_value *[]){a, b})) return NULL;
  ir_value *v = folded(c, code, a, b);
  return v ? v : two(c, code, a, b);
}

ir_value *sx_add(simt *c, ir_value *a, ir_value *b) {
  int64_t x, y, z;
  ir_value *v;
  if (any_null(c, SC_ADD, 2, (ir_value *[]){a, b})) return NULL;
  if ((v = folded(c, SC_ADD, a, b))) return v;
  if (sx_const(a, &x)) return sx_add(c, b, a);
  if (sx_const(b, &y)) {
    if (is_index_op(a, SC_ADD) && sx_const(a->def->operands[1], &z))
      return sx_add(c, a->def->operands[0], sx_int(c, wrap_add(y, z)));
    return two(c, SC_ADD, a, b);
  }
  /* Constants float to the end: (a + k) + b = (a + b) + k. */
  if (is_index_op(a, SC_ADD) && sx_const(a->def->operands[1], &z))
    return sx_add(c, sx_add(c, a->def->operands[0], b), sx_int(c, z));
  if (is_index_op(b, SC_ADD) && sx_const(b->def->operands[1], &z))
    return sx_add(c, sx_add(c, a, b->def->operands[0]), sx_int(c, z));
  return two(c, SC_ADD, a, b);
}

ir_value *sx_sub(simt *c, ir_value *a, ir_value *b) {
  int64_t y;
  ir_value *v;
  if (any_null(c, SC_SUB, 2, (ir_value *[]){a, b})) return NULL;
  if (a == b && a->type->kind == IR_T_INDEX) return sx_int(c, 0);
  if ((v = folded(c, SC_SUB, a, b))) return v;
  return sx_const(b, &y) ? sx_add(c, a, sx_int(c, wrap_sub(0, y))) : two(c, SC_SUB, a, b);
}

ir_value *sx_mul(simt *c, ir_value *a, ir_value *b) {
  int64_t x, y, z;
  ir_value *v;
  if (any_null(c, SC_MUL, 2, (ir_value *[]){a, b})) return NULL;
  if ((v = folded(c, SC_MUL, a, b))) return v;
  if (sx_const(a, &x)) return sx_mul(c, b, a);
  if (sx_const(b, &y)) {
    if (is_index_op(a, SC_ADD) && sx_const(a->def->operands[1], &z))
      return sx_add(c, sx_mul(c, a->def->operands[0], b), sx_int(c, wrap_mul(y, z)));
    if (is_index_op(a, SC_MUL) && sx_const(a->def->operands[1], &z))
      return sx_mul(c, a->def->operands[0], sx_int(c, wrap_mul(y, z)));
  }
  return two(c, SC_MUL, a, b);
}

ir_value *sx_div(simt *c, ir_value *a, ir_value *b) { return simple(c, SC_DIV, a, b); }
ir_value *sx_rem(simt *c, ir_value *a, ir_value *b) { return simple(c, SC_REM, a, b); }
ir_value *sx_min(simt *c, ir_value *a, ir_value *b) { return a && a == b ? a : simple(c, SC_MIN, a, b); }

ir_value *sx_addi(simt *c, ir_value *a, int64_t k) { return k ? sx_add(c, a, sx_int(c, k)) : a; }
ir_value *sx_muli(simt *c, ir_value *a, int64_t k) { return sx_mul(c, a, sx_int(c, k)); }

static bool holds(const char *p, int64_t x, int64_t y) {
  switch (p[0] << 8 | p[1]) {
  case 'e' << 8 | 'q': return x == y;
  case 'n' << 8 | 'e': return x != y;
  case 'l' << 8 | 't': return x < y;
  case 'l' << 8 | 'e': return x <= y;
  case 'g' << 8 | 't': return x > y;
  default: return x >= y;
  }
}

ir_value *sx_compare(simt *c, const char *predicate, ir_value *a, ir_value *b) {
  int64_t x, y, z;
  if (any_null(c, SC_COMPARE, 2, (ir_value *[]){a, b})) return NULL;
  if (sx_const(a, &x) && sx_const(b, &y)) return sx_num(c, TSR_BOOL, holds(predicate, x, y));
  /* a + k < const: compare a alone, so that unrolled elements share their left side. */
  if (is_index_op(a, SC_ADD) && sx_const(a->def->operands[1], &z) && sx_const(b, &y) &&
      !__builtin_sub_overflow(y, z, &x))
    return sx_compare(c, predicate, a->def->operands[0], sx_int(c, x));
  return sx_numbered(c, SC_COMPARE, ir_type_scalar(c->m, TSR_BOOL), predicate, 2, (ir_value *[]){a, b});
}

/* 1 or 0 for a constant bool, else -1. */
static int known_bool(const ir_value *v) {
  if (!v || !v->def || v->def->def->code != TG_CONST || v->type->kind != IR_T_SCALAR || v->type->dtype != TSR_BOOL)
    return -1;
  return ir_get_int(v->def, "value", 0) != 0;
}

ir_value *sx_all(simt *c, ir_value *a, ir_value *b) {
  if (!a || known_bool(a) == 1) return b ? b : a;
  if (!b || a == b || known_bool(b) == 1) return a;
  if (!known_bool(a)) return a;
  if (!known_bool(b)) return b;
  return two(c, SC_AND, a, b);
}

ir_value *sx_select(simt *c, ir_value *cond, ir_value *a, ir_value *b) {
  if (a && a == b) return a;
  if (known_bool(cond) >= 0) return known_bool(cond) ? a : b;
  return sx_op(c, SC_SELECT, NULL, 3, (ir_value *[]){cond, a, b});
}

/* ---- values ----------------------------------------------------------------------------------------------------- */

ir_value *sx_cast(simt *c, ir_value *v, tsr_dtype t) {
  if (any_null(c, SC_CAST, 1, &v) || (v->type->kind != IR_T_INDEX && v->type->dtype == t)) return v;
  const ir_type *type = v->type->kind == IR_T_VECTOR
                            ? ir_type_shaped(c->m, IR_T_VECTOR, t, v->type->rank, v->type->dims)
                            : ir_type_scalar(c->m, t);
  return sx_op(c, SC_CAST, type, 1, &v);
}

ir_value *sx_fma(simt *c, ir_value *a, ir_value *b, ir_value *acc) {
  if (any_null(c, SC_FMA, 3, (ir_value *[]){a, b, acc})) return NULL;
  if (dtype_is_float(acc->type->dtype)) return sx_op(c, SC_FMA, acc->type, 3, (ir_value *[]){a, b, acc});
  return two(c, SC_ADD, acc, two(c, SC_MUL, a, b));
}

ir_value *sx_extract(simt *c, ir_value *v, int at) {
  if (any_null(c, TG_EXTRACT, 1, &v)) return NULL;
  if (v->type->kind != IR_T_VECTOR) return v;
  if (v->def && v->def->def->code == TG_VECTOR && v->def->def->level == IR_TARGET) return v->def->operands[at];
  const ir_type *type = ir_type_scalar(c->m, v->type->dtype);
  ir_op *op = type ? ir_op_new(&c->b, def_of(c, TG_EXTRACT), 1, &v, 1, &type, 0) : NULL;
  if (!op || !ir_set_attr(op, "at", ir_attr_int(c->m, at))) {
    c->b.failed = true;
    return NULL;
  }
  return op->results[0];
}

/* The vector that v[0] to v[n - 1] are the elements of, in order; NULL if they aren't. */
static ir_value *source_vector(int n, ir_value *const *v) {
  ir_value *from = NULL;
  for (int i = 0; i < n; i++) {
    const ir_op *op = v[i]->def;
    if (!op || op->def->level != IR_TARGET || op->def->code != TG_EXTRACT || ir_get_int(op, "at", -1) != i ||
        (from && op->operands[0] != from))
      return NULL;
    from = op->operands[0];
  }
  return from && from->type->dims[0] == n ? from : NULL;
}

ir_value *sx_vector(simt *c, int n, ir_value *const *v) {
  int64_t dim = n;
  if (any_null(c, TG_VECTOR, n, v)) return NULL;
  ir_value *whole = n > 1 && dialect_of(c->caps)->moves_freely ? source_vector(n, v) : NULL;
  if (whole) return whole;
  return n == 1 ? v[0] : sx_op(c, TG_VECTOR, ir_type_shaped(c->m, IR_T_VECTOR, v[0]->type->dtype, 1, &dim), n, v);
}

int sx_together(const simt *c, int n, int w) { return dialect_of(c->caps)->moves_freely && n % w == 0 ? w : 1; }

const ir_type *sx_pack_type(simt *c, tsr_dtype t, int w) {
  int64_t dim = w;
  return w == 1 ? ir_type_scalar(c->m, t) : ir_type_shaped(c->m, IR_T_VECTOR, t, 1, &dim);
}

void sx_pack(simt *c, int n, int w, ir_value *const *v, ir_value **out) {
  for (int i = 0; i < n; i += w) out[i / w] = sx_vector(c, w, v + i);
}

void sx_unpack(simt *c, int n, int w, ir_value *const *v, ir_value **out) {
  for (int i = 0; i < n; i++) out[i] = sx_extract(c, v[i / w], i % w);
}

/* ---- regions --------------------------------------------------------------------------------------------------- */

ir_op *sx_if(simt *c, ir_value *cond, int n, const ir_type *const *types, bool with_else) {
  if (any_null(c, TG_IF, 1, &cond)) return NULL;
  ir_op *op = ir_op_new(&c->b, def_of(c, TG_IF), 1, &cond, n, types, with_else ? 2 : 1);
  if (!op) return NULL;
  op->scratch = (int64_t)sx_mark(c);
  c->b = ir_at_end(c->m, op->regions[0]);
  return op;
}

void sx_else(simt *c, ir_op *op, int n, ir_value *const *yields) {
  sx_effect(c, TG_YIELD, n, yields);
  bool failed = c->b.failed;
  if (!op) return;
  sx_forget(c, (size_t)op->scratch);
  c->b = ir_at_end(c->m, op->regions[1]);
  c->b.failed = failed;
}

void sx_close(simt *c, ir_op *op, int n, ir_value *const *yields) {
  sx_effect(c, TG_YIELD, n, yields);
  bool failed = c->b.failed;
  if (!op) return;
  sx_forget(c, (size_t)op->scratch);
  c->b = ir_at_end(c->m, op->parent);
  c->b.failed = failed;
}
