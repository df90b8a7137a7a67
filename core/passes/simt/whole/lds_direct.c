/* core/passes/simt/whole/lds_direct.c - the CDNA matmul whose operands go to LDS without passing through registers.
 * What it takes and with which tiles: lds_direct_plan.c.
 *
 * Operand tiles go from global memory straight to LDS. Such a load puts lane i of a wave at a common base + i * 4 bytes
 * (16 on gfx950), so the tile in LDS has neither padding nor a choice of place; what would be a swizzle of the store is
 * one of the address that each lane loads from: 16-byte chunk c of a line holds what belongs at c ^ f(line). The chunks
 * that a wave reads for one MFMA operand then fall into different banks.
 *  - An operand that runs along k: a line is one row of bk elements; a lane reads 16 bytes, k-elements for two MFMAs
 *    (gfx950: one). Which k meets which doesn't matter as long as both operands agree. gfx942: fp8 is made FNUZ between
 *    LDS and the instruction.
 *  - An operand that runs along m or n: a line is one k; a lane reads four neighbours from each of its eight k's and
 *    transposes them.
 * Both give a lane four neighbouring columns of the result where the wave has 64 of them: row 16 e + c of the tile is
 * column 4 c + e.
 *
 * Ping-pong (eight waves, two on each SIMD): while the waves of one half run MFMAs at raised priority, those of the
 * other read their next operands from LDS, and at each barrier they change places. The second half is one barrier
 * behind. In units of such intervals, with p of them for the reads (and as many for the products) of a tile:
 *   first half:  2 p t issues the loads of tile t + 1, ... waits for them at the end of 2 p t + 2 p - 1 (its last
 *                products)
 *   second half: the same intervals, but there these are its last products of tile t - 1 and its last reads of tile t
 * so loads are in flight for a whole tile, and their buffer was last read in interval 2 p t - 1. */
#include "core/passes/simt/whole/lds_direct.h"

#include <stdio.h>
#include <string.h>

#include "core/passes/simt/matrix/amd.h"
#include "core/passes/simt/matrix/fnuz.h"
#include "core/passes/simt/matrix/operands.h"
#include "core/passes/simt/raster.h"
#include "core/passes/simt/whole/head.h"
#include "core/passes/simt/whole/lds_direct_plan.h"

#define NAME(s) "tessera.target." s

typedef struct dl {
  tgb t;
  dl_plan p;
  ir_value *args[WHOLE_MOST_ARGS], *thread, *wave, *quarter, *column,
      *second; /* lane / 16, lane % 16, is of the second half */
  ir_value *words, *fragment_a, *fragment_b, *acc, *steps;
  simt_place place;
} dl;

/* ---- loads ----------------------------------------------------------------------------------------------------- */

/* f(line): which chunk of a line lies at 0. Lines of less than 128 bytes share the banks by twos. */
static ir_value *swizzle(tgb *t, const dl_side *s, ir_value *line) {
  if (s->across) return s->line < 256 ? tg_index(t, 0) : tg_muli(t, tg_remi(t, tg_divi(t, line, 8), 2), 8);
  return s->line == DL_SPAN ? tg_remi(t, tg_divi(t, line, 2), 4) : tg_remi(t, line, 8);
}

/* Row of the operand that a line of the tile holds. */
static ir_value *row_of_line(tgb *t, const dl_side *s, ir_value *line) {
  if (!s->quad) return line;
  ir_value *in = tg_remi(t, line, 64);
  return tg_add(t, tg_sub(t, line, in), tg_add(t, tg_muli(t, tg_remi(t, in, 16), 4), tg_divi(t, in, 16)));
}

/* Element index of (row, k) in the operand's memory; rows beyond the last are read as the last, their products are
 * dropped. */
static ir_value *element(dl *g, const dl_side *s, ir_value *mn, ir_value *k, int64_t together) {
  tgb *t = &g->t;
  const ir_type *v = s->s->view;
  int along_mn = s->across ? s->s->col : s->s->row, along_k = s->across ? s->s->row : s->s->col;
  int64_t strides[TSR_MAX_RANK], tile = s == &g->p.a ? g->p.mm.bm : g->p.mm.bn;
  ir_value *sum = tg_index(t, v->offset);
  ir_type_strides(v, strides);
  for (int d = 0; d < v->rank; d++) {
    ir_value *at = simt_place_offset(&g->place, s->s->window, d);
    if (d == along_k) at = tg_add(t, at, k);
    if (d == along_mn) {
      at = tg_add(t, at, mn);
      if (v->dims[d] % tile) at = tg_min(t, at, tg_index(t, v->dims[d] - together));
    }
    if (strides[d]) sum = tg_add(t, sum, tg_muli(t, at, strides[d]));
  }
  return sum;
}

