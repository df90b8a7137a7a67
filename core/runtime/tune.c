/* core/runtime/tune.c - cached and searched schedules while compiling; the context's cache; the device's measured rates. */
#include "core/runtime/tune.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/knob.h"

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
  return (tsr_tune_counters){ctx->tune.measurements, ctx->tune.lookups, ctx->tune.hits};
}

/* ---- the device's rates ---------------------------------------------------------------------------------------- */

/* Least time of a graph text on the device, since rates are what it can reach; 0 when it can't run there. */
static double time_text(tsr_device *dev, const char *text) {
  tsr_program *p = NULL;
  tsr_buffer *in = NULL, *out = NULL;
  double v[7] = {0}, ns[4] = {0};
  int n = 0;
  tsr_compile_options o = {.tune = TSR_TUNE_OFF, .fallback = TSR_FALLBACK_ALLOW};
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

static const char *unary_text(char *buf, size_t cap, const char *op, long long n) {
  snprintf(buf, cap, "\"builtin.module\"() ({\n\"tessera.graph.func\"() ({\n^bb0(%%A: tensor<%lldxf32>):\n%%0 = \"tessera.graph.%s\"(%%A) : (tensor<%lldxf32>) -> tensor<%lldxf32>\n"
           "\"tessera.graph.return\"(%%0) : (tensor<%lldxf32>) -> ()\n}) {sym_name = \"main\"} : () -> ()\n}) : () -> ()\n", n, op, n, n, n);
  return buf;
}

static const char *square_text(char *buf, size_t cap, int n, const char *t) {
  snprintf(buf, cap, "\"builtin.module\"() ({\n\"tessera.graph.func\"() ({\n^bb0(%%A: tensor<%dx%dx%s>):\n%%0 = \"tessera.graph.matmul\"(%%A, %%A) : (tensor<%dx%dx%s>, tensor<%dx%dx%s>) -> tensor<%dx%dx%s>\n"
           "\"tessera.graph.return\"(%%0) : (tensor<%dx%dx%s>) -> ()\n}) {sym_name = \"main\"} : () -> ()\n}) : () -> ()\n", n, n, t, n, n, t, n, n, t, n, n, t, n, n, t);
  return buf;
}

/* What the device reaches with our own kernels: a copy-like kernel, an untuned matmul, a kernel of one block. An untuned matmul is
 * no peak, so the compute rate is a lower bound with a margin and rates_measured stays as the backend said. */
static void measure_rates(tsr_device *dev, tune_device *d) {
  enum { COPY = 1 << 24, SIDE = 768 };
  char text[1024];
  double launch = time_text(dev, unary_text(text, sizeof text, "neg", 16)), copy = time_text(dev, unary_text(text, sizeof text, "neg", COPY));
  double mm = time_text(dev, square_text(text, sizeof text, SIDE, "f32")), mm16 = d->n_matrix ? time_text(dev, square_text(text, sizeof text, SIDE, "bf16")) : 0;
  const double flops = 2.0 * SIDE * SIDE * SIDE, margin = 1.1;
  if (launch > 0) d->launch_ns = launch;
  if (copy > 0) tune_device_measured(d, "memory", 8.0 * COPY / copy);
  if (mm > launch && !(d->fma_gflops > 0)) d->fma_gflops = margin * flops / (mm - launch);
  if (mm16 > launch && !(d->matrix_gflops > 0)) d->matrix_gflops = margin * flops / (mm16 - launch);
}

tsr_status rt_tune_device(tsr_device *dev, tune_cache *cache, bool measure, tune_device *out) {
  char id[256];
  strb text;
  *out = tune_device_from_caps(&dev->caps, dev->info.name);
  out->rates_measured &= dev->be != NULL; /* those of an architecture without hardware are listed */
  snprintf(id, sizeof id, "%.64s|%.32s|%d|%.128s|%s", dev->info.name, dev->caps.arch, dev->caps.n_cores, dev->info.driver ? dev->info.driver : "", tune_generator());
  strb_init(&text, &dev->ctx->al);
  bool known = false;
  if (cache_device(cache, id, &text)) {
    tune_device kept;
    tsr_status st = tune_device_parse(strb_text(&text), "cache", &kept);
    known = !st;
    if (!st) {
      out->launch_ns = kept.launch_ns;
      out->fma_gflops = kept.fma_gflops, out->matrix_gflops = kept.matrix_gflops;
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
  if (p.autotune) return false;
  p.autotune = false;
  return p.m || p.n || p.k || p.vectorize || p.use_shared || p.padding || p.async_copy || p.stages || p.split_k || p.warps || p.raster || p.cluster || p.stream_k || p.matrix_path;
}

static tsr_status tune_one(tsr_device *dev, ir_op *kernel, tune_mode mode, tune_cache *cache, tsr_policy policy, const tune_device *device, pass_trace *trace) {
  tsr_context *ctx = dev->ctx;
  rt_kernel *k = al_new(&ctx->al, rt_kernel);
  bool worth;
  if (!k) return st_oom();
  tsr_status st = rt_kernel_open(dev, kernel, policy, device, k, &worth);
  if (!st && worth) {
    tuner_result r;
    tuner_desc d = {.al = &ctx->al, .mode = mode, .device = &k->device, .problem = &k->problem, .space = &k->space.s, .dflt = &k->dflt,
                    .target = mode == TUNE_FULL ? &k->target : NULL, .cache = cache, .key = k->key, .stop_fraction = k->device.rates_measured ? 0 : 2};
    st = tuner_run(&d, &r);
    ctx->tune.lookups++;
    ctx->tune.hits += r.source == TUNE_FROM_CACHE;
    ctx->tune.measurements += r.measurements;
    if (!st && r.source != TUNE_FROM_DEFAULT) {
      sched_params p = rt_kernel_params(k, &r.config);
      trace_add(trace, "tune", tune_source_name(r.source), kernel, true, "%s: %dx%dx%d", ir_get_str(kernel, "sym_name", ""), r.config.m, r.config.n, r.config.k);
      ctx->tune.used++;
      if (!sched_write(kernel, &p)) st = st_oom();
    }
  }
  rt_kernel_close(k);
  al_delete(&ctx->al, k);
  return st;
}

tsr_status rt_tune_schedule(tsr_device *dev, ir_module *m, const tsr_compile_options *o, tsr_policy policy, pass_trace *trace) {
  tune_mode mode = mode_of(o);
  tune_device device;
  if (mode == TUNE_OFF || !dev->be) return NULL;
  tune_cache *cache = rt_tune_cache(dev->ctx, o ? o->cache : NULL, mode == TUNE_FULL);
  if (mode == TUNE_CACHED && !cache) return NULL;
  TSR_TRY(rt_tune_device(dev, cache, mode == TUNE_FULL, &device));
  for (ir_op *p = m->root->regions[0]->first; p; p = p->next)
    for (ir_op *k = p->n_regions ? p->regions[0]->first : NULL; k; k = k->next)
      if (k->def->level == IR_SCHEDULE && k->def->code == S_KERNEL && !rt_tune_is_fixed(k)) TSR_TRY(tune_one(dev, k, mode, cache, policy, &device, trace));
  return NULL;
}

bool rt_tune_cached(tsr_device *dev, const tsr_compile_options *o) {
  return dev->be && mode_of(o) != TUNE_OFF && rt_tune_cache(dev->ctx, o ? o->cache : NULL, false);
}

/* Its own trace says which kernels were tuned: "NAME: tile". */
bool rt_was_tuned(const tsr_program *p, const char *kernel) {
  size_t n = strlen(kernel);
  for (size_t i = 0; i < p->trace.n; i++) {
    const trace_entry *t = &p->trace.v[i];
    if (!strcmp(t->pass, "tune") && t->fired && !strncmp(t->reason, kernel, n) && t->reason[n] == ':') return true;
  }
  return false;
}

void rt_tune_failed(tsr_program *p, const tsr_compile_options *o) {
  tsr_context *ctx = p->ctx;
  tune_device device = tune_device_from_caps(&p->dev->caps, p->dev->info.name);
  tune_cache *cache = rt_tune_cache(ctx, o ? o->cache : NULL, false);
  rt_kernel *k = cache ? al_new(&ctx->al, rt_kernel) : NULL;
  ir_module *m = p->levels[TSR_LEVEL_SCHEDULE];
  for (ir_op *prog = k && m ? m->root->regions[0]->first : NULL; prog; prog = prog->next)
    for (ir_op *kernel = prog->n_regions ? prog->regions[0]->first : NULL; kernel; kernel = kernel->next) {
      bool worth;
      if (kernel->def->level != IR_SCHEDULE || kernel->def->code != S_KERNEL || !rt_was_tuned(p, ir_get_str(kernel, "sym_name", ""))) continue;
      tsr_status st = rt_kernel_open(p->dev, kernel, p->policy, &device, k, &worth);
      tune_entry now;
      if (!st && worth) cache_winner_failed(cache, &k->key, &now);
      tsr_status_free(st);
      rt_kernel_close(k);
    }
  if (k) al_delete(&ctx->al, k);
}
