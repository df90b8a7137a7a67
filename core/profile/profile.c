/* core/profile/profile.c - see profile.h. */
#include "core/profile/profile.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/sample.h"

struct prof_log {
  tsr_allocator al;
  pthread_mutex_t lock;
  arena strings;
  prof_event *events;
  size_t n, cap, dropped;
};

prof_event prof_event_init(prof_kind kind, const char *op) {
  return (prof_event){.kind = kind,
                      .op = op,
                      .detail = "",
                      .kernel = "",
                      .device = "",
                      .original = "",
                      .original_why = "",
                      .waits = "",
                      .flops = -1,
                      .bytes = -1,
                      .bytes_measured = -1,
                      .occupancy = -1,
                      .registers = -1,
                      .spill_bytes = -1,
                      .shared_bytes = -1,
                      .tiles = -1,
                      .parallel = -1,
                      .tile_ns = -1,
                      .tile_min_ns = -1,
                      .tile_max_ns = -1};
}

tsr_status prof_log_create(const tsr_allocator *al, prof_log **out) {
  *out = al_new(al, prof_log);
  if (!*out) return st_oom();
  (*out)->al = al && al->alloc ? *al : al_default;
  arena_init(&(*out)->strings, al);
  pthread_mutex_init(&(*out)->lock, NULL);
  return NULL;
}

void prof_log_destroy(prof_log **l) {
  if (!*l) return;
  tsr_allocator al = (*l)->al;
  arena_clear(&(*l)->strings);
  al_free_array(&al, (*l)->events, (*l)->cap);
  pthread_mutex_destroy(&(*l)->lock);
  al_delete(&al, *l);
  *l = NULL;
}

size_t prof_count(const prof_log *l) { return l->n; }
size_t prof_dropped(const prof_log *l) { return l->dropped; }
const prof_event *prof_at(const prof_log *l, size_t i) { return &l->events[i]; }

void prof_clear(prof_log *l) {
  pthread_mutex_lock(&l->lock);
  l->n = l->dropped = 0;
  arena_clear(&l->strings);
  pthread_mutex_unlock(&l->lock);
}

/* The event's string, shared with the latest event that has the same: a step repeats its kernels. */
static const char *keep(prof_log *l, const char *s, size_t at) {
  enum { LOOK_BACK = 64 };
  if (!s) s = "";
  for (size_t i = l->n; i-- > 0 && l->n - i <= LOOK_BACK;) {
    const char *old;
    memcpy(&old, (const char *)&l->events[i] + at, sizeof old);
    if (!strcmp(old, s)) return old;
  }
  return arena_str(&l->strings, s);
}

void prof_add(prof_log *l, const prof_event *e) {
  pthread_mutex_lock(&l->lock);
  if (al_grow(&l->al, &l->events, &l->cap, l->n + 1, sizeof *l->events)) {
    prof_event copy = *e;
    copy.op = keep(l, e->op, offsetof(prof_event, op));
    copy.detail = keep(l, e->detail, offsetof(prof_event, detail));
    copy.kernel = keep(l, e->kernel, offsetof(prof_event, kernel));
    copy.device = keep(l, e->device, offsetof(prof_event, device));
    copy.original = keep(l, e->original, offsetof(prof_event, original));
    copy.original_why = keep(l, e->original_why, offsetof(prof_event, original_why));
    copy.waits = keep(l, e->waits, offsetof(prof_event, waits));
    if (copy.op && copy.detail && copy.kernel && copy.device && copy.original && copy.original_why && copy.waits)
      l->events[l->n++] = copy;
    else l->dropped++;
  } else {
    l->dropped++;
  }
  pthread_mutex_unlock(&l->lock);
}

static bool same_row(const prof_event *a, const prof_event *b) {
  return a->kind == b->kind && !strcmp(a->op, b->op) && !strcmp(a->detail, b->detail) &&
         !strcmp(a->kernel, b->kernel) && !strcmp(a->device, b->device) && !strcmp(a->original, b->original);
}

