/* core/ir/ir.c - modules, types, attributes and the builder; see ir.h. */
#include "core/ir/ir.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/dtype.h"
#include "core/base/hash.h"
#include "core/ir/tables.h"

static const char *const level_names[IR_N_LEVELS] = {"builtin", "graph", "schedule", "tile", "target"};
const char *ir_level_name(ir_level l) { return (unsigned)l < IR_N_LEVELS ? level_names[l] : "?"; }

const ir_opdef *ir_table(ir_level l, size_t *n) {
  switch (l) {
  case IR_BUILTIN: return builtin_ops(n);
  case IR_GRAPH: return graph_ops(n);
  case IR_SCHEDULE: return schedule_ops(n);
  case IR_TILE: return tile_ops(n);
  case IR_TARGET: return target_ops(n);
  default: *n = 0; return NULL;
  }
}

const ir_opdef *ir_find_op(const char *name) {
  for (int l = 0; l < IR_N_LEVELS; l++) {
    size_t n;
    const ir_opdef *t = ir_table((ir_level)l, &n);
    for (size_t i = 0; i < n; i++)
      if (!strcmp(t[i].name, name)) return &t[i];
  }
  return NULL;
}

/* ---- module ---------------------------------------------------------------------------------------------------- */

tsr_status ir_module_create(const tsr_allocator *al, ir_module **out) {
  *out = NULL;
  ir_module *m = al_new(al, ir_module);
  if (!m) return st_oom();
  arena_init(&m->arena, al);
  ir_builder b = {m, NULL, NULL, false};
  m->root = ir_op_new(&b, ir_find_op("builtin.module"), 0, NULL, 0, NULL, 1);
  if (!m->root) {
    ir_module_destroy(&m);
    return st_oom();
  }
  *out = m;
  return NULL;
}

void ir_module_destroy(ir_module **m) {
  if (!*m) return;
  tsr_allocator al = (*m)->arena.al;
  tsr_status_free((*m)->refusal);
  al_free_array(&al, (*m)->types, (*m)->cap_types);
  arena_clear(&(*m)->arena);
  al_delete(&al, *m);
  *m = NULL;
}

/* ---- types ----------------------------------------------------------------------------------------------------- */

static bool same_str(const char *a, const char *b) { return a == b || (a && b && !strcmp(a, b)); }

static bool same_type(const ir_type *a, const ir_type *b) {
  if (a->kind != b->kind || a->dtype != b->dtype || a->rank != b->rank || a->has_strides != b->has_strides ||
      a->offset != b->offset || a->pad != b->pad || !same_str(a->use, b->use))
    return false;
  for (int i = 0; i < a->rank; i++)
    if (a->dims[i] != b->dims[i] || (a->has_strides && a->strides[i] != b->strides[i])) return false;
  return true;
}

static uint64_t hash_type(const ir_type *t) {
  uint64_t h = hash_u64(hash_u64(HASH_SEED, (uint64_t)t->kind << 32 | (uint64_t)t->dtype), (uint64_t)t->rank);
  for (int i = 0; i < t->rank; i++)
    h = hash_u64(hash_u64(h, (uint64_t)t->dims[i]), t->has_strides ? (uint64_t)t->strides[i] : 0);
  h = hash_u64(hash_u64(h, (uint64_t)t->offset), (uint64_t)t->pad);
  return hash_mix(t->use ? hash_str(h, t->use) : h);
}

/* The place of t in the module's table, or the empty one where it belongs. */
static ir_type **type_place(ir_type **table, size_t cap, const ir_type *t) {
  size_t at = (size_t)hash_type(t) & (cap - 1);
  while (table[at] && !same_type(table[at], t)) at = (at + 1) & (cap - 1);
  return &table[at];
}

static bool grow_types(ir_module *m) {
  size_t cap = m->cap_types ? 2 * m->cap_types : 32;
  ir_type **table = al_zalloc(&m->arena.al, cap * sizeof *table);
  if (!table) return false;
  for (size_t i = 0; i < m->cap_types; i++)
    if (m->types[i]) *type_place(table, cap, m->types[i]) = m->types[i];
  al_free_array(&m->arena.al, m->types, m->cap_types);
  m->types = table;
  m->cap_types = cap;
  return true;
}

