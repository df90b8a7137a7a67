/* core/tune/cost.c - see cost.h. One function a term; cost_compute only puts them together. */
#include "core/tune/cost.h"

#include "core/passes/schedule/gemm_cost.h"
#include "core/tune/space.h"

#include <math.h>
#include <time.h>

enum { CLUSTER_BARRIER_NS = 300 }; /* of two to eight blocks on sm_90, with the stores before it; assumed */

static double ceil_div(double a, double b) { return b > 0 ? ceil(a / b) : 1; }
static double clamp(double v, double lo, double hi) { return v < lo ? lo : v > hi ? hi : v; }
static double at_least(double v, double lo) { return v > lo ? v : lo; }
static double min2(double a, double b) { return a < b ? a : b; }

const char *cost_term_name(cost_term t) {
  static const char *const names[] = {"math", "shared", "l2", "memory", "exp", "barrier", "fill", "launch"};
  return (unsigned)t < COST_N_TERMS ? names[t] : "?";
}

static double tier_gbps(const tune_device *d, const char *name, double dflt) {
  const tune_tier *t = tune_device_tier(d, name);
  return t && t->gbps > 0 ? t->gbps : dflt;
}

bool cost_stages_by_cache(const tune_device *d) { return d->is_cpu || tune_device_simd_like(d); }

/* Those that nobody told are assumed: enough to rank. */
typedef struct rates {
  double peak, exps, shared, l2, memory, barrier_ns, launch_ns, latency_ns;
  double lanes, cores;
} rates;

static rates rates_of(const tune_device *d, const tune_problem *p, const tune_config *c) {
  rates r = {.cores = at_least(d->cores, 1), .lanes = at_least(d->warp_size, 1)};
  double clock = d->clock_ghz > 0 ? d->clock_ghz : d->is_cpu ? 2.5 : 1.5;
  r.peak = tune_device_peak(d, p->in, c->matrix_path && c->matrix_path != TUNE_PATH_LANE_N);
  if (!(r.peak > 0)) r.peak = r.cores * clock * (d->is_cpu ? 4 * r.lanes : 8 * r.lanes);
  /* A special-function unit for every eight multiply-adds (NVIDIA's and AMD's are near), or a polynomial and what is
   * around it. Never measured. */
  r.exps = (d->fma_gflops > 0 ? d->fma_gflops : r.peak) / (d->is_cpu || tune_device_simd_like(d) ? 32 : 16);
  r.memory = tier_gbps(d, "memory", d->is_cpu ? 20 : 300);
  r.l2 = tier_gbps(d, "l2", d->is_cpu ? r.cores * clock * 32 : 3 * r.memory);
  r.shared = tier_gbps(d, d->is_cpu ? "l1" : "shared", r.cores * clock * 128);
  r.barrier_ns = d->barrier_ns > 0 ? d->barrier_ns : d->is_cpu ? 300 : tune_device_simd_like(d) ? 400 : 20;
  r.launch_ns = d->launch_ns > 0 ? d->launch_ns : d->is_cpu ? 2000 : 5000;
  const tune_tier *mem = tune_device_tier(d, "memory");
  r.latency_ns = (mem && mem->latency_cycles > 0 ? mem->latency_cycles : d->is_cpu ? 200 : 500) / clock;
  return r;
}

/* Blocks over cores: the last round may leave cores idle. A core's resident blocks share its rate. */
static void spread(const tune_device *d, cost_estimate *e) {
  double cores = at_least(d->cores, 1), per_core = at_least(e->occupancy.known ? e->occupancy.blocks : 1, 1);
  double rounds = ceil_div(e->blocks, cores);
  e->waves = e->blocks / (cores * per_core);
  e->wave_efficiency = clamp(e->blocks / (cores * rounds), 1e-3, 1);
}

/* Warps x stages in flight against what covers the memory latency. A CPU core hides its own: caches do on simd_like
 * devices, and what a subgroup does there besides multiplying is not hidden by others. */
static double hiding_of(const tune_device *d, const tune_config *c, const cost_estimate *e) {
  if (cost_stages_by_cache(d)) return 1;
  double active = e->occupancy.known ? e->occupancy.active_warps : c->warps;
  double blocks_here = min2(at_least(e->occupancy.blocks, 1), ceil_div(e->blocks, at_least(d->cores, 1)));
  active = min2(active, blocks_here * at_least(c->warps, 1));
  double in_flight = active * (c->async_copy ? at_least(c->pipeline_stages, 1) : c->pipeline_stages > 1 ? 1.5 : 1);
  return clamp(sqrt(in_flight / 16.0), 0.15, 1);
}

