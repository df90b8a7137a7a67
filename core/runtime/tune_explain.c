/* core/runtime/tune_explain.c - what tuning would do, as text: search spaces, estimates, recorded spaces; see
 * tessera/tune.h. */
#include <stdio.h>
#include <string.h>

#include "core/base/dtype.h"
#include "core/ir/schedule/schedule.h"
#include "core/runtime/tune_walk.h"
#include "core/tune/timeline.h"

static tsr_status print_space(rt_tune_walk *w, rt_kernel *k) {
  strb_printf(w->text, "%s: %s %s %s on %s\n", ir_get_str(k->kernel, "sym_name", ""), k->key_text.op, k->key_text.shape,
              k->key_text.dtype, k->device.name);
  return space_print(&k->space.s, &w->dev->ctx->al, w->text);
}

/* The fields that the user set, over the kernel's own. */
static tune_config merged(const tune_config *base, const tsr_schedule *s) {
  tune_config c = *base;
  if (!s) return c;
  sched_params p = sched_from_public(s);
  tune_config_merge(&c, &p);
  return c;
}

/* Choices that this device's kernels of the family don't have keep the default, and the text says so. */
static void drop_foreign(const tune_space *s, const tune_config *dflt, tune_config *c, strb *out) {
  for (int i = 0; i < N_SCHED_KNOBS; i++) {
    tune_config own = *dflt;
    const char *name = sched_knobs[i].name;
    int32_t *to = tune_config_at(c, &sched_knobs[i]), at = 0;
    if (!to) continue;
    int32_t was = *tune_config_at(&own, &sched_knobs[i]);
    while (at < s->n_knobs && strcmp(s->knob[at].name, name)) at++;
    if (*to == was || (at < s->n_knobs && s->knob[at].n > 1)) continue;
    strb_printf(out, "%s=%d is no choice here: left at %d\n", name, *to, was);
    *to = was;
  }
}

static tsr_status print_estimate(rt_tune_walk *w, rt_kernel *k) {
  const tune_space *s = &k->space.s;
  tune_config c = merged(&k->dflt, w->candidate);
  int32_t values[SPACE_MAX_KNOBS];
  char why[128] = "";
  drop_foreign(s, &k->dflt, &c, w->text);
  for (int32_t i = 0; i < s->n_knobs; i++) values[i] = *tune_config_field(&c, s->knob[i].name);
  if (memcmp(&c, &k->dflt, sizeof c) && !s->legal(s->user, values, why, sizeof why))
    strb_printf(w->text, "illegal candidate, never compiled: %s\n", why);
  strb_printf(w->text, "%s: ", ir_get_str(k->kernel, "sym_name", ""));
  if (k->gemv) return cost_explain_once(&k->device, &k->problem, w->text), NULL;
  cost_explain(&k->device, &k->problem, &c, w->text);
  timeline_explain(&k->device, &k->problem, &c, w->text);
  return NULL;
}

tsr_status tsr_tune_explain_attention(tsr_device *dev, const tsr_attention *a, const tsr_schedule *s, char **text) {
  RT_OUT("tune_explain_attention", text);
  RT_NEED("tune_explain_attention", "dev", dev);
  RT_NEED("tune_explain_attention", "a", a);
  static const tsr_schedule none = {0};
  tune_device device;
  tsr_context *ctx = dev->ctx;
  if (!s) s = &none;
  TSR_TRY(rt_check_schedule(ctx, s));
  const int64_t most = INT32_MAX;
  if (a->heads < 1 || a->heads > most || a->queries < 1 || a->queries > most || a->keys < 1 || a->keys > most ||
      a->width < 1 || a->width > 1 << 20 || !tsr_dtype_name(a->dtype) || !dtype_is_float(a->dtype))
    return st_make(&ctx->al, TSR_INVALID_ARGUMENT, ST_WHERE("tune", "attention", NULL),
                   "heads, queries and keys go from 1 to 2147483647, the width to 1048576, the type is one of floats");
  TSR_TRY(rt_tune_device(dev, rt_tune_cache(ctx, NULL, true), rt_compile, &device));
  tune_problem p = {.family = FAMILY_ATTENTION,
                    .op = "attention",
                    .batch = a->heads,
                    .m = a->queries,
                    .n = a->keys,
                    .k = a->width,
                    .in = a->dtype,
                    .acc = TSR_F32,
                    .out = a->dtype,
                    .causal = a->causal};
  tune_config c = merged(&(tune_config){.m = 128,
                                        .n = 64,
                                        .use_shared = 1,
                                        .async_copy = device.async_copy,
                                        .pipeline_stages = 2,
                                        .warps = 8,
                                        .split_k = 1,
                                        .cluster = 1},
                         s);
  c.k = (int32_t)a->width;
  c.matrix_path = c.matrix_path || (!s->matrix_path && tune_device_matrix(&device, a->dtype));
  strb b;
  strb_init(&b, &ctx->al);
  occ_input in = {.warps = c.warps, .regs = occ_regs(&device, &p, &c), .shared_bytes = occ_shared_bytes(&p, &c)};
  if (!device.is_cpu && device.shared_per_block > 0 && in.shared_bytes > device.shared_per_block)
    strb_printf(&b, "illegal candidate: shared memory %lld > %lld bytes per block\n", (long long)in.shared_bytes,
                (long long)device.shared_per_block);
  if (device.regs_per_thread > 0 && in.regs > device.regs_per_thread)
    strb_printf(&b, "illegal candidate: registers %d > %d per thread\n", in.regs, device.regs_per_thread);
  cost_explain(&device, &p, &c, &b);
  timeline_explain(&device, &p, &c, &b);
  return rt_text(ctx, &b, text);
}

