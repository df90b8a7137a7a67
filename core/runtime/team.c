/* core/runtime/team.c - see tessera/coll.h: teams, calls and users' algorithms. */
#include "core/runtime/team.h"

#include <stdio.h>
#include <string.h>

#include "core/runtime/internal.h"
#include "core/runtime/transports.h"

/* The public numbers are the executor's. */
_Static_assert((int)TSR_N_COLL_OPS == (int)N_COLL_OPS && (int)TSR_COLL_BARRIER == (int)COLL_BARRIER, "operations");
_Static_assert((int)TSR_COLL_ALL_TO_ALL == (int)COLL_ALL_TO_ALL && (int)TSR_COLL_REDUCE == (int)COLL_REDUCE,
               "operations");
_Static_assert((int)TSR_N_REDOPS == (int)N_COLL_REDOPS && (int)TSR_MEAN == (int)COLL_MEAN, "reductions");

struct tsr_coll_steps {
  coll_schedule *schedule;
};

tsr_status team_bad(const tsr_team *t, const char *function, const char *why) {
  return st_make(t ? &t->al : NULL, TSR_INVALID_ARGUMENT, RT_WHERE(function, NULL), "%s", why);
}

bool team_has_rank(const tsr_team *t, int rank) {
  return t->link ? rank == t->link->rank : rank >= 0 && rank < tsr_team_size(t);
}

/* ---- teams ------------------------------------------------------------------------------------------------------- */

tsr_status team_make(const tsr_allocator *al, const coll_transport *transport, coll_link *link, int32_t n,
                     int64_t deadline_ms, tsr_team **out) {
  tsr_team *t = al_new(al, tsr_team);
  *out = NULL;
  if (!t) {
    if (link) link->ops->close(&link);
    return st_oom();
  }
  t->al = al && al->alloc ? *al : al_default;
  t->transport = transport, t->deadline_ms = deadline_ms, t->owners = 1;
  t->more.rows = t->rows;
  pthread_mutex_init(&t->lock, NULL);
  tsr_status st = link ? coll_team_create_linked(&t->al, link, &t->more, &t->team)
                       : coll_team_create(&t->al, n, &t->more, &t->team);
  if (!st) {
    t->link = link;
    t->queues = al_zalloc(&t->al, (size_t)tsr_team_size(t) * sizeof *t->queues);
    if (!t->queues) st = st_oom();
  }
  *out = t;
  if (st) tsr_team_destroy(out);
  return st;
}

static const coll_transport *find_transport(const char *name) {
  int i = 0;
  while (rt_transports[i] && strcmp(rt_transports[i]->name, name)) i++;
  return rt_transports[i];
}

tsr_status tsr_team_create(const tsr_team_desc *d, tsr_team **out) {
  RT_OUT("team_create", out);
  RT_NEED("team_create", "desc", d);
  const tsr_allocator *al = d->allocator;
  const coll_transport *t = find_transport(d->transport ? d->transport : "local");
  st_where where = RT_WHERE("team_create", NULL);
  if (!t) return st_make(al, TSR_NOT_FOUND, where, "no transport \"%s\"", d->transport);
  if (d->n_ranks < 0 || d->n_ranks > COLL_MAX_RANKS || (!t->open && !d->n_ranks))
    return st_make(al, TSR_INVALID_ARGUMENT, where, "%d ranks: a team has 1 to %d", d->n_ranks, COLL_MAX_RANKS);
  if (d->deadline_ms < 0) return st_make(al, TSR_INVALID_ARGUMENT, where, "a negative deadline");
  if (!t->open) return team_make(al, t, NULL, d->n_ranks, d->deadline_ms, out);
  coll_link *link;
  TSR_TRY(t->open(&(coll_open){al, d->communicator, d->deadline_ms}, &link));
  int32_t n = link->n_ranks;
  if (!d->n_ranks || d->n_ranks == n) return team_make(al, t, link, n, d->deadline_ms, out);
  link->ops->close(&link);
  return st_make(al, TSR_INVALID_ARGUMENT, where, "%d ranks are expected, the communicator has %d", d->n_ranks, n);
}

void tsr_team_destroy(tsr_team **pt) {
  tsr_team *t = pt ? *pt : NULL;
  if (!t) return;
  *pt = NULL;
  pthread_mutex_lock(&t->lock);
  bool last = --t->owners == 0;
  pthread_mutex_unlock(&t->lock);
  if (!last) return;
  int n = t->team ? tsr_team_size(t) : 0;
  team_queues_end(t);
  coll_team_destroy(&t->team);
  if (t->queues) al_free(&t->al, t->queues, (size_t)n * sizeof *t->queues, 16);
  pthread_mutex_destroy(&t->lock);
  tsr_allocator al = t->al;
  al_delete(&al, t);
}

int tsr_team_size(const tsr_team *t) { return t ? coll_team_size(t->team) : 0; }

int tsr_team_rank(const tsr_team *t) { return t && t->link ? t->link->rank : -1; }

const char *tsr_team_path(const tsr_team *t, int peer) {
  if (!t || peer < 0 || peer >= tsr_team_size(t)) return "";
  return t->link && peer != t->link->rank ? t->link->ops->path(t->link, peer) : "memory of one process";
}

