/* core/import/onnx/bytes.c - see bytes.h. */
#include "core/import/onnx/bytes.h"

#include <string.h>

#include "core/base/dtype.h"
#include "core/ir/graph/bytes.h"

ir_value *bytes_zero_point(cv *c, ir_value *v) {
  ir_value *known = v ? cv_fold(c, v, false) : NULL;
  bool zero = known != NULL;
  for (int64_t k = 0; zero && k < ir_type_count(known->type); k++) zero = graph_constant_at(known->def, k) == 0;
  return v && !zero ? cv_cast(c, v, TSR_I32) : NULL;
}

ir_value *bytes_signed(cv *c, ir_value *x, ir_value **zero) {
  if (!x || x->type->dtype != TSR_U8) return x;
  ir_value *down = cv_number(c, TSR_I32, -128);
  *zero = *zero ? cv_op2(c, G_ADD, *zero, down) : down;
  return cv_cast(c, cv_op2(c, G_ADD, cv_cast(c, x, TSR_I32), down), TSR_I8);
}

static ir_value *constant_sums(cv *c, const ir_value *x, int from, int to, const int64_t *dims) {
  size_t size = sizeof(uint32_t);
  for (int i = 0; i < x->type->rank; i++) size *= (size_t)dims[i];
  uint32_t *sums = size ? al_alloc(NULL, size, 16) : NULL;
  if (!sums) return NULL;
  graph_byte_sums(x->def, from, to, sums);
  ir_value *y = cv_constant(c, TSR_I32, x->type->rank, dims, sums);
  al_free(NULL, sums, size, 16);
  return y;
}

ir_value *bytes_sums(cv *c, ir_value *x, int from, int to) {
  int64_t axes[TSR_MAX_RANK], dims[TSR_MAX_RANK];
  if (!x) return NULL;
  for (int i = 0; i < x->type->rank; i++) {
    dims[i] = i >= from && i < to ? 1 : x->type->dims[i];
    if (i >= from && i < to) axes[i - from] = i;
  }
  const bool known = graph_is_bytes(x) && graph_is(x->def, G_CONSTANT);
  ir_value *y = known ? constant_sums(c, x, from, to, dims) : NULL;
  return y ? y : cv_reduce(c, G_REDUCE_SUM, cv_cast(c, x, TSR_I32), axes, to - from, true);
}

/* a b where b is i8. Where it is u8, which then may be a constant that lies in the model's file, it goes first: bytes
 * are multiplied unsigned by signed. */
static ir_value *multiply(cv *c, ir_value **a, ir_value **za, ir_value *b) {
  if (b->type->dtype == TSR_I8) return cv_op2(c, G_MATMUL, *a, b);
  *a = bytes_signed(c, *a, za);
  ir_value *y = cv_at2(c, G_MATMUL, b, *a, TSR_BOOLEAN("transpose_a", true), TSR_BOOLEAN("transpose_b", true));
  return cv_swap(c, y, cv_rank(y) - 2, cv_rank(y) - 1);
}

ir_value *bytes_product(cv *c, ir_value *a, ir_value *za, ir_value *b, ir_value *zb) {
  if (!a || !b) return NULL;
  if (!graph_is_bytes(a) || !graph_is_bytes(b)) return cv_refuse(c, "operands of other types than 8 bits");
  const int rows = a->type->rank, columns = b->type->rank;
  za = bytes_zero_point(c, za);
  zb = bytes_zero_point(c, zb);
  ir_value *y = multiply(c, &a, &za, b);
  if (zb) y = cv_op2(c, G_SUB, y, cv_op2(c, G_MUL, zb, bytes_sums(c, a, rows - 1, rows)));
  if (!za) return y;
  ir_value *sums = bytes_sums(c, b, columns - 2, columns - 1);
  if (zb) sums = cv_op2(c, G_SUB, sums, cv_op2(c, G_MUL, zb, cv_like(c, zb, (double)cv_dim(a, rows - 1))));
  return cv_op2(c, G_SUB, y, cv_op2(c, G_MUL, za, sums));
}
