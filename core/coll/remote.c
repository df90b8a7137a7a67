/* core/coll/remote.c - see remote.h. Between each two ranks go: what each call asks for (a hello), and, once all are
 * known to ask for the same, messages: a frame and the values of its steps. Both sides know from the schedule what
 * each message holds (coll_flow), so nothing but bytes is sent. */
#include "core/coll/remote.h"

#include <stdio.h>
#include <string.h>

#include "core/coll/lane.h"

/* What a rank asks for, as it goes over the link. */
typedef struct hello {
  uint64_t call, steps; /* number of the call; hash of its schedule */
  int64_t count;
  int32_t op, dtype, redop, root, group, any_order;
  char algorithm[48];
} hello;

typedef struct arrival {
  const coll_entry *entry;
  coll_frame head;
  coll_value **v;
  size_t n, left; /* values; pieces that haven't come */
} arrival;

struct coll_remote {
  coll_team *team;
  hello *hellos; /* by rank */
  int32_t n_missing;
  coll_lane *out, *in; /* by peer */
  uint64_t *early;     /* by peer: bytes of messages that stand in the lanes before all have agreed */
  arrival *arrivals;
  size_t first, n, cap; /* those that stand open are first..n */
  int32_t *open;        /* by chunk: steps that have not been taken */
  size_t n_open;
};

coll_remote *coll_remote_create(coll_team *t) {
  coll_remote *x = al_new(&t->al, coll_remote);
  size_t n = (size_t)t->n_ranks;
  if (!x) return NULL;
  x->team = t;
  x->hellos = al_zalloc(&t->al, n * sizeof *x->hellos);
  x->out = al_zalloc(&t->al, n * sizeof *x->out);
  x->in = al_zalloc(&t->al, n * sizeof *x->in);
  x->early = al_zalloc(&t->al, n * sizeof *x->early);
  if (!x->hellos || !x->out || !x->in || !x->early) coll_remote_destroy(&x);
  return x;
}

static void free_lanes(coll_team *t, coll_lane *l) {
  for (int32_t i = 0; l && i < t->n_ranks; i++) coll_lane_free(&l[i], &t->math, &t->al);
  if (l) al_free(&t->al, l, (size_t)t->n_ranks * sizeof *l, 16);
}

static void drop_arrivals(coll_remote *x) {
  coll_team *t = x->team;
  for (; x->first < x->n; x->first++) {
    arrival *a = &x->arrivals[x->first];
    for (size_t i = 0; i < a->n; i++) coll_value_release(&t->math, a->v[i]);
    if (a->v) al_free(&t->al, a->v, a->n * sizeof *a->v, 16);
  }
  x->first = x->n = 0;
  if (x->open) al_free(&t->al, x->open, x->n_open * sizeof *x->open, 16);
  x->open = NULL;
}

void coll_remote_destroy(coll_remote **px) {
  coll_remote *x = *px;
  if (!x) return;
  coll_team *t = x->team;
  free_lanes(t, x->out), free_lanes(t, x->in);
  drop_arrivals(x);
  if (x->arrivals) al_free_array(&t->al, x->arrivals, x->cap);
  if (x->early) al_free(&t->al, x->early, (size_t)t->n_ranks * sizeof *x->early, 16);
  if (x->hellos) al_free(&t->al, x->hellos, (size_t)t->n_ranks * sizeof *x->hellos, 16);
  al_delete(&t->al, x);
  *px = NULL;
}

void coll_remote_drop(coll_rank *r) {
  coll_remote *x = r->team->remote;
  for (int32_t p = 0; p < r->team->n_ranks; p++)
    coll_lane_clear(&x->out[p], &r->team->math), coll_lane_clear(&x->in[p], &r->team->math);
  drop_arrivals(x);
}

/* ---- bytes ------------------------------------------------------------------------------------------------------- */

static void stray(coll_team *t, int32_t peer, const coll_frame *want, const coll_frame *got) {
  pthread_mutex_lock(&t->lock);
  coll_team_stop(t, TSR_COLLECTIVE_MISMATCH,
                 "rank %d: rank %d sent message %u of its call %u with %llu bytes, message %u of call %u with %llu was "
                 "due: its schedule is another one",
                 t->link->rank, peer, got->message, got->call, (unsigned long long)got->bytes, want->message,
                 want->call, (unsigned long long)want->bytes);
  pthread_mutex_unlock(&t->lock);
}

