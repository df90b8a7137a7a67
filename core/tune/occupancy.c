/* core/tune/occupancy.c - see occupancy.h. */
#include "core/tune/occupancy.h"

/* Configs come from users and from files: sums and products of what they say stay at the largest number instead of
 * wrapping round. */
static int64_t sum(int64_t a, int64_t b) {
  int64_t r;
  return __builtin_add_overflow(a, b, &r) ? INT64_MAX : r;
}

static int64_t product(int64_t a, int64_t b) {
  int64_t r;
  return __builtin_mul_overflow(a, b, &r) ? INT64_MAX : r;
}

static int64_t pieces(int64_t v, int64_t unit) { return v / unit + (v % unit > 0); }
static int64_t whole_units(int64_t v, int64_t unit) { return unit > 1 ? product(pieces(v, unit), unit) : v; }
static int64_t positive(int64_t v, int64_t otherwise) { return v > 0 ? v : otherwise; }

static void limit_to(occ_result *r, int64_t blocks, const char *by) {
  if (blocks >= r->blocks) return;
  r->blocks = (int32_t)(blocks > 0 ? blocks : 0);
  r->limiter = by;
}

occ_result occ_compute(const tune_device *d, const occ_input *in) {
  occ_result r = {0};
  if (d->is_cpu || d->max_warps <= 0 || in->warps <= 0) return r;
  r.known = true;
  r.blocks = d->max_warps / in->warps;
  r.limiter = "warps";
  if (d->max_blocks > 0) limit_to(&r, d->max_blocks, "blocks");
  if (d->max_barriers > 0 && in->warps > 1) limit_to(&r, d->max_barriers, "barriers");
  if (in->regs > 0 && d->regs_per_core > 0) {
    int64_t per_warp = whole_units((int64_t)in->regs * d->warp_size, d->reg_granule);
    bool over = d->regs_per_thread > 0 && in->regs > d->regs_per_thread;
    int64_t parts = d->core_parts > 0 ? d->core_parts : 1, warps = d->regs_per_core / parts / per_warp * parts;
    limit_to(&r, over ? 0 : warps / in->warps, "registers");
  }
  if (in->shared_bytes > 0 && d->shared_per_core > 0) {
    bool over = !d->advisory && d->shared_per_block > 0 && in->shared_bytes > d->shared_per_block;
    limit_to(&r, over ? 0 : d->shared_per_core / sum(whole_units(in->shared_bytes, d->shared_granule), d->shared_reserved),
             "shared");
  }
  r.active_warps = r.blocks * in->warps; /* at most max_warps */
  r.fraction = (double)r.active_warps / d->max_warps;
  return r;
}

static int32_t threads_of(const tune_device *d, const tune_config *c) {
  int64_t t = (int64_t)(c->warps > 0 ? c->warps : 4) * (d->warp_size > 0 ? d->warp_size : 32);
  return (int32_t)(t < 1 ? 1 : t > 65536 ? 65536 : t);
}

int32_t occ_regs(const tune_device *d, const tune_problem *p, const tune_config *c) {
  enum { ADDRESSES = 24, ROW_REGS = 64 };
  int64_t threads = threads_of(d, c), regs = ADDRESSES;
  int64_t in_bytes = (int64_t)tsr_dtype_size(p->in), vec = positive(c->vectorize, 1), mn = product(c->m, c->n);
  if (p->family == FAMILY_MATMUL) {
    const tune_matrix *mx = c->matrix_path ? tune_device_matrix(d, p->in) : NULL;
    int64_t step = mx ? mx->k : 1, sides = (int64_t)c->m + c->n;
    regs = sum(regs, pieces(mn, threads));
    /* Fragments of one k step, two sets so that loads run ahead. */
    regs = sum(regs, sum(product(2, product(sides, step * in_bytes) / 4), 2 * threads - 2) / threads);
    /* What a copy without its own path holds on its way to shared memory. */
    if (c->use_shared && !c->async_copy)
      regs = sum(regs, pieces(product(product(sides, c->k), in_bytes) / 4, threads));
  } else if (p->family == FAMILY_ATTENTION) { /* the result's rows, a tile of scores, its weights in the narrow type */
    regs = sum(regs, pieces(sum(sum(product(c->m, p->k), mn), product(mn, in_bytes) / 4), threads));
  } else {
    int64_t width = positive(c->n, p->n);
    int64_t per_thread =
        p->family == FAMILY_ROW ? pieces(product(width, positive(c->m, 1)) / positive(c->cluster, 1), threads) : vec;
    if (per_thread > ROW_REGS) per_thread = ROW_REGS; /* a longer row is read again instead of being held */
    regs = sum(regs, product(per_thread, p->passes > 1 && p->family == FAMILY_ELEMENTWISE ? p->passes : 1) + vec);
  }
  return (int32_t)(regs > INT32_MAX ? INT32_MAX : regs);
}

int64_t occ_shared_bytes(const tune_problem *p, const tune_config *c) {
  int64_t in_bytes = (int64_t)tsr_dtype_size(p->in), stages = positive(c->pipeline_stages, 1);
  if (p->family == FAMILY_ELEMENTWISE || !c->use_shared) return 0;
  if (p->family == FAMILY_ROW) return product(4 * positive(c->warps, 1), positive(c->m, 1));
  if (p->family == FAMILY_ATTENTION)
    return product(in_bytes, product(sum(p->k, c->padding), sum(c->m, product(2 * stages, c->n))));
  return product(stages * in_bytes,
                 sum(product(c->m, (int64_t)c->k + c->padding), product(c->k, (int64_t)c->n + c->padding)));
}

occ_result occ_of_config(const tune_device *d, const tune_problem *p, const tune_config *c) {
  occ_input in = {
      .warps = c->warps > 0 ? c->warps : 4, .regs = occ_regs(d, p, c), .shared_bytes = occ_shared_bytes(p, c)};
  return occ_compute(d, &in);
}

int32_t occ_bank_conflict(const tune_device *d, tsr_dtype in, int32_t row_elems, int32_t padding, int32_t access) {
  enum { MOST = 256 };
  int64_t banks = d->banks > 0 ? d->banks : 32, words = access > 4 ? access / 4 : 1;
  int64_t stride = positive((int64_t)row_elems + padding, 0) * (int64_t)tsr_dtype_size(in);
  int32_t hits[MOST] = {0}, worst = 1;
  int64_t last_word[MOST];
  if (banks > MOST) banks = MOST;
  for (int64_t lane = 0; lane < banks / words; lane++)
    for (int64_t w = 0; w < words; w++) {
      int64_t word = lane * stride / 4 + w, bank = word % banks;
      if (hits[bank] && last_word[bank] == word) continue; /* the same word is broadcast */
      last_word[bank] = word;
      if (++hits[bank] > worst) worst = hits[bank];
    }
  return worst;
}

int32_t occ_bank_ways(const tune_device *d, const tune_problem *p, const tune_config *c) {
  if (p->family != FAMILY_MATMUL || !c->use_shared || d->is_cpu) return 0;
  const tune_matrix *x = c->matrix_path ? tune_device_matrix(d, p->in) : NULL;
  if ((x && d->warpgroup_matrix) || c->matrix_path > 1) return 1; /* swizzled */
  int64_t bytes = x && d->warp_size > 0 ? (int64_t)x->m * x->k / d->warp_size * (int64_t)tsr_dtype_size(p->in) : 4;
  return occ_bank_conflict(d, p->in, c->k, c->padding, bytes >= 16 ? 16 : bytes >= 8 ? 8 : 4);
}
