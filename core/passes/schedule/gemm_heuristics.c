/* core/passes/schedule/gemm_heuristics.c - see schedule/gemm_heuristics.h. */
#include "core/passes/schedule/gemm_heuristics.h"

#include <math.h>
#include <string.h>

#include "core/base/int_math.h"
#include "core/base/policy.h"
#include "core/device/dialect.h"
#include "core/device/matrix_instr.h"
#include "core/ir/graph/ops.h"
#include "core/passes/schedule/gemm_cost.h"
#include "core/passes/schedule/kernel.h"
#include "core/device/roofline.h"

/* The product as this file sees it. */
typedef struct task {
  const ir_op *op;
  const tsr_caps *c;
  graph_contract g;
  tsr_dtype t;
  int64_t batch, size; /* bytes of an operand's element */
  bool known;          /* all extents */
  bool exact;          /* compensated sums */
} task;

static int64_t cores(const tsr_caps *c) { return c->n_cores > 0 ? c->n_cores : 64; }
static bool is_simt(const tsr_caps *c) { return dialect_of(c)->has_arch_table; }

static task describe(const ir_op *product, const tsr_caps *c) {
  task x = {
      .op = product, .c = c, .g = graph_contract_get(product), .t = product->operands[0]->type->dtype, .batch = 1};
  x.size = (int64_t)tsr_dtype_size(x.t);
  for (int i = 0; i < x.g.n_batch; i++) x.batch *= x.g.batch[i] > 0 ? x.g.batch[i] : 1;
  x.known = x.g.m > 0 && x.g.n > 0 && x.g.k > 0;
  const ir_op *kernel = product->parent ? product->parent->parent : NULL;
  x.exact = kernel && policy_named(sched_policy(kernel, NULL)) == TSR_POLICY_KAHAN_SUM;
  return x;
}

/* Does v come from memory as it is, but for its layout and type? */
static bool plain(const ir_value *v) {
  while (v->def && (v->def->def->flags & IR_VIEWLIKE || graph_is(v->def, G_CAST))) v = v->def->operands[0];
  return !v->def;
}

/* ---- parts of k ------------------------------------------------------------------------------------------------ */

static gemm_counts count(const task *x, int64_t m, int64_t n, int64_t step, int64_t parts, int64_t sharing) {
  return gemm_count(&(gemm_tiling){.batch = (double)x->batch,
                                   .m = (double)x->g.m,
                                   .n = (double)x->g.n,
                                   .k = (double)x->g.k,
                                   .tile_m = (double)m,
                                   .tile_n = (double)n,
                                   .tile_k = (double)step,
                                   .parts = (double)parts,
                                   .sharing = (double)sharing,
                                   .in_bytes = (double)x->size,
                                   .acc_bytes = (double)tsr_dtype_size(x->g.accum)});
}

/* Sums of parts: written and read once in the second-level cache. */
static double partial_ns(const task *x, const gemm_counts *n) {
  return n->partial_bytes / (x->c->bytes_per_s > 0 ? 2 * x->c->bytes_per_s : 1e12) * 1e9;
}
static double launch_ns(const task *x) { return x->c->launch_ns > 0 ? x->c->launch_ns : 4000; }

/* 16-bit operands may lie either way; all others must run along k. */
static bool warpgroup_suits(const task *x) {
  if (!x->c->wgmma || !x->known || x->exact || x->g.m <= 16 || x->g.n < 64 || x->g.k < 32) return false;
  if (x->g.accum != TSR_F32 && x->g.accum != TSR_I32) return false;
  if (x->size != 2 && (x->g.transpose_a || !x->g.transpose_b)) return false;
  for (int i = 0; i < x->c->n_matrix; i++)
    if (x->c->matrix[i].enabled && x->c->matrix[i].scope == SCOPE_WARPGROUP && x->c->matrix[i].a == x->t &&
        x->op->operands[1]->type->dtype == x->t)
      return true;
  return false;
}

/* Is the product made of operands converted to 16 bits? */
static bool is_converted(const task *x) {
  return x->c->f8_by_f16 && x->size == 1 && x->g.accum == TSR_F32 && !warpgroup_suits(x);
}

