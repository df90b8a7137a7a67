/* core/coll/drive.c - see team.h: the loop that drives ranks through their calls, and what becomes of a call that
 * fails. */
#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/coll/remote.h"
#include "core/coll/team.h"

enum { DEADLINE_MS = 30000, MAX_THREADS = 256, CLOCK_EACH = 64 };

static int64_t now_ms(void) { return clock_ns() / 1000000; }

static void start(coll_team *t, int32_t rank, const coll_call *c) {
  coll_rank *r = &t->ranks[rank];
  const char *bad = coll_call_bad(t, rank, c);
  pthread_mutex_lock(&t->lock);
  r->call = c, r->phase = PHASE_JOIN, r->arrived = false;
  r->deadline = now_ms() + (c->deadline_ms ? c->deadline_ms : DEADLINE_MS);
  r->n_calls++;
  if (bad) coll_team_stop(t, TSR_INVALID_ARGUMENT, "rank %d: %s", rank, bad);
  pthread_mutex_unlock(&t->lock);
}

static coll_progress join(coll_rank *r) {
  coll_team *t = r->team;
  if (t->link) return coll_remote_join(r);
  bool arrives = !r->arrived;
  pthread_mutex_lock(&t->lock);
  if (arrives && !atomic_load(&t->stopped)) {
    r->arrived = true;
    if (++t->n_arrived == t->n_ranks) coll_call_begin(t);
  }
  bool begun = t->n_calls >= r->n_calls;
  if (!begun && t->gone >= 0) coll_team_stop(t, TSR_CANCELLED, "rank %d makes no more calls", t->gone);
  pthread_mutex_unlock(&t->lock);
  if (!begun) return arrives ? COLL_MOVED : COLL_WAITS;
  r->phase = PHASE_SEND;
  return coll_rounds_begin(r) ? COLL_MOVED : COLL_NO_MEMORY;
}

static coll_progress leave(coll_rank *r) {
  coll_team *t = r->team;
  r->waits_for = -1;
  if (t->link && !coll_remote_is_flushed(r)) return COLL_WAITS;
  if (atomic_load(&r->in.refs) || atomic_load(&r->out.refs)) return COLL_WAITS;
  pthread_mutex_lock(&t->lock);
  if (t->link || ++t->n_done == t->n_ranks) coll_call_end(t);
  pthread_mutex_unlock(&t->lock);
  r->phase = PHASE_DONE;
  return COLL_MOVED;
}

static coll_progress step(coll_rank *r) {
  coll_team *t = r->team;
  if (r->call->pause) r->call->pause(r->call->user, r->rank);
  bool pumped = t->link && !atomic_load(&t->stopped) && coll_remote_pump(r);
  if (atomic_load(&t->stopped)) return COLL_WAITS;
  coll_progress p;
  if (r->phase == PHASE_JOIN) p = join(r);
  else if (r->phase == PHASE_LEAVE) p = leave(r);
  else if (t->link && (r->phase == PHASE_SEND || r->phase == PHASE_RECEIVE)) p = coll_remote_advance(r);
  else p = coll_rounds_advance(r);
  return p == COLL_WAITS && pumped ? COLL_MOVED : p;
}

static tsr_status stopped_status(coll_team *t, const coll_call *c) {
  const char *op = (unsigned)c->op < N_COLL_OPS ? coll_op_get(c->op)->name : "call";
  if (t->why == TSR_OUT_OF_MEMORY) return st_oom();
  return st_make(&t->al, t->why, ST_WHERE("collective", op, NULL), "%s", t->cause);
}

/* A rank of a team that is stopped: it returns when nobody reads its memory any more, nor it others'. */
static tsr_status give_up(coll_rank *r) {
  coll_team *t = r->team;
  pthread_mutex_lock(&t->lock);
  while (t->readers) pthread_cond_wait(&t->changed, &t->lock);
  pthread_mutex_unlock(&t->lock);
  if (t->link) coll_remote_drop(r);
  coll_rounds_drop(r);
  r->phase = PHASE_DONE;
  return stopped_status(t, r->call);
}

