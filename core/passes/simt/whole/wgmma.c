/* core/passes/simt/whole/wgmma.c - the sm_90a matmul's code; what it takes and with which tiles: wgmma_plan.c.
 *
 * One warpgroup is the producer: one of its threads fills a stage queue by TMA (128-byte swizzle). The other
 * warpgroups own 64 or 128 rows of the tile each and run wgmma from shared memory. Two mbarriers per stage: `full` (TMA
 * bytes landed) and `empty` (all consumers, of both blocks of a cluster, have read it), waited on by parity. A cluster
 * of two shares B: each block loads half and multicasts it. Blocks are persistent and walk the tiles in groups of rows,
 * so that neighbours in time share operands in L2. The epilogue goes through a swizzled tile in shared memory and TMA
 * (simt/whole/epilogue.h) where the result's layout allows, else straight from registers. Layouts: PTX ISA,
 * "Asynchronous Warpgroup Level Matrix Shared Memory Layout"; the accumulator map of m64nN. */
#include "core/passes/simt/whole/wgmma.h"

#include <stdio.h>

#include "core/device/matrix_instr.h"
#include "core/passes/simt/whole/head.h"
#include "core/passes/simt/whole/tma.h"
#include "core/passes/simt/whole/wgmma_plan.h"

#define NAME(s) "tessera.target." s
enum { GROUP_ROWS = 16 };

typedef struct wg {
  tgb t;
  wgmma_plan p;
  ir_value *args[WHOLE_MOST_ARGS];
  ir_value *map_a, *map_b;
  ir_value *sa, *sb, *full, *empty, *rank;
  simt_place place;
} wg;

/* ---- tile order ------------------------------------------------------------------------------------------------ */

/* The tile of a unit (a cluster's pair of tiles): groups of rows, rows fastest within a group. */
static void locate(wg *g, ir_value *unit) {
  tgb *t = &g->t;
  const simt_matmul *mm = &g->p.mm;
  int64_t nx = mm->grid[0], rows = mm->grid[1] / g->p.cluster, per_z = nx * rows, group = GROUP_ROWS / g->p.cluster;
  if (group > rows) group = rows;
  ir_value *z = mm->grid[2] > 1 ? tg_divi(t, unit, per_z) : tg_index(t, 0),
           *r = mm->grid[2] > 1 ? tg_remi(t, unit, per_z) : unit;
  ir_value *band = tg_divi(t, r, group * nx), *in = tg_remi(t, r, group * nx), *first = tg_muli(t, band, group);
  ir_value *height =
      rows % group ? tg_min(t, tg_sub(t, tg_index(t, rows), first), tg_index(t, group)) : tg_index(t, group);
  ir_value *row = tg_add(t, first, tg_rem(t, in, height));
  g->place.block[0] = tg_named(tg_div(t, in, height), "tile_x");
  g->place.block[1] = tg_named(g->p.cluster > 1 ? tg_add(t, tg_muli(t, row, g->p.cluster), g->rank) : row, "tile_y");
  g->place.block[2] = z;
}

static ir_op *tile_loop(wg *g, ir_value *stage, ir_value *phase) {
  tgb *t = &g->t;
  const simt_matmul *mm = &g->p.mm;
  if (mm->tiles) {
    g->place.block[0] = tg_value(t, NAME("block_id"), ir_type_index(t->m), 0, NULL);
    g->place.block[1] = g->place.block[2] = tg_index(t, 0);
    ir_op *tiles = tg_for(t, simt_place_index(&g->place, mm->tiles->operands[0]),
                          simt_place_index(&g->place, mm->tiles->operands[1]), tg_index(t, 1), 2,
                          (ir_value *[]){stage, phase}, "tile");
    tg_int(t, tiles, "unroll_by", 1);
    g->place.tile = tg_counter(tiles);
    return tiles;
  }
  ir_value *unit = tg_divi(t, tg_value(t, NAME("block_id"), ir_type_index(t->m), 0, NULL), g->p.cluster);
  int64_t units = mm->grid[0] * mm->grid[1] * mm->grid[2] / g->p.cluster;
  ir_op *loop = tg_for(t, unit, tg_index(t, units), tg_index(t, g->p.ctas / g->p.cluster), 2,
                       (ir_value *[]){stage, phase}, "unit");
  tg_int(t, loop, "unroll_by", 1); /* the producer has few registers */
  locate(g, tg_counter(loop));
  return loop;
}

