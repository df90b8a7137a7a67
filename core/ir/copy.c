/* core/ir/copy.c - deep copies of ops and modules; see ir.h. */
#include <string.h>

#include "core/base/hash.h"
#include "core/ir/ir.h"

/* Values already copied: an open-addressing table from old to new, so that a long function costs no more an op than a
 * short one. */
typedef struct copy_pair { ir_value *from, *to; } copy_pair;
typedef struct copy_map {
  ir_value *(*map)(void *user, ir_value *v);
  void *user;
  copy_pair *pairs;
  size_t n, cap;
  const tsr_allocator *al;
} copy_map;

static copy_pair *place_of(copy_pair *pairs, size_t cap, const ir_value *v) {
  size_t at = (size_t)hash_mix((uint64_t)(uintptr_t)v >> 4) & (cap - 1);
  while (pairs[at].from && pairs[at].from != v) at = (at + 1) & (cap - 1);
  return &pairs[at];
}

static bool copy_note(copy_map *c, ir_value *from, ir_value *to) {
  if (2 * (c->n + 1) > c->cap) {
    size_t cap = c->cap ? 4 * c->cap : 64;
    copy_pair *pairs = al_zalloc(c->al, cap * sizeof *pairs);
    if (!pairs) return false;
    for (size_t i = 0; i < c->cap; i++)
      if (c->pairs[i].from) *place_of(pairs, cap, c->pairs[i].from) = c->pairs[i];
    al_free_array(c->al, c->pairs, c->cap);
    c->pairs = pairs;
    c->cap = cap;
  }
  copy_pair *p = place_of(c->pairs, c->cap, from);
  c->n += !p->from;
  *p = (copy_pair){from, to};
  return true;
}

static ir_value *copy_find(copy_map *c, ir_value *v) {
  copy_pair *p = c->cap ? place_of(c->pairs, c->cap, v) : NULL;
  if (p && p->from) return p->to;
  ir_value *r = c->map ? c->map(c->user, v) : NULL;
  return r ? r : v;
}

static ir_op *copy_op(ir_builder *b, const ir_op *op, copy_map *c) {
  ir_value *small[16], **operands = small;
  if (op->n_operands > 16 && !(operands = arena_array(&b->m->arena, ir_value *, op->n_operands))) return NULL;
  for (int i = 0; i < op->n_operands; i++) operands[i] = copy_find(c, op->operands[i]);
  ir_op *n = ir_op_new(b, op->def, op->n_operands, operands, op->n_results, NULL, op->n_regions);
  if (!n) return NULL;
  n->loc = op->loc;
  for (int i = 0; i < op->n_results; i++) {
    n->results[i]->type = op->results[i]->type ? ir_type_get(b->m, op->results[i]->type) : NULL;
    if (op->results[i]->name && !(n->results[i]->name = arena_str(&b->m->arena, op->results[i]->name))) return NULL;
    if (!ir_placement_copy(b->m, n->results[i], op->results[i])) return NULL;
    if (!copy_note(c, op->results[i], n->results[i])) return NULL;
  }
  if (!ir_attrs_copy(n, op)) return NULL;
  for (int r = 0; r < op->n_regions; r++) {
    for (int i = 0; i < op->regions[r]->n_args; i++) {
      ir_value *v = op->regions[r]->args[i];
      ir_value *w = ir_block_arg_like(b->m, n->regions[r], ir_type_get(b->m, v->type), v);
      if (!w || !copy_note(c, v, w)) return NULL;
    }
    ir_builder inner = ir_at_end(b->m, n->regions[r]);
    for (const ir_op *o = op->regions[r]->first; o; o = o->next)
      if (!copy_op(&inner, o, c)) return NULL;
  }
  return n;
}

ir_op *ir_op_copy(ir_builder *b, const ir_op *op, ir_value *(*map)(void *user, ir_value *v), void *user) {
  copy_map c = {.map = map, .user = user, .al = &b->m->arena.al};
  ir_op *n = copy_op(b, op, &c);
  if (!n) b->failed = true;
  al_free_array(c.al, c.pairs, c.cap);
  return n;
}

tsr_status ir_module_clone(const ir_module *m, ir_module **out) {
  TSR_TRY(ir_module_create(&m->arena.al, out));
  ir_builder b = {.m = *out};
  ir_op *root = ir_op_copy(&b, m->root, NULL, NULL);
  if (!root || (m->file && !((*out)->file = arena_str(&(*out)->arena, m->file)))) {
    tsr_status st = ir_cause(*out, NULL, st_oom());
    ir_module_destroy(out);
    return st;
  }
  (*out)->root = root;
  return NULL;
}