/* The n-major lane layout, in the rate that untuned products reach: no gathers of a, but 16 sums a lane at least to
 * keep the units busy, and from 32 on they don't stay in registers (f32 512 cubed: 8 sums 2.9 ms, 16 and 32 1.7,
 * 64 2.4; untuned 3.7). Subgroups have 8 rows each, side by side they take longer (64x32 by 16 subgroups 2.5 ms,
 * 128x16 1.75).
 */
static double lane_n_efficiency(const tune_config *c, double sums) {
  double side_by_side = 8.0 * c->warps > at_least(c->m, 8) ? 0.75 : 1;
  return 1.9 * side_by_side * min2(1, sums / 16) / sqrt(at_least(sums / 32, 1));
}

/* Share of the issue slots that do arithmetic: loads per multiply-add fall with the register tile's sides. */
static double register_tile_efficiency(const tune_device *d, const tune_config *c, double lanes) {
  if (d->is_cpu) {
    double rows = min2(c->m, 12), cols = min2(c->n, 2 * lanes);
    return clamp(1 - 0.5 * (lanes / at_least(cols, 1) / 2 + 1 / at_least(rows, 1)), 0.2, 1);
  }
  double per_warp = (double)c->m * c->n / at_least(c->warps, 1), side = sqrt(per_warp);
  if (c->matrix_path == TUNE_PATH_LANE_N) return lane_n_efficiency(c, per_warp / lanes);
  if (tune_device_simd_like(d))
    return 1 / (1 + 8 * lanes / at_least(per_warp, 1)); /* lanes of sums against loads and index arithmetic */
  double loads = c->matrix_path ? 16 / at_least(side, 16) : 2 * sqrt(lanes) / at_least(side, sqrt(lanes));
  return 1 / (1 + 0.5 * loads);
}

