/* core/dist/memory.c - see memory.h. */
#include "core/dist/memory.h"

#include <string.h>

#include "core/dist/order.h"

enum { ALIGN = 256 };

typedef struct placer {
  dist_schedule *s;
  dist_before before;
  const int *last;        /* dist_last_users */
  int *live, n_live;      /* slots that a later step may still have to keep clear of, by offset */
  int next[DIST_STREAMS]; /* the first step of each stream that is not placed yet; n_steps: none */
} placer;

static bool in_workspace(const dist_slot *x) { return x->input < 0 && x->output < 0 && x->bytes; }

/* Over before whatever is still to be placed: before the next step of each stream, and so before those behind it. */
static bool is_over(const placer *p, int slot) {
  for (int k = 0; k < DIST_STREAMS; k++)
    if (p->next[k] < p->s->n_steps && dist_still_used(&p->before, p->last, slot, p->next[k]) >= 0) return false;
  return true;
}

/* Those that are over leave the list. */
static void sweep(placer *p) {
  int n = 0;
  for (int i = 0; i < p->n_live; i++, p->s->looked++)
    if (!is_over(p, p->live[i])) p->live[n++] = p->live[i];
  p->n_live = n;
}

/* The lowest offset that no slot placed before, still in use, takes; the list stays in order. */
static void place(placer *p, int slot) {
  dist_slot *slots = p->s->slots, *x = &slots[slot];
  size_t at = 0;
  int i = 0;
  for (; i < p->n_live; i++, p->s->looked++) {
    const dist_slot *y = &slots[p->live[i]];
    if (y->offset >= at + x->bytes) break;
    if (at < y->offset + y->bytes && dist_still_used(&p->before, p->last, p->live[i], x->writer) >= 0)
      at = (y->offset + y->bytes + ALIGN - 1) / ALIGN * ALIGN;
  }
  x->offset = at;
  while (i > 0 && slots[p->live[i - 1]].offset > at) i--, p->s->looked++;
  memmove(&p->live[i + 1], &p->live[i], (size_t)(p->n_live++ - i) * sizeof *p->live);
  p->live[i] = slot;
}

/* The first step of each stream from `step` on. */
static void advance(placer *p, int step) {
  for (int k = 0; k < DIST_STREAMS; k++)
    while (p->next[k] < p->s->n_steps && (p->next[k] < step || p->s->steps[p->next[k]].stream != k)) p->next[k]++;
}

bool dist_memory_make(dist_schedule *s) {
  placer p = {.s = s,
              .before = dist_before_make(&s->arena, s),
              .last = dist_last_users(&s->arena, s),
              .live = arena_array(&s->arena, int, s->n_slots + 1)};
  if (!p.before.clocks || !p.last || !p.live) return false;
  for (int w = 0; w < s->n_steps; w++) {
    const dist_step *step = &s->steps[w];
    advance(&p, w);
    if (step->n_writes) sweep(&p);
    for (int k = 0; k < step->n_writes; k++) {
      dist_slot *x = &s->slots[step->writes[k]];
      if (!in_workspace(x)) continue;
      place(&p, step->writes[k]);
      if (x->offset + x->bytes > s->workspace) s->workspace = x->offset + x->bytes;
    }
  }
  return true;
}
