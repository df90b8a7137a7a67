/* core/passes/schedule/kernel.h - what a schedule.kernel is, as the choice of a schedule asks: its family, its
 * contraction, the length of its rows; and the table of default tiles (docs/tuning.md). */
#ifndef CORE_PASSES_SCHEDULE_KERNEL_H
#define CORE_PASSES_SCHEDULE_KERNEL_H
#include "core/device/caps.h"
#include "core/ir/schedule/schedule.h"

/* A row of the table: op is "gemm", "conv2d", ...; false if the table has no row for it. */
bool sched_recommended(const char *op, tsr_dtype t, sched_params *out);
/* The row that this product starts from, of elements t: "conv2d" where an operand is windows, else "gemm". */
bool sched_recommended_product(const ir_op *product, tsr_dtype t, sched_params *out);
/* The table's rows from 0 on; TSR_DTYPE_NONE: all types without a row of their own. False past the last. */
bool sched_recommended_row(size_t i, const char **op, tsr_dtype *t, sched_params *out);

sched_family sched_family_of(const ir_op *kernel);
/* The contraction that the kernel holds; NULL: it has none. */
const ir_op *sched_contraction(const ir_op *kernel);
/* Elements of a reduction kernel's row; 0 if not known. */
int64_t sched_row_length(const ir_op *kernel);
/* Bytes of the widest type that the kernel reads or writes. */
int64_t sched_element_bytes(const ir_op *kernel);
/* The numerics policy of one launch: the kernel's own, else its program's, else `otherwise`. */
const char *sched_policy(const ir_op *kernel, const char *otherwise);
/* Bytes of shared memory that a matmul kernel's staging takes. */
int64_t sched_shared_bytes(const ir_op *kernel, const sched_params *p);
/* Elements of a row that each thread of a GPU's block can hold. */
enum { SCHED_MOST_PER_THREAD = 64 };
/* Of this kernel's: fewer where it has several results, as rows that a norm reads then stay until the end, and a
 * cluster can hold what a block can't. */
int64_t sched_held_per_thread(const ir_op *kernel, const tsr_caps *c);
#endif