const ir_type *ir_type_get(ir_module *m, const ir_type *t) {
  if (2 * (m->n_types + 1) > m->cap_types && !grow_types(m)) return NULL;
  ir_type **place = type_place(m->types, m->cap_types, t);
  if (*place) return *place;
  ir_type *c = arena_dup(&m->arena, t, sizeof *t);
  if (!c) return NULL;
  if (t->use && !(c->use = arena_str(&m->arena, t->use))) return NULL;
  m->n_types++;
  return *place = c;
}

const ir_type *ir_type_index(ir_module *m) { return ir_type_get(m, &(ir_type){.kind = IR_T_INDEX}); }

const ir_type *ir_type_scalar(ir_module *m, tsr_dtype t) {
  return ir_type_get(m, &(ir_type){.kind = IR_T_SCALAR, .dtype = t});
}

const ir_type *ir_type_shaped(ir_module *m, ir_type_kind kind, tsr_dtype t, int rank, const int64_t *dims) {
  assert(rank <= TSR_MAX_RANK);
  ir_type x = {.kind = kind, .dtype = t, .rank = rank};
  memcpy(x.dims, dims, sizeof *dims * (size_t)rank);
  return ir_type_get(m, &x);
}

static void put_types(strb *b, const ir_type *const *types, int n) {
  strb_putc(b, '(');
  for (int i = 0; i < n; i++) {
    if (i) strb_puts(b, ", ");
    ir_type_print(b, types[i]);
  }
  strb_putc(b, ')');
}

const ir_type *ir_type_function(ir_module *m, const ir_type *const *in, int n_in, const ir_type *const *out,
                                int n_out) {
  strb b;
  strb_init(&b, &m->arena.al);
  put_types(&b, in, n_in);
  strb_puts(&b, " -> ");
  if (n_out == 1 && out[0]->kind != IR_T_FUNCTION) ir_type_print(&b, out[0]);
  else put_types(&b, out, n_out);
  const ir_type *t = b.failed ? NULL : ir_type_get(m, &(ir_type){.kind = IR_T_FUNCTION, .use = strb_text(&b)});
  strb_clear(&b);
  return t;
}

int64_t ir_type_count(const ir_type *t) {
  int64_t n = 1;
  bool dynamic = false, empty = false;
  for (int i = 0; i < t->rank; i++) {
    if (t->dims[i] == IR_DYNAMIC) dynamic = true;
    else if (t->dims[i] == 0) empty = true;
    else if (__builtin_mul_overflow(n, t->dims[i], &n)) return -1;
  }
  return dynamic ? IR_DYNAMIC : empty ? 0 : n;
}

/* A dimension without elements looks like any other to strides. */
static int64_t extent(const ir_type *t, int i) { return t->dims[i] == IR_DYNAMIC || t->dims[i] == 0 ? 1 : t->dims[i]; }

bool ir_type_fits(const ir_type *t) {
  int64_t n = 1;
  for (int i = t->rank - 1; i >= 0; i--)
    if (t->dims[i] < 0 ? t->dims[i] != IR_DYNAMIC
                       : __builtin_mul_overflow(n, extent(t, i), &n) ||
                             (i == t->rank - 1 && __builtin_add_overflow(n, t->pad, &n)))
      return false;
  return !ir_type_is_shaped(t) || !__builtin_mul_overflow(n, (int64_t)tsr_dtype_size(t->dtype), &n);
}

void ir_type_strides(const ir_type *t, int64_t *strides) {
  uint64_t s = 1; /* wraps for types that don't fit */
  for (int i = t->rank - 1; i >= 0; i--) {
    strides[i] = t->has_strides ? t->strides[i] : (int64_t)s;
    s *= (uint64_t)extent(t, i);
    if (i == t->rank - 1) s += (uint64_t)t->pad;
  }
}

/* ---- attributes ------------------------------------------------------------------------------------------------ */

static ir_attr *attr_new(ir_module *m, ir_attr_kind kind) {
  ir_attr *a = arena_new(&m->arena, ir_attr);
  if (a) a->kind = kind;
  return a;
}

ir_attr *ir_attr_int(ir_module *m, int64_t v) {
  ir_attr *a = attr_new(m, IR_A_INT);
  if (a) a->u.i = v;
  return a;
}

