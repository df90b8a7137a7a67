/* core/passes/tile/expand_row.c - see tile/expand_row.h. The statistics are those of tile/row_recipe.c; maps around
 * them are joined afterwards (tile/fuse_maps.c).
 * Rows that a norm loses: where they can be read again and the results are stored, the branch for blocks that have such
 * rows does so, a few columns at a time: it costs the others no registers, and is short. Elsewhere it computes
 * statistics of the rows in registers, which what follows reads. */
#include "core/passes/tile/expand_row.h"

#include "core/base/int_math.h"
#include "core/device/dialect.h"
#include "core/ir/tile/row.h"
#include "core/ir/tile/tile.h"
#include "core/passes/tile/fuse_maps.h"
#include "core/passes/tile/region_map.h"
#include "core/passes/tile/row_again.h"
#include "core/passes/tile/row_loop.h"

/* What operands are read of, and results computed: whole rows, or a chunk. */
typedef struct place {
  ir_op *op;
  const tile_row *r;
  const kb_space *chunk; /* NULL: whole rows */
  int64_t columns;
} place;

static bool gives_argument(const ir_block *region) {
  return region->last == region->first && region->last->n_operands == 1 &&
         region->last->operands[0] == region->args[0];
}

/* ---- operands and results ---------------------------------------------------------------------------------------- */

static row_columns columns_of(const kb_kernel *k, const place *p) {
  return (row_columns){k->zero, p->chunk->at[1], p->columns};
}

/* Operand i of a role as a fragment of the argument's type. A window that only this op reads is taken where its load
 * is, so that addresses don't live long. */
static ir_value *fragment(kb_kernel *k, const place *p, tile_row_role role, int i, const ir_type *t) {
  ir_op *op = p->op;
  ir_value *v = p->r->v[role][i];
  if (p->chunk) {
    const row_columns c = columns_of(k, p);
    if (v->type->kind == IR_T_FRAG) return row_again(&k->b, &c, v);
    v = row_again_view(&k->b, &c, v);
    v = v ? region_load(&k->b, op, v, t, false) : NULL;
    return v && row_again_narrow(v->def) ? v : NULL;
  }
  if (v->def && v->def->def->code == T_WINDOW && v->n_uses == 1 && v->def->parent == op->parent)
    ir_op_move(v->def, op->parent, op);
  return region_load(&k->b, op, v, t, tile_row_swapped(p->r, role, i));
}

static tsr_status load_rows(kb_kernel *k, const place *p, ir_value **x) {
  const ir_block *region = p->r->prologue;
  ir_value *frags[TILE_ROW_MOST] = {NULL};
  for (int i = 0; i < p->r->n[ROW_X]; i++) {
    frags[i] = NULL;
    if (region->args[i]->n_uses && !(frags[i] = fragment(k, p, ROW_X, i, region->args[i]->type))) return st_oom();
  }
  *x = frags[0];
  if (!gives_argument(region)) {
    const ir_op *map = region_map(&k->b, region, frags, (int[]){0}, 1, p->r->m, p->columns);
    *x = map ? map->results[0] : NULL;
  }
  return (*x = kb_spread(k, *x, &(kb_space){.tn = p->columns})) ? NULL : st_oom();
}

static tsr_status load_weights(kb_kernel *k, const place *p, ir_value **weights) {
  for (int i = 0; i < p->r->n[ROW_WEIGHT]; i++)
    if (!(weights[i] = fragment(k, p, ROW_WEIGHT, i, ir_type_scalar(k->m, p->r->type)))) return st_oom();
  return NULL;
}

static tsr_status load_others(kb_kernel *k, const place *p, ir_value **others) {
  for (int i = 0; i < p->r->n[ROW_OTHER]; i++) {
    const ir_value *arg = p->r->epilogue->args[1 + i];
    others[i] = NULL;
    if (arg->n_uses && !(others[i] = fragment(k, p, ROW_OTHER, i, arg->type))) return st_oom();
  }
  return NULL;
}

