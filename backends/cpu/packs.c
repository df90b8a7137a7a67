/* backends/cpu/packs.c - see packs.h. */
#include "backends/cpu/packs.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "backends/cpu/pool.h"

enum { UNPACKED = 0, PACKING, READY };

struct pack_entry {
  pack_key key;
  bool used;
  int users;
  uint64_t age;
  char *data;
  _Atomic uint8_t state[PACKS_MAX_PARTS];
};

struct packs {
  const tsr_allocator *al;
  pthread_mutex_t lock;
  pack_entry *entries;
  int n, cap;
  size_t bytes; /* of each entry */
  uint64_t clock;
};

tsr_status packs_create(const tsr_allocator *al, packs **out) {
  packs *p = *out = al_new(al, packs);
  if (!p) return st_oom();
  p->al = al;
  pthread_mutex_init(&p->lock, NULL);
  return NULL;
}

static void clear(packs *p) {
  for (int i = 0; i < p->cap; i++) al_free(p->al, p->entries[i].data, p->bytes, 64);
  al_free(p->al, p->entries, sizeof(pack_entry) * (size_t)p->cap, 16);
  p->entries = NULL;
  p->n = p->cap = 0;
}

void packs_destroy(packs **pp) {
  if (!*pp) return;
  clear(*pp);
  pthread_mutex_destroy(&(*pp)->lock);
  al_delete((*pp)->al, *pp);
  *pp = NULL;
}

tsr_status packs_reset(packs *p, int entries, size_t bytes, bool keep) {
  if (p->cap < entries || p->bytes < bytes) {
    clear(p);
    p->entries = al_zalloc(p->al, sizeof(pack_entry) * (size_t)entries);
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

static bool holds(const pack_entry *e, const pack_key *k) {
  return e->used && e->key.matmul == k->matmul && e->key.b == k->b && e->key.rows == k->rows && e->key.cols == k->cols;
}

pack_entry *packs_get(packs *p, const pack_key *key, int n_parts) {
  pthread_mutex_lock(&p->lock);
  pack_entry *best = NULL;
  for (int i = 0; i < p->n; i++) {
    pack_entry *e = &p->entries[i];
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

void packs_put(packs *p, pack_entry *e) {
  pthread_mutex_lock(&p->lock);
  e->users--;
  pthread_mutex_unlock(&p->lock);
}

char *packs_data(const pack_entry *e) { return e->data; }

static bool take(pack_entry *e, int i) {
  uint8_t want = UNPACKED;
  return atomic_compare_exchange_strong(&e->state[i], &want, PACKING);
}

bool packs_claim(pack_entry *e, int i, int n_parts, int *claimed) {
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

void packs_done(pack_entry *e, int i) { atomic_store_explicit(&e->state[i], READY, memory_order_release); }
