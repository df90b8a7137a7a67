/* tests/simt/shadow.c - what is known of every byte of shared memory and of written global memory: whether it was
 * written, by whom and when, who read it since, and whether an asynchronous copy owns it. Each access is checked
 * against that. Bytes that were only ever touched together have one cell, that of the first: 16 aligned ones, until
 * something narrower touches some of them and cuts them up. An access A is ordered before one of thread t if t's clock
 * has reached A's clock in A's thread (FastTrack, PLDI 2009). */
#include <stdlib.h>
#include <string.h>

#include "tests/simt/sim.h"

enum { SEVERAL = 0x7fffffff }; /* read by more than one cluster */

sim_block *shadow_block_of(const void *p) {
  const uint8_t *q = p;
  if (q < S.shared_base || q >= S.shared_base + S.shared_stride * (size_t)S.n_blocks) return NULL;
  return &S.blocks[(size_t)(q - S.shared_base) / S.shared_stride];
}

uint32_t shadow_offset(const void *p, int bytes, int line) {
  sim_block *b = shadow_block_of(p);
  if (!b || b != S.now->block) {
    sim_find(EMU_OUT_OF_BOUNDS, line, 0, "%p is not in the block's shared memory", p);
    sim_stop();
  }
  int64_t at = (const uint8_t *)p - b->shared;
  if (at < 0 || at + bytes > S.d->shared_bytes) {
    sim_find(EMU_OUT_OF_BOUNDS, line, 0, "shared bytes %lld to %lld of %lld", (long long)at, (long long)at + bytes,
             (long long)S.d->shared_bytes);
    sim_stop();
  }
  return (uint32_t)at;
}

static bool ordered(const sim_thread *t, unsigned thread, uint32_t clock) { return t->clock[thread] >= clock; }

/* ---- cells ------------------------------------------------------------------------------------------------------- */

enum { GRAIN = 16 }; /* bytes of an uncut cell; cut n times it has GRAIN >> n */

static void *zeroed(size_t n, size_t bytes) {
  void *p = calloc(n ? n : 1, bytes);
  if (!p) abort();
  return p;
}

void shadow_map_make(shadow_map *m, size_t bytes) {
  size_t grains = (bytes + GRAIN - 1) / GRAIN;
  *m = (shadow_map){zeroed(grains * GRAIN, sizeof(cell)), zeroed(grains, 1), grains};
}

/* The cell that begins at a byte. Those of whole grains lie side by side: most others are never looked at. */
static cell *cell_of(const shadow_map *m, size_t at) { return &m->cells[at % GRAIN * m->grains + at / GRAIN]; }

void shadow_map_clear(shadow_map *m) {
  for (size_t g = 0; g < m->grains; g++)
    for (size_t at = 0; at < GRAIN; at += (size_t)GRAIN >> m->cuts[g]) {
      cell *c = cell_of(m, g * GRAIN + at);
      if (c->cap_readers) free(c->readers);
      memset(c, 0, sizeof *c);
    }
  memset(m->cuts, 0, m->grains);
}

void shadow_map_drop(shadow_map *m) {
  if (!m->cells) return;
  shadow_map_clear(m);
  free(m->cells);
  free(m->cuts);
  *m = (shadow_map){0};
}

static void copy_cell(cell *to, const cell *from) {
  *to = *from;
  if (!to->cap_readers) return;
  to->readers = malloc((size_t)to->cap_readers * sizeof *to->readers);
  if (!to->readers) abort();
  memcpy(to->readers, from->readers, (size_t)from->n_readers * sizeof *to->readers);
}

/* From now on the grain's cells are smaller; each begins with what the one it was part of had. */
static void cut(shadow_map *m, size_t grain, int cuts) {
  size_t was = (size_t)GRAIN >> m->cuts[grain], now = (size_t)GRAIN >> cuts;
  for (size_t at = grain * GRAIN, end = at + GRAIN; at < end; at += was)
    for (size_t part = at + now; part < at + was; part += now) copy_cell(cell_of(m, part), cell_of(m, at));
  m->cuts[grain] = (uint8_t)cuts;
}