tsr_status tsr_team_leave(tsr_team *t, int rank) {
  RT_NEED("team_leave", "team", t);
  if (t->link) return team_bad(t, "team_leave", "the team's other ranks are in other processes");
  if (!team_has_rank(t, rank)) return team_bad(t, "team_leave", "no such rank");
  coll_team_leave(t->team, rank);
  return NULL;
}

uint64_t tsr_team_bytes(const tsr_team *t, int src, int dst) {
  int n = tsr_team_size(t);
  return src < 0 || dst < 0 || src >= n || dst >= n ? 0 : coll_team_bytes(t->team, src, dst);
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

static bool counts(tsr_coll_op op, int64_t count, int n, int rank, int root) {
  return (unsigned)op < TSR_N_COLL_OPS && count >= 0 && n > 0 && n <= COLL_MAX_RANKS && rank >= 0 && rank < n &&
         root >= 0 && root < n && count <= INT64_MAX / n;
}

int64_t tsr_coll_in_count(tsr_coll_op op, int64_t count, int n, int rank, int root) {
  return counts(op, count, n, rank, root) ? coll_in_elements((coll_op)op, count, n, rank, root) : -1;
}

int64_t tsr_coll_out_count(tsr_coll_op op, int64_t count, int n, int rank, int root) {
  return counts(op, count, n, rank, root) ? coll_out_elements((coll_op)op, count, n, rank, root) : -1;
}

bool team_call(const tsr_team *t, const tsr_coll *c, coll_call *out, const char **why) {
  *why = NULL;
  if ((unsigned)c->op >= TSR_N_COLL_OPS) *why = "no such operation";
  else if ((unsigned)c->redop >= TSR_N_REDOPS) *why = "no such reduction";
  else if (c->count < 0) *why = "a negative count";
  if (*why) return false;
  *out = (coll_call){.op = (coll_op)c->op,
                     .dtype = c->op == TSR_COLL_BARRIER ? TSR_U8 : c->dtype,
                     .redop = (coll_redop)c->redop,
                     .count = c->op == TSR_COLL_BARRIER ? 0 : c->count,
                     .root = c->root,
                     .group = c->group,
                     .algorithm = c->algorithm,
                     .any_order = c->any_order,
                     .in = c->in,
                     .out = c->out,
                     .deadline_ms = c->deadline_ms ? c->deadline_ms : t->deadline_ms};
  return true;
}

tsr_status tsr_team_run(tsr_team *t, int rank, const tsr_coll *c) {
  RT_NEED("team_run", "team", t);
  RT_NEED("team_run", "call", c);
  const char *why;
  coll_call call;
  if (!team_has_rank(t, rank)) return team_bad(t, "team_run", "no such rank in this process");
  if (!team_call(t, c, &call, &why)) return team_bad(t, "team_run", why);
  if (!team_queue_of(t, rank)) return coll_run_rank(t->team, rank, &call);
  tsr_pending *p = NULL; /* behind the ones that were started */
  TSR_TRY(tsr_team_start(t, rank, c, &p));
  return tsr_pending_wait(&p);
}

/* ---- algorithms -------------------------------------------------------------------------------------------------- */

void tsr_coll_step(tsr_coll_steps *s, int round, int src, int dst, int chunk, bool reduce) {
  if (s) coll_step_put(s->schedule, round, src, dst, chunk, reduce);
}

static tsr_coll_request public_request(const coll_request *q) {
  return (tsr_coll_request){(tsr_coll_op)q->op, q->n_ranks, q->root, q->group};
}

static int32_t user_chunks(const coll_request *q) {
  const tsr_coll_algorithm *a = q->user;
  tsr_coll_request r = public_request(q);
  return a->chunks(a->user, &r);
}

static void user_generate(const coll_request *q, coll_schedule *s) {
  const tsr_coll_algorithm *a = q->user;
  tsr_coll_request r = public_request(q);
  tsr_coll_steps steps = {s};
  a->generate(a->user, &r, &steps);
}

tsr_status tsr_team_add_algorithm(tsr_team *t, const tsr_coll_algorithm *a) {
  RT_NEED("team_add_algorithm", "team", t);
  RT_NEED("team_add_algorithm", "algorithm", a);
  const char *why = NULL;
  if (!a->name || !*a->name || strlen(a->name) >= TEAM_NAME) why = "a name has 1 to 47 characters";
  else if (!a->chunks || !a->generate) why = "it has no functions";
  else if (!a->ops || a->ops >= 1u << TSR_N_COLL_OPS) why = "it names no operations, or unknown ones";
  else if (coll_algorithm_find(&t->more, a->name)) why = "there is an algorithm of this name";
  else if (t->more.n == TEAM_ALGORITHMS) why = "a team takes 16 algorithms";
  if (why) return team_bad(t, "team_add_algorithm", why);
  int32_t i = t->more.n;
  snprintf(t->names[i], TEAM_NAME, "%s", a->name);
  t->users[i] = *a;
  t->users[i].name = t->names[i];
  t->rows[i] = (coll_algorithm){.name = t->names[i],
                                .help = "the application's",
                                .ops = a->ops,
                                .others = "the application's algorithm does other operations",
                                .chunks = user_chunks,
                                .generate = user_generate,
                                .user = &t->users[i]};
  t->more.n++;
  return NULL;
}
