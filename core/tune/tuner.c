/* core/tune/tuner.c - see tuner.h. */
#include "core/tune/tuner.h"

#include <stdio.h>
#include <string.h>

#include "core/tune/tuner_measure.h"

enum { MAX_NEIGHBOURS = 3 };

bool tune_mode_parse(const char *name, tune_mode *out) {
  static const char *const names[] = {"off", "cached", "full"};
  for (int i = 0; i < 3; i++)
    if (!strcmp(name, names[i])) return *out = (tune_mode)i, true;
  return false;
}

const char *tune_source_name(tune_source s) {
  static const char *const names[] = {"default", "cache", "search", "model", "rank0", "bucket"};
  return names[s];
}

static void config_text(const tune_config *c, char out[TUNE_CONFIG_TEXT]) {
  strb b;
  strb_init(&b, NULL);
  tune_config_print(c, &b);
  snprintf(out, TUNE_CONFIG_TEXT, "%s", strb_text(&b));
  strb_clear(&b);
}

static void keep(void *user, const tune_space *sp, const space_point *p, const search_result *r) {
  tuner_session *s = user;
  tune_trial t = {.ns = r->ns, .registers = s->last_registers};
  tune_config c = space_config(sp, p);
  config_text(&c, t.config);
  snprintf(t.state, sizeof t.state, "%s", sample_state_name(r->state));
  cache_keep_trial(s->d->cache, &s->d->key, &t);
}

static bool report(void *user, const search_progress *p) {
  tuner_session *s = user;
  return !s->d->progress || s->d->progress(s->d->progress_user, p);
}

typedef struct known_list {
  const tune_space *space;
  const tsr_allocator *al;
  search_known *v;
  size_t n, cap;
} known_list;

/* The point of exactly this config; false when the space has none. */
static bool exact_point(const tune_space *s, const tune_config *c, space_point *out) {
  if (!space_nearest(s, c, out)) return false;
  tune_config there = space_config(s, out);
  return !memcmp(&there, c, sizeof there);
}

static bool add_known(void *user, const tune_trial *t) {
  known_list *k = user;
  tune_config c;
  search_known x = {.result = {t->ns, !strcmp(t->state, "ok")      ? SAMPLE_OK
                                      : !strcmp(t->state, "wrong") ? SAMPLE_WRONG
                                                                   : SAMPLE_FAILED}};
  if (!tune_config_parse(t->config, &c) || !exact_point(k->space, &c, &x.point)) return true; /* of another space */
  if (!al_grow(k->al, &k->v, &k->cap, k->n + 1, sizeof *k->v)) return false;
  k->v[k->n++] = x;
  return true;
}

static void mark_wrong(tuner_session *s, const tune_config *c, double ns) {
  tune_trial t = {.ns = ns, .registers = -1};
  config_text(c, t.config);
  snprintf(t.state, sizeof t.state, "wrong");
  cache_keep_trial(s->d->cache, &s->d->key, &t);
}

/* Is this candidate's result right? A candidate that can't be prepared or run isn't. */
static tsr_status is_right(tuner_session *s, const tune_config *c, bool *right) {
  const tune_target *t = s->d->target;
  tsr_status st = NULL;
  *right = false;
  void *kernel = tuner_prepare(s, c, &st);
  if (!kernel) return st;
  st = t->check(t->user, kernel, right);
  t->release(t->user, kernel);
  if (!st || tuner_ends(tsr_status_code(st))) return st;
  tsr_status_free(st);
  *right = false;
  return NULL;
}

/* The fastest right one: the winner, its runner-up, then the samples in order of time. The next right one is the
 * runner-up. */
