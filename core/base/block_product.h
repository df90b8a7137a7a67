/* core/base/block_product.h - products with a matrix in a block format: what the routine of the runtime asks for, the
 * kernels of a backend do, and portable code does where there are none. */
#ifndef CORE_BASE_BLOCK_PRODUCT_H
#define CORE_BASE_BLOCK_PRODUCT_H
#include <stddef.h>

#include "core/base/block_format.h"

/* y[i * ldy + r] = row r of w times row i of x, r < rows, i < n. Either x or q: x as it is, or rounded to q8_0. */
typedef struct block_product {
  const block_format *format;
  const unsigned char *w; /* rows, one behind the other */
  int64_t rows, k;        /* k is a multiple of the format's elements */
  const float *x;         /* [n, k] */
  const block_q8 *q;      /* [n, k / BLOCK_RUN] */
  int64_t n, ldy;
  float *y;
} block_product;

static inline size_t block_row_bytes(const block_product *p) {
  return (size_t)(p->k / p->format->elements) * p->format->bytes;
}
void block_product_portable(const block_product *p);
#endif
