/* core/coll/team.c - see team.h: teams, the start and the end of a call, and the loop that drives ranks. */
#include "core/coll/team.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/coll/rounds.h"

enum { DEADLINE_MS = 30000, MAX_THREADS = 256 };

static int64_t now_ms(void) { return clock_ns() / 1000000; }

/* Under the lock. The first one counts. */
static void stop(coll_team *t, tsr_code code, const char *fmt, ...) TSR_PRINTF(3, 4);
static void stop(coll_team *t, tsr_code code, const char *fmt, ...) {
  if (atomic_load(&t->stopped)) return;
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(t->cause, sizeof t->cause, fmt, ap);
  va_end(ap);
  t->why = code;
  atomic_store(&t->stopped, true);
  coll_tell(t);
}

static const char *describe(const coll_call *c, char *text, size_t n) {
  const coll_op_info *op = coll_op_get(c->op);
  snprintf(text, n, "%s%s%s of %lld %s by %s", op->name, op->reduces ? " " : "",
           op->reduces ? coll_redop_name(c->redop) : "", (long long)c->count, tsr_dtype_name(c->dtype),
           c->algorithm ? c->algorithm : "direct");
  return text;
}

/* ---- teams ----------------------------------------------------------------------------------------------------- */

static void on_freed(void *user) {
  coll_team *t = user;
  pthread_mutex_lock(&t->lock);
  coll_tell(t);
  pthread_mutex_unlock(&t->lock);
}

tsr_status coll_team_create(const tsr_allocator *al, int32_t n_ranks, const coll_set *more, coll_team **out) {
  *out = NULL;
  if (n_ranks < 1 || n_ranks > COLL_MAX_RANKS)
    return st_make(al, TSR_INVALID_ARGUMENT, ST_WHERE("collective", "team", NULL), "%d ranks: a team has 1 to %d",
                   n_ranks, COLL_MAX_RANKS);
  coll_team *t = al_new(al, coll_team);
  if (!t) return st_oom();
  size_t n = (size_t)n_ranks;
  t->al = al && al->alloc ? *al : al_default;
  t->more = more, t->n_ranks = n_ranks, t->gone = -1;
  t->ranks = al_zalloc(&t->al, n * sizeof *t->ranks);
  t->sent = al_zalloc(&t->al, n * n * sizeof *t->sent);
  pthread_condattr_t attr;
  pthread_condattr_init(&attr);
  pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
  pthread_cond_init(&t->changed, &attr);
  pthread_condattr_destroy(&attr);
  pthread_mutex_init(&t->lock, NULL);
  for (int32_t r = 0; t->ranks && r < n_ranks; r++)
    t->ranks[r] = (coll_rank){
        .team = t, .rank = r, .in = {.freed = on_freed, .user = t}, .out = {.freed = on_freed, .user = t}};
  if (!t->ranks || !t->sent) {
    coll_team_destroy(&t);
    return st_oom();
  }
  *out = t;
  return NULL;
}

static void made_clear(coll_made *m) {
  coll_schedule_free(&m->schedule);
  coll_programs_clear(&m->programs);
}

void coll_team_destroy(coll_team **pt) {
  coll_team *t = *pt;
  if (!t) return;
  size_t n = (size_t)t->n_ranks;
  if (t->now) coll_payloads_free(t);
  for (int i = 0; i < COLL_KEPT; i++) made_clear(&t->made[i]);
  if (t->ranks) al_free(&t->al, t->ranks, n * sizeof *t->ranks, 16);
  if (t->sent) al_free(&t->al, t->sent, n * n * sizeof *t->sent, 16);
  pthread_mutex_destroy(&t->lock);
  pthread_cond_destroy(&t->changed);
  tsr_allocator al = t->al;
  al_delete(&al, t);
  *pt = NULL;
}

void coll_team_leave(coll_team *t, int32_t rank) {
  pthread_mutex_lock(&t->lock);
  t->gone = rank;
  coll_tell(t);
  pthread_mutex_unlock(&t->lock);
}

uint64_t coll_team_bytes(const coll_team *t, int32_t src, int32_t dst) {
  return t->sent[(size_t)src * (size_t)t->n_ranks + (size_t)dst];
}

/* ---- a call begins and ends (under the lock) -------------------------------------------------------------------- */

static bool same_algorithm(const coll_call *a, const coll_call *b) {
  return !strcmp(a->algorithm ? a->algorithm : "direct", b->algorithm ? b->algorithm : "direct");
}

