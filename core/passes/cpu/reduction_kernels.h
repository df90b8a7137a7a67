/* core/passes/cpu/reduction_kernels.h - which ops of a Tile IR block become fused reduction kernels on the CPU: row
 * ops, which are taken whole, and maps that scale rows (the end of a graph's own norm). A row is then read from cache
 * by few passes, and 16-bit rows are never copied to f32 first: loads that only such ops read are none. Not under
 * kahan_sum. The order of their sums is fixed by the row's length alone, so "deterministic" may use them. The kernel's
 * attribute `reduction_kernels = false` (the switch reduction_kernels) leaves them out. What an op is, its recipe or
 * region says: nothing is put together from several ops here. */
#ifndef CORE_PASSES_CPU_REDUCTION_KERNELS_H
#define CORE_PASSES_CPU_REDUCTION_KERNELS_H
#include "core/ir/ir.h"

typedef enum row_kind {
  ROW_NONE,
  ROW_DIRECT, /* a load: its users read the memory */
  ROW_NORM,   /* a map: out = (x - mean[r]) * factor[r] * scale + shift; scale and shift repeat for all rows; all but
                 factor may be NULL */
  ROW_WHOLE,  /* a tessera.tile.row, which cpu/row.c lowers: x, scale and shift are the operands that it reads */
} row_kind;

typedef struct row_act {
  const ir_op *op;
  row_kind kind;
  ir_value *x, *mean, *factor, *scale, *shift;
} row_act;

typedef struct row_plan {
  const tsr_allocator *al;
  row_act *v;
  size_t n, cap;
} row_plan;

/* Plans one block (not its nested regions). Fails only when out of memory. */
tsr_status rows_plan(row_plan *p, const ir_block *block);
/* What to do with op; NULL = lower it as any other. */
const row_act *rows_find(const row_plan *p, const ir_op *op);
void rows_clear(row_plan *p);
/* A type whose rows the kernels read and write: f32, bf16 or f16, neighbours in a row side by side. */
bool rows_type(const ir_type *t);
/* Memory of such a type with whole rows: no window of it may end behind its columns, where it reads as 0. Rows that it
 * misses are the kernels' to know. */
bool rows_inside(const ir_value *v);
#endif
