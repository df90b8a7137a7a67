/* core/coll/halving.c - recursive halving and doubling (Rabenseifner 2004). Partners are 1, 2, 4, ... apart, so that
 * what a rank has added up is always of neighbouring ranks; the vector halves each time: rank v and its partner keep
 * the chunks of those owners that agree with them in the lowest bits. All-gather goes the same way back. Not a power of
 * two: p is the largest below n; the first n - p pairs of ranks (2v, 2v + 1) act as one, whose second rank hands in its
 * vector before and gets its part behind. */
#include "core/coll/rows.h"

typedef struct pairs { int32_t n, p, extra; } pairs;

static pairs pairs_of(int32_t n) {
  int32_t p = 1;
  while (2 * p <= n) p *= 2;
  return (pairs){n, p, n - p};
}

static int32_t rank_of(const pairs *w, int32_t v) { return v < w->extra ? 2 * v : v + w->extra; }
static int32_t owner_of(const pairs *w, int32_t chunk) { return chunk < 2 * w->extra ? chunk / 2 : chunk - w->extra; }

/* One exchange of every v with v ^ far: the chunks whose owner has the lowest bits of `keeper`. */
static void exchange(const pairs *w, coll_schedule *s, int32_t round, int32_t far, bool reduce) {
  for (int32_t v = 0; v < w->p; v++) {
    int32_t keeper = reduce ? v ^ far : v, mask = 2 * far - 1;
    for (int32_t c = 0; c < w->n; c++)
      if ((owner_of(w, c) & mask) == (keeper & mask))
        coll_step_put(s, round, rank_of(w, v), rank_of(w, v ^ far), c, reduce);
  }
}

static void halve(const pairs *w, coll_schedule *s) {
  for (int32_t v = 0; v < w->extra; v++)
    for (int32_t c = 0; c < w->n; c++) coll_step_put(s, 0, 2 * v + 1, 2 * v, c, true);
  for (int32_t far = 1; far < w->p; far *= 2) exchange(w, s, coll_round_end(s), far, true);
}

static void redouble(const pairs *w, coll_schedule *s) {
  for (int32_t far = w->p / 2; far; far /= 2) exchange(w, s, coll_round_end(s), far, false);
}

/* To the second rank of each pair: its own chunk, all others, or both. */
static void hand_back(const pairs *w, coll_schedule *s, bool own, bool others) {
  int32_t round = coll_round_end(s);
  for (int32_t v = 0; v < w->extra; v++)
    for (int32_t c = 0; c < w->n; c++)
      if (c == 2 * v + 1 ? own : others) coll_step_put(s, round, 2 * v, 2 * v + 1, c, false);
}

static void generate(const coll_request *q, coll_schedule *s) {
  pairs w = pairs_of(q->n_ranks);
  bool reduces = q->op == COLL_ALL_REDUCE || q->op == COLL_REDUCE_SCATTER, gathers = q->op != COLL_REDUCE_SCATTER;
  if (reduces) halve(&w, s);
  else
    for (int32_t v = 0; v < w.extra; v++) coll_step_put(s, 0, 2 * v + 1, 2 * v, 2 * v + 1, false);
  if (gathers) redouble(&w, s);
  hand_back(&w, s, reduces, gathers);
}

static int32_t chunks(const coll_request *q) { return q->n_ranks; }

/* Chunks whose owner has the lowest bits `low` below the bit `far` and at it. */
static int64_t owned(const pairs *w, int32_t low, int32_t far) {
  int64_t each = w->p / (2 * far), twice = 0;
  low &= 2 * far - 1;
  if (low < w->extra) twice = (w->extra - 1 - low) / (2 * far) + 1;
  return each + twice;
}

static int64_t link(const coll_request *q, int32_t src, int32_t dst) {
  pairs w = pairs_of(q->n_ranks);
  int32_t a = owner_of(&w, src), b = owner_of(&w, dst), far = a ^ b;
  bool reduces = q->op == COLL_ALL_REDUCE || q->op == COLL_REDUCE_SCATTER, gathers = q->op != COLL_REDUCE_SCATTER;
  if (src == dst) return 0;
  if (a == b) return src > dst ? (reduces ? w.n : 1) : (reduces ? 1 : 0) + (gathers ? w.n - 1 : 0);
  if (src != rank_of(&w, a) || dst != rank_of(&w, b) || (far & (far - 1))) return 0;
  return (reduces ? owned(&w, b, far) : 0) + (gathers ? owned(&w, a, far) : 0);
}

const coll_algorithm coll_halving = {
    .name = "halving_doubling",
    .help = "partners 1, 2, 4, ... apart, half of the vector each time: the fewest bytes in 2 log2(n) rounds",
    .ops = COLL_BIT(COLL_ALL_REDUCE) | COLL_BIT(COLL_REDUCE_SCATTER) | COLL_BIT(COLL_ALL_GATHER) |
           COLL_BIT(COLL_BARRIER),
    .others = "it halves what all ranks have; what one root has goes by tree",
    .chunks = chunks,
    .generate = generate,
    .link = link,
};
