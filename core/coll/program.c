/* core/coll/program.c - see program.h. */
#include "core/coll/program.h"

#include <string.h>

static size_t count_messages(const coll_schedule *s, coll_message *out) {
  size_t n = 0;
  for (size_t i = 0; i < s->n_steps; i++) {
    const coll_step *a = &s->steps[i], *b = a - 1;
    if (!i || a->round != b->round || a->src != b->src || a->dst != b->dst) {
      if (out) out[n] = (coll_message){a->round, a->src, a->dst, 0, i};
      n++;
    }
    if (out) out[n - 1].n_steps++;
  }
  return n;
}

static bool put(const tsr_allocator *al, coll_program *p, coll_entry e) {
  if (!al_grow(al, &p->entries, &p->cap, p->n + 1, sizeof *p->entries)) return false;
  p->entries[p->n++] = e;
  return true;
}

tsr_status coll_programs_make(const coll_schedule *s, coll_programs *p) {
  *p = (coll_programs){.al = s->al, .n_ranks = s->n_ranks, .n_messages = count_messages(s, NULL)};
  p->messages = al_zalloc(&p->al, (p->n_messages + 1) * sizeof *p->messages);
  p->ranks = al_zalloc(&p->al, (size_t)p->n_ranks * sizeof *p->ranks);
  int32_t *last = al_zalloc(&p->al, (size_t)p->n_ranks * sizeof *last); /* round + 1 of the group that is open */
  bool ok = p->messages && p->ranks && last;
  if (ok) count_messages(s, p->messages);
  for (size_t from = 0, to; ok && from < p->n_messages; from = to) { /* a round: all sends, then all receives */
    for (to = from; to < p->n_messages && p->messages[to].round == p->messages[from].round; to++) {}
    for (int receive = 0; receive < 2; receive++)
      for (size_t m = from; m < to && ok; m++) {
        const coll_message *x = &p->messages[m];
        int32_t me = receive ? x->dst : x->src;
        coll_program *rank = &p->ranks[me];
        rank->n_groups += last[me] != x->round + 1;
        last[me] = x->round + 1;
        ok = put(&p->al, rank,
                 (coll_entry){rank->n_groups - 1, receive ? x->src : x->dst, x->n_steps, !receive, m});
      }
  }
  if (last) al_free(&p->al, last, (size_t)p->n_ranks * sizeof *last, 16);
  if (ok) return NULL;
  coll_programs_clear(p);
  return st_oom();
}

void coll_programs_clear(coll_programs *p) {
  for (int32_t r = 0; p->ranks && r < p->n_ranks; r++)
    if (p->ranks[r].entries) al_free_array(&p->al, p->ranks[r].entries, p->ranks[r].cap);
  if (p->ranks) al_free(&p->al, p->ranks, (size_t)p->n_ranks * sizeof *p->ranks, 16);
  if (p->messages) al_free(&p->al, p->messages, (p->n_messages + 1) * sizeof *p->messages, 16);
  memset(p, 0, sizeof *p);
}

/* ---- blocking ranks -------------------------------------------------------------------------------------------- */

typedef struct place { size_t at; } place; /* the first entry of the current group */

/* The entry of the peer's current group that is the other end of e; NULL: it isn't there yet. */
static coll_entry *other_end(const coll_programs *p, const place *at, int32_t me, const coll_entry *e) {
  if (e->peer < 0 || e->peer >= p->n_ranks) return NULL;
  const coll_program *peer = &p->ranks[e->peer];
  for (size_t i = at[e->peer].at; i < peer->n && peer->entries[i].group == peer->entries[at[e->peer].at].group; i++) {
    coll_entry *x = &peer->entries[i];
    if (x->peer == me && x->send != e->send) return x;
  }
  return NULL;
}

/* Completes what can be; done[message] marks. */
static tsr_status advance(const coll_programs *p, place *at, bool *done, int32_t me, bool *moved) {
  const coll_program *mine = &p->ranks[me];
  while (at[me].at < mine->n) {
    int32_t group = mine->entries[at[me].at].group, open = 0;
    size_t end = at[me].at;
    for (; end < mine->n && mine->entries[end].group == group; end++) {
      const coll_entry *e = &mine->entries[end];
      if (done[2 * e->message + e->send]) continue;
      const coll_entry *x = other_end(p, at, me, e);
      open++;
      if (!x || done[2 * x->message + x->send]) continue;
      if (x->n_steps != e->n_steps || x->message != e->message)
        return st_make(&p->al, TSR_COLLECTIVE_MISMATCH, ST_WHERE("collective", NULL, NULL),
                       "rank %d %s %d chunks, rank %d %s %d", me, e->send ? "sends" : "expects", e->n_steps, e->peer,
                       x->send ? "sends" : "expects", x->n_steps);
      done[2 * e->message] = done[2 * e->message + 1] = *moved = true;
      open--;
    }
    if (open) return NULL;
    at[me].at = end;
    *moved = true;
  }
  return NULL;
}

static tsr_status deadlock(const coll_programs *p, const place *at, const bool *done) {
  for (int32_t r = 0; r < p->n_ranks; r++)
    for (size_t i = at[r].at; i < p->ranks[r].n; i++) {
      const coll_entry *e = &p->ranks[r].entries[i];
      if (!done[2 * e->message + e->send])
        return st_make(&p->al, TSR_COLLECTIVE_MISMATCH, ST_WHERE("collective", NULL, NULL),
                       "deadlock: rank %d waits in its group %d %s rank %d, which never comes to it", r, e->group,
                       e->send ? "to send to" : "for", e->peer);
    }
  return NULL;
}

tsr_status coll_programs_check(const coll_programs *p) {
  size_t n_done = 2 * p->n_messages + 2;
  bool *done = al_zalloc(&p->al, n_done), moved = true;
  place *at = al_zalloc(&p->al, (size_t)p->n_ranks * sizeof *at);
  tsr_status st = done && at ? NULL : st_oom();
  while (!st && moved) {
    moved = false;
    for (int32_t r = 0; r < p->n_ranks && !st; r++) st = advance(p, at, done, r, &moved);
  }
  if (!st) st = deadlock(p, at, done);
  if (done) al_free(&p->al, done, n_done, 16);
  if (at) al_free(&p->al, at, (size_t)p->n_ranks * sizeof *at, 16);
  return st;
}
