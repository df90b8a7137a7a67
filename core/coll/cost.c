/* core/coll/cost.c - see cost.h. Neighbouring ranks fill the domains; a domain's ports to the other level carry its
 * traffic in equal parts. Trees are pipelined where they are double; rings run as one per port. */
#include "core/coll/cost.h"

#include <string.h>

#include "core/coll/algorithm.h"
#include "core/coll/rows.h"

bool coll_place_of(const coll_topology *t, int64_t ranks, coll_place *out, const char **why) {
  int64_t most = t->levels[t->n_levels - 1].ranks, k = t->levels[0].ranks;
  *why = ranks < 1      ? "there must be a rank"
         : ranks > most ? "the machine has fewer ranks"
         : ranks <= k   ? NULL
         : ranks % k    ? "more ranks than a domain has must fill whole domains"
                        : NULL;
  if (*why) return false;
  *out = (coll_place){ranks, ranks < k ? ranks : k, ranks <= k ? 1 : ranks / k};
  return true;
}

static double log2_ceil(int64_t n) {
  int k = 0;
  while ((int64_t)1 << k < n) k++;
  return k;
}

/* 2 for an all-reduce, which is a reduce-scatter and an all-gather. */
static double halves(coll_op op) { return op == COLL_ALL_REDUCE ? 2 : 1; }
static bool reduces(coll_op op) { return coll_op_get(op)->reduces; }

static void ring(coll_op op, const coll_place *p, coll_terms *x) {
  double n = (double)p->n, k = (double)p->k;
  int slow = p->nodes > 1;
  x->together = true;
  x->rounds[slow] = halves(op) * (n - 1);
  x->bytes[0] = halves(op) * (n - 1) / n;
  if (op == COLL_BROADCAST || op == COLL_REDUCE) x->rounds[slow] = 2 * n - 2, x->bytes[0] = (2 * n - 2) / n;
  if (op == COLL_ALL_TO_ALL) x->bytes[0] = (n - 1) / 2;
  if (slow) x->bytes[1] = x->bytes[0] / (op == COLL_ALL_TO_ALL ? 1 : k);
  x->reduced = reduces(op) ? (n - 1) / n : 0;
}

static void tree(coll_op op, const coll_place *p, coll_terms *x) {
  double k = log2_ceil(p->k), nodes = log2_ceil(p->nodes), n = (double)p->n;
  bool both = op == COLL_ALL_REDUCE || op == COLL_REDUCE_SCATTER || op == COLL_ALL_GATHER || op == COLL_BARRIER;
  x->rounds[0] = (both ? 2 : 1) * k, x->rounds[1] = (both ? 2 : 1) * nodes;
  x->bytes[0] = halves(op) * k, x->bytes[1] = halves(op) * nodes;
  if (op == COLL_REDUCE_SCATTER || op == COLL_ALL_GATHER)
    x->bytes[0] += ((double)p->k - 1) / n, x->bytes[1] += (n - (double)p->k) / n;
  x->reduced = reduces(op) ? k + nodes : 0;
}

static void double_tree(coll_op op, const coll_place *p, coll_terms *x) {
  double k = log2_ceil(p->k), nodes = log2_ceil(p->nodes);
  bool all = op == COLL_ALL_REDUCE;
  x->together = true;
  x->rounds[0] = halves(op) * k, x->rounds[1] = halves(op) * nodes;
  if (p->n > 1) x->bytes[0] = !all ? 1 : p->nodes > 1 ? 2 : (double)coll_double_tree_load((int32_t)p->n) / 2;
  if (p->nodes > 1) x->bytes[1] = (all ? (double)coll_double_tree_load((int32_t)p->nodes) / 2 : 1) / (double)p->k;
  x->reduced = reduces(op) ? 1 : 0;
}

static void halving(coll_op op, const coll_place *p, coll_terms *x) {
  double n = (double)p->n, k = (double)p->k, h = halves(op);
  bool power = !(p->n & (p->n - 1));
  x->rounds[0] = h * log2_ceil(p->k), x->rounds[1] = h * log2_ceil(p->nodes);
  x->bytes[0] = h * (k - 1) / k, x->bytes[1] = h * (double)(p->nodes - 1) / n;
  if (!power) x->rounds[0] += 2 - h * (p->nodes == 1), x->bytes[0] += op == COLL_ALL_REDUCE ? 2 : 1;
  x->reduced = reduces(op) ? (n - 1) / n + !power : 0;
}

