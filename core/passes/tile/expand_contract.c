/* core/passes/tile/expand_contract.c - see tile/expand_contract.h. The order of the ops is the one that the pipelining
 * of simt and its whole kernels know: windows and copies of a, then of b, one wait, the gemm. A tile whose prologue
 * only hands the element on is copied (a copy converts); others are loaded, mapped and stored. */
#include "core/passes/tile/expand_contract.h"

#include "core/ir/tile/tile.h"
#include "core/passes/tile/build.h"
#include "core/passes/tile/contract_parts.h"
#include "core/passes/tile/fuse_maps.h"
#include "core/passes/tile/region_map.h"
#include "core/passes/tile/unfold.h"

/* ---- the loop -------------------------------------------------------------------------------------------------- */

/* The prologue only hands elements on, and each of the tile is one of the window: a copy, which converts, does it. */
static bool is_copied(const expansion *e, int side) {
  if (tile_is_unfold(e->c.v[side][0])) return false;
  const ir_type *t = e->c.v[side][0]->type;
  const int64_t across = side ? e->c.n_ : e->c.m;
  return e->c.n[side] == 1 && tile_contract_gives_argument(e->c.prologue[side], 0, 0) &&
         e->c.prologue[side]->args[0]->type->dtype == e->c.staged[side] &&
         ir_type_count(t) == across * e->c.k;
}

/* The tile that a side is staged in, which lies as its first operand does; NULL: read where it is in memory. */
static tsr_status alloc_side(expansion *e, int side, ir_value **out) {
  *out = NULL;
  if (!ir_get_bool(e->op, "use_shared", true) && is_copied(e, side) &&
      kb_copy_may_convert(e->c.v[side][0]->type->dtype, e->c.staged[side]))
    return NULL;
  const bool k_first = tile_contract_swapped(&e->c, (contract_role)side, 0) != (side == CONTRACT_B);
  const int64_t across = side ? e->c.n_ : e->c.m;
  ir_type t = {.kind = IR_T_SHARED,
               .dtype = e->c.staged[side],
               .rank = 2,
               .dims = {k_first ? e->c.k : across, k_first ? across : e->c.k},
               .pad = ir_get_int(e->op, "padding", 0)};
  *out = ir_build1(&e->b, "tessera.tile.alloc", ir_type_get(e->m, &t), 0, NULL);
  return *out ? NULL : st_oom();
}

/* The prologue of a side at k, into its tile. */
static tsr_status compute_side(expansion *e, int side, ir_value *k, ir_value *shared) {
  const ir_block *region = e->c.prologue[side];
  ir_value *frags[TILE_CONTRACT_MOST];
  const bool swapped = tile_contract_swapped(&e->c, (contract_role)side, 0);
  for (int i = 0; i < e->c.n[side]; i++) {
    frags[i] = NULL;
    if (!region->args[i]->n_uses) continue;
    ir_value *w = contract_window(e, (contract_role)side, i, k, -1);
    const bool transpose = tile_contract_swapped(&e->c, (contract_role)side, i) != swapped;
    if (!w || !(frags[i] = region_load(&e->b, e->op, w, region->args[i]->type, transpose))) return st_oom();
  }
  const ir_op *map = region_map(&e->b, region, frags, (int[]){0}, 1, shared->type->dims[0], shared->type->dims[1]);
  return map && ir_build0(&e->b, "tessera.tile.store", 2, (ir_value *[]){map->results[0], shared}) ? NULL : st_oom();
}

/* The elements of an unfolded side at k, into its tile. */
static tsr_status gather_side(expansion *e, int side, ir_value *k, ir_value *shared) {
  ir_value *v = contract_window(e, (contract_role)side, 0, k, -1);
  if (e->copies_unfolded)
    return v && ir_build0(&e->b, "tessera.tile.copy", 2, (ir_value *[]){v, shared}) ? NULL : st_oom();
  return v && unfold_gather(&e->b, v->def, v->def->operands + 1, NULL, shared) ? NULL : st_oom();
}

static tsr_status stage_side(expansion *e, int side, ir_value *k, ir_value *shared, ir_value **out) {
  *out = shared;
  if (tile_is_unfold(e->c.v[side][0])) return gather_side(e, side, k, shared);
  if (shared && !is_copied(e, side)) return compute_side(e, side, k, shared);
  ir_value *w = contract_window(e, (contract_role)side, 0, k, -1);
  if (!w) return st_oom();
  if (!shared) return *out = w, NULL;
  ir_op *c = ir_build0(&e->b, "tessera.tile.copy", 2, (ir_value *[]){w, shared});
  const bool async = ir_get_bool(e->op, "async", true);
  return region_note_width(e->op, c) && (!async || ir_set_attr(c, "async", ir_attr_bool(e->m, true))) ? NULL : st_oom();
}

