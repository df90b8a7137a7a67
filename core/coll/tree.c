/* core/coll/tree.c - a binomial tree over ranks counted from the root: the parent of v is v without its lowest set bit.
 * The children of v are v + 2^k for each k below that bit, and the subtree of v + 2^k has 2^k ranks at most. Reduce
 * goes up, broadcast down; all-reduce is both; gather and scatter move the blocks of whole subtrees. */
#include "core/base/int_math.h"
#include "core/coll/rows.h"

static int32_t levels(int32_t n) {
  int32_t k = 0;
  while ((int64_t)1 << k < n) k++;
  return k;
}

/* One level: every v with bit k as its lowest set bit, and its parent. */
static int32_t child(int32_t i, int32_t k) { return (2 * i + 1) << k; }

static void up(const coll_request *q, coll_schedule *s, bool gather, bool reduce) {
  int32_t n = q->n_ranks, base = coll_round_end(s);
  for (int32_t k = 0; k < levels(n); k++)
    for (int32_t i = 0; child(i, k) < n; i++) {
      int32_t v = child(i, k), size = gather ? (int32_t)min64((int64_t)1 << k, n - v) : 1;
      int32_t src = (v + q->root) % n, dst = (v - (1 << k) + q->root) % n;
      for (int32_t c = 0; c < size; c++) coll_step_put(s, base + k, src, dst, gather ? (v + c) % n : 0, reduce);
    }
}

static void down(const coll_request *q, coll_schedule *s, bool scatter, int32_t all) {
  int32_t n = q->n_ranks, base = coll_round_end(s), top = levels(n);
  for (int32_t k = top - 1; k >= 0; k--)
    for (int32_t i = 0; child(i, k) < n; i++) {
      int32_t v = child(i, k), size = scatter ? (int32_t)min64((int64_t)1 << k, n - v) : all;
      int32_t src = (v - (1 << k) + q->root) % n, dst = (v + q->root) % n;
      for (int32_t c = 0; c < size; c++) {
        bool has = !scatter && all > 1 && c >= v && c < v + (1 << k); /* what it gathered itself */
        if (!has) coll_step_put(s, base + top - 1 - k, src, dst, scatter ? v + c : c, false);
      }
    }
}

static void up_vector(const coll_request *q, coll_schedule *s) { /* n chunks, all of them */
  int32_t n = q->n_ranks, base = coll_round_end(s);
  for (int32_t k = 0; k < levels(n); k++)
    for (int32_t i = 0; child(i, k) < n; i++)
      for (int32_t c = 0; c < n; c++) coll_step_put(s, base + k, child(i, k), child(i, k) - (1 << k), c, true);
}

static void generate(const coll_request *q, coll_schedule *s) {
  switch (q->op) {
  case COLL_ALL_REDUCE: up(q, s, false, true); down(q, s, false, 1); break;
  case COLL_REDUCE: up(q, s, false, true); break;
  case COLL_BROADCAST: down(q, s, false, 1); break;
  case COLL_REDUCE_SCATTER: up_vector(q, s); down(q, s, true, 0); break;
  default: up(q, s, true, false); down(q, s, false, q->n_ranks); break;
  }
}

static bool by_blocks(coll_op op) { return op == COLL_REDUCE_SCATTER || op == COLL_ALL_GATHER || op == COLL_BARRIER; }
static int32_t chunks(const coll_request *q) { return by_blocks(q->op) ? q->n_ranks : 1; }

static int64_t link(const coll_request *q, int32_t src, int32_t dst) {
  int32_t n = q->n_ranks, a = coll_mod(src - q->root, n), b = coll_mod(dst - q->root, n);
  bool is_up = a && b == (a & (a - 1)), is_down = b && a == (b & (b - 1));
  int64_t v = is_up ? a : b, subtree = min64(v & -v, n - v);
  if (!is_up && !is_down) return 0;
  switch (q->op) {
  case COLL_ALL_REDUCE: return 1;
  case COLL_REDUCE: return is_up;
  case COLL_BROADCAST: return is_down;
  case COLL_REDUCE_SCATTER: return is_up ? n : subtree;
  default: return is_up ? subtree : n - subtree;
  }
}

const coll_algorithm coll_tree = {
    .name = "tree",
    .help = "a binomial tree: log2(n) rounds up or down; the root's link carries most",
    .ops = COLL_BIT(COLL_ALL_REDUCE) | COLL_BIT(COLL_REDUCE_SCATTER) | COLL_BIT(COLL_ALL_GATHER) |
           COLL_BIT(COLL_BROADCAST) | COLL_BIT(COLL_REDUCE) | COLL_BIT(COLL_BARRIER),
    .others = "blocks between pairs of ranks would all go through the root",
    .chunks = chunks,
    .generate = generate,
    .link = link,
};