static void load_side(dl *g, const dl_side *s, ir_value *stage) {
  tgb *t = &g->t;
  const dl_plan *p = &g->p;
  int64_t each = (int64_t)p->waves * DL_WAVE * p->granule, per_wave = (int64_t)DL_WAVE * p->granule;
  ir_op *i = tg_unrolled(t, simt_direct_stage_bytes(s) / each, "i");
  ir_value *mine = tg_muli(t, g->thread, p->granule), *in_line = tg_remi(t, mine, s->line);
  ir_value *line = tg_add(t, tg_muli(t, tg_counter(i), each / s->line), tg_divi(t, mine, s->line));
  ir_value *chunk = tg_xor(t, tg_divi(t, in_line, DL_CHUNK), swizzle(t, s, line));
  ir_value *along = tg_divi(t, tg_add(t, tg_muli(t, chunk, DL_CHUNK), tg_remi(t, in_line, DL_CHUNK)), p->size);
  ir_value *from =
      s->across ? element(g, s, along, line, p->granule / p->size) : element(g, s, row_of_line(t, s, line), along, 1);
  ir_value *base = tg_add(t, tg_muli(t, stage, simt_direct_stage_bytes(s) / 4),
                          tg_addi(t, tg_muli(t, g->wave, per_wave / 4), s->at / 4));
  ir_op *load =
      tg_op(t, NAME("lds_load"), NULL,
            TG_V(g->words, tg_add(t, base, tg_muli(t, tg_counter(i), each / 4)), g->args[s->s->arg->index], from));
  tg_int(t, load, "bytes", p->granule);
  tg_close(t, i);
}

static ir_value *stage_of_step(dl *g, ir_value *step) { return tg_remi(&g->t, step, g->p.stages); }

/* Starts the loads of one step of k. */
static void issue(dl *g, ir_value *step) {
  tgb *t = &g->t;
  g->place.k = tg_muli(t, step, g->p.mm.bk);
  if (g->p.mm.first_k) g->place.k = tg_add(t, g->place.k, simt_place_index(&g->place, g->p.mm.first_k));
  load_side(g, &g->p.a, stage_of_step(g, step));
  load_side(g, &g->p.b, stage_of_step(g, step));
}

static int loads_per_step(const dl_plan *p) {
  return (int)(p->stage_bytes / ((int64_t)p->waves * DL_WAVE * p->granule));
}

static void wait_loads(dl *g, int pending) {
  tg_int(&g->t, tg_op(&g->t, NAME("waitcnt"), NULL, 0, NULL), "vmcnt", pending);
}
static void wait_reads(dl *g) { tg_int(&g->t, tg_op(&g->t, NAME("waitcnt"), NULL, 0, NULL), "lgkmcnt", 0); }

/* The barrier alone: what it has to wait for, the caller says. Nothing is scheduled across. */
static void meet(dl *g) {
  tgb *t = &g->t;
  tg_op(t, NAME("sched_barrier"), NULL, 0, NULL);
  ir_op *bar = tg_op(t, NAME("named_barrier"), NULL, 0, NULL);
  tg_int(t, bar, "id", 0);
  tg_int(t, bar, "threads", (int64_t)g->p.waves * DL_WAVE);
  tg_op(t, NAME("sched_barrier"), NULL, 0, NULL);
}

/* ---- operands and products ------------------------------------------------------------------------------------- */

/* Place of the wave along m or n. */
static ir_value *wave_origin(dl *g, const dl_side *s) {
  ir_value *at = s == &g->p.a ? tg_divi(&g->t, g->wave, g->p.across) : tg_remi(&g->t, g->wave, g->p.across);
  return tg_muli(&g->t, at, s->wave);
}

