/* core/coll/hierarchical.c - two levels: groups of `group` neighbouring ranks (a node, a domain of fast links), and the
 * ranks of equal place in all groups. Reduce-scatter inside, then across: over the slow links goes 1/group of the
 * vector a rank; all-gather goes the way back. All-to-all hands all blocks for one place of any group to the neighbour
 * who has that place, which sends them on in one message a group. */
#include "core/coll/rows.h"

typedef struct groups { int32_t n, k, g; } groups; /* g groups of k ranks */

static groups groups_of(const coll_request *q) {
  int32_t k = q->group ? q->group : coll_default_group(q->n_ranks);
  return (groups){q->n_ranks, k, q->n_ranks / k};
}

/* Every pair of a group: the chunks of the owners that have the place of dst (to_place) or of src. */
static void inside(const groups *w, coll_schedule *s, bool reduce) {
  int32_t round = coll_round_end(s);
  for (int32_t r = 0; r < w->n; r++)
    for (int32_t j = 1; j < w->k; j++) {
      int32_t d = r / w->k * w->k + (r + j) % w->k, place = (reduce ? d : r) % w->k;
      for (int32_t b = 0; b < w->g; b++) coll_step_put(s, round + j - 1, r, d, b * w->k + place, reduce);
    }
}

static void across(const groups *w, coll_schedule *s, bool reduce) {
  int32_t round = coll_round_end(s);
  for (int32_t r = 0; r < w->n; r++)
    for (int32_t j = 1; j < w->g; j++) {
      int32_t d = (r + j * w->k) % w->n;
      coll_step_put(s, round + j - 1, r, d, reduce ? d : r, reduce);
    }
}

/* Whole vectors between the root's place in each group and that group, and between these places. */
static void rooted(const groups *w, int32_t root, coll_schedule *s, bool reduce) {
  int32_t place = root % w->k;
  for (int32_t half = 0; half < 2; half++) {
    int32_t round = coll_round_end(s);
    if (half != reduce) {
      for (int32_t b = 0; b < w->g; b++)
        for (int32_t j = 1; j < w->k; j++) {
          int32_t lead = b * w->k + place, r = b * w->k + (place + j) % w->k;
          coll_step_put(s, round + j - 1, reduce ? r : lead, reduce ? lead : r, 0, reduce);
        }
    } else {
      for (int32_t j = 1; j < w->g; j++) {
        int32_t r = (root + j * w->k) % w->n;
        coll_step_put(s, round + j - 1, reduce ? r : root, reduce ? root : r, 0, reduce);
      }
    }
  }
}

static void all_to_all(const groups *w, coll_schedule *s) {
  for (int32_t r = 0; r < w->n; r++)
    for (int32_t j = 1; j < w->k; j++) {
      int32_t d = r / w->k * w->k + (r + j) % w->k;
      for (int32_t b = 0; b < w->g; b++) coll_step_put(s, j - 1, r, d, r * w->n + b * w->k + d % w->k, false);
    }
  for (int32_t r = 0; r < w->n; r++)
    for (int32_t j = 1; j < w->g; j++) {
      int32_t d = (r + j * w->k) % w->n;
      for (int32_t i = 0; i < w->k; i++)
        coll_step_put(s, w->k + j - 2, r, d, (r / w->k * w->k + i) * w->n + d, false);
    }
}

static void generate(const coll_request *q, coll_schedule *s) {
  groups w = groups_of(q);
  switch (q->op) {
  case COLL_BROADCAST: rooted(&w, q->root, s, false); return;
  case COLL_REDUCE: rooted(&w, q->root, s, true); return;
  case COLL_ALL_TO_ALL: all_to_all(&w, s); return;
  default: break;
  }
  if (q->op == COLL_ALL_REDUCE || q->op == COLL_REDUCE_SCATTER) inside(&w, s, true), across(&w, s, true);
  if (q->op != COLL_REDUCE_SCATTER) across(&w, s, false), inside(&w, s, false);
}

static int32_t chunks(const coll_request *q) {
  return q->op == COLL_ALL_TO_ALL ? q->n_ranks * q->n_ranks
         : q->op == COLL_BROADCAST || q->op == COLL_REDUCE ? 1
                                                           : q->n_ranks;
}

static int64_t link(const coll_request *q, int32_t src, int32_t dst) {
  groups w = groups_of(q);
  bool same_group = src / w.k == dst / w.k, same_place = src % w.k == dst % w.k;
  if (src == dst || (!same_group && !same_place)) return 0;
  int32_t place = q->root % w.k;
  switch (q->op) {
  case COLL_ALL_REDUCE: return same_group ? 2 * w.g : 2;
  case COLL_ALL_TO_ALL: return same_group ? w.g : w.k;
  case COLL_BROADCAST: return same_group ? src % w.k == place : src == q->root;
  case COLL_REDUCE: return same_group ? dst % w.k == place : dst == q->root;
  default: return same_group ? w.g : 1;
  }
}

static const char *limit(const coll_request *q) {
  if (q->group < 0 || q->group > q->n_ranks) return "a group has at least one rank and at most all of them";
  return q->group && q->n_ranks % q->group ? "the groups must be of one size: the number of ranks is no multiple of it"
                                           : NULL;
}

const coll_algorithm coll_hierarchical = {
    .name = "hierarchical",
    .help = "inside groups of fast links first, then between groups with what is left of the vector",
    .ops = COLL_BIT(COLL_ALL_REDUCE) | COLL_BIT(COLL_REDUCE_SCATTER) | COLL_BIT(COLL_ALL_GATHER) |
           COLL_BIT(COLL_BROADCAST) | COLL_BIT(COLL_REDUCE) | COLL_BIT(COLL_ALL_TO_ALL) | COLL_BIT(COLL_BARRIER),
    .others = "a transfer to the next rank has no levels: direct does it",
    .limit = limit,
    .chunks = chunks,
    .generate = generate,
    .link = link,
};