ir_attr *ir_attr_bool(ir_module *m, bool v) {
  ir_attr *a = attr_new(m, IR_A_BOOL);
  if (a) a->u.i = v;
  return a;
}

ir_attr *ir_attr_float(ir_module *m, double v) {
  ir_attr *a = attr_new(m, IR_A_FLOAT);
  if (a) a->u.f = v;
  return a;
}

ir_attr *ir_attr_str(ir_module *m, const char *s) {
  ir_attr *a = attr_new(m, IR_A_STR);
  return a && (a->u.s = arena_str(&m->arena, s)) ? a : NULL;
}

ir_attr *ir_attr_type(ir_module *m, const ir_type *t) {
  ir_attr *a = attr_new(m, IR_A_TYPE);
  if (a) a->u.type = t;
  return a;
}

ir_attr *ir_attr_ints(ir_module *m, const int64_t *v, int n) {
  ir_attr *a = attr_new(m, IR_A_ARRAY);
  if (!a || !(a->u.array.v = arena_array(&m->arena, ir_attr *, n))) return NULL;
  a->u.array.n = n;
  for (int i = 0; i < n; i++)
    if (!(a->u.array.v[i] = ir_attr_int(m, v[i]))) return NULL;
  return a;
}

ir_attr *ir_attr_dense(ir_module *m, const ir_type *t, const void *data, size_t bytes, bool splat) {
  ir_attr *a = attr_new(m, IR_A_DENSE);
  if (!a || !(a->u.dense.data = arena_dup(&m->arena, data, bytes))) return NULL;
  a->u.dense.type = t;
  a->u.dense.bytes = bytes;
  a->u.dense.splat = splat;
  return a;
}

bool ir_set_attr(ir_op *op, const char *name, ir_attr *a) {
  if (!a) return false;
  for (int i = 0; i < op->n_attrs; i++)
    if (!strcmp(op->attrs[i].name, name)) {
      op->attrs[i].attr = a;
      return true;
    }
  arena *ar = &op->module->arena;
  ir_named_attr *v = arena_array(ar, ir_named_attr, op->n_attrs + 1);
  char *copy = arena_str(ar, name);
  if (!v || !copy) return false;
  if (op->n_attrs) memcpy(v, op->attrs, sizeof *v * (size_t)op->n_attrs);
  v[op->n_attrs++] = (ir_named_attr){copy, a};
  op->attrs = v;
  return true;
}

ir_attr *ir_get_attr(const ir_op *op, const char *name) {
  for (int i = 0; i < op->n_attrs; i++)
    if (!strcmp(op->attrs[i].name, name)) return op->attrs[i].attr;
  return NULL;
}

static const char *default_of(const ir_op *op, const char *name) {
  for (const ir_attr_def *d = op->def->attrs; d && d->name; d++)
    if (!strcmp(d->name, name)) return d->dflt;
  return NULL;
}

int64_t ir_get_int(const ir_op *op, const char *name, int64_t dflt) {
  const ir_attr *a = ir_get_attr(op, name);
  if (a && (a->kind == IR_A_INT || a->kind == IR_A_BOOL)) return a->u.i;
  const char *d = default_of(op, name);
  return d ? strtoll(d, NULL, 10) : dflt;
}

double ir_get_float(const ir_op *op, const char *name, double dflt) {
  const ir_attr *a = ir_get_attr(op, name);
  if (a && a->kind == IR_A_FLOAT) return a->u.f;
  if (a && a->kind == IR_A_INT) return (double)a->u.i;
  const char *d = default_of(op, name);
  return d ? strtod(d, NULL) : dflt;
}

bool ir_get_bool(const ir_op *op, const char *name, bool dflt) {
  const ir_attr *a = ir_get_attr(op, name);
  if (a && a->kind == IR_A_UNIT) return true;
  if (a && (a->kind == IR_A_INT || a->kind == IR_A_BOOL)) return a->u.i != 0;
  const char *d = default_of(op, name);
  return d ? !strcmp(d, "true") : dflt;
}

const char *ir_get_str(const ir_op *op, const char *name, const char *dflt) {
  const ir_attr *a = ir_get_attr(op, name);
  if (a && a->kind == IR_A_STR) return a->u.s;
  const char *d = default_of(op, name);
  return d ? d : dflt;
}

