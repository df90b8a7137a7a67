/* core/passes/cpu/row_kernel.h - which of the CPU's kernels of rows (backends/cpu/rows.c) computes a recipe, read from
 * the recipe's own steps, so that one with other steps is written out and never taken for another. */
#ifndef CORE_PASSES_CPU_ROW_KERNEL_H
#define CORE_PASSES_CPU_ROW_KERNEL_H
#include <stdint.h>

#include "core/ir/recipe.h"

/* In the steps that come before the recipe's (cpu/row_steps.h): a number a row, which the op is given. */
enum { ARG_NUMBER = ARG_STAT + RECIPE_STATS };

/* A softmax or norm has for each row a first number (none, or its maximum, or sum * mean_scale), a second (of f32's
 * sums about the first) and a factor: softmax 1 / second, a norm 1 / sqrt(second * square_scale + eps). */
typedef struct cpu_row_kernel {
  const char *name; /* in a call's `fn`, with "row_" before it */
  bool is_norm;
  double mean_scale, square_scale, eps; /* of a norm; mean_scale 0: about 0 */
  /* Of a sum or maximum, which the kernel leaves; NULL: it is none. What the recipe still makes of that is a product
   * with, or a quotient by, what the row's length gives. */
  const recipe_step *finish;
  bool writes_rows; /* beside the sum what it sums */
} cpu_row_kernel;

/* The kernel of rows of `columns` elements, of which the recipe works on what the steps `before` make; `eps` is the
 * number that the recipe may add. False: none computes it. */
bool cpu_row_kernel_of(const row_recipe *r, const recipe_step *before, int64_t columns, double eps,
                       cpu_row_kernel *out);
/* The next step that is still to be computed of a sum or maximum of floats, from s on; STEP_END: there is none. */
const recipe_step *cpu_row_finish(const recipe_step *s);
#endif
