/* core/tune/family_row.c - reductions and norms over the last axis in the tuner: m rows of n elements, `passes` reads
 * of each row. A config's m is rows per block, its n the whole row. */
#include <stdio.h>

#include "core/passes/schedule/defaults.h"
#include "core/tune/family.h"

enum { CLUSTER_BARRIER_NS = 300 }; /* of two to eight blocks on sm_90, with the stores before it; assumed */

static int64_t n_elements(const ir_type *t) {
  int64_t n = 1;
  for (int i = 0; i < t->rank; i++) n *= t->dims[i];
  return n;
}

static int32_t row_of(const tune_problem *p) { return (int32_t)(p->n < INT32_MAX ? p->n : INT32_MAX); }

static bool problem(const ir_op *kernel, const int64_t *s, tune_problem *p) {
  p->m = s[0], p->n = s[1];
  p->reduces = p->n > 1 && n_elements(kernel->results[0]->type) <= p->m;
  return true;
}

static double flops(const tune_problem *p) { return tune_rows(p) * (double)p->n * 8; }

static double bytes(const tune_problem *p) {
  double in = (double)tsr_dtype_size(p->in), out = (double)tsr_dtype_size(p->out), n = (double)p->n;
  return p->reduces ? tune_rows(p) * (n * in + out) : tune_rows(p) * n * (in + out);
}

static void tile(const tune_problem *p, const tune_config *c, char *out, size_t out_bytes) {
  snprintf(out, out_bytes, "%dx%d", c->m, row_of(p));
}

/* ---- space ------------------------------------------------------------------------------------------------------- */

static const tune_knob_row on_gpu[] = {
    {KNOB_m, true, 4, {1, 2, 4, 8}},
    {KNOB_vectorize, false, 4, {1, 2, 4, 8}},
    {KNOB_use_shared, false, 2, {0, 1}},
    {KNOB_warps, false, 6, {1, 2, 4, 8, 16, 32}},
    {KNOB_cluster, false, 4, {1, 2, 4, 8}},
};
static const tune_knob_row on_cpu[] = {
    {KNOB_m, true, 9, {1, 2, 4, 8, 16, 32, 64, 128, 256}},
    {KNOB_vectorize, true, 4, {1, 128, 256, 512}}, /* 1: the backend's own strip */
};

static void untuned(const tune_device *d, const tune_problem *p, tune_config *c) {
  c->m = d->is_cpu ? 16 : 1;
  c->n = row_of(p);
}

static int64_t block(const ir_op *kernel, const tsr_caps *caps) {
  int64_t s[4] = {0};
  return ir_get_ints(kernel, "space", s, 4) == 2 ? sched_block_rows(kernel, caps, s[0], s[1]) : 0;
}

static bool legal(const tune_space *s, const tune_config *config, char *why, size_t why_bytes) {
  const tune_problem *p = &s->problem;
  tune_config whole = *config;
  const tune_config *c = &whole;
  whole.n = row_of(p);
  bool gpu = !s->device.is_cpu;
  int64_t threads = tune_threads(s, c);
  if (!tune_stream_legal(s, c, p->m, why, why_bytes)) return false;
  if (c->cluster > 1) {
    if (!s->device.clusters) TUNE_REFUSE("the device has no clusters");
    if (c->m > 1) TUNE_REFUSE("a cluster holds one row");
    threads *= c->cluster;
    if (p->n > 64 * threads) TUNE_REFUSE("the cluster can't hold a row");
  }
  if (gpu && p->n < max64(c->vectorize, 1) * threads / 2 && threads > s->device.warp_size)
    TUNE_REFUSE("more lanes than elements");
  /* Rows held whole are unrolled over the lanes: beyond this the compiler, then the registers, give up. */
  if (gpu && c->m > 1 && c->m * p->n > 32 * threads) TUNE_REFUSE("more than 32 elements a lane");
  /* Else the lowering takes shared memory where warps share a row. */
  bool shared_moves = s->n_knobs > 2 && s->knob[2].n > 1;
  if (shared_moves && c->use_shared && c->warps < 2) TUNE_REFUSE("one warp needs no shared memory");
  if (shared_moves && !c->use_shared && c->warps > c->m && gpu)
    TUNE_REFUSE("several warps on a row need shared memory");
  return true;
}

/* ---- resources and cost ------------------------------------------------------------------------------------------ */

/* A longer row is read again instead of being held. */
static int64_t regs(const tune_device *d, const tune_problem *p, const tune_config *c, int64_t threads) {
  enum { ROW_REGS = 64 };
  int64_t width = c->n > 0 ? c->n : p->n, vec = max64(c->vectorize, 1);
  int64_t held = occ_pieces(occ_product(width, max64(c->m, 1)) / max64(c->cluster, 1), threads);
  return occ_sum(min64(held, ROW_REGS), vec);
}

static int64_t shared_bytes(const tune_problem *p, const tune_config *c) {
  return c->use_shared ? occ_product(4 * max64(c->warps, 1), max64(c->m, 1)) : 0;
}

static void cost(const cost_task *x, cost_estimate *e) {
  const tune_device *d = x->d;
  const tune_problem *p = x->p;
  const tune_config *c = x->c;
  double in = (double)tsr_dtype_size(p->in), m = cost_at_least(c->m, 1), cluster = cost_at_least(c->cluster, 1);
  e->blocks = cost_ceil_div((double)p->m, m) * cost_at_least((double)p->batch, 1) * cluster;
  /* A row longer than its share of the near cache is read again by every further pass. */
  double row_bytes = m * (double)p->n * in,
         near = d->is_cpu && d->shared_per_block > 0 ? (double)d->shared_per_block : 64e3;
  double held =
      64 * cost_at_least(c->warps, 1) * x->r.lanes * cluster; /* elements in the registers of a GPU's blocks */
  double more = 0;
  if (d->is_cpu && p->passes > 1 && row_bytes > near) more = (p->passes - 1) * e->least_bytes * 0.5;
  if (!d->is_cpu && m * (double)p->n > held) more = (double)p->m * (double)p->n * in; /* multi-pass: read twice */
  cost_of_streams(x, more, e);
  if (cluster > 1) e->term_ns[COST_BARRIER] += 2 * cost_serial(x, e) * CLUSTER_BARRIER_NS;
  if (tune_device_simd_like(d) && c->warps > c->m) /* subgroups that share a row meet at barriers */
    e->term_ns[COST_BARRIER] = (double)p->m / cost_at_least(d->cores, 1) * c->warps / m * x->r.barrier_ns;
}

const tune_family tune_family_row = {TUNE_FAMILY_OWN, .extents = "mn", .block = block, .cost = cost};
