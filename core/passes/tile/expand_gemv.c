/* core/passes/tile/expand_gemv.c - a tessera.tile.contract of a few rows, each for itself: B is read once, in wide
 * accesses and straight to registers, by all threads of the block: k is divided over lanes and warps, each thread keeps
 * its own sums, and these meet in one reduction after the loop. No matrix instruction, no shared tiles: the time is
 * that of reading b. One accumulator of B's shape for each row of a. */
#include "core/ir/tile/tile.h"
#include "core/passes/tile/build.h"
#include "core/passes/tile/contract_parts.h"
#include "core/passes/tile/map.h"
#include "core/passes/tile/region_map.h"

typedef struct gemv {
  expansion *e;
  bool along_k;         /* B lies [n, k] */
  const ir_type *shape; /* of an accumulator */
} gemv;

/* ---- values in the loop ---------------------------------------------------------------------------------------- */

static ir_value *cast_to(expansion *e, ir_value *v, tsr_dtype t) {
  ir_value *args[1];
  ir_builder r;
  if (!v || v->type->dtype == t) return v;
  kb_kernel k = {.m = e->m, .b = e->b};
  ir_op *map = kb_map_open(&k, 1, &v, args, &r, NULL, 0);
  v = map ? kb_map_close(&k, map, &r, kb_cast_to(&k, &r, args[0], t)) : NULL;
  e->b = k.b;
  return v;
}

/* What a prologue's argument i is loaded as: at once in the sum's type where that loses nothing. */
static tsr_dtype load_type(const gemv *g, contract_role side, int i) {
  const tile_contract *c = &g->e->c;
  const tsr_dtype t = c->prologue[side]->args[i]->type->dtype;
  const bool handed_on = tile_contract_gives_argument(c->prologue[side], 0, i) && t == c->staged[side],
             exact = kb_copy_may_convert(c->v[side][i]->type->dtype, t) && (t == c->sum || dtype_holds(c->sum, t));
  return handed_on && exact ? c->sum : t;
}

/* The prologue's values at k, all or of one row, as rows x columns. */
static tsr_status side_value(gemv *g, contract_role side, ir_value *k, int row, int64_t rows, int64_t columns,
                             ir_value **out) {
  expansion *e = g->e;
  const ir_block *region = e->c.prologue[side];
  const bool swapped = side == CONTRACT_A ? !g->along_k : g->along_k;
  region_begin(region);
  for (int i = 0; i < e->c.n[side]; i++) {
    ir_value *arg = region->args[i], *w;
    if (!arg->n_uses) continue;
    if (!(w = contract_window(e, side, i, k, row))) return st_oom();
    arg->data = region_load(&e->b, e->op, w, ir_type_scalar(e->m, load_type(g, side, i)),
                            tile_contract_swapped(&e->c, side, i) != swapped);
    if (!arg->data) return st_oom();
  }
  for (ir_op *o = region->first; o != region->last; o = o->next) TSR_TRY(region_op(&e->b, region, o, rows, columns));
  TSR_TRY(region_result(&e->b, region, region->last->operands[0], rows, columns, out));
  if ((*out)->type->dtype != e->c.sum) *out = cast_to(e, cast_to(e, *out, e->c.staged[side]), e->c.sum);
  return *out ? NULL : st_oom();
}

static ir_value *multiply_add(expansion *e, ir_value *a, ir_value *b, ir_value *acc) {
  kb_kernel k = {.m = e->m, .b = e->b};
  ir_value *v = kb_map2(&k, SC_ADD, kb_map2(&k, SC_MUL, a, b), acc);
  e->b = k.b;
  return v;
}

/* ---- the loop -------------------------------------------------------------------------------------------------- */

static tsr_status body(gemv *g, ir_op *loop, ir_value *k, ir_value **next) {
  expansion *e = g->e;
  const int64_t *dims = g->shape->dims, steps = e->c.k;
  ir_value *a, *b;
  TSR_TRY(side_value(g, CONTRACT_B, k, -1, dims[0], dims[1], &b));
  for (int i = 0; i < e->c.m; i++) {
    TSR_TRY(side_value(g, CONTRACT_A, k, i, g->along_k ? 1 : steps, g->along_k ? steps : 1, &a));
    if (!(next[i] = multiply_add(e, a, b, next[i]))) return st_oom();
  }
  return ir_build0(&e->b, "tessera.tile.yield", (int)e->c.m, next) && !e->b.failed ? NULL : st_oom();
}

static tsr_status main_loop(gemv *g, ir_value **sums) {
  expansion *e = g->e;
  const int m = (int)e->c.m;
  ir_value *operands[3 + TILE_CONTRACT_ROWS] = {e->c.from, e->c.to}, *next[TILE_CONTRACT_ROWS];
  const ir_type *types[TILE_CONTRACT_ROWS];
  if (!(operands[2] = contract_number(e, e->c.k))) return st_oom();
  for (int i = 0; i < m; i++) {
    types[i] = g->shape;
    if (!(operands[3 + i] = kb_fill(&e->b, g->shape, 0))) return st_oom();
  }
  ir_op *loop = ir_op_new(&e->b, ir_find_op("tessera.tile.for"), 3 + m, operands, m, types, 1);
  ir_value *k = loop ? ir_block_arg(e->m, loop->regions[0], ir_type_index(e->m), NULL) : NULL;
  for (int i = 0; i < m && k; i++)
    if (!(next[i] = ir_block_arg(e->m, loop->regions[0], g->shape, NULL))) return st_oom();
  if (!k) return st_oom();
  ir_builder outside = e->b;
  e->b = ir_at_end(e->m, loop->regions[0]);
  e->b.loc = e->op->loc;
  TSR_TRY(body(g, loop, k, next));
  e->b = outside;
  for (int i = 0; i < m; i++) sums[i] = loop->results[i];
  return NULL;
}

/* An accumulator, [k, n] or [n, k], to [1, n]. */
static ir_value *total(const gemv *g, ir_value *x) {
  expansion *e = g->e;
  const tile_options opts = {.policy = ir_get_str(e->op, "policy", "fast")};
  kb_kernel k = {.m = e->m, .b = e->b, .opts = &opts};
  ir_value *v = kb_reduce_axis(&k, "sum", x, g->along_k);
  e->b = k.b;
  return g->along_k ? region_transposed(&e->b, v) : v;
}

tsr_status contract_by_rows(expansion *e) {
  gemv g = {.e = e, .along_k = tile_contract_swapped(&e->c, CONTRACT_B, 0)};
  const int64_t dims[2] = {g.along_k ? e->c.n_ : e->c.k, g.along_k ? e->c.k : e->c.n_};
  ir_value *sums[TILE_CONTRACT_ROWS], *sum;
  if (!(g.shape = ir_type_frag(e->m, e->c.sum, 2, dims))) return st_oom();
  TSR_TRY(main_loop(&g, sums));
  for (int i = 0; i < e->c.m; i++) {
    if (!(sum = total(&g, sums[i]))) return st_oom();
    TSR_TRY(contract_write_row(e, i, sum));
  }
  return NULL;
}