/* Operations per core and clock of the fastest instruction that takes the type: of several the deeper ones are, which
 * lowerings take. 0: none, or not known. */
static int fastest(const tsr_caps *c, tsr_dtype t, bool group) {
  int rate = 0;
  for (int i = 0; i < c->n_matrix; i++) {
    const tsr_matrix_shape *s = &c->matrix[i];
    if (s->enabled && s->a == t && (s->scope == SCOPE_WARPGROUP) == group && s->rate > rate) rate = s->rate;
  }
  return rate;
}

/* The rate of its type against that of 16-bit floats, which is the device's peak. */
static double type_rate(const task *x) {
  bool group = warpgroup_suits(x);
  int own = fastest(x->c, x->t, group), narrow = fastest(x->c, TSR_BF16, group);
  if (!narrow) narrow = fastest(x->c, TSR_F16, group);
  return own && narrow ? (double)own / narrow : matrix_rate_by_width(x->t);
}

/* Arithmetic at the tile's share of the peak, or the operands' bytes, whichever takes longer, and what comes after. */
static double whole_ns(const task *x, double math, double move, const gemm_counts *n) {
  enum { START_NS = 1500 }; /* of the blocks, and their last stores */
  bool parts = n->partial_bytes > 0;
  return roofline_ns(&(roofline_parts){.ns = (double[]){math, move},
                                       .n = 2,
                                       .overlap = 1,
                                       .busy = 1,
                                       .serial = {START_NS, parts ? partial_ns(x, n) + launch_ns(x) : 0}});
}

/* Operations in a ns. */
static double matrix_peak(const task *x) {
  return (x->c->peak_flops_matrix > 0 ? x->c->peak_flops_matrix : 1e13) / 1e9 * type_rate(x);
}

/* A product on m x n tiles whose k is cut in parts, in whole rounds of blocks. ns */
static double estimate(const task *x, int64_t m, int64_t n, int64_t step, int64_t parts, double rate) {
  double memory = x->c->bytes_per_s > 0 ? x->c->bytes_per_s : 1e11, core_count = (double)cores(x->c);
  gemm_counts k = count(x, m, n, step, parts, 0);
  double math = gemm_math_ns(&k, matrix_peak(x), rate, core_count),
         move = k.operand_bytes / memory * 1e9, busy = k.blocks / core_count;
  if (busy < 1) move /= busy; /* idle cores fetch nothing */
  return whole_ns(x, math, move, &k);
}

static const int part_counts[] = {1, 2, 3, 4, 6, 8, 12, 16};
enum { N_PARTS = sizeof part_counts / sizeof *part_counts, LEAST_STEPS = 4 };

/* A part is at least LEAST_STEPS steps deep, and none is empty. */
static bool parts_ok(const task *x, int64_t parts, int64_t step) {
  int64_t chunk = ceil_div(ceil_div(x->g.k, parts), step) * step;
  return parts == 1 || (!x->exact && is_simt(x->c) && chunk >= LEAST_STEPS * step && chunk * (parts - 1) < x->g.k);
}

const char *sched_stream_k(const ir_op *product, const tsr_caps *c, const sched_params *p, sched_shares *out) {
  task x = describe(product, c);
  if (p->stream_k <= 0) return "not asked for";
  if (!dialect_of(c)->gpu) return "the CPU's threads take blocks as they come";
  if (!x.known || p->m <= 0 || p->n <= 0 || p->k <= 0) return "extents or tile are not known";
  if (x.exact) return "compensated sums are not cut";
  if (!sched_path_of(p)->has_tiles) return "a gemv has no tiles";
  sched_shares s = {.rows = ceil_div(x.g.m, p->m), .columns = ceil_div(x.g.n, p->n), .steps = ceil_div(x.g.k, p->k)};
  s.tiles = s.rows * s.columns * x.batch;
  if (s.tiles > p->stream_k) return "there are more tiles than blocks: each is busy as it is";
  if (s.tiles >= INT32_MAX / s.steps) return "too many steps";
  s.each = ceil_div(s.tiles * s.steps, p->stream_k);
  s.blocks = ceil_div(s.tiles * s.steps, s.each);
  *out = s;
  return NULL;
}

