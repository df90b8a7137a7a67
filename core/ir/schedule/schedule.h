/* core/ir/schedule/schedule.h - Schedule IR: what becomes a kernel, and how.
 *
 *   "tessera.schedule.program"() ({
 *   ^bb0(%A: tensor<...>, ...):                         program inputs
 *     %w = "tessera.graph.constant"() ...                constants and reshapes (free aliases) stay at program level
 *     %0 = "tessera.schedule.kernel"(%A, %w) ({
 *     ^bb0(%a: tensor<...>, %b: tensor<...>):
 *       "tessera.schedule.tile"(%a, %b) {m = 128, n = 128, k = 64, autotune = false}     primitives, any subset
 *       "tessera.schedule.pipeline_stages"() {n = 2}
 *       %m = "tessera.graph.matmul"(%a, %b) ...            the body is Graph IR; every op of it is fused
 *       "tessera.schedule.yield"(%m)
 *     }) {sym_name = "matmul_0", family = "matmul"}
 *     "tessera.schedule.return"(%0)
 *   }) {sym_name = "main", policy = "fast"}
 *
 * The primitives and their attributes are rows of schedule/knobs.h; sched_params there is the same information as a
 * struct: what users set by hand, the tuner searches and the cache stores. */
#ifndef CORE_IR_SCHEDULE_SCHEDULE_H
#define CORE_IR_SCHEDULE_SCHEDULE_H
#include "core/ir/ir.h"
#include "core/ir/kernel_family.h"
#include "core/ir/schedule/knobs.h"

typedef enum sched_code {
  S_PROGRAM,
  S_RETURN,
  S_KERNEL,
  S_YIELD,
  S_LEGALIZED,
#define SCHED_CODE(code, ...) code,
  SCHED_PRIMITIVES(SCHED_CODE)
#undef SCHED_CODE
} sched_code;

/* Reads the primitives of a schedule.kernel; later ones win. */
void sched_read(const ir_op *kernel, sched_params *out);
/* Replaces the kernel's primitives by what is set in p. False when out of memory. */
bool sched_write(ir_op *kernel, const sched_params *p);
/* Whether a value of the kernel's body is an argument that the program binds to a constant, reshaped or not. */
bool sched_is_constant(const ir_op *kernel, const ir_value *v);

#endif
