/* core/passes/schedule/family_row.c - reduction and normalization kernels: whole rows in a block's registers, or in
 * those of a cluster; longer ones are multi-pass reductions. */
#include "core/device/dialect.h"
#include "core/passes/schedule/family.h"
#include "core/passes/schedule/gemm_heuristics.h"
#include "core/passes/schedule/kernel.h"

/* Rows in one subgroup's registers as long as these are few enough to compile well; longer ones are multi-pass
 * reductions of one subgroup, since a block runs on one core, where barriers cost more than reading a row again
 * (softmax of 4096x4096 on lavapipe: 38 to 51 ms so, 68 to 70 ms with four subgroups that meet at barriers). */
static void simd_rows(int64_t length, int64_t lanes, sched_params *p) {
  const int64_t most = 128 * lanes;
  p->warps = 1;
  p->m = 1;
  while (length > 0 && 2 * p->m * length <= most && p->m < 64) p->m *= 2;
}

/* Rows that one block can't hold: the fewest blocks of 256 threads with half of their registers' worth each, so that
 * two share a core; then eight of twice the threads. False where even that is too little: a multi-pass reduction.
 * (With 64 elements a thread and a norm's weights beside them, ptxas spills.) */
static bool cluster_rows(int64_t length, int64_t lanes, sched_params *p) {
  int64_t threads = 256, each = SCHED_MOST_PER_THREAD / 2;
  for (int64_t c = 2; c <= SCHED_MOST_CLUSTER; c *= 2)
    if (length <= c * threads * each) {
      p->cluster = c, p->warps = threads / lanes, p->m = 1;
      return true;
    }
  if (length > SCHED_MOST_CLUSTER * 2 * threads * each) return false;
  p->cluster = SCHED_MOST_CLUSTER, p->warps = 2 * threads / lanes, p->m = 1;
  return true;
}

static void defaults(const ir_op *kernel, const tsr_caps *c, sched_params *p) {
  int64_t lanes = sched_lanes(c), length = sched_row_length(kernel), bytes = sched_element_bytes(kernel),
          threads = sched_block_threads(c);
  if (caps_simd_like(c)) {
    simd_rows(length, lanes, p);
    return;
  }
  const int64_t held = sched_held_per_thread(kernel, c);
  p->vectorize = bytes < 16 ? 16 / bytes : 1;
  if (c->clusters && c->max_threads >= 512 && length > held * 2 * threads &&
      cluster_rows(length, lanes, p))
    return;
  if (length > held * threads && (c->max_threads <= 0 || c->max_threads >= 512))
    threads = 512; /* the row stays in registers */
  p->warps = threads >= lanes ? threads / lanes : 1;
  p->m = length > 64 * lanes ? 1 : p->warps; /* a long row takes the whole block */
}

static sched_limit broken(const ir_op *kernel, const tsr_caps *c, const sched_params *p, char *why, size_t size) {
  int64_t most = p->cluster * p->warps * sched_lanes(c) * SCHED_MOST_PER_THREAD;
  if (p->cluster <= 1 || (p->m <= 1 && sched_row_length(kernel) <= most)) return SCHED_FITS;
  return sched_breaks(SCHED_LIMIT_REGISTERS, why, size, "a cluster of %lld blocks holds one row of up to %lld elements",
                      (long long)p->cluster, (long long)most);
}

/* A cluster that can't hold its row becomes a larger one, else none. */
static void prepare(const ir_op *kernel, const tsr_caps *c, sched_params *p, int64_t least[3]) {
  char why[160];
  if (broken(kernel, c, p, why, sizeof why) == SCHED_FITS) return;
  p->m = 1;
  while (p->cluster < SCHED_MOST_CLUSTER && broken(kernel, c, p, why, sizeof why)) p->cluster *= 2;
  if (broken(kernel, c, p, why, sizeof why)) p->cluster = 1;
}

static bool lighter(const ir_op *kernel, const tsr_caps *c, int64_t most, sched_params *p) {
  if (p->m <= 0 || p->warps <= 0) return false;
  if (p->m > 1) p->m /= 2;
  else if (2 * p->warps * sched_lanes(c) <= most) p->warps *= 2;
  else if (p->cluster > 1) p->cluster = 1; /* a multi-pass reduction */
  else return false;
  return true;
}

const sched_family_rules sched_rules_row = {defaults, broken, prepare, lighter};
