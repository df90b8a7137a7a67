/* core/passes/schedule/family_elementwise.c - elementwise kernels and copies: four wide accesses a thread. */
#include "core/passes/schedule/family.h"
#include "core/passes/schedule/kernel.h"

static void defaults(const ir_op *kernel, const tsr_caps *c, sched_params *p) {
  int64_t lanes = sched_lanes(c), bytes = sched_element_bytes(kernel), threads = sched_block_threads(c);
  p->vectorize = bytes < 16 ? 16 / bytes : 1;
  p->warps = threads >= lanes ? threads / lanes : 1;
  p->m = threads * p->vectorize * 4;
}

static bool lighter(const ir_op *kernel, const tsr_caps *c, int64_t most, sched_params *p) {
  if (p->m > p->warps * sched_lanes(c) && p->warps > 0) p->m /= 2;
  else if (p->vectorize > 1) p->vectorize /= 2;
  else return false;
  return true;
}

const sched_family_rules sched_rules_elementwise = {defaults, NULL, NULL, lighter};