/* A coll_piece has come: a hello, or one of a message. */
static bool on_read(void *user, int32_t peer, const coll_piece *p) {
  coll_remote *x = user;
  if (!p->arrival) {
    x->n_missing--;
    return true;
  }
  arrival *a = &x->arrivals[p->arrival - 1];
  if (p->framed && memcmp(&p->head, &a->head, sizeof a->head)) {
    stray(x->team, peer, &a->head, &p->head);
    return false;
  }
  a->left--;
  return true;
}

bool coll_remote_pump(coll_rank *r) {
  coll_team *t = r->team;
  coll_remote *x = t->remote;
  char cause[512];
  tsr_code code;
  bool moved = false;
  if (t->link->ops->stopped(t->link, &code, cause)) {
    pthread_mutex_lock(&t->lock);
    coll_team_stop(t, code, "%s", cause);
    pthread_mutex_unlock(&t->lock);
    return true;
  }
  for (int32_t k = 1; k < t->n_ranks; k++) { /* each begins with another peer */
    int32_t to = (r->rank + k) % t->n_ranks, from = (r->rank - k + t->n_ranks) % t->n_ranks;
    if (!coll_lane_is_empty(&x->out[to])) moved |= coll_lane_write(&x->out[to], &t->math, t->link, to);
    if (!coll_lane_is_empty(&x->in[from])) moved |= coll_lane_read(&x->in[from], t->link, from, on_read, x);
  }
  return moved;
}

bool coll_remote_is_flushed(coll_rank *r) {
  const coll_remote *x = r->team->remote;
  for (int32_t p = 0; p < r->team->n_ranks; p++) {
    if (coll_lane_is_empty(&x->out[p])) continue;
    r->waits_for = p;
    return false;
  }
  return true;
}

/* ---- a call begins ----------------------------------------------------------------------------------------------- */

static hello hello_of(coll_rank *r) {
  coll_team *t = r->team;
  const coll_call *c = r->call;
  hello h;
  memset(&h, 0, sizeof h);
  if (!t->now->hash) t->now->hash = coll_schedule_hash(t->now->schedule);
  h.call = r->n_calls, h.steps = t->now->hash, h.count = c->count;
  h.op = (int32_t)c->op, h.dtype = (int32_t)c->dtype, h.redop = (int32_t)c->redop;
  h.root = c->root, h.group = c->group, h.any_order = c->any_order;
  snprintf(h.algorithm, sizeof h.algorithm, "%s", c->algorithm ? c->algorithm : "");
  return h;
}

static coll_call call_of(const hello *h) {
  return (coll_call){.op = (coll_op)h->op,
                     .dtype = (tsr_dtype)h->dtype,
                     .redop = (coll_redop)h->redop,
                     .count = h->count,
                     .root = h->root,
                     .group = h->group,
                     .algorithm = *h->algorithm ? h->algorithm : NULL,
                     .any_order = h->any_order != 0};
}

static coll_progress say_hello(coll_rank *r) {
  coll_team *t = r->team;
  coll_remote *x = t->remote;
  bool ok = true;
  if (!coll_call_prepare(t, r->call)) return COLL_WAITS;
  x->hellos[r->rank] = hello_of(r);
  x->n_missing = t->n_ranks - 1;
  for (int32_t p = 0; p < t->n_ranks && ok; p++) {
    if (p == r->rank) continue;
    ok = coll_lane_put(&t->al, &x->out[p], (coll_piece){.data = (char *)&x->hellos[r->rank], .bytes = sizeof(hello)}) &&
         coll_lane_put(&t->al, &x->in[p], (coll_piece){.data = (char *)&x->hellos[p], .bytes = sizeof(hello)});
  }
  return ok ? COLL_MOVED : COLL_NO_MEMORY;
}

/* All have come: do they ask for the same? */
static bool agree(coll_rank *r) {
  coll_team *t = r->team;
  const hello *h = t->remote->hellos;
  coll_call first = call_of(&h[0]);
  for (int32_t p = 1; p < t->n_ranks; p++) {
    coll_call c = call_of(&h[p]);
    if ((unsigned)h[p].op >= N_COLL_OPS || (unsigned)h[p].dtype >= TSR_N_DTYPES ||
        (unsigned)h[p].redop >= N_COLL_REDOPS)
      coll_team_stop(t, TSR_COLLECTIVE_MISMATCH, "rank %d sent what is no call", p);
    else if (coll_calls_agree(t, &first, p, &c) && (h[p].steps != h[0].steps || h[p].call != h[0].call))
      coll_team_stop(t, TSR_COLLECTIVE_MISMATCH, "rank 0 and rank %d have different steps of %s, or other calls before",
                     p, h[p].algorithm);
  }
  return !atomic_load(&t->stopped);
}