/* Mean of what is known, negative when nothing is. */
typedef struct mean {
  double sum;
  size_t n;
} mean;
static void mean_add(mean *m, double v) {
  if (v < 0) return;
  m->sum += v;
  m->n++;
}
static double mean_of(const mean *m) { return m->n ? m->sum / (double)m->n : -1; }

static void fill_row(const prof_log *l, const size_t *row_of, size_t row, prof_row *r, double *times) {
  mean occupancy = {0}, measured = {0}, tile = {0};
  int last_step = -1;
  r->tile_min_ns = r->tile_max_ns = -1;
  for (size_t i = 0; i < l->n; i++) {
    if (row_of[i] != row) continue;
    const prof_event *e = &l->events[i];
    times[r->count++] = e->end_ns - e->start_ns;
    r->total_ns += e->end_ns - e->start_ns;
    mean_add(&occupancy, e->occupancy);
    mean_add(&measured, e->bytes_measured);
    mean_add(&tile, e->tile_ns);
    if (e->tile_min_ns >= 0 && (r->tile_min_ns < 0 || e->tile_min_ns < r->tile_min_ns)) r->tile_min_ns = e->tile_min_ns;
    if (e->tile_max_ns > r->tile_max_ns) r->tile_max_ns = e->tile_max_ns;
    r->steps += e->step != last_step;
    last_step = e->step;
  }
  sample_sort(times, r->count);
  r->median_ns = sample_median(times, r->count);
  r->min_ns = times[0];
  r->max_ns = times[r->count - 1];
  r->occupancy = mean_of(&occupancy);
  r->bytes_measured = mean_of(&measured);
  const prof_event *e = &r->first;
  double bytes = r->bytes_measured >= 0 ? r->bytes_measured : e->bytes;
  bool link = e->kind == PROF_COLLECTIVE;
  r->gflops = e->flops > 0 && r->median_ns > 0 ? e->flops / r->median_ns : -1;
  r->gbytes_per_s = bytes > 0 && r->median_ns > 0 ? bytes / r->median_ns : -1;
  r->tile_ns = tile.n ? mean_of(&tile)
               : e->tiles > 0 && e->parallel > 0
                   ? r->median_ns * (e->parallel < e->tiles ? e->parallel : e->tiles) / e->tiles
                   : -1;
  r->bound = prof_classify(r->median_ns, e->flops, link ? -1 : bytes, link ? bytes : -1, &e->peaks);
}

tsr_status prof_aggregate(const prof_log *l, const tsr_allocator *al, prof_row **out, size_t *n_out) {
  prof_row *rows = NULL;
  size_t n = 0, cap = 0;
  *out = NULL;
  *n_out = 0;
  size_t *row_of = al_alloc(al, (l->n + 1) * sizeof *row_of, 16);
  double *times = al_alloc(al, (l->n + 1) * sizeof *times, 16);
  bool ok = row_of && times;
  for (size_t i = 0; ok && i < l->n; i++) {
    size_t r = n;
    for (size_t k = 0; k < n && r == n; k++)
      if (same_row(&rows[k].first, &l->events[i])) r = k;
    row_of[i] = r;
    if (r < n) continue;
    ok = al_grow(al, &rows, &cap, n + 1, sizeof *rows);
    if (ok) rows[n++] = (prof_row){.first = l->events[i]};
  }
  prof_row *exact = ok && n ? al_alloc(al, n * sizeof *exact, 16) : NULL; /* the count frees it */
  ok = ok && (!n || exact);
  for (size_t r = 0; ok && r < n; r++) {
    exact[r] = rows[r];
    fill_row(l, row_of, r, &exact[r], times);
  }
  for (size_t r = 0; ok && r < n; r++) {
    double total = 0;
    for (size_t k = 0; k < n; k++)
      if (!strcmp(exact[k].first.device, exact[r].first.device)) total += exact[k].total_ns;
    exact[r].share = total > 0 ? exact[r].total_ns / total : 0;
  }
  al_free(al, row_of, (l->n + 1) * sizeof *row_of, 16);
  al_free(al, times, (l->n + 1) * sizeof *times, 16);
  al_free_array(al, rows, cap);
  if (!ok) return st_oom();
  *out = exact;
  *n_out = n;
  return NULL;
}