/* ", while rank 3 has stood still for 290 ms": of ranks elsewhere, the one that has, for most of the deadline. */
static const char *standing(const coll_rank *r, long long ms, char *text, size_t cap) {
  const coll_link *l = r->team->link;
  int64_t most = ms / 2;
  *text = 0;
  for (int32_t p = 0; l && p < l->n_ranks; p++) {
    int64_t silent = p == l->rank ? -1 : l->ops->silent_ms(l, p);
    if (silent <= most) continue;
    most = silent;
    if (silent < 10 * ms) snprintf(text, cap, ", while rank %d has stood still for %lld ms", p, (long long)silent);
    else snprintf(text, cap, ", while rank %d stands still", p);
  }
  return text;
}

static void expired(coll_rank *r) { /* under the lock */
  coll_team *t = r->team;
  char text[COLL_CALL_TEXT], still[80];
  long long ms = (long long)(r->call->deadline_ms ? r->call->deadline_ms : DEADLINE_MS);
  coll_call_describe(t->now ? &t->call : r->call, text, sizeof text);
  if (r->phase == PHASE_JOIN) {
    int32_t missing = t->link ? coll_remote_missing(r) : 0;
    while (!t->link && missing < t->n_ranks - 1 && t->ranks[missing].n_calls >= r->n_calls) missing++;
    coll_team_stop(t, TSR_TIMEOUT, "rank %d: %s: rank %d hasn't made this call within %lld ms", r->rank, text, missing,
                   ms);
  } else if (r->waits_for >= 0) {
    coll_team_stop(t, TSR_TIMEOUT, "rank %d: %s: nothing from rank %d within %lld ms, in round %d of %d%s", r->rank,
                   text, r->waits_for, ms, r->round + 1, t->now->schedule->n_rounds,
                   standing(r, ms, still, sizeof still));
  } else {
    coll_team_stop(t, TSR_TIMEOUT, "rank %d: %s: other ranks haven't taken its data within %lld ms", r->rank, text, ms);
  }
}

/* ---- driving --------------------------------------------------------------------------------------------------- */

typedef struct drive {
  coll_team *team;
  int32_t first, stride;
  tsr_status *results; /* of rank `first` */
} drive;

#define EACH_RANK(d, r)                                                                                                \
  for (coll_rank *r = (d)->team->ranks + (d)->first; r < (d)->team->ranks + (d)->team->n_ranks; r += (d)->stride)

/* A rank whose peers are elsewhere. The clock is read now and then. */
static void wait_for_link(coll_rank *r, uint32_t idle) {
  coll_team *t = r->team;
  t->link->ops->wait(t->link, idle, r->deadline * 1000000);
  if (idle % CLOCK_EACH && idle < CLOCK_EACH * CLOCK_EACH) return;
  if (now_ms() < r->deadline) return;
  pthread_mutex_lock(&t->lock);
  expired(r);
  pthread_mutex_unlock(&t->lock);
}

/* Until something changes after `seen`, or the first deadline; then the team is stopped. */
static void wait_for_change(const drive *d, uint_fast64_t seen) {
  coll_team *t = d->team;
  coll_rank *first = NULL;
  EACH_RANK(d, r)
  if (r->phase != PHASE_DONE && (!first || r->deadline < first->deadline)) first = r;
  struct timespec until = {first->deadline / 1000, first->deadline % 1000 * 1000000};
  pthread_mutex_lock(&t->lock);
  int rc = 0;
  while (!rc && atomic_load(&t->events) == seen && !atomic_load(&t->stopped))
    rc = pthread_cond_timedwait(&t->changed, &t->lock, &until);
  if (now_ms() >= first->deadline) expired(first);
  pthread_mutex_unlock(&t->lock);
}