/* The cell that begins at `at`, of bytes before `end` alone; *next is where the one after it begins. */
static cell *cell_at(shadow_map *m, size_t at, size_t end, size_t *next) {
  int cuts = m->cuts[at / GRAIN];
  size_t size = (size_t)GRAIN >> cuts;
  while (at % size || at + size > end) size /= 2, cuts++;
  if (cuts != m->cuts[at / GRAIN]) cut(m, at / GRAIN, cuts);
  *next = at + size;
  return cell_of(m, at);
}

/* Once for each cell of some bytes, which cuts those that reach beyond them. */
#define EACH_CELL(c, at, map, from, bytes)                                                                  \
  for (size_t at = (from), end_##at = at + (size_t)(bytes), next_##at = at; at < end_##at; at = next_##at) \
    for (cell *c = cell_at((map), at, end_##at, &next_##at); c; c = NULL)

/* ---- who read -----------------------------------------------------------------------------------------------------*/

/* Leaves the last read of each thread, and none that is ordered before t; returns how many. */
static int still_needed(reader *list, int n, const sim_thread *t) {
  static uint32_t seen[SIM_MAX_THREADS], round;
  int first = n;
  round++;
  for (int i = n; i-- > 0;) {
    if (seen[list[i].thread] == round || ordered(t, list[i].thread, list[i].clock)) continue;
    seen[list[i].thread] = round;
    list[--first] = list[i];
  }
  memmove(list, list + first, (size_t)(n - first) * sizeof *list);
  return n - first;
}

static void grow(cell *c, int cap) {
  reader *more = realloc(c->cap_readers ? c->readers : NULL, (size_t)cap * sizeof *more);
  if (!more) abort();
  if (!c->cap_readers) more[0] = c->one;
  c->readers = more;
  c->cap_readers = (uint16_t)cap;
}

/* The list is looked through only when it is full: of what all threads read, each would go through all before it. */
static void add_reader(cell *c, const sim_thread *t, int line) {
  reader *list = c->cap_readers ? c->readers : &c->one;
  const reader it = {(uint16_t)t->id, (uint16_t)line, t->clock[t->id]};
  int n = c->n_readers, cap = c->cap_readers ? c->cap_readers : 1;
  if (n && list[n - 1].thread == it.thread) {
    list[n - 1] = it;
    return;
  }
  if (n == cap) {
    n = still_needed(list, n, t);
    if (n > cap / 2) grow(c, 4 * cap);
    list = c->cap_readers ? c->readers : &c->one;
  }
  list[n++] = it;
  c->n_readers = (uint16_t)n;
}

/* The conflict of an access with what came before; NULL if ordered. */
static const char *conflict(const cell *c, const sim_thread *t, bool write, int *other_line, int *other_thread) {
  if ((c->state & CELL_WRITTEN) && !ordered(t, c->w_thread, c->w_clock)) {
    *other_line = c->w_line;
    *other_thread = c->w_thread;
    return write ? "writes what another wrote" : "reads what another wrote";
  }
  const reader *list = c->cap_readers ? c->readers : &c->one;
  for (int i = 0; write && i < c->n_readers; i++)
    if (list[i].thread != t->id && !ordered(t, list[i].thread, list[i].clock)) {
      *other_line = list[i].line;
      *other_thread = list[i].thread;
      return "writes what another reads";
    }
  return NULL;
}

static void report_race(const char *what, const char *where, int64_t at, int line, int other_line, int other_thread) {
  sim_find(EMU_RACE, line, other_line, "%s (line %d, thread %d) at %s byte %lld with nothing between", what, other_line,
           other_thread, where, (long long)at);
}

static void written(cell *c, unsigned thread, uint32_t clock, int line, int state) {
  c->state = (uint8_t)state;
  c->w_thread = (uint16_t)thread;
  c->w_clock = clock;
  c->w_line = (uint16_t)line;
  c->n_readers = 0;
}

/* Checks of one shared byte that all kinds of access share; false after a report. */
static bool shared_ok(const cell *c, const sim_thread *t, uint32_t at, bool write, int line) {
  int other_line = 0, other_thread = 0;
  const char *what;
  if (c->state & CELL_MBAR)
    sim_find(EMU_MBARRIER, line, 0, "ordinary access to the mbarrier at shared byte %u", at);
  else if (c->state & CELL_IN_FLIGHT)
    sim_find(EMU_ASYNC_EARLY, line, c->w_line, "%s shared byte %u while the copy of line %d is in flight",
             write ? "writes" : "reads", at, c->w_line);
  else if (!write && !(c->state & CELL_WRITTEN))
    sim_find(EMU_UNWRITTEN, line, 0, "shared byte %u was never written", at);
  else if ((what = conflict(c, t, write, &other_line, &other_thread)))
    report_race(what, "shared", at, line, other_line, other_thread);
  else if (write && c->reading)
    sim_find(EMU_RACE, line, 0, "writes shared byte %u which an asynchronous operation may still be reading", at);
  else
    return true;
  return false;
}

void shadow_shared(sim_thread *t, sim_block *b, uint32_t at, int bytes, bool write, int line) {
  bool ok = true;
  EACH_CELL(c, i, &b->shadow, at, bytes) {
    if (ok) ok = shared_ok(c, t, (uint32_t)i, write, line);
    if (c->state & (CELL_MBAR | CELL_IN_FLIGHT)) continue;
    if (write)
      written(c, (unsigned)t->id, t->clock[t->id], line, CELL_WRITTEN | CELL_GENERIC);
    else
      add_reader(c, t, line);
  }
}

void shadow_async_begin(sim_thread *t, sim_block *b, uint32_t at, int bytes, int line) {
  bool ok = true;
  EACH_CELL(c, i, &b->shadow, at, bytes) {
    if (ok) ok = shared_ok(c, t, (uint32_t)i, true, line);
    if (c->state & CELL_MBAR) continue;
    written(c, (unsigned)t->id, t->clock[t->id], line, CELL_IN_FLIGHT);
  }
  memset(b->shared + at, 0xff, (size_t)bytes); /* NaN in every float type */
}

void shadow_async_end(sim_thread *t, int agent, sim_block *b, uint32_t at, int bytes, int line) {
  EACH_CELL(c, i, &b->shadow, at, bytes) {
    if (c->state & CELL_MBAR) continue;
    if (t)
      written(c, (unsigned)t->id, t->clock[t->id], line, CELL_WRITTEN | CELL_GENERIC);
    else
      written(c, (unsigned)agent, S.bars[agent - S.n_threads].phase + 1, line, CELL_WRITTEN);
  }
}

/* Was a write through the ordinary proxy made visible to the async proxy, by its writer or by the reader? */
static bool fenced(const cell *c, const sim_thread *t) {
  if (t->fence_clock[c->w_thread] >= c->w_clock) return true;
  return (int)c->w_thread < S.n_threads && S.threads[c->w_thread]->fence_clock[c->w_thread] >= c->w_clock;
}

void shadow_async_read(sim_thread *t, sim_block *b, uint32_t at, int bytes, int line) {
  bool ok = true;
  EACH_CELL(c, i, &b->shadow, at, bytes) {
    if (ok) ok = shared_ok(c, t, (uint32_t)i, false, line);
    if (ok && (c->state & CELL_GENERIC) && !fenced(c, t)) {
      sim_find(EMU_ASYNC_FENCE, line, c->w_line,
               "shared byte %u was stored at line %d without fence_async_proxy before this", (uint32_t)i, c->w_line);
      ok = false;
    }
    c->reading++;
  }
}

void shadow_async_read_end(sim_thread *t, sim_block *b, uint32_t at, int bytes, int line) {
  EACH_CELL(c, i, &b->shadow, at, bytes) {
    if (c->reading) c->reading--;
    add_reader(c, t, line);
  }
}

void shadow_mbar(sim_block *b, uint32_t at) {
  EACH_CELL(c, i, &b->shadow, at, 8) {
    if (c->cap_readers) free(c->readers);
    *c = (cell){.state = CELL_MBAR | CELL_WRITTEN};
  }
}

static void global_cell(cell *c, int64_t at, bool write, int line, bool *ok) {
  sim_thread *t = S.now;
  uint32_t me = S.cluster_index + 1;
  int other_line = 0, other_thread = 0;
  const char *what = NULL;
  bool others_wrote = c->w_cluster && c->w_cluster != me, others_read = c->r_cluster && c->r_cluster != me;
  if (others_wrote || (write && others_read)) {
    if (*ok)
      sim_find(EMU_RACE, line, c->w_line, "%s global byte %lld that block(s) of another cluster %s",
               write ? "writes" : "reads", (long long)at, others_wrote ? "wrote" : "read");
    *ok = false;
    c->state = 0;
  } else if (*ok && (what = conflict(c, t, write, &other_line, &other_thread))) {
    report_race(what, "global", at, line, other_line, other_thread);
    *ok = false;
  }
  if (write) {
    written(c, (unsigned)t->id, t->clock[t->id], line, CELL_WRITTEN);
    c->w_cluster = me;
    return;
  }
  if (others_read) c->n_readers = 0;
  c->r_cluster = others_read ? SEVERAL : me;
  add_reader(c, t, line);
}

void shadow_global(const void *p, int bytes, bool write, int line) {
  for (int i = 0; i < S.d->n_ranges; i++) {
    sim_range *r = &S.ranges[i];
    int64_t at = (const uint8_t *)p - (uint8_t *)r->r.data;
    if (at < 0 || at + bytes > (int64_t)r->r.bytes) continue;
    S.report->global_bytes += bytes;
    if (!r->r.writable) {
      if (write)
        sim_find(EMU_OUT_OF_BOUNDS, line, 0, "writes byte %lld of buffer %d, which is an input", (long long)at, i);
      return;
    }
    bool ok = true;
    EACH_CELL(c, i, &r->shadow, (size_t)at, bytes) global_cell(c, (int64_t)i, write, line, &ok);
    return;
  }
  const emu_range *near = NULL;
  int64_t best = INT64_MAX;
  for (int i = 0; i < S.d->n_ranges; i++) {
    int64_t at = (const uint8_t *)p - (uint8_t *)S.d->ranges[i].data,
            far = at < 0 ? -at : at - (int64_t)S.d->ranges[i].bytes;
    if (far < best) best = far, near = &S.d->ranges[i];
  }
  sim_find(EMU_OUT_OF_BOUNDS, line, 0,
           "%s %d bytes at %p, outside every buffer (offset %lld of the nearest, buffer %d of %zu bytes)",
           write ? "writes" : "reads", bytes, p, near ? (long long)((const uint8_t *)p - (uint8_t *)near->data) : 0,
           near ? (int)(near - S.d->ranges) : -1, near ? near->bytes : 0);
  sim_stop();
}

void emu_access(const void *p, int bytes, int align, int kind, int space, int line) {
  if (!S.now) return;
  if (fiber_owns(p)) {
    wgmma_check_register(p, line);
    if (space != EMU_ANY_SPACE) sim_find(EMU_OUT_OF_BOUNDS, line, 0, "%p is in registers, not in memory", p);
    return;
  }
  if (align > 1 && (uintptr_t)p % (unsigned)align) {
    sim_find(EMU_MISALIGNED, line, 0, "%d bytes at %p, which must be %d-aligned", bytes, p, align);
    sim_stop();
  }
  if (!shadow_block_of(p)) {
    if (space == EMU_SHARED) shadow_offset(p, bytes, line); /* reports and stops */
    shadow_global(p, bytes, kind == EMU_WRITE, line);
    return;
  }
  uint32_t at = shadow_offset(p, bytes, line);
  if (space == EMU_GLOBAL) sim_find(EMU_OUT_OF_BOUNDS, line, 0, "global access to shared byte %u", at);
  shadow_shared(S.now, S.now->block, at, bytes, kind == EMU_WRITE, line);
  banks_log(S.now, at, bytes, kind == EMU_WRITE, line);
}
