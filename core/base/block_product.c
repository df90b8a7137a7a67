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

size_t block_q8_bytes(int64_t n, int64_t k) {
  return (size_t)(n * (k / BLOCK_RUN) + 1) * sizeof(block_q8); /* vectors reach over the last one's end */
}

void block_q8_round(const block_product *p, int64_t from, int64_t to) {
  block_quantize(p->x + from * p->k, (to - from) * p->k, p->q8_1, (block_q8 *)p->q + from * (p->k / BLOCK_RUN));
}

static void multiply(const block_product *p) {
  const uint32_t n = p->format->elements;
  const block_q8 *q = p->q;
  float w[BLOCK_MOST_ELEMENTS], x[BLOCK_MOST_ELEMENTS];
  for (int64_t r = 0; r < p->rows; r++) {
    for (int64_t i = 0; i < p->n; i++) p->y[i * p->ldy + r] = 0;
    for (int64_t b = 0; b < p->k / n; b++) {
      p->format->dequantize(p->w + (size_t)r * block_row_bytes(p) + (size_t)b * p->format->bytes, w);
      for (int64_t i = 0; i < p->n; i++) {
        if (q) as_floats(q + (i * p->k + b * n) / BLOCK_RUN, n, x);
        p->y[i * p->ldy + r] += dot(w, q ? x : p->x + i * p->k + b * n, n);
      }
    }
  }
}

const block_kernels block_kernels_portable = {
    .x_step = 1, .w_step = 1, .rounded_bytes = block_q8_bytes, .round = block_q8_round, .multiply = multiply};