/* Each of the ranks as far as it comes. */
static bool pass(const drive *d, int32_t *open) {
  coll_team *t = d->team;
  bool moved = false;
  EACH_RANK(d, r) {
    coll_progress p = COLL_MOVED;
    while (r->phase != PHASE_DONE && p == COLL_MOVED && (p = step(r)) == COLL_MOVED) moved = true;
    if (p == COLL_NO_MEMORY) {
      pthread_mutex_lock(&t->lock);
      coll_team_stop(t, TSR_OUT_OF_MEMORY, "out of memory");
      pthread_mutex_unlock(&t->lock);
    }
    if (p == COLL_MOVED && r->arrived) { /* it has come to its end just now */
      r->arrived = false;
      --*open;
    } else if (r->phase != PHASE_DONE && atomic_load(&t->stopped)) {
      d->results[r->rank - d->first] = give_up(r);
      r->arrived = false;
      moved = true;
      --*open;
    }
  }
  return moved;
}

static void run(const drive *d, int32_t open) {
  uint32_t idle = 0;
  while (open > 0) {
    uint_fast64_t seen = atomic_load(&d->team->events);
    bool moved = pass(d, &open);
    idle = moved ? 0 : idle + 1;
    if (moved || !open) continue;
    if (d->team->link) wait_for_link(&d->team->ranks[d->first], idle);
    else wait_for_change(d, seen);
  }
}

static bool is_elsewhere(const coll_team *t, int32_t rank) { return t->link && rank != t->link->rank; }

void coll_run_ranks(coll_team *t, int32_t first, int32_t stride, const coll_call *calls, tsr_status *results) {
  drive d = {t, first, stride, results + first};
  int32_t open = 0;
  EACH_RANK(&d, r) {
    results[r->rank] = NULL;
    start(t, r->rank, &calls[r->rank]);
    open++;
  }
  run(&d, open);
}

tsr_status coll_run_rank(coll_team *t, int32_t rank, const coll_call *c) {
  if (rank < 0 || rank >= t->n_ranks || is_elsewhere(t, rank))
    return st_make(&t->al, TSR_INVALID_ARGUMENT, ST_WHERE("collective", "call", NULL), "rank %d of %d%s", rank,
                   t->n_ranks, rank < 0 || rank >= t->n_ranks ? "" : " is in another process");
  tsr_status result = NULL;
  drive d = {t, rank, t->n_ranks, &result};
  start(t, rank, c);
  run(&d, 1);
  return result;
}

typedef struct worker {
  coll_team *team;
  const coll_call *calls;
  tsr_status *results;
  pthread_mutex_t *gate; /* held until it is known how many there are */
  int32_t index;
  const int32_t *n;
  pthread_t thread;
} worker;

static void *work(void *arg) {
  worker *w = arg;
  pthread_mutex_lock(w->gate);
  pthread_mutex_unlock(w->gate);
  coll_run_ranks(w->team, w->index, *w->n, w->calls, w->results);
  return NULL;
}

tsr_status coll_run_all(coll_team *t, const coll_call *calls, int32_t n_threads) {
  if (t->link)
    return st_make(&t->al, TSR_INVALID_ARGUMENT, ST_WHERE("collective", "call", NULL),
                   "the team's other ranks are in other processes: each makes its own call");
  worker w[MAX_THREADS];
  tsr_status *results = al_zalloc(&t->al, (size_t)t->n_ranks * sizeof *results), first = NULL;
  if (!results) return st_oom();
  pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
  int32_t want = n_threads < t->n_ranks ? n_threads : t->n_ranks, n = 1;
  pthread_mutex_lock(&gate);
  for (; n < want && n < MAX_THREADS; n++) {
    w[n] = (worker){t, calls, results, &gate, n, &n, 0};
    if (pthread_create(&w[n].thread, NULL, work, &w[n])) break;
  }
  pthread_mutex_unlock(&gate);
  coll_run_ranks(t, 0, n, calls, results);
  for (int32_t i = 1; i < n; i++) pthread_join(w[i].thread, NULL);
  pthread_mutex_destroy(&gate);
  for (int32_t r = 0; r < t->n_ranks; r++) {
    if (!first) first = results[r];
    else tsr_status_free(results[r]);
  }
  al_free(&t->al, results, (size_t)t->n_ranks * sizeof *results, 16);
  return first;
}
