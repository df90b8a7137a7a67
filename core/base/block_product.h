/* core/base/block_product.h - products with a matrix in a block format: what the routine of the runtime asks for, the
 * kernels of a backend do, and portable code does where there are none. */
#ifndef CORE_BASE_BLOCK_PRODUCT_H
#define CORE_BASE_BLOCK_PRODUCT_H
#include <stddef.h>

#include "core/base/block_format.h"

/* y[i * ldy + r] = row r of w times row i of x, r < rows, i < n. */
typedef struct block_product {
  const block_format *format;
  const unsigned char *w; /* rows, one behind the other */
  int64_t rows, k;        /* k is a multiple of the format's elements */
  const float *x;         /* [n, k] */
  bool q8_1;              /* x is rounded to that format, not to q8_0 */
  void *q;                /* x rounded, as the kernels have it; NULL: x is taken as it is */
  int64_t n, ldy;
  float *y;
} block_product;

/* First x is rounded, in pieces, then w's rows are multiplied, in pieces: the caller spreads both over its threads. */
typedef struct block_kernels {
  int64_t x_step, w_step; /* pieces begin at multiples of these, in rows of x and of w */
  size_t (*rounded_bytes)(int64_t n, int64_t k); /* of q, aligned to 64 bytes */
  void (*round)(const block_product *p, int64_t from, int64_t to); /* rows of x */
  void (*multiply)(const block_product *p);
} block_kernels;

static inline size_t block_row_bytes(const block_product *p) {
  return (size_t)(p->k / p->format->elements) * p->format->bytes;
}

/* q as rows of block_q8, for kernels that have it so. */
size_t block_q8_bytes(int64_t n, int64_t k);
void block_q8_round(const block_product *p, int64_t from, int64_t to);

extern const block_kernels block_kernels_portable;
#endif
