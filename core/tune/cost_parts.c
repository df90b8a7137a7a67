/* core/tune/cost_parts.c - see cost_parts.h. */
#include "core/tune/cost_parts.h"

#include "core/device/roofline.h"

const char *cost_term_name(cost_term t) {
  static const char *const names[] = {"math", "shared", "l2", "memory", "exp", "barrier", "fill", "launch"};
  return (unsigned)t < COST_N_TERMS ? names[t] : "?";
}

static double tier_gbps(const tune_device *d, const char *name, double dflt) {
  const tune_tier *t = tune_device_tier(d, name);
  return t && t->gbps > 0 ? t->gbps : dflt;
}

bool cost_stages_by_cache(const tune_device *d) { return d->is_cpu || tune_device_simd_like(d); }

cost_rates cost_rates_of(const tune_device *d, const tune_problem *p, const tune_config *c) {
  cost_rates r = {.cores = cost_at_least(d->cores, 1), .lanes = cost_at_least(d->warp_size, 1)};
  double clock = d->clock_ghz > 0 ? d->clock_ghz : d->is_cpu ? 2.5 : 1.5;
  r.peak = tune_device_peak(d, p->in, c->matrix_path != PATH_FMA && c->matrix_path != PATH_LANE_N);
  if (!(r.peak > 0)) r.peak = r.cores * clock * (d->is_cpu ? 4 * r.lanes : 8 * r.lanes);
  /* A special-function unit for every eight multiply-adds (NVIDIA's and AMD's are near), or a polynomial and what is
   * around it. Never measured. */
  r.exps = (d->fma_gflops > 0 ? d->fma_gflops : r.peak) / (d->is_cpu || tune_device_simd_like(d) ? 32 : 16);
  r.memory = tier_gbps(d, "memory", d->is_cpu ? 20 : 300);
  r.l2 = tier_gbps(d, "l2", d->is_cpu ? r.cores * clock * 32 : 3 * r.memory);
  r.shared = tier_gbps(d, d->is_cpu ? "l1" : "shared", r.cores * clock * 128);
  r.barrier_ns = d->barrier_ns > 0 ? d->barrier_ns : d->is_cpu ? 300 : tune_device_simd_like(d) ? 400 : 20;
  r.launch_ns = roofline_launch_ns(d->launch_ns, d->is_cpu);
  const tune_tier *mem = tune_device_tier(d, "memory");
  r.latency_ns = (mem && mem->latency_cycles > 0 ? mem->latency_cycles : d->is_cpu ? 200 : 500) / clock;
  return r;
}

double cost_last_cache(const tune_device *d) {
  const tune_tier *last = tune_device_tier(d, d->is_cpu ? "l3" : "l2");
  return last ? last->bytes : 0;
}

/* Warps x stages in flight against what covers the memory latency. A CPU core hides its own: caches do on simd_like
 * devices, and what a subgroup does there besides multiplying is not hidden by others. */
static double hiding_of(const tune_device *d, const tune_config *c, const cost_estimate *e) {
  if (cost_stages_by_cache(d)) return 1;
  double active = e->occupancy.known ? e->occupancy.active_warps : c->warps;
  double blocks_here =
      cost_min(cost_at_least(e->occupancy.blocks, 1), cost_ceil_div(e->blocks, cost_at_least(d->cores, 1)));
  active = cost_min(active, blocks_here * cost_at_least(c->warps, 1));
  double in_flight = active * (c->async_copy ? cost_at_least(c->pipeline_stages, 1) : c->pipeline_stages > 1 ? 1.5 : 1);
  return cost_clamp(sqrt(in_flight / 16.0), 0.15, 1);
}