static bool agree(coll_team *t) {
  const coll_call *a = t->ranks[0].call;
  char one[200], other[200];
  for (int32_t r = 1; r < t->n_ranks; r++) {
    const coll_call *b = t->ranks[r].call;
    bool redop = !coll_op_get(a->op)->reduces || a->redop == b->redop;
    if (a->op == b->op && a->dtype == b->dtype && redop && a->count == b->count && a->root == b->root &&
        a->group == b->group && a->any_order == b->any_order && same_algorithm(a, b))
      continue;
    stop(t, TSR_COLLECTIVE_MISMATCH,
         "rank 0 calls %s (root %d, group %d, order %s), rank %d calls %s (root %d, group %d, order %s)",
         describe(a, one, sizeof one), a->root, a->group, a->any_order ? "any" : "fixed", r,
         describe(b, other, sizeof other), b->root, b->group, b->any_order ? "any" : "fixed");
    return false;
  }
  return true;
}

static coll_made *find_made(coll_team *t, const coll_call *c, const char *name, tsr_status *st) {
  coll_made *oldest = &t->made[0];
  for (int i = 0; i < COLL_KEPT; i++) {
    coll_made *m = &t->made[i];
    const coll_schedule *s = m->schedule;
    if (s && s->op == c->op && s->root == c->root && s->group == c->group && !strcmp(s->algorithm, name)) return m;
    if (m->used < oldest->used) oldest = m;
  }
  const coll_algorithm *a = coll_algorithm_find(t->more, name);
  made_clear(oldest);
  if (!a) *st = st_make(&t->al, TSR_NOT_FOUND, ST_WHERE(NULL, NULL, NULL), "no algorithm \"%s\"", name);
  coll_request q = {c->op, t->n_ranks, c->root, c->group};
  if (!*st) *st = coll_generate(&t->al, a, &q, &oldest->schedule);
  if (!*st) *st = coll_programs_make(oldest->schedule, &oldest->programs);
  if (*st) made_clear(oldest);
  return *st ? NULL : oldest;
}

static void begin_call(coll_team *t) {
  t->n_arrived = t->n_done = 0;
  if (!agree(t)) return;
  tsr_status st = NULL;
  t->call = *t->ranks[0].call;
  const coll_call *c = &t->call;
  coll_made *m = find_made(t, c, c->algorithm ? c->algorithm : "direct", &st);
  if (!st) {
    m->used = t->n_calls + 1;
    t->payloads = al_zalloc(&t->al, (m->schedule->n_steps + 1) * sizeof *t->payloads);
    t->ready = al_zalloc(&t->al, (m->programs.n_messages + 1) * sizeof *t->ready);
    t->now = m;
    if (!t->payloads || !t->ready) coll_payloads_free(t), t->now = NULL, st = st_oom();
  }
  if (st) {
    stop(t, tsr_status_code(st), "%s", tsr_status_cause(st));
    tsr_status_free(st);
    return;
  }
  coll_redop redop = coll_op_get(c->op)->reduces ? c->redop : COLL_MAX;
  t->math = (coll_math){.al = &t->al,
                        .dtype = c->dtype,
                        .partial = coll_partial_type(c->dtype, redop),
                        .redop = redop,
                        .n_ranks = coll_op_get(c->op)->reduces ? t->n_ranks : 1,
                        .stopped = &t->stopped};
  t->n_calls++;
  coll_tell(t);
}

static void end_call(coll_team *t) {
  coll_payloads_free(t);
  t->now = NULL;
}

/* What is wrong with a rank's own arguments; NULL: nothing. */
static const char *bad_call(const coll_team *t, int32_t rank, const coll_call *c) {
  if ((unsigned)c->op >= N_COLL_OPS || (unsigned)c->redop >= N_COLL_REDOPS) return "no such operation";
  if ((unsigned)c->dtype >= TSR_N_DTYPES || !dtype_get(c->dtype)->size) return "no data type";
  if (coll_op_get(c->op)->reduces && !coll_partial_type(c->dtype, c->redop))
    return "the reduction isn't defined for the type";
  if (c->count < 0 || c->count > INT64_MAX / 16 / t->n_ranks) return "an impossible count";
  if (c->root < 0 || c->root >= t->n_ranks) return "no such root";
  if (c->group < 0 || c->deadline_ms < 0) return "a negative group or deadline";
  if (!c->in && coll_in_elements(c->op, c->count, t->n_ranks, rank, c->root)) return "no input";
  if (!c->out && coll_out_elements(c->op, c->count, t->n_ranks, rank, c->root)) return "no place for the result";
  return NULL;
}

