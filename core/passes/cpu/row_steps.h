/* core/passes/cpu/row_steps.h - the prologue of a tessera.tile.row as steps that stand before its recipe's: a sum of
 * squares, of squared distances to a number a row, of exponentials below one, or of the elements as they are. */
#ifndef CORE_PASSES_CPU_ROW_STEPS_H
#define CORE_PASSES_CPU_ROW_STEPS_H
#include "core/ir/tile/row.h"
#include "core/passes/cpu/row_kernel.h"

typedef struct cpu_row_steps {
  recipe_step step[3];  /* ended by STEP_END */
  ir_value *x, *number; /* whose elements they start with, and what ARG_NUMBER is; NULL: no step has it */
} cpu_row_steps;

/* False: the prologue computes something else, or of operands that aren't whole rows. */
bool cpu_row_steps_of(const tile_row *r, cpu_row_steps *out);
#endif