static void direct(coll_op op, const coll_place *p, coll_terms *x) {
  double n = (double)p->n, k = (double)p->k, h = halves(op);
  bool rooted = op == COLL_BROADCAST || op == COLL_REDUCE;
  x->together = true;
  x->rounds[p->nodes > 1] = p->n > 1 ? h : 0;
  x->messages[0] = k > 2 ? h * (k - 2) : 0, x->messages[1] = p->nodes > 1 ? h * (n - k - 1) : 0;
  x->bytes[0] = rooted ? k - 1 : h * (k - 1) / n, x->bytes[1] = rooted ? n - k : h * (n - k) / n;
  if (op == COLL_SEND_RECV) {
    x->messages[0] = x->messages[1] = 0;
    x->bytes[0] = p->k > 1, x->bytes[1] = p->nodes > 1;
  }
  x->reduced = !reduces(op) ? 0 : op == COLL_REDUCE ? n - 1 : (n - 1) / n;
}

static void bruck(coll_op op, const coll_place *p, coll_terms *x) {
  double n = (double)p->n, k = log2_ceil(p->k), nodes = log2_ceil(p->nodes);
  x->rounds[0] = k, x->rounds[1] = nodes;
  x->bytes[0] = op == COLL_ALL_TO_ALL ? k / 2 : ((double)p->k - 1) / n;
  x->bytes[1] = op == COLL_ALL_TO_ALL ? nodes / 2 : (n - (double)p->k) / n;
}

static void hierarchical(coll_op op, const coll_place *p, coll_terms *x) {
  double n = (double)p->n, k = (double)p->k, nodes = (double)p->nodes, h = halves(op);
  bool rooted = op == COLL_BROADCAST || op == COLL_REDUCE, all = op == COLL_ALL_TO_ALL;
  x->rounds[0] = x->rounds[1] = h;
  x->messages[0] = h * (k - 2), x->messages[1] = h * (nodes - 2);
  x->bytes[0] = rooted ? k - 1 : h * (k - 1) / k;
  x->bytes[1] = rooted ? nodes - 1 : all ? (n - k) / n : h * (nodes - 1) / n;
  x->reduced = !reduces(op) ? 0 : rooted ? k + nodes - 2 : (k - 1) / k + (nodes - 1) / n;
}

static void one_shot(coll_op op, const coll_place *p, coll_terms *x) {
  double n = (double)p->n, k = (double)p->k;
  x->together = true;
  x->rounds[p->nodes > 1] = p->n > 1;
  x->messages[0] = k > 2 ? k - 2 : 0, x->messages[1] = p->nodes > 1 ? n - k - 1 : 0;
  x->bytes[0] = k - 1, x->bytes[1] = n - k;
  x->reduced = n - 1;
}

static const struct {
  const coll_algorithm *row;
  void (*terms)(coll_op op, const coll_place *p, coll_terms *x);
  bool needs_levels;
} costs[] = {{&coll_ring, ring, false},
             {&coll_tree, tree, false},
             {&coll_double_tree, double_tree, false},
             {&coll_halving, halving, false},
             {&coll_direct, direct, false},
             {&coll_bruck, bruck, false},
             {&coll_hierarchical, hierarchical, true},
             {&coll_one_shot, one_shot, false}};

bool coll_terms_of(const char *algorithm, coll_op op, const coll_place *p, coll_terms *x, const char **why) {
  *x = (coll_terms){.together = false};
  *why = "its cost isn't known in closed form";
  for (size_t i = 0; i < sizeof costs / sizeof *costs; i++) {
    if (strcmp(costs[i].row->name, algorithm)) continue;
    if (!(costs[i].row->ops >> op & 1)) *why = costs[i].row->others;
    else if (costs[i].needs_levels && (p->nodes < 2 || p->k < 2)) *why = "one level of links: there are no groups";
    else *why = NULL;
    if (!*why && p->n > 1) costs[i].terms(op, p, x);
  }
  return !*why;
}

double coll_time_us(const coll_topology *t, const coll_terms *x, double bytes) {
  double us = 0, first = 0, sum = 0, most = 0;
  for (int l = 0; l < t->n_levels; l++) {
    const coll_level *v = &t->levels[l];
    double transfer = x->bytes[l] * bytes / v->gbytes_per_s * 1e-3;
    us += x->rounds[l] * v->latency_us + (x->messages[l] > 0 ? x->messages[l] * v->overhead_us : 0);
    sum += transfer;
    if (transfer > most) most = transfer;
    if (l == t->n_levels - 1) first = x->bytes[l] * bytes;
  }
  double transfer = x->together ? most : sum, reduce = x->reduced * bytes / t->reduce_gbytes_per_s * 1e-3;
  us += transfer > reduce ? transfer : reduce;
  if (t->ramp_bytes > 0) us += t->ramp_us * (first < t->ramp_bytes ? first / t->ramp_bytes : 1);
  return us;
}
