/* core/passes/schedule/family_matmul.c - contractions: the model of schedule/gemm_heuristics.h chooses; staged tiles
 * fit the shared memory, accumulators the registers, a tile is a multiple of its matrix instruction. */
#include "core/base/int_math.h"
#include "core/ir/graph/ops.h"
#include "core/passes/schedule/family.h"
#include "core/passes/schedule/gemm_heuristics.h"
#include "core/passes/schedule/kernel.h"

static void defaults(const ir_op *kernel, const tsr_caps *c, sched_params *p) {
  const ir_op *product = sched_contraction(kernel);
  if (product) sched_matmul_default(product, c, p);
}

/* The matrix instruction that divides the tile; if none does, the smallest. */
static const tsr_matrix_shape *matrix_shape(const ir_op *product, const tsr_caps *c, const sched_params *p) {
  if (!sched_path_of(p)->has_matrix) return NULL;
  tsr_dtype a = product->operands[0]->type->dtype, b = product->operands[1]->type->dtype,
            acc = graph_contract_get(product).accum;
  const tsr_matrix_shape *best = NULL;
  for (int i = 0; i < c->n_matrix; i++) {
    const tsr_matrix_shape *x = &c->matrix[i];
    if (!x->enabled || x->a != a || x->b != b || x->c != acc) continue;
    if (p->m > 0 && p->m % x->m == 0 && p->n % x->n == 0 && p->k % x->k == 0) return x;
    if (!best || x->m * x->n * x->k < best->m * best->n * best->k) best = x;
  }
  return best;
}

static sched_limit broken(const ir_op *kernel, const tsr_caps *c, const sched_params *p, char *why, size_t size) {
  const ir_op *product = sched_contraction(kernel);
  int64_t shared = sched_shared_bytes(kernel, p);
  if (!product || p->m <= 0 || !sched_path_of(p)->has_tiles) return SCHED_FITS;
  if (c->shared_bytes > 0 && shared > c->shared_bytes)
    return sched_breaks(SCHED_LIMIT_SHARED, why, size, "needs %lld bytes, the device has %lld", (long long)shared,
                        (long long)c->shared_bytes);
  int64_t threads = (p->warps > 0 ? p->warps : 1) * sched_lanes(c), acc = p->m * p->n / threads;
  int64_t limit = c->max_registers > 0 ? c->max_registers : 255;
  if (acc > limit - 24)
    return sched_breaks(SCHED_LIMIT_REGISTERS, why, size, "%lld accumulators, the device has %lld registers",
                        (long long)acc, (long long)limit);
  const tsr_matrix_shape *x = matrix_shape(product, c, p);
  if (x && (p->m % x->m || p->n % x->n || p->k % x->k))
    return sched_breaks(SCHED_LIMIT_INSTRUCTION, why, size, "the tile must be a multiple of %dx%dx%d", x->m, x->n,
                        x->k);
  return SCHED_FITS;
}

static void prepare(const ir_op *kernel, const tsr_caps *c, sched_params *p, int64_t least[3]) {
  const ir_op *product = sched_contraction(kernel);
  const tsr_matrix_shape *x = product ? matrix_shape(product, c, p) : NULL;
  if (!x) return;
  least[0] = x->m, least[1] = x->n, least[2] = x->k;
  if (p->m > 0) p->m = round_up(p->m, x->m), p->n = round_up(p->n, x->n), p->k = round_up(p->k, x->k);
}

static bool lighter(const ir_op *kernel, const tsr_caps *c, int64_t most, sched_params *p) {
  if (p->m <= 0 || p->n <= 0 || p->warps <= 0) return false;
  bool group = c->wgmma && p->m >= 64 && p->n >= 64;
  int64_t least = group ? 64 : 16, threads = p->warps * sched_lanes(c);
  if (!group && p->m * p->n / threads > 32 && 2 * threads <= most) p->warps *= 2;
  else if (p->n >= p->m && p->n > least) p->n = p->n / 2 > least ? p->n / 2 : least;
  else if (p->m > least) p->m = p->m / 2 > least ? p->m / 2 : least;
  else if (p->n > least) p->n = p->n / 2 > least ? p->n / 2 : least;
  else return false;
  return true;
}

const sched_family_rules sched_rules_matmul = {defaults, broken, prepare, lighter};
