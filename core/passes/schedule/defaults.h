/* core/passes/schedule/defaults.h - fills in the schedule parameters that a kernel's author left open, and fits all of
 * them to the device. Precedence: primitives written in the kernel, then matmul's tile_shape, then the default.
 *
 * Defaults of GPUs: the table of docs/tuning.md (sched_recommended), double buffering, 256 threads a block, one row
 * per warp in reduction kernels, 16-byte accesses; tiles of small problems shrink to the problem. The CPU's lowering
 * chooses its own blocking: nothing is set for it but what the author wrote. Legality: shared memory, threads,
 * registers, access width and matrix instruction shape of the device. What was asked for and breaks a limit is an error
 * that names the limit, or is changed, leaving tessera.schedule.legalized with the original and the reason. Rules in
 * the trace: schedule_legalize, tile_advice (BM, BN not multiples of 64 for 16-bit floats). */
#ifndef CORE_PASSES_SCHEDULE_DEFAULTS_H
#define CORE_PASSES_SCHEDULE_DEFAULTS_H
#include "core/device/caps.h"
#include "core/ir/schedule/schedule.h"
#include "core/passes/trace.h"

typedef struct schedule_options {
  const tsr_caps *caps;
  bool error_if_illegal; /* else legalised */
  pass_trace *trace;     /* may be NULL */
} schedule_options;

/* The defaults of one kernel on a device, before legalisation. */
sched_params sched_default(const ir_op *kernel, const tsr_caps *caps);
/* What a block takes where no schedule says it: elements of an elementwise kernel or a copy, rows of n elements, of m,
 * of a reduction kernel. */
int64_t sched_block_elements(const tsr_caps *caps);
int64_t sched_block_rows(const ir_op *kernel, const tsr_caps *caps, int64_t m, int64_t n);
/* All kernels of all programs. */
tsr_status schedule_apply_defaults(ir_module *m, const schedule_options *opts);
#endif
