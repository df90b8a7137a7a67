/* core/runtime/program_memory.c - see program_memory.h. Bindings of a kind of their own have one owner of memory each;
 * temporaries share the workspace, which is kept as ranges of bytes that the same launches touched. */
#include "core/runtime/program_memory.h"

#include <stdlib.h>
#include <string.h>

/* ---- who touched what ------------------------------------------------------------------------------------------ */

typedef struct touched { /* memory that the same launches touched */
  int64_t from, to; /* of the workspace; of a binding: unused */
  int writer;       /* -1 = none yet */
  int readers;      /* since then: index + 1 into the links, 0 = none */
} touched;

typedef struct reader { int launch, next; } reader;

typedef struct tracker {
  tsr_program *p;
  const tsr_allocator *al;
  touched *bindings; /* of inputs, outputs, constants and temporaries without bytes */
  touched *ranges; /* of the workspace, sorted, without gaps between them where anything was touched */
  size_t n_ranges, cap_ranges;
  reader *links;
  size_t n_links, cap_links;
  int *found; /* launches that the one at hand must wait for */
  size_t n_found, cap_found;
} tracker;

static bool find(tracker *t, int launch) {
  if (launch < 0) return true;
  if (!al_grow(t->al, &t->found, &t->cap_found, t->n_found + 1, sizeof *t->found)) return false;
  t->found[t->n_found++] = launch;
  return true;
}

/* What launch `at` waits for by touching m. */
static bool look(tracker *t, const touched *m, bool writes) {
  if (!find(t, m->writer)) return false;
  for (int r = writes ? m->readers : 0; r; r = t->links[r - 1].next)
    if (!find(t, t->links[r - 1].launch)) return false;
  return true;
}

static bool note(tracker *t, touched *m, int at, bool writes) {
  if (writes) {
    m->writer = at;
    m->readers = 0;
    return true;
  }
  if (m->readers && t->links[m->readers - 1].launch == at) return true;
  if (!al_grow(t->al, &t->links, &t->cap_links, t->n_links + 1, sizeof *t->links)) return false;
  t->links[t->n_links++] = (reader){at, m->readers};
  m->readers = (int)t->n_links;
  return true;
}

/* The first range that ends behind `from`. */
static size_t range_at(const tracker *t, int64_t from) {
  size_t lo = 0, hi = t->n_ranges;
  while (lo < hi) {
    size_t mid = (lo + hi) / 2;
    if (t->ranges[mid].to <= from) lo = mid + 1;
    else hi = mid;
  }
  return lo;
}

static bool insert(tracker *t, size_t i, touched m) {
  if (!al_grow(t->al, &t->ranges, &t->cap_ranges, t->n_ranges + 1, sizeof *t->ranges)) return false;
  memmove(t->ranges + i + 1, t->ranges + i, (t->n_ranges - i) * sizeof m);
  t->ranges[i] = m;
  t->n_ranges++;
  return true;
}

/* Makes `at` a border between ranges. Lists of readers are shared by both sides: they only grow at their heads. */
static bool split(tracker *t, int64_t at) {
  size_t i = range_at(t, at);
  if (i == t->n_ranges || t->ranges[i].from >= at) return true;
  touched left = t->ranges[i];
  left.to = at;
  t->ranges[i].from = at;
  return insert(t, i, left);
}

/* Applies look, or note, to all that the binding's memory is. */
static bool over(tracker *t, int binding, int at, bool writes, bool noting) {
  const rt_binding *s = &t->p->bindings[binding];
  if (s->kind != BINDING_TEMP || !s->bytes) {
    touched *m = &t->bindings[s->written_from ? s->written_from - 1 : binding]; /* they may be one memory */
    return noting ? note(t, m, at, writes) : look(t, m, writes);
  }
  int64_t from = (int64_t)s->offset, to = from + (int64_t)s->bytes;
  if (!split(t, from) || !split(t, to)) return false;
  for (size_t i = range_at(t, from); from < to; i++) {
    if (noting && (i == t->n_ranges || t->ranges[i].from > from)) {
      int64_t end = i < t->n_ranges && t->ranges[i].from < to ? t->ranges[i].from : to;
      if (!insert(t, i, (touched){from, end, -1, 0})) return false;
    }
    if (i == t->n_ranges || t->ranges[i].from >= to) break;
    if (!(noting ? note(t, &t->ranges[i], at, writes) : look(t, &t->ranges[i], writes))) return false;
    from = t->ranges[i].to;
  }
  return true;
}

