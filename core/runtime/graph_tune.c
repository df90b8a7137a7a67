/* core/runtime/graph_tune.c - tuning on purpose; see tessera/tune.h. The user's hooks are wrapped into the tuner's
 * tables here. */
#include <stdio.h>
#include <string.h>

#include "core/ir/schedule/schedule.h"
#include "core/runtime/tune_walk.h"

struct tsr_tune_report {
  tsr_context *ctx;
  arena mem;
  tsr_tune_result *v;
  size_t n, cap;
};

/* One kernel's search as the hooks see it. */
typedef struct hooked {
  rt_kernel *k;
  const tsr_tune_hooks *h;
  tsr_tune_problem problem;
  tsr_schedule *candidates; /* of the strategy hook, made on first use */
  double *measured_us;
  size_t n_candidates;
  double *curve;
  size_t n_curve, cap_curve;
} hooked;

static tsr_schedule public_schedule(const tune_config *c, const tune_problem *problem, const tsr_caps *caps) {
  sched_params p = tune_config_params(c, problem, caps);
  return sched_to_public(&p);
}

static tsr_schedule schedule_of(const hooked *x, const tune_config *c) {
  return public_schedule(c, &x->k->problem, &x->k->dev->caps);
}

static tsr_tune_problem problem_of(rt_kernel *k, arena *a) {
  const tune_problem *p = &k->problem;
  return (tsr_tune_problem){.kernel = arena_str(a, ir_get_str(k->kernel, "sym_name", "")),
                            .op = arena_str(a, k->key_text.op),
                            .shape = arena_str(a, k->key_text.shape),
                            .dtype = arena_str(a, k->key_text.dtype),
                            .batch = p->batch,
                            .m = p->m,
                            .n = p->n,
                            .k = p->k,
                            .flops = tune_problem_flops(p),
                            .bytes = tune_problem_bytes(p)};
}

static double hook_cost(void *user, const tune_device *d, const tune_problem *p, const tune_config *c) {
  hooked *x = user;
  tsr_schedule s = schedule_of(x, c);
  return x->h->cost(x->h->user, &x->problem, &s);
}

static bool hook_candidates(hooked *x, const search_view *v) {
  const tsr_allocator *al = &x->k->dev->ctx->al;
  if (!x->candidates) {
    x->candidates = al_zalloc(al, v->n_points * sizeof *x->candidates);
    if (!x->measured_us) x->measured_us = al_zalloc(al, v->n_points * sizeof *x->measured_us);
    x->n_candidates = v->n_points;
    for (size_t i = 0; x->candidates && i < v->n_points; i++) {
      tune_config c = space_config(v->space, &v->points[i]);
      x->candidates[i] = schedule_of(x, &c);
    }
  }
  for (size_t i = 0; x->measured_us && i < v->n_samples; i++)
    x->measured_us[v->samples[i].candidate] = v->samples[i].state == SAMPLE_OK ? v->samples[i].ns / 1e3 : -1;
  return x->candidates && x->measured_us;
}

static size_t hook_next(void *user, const search_view *v) {
  hooked *x = user;
  if (!hook_candidates(x, v)) return SEARCH_STOP;
  size_t at =
      x->h->next(x->h->user, &x->problem, x->candidates, x->measured_us, x->n_candidates, v->budget - v->n_samples);
  return at < v->n_points ? at : SEARCH_STOP;
}

static bool on_progress(void *user, const search_progress *p) {
  hooked *x = user;
  if (al_grow(&x->k->dev->ctx->al, &x->curve, &x->cap_curve, x->n_curve + 1, sizeof *x->curve))
    x->curve[x->n_curve++] = p->best_ns / 1e3;
  if (!x->h || !x->h->progress) return true;
  tsr_tune_progress q = {&x->problem, p->done, p->budget, p->last_ns / 1e3, p->best_ns / 1e3, p->fraction_of_roofline};
  return x->h->progress(x->h->user, &q);
}