static tsr_status choose_right(tuner_session *s, const search_outcome *o, tuner_result *out) {
  size_t n = o->n_samples;
  bool have = false;
  bool *tried = al_zalloc(s->d->al, n + 1);
  if (!tried) return st_oom();
  tsr_status st = NULL;
  for (size_t round = 0; !st && !out->has_runner_up && round < n + 2; round++) {
    space_point p;
    double ns = 0;
    if (round == 0) p = o->best, ns = o->best_ns;
    else if (round == 1 && o->has_runner_up) p = o->runner_up, ns = o->runner_up_ns;
    else {
      size_t best = n;
      for (size_t i = 0; i < n; i++)
        if (!tried[i] && o->samples[i].state == SAMPLE_OK && (best == n || o->samples[i].ns < o->samples[best].ns))
          best = i;
      if (best == n) break;
      p = o->sample_points[best], ns = o->samples[best].ns;
    }
    bool again = false, right;
    for (size_t i = 0; i < n; i++) {
      if (!space_point_equal(s->d->space, &p, &o->sample_points[i])) continue;
      again = tried[i];
      tried[i] = true;
    }
    if (again) continue;
    tune_config c = space_config(s->d->space, &p);
    st = is_right(s, &c, &right);
    if (st) break;
    if (!right) {
      out->rejected++;
      mark_wrong(s, &c, ns);
    } else if (!have) {
      have = true;
      out->config = c;
      out->best_ns = ns;
      out->source = TUNE_FROM_SEARCH;
    } else {
      out->runner_up = c;
      out->has_runner_up = true;
    }
  }
  al_free(s->d->al, tried, n + 1, 16);
  return st;
}

static tune_key bucket_key(const tuner_desc *d) {
  tune_key k = d->key;
  k.shape = d->bucket;
  return k;
}

/* For other shapes a default is what runs there untuned: it is kept as a config of zeros. */
static void store_bucket(const tuner_desc *d, const tune_entry *e, const tuner_result *out) {
  static const tune_config untuned = {0};
  tune_entry shared = *e, kept;
  tune_key key = bucket_key(d);
  if (!d->bucket || !d->bucket[0]) return;
  if (!memcmp(&out->config, d->dflt, sizeof out->config)) config_text(&untuned, shared.config);
  if (out->has_runner_up && !memcmp(&out->runner_up, d->dflt, sizeof out->runner_up))
    config_text(&untuned, shared.runner_up);
  (void)cache_store(d->cache, &key, &shared, d->again, &kept);
}

static void store(const tuner_desc *d, const search_outcome *o, tuner_result *out) {
  tune_entry e = {.best_ns = out->best_ns,
                  .default_ns = out->default_ns,
                  .predicted_ns = out->predicted_ns,
                  .samples = (double)out->samples};
  tune_entry kept;
  config_text(&out->config, e.config);
  if (out->has_runner_up) {
    config_text(&out->runner_up, e.runner_up);
    for (size_t i = 0; i < o->n_samples; i++) {
      tune_config c = space_config(d->space, &o->sample_points[i]);
      if (!memcmp(&c, &out->runner_up, sizeof c)) e.runner_up_ns = o->samples[i].ns;
    }
  }
  snprintf(e.strategy, sizeof e.strategy, "%s", d->strategy ? d->strategy->name : search_hybrid.name);
  out->stored = cache_store(d->cache, &d->key, &e, d->again, &kept);
  store_bucket(d, &e, out);
  if (out->stored && strcmp(kept.config, e.config)) { /* another process was first: all use its choice */
    tune_config c;
    if (!tune_config_parse(kept.config, &c)) return;
    out->config = c;
    out->has_runner_up = kept.runner_up[0] && tune_config_parse(kept.runner_up, &out->runner_up);
    out->best_ns = kept.best_ns;
    out->source = TUNE_FROM_CACHE;
  }
}

