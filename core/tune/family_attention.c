/* core/tune/family_attention.c - flash attention in the tuner: estimated for a shape that is asked about, not searched.
 * A config's m by n is the tile of scores; scores and weights stay in the block, and each block of queries reads all
 * keys and values that it sees, through the L2. */
#include <stdio.h>

#include "core/tune/family.h"

/* Its schedules have no search yet. */
static bool problem(const ir_op *kernel, const int64_t *space, tune_problem *p) { return false; }

static double flops(const tune_problem *p) {
  double scores = tune_rows(p) * (double)p->n;
  return 4 * scores * (double)p->k * (p->causal ? 0.5 : 1);
}

static double bytes(const tune_problem *p) {
  double b = (double)(p->batch > 0 ? p->batch : 1), in = (double)tsr_dtype_size(p->in),
         out = (double)tsr_dtype_size(p->out);
  double m = (double)(p->m > 0 ? p->m : 1), n = (double)p->n, k = (double)p->k;
  return b * k * ((m + 2 * n) * in + m * out);
}

static void tile(const tune_problem *p, const tune_config *c, char *out, size_t out_bytes) {
  snprintf(out, out_bytes, "%dx%d", c->m, c->n);
}

/* The result's rows, a tile of scores, its weights in the narrow type. */
static int64_t regs(const tune_device *d, const tune_problem *p, const tune_config *c, int64_t threads) {
  int64_t scores = occ_product(c->m, c->n), in_bytes = (int64_t)tsr_dtype_size(p->in);
  return occ_pieces(occ_sum(occ_sum(occ_product(c->m, p->k), scores), occ_product(scores, in_bytes) / 4), threads);
}

static int64_t shared_bytes(const tune_problem *p, const tune_config *c) {
  int64_t in_bytes = (int64_t)tsr_dtype_size(p->in), stages = max64(c->pipeline_stages, 1);
  if (!c->use_shared) return 0;
  return occ_product(in_bytes,
                     occ_product(occ_sum(p->k, c->padding), occ_sum(c->m, occ_product(2 * stages, c->n))));
}

static void cost(const cost_task *x, cost_estimate *e) {
  const tune_device *d = x->d;
  const tune_problem *p = x->p;
  const tune_config *c = x->c;
  const cost_rates *r = &x->r;
  double heads = cost_at_least((double)p->batch, 1), in = (double)tsr_dtype_size(p->in), width = (double)p->k,
         m = cost_at_least(c->m, 1), n = cost_at_least(c->n, 1), stages = cost_at_least(c->pipeline_stages, 1);
  double blocks_q = cost_ceil_div((double)p->m, m), steps = cost_ceil_div((double)p->n, n);
  if (p->causal) steps = cost_clamp((steps + cost_ceil_div(m, n)) / 2, 1, steps); /* whole tiles on the diagonal */
  double scores = heads * blocks_q * m * steps * n, tiles = heads * blocks_q * steps;
  e->blocks = heads * blocks_q;
  e->steps = ceil(steps);
  e->stages = c->use_shared && !cost_stages_by_cache(d);
  cost_spread(x, e);
  e->padded_flops = 4 * scores * width;
  e->term_ns[COST_MATH] = e->padded_flops / r->peak / cost_register_tile_efficiency(x);
  e->term_ns[COST_EXP] = scores / r->exps;
  double readers = d->is_cpu                               ? m / cost_min(m, 12)
                   : d->warpgroup_matrix && c->matrix_path ? cost_at_least(m / 64, 1)
                                                           : cost_at_least(c->warps, 1); /* each for itself */
  e->shared_bytes = tiles * 2 * n * width * in * readers;
  e->term_ns[COST_SHARED] = e->shared_bytes / r->shared;
  double once = heads * (double)p->m * width * (in + (double)tsr_dtype_size(p->out));
  e->l2_bytes = tiles * 2 * n * width * in + once;
  e->term_ns[COST_L2] = e->l2_bytes / r->l2;
  /* Blocks side by side belong to one head or to neighbours: what these hold stays near when it fits. */
  double resident = cost_resident(x, e), near = cost_ceil_div(resident, blocks_q) * 2 * (double)p->n * width * in;
  e->memory_bytes = near < cost_last_cache(d) ? e->least_bytes : e->l2_bytes;
  e->term_ns[COST_MEMORY] = e->memory_bytes / r->memory;
  double serial = cost_serial(x, e);
  e->term_ns[COST_BARRIER] =
      serial * steps * r->barrier_ns / stages * (tune_device_simd_like(d) ? cost_at_least(c->warps, 1) : 1);
  e->term_ns[COST_FILL] = serial * r->latency_ns * (d->is_cpu ? 1 : stages * 0.5);
}

const tune_family tune_family_attention = {.extents = "bmnk",
                                           .problem = problem,
                                           .flops = flops,
                                           .bytes = bytes,
                                           .tile = tile,
                                           .regs = regs,
                                           .shared_bytes = shared_bytes,
                                           .cost = cost};