static tsr_status find_strategy(tsr_context *ctx, const char *name, const search_strategy **out) {
  *out = name && *name ? search_strategy_find(name) : &search_hybrid;
  if (*out) return NULL;
  return st_make(&ctx->al, TSR_NOT_FOUND, ST_WHERE("tune", "strategy", "hybrid, grid, random or model-only"),
                 "no strategy `%.64s`", name);
}

typedef struct walk_mesh {
  tsr_context *ctx;
  const tsr_tune_mesh *mesh;
} walk_mesh;

static double hook_objective(void *user, double latency_ns, double work) {
  hooked *x = user;
  return x->h->objective(x->h->user, &x->problem, latency_ns, work);
}

static tsr_status mesh_broadcast(void *user, void *data, size_t bytes) {
  const walk_mesh *w = user;
  tsr_code c = w->mesh->broadcast(w->mesh->user, data, bytes);
  return c == TSR_OK ? NULL
                     : st_make(&w->ctx->al, c, ST_WHERE("tune", "mesh", NULL),
                               "the decision of rank 0 did not reach rank %d", w->mesh->rank);
}

static tsr_status run_tuner(hooked *x, const tsr_tune_options *t, tune_cache *cache, tuner_result *r) {
  rt_kernel *k = x->k;
  tsr_context *ctx = k->dev->ctx;
  const search_strategy *strategy;
  TSR_TRY(find_strategy(ctx, t->strategy, &strategy));
  search_strategy own = {"user", "", NULL, hook_next, NULL, x};
  cost_model model = {"user", hook_cost, NULL, x};
  walk_mesh mesh = {ctx, t->mesh};
  tune_agree agree = {t->mesh ? t->mesh->rank : 0, mesh_broadcast, &mesh};
  bool has_cost = x->h && x->h->cost, has_next = x->h && x->h->next;
  tuner_desc d = {.al = &ctx->al,
                  .mode = TUNE_FULL,
                  .device = &k->device,
                  .problem = &k->problem,
                  .space = &k->space.s,
                  .dflt = &k->dflt,
                  .target = &k->target,
                  .cache = cache,
                  .key = k->key,
                  .bucket = k->bucket,
                  .strategy = has_next ? &own : strategy,
                  .model = has_cost ? &model : NULL,
                  .objective = x->h && x->h->objective ? hook_objective : NULL,
                  .objective_user = x,
                  .progress = on_progress,
                  .progress_user = x,
                  .samples = t->samples,
                  .samples_fixed = t->samples_fixed,
                  .agree = t->mesh ? &agree : NULL,
                  .again = t->again,
                  .stop_fraction = t->stop_fraction > 0                   ? t->stop_fraction
                                   : tune_device_has_roofline(&k->device) ? 0
                                                                          : 2,
                  .seed = t->seed};
  tsr_status st = tuner_run(&d, r);
  ctx->tune.lookups++;
  ctx->tune.hits += r->source == TUNE_FROM_CACHE || r->source == TUNE_FROM_BUCKET;
  ctx->tune.measurements += r->measurements;
  al_free(&ctx->al, x->candidates, x->n_candidates * sizeof *x->candidates, 16);
  al_free(&ctx->al, x->measured_us, x->n_candidates * sizeof *x->measured_us, 16);
  return st;
}

/* Why what this search found is not in the cache: "" where it is, or where nothing new was found. */
static const char *not_stored(arena *mem, tune_cache *cache, const tuner_result *r) {
  cache_info i;
  if (r->stored || r->cancelled || (r->source != TUNE_FROM_SEARCH && r->source != TUNE_FROM_MODEL)) return "";
  if (r->source == TUNE_FROM_MODEL) return "a schedule that the model chose was not measured, and is not kept";
  if (!cache)
    return "the cache is off: TSR_CACHE_DIR is empty, the context was made without a folder, or a warning said why";
  cache_describe(cache, &i);
  return arena_str(mem, i.why[0] ? i.why : "the cache refused it");
}

