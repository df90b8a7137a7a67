/* core/tune/cache.c - see cache.h. Rows in and out of the database, their checksums, and the lock. What goes over all
 * rows: cache_walk.c. JSON: cache_json.c. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "core/tune/cache.h"

#include "core/base/hash.h"
#include "core/base/knob.h"
#include "core/base/number.h"
#include "core/tune/cache_rows.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

const char *cache_key_part(const tune_key *k, int i) {
  const char *const p[CACHE_KEY_PARTS] = {k->op,   k->shape, k->dtype,  k->layout,   k->policy,
                                    k->mesh, k->arch,  k->driver, k->generator};
  return p[i] ? p[i] : "";
}

bool cache_key_text(const tune_key *k, char out[CACHE_KEY_TEXT]) {
  size_t n = 0;
  for (int i = 0; i < CACHE_KEY_PARTS; i++) {
    for (const char *s = cache_key_part(k, i); *s; s++) {
      if (n + 2 >= CACHE_KEY_TEXT) return false;
      out[n++] = *s == '|' || (unsigned char)*s < ' ' ? '_' : *s;
    }
    out[n++] = i + 1 < CACHE_KEY_PARTS ? '|' : 0;
    if (n >= CACHE_KEY_TEXT) return false;
  }
  return true;
}

static void sum_row(const db_arg *args, int n, char out[20]) {
  uint64_t h = HASH_SEED;
  for (int i = 0; i < n; i++) {
    char number[40];
    if (!args[i].text)
      number_print(number, sizeof number, "%.17g", args[i].number + 0.0); /* no minus before 0: SQLite keeps none */
    h = hash_str(h, args[i].text ? args[i].text : number);
  }
  snprintf(out, 20, "%016llx", (unsigned long long)hash_mix(h));
}

static bool row_is_sound(const db_row *r, int columns) {
  db_arg args[DB_MAX_COLUMNS];
  char sum[20];
  if (r->n != columns || !r->text[columns - 1]) return false;
  for (int i = 0; i < columns - 1; i++) args[i] = (db_arg){r->text[i], r->number[i]};
  sum_row(args, columns - 1, sum);
  return !strcmp(sum, r->text[columns - 1]);
}

static void make_folder(const char *dir) {
  char path[1024];
  if (snprintf(path, sizeof path, "%s", dir) >= (int)sizeof path) return;
  for (char *p = path + 1; *p; p++) {
    if (*p != '/') continue;
    *p = 0;
    mkdir(path, 0700); /* failure shows when the file is opened */
    *p = '/';
  }
  mkdir(path, 0700);
}

/* Without a path: a cache that keeps nothing. */
static tsr_status make(const tsr_allocator *al, const char *path, bool read_only, tune_cache **out) {
  tune_cache *c = al_new(al, tune_cache);
  if (!c) return st_oom();
  c->al = al && al->alloc ? *al : al_default;
  c->d = !path       ? db_none(al, "off: TSR_CACHE_DIR is empty")
         : read_only ? db_open_read_only(al, path)
                     : db_open(al, path);
  if (!c->d) {
    al_delete(&c->al, c);
    return st_oom();
  }
  pthread_mutex_init(&c->lock, NULL);
  *out = c;
  return NULL;
}

tsr_status cache_check_name(const tsr_allocator *al, const char *name) {
  enum { MOST = 60 };
  for (const char *c = name; *c; c++)
    if (name[0] == '.' || !(ascii_alnum(*c) || strchr("_-.", *c)))
      return st_make(al, TSR_INVALID_ARGUMENT, ST_WHERE("tune", "cache", "use letters, digits, `_`, `-`, `.`"),
                     "bad cache name `%.64s`", name);
  return strlen(name) <= MOST ? NULL
                              : st_make(al, TSR_INVALID_ARGUMENT, ST_WHERE("tune", "cache", NULL),
                                        "a cache name of %zu letters; at most %d", strlen(name), MOST);
}

static tsr_status place(const tsr_allocator *al, const char *dir, const char *name, char *path, size_t path_bytes) {
  TSR_TRY(cache_check_name(al, name));
  if (snprintf(path, path_bytes, "%s/%s.sqlite", dir, name) >= (int)path_bytes - 32)
    return st_make(al, TSR_INVALID_ARGUMENT, ST_WHERE("tune", "cache", NULL), "the path of the cache is too long");
  return NULL;
}