static void matmul_terms(const tune_device *d, const tune_problem *p, const tune_config *c, const rates *r,
                         cost_estimate *e) {
  double batch = at_least((double)p->batch, 1), in = (double)tsr_dtype_size(p->in),
         out = (double)tsr_dtype_size(p->out);
  double m = at_least(c->m, 1), n = at_least(c->n, 1), k = at_least(c->k, 1), split = at_least(c->split_k, 1);
  gemm_counts t = gemm_count(&(gemm_tiling){.batch = batch,
                                            .m = (double)p->m,
                                            .n = (double)p->n,
                                            .k = (double)p->k,
                                            .tile_m = m,
                                            .tile_n = n,
                                            .tile_k = k,
                                            .parts = split,
                                            .sharing = at_least(c->stream_k, 0),
                                            .in_bytes = in,
                                            .acc_bytes = p->acc ? (double)tsr_dtype_size(p->acc) : 4});
  double tm = t.tiles_m, tn = t.tiles_n, steps = t.steps, each = t.each;
  e->blocks = t.blocks;
  e->steps = ceil(each);
  e->occupancy = occ_of_config(d, p, c);
  spread(d, e);
  e->hiding = hiding_of(d, c, e);
  double pad_m = d->is_cpu ? ceil_div((double)p->m, 4) * 4 : tm * m;
  double pad_n = d->is_cpu ? ceil_div((double)p->n, r->lanes) * r->lanes : tn * n;
  e->padded_flops = 2 * batch * pad_m * pad_n * (d->is_cpu ? (double)p->k : steps * k);
  e->term_ns[COST_MATH] = e->padded_flops / r->peak / register_tile_efficiency(d, c, r->lanes);

  double side_m = d->is_cpu ? min2(m, 12) : m / sqrt(at_least(c->warps, 1)),
         side_n = d->is_cpu ? 2 * r->lanes : n / sqrt(at_least(c->warps, 1));
  bool warpgroup = d->warpgroup_matrix && c->matrix_path;
  if (warpgroup) side_m = 64, side_n = n;
  e->bank_ways = occ_bank_ways(d, p, c);
  e->shared_bytes =
      e->padded_flops / 2 * in * (1 / at_least(side_m, 1) + 1 / at_least(side_n, 1)) * at_least(e->bank_ways, 1);
  if (!d->is_cpu && !c->use_shared) e->shared_bytes = 0;
  e->term_ns[COST_SHARED] = e->shared_bytes / r->shared;

  double tile_reads = t.tiles * steps * (m + n) * k * in, partials = t.partial_bytes;
  if (d->is_cpu)
    tile_reads += 2 * (steps - 1) * batch * p->m * p->n * 4.0; /* sums leave the registers between k steps */
  else if (!c->use_shared) tile_reads *= 2;
  e->l2_bytes = tile_reads + partials + batch * p->m * p->n * out;
  double vec_bytes = d->is_cpu || !c->vectorize ? 16 : clamp(c->vectorize * in, 2, 16);
  e->term_ns[COST_L2] = e->l2_bytes / r->l2 * (1 + 0.25 * log2(16 / vec_bytes));

  /* What a wave of concurrent blocks touches, by raster order: g rows of tiles side by side share their columns. */
  double resident = min2(at_least(d->cores, 1) * at_least(e->occupancy.known ? e->occupancy.blocks : 1, 1), e->blocks);
  double g = c->raster > 0 ? min2(c->raster, tm) : d->is_cpu ? tm : 1;
  double cols = min2(at_least(resident / g, 1), tn), rows = min2(g, resident);
  double wave_bytes = (rows * m + cols * n) * (double)p->k * in, waves = at_least(e->blocks / at_least(resident, 1), 1);
  const tune_tier *last = tune_device_tier(d, d->is_cpu ? "l3" : "l2");
  bool fits = last && last->bytes > 0 && tune_problem_bytes(p) < last->bytes;
  double least = tune_problem_bytes(p);
  e->memory_bytes =
      fits ? least : clamp(waves * wave_bytes + batch * p->m * p->n * out, least, at_least(e->l2_bytes, least));
  e->memory_bytes += fits ? 0 : partials;
  e->term_ns[COST_MEMORY] = e->memory_bytes / r->memory;

  double serial = ceil_div(e->blocks, resident);
  e->term_ns[COST_BARRIER] =
      serial * ceil(each) * r->barrier_ns * (c->use_shared || d->is_cpu ? 1 : 0) / at_least(c->pipeline_stages, 1);
  if (tune_device_simd_like(d))
    e->term_ns[COST_BARRIER] *= at_least(c->warps, 1); /* each subgroup is left and entered again */
  e->term_ns[COST_FILL] = serial * r->latency_ns * (d->is_cpu ? 1 : at_least(c->pipeline_stages, 1) * 0.5);
}

/* Flash attention: scores and weights stay in the block; each block of queries reads all keys and values that it sees,
 * through the L2. */
static void attention_terms(const tune_device *d, const tune_problem *p, const tune_config *c, const rates *r,
                            cost_estimate *e) {
  double heads = at_least((double)p->batch, 1), in = (double)tsr_dtype_size(p->in), width = (double)p->k,
         m = at_least(c->m, 1), n = at_least(c->n, 1);
  double blocks_q = ceil_div((double)p->m, m), steps = ceil_div((double)p->n, n);
  if (p->causal) steps = clamp((steps + ceil_div(m, n)) / 2, 1, steps); /* those on the diagonal are whole tiles */
  double scores = heads * blocks_q * m * steps * n, tiles = heads * blocks_q * steps;
  e->blocks = heads * blocks_q;
  e->steps = ceil(steps);
  e->occupancy = occ_of_config(d, p, c);
  spread(d, e);
  e->hiding = hiding_of(d, c, e);
  e->padded_flops = 4 * scores * width;
  e->term_ns[COST_MATH] = e->padded_flops / r->peak / register_tile_efficiency(d, c, r->lanes);
  e->term_ns[COST_EXP] = scores / r->exps;
  double readers = d->is_cpu                               ? m / min2(m, 12)
                   : d->warpgroup_matrix && c->matrix_path ? at_least(m / 64, 1)
                                                           : at_least(c->warps, 1); /* each for itself */
  e->shared_bytes = tiles * 2 * n * width * in * readers;
  e->term_ns[COST_SHARED] = e->shared_bytes / r->shared;
  double once = heads * (double)p->m * width * (in + (double)tsr_dtype_size(p->out));
  e->l2_bytes = tiles * 2 * n * width * in + once;
  e->term_ns[COST_L2] = e->l2_bytes / r->l2;
  /* Blocks side by side belong to one head or to neighbours: what these hold stays near when it fits. */
  double resident = min2(at_least(d->cores, 1) * at_least(e->occupancy.known ? e->occupancy.blocks : 1, 1), e->blocks);
  double near = ceil_div(resident, blocks_q) * 2 * (double)p->n * width * in;
  const tune_tier *last = tune_device_tier(d, d->is_cpu ? "l3" : "l2");
  bool fits = last && last->bytes > 0 && near < last->bytes;
  e->memory_bytes = fits ? tune_problem_bytes(p) : e->l2_bytes;
  e->term_ns[COST_MEMORY] = e->memory_bytes / r->memory;
  double serial = ceil_div(e->blocks, resident);
  e->term_ns[COST_BARRIER] = serial * steps * r->barrier_ns / at_least(c->pipeline_stages, 1) *
                             (tune_device_simd_like(d) ? at_least(c->warps, 1) : 1);
  e->term_ns[COST_FILL] = serial * r->latency_ns * (d->is_cpu ? 1 : at_least(c->pipeline_stages, 1) * 0.5);
}