int ir_get_ints(const ir_op *op, const char *name, int64_t *v, int cap) {
  const ir_attr *a = ir_get_attr(op, name);
  if (!a) return 0;
  if (a->kind != IR_A_ARRAY) return -1;
  for (int i = 0; i < a->u.array.n; i++) {
    if (a->u.array.v[i]->kind != IR_A_INT) return -1;
    if (i < cap) v[i] = a->u.array.v[i]->u.i;
  }
  return a->u.array.n;
}

/* ---- builder --------------------------------------------------------------------------------------------------- */

static void link_op(ir_builder *b, ir_op *op) {
  op->parent = b->block;
  if (!b->block) return;
  ir_op *next = b->before, *prev = next ? next->prev : b->block->last;
  op->prev = prev;
  op->next = next;
  *(prev ? &prev->next : &b->block->first) = op;
  *(next ? &next->prev : &b->block->last) = op;
}

void ir_refuse(ir_module *m, tsr_status why) {
  if (m->refusal || tsr_status_code(why) == TSR_OUT_OF_MEMORY) tsr_status_free(why);
  else m->refusal = why;
}

tsr_status ir_cause(ir_module *m, tsr_status st) {
  if (!m->refusal || tsr_status_code(st) != TSR_OUT_OF_MEMORY) return st;
  tsr_status_free(st);
  st = st_make(&m->arena.al, TSR_INTERNAL, ST_WHERE(NULL, NULL, "please report it with the program"),
               "a pass built what can't be: %s", tsr_status_message(m->refusal));
  tsr_status_free(m->refusal);
  m->refusal = NULL;
  return st;
}

static ir_loc place(const ir_builder *b) {
  if (b->loc.line) return b->loc;
  const ir_op *near = b->before ? b->before : b->block ? b->block->parent : NULL;
  return near ? near->loc : (ir_loc){0};
}

ir_op *ir_op_new(ir_builder *b, const ir_opdef *def, int n_operands, ir_value *const *operands, int n_results,
                 const ir_type *const *result_types, int n_regions) {
  arena *a = &b->m->arena;
  ir_op *op = b->failed ? NULL : arena_new(a, ir_op);
  if (!op) goto oom;
  op->def = def;
  op->module = b->m;
  op->n_operands = n_operands;
  op->n_results = n_results;
  op->n_regions = n_regions;
  op->loc = place(b);
  if (n_operands && !(op->operands = arena_dup(a, operands, sizeof *operands * (size_t)n_operands))) goto oom;
  if (n_results && !(op->results = arena_array(a, ir_value *, n_results))) goto oom;
  for (int i = 0; i < n_results; i++) {
    ir_value *v = op->results[i] = arena_new(a, ir_value);
    if (!v) goto oom;
    *v = (ir_value){.type = result_types ? result_types[i] : NULL, .def = op, .index = i};
  }
  if (n_regions && !(op->regions = arena_array(a, ir_block *, n_regions))) goto oom;
  for (int i = 0; i < n_regions; i++) {
    if (!(op->regions[i] = arena_new(a, ir_block))) goto oom;
    op->regions[i]->parent = op;
  }
  for (int i = 0; i < n_operands; i++) operands[i]->n_uses++;
  link_op(b, op);
  return op;
oom:
  b->failed = true;
  return NULL;
}

ir_value *ir_build1(ir_builder *b, const char *name, const ir_type *type, int n_operands, ir_value *const *operands) {
  const ir_opdef *def = ir_find_op(name);
  assert(def);
  for (int i = 0; i < n_operands; i++)
    if (!operands[i]) b->failed = true;
  ir_op *op = ir_op_new(b, def, n_operands, operands, 1, &type, 0);
  if (!op) return NULL;
  if (!type && def->infer) {
    tsr_status st = def->infer(op, &type);
    if (st) {
      ir_refuse(b->m, st);
      b->failed = true;
      return NULL;
    }
    op->results[0]->type = type;
  }
  if (op->results[0]->type) return op->results[0];
  b->failed = true; /* there was no memory for it */
  return NULL;
}

ir_op *ir_build0(ir_builder *b, const char *name, int n_operands, ir_value *const *operands) {
  const ir_opdef *def = ir_find_op(name);
  assert(def);
  for (int i = 0; i < n_operands; i++)
    if (!operands[i]) b->failed = true;
  return ir_op_new(b, def, n_operands, operands, 0, NULL, def->n_regions > 0 ? def->n_regions : 0);
}

