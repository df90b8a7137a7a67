/* core/coll/rounds.c - see rounds.h. A rank that touches memory of users is a reader; a team that is stopped waits for
 * its readers, who look for that at every block, and nobody becomes one after. */
#include "core/coll/rounds.h"

#include <string.h>

static bool reading(coll_team *t, bool begin) {
  pthread_mutex_lock(&t->lock);
  bool ok = !begin || !atomic_load(&t->stopped);
  if (ok) t->readers += begin ? 1 : -1;
  if (!t->readers && atomic_load(&t->stopped)) coll_tell(t);
  pthread_mutex_unlock(&t->lock);
  return ok;
}

static bool put(coll_team *t, coll_slots *s, coll_value *v) {
  if (!v || !al_grow(&t->al, &s->v, &s->cap, s->n + 1, sizeof *s->v)) {
    coll_value_release(&t->math, v);
    return false;
  }
  s->v[s->n++] = v;
  return true;
}

static void empty(coll_team *t, coll_slots *s) {
  for (size_t i = 0; i < s->n; i++) coll_value_release(&t->math, s->v[i]);
  s->n = 0;
}

bool coll_is_ordered(const coll_team *t) { return !t->call.any_order && !coll_is_exact(t->call.dtype, t->call.redop); }

bool coll_rounds_begin(coll_rank *r) {
  coll_team *t = r->team;
  const coll_schedule *s = t->now->schedule;
  size_t size = dtype_get(t->call.dtype)->size;
  r->at = 0;
  if (!(r->have = al_zalloc(&t->al, (size_t)s->n_chunks * sizeof *r->have))) return false;
  for (int32_t c = 0; c < s->n_chunks; c++) {
    coll_range in = coll_chunk_in(s, t->call.count, r->rank, c);
    if (in.first < 0) continue;
    char *data = in.n ? (char *)r->call->in + (size_t)in.first * size : NULL;
    if (!put(t, &r->have[c], coll_value_lent(&t->math, data, (size_t)in.n, r->rank, &r->in))) return false;
  }
  return true;
}

void coll_rounds_drop(coll_rank *r) {
  coll_team *t = r->team;
  if (!r->have) return;
  size_t n = (size_t)t->now->schedule->n_chunks;
  for (size_t c = 0; c < n; c++) {
    empty(t, &r->have[c]);
    if (r->have[c].v) al_free_array(&t->al, r->have[c].v, r->have[c].cap);
  }
  al_free(&t->al, r->have, n * sizeof *r->have, 16);
  r->have = NULL;
}

void coll_payloads_free(coll_team *t) {
  const coll_schedule *s = t->now->schedule;
  for (size_t i = 0; t->payloads && i < s->n_steps; i++) {
    for (int32_t k = 0; k < t->payloads[i].n; k++) coll_value_release(&t->math, t->payloads[i].v[k]);
    if (t->payloads[i].v) al_free(&t->al, t->payloads[i].v, (size_t)t->payloads[i].n * sizeof(coll_value *), 16);
  }
  if (t->payloads) al_free(&t->al, t->payloads, (s->n_steps + 1) * sizeof *t->payloads, 16);
  if (t->ready) al_free(&t->al, t->ready, (t->now->programs.n_messages + 1) * sizeof *t->ready, 16);
  t->payloads = NULL, t->ready = NULL;
}

/* ---- sums ------------------------------------------------------------------------------------------------------ */

static void take_out(coll_slots *s, size_t i) { memmove(s->v + i, s->v + i + 1, (--s->n - i) * sizeof *s->v); }

/* The last one joins its sibling in the fixed tree, their parent its own, ... */
static bool join_siblings(coll_team *t, coll_slots *s) {
  for (size_t i = 0; i + 1 < s->n; i++) {
    coll_value *a = s->v[i], *b = s->v[s->n - 1];
    bool left = coll_order_siblings(t->n_ranks, a->node, b->node);
    if (!left && !coll_order_siblings(t->n_ranks, b->node, a->node)) continue;
    if (!left) a = b, b = s->v[i];
    s->n--;
    take_out(s, i);
    if (!put(t, s, coll_value_sum(&t->math, a, b, (coll_node){a->node.first, a->node.n + b->node.n}))) return false;
    i = (size_t)-1;
  }
  return true;
}

/* All into one, in pairs: for sums whose order is free. */
static bool fold(coll_team *t, coll_slots *s) {
  while (s->n > 1) {
    size_t half = 0;
    for (size_t i = 0; i < s->n; i += 2, half++) {
      coll_value *v = s->v[i];
      if (i + 1 < s->n) v = coll_value_sum(&t->math, v, s->v[i + 1], (coll_node){0, 0});
      s->v[half] = v;
      if (v) continue;
      for (size_t k = i + 2; k < s->n; k++) coll_value_release(&t->math, s->v[k]);
      s->n = half;
      return false;
    }
    s->n = half;
  }
  return true;
}

