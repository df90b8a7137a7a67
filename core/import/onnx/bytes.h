/* core/import/onnx/bytes.h - integers of 8 bits less their zero points, multiplied exactly: a product of bytes, and
 * zero points as what they add to its sums. What depends on constants alone is computed while converting. */
#ifndef CORE_IMPORT_ONNX_BYTES_H
#define CORE_IMPORT_ONNX_BYTES_H
#include "core/import/onnx/cv.h"

/* v as an i32; NULL where it is NULL or known to be 0. */
ir_value *bytes_zero_point(cv *c, ir_value *v);
/* x as i8: u8 128 lower, and so its zero point, an i32 or NULL for 0. */
ir_value *bytes_signed(cv *c, ir_value *x, ir_value **zero);
/* Sums over axes [from, to), which stay as 1, as i32. */
ir_value *bytes_sums(cv *c, ir_value *x, int from, int to);
/* (a - za) (b - zb) as i32, of matrices; za broadcasts to a row's or all sums, zb to a column's; NULL: 0. */
ir_value *bytes_product(cv *c, ir_value *a, ir_value *za, ir_value *b, ir_value *zb);
#endif