static tsr_status add_result(tsr_tune_report *rep, hooked *x, tune_cache *cache, const tuner_result *r) {
  char tile[64];
  if (!al_grow(&rep->ctx->al, &rep->v, &rep->cap, rep->n + 1, sizeof *rep->v)) return st_oom();
  tune_config_tile(&x->k->problem, &r->config, tile, sizeof tile);
  const char *kept_tile = arena_str(&rep->mem, tile);
  const char *why = not_stored(&rep->mem, cache, r);
  if (!kept_tile || !why) return st_oom();
  double *curve = x->n_curve ? arena_dup(&rep->mem, x->curve, x->n_curve * sizeof *curve) : NULL;
  rep->v[rep->n++] = (tsr_tune_result){
      .problem = x->problem, .schedule = schedule_of(x, &r->config), .runner_up = schedule_of(x, &r->runner_up),
      .has_runner_up = r->has_runner_up, .cancelled = r->cancelled, .stored = r->stored, .not_stored = why,
      .tile = kept_tile, .source = tune_source_name(r->source), .best_us = r->best_ns / 1e3,
      .default_us = r->default_ns / 1e3, .predicted_us = r->predicted_ns / 1e3, .roofline_us = r->roofline_ns / 1e3,
      .measurements = r->measurements, .samples = r->samples, .rejected = r->rejected, .curve_us = curve,
      .n_curve = curve ? x->n_curve : 0};
  return NULL;
}

static bool seen_before(const tsr_tune_report *rep, const tsr_tune_problem *p) {
  for (size_t i = 0; i < rep->n; i++)
    if (!strcmp(rep->v[i].problem.op, p->op) && !strcmp(rep->v[i].problem.shape, p->shape) &&
        !strcmp(rep->v[i].problem.dtype, p->dtype))
      return true;
  return false;
}

static tsr_status restrict_space(rt_kernel *k, const char *knobs) {
  for (const char *at = knobs; *at; at += strcspn(at, ","), at += *at == ',') {
    size_t n = strcspn(at, ",");
    char name[32];
    snprintf(name, sizeof name, "%.*s", (int)(n < sizeof name ? n : sizeof name - 1), at);
    if (n && !tune_config_field(&k->dflt, name))
      return st_make(&k->dev->ctx->al, TSR_NOT_FOUND, ST_WHERE("tune", "knobs", "see `tessera tune --space`"),
                     "no knob `%s`", name);
  }
  space_restrict(&k->space.s, knobs, &k->dflt);
  return NULL;
}

tsr_status rt_each_kernel(rt_tune_walk *w, const tsr_graph *g, const tsr_compile_options *o, bool measure,
                          rt_tune_kernel_fn fn) {
  tsr_context *ctx = w->dev->ctx;
  tsr_compile_options plain = o ? *o : (tsr_compile_options){0};
  tsr_program *p = NULL;
  tune_device device;
  plain.tune = TSR_TUNE_OFF;
  tsr_status st = tsr_program_compile(w->dev, g, &plain, &p);
  rt_kernel *k = al_new(&ctx->al, rt_kernel);
  if (!st && !k) st = st_oom();
  if (!st) st = rt_tune_device(w->dev, w->cache, measure ? rt_compile : NULL, &device);
  ir_module *m = st ? NULL : p->levels[TSR_LEVEL_SCHEDULE];
  for (ir_op *prog = m ? m->root->regions[0]->first : NULL; prog && !st && !w->stop; prog = prog->next)
    for (ir_op *o2 = prog->n_regions ? prog->regions[0]->first : NULL; o2 && !st && !w->stop; o2 = o2->next) {
      bool worth = false;
      if (o2->def->level != IR_SCHEDULE || o2->def->code != S_KERNEL) continue;
      st = rt_kernel_open(w->dev, o2, p->policy, &device, rt_compile, k, &worth);
      if (!st && worth && w->tune && w->tune->knobs) st = restrict_space(k, w->tune->knobs);
      if (!st && (worth || (w->estimates && k->gemv))) st = fn(w, k);
      rt_kernel_close(k);
    }
  if (k) al_delete(&ctx->al, k);
  tsr_program_destroy(&p);
  return st;
}