static tsr_status search_now(const tuner_desc *d, tuner_result *out) {
  tuner_session s = {.d = d};
  search_measure m = {tuner_measure, keep, report, &s};
  known_list known = {.space = d->space, .al = d->al};
  tune_config near[MAX_NEIGHBOURS];
  search_outcome o = {0};
  tsr_status st = NULL;
  bool by_model = d->strategy == &search_model_only;
  const cost_model *model = d->model ? d->model : &cost_model_roofline;
  size_t n_near = cache_neighbours(d->cache, &d->key, near, MAX_NEIGHBOURS);
  if (!d->again) cache_trials(d->cache, &d->key, add_known, &known);
  if (!by_model) s.reference = tuner_prepare(&s, d->dflt, &st);
  search_desc sd = {.al = d->al,
                    .space = d->space,
                    .device = d->device,
                    .problem = d->problem,
                    .strategy = d->strategy,
                    .model = d->model,
                    .objective = d->objective,
                    .objective_user = d->objective_user,
                    .measure = &m,
                    .dflt = d->dflt,
                    .neighbours = near,
                    .known = known.v,
                    .n_neighbours = n_near,
                    .n_known = known.n,
                    .samples = d->samples,
                    .samples_fixed = d->samples_fixed,
                    .stop_fraction = d->stop_fraction,
                    .seed = d->seed};
  if (!st) st = search_run(&sd, &o);
  out->measurements = o.measurements;
  out->samples = o.n_samples;
  out->cancelled = o.cancelled;
  out->stopped_early = o.stopped_early;
  out->default_ns = o.default_ns;
  out->roofline_ns = o.roofline_ns;
  if (!st && o.has_best && o.cancelled) { /* told, but neither checked nor stored */
    out->config = space_config(d->space, &o.best);
    out->best_ns = o.best_ns;
    out->predicted_ns = model->predict(model->user, d->device, d->problem, &out->config);
  }
  if (!st && o.has_best && !o.cancelled) st = choose_right(&s, &o, out);
  if (!st && out->source == TUNE_FROM_SEARCH) {
    out->predicted_ns = model->predict(model->user, d->device, d->problem, &out->config);
    if (by_model) out->source = TUNE_FROM_MODEL;
    if (!by_model) store(d, &o, out);
  }
  if (s.reference) d->target->release(d->target->user, s.reference);
  search_outcome_clear(d->al, &o);
  al_free_array(d->al, known.v, known.cap);
  return st;
}

static bool from_cache(const tuner_desc *d, tuner_result *out) {
  tune_entry e;
  space_point p;
  tune_config c;
  if (!cache_lookup(d->cache, &d->key, &e) || !tune_config_parse(e.config, &c)) return false;
  /* What the space no longer allows (a smaller limit after a driver update) is a miss. */
  if (d->space && !exact_point(d->space, &c, &p)) return false;
  out->config = c;
  out->has_runner_up = e.runner_up[0] && tune_config_parse(e.runner_up, &out->runner_up);
  out->best_ns = e.best_ns, out->default_ns = e.default_ns, out->predicted_ns = e.predicted_ns;
  out->samples = (size_t)e.samples;
  out->source = TUNE_FROM_CACHE;
  return true;
}

/* A bucket's config as this shape can have it. */
static bool to_this_shape(const tuner_desc *d, const char *text, tune_config *out) {
  static const tune_config untuned = {0};
  tune_config c;
  space_point p;
  if (!tune_config_parse(text, &c)) return false;
  if (!memcmp(&c, &untuned, sizeof c)) return *out = *d->dflt, true;
  if (!space_nearest(d->space, &c, &p)) return false;
  *out = space_config(d->space, &p);
  return true;
}

/* The decision of another shape of the bucket. Its times are that shape's, so they are not told. */
static tsr_status from_bucket(const tuner_desc *d, tuner_result *out, bool *found) {
  tune_entry e;
  tune_config c;
  tuner_session s = {.d = d};
  *found = false;
  if (!d->bucket || !d->bucket[0] || !d->space) return NULL;
  tune_key key = bucket_key(d);
  if (!cache_lookup(d->cache, &key, &e) || !to_this_shape(d, e.config, &c)) return NULL;
  *found = true;
  if (d->mode == TUNE_FULL && d->target) TSR_TRY(is_right(&s, &c, found));
  if (!*found) return NULL;
  const cost_model *model = d->model ? d->model : &cost_model_roofline;
  out->config = c;
  out->has_runner_up = e.runner_up[0] && to_this_shape(d, e.runner_up, &out->runner_up);
  out->predicted_ns = model->predict(model->user, d->device, d->problem, &c);
  out->source = TUNE_FROM_BUCKET;
  return NULL;
}

static tsr_status decide(const tuner_desc *d, tuner_result *out) {
  bool found;
  if (d->mode == TUNE_OFF) return NULL;
  if (!d->again && from_cache(d, out)) return NULL;
  if (!d->again) {
    TSR_TRY(from_bucket(d, out, &found));
    if (found) return NULL;
  }
  if (d->mode == TUNE_CACHED || !d->target) return NULL;
  return search_now(d, out);
}

/* What rank 0 tells the others. */
typedef struct shared_decision {
  tune_config config, runner_up;
  double best_ns, default_ns, predicted_ns, samples;
  int32_t has_runner_up, keep, code;
} shared_decision;