static void vector_terms(const tune_device *d, const tune_problem *p, const tune_config *c, const rates *r,
                         cost_estimate *e) {
  double in = (double)tsr_dtype_size(p->in), vec = c->vectorize ? clamp(c->vectorize * in, 1, 16) : 16;
  double m = at_least(c->m, 1);
  e->blocks = p->family == FAMILY_ROW ? ceil_div((double)p->m, m) * at_least((double)p->batch, 1)
                                    : ceil_div((double)p->n * at_least((double)p->m, 1), m);
  double cluster = p->family == FAMILY_ROW ? at_least(c->cluster, 1) : 1;
  e->blocks *= cluster;
  e->occupancy = occ_of_config(d, p, c);
  spread(d, e);
  e->hiding = hiding_of(d, c, e);
  e->padded_flops = tune_problem_flops(p);
  e->term_ns[COST_MATH] = e->padded_flops / r->peak;
  e->memory_bytes = tune_problem_bytes(p);
  /* A row longer than its share of the near cache is read again by every further pass. */
  double row_bytes = p->family == FAMILY_ROW ? m * (double)p->n * in : 0,
         near = d->is_cpu && d->shared_per_block > 0 ? (double)d->shared_per_block : 64e3;
  double held = 64 * at_least(c->warps, 1) * r->lanes * cluster; /* elements that a GPU's blocks keep in registers */
  if (p->family == FAMILY_ROW && d->is_cpu && p->passes > 1 && row_bytes > near)
    e->memory_bytes += (p->passes - 1) * tune_problem_bytes(p) * 0.5;
  if (p->family == FAMILY_ROW && !d->is_cpu && m * (double)p->n > held)
    e->memory_bytes += (double)p->m * (double)p->n * in; /* multi-pass reduction: read twice */
  e->term_ns[COST_MEMORY] =
      e->memory_bytes / r->memory * (d->is_cpu || tune_device_simd_like(d) ? 1 : 1 + 0.15 * log2(16 / vec));
  e->l2_bytes = e->memory_bytes;
  e->term_ns[COST_L2] = e->l2_bytes / r->l2;
  if (c->use_shared) e->shared_bytes = e->blocks * at_least(c->warps, 1) * 8;
  e->term_ns[COST_SHARED] = e->shared_bytes / r->shared;
  double resident = at_least(d->cores, 1) * at_least(e->occupancy.known ? e->occupancy.blocks : 1, 1),
         serial = ceil_div(e->blocks, resident);
  e->term_ns[COST_BARRIER] = c->use_shared || d->is_cpu ? serial * r->barrier_ns : 0;
  if (cluster > 1) e->term_ns[COST_BARRIER] += 2 * serial * CLUSTER_BARRIER_NS;
  if (tune_device_simd_like(d) && p->family == FAMILY_ROW &&
      c->warps > c->m) /* subgroups that share a row meet at barriers */
    e->term_ns[COST_BARRIER] = (double)p->m / at_least(d->cores, 1) * c->warps / m * r->barrier_ns;
  e->term_ns[COST_FILL] = serial * r->latency_ns * 0.25;
}

