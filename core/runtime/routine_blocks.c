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
  const block_kernels *kernels;
} blocks_job;

static int64_t count(const routine_call *c, int tensor, int first, int last) {
  int64_t n = 1;
  for (int i = first; i < last; i++) n *= c->tensor[tensor].dims[i];
  return n;
}

static int64_t n_cores(const routine_call *c) { return c->dev && c->dev->caps.n_cores > 0 ? c->dev->caps.n_cores : 1; }

/* So many pieces that cores end at about the same time, none smaller than `least`. */
static int64_t piece_of(const routine_call *c, int64_t n, int64_t least, int64_t unit) {
  const int64_t cores = n_cores(c);
  return round_up(max64(ceil_div(n, cores > 1 ? 8 * cores : 1), least), unit);
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

static void round_rows(void *arg, int64_t item, int worker) {
  const blocks_job *j = arg;
  const int64_t first = item * j->piece;
  (void)worker;
  j->kernels->round(&j->product, first, min64(first + j->piece, j->product.n));
}

static void some_rows(void *arg, int64_t item, int worker) {
  const blocks_job *j = arg;
  const int64_t first = item * j->piece;
  block_product p = j->product;
  (void)worker;
  p.w += (size_t)first * block_row_bytes(&p);
  p.y += first;
  p.rows = min64(j->piece, j->n - first);
  j->kernels->multiply(&p);
}

/* So many rows that a piece is worth the threads' meeting at the counter. */
static int64_t rows_of_work(int64_t work, int64_t work_of_row) { return ceil_div(work, max64(work_of_row, 1)); }

static void round_x(blocks_job *j) {
  enum { ELEMENTS = 8192 };
  const block_product *p = &j->product;
  j->piece = piece_of(j->c, p->n, rows_of_work(ELEMENTS, p->k), j->kernels->x_step);
  routine_spread(j->c, round_rows, j, ceil_div(p->n, j->piece));
}

/* One piece a core where these are short: memory brings a long run of rows faster than many short ones in turns. */
static void multiply(blocks_job *j) {
  enum { PRODUCTS = 1 << 14, SHORT = 1 << 20 };
  const block_product *p = &j->product;
  const int64_t each = p->n * p->k, share = ceil_div(j->n, n_cores(j->c));
  const int64_t least = max64(rows_of_work(PRODUCTS, each), min64(rows_of_work(SHORT, each), share));
  j->piece = piece_of(j->c, j->n, least, j->kernels->w_step);
  routine_spread(j->c, some_rows, j, ceil_div(j->n, j->piece));
}

tsr_status routine_block_matmul(routine_call *c) {
  enum { X, W, Y };
  const int rank = c->tensor[X].rank;
  tsr_device *dev = c->dev;
  blocks_job j = {.c = c, .n = c->tensor[W].dims[0], .kernels = &block_kernels_portable};
  if (dev && dev->vt->block_kernels) j.kernels = dev->vt->block_kernels(dev->be);
  block_product *p = &j.product;
  *p = (block_product){.format = block_format_by_name(c->word[0]),
                       .w = c->tensor[W].data,
                       .k = c->tensor[X].dims[rank - 1],
                       .x = c->tensor[X].data,
                       .q8_1 = !strcmp(c->word[1], "q8_1"),
                       .n = count(c, X, 0, rank - 1),
                       .y = c->tensor[Y].data,
                       .ldy = j.n};
  if (!j.n || !p->n) return NULL;
  const size_t bytes = j.kernels->rounded_bytes(p->n, p->k);
  if (strcmp(c->word[1], "f32")) {
    if (!(p->q = al_alloc(c->al, bytes, 64))) return st_oom();
    round_x(&j);
  }
  multiply(&j);
  al_free(c->al, p->q, bytes, 64);
  return NULL;
}
