/* core/passes/schedule/family_elementwise.c - elementwise kernels and copies: four wide accesses a thread. A device on
 * the CPU takes 32 elements at most where functions are computed: each is code of its own in the unrolled block, of
 * which its driver compiles 64 for seconds. */
#include "core/base/int_math.h"
#include "core/device/dialect.h"
#include "core/ir/graph/ops.h"
#include "core/passes/schedule/family.h"
#include "core/passes/schedule/kernel.h"

static bool computes_functions(const ir_op *kernel) {
  for (const ir_op *o = kernel->regions[0]->first; o; o = o->next)
    if (graph_is_function(o)) return true;
  return false;
}

static void defaults(const ir_op *kernel, const tsr_caps *c, sched_params *p) {
  int64_t lanes = sched_lanes(c), bytes = sched_element_bytes(kernel), threads = sched_block_threads(c), accesses = 4;
  p->vectorize = bytes < 16 ? 16 / bytes : 1;
  p->warps = threads >= lanes ? threads / lanes : 1;
  if (caps_simd_like(c) && computes_functions(kernel)) accesses = min64(accesses, 32 / p->vectorize);
  p->m = threads * p->vectorize * accesses;
}

static bool lighter(const ir_op *kernel, const tsr_caps *c, int64_t most, sched_params *p) {
  if (p->m > p->warps * sched_lanes(c) && p->warps > 0) p->m /= 2;
  else if (p->vectorize > 1) p->vectorize /= 2;
  else return false;
  return true;
}

const sched_family_rules sched_rules_elementwise = {defaults, NULL, NULL, lighter};
