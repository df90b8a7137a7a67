/* core/runtime/team.c - see tessera/coll.h: making teams, their calls, and users' algorithms. */
#include "core/runtime/team_base.h"

#include <stdio.h>
#include <string.h>

#include "core/runtime/internal.h"
#include "core/runtime/transports.h"

struct tsr_coll_steps {
  coll_schedule *schedule;
};

/* ---- teams ------------------------------------------------------------------------------------------------------- */

/* What was measured on this machine, by rank 0's word. */
static tsr_status take_table(tsr_team *t) {
  int32_t n = coll_team_size(t->team), me = t->link ? t->link->rank : 0;
  if (!me) team_table_read(t->transport->name, n, tsr_team_path(t, 1), &t->table);
  tsr_status st = t->link ? team_table_agree(t->team, me, t->deadline_ms, &t->table) : NULL;
  coll_team_choose_by(t->team, t->table.rows, (size_t)t->table.n);
  return st;
}

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
  if (!st && coll_team_size(t->team) > 1) st = take_table(t);
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
  if (t->engine) return team_make_engine(d, t, out);
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
  if (t->engine) t->transport->engine->close(&t->engine);
  team_queues_end(t);
  coll_team_destroy(&t->team);
  if (t->queues) al_free(&t->al, t->queues, (size_t)n * sizeof *t->queues, 16);
  pthread_mutex_destroy(&t->lock);
  tsr_allocator al = t->al;
  al_delete(&al, t);
}

tsr_status tsr_team_leave(tsr_team *t, int rank) {
  RT_NEED("team_leave", "team", t);
  if (t->link || t->engine) return team_bad(t, "team_leave", "the team's other ranks are in other processes");
  if (!team_has_rank(t, rank)) return team_bad(t, "team_leave", "no such rank");
  coll_team_leave(t->team, rank);
  return NULL;
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

tsr_status tsr_team_run(tsr_team *t, int rank, const tsr_coll *c) {
  RT_NEED("team_run", "team", t);
  RT_NEED("team_run", "call", c);
  const char *why;
  coll_call call;
  if (!team_has_rank(t, rank)) return team_bad(t, "team_run", "no such rank in this process");
  if (!team_call(t, c, &call, &why)) return team_bad(t, "team_run", why);
  if (t->engine) return team_run_engine(t, &call, c->stream);
  return team_run_call(t, rank, &call);
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
  if (t->engine) return team_bad(t, "team_add_algorithm", "the library chooses its algorithms itself");
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
