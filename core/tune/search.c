/* core/tune/search.c - the loop around a strategy: candidates, measuring, remembering, play-off. See search.h. */
#include "core/tune/search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LEGAL = 1 << 18, MAX_CANDIDATES = 4096, PLAYOFF = 4 };

typedef struct search {
  const search_desc *d;
  search_view v;
  space_point *points;
  double *model, *coords;
  uint8_t *measured;
  size_t *seeds;
  search_sample *samples;
  size_t cap_samples, n_alloc;
  double work;
  uint64_t rng;
  const cost_model *cost;
  cost_objective objective;
} search;

static const search_strategy *const strategies[] = {&search_hybrid, &search_grid, &search_random, &search_model_only};

const search_strategy *search_strategy_at(size_t i) {
  return i < sizeof strategies / sizeof *strategies ? strategies[i] : NULL;
}

const search_strategy *search_strategy_find(const char *name) {
  for (size_t i = 0; i < sizeof strategies / sizeof *strategies; i++)
    if (!strcmp(strategies[i]->name, name)) return strategies[i];
  return NULL;
}

size_t search_budget(size_t asked, size_t n_neighbours) {
  size_t b = asked ? asked : 50;
  if (!n_neighbours) return b;
  b /= 1 + (n_neighbours < 3 ? n_neighbours : 3);
  size_t least = asked && asked < 8 ? asked : 8;
  return b < least ? least : b;
}

typedef struct ranked {
  double ns;
  size_t at;
} ranked;

static int by_ns(const void *a, const void *b) {
  const ranked *x = a, *y = b;
  if (x->ns != y->ns) return x->ns < y->ns ? -1 : 1;
  return x->at < y->at ? -1 : x->at > y->at;
}

static bool same_point(const search *s, const space_point *a, size_t i) {
  return space_point_equal(s->d->space, a, &s->points[i]);
}

static size_t find_point(const search *s, const space_point *p) {
  for (size_t i = 0; i < s->v.n_points; i++)
    if (same_point(s, p, i)) return i;
  return SEARCH_STOP;
}

/* Legal points, ranked by the model when there are too many, in enumeration order again; `must` points are kept. */
static tsr_status make_candidates(search *s, const space_point *must, size_t n_must, size_t *n_legal) {
  const search_desc *d = s->d;
  space_point *all = NULL;
  size_t n = 0, n_ok = 0;
  bool cut;
  TSR_TRY(space_enumerate(d->space, d->al, MAX_LEGAL, &all, &n, &cut));
  *n_legal = n;
  ranked *r = al_alloc(d->al, (n + 1) * sizeof *r, 16);
  size_t room = (n < MAX_CANDIDATES ? n : MAX_CANDIDATES) + n_must + 1;
  s->points = al_alloc(d->al, room * sizeof *s->points, 16);
  s->model = al_alloc(d->al, room * sizeof *s->model, 16);
  s->n_alloc = room;
  if (!r || !s->points || !s->model) {
    al_free(d->al, r, (n + 1) * sizeof *r, 16);
    al_free_array(d->al, all, n);
    return st_oom();
  }
  for (size_t i = 0; i < n; i++) {
    tune_config c = space_config(d->space, &all[i]);
    double ns = s->cost->predict(s->cost->user, d->device, d->problem, &c);
    if (ns >= 0 && isfinite(ns)) r[n_ok++] = (ranked){ns, i};
  }
  bool many = n_ok > MAX_CANDIDATES;
  if (many) qsort(r, n_ok, sizeof *r, by_ns);
  s->v.n_points = many ? MAX_CANDIDATES : n_ok;
  for (size_t i = 0; i < s->v.n_points; i++) {
    s->points[i] = all[r[i].at];
    s->model[i] = r[i].ns;
  }
  for (size_t i = 0; i < n_must; i++) { /* what the model refuses or ranks low may still have to run: the default */
    if (find_point(s, &must[i]) != SEARCH_STOP) continue;
    tune_config c = space_config(d->space, &must[i]);
    double ns = s->cost->predict(s->cost->user, d->device, d->problem, &c);
    s->points[s->v.n_points] = must[i];
    s->model[s->v.n_points++] = ns >= 0 && isfinite(ns) ? ns : 1e18;
  }
  al_free(d->al, r, (n + 1) * sizeof *r, 16);
  al_free_array(d->al, all, n);
  return NULL;
}