static tsr_status load_weighting(kb_kernel *k, const place *p, ir_value **weights, ir_value **others) {
  TSR_TRY(load_weights(k, p, weights));
  return load_others(k, p, others);
}

static ir_value *weigh(kb_kernel *k, const tile_row *r, ir_value *y, ir_value *const *weights) {
  for (int i = 0; i < r->n[ROW_WEIGHT]; i++) y = kb_map2(k, i ? SC_ADD : SC_MUL, y, weights[i]);
  return y;
}

/* What the epilogue yields: y itself where it is handed on and has the results' shape, else results of one map. */
static tsr_status epilogue(kb_kernel *k, const place *p, ir_value *y, ir_value *const *others, ir_value **out) {
  const ir_block *region = p->r->epilogue;
  ir_value *frags[TILE_ROW_MOST + 1] = {y};
  int yields[TILE_ROW_MOST] = {0};
  const int n = region->last->n_operands;
  const int64_t width = p->r->recipe->per_element ? p->columns : 1;
  if (gives_argument(region) && y->type->dims[0] == p->r->m && y->type->dims[1] == width) {
    out[0] = y;
    return NULL;
  }
  for (int i = 0; i < p->r->n[ROW_OTHER]; i++) frags[1 + i] = others[i];
  for (int i = 0; i < n; i++) yields[i] = i;
  const ir_op *map = region_map(&k->b, region, frags, yields, n, p->r->m, width);
  if (!map) return st_oom();
  for (int i = 0; i < n; i++) out[i] = map->results[i];
  return NULL;
}

/* ---- lost rows from memory --------------------------------------------------------------------------------------- */

/* Where the rows that are lost are read and written: see the top. */
typedef struct apart {
  ir_op *store[TILE_ROW_MOST]; /* by result */
  int64_t chunk;
  bool loads_before; /* what comes after the statistics is loaded before the branch, not in it: for drivers that load
                        better where all lanes are known to run; elsewhere it would take registers */
} apart;

/* All operands can be had again, the usual way round. */
static bool reads_again(const ir_op *kernel, const place *p) {
  for (int i = 0; i < p->op->n_operands; i++)
    if (p->r->swapped[i] || !row_again_can(kernel, p->op->operands[i])) return false;
  return true;
}

/* What the op may move behind: its results are not read there. */
static bool is_quiet(const ir_op *o) {
  return o->def->code == T_LOAD || o->def->code == T_WINDOW || o->def->code == T_CONST || ir_is_scalar(o);
}

/* Every result is stored, and nothing else but that: the first store, NULL if not. */
static ir_op *find_stores(const ir_op *op, apart *a) {
  ir_op *first = NULL;
  int n = 0;
  for (ir_op *o = op->next; o && n < op->n_results; o = o->next) {
    const ir_value *y = o->def->code == T_STORE ? o->operands[0] : NULL;
    if (y && y->def == op) {
      if (y->n_uses != 1 || o->operands[1]->type->kind != IR_T_VIEW) return NULL;
      a->store[y->index] = o;
      if (!n++) first = o;
    } else if (first || !is_quiet(o)) {
      return NULL;
    }
  }
  return n == op->n_results ? first : NULL;
}

/* A column or so for each thread. */
static int64_t few_columns(const ir_op *kernel, const tsr_caps *c, const tile_row *r) {
  int64_t cluster[3] = {1, 1, 1}, warps = ir_get_int(kernel, "warps", 0);
  ir_get_ints(kernel, "cluster", cluster, 3);
  const int64_t threads = clamp64(warps > 0 ? warps : 8, 1, 64) * (c->subgroup > 0 ? c->subgroup : 32) *
                          clamp64(cluster[0], 1, 8);
  return min64(r->columns, pow2_ceil(max64(threads / r->m, 1)));
}