tsr_status cache_open(const tsr_allocator *al, const char *dir, const char *name, tune_cache **out) {
  char path[1024];
  *out = NULL;
  if (!dir || !*dir) dir = knob_str("TSR_CACHE_DIR");
  if (!*dir) return make(al, NULL, false, out);
  TSR_TRY(place(al, dir, name && *name ? name : "tune", path, sizeof path));
  if (cache_in_build()) make_folder(dir);
  return make(al, path, false, out);
}

bool cache_in_build(void) { return db_in_build(); }

tsr_status cache_path(const tsr_allocator *al, const char *dir, const char *name, char *path, size_t path_bytes,
                      bool *exists) {
  if (!dir || !*dir) dir = knob_str("TSR_CACHE_DIR");
  if (!*dir) return *path = 0, *exists = false, NULL;
  TSR_TRY(place(al, dir, name && *name ? name : "tune", path, path_bytes));
  *exists = access(path, F_OK) == 0 || errno != ENOENT;
  return NULL;
}

tsr_status cache_open_file(const tsr_allocator *al, const char *path, tune_cache **out) {
  *out = NULL;
  TSR_TRY(make(al, path, true, out));
  if (db_state_of((*out)->d) != DB_OFF) return NULL;
  tsr_status st = st_make(al, TSR_IO_ERROR, ST_WHERE("tune", "cache", NULL), "%s: %s", path, db_why((*out)->d));
  cache_close(out);
  return st;
}

void cache_close(tune_cache **c) {
  if (!*c) return;
  tsr_allocator al = (*c)->al;
  db_close(&(*c)->d);
  pthread_mutex_destroy(&(*c)->lock);
  al_delete(&al, *c);
  *c = NULL;
}

static bool count_row(void *user, const db_row *r) {
  cache_info *i = user;
  i->entries = (uint64_t)r->number[0];
  i->trials = r->n > 1 ? (uint64_t)r->number[1] : 0;
  return true;
}

void cache_describe(tune_cache *c, cache_info *out) {
  memset(out, 0, sizeof *out);
  if (!c) {
    out->off = true;
    snprintf(out->why, sizeof out->why, "off");
    return;
  }
  pthread_mutex_lock(&c->lock);
  db_run(c->d, DB_COUNT, NULL, 0, count_row, out, NULL);
  out->readable = db_state_of(c->d) != DB_OFF;
  out->off = db_is_none(c->d);
  out->writable = db_state_of(c->d) == DB_ON;
  snprintf(out->why, sizeof out->why, "%s", db_why(c->d));
  snprintf(out->path, sizeof out->path, "%s", db_path(c->d));
  out->quarantined = db_quarantined(c->d);
  out->hits = c->hits, out->misses = c->misses, out->refused_writes = c->refused, out->bad_rows = c->bad_rows;
  pthread_mutex_unlock(&c->lock);
}

static void copy(char *to, size_t n, const char *from) { snprintf(to, n, "%s", from ? from : ""); }

bool cache_read_entry(const db_row *r, tune_entry *e) {
  tune_config tmp;
  memset(e, 0, sizeof *e);
  if (!row_is_sound(r, CACHE_ENTRY_COLUMNS)) return false;
  for (int i = 0; i < 13; i++)
    if (!r->text[i]) return false;
  copy(e->config, sizeof e->config, r->text[10]);
  copy(e->runner_up, sizeof e->runner_up, r->text[11]);
  copy(e->strategy, sizeof e->strategy, r->text[12]);
  e->best_ns = r->number[13], e->runner_up_ns = r->number[14], e->default_ns = r->number[15];
  e->predicted_ns = r->number[16], e->samples = r->number[17];
  return e->config[0] && tune_config_parse(e->config, &tmp) && tune_config_parse(e->runner_up, &tmp);
}

typedef struct lookup {
  tune_entry entry;
  bool found, bad;
} lookup;

static bool lookup_row(void *user, const db_row *r) {
  lookup *l = user;
  l->found = cache_read_entry(r, &l->entry);
  l->bad = !l->found;
  return false;
}

static bool lookup_locked(tune_cache *c, const char *text, tune_entry *out) {
  lookup l = {.found = false};
  db_arg arg = {text, 0};
  db_run(c->d, DB_LOOKUP, &arg, 1, lookup_row, &l, NULL);
  if (l.bad) {
    c->bad_rows++;
    db_do(c->d, DB_DELETE, {text, 0}); /* so that a new search can take its place */
  }
  if (l.found) *out = l.entry;
  return l.found;
}