/* ---- warpgroup instructions (sm_90a) --------------------------------------------------------------------------- */

/* How much of the tensor cores' rate a tile keeps: operand bytes per product; two consumer warpgroups hide each other's
 * waits. */
static const struct {
  int m, n;
  double rate;
} warpgroup_tiles[] = {{128, 256, 1.0}, {256, 128, 1.0}, {128, 192, 0.93}, {128, 128, 0.85},
                       {64, 256, 0.75}, {128, 64, 0.6},  {64, 128, 0.55},  {64, 64, 0.4}};

/* Steps shared out among all cores, where that saves a tenth of `best` by the model: a grid that leaves cores idle and
 * k too short, or cores too many, for even parts. */
static void share_out(const task *x, int64_t step, double best, sched_params *p) {
  const tsr_caps *c = x->c;
  double peak = matrix_peak(x), least = 0.9 * best;
  for (size_t i = 0; i < sizeof warpgroup_tiles / sizeof *warpgroup_tiles; i++) {
    sched_params q = {.m = warpgroup_tiles[i].m, .n = warpgroup_tiles[i].n, .k = step, .stream_k = cores(c)};
    sched_shares s;
    if (!wgmma_holds(c, x->t, q.m, q.n)) continue;
    if (sched_stream_k(x->op, c, &q, &s) || s.each < LEAST_STEPS) continue;
    gemm_counts n = count(x, q.m, q.n, step, 1, q.stream_k);
    double math = gemm_math_ns(&n, peak, warpgroup_tiles[i].rate, (double)cores(c));
    double move = c->bytes_per_s > 0 ? n.operand_bytes / c->bytes_per_s * 1e9 : 0;
    double time = whole_ns(x, math, move, &n);
    if (time >= least) continue;
    least = time;
    p->m = q.m, p->n = q.n, p->k = step, p->split_k = 0, p->stream_k = cores(c);
  }
}

static void warpgroup_plan(const task *x, sched_params *p) {
  double best = 0;
  int64_t step = 128 / x->size;
  for (size_t i = 0; i < sizeof warpgroup_tiles / sizeof *warpgroup_tiles; i++)
    for (int s = 0; s < N_PARTS; s++) {
      if (!parts_ok(x, part_counts[s], step) || !wgmma_holds(x->c, x->t, warpgroup_tiles[i].m, warpgroup_tiles[i].n))
        continue;
      double time =
          estimate(x, warpgroup_tiles[i].m, warpgroup_tiles[i].n, step, part_counts[s], warpgroup_tiles[i].rate);
      if (best && time >= best) continue;
      best = time;
      p->m = warpgroup_tiles[i].m, p->n = warpgroup_tiles[i].n, p->k = step;
      p->split_k = part_counts[s] > 1 ? part_counts[s] : 0;
    }
  share_out(x, step, best, p);
  p->warps = p->m * p->n / 64 / 32;
  if (p->warps > 16) p->warps = 16;
  int64_t result =
      tsr_dtype_size(x->op->results[0]->type->dtype) > 1 ? 2 : 1; /* bytes of an element; wider ones leave in passes */
  int64_t room = (x->c->shared_bytes - 1024 - p->m * p->n * result) / (p->k * (p->m + p->n) * x->size);
  p->pipeline_stages = room > 8 ? 8 : room < 2 ? 2 : room;
  p->use_shared = p->async_copy = 1;
  p->vectorize = 16 / x->size;
}

/* ---- a few rows ------------------------------------------------------------------------------------------------ */

/* One to four rows: b is read once and no tile is kept (tile/expand_gemv.c). */
static bool gemv_suits(const task *x) {
  bool type = x->t == TSR_F32 || x->t == TSR_F16 || x->t == TSR_BF16 || x->t == TSR_I8 || x->t == TSR_F8E4M3 ||
              x->t == TSR_F8E5M2;
  if (!x->known || x->exact || x->g.m > 4 || x->g.k < 64 || x->g.n < 8 || !type || caps_simd_like(x->c)) return false;
  if (x->g.accum != (x->t == TSR_I8 ? TSR_I32 : TSR_F32)) return false;
  return x->op->operands[1]->type->dtype == x->t && plain(x->op->operands[0]) && plain(x->op->operands[1]);
}

