/* core/base/block_product.c - see block_product.h. */
#include "core/base/block_product.h"

#include <string.h>

/* Sums over a block, of four columns apart, so that compilers may use vectors. */
static float dot(const float *w, const float *x, uint32_t n) {
  float s[4] = {0};
  for (uint32_t i = 0; i < n; i += 4)
    for (int j = 0; j < 4; j++) s[j] += w[i + (uint32_t)j] * x[i + (uint32_t)j];
  return (s[0] + s[1]) + (s[2] + s[3]);
}

static void as_floats(const block_q8 *q, uint32_t n, float *x) {
  for (uint32_t i = 0; i < n; i++) x[i] = q[i / BLOCK_RUN].scale * (float)q[i / BLOCK_RUN].q[i % BLOCK_RUN];
}

void block_product_portable(const block_product *p) {
  const uint32_t n = p->format->elements;
  float w[BLOCK_MOST_ELEMENTS], x[BLOCK_MOST_ELEMENTS];
  for (int64_t r = 0; r < p->rows; r++) {
    for (int64_t i = 0; i < p->n; i++) p->y[i * p->ldy + r] = 0;
    for (int64_t b = 0; b < p->k / n; b++) {
      p->format->dequantize(p->w + (size_t)r * block_row_bytes(p) + (size_t)b * p->format->bytes, w);
      for (int64_t i = 0; i < p->n; i++) {
        if (p->q) as_floats(p->q + (i * p->k + b * n) / BLOCK_RUN, n, x);
        p->y[i * p->ldy + r] += dot(w, p->q ? x : p->x + i * p->k + b * n, n);
      }
    }
  }
}
