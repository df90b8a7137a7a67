/* core/coll/one_shot.c - each rank sends its whole vector to each other in one round, and all add up all: the fewest
 * rounds, for vectors so small that bytes don't count. */
#include "core/coll/rows.h"

static void generate(const coll_request *q, coll_schedule *s) {
  for (int32_t r = 0; r < q->n_ranks; r++)
    for (int32_t k = 1; k < q->n_ranks; k++) coll_step_put(s, 0, r, (r + k) % q->n_ranks, 0, true);
}

static int32_t chunks(const coll_request *q) { return 1; }

static int64_t link(const coll_request *q, int32_t src, int32_t dst) { return src != dst; }

const coll_algorithm coll_one_shot = {
    .name = "one_shot",
    .help = "each rank sends its whole vector to each other at once, and all add up all: for small vectors",
    .ops = COLL_BIT(COLL_ALL_REDUCE),
    .others = "without sums to repeat it would be direct",
    .chunks = chunks,
    .generate = generate,
    .link = link,
};
