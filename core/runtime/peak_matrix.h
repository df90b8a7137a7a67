/* core/runtime/peak_matrix.h - a loop of matrix instructions in registers, whose rate is a device's peak for a shape.
 * */
#ifndef CORE_RUNTIME_PEAK_MATRIX_H
#define CORE_RUNTIME_PEAK_MATRIX_H
#include "core/base/str.h"
#include "core/device/caps.h"

typedef struct peak_matrix {
  tsr_matrix_shape shape; /* of a subgroup, a and b of one type */
  int down, across;       /* operands that a subgroup holds; it has a sum for each pair of them */
  long blocks, steps;     /* blocks of one subgroup each */
} peak_matrix;

/* Target IR: a tensor of `a` in, all sums of all blocks out. */
void peak_matrix_text(strb *s, const peak_matrix *p, const tsr_caps *c);
/* Two for each multiply-add. */
double peak_matrix_operations(const peak_matrix *p);
#endif
