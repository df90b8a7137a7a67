/* core/ir/types.c - interning, printing and sizes of types; see ir.h. */
#include <assert.h>
#include <string.h>

#include "core/base/dtype.h"
#include "core/base/hash.h"
#include "core/ir/types.h"

static bool same_str(const char *a, const char *b) { return a == b || (a && b && !strcmp(a, b)); }

bool ir_type_same(const ir_type *a, const ir_type *b) {
  if (a->kind != b->kind || a->dtype != b->dtype || a->rank != b->rank || a->has_strides != b->has_strides ||
      a->offset != b->offset || a->pad != b->pad || !same_str(a->use, b->use))
    return false;
  for (int i = 0; i < a->rank; i++)
    if (a->dims[i] != b->dims[i] || (a->has_strides && a->strides[i] != b->strides[i])) return false;
  return true;
}

static uint64_t hash_type(const ir_type *t) {
  uint64_t h = hash_word(HASH_SEED, (uint64_t)t->kind << 32 | (uint64_t)t->dtype << 16 | (uint64_t)t->rank);
  for (int i = 0; i < t->rank; i++) h = hash_word(h, (uint64_t)t->dims[i]);
  for (int i = 0; i < t->rank && t->has_strides; i++) h = hash_word(h, (uint64_t)t->strides[i]);
  if (t->offset || t->pad) h = hash_word(hash_word(h, (uint64_t)t->offset), (uint64_t)t->pad);
  return t->use ? hash_mix(hash_str(h, t->use)) : h;
}

/* The place of t in the module's table, or the empty one where it belongs. */
static ir_type **type_place(ir_type **table, size_t cap, const ir_type *t) {
  size_t at = (size_t)hash_type(t) & (cap - 1);
  while (table[at] && !ir_type_same(table[at], t)) at = (at + 1) & (cap - 1);
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

const ir_type *ir_type_index(ir_module *m) {
  if (!m->index_type) m->index_type = ir_type_get(m, &(ir_type){.kind = IR_T_INDEX});
  return m->index_type;
}

const ir_type *ir_type_scalar(ir_module *m, tsr_dtype t) {
  const ir_type **known = &m->scalar_types[t];
  if (!*known) *known = ir_type_get(m, &(ir_type){.kind = IR_T_SCALAR, .dtype = t});
  return *known;
}

const ir_type *ir_type_shaped(ir_module *m, ir_type_kind kind, tsr_dtype t, int rank, const int64_t *dims) {
  assert(rank <= TSR_MAX_RANK);
  ir_type x = {.kind = kind, .dtype = t, .rank = rank};
  if (rank) memcpy(x.dims, dims, sizeof *dims * (size_t)rank);
  return ir_type_get(m, &x);
}

static void put_dims(strb *b, const ir_type *t) {
  for (int i = 0; i < t->rank; i++) {
    if (t->dims[i] == IR_DYNAMIC) strb_puts(b, "?x");
    else strb_printf(b, "%lldx", (long long)t->dims[i]);
  }
  strb_puts(b, dtype_get(t->dtype)->mlir);
}

static void put_layout(strb *b, const ir_type *t) {
  if (t->has_strides) {
    strb_puts(b, ", strides=[");
    for (int i = 0; i < t->rank; i++) strb_printf(b, i ? ", %lld" : "%lld", (long long)t->strides[i]);
    strb_putc(b, ']');
  }
  if (t->offset) strb_printf(b, ", offset=%lld", (long long)t->offset);
  if (t->pad) strb_printf(b, ", pad=%lld", (long long)t->pad);
  if (t->use) strb_printf(b, ", \"%s\"", t->use);
}

void ir_type_print(strb *b, const ir_type *t) {
  switch (t->kind) {
  case IR_T_NONE: strb_puts(b, "none"); break;
  case IR_T_INDEX: strb_puts(b, "index"); break;
  case IR_T_SCALAR: strb_puts(b, dtype_get(t->dtype)->mlir); break;
  case IR_T_TOKEN: strb_puts(b, "!tessera.token"); break;
  case IR_T_FUNCTION: strb_puts(b, t->use); break;
  case IR_T_TENSOR: strb_puts(b, "tensor<"); put_dims(b, t); strb_putc(b, '>'); break;
  case IR_T_VECTOR: strb_puts(b, "vector<"); put_dims(b, t); strb_putc(b, '>'); break;
  default: {
    static const char *const names[] = {[IR_T_VIEW] = "view", [IR_T_SHARED] = "shared", [IR_T_FRAG] = "frag",
                                        [IR_T_ARRAY] = "array", [IR_T_MATRIX] = "matrix", [IR_T_PTR] = "ptr"};
    strb_printf(b, "!tessera.%s<", names[t->kind]);
    put_dims(b, t);
    put_layout(b, t);
    strb_putc(b, '>');
  }
  }
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

int64_t ir_type_bytes(const ir_type *t) {
  const int64_t n = ir_type_count(t);
  return n < 0 ? n : (int64_t)tsr_dtype_bytes(t->dtype, (size_t)n);
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