static void remember(search *s, size_t at, const search_result *r, bool from_cache) {
  search_sample *x = &s->samples[s->v.n_samples++];
  *x = (search_sample){.candidate = at, .state = r->state, .from_cache = from_cache};
  if (r->state == SAMPLE_OK && !(r->ns > 0 && isfinite(r->ns))) x->state = SAMPLE_FAILED;
  if (x->state == SAMPLE_OK) {
    x->ns = r->ns;
    x->cost = s->objective(s->d->objective_user, r->ns, s->work);
  }
  s->measured[at] = 1;
}

/* Index of the best sample, SEARCH_STOP without one; `skip` is left out. */
static size_t best_sample(const search *s, size_t skip) {
  size_t best = SEARCH_STOP;
  for (size_t i = 0; i < s->v.n_samples; i++) {
    if (i == skip || s->samples[i].state != SAMPLE_OK) continue;
    if (best == SEARCH_STOP || s->samples[i].cost < s->samples[best].cost) best = i;
  }
  return best;
}

static tsr_status measure_one(search *s, size_t at, search_outcome *out) {
  const search_measure *m = s->d->measure;
  search_result r = {0, SAMPLE_FAILED};
  TSR_TRY(m->measure(m->user, s->d->space, &s->points[at], 1, &r));
  out->measurements++;
  remember(s, at, &r, false);
  if (m->keep) m->keep(m->user, s->d->space, &s->points[at], &r);
  return NULL;
}

static bool report(search *s, const search_outcome *out) {
  const search_measure *m = s->d->measure;
  size_t best = best_sample(s, SEARCH_STOP);
  if (!m->progress) return true;
  const search_sample *last = &s->samples[s->v.n_samples - 1];
  search_progress p = {.done = s->v.n_samples, .budget = s->v.budget, .last_ns = last->ns};
  if (best != SEARCH_STOP) {
    p.best_ns = s->samples[best].ns;
    p.best = &s->points[s->samples[best].candidate];
    p.fraction_of_roofline = out->roofline_ns / p.best_ns;
  }
  return m->progress(m->user, &p);
}

static bool good_enough(const search *s, const search_outcome *out) {
  double fraction = s->d->stop_fraction > 0 ? s->d->stop_fraction : 0.97;
  size_t best = best_sample(s, SEARCH_STOP);
  return best != SEARCH_STOP && fraction < 2 && out->roofline_ns > 0 &&
         out->roofline_ns >= fraction * s->samples[best].ns;
}

static size_t next_candidate(search *s, const search_strategy *strategy, void *state) {
  for (size_t i = 0; i < s->v.n_seeds; i++)
    if (!s->measured[s->seeds[i]]) return s->seeds[i];
  return strategy->next(state, &s->v);
}

static tsr_status sample_all(search *s, const search_strategy *strategy, search_outcome *out) {
  void *state = strategy->user;
  tsr_status st = strategy->begin ? strategy->begin(&s->v, &state) : NULL;
  while (!st && s->v.n_samples < s->v.budget && s->v.n_samples < s->v.n_points) {
    if (good_enough(s, out)) {
      out->stopped_early = true;
      break;
    }
    size_t at = next_candidate(s, strategy, state);
    if (at >= s->v.n_points || s->measured[at]) break;
    st = measure_one(s, at, out);
    if (!st && !report(s, out)) {
      out->cancelled = true;
      break;
    }
  }
  if (strategy->end) strategy->end(&s->v, state);
  return st;
}

/* By its median, and in most rounds: in a busy moment the one without the other says little. */
static bool clearly_faster(const search_result *r, double ns) {
  return r->ns <= ns && !(r->beats_default > 0 && r->beats_default < 2.0 / 3);
}

