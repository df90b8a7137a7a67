/* core/passes/cpu/row_memory.h - what the CPU's reduction kernels read and write where it lies. */
#ifndef CORE_PASSES_CPU_ROW_MEMORY_H
#define CORE_PASSES_CPU_ROW_MEMORY_H
#include "core/ir/ir.h"

/* Element types of their rows: f32, bf16, f16. */
bool rows_dtype(tsr_dtype t);
/* A type whose rows they are: of these elements, neighbours in a row side by side. */
bool rows_type(const ir_type *t);
/* Memory of such a type with whole rows: no window of it may end behind its columns, where it reads as 0. Rows that it
 * misses are the kernels' to know. */
bool rows_inside(const ir_value *v);
#endif