static void gemv_plan(const task *x, sched_params *p) {
  int64_t lanes = x->c->subgroup > 0 ? x->c->subgroup : 32, wide = 16 / x->size > 8 ? 8 : 16 / x->size, threads = 256;
  int64_t elements = threads * wide * (x->g.m <= 2 ? 2 : 1); /* of b a step: one or two accesses of each thread */
  p->matrix_path = "gemv";
  p->m = x->g.m;
  p->warps = threads / lanes;
  p->pipeline_stages = 1;
  p->use_shared = p->async_copy = -1;
  p->vectorize = wide;
  if (x->g.transpose_b) { /* a warp reads along k */
    p->n = x->g.n / 16 * x->batch >= 2 * cores(x->c) ? 16 : 8;
    p->k = elements / p->n;
  } else {
    p->n = x->g.n / 64 * x->batch >= 2 * cores(x->c) ? 64 : 32;
    p->k = elements / p->n;
  }
  int64_t blocks = ceil_div(x->g.n, p->n) * x->batch;
  for (int64_t s = 2; s <= 8 && blocks * s <= cores(x->c) && is_simt(x->c); s *= 2)
    if (parts_ok(x, s, p->k)) p->split_k = s;
}

/* ---- CDNA: operands straight to LDS, two groups of four waves ---------------------------------------------------- */

/* What of k a tile has: two stages of 256 x 256 fill the shared memory. */
static int64_t cdna_step(const task *x) { return (x->c->shared_bytes >= 128 << 10 ? 128 : 64) / x->size; }

/* gfx942 and gfx950, operands that lie in memory as they are; 8-bit ones run along k. The lowering has the last word
 * (simt/whole/lds_direct.c). */
static bool pingpong_suits(const task *x) {
  const tsr_caps *c = x->c;
  bool along = !x->g.transpose_a && x->g.transpose_b;
  if (!c->ping_pong || !x->known || x->exact || x->size > 2 || x->g.accum != (x->t == TSR_I8 ? TSR_I32 : TSR_F32))
    return false;
  if (x->op->operands[1]->type->dtype != x->t || x->op->operands[0]->def || x->op->operands[1]->def) return false;
  if (x->size == 1 && !along) return false;
  int64_t a_run = x->g.transpose_a ? x->g.m : x->g.k, b_run = x->g.transpose_b ? x->g.k : x->g.n,
          least = c->lds_load_bytes / x->size;
  return x->g.k % cdna_step(x) == 0 && x->g.k >= 4 * cdna_step(x) && a_run % (least ? least : 1) == 0 &&
         b_run % (least ? least : 1) == 0;
}

static void tile_plan(const task *x, sched_params *p);

/* What of the peak the ping-pong keeps. fp8 on gfx942: making a step's operands FNUZ is 48 words a lane of 8 (e4m3) or
 * 10 (e5m2) instructions of 4 cycles, 1536 to 1920, beside the other half's 64 products of 16 cycles, 1024: the turn at
 * memory is the longer one, which leaves 0.53 to 0.67. */
static double pingpong_rate(const task *x) { return x->size == 1 && x->t != TSR_I8 && x->c->fnuz ? 0.6 : 0.75; }

/* True if its waves of large tiles, at that rate, take less time than the usual plan. */
static bool pingpong_plan(const task *x, sched_params *p) {
  int64_t wide =
      x->size == 1 && x->t != TSR_I8 && !x->c->fnuz ? 128 : 256; /* f8f6f4 operands take twice the registers */
  tile_plan(x, p);
  if (estimate(x, 256, wide, cdna_step(x), 1, pingpong_rate(x)) >=
      estimate(x, p->m, p->n, p->k, p->split_k ? p->split_k : 1, 0.5))
    return false;
  *p = (sched_params){.m = 256,
                      .n = wide,
                      .k = cdna_step(x),
                      .warps = 8,
                      .pipeline_stages = 2,
                      .use_shared = 1,
                      .padding = -1,
                      .async_copy = 1,
                      .vectorize = 16 / x->size,
                      .matrix_path = "pingpong"};
  return true;
}

/* ---- everything else ------------------------------------------------------------------------------------------- */

