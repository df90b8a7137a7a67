/* core/coll/state.h - what the ranks of a team share, how a rank stands in its call, and how calls begin and end.
 * `lock` guards all of it but what is atomic and what only one rank touches; `changed` is told of whatever may let a
 * rank go on, and `events` counts it. */
#ifndef CORE_COLL_STATE_H
#define CORE_COLL_STATE_H
#include <pthread.h>

#include "core/coll/call.h"
#include "core/coll/check.h"
#include "core/coll/choose.h"
#include "core/coll/program.h"
#include "core/coll/transport.h"
#include "core/coll/value.h"

/* What one step hands over. Written by the sender before the message is ready, then the receiver's. */
typedef struct coll_payload {
  coll_value **v;
  int32_t n;
} coll_payload;

typedef struct coll_slots { coll_value **v; size_t n, cap; } coll_slots; /* what a rank has of a chunk */

typedef enum coll_phase {
  PHASE_JOIN,
  PHASE_SEND,
  PHASE_RECEIVE,
  PHASE_COLLECT,
  PHASE_WRITE,
  PHASE_LEAVE,
  PHASE_DONE
} coll_phase;

typedef struct coll_rank {
  coll_team *team;
  int32_t rank;
  const coll_call *call;
  coll_phase phase;
  bool arrived;
  uint64_t n_calls;          /* that it has started */
  size_t at;                 /* entry of the program */
  coll_slots *have;          /* by chunk */
  coll_lender in, out;
  int64_t deadline;          /* monotonic, ms */
  int32_t waits_for, round;  /* a peer, for messages; -1: for the others to be done reading */
} coll_rank;

/* A schedule that was made, kept for later calls. */
typedef struct coll_made {
  coll_schedule *schedule;
  coll_programs programs;
  coll_flow flow; /* of the rank of this process, where the others are elsewhere */
  uint64_t used, hash; /* hash: of the steps, 0: not made */
} coll_made;

enum { COLL_KEPT = 4 };

struct coll_team {
  tsr_allocator al;
  const coll_set *more;
  const coll_choice *choices; /* the caller's, ahead of the library's */
  size_t n_choices;
  int32_t n_ranks, n_arrived, n_done; /* n_done: ranks that are through with the call */
  int32_t gone;                       /* a rank that makes no more calls; -1: none */
  coll_rank *ranks;
  uint64_t *sent, n_calls; /* n_calls: that have begun */
  coll_made made[COLL_KEPT], *now; /* now: of the call that runs; NULL between calls */
  coll_call call;                  /* of rank 0, which all agree with */
  coll_math math;
  coll_payload *payloads;          /* by step */
  atomic_bool *ready;              /* by message */
  atomic_bool stopped;
  tsr_code why;
  char cause[512];
  int32_t readers;                 /* ranks that read or write users' memory */
  coll_link *link; /* to the ranks of other processes; NULL: all are here */
  struct coll_remote *remote;
  atomic_uint_fast64_t events;
  pthread_mutex_t lock;
  pthread_cond_t changed;
};

static inline void coll_tell(coll_team *t) { /* under the lock */
  atomic_fetch_add(&t->events, 1);
  pthread_cond_broadcast(&t->changed);
}

/* The first cause counts. Under the lock. */
void coll_team_stop(coll_team *t, tsr_code code, const char *fmt, ...) TSR_PRINTF(3, 4);
enum { COLL_CALL_TEXT = 320 };
const char *coll_call_describe(const coll_call *c, char *text, size_t n);
/* What is wrong with a rank's own arguments; NULL: nothing. */
const char *coll_call_bad(const coll_team *t, int32_t rank, const coll_call *c);
/* Of rank 0 and of another; false: the team is stopped. Under the lock, as what follows. */
bool coll_calls_agree(coll_team *t, const coll_call *a, int32_t rank, const coll_call *b);
/* The schedule and the types of a call; false: the team is stopped. */
bool coll_call_prepare(coll_team *t, const coll_call *like);
/* All ranks of this process have come. */
void coll_call_begin(coll_team *t);
void coll_call_end(coll_team *t);
#endif
