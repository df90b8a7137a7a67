/* core/runtime/tune.c - cached and searched schedules while compiling; the context's cache; the device's measured
 * rates. */
#include "core/runtime/tune.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/base/knob.h"
#include "core/device/dialect.h"

/* ---- the cache of a context ------------------------------------------------------------------------------------ */

static const char *cache_name(const char *name) { return name && *name ? name : "default"; }

tune_cache *rt_tune_cache(tsr_context *ctx, const char *name, bool create) {
  char path[1200];
  name = cache_name(name);
  if (!ctx->cache_dir || !*ctx->cache_dir) return NULL;
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

void rt_tune_close(tsr_context *ctx) { cache_close(&ctx->tune.cache); }

tsr_tune_counters tsr_context_tune_counters(const tsr_context *ctx) {
  return !ctx ? (tsr_tune_counters){0}
              : (tsr_tune_counters){ctx->tune.measurements, ctx->tune.lookups, ctx->tune.hits, ctx->tune.fallbacks};
}

enum { BARRIER_WARPS = 4 };

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

/* ---- the device's rates ---------------------------------------------------------------------------------------- */

/* Least time of a graph text on the device, since rates are what it can reach; 0 when it can't run there. */
static double time_scheduled(tsr_device *dev, const char *text, const tsr_schedule *by_hand) {
  tsr_program *p = NULL;
  tsr_buffer *in = NULL, *out = NULL;
  double v[7] = {0}, ns[4] = {0};
  int n = 0;
  tsr_compile_options o = {
      .tune = TSR_TUNE_OFF, .fallback = TSR_FALLBACK_ALLOW, .schedules = by_hand, .n_schedules = by_hand ? 1 : 0};
  tsr_status st = tsr_program_parse(dev, text, strlen(text), "rates", &o, &p);
  if (!st && tsr_program_n_kernels(p) > 4) st = st_oom();
  if (!st) st = tsr_buffer_create(dev, tsr_program_input(p, 0).bytes, TSR_MEMORY_DEVICE, &in);
  if (!st) st = tsr_buffer_create(dev, tsr_program_output(p, 0).bytes, TSR_MEMORY_DEVICE, &out);
  if (!st) st = tsr_stream_fill(rt_stream(dev, NULL), in, 0, tsr_program_input(p, 0).bytes, 0x3f000000u);
  for (int i = 0; i < 9 && !st; i++) {
    double start = timing_now_ns();
    memset(ns, 0, sizeof ns);
    st = tsr_program_profile(p, NULL, &(tsr_binding){in, 0}, &(tsr_binding){out, 0}, ns);
    double took = timing_now_ns() - start;
    if (i >= 2 && !st) v[n++] = ns[0] > 0 ? ns[0] + ns[1] + ns[2] + ns[3] : took;
  }
  tsr_status_free(st);
  tsr_buffer_destroy(&in);
  tsr_buffer_destroy(&out);
  tsr_program_destroy(&p);
  if (n < 7) return 0;
  (void)timing_median(v, 7); /* sorts */
  return v[0];
}

static double time_text(tsr_device *dev, const char *text) { return time_scheduled(dev, text, NULL); }

static const char *unary_text(char *buf, size_t cap, const char *op, long long n) {
  snprintf(
      buf, cap,
      "\"builtin.module\"() ({\n\"tessera.graph.func\"() ({\n^bb0(%%A: tensor<%lldxf32>):\n%%0 = "
      "\"tessera.graph.%s\"(%%A) : (tensor<%lldxf32>) -> tensor<%lldxf32>\n"
      "\"tessera.graph.return\"(%%0) : (tensor<%lldxf32>) -> ()\n}) {sym_name = \"main\"} : () -> ()\n}) : () -> ()\n",
      n, op, n, n, n);
  return buf;
}

static const char *matmul_text(char *buf, size_t cap, int m, int n, int k, const char *t) {
  snprintf(buf, cap, "\"builtin.module\"() ({\n\"tessera.graph.func\"() ({\n^bb0(%%A: tensor<%dx%dx%s>):\n"
           "%%B = \"tessera.graph.reshape\"(%%A) {shape = [%d, %d]}\n%%0 = \"tessera.graph.matmul\"(%%A, %%B)\n\"tessera.graph.return\"(%%0)\n}) {sym_name = \"main\"}\n})\n", m, k, t, k, n);
  return buf;
}

/* A block that turns a 16x16 tile `steps` times through shared memory: two barriers a step, as staging a k step has. */
static const char *barrier_text(char *buf, size_t cap, int steps) {
  snprintf(
      buf, cap,
      "\"builtin.module\"() ({\n\"tessera.tile.program\"() ({\n^bb0(%%A: tensor<16x16xf32>):\n%%B = "
      "\"tessera.tile.buffer\"() : () -> tensor<16x16xf32>\n"
      "\"tessera.tile.launch\"(%%A, %%B) {kernel = \"turn\"}\n\"tessera.tile.return\"(%%B)\n}) {sym_name = \"main\"}\n"
      "\"tessera.tile.kernel\"() ({\n^bb0(%%a: !tessera.view<16x16xf32>, %%b: !tessera.view<16x16xf32>):\n"
      "%%zero = \"tessera.tile.const\"() {value = 0}\n%%one = \"tessera.tile.const\"() {value = 1}\n%%n = "
      "\"tessera.tile.const\"() {value = %d}\n"
      "%%v = \"tessera.tile.window\"(%%a, %%zero, %%zero) {sizes = [16, 16]}\n%%w = \"tessera.tile.window\"(%%b, "
      "%%zero, %%zero) {sizes = [16, 16]}\n"
      "%%x = \"tessera.tile.load\"(%%v)\n%%z = \"tessera.tile.for\"(%%zero, %%n, %%one, %%x) ({\n^bb0(%%i: index, %%y: "
      "!tessera.frag<16x16xf32>):\n"
      "%%t = \"tessera.tile.transpose\"(%%y) {perm = [1, "
      "0]}\n\"tessera.tile.yield\"(%%t)\n})\n\"tessera.tile.store\"(%%z, %%w)\n\"tessera.tile.return\"()\n"
      "}) {sym_name = \"turn\", grid = [1, 1, 1], outputs = 1, warps = %d}\n}) : () -> ()\n",
      steps, BARRIER_WARPS);
  return buf;
}

/* What one more k step costs a block beside its arithmetic; 0: too little to tell. On a CPU the same product in more
 * steps, elsewhere the loop above. */
static double step_ns(tsr_device *dev, char *text, size_t cap) {
  enum { SIDE = 32, LONG_K = 8192, FEW = 16, MANY = 256, LOOPS = 2000 };
  double few, many, steps;
  if (dev->caps.dialect == DIALECT_CPU) {
    matmul_text(text, cap, SIDE, SIDE, LONG_K, "f32");
    few = time_scheduled(dev, text, &(tsr_schedule){.m = SIDE, .n = SIDE, .k = LONG_K / FEW});
    many = time_scheduled(dev, text, &(tsr_schedule){.m = SIDE, .n = SIDE, .k = LONG_K / MANY});
    steps = MANY - FEW;
  } else {
    few = time_text(dev, barrier_text(text, cap, LOOPS / 10));
    many = time_text(dev, barrier_text(text, cap, LOOPS));
    steps = LOOPS - LOOPS / 10;
    if (caps_simd_like(&dev->caps)) steps *= BARRIER_WARPS; /* there they come in turns, and the model counts each */
  }
  return few > 0 && many > 1.2 * few ? (many - few) / steps : 0;
}

/* GB/s of a copy that stays in the second-level cache (of all cores, where each has its own); 0: not seen, being no
 * faster than memory. */
static double near_gbps(tsr_device *dev, const tune_device *d, double launch, char *text, size_t cap) {
  enum { UNKNOWN = 1 << 19 }; /* no device of today has less */
  const tune_tier *l2 = tune_device_tier(d, "l2"), *memory = tune_device_tier(d, "memory");
  double bytes = l2 && l2->bytes > 0 ? l2->bytes * (d->is_cpu ? d->cores : 1) / 2 : UNKNOWN;
  if (bytes < 1 << 16 || bytes > 1 << 28) return 0;
  long long n = (long long)bytes / 8;
  double ns = time_text(dev, unary_text(text, cap, "neg", n)),
         rate = ns > 2 * launch ? 8.0 * (double)n / (ns - launch) : 0;
  return memory && rate > memory->gbps ? rate : 0;
}

static void reached(double flops, double ns, double launch, double *gflops, tune_origin *from) {
  static const double margin = 1.1;
  if (*gflops > 0 || !(ns > launch)) return;
  *gflops = margin * flops / (ns - launch);
  *from = TUNE_REACHED;
}

/* What the device reaches with our own kernels: copies, an untuned matmul, a kernel of one block, a loop of barriers.
 * Those of shared memory and the latencies stay listed or assumed. */
static void measure_rates(tsr_device *dev, tune_device *d) {
  enum { COPY = 1 << 24, SIDE = 768 };
  char text[1600];
  const double flops = 2.0 * SIDE * SIDE * SIDE;
  double launch = time_text(dev, unary_text(text, sizeof text, "neg", 16)),
         copy = time_text(dev, unary_text(text, sizeof text, "neg", COPY));
  if (launch > 0) d->launch_ns = launch, d->launch_from = TUNE_MEASURED;
  if (copy > 0) tune_device_measured(d, "memory", 8.0 * COPY / copy);
  double near = launch > 0 ? near_gbps(dev, d, launch, text, sizeof text) : 0, step = step_ns(dev, text, sizeof text);
  if (near > 0) tune_device_measured(d, "l2", near);
  if (step > 0) d->barrier_ns = step, d->barrier_from = TUNE_MEASURED;
  reached(flops, time_text(dev, matmul_text(text, sizeof text, SIDE, SIDE, SIDE, "f32")), launch, &d->fma_gflops,
          &d->fma_from);
  if (d->n_matrix)
    reached(flops, time_text(dev, matmul_text(text, sizeof text, SIDE, SIDE, SIDE, "bf16")), launch, &d->matrix_gflops,
            &d->matrix_from);
  d->measured_on = (double)time(NULL);
}

static tsr_status device_itself(tsr_device *dev, tune_cache *cache, bool measure, tune_device *out) {
  char id[256];
  strb text;
  *out = tune_device_from_caps(&dev->caps, dev->info.name);
  out->queried = dev->be != NULL;
  snprintf(id, sizeof id, "%.64s|%.32s|%d|%.128s|%s", dev->info.name, dev->caps.arch, dev->caps.n_cores,
           dev->info.driver ? dev->info.driver : "", tune_generator());
  strb_init(&text, &dev->ctx->al);
  bool known = false;
  if (cache_device(cache, id, &text)) {
    tune_device kept;
    tsr_status st = tune_device_parse(strb_text(&text), "cache", &kept);
    known = !st;
    if (!st) {
      out->launch_ns = kept.launch_ns, out->launch_from = kept.launch_from;
      out->barrier_ns = kept.barrier_ns, out->barrier_from = kept.barrier_from;
      out->fma_gflops = kept.fma_gflops, out->fma_from = kept.fma_from;
      out->matrix_gflops = kept.matrix_gflops, out->matrix_from = kept.matrix_from;
      out->measured_on = kept.measured_on;
      for (int i = 0; i < kept.n_tiers; i++)
        if (kept.tier[i].measured) tune_device_measured(out, kept.tier[i].name, kept.tier[i].gbps);
    }
    tsr_status_free(st);
  }
  strb_clear(&text);
  if (known || !measure || !dev->be) return NULL;
  measure_rates(dev, out);
  strb_init(&text, &dev->ctx->al);
  tune_device_print(out, &text);
  if (strb_ok(&text)) cache_set_device(cache, id, strb_text(&text));
  strb_clear(&text);
  return NULL;
}

tsr_status rt_tune_device(tsr_device *dev, tune_cache *cache, bool measure, tune_device *out) {
  TSR_TRY(device_itself(dev, cache, measure, out));
  if (dev->profile) tune_device_override(out, dev->profile);
  return NULL;
}

/* ---- while compiling ------------------------------------------------------------------------------------------- */

static tune_mode mode_of(const tsr_compile_options *o) {
  tune_mode m = TUNE_CACHED;
  if (o && o->tune) return (tune_mode)(o->tune - TSR_TUNE_OFF);
  tune_mode_parse(knob_str("TSR_TUNE"), &m);
  return m;
}

bool rt_tune_is_fixed(const ir_op *kernel) {
  sched_params p;
  sched_read(kernel, &p);
  return !p.autotune && sched_any_set(&p);
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
                           const tune_device *device) {
  tsr_context *ctx = p->ctx;
  rt_kernel *k = al_new(&ctx->al, rt_kernel);
  bool worth;
  if (!k) return st_oom();
  tsr_status st = rt_kernel_open(p->dev, kernel, p->policy, device, k, &worth);
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
    if (!st && r.source != TUNE_FROM_DEFAULT) st = take_schedule(p, kernel, k, &r);
  }
  rt_kernel_close(k);
  al_delete(&ctx->al, k);
  return st;
}

