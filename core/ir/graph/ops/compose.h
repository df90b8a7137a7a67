/* core/ir/graph/ops/compose.h - writing composite ops: what their expansions share. Builder calls give NULL once one
 * has failed, and take NULL; an expansion ends with DONE. */
#ifndef CORE_IR_GRAPH_OPS_COMPOSE_H
#define CORE_IR_GRAPH_OPS_COMPOSE_H
#include "core/base/dtype.h"
#include "core/ir/graph/ops/adjoint.h"

#define EXPAND(name) static bool name(ir_builder *b, const ir_op *op, ir_value **out)
#define DONE return !b->failed
#define TYPE(i) (op->operands[i]->type)
#define LIKE(x, v) graph_number(b, (x)->type->dtype, v) /* a number of x's type */
/* A composite row. Its expansion may be differentiable: `adjoint` of the row stays NULL. */
#define COMPOSITE(CODE, s, low, high, results) \
  NAME(CODE, s), .flags = IR_PURE, .min_operands = low, .max_operands = high, .n_results = results
#define BY(fn) .ext = ROW(GRAPH_COMPOSITE, .expand = fn)

/* `axis` of op counted from the front, for a tensor of this rank. */
int compose_axis(const ir_op *op, const char *name, int64_t dflt, int rank);
/* x with dimensions of 1 around it, for broadcasting: its dimensions become axes first..first + rank - 1 of `rank`. */
ir_value *compose_place(ir_builder *b, ir_value *x, int first, int rank);
/* Rule of a key and a counter behind it, from operand `first` on; the counter may be absent. */
tsr_status shape_key(ir_op *op, int first);
/* In which type an op on floats of type t computes what it sums or subtracts. */
static inline tsr_dtype compose_float(tsr_dtype t) { return tsr_dtype_size(t) < 4 ? TSR_F32 : t; }
/* The matrix product of the last two dimensions; that of the rows of both, [.., m, k] by [.., n, k], as a t; rows along
 * the last axis about their mean, of variance 1. */
ir_value *compose_product(ir_builder *b, ir_value *x, ir_value *y);
ir_value *compose_dots(ir_builder *b, ir_value *x, ir_value *y, tsr_dtype t);
/* The product of operands that are stored [.., k, m] where transpose_a, [.., n, k] where transpose_b. */
ir_value *compose_oriented(ir_builder *b, ir_value *x, ir_value *y, bool transpose_a, bool transpose_b);
/* The same as a t. */
ir_value *compose_oriented_as(ir_builder *b, ir_value *x, ir_value *y, bool transpose_a, bool transpose_b,
                              tsr_dtype t);
ir_value *compose_normalize(ir_builder *b, ir_value *x, double eps);
/* Op c of x and y; y where there is no x yet. */
static inline ir_value *compose_join(ir_builder *b, graph_code c, ir_value *x, ir_value *y) {
  return x ? graph_op2(b, c, x, y) : y;
}
/* Op c of x along one axis: of those that keep the type. */
ir_value *compose_along(ir_builder *b, graph_code c, ir_value *x, int axis);
/* Every strides[i]-th element of x from starts on, sizes[i] along axis i. */
ir_value *compose_take(ir_builder *b, ir_value *x, const int64_t *starts, const int64_t *sizes, const int64_t *strides);
/* x with low[i] and high[i] elements of a value before and after axis i. */
ir_value *compose_pad(ir_builder *b, ir_value *x, const int64_t *low, const int64_t *high, double value);
/* x repeated to the dimensions of `like`. */
ir_value *compose_spread(ir_builder *b, ir_value *x, const ir_type *like);

/* ---- along an axis: places, prefixes, order ---------------------------------------------------------------------- */

/* The elements before, along and behind an axis. */
typedef struct rows3 {
  int64_t a, n, c;
} rows3;
rows3 compose_rows3(const ir_type *t, int axis);
/* Rule of the attribute `dtype` of what gives indices. */
tsr_status compose_index_type(ir_op *op, tsr_dtype *out);
/* [a, m, n, c], without the last axis where c is 1, so that what is reduced is the last one. */
const ir_type *compose_square_type(ir_builder *b, tsr_dtype t, int64_t a, int64_t m, int64_t n, int64_t c);
/* x [a, n, c] repeated to the dimensions of such a type: its middle axis the first of the two, or the second. */
ir_value *compose_square(ir_builder *b, ir_value *x, bool second, const ir_type *like);
/* Reduces one axis of at most four, which goes. */
ir_value *compose_fold(ir_builder *b, graph_code c, ir_value *x, int axis);
/* The sums (reduce_sum) or products (reduce_prod) in type t of all elements of x [a, n, c] up to each along the middle
 * axis. */
ir_value *compose_prefix(ir_builder *b, graph_code code, ir_value *x, tsr_dtype t, bool exclusive, bool reverse);
/* Where the first k elements of x [a, n, c] in order along the middle axis are, [a, k, c] of i32; NaN is the greatest,
 * equal ones keep their order. */
ir_value *compose_first(ir_builder *b, ir_value *x, int64_t k, bool descending);
#endif