static bool begin(coll_rank *r) {
  coll_team *t = r->team;
  coll_remote *x = t->remote;
  const coll_schedule *s = t->now->schedule;
  int kind = coll_is_ordered(t) ? 1 : 2;
  if (t->now->flow.kind != kind) {
    coll_flow_clear(&t->now->flow);
    tsr_status st = coll_flow_make(s, r->rank, kind == 1, &t->now->flow);
    if (st) return tsr_status_free(st), false;
  }
  x->n_open = (size_t)s->n_chunks;
  x->open = al_zalloc(&t->al, x->n_open * sizeof *x->open);
  return x->open && coll_rounds_begin(r);
}

int32_t coll_remote_missing(const coll_rank *r) {
  const coll_remote *x = r->team->remote;
  for (int32_t p = 0; p < r->team->n_ranks && x->n_missing; p++)
    if (!coll_lane_is_empty(&x->in[p])) return p;
  return -1;
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

static coll_frame frame_of(const coll_rank *r, const coll_entry *e) {
  return (coll_frame){.call = (uint32_t)r->n_calls, .message = (uint32_t)e->message};
}

/* Does a step of the message have a chunk of which something is still to come? */
static bool must_wait(const coll_rank *r, const coll_message *m) {
  const coll_remote *x = r->team->remote;
  for (int32_t i = 0; i < m->n_steps; i++)
    if (x->open[r->team->now->schedule->steps[m->first + (size_t)i].chunk]) return true;
  return false;
}

static bool post_send(coll_rank *r, const coll_entry *e) {
  coll_team *t = r->team;
  const coll_message *m = &t->now->programs.messages[e->message];
  coll_lane *l = &t->remote->out[e->peer];
  coll_piece head = {.head = frame_of(r, e), .framed = true, .bytes = sizeof(coll_frame)};
  for (int32_t i = 0; i < m->n_steps; i++) {
    int32_t chunk = t->now->schedule->steps[m->first + (size_t)i].chunk;
    if (!coll_rounds_work_out(r, chunk)) return false;
    for (size_t k = 0; k < r->have[chunk].n; k++) head.head.bytes += coll_value_bytes(r->have[chunk].v[k]);
  }
  if (!coll_lane_put(&t->al, l, head)) return false;
  for (int32_t i = 0; i < m->n_steps; i++) {
    const coll_slots *s = &r->have[t->now->schedule->steps[m->first + (size_t)i].chunk];
    for (size_t k = 0; k < s->n; k++) {
      size_t bytes = coll_value_bytes(s->v[k]);
      if (!bytes) continue;
      if (!coll_lane_put(&t->al, l, (coll_piece){.data = s->v[k]->data, .bytes = bytes, .keeps = s->v[k]}))
        return false;
      coll_value_retain(s->v[k]);
    }
  }
  if (t->n_calls < r->n_calls) t->remote->early[e->peer] += head.head.bytes;
  else t->sent[(size_t)r->rank * (size_t)t->n_ranks + (size_t)e->peer] += head.head.bytes;
  return true;
}

/* The messages that a rank sends before it has received any follow its hello at once: they are read by those alone who
 * know that all agree. */
static bool send_early(coll_rank *r) {
  coll_team *t = r->team;
  const coll_program *p = &t->now->programs.ranks[r->rank];
  memset(t->remote->early, 0, (size_t)t->n_ranks * sizeof *t->remote->early);
  for (; r->at < p->n && p->entries[r->at].send; r->at++)
    if (!post_send(r, &p->entries[r->at])) return false;
  return true;
}

static void all_agreed(coll_rank *r) {
  coll_team *t = r->team;
  t->n_calls++;
  for (int32_t p = 0; p < t->n_ranks; p++)
    t->sent[(size_t)r->rank * (size_t)t->n_ranks + (size_t)p] += t->remote->early[p];
  r->phase = PHASE_SEND;
}

coll_progress coll_remote_join(coll_rank *r) {
  coll_team *t = r->team;
  pthread_mutex_lock(&t->lock);
  coll_progress p = COLL_WAITS;
  if (!r->arrived) {
    r->arrived = true;
    p = say_hello(r);
    if (p == COLL_MOVED && (!begin(r) || !send_early(r))) p = COLL_NO_MEMORY;
  } else if (!t->remote->n_missing && agree(r)) {
    all_agreed(r);
    p = COLL_MOVED;
  }
  pthread_mutex_unlock(&t->lock);
  return p;
}

/* The i-th value of a step that is received. */
static coll_value *blank(coll_rank *r, const coll_step *x, size_t node) {
  coll_team *t = r->team;
  coll_node at = t->now->flow.nodes[node];
  size_t n = (size_t)coll_chunk_elements(t->now->schedule, t->call.count, x->chunk);
  bool full = at.n == t->math.n_ranks;
  return coll_value_blank(&t->math, n, at, at.n, full && !x->reduce ? coll_rounds_place(r, x->chunk) : NULL, &r->out);
}

static bool post_receive(coll_rank *r, const coll_entry *e) {
  coll_team *t = r->team;
  coll_remote *x = t->remote;
  const coll_message *m = &t->now->programs.messages[e->message];
  const coll_flow *f = &t->now->flow;
  size_t from = f->first[m->first], to = f->first[m->first + (size_t)m->n_steps];
  if (!al_grow(&t->al, &x->arrivals, &x->cap, x->n + 1, sizeof *x->arrivals)) return false;
  arrival *a = &x->arrivals[x->n++];
  *a = (arrival){.entry = e, .head = frame_of(r, e), .n = to - from, .left = 1};
  if (!(a->v = al_zalloc(&t->al, (to - from) * sizeof *a->v)) && to > from) return a->n = 0, false;
  if (!coll_lane_put(&t->al, &x->in[e->peer],
                     (coll_piece){.framed = true, .bytes = sizeof(coll_frame), .arrival = x->n}))
    return false;
  for (int32_t i = 0; i < m->n_steps; i++) {
    const coll_step *step = &t->now->schedule->steps[m->first + (size_t)i];
    x->open[step->chunk]++;
    for (size_t k = f->first[m->first + (size_t)i]; k < f->first[m->first + (size_t)i + 1]; k++) {
      coll_value *v = a->v[k - from] = blank(r, step, k);
      if (!v) return false;
      size_t bytes = coll_value_bytes(v);
      a->head.bytes += bytes;
      if (!bytes) continue;
      if (!coll_lane_put(&t->al, &x->in[e->peer], (coll_piece){.data = v->data, .bytes = bytes, .arrival = x->n}))
        return false;
      a->left++;
    }
  }
  return true;
}

/* The first of those that are open has come: its values take their places. */
static bool take(coll_rank *r) {
  coll_team *t = r->team;
  coll_remote *x = t->remote;
  arrival *a = &x->arrivals[x->first];
  const coll_message *m = &t->now->programs.messages[a->entry->message];
  const coll_flow *f = &t->now->flow;
  size_t from = f->first[m->first];
  bool ok = true;
  for (int32_t i = 0; i < m->n_steps && ok; i++) {
    const coll_step *step = &t->now->schedule->steps[m->first + (size_t)i];
    x->open[step->chunk]--;
    for (size_t k = f->first[m->first + (size_t)i]; k < f->first[m->first + (size_t)i + 1] && ok; k++) {
      coll_value *v = a->v[k - from];
      a->v[k - from] = NULL;
      ok = coll_rounds_take(r, step->chunk, v, !step->reduce);
    }
  }
  if (!ok) return false;
  if (a->v) al_free(&t->al, a->v, a->n * sizeof *a->v, 16);
  x->first++;
  return true;
}

coll_progress coll_remote_advance(coll_rank *r) {
  coll_team *t = r->team;
  coll_remote *x = t->remote;
  const coll_program *p = &t->now->programs.ranks[r->rank];
  bool moved = false;
  while (x->first < x->n && !x->arrivals[x->first].left) {
    if (!take(r)) return COLL_NO_MEMORY;
    moved = true;
  }
  while (r->at < p->n && !atomic_load(&t->stopped)) {
    const coll_entry *e = &p->entries[r->at];
    const coll_message *m = &t->now->programs.messages[e->message];
    if (e->send && must_wait(r, m)) break;
    if (!(e->send ? post_send(r, e) : post_receive(r, e)))
      return atomic_load(&t->stopped) ? COLL_WAITS : COLL_NO_MEMORY;
    r->at++, moved = true;
  }
  if (x->first < x->n) {
    const coll_entry *e = x->arrivals[x->first].entry;
    r->waits_for = e->peer, r->round = t->now->programs.messages[e->message].round;
  } else if (r->at == p->n) {
    r->phase = PHASE_COLLECT, moved = true;
    x->first = x->n = 0;
    al_free(&t->al, x->open, x->n_open * sizeof *x->open, 16);
    x->open = NULL;
  }
  return moved ? COLL_MOVED : COLL_WAITS;
}
