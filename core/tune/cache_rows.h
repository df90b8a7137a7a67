/* core/tune/cache_rows.h - rows of a cache's database, for cache.c and cache_walk.c alone. */
#ifndef CORE_TUNE_CACHE_ROWS_H
#define CORE_TUNE_CACHE_ROWS_H
#include <pthread.h>

#include "core/tune/cache.h"
#include "core/tune/cache_db.h"
#include "core/tune/space.h"

enum { CACHE_KEY_PARTS = 9, CACHE_ENTRY_COLUMNS = 20, CACHE_KEY_TEXT = 1024 };

struct tune_cache {
  tsr_allocator al;
  pthread_mutex_t lock;
  db *d;
  uint64_t hits, misses, refused, bad_rows;
};

const char *cache_key_part(const tune_key *k, int i);
/* Parts joined by "|"; a "|" or a control character inside of one becomes "_". False when too long. */
bool cache_key_text(const tune_key *k, char out[CACHE_KEY_TEXT]);
/* Checks the checksum and that the configs can be read. */
bool cache_read_entry(const db_row *r, tune_entry *e);

typedef struct cache_trial_walk {
  tune_cache *c;
  bool (*fn)(void *user, const tune_trial *t);
  void *user;
  size_t n, bad;
} cache_trial_walk;

/* A row of a key's trials, for DB_TRIALS with such a walk. */
bool cache_trial_row(void *user, const db_row *r);
#endif
