/* backends/cpu/panel_cache.c - see panel_cache.h. */
#include "backends/cpu/panel_cache.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "backends/cpu/pool.h"

enum { UNPACKED = 0, PACKING, READY };

struct panel_entry {
  panel_key key;
  bool used;
  int users;
  uint64_t age;
  char *data;
  _Atomic uint8_t state[PANEL_CACHE_MAX_PARTS];
};

struct panel_cache {
  const tsr_allocator *al;
  pthread_mutex_t lock;
  panel_entry *entries;
  int n, cap;
  size_t bytes; /* of each entry */
  uint64_t clock;
};

tsr_status panel_cache_create(const tsr_allocator *al, panel_cache **out) {
  panel_cache *p = *out = al_new(al, panel_cache);
  if (!p) return st_oom();
  p->al = al;
  pthread_mutex_init(&p->lock, NULL);
  return NULL;
}

static void clear(panel_cache *p) {
  for (int i = 0; i < p->cap; i++) al_free(p->al, p->entries[i].data, p->bytes, 64);
  al_free(p->al, p->entries, sizeof(panel_entry) * (size_t)p->cap, 16);
  p->entries = NULL;
  p->n = p->cap = 0;
}

void panel_cache_destroy(panel_cache **pp) {
  if (!*pp) return;
  clear(*pp);
  pthread_mutex_destroy(&(*pp)->lock);
  al_delete((*pp)->al, *pp);
  *pp = NULL;
}

tsr_status panel_cache_reset(panel_cache *p, int entries, size_t bytes, bool keep) {
  if (p->cap < entries || p->bytes < bytes) {
    clear(p);
    p->entries = al_zalloc(p->al, sizeof(panel_entry) * (size_t)entries);
    if (!p->entries) return st_oom();
    p->cap = entries;
    p->bytes = bytes;
    for (int i = 0; i < entries; i++)
      if (!(p->entries[i].data = al_alloc(p->al, bytes, 64))) {
        clear(p);
        return st_oom();
      }
  } else if (!keep) {
    for (int i = 0; i < p->cap; i++) p->entries[i].used = false;
  }
  p->n = p->cap;
  return NULL;
}

static bool holds(const panel_entry *e, const panel_key *k) {
  return e->used && e->key.matmul == k->matmul && e->key.matrix == k->matrix && e->key.side == k->side &&
         e->key.rows == k->rows && e->key.cols == k->cols;
}

panel_entry *panel_cache_acquire(panel_cache *p, const panel_key *key, int n_parts) {
  pthread_mutex_lock(&p->lock);
  panel_entry *best = NULL;
  for (int i = 0; i < p->n; i++) {
    panel_entry *e = &p->entries[i];
    if (holds(e, key)) {
      best = e;
      break;
    }
    if (e->users) continue;
    if (!best || (best->used && (!e->used || e->age < best->age))) best = e;
  }
  if (best && !holds(best, key)) {
    best->key = *key;
    best->used = true;
    memset((void *)best->state, UNPACKED, (size_t)n_parts);
  }
  if (best) {
    best->users++;
    best->age = ++p->clock;
  }
  pthread_mutex_unlock(&p->lock);
  return best;
}

void panel_cache_release(panel_cache *p, panel_entry *e) {
  pthread_mutex_lock(&p->lock);
  e->users--;
  pthread_mutex_unlock(&p->lock);
}

char *panel_cache_data(const panel_entry *e) { return e->data; }

static bool take(panel_entry *e, int i) {
  uint8_t want = UNPACKED;
  return atomic_compare_exchange_strong(&e->state[i], &want, PACKING);
}

bool panel_cache_claim(panel_entry *e, int i, int n_parts, int *claimed) {
  for (int spins = 0;; spins++) {
    uint8_t s = atomic_load_explicit(&e->state[i], memory_order_acquire);
    if (s == READY) return false;
    if (s == UNPACKED && take(e, i)) {
      *claimed = i;
      return true;
    }
    /* Someone else packs it: work ahead rather than wait. */
    for (int j = i + 1; j < n_parts; j++)
      if (atomic_load_explicit(&e->state[j], memory_order_relaxed) == UNPACKED && take(e, j)) {
        *claimed = j;
        return true;
      }
    pool_relax(spins);
  }
}

void panel_cache_done(panel_entry *e, int i) { atomic_store_explicit(&e->state[i], READY, memory_order_release); }
