/* core/runtime/routine_blocks.c - the routines dequantize and block_matmul: rows of blocks go to cores in pieces, with
 * the kernels of the device's backend where it has some. */
#include <string.h>

#include "core/base/block_product.h"
#include "core/base/int_math.h"
#include "core/runtime/routine_call.h"

typedef struct blocks_job {
  const routine_call *c;
  const block_format *format;
  const unsigned char *from;
  float *to;
  int64_t n, piece; /* blocks or rows; of one item */
  block_product product;
} blocks_job;

static int64_t count(const routine_call *c, int tensor, int first, int last) {
  int64_t n = 1;
  for (int i = first; i < last; i++) n *= c->tensor[tensor].dims[i];
  return n;
}

/* So many pieces that cores end at about the same time, none smaller than `least`. */
static int64_t piece_of(const routine_call *c, int64_t n, int64_t least, int64_t unit) {
  const int64_t cores = c->dev && c->dev->caps.n_cores > 0 ? c->dev->caps.n_cores : 1;
  return round_up(max64(ceil_div(n, cores > 1 ? 4 * cores : 1), least), unit);
}

static void one_piece(void *arg, int64_t item, int worker) {
  const blocks_job *j = arg;
  const int64_t first = item * j->piece, last = min64(first + j->piece, j->n);
  (void)worker;
  for (int64_t i = first; i < last; i++)
    j->format->dequantize(j->from + (size_t)i * j->format->bytes, j->to + i * j->format->elements);
}

tsr_status routine_dequantize(routine_call *c) {
  enum { LEAST = 256 };
  blocks_job j = {.c = c, .format = block_format_by_name(c->word[0]), .from = c->tensor[0].data,
                  .to = c->tensor[1].data};
  j.n = count(c, 0, 0, c->tensor[0].rank) / j.format->bytes;
  j.piece = piece_of(c, j.n, LEAST, 1);
  routine_spread(c, one_piece, &j, ceil_div(j.n, j.piece));
  return NULL;
}

static void some_rows(void *arg, int64_t item, int worker) {
  const blocks_job *j = arg;
  const int64_t first = item * j->piece;
  block_product p = j->product;
  (void)worker;
  p.w += (size_t)first * block_row_bytes(&p);
  p.y += first;
  p.rows = min64(j->piece, j->n - first);
  tsr_device *dev = j->c->dev;
  if (!dev || !dev->vt->block_product || !dev->vt->block_product(dev->be, &p)) block_product_portable(&p);
}

tsr_status routine_block_matmul(routine_call *c) {
  enum { X, W, Y, UNIT = 8, LEAST = 32 };
  const int rank = c->tensor[X].rank;
  blocks_job j = {.c = c, .n = c->tensor[W].dims[0]};
  block_product *p = &j.product;
  *p = (block_product){.format = block_format_by_name(c->word[0]),
                       .w = c->tensor[W].data,
                       .k = c->tensor[X].dims[rank - 1],
                       .x = c->tensor[X].data,
                       .n = count(c, X, 0, rank - 1),
                       .y = c->tensor[Y].data,
                       .ldy = j.n};
  if (!j.n || !p->n) return NULL;
  const size_t bytes = (size_t)(p->n * p->k / BLOCK_RUN + 1) * sizeof(block_q8);
  block_q8 *q = NULL;
  if (strcmp(c->word[1], "f32")) {
    if (!(q = al_alloc(c->al, bytes, 64))) return st_oom();
    block_quantize(p->x, p->n * p->k, !strcmp(c->word[1], "q8_1"), q);
    p->q = q;
  }
  j.piece = piece_of(c, j.n, LEAST, UNIT);
  routine_spread(c, some_rows, &j, ceil_div(j.n, j.piece));
  al_free(c->al, q, bytes, 64);
  return NULL;
}
