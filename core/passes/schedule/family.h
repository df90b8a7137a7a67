/* core/passes/schedule/family.h - what a kernel family adds to the choice of a schedule. A row of
 * core/ir/kernel_family.h names its rules; they stand in family_NAME.c as sched_rules_NAME. */
#ifndef CORE_PASSES_SCHEDULE_FAMILY_H
#define CORE_PASSES_SCHEDULE_FAMILY_H
#include "core/device/caps.h"
#include "core/ir/schedule/schedule.h"

/* X(code, what a reason begins with). */
#define SCHED_LIMITS(X)                      \
  X(SHARED, "shared memory per block")       \
  X(REGISTERS, "registers per thread")       \
  X(INSTRUCTION, "matrix instruction")       \
  X(THREADS, "threads per block")            \
  X(CLUSTERS, "clusters")                    \
  X(ACCESS, "access width")
#define SCHED_LIMIT_CODE(code, name) SCHED_LIMIT_##code,
typedef enum sched_limit { SCHED_FITS, SCHED_LIMITS(SCHED_LIMIT_CODE) N_SCHED_LIMITS } sched_limit;
#undef SCHED_LIMIT_CODE

/* Any may be NULL: nothing to add. */
typedef struct sched_family_rules {
  /* What a GPU runs the kernel with when its author left that open. p: all zero. */
  void (*defaults)(const ir_op *kernel, const tsr_caps *caps, sched_params *p);
  /* Limits besides threads, clusters and the width of an access. */
  sched_limit (*broken)(const ir_op *kernel, const tsr_caps *caps, const sched_params *p, char *why, size_t why_bytes);
  /* Before p is shrunk: what the family has to say to it, and the least m, n and k (1 each on entry). */
  void (*prepare)(const ir_op *kernel, const tsr_caps *caps, sched_params *p, int64_t least[3]);
  /* One step to fewer registers a thread, in blocks of at most max_threads. */
  bool (*lighter)(const ir_op *kernel, const tsr_caps *caps, int64_t max_threads, sched_params *p);
} sched_family_rules;

#define SCHED_RULES(code, name, fuses, space, n, extents, lowering, rules, ...) \
  extern const sched_family_rules sched_rules_##rules;
KERNEL_FAMILIES(SCHED_RULES)
#undef SCHED_RULES

/* For `broken`: names the limit and explains, and returns it. */
sched_limit sched_breaks(sched_limit limit, char *why, size_t why_bytes, const char *fmt, ...) TSR_PRINTF(4, 5);

static inline int64_t sched_lanes(const tsr_caps *c) { return c->subgroup > 0 ? c->subgroup : 32; }
/* Threads of a block by default. */
static inline int64_t sched_block_threads(const tsr_caps *c) {
  return c->max_threads > 0 && c->max_threads < 256 ? c->max_threads : 256;
}
#endif