static void read_along(dl *g, const dl_side *s, ir_value *fragment, ir_value *stage, int span) {
  tgb *t = &g->t;
  ir_op *b = tg_unrolled(t, s->blocks, "block");
  ir_value *line = tg_add(t, tg_add(t, wave_origin(g, s), tg_muli(t, tg_counter(b), 16)), g->column);
  ir_value *origin = tg_addi(
      t, tg_add(t, tg_muli(t, line, s->line / 4), tg_muli(t, stage, simt_direct_stage_bytes(s) / 4)), s->at / 4);
  for (int c = 0; c < g->p.chunks; c++) {
    ir_value *chunk = tg_xor(t, tg_addi(t, g->quarter, (int64_t)(span * g->p.chunks + c) * (DL_SPAN / DL_CHUNK)),
                             swizzle(t, s, g->column));
    ir_value *v = tg_load(t, g->words, tg_add(t, origin, tg_muli(t, chunk, DL_CHUNK / 4)), 4), *word[4];
    for (int i = 0; i < 4 && g->p.fnuz; i++)
      word[i] = simt_fnuz_word(t, tg_extract(t, v, i), s == &g->p.a ? g->p.in->a : g->p.in->b);
    if (g->p.fnuz) v = tg_vector(t, 4, word);
    tg_set(t, v, fragment, tg_addi(t, tg_muli(t, tg_counter(b), 4 * g->p.chunks), 4 * c));
  }
  tg_close(t, b);
}

static void read_across(dl *g, const dl_side *s, ir_value *fragment, ir_value *stage, int span) {
  enum { K = DL_CHUNK / 2 }; /* k's of a lane */
  tgb *t = &g->t;
  ir_value *elements = tg_shared(t, g->p.mm.a.dtype, s->at, NULL), *row[K], *part[K];
  ir_op *b = tg_unrolled(t, s->blocks / 4, "quad");
  ir_value *line0 = tg_addi(t, tg_muli(t, g->quarter, K), (int64_t)span * 4 * K), *flip = swizzle(t, s, line0);
  ir_value *column = tg_add(t, tg_add(t, wave_origin(g, s), tg_muli(t, tg_counter(b), 64)), tg_muli(t, g->column, 4));
  ir_value *at = tg_add(t, tg_xor(t, column, tg_muli(t, flip, K)), tg_muli(t, stage, simt_direct_stage_bytes(s) / 2));
  for (int i = 0; i < K; i++)
    row[i] = tg_load(t, elements, tg_add(t, at, tg_muli(t, tg_addi(t, line0, i), s->line / 2)), 4);
  for (int e = 0; e < 4; e++) {
    for (int i = 0; i < K; i++) part[i] = tg_extract(t, row[i], e);
    tg_set(t, tg_bitcast(t, tg_vector(t, K, part), tg_vector_type(t, TSR_I32, 4)), fragment,
           tg_addi(t, tg_muli(t, tg_counter(b), 16), e * 4));
  }
  tg_close(t, b);
}

static void read_span(dl *g, ir_value *stage, int span) {
  (g->p.a.across ? read_across : read_along)(g, &g->p.a, g->fragment_a, stage, span);
  (g->p.b.across ? read_across : read_along)(g, &g->p.b, g->fragment_b, stage, span);
}

static ir_value *operand(dl *g, ir_value *fragment, ir_value *block, int first, tsr_dtype d) {
  tgb *t = &g->t;
  int per_lane = g->p.words * 4 / g->p.size;
  ir_value *at = tg_addi(t, tg_muli(t, block, 4 * g->p.chunks), first),
           *v = g->p.words == 1 ? tg_get(t, fragment, at) : tg_get_vector(t, fragment, at, g->p.words);
  return tg_bitcast(t, v, per_lane == 1 ? tg_scalar_type(t, d) : tg_vector_type(t, d, per_lane));
}

static void multiply(dl *g) {
  tgb *t = &g->t;
  const dl_plan *p = &g->p;
  for (int first = 0; first < 4 * p->chunks; first += p->words) {
    ir_op *i = tg_unrolled(t, p->a.blocks, "i"), *j = tg_unrolled(t, p->b.blocks, "j");
    ir_value *at = tg_muli(t, tg_add(t, tg_muli(t, tg_counter(i), p->b.blocks), tg_counter(j)), 4),
             *sum = tg_get_vector(t, g->acc, at, 4);
    ir_value *a = operand(g, g->fragment_a, tg_counter(i), first, p->in->a),
             *b = operand(g, g->fragment_b, tg_counter(j), first, p->in->b);
    ir_value *r = tg_value(t, NAME("mfma"), sum ? sum->type : NULL, TG_V(a, b, sum));
    if (r) simt_describe(t->m, r->def, p->in, &t->b.failed);
    tg_set(t, r, g->acc, at);
    tg_close(t, j);
    tg_close(t, i);
  }
}

/* ---- the two loops --------------------------------------------------------------------------------------------- */

static ir_op *when(dl *g, ir_value *condition) { return tg_if(&g->t, condition); }
static ir_value *exists(dl *g, ir_value *step) { return tg_compare(&g->t, "lt", step, g->steps); }

