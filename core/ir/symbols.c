/* core/ir/symbols.c - see symbols.h. */
#include "core/ir/symbols.h"

#include <string.h>

#include "core/base/hash.h"

static bool is_kernel(const ir_op *op) { return op->def->flags & IR_KERNEL; }

static ir_op **place(ir_op **v, size_t cap, const char *name) {
  size_t at = (size_t)hash_mix(hash_str(HASH_SEED, name)) & (cap - 1);
  while (v[at] && strcmp(ir_get_str(v[at], "sym_name", ""), name)) at = (at + 1) & (cap - 1);
  return &v[at];
}

static bool grow(ir_symbols *s) {
  size_t cap = s->cap ? 2 * s->cap : 16;
  ir_op **v = al_zalloc(s->al, cap * sizeof *v);
  if (!v) return false;
  for (size_t i = 0; i < s->cap; i++)
    if (s->v[i]) *place(v, cap, ir_get_str(s->v[i], "sym_name", "")) = s->v[i];
  al_free_array(s->al, s->v, s->cap);
  s->v = v;
  s->cap = cap;
  return true;
}

static bool put(ir_symbols *s, ir_op *op, const ir_op **twice) {
  if (2 * (s->n + 1) > s->cap && !grow(s)) return false;
  ir_op **p = place(s->v, s->cap, ir_get_str(op, "sym_name", ""));
  if (!*p) *p = op, s->n++;
  else if (!*twice && (*p)->parent == op->parent && (*p)->def == op->def) *twice = op;
  return true;
}

static bool add(ir_symbols *s, ir_op *op) { return !is_kernel(op) || put(s, op, &s->twice); }

static bool is_function(const ir_op *op) {
  return !is_kernel(op) && (op->def->flags & IR_ISOLATED) && *ir_get_str(op, "sym_name", "");
}

tsr_status ir_symbols_make(const ir_module *m, ir_symbols *out) {
  *out = (ir_symbols){.al = &m->arena.al};
  ir_symbols functions = *out;
  bool ok = true;
  for (ir_op *o = m->root->n_regions ? m->root->regions[0]->first : NULL; o && ok; o = o->next) {
    ok = add(out, o) && (!is_function(o) || put(&functions, o, &out->twice));
    if (is_kernel(o)) continue; /* those inside of a kernel are none */
    for (ir_op *k = o->n_regions ? o->regions[0]->first : NULL; k && ok; k = k->next) ok = add(out, k);
  }
  ir_symbols_clear(&functions);
  if (ok) return NULL;
  ir_symbols_clear(out);
  return st_oom();
}

ir_op *ir_symbols_find(const ir_symbols *s, const char *name) { return s->cap ? *place(s->v, s->cap, name) : NULL; }

void ir_symbols_clear(ir_symbols *s) {
  al_free_array(s->al, s->v, s->cap);
  *s = (ir_symbols){.al = s->al};
}
