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
    for (int latest = i; latest-- > 0;) { /* the latest first: it implies those before it on its stream */
      bool needed = false;
      for (int k = 0; k < x->n_reads && !needed; k++) needed = s->slots[x->reads[k]].writer == latest;
      if (!needed || dist_is_before(&b, latest, i)) continue;
      x->waits[x->n_waits++] = latest;
      follow(&b, latest, i);
    }
  }
  return true;
}

static bool reads(const dist_step *x, int slot) {
  for (int i = 0; i < x->n_reads; i++)
    if (x->reads[i] == slot) return true;
  return false;
}

/* Do two slots have memory in common? */
static bool overlap(const dist_slot *a, const dist_slot *b) {
  if (a->input >= 0 || b->input >= 0 || a->output >= 0 || b->output >= 0) return false;
  return a->bytes && b->bytes && a->offset < b->offset + b->bytes && b->offset < a->offset + a->bytes;
}

/* The first step that uses a slot and isn't over before `then` begins; -1: none. */
static int still_used(const dist_schedule *s, const dist_before *b, int slot, int then) {
  for (int i = 0; i < s->n_steps; i++)
    if ((s->slots[slot].writer == i || reads(&s->steps[i], slot)) && (i == then || !dist_is_before(b, i, then)))
      return i;
  return -1;
}

static bool check_slot(const dist_schedule *s, const dist_before *b, int slot, char *why, size_t size) {
  const int writer = s->slots[slot].writer;
  for (int i = 0; i < s->n_steps; i++)
    if (writer >= 0 && reads(&s->steps[i], slot) && !dist_is_before(b, writer, i))
      return snprintf(why, size, "step %d reads what step %d writes, and nothing orders them", i, writer), false;
  for (int q = slot + 1; q < s->n_slots; q++) {
    if (!overlap(&s->slots[slot], &s->slots[q])) continue;
    const int first = still_used(s, b, slot, s->slots[q].writer);
    if (first < 0 || still_used(s, b, q, writer) < 0) continue;
    return snprintf(why, size, "step %d writes where step %d still has a value", s->slots[q].writer, first), false;
  }
  return true;
}

bool dist_schedule_check(const dist_schedule *s, char *why, size_t size) {
  arena a;
  arena_init(&a, NULL);
  const dist_before b = dist_before_make(&a, s);
  bool ok = b.bits != NULL;
  snprintf(why, size, "%s", ok ? "" : "out of memory");
  for (int i = 0; i < s->n_slots && ok; i++) ok = check_slot(s, &b, i, why, size);
  arena_clear(&a);
  return ok;
}