static tsr_status body(expansion *e, ir_op *loop, ir_value *const tiles[2]) {
  const ir_type *sum = loop->operands[3]->type;
  const bool compensated = loop->n_results > 1;
  ir_value *k = ir_block_arg(e->m, loop->regions[0], ir_type_index(e->m), NULL), *carried[2] = {NULL}, *ops[3];
  if (!k) return st_oom();
  for (int i = 0; i < loop->n_results; i++)
    if (!(carried[i] = ir_block_arg(e->m, loop->regions[0], sum, NULL))) return st_oom();
  for (int side = 0; side < 2; side++) TSR_TRY(stage_side(e, side, k, tiles[side], &ops[1 + side]));
  if ((tiles[0] || tiles[1]) && !ir_build0(&e->b, "tessera.tile.wait", 0, NULL)) return st_oom();
  ops[0] = compensated ? region_fill(&e->b, e->c.sum, e->c.m, e->c.n_) : carried[0];
  ir_op *gemm = ops[0] ? ir_op_new(&e->b, ir_find_op("tessera.tile.gemm"), 3, ops, 1, &sum, 0) : NULL;
  if (!gemm ||
      !ir_set_attr(gemm, "transpose_a", ir_attr_bool(e->m, tile_contract_swapped(&e->c, CONTRACT_A, 0))) ||
      !ir_set_attr(gemm, "transpose_b", ir_attr_bool(e->m, tile_contract_swapped(&e->c, CONTRACT_B, 0))) ||
      !ir_set_attr(gemm, "policy", ir_attr_str(e->m, ir_get_str(e->op, "policy", "fast"))))
    return st_oom();
  if (compensated) TSR_TRY(contract_add_part(e, carried, gemm->results[0], carried));
  ir_value *const *next = compensated ? carried : gemm->results;
  return ir_build0(&e->b, "tessera.tile.yield", loop->n_results, next) ? NULL : st_oom();
}

/* Whether the loop's tiles are copies, whose next ones may be under way while it computes (ir/tile/pipelined.h). */
static bool is_pipelined(const expansion *e, ir_value *const tiles[2]) {
  for (int side = 0; side < 2; side++)
    if (tiles[side] && !is_copied(e, side)) return false;
  return tiles[0] || tiles[1];
}

static tsr_status main_loop(expansion *e, ir_value **sum) {
  const int n = 1 + contract_is_compensated(e);
  ir_value *operands[5] = {e->c.from, e->c.to}, *tiles[2];
  for (int i = 0; i < n; i++)
    if (!(operands[3 + i] = region_fill(&e->b, e->c.sum, e->c.m, e->c.n_))) return st_oom();
  for (int side = 0; side < 2; side++) TSR_TRY(alloc_side(e, side, &tiles[side]));
  if (!(operands[2] = contract_number(e, e->c.k))) return st_oom();
  const int64_t stages = ir_get_int(e->op, "stages", 0);
  const ir_type *types[2] = {operands[3]->type, operands[3]->type};
  ir_op *loop = ir_op_new(&e->b, ir_find_op("tessera.tile.for"), 3 + n, operands, n, types, 1);
  if (!loop || (stages > 0 && !ir_set_attr(loop, "stages", ir_attr_int(e->m, stages))) ||
      (is_pipelined(e, tiles) && !ir_set_attr(loop, "pipelined", ir_attr_bool(e->m, true))) ||
      (e->refused && !ir_set_attr(loop, "refused", ir_attr_str(e->m, e->refused))))
    return st_oom();
  ir_builder outside = e->b;
  e->b = ir_at_end(e->m, loop->regions[0]);
  e->b.loc = e->op->loc;
  TSR_TRY(body(e, loop, tiles));
  if (e->b.failed) return st_oom();
  e->b = outside;
  *sum = loop->results[0];
  return n > 1 ? contract_compensate(e, (ir_value *[]){loop->results[0], loop->results[1]}, sum) : NULL;
}

/* ---- the sum alone --------------------------------------------------------------------------------------------- */

