/* core/passes/graph/fuse_order.h - an order of the nodes of a graph under fusion, in which each stands behind all that
 * it depends on.
 *
 * A node is a fusion group, or an op of none. The order makes the question "may these two become one kernel" cheap:
 * whatever lies between them in the graph also lies between them in the order, so that a search looks at that stretch
 * alone and not at all that the program did before. Invariant: an edge goes from a node to one before it. */
#ifndef CORE_PASSES_GRAPH_FUSE_ORDER_H
#define CORE_PASSES_GRAPH_FUSE_ORDER_H
#include "core/base/alloc.h"

typedef struct fuse_node {
  int64_t label; /* grows along the list */
  int prev, next; /* -1 = none */
  unsigned mark;
} fuse_node;

typedef struct fuse_order {
  const tsr_allocator *al;
  fuse_node *v;
  int n, first, last;
  unsigned epoch;
  int *heap; /* nodes to look at, the latest on top */
  int n_heap;
  int *path; /* nodes looked at, the latest first */
  int n_path;
  int64_t looked_at; /* nodes, by all searches so far */
} fuse_order;

/* What a search may look at: two ops farther apart than this share too little time for a common kernel to be of use. */
enum { FUSE_MOST_PATH = 1024 };

bool fuse_order_init(fuse_order *o, const tsr_allocator *al, int n);
void fuse_order_clear(fuse_order *o);
/* A node that nothing depends on yet. */
void fuse_order_append(fuse_order *o, int node);
/* A search from node `to` down to node `from`: begin, then offer each node that the one at hand depends on; next gives
 * the one to go on with, or -1: at the end (`gave_up` false), or because the path is too long. offer is true where the
 * search has met `from`. */
void fuse_search_begin(fuse_order *o, int to);
bool fuse_search_offer(fuse_order *o, int from, int node);
int fuse_search_next(fuse_order *o, bool *gave_up);
/* After a search that did not meet `from`: `to` takes its place, and what lay between them and `to` needs goes before
 * it. */
void fuse_order_merge(fuse_order *o, int from, int to);
#endif