bool cache_lookup(tune_cache *c, const tune_key *key, tune_entry *out) {
  char text[CACHE_KEY_TEXT];
  memset(out, 0, sizeof *out);
  if (!c || !cache_key_text(key, text)) return false;
  pthread_mutex_lock(&c->lock);
  bool hit = lookup_locked(c, text, out);
  *(hit ? &c->hits : &c->misses) += 1;
  pthread_mutex_unlock(&c->lock);
  return hit;
}

/* The row's arguments, the checksum last. `text` and `sum` must live as long. */
static void entry_args(const tune_key *k, const char *text, const tune_entry *e, double created,
                       db_arg a[CACHE_ENTRY_COLUMNS], char sum[20]) {
  a[0] = (db_arg){text, 0};
  for (int i = 0; i < CACHE_KEY_PARTS; i++) a[1 + i] = (db_arg){cache_key_part(k, i), 0};
  a[10] = (db_arg){e->config, 0}, a[11] = (db_arg){e->runner_up, 0}, a[12] = (db_arg){e->strategy, 0};
  a[13] = (db_arg){NULL, e->best_ns}, a[14] = (db_arg){NULL, e->runner_up_ns}, a[15] = (db_arg){NULL, e->default_ns};
  a[16] = (db_arg){NULL, e->predicted_ns}, a[17] = (db_arg){NULL, e->samples}, a[18] = (db_arg){NULL, created};
  sum_row(a, CACHE_ENTRY_COLUMNS - 1, sum);
  a[CACHE_ENTRY_COLUMNS - 1] = (db_arg){sum, 0};
}

bool cache_store(tune_cache *c, const tune_key *key, const tune_entry *entry, bool replace, tune_entry *kept) {
  char text[CACHE_KEY_TEXT], sum[20];
  db_arg a[CACHE_ENTRY_COLUMNS];
  if (kept) *kept = *entry;
  if (!c || !cache_key_text(key, text)) return false;
  entry_args(key, text, entry, (double)time(NULL), a, sum);
  pthread_mutex_lock(&c->lock);
  tune_entry there;
  if (!replace) lookup_locked(c, text, &there); /* drops a damaged row, which would win otherwise */
  bool ok = db_run(c->d, replace ? DB_STORE_REPLACE : DB_STORE_NEW, a, CACHE_ENTRY_COLUMNS, NULL, NULL, NULL);
  if (!ok) c->refused++;
  if (ok && kept && lookup_locked(c, text, &there)) *kept = there;
  pthread_mutex_unlock(&c->lock);
  return ok;
}

static bool add_trial_locked(tune_cache *c, const char *text, const tune_trial *t) {
  char sum[20];
  db_arg a[6] = {{text, 0}, {t->config, 0}, {t->state, 0}, {NULL, t->ns}, {NULL, t->registers}, {NULL, 0}};
  sum_row(a, 5, sum);
  a[5] = (db_arg){sum, 0};
  bool ok = db_run(c->d, DB_TRIAL_ADD, a, 6, NULL, NULL, NULL);
  if (!ok) c->refused++;
  return ok;
}

bool cache_keep_trial(tune_cache *c, const tune_key *key, const tune_trial *t) {
  char text[CACHE_KEY_TEXT];
  if (!c || !cache_key_text(key, text)) return false;
  pthread_mutex_lock(&c->lock);
  bool ok = add_trial_locked(c, text, t);
  pthread_mutex_unlock(&c->lock);
  return ok;
}

static bool device_row(void *user, const db_row *r) {
  if (row_is_sound(r, 3) && r->text[1]) strb_puts(user, r->text[1]);
  return false;
}

/* What ran is kept beside the devices' rates, under a name that no device has. */
typedef struct ran_id {
  char text[CACHE_KEY_TEXT + TUNE_CONFIG_TEXT + 8];
} ran_id;

static ran_id id_of_run(const char *key, const char *config) {
  ran_id id;
  snprintf(id.text, sizeof id.text, "ran\n%s\n%s", key, config);
  return id;
}

static void set_device_locked(tune_cache *c, const char *id, const char *profile, bool *ok) {
  char sum[20];
  db_arg a[3] = {{id, 0}, {profile, 0}, {NULL, 0}};
  sum_row(a, 2, sum);
  a[2].text = sum;
  *ok = db_run(c->d, DB_DEVICE_SET, a, 3, NULL, NULL, NULL);
  if (!*ok) c->refused++;
}

