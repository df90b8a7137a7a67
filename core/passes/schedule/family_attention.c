/* core/passes/schedule/family_attention.c - attention: m queries and n keys a block. Queries, keys and values lie in
 * shared memory, the result's rows and a tile of scores in registers. */
#include "core/passes/schedule/family_attention.h"

#include "core/base/int_math.h"
#include "core/device/dialect.h"
#include "core/passes/schedule/family.h"
#include "core/passes/schedule/kernel.h"

enum { STEP = 16, MOST_PER_THREAD = 96 }; /* sums and scores; the other registers hold addresses, operands */

static const ir_op *op_of(const ir_op *kernel) { return graph_first_of(kernel->regions[0], GRAPH_ATTENTION); }

static int64_t held(const graph_attention *x, const sched_params *p) { return p->m * (p->n + x->v); }

static int64_t threads_for(const tsr_caps *c, int64_t elements) {
  const int64_t lanes = sched_lanes(c), most = c->max_threads > 0 ? c->max_threads : 1024;
  int64_t threads = lanes;
  while (2 * threads <= most && threads * MOST_PER_THREAD < elements) threads *= 2;
  return threads;
}

/* Rows of a warpgroup's products, bytes of what TMA copies of a line; as few queries as a warp has rows would leave
 * most of it idle. */
enum { GROUP_ROWS = 64, GROUP_WARPS = 4, TMA_LINE = 128 };
int64_t sched_attention_step(const graph_attention *x, tsr_dtype t, const tsr_caps *c) {
  const int64_t line = TMA_LINE / 2;
  const bool suits = c->wgmma && c->tma && (t == TSR_F16 || t == TSR_BF16) && x->m > STEP && x->k > 0 &&
                     x->k % line == 0 && x->v > 0 && x->v % line == 0;
  return suits ? GROUP_ROWS : STEP;
}

static void defaults(const ir_op *kernel, const tsr_caps *c, sched_params *p) {
  const ir_op *op = op_of(kernel);
  if (!op) return;
  const graph_attention x = graph_attention_get(op);
  sched_params table;
  sched_recommended("flash_attention", op->operands[0]->type->dtype, &table);
  if (caps_simd_like(c)) { /* caches stand in for shared memory, and compile time grows with what a lane holds */
    /* An exponential in f64 is some forty operations, each of which takes a register twice as wide. */
    const bool wide = op->operands[0]->type->dtype == TSR_F64;
    p->m = min64((wide ? 1 : 4) * sched_lanes(c), round_up(x.m > 0 ? x.m : 1, sched_lanes(c)));
    p->n = min64(wide ? STEP : 64, round_up(x.n > 0 ? x.n : 1, STEP));
    for (p->warps = 1; p->warps < 8 && held(&x, p) > 128 * p->warps * sched_lanes(c);) p->warps *= 2;
    p->use_shared = -1;
    return;
  }
  const int64_t step = sched_attention_step(&x, op->operands[0]->type->dtype, c);
  p->m = min64(table.m, round_up(x.m > 0 ? x.m : 1, step));
  p->n = min64(table.n, round_up(x.n > 0 ? x.n : 1, STEP));
  p->warps =
      step == GROUP_ROWS ? p->m / GROUP_ROWS * GROUP_WARPS : threads_for(c, held(&x, p)) / sched_lanes(c);
}

static int64_t shared_bytes(const ir_op *op, const sched_params *p) {
  const graph_attention x = graph_attention_get(op);
  const int64_t bytes = (int64_t)tsr_dtype_size(op->operands[0]->type->dtype), pad = 16 / bytes;
  const int64_t stages = p->pipeline_stages > 0 ? p->pipeline_stages : 2, weights = p->m * (p->n + pad);
  if (p->use_shared < 0) return bytes * weights;
  return bytes * (p->m * (x.k + pad) + stages * p->n * (x.k + x.v + 2 * pad) + weights);
}

static sched_limit broken(const ir_op *kernel, const tsr_caps *c, const sched_params *p, char *why, size_t size) {
  const ir_op *op = op_of(kernel);
  if (!op || p->m <= 0 || p->n <= 0) return SCHED_FITS;
  const int64_t shared = shared_bytes(op, p), threads = (p->warps > 0 ? p->warps : 1) * sched_lanes(c);
  const graph_attention x = graph_attention_get(op);
  if (c->shared_bytes > 0 && shared > c->shared_bytes)
    return sched_breaks(SCHED_LIMIT_SHARED, why, size, "needs %lld bytes, the device has %lld", (long long)shared,
                        (long long)c->shared_bytes);
  const int64_t each = held(&x, p) / threads, limit = c->max_registers > 0 ? c->max_registers : 255;
  if (each > limit - 64 && !caps_simd_like(c))
    return sched_breaks(SCHED_LIMIT_REGISTERS, why, size, "%lld sums and scores, the device has %lld registers",
                        (long long)each, (long long)limit);
  return SCHED_FITS;
}

static void prepare(const ir_op *kernel, const tsr_caps *c, sched_params *p, int64_t least[3]) {
  if (!caps_simd_like(c)) least[0] = least[1] = STEP;
  if (p->pipeline_stages <= 0) p->pipeline_stages = 2; /* as shared_bytes counts, so that they can become fewer */
}

static bool lighter(const ir_op *kernel, const tsr_caps *c, int64_t most, sched_params *p) {
  if (p->m <= 0 || p->n <= 0 || p->warps <= 0) return false;
  if (2 * p->warps * sched_lanes(c) <= most) p->warps *= 2;
  else if (p->n > STEP) p->n = round_up(p->n / 2, STEP);
  else if (p->m > STEP) p->m = round_up(p->m / 2, STEP);
  else return false;
  return true;
}

const sched_family_rules sched_rules_attention = {defaults, broken, prepare, lighter};
