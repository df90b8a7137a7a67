/* core/dist/order.c - see order.h. */
#include "core/dist/order.h"

#include <stdio.h>
#include <string.h>

static bool make_room(arena *a, const dist_schedule *s, dist_before *b) {
  *b = (dist_before){s->steps, arena_array(a, dist_clock, s->n_steps + 1)};
  for (int i = 0; b->clocks && i < s->n_steps; i++) b->clocks[i] = (dist_clock){{-1, -1}};
  return b->clocks != NULL;
}

/* All that is before `first`, and itself, is before `then`. */
static void follow(dist_before *b, int first, int then) {
  const int stream = b->steps[first].stream;
  int *to = b->clocks[then].latest;
  for (int k = 0; k < DIST_STREAMS; k++) {
    const int before = k == stream ? first : b->clocks[first].latest[k];
    if (before > to[k]) to[k] = before;
  }
}

/* Step i with what is before it on its stream. */
static void on_stream(dist_before *b, int i, int last[DIST_STREAMS]) {
  int *before = &last[b->steps[i].stream];
  if (*before >= 0) follow(b, *before, i);
  *before = i;
}

dist_before dist_before_make(arena *a, const dist_schedule *s) {
  dist_before b;
  int last[DIST_STREAMS] = {-1, -1};
  if (!make_room(a, s, &b)) return b;
  for (int i = 0; i < s->n_steps; i++) {
    on_stream(&b, i, last);
    for (int k = 0; k < s->steps[i].n_waits; k++) follow(&b, s->steps[i].waits[k], i);
  }
  return b;
}

bool dist_order_make(dist_schedule *s) {
  dist_before b;
  int last[DIST_STREAMS] = {-1, -1};
  if (!make_room(&s->arena, s, &b)) return false;
  for (int i = 0; i < s->n_steps; i++) {
    dist_step *x = &s->steps[i];
    on_stream(&b, i, last);
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

/* Bytes [from, to) of the workspace, and the slot that had them last. */
typedef struct held {
  size_t from, to;
  int slot;
} held;

/* The workspace's bytes by who had them last, in order, none twice. */
typedef struct holders {
  held *v;
  int n;
  int64_t *looked;
} holders;

/* The first that ends behind `at`. */
static int find(const holders *h, size_t at) {
  int from = 0, to = h->n;
  while (from < to) {
    const int mid = from + (to - from) / 2;
    if (h->v[mid].to <= at) from = mid + 1;
    else to = mid;
    ++*h->looked;
  }
  return from;
}

/* x in the place of what is there, [first, end): of those at its ends the rest stays. */
static void hold(holders *h, held x, int first, int end) {
  held with[3];
  int n = 0;
  if (first < end && h->v[first].from < x.from) with[n++] = (held){h->v[first].from, x.from, h->v[first].slot};
  with[n++] = x;
  if (first < end && h->v[end - 1].to > x.to) with[n++] = (held){x.to, h->v[end - 1].to, h->v[end - 1].slot};
  memmove(&h->v[first + n], &h->v[end], (size_t)(h->n - end) * sizeof *h->v);
  memcpy(&h->v[first], with, (size_t)n * sizeof *with);
  h->n += n - (end - first);
}

/* Slots come in the order of their writers. Who had a slot's bytes before the last one is over, too: the last one's
 * writer came after all its users, and this slot's writer after the last one's. */
static bool check_slot(const dist_schedule *s, const dist_before *b, const int *last, int slot, holders *h, char *why,
                       size_t size) {
  const dist_slot *x = &s->slots[slot];
  if (x->input >= 0 || x->output >= 0 || !x->bytes) return true;
  const int from = find(h, x->offset);
  int end = from;
  for (; end < h->n && h->v[end].from < x->offset + x->bytes; end++, ++*h->looked) {
    const int used = dist_still_used(b, last, h->v[end].slot, x->writer);
    if (used >= 0) return snprintf(why, size, "step %d writes where step %d still has a value", x->writer, used), false;
  }
  hold(h, (held){x->offset, x->offset + x->bytes, slot}, from, end);
  return true;
}

bool dist_schedule_check_counted(const dist_schedule *s, char *why, size_t size, int64_t *looked) {
  arena a;
  arena_init(&a, NULL);
  const dist_before b = dist_before_make(&a, s);
  const int *last = dist_last_users(&a, s);
  holders h = {arena_array(&a, held, 2 * s->n_slots + 2), 0, looked}; /* each slot cuts one in two at most */
  bool ok = b.clocks && last && h.v;
  *looked = 0;
  snprintf(why, size, "%s", ok ? "" : "out of memory");
  for (int i = 0; i < s->n_steps && ok; i++) {
    ok = check_reads(s, &b, i, why, size);
    for (int k = 0; k < s->steps[i].n_writes && ok; k++)
      ok = check_slot(s, &b, last, s->steps[i].writes[k], &h, why, size);
  }
  arena_clear(&a);
  return ok;
}

bool dist_schedule_check(const dist_schedule *s, char *why, size_t size) {
  int64_t looked;
  return dist_schedule_check_counted(s, why, size, &looked);
}