/* ---- what is waited for already -------------------------------------------------------------------------------- */

enum { WORDS = RT_WAIT_WINDOW / 64 };
typedef struct past { uint64_t bit[WORDS]; } past; /* bit i: the launch i + 1 before this one */

static void add_past(past *mine, const past *other, int distance) {
  int words = distance / 64, bits = distance % 64;
  for (int i = WORDS - 1; i >= words; i--) {
    uint64_t x = other->bit[i - words] << bits;
    if (bits && i > words) x |= other->bit[i - words - 1] >> (64 - bits);
    mine->bit[i] |= x;
  }
}

static int later_first(const void *a, const void *b) {
  return (*(const int *)a < *(const int *)b) - (*(const int *)a > *(const int *)b);
}

static tsr_status choose_waits(tracker *t, past *window, int at) {
  rt_launch *l = &t->p->launches[at];
  past *mine = &window[at % RT_WAIT_WINDOW];
  memset(mine, 0, sizeof *mine);
  if (t->n_found) qsort(t->found, t->n_found, sizeof *t->found, later_first);
  if (!(l->waits = arena_array(&t->p->arena, int, t->n_found + 1))) return st_oom();
  for (size_t i = 0; i < t->n_found; i++) {
    int distance = at - t->found[i];
    bool near = distance <= RT_WAIT_WINDOW - 1;
    if ((i && t->found[i] == t->found[i - 1]) || (near && mine->bit[(distance - 1) / 64] >> ((distance - 1) % 64) & 1))
      continue;
    l->waits[l->n_waits++] = t->found[i];
    if (!near) continue;
    mine->bit[(distance - 1) / 64] |= 1ull << ((distance - 1) % 64);
    add_past(mine, &window[t->found[i] % RT_WAIT_WINDOW], distance);
  }
  return NULL;
}

static bool each_binding(tracker *t, int at, bool noting) {
  const rt_launch *l = &t->p->launches[at];
  int written = l->n_bindings - l->n_outputs;
  for (int i = 0; i < l->n_bindings; i++)
    if (!over(t, l->bindings[i], at, i >= written, noting)) return false;
  return true;
}

tsr_status rt_make_waits(tsr_program *p) {
  const tsr_allocator *al = &p->ctx->al;
  tracker t = {.p = p, .al = al, .bindings = al_zalloc(al, sizeof(touched) * (size_t)(p->n_bindings + 1))};
  const size_t n_window = (size_t)(p->n_launches < RT_WAIT_WINDOW ? p->n_launches + 1 : RT_WAIT_WINDOW);
  past *window = al_zalloc(al, sizeof *window * n_window);
  tsr_status st = t.bindings && window ? NULL : st_oom();
  for (int i = 0; i < p->n_bindings && !st; i++) t.bindings[i].writer = -1;
  for (int i = 0; i < p->n_launches && !st; i++) {
    t.n_found = 0;
    if (!each_binding(&t, i, false)) st = st_oom();
    if (!st) st = choose_waits(&t, window, i);
    if (!st && !each_binding(&t, i, true)) st = st_oom();
  }
  al_free_array(al, t.bindings, (size_t)(p->n_bindings + 1));
  al_free_array(al, window, n_window);
  al_free_array(al, t.ranges, t.cap_ranges);
  al_free_array(al, t.links, t.cap_links);
  al_free_array(al, t.found, t.cap_found);
  return st;
}
