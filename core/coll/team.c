/* core/coll/team.c - see team.h: teams, and the start and the end of a call. */
#include "core/coll/team.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/coll/remote.h"
#include "core/coll/rounds.h"

void coll_team_stop(coll_team *t, tsr_code code, const char *fmt, ...) {
  if (atomic_load(&t->stopped)) return;
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(t->cause, sizeof t->cause, fmt, ap);
  va_end(ap);
  t->why = code;
  atomic_store(&t->stopped, true);
  if (t->link) t->link->ops->stop(t->link, code, t->cause);
  coll_tell(t);
}

const char *coll_call_describe(const coll_call *c, char *text, size_t n) {
  const coll_op_info *op = coll_op_get(c->op);
  snprintf(text, n, "%s%s%s of %lld %s%s%s%s%s", op->name, op->reduces ? " " : "",
           op->reduces ? coll_redop_name(c->redop) : "", (long long)c->count, tsr_dtype_name(c->dtype),
           c->algorithm ? " by " : "", c->algorithm ? c->algorithm : "", c->team ? " in the team of " : "",
           c->team ? c->team : "");
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
    t->ranks[r] =
        (coll_rank){.team = t, .rank = r, .in = {.freed = on_freed, .user = t}, .out = {.freed = on_freed, .user = t}};
  if (!t->ranks || !t->sent) {
    coll_team_destroy(&t);
    return st_oom();
  }
  *out = t;
  return NULL;
}

tsr_status coll_team_create_linked(const tsr_allocator *al, coll_link *link, const coll_set *more, coll_team **out) {
  tsr_status st = coll_team_create(al, link->n_ranks, more, out);
  if (st) {
    link->ops->close(&link);
    return st;
  }
  (*out)->link = link;
  if (((*out)->remote = coll_remote_create(*out))) return NULL;
  coll_team_destroy(out);
  return st_oom();
}

static void made_clear(coll_made *m) {
  coll_schedule_free(&m->schedule);
  coll_programs_clear(&m->programs);
  coll_flow_clear(&m->flow);
  m->hash = 0;
}

void coll_team_destroy(coll_team **pt) {
  coll_team *t = *pt;
  if (!t) return;
  size_t n = (size_t)t->n_ranks;
  if (t->now) coll_payloads_free(t);
  coll_remote_destroy(&t->remote);
  if (t->link) t->link->ops->close(&t->link);
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

void coll_team_abort(coll_team *t, tsr_code code, const char *cause) {
  pthread_mutex_lock(&t->lock);
  coll_team_stop(t, code, "%s", cause);
  pthread_mutex_unlock(&t->lock);
}

void coll_team_choose_by(coll_team *t, const coll_choice *rows, size_t n) { t->choices = rows, t->n_choices = n; }

int32_t coll_team_size(const coll_team *t) { return t->n_ranks; }

uint64_t coll_team_bytes(const coll_team *t, int32_t src, int32_t dst) {
  return t->sent[(size_t)src * (size_t)t->n_ranks + (size_t)dst];
}

/* ---- a call begins and ends (under the lock) -------------------------------------------------------------------- */

static bool same_algorithm(const coll_call *a, const coll_call *b) {
  return !strcmp(a->algorithm ? a->algorithm : "", b->algorithm ? b->algorithm : "");
}

bool coll_calls_agree(coll_team *t, const coll_call *a, int32_t rank, const coll_call *b) {
  char one[COLL_CALL_TEXT], other[COLL_CALL_TEXT];
  bool redop = !coll_op_get(a->op)->reduces || a->redop == b->redop;
  if (a->op == b->op && a->dtype == b->dtype && redop && a->count == b->count && a->root == b->root &&
      a->group == b->group && a->any_order == b->any_order && same_algorithm(a, b))
    return true;
  coll_team_stop(t, TSR_COLLECTIVE_MISMATCH,
                 "rank 0 calls %s (root %d, group %d, order %s), rank %d calls %s (root %d, group %d, order %s)",
                 coll_call_describe(a, one, sizeof one), a->root, a->group, a->any_order ? "any" : "fixed", rank,
                 coll_call_describe(b, other, sizeof other), b->root, b->group, b->any_order ? "any" : "fixed");
  return false;
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

/* What the ranks of this process hand to each other. */
static tsr_status make_room(coll_team *t, const coll_made *m) {
  if (t->link) return NULL;
  t->payloads = al_zalloc(&t->al, (m->schedule->n_steps + 1) * sizeof *t->payloads);
  t->ready = al_zalloc(&t->al, (m->programs.n_messages + 1) * sizeof *t->ready);
  if (t->payloads && t->ready) return NULL;
  coll_payloads_free(t);
  t->now = NULL;
  return st_oom();
}

bool coll_call_prepare(coll_team *t, const coll_call *like) {
  tsr_status st = NULL;
  t->call = *like;
  coll_call *c = &t->call;
  if (!c->algorithm) c->algorithm = coll_choose(t->choices, t->n_choices, c, t->n_ranks, t->link != NULL);
  coll_made *m = find_made(t, c, c->algorithm, &st);
  if (!st) {
    m->used = t->n_calls + 1;
    t->now = m;
    st = make_room(t, m);
  }
  if (st) {
    coll_team_stop(t, tsr_status_code(st), "%s", tsr_status_cause(st));
    tsr_status_free(st);
    return false;
  }
  coll_redop redop = coll_op_get(c->op)->reduces ? c->redop : COLL_MAX;
  t->math = (coll_math){.al = &t->al,
                        .dtype = c->dtype,
                        .partial = coll_partial_type(c->dtype, redop),
                        .redop = redop,
                        .n_ranks = coll_op_get(c->op)->reduces ? t->n_ranks : 1,
                        .stopped = &t->stopped};
  return true;
}

void coll_call_begin(coll_team *t) {
  t->n_arrived = t->n_done = 0;
  for (int32_t r = 1; r < t->n_ranks; r++)
    if (!coll_calls_agree(t, t->ranks[0].call, r, t->ranks[r].call)) return;
  if (!coll_call_prepare(t, t->ranks[0].call)) return;
  t->n_calls++;
  coll_tell(t);
}

void coll_call_end(coll_team *t) {
  coll_payloads_free(t);
  t->now = NULL;
}

const char *coll_call_bad(const coll_team *t, int32_t rank, const coll_call *c) {
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