void cost_compute(const tune_device *d, const tune_problem *p, const tune_config *c, cost_estimate *e) {
  *e = (cost_estimate){.overlap = c->pipeline_stages > 1 ? 0.9 : 0.6};
  rates r = rates_of(d, p, c);
  e->flops = tune_problem_flops(p);
  e->latency_ns = r.latency_ns, e->barrier_ns = r.barrier_ns;
  if (p->family == FAMILY_MATMUL) matmul_terms(d, p, c, &r, e);
  else if (p->family == FAMILY_ATTENTION) attention_terms(d, p, c, &r, e);
  else vector_terms(d, p, c, &r, e);
  e->term_ns[COST_LAUNCH] = r.launch_ns * (p->family == FAMILY_MATMUL && c->stream_k > 0 ? 2 : 1);
  double sum = 0, most = 0;
  for (int t = COST_MATH; t <= COST_EXP; t++) {
    sum += e->term_ns[t];
    if (e->term_ns[t] <= most) continue;
    most = e->term_ns[t];
    e->bound = (cost_term)t;
  }
  /* Idle cores cost arithmetic and near memory; far memory is shared, so a partly filled device may still saturate it.
   */
  double even = e->bound == COST_MEMORY ? sqrt(e->wave_efficiency) : e->wave_efficiency;
  double body = (most + (1 - e->overlap) * (sum - most)) / (even * e->hiding);
  e->total_ns = body + e->term_ns[COST_BARRIER] + e->term_ns[COST_FILL] + e->term_ns[COST_LAUNCH];
}

static const char *origin_of(double rate, tune_origin from) { return rate > 0 ? tune_origin_name(from) : "assumed"; }

static const char *tier_origin(const tune_device *d, const char *name) {
  const tune_tier *t = tune_device_tier(d, name);
  return t ? origin_of(t->gbps, t->measured ? TUNE_MEASURED : TUNE_LISTED) : "assumed";
}

static const char *peak_origin(const tune_device *d, const tune_problem *p, const tune_config *c) {
  bool matrix = c->matrix_path != 0,
       plain = !matrix || tune_device_peak(d, p->in, true) == tune_device_peak(d, p->in, false);
  return origin_of(tune_device_peak(d, p->in, matrix), plain ? d->fma_from : d->matrix_from);
}

/* What the model makes of the device as a whole: how its cores are filled, how much is hidden, and by what. */
static void explain_device(const tune_device *d, const cost_estimate *e, strb *out) {
  strb_printf(out, "  blocks %.0f on %d cores: %.2f waves, %.0f%% even; ", e->blocks, d->cores, e->waves,
              100 * e->wave_efficiency);
  if (e->occupancy.known)
    strb_printf(out, "occupancy %.0f%% (%d blocks a core, limited by %s; limits %s), hides %.0f%%",
                100 * e->occupancy.fraction, e->occupancy.blocks, e->occupancy.limiter,
                d->queried ? "queried" : "listed", 100 * e->hiding);
  else strb_puts(out, "occupancy n/a");
  strb_printf(out, "; overlap %.0f%%\n  total    %10.2f us  bound by %s\n", 100 * e->overlap, e->total_ns / 1e3,
              cost_term_name(e->bound));
  time_t on = (time_t)d->measured_on;
  struct tm day;
  char text[32];
  if (on > 0 && gmtime_r(&on, &day) && strftime(text, sizeof text, "%Y-%m-%d %H:%M", &day))
    strb_printf(out, "  rates of this device were measured on %s UTC\n", text);
}

