/* core/coll/check.h - holds a schedule against what its operation means, without running it: every contribution is in
 * every result exactly once, nobody sends what it hasn't got, blocking ranks don't wait for each other forever, and the
 * chunks on every link are those of the algorithm's closed form. And the bytes that it moves. */
#ifndef CORE_COLL_CHECK_H
#define CORE_COLL_CHECK_H
#include "core/coll/order.h"
#include "core/coll/reduce.h"
#include "core/coll/schedule.h"

/* `a` and `q` may be NULL: no closed form. TSR_COLLECTIVE_MISMATCH with the first thing that is wrong. */
TSR_MUST_USE tsr_status coll_check(const coll_schedule *s, const coll_algorithm *a, const coll_request *q);

/* What a call moves. ordered: floats are added up in the fixed tree's order (order.h), so that a message holds the
 * nodes that its contributions consist of, and may be longer; otherwise each is one partial result. */
typedef struct coll_traffic {
  int64_t count;
  tsr_dtype dtype;
  coll_redop redop;
  bool ordered;
} coll_traffic;

/* Adds to sent[src * n_ranks + dst] the bytes of each link. */
TSR_MUST_USE tsr_status coll_count_bytes(const coll_schedule *s, const coll_traffic *t, uint64_t *sent);

/* What the messages of one rank hold: for each step that it sends or receives, the nodes of the fixed tree (order.h) in
 * order of their first rank; a step that is not ordered has one value, a node {0, contributions}. */
typedef struct coll_flow {
  tsr_allocator al;
  size_t n_steps, n, cap;
  size_t *first; /* n_steps + 1 */
  coll_node *nodes;
  int kind;      /* 0: not made; 1: ordered; 2: in any order */
} coll_flow;

TSR_MUST_USE tsr_status coll_flow_make(const coll_schedule *s, int32_t rank, bool ordered, coll_flow *out);
void coll_flow_clear(coll_flow *f);
#endif