/* Blocks over cores: the last round may leave cores idle. A core's resident blocks share its rate. */
void cost_spread(const cost_task *x, cost_estimate *e) {
  const tune_device *d = x->d;
  double cores = cost_at_least(d->cores, 1), per_core = cost_at_least(e->occupancy.known ? e->occupancy.blocks : 1, 1);
  e->waves = e->blocks / (cores * per_core);
  e->wave_efficiency = cost_clamp(e->blocks / (cores * roofline_rounds(e->blocks, cores)), 1e-3, 1);
  e->hiding = hiding_of(d, x->c, e);
}

double cost_resident(const cost_task *x, const cost_estimate *e) {
  double all = cost_at_least(x->d->cores, 1) * cost_at_least(e->occupancy.known ? e->occupancy.blocks : 1, 1);
  return cost_min(all, e->blocks);
}

/* The n-major lane layout, in the rate that untuned products reach: no gathers of a, but 16 sums a lane at least to
 * keep the units busy, and from 32 on they don't stay in registers (f32 512 cubed: 8 sums 2.9 ms, 16 and 32 1.7,
 * 64 2.4; untuned 3.7). Subgroups have 8 rows each, side by side they take longer (64x32 by 16 subgroups 2.5 ms,
 * 128x16 1.75).
 */
static double lane_n_efficiency(const tune_config *c, double sums) {
  double side_by_side = 8.0 * c->warps > cost_at_least(c->m, 8) ? 0.75 : 1;
  return 1.9 * side_by_side * cost_min(1, sums / 16) / sqrt(cost_at_least(sums / 32, 1));
}

double cost_register_tile_efficiency(const cost_task *x) {
  const tune_device *d = x->d;
  const tune_config *c = x->c;
  double lanes = x->r.lanes;
  if (d->is_cpu) {
    double rows = cost_min(c->m, 12), cols = cost_min(c->n, 2 * lanes);
    return cost_clamp(1 - 0.5 * (lanes / cost_at_least(cols, 1) / 2 + 1 / cost_at_least(rows, 1)), 0.2, 1);
  }
  double per_warp = (double)c->m * c->n / cost_at_least(c->warps, 1), side = sqrt(per_warp);
  if (c->matrix_path == PATH_LANE_N) return lane_n_efficiency(c, per_warp / lanes);
  if (tune_device_simd_like(d))
    return 1 / (1 + 8 * lanes / cost_at_least(per_warp, 1)); /* lanes of sums against loads and index arithmetic */
  double loads = c->matrix_path ? 16 / cost_at_least(side, 16) : 2 * sqrt(lanes) / cost_at_least(side, sqrt(lanes));
  return 1 / (1 + 0.5 * loads);
}

double cost_serial(const cost_task *x, const cost_estimate *e) { return cost_ceil_div(e->blocks, cost_resident(x, e)); }

void cost_of_streams(const cost_task *x, double more_bytes, cost_estimate *e) {
  const tune_device *d = x->d;
  const tune_config *c = x->c;
  const cost_rates *r = &x->r;
  double in = (double)tsr_dtype_size(x->p->in), access = c->vectorize ? cost_clamp(c->vectorize * in, 1, 16) : 16;
  cost_spread(x, e);
  e->padded_flops = e->flops;
  e->term_ns[COST_MATH] = e->padded_flops / r->peak;
  e->memory_bytes = e->l2_bytes = e->least_bytes + more_bytes;
  e->term_ns[COST_MEMORY] =
      e->memory_bytes / r->memory * (d->is_cpu || tune_device_simd_like(d) ? 1 : 1 + 0.15 * log2(16 / access));
  e->term_ns[COST_L2] = e->l2_bytes / r->l2;
  if (c->use_shared) e->shared_bytes = e->blocks * cost_at_least(c->warps, 1) * 8;
  e->term_ns[COST_SHARED] = e->shared_bytes / r->shared;
  double serial = cost_serial(x, e);
  e->term_ns[COST_BARRIER] = c->use_shared || d->is_cpu ? serial * r->barrier_ns : 0;
  e->term_ns[COST_FILL] = serial * r->latency_ns * 0.25;
}

