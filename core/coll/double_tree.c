/* core/coll/double_tree.c - two binary trees, each for half of the vector, so that a rank that is an inner node of one
 * is a leaf of the other and all links are used (Sanders, Speck, Traff 2009). Positions 1..m of a tree: the height of a
 * position is the number of its trailing zero bits, so odd positions are leaves. All-reduce: both trees span all ranks;
 * broadcast and reduce: all but the root, which talks to the roots of the trees. */
#include "core/coll/rows.h"

/* 0: the root. */
static int32_t parent_of(int32_t p, int32_t m) {
  int32_t low = p & -p, up = (p & ~low) | low << 1;
  return up <= m ? up : p & ~low;
}

/* Rounds below a position: 0 for a leaf. Those that are cut off at m hang one level higher or more. */
static int32_t height_of(int32_t p, int32_t m) {
  int32_t h = 0;
  for (int32_t step = (p & -p) >> 1; step; step >>= 1) {
    int32_t left = p - step, right = p + step;
    if (parent_of(left, m) == p) {
      int32_t below = 1 + height_of(left, m);
      h = below > h ? below : h;
    }
    if (right <= m && parent_of(right, m) == p) {
      int32_t below = 1 + height_of(right, m);
      h = below > h ? below : h;
    }
  }
  return h;
}

static int32_t depth_of(int32_t p, int32_t m) {
  int32_t d = 0;
  for (; (p = parent_of(p, m)); d++) {}
  return d;
}

/* The rank index 0..m-1 at a position of tree 0 or 1: the second is the mirror image of the first where m is even, else
 * it is shifted by one. */
static int32_t at(int32_t tree, int32_t p, int32_t m) {
  if (!tree) return p - 1;
  return m % 2 ? coll_mod(p - 2, m) : m - p;
}

static int32_t position(int32_t tree, int32_t index, int32_t m) {
  if (!tree) return index + 1;
  return m % 2 ? (index + 1) % m + 1 : m - index;
}

typedef struct span { int32_t m, first, n; } span; /* m ranks from `first` on, of n */

static span span_of(const coll_request *q) {
  bool rooted = q->op != COLL_ALL_REDUCE;
  return (span){q->n_ranks - rooted, rooted ? q->root + 1 : 0, q->n_ranks};
}

static int32_t rank_at(const span *w, int32_t tree, int32_t p) { return (w->first + at(tree, p, w->m)) % w->n; }

/* The round in which all of a tree has come up to its root. */
static int32_t up(const span *w, coll_schedule *s, int32_t tree, int32_t root) {
  int32_t end = 0;
  for (int32_t p = 1; p <= w->m; p++) {
    int32_t above = parent_of(p, w->m), h = height_of(p, w->m);
    int32_t to = above ? rank_at(w, tree, above) : root;
    if (to < 0) continue;
    coll_step_put(s, h, rank_at(w, tree, p), to, tree, true);
    end = h + 1 > end ? h + 1 : end;
  }
  return end;
}

static void down(const span *w, coll_schedule *s, int32_t tree, int32_t root, int32_t base) {
  for (int32_t p = 1; p <= w->m; p++) {
    int32_t above = parent_of(p, w->m), from = above ? rank_at(w, tree, above) : root;
    if (from >= 0) coll_step_put(s, base + depth_of(p, w->m) - (root < 0), from, rank_at(w, tree, p), tree, false);
  }
}

static void generate(const coll_request *q, coll_schedule *s) {
  span w = span_of(q);
  int32_t root = q->op == COLL_ALL_REDUCE ? -1 : q->root;
  for (int32_t tree = 0; tree < 2; tree++) {
    int32_t base = q->op == COLL_BROADCAST ? 0 : up(&w, s, tree, root);
    if (q->op != COLL_REDUCE) down(&w, s, tree, root, base);
  }
}

static int32_t children_of(int32_t p, int32_t m) {
  int32_t n = 0;
  for (int32_t step = (p & -p) >> 1; step; step >>= 1)
    n += (parent_of(p - step, m) == p) + (p + step <= m && parent_of(p + step, m) == p);
  return n;
}

int64_t coll_double_tree_load(int32_t m) {
  int64_t most = 0;
  for (int32_t i = 0; i < m; i++) {
    int64_t sends = 0;
    for (int32_t tree = 0; tree < 2; tree++) {
      int32_t p = position(tree, i, m);
      sends += (parent_of(p, m) != 0) + children_of(p, m);
    }
    most = sends > most ? sends : most;
  }
  return most;
}

static int32_t chunks(const coll_request *q) { return 2; }

static int64_t link(const coll_request *q, int32_t src, int32_t dst) {
  span w = span_of(q);
  bool rooted = q->op != COLL_ALL_REDUCE;
  int64_t n = 0;
  if (q->n_ranks == 1) return 0;
  for (int32_t tree = 0; tree < 2; tree++) {
    int32_t p[2], rank[2] = {src, dst};
    for (int i = 0; i < 2; i++)
      p[i] = rooted && rank[i] == q->root ? 0 : position(tree, coll_mod(rank[i] - w.first, w.n), w.m);
    bool is_up = p[0] && parent_of(p[0], w.m) == p[1] && (rooted || p[1]);
    bool is_down = p[1] && parent_of(p[1], w.m) == p[0] && (rooted || p[0]);
    n += (is_up && q->op != COLL_BROADCAST) + (is_down && q->op != COLL_REDUCE);
  }
  return n;
}

const coll_algorithm coll_double_tree = {
    .name = "double_tree",
    .help = "two binary trees, half of the vector each: inner nodes of one are leaves of the other",
    .ops = COLL_BIT(COLL_ALL_REDUCE) | COLL_BIT(COLL_BROADCAST) | COLL_BIT(COLL_REDUCE),
    .others = "half of a vector goes through each tree; blocks of single ranks have no halves, tree moves them",
    .chunks = chunks,
    .generate = generate,
    .link = link,
};