tsr_status rt_tune_schedule(tsr_program *program, ir_module *m, const tsr_compile_options *o) {
  tsr_device *dev = program->dev;
  tune_mode mode = mode_of(o);
  tune_device device;
  if (mode == TUNE_OFF || !dev->be) return NULL;
  tune_cache *cache = rt_tune_cache(dev->ctx, o ? o->cache : NULL, mode == TUNE_FULL);
  if (mode == TUNE_CACHED && !cache) return NULL;
  TSR_TRY(rt_tune_device(dev, cache, mode == TUNE_FULL, &device));
  for (ir_op *p = m->root->regions[0]->first; p; p = p->next)
    for (ir_op *k = p->n_regions ? p->regions[0]->first : NULL; k; k = k->next)
      if (k->def->level == IR_SCHEDULE && k->def->code == S_KERNEL && !rt_tune_is_fixed(k))
        TSR_TRY(tune_one(program, k, mode, cache, &device));
  return NULL;
}

bool rt_tune_cached(tsr_device *dev, const tsr_compile_options *o) {
  return dev->be && mode_of(o) != TUNE_OFF && rt_tune_cache(dev->ctx, o ? o->cache : NULL, false);
}

bool rt_was_tuned(const tsr_program *p, const char *kernel) {
  for (const struct rt_tuned *t = p->tuned; t; t = t->next)
    if (!strcmp(t->kernel, kernel)) return true;
  return false;
}