/* Whether lost rows are taken apart; then the op stands in front of its stores. */
static bool takes_apart(const ir_op *kernel, const tsr_caps *c, const place *p, apart *a) {
  ir_op *op = p->op;
  if (!c || c->dialect == DIALECT_CPU || p->r->care != ROW_CARE_LOST || !p->r->recipe->per_element ||
      p->r->keeps_rows || op->parent != kernel->regions[0])
    return false;
  ir_op *first = find_stores(op, a);
  if (!first || !reads_again(kernel, p)) return false;
  a->chunk = few_columns(kernel, c, p->r);
  a->loads_before = caps_simd_like(c);
  for (ir_op *o = op->next; o != first; o = o->next) ir_settle(o);
  ir_op_move(op, op->parent, first);
  return true;
}

static tsr_status chunk_rows(kb_kernel *k, const row_work *w, const kb_space *s, ir_value **out) {
  const place *whole = w->from;
  return load_rows(k, &(place){whole->op, whole->r, s, s->tn}, out);
}

/* Results of the careful statistics in w, chunk after chunk. */
static tsr_status write_chunks(kb_kernel *k, const place *whole, const row_work *w, const apart *a) {
  row_loop loop = {0};
  ir_value *x, *weights[2], *others[TILE_ROW_MOST], *y[TILE_ROW_MOST];
  TSR_TRY(row_loop_begin(k, w->row, w->chunk, 0, NULL, &loop));
  const place p = {whole->op, whole->r, loop.s, w->chunk};
  const row_columns c = columns_of(k, &p);
  TSR_TRY(load_rows(k, &p, &x));
  TSR_TRY(load_weighting(k, &p, weights, others));
  if (!(x = weigh(k, p.r, kb_row_chain(k, w, w->recipe->apply, x), weights))) return st_oom();
  TSR_TRY(epilogue(k, &p, x, others, y));
  for (int i = 0; i < p.op->n_results; i++) {
    ir_value *to = row_again_view(&k->b, &c, a->store[i]->operands[1]);
    if (!to || !row_again_narrow(ir_build0(&k->b, "tessera.tile.store", 2, (ir_value *[]){y[i], to}))) return st_oom();
  }
  return row_loop_end(k, &loop, 0, NULL);
}

static row_work work_of(const tile_row *r) {
  return (row_work){.recipe = r->care == ROW_CARE_ALWAYS ? r->recipe->careful : r->recipe,
                    .count = (double)r->columns,
                    .eps = r->eps,
                    .wrap = r->wrap,
                    .type = r->type};
}

static tsr_status lost_rows(kb_kernel *k, const place *p, const apart *a) {
  const kb_space row = {
      .rank = 2, .dims = {p->r->m, p->r->columns}, .tm = p->r->m, .tn = p->r->columns, .at = {k->zero, NULL}};
  row_work w = work_of(p->r);
  w.recipe = p->r->recipe->careful;
  w.row = &row, w.chunk = a->chunk, w.from = p, w.operand = chunk_rows, w.fold = row_loop_fold;
  TSR_TRY(kb_row_stats(k, &w));
  return write_chunks(k, p, &w, a);
}

static bool yield_nothing(kb_kernel *k) { return ir_build0(&k->b, "tessera.tile.yield", 0, NULL) && !k->b.failed; }

/* if (all rows are held) store the plain results, else those of the rows read anew. */
static tsr_status write_apart(kb_kernel *k, const place *p, const apart *a) {
  ir_value *weights[2], *others[TILE_ROW_MOST], *y[TILE_ROW_MOST], *held;
  row_work w = work_of(p->r);
  TSR_TRY(load_rows(k, p, &w.x));
  TSR_TRY(kb_row_stats(k, &w));
  if (!(held = kb_rows_held(k, &w))) return st_oom();
  if (a->loads_before) TSR_TRY(load_weighting(k, p, weights, others));
  ir_op *branch = ir_op_new(&k->b, ir_find_op("tessera.tile.if"), 1, &held, 0, NULL, 2);
  if (!branch || !ir_set_attr(branch, "likely", ir_attr_bool(k->m, true))) return st_oom();
  const ir_builder outside = k->b;
  k->b = ir_at_end(k->m, branch->regions[1]);
  k->b.loc = outside.loc;
  TSR_TRY(lost_rows(k, p, a));
  if (!yield_nothing(k)) return st_oom();
  k->b = ir_at_end(k->m, branch->regions[0]);
  k->b.loc = outside.loc;
  if (!a->loads_before) TSR_TRY(load_weighting(k, p, weights, others));
  ir_value *z = weigh(k, p->r, kb_row_elements(k, &w, w.recipe->apply), weights);
  if (!z) return st_oom();
  TSR_TRY(epilogue(k, p, z, others, y));
  for (int i = 0; i < p->op->n_results; i++) {
    ir_set_operand(a->store[i], 0, y[i]);
    ir_op_move(a->store[i], branch->regions[0], NULL);
  }
  if (!yield_nothing(k)) return st_oom();
  k->b = outside;
  return NULL;
}