static ir_op *depth_loop(wg *g, ir_op *tiles) {
  tgb *t = &g->t;
  ir_value *from = g->p.mm.first_k ? simt_place_index(&g->place, g->p.mm.first_k) : NULL;
  ir_value *depth =
      g->p.mm.last_k ? tg_sub(t, simt_place_index(&g->place, g->p.mm.last_k), from) : tg_index(t, g->p.mm.k);
  ir_op *loop = tg_for(t, tg_index(t, 0), depth, tg_index(t, g->p.mm.bk), 2,
                       (ir_value *[]){tg_carried(tiles, 0), tg_carried(tiles, 1)}, "k");
  tg_int(t, loop, "unroll_by", 1);
  g->place.k = tg_counter(loop);
  if (from) g->place.k = tg_add(t, tg_counter(loop), from);
  return loop;
}

/* The next stage and its phase; the phase flips when the queue wraps. */
static void advance(wg *g, ir_value *stage, ir_value *phase, ir_value *out[2]) {
  tgb *t = &g->t;
  ir_value *next = tg_addi(t, stage, 1), *wraps = tg_compare(t, "eq", next, tg_index(t, g->p.stages));
  out[0] = tg_select(t, wraps, tg_index(t, 0), next);
  out[1] = tg_select(t, wraps, tg_xor(t, phase, tg_index(t, 1)), phase);
}

/* ---- producer -------------------------------------------------------------------------------------------------- */

static void load_box(wg *g, const simt_side *s, const wgmma_side *sp, ir_value *map, ir_value *shared, ir_value *base,
                     ir_value *bar, ir_value *stage, int box, ir_value *line, int64_t shared_line, int mask) {
  tgb *t = &g->t;
  ir_value *v[4 + 5], *c[TSR_MAX_RANK];
  int n = simt_tma_coordinates(&g->place, s->window, tg_index(t, (int64_t)box * g->p.per_atom), line, c);
  int64_t at = (int64_t)box * sp->box[1] * g->p.per_atom;
  ir_value *to = tg_addi(t, base, at);
  if (line) to = tg_add(t, to, tg_muli(t, line, shared_line));
  v[0] = map;
  v[1] = shared;
  v[2] = to;
  v[3] = tg_value(t, NAME("ptr_add"), bar ? bar->type : NULL, TG_V(bar, stage));
  for (int i = 0; i < n && i < 5; i++) v[4 + i] = c[i];
  ir_op *op = tg_op(t, NAME("tma_load"), NULL, 4 + n, v);
  if (mask) tg_int(t, op, "multicast", mask);
}

static void load_stage(wg *g, ir_value *stage) {
  tgb *t = &g->t;
  const wgmma_plan *p = &g->p;
  ir_value *base_a = tg_muli(t, stage, p->a.bytes / p->size), *base_b = tg_muli(t, stage, p->b.bytes / p->size);
  for (int i = 0; i < p->a.n_boxes; i++)
    load_box(g, &p->mm.a, &p->a, g->map_a, g->sa, base_a, g->full, stage, i, NULL, 0, 0);
  if (p->cluster == 1) {
    for (int i = 0; i < p->b.n_boxes; i++)
      load_box(g, &p->mm.b, &p->b, g->map_b, g->sb, base_b, g->full, stage, i, NULL, 0, 0);
  } else if (p->b.mn_major) { /* each block loads half of the boxes for both */
    ir_value *half = tg_muli(t, g->rank, (int64_t)p->b.n_boxes / 2 * p->per_atom);
    for (int i = 0; i < p->b.n_boxes / 2; i++) {
      simt_place saved = g->place;
      ir_value *v[4 + 5], *c[TSR_MAX_RANK];
      int n = simt_tma_coordinates(&g->place, p->mm.b.window, tg_addi(t, half, (int64_t)i * p->per_atom), NULL, c);
      v[0] = g->map_b;
      v[1] = g->sb;
      v[2] =
          tg_add(t, base_b,
                 tg_muli(t, tg_addi(t, tg_muli(t, g->rank, p->b.n_boxes / 2), i), (int64_t)p->b.box[1] * p->per_atom));
      v[3] = tg_value(t, NAME("ptr_add"), g->full ? g->full->type : NULL, TG_V(g->full, stage));
      for (int d = 0; d < n && d < 5; d++) v[4 + d] = c[d];
      tg_int(t, tg_op(t, NAME("tma_load"), NULL, 4 + n, v), "multicast", 3);
      g->place = saved;
    }
  } else { /* half of the lines of each box */
    ir_value *half = tg_muli(t, g->rank, p->mm.bn / 2);
    for (int i = 0; i < p->b.n_boxes; i++)
      load_box(g, &p->mm.b, &p->b, g->map_b, g->sb, base_b, g->full, stage, i, half, p->per_atom, 3);
  }
}

