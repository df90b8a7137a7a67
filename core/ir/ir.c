/* core/ir/ir.c - modules, the builder and editing; see ir.h. */
#include "core/ir/ir.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const level_names[IR_N_LEVELS] = {"builtin", "graph", "schedule", "tile", "target"};
const char *ir_level_name(ir_level l) { return (unsigned)l < IR_N_LEVELS ? level_names[l] : "?"; }

/* ---- module ---------------------------------------------------------------------------------------------------- */

tsr_status ir_module_create(const tsr_allocator *al, ir_module **out) {
  *out = NULL;
  ir_module *m = al_new(al, ir_module);
  if (!m) return st_oom();
  arena_init(&m->arena, al);
  ir_begin(m);
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
  mapped_release(&(*m)->mapped, &(*m)->arena);
  arena_clear(&(*m)->arena);
  al_delete(&al, *m);
  *m = NULL;
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

static void forget(ir_module *m) {
  tsr_status_free(m->refusal);
  m->refusal = NULL;
}

void ir_begin(ir_module *m) {
  forget(m);
  m->failures = al_failures();
}

tsr_status ir_cause(ir_module *m, ir_module *other, tsr_status st) {
  /* Other statuses of that code say themselves what was too large. */
  if (st != st_oom() || m->failures != al_failures()) return st;
  ir_module *from = other && other->refusal ? other : m;
  const tsr_status why = from->refusal;
  st = st_make(&m->arena.al, TSR_INTERNAL,
               ST_WHERE(tsr_status_level(why), tsr_status_op(why), "please report it with the program"),
               why ? "a pass built what can't be: %s" : "a pass was refused something and kept no reason%s",
               tsr_status_cause(why));
  forget(from);
  return st;
}

void *ir_lacks(ir_module *m, const char *op, const char *fmt, ...) {
  char what[256];
  if (m->refusal || m->failures != al_failures()) return NULL;
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(what, sizeof what, fmt, ap);
  va_end(ap);
  const ir_opdef *def = ir_find_op(op);
  ir_refuse(
      m, st_make(&m->arena.al, TSR_INTERNAL, ST_WHERE(def ? ir_level_name(def->level) : NULL, op, NULL), "%s", what));
  return NULL;
}

static ir_loc place(const ir_builder *b) {
  if (b->loc.line) return b->loc;
  const ir_op *near = b->before ? b->before : b->block ? b->block->parent : NULL;
  return near ? near->loc : (ir_loc){0};
}

/* An op, its values and its blocks, with the arrays of them, at once: most of what an arena is asked for is ops. */
static ir_op *op_alloc(arena *a, int n_operands, int n_results, int n_regions) {
  const size_t a_result = sizeof(ir_value) + sizeof(ir_value *), a_region = sizeof(ir_block) + sizeof(ir_block *);
  ir_op *op = arena_alloc(a, sizeof *op + sizeof(ir_value *) * (size_t)n_operands + a_result * (size_t)n_results +
                                 a_region * (size_t)n_regions);
  if (!op) return NULL;
  ir_value *v = (ir_value *)(op + 1);
  ir_block *r = (ir_block *)(v + n_results);
  op->n_operands = n_operands;
  op->n_results = n_results;
  op->n_regions = n_regions;
  op->operands = (ir_value **)(r + n_regions);
  op->results = op->operands + n_operands;
  op->regions = (ir_block **)(op->results + n_results);
  for (int i = 0; i < n_results; i++) {
    op->results[i] = &v[i];
    v[i].def = op;
    v[i].index = i;
  }
  for (int i = 0; i < n_regions; i++) {
    op->regions[i] = &r[i];
    r[i].parent = op;
  }
  return op;
}

ir_op *ir_op_new(ir_builder *b, const ir_opdef *def, int n_operands, ir_value *const *operands, int n_results,
                 const ir_type *const *result_types, int n_regions) {
  for (int i = 0; i < n_operands && !b->failed; i++)
    if (!operands[i]) ir_lacks(b->m, def->name, "operand %d is missing", i), b->failed = true;
  ir_op *op = b->failed ? NULL : op_alloc(&b->m->arena, n_operands, n_results, n_regions);
  if (!op) {
    b->failed = true;
    return NULL;
  }
  op->def = def;
  op->module = b->m;
  op->loc = place(b);
  for (int i = 0; i < n_operands; i++) {
    op->operands[i] = operands[i];
    operands[i]->n_uses++;
  }
  for (int i = 0; result_types && i < n_results; i++) op->results[i]->type = result_types[i];
  link_op(b, op);
  return op;
}

ir_value *ir_build1(ir_builder *b, const char *name, const ir_type *type, int n_operands, ir_value *const *operands) {
  const ir_opdef *def = ir_find_op(name);
  assert(def);
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
  b->failed = true;
  return ir_lacks(b->m, name, "the result has no type");
}

ir_op *ir_build0(ir_builder *b, const char *name, int n_operands, ir_value *const *operands) {
  const ir_opdef *def = ir_find_op(name);
  assert(def);
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
  if (!type) return ir_lacks(m, b->parent ? b->parent->def->name : "", "argument %d has no type", b->n_args);
  ir_value **v = grown(m, b->args, b->n_args, &b->cap_args);
  ir_value *a = arena_new(&m->arena, ir_value);
  if (v) b->args = v;
  if (!v || !a) return NULL;
  *a = (ir_value){.type = type, .owner = b, .index = b->n_args};
  if (name && !(a->name = arena_str(&m->arena, name))) return NULL;
  v[b->n_args++] = a;
  return a;
}

bool ir_placement_copy(ir_module *m, ir_value *to, const ir_value *from) {
  to->shard = from->shard ? arena_str(&m->arena, from->shard) : NULL;
  to->layout = from->layout ? arena_str(&m->arena, from->layout) : NULL;
  return !from->shard == !to->shard && !from->layout == !to->layout;
}

ir_value *ir_block_arg_like(ir_module *m, ir_block *b, const ir_type *type, const ir_value *like) {
  ir_value *v = ir_block_arg(m, b, type, like->name);
  if (v && !ir_placement_copy(m, v, like)) return NULL;
  if (v) v->loc = ir_value_loc(like);
  return v;
}

bool ir_block_args_copy(ir_module *m, ir_block *to, const ir_block *from) {
  for (int i = 0; i < from->n_args; i++) {
    ir_value *v = from->args[i];
    if (!(v->data = ir_block_arg_like(m, to, ir_type_get(m, v->type), v))) return false;
  }
  return true;
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

void ir_op_move(ir_op *op, ir_block *to, ir_op *before) {
  ir_block *from = op->parent;
  *(op->prev ? &op->prev->next : &from->first) = op->next;
  *(op->next ? &op->next->prev : &from->last) = op->prev;
  op->parent = to;
  op->next = before;
  op->prev = before ? before->prev : to->last;
  *(op->prev ? &op->prev->next : &to->first) = op;
  *(before ? &before->prev : &to->last) = op;
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

void ir_clear_data(ir_op *op) {
  op->data = NULL;
  for (int i = 0; i < op->n_results; i++) op->results[i]->data = NULL;
  for (int r = 0; r < op->n_regions; r++) {
    for (int i = 0; i < op->regions[r]->n_args; i++) op->regions[r]->args[i]->data = NULL;
    for (ir_op *o = op->regions[r]->first; o; o = o->next) ir_clear_data(o);
  }
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
