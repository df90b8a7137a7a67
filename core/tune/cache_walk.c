/* core/tune/cache_walk.c - what goes over many rows of a cache: neighbours of a key, all entries, a file's check. */
#include "core/tune/cache_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NEAR = 16 };
typedef struct near_walk {
  const char *key, *shape, *mesh;
  struct {
    double distance;
    tune_config config;
  } best[MAX_NEAR];
  size_t n, max;
} near_walk;

/* Summed |log2| over the extents; infinite when the ranks differ. */
static double shape_distance(const char *a, const char *b) {
  double d = 0;
  for (;;) {
    char *ea, *eb;
    double x = (double)strtoll(a, &ea, 10), y = (double)strtoll(b, &eb, 10);
    if (ea == a || eb == b || x < 1 || y < 1) return INFINITY;
    d += fabs(log2(x / y));
    if (!*ea && !*eb) return d;
    if (!*ea || !*eb || *ea != *eb) return INFINITY;
    a = ea + 1, b = eb + 1;
  }
}

static bool near_row(void *user, const db_row *r) {
  near_walk *w = user;
  tune_entry e;
  if (!cache_read_entry(r, &e) || !strcmp(r->text[0], w->key) || strcmp(r->text[6], w->mesh)) return true;
  double d = shape_distance(r->text[2], w->shape);
  tune_config c;
  if (!(d <= 4) || !tune_config_parse(e.config, &c)) return true;
  if (w->n == w->max && w->best[w->max - 1].distance <= d) return true;
  size_t at = w->n < w->max ? w->n++ : w->max - 1;
  for (; at > 0 && w->best[at - 1].distance > d; at--) w->best[at] = w->best[at - 1];
  w->best[at].distance = d;
  w->best[at].config = c;
  return true;
}

size_t cache_neighbours(tune_cache *c, const tune_key *key, tune_config *out, size_t max) {
  char text[CACHE_KEY_TEXT];
  if (!c || !max || !cache_key_text(key, text)) return 0;
  near_walk w = {.key = text,
                 .shape = cache_key_part(key, 1),
                 .mesh = cache_key_part(key, 5),
                 .max = max < MAX_NEAR ? max : MAX_NEAR};
  db_arg a[7] = {{cache_key_part(key, 0), 0}, {cache_key_part(key, 2), 0}, {cache_key_part(key, 6), 0},
                 {cache_key_part(key, 3), 0}, {cache_key_part(key, 4), 0}, {cache_key_part(key, 7), 0},
                 {cache_key_part(key, 8), 0}};
  pthread_mutex_lock(&c->lock);
  db_run(c->d, DB_NEIGHBOURS, a, 7, near_row, &w, NULL);
  pthread_mutex_unlock(&c->lock);
  for (size_t i = 0; i < w.n; i++) out[i] = w.best[i].config;
  return w.n;
}

/* Rows are copied out first, so that callbacks may use the cache again. */
typedef struct each_row {
  char *text; /* key, then the nine parts, zero-separated */
  size_t bytes;
  tune_entry entry;
} each_row;
typedef struct each_walk {
  tune_cache *c;
  each_row *row;
  size_t n, cap, bad;
  char first_bad[sizeof((cache_check *)0)->first_bad];
} each_walk;

/* Of a row that may hold anything. */
static void keep_key(char *out, size_t size, const char *key) {
  size_t i = 0;
  if (*out || !key) return;
  for (; key[i] && i + 1 < size; i++) out[i] = key[i] < ' ' || key[i] > '~' ? '?' : key[i];
  out[i] = 0;
}

static bool each_entry_row(void *user, const db_row *r) {
  each_walk *w = user;
  tune_entry e;
  if (!cache_read_entry(r, &e)) {
    w->bad++;
    keep_key(w->first_bad, sizeof w->first_bad, r->text[0]);
    return true;
  }
  size_t bytes = 0;
  for (int i = 0; i <= CACHE_KEY_PARTS; i++) bytes += strlen(r->text[i]) + 1;
  if (!al_grow(&w->c->al, &w->row, &w->cap, w->n + 1, sizeof *w->row)) return false;
  char *text = al_alloc(&w->c->al, bytes, 16), *at = text;
  if (!text) return false;
  for (int i = 0; i <= CACHE_KEY_PARTS; i++) {
    size_t n = strlen(r->text[i]) + 1;
    memcpy(at, r->text[i], n);
    at += n;
  }
  w->row[w->n++] = (each_row){text, bytes, e};
  return true;
}

static size_t each_counting(tune_cache *c, cache_entry_fn fn, void *user, cache_check *check) {
  each_walk w = {.c = c};
  bool more = true;
  if (!c) return 0;
  pthread_mutex_lock(&c->lock);
  db_run(c->d, DB_ALL, NULL, 0, each_entry_row, &w, NULL);
  c->bad_rows += w.bad;
  pthread_mutex_unlock(&c->lock);
  for (size_t i = 0; i < w.n; i++) {
    const char *p[CACHE_KEY_PARTS + 1], *at = w.row[i].text;
    for (int k = 0; k <= CACHE_KEY_PARTS; k++, at += strlen(at) + 1) p[k] = at;
    tune_key key = {p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8], p[9]};
    if (more && fn) more = fn(user, &key, p[0], &w.row[i].entry);
    al_free(&c->al, w.row[i].text, w.row[i].bytes, 16);
  }
  al_free_array(&c->al, w.row, w.cap);
  if (check) {
    check->bad_entries = w.bad;
    if (*w.first_bad) memcpy(check->first_bad, w.first_bad, sizeof w.first_bad);
  }
  return w.n;
}

size_t cache_each(tune_cache *c, cache_entry_fn fn, void *user) { return each_counting(c, fn, user, NULL); }

static bool check_row(void *user, const db_row *r) {
  *(bool *)user = r->text[0] && !strcmp(r->text[0], "ok");
  return false;
}

typedef struct verify_walk {
  tune_cache *c;
  size_t bad;
  char first_bad[sizeof((cache_check *)0)->first_bad];
} verify_walk;

static bool verify_entry(void *user, const tune_key *key, const char *text, const tune_entry *e) {
  verify_walk *v = user;
  cache_trial_walk w = {v->c, NULL, NULL, 0, 0};
  db_arg arg = {text, 0};
  pthread_mutex_lock(&v->c->lock);
  db_run(v->c->d, DB_TRIALS, &arg, 1, cache_trial_row, &w, NULL);
  pthread_mutex_unlock(&v->c->lock);
  v->bad += w.bad;
  if (w.bad) keep_key(v->first_bad, sizeof v->first_bad, text);
  return true;
}

bool cache_verify(tune_cache *c, cache_check *out) {
  memset(out, 0, sizeof *out);
  if (!c) return false;
  pthread_mutex_lock(&c->lock);
  bool readable = db_state_of(c->d) != DB_OFF;
  db_run(c->d, DB_CHECK, NULL, 0, check_row, &out->file_sound, NULL);
  pthread_mutex_unlock(&c->lock);
  verify_walk v = {c, 0};
  out->entries = each_counting(c, verify_entry, &v, out);
  out->bad_trials = v.bad;
  if (!*out->first_bad) memcpy(out->first_bad, v.first_bad, sizeof v.first_bad);
  return readable && out->file_sound && !out->bad_entries && !out->bad_trials;
}
