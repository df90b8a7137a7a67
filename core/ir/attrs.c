/* core/ir/attrs.c - making, setting and reading attributes; see ir.h. Copies are in copy.c. */
#include <stdlib.h>
#include <string.h>

#include "core/base/number.h"
#include "core/base/policy.h"
#include "core/ir/attrs.h"
#include "core/ir/types.h"
#include "tessera/tessera.h"

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

static ir_attr *attr_floats(ir_module *m, const double *v, int n) {
  ir_attr *a = attr_new(m, IR_A_ARRAY);
  if (!a || !(a->u.array.v = arena_array(&m->arena, ir_attr *, n))) return NULL;
  a->u.array.n = n;
  for (int i = 0; i < n; i++)
    if (!(a->u.array.v[i] = ir_attr_float(m, v[i]))) return NULL;
  return a;
}

ir_attr *ir_attr_given(ir_module *m, const tsr_attr *a) {
  switch (a->kind) {
  case TSR_ATTR_INT: return ir_attr_int(m, a->i);
  case TSR_ATTR_FLOAT: return ir_attr_float(m, a->f);
  case TSR_ATTR_BOOL: return ir_attr_bool(m, a->i != 0);
  case TSR_ATTR_STRING: return ir_attr_str(m, a->s);
  case TSR_ATTR_FLOATS: return attr_floats(m, a->floats, a->n_floats);
  default: return ir_attr_ints(m, a->ints, a->n_ints);
  }
}

enum { LEAST_SHARED = 1 << 16 }; /* bytes of a constant that copies of the module share */

ir_attr *ir_attr_dense(ir_module *m, const ir_type *t, const void *data, size_t bytes, bool splat) {
  ir_attr *a = attr_new(m, IR_A_DENSE);
  if (!a) return NULL;
  if (bytes >= LEAST_SHARED) {
    if (!mapped_memory(&m->mapped, &m->arena, data, bytes, &a->u.dense.file)) return NULL;
    a->u.dense.data = (void *)(uintptr_t)a->u.dense.file->p;
  } else if (!(a->u.dense.data = arena_dup(&m->arena, data, bytes))) {
    return NULL;
  }
  a->u.dense.type = t;
  a->u.dense.bytes = bytes;
  a->u.dense.splat = splat;
  return a;
}

ir_attr *ir_attr_part(ir_module *m, const ir_type *t, const ir_attr *a, size_t offset) {
  ir_attr *p = attr_new(m, IR_A_DENSE);
  if (!p) return NULL;
  p->u.dense.type = t;
  p->u.dense.data = (char *)a->u.dense.data + offset;
  p->u.dense.bytes = (size_t)ir_type_bytes(t);
  p->u.dense.file = a->u.dense.file;
  return p;
}

tsr_status ir_attr_in_file(ir_module *m, const ir_type *t, const char *path, uint64_t offset, ir_attr **out) {
  ir_mapped *f = NULL;
  const int64_t n = ir_type_count(t);
  ir_attr *a = *out = attr_new(m, IR_A_DENSE);
  if (!a) return st_oom();
  TSR_TRY(mapped_open(&m->mapped, &m->arena, m->file, path, &f));
  const bool fits = n >= 0 && (!n || tsr_dtype_size(t->dtype) <= UINT64_MAX / (uint64_t)n);
  const uint64_t bytes = fits ? tsr_dtype_bytes(t->dtype, (size_t)n) : 0;
  if (!fits || offset > f->bytes || bytes > f->bytes - offset)
    return st_make(NULL, TSR_INVALID_ARGUMENT, ST_WHERE("ir", NULL, NULL),
                   "%s has %zu bytes, the constant at %llu needs more", f->path, f->bytes, (unsigned long long)offset);
  a->u.dense.type = t;
  a->u.dense.data = (void *)(uintptr_t)(f->p + offset);
  a->u.dense.bytes = (size_t)bytes;
  a->u.dense.file = f;
  return NULL;
}

/* The row's own spelling, which lives as long as the process; else a copy. */
static const char *name_of(ir_op *op, const char *name) {
  for (const ir_attr_def *d = op->def->attrs; d && d->name; d++)
    if (ir_same_name(d->name, name)) return d->name;
  return arena_str(&op->module->arena, name);
}

bool ir_set_attr(ir_op *op, const char *name, ir_attr *a) {
  if (!a) return ir_lacks(op->module, op->def->name, "attribute \"%s\" has no value", name) != NULL;
  for (int i = 0; i < op->n_attrs; i++)
    if (ir_same_name(op->attrs[i].name, name)) {
      op->attrs[i].attr = a;
      return true;
    }
  arena *ar = &op->module->arena;
  ir_named_attr *v = arena_array(ar, ir_named_attr, op->n_attrs + 1);
  const char *own = name_of(op, name);
  if (!v || !own) return false;
  if (op->n_attrs) memcpy(v, op->attrs, sizeof *v * (size_t)op->n_attrs);
  v[op->n_attrs++] = (ir_named_attr){own, a};
  op->attrs = v;
  return true;
}