/* Neighbouring columns in neighbouring lanes (simt/matrix/lane_n.c), 8 rows a subgroup and 16 or 32 sums a lane, which
 * is what searches find. Operands are whole tiles in memory but for the rows of a, or windows over an image, which are
 * collected first, with zeros beyond their edges. False where another operand's tile would have an edge, or the rows of
 * b are no whole registers. */
static bool lane_n_plan(const task *x, sched_params *p) {
  enum { ROWS = 8, STEP = 16, LANES = 8, LONGEST = 32 };
  const graph_contract *g = &x->g;
  const int64_t least = LANES * 4 / x->size;
  const ir_value *a = x->op->operands[0], *b = x->op->operands[1];
  const bool a_windows = graph_is_kind(a->def, GRAPH_WINDOWS), b_windows = graph_is_kind(b->def, GRAPH_WINDOWS);
  if (caps_simd_lanes(x->c) != LANES || !x->known || x->exact || x->size > 4 || b->type->dtype != x->t ||
      !(plain(a) || a_windows) || !(b_windows || (plain(b) && !g->transpose_b)))
    return false;
  int64_t m = 64, n = 32;
  /* rows past the end are computed all the same, as the last one again: a sixteenth of them at most, or a subgroup's */
  while (m > ROWS && (a_windows ? m / 2 >= g->m : round_up(g->m, m) - g->m > g->m / 16)) m /= 2;
  if (n < least) n = least;
  if (b_windows ? n / 2 >= g->n && n / 2 >= least : g->n % n) n = 16;
  int64_t k = STEP;
  if (g->k % k && (a_windows || b_windows)) /* the three colours of an image: 27 or 147 */
    for (k = LONGEST; k > ROWS && g->k % k;) k--;
  if (n < least || (!b_windows && g->n % n) || g->k % k) return false;
  *p = (sched_params){.m = m,
                      .n = n,
                      .k = k,
                      .warps = m / ROWS,
                      .pipeline_stages = 1,
                      .use_shared = -1,
                      .async_copy = -1,
                      .matrix_path = "lane_n"};
  return true;
}

/* One subgroup a block, rows in its lanes, columns in registers; operands straight from memory. */
static void simd_plan(const task *x, sched_params *p) {
  const graph_contract *g = &x->g;
  *p = (sched_params){.m = 16, .n = 32, .k = 64, .warps = 1, .pipeline_stages = 1, .use_shared = -1, .async_copy = -1};
  /* Of one row the lanes have columns: 8 bytes each, which are loaded as a register (f32 1x4096x4096: 3.1 ms, by 4
   * columns a lane 22). */
  int64_t row = 2 * x->c->subgroup;
  if (g->m == 1 && x->size == 4 && !g->transpose_b && g->n > 0 && g->n % row == 0) p->n = row;
  while (p->n > 1 && g->n > 0 && p->n / 2 >= g->n) p->n /= 2;
  while (p->m > 1 && g->m > 0 && p->m / 2 >= g->m) p->m /= 2;
  while (p->k > 8 && g->k > 0 && p->k / 2 >= g->k) p->k /= 2;
}

static int64_t clamp_tile(int64_t tile, int64_t extent, int64_t least) {
  while (tile > least && extent > 0 && tile / 2 >= extent) tile /= 2;
  return tile;
}

/* The instruction of one subgroup for these types; NULL: none. */
static const tsr_matrix_shape *subgroup_shape(const task *x) {
  const tsr_matrix_shape *any = NULL;
  for (int i = 0; i < x->c->n_matrix; i++) {
    const tsr_matrix_shape *s = &x->c->matrix[i];
    if (!s->enabled || s->a != x->t || s->b != x->op->operands[1]->type->dtype || s->c != x->g.accum) continue;
    if (s->scope != SCOPE_WARPGROUP) return s;
    if (!any) any = s;
  }
  return any;
}

static int64_t blocks_of(const task *x, const sched_params *p) {
  return ceil_div(x->g.m, p->m) * ceil_div(x->g.n, p->n) * x->batch;
}

/* At most 16 rows of tiles: reading b is all there is to do. Narrow tiles, deep steps, so that every core has much in
 * flight. */