/* "mk,kn->" of "mk,kn,mn->mn" */
static const char *sides_maps(const expansion *e) {
  const char *maps = ir_get_str(e->op, "maps", "");
  const int n = 3 * (e->c.n[CONTRACT_A] + e->c.n[CONTRACT_B]) - 1; /* two letters and a comma each */
  return arena_fmt(&e->m->arena, "%.*s->", n, maps);
}

/* Both ops' region r change places. */
static void swap_region(ir_op *a, ir_op *b, int r) {
  ir_block *block = a->regions[r];
  a->regions[r] = b->regions[r];
  b->regions[r] = block;
  a->regions[r]->parent = a;
  b->regions[r]->parent = b;
}

/* A contraction of the same sides whose one result is the sum. The old one's sides are its own from then on. */
static tsr_status sum_alone(expansion *e, ir_value **sum) {
  const ir_type *scalar = ir_type_scalar(e->m, e->c.sum);
  const ir_type *t = ir_type_frag(e->m, e->c.sum, 2, ((int64_t[]){e->c.m, e->c.n_}));
  const char *maps = sides_maps(e);
  ir_op *op = ir_op_new(&e->b, e->op->def, 2 + e->c.n[CONTRACT_A] + e->c.n[CONTRACT_B], e->op->operands, 1, &t, 3);
  if (!op || !maps || !ir_attrs_copy(op, e->op) || !ir_set_attr(op, "maps", ir_attr_str(e->m, maps))) return st_oom();
  ir_value *v = ir_block_arg(e->m, op->regions[2], scalar, NULL);
  ir_builder r = ir_at_end(e->m, op->regions[2]);
  if (!v || !ir_build0(&r, "tessera.tile.yield", 1, &v)) return st_oom();
  for (int side = 0; side < 2; side++) swap_region(op, e->op, side);
  *sum = op->results[0];
  return NULL;
}

static tsr_status expand(ir_op *op, tile_takes takes, const tsr_caps *caps, const char *why) {
  expansion e = {.m = op->module, .op = op, .b = ir_before(op), .refused = why,
                 .copies_unfolded = caps && caps->dialect == DIALECT_CPU};
  movable late = {0};
  ir_value *sum = NULL, *results[TILE_CONTRACT_MOST];
  TSR_TRY(tile_contract_get(op, &e.c));
  if (op->n_results > TILE_CONTRACT_MOST) return ir_error(op, NULL, "has too many results");
  e.b.loc = op->loc;
  if (e.c.by_rows) {
    TSR_TRY(contract_by_rows(&e));
  } else {
    TSR_TRY(contract_find_movable(&e, &late));
    TSR_TRY(takes == TAKES_SUM ? sum_alone(&e, &sum) : main_loop(&e, &sum));
    TSR_TRY(contract_write_epilogue(&e, &late, sum, results));
  }
  for (int i = 0; i < op->n_results; i++) ir_forward(op->results[i], results[i]);
  ir_op_remove(op);
  return e.b.failed ? st_oom() : NULL;
}

typedef struct selection {
  tile_takes_fn takes;
  const tsr_caps *caps;
  bool changed;
} selection;

static tsr_status expand_in(ir_block *b, selection *s) {
  for (ir_op *o = b->first, *next; o; o = next) {
    next = o->next;
    ir_settle(o);
    for (int r = 0; r < o->n_regions; r++) TSR_TRY(expand_in(o->regions[r], s));
    if (o->def->code != T_CONTRACT) continue;
    const char *why = NULL;
    const tile_takes takes = s->takes ? s->takes(o, s->caps, &why) : TAKES_NOTHING;
    if (takes == TAKES_ALL) continue;
    TSR_TRY(expand(o, takes, s->caps, why));
    s->changed = true;
  }
  return NULL;
}

tsr_status tile_expand_contract(ir_module *m, tile_takes_fn takes, const tsr_caps *caps) {
  bool any = false;
  for (ir_op *o = m->root->regions[0]->first; o; o = o->next) {
    selection s = {takes, caps, false};
    if (o->def->level != IR_TILE || o->def->code != T_KERNEL) continue;
    TSR_TRY(expand_in(o->regions[0], &s));
    if (!s.changed) continue;
    TSR_TRY(tile_fuse_maps_of(o));
    ir_dce(o); /* windows that only a contraction moved */
    any = true;
  }
  return any ? ir_verify(m) : NULL;
}