static void producer(wg *g, ir_value *thread) {
  tgb *t = &g->t;
  ir_value *next[2];
  ir_op *one = tg_if(t, tg_compare(t, "eq", thread, tg_index(t, 0)));
  ir_op *tiles = tile_loop(g, tg_named(tg_index(t, 0), "stage"), tg_named(tg_index(t, 0), "phase"));
  ir_op *depth = depth_loop(g, tiles);
  ir_value *stage = tg_carried(depth, 0), *phase = tg_carried(depth, 1);
  tg_op(t, NAME("mbar_wait"), NULL, TG_V(g->empty, stage, tg_xor(t, phase, tg_index(t, 1))));
  tg_int(t, tg_op(t, NAME("mbar_expect"), NULL, TG_V(g->full, stage)), "bytes", g->p.a.bytes + g->p.b.bytes);
  load_stage(g, stage);
  advance(g, stage, phase, next);
  tg_end(t, depth, 2, next);
  tg_end(t, tiles, 2, depth ? (ir_value *[]){depth->results[0], depth->results[1]} : next);
  tg_close(t, one);
  tg_op(t, NAME("warp_barrier"), NULL, 0, NULL);
}

/* ---- consumers ------------------------------------------------------------------------------------------------- */

/* Bytes of the two offsets of an operand's descriptor: for k-major tiles only the stride between groups of 8 lines
 * counts; for the other, the leading offset is the distance of 128-byte columns, the stride that of groups of 8 along
 * k. */
static void descriptor(const wgmma_plan *p, const wgmma_side *s, ir_op *op, tgb *t, const char *lbo, const char *sbo) {
  tg_int(t, op, lbo, s->mn_major ? p->mm.bk * WGMMA_ATOM : 16);
  tg_int(t, op, sbo, 8 * WGMMA_ATOM);
}

/* Element offset of a k-step in a stage. */
static int64_t step_offset(const wgmma_plan *p, const wgmma_side *s, int step, int64_t mn) {
  int k = step * p->k_step;
  if (s->mn_major) return (int64_t)k * p->per_atom;
  return (int64_t)(k / p->per_atom) * mn * p->per_atom + k % p->per_atom;
}

/* The products of a stage from its wgmma step `from` up to `to`. */
static void issue(wg *g, ir_value *acc, ir_value *group, ir_value *stage, int from, int to) {
  tgb *t = &g->t;
  const wgmma_plan *p = &g->p;
  ir_value *base_a = tg_muli(t, stage, p->a.bytes / p->size), *base_b = tg_muli(t, stage, p->b.bytes / p->size);
  /* 64 rows are 64 lines of a k-major tile, or one 128-byte column of boxes of an m-major one */
  int64_t rows = p->a.mn_major ? (int64_t)64 / p->per_atom * p->a.box[1] * p->per_atom : (int64_t)64 * p->per_atom;
  base_a = tg_add(t, base_a, tg_muli(t, group, rows * p->blocks));
  for (int s = from; s < to; s++)
    for (int m = 0; m < p->blocks; m++) {
      ir_value *at_a = tg_addi(t, base_a, step_offset(p, &p->a, s, p->mm.bm) + m * rows),
               *at_b = tg_addi(t, base_b, step_offset(p, &p->b, s, p->mm.bn));
      ir_op *op = tg_op(t, NAME("wgmma"), NULL, TG_V(acc, g->sa, at_a, g->sb, at_b));
      tg_int(t, op, "n", p->mm.bn);
      tg_int(t, op, "k", p->k_step);
      tg_text(t, op, "a", tsr_dtype_name(p->mm.a.dtype));
      tg_text(t, op, "b", tsr_dtype_name(p->mm.b.dtype));
      tg_text(t, op, "c", tsr_dtype_name(p->mm.c));
      tg_int(t, op, "swizzle", WGMMA_ATOM);
      if (p->a.mn_major) tg_flag(t, op, "transpose_a", true);
      if (p->b.mn_major) tg_flag(t, op, "transpose_b", true);
      descriptor(p, &p->a, op, t, "lbo_a", "sbo_a");
      descriptor(p, &p->b, op, t, "lbo_b", "sbo_b");
      if (m) tg_int(t, op, "acc_at", m * p->mm.bn / 2);
    }
}

