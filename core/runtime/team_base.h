/* core/runtime/team_base.h - a team as tessera/coll.h has it. */
#ifndef CORE_RUNTIME_TEAM_BASE_H
#define CORE_RUNTIME_TEAM_BASE_H
#include <pthread.h>

#include "core/coll/team.h"
#include "core/runtime/team_table.h"
#include "tessera/coll.h"

enum { TEAM_ALGORITHMS = 16, TEAM_NAME = 48 };

/* Calls of a rank that were started, worked off in order by a thread of its own. */
typedef struct team_queue {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  pthread_t thread;
  bool driven, ends; /* driven: somebody works on the first one */
  tsr_team *team;
  int32_t rank;
  tsr_pending *first, *last; /* not done */
} team_queue;

struct tsr_team {
  tsr_allocator al;
  coll_team *team;
  const coll_transport *transport;
  coll_link *link; /* the team's; NULL: local */
  coll_engine *engine; /* of a transport that has one; then there is no team */
  tsr_team *parent;
  int32_t parent_rank;
  int64_t deadline_ms;
  coll_set more;
  coll_table table; /* that was measured here; empty: none */
  coll_algorithm rows[TEAM_ALGORITHMS];
  tsr_coll_algorithm users[TEAM_ALGORITHMS];
  char names[TEAM_ALGORITHMS][TEAM_NAME];
  pthread_mutex_t lock; /* of what follows */
  int32_t owners;
  team_queue **queues;  /* by rank; NULL: none was started */
};

/* A team around a link (NULL: n ranks of this process), which is taken over. */
TSR_MUST_USE tsr_status team_make(const tsr_allocator *al, const coll_transport *t, coll_link *link, int32_t n,
                                  int64_t deadline_ms, tsr_team **out);
/* The public call as the executor has it; false with a sentence. */
bool team_call(const tsr_team *t, const tsr_coll *c, coll_call *out, const char **why);
TSR_MUST_USE tsr_status team_bad(const tsr_team *t, const char *function, const char *why);
bool team_has_rank(const tsr_team *t, int rank);
TSR_MUST_USE tsr_status team_make_engine(const tsr_team_desc *d, const coll_transport *t, tsr_team **out);
TSR_MUST_USE tsr_status team_run_engine(tsr_team *t, const coll_call *c, void *stream);
/* team_wire.c: a call by the thread that makes it, narrowed where it asks for that. Why it can't be; NULL: it can. */
TSR_MUST_USE tsr_status team_execute(tsr_team *t, int rank, const coll_call *c);
const char *team_wire_refusal(const coll_call *c);
/* One call of a rank, behind those that were started. */
TSR_MUST_USE tsr_status team_run_call(tsr_team *t, int rank, const coll_call *c);
void team_queues_end(tsr_team *t);
#endif