/* ---- ranks ----------------------------------------------------------------------------------------------------- */

static void start(coll_team *t, int32_t rank, const coll_call *c) {
  coll_rank *r = &t->ranks[rank];
  const char *bad = bad_call(t, rank, c);
  pthread_mutex_lock(&t->lock);
  r->call = c, r->phase = PHASE_JOIN, r->arrived = false;
  r->deadline = now_ms() + (c->deadline_ms ? c->deadline_ms : DEADLINE_MS);
  r->n_calls++;
  if (bad) stop(t, TSR_INVALID_ARGUMENT, "rank %d: %s", rank, bad);
  pthread_mutex_unlock(&t->lock);
}

static coll_progress join(coll_rank *r) {
  coll_team *t = r->team;
  bool arrives = !r->arrived;
  pthread_mutex_lock(&t->lock);
  if (arrives && !atomic_load(&t->stopped)) {
    r->arrived = true;
    if (++t->n_arrived == t->n_ranks) begin_call(t);
  }
  bool begun = t->n_calls >= r->n_calls;
  if (!begun && t->gone >= 0) stop(t, TSR_CANCELLED, "rank %d makes no more calls", t->gone);
  pthread_mutex_unlock(&t->lock);
  if (!begun) return arrives ? COLL_MOVED : COLL_WAITS;
  r->phase = PHASE_SEND;
  return coll_rounds_begin(r) ? COLL_MOVED : COLL_NO_MEMORY;
}

static coll_progress leave(coll_rank *r) {
  coll_team *t = r->team;
  r->waits_for = -1;
  if (atomic_load(&r->in.refs) || atomic_load(&r->out.refs)) return COLL_WAITS;
  pthread_mutex_lock(&t->lock);
  if (++t->n_done == t->n_ranks) end_call(t);
  pthread_mutex_unlock(&t->lock);
  r->phase = PHASE_DONE;
  return COLL_MOVED;
}

static coll_progress step(coll_rank *r) {
  if (r->call->pause) r->call->pause(r->call->user, r->rank);
  if (atomic_load(&r->team->stopped)) return COLL_WAITS;
  switch (r->phase) {
  case PHASE_JOIN: return join(r);
  case PHASE_LEAVE: return leave(r);
  default: return coll_rounds_advance(r);
  }
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
  coll_rounds_drop(r);
  r->phase = PHASE_DONE;
  return stopped_status(t, r->call);
}

static void expired(coll_rank *r) { /* under the lock */
  coll_team *t = r->team;
  char text[200];
  long long ms = (long long)(r->call->deadline_ms ? r->call->deadline_ms : DEADLINE_MS);
  describe(r->call, text, sizeof text);
  if (r->phase == PHASE_JOIN) {
    int32_t missing = 0;
    while (missing < t->n_ranks - 1 && t->ranks[missing].n_calls >= r->n_calls) missing++;
    stop(t, TSR_TIMEOUT, "rank %d: %s: rank %d hasn't made this call within %lld ms", r->rank, text, missing, ms);
  } else if (r->waits_for >= 0) {
    stop(t, TSR_TIMEOUT, "rank %d: %s: nothing from rank %d within %lld ms, in round %d of %d", r->rank, text,
         r->waits_for, ms, r->round + 1, t->now->schedule->n_rounds);
  } else {
    stop(t, TSR_TIMEOUT, "rank %d: %s: other ranks haven't taken its data within %lld ms", r->rank, text, ms);
  }
}

/* ---- driving --------------------------------------------------------------------------------------------------- */

typedef struct drive {
  coll_team *team;
  int32_t first, stride;
  tsr_status *results; /* of rank `first` */
} drive;

#define EACH_RANK(d, r) \
  for (coll_rank *r = (d)->team->ranks + (d)->first; r < (d)->team->ranks + (d)->team->n_ranks; r += (d)->stride)

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
      stop(t, TSR_OUT_OF_MEMORY, "out of memory");
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
  while (open > 0) {
    uint_fast64_t seen = atomic_load(&d->team->events);
    if (!pass(d, &open) && open > 0) wait_for_change(d, seen);
  }
}

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
  if (rank < 0 || rank >= t->n_ranks)
    return st_make(&t->al, TSR_INVALID_ARGUMENT, ST_WHERE("collective", "call", NULL), "rank %d of %d", rank,
                   t->n_ranks);
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
