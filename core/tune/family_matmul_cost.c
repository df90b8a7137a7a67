/* core/tune/family_matmul_cost.c - the terms of a product's cost. */
#include "core/passes/schedule/gemm_cost.h"
#include "core/tune/family_matmul.h"

/* The product on its tiles: what all terms are made of. */
typedef struct tiles {
  gemm_counts count;
  double batch, in, m, n, k; /* m, n, k: of a tile */
  double out_bytes;          /* of the results */
} tiles;

static tiles tiles_of(const cost_task *x) {
  const tune_problem *p = x->p;
  const tune_config *c = x->c;
  tiles t = {.batch = cost_at_least((double)p->batch, 1),
             .in = (double)tsr_dtype_size(p->in),
             .m = cost_at_least(c->m, 1),
             .n = cost_at_least(c->n, 1),
             .k = cost_at_least(c->k, 1)};
  t.out_bytes = t.batch * (double)p->m * (double)p->n * (double)tsr_dtype_size(p->out);
  t.count = gemm_count(&(gemm_tiling){.batch = t.batch,
                                      .m = (double)p->m,
                                      .n = (double)p->n,
                                      .k = (double)p->k,
                                      .tile_m = t.m,
                                      .tile_n = t.n,
                                      .tile_k = t.k,
                                      .grain_m = x->d->is_cpu ? 4 : 0, /* its kernels stop at the edges */
                                      .grain_n = x->d->is_cpu ? x->r.lanes : 0,
                                      .parts = cost_at_least(c->split_k, 1),
                                      .sharing = cost_at_least(c->stream_k, 0),
                                      .in_bytes = t.in,
                                      .acc_bytes = p->acc ? (double)tsr_dtype_size(p->acc) : 4});
  return t;
}

/* What idle cores cost is added to all terms, by cost_compute. */
static void arithmetic(const cost_task *x, const tiles *t, cost_estimate *e) {
  e->padded_flops = t->count.flops;
  e->term_ns[COST_MATH] = gemm_math_ns(&t->count, x->r.peak, cost_register_tile_efficiency(x), 0);
}

/* Shared memory, or a CPU's first-level cache: each warp reads its sides of the tile. */
static void near_memory(const cost_task *x, const tiles *t, cost_estimate *e) {
  const tune_device *d = x->d;
  const tune_config *c = x->c;
  double warps = sqrt(cost_at_least(c->warps, 1));
  double side_m = d->is_cpu ? cost_min(t->m, 12) : t->m / warps, side_n = d->is_cpu ? 2 * x->r.lanes : t->n / warps;
  if (d->warpgroup_matrix && c->matrix_path) side_m = 64, side_n = t->n;
  e->shared_bytes = e->padded_flops / 2 * t->in * (1 / cost_at_least(side_m, 1) + 1 / cost_at_least(side_n, 1)) *
                    cost_at_least(e->bank_ways, 1);
  if (!d->is_cpu && !c->use_shared) e->shared_bytes = 0;
  e->term_ns[COST_SHARED] = e->shared_bytes / x->r.shared;
}

static void second_level(const cost_task *x, const tiles *t, cost_estimate *e) {
  const tune_device *d = x->d;
  const tune_config *c = x->c;
  double reads = t->count.tiles * t->count.steps * (t->m + t->n) * t->k * t->in;
  if (d->is_cpu) /* sums leave the registers between k steps */
    reads += 2 * (t->count.steps - 1) * t->batch * (double)x->p->m * (double)x->p->n * 4.0;
  else if (!c->use_shared) reads *= 2;
  e->l2_bytes = reads + t->count.partial_bytes + t->out_bytes;
  double access = d->is_cpu || !c->vectorize ? 16 : cost_clamp(c->vectorize * t->in, 2, 16);
  e->term_ns[COST_L2] = e->l2_bytes / x->r.l2 * (1 + 0.25 * log2(16 / access));
}

/* What a wave of concurrent blocks touches, by raster order: g rows of tiles side by side share their columns. */
static void far_memory(const cost_task *x, const tiles *t, cost_estimate *e) {
  const tune_config *c = x->c;
  double resident = cost_resident(x, e), least = e->least_bytes;
  double g = c->raster > 0 ? cost_min(c->raster, t->count.tiles_m) : x->d->is_cpu ? t->count.tiles_m : 1;
  double columns = cost_min(cost_at_least(resident / g, 1), t->count.tiles_n), rows = cost_min(g, resident);
  double wave_bytes = (rows * t->m + columns * t->n) * (double)x->p->k * t->in,
         waves = cost_at_least(e->blocks / cost_at_least(resident, 1), 1);
  bool fits = least < cost_last_cache(x->d);
  e->memory_bytes =
      fits ? least : cost_clamp(waves * wave_bytes + t->out_bytes, least, cost_at_least(e->l2_bytes, least));
  e->memory_bytes += fits ? 0 : t->count.partial_bytes;
  e->term_ns[COST_MEMORY] = e->memory_bytes / x->r.memory;
}

static void waits(const cost_task *x, cost_estimate *e) {
  const tune_config *c = x->c;
  double serial = cost_serial(x, e), stages = cost_at_least(c->pipeline_stages, 1);
  e->term_ns[COST_BARRIER] = serial * e->steps * x->r.barrier_ns * (c->use_shared || x->d->is_cpu ? 1 : 0) / stages;
  if (tune_device_simd_like(x->d))
    e->term_ns[COST_BARRIER] *= cost_at_least(c->warps, 1); /* each subgroup is left and entered again */
  e->term_ns[COST_FILL] = serial * x->r.latency_ns * (x->d->is_cpu ? 1 : stages * 0.5);
}

void tune_matmul_cost(const cost_task *x, cost_estimate *e) {
  tiles t = tiles_of(x);
  e->blocks = t.count.blocks;
  e->steps = ceil(t.count.each);
  e->reuse = x->c->k;
  e->stages = x->c->use_shared && !cost_stages_by_cache(x->d);
  e->runs_ahead = x->d->warpgroup_matrix && x->c->matrix_path;
  if (x->c->stream_k > 0) e->launches = 2;
  cost_spread(x, e);
  arithmetic(x, &t, e);
  near_memory(x, &t, e);
  second_level(x, &t, e);
  far_memory(x, &t, e);
  waits(x, e);
}