/* ---- the op ------------------------------------------------------------------------------------------------------ */

/* The rows' operands are loaded, then the prologue is computed, then the weights are loaded: the order in which the
 * lowering of graph ops reads them. */
static tsr_status write_out(kb_kernel *k, const place *p) {
  ir_value *weights[2], *others[TILE_ROW_MOST], *results[TILE_ROW_MOST], *y;
  row_work w = work_of(p->r);
  w.may_lose = p->r->care == ROW_CARE_LOST;
  TSR_TRY(load_rows(k, p, &w.x));
  TSR_TRY(load_weights(k, p, weights));
  TSR_TRY(kb_row_stats(k, &w));
  y = w.recipe->per_element ? weigh(k, p->r, kb_row_elements(k, &w, w.recipe->apply), weights) : w.stat[0];
  if (!y) return st_oom();
  TSR_TRY(load_others(k, p, others));
  TSR_TRY(epilogue(k, p, y, others, results));
  if (p->r->keeps_rows) results[p->op->n_results - 1] = w.x;
  for (int i = 0; i < p->op->n_results; i++) ir_forward(p->op->results[i], results[i]);
  return NULL;
}

static tsr_status expand(const ir_op *kernel, const tsr_caps *caps, ir_op *op) {
  const tile_options opts = {.policy = ir_get_str(op, "policy", "fast")};
  tile_row r;
  TSR_TRY(tile_row_get(op, &r));
  const place p = {op, &r, NULL, r.columns};
  apart a;
  if (op->n_results > TILE_ROW_MOST) return ir_error(op, NULL, "has too many results");
  const bool apart = takes_apart(kernel, caps, &p, &a);
  kb_kernel k = {.m = op->module, .b = ir_before(op), .opts = &opts};
  k.b.loc = op->loc;
  if (apart && !(k.zero = kb_index(&k, 0))) return st_oom();
  TSR_TRY(apart ? write_apart(&k, &p, &a) : write_out(&k, &p));
  return k.b.failed ? st_oom() : NULL;
}

typedef struct expander {
  bool (*takes)(const ir_op *row);
  const tsr_caps *caps;
  const ir_op *kernel;
  bool changed;
} expander;

static tsr_status expand_in(expander *e, ir_block *b) {
  for (ir_op *o = b->first, *next; o; o = next) {
    next = o->next;
    ir_settle(o);
    for (int r = 0; r < o->n_regions; r++) TSR_TRY(expand_in(e, o->regions[r]));
    if (o->def->code != T_ROW || (e->takes && e->takes(o))) continue;
    TSR_TRY(expand(e->kernel, e->caps, o));
    next = o->next; /* of where it stands now */
    ir_op_remove(o);
    e->changed = true;
  }
  return NULL;
}

tsr_status tile_expand_row(ir_module *m, bool (*takes)(const ir_op *row), const tsr_caps *caps) {
  bool any = false;
  for (ir_op *o = m->root->regions[0]->first; o; o = o->next) {
    expander e = {takes, caps, o, false};
    if (o->def->level != IR_TILE || o->def->code != T_KERNEL) continue;
    TSR_TRY(expand_in(&e, o->regions[0]));
    if (!e.changed) continue;
    TSR_TRY(tile_fuse_maps_of(o));
    ir_dce(o);
    any = true;
  }
  return any ? ir_verify(m) : NULL;
}
