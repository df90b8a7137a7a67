/* core/tune/family_elementwise.c - elementwise kernels in the tuner: n elements, `passes` operands read. A config's m
 * is elements per block. */
#include <stdio.h>

#include "core/passes/schedule/defaults.h"
#include "core/tune/family.h"

static bool problem(const ir_op *kernel, const int64_t *s, tune_problem *p) {
  p->n = s[0];
  return true;
}

static double flops(const tune_problem *p) {
  return tune_rows(p) * (double)p->n;
}

static double bytes(const tune_problem *p) {
  return flops(p) *
         ((double)tsr_dtype_size(p->in) * (p->passes > 1 ? p->passes : 1) + (double)tsr_dtype_size(p->out));
}

static void tile(const tune_problem *p, const tune_config *c, char *out, size_t out_bytes) {
  snprintf(out, out_bytes, "%d", c->m);
}

static const tune_knob_row on_gpu[] = {
    {KNOB_m, true, 6, {256, 512, 1024, 2048, 4096, 8192}},
    {KNOB_vectorize, true, 4, {1, 2, 4, 8}},
    {KNOB_warps, true, 5, {1, 2, 4, 8, 16}},
};
static const tune_knob_row on_cpu[] = {
    {KNOB_m, true, 8, {1024, 4096, 8192, 16384, 32768, 65536, 131072, 262144}},
    {KNOB_vectorize, true, 4, {1, 128, 256, 512}},
};

static void untuned(const tune_device *d, const tune_problem *p, tune_config *c) { c->m = d->is_cpu ? 16384 : 1024; }

static int64_t block(const ir_op *kernel, const tsr_caps *caps) { return sched_block_elements(caps); }

static bool legal(const tune_space *s, const tune_config *c, char *why, size_t why_bytes) {
  const bool gpu = !s->device.is_cpu;
  const int64_t threads = tune_threads(s, c);
  if (!tune_stream_legal(s, c, s->problem.n, why, why_bytes)) return false;
  if (gpu && c->m < max64(c->vectorize, 1) * threads && threads > s->device.warp_size)
    TUNE_REFUSE("more lanes than elements");
  /* Blocks are unrolled over the lanes; drivers take minutes for hundreds of elements. */
  if (gpu && c->m > 64 * threads) TUNE_REFUSE("more than 64 elements a lane");
  return true;
}

static int64_t regs(const tune_device *d, const tune_problem *p, const tune_config *c, int64_t threads) {
  enum { MOST = 64 };
  int64_t vec = max64(c->vectorize, 1);
  return occ_sum(occ_product(min64(vec, MOST), max64(p->passes, 1)), vec);
}

static int64_t shared_bytes(const tune_problem *p, const tune_config *c) { return 0; }

static void cost(const cost_task *x, cost_estimate *e) {
  e->blocks = cost_ceil_div((double)x->p->n * cost_at_least((double)x->p->m, 1), cost_at_least(x->c->m, 1));
  cost_of_streams(x, 0, e);
}

const tune_family tune_family_elementwise = {TUNE_FAMILY_OWN, .extents = "n", .block = block, .cost = cost};