/* Where a complete chunk ends: in the caller's result, if nothing else may lie there. */
static void *place_of(coll_rank *r, int32_t chunk, size_t *bytes) {
  coll_team *t = r->team;
  coll_range out = coll_chunk_out(t->now->schedule, t->call.count, r->rank, chunk);
  size_t size = dtype_get(t->call.dtype)->size;
  *bytes = (size_t)out.n * size;
  return out.first < 0 || !out.n ? NULL : (char *)r->call->out + (size_t)out.first * size;
}

/* Does memory overlap the rank's input? */
static bool in_input(const coll_rank *r, const char *p, size_t bytes) {
  const coll_team *t = r->team;
  size_t n = (size_t)coll_in_elements(t->call.op, t->call.count, t->n_ranks, r->rank, t->call.root) *
             dtype_get(t->call.dtype)->size;
  const char *in = r->call->in;
  return n && bytes && (uintptr_t)p < (uintptr_t)in + n && (uintptr_t)in < (uintptr_t)p + bytes;
}

void *coll_rounds_place(coll_rank *r, int32_t chunk) {
  size_t bytes;
  char *to = place_of(r, chunk, &bytes);
  return to && !in_input(r, to, bytes) ? to : NULL;
}

bool coll_rounds_take(coll_rank *r, int32_t chunk, coll_value *v, bool replace) {
  coll_team *t = r->team;
  coll_slots *s = &r->have[chunk];
  if (replace) empty(t, s);
  return put(t, s, v) && (replace || !coll_is_ordered(t) || join_siblings(t, s));
}

static void sort_by_node(coll_slots *s) {
  for (size_t i = 1; i < s->n; i++)
    for (size_t k = i; k > 0 && s->v[k]->node.first < s->v[k - 1]->node.first; k--) {
      coll_value *v = s->v[k];
      s->v[k] = s->v[k - 1], s->v[k - 1] = v;
    }
}

bool coll_rounds_work_out(coll_rank *r, int32_t chunk) {
  coll_team *t = r->team;
  coll_slots *s = &r->have[chunk];
  if (!coll_is_ordered(t) && !fold(t, s)) return false;
  for (size_t i = 0; i < s->n; i++) {
    if (!s->v[i]->left) continue;
    void *into = coll_value_is_full(&t->math, s->v[i]) ? coll_rounds_place(r, chunk) : NULL;
    if (!coll_value_work_out(&t->math, s->v[i], into, &r->out)) return false;
  }
  sort_by_node(s);
  return true;
}

/* ---- rounds ---------------------------------------------------------------------------------------------------- */

static bool fill_payload(coll_rank *r, size_t step, uint64_t *bytes) {
  coll_team *t = r->team;
  coll_slots *s = &r->have[t->now->schedule->steps[step].chunk];
  coll_payload *p = &t->payloads[step];
  if (!coll_rounds_work_out(r, t->now->schedule->steps[step].chunk)) return false;
  if (!(p->v = al_zalloc(&t->al, s->n * sizeof *p->v))) return false;
  p->n = (int32_t)s->n;
  for (size_t i = 0; i < s->n; i++) {
    p->v[i] = coll_value_retain(s->v[i]);
    *bytes += coll_value_bytes(s->v[i]);
  }
  return true;
}

static coll_progress send(coll_rank *r, const coll_entry *e) {
  coll_team *t = r->team;
  const coll_message *m = &t->now->programs.messages[e->message];
  uint64_t bytes = 0;
  bool ok = true;
  if (!reading(t, true)) return COLL_WAITS;
  for (int32_t i = 0; i < m->n_steps && ok; i++) ok = fill_payload(r, m->first + (size_t)i, &bytes);
  reading(t, false);
  if (!ok) return atomic_load(&t->stopped) ? COLL_WAITS : COLL_NO_MEMORY;
  pthread_mutex_lock(&t->lock);
  t->sent[(size_t)m->src * (size_t)t->n_ranks + (size_t)m->dst] += bytes;
  atomic_store(&t->ready[e->message], true);
  coll_tell(t);
  pthread_mutex_unlock(&t->lock);
  r->at++;
  return COLL_MOVED;
}

