/* core/dist/local.h - one op on what a rank has of its operands. */
#ifndef CORE_DIST_LOCAL_H
#define CORE_DIST_LOCAL_H
#include "core/dist/solve.h"

/* Builds n's op on operands x. *again: its attributes don't follow the shapes; n is whole from now on, nothing is
 * built, and the problem must be solved anew. */
TSR_MUST_USE tsr_status dist_build_local(dist_problem *p, dist_node *n, ir_builder *b, ir_value *const *x, ir_op **made,
                                         bool *again);
/* How n's results lie by its picks. */
void dist_result_spec(const dist_problem *p, const dist_node *n, int rank, dist_spec *out);
/* A mean over parts is a part of the mean: y with its share of the elements as a factor. Else y itself. */
ir_value *dist_unmean(const dist_problem *p, const dist_node *n, ir_builder *b, ir_value *y);
/* x with another extent of a dimension: zeros behind it, or without what is behind. */
ir_value *dist_resize(ir_builder *b, ir_value *x, int dim, int64_t extent);
#endif