static void few_rows(const task *x, sched_params *p) {
  p->n = x->g.n / 64 * x->batch >= cores(x->c) ? 64 : 32;
  p->k = is_simt(x->c) && x->c->async_copy ? 256 / x->size : 128 / x->size;
  p->k = clamp_tile(p->k, x->g.k, 32);
}

static void split(const task *x, sched_params *p) {
  double best = estimate(x, p->m, p->n, p->k, 1, 0.5), time;
  for (int i = 1; i < N_PARTS && blocks_of(x, p) < cores(x->c); i++) {
    if (!parts_ok(x, part_counts[i], p->k)) continue;
    if ((time = estimate(x, p->m, p->n, p->k, part_counts[i], 0.5)) > 0.9 * best) continue;
    best = time;
    p->split_k = part_counts[i];
  }
}

static void tile_plan(const task *x, sched_params *p) {
  const tsr_caps *c = x->c;
  const tsr_matrix_shape *s = subgroup_shape(x);
  sched_recommended_product(x->op, !s && is_simt(c) && x->size < 4 ? TSR_DTYPE_NONE : x->t, p);
  if (!s && caps_simd_like(c)) {
    if (!lane_n_plan(x, p)) simd_plan(x, p);
    return;
  }
  p->m = clamp_tile(p->m, x->g.m, s ? s->m : 16);
  p->n = clamp_tile(p->n, x->g.n, s ? s->n : 16);
  p->k = clamp_tile(p->k, x->g.k, s ? s->k : 8);
  bool few = is_simt(c) && s && x->known && x->g.m <= 16;
  if (few) few_rows(x, p);
  /* A grid that leaves cores idle: smaller tiles, as far as they stay efficient. */
  while (c->n_cores > 0 && x->g.m > 0 && x->g.n > 0 && p->m * p->n > 64 * 64 && blocks_of(x, p) < c->n_cores)
    *(p->m >= p->n ? &p->m : &p->n) /= 2;
  bool small_file = dialect_of(c)->moves_freely && c->max_registers > 0 &&
                    c->max_registers <= 256; /* RDNA: accumulators share it with all else */
  bool twice = is_converted(x) || (f8_is_promoted(c, x->t) &&
                                   x->g.accum == TSR_F32); /* registers for operands of 16 bits, for two sets of sums */
  while ((small_file || twice) && p->m * p->n > 128 * 128) *(p->m >= p->n ? &p->m : &p->n) /= 2;
  int64_t lanes = c->subgroup > 0 ? c->subgroup : 32;
  bool bytewise = x->size == 1 && (x->g.transpose_a || !x->g.transpose_b); /* gathered byte by byte: more registers */
  if (small_file && bytewise && p->k > 64) p->k = 64;
  int64_t each = is_simt(c) && (!s || bytewise || small_file || (c->fnuz && x->size == 1)) ? 32 : 64;
  int64_t threads = p->m * p->n / each;
  if (threads > 256) threads = 256;
  if (few) threads = 128;
  p->warps = threads > lanes ? threads / lanes : 1;
  p->pipeline_stages = 2;
  p->use_shared = 1;
  p->padding = 16 / x->size;
  p->async_copy = c->async_copy ? 1 : -1;
  p->vectorize = 16 / x->size;
  /* The driver moves a workgroup's matrices itself, edges included. */
  if (s && c->coopmat2_workgroup && c->coopmat2_tensor)
    p->use_shared = -1, p->pipeline_stages = 1, p->padding = 0, p->async_copy = -1;
  if (x->known && is_simt(c)) split(x, p);
}

void sched_matmul_tiles(const ir_op *product, const tsr_caps *c, sched_params *p) {
  task x = describe(product, c);
  *p = (sched_params){0};
  if (warpgroup_suits(&x)) warpgroup_plan(&x, p);
  else tile_plan(&x, p);
}

void sched_matmul_default(const ir_op *product, const tsr_caps *c, sched_params *p) {
  task x = describe(product, c);
  *p = (sched_params){0};
  if (gemv_suits(&x)) gemv_plan(&x, p);
  else if (!pingpong_suits(&x) || !pingpong_plan(&x, p)) sched_matmul_tiles(product, c, p);
}
