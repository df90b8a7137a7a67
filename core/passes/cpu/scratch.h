/* core/passes/cpu/scratch.h - where fragments and shared tiles live in a CPU thread's scratch memory.
 * Positions number the ops of a kernel in text order; a slot is a byte range over an interval of positions. */
#ifndef CORE_PASSES_CPU_SCRATCH_H
#define CORE_PASSES_CPU_SCRATCH_H
#include "core/ir/ir.h"

typedef struct slot {
  int64_t start, end, offset, bytes;
} slot;

typedef struct slots {
  const tsr_allocator *al;
  slot *v;
  size_t n, cap;
  int64_t total; /* bytes of scratch memory needed */
} slots;

/* Numbers all ops under root: op->scratch = position, the position after its regions in op->data's place is returned by
 * slots_end. */
void slots_number(ir_op *root);
int64_t slots_end(const ir_op *op);
/* Position of the last use of v; uses inside a loop that does not contain v's definition count as the loop's end. */
int64_t slots_last_use(const ir_value *v);
/* First fit. Returns the slot's index, or -1 when out of memory. */
int slots_alloc(slots *s, int64_t start, int64_t end, int64_t bytes);
void slots_clear(slots *s);
#endif