/* The best few and the default once more, their runs interleaved: what a noisy moment did to one of them is undone. */
static tsr_status play_off(search *s, size_t dflt, search_outcome *out) {
  size_t at[PLAYOFF], n = 0;
  ranked r[PLAYOFF];
  for (size_t round = 0; round + 1 < PLAYOFF; round++) {
    size_t best = SEARCH_STOP;
    for (size_t i = 0; i < s->v.n_samples; i++) {
      bool taken = s->samples[i].state != SAMPLE_OK;
      for (size_t j = 0; j < n; j++) taken |= at[j] == s->samples[i].candidate;
      if (!taken && (best == SEARCH_STOP || s->samples[i].cost < s->samples[best].cost)) best = i;
    }
    if (best == SEARCH_STOP) break;
    at[n++] = s->samples[best].candidate;
  }
  if (!n) return NULL;
  bool has_default = false, default_ran = false;
  for (size_t i = 0; i < s->v.n_samples; i++)
    default_ran |= s->samples[i].candidate == dflt && s->samples[i].state == SAMPLE_OK;
  for (size_t i = 0; i < n; i++) has_default |= at[i] == dflt;
  if (!has_default && default_ran) at[n++] = dflt;
  space_point pts[PLAYOFF];
  search_result res[PLAYOFF];
  for (size_t i = 0; i < n; i++) pts[i] = s->points[at[i]];
  TSR_TRY(s->d->measure->measure(s->d->measure->user, s->d->space, pts, n, res));
  out->measurements += n;
  size_t n_ok = 0;
  for (size_t i = 0; i < n; i++) {
    if (res[i].state != SAMPLE_OK || !(res[i].ns > 0)) continue;
    r[n_ok++] = (ranked){s->objective(s->d->objective_user, res[i].ns, s->work), i};
    if (at[i] == dflt) out->default_ns = res[i].ns;
  }
  if (!n_ok) return NULL;
  qsort(r, n_ok, sizeof *r, by_ns);
  double gain = s->d->keep_default_gain > 0 ? s->d->keep_default_gain
                                            : 0.05; /* less may be reversed where operands are not in the caches */
  for (size_t i = 1; i < n_ok; i++) {               /* the default stays unless it is clearly beaten */
    if (at[r[i].at] != dflt || clearly_faster(&res[r[0].at], (1 - gain) * res[r[i].at].ns)) continue;
    ranked keep = r[i];
    memmove(&r[1], &r[0], i * sizeof *r);
    r[0] = keep;
  }
  out->has_best = true;
  out->best = pts[r[0].at];
  out->best_ns = res[r[0].at].ns;
  out->has_runner_up = n_ok > 1;
  if (n_ok > 1) {
    out->runner_up = pts[r[1].at];
    out->runner_up_ns = res[r[1].at].ns;
  }
  return NULL;
}

static void choose_by_model(search *s, search_outcome *out) {
  size_t best = 0, second = SEARCH_STOP;
  for (size_t i = 1; i < s->v.n_points; i++)
    if (s->model[i] < s->model[best]) second = best, best = i;
    else if (second == SEARCH_STOP || s->model[i] < s->model[second]) second = i;
  out->has_best = true;
  out->best = s->points[best];
  out->has_runner_up = second != SEARCH_STOP;
  if (out->has_runner_up) out->runner_up = s->points[second];
}

static tsr_status allocate(search *s, size_t n_seeds) {
  const tsr_allocator *al = s->d->al;
  size_t n = s->v.n_points;
  s->cap_samples = s->v.budget + s->d->n_known + n_seeds + 1;
  s->coords = al_zalloc(al, (n + 1) * SPACE_MAX_KNOBS * sizeof *s->coords);
  s->measured = al_zalloc(al, n + 1);
  s->samples = al_zalloc(al, s->cap_samples * sizeof *s->samples);
  s->seeds = al_zalloc(al, (n_seeds + 1) * sizeof *s->seeds);
  if (!s->coords || !s->measured || !s->samples || !s->seeds) return st_oom();
  for (size_t i = 0; i < n; i++) {
    double c[SPACE_MAX_KNOBS];
    s->v.dim = space_coords(s->d->space, &s->points[i], c);
    memcpy(s->coords + i * (size_t)s->v.dim, c, (size_t)s->v.dim * sizeof *c);
  }
  s->v.points = s->points;
  s->v.model_ns = s->model;
  s->v.coords = s->coords;
  s->v.measured = s->measured;
  s->v.samples = s->samples;
  s->v.seeds = s->seeds;
  s->v.rng = &s->rng;
  s->v.al = al;
  return NULL;
}

static void release(search *s, size_t n_seeds) {
  const tsr_allocator *al = s->d->al;
  al_free(al, s->points, s->n_alloc * sizeof *s->points, 16);
  al_free(al, s->model, s->n_alloc * sizeof *s->model, 16);
  al_free(al, s->coords, (s->v.n_points + 1) * SPACE_MAX_KNOBS * sizeof *s->coords, 16);
  al_free(al, s->measured, s->v.n_points + 1, 16);
  al_free(al, s->samples, s->cap_samples * sizeof *s->samples, 16);
  al_free(al, s->seeds, (n_seeds + 1) * sizeof *s->seeds, 16);
}

