/* core/runtime/tune.c - cached and searched schedules while compiling; the context's cache. */
#include "core/runtime/tune.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/knob.h"

/* ---- the cache of a context ------------------------------------------------------------------------------------ */

static const char *cache_name(const char *name) { return name && *name ? name : "default"; }

void rt_tune_init(tsr_context *ctx) {
  pthread_mutexattr_t a;
  pthread_mutexattr_init(&a);
  pthread_mutexattr_settype(&a, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(&ctx->tune.lock, &a);
  pthread_mutexattr_destroy(&a);
}

static tune_cache *open_cache(tsr_context *ctx, const char *name, bool create) {
  char path[1200];
  name = cache_name(name);
  if (ctx->tune.cache && !strcmp(ctx->tune.name, name)) return ctx->tune.cache;
  snprintf(path, sizeof path, "%.1000s/%.100s.sqlite", ctx->cache_dir, name);
  if (!create && access(path, F_OK)) return NULL; /* compiling alone leaves no files behind */
  rt_tune_close(ctx);
  tsr_status st = cache_open(&ctx->al, ctx->cache_dir, name, &ctx->tune.cache);
  if (st) rt_log(ctx, TSR_LOG_WARN, "tuning cache: %s", tsr_status_message(st));
  tsr_status_free(st);
  snprintf(ctx->tune.name, sizeof ctx->tune.name, "%s", name);
  cache_info info;
  cache_describe(ctx->tune.cache, &info);
  if (info.why[0]) rt_log(ctx, TSR_LOG_INFO, "tuning cache %s: %s", info.path, info.why);
  return ctx->tune.cache;
}

tune_cache *rt_tune_cache(tsr_context *ctx, const char *name, bool create) {
  if (!ctx->cache_dir || !*ctx->cache_dir) return NULL;
  pthread_mutex_lock(&ctx->tune.lock);
  tune_cache *c = open_cache(ctx, name, create);
  pthread_mutex_unlock(&ctx->tune.lock);
  return c;
}

void rt_tune_close(tsr_context *ctx) { cache_close(&ctx->tune.cache); }

tsr_tune_counters tsr_context_tune_counters(const tsr_context *ctx) {
  return !ctx ? (tsr_tune_counters){0}
              : (tsr_tune_counters){ctx->tune.measurements, ctx->tune.lookups, ctx->tune.hits, ctx->tune.fallbacks};
}

tsr_status tsr_context_check_cache(tsr_context *ctx, const char *name) {
  RT_NEED("context_check_cache", "ctx", ctx);
  if (name) TSR_TRY(cache_check_name(&ctx->al, name));
  tune_cache *c = rt_tune_cache(ctx, name, false);
  cache_check v;
  cache_info i;
  if (!c) return NULL;
  bool sound = cache_verify(c, &v);
  cache_describe(c, &i);
  if (i.off || (sound && !i.quarantined)) return NULL;
  if (!i.readable) return st_make(&ctx->al, TSR_IO_ERROR, ST_WHERE("tune", "cache", NULL), "%.300s: %s", i.path, i.why);
  return st_make(&ctx->al, TSR_CACHE_CORRUPT, ST_WHERE("tune", "cache", "`tessera cache verify` and `clear`"),
                 "%.300s: %zu damaged entries, %zu damaged trials, %d file(s) set aside", i.path, v.bad_entries,
                 v.bad_trials, i.quarantined);
}

/* ---- while compiling ------------------------------------------------------------------------------------------- */

static tune_mode mode_of(const tsr_compile_options *o) {
  tune_mode m = TUNE_CACHED;
  if (o && o->tune) return (tune_mode)(o->tune - TSR_TUNE_OFF);
  tune_mode_parse(knob_str("TSR_TUNE"), &m);
  return m;
}

bool rt_tune_begin(tsr_device *dev, const tsr_compile_options *o) {
  const tsr_context *ctx = dev->ctx;
  const bool asks = dev->be && ctx->cache_dir && *ctx->cache_dir && mode_of(o) != TUNE_OFF;
  if (asks) pthread_mutex_lock(&dev->ctx->tune.lock);
  return asks;
}

void rt_tune_end(tsr_device *dev, bool begun) {
  if (begun) pthread_mutex_unlock(&dev->ctx->tune.lock);
}

/* The kernel has the tuner's schedule from here on. */
static tsr_status take_schedule(tsr_program *program, ir_op *kernel, const rt_kernel *k, const tuner_result *r) {
  sched_params p = rt_kernel_params(k, &r->config);
  const char *name = ir_get_str(kernel, "sym_name", "");
  struct rt_tuned *t = arena_new(&program->arena, struct rt_tuned);
  if (!t || !(t->kernel = arena_str(&program->arena, name)) || !sched_write(kernel, &p)) return st_oom();
  t->next = program->tuned;
  program->tuned = t;
  trace_add(&program->trace, "tune", tune_source_name(r->source), kernel, true, "%s: %dx%dx%d", name, r->config.m,
            r->config.n, r->config.k);
  program->ctx->tune.used++;
  return NULL;
}

static tsr_status tune_one(tsr_program *p, ir_op *kernel, tune_mode mode, tune_cache *cache,
                           const tune_device *device, rt_compile_fn compile) {
  tsr_context *ctx = p->ctx;
  rt_kernel *k = al_new(&ctx->al, rt_kernel);
  bool worth;
  if (!k) return st_oom();
  tsr_status st = rt_kernel_open(p->dev, kernel, p->policy, device, compile, k, &worth);
  if (!st && worth) {
    tuner_result r;
    tuner_desc d = {.al = &ctx->al,
                    .mode = mode,
                    .device = &k->device,
                    .problem = &k->problem,
                    .space = &k->space.s,
                    .dflt = &k->dflt,
                    .target = mode == TUNE_FULL ? &k->target : NULL,
                    .cache = cache,
                    .key = k->key,
                    .bucket = k->bucket,
                    .stop_fraction = tune_device_has_roofline(&k->device) ? 0 : 2};
    st = tuner_run(&d, &r);
    ctx->tune.lookups++;
    ctx->tune.hits += r.source == TUNE_FROM_CACHE || r.source == TUNE_FROM_BUCKET;
    ctx->tune.measurements += r.measurements;
    if (!st && r.source != TUNE_FROM_DEFAULT) {
      ctx->tune.unseen += !tuner_winner_seen(&d);
      st = take_schedule(p, kernel, k, &r);
    }
  }
  rt_kernel_close(k);
  al_delete(&ctx->al, k);
  return st;
}

tsr_status rt_tune_schedule(tsr_program *program, ir_module *m, const tsr_compile_options *o, rt_compile_fn compile) {
  tsr_device *dev = program->dev;
  tune_mode mode = mode_of(o);
  tune_device device;
  if (mode == TUNE_OFF || !dev->be) return NULL;
  tune_cache *cache = rt_tune_cache(dev->ctx, o ? o->cache : NULL, mode == TUNE_FULL);
  if (mode == TUNE_CACHED && !cache) return NULL;
  TSR_TRY(rt_tune_device(dev, cache, mode == TUNE_FULL ? compile : NULL, &device));
  for (ir_op *p = m->root->regions[0]->first; p; p = p->next)
    for (ir_op *k = p->n_regions ? p->regions[0]->first : NULL; k; k = k->next)
      if (k->def->level == IR_SCHEDULE && k->def->code == S_KERNEL && !rt_tune_is_fixed(k))
        TSR_TRY(tune_one(program, k, mode, cache, &device, compile));
  return NULL;
}

bool rt_tune_cached(tsr_device *dev, const tsr_compile_options *o) {
  return dev->be && mode_of(o) != TUNE_OFF && rt_tune_cache(dev->ctx, o ? o->cache : NULL, false);
}

/* A kernel that the tuner gave a schedule, and what is asked about it. */
typedef struct tuned_kernel { rt_kernel *k; tuner_desc d; int at; } tuned_kernel;

/* `tell` for each of the program's kernels that the tuner gave a schedule; their number. */
static int each_tuned(tsr_program *p, const tsr_compile_options *o, rt_compile_fn compile,
                      void (*tell)(void *user, tuned_kernel *t), void *user) {
  tsr_context *ctx = p->ctx;
  tune_device device = tune_device_from_caps(&p->dev->caps, p->dev->info.name);
  tune_cache *cache = rt_tune_cache(ctx, o ? o->cache : NULL, false);
  rt_kernel *k = cache ? al_new(&ctx->al, rt_kernel) : NULL;
  ir_module *m = p->levels[TSR_LEVEL_SCHEDULE];
  int n = 0;
  for (ir_op *prog = k && m ? m->root->regions[0]->first : NULL; prog; prog = prog->next)
    for (ir_op *kernel = prog->n_regions ? prog->regions[0]->first : NULL; kernel; kernel = kernel->next) {
      bool worth;
      if (kernel->def->level != IR_SCHEDULE || kernel->def->code != S_KERNEL ||
          !rt_was_tuned(p, ir_get_str(kernel, "sym_name", "")))
        continue;
      tsr_status st = rt_kernel_open(p->dev, kernel, p->policy, &device, compile, k, &worth);
      if (!st && worth)
        tell(user, &(tuned_kernel){k, {.cache = cache, .key = k->key, .bucket = k->bucket, .dflt = &k->dflt,
                                       .space = &k->space.s}, n++});
      tsr_status_free(st);
      rt_kernel_close(k);
    }
  if (k) al_delete(&ctx->al, k);
  return n;
}

enum { MOST_TRIED = 64 };
/* Which of the tuned kernels fail alone, by their places. */
typedef struct culprits { bool failed[MOST_TRIED]; int n; } culprits;

/* The machine's troubles are nobody's fault. */
static void try_alone(void *user, tuned_kernel *t) {
  culprits *c = user;
  tune_config config;
  void *program = NULL;
  double ns = 0;
  if (t->at >= MOST_TRIED || !tuner_winner_config(&t->d, &config)) return;
  tsr_status st = t->k->target.prepare(t->k, &config, &program);
  if (!st) st = t->k->target.run(t->k, program, &ns);
  c->failed[t->at] = st && rt_is_schedules_fault(st);
  c->n += c->failed[t->at];
  tsr_status_free(st);
  t->k->target.release(t->k, program);
}

static void winner_failed(void *user, tuned_kernel *t) {
  const culprits *c = user;
  tuner_result was = {.source = TUNE_FROM_CACHE};
  if (!c->n || t->at >= MOST_TRIED || c->failed[t->at]) tuner_winner_failed(&t->d, &was);
}

static void winner_ran(void *user, tuned_kernel *t) { tuner_winner_ran(&t->d); }
static void is_there(void *user, tuned_kernel *t) {}

void rt_tune_failed(tsr_program *p, const tsr_compile_options *o, rt_compile_fn compile) {
  culprits c = {.n = 0};
  const bool begun = rt_tune_begin(p->dev, o);
  if (compile && each_tuned(p, o, NULL, is_there, NULL) > 1) each_tuned(p, o, compile, try_alone, &c);
  each_tuned(p, o, NULL, winner_failed, &c);
  rt_tune_end(p->dev, begun);
}

void rt_tune_ran(tsr_program *p, const tsr_compile_options *o) {
  const bool begun = rt_tune_begin(p->dev, o);
  each_tuned(p, o, NULL, winner_ran, NULL);
  rt_tune_end(p->dev, begun);
}
