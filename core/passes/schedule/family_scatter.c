/* core/passes/schedule/family_scatter.c - scatters: a subgroup a block, since what a block does it does in order. */
#include "core/passes/schedule/family.h"
#include "core/passes/schedule/kernel.h"

enum { EACH = 4 }; /* elements a thread: those of one word of the layout */

static void defaults(const ir_op *kernel, const tsr_caps *c, sched_params *p) {
  p->warps = 1;
  p->m = sched_lanes(c) * EACH;
}

const sched_family_rules sched_rules_scatter = {.defaults = defaults};