ir_attr *ir_get_attr(const ir_op *op, const char *name) {
  for (int i = 0; i < op->n_attrs; i++)
    if (ir_same_name(op->attrs[i].name, name)) return op->attrs[i].attr;
  return NULL;
}

static const char *default_of(const ir_op *op, const char *name) {
  for (const ir_attr_def *d = op->def->attrs; d && d->name; d++)
    if (ir_same_name(d->name, name)) return d->dflt;
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
  return d ? number_read(d, NULL) : dflt;
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

tsr_policy ir_policy(const ir_op *op) {
  const tsr_policy p = policy_named(ir_get_str(op, "policy", NULL));
  return p ? p : TSR_POLICY_FAST;
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

int ir_get_floats(const ir_op *op, const char *name, double *v, int cap) {
  const ir_attr *a = ir_get_attr(op, name);
  if (!a) return 0;
  if (a->kind != IR_A_ARRAY) return -1;
  for (int i = 0; i < a->u.array.n; i++) {
    const ir_attr *x = a->u.array.v[i];
    if (x->kind != IR_A_INT && x->kind != IR_A_FLOAT) return -1;
    if (i < cap) v[i] = x->kind == IR_A_INT ? (double)x->u.i : x->u.f;
  }
  return a->u.array.n;
}

static ir_attr *copy_mapped(ir_module *m, const ir_attr *a) {
  ir_attr *c = arena_dup(&m->arena, a, sizeof *a);
  if (!c || !mapped_share(&m->mapped, &m->arena, a->u.dense.file)) return NULL;
  c->u.dense.type = ir_type_get(m, a->u.dense.type);
  return c->u.dense.type ? c : NULL;
}

ir_attr *ir_attr_copy(ir_module *m, const ir_attr *a) {
  switch (a->kind) {
  case IR_A_STR: return ir_attr_str(m, a->u.s);
  case IR_A_TYPE: return ir_attr_type(m, ir_type_get(m, a->u.type));
  case IR_A_DENSE:
    if (a->u.dense.file) return copy_mapped(m, a);
    return ir_attr_dense(m, ir_type_get(m, a->u.dense.type), a->u.dense.data, a->u.dense.bytes, a->u.dense.splat);
  case IR_A_ARRAY: {
    ir_attr *c = arena_dup(&m->arena, a, sizeof *a);
    if (!c || !(c->u.array.v = arena_array(&m->arena, ir_attr *, a->u.array.n))) return NULL;
    for (int i = 0; i < a->u.array.n; i++)
      if (!(c->u.array.v[i] = ir_attr_copy(m, a->u.array.v[i]))) return NULL;
    return c;
  }
  default: return arena_dup(&m->arena, a, sizeof *a);
  }
}

bool ir_attr_same(const ir_attr *a, const ir_attr *b) {
  if (a->kind != b->kind) return false;
  switch (a->kind) {
  case IR_A_UNIT: return true;
  case IR_A_FLOAT: return !memcmp(&a->u.f, &b->u.f, sizeof a->u.f);
  case IR_A_STR: return !strcmp(a->u.s, b->u.s);
  case IR_A_TYPE: return ir_type_same(a->u.type, b->u.type);
  case IR_A_ARRAY:
    if (a->u.array.n != b->u.array.n) return false;
    for (int i = 0; i < a->u.array.n; i++)
      if (!ir_attr_same(a->u.array.v[i], b->u.array.v[i])) return false;
    return true;
  case IR_A_DENSE:
    if (a->u.dense.file || b->u.dense.file) /* their elements aren't read for this */
      return ir_type_same(a->u.dense.type, b->u.dense.type) && a->u.dense.data == b->u.dense.data;
    return ir_type_same(a->u.dense.type, b->u.dense.type) && a->u.dense.splat == b->u.dense.splat &&
           a->u.dense.bytes == b->u.dense.bytes && !memcmp(a->u.dense.data, b->u.dense.data, a->u.dense.bytes);
  default: return a->u.i == b->u.i;
  }
}

bool ir_attrs_same(const ir_op *a, const ir_op *b) {
  if (a->n_attrs != b->n_attrs) return false;
  for (int i = 0; i < a->n_attrs; i++) {
    const ir_attr *other = ir_get_attr(b, a->attrs[i].name);
    if (!other || !ir_attr_same(a->attrs[i].attr, other)) return false;
  }
  return true;
}

bool ir_attrs_copy(ir_op *to, const ir_op *from) {
  for (int i = 0; i < from->n_attrs; i++)
    if (!ir_set_attr(to, from->attrs[i].name, ir_attr_copy(to->module, from->attrs[i].attr))) return false;
  return true;
}
