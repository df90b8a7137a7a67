/* core/passes/cpu/row_takes.h - which rows a reduction kernel takes, and by which of its steps. */
#ifndef CORE_PASSES_CPU_ROW_TAKES_H
#define CORE_PASSES_CPU_ROW_TAKES_H
#include "core/passes/cpu/row_kernel.h"
#include "core/passes/cpu/row_steps.h"

/* Is the op one call of *k, which does what *s says of its prologue? */
bool cpu_row_takes(const ir_op *op, const tile_row *r, cpu_row_steps *s, cpu_row_kernel *k);
/* The operand whose elements the kernel reads as they are, one by one along a row; NULL: none. */
ir_value *cpu_row_reads(const tile_row *r);
#endif