/* Room for one more value behind n in an array of the module; the old array stays the arena's. */
static ir_value **grown(ir_module *m, ir_value **v, int n, int *cap) {
  if (n < *cap) return v;
  int more = n < 4 ? 4 : 2 * n;
  ir_value **w = arena_array(&m->arena, ir_value *, more);
  if (!w) return NULL;
  if (n) memcpy(w, v, sizeof *w * (size_t)n);
  *cap = more;
  return w;
}

ir_value *ir_block_arg(ir_module *m, ir_block *b, const ir_type *type, const char *name) {
  if (!type) return NULL; /* there was no memory for it */
  ir_value **v = grown(m, b->args, b->n_args, &b->cap_args);
  ir_value *a = arena_new(&m->arena, ir_value);
  if (v) b->args = v;
  if (!v || !a) return NULL;
  *a = (ir_value){.type = type, .owner = b, .index = b->n_args};
  if (name && !(a->name = arena_str(&m->arena, name))) return NULL;
  v[b->n_args++] = a;
  return a;
}

ir_value *ir_block_arg_like(ir_module *m, ir_block *b, const ir_type *type, const ir_value *like) {
  ir_value *v = ir_block_arg(m, b, type, like->name);
  if (v) v->loc = ir_value_loc(like);
  return v;
}

/* ---- editing --------------------------------------------------------------------------------------------------- */

static void drop_uses(ir_op *op) {
  for (int i = 0; i < op->n_operands; i++) op->operands[i]->n_uses--;
  for (int r = 0; r < op->n_regions; r++)
    for (ir_op *o = op->regions[r]->first; o; o = o->next) drop_uses(o);
}

void ir_op_remove(ir_op *op) {
  drop_uses(op);
  ir_block *b = op->parent;
  if (!b) return;
  *(op->prev ? &op->prev->next : &b->first) = op->next;
  *(op->next ? &op->next->prev : &b->last) = op->prev;
  op->parent = NULL;
}

void ir_set_operand(ir_op *op, int i, ir_value *v) {
  op->operands[i]->n_uses--;
  op->operands[i] = v;
  v->n_uses++;
}

bool ir_add_operand(ir_op *op, ir_value *v) {
  ir_value **w = grown(op->module, op->operands, op->n_operands, &op->cap_operands);
  if (!w) return false;
  op->operands = w;
  w[op->n_operands++] = v;
  v->n_uses++;
  return true;
}

void ir_replace_uses(ir_op *root, ir_value *from, ir_value *to) {
  for (int r = 0; r < root->n_regions; r++)
    for (ir_op *o = root->regions[r]->first; o && from->n_uses; o = o->next) {
      for (int i = 0; i < o->n_operands; i++)
        if (o->operands[i] == from) ir_set_operand(o, i, to);
      if (o->n_regions) ir_replace_uses(o, from, to);
    }
}

void ir_forward(ir_value *from, ir_value *to) {
  while (to->forward) to = to->forward;
  from->forward = to;
  to->n_uses += from->n_uses;
  from->n_uses = 0;
}

void ir_settle(ir_op *op) {
  for (int i = 0; i < op->n_operands; i++)
    while (op->operands[i]->forward) op->operands[i] = op->operands[i]->forward;
}

int ir_dce(ir_op *root) {
  int gone = 0;
  for (int r = 0; r < root->n_regions; r++)
    for (ir_op *o = root->regions[r]->last, *prev; o; o = prev) {
      prev = o->prev;
      bool used = !(o->def->flags & IR_PURE);
      for (int i = 0; i < o->n_results; i++) used |= o->results[i]->n_uses > 0;
      if (used) gone += ir_dce(o);
      else ir_op_remove(o), gone++;
    }
  return gone;
}

tsr_status ir_walk(ir_op *op, tsr_status (*fn)(ir_op *op, void *user), void *user) {
  TSR_TRY(fn(op, user));
  for (int r = 0; r < op->n_regions; r++)
    for (ir_op *o = op->regions[r]->first, *next; o; o = next) {
      next = o->next;
      TSR_TRY(ir_walk(o, fn, user));
    }
  return NULL;
}
