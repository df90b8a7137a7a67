/* core/coll/direct.c - each rank talks to each: in round k with the rank k further, so that every rank sends and
 * receives one message a round. The fewest bytes; as many messages as there are pairs. */
#include "core/coll/rows.h"

/* Chunk d of rank r goes to its owner d. */
static void scatter(int32_t n, coll_schedule *s, bool reduce, bool to_all) {
  int32_t base = coll_round_end(s);
  for (int32_t k = 1; k < n; k++)
    for (int32_t r = 0; r < n; r++) {
      int32_t d = (r + k) % n;
      coll_step_put(s, base + k - 1, r, d, to_all ? r * n + d : d, reduce);
    }
}

static void gather(int32_t n, coll_schedule *s) {
  int32_t base = coll_round_end(s);
  for (int32_t k = 1; k < n; k++)
    for (int32_t r = 0; r < n; r++) coll_step_put(s, base + k - 1, r, (r + k) % n, r, false);
}

static void generate(const coll_request *q, coll_schedule *s) {
  int32_t n = q->n_ranks;
  switch (q->op) {
  case COLL_ALL_REDUCE: scatter(n, s, true, false); gather(n, s); break;
  case COLL_REDUCE_SCATTER: scatter(n, s, true, false); break;
  case COLL_ALL_TO_ALL: scatter(n, s, false, true); break;
  case COLL_ALL_GATHER: case COLL_BARRIER: gather(n, s); break;
  case COLL_BROADCAST:
    for (int32_t k = 1; k < n; k++) coll_step_put(s, k - 1, q->root, (q->root + k) % n, 0, false);
    break;
  case COLL_REDUCE:
    for (int32_t k = 1; k < n; k++) coll_step_put(s, k - 1, (q->root + k) % n, q->root, 0, true);
    break;
  default:
    for (int32_t r = 0; r < n; r++) coll_step_put(s, 0, r, (r + 1) % n, r, false);
  }
}

static int32_t chunks(const coll_request *q) {
  return q->op == COLL_ALL_TO_ALL ? q->n_ranks * q->n_ranks
         : q->op == COLL_BROADCAST || q->op == COLL_REDUCE ? 1
                                                           : q->n_ranks;
}

static int64_t link(const coll_request *q, int32_t src, int32_t dst) {
  if (src == dst) return 0;
  switch (q->op) {
  case COLL_ALL_REDUCE: return 2;
  case COLL_BROADCAST: return src == q->root;
  case COLL_REDUCE: return dst == q->root;
  case COLL_SEND_RECV: return dst == (src + 1) % q->n_ranks;
  default: return 1;
  }
}

const coll_algorithm coll_direct = {
    .name = "direct",
    .help = "every pair of ranks exchanges its chunk: the fewest bytes, sums in any order; many messages",
    .ops = COLL_BIT(N_COLL_OPS) - 1,
    .others = "it does all",
    .chunks = chunks,
    .generate = generate,
    .link = link,
};