bool cache_seen_running(tune_cache *c, const tune_key *key, const char *config) {
  char text[CACHE_KEY_TEXT];
  if (!c || !cache_key_text(key, text)) return false;
  ran_id id = id_of_run(text, config);
  db_arg arg = {id.text, 0};
  strb said;
  strb_init(&said, &c->al);
  pthread_mutex_lock(&c->lock);
  db_run(c->d, DB_DEVICE_GET, &arg, 1, device_row, &said, NULL);
  pthread_mutex_unlock(&c->lock);
  bool seen = strb_ok(&said) && !strcmp(strb_text(&said), "yes");
  strb_clear(&said);
  return seen;
}

void cache_note_running(tune_cache *c, const tune_key *key, const char *config) {
  char text[CACHE_KEY_TEXT];
  bool ok;
  if (!c || !cache_key_text(key, text)) return;
  ran_id id = id_of_run(text, config);
  pthread_mutex_lock(&c->lock);
  set_device_locked(c, id.text, "yes", &ok);
  pthread_mutex_unlock(&c->lock);
}

bool cache_winner_failed(tune_cache *c, const tune_key *key, tune_entry *now) {
  char text[CACHE_KEY_TEXT], sum[20];
  tune_entry e;
  db_arg a[CACHE_ENTRY_COLUMNS];
  memset(now, 0, sizeof *now);
  if (!c || !cache_key_text(key, text)) return false;
  pthread_mutex_lock(&c->lock);
  bool had = lookup_locked(c, text, &e), ok = false;
  if (had) {
    tune_trial t = {.state = "failed", .registers = -1};
    copy(t.config, sizeof t.config, e.config);
    add_trial_locked(c, text, &t);
    ran_id ran = id_of_run(text, e.config);
    set_device_locked(c, ran.text, "no", &ok);
    if (e.runner_up[0]) {
      copy(e.config, sizeof e.config, e.runner_up);
      e.best_ns = e.runner_up_ns;
      e.runner_up[0] = 0;
      e.runner_up_ns = 0;
      entry_args(key, text, &e, (double)time(NULL), a, sum);
      ok = db_run(c->d, DB_STORE_REPLACE, a, CACHE_ENTRY_COLUMNS, NULL, NULL, NULL);
      *now = e;
    } else {
      ok = db_do(c->d, DB_DELETE, {text, 0});
    }
  }
  pthread_mutex_unlock(&c->lock);
  return ok;
}

bool cache_trial_row(void *user, const db_row *r) {
  cache_trial_walk *w = user;
  tune_trial t = {.ns = r->number[3], .registers = r->number[4]};
  tune_config tmp;
  if (!row_is_sound(r, 6) || !r->text[1] || strlen(r->text[1]) >= sizeof t.config ||
      !tune_config_parse(r->text[1], &tmp)) {
    w->bad++;
    return true;
  }
  copy(t.config, sizeof t.config, r->text[1]);
  copy(t.state, sizeof t.state, r->text[2]);
  w->n++;
  return !w->fn || w->fn(w->user, &t);
}

size_t cache_trials(tune_cache *c, const tune_key *key, bool (*fn)(void *user, const tune_trial *t), void *user) {
  char text[CACHE_KEY_TEXT];
  if (!c || !cache_key_text(key, text)) return 0;
  cache_trial_walk w = {c, fn, user, 0, 0};
  db_arg arg = {text, 0};
  pthread_mutex_lock(&c->lock);
  db_run(c->d, DB_TRIALS, &arg, 1, cache_trial_row, &w, NULL);
  c->bad_rows += w.bad;
  pthread_mutex_unlock(&c->lock);
  return w.n;
}

bool cache_device(tune_cache *c, const char *id, strb *out) {
  size_t before = out->n;
  db_arg arg = {id, 0};
  if (!c) return false;
  pthread_mutex_lock(&c->lock);
  db_run(c->d, DB_DEVICE_GET, &arg, 1, device_row, out, NULL);
  pthread_mutex_unlock(&c->lock);
  return out->n > before && strb_ok(out);
}

bool cache_set_device(tune_cache *c, const char *id, const char *profile) {
  bool ok;
  if (!c) return false;
  pthread_mutex_lock(&c->lock);
  set_device_locked(c, id, profile, &ok);
  pthread_mutex_unlock(&c->lock);
  return ok;
}

bool cache_clear(tune_cache *c) {
  if (!c) return false;
  pthread_mutex_lock(&c->lock);
  bool ok = db_run(c->d, DB_CLEAR, NULL, 0, NULL, NULL, NULL) &&
            db_run(c->d, DB_TRIALS_CLEAR, NULL, 0, NULL, NULL, NULL) &&
            db_run(c->d, DB_DEVICES_CLEAR, NULL, 0, NULL, NULL, NULL);
  pthread_mutex_unlock(&c->lock);
  return ok;
}
