/* core/tune/kernel.h - from the compiler's terms to the tuner's and back: a schedule.kernel is a problem with a key, a
 * device's capabilities are a profile, a config is sched_params. The space of a kernel allows exactly what the kernel's
 * own legality rule (sched_broken_limit) allows on the device. */
#ifndef CORE_TUNE_KERNEL_H
#define CORE_TUNE_KERNEL_H
#include "core/device/caps.h"
#include "core/ir/schedule/schedule.h"
#include "core/tune/cache.h"
#include "core/tune/space.h"

/* Limits and rates; what caps don't tell stays 0. `name` and the advised figures (docs/checklist.md) come with a known
 * device name. */
tune_device tune_device_from_caps(const tsr_caps *caps, const char *name);

/* False: nothing to tune (copies, custom ops, dynamic shapes). */
bool tune_kernel_problem(const ir_op *kernel, const char *policy, tune_problem *out);

typedef struct tune_kernel_key {
  char op[256], shape[96], dtype[64], layout[64], arch[48], generator[40];
} tune_kernel_key;
/* The parts of the cache's key that the kernel and the device decide; `driver`, `policy` and `mesh` are the caller's
 * strings. */
tune_key tune_kernel_make_key(const ir_op *kernel, const tune_problem *p, const tsr_caps *caps, const char *driver,
                              const char *policy, const char *mesh, tune_kernel_key *text);

/* What the kernel runs with when nothing is tuned; `suggested` is the backend's own tile (0 = none). */
tune_config tune_kernel_default(const ir_op *kernel, const tsr_caps *caps, const int64_t suggested[3]);
/* All fields of a config, but for switches that mean nothing for the problem on the device. The default need not be
 * written at all. */
sched_params tune_config_params(const tune_config *c, const tune_problem *problem, const tsr_caps *caps);
/* The kernel's space with the backend's knobs; `k` must stay where it is as long as the space is used. */
typedef struct tune_kernel_space {
  tune_space s; /* family rule and limits */
  space_legal_fn family_rule;
  const ir_op *kernel;
  tsr_caps caps;
} tune_kernel_space;
void tune_kernel_space_build(const ir_op *kernel, const tune_device *d, const tune_problem *p, const tune_config *dflt,
                             const tsr_caps *caps, tune_kernel_space *out);

/* Hash of all sources that make code, set by the build. */
const char *tune_generator(void);
#endif
