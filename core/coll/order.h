/* core/coll/order.h - the fixed tree over logical ranks, which says in what order floats are added up whatever the
 * algorithm: the node of ranks first .. first + n - 1 has as its left child the largest power of two of them that is
 * less than n. A set of contributions is held as the largest nodes that it consists of; two children become their
 * parent, nothing else is ever added up. */
#ifndef CORE_COLL_ORDER_H
#define CORE_COLL_ORDER_H
#include <stdbool.h>
#include <stdint.h>

typedef struct coll_node { int32_t first, n; } coll_node;

/* Ranks in the left child of a node of n > 1. */
static inline int32_t coll_order_left(int32_t n) {
  int32_t p = 1;
  while (2 * p < n) p *= 2;
  return p;
}

/* Are a and b the left and the right child of one node of the tree over n_ranks? */
static inline bool coll_order_siblings(int32_t n_ranks, coll_node a, coll_node b) {
  coll_node at = {0, n_ranks};
  while (at.n > 1) {
    int32_t left = coll_order_left(at.n);
    if (at.first == a.first && left == a.n) return b.first == a.first + left && b.n == at.n - left;
    if (a.first < at.first + left) at.n = left;
    else at.first += left, at.n -= left;
  }
  return false;
}
#endif
