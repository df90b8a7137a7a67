/* core/runtime/team_engine.c - see tessera/coll.h: teams of the engines that do whole collectives themselves. Ranks
 * find each other, and compare what they call, through a team of another transport. */
#include <string.h>

#include "core/coll/state.h"
#include "core/runtime/internal.h"
#include "core/runtime/team_base.h"

/* What a rank asks for, as it tells the others. */
typedef struct asked {
  int64_t count;
  int32_t op, dtype, redop, root, any_order, unused;
} asked;

static tsr_coll gathered(const tsr_team *parent, size_t each, const void *mine, void *all, int64_t deadline) {
  return (tsr_coll){.op = TSR_COLL_ALL_GATHER,
                    .dtype = TSR_U8,
                    .count = (int64_t)each * tsr_team_size(parent),
                    .in = mine,
                    .out = all,
                    .deadline_ms = deadline};
}

static tsr_status gather_bytes(tsr_team *parent, int rank, size_t each, const void *mine, void *all, int64_t deadline) {
  const tsr_coll c = gathered(parent, each, mine, all, deadline);
  return tsr_team_run(parent, rank, &c);
}

/* ---- the engine's way to the others ------------------------------------------------------------------------------ */

/* A parent that one thread alone may use is waited for at once. */
static tsr_status oob_start(void *user, const void *mine, size_t each, void *all, void **request) {
  tsr_team *t = user;
  const tsr_coll c = gathered(t->parent, each, mine, all, t->deadline_ms);
  tsr_pending *p = NULL;
  *request = NULL;
  if (t->parent->link && t->parent->link->one_thread) return tsr_team_run(t->parent, t->parent_rank, &c);
  tsr_status st = tsr_team_start(t->parent, t->parent_rank, &c, &p);
  *request = p;
  return st;
}

static bool oob_is_done(void *request) { return tsr_pending_is_done(request); }

static tsr_status oob_end(void **request) {
  tsr_pending *p = *request;
  *request = NULL;
  return p ? tsr_pending_wait(&p) : NULL;
}

/* Each rank has a handle of its own: as many owners as there are calls. */
tsr_status team_make_engine(const tsr_team_desc *d, const coll_transport *transport, tsr_team **out) {
  const tsr_allocator *al = d->allocator;
  const coll_engine_ops *ops = transport->engine;
  coll_id id;
  memset(&id, 0, sizeof id);
  TSR_TRY(ops->load(al)); /* what isn't here says so whatever else is wrong */
  if (!d->parent || d->parent->engine)
    return st_make(al, TSR_INVALID_ARGUMENT, RT_WHERE("team_create", NULL),
                   "%s needs `parent`, a team of another transport through which its ranks find each other",
                   transport->name);
  if (!team_has_rank(d->parent, d->parent_rank))
    return st_make(al, TSR_INVALID_ARGUMENT, RT_WHERE("team_create", NULL), "parent_rank %d isn't in this process",
                   d->parent_rank);
  tsr_status st = d->parent_rank ? NULL : ops->make_id(al, &id);
  const coll_call tell = {.op = COLL_BROADCAST,
                          .dtype = TSR_U8,
                          .count = sizeof id,
                          .in = &id,
                          .out = &id,
                          .deadline_ms = d->deadline_ms ? d->deadline_ms : d->parent->deadline_ms};
  tsr_status told = team_run_call(d->parent, d->parent_rank, &tell);
  if (st) tsr_status_free(told);
  else st = told;
  if (st) return st;
  tsr_team *t = al_new(al, tsr_team);
  if (!t) return st_oom();
  t->al = al && al->alloc ? *al : al_default;
  t->transport = transport, t->deadline_ms = d->deadline_ms, t->owners = 1;
  t->parent = d->parent, t->parent_rank = d->parent_rank;
  pthread_mutex_init(&t->lock, NULL);
  const coll_join join = {.id = id,
                          .rank = d->parent_rank,
                          .n_ranks = tsr_team_size(d->parent),
                          .deadline_ms = d->deadline_ms,
                          .oob = {oob_start, oob_is_done, oob_end, t}};
  st = ops->open(&t->al, &join, &t->engine);
  if (st) {
    pthread_mutex_destroy(&t->lock);
    al_free(al, t, sizeof *t, 16);
    return st;
  }
  *out = t;
  return NULL;
}

/* Before anything is on the stream. */
static tsr_status agree(tsr_team *t, const coll_call *c) {
  asked mine = {c->count, (int32_t)c->op, (int32_t)c->dtype, (int32_t)c->redop, c->root, c->any_order, 0};
  asked all[COLL_MAX_RANKS];
  char one[200], other[200];
  TSR_TRY(gather_bytes(t->parent, t->parent_rank, sizeof mine, &mine, all, c->deadline_ms));
  for (int32_t r = 1; r < tsr_team_size(t); r++) {
    const asked *a = &all[0], *b = &all[r];
    bool redop = !coll_op_get((coll_op)a->op)->reduces || a->redop == b->redop;
    if (a->op == b->op && a->dtype == b->dtype && redop && a->count == b->count && a->root == b->root &&
        a->any_order == b->any_order)
      continue;
    coll_call x = {
        .op = (coll_op)a->op, .dtype = (tsr_dtype)a->dtype, .redop = (coll_redop)a->redop, .count = a->count};
    coll_call y = {
        .op = (coll_op)b->op, .dtype = (tsr_dtype)b->dtype, .redop = (coll_redop)b->redop, .count = b->count};
    return st_make(&t->al, TSR_COLLECTIVE_MISMATCH, RT_WHERE("team_run", NULL),
                   "rank 0 calls %s (root %d, order %s), rank %d calls %s (root %d, order %s)",
                   coll_call_describe(&x, one, sizeof one), a->root, a->any_order ? "any" : "fixed", r,
                   coll_call_describe(&y, other, sizeof other), b->root, b->any_order ? "any" : "fixed");
  }
  return NULL;
}

tsr_status team_run_engine(tsr_team *t, const coll_call *c, void *stream) {
  if (c->wire) return team_bad(t, "team_run", "a wire's type is for transports that run the library's own algorithms");
  if (c->algorithm) return team_bad(t, "team_run", "the library chooses its algorithms itself");
  if ((unsigned)c->dtype >= TSR_N_DTYPES || !dtype_get(c->dtype)->size) return team_bad(t, "team_run", "no data type");
  if (c->root < 0 || c->root >= tsr_team_size(t)) return team_bad(t, "team_run", "no such root");
  const coll_engine_ops *ops = t->transport->engine;
  TSR_TRY(agree(t, c));
  TSR_TRY(ops->post(t->engine, c, stream));
  return t->transport->stream_ordered ? NULL : ops->wait(t->engine, NULL, c->deadline_ms);
}

tsr_status tsr_team_sync(tsr_team *t, void *stream, int64_t deadline_ms) {
  RT_NEED("team_sync", "team", t);
  if (deadline_ms < 0) return team_bad(t, "team_sync", "a negative deadline");
  if (!t->engine || !t->transport->stream_ordered) return NULL;
  return t->transport->engine->wait(t->engine, stream, deadline_ms ? deadline_ms : t->deadline_ms);
}