bool rt_any_tuned(const tsr_program *p) { return p->tuned != NULL; }

void rt_tune_failed(tsr_program *p, const tsr_compile_options *o) {
  tsr_context *ctx = p->ctx;
  tune_device device = tune_device_from_caps(&p->dev->caps, p->dev->info.name);
  tune_cache *cache = rt_tune_cache(ctx, o ? o->cache : NULL, false);
  rt_kernel *k = cache ? al_new(&ctx->al, rt_kernel) : NULL;
  ir_module *m = p->levels[TSR_LEVEL_SCHEDULE];
  for (ir_op *prog = k && m ? m->root->regions[0]->first : NULL; prog; prog = prog->next)
    for (ir_op *kernel = prog->n_regions ? prog->regions[0]->first : NULL; kernel; kernel = kernel->next) {
      bool worth;
      if (kernel->def->level != IR_SCHEDULE || kernel->def->code != S_KERNEL ||
          !rt_was_tuned(p, ir_get_str(kernel, "sym_name", "")))
        continue;
      tsr_status st = rt_kernel_open(p->dev, kernel, p->policy, &device, k, &worth);
      tuner_result was = {.source = TUNE_FROM_CACHE};
      if (!st && worth)
        tuner_winner_failed(&(tuner_desc){.cache = cache, .key = k->key, .bucket = k->bucket, .dflt = &k->dflt}, &was);
      tsr_status_free(st);
      rt_kernel_close(k);
    }
  if (k) al_delete(&ctx->al, k);
}
