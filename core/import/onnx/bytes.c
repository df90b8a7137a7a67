/* core/import/onnx/bytes.c - see bytes.h. */
#include "core/import/onnx/bytes.h"

#include <string.h>

#include "core/base/dtype.h"

bool bytes_are(const ir_value *x) { return x && (x->type->dtype == TSR_I8 || x->type->dtype == TSR_U8); }

ir_value *bytes_zero_point(cv *c, ir_value *v) {
  ir_value *known = v ? cv_fold(c, v, false) : NULL;
  bool zero = known != NULL;
  for (int64_t k = 0; zero && k < ir_type_count(known->type); k++) zero = graph_constant_at(known->def, k) == 0;
  return v && !zero ? cv_cast(c, v, TSR_I32) : NULL;
}

/* The elements of a constant that has one for each place; NULL: it has none, or is no constant. */
static const unsigned char *elements(const ir_value *x) {
  const ir_attr *a = graph_is(x->def, G_CONSTANT) ? ir_get_attr(x->def, "value") : NULL;
  return a && !a->u.dense.splat ? a->u.dense.data : NULL;
}

ir_value *bytes_signed(cv *c, ir_value *x, ir_value **zero) {
  if (!x || x->type->dtype != TSR_U8) return x;
  ir_value *down = cv_number(c, TSR_I32, -128);
  *zero = *zero ? cv_op2(c, G_ADD, *zero, down) : down;
  return cv_cast(c, cv_op2(c, G_ADD, cv_cast(c, x, TSR_I32), down), TSR_I8);
}

static ir_value *constant_sums(cv *c, const ir_value *x, const unsigned char *from, const int64_t n[3], int rank,
                               const int64_t *dims) {
  const size_t size = (size_t)(n[0] * n[2]) * sizeof(int32_t);
  uint32_t *sums = size ? al_zalloc(NULL, size) : NULL;
  if (!sums) return NULL;
  const unsigned flip = x->type->dtype == TSR_I8 ? 0x80 : 0;
  for (int64_t i = 0; i < n[0]; i++)
    for (int64_t k = 0; k < n[1]; k++)
      for (int64_t j = 0; j < n[2]; j++) sums[i * n[2] + j] += (*from++ ^ flip) - flip;
  ir_value *y = cv_constant(c, TSR_I32, rank, dims, sums);
  al_free(NULL, sums, size, 16);
  return y;
}

ir_value *bytes_sums(cv *c, ir_value *x, int from, int to) {
  int64_t axes[TSR_MAX_RANK], dims[TSR_MAX_RANK], n[3] = {1, 1, 1}; /* before, of and behind the axes */
  if (!x) return NULL;
  for (int i = 0; i < x->type->rank; i++) {
    n[i < from ? 0 : i < to ? 1 : 2] *= x->type->dims[i];
    dims[i] = i >= from && i < to ? 1 : x->type->dims[i];
    if (i >= from && i < to) axes[i - from] = i;
  }
  const unsigned char *known = bytes_are(x) ? elements(x) : NULL;
  ir_value *y = known ? constant_sums(c, x, known, n, x->type->rank, dims) : NULL;
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
  if (!bytes_are(a) || !bytes_are(b)) return cv_refuse(c, "operands of other types than 8 bits");
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
