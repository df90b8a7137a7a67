/* core/coll/bruck.c - log2(n) rounds for any n (Bruck et al. 1997). All-gather: in round k rank r gets from r + 2^k
 * what that one has, as far as it is missing. All-to-all: in round k a block goes 2^k ranks further if bit k of its way
 * is set. As a barrier it is the dissemination barrier. */
#include "core/base/int_math.h"
#include "core/coll/rows.h"

static void all_gather(int32_t n, coll_schedule *s) {
  for (int32_t k = 0, far = 1; far < n; k++, far *= 2)
    for (int32_t r = 0; r < n; r++)
      for (int32_t c = 0; c < min64(far, n - far); c++)
        coll_step_put(s, k, r, coll_mod(r - far, n), (r + c) % n, false);
}

static void all_to_all(int32_t n, coll_schedule *s) {
  for (int32_t k = 0, far = 1; far < n; k++, far *= 2)
    for (int32_t from = 0; from < n; from++)
      for (int32_t way = far; way < n; way++) {
        if (!(way & far)) continue;
        int32_t at = (from + (way & (far - 1))) % n;
        coll_step_put(s, k, at, (at + far) % n, from * n + (from + way) % n, false);
      }
}

static void generate(const coll_request *q, coll_schedule *s) {
  if (q->op == COLL_ALL_TO_ALL) all_to_all(q->n_ranks, s);
  else all_gather(q->n_ranks, s);
}

static int32_t chunks(const coll_request *q) {
  return q->op == COLL_ALL_TO_ALL ? q->n_ranks * q->n_ranks : q->n_ranks;
}

/* Numbers below n that have the bit `far`. */
static int64_t with_bit(int64_t n, int64_t far) { return n / (2 * far) * far + max64(0, n % (2 * far) - far); }

static int64_t link(const coll_request *q, int32_t src, int32_t dst) {
  int32_t n = q->n_ranks, far = q->op == COLL_ALL_TO_ALL ? coll_mod(dst - src, n) : coll_mod(src - dst, n);
  if (!far || (far & (far - 1))) return 0;
  return q->op == COLL_ALL_TO_ALL ? with_bit(n, far) : min64(far, n - far);
}

const coll_algorithm coll_bruck = {
    .name = "bruck",
    .help = "log2(n) rounds for any number of ranks; all-to-all moves blocks several times",
    .ops = COLL_BIT(COLL_ALL_GATHER) | COLL_BIT(COLL_ALL_TO_ALL) | COLL_BIT(COLL_BARRIER),
    .others = "it moves blocks and combines nothing; blocks of one root go by tree",
    .chunks = chunks,
    .generate = generate,
    .link = link,
};