static ir_op *step_loop(dl *g) {
  ir_op *loop = tg_for(&g->t, tg_index(&g->t, 0), g->steps, tg_index(&g->t, 1), 0, NULL, "step");
  tg_int(&g->t, loop, "unroll_by", 1);
  return loop;
}

static void one_group(dl *g) {
  tgb *t = &g->t;
  const dl_plan *p = &g->p;
  int ahead = p->stages - 1;
  for (int s = 0; s < ahead; s++) {
    ir_op *some = s ? when(g, exists(g, tg_index(t, s))) : NULL;
    issue(g, tg_index(t, s));
    if (some) tg_close(t, some);
  }
  ir_op *loop = step_loop(g);
  ir_value *step = tg_counter(loop), *later = tg_addi(t, step, ahead);
  if (p->stages > 2) { /* near the end fewer steps are in flight */
    ir_op *full = when(g, exists(g, tg_addi(t, step, ahead - 1)));
    wait_loads(g, loads_per_step(p) * (ahead - 1));
    tg_else(t, full);
    wait_loads(g, 0);
    tg_close(t, full);
  } else {
    wait_loads(g, 0);
  }
  wait_reads(g);
  meet(g);
  ir_op *more = when(g, exists(g, later));
  issue(g, later);
  tg_close(t, more);
  for (int s = 0; s < p->spans; s++) {
    read_span(g, stage_of_step(g, step), s);
    multiply(g);
  }
  tg_close(t, loop);
}

static void set_priority(dl *g, int level) {
  tg_int(&g->t, tg_op(&g->t, NAME("setprio"), NULL, 0, NULL), "level", level);
}

/* Code for the waves of one half only. */
static ir_op *half(dl *g, int which) {
  return when(g, tg_compare(&g->t, which ? "ge" : "lt", g->wave, tg_index(&g->t, g->p.waves / 2)));
}

static void issue_if(dl *g, int which, ir_value *step) {
  ir_op *mine = half(g, which), *more = when(g, exists(g, step));
  issue(g, step);
  tg_close(&g->t, more);
  tg_close(&g->t, mine);
}

static void wait_if(dl *g, int which) {
  ir_op *mine = half(g, which);
  wait_loads(g, 0);
  tg_close(&g->t, mine);
}

/* Else the compiler moves what makes operands of them to the products, which are the other half's turn to compute. */
static void settle(dl *g) { tg_op(&g->t, NAME("sched_barrier"), NULL, TG_V(g->fragment_a, g->fragment_b)); }

static void two_groups(dl *g) {
  tgb *t = &g->t;
  int last = g->p.spans - 1;
  issue(g, tg_index(t, 0));
  wait_loads(g, 0);
  meet(g);
  issue_if(g, 1, tg_index(t, 1));
  ir_op *behind = half(g, 1);
  meet(g);
  tg_close(t, behind);
  ir_op *loop = step_loop(g);
  ir_value *step = tg_counter(loop);
  for (int s = 0; s <= last; s++) {
    if (s == 0) issue_if(g, 0, tg_addi(t, step, 1));
    read_span(g, stage_of_step(g, step), s);
    wait_reads(g);
    settle(g);
    if (s == last) wait_if(g, 1);
    meet(g);
    if (s == last) issue_if(g, 1, tg_addi(t, step, 2));
    set_priority(g, 1);
    multiply(g);
    set_priority(g, 0);
    if (s == last) wait_if(g, 0);
    meet(g);
  }
  tg_close(t, loop);
  ir_op *ahead = half(g, 0);
  meet(g);
  tg_close(t, ahead);
}

/* ---- the kernel ------------------------------------------------------------------------------------------------ */

/* Row or column of the tile for index x (0 to 15) of a wave's block. */
static ir_value *coordinate(dl *g, const dl_side *s, ir_value *block, ir_value *x) {
  tgb *t = &g->t;
  ir_value *in =
      s->quad ? tg_add(t, tg_muli(t, tg_divi(t, block, 4), 64), tg_add(t, tg_muli(t, x, 4), tg_remi(t, block, 4)))
              : tg_add(t, tg_muli(t, block, 16), x);
  return tg_add(t, wave_origin(g, s), in);
}