/* Samples with their points go to the caller. */
static tsr_status hand_over(search *s, search_outcome *out) {
  size_t n = s->v.n_samples;
  if (!n) return NULL;
  out->samples = al_alloc(s->d->al, n * sizeof *out->samples, 16);
  out->sample_points = al_alloc(s->d->al, n * sizeof *out->sample_points, 16);
  if (!out->samples || !out->sample_points) {
    al_free_array(s->d->al, out->samples, n);
    al_free_array(s->d->al, out->sample_points, n);
    out->samples = NULL;
    out->sample_points = NULL;
    return st_oom();
  }
  memcpy(out->samples, s->samples, n * sizeof *out->samples);
  for (size_t i = 0; i < n; i++) out->sample_points[i] = s->points[s->samples[i].candidate];
  out->n_samples = n;
  return NULL;
}

void search_outcome_clear(const tsr_allocator *al, search_outcome *o) {
  al_free_array(al, o->samples, o->n_samples);
  al_free_array(al, o->sample_points, o->n_samples);
  memset(o, 0, sizeof *o);
}

static tsr_status empty_space(const search_desc *d) {
  return st_make(d->al, TSR_INVALID_ARGUMENT,
                 ST_WHERE("tune", d->problem->op, "widen the space or the device's limits"),
                 "the search space has no legal point");
}

static void add_known(search *s) {
  for (size_t i = 0; i < s->d->n_known; i++) {
    size_t at = find_point(s, &s->d->known[i].point);
    if (at != SEARCH_STOP && !s->measured[at]) remember(s, at, &s->d->known[i].result, true);
  }
}

static void finish_prediction(search *s, size_t dflt, search_outcome *out) {
  if (!out->has_best) return;
  size_t at = find_point(s, &out->best);
  out->predicted_ns = at != SEARCH_STOP ? s->model[at] : 0;
  for (size_t i = 0; i < s->v.n_samples && !(out->default_ns > 0); i++)
    if (s->samples[i].candidate == dflt) out->default_ns = s->samples[i].ns;
}

tsr_status search_run(const search_desc *d, search_outcome *out) {
  memset(out, 0, sizeof *out);
  const search_strategy *strategy = d->strategy ? d->strategy : &search_hybrid;
  search s = {.d = d,
              .rng = d->seed * 0x9e3779b97f4a7c15ull + 1,
              .cost = d->model ? d->model : &cost_model_roofline,
              .objective = d->objective ? d->objective : cost_latency_by_throughput};
  enum { MAX_NEIGHBOURS = 8 };
  size_t n_seeds = 0, n_near = d->n_neighbours < MAX_NEIGHBOURS ? d->n_neighbours : MAX_NEIGHBOURS;
  space_point seed_points[1 + MAX_NEIGHBOURS];
  s.work = tune_problem_flops(d->problem);
  s.v.space = d->space;
  s.v.budget = strategy == &search_model_only ? 0
               : d->samples_fixed             ? search_budget(d->samples, 0)
                                              : search_budget(d->samples, n_near);
  out->roofline_ns = cost_roofline_ns(d->device, d->problem);
  tune_config dflt_config = d->dflt ? *d->dflt : (tune_config){0};
  if (!space_nearest(d->space, &dflt_config, &seed_points[n_seeds++])) return empty_space(d);
  for (size_t i = 0; i < n_near; i++)
    if (space_nearest(d->space, &d->neighbours[i], &seed_points[n_seeds])) n_seeds++;
  tsr_status st = make_candidates(&s, seed_points, n_seeds, &out->n_legal);
  out->n_model = s.v.n_points;
  if (!st) st = allocate(&s, n_seeds);
  if (st) goto done;
  for (size_t i = 0; i < n_seeds; i++) s.seeds[s.v.n_seeds++] = find_point(&s, &seed_points[i]);
  size_t dflt = s.seeds[0];
  add_known(&s);
  TSR_GOTO(sample_all(&s, strategy, out));
  if (!s.v.n_samples && strategy == &search_model_only) choose_by_model(&s, out);
  else if (!out->cancelled) TSR_GOTO(play_off(&s, dflt, out));
  if (out->cancelled) {
    size_t best = best_sample(&s, SEARCH_STOP);
    out->has_best = best != SEARCH_STOP;
    if (out->has_best) out->best = s.points[s.samples[best].candidate], out->best_ns = s.samples[best].ns;
  }
  finish_prediction(&s, dflt, out);
  TSR_GOTO(hand_over(&s, out));
done:
  release(&s, n_seeds);
  if (st) search_outcome_clear(d->al, out);
  return st;
}
