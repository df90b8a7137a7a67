/* core/dist/order.c - see order.h. */
#include "core/dist/order.h"

#include <stdio.h>
#include <string.h>

static bool make_room(arena *a, dist_before *b, int n) {
  *b = (dist_before){.n = n, .words = (n + 63) / 64};
  b->bits = arena_array(a, uint64_t, (size_t)n * (size_t)b->words + 1);
  return b->bits != NULL;
}

/* All that is before `first`, and itself, is before `then`. */
static void follow(dist_before *b, int first, int then) {
  uint64_t *to = &b->bits[(size_t)then * (size_t)b->words];
  const uint64_t *from = &b->bits[(size_t)first * (size_t)b->words];
  for (int w = 0; w < b->words; w++) to[w] |= from[w];
  to[first / 64] |= 1ull << (first % 64);
}

/* Step i with what is before it on its stream. */
static void on_stream(dist_before *b, const dist_schedule *s, int i, int last[DIST_STREAMS]) {
  int *before = &last[s->steps[i].stream];
  if (*before >= 0) follow(b, *before, i);
  *before = i;
}

dist_before dist_before_make(arena *a, const dist_schedule *s) {
  dist_before b;
  int last[DIST_STREAMS] = {-1, -1};
  if (!make_room(a, &b, s->n_steps)) return b;
  for (int i = 0; i < s->n_steps; i++) {
    on_stream(&b, s, i, last);
    for (int k = 0; k < s->steps[i].n_waits; k++) follow(&b, s->steps[i].waits[k], i);
  }
  return b;
}

bool dist_order_make(dist_schedule *s) {
  dist_before b;
  int last[DIST_STREAMS] = {-1, -1};
  if (!make_room(&s->arena, &b, s->n_steps)) return false;
  for (int i = 0; i < s->n_steps; i++) {
    dist_step *x = &s->steps[i];
    on_stream(&b, s, i, last);
    int latest[DIST_STREAMS] = {-1, -1}; /* it implies those before it on its stream */
    for (int k = 0; k < x->n_reads; k++) {
      const int writer = s->slots[x->reads[k]].writer;
      if (writer > (writer < 0 ? 0 : latest[s->steps[writer].stream])) latest[s->steps[writer].stream] = writer;
    }
    for (int k = 0; k < DIST_STREAMS; k++) { /* the later one first */
      const int w = latest[(latest[0] > latest[1]) == (k == 0) ? 0 : 1];
      if (w < 0 || dist_is_before(&b, w, i)) continue;
      x->waits[x->n_waits++] = w;
      follow(&b, w, i);
    }
  }
  return true;
}

int *dist_last_users(arena *a, const dist_schedule *s) {
  int *last = arena_array(a, int, DIST_STREAMS * (size_t)s->n_slots + 1);
  for (int i = 0; last && i < DIST_STREAMS * s->n_slots; i++) last[i] = -1;
  for (int i = 0; last && i < s->n_steps; i++) {
    const dist_step *x = &s->steps[i];
    for (int k = 0; k < x->n_reads; k++) last[x->reads[k] * DIST_STREAMS + x->stream] = i;
    for (int k = 0; k < x->n_writes; k++) last[x->writes[k] * DIST_STREAMS + x->stream] = i;
  }
  return last;
}

/* Do two slots have memory in common? */
static bool overlap(const dist_slot *a, const dist_slot *b) {
  if (a->input >= 0 || b->input >= 0 || a->output >= 0 || b->output >= 0) return false;
  return a->bytes && b->bytes && a->offset < b->offset + b->bytes && b->offset < a->offset + a->bytes;
}

int dist_still_used(const dist_before *b, const int *last, int slot, int then) {
  for (int k = 0; k < DIST_STREAMS; k++) {
    const int i = last[slot * DIST_STREAMS + k];
    if (i >= 0 && (i == then || !dist_is_before(b, i, then))) return i;
  }
  return -1;
}

static bool check_reads(const dist_schedule *s, const dist_before *b, int step, char *why, size_t size) {
  for (int k = 0; k < s->steps[step].n_reads; k++) {
    const int writer = s->slots[s->steps[step].reads[k]].writer;
    if (writer >= 0 && !dist_is_before(b, writer, step))
      return snprintf(why, size, "step %d reads what step %d writes, and nothing orders them", step, writer), false;
  }
  return true;
}

static bool check_slot(const dist_schedule *s, const dist_before *b, const int *last, int slot, char *why,
                       size_t size) {
  const int writer = s->slots[slot].writer;
  for (int q = slot + 1; q < s->n_slots; q++) {
    if (!overlap(&s->slots[slot], &s->slots[q])) continue;
    const int first = dist_still_used(b, last, slot, s->slots[q].writer);
    if (first < 0 || dist_still_used(b, last, q, writer) < 0) continue;
    return snprintf(why, size, "step %d writes where step %d still has a value", s->slots[q].writer, first), false;
  }
  return true;
}

bool dist_schedule_check(const dist_schedule *s, char *why, size_t size) {
  arena a;
  arena_init(&a, NULL);
  const dist_before b = dist_before_make(&a, s);
  const int *last = dist_last_users(&a, s);
  bool ok = b.bits && last;
  snprintf(why, size, "%s", ok ? "" : "out of memory");
  for (int i = 0; i < s->n_steps && ok; i++) ok = check_reads(s, &b, i, why, size);
  for (int i = 0; i < s->n_slots && ok; i++) ok = check_slot(s, &b, last, i, why, size);
  arena_clear(&a);
  return ok;
}
