/* core/coll/rounds.h - one rank's way through a call whose schedule is there: as far as it comes without waiting. */
#ifndef CORE_COLL_ROUNDS_H
#define CORE_COLL_ROUNDS_H
#include "core/coll/state.h"

typedef enum coll_progress { COLL_WAITS, COLL_MOVED, COLL_NO_MEMORY } coll_progress;

/* The rank's input as values. False: out of memory. */
bool coll_rounds_begin(coll_rank *r);
/* Phases SEND to WRITE; COLL_MOVED: the phase is PHASE_LEAVE then, or there is more to do. */
coll_progress coll_rounds_advance(coll_rank *r);
/* Lets go of all that the rank has. */
void coll_rounds_drop(coll_rank *r);
/* After the call, or when it is given up: what was sent and not received. */
void coll_payloads_free(coll_team *t);

/* For ranks of other processes. Are sums of this call added up in the fixed order? */
bool coll_is_ordered(const coll_team *t);
/* All values of a chunk ready to be seen by others, in order of their nodes. */
bool coll_rounds_work_out(coll_rank *r, int32_t chunk);
/* Takes over a value of a chunk, also on failure: replaces what is there where it is the first of those of a step that
 * doesn't reduce. */
bool coll_rounds_take(coll_rank *r, int32_t chunk, coll_value *v, bool replace);
/* Where the rank's result has the chunk, unless its input lies there; NULL: nowhere. */
void *coll_rounds_place(coll_rank *r, int32_t chunk);
#endif