/* A rank that received a decision keeps it as if it had found it, so that it compiles what rank 0 compiles. */
static void take(const tuner_desc *d, const shared_decision *x, tuner_result *out) {
  tune_entry e = {.best_ns = x->best_ns,
                  .default_ns = x->default_ns,
                  .predicted_ns = x->predicted_ns,
                  .samples = x->samples,
                  .strategy = "rank0"},
             kept;
  out->config = x->config, out->runner_up = x->runner_up, out->has_runner_up = x->has_runner_up != 0;
  out->best_ns = x->best_ns, out->default_ns = x->default_ns, out->predicted_ns = x->predicted_ns;
  out->samples = (size_t)x->samples;
  out->source = TUNE_FROM_RANK0;
  if (!x->keep) return;
  config_text(&x->config, e.config);
  if (x->has_runner_up) config_text(&x->runner_up, e.runner_up);
  out->stored = cache_store(d->cache, &d->key, &e, true, &kept);
}

static tsr_status agree(const tuner_desc *d, tsr_status st, tuner_result *out) {
  shared_decision x = {.config = out->config,
                       .runner_up = out->runner_up,
                       .best_ns = out->best_ns,
                       .default_ns = out->default_ns,
                       .predicted_ns = out->predicted_ns,
                       .samples = (double)out->samples,
                       .has_runner_up = out->has_runner_up,
                       .keep = out->source == TUNE_FROM_SEARCH || out->source == TUNE_FROM_CACHE ||
                               out->source == TUNE_FROM_BUCKET,
                       .code = (int32_t)tsr_status_code(st)};
  tsr_status sent = d->agree->broadcast(d->agree->user, &x, sizeof x);
  if (sent) {
    tsr_status_free(st);
    return sent;
  }
  if (d->agree->rank == 0) return st;
  if (x.code != TSR_OK)
    return st_make(d->al, (tsr_code)x.code, ST_WHERE("tune", d->problem->op, NULL), "tuning failed on rank 0");
  take(d, &x, out);
  return NULL;
}

tsr_status tuner_run(const tuner_desc *d, tuner_result *out) {
  tsr_status st = NULL;
  memset(out, 0, sizeof *out);
  out->config = *d->dflt;
  out->source = TUNE_FROM_DEFAULT;
  out->roofline_ns = d->device ? cost_roofline_ns(d->device, d->problem) : 0;
  if (!d->agree || d->agree->rank == 0) st = decide(d, out);
  if (st) {
    memset(out, 0, sizeof *out);
    out->config = *d->dflt;
  }
  return d->agree ? agree(d, st, out) : st;
}

/* What a compilation takes: the kernel's own entry, else its bucket's. */
static bool stored_winner(const tuner_desc *d, tune_entry *e) {
  tune_key bucket = bucket_key(d);
  return cache_lookup(d->cache, &d->key, e) || (d->bucket && d->bucket[0] && cache_lookup(d->cache, &bucket, e));
}

bool tuner_winner_seen(const tuner_desc *d) {
  tune_entry e;
  return stored_winner(d, &e) && cache_seen_running(d->cache, &d->key, e.config);
}

void tuner_winner_ran(const tuner_desc *d) {
  tune_entry e;
  if (stored_winner(d, &e)) cache_note_running(d->cache, &d->key, e.config);
}

bool tuner_winner_config(const tuner_desc *d, tune_config *out) {
  tune_entry e;
  space_point p;
  if (!stored_winner(d, &e) || !tune_config_parse(e.config, out) || !space_nearest(d->space, out, &p)) return false;
  *out = space_config(d->space, &p);
  return true;
}

void tuner_winner_failed(const tuner_desc *d, tuner_result *io) {
  tune_entry now;
  tune_key bucket = bucket_key(d);
  bool own = cache_winner_failed(d->cache, &d->key, &now);
  if (io->source == TUNE_FROM_BUCKET || (!own && d->bucket && d->bucket[0]))
    cache_winner_failed(d->cache, &bucket, &now);
  io->config = io->has_runner_up ? io->runner_up : *d->dflt;
  io->source = io->has_runner_up ? TUNE_FROM_CACHE : TUNE_FROM_DEFAULT;
  io->has_runner_up = false;
}