static tsr_status to_text(rt_tune_walk *w, const tsr_graph *g, const tsr_compile_options *o, bool measure,
                          rt_tune_kernel_fn fn, char **text) {
  strb b;
  *text = NULL;
  strb_init(&b, &w->dev->ctx->al);
  w->text = &b;
  tsr_status st = rt_each_kernel(w, g, o, measure, fn);
  if (!st) return rt_text(w->dev->ctx, &b, text);
  strb_clear(&b);
  return st;
}

tsr_status tsr_graph_tune_space(tsr_device *dev, const tsr_graph *g, const tsr_compile_options *o,
                                const tsr_tune_options *t, char **text) {
  RT_OUT("graph_tune_space", text);
  RT_NEED("graph_tune_space", "dev", dev);
  RT_NEED("graph_tune_space", "g", g);
  TSR_TRY(rt_check_tune_options(dev, o, t));
  rt_tune_walk w = {.dev = dev, .tune = t};
  return to_text(&w, g, o, false, print_space, text);
}

tsr_status tsr_graph_tune_explain(tsr_device *dev, const tsr_graph *g, const tsr_compile_options *o,
                                  const tsr_schedule *candidate, char **text) {
  RT_OUT("graph_tune_explain", text);
  RT_NEED("graph_tune_explain", "dev", dev);
  RT_NEED("graph_tune_explain", "g", g);
  TSR_TRY(rt_check_tune_options(dev, o, NULL));
  if (candidate) TSR_TRY(rt_check_schedule(dev->ctx, candidate));
  rt_tune_walk w = {.dev = dev,
            .candidate = candidate,
            .estimates = true,
            .cache = rt_tune_cache(dev->ctx, o ? o->cache : NULL, true)};
  return to_text(&w, g, o, true, print_estimate, text);
}

/* Exhaustive: the points in blocks of four whose runs are interleaved with the default's. */
static tsr_status record_kernel(rt_tune_walk *w, rt_kernel *k) {
  record r;
  record_init(&r, &w->dev->ctx->al);
  snprintf(r.label, sizeof r.label, "%s", w->label);
  r.device = k->device, r.problem = k->problem, r.dflt = k->dflt;
  space_custom(k->space.s.knob, k->space.s.n_knobs, NULL, NULL, &r.space);
  tuner_desc d = {.al = &w->dev->ctx->al,
                  .device = &k->device,
                  .problem = &k->problem,
                  .space = &k->space.s,
                  .dflt = &k->dflt,
                  .target = &k->target};
  tsr_status st = tuner_measure_all(&d, &r);
  if (!st) record_print(&r, w->text);
  record_clear(&r);
  w->stop = true;
  return st;
}

tsr_status tsr_graph_tune_record(tsr_device *dev, const tsr_graph *g, const tsr_compile_options *o, const char *label,
                                 const tsr_tune_options *t, char **text) {
  RT_OUT("graph_tune_record", text);
  RT_NEED("graph_tune_record", "dev", dev);
  RT_NEED("graph_tune_record", "g", g);
  TSR_TRY(rt_check_tune_options(dev, o, t));
  static const tsr_tune_options none = {0};
  rt_tune_walk w = {.dev = dev,
            .label = label ? label : "",
            .tune = t ? t : &none,
            .cache = rt_tune_cache(dev->ctx, o ? o->cache : NULL, true)};
  return to_text(&w, g, o, true, record_kernel, text);
}
