/* core/passes/cpu/scratch.h - where fragments and shared tiles live in a CPU thread's scratch memory.
 * Positions number the ops of a kernel in text order; a scratch interval is a byte range over an interval of positions.
 */
#ifndef CORE_PASSES_CPU_SCRATCH_H
#define CORE_PASSES_CPU_SCRATCH_H
#include "core/ir/ir.h"

typedef struct scratch_interval {
  int64_t start, end, offset, bytes;
  bool aliased; /* more than one value lies there: its end is that of all of them */
} scratch_interval;

typedef struct scratch_intervals {
  const tsr_allocator *al;
  scratch_interval *v;
  size_t n, cap;
  int64_t total; /* bytes of scratch memory needed */
} scratch_intervals;

/* Numbers all ops under root: op->scratch = position, the position after its regions in op->data's place is returned by
 * scratch_end. */
void scratch_number(ir_op *root);
int64_t scratch_end(const ir_op *op);
/* Position of the last use of v; uses inside a loop that does not contain v's definition count as the loop's end. */
int64_t scratch_last_use(const ir_value *v);
/* First fit. Returns the interval's index, or -1 when out of memory. */
int scratch_alloc(scratch_intervals *s, int64_t start, int64_t end, int64_t bytes);
void scratch_clear(scratch_intervals *s);
#endif
