/* core/passes/cpu/row_kernel.h - which of the CPU's whole kernels of rows (backends/cpu/rows.c) computes a recipe, read
 * from the recipe's own steps, so that one with other steps is written out and never taken for another. */
#ifndef CORE_PASSES_CPU_ROW_KERNEL_H
#define CORE_PASSES_CPU_ROW_KERNEL_H
#include <stdint.h>

#include "core/ir/recipe.h"

/* A row has a first number (none, or its maximum, or sum * mean_scale), a second (of f32's sums about the first) and a
 * factor: softmax 1 / second, a norm 1 / sqrt(second * square_scale + eps). */
typedef struct cpu_row_kernel {
  const char *name; /* in a call's `fn`, with "row_" before it */
  bool is_norm;
  double mean_scale, square_scale, eps; /* of a norm; mean_scale 0: about 0 */
} cpu_row_kernel;

/* The kernel of rows of `columns` elements; `eps` is the number that the recipe may add. False: none computes it. */
bool cpu_row_kernel_of(const row_recipe *r, int64_t columns, double eps, cpu_row_kernel *out);
#endif
