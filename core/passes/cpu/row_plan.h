/* core/passes/cpu/row_plan.h - what cpu/reduction_kernels.c found in a block. */
#ifndef CORE_PASSES_CPU_ROW_PLAN_H
#define CORE_PASSES_CPU_ROW_PLAN_H
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

#endif
