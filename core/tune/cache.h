/* core/tune/cache.h - what tuning found, kept between runs: the best config and its runner-up per key, every trial also
 * the failed ones, and each device's measured rates. One SQLite file (WAL, many processes) per cache name in
 * `.tessera/cache/`. Invariant: the cache never fails the work. Anything missing, damaged, foreign or from another
 * device is a miss; what can't be written is counted. Every row carries a checksum. No decision uses the clock.
 * Threads: all calls may come from any thread. For users: docs/tuning.md. */
#ifndef CORE_TUNE_CACHE_H
#define CORE_TUNE_CACHE_H
#include "core/base/status.h"
#include "core/base/str.h"
#include "core/tune/problem.h"

typedef struct tune_cache tune_cache;

/* All parts are compared as text; NULL counts as "". `generator` is the hash of everything that makes code. */
typedef struct tune_key {
  const char *op, *shape, *dtype, *layout, *policy, *mesh, *arch, *driver, *generator;
} tune_key;

enum { TUNE_CONFIG_TEXT = 192 };

typedef struct tune_entry {
  char config[TUNE_CONFIG_TEXT], runner_up[TUNE_CONFIG_TEXT]; /* tune_config text; runner_up may be "" */
  char strategy[24];
  double best_ns, runner_up_ns, default_ns, predicted_ns, samples;
} tune_entry;

typedef struct tune_trial {
  char config[TUNE_CONFIG_TEXT];
  char state[8]; /* ok, failed, wrong */
  double ns;
  double registers; /* per thread as the driver told; negative: unknown */
} tune_trial;

typedef struct cache_info {
  bool readable, writable;
  bool off; /* there is no file to keep anything in: switched off, or built without SQLite */
  char why[256], path[1024]; /* why it is off or read-only, or what was set aside */
  int quarantined;
  uint64_t hits, misses, refused_writes, bad_rows; /* of this process */
  uint64_t entries, trials;
} cache_info;

/* `dir` NULL or empty: TSR_CACHE_DIR; where that is empty too, a cache that is off. `name` NULL: "tune"; letters,
 * digits, `_`, `-`, `.`. Makes the folder. Errors: a bad name, out of memory; an unusable place is no error (cache_info
 * tells). */
TSR_MUST_USE tsr_status cache_open(const tsr_allocator *al, const char *dir, const char *name, tune_cache **out);
/* TSR_INVALID_ARGUMENT for what is no name of a cache. */
TSR_MUST_USE tsr_status cache_check_name(const tsr_allocator *al, const char *name);
/* Was the library built with SQLite? Without, every cache is off. */
bool cache_in_build(void);
/* Where cache_open would keep it ("" when that is switched off), and whether something is there; makes nothing. */
TSR_MUST_USE tsr_status cache_path(const tsr_allocator *al, const char *dir, const char *name, char *path,
                                   size_t path_bytes, bool *exists);
/* Reads a database at its own path and never writes. */
TSR_MUST_USE tsr_status cache_open_file(const tsr_allocator *al, const char *path, tune_cache **out);
void cache_close(tune_cache **c);
void cache_describe(tune_cache *c, cache_info *out);

/* False: a miss. A NULL cache always misses and keeps nothing. */
bool cache_lookup(tune_cache *c, const tune_key *key, tune_entry *out);
/* Without `replace` the first writer wins; then *kept holds what is now stored, so that all processes agree. */
bool cache_store(tune_cache *c, const tune_key *key, const tune_entry *entry, bool replace, tune_entry *kept);
/* The winner failed to launch: the runner-up takes its place and the winner becomes a failed trial; without a runner-up
 * the entry goes. False when there was nothing to do. */
bool cache_winner_failed(tune_cache *c, const tune_key *key, tune_entry *now);
/* Has this config of the key run to its end on such a device here, in a program and not only in a search? Not exported:
 * another machine sees for itself. Forgotten when the config fails. */
bool cache_seen_running(tune_cache *c, const tune_key *key, const char *config);
void cache_note_running(tune_cache *c, const tune_key *key, const char *config);
bool cache_keep_trial(tune_cache *c, const tune_key *key, const tune_trial *t);
/* Calls `fn` for each sound trial; returns their number. */
size_t cache_trials(tune_cache *c, const tune_key *key, bool (*fn)(void *user, const tune_trial *t), void *user);
/* Winners of the nearest other shapes (log2 distance at most 4 summed over the dimensions), nearest first. */
size_t cache_neighbours(tune_cache *c, const tune_key *key, tune_config *out, size_t max);

/* A device's measured profile as text; false: not there. */
bool cache_device(tune_cache *c, const char *id, strb *out);
bool cache_set_device(tune_cache *c, const char *id, const char *profile);

/* Everything. False when it could not be written. */
bool cache_clear(tune_cache *c);
/* JSON, schema 1: {"schema":1,"entries":[{"op":...,"config":...,"trials":[...]}]}. */
TSR_MUST_USE tsr_status cache_export(tune_cache *c, strb *out);
typedef struct cache_import_count {
  size_t added, kept, refused; /* new; already there; malformed, of a merge damaged entries and trials */
} cache_import_count;
/* Entries of other devices are welcome: their key can't match here. `replace` overwrites what is there. */
TSR_MUST_USE tsr_status cache_import(tune_cache *c, const char *text, size_t n, const char *file, bool replace,
                                     cache_import_count *count);
TSR_MUST_USE tsr_status cache_merge(tune_cache *c, tune_cache *from, bool replace, cache_import_count *count);
typedef struct cache_check {
  size_t entries, bad_entries, bad_trials;
  bool file_sound;
  char first_bad[192]; /* the key of the first damaged entry, or of the first that has a damaged trial; "": none */
} cache_check;
bool cache_verify(tune_cache *c, cache_check *out);

/* One line per entry, or one JSON object per line. `match` NULL or a part of the key's text. Returns the number. */
size_t cache_list(tune_cache *c, const char *match, bool json, strb *out);
/* Entries with all their trials, as text or in cache_export's form. Returns the number. */
size_t cache_show(tune_cache *c, const char *match, bool json, strb *out);

/* For the above: entries in key order. */
typedef bool (*cache_entry_fn)(void *user, const tune_key *key, const char *key_text, const tune_entry *e);
size_t cache_each(tune_cache *c, cache_entry_fn fn, void *user);
#endif
