/* core/coll/team.h - collectives between logical ranks of one process, which read each other's memory, or of many
 * processes (transport.h): the executor of schedules.
 * A rank is whoever makes its calls: a thread of its own (coll_run_rank), or any number of ranks on one thread
 * (coll_run_ranks). Ranks are state machines, so that no thread ever waits for a rank that itself drives.
 *
 * Bits: floats are added up in the fixed tree over ranks (order.h), whatever the algorithm, the timing and the threads;
 * partial results of narrow floats stay f32. any_order gives that up for as few bytes as the algorithm can do with; the
 * result then depends on the algorithm, still not on the timing.
 * Calls: all ranks make the same calls in the same order. What they ask for is compared before any data moves.
 * Waits: each has the deadline of its call. Whoever meets it stops the team: all ranks return the same error, which
 * names rank, operation, type, count, peer and round, and so do later calls; the team is made anew.
 * When a call returns, successfully or not, nobody reads or writes the caller's memory any more. */
#ifndef CORE_COLL_TEAM_H
#define CORE_COLL_TEAM_H
#include "core/coll/choose.h"
#include "core/coll/transport.h"

/* `more` (may be NULL) is read as long as the team lives. */
TSR_MUST_USE tsr_status coll_team_create(const tsr_allocator *al, int32_t n_ranks, const coll_set *more,
                                         coll_team **out);
/* A team whose other ranks are elsewhere: this process makes the calls of link->rank alone (coll_run_rank). Takes the
 * link over, also on failure: it is closed with the team. */
TSR_MUST_USE tsr_status coll_team_create_linked(const tsr_allocator *al, coll_link *link, const coll_set *more,
                                                coll_team **out);
/* After all ranks returned. */
void coll_team_destroy(coll_team **t);

TSR_MUST_USE tsr_status coll_run_rank(coll_team *t, int32_t rank, const coll_call *c);
/* The ranks first, first + stride, ... below n_ranks, driven by the calling thread. calls[rank] and results[rank] are
 * indexed by the rank; the results are given to the caller. */
void coll_run_ranks(coll_team *t, int32_t first, int32_t stride, const coll_call *calls, tsr_status *results);
/* All ranks, over n_threads threads, the calling one among them. The first error, or NULL. */
TSR_MUST_USE tsr_status coll_run_all(coll_team *t, const coll_call *calls, int32_t n_threads);

/* A rank that won't make another call says so: the others don't wait for their deadline. */
void coll_team_leave(coll_team *t, int32_t rank);
/* A rank that can't go on stops the team: all that wait in it return this error. */
void coll_team_abort(coll_team *t, tsr_code code, const char *cause);
/* Rows of choose.h, ahead of the library's, for calls that name no algorithm; the same on all ranks. Not copied. */
void coll_team_choose_by(coll_team *t, const coll_choice *rows, size_t n);
int32_t coll_team_size(const coll_team *t);
/* Bytes sent from one rank to another by all calls so far. */
uint64_t coll_team_bytes(const coll_team *t, int32_t src, int32_t dst);
#endif
