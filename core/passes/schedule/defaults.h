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

/* A row of the table: op is "gemm", "conv2d", "flash_attention" or "layernorm"; false if the table has no row for it.
 */
bool sched_recommended(const char *op, tsr_dtype t, sched_params *out);
/* The table's rows from 0 on; TSR_DTYPE_NONE: all types without a row of their own. False past the last. */
bool sched_recommended_row(size_t i, const char **op, tsr_dtype *t, sched_params *out);
/* The defaults of one kernel on a device, before legalisation. */
sched_params sched_default(const ir_op *kernel, const tsr_caps *caps);
/* The numerics policy of one launch: the kernel's own, else its program's, else `otherwise`. */
const char *sched_policy(const ir_op *kernel, const char *otherwise);
/* What a block takes where no schedule says it: elements of an elementwise kernel or a copy, rows of n elements, of m,
 * of a reduction kernel. */
int64_t sched_block_elements(const tsr_caps *caps);
int64_t sched_block_rows(const ir_op *kernel, const tsr_caps *caps, int64_t m, int64_t n);
/* NULL if the kernel can run with p; else the limit that p breaks, in `reason`. */
const char *sched_broken_limit(const ir_op *kernel, const tsr_caps *caps, const sched_params *p, char *reason,
                               size_t size);
/* Shrinks p until it is legal: stages to 2, then k, then the larger of m and n, then no overlap. False if nothing fits.
 */
bool sched_legalize(const ir_op *kernel, const tsr_caps *caps, sched_params *p);
/* One step to a schedule that holds less in each thread's registers: more threads, or a smaller tile. False if there is
 * none. */
bool sched_lighter(const ir_op *kernel, const tsr_caps *caps, sched_params *p);
/* Leaves tessera.schedule.legalized in the kernel: what was asked for, and why it was changed. False when out of
 * memory. */
bool sched_note_legalized(ir_op *kernel, const sched_params *asked, const char *why);
/* Elements of a row that each thread of a GPU's block can hold. */
enum { SCHED_MOST_PER_THREAD = 64 };
/* Bytes of the widest type that the kernel reads or writes. */
int64_t sched_element_bytes(const ir_op *kernel);
/* Bytes of shared memory that a matmul kernel's staging takes. */
int64_t sched_shared_bytes(const ir_op *kernel, const sched_params *p);

/* All kernels of all programs. */
tsr_status schedule_apply_defaults(ir_module *m, const schedule_options *opts);
#endif
