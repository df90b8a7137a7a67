/* core/coll/ring.c - every rank sends to the next one alone. Reduce-scatter: the partial sum of chunk c starts at rank
 * c + 1 and arrives complete at rank c; all-gather: chunk c starts at rank c. All-reduce is one after the other.
 * Broadcast and reduce are a pipelined chain of n chunks; all-to-all passes blocks on until they are there. */
#include "core/coll/rows.h"

static void reduce_scatter(int32_t n, coll_schedule *s) {
  int32_t base = coll_round_end(s);
  for (int32_t k = 0; k < n - 1; k++)
    for (int32_t r = 0; r < n; r++) coll_step_put(s, base + k, r, (r + 1) % n, coll_mod(r - 1 - k, n), true);
}

static void all_gather(int32_t n, coll_schedule *s) {
  int32_t base = coll_round_end(s);
  for (int32_t k = 0; k < n - 1; k++)
    for (int32_t r = 0; r < n; r++) coll_step_put(s, base + k, r, (r + 1) % n, coll_mod(r - k, n), false);
}

/* Position p of the chain is rank root + p (broadcast), or the one before root last (reduce). */
static void chain(const coll_request *q, coll_schedule *s, bool reduce) {
  int32_t n = q->n_ranks, first = reduce ? q->root + 1 : q->root;
  for (int32_t t = 0; t < 2 * n - 2; t++)
    for (int32_t p = 0; p < n - 1; p++)
      if (t - p >= 0 && t - p < n) coll_step_put(s, t, (first + p) % n, (first + p + 1) % n, t - p, reduce);
}

/* In round k rank r passes on all that is k hops from home and still under way. */
static void all_to_all(int32_t n, coll_schedule *s) {
  for (int32_t k = 0; k < n - 1; k++)
    for (int32_t r = 0; r < n; r++) {
      int32_t from = coll_mod(r - k, n);
      for (int32_t far = k + 1; far < n; far++) coll_step_put(s, k, r, (r + 1) % n, from * n + (from + far) % n, false);
    }
}

static void generate(const coll_request *q, coll_schedule *s) {
  switch (q->op) {
  case COLL_ALL_REDUCE: reduce_scatter(q->n_ranks, s); all_gather(q->n_ranks, s); break;
  case COLL_REDUCE_SCATTER: reduce_scatter(q->n_ranks, s); break;
  case COLL_ALL_GATHER: case COLL_BARRIER: all_gather(q->n_ranks, s); break;
  case COLL_BROADCAST: chain(q, s, false); break;
  case COLL_REDUCE: chain(q, s, true); break;
  default: all_to_all(q->n_ranks, s); break;
  }
}

static int32_t chunks(const coll_request *q) {
  return q->op == COLL_ALL_TO_ALL ? q->n_ranks * q->n_ranks : q->n_ranks;
}

static int64_t link(const coll_request *q, int32_t src, int32_t dst) {
  int64_t n = q->n_ranks;
  if (dst != (src + 1) % n || n == 1) return 0;
  switch (q->op) {
  case COLL_ALL_REDUCE: return 2 * (n - 1);
  case COLL_ALL_TO_ALL: return n * (n - 1) / 2;
  case COLL_BROADCAST: return dst == q->root ? 0 : n;
  case COLL_REDUCE: return src == q->root ? 0 : n;
  default: return n - 1;
  }
}

const coll_algorithm coll_ring = {
    .name = "ring",
    .help = "each rank sends to the next: the fewest bytes, as many rounds as ranks",
    .ops = COLL_BIT(COLL_ALL_REDUCE) | COLL_BIT(COLL_REDUCE_SCATTER) | COLL_BIT(COLL_ALL_GATHER) |
           COLL_BIT(COLL_BROADCAST) | COLL_BIT(COLL_REDUCE) | COLL_BIT(COLL_ALL_TO_ALL) | COLL_BIT(COLL_BARRIER),
    .others = "a transfer to the next rank is one message: direct does it",
    .chunks = chunks,
    .generate = generate,
    .link = link,
};