/* This warp has read the stage: one arrival for each block of the cluster. */
static void release(wg *g, ir_value *lane, ir_value *stage) {
  tgb *t = &g->t;
  ir_op *guard = tg_if(t, tg_compare(t, "lt", lane, tg_index(t, g->p.cluster)));
  if (g->p.cluster > 1) tg_op(t, NAME("mbar_arrive"), NULL, TG_V(g->empty, stage, lane));
  else tg_op(t, NAME("mbar_arrive"), NULL, TG_V(g->empty, stage));
  tg_close(t, guard);
}

static void load_acc(wg *g, ir_value *acc, ir_value *first, int64_t k, int w, ir_value **out) {
  for (int i = 0; i < w; i++) out[i] = tg_get(&g->t, acc, tg_addi(&g->t, first, k + i));
}

/* Registers 4j, 4j+1 hold row lane / 4 and columns 8j + 2 (lane % 4), +1; 4j+2, 4j+3 the row 8 below. */
static void epilogue_direct(wg *g, ir_value *acc, ir_value *group, ir_value *warp, ir_value *lane) {
  tgb *t = &g->t;
  ir_value *x[2];
  for (int m = 0; m < g->p.blocks; m++) {
    ir_value *row0 = tg_add(t, tg_addi(t, tg_muli(t, group, 64 * g->p.blocks), 64 * m),
                            tg_add(t, tg_muli(t, warp, 16), tg_divi(t, lane, 4)));
    ir_value *col0 = tg_muli(t, tg_remi(t, lane, 4), 2);
    ir_op *j = tg_unrolled(t, g->p.mm.bn / 8, "j");
    ir_op *h = tg_unrolled(t, 2, "half");
    ir_value *row = tg_add(t, row0, tg_muli(t, tg_counter(h), 8)), *col = tg_add(t, col0, tg_muli(t, tg_counter(j), 8));
    load_acc(g, acc, tg_add(t, tg_muli(t, tg_counter(j), 4), tg_muli(t, tg_counter(h), 2)), m * g->p.mm.bn / 2, 2, x);
    for (int s = 0; s < g->p.mm.n_stores; s++) simt_store_direct(&g->place, s, row, col, 2, x);
    tg_close(t, h);
    tg_close(t, j);
  }
}

static void clear_sums(tgb *t, tsr_dtype type, ir_value *sums, int n) {
  ir_op *zero = tg_unrolled(t, n, "i");
  tg_set(t, tg_number(t, type, 0), sums, tg_counter(zero));
  tg_close(t, zero);
}

static ir_value *stage_before(wg *g, ir_value *stage) {
  tgb *t = &g->t;
  return tg_select(t, tg_compare(t, "eq", stage, tg_index(t, 0)), tg_index(t, g->p.stages - 1), tg_addi(t, stage, -1));
}

/* A stage's products. One group stays in flight; the stage before this one has been read once it is the only one. */
static void stage_products(wg *g, ir_value *acc, ir_value *group, ir_value *lane, ir_op *depth, ir_value *stage) {
  tgb *t = &g->t;
  tg_op(t, NAME("wgmma_fence"), NULL, TG_V(acc));
  issue(g, acc, group, stage, 0, (int)g->p.mm.bk / g->p.k_step);
  tg_op(t, NAME("wgmma_commit"), NULL, 0, NULL);
  tg_int(t, tg_op(t, NAME("wgmma_wait"), NULL, TG_V(acc)), "pending", 1);
  ir_op *later = tg_if(t, tg_compare(t, "gt", tg_counter(depth), tg_index(t, 0)));
  release(g, lane, stage_before(g, stage));
  tg_close(t, later);
}

