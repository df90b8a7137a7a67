/* core/runtime/team_async.c - see tessera/coll.h: calls that were started, each rank's in order, by a thread that is
 * there from the first one to the end of the team, or by the one that waits for them. */
#include "core/runtime/internal.h"
#include "core/runtime/team_base.h"

#include <stdio.h>
#include <string.h>

struct tsr_pending {
  team_queue *queue;
  coll_call call;
  char algorithm[TEAM_NAME];
  tsr_status result;
  bool done;
  tsr_pending *next;
};

/* Under the lock, which it lets go of meanwhile: the first call, by the thread that asks. */
static void drive(team_queue *q) {
  tsr_pending *p = q->first;
  q->driven = true;
  pthread_mutex_unlock(&q->lock);
  tsr_status st = team_execute(q->team, q->rank, &p->call);
  pthread_mutex_lock(&q->lock);
  q->driven = false;
  q->first = p->next;
  if (!q->first) q->last = NULL;
  p->result = st, p->done = true;
  pthread_cond_broadcast(&q->changed);
}

static void *work(void *arg) {
  team_queue *q = arg;
  pthread_mutex_lock(&q->lock);
  while (q->first || !q->ends) {
    if (q->first && !q->driven) drive(q);
    else pthread_cond_wait(&q->changed, &q->lock);
  }
  pthread_mutex_unlock(&q->lock);
  return NULL;
}

static team_queue *queue_of(tsr_team *t, int32_t rank) {
  pthread_mutex_lock(&t->lock);
  team_queue *q = t->queues[rank];
  pthread_mutex_unlock(&t->lock);
  return q;
}

static tsr_status make_queue(tsr_team *t, int32_t rank, team_queue **out) {
  team_queue *q = al_new(&t->al, team_queue);
  if (!q) return st_oom();
  q->team = t, q->rank = rank;
  pthread_mutex_init(&q->lock, NULL);
  pthread_cond_init(&q->changed, NULL);
  if (pthread_create(&q->thread, NULL, work, q)) {
    pthread_cond_destroy(&q->changed);
    pthread_mutex_destroy(&q->lock);
    al_delete(&t->al, q);
    return st_make(&t->al, TSR_OUT_OF_MEMORY, RT_WHERE("team_start", NULL), "no thread can be made");
  }
  pthread_mutex_lock(&t->lock);
  t->queues[rank] = q;
  pthread_mutex_unlock(&t->lock);
  *out = q;
  return NULL;
}

void team_queues_end(tsr_team *t) {
  for (int r = 0; t->queues && r < tsr_team_size(t); r++) {
    team_queue *q = t->queues[r];
    if (!q) continue;
    pthread_mutex_lock(&q->lock);
    q->ends = true;
    pthread_cond_broadcast(&q->changed);
    pthread_mutex_unlock(&q->lock);
    pthread_join(q->thread, NULL);
    pthread_cond_destroy(&q->changed);
    pthread_mutex_destroy(&q->lock);
    al_delete(&t->al, q);
    t->queues[r] = NULL;
  }
}

/* The call is copied; its algorithm's name has TEAM_NAME characters at most. */
static tsr_status enqueue(team_queue *q, const coll_call *c, tsr_pending **out) {
  tsr_pending *p = al_new(&q->team->al, tsr_pending);
  if (!p) return st_oom();
  p->queue = q, p->call = *c;
  if (c->algorithm) {
    snprintf(p->algorithm, sizeof p->algorithm, "%s", c->algorithm);
    p->call.algorithm = p->algorithm;
  }
  pthread_mutex_lock(&q->lock);
  if (q->last) q->last->next = p;
  else q->first = p;
  q->last = p;
  pthread_cond_broadcast(&q->changed);
  pthread_mutex_unlock(&q->lock);
  *out = p;
  return NULL;
}

tsr_status tsr_team_start(tsr_team *t, int rank, const tsr_coll *c, tsr_pending **out) {
  RT_OUT("team_start", out);
  RT_NEED("team_start", "team", t);
  RT_NEED("team_start", "call", c);
  const char *why;
  coll_call call;
  if (!team_has_rank(t, rank)) return team_bad(t, "team_start", "no such rank in this process");
  if (!team_call(t, c, &call, &why)) return team_bad(t, "team_start", why);
  if (call.algorithm && strlen(call.algorithm) >= TEAM_NAME) return team_bad(t, "team_start", "no such algorithm");
  if (t->engine && t->transport->stream_ordered)
    return team_bad(t, "team_start", "tsr_team_run puts the call on its stream and returns");
  if (t->engine) return team_bad(t, "team_start", "the library's calls are run, not started; start them on `parent`");
  if (t->link && t->link->one_thread)
    return st_make(&t->al, TSR_UNSUPPORTED, RT_WHERE("team_start", "start MPI with MPI_THREAD_MULTIPLE"),
                   "messages between machines are to be sent by one thread alone");
  team_queue *q = queue_of(t, rank);
  if (!q) TSR_TRY(make_queue(t, rank, &q));
  return enqueue(q, &call, out);
}

bool tsr_pending_is_done(const tsr_pending *p) {
  if (!p) return true;
  pthread_mutex_lock(&p->queue->lock);
  bool done = p->done;
  pthread_mutex_unlock(&p->queue->lock);
  return done;
}

tsr_status tsr_pending_wait(tsr_pending **pp) {
  RT_NEED("pending_wait", "pending", pp && *pp ? *pp : NULL);
  tsr_pending *p = *pp;
  team_queue *q = p->queue;
  *pp = NULL;
  pthread_mutex_lock(&q->lock);
  while (!p->done) {
    if (q->driven) pthread_cond_wait(&q->changed, &q->lock);
    else drive(q);
  }
  pthread_mutex_unlock(&q->lock);
  tsr_status st = p->result;
  al_delete(&q->team->al, p);
  return st;
}

tsr_status team_run_call(tsr_team *t, int rank, const coll_call *c) {
  team_queue *q = queue_of(t, rank);
  tsr_pending *p = NULL;
  if (!q) return team_execute(t, rank, c);
  if (c->algorithm && strlen(c->algorithm) >= TEAM_NAME) return team_bad(t, "team_run", "no such algorithm");
  TSR_TRY(enqueue(q, c, &p));
  return tsr_pending_wait(&p);
}