tsr_status rt_check_tune_options(const tsr_device *dev, const tsr_compile_options *o, const tsr_tune_options *t) {
  enum { MOST_SAMPLES = 1 << 24 };
  tsr_context *ctx = dev->ctx;
  TSR_TRY(rt_check_options(ctx, "tune", o));
  if (!t) return NULL;
  if (t->samples > MOST_SAMPLES) return RT_BAD(ctx, "tune", NULL, "%zu samples; at most %d", t->samples, MOST_SAMPLES);
  if (!(t->stop_fraction >= 0))
    return RT_BAD(ctx, "tune", "0 means the default", "stop_fraction is %g", t->stop_fraction);
  if (t->mesh && (t->mesh->rank < 0 || !t->mesh->broadcast))
    return RT_BAD(ctx, "tune", NULL, "a mesh needs a rank from 0 on and broadcast");
  return NULL;
}

static tsr_status tune_kernel(rt_tune_walk *w, rt_kernel *k) {
  hooked x = {.k = k, .h = w->tune->hooks, .problem = problem_of(k, &w->report->mem)};
  tuner_result r = {0};
  if (!x.problem.kernel || !x.problem.op || !x.problem.shape || !x.problem.dtype) return st_oom();
  if (seen_before(w->report, &x.problem)) return NULL;
  tsr_status st = run_tuner(&x, w->tune, w->cache, &r);
  if (!st) st = add_result(w->report, &x, w->cache, &r);
  w->stop = r.cancelled;
  al_free_array(&w->dev->ctx->al, x.curve, x.cap_curve);
  return st;
}

tsr_status tsr_graph_tune(tsr_device *dev, const tsr_graph *g, const tsr_compile_options *o, const tsr_tune_options *t,
                          tsr_tune_report **out) {
  RT_OUT("graph_tune", out);
  RT_NEED("graph_tune", "dev", dev);
  RT_NEED("graph_tune", "g", g);
  static const tsr_tune_options none = {0};
  const search_strategy *strategy;
  if (!dev->be)
    return st_make(&dev->ctx->al, TSR_UNAVAILABLE, ST_WHERE("tune", NULL, "open a device by number"),
                   "%s is an architecture without hardware", dev->info.id);
  TSR_TRY(rt_check_tune_options(dev, o, t));
  TSR_TRY(find_strategy(dev->ctx, t ? t->strategy : NULL, &strategy));
  tsr_tune_report *rep = al_new(&dev->ctx->al, tsr_tune_report);
  if (!rep) return st_oom();
  rep->ctx = dev->ctx;
  arena_init(&rep->mem, &dev->ctx->al);
  rt_tune_walk w = {
      .dev = dev, .tune = t ? t : &none, .cache = rt_tune_cache(dev->ctx, o ? o->cache : NULL, true), .report = rep};
  bool decides = !t || !t->mesh || t->mesh->rank == 0;
  tsr_status st = rt_each_kernel(&w, g, o, decides && strategy != &search_model_only, tune_kernel);
  if (st) tsr_tune_report_destroy(&rep);
  *out = rep;
  return st;
}

int tsr_tune_report_count(const tsr_tune_report *r) { return r ? (int)r->n : 0; }
tsr_tune_result tsr_tune_report_get(const tsr_tune_report *r, int i) {
  static const tsr_tune_result none = {
      .problem = {.kernel = "", .op = "", .shape = "", .dtype = ""}, .tile = "", .source = ""};
  return i < 0 || i >= tsr_tune_report_count(r) ? none : r->v[i];
}

void tsr_tune_report_destroy(tsr_tune_report **r) {
  if (!r || !*r) return;
  tsr_context *ctx = (*r)->ctx;
  arena_clear(&(*r)->mem);
  al_free_array(&ctx->al, (*r)->v, (*r)->cap);
  al_delete(&ctx->al, *r);
  *r = NULL;
}