/* The same, added to `sums` in f32 each F8_PROMOTE of k: while one warpgroup adds, the tensor cores are the
 * other's. */
static void stage_promoted(wg *g, ir_value *acc, ir_value *sums, int n_acc, ir_value *group, ir_value *lane,
                           ir_value *stage) {
  tgb *t = &g->t;
  int each = F8_PROMOTE / g->p.k_step, steps = (int)g->p.mm.bk / g->p.k_step;
  for (int s = 0; s < steps; s += each) {
    tg_op(t, NAME("wgmma_fence"), NULL, TG_V(acc));
    issue(g, acc, group, stage, s, s + each < steps ? s + each : steps);
    tg_op(t, NAME("wgmma_commit"), NULL, 0, NULL);
    tg_int(t, tg_op(t, NAME("wgmma_wait"), NULL, TG_V(acc)), "pending", 0);
    if (s + each >= steps) release(g, lane, stage);
    ir_op *i = tg_unrolled(t, n_acc, "i");
    tg_set(t, tg_add(t, tg_get(t, sums, tg_counter(i)), tg_get(t, acc, tg_counter(i))), sums, tg_counter(i));
    tg_set(t, tg_number(t, g->p.mm.c, 0), acc, tg_counter(i));
    tg_close(t, i);
  }
}

static void consumer(wg *g, ir_value *group, ir_value *thread, ir_value *warp, ir_value *lane) {
  tgb *t = &g->t;
  const wgmma_plan *p = &g->p;
  int n_acc = (int)(p->blocks * p->mm.bn / 2);
  ir_value *next[2], *acc = tg_local(t, p->mm.c, n_acc, "acc"),
                     *sums = p->promote ? tg_local(t, p->mm.c, n_acc, "sums") : acc;
  g->p.store.acc = sums, g->p.store.group = group, g->p.store.thread = thread, g->p.store.warp = warp,
  g->p.store.lane = lane;
  ir_op *tiles = tile_loop(g, tg_named(tg_index(t, 0), "stage"), tg_named(tg_index(t, 0), "phase"));
  clear_sums(t, p->mm.c, acc, n_acc);
  if (p->promote) clear_sums(t, p->mm.c, sums, n_acc);
  ir_op *depth = depth_loop(g, tiles);
  ir_value *stage = tg_carried(depth, 0), *phase = tg_carried(depth, 1);
  tg_op(t, NAME("mbar_wait"), NULL, TG_V(g->full, stage, phase));
  if (p->promote) stage_promoted(g, acc, sums, n_acc, group, lane, stage);
  else stage_products(g, acc, group, lane, depth, stage);
  advance(g, stage, phase, next);
  tg_end(t, depth, 2, next);
  if (!p->promote) {
    tg_int(t, tg_op(t, NAME("wgmma_wait"), NULL, TG_V(acc)), "pending", 0);
    release(g, lane, stage_before(g, depth ? depth->results[0] : NULL));
  }
  if (p->tma_store) simt_tile_store_emit(&g->place, &p->store);
  else epilogue_direct(g, sums, group, warp, lane);
  tg_end(t, tiles, 2, depth ? (ir_value *[]){depth->results[0], depth->results[1]} : next);
}

/* ---- the kernel ------------------------------------------------------------------------------------------------ */

static void registers(wg *g, bool is_consumer) {
  const int n = simt_role_registers(g->p.consumers, is_consumer);
  if (!n) return;
  ir_op *op = tg_op(&g->t, NAME("setmaxnreg"), NULL, 0, NULL);
  tg_int(&g->t, op, "registers", n);
  if (is_consumer) tg_flag(&g->t, op, "increase", true);
}