/* Register r of a block: row 4 (lane / 16) + r, column lane % 16. */
static void epilogue(dl *g) {
  tgb *t = &g->t;
  const dl_plan *p = &g->p;
  int together = p->b.quad ? 4 : 1;
  ir_op *i = tg_unrolled(t, p->a.blocks, "i"), *j = tg_unrolled(t, p->b.blocks / together, "j"),
        *r = tg_unrolled(t, 4, "r");
  ir_value *row = coordinate(g, &p->a, tg_counter(i), tg_add(t, tg_muli(t, g->quarter, 4), tg_counter(r))), *x[4];
  ir_value *column = coordinate(g, &p->b, tg_muli(t, tg_counter(j), together), g->column);
  ir_value *block = tg_add(t, tg_muli(t, tg_counter(i), p->b.blocks), tg_muli(t, tg_counter(j), together));
  for (int e = 0; e < together; e++) {
    x[e] = tg_get(t, g->acc, tg_add(t, tg_muli(t, tg_addi(t, block, e), 4), tg_counter(r)));
    if (p->fnuz) x[e] = tg_mul(t, x[e], tg_number(t, p->mm.c, 4));
  }
  for (int s = 0; s < p->mm.n_stores; s++) simt_store_direct(&g->place, s, row, column, together, x);
  tg_close(t, r);
  tg_close(t, j);
  tg_close(t, i);
}

static ir_value *id(dl *g, const char *name, const char *shown) {
  return tg_named(tg_value(&g->t, name, ir_type_index(g->t.m), 0, NULL), shown);
}

static void body(dl *g, const tsr_caps *caps) {
  tgb *t = &g->t;
  const dl_plan *p = &g->p;
  int n_acc = (int)(p->a.wave * p->b.wave / DL_WAVE);
  g->thread = id(g, NAME("thread_id"), "thread");
  g->wave = id(g, NAME("warp_id"), "wave");
  ir_value *lane = id(g, NAME("lane_id"), "lane");
  g->quarter = tg_divi(t, lane, 16);
  g->column = tg_remi(t, lane, 16);
  for (int d = 0; d < 3; d++) {
    g->place.block[d] = id(g, NAME("block_id"), NULL);
    if (g->place.block[d]) tg_int(t, g->place.block[d]->def, "axis", d);
  }
  if (simt_raster_wanted(p->mm.kernel)) simt_raster_order(t, caps, p->mm.grid[0], p->mm.grid[1], g->place.block);
  g->words = tg_shared(t, TSR_I32, 0, "tiles");
  g->acc = tg_local(t, p->mm.c, n_acc, "acc");
  g->fragment_a = tg_local(t, TSR_I32, p->a.blocks * 4 * p->chunks, "a");
  g->fragment_b = tg_local(t, TSR_I32, p->b.blocks * 4 * p->chunks, "b");
  ir_value *depth = tg_index(t, p->mm.k);
  if (p->mm.first_k)
    depth = tg_min(t, tg_sub(t, tg_index(t, p->total_k), simt_place_index(&g->place, p->mm.first_k)), depth);
  g->steps = tg_named(tg_divi(t, depth, p->mm.bk), "steps");
  ir_op *zero = tg_unrolled(t, n_acc, "i");
  tg_set(t, tg_number(t, p->mm.c, 0), g->acc, tg_counter(zero));
  tg_close(t, zero);
  (p->pingpong ? two_groups : one_group)(g);
  epilogue(g);
}

bool simt_direct_takes(const ir_op *kernel, const tsr_caps *caps, bool pingpong, const char **why) {
  dl_plan p;
  return !(*why = simt_direct_plan_kernel(kernel, caps, pingpong, &p));
}

tsr_status simt_direct_kernel(const ir_op *kernel, const tsr_caps *caps, bool pingpong, ir_module *m, bool *done,
                              const char **why) {
  dl g = {.t = {m, {0}}};
  const dl_plan *p = &g.p;
  char path[128];
  *done = false;
  if ((*why = simt_direct_plan_kernel(kernel, caps, pingpong, &g.p))) return NULL;
  snprintf(path, sizeof path, "%s mfma %dx%dx%d, %d waves, %d stages, %d-byte loads", pingpong ? "pingpong" : "direct",
           p->in->m, p->in->n[0], p->in->k, p->waves, p->stages, p->granule);
  simt_whole_head head = {.kernel = kernel,
                     .path = path,
                     .subgroup = DL_WAVE,
                     .threads = (int64_t)p->waves * DL_WAVE,
                     .shared_bytes = p->stages * p->stage_bytes};
  memcpy(head.grid, p->mm.grid, sizeof head.grid);
  ir_op *k = simt_whole_begin(&g.t, caps, &head, g.args);
  if (!k) return st_oom();
  tg_int(&g.t, k, "waves_per_simd", 2); /* else accumulators wander between the two register files (LLVM 19) */
  g.place = (simt_place){.t = &g.t, .mm = &g.p.mm, .args = g.args};
  body(&g, caps);
  return simt_whole_end(&g.t, k, done);
}
