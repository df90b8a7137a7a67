/* core/passes/tile/contract_epilogue.c - see tile/contract_parts.h: what a contraction stores, as loads, maps and
 * stores. */
#include "core/ir/tile/tile.h"
#include "core/passes/tile/contract_parts.h"
#include "core/passes/tile/region_map.h"

/* What may stand between an op and the contraction that alone reads it, when it is moved behind the loop. */
static bool is_quiet(const ir_op *o) {
  switch (o->def->code) {
  case T_LOAD: case T_WINDOW: case T_VIEW: case T_CONST: case T_BLOCK_ID: case T_MAP: case T_FILL: case T_SPLAT:
  case T_TRANSPOSE: return true;
  default: return ir_is_scalar(o);
  }
}

static bool may_move(const ir_op *o, const ir_op *contract) {
  const bool alone = o->parent == contract->parent && o->n_results == 1 && o->results[0]->n_uses == 1;
  if (!alone || !is_quiet(o) || o->def->code == T_VIEW || ir_is_scalar(o)) return false;
  while (o != contract && is_quiet(o)) o = o->next;
  return o == contract;
}

static void collect(const expansion *e, movable *m, const ir_value *v) {
  if (!v->def || !may_move(v->def, e->op)) return;
  for (int i = 0; i < v->def->n_operands; i++) collect(e, m, v->def->operands[i]);
  m->v[m->n++] = v->def;
}

tsr_status contract_find_movable(const expansion *e, movable *m) {
  int n = 0;
  for (const ir_op *o = e->op->prev; o && is_quiet(o); o = o->prev) n++;
  if (!(m->v = arena_array(&e->m->arena, ir_op *, n + 1))) return st_oom();
  for (int i = 0; i < e->c.n[CONTRACT_OTHER]; i++) {
    collect(e, m, e->c.v[CONTRACT_OTHER][i]);
    m->end[i] = m->n;
  }
  return NULL;
}

typedef struct epilogue {
  expansion *e;
  const ir_block *region;
  const movable *moved; /* NULL: none */
  int row;              /* negative: all */
  int loaded, stored; /* operands that are fragments, and yielded values that are written, so far */
  ir_value **results;
} epilogue;

/* The first n of the other operands, in their order. */
static tsr_status load(epilogue *p, int n) {
  expansion *e = p->e;
  for (; p->loaded < n; p->loaded++) {
    const int i = p->loaded;
    ir_value *arg = p->region->args[1 + i];
    if (!arg->n_uses) continue;
    for (int j = i && p->moved ? p->moved->end[i - 1] : 0; p->moved && j < p->moved->end[i]; j++)
      ir_op_move(p->moved->v[j], e->op->parent, e->op);
    ir_value *v = p->row < 0 ? e->c.v[CONTRACT_OTHER][i] : contract_window(e, CONTRACT_OTHER, i, NULL, p->row);
    if (!v) return st_oom();
    arg->data = region_load(&e->b, e->op, v, arg->type,
                            tile_contract_swapped(&e->c, CONTRACT_OTHER, i));
    if (!arg->data) return st_oom();
  }
  return NULL;
}

/* Those among them that v is. */
static tsr_status load_for(epilogue *p, const ir_value *v) { return v->owner == p->region ? load(p, v->index) : NULL; }

static tsr_status store_next(epilogue *p) {
  expansion *e = p->e;
  const int i = p->stored++, n_out = e->c.n[CONTRACT_OUT];
  ir_value *v = p->region->last->operands[i], *y;
  TSR_TRY(load_for(p, v));
  TSR_TRY(region_result(&e->b, p->region, v, p->row < 0 ? e->c.m : 1, e->c.n_, &y));
  if (i >= n_out) return p->results[i - n_out] = y, NULL;
  if (tile_contract_swapped(&e->c, CONTRACT_OUT, i) && !(y = region_transposed(&e->b, y))) return st_oom();
  ir_value *to = p->row < 0 ? e->c.v[CONTRACT_OUT][i] : contract_window(e, CONTRACT_OUT, i, NULL, p->row);
  ir_value *const operands[2] = {y, to};
  if (!to) return st_oom();
  return region_note_width(e->op, ir_build0(&e->b, "tessera.tile.store", 2, operands)) ? NULL : st_oom();
}

static const ir_value *memory_of(const ir_value *v) {
  while (v->def && (v->def->def->code == T_WINDOW || v->def->def->code == T_VIEW)) v = v->def->operands[0];
  return v;
}

/* All is read before anything is written: an output lies in memory that the epilogue reads. */
static bool reads_first(const epilogue *p) {
  const tile_contract *c = &p->e->c;
  for (int i = 0; i < c->n[CONTRACT_OTHER]; i++)
    for (int j = 0; j < c->n[CONTRACT_OUT]; j++)
      if (memory_of(c->v[CONTRACT_OTHER][i]) == memory_of(c->v[CONTRACT_OUT][j])) return true;
  return false;
}

/* The epilogue's yielded value i waits for no op from o on. */
static bool is_there(const epilogue *p, int i) {
  const ir_value *v = p->region->last->operands[i];
  return !v->def || v->def->parent != p->region || v->data;
}

/* Each yielded value is stored as soon as it is known. */
static tsr_status write(epilogue *p) {
  const ir_block *region = p->region;
  const int n = region->last->n_operands;
  const bool first = reads_first(p);
  if (first) TSR_TRY(load(p, p->e->c.n[CONTRACT_OTHER]));
  for (ir_op *o = region->first; o != region->last; o = o->next) {
    while (!first && p->stored < n && is_there(p, p->stored)) TSR_TRY(store_next(p));
    for (int i = 0; i < o->n_operands; i++) TSR_TRY(load_for(p, o->operands[i]));
    TSR_TRY(region_op(&p->e->b, region, o, p->row < 0 ? p->e->c.m : 1, p->e->c.n_));
  }
  while (p->stored < n) TSR_TRY(store_next(p));
  return NULL;
}

tsr_status contract_write_epilogue(expansion *e, const movable *moved, ir_value *sum, ir_value **results) {
  epilogue p = {.e = e, .region = e->c.epilogue, .moved = moved, .row = -1, .results = results};
  region_begin(p.region);
  p.region->args[0]->data = sum;
  return write(&p);
}

tsr_status contract_write_row(expansion *e, int row, ir_value *sum) {
  epilogue p = {.e = e, .region = e->c.epilogue, .row = row};
  region_begin(p.region);
  p.region->args[0]->data = sum;
  return write(&p);
}