static void set_up(wg *g, ir_value *thread) {
  tgb *t = &g->t;
  const wgmma_plan *p = &g->p;
  g->sa = tg_shared(t, p->mm.a.dtype, p->at_a, "a_tiles");
  g->sb = tg_shared(t, p->mm.b.dtype, p->at_b, "b_tiles");
  g->full = tg_shared(t, TSR_I64, p->at_full, "full");
  g->empty = tg_shared(t, TSR_I64, p->at_empty, "empty");
  g->rank = p->cluster > 1 ? tg_named(tg_value(t, NAME("cluster_rank"), ir_type_index(t->m), 0, NULL), "rank")
                           : tg_index(t, 0);
  ir_op *one = tg_if(t, tg_compare(t, "eq", thread, tg_index(t, 0)));
  ir_op *s = tg_for(t, tg_index(t, 0), tg_index(t, p->stages), tg_index(t, 1), 0, NULL, "stage");
  tg_int(t, tg_op(t, NAME("mbar_init"), NULL, TG_V(g->full, tg_counter(s))), "count", 1);
  tg_int(t, tg_op(t, NAME("mbar_init"), NULL, TG_V(g->empty, tg_counter(s))), "count", 4 * p->consumers * p->cluster);
  tg_close(t, s);
  tg_text(t, tg_op(t, NAME("fence"), NULL, 0, NULL), "kind", "mbarrier_init");
  tg_close(t, one);
  tg_op(t, p->cluster > 1 ? NAME("cluster_sync") : NAME("barrier"), NULL, 0, NULL);
}

static void body(wg *g) {
  tgb *t = &g->t;
  ir_value *thread = tg_named(tg_value(t, NAME("thread_id"), ir_type_index(t->m), 0, NULL), "thread");
  ir_value *warp_of_block = tg_named(tg_value(t, NAME("warp_id"), ir_type_index(t->m), 0, NULL), "warp");
  const wgmma_plan *p = &g->p;
  g->map_a = simt_tma_map(&g->t, g->args[p->mm.a.arg->index], p->mm.a.view, p->a.box[0], p->a.box[1]);
  bool split = p->cluster > 1 && !p->b.mn_major;
  g->map_b = simt_tma_map(&g->t, g->args[p->mm.b.arg->index], p->mm.b.view, p->b.box[0],
                          split ? p->b.box[1] / 2 : p->b.box[1]);
  if (p->tma_store) simt_tile_store_begin(&g->place, &g->p.store, 0);
  set_up(g, thread);
  ir_value *group = tg_divi(t, warp_of_block, 4);
  ir_op *role = tg_if(t, tg_compare(t, "eq", group, tg_index(t, p->consumers)));
  registers(g, false);
  producer(g, tg_addi(t, thread, -128 * p->consumers));
  tg_else(t, role);
  registers(g, true);
  ir_value *in_group = tg_named(tg_remi(t, thread, 128), "in_group");
  consumer(g, group, in_group, tg_remi(t, warp_of_block, 4), tg_named(tg_remi(t, thread, 32), "lane"));
  if (p->tma_store) simt_tile_store_end(&g->place, &p->store);
  tg_close(t, role);
  /* A block must outlive what its neighbour still sends to it. */
  if (p->cluster > 1) tg_op(t, NAME("cluster_sync"), NULL, 0, NULL);
}

bool simt_wgmma_takes(const ir_op *kernel, const tsr_caps *caps, const char **why) {
  wgmma_plan p;
  return !(*why = simt_wgmma_plan_kernel(kernel, caps, &p));
}

tsr_status simt_wgmma_kernel(const ir_op *kernel, const tsr_caps *caps, ir_module *m, bool *done, const char **why) {
  wg g = {.t = {m, {0}, }};
  const wgmma_plan *p = &g.p;
  char path[128];
  *done = false;
  if ((*why = simt_wgmma_plan_kernel(kernel, caps, &g.p))) return NULL;
  snprintf(path, sizeof path, "wgmma m64n%dk%d, %d stages, cluster %d, %d+1 warpgroups, %s epilogue", (int)p->mm.bn,
           p->k_step, p->stages, p->cluster, p->consumers, p->tma_store ? "TMA" : "direct");
  const simt_whole_head head = {.kernel = kernel,
                           .path = path,
                           .subgroup = 32,
                           .threads = 128 * (p->consumers + 1),
                           .shared_bytes = p->shared,
                           .grid = {p->ctas, 1, 1}};
  ir_op *k = simt_whole_begin(&g.t, caps, &head, g.args);
  if (!k || (p->cluster > 1 && !ir_set_attr(k, "cluster", ir_attr_ints(m, (int64_t[]){p->cluster, 1, 1}, 3))))
    return st_oom();
  g.place = (simt_place){.t = &g.t, .mm = &g.p.mm, .args = g.args};
  body(&g);
  return simt_whole_end(&g.t, k, done);
}