static bool take(coll_rank *r, size_t step) {
  coll_team *t = r->team;
  const coll_step *x = &t->now->schedule->steps[step];
  coll_payload *p = &t->payloads[step];
  bool ok = true;
  for (int32_t i = 0; i < p->n; i++) {
    if (ok) ok = coll_rounds_take(r, x->chunk, p->v[i], !x->reduce);
    else coll_value_release(&t->math, p->v[i]);
  }
  if (p->v) al_free(&t->al, p->v, (size_t)p->n * sizeof *p->v, 16);
  *p = (coll_payload){NULL, 0};
  return ok;
}

static coll_progress receive(coll_rank *r, const coll_entry *e) {
  coll_team *t = r->team;
  const coll_message *m = &t->now->programs.messages[e->message];
  r->waits_for = e->peer, r->round = m->round;
  if (!atomic_load(&t->ready[e->message])) return COLL_WAITS;
  for (int32_t i = 0; i < m->n_steps; i++)
    if (!take(r, m->first + (size_t)i)) return COLL_NO_MEMORY;
  r->at++;
  return COLL_MOVED;
}

/* ---- results --------------------------------------------------------------------------------------------------- */

/* Is there a result that must be written over the rank's own input? */
static bool overwrites_input(coll_rank *r) {
  const coll_schedule *s = r->team->now->schedule;
  for (int32_t c = 0; c < s->n_chunks; c++) {
    size_t bytes;
    char *to = place_of(r, c, &bytes);
    if (to && r->have[c].v[0]->data != to && in_input(r, to, bytes)) return true;
  }
  return false;
}

/* A value in lent memory becomes one of our own. */
static bool make_own(coll_rank *r, coll_value **pv) {
  coll_team *t = r->team;
  coll_value *v = *pv;
  size_t bytes = coll_value_bytes(v);
  void *copy = bytes ? al_alloc(&t->al, bytes, 64) : NULL;
  coll_value *own = copy || !bytes ? coll_value_lent(&t->math, copy, v->n, r->rank, &r->out) : NULL;
  if (own) own->lender = NULL, atomic_fetch_sub(&r->out.refs, 1);
  else if (copy) al_free(&t->al, copy, bytes, 64);
  if (!own || (copy && !coll_value_copy(&t->math, v, copy))) {
    coll_value_release(&t->math, own);
    return false;
  }
  coll_value_release(&t->math, v);
  *pv = own;
  return true;
}

/* Works out the results and lets go of the rest. A rank that writes over its input waits until nobody reads that, and
 * must not meanwhile hold on to anybody's input or result: others may be waiting for the same, and it would for itself.
 */
static bool collect(coll_rank *r) {
  coll_team *t = r->team;
  const coll_schedule *s = t->now->schedule;
  for (int32_t c = 0; c < s->n_chunks; c++) {
    if (!coll_ends_with(s, r->rank, c)) empty(t, &r->have[c]);
    else if (!coll_rounds_work_out(r, c)) return false;
  }
  bool over = overwrites_input(r);
  for (int32_t c = 0; c < s->n_chunks && over; c++) {
    coll_value **v = r->have[c].v;
    if (coll_ends_with(s, r->rank, c) && (*v)->lender && !make_own(r, v)) return false;
  }
  return true;
}

static bool write_results(coll_rank *r) {
  coll_team *t = r->team;
  for (int32_t c = 0; c < t->now->schedule->n_chunks; c++) {
    size_t bytes;
    char *to = place_of(r, c, &bytes);
    if (to && !coll_value_copy(&t->math, r->have[c].v[0], to)) return false;
  }
  return true;
}

static coll_progress finish(coll_rank *r) {
  coll_team *t = r->team;
  r->waits_for = -1;
  if (r->phase == PHASE_WRITE && atomic_load(&r->in.refs) && overwrites_input(r)) return COLL_WAITS;
  if (!reading(t, true)) return COLL_WAITS;
  bool ok = r->phase == PHASE_COLLECT ? collect(r) : write_results(r);
  reading(t, false);
  if (!ok) return atomic_load(&t->stopped) ? COLL_WAITS : COLL_NO_MEMORY;
  if (r->phase == PHASE_WRITE) coll_rounds_drop(r);
  r->phase = r->phase == PHASE_COLLECT ? PHASE_WRITE : PHASE_LEAVE;
  return COLL_MOVED;
}

coll_progress coll_rounds_advance(coll_rank *r) {
  const coll_program *p = &r->team->now->programs.ranks[r->rank];
  if (r->phase == PHASE_COLLECT || r->phase == PHASE_WRITE) return finish(r);
  if (r->at == p->n) {
    r->phase = PHASE_COLLECT;
    return COLL_MOVED;
  }
  const coll_entry *e = &p->entries[r->at];
  r->phase = e->send ? PHASE_SEND : PHASE_RECEIVE;
  return e->send ? send(r, e) : receive(r, e);
}