void cost_explain(const tune_device *d, const tune_problem *p, const tune_config *c, strb *out) {
  cost_estimate e;
  rates r = rates_of(d, p, c);
  const tune_tier *mem = tune_device_tier(d, "memory");
  cost_compute(d, p, c, &e);
  strb_printf(out, "%s on %s: ", p->op, d->name);
  tune_config_print(c, out);
  strb_printf(out, "\n  math     %10.2f us  %.4g Gflop (%.4g with padding) at %.4g Gflop/s, %s\n",
              e.term_ns[COST_MATH] / 1e3, e.flops / 1e9, e.padded_flops / 1e9, r.peak, peak_origin(d, p, c));
  strb_printf(out, "  shared   %10.2f us  %.4g MB at %.4g GB/s, %s", e.term_ns[COST_SHARED] / 1e3, e.shared_bytes / 1e6,
              r.shared, tier_origin(d, d->is_cpu ? "l1" : "shared"));
  if (e.bank_ways)
    strb_printf(out, "; %d-way conflicts on %d banks%s", e.bank_ways, d->banks > 0 ? d->banks : 32,
                d->banks > 0 ? "" : ", assumed");
  strb_puts(out, "\n");
  strb_printf(out, "  l2       %10.2f us  %.4g MB at %.4g GB/s, %s\n", e.term_ns[COST_L2] / 1e3, e.l2_bytes / 1e6, r.l2,
              tier_origin(d, "l2"));
  strb_printf(out, "  memory   %10.2f us  %.4g MB (least %.4g) at %.4g GB/s, %s\n", e.term_ns[COST_MEMORY] / 1e3,
              e.memory_bytes / 1e6, tune_problem_bytes(p) / 1e6, r.memory, tier_origin(d, "memory"));
  if (p->family == FAMILY_ATTENTION)
    strb_printf(out, "  exp      %10.2f us  at %.4g Gexp/s, assumed\n", e.term_ns[COST_EXP] / 1e3, r.exps);
  strb_printf(out, "  barrier  %10.2f us  %.4g ns each, %s\n", e.term_ns[COST_BARRIER] / 1e3, r.barrier_ns,
              origin_of(d->barrier_ns, d->barrier_from));
  if (p->family == FAMILY_MATMUL)
    strb_printf(out, "  reuse                    between two of them an accumulator's register is used %lld times\n",
                (long long)c->k);
  strb_printf(out, "  fill     %10.2f us  memory latency %.4g ns, %s\n", e.term_ns[COST_FILL] / 1e3, r.latency_ns,
              mem && mem->latency_cycles > 0 && d->clock_ghz > 0 ? "listed" : "assumed");
  strb_printf(out, "  launch   %10.2f us  %s\n", e.term_ns[COST_LAUNCH] / 1e3, origin_of(d->launch_ns, d->launch_from));
  explain_device(d, &e, out);
}

void cost_explain_once(const tune_device *d, const tune_problem *p, strb *out) {
  const tune_config none = {0};
  rates r = rates_of(d, p, &none);
  double math = tune_problem_flops(p) / r.peak, memory = tune_problem_bytes(p) / r.memory;
  strb_printf(out,
              "%s on %s: nothing to choose, operands are read once\n  math     %10.2f us  %.4g Gflop/s, %s\n  memory   "
              "%10.2f us  %.4g GB/s, %s\n",
              p->op, d->name, math / 1e3, r.peak, peak_origin(d, p, &none), memory / 1e3, r.memory,
              tier_origin(d, "memory"));
  strb_printf(out, "  fill     %10.2f us\n  launch   %10.2f us  %s\n  total    %10.2f us  bound by %s\n",
              r.latency_ns / 1e3, r.launch_ns / 1e3, origin_of(d->launch_ns, d->launch_from),
              (fmax(math, memory) + r.latency_ns + r.launch_ns) / 1e3,
              cost_term_name(math > memory ? COST_MATH : COST_MEMORY));
}

double cost_roofline_ns(const tune_device *d, const tune_problem *p) {
  double peak = tune_device_peak(d, p->in, tune_device_matrix(d, p->in) != NULL), mem = tier_gbps(d, "memory", 0);
  double math = peak > 0 ? tune_problem_flops(p) / peak : 0, traffic = mem > 0 ? tune_problem_bytes(p) / mem : 0;
  return math > traffic ? math : traffic;
}

double cost_ridge(const tune_device *d, tsr_dtype in) {
  double peak = tune_device_peak(d, in, tune_device_matrix(d, in) != NULL), mem = tier_gbps(d, "memory", 0);
  return peak > 0 && mem > 0 ? peak / mem : 0;
}

static double roofline_predict(void *user, const tune_device *d, const tune_problem *p, const tune_config *c) {
  cost_estimate e;
  cost_compute(d, p, c, &e);
  return e.total_ns;
}
static void roofline_explain(void *user, const tune_device *d, const tune_problem *p, const tune_config *c, strb *out) {
  cost_explain(d, p, c, out);
}
const cost_model cost_model_roofline = {"roofline", roofline_predict, roofline_explain, NULL};

double cost_latency_by_throughput(void *user, double latency_ns, double work) {
  return latency_ns * (latency_ns / (work > 0 ? work : 1));
}
double cost_latency(void *user, double latency_ns, double work) { return latency_ns; }
