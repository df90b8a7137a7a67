/* core/coll/remote.h - one rank's way through a call whose other ranks are elsewhere, over a link: what it asks for is
 * compared with all others before data moves; messages are under way as early as what they hold is known, and received
 * pieces take their place in the order of the schedule, so that results don't depend on the timing. */
#ifndef CORE_COLL_REMOTE_H
#define CORE_COLL_REMOTE_H
#include "core/coll/rounds.h"

typedef struct coll_remote coll_remote;

/* NULL: out of memory. */
coll_remote *coll_remote_create(coll_team *t);
void coll_remote_destroy(coll_remote **x);
/* Moves bytes of what is under way; also notes that another rank has stopped the team. */
bool coll_remote_pump(coll_rank *r);
/* Phase JOIN: until all ranks have said what they call. */
coll_progress coll_remote_join(coll_rank *r);
/* Phases SEND and RECEIVE. */
coll_progress coll_remote_advance(coll_rank *r);
/* Is everything that the rank has sent on its way? */
bool coll_remote_is_flushed(coll_rank *r);
/* Lets go of what is under way. */
void coll_remote_drop(coll_rank *r);
/* A rank whose call hasn't come; -1: all have. */
int32_t coll_remote_missing(const coll_rank *r);
#endif
