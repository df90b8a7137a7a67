/* tests/support/coll_ranks.h - a transport of somebody else's library under test: one thread a rank makes its team
 * from a parent of threads and calls; what went wrong on a rank is told by the test's own thread. */
#ifndef TESTS_SUPPORT_COLL_RANKS_H
#define TESTS_SUPPORT_COLL_RANKS_H
#include "tessera/coll.h"
#include "tests/support/coll_case.h"

enum { COLL_RANKS = 4 }; /* at most */

typedef struct coll_rank {
  tsr_team *parent, *team;
  const char *transport;
  int rank, cases, wrong;
  char text[600]; /* the first that went wrong */
  void *stream;   /* of its calls; NULL: they are on host memory */
} coll_rank;

/* Runs fn(coll_rank *) on each of n ranks and fails the test for what went wrong there. Returns all ranks' cases. */
int coll_ranks_run(const char *transport, int n, bool streams, void *(*fn)(void *));
void coll_rank_wrong(coll_rank *m, const char *what, tsr_status st); /* st: may be NULL; it is freed */
void coll_rank_expect(coll_rank *m, tsr_status st, tsr_code code, const char *says);
/* Makes the team; false: it is said why. */
bool coll_rank_begin(coll_rank *m, int64_t deadline_ms);
/* An all_reduce sum of 4 f32 in place, on the rank's stream. */
tsr_coll coll_rank_call(const coll_rank *m, float *x);
/* Calls and waits. */
tsr_status coll_rank_do(coll_rank *m, const tsr_coll *call);
/* One call with exact inputs, and its result to the bit. */
void coll_rank_case(coll_rank *m, coll_call c, bool in_place);
/* Does the team say of itself what is true? */
void coll_rank_identity(coll_rank *m);

/* What each such transport refuses for the library's sake, on every rank at once; behind it the team works. */
typedef struct coll_rank_refusal {
  tsr_coll_op op;
  tsr_dtype dtype;
  tsr_redop redop;
  const char *says;
} coll_rank_refusal;
void coll_rank_refusals(coll_rank *m, const coll_rank_refusal *of_library, int n, const char *start_says);

/* coll_rank functions of threads: rank 1 doesn't call, which the others are told before anything is begun. */
void *coll_rank_one_is_missing(void *rank);
/* The transport without a parent says that it needs one. */
void coll_rank_needs_parent(const char *transport);
#endif
