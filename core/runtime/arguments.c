/* core/runtime/arguments.c - what every public function asks of its arguments before it does anything: pointers that
 * must be there, counts, enums and the fields of structs that are wrong by themselves. What depends on a graph or a
 * device is checked where that is known. */
#include <stdio.h>
#include <string.h>

#include "core/base/policy.h"
#include "core/ir/schedule/knobs.h"
#include "core/passes/pipeline.h"
#include "core/runtime/internal.h"
#include "core/tune/cache.h"

tsr_status rt_missing(const char *fn, const char *name) {
  return st_make(NULL, TSR_INVALID_ARGUMENT, RT_WHERE(fn, NULL), "%s is NULL", name);
}

tsr_status rt_check_array(const char *fn, const char *name, const void *v, int64_t n) {
  if (n < 0) return st_make(NULL, TSR_INVALID_ARGUMENT, RT_WHERE(fn, NULL), "%lld %s", (long long)n, name);
  return n && !v ? rt_missing(fn, name) : NULL;
}

tsr_status rt_check_enum(const tsr_allocator *al, const char *fn, const char *what, int64_t v, const char *known) {
  int64_t n = 1;
  for (const char *c = known; *c; c++) n += *c == ',';
  if (v >= 0 && v < n) return NULL;
  return st_make(al, TSR_INVALID_ARGUMENT, RT_WHERE(fn, known), "%s %lld is none of the %lld that there are", what,
                 (long long)v, (long long)n);
}

static const char policies[] = "default, fast, deterministic, kahan_sum",
                  fallbacks[] = "default, error, warn, allow", tunes[] = "default, off, cached, full";

tsr_status rt_check_context_desc(const tsr_context_desc *d) {
  const tsr_allocator *al = d->allocator;
  if (al && (!al->alloc || !al->free))
    return st_make(NULL, TSR_INVALID_ARGUMENT, RT_WHERE("context_create", NULL), "an allocator needs alloc and free");
  TSR_TRY(rt_check_enum(al, "context_create", "policy", (int64_t)d->policy, policies));
  return rt_check_enum(al, "context_create", "fallback", (int64_t)d->fallback, fallbacks);
}

tsr_status rt_check_schedule(const tsr_context *ctx, const tsr_schedule *s) {
  sched_params p = sched_from_public(s);
  return sched_check(&ctx->al, &p);
}

tsr_status rt_check_options(const tsr_context *ctx, const char *fn, const tsr_compile_options *o) {
  if (!o) return NULL;
  TSR_TRY(rt_check_enum(&ctx->al, fn, "policy", (int64_t)o->policy, policies));
  TSR_TRY(rt_check_enum(&ctx->al, fn, "precision", (int64_t)o->precision, PRECISION_WORDS));
  TSR_TRY(rt_check_enum(&ctx->al, fn, "fallback", (int64_t)o->fallback, fallbacks));
  TSR_TRY(rt_check_enum(&ctx->al, fn, "tune", (int64_t)o->tune, tunes));
  if (o->keep_after) TSR_TRY(pipeline_check_pass(&ctx->al, fn, "keep_after", o->keep_after, strlen(o->keep_after)));
  if (o->cache) TSR_TRY(cache_check_name(&ctx->al, o->cache));
  TSR_TRY(rt_check_array(fn, "schedules", o->schedules, o->n_schedules));
  for (int i = 0; i < o->n_schedules; i++) TSR_TRY(rt_check_schedule(ctx, &o->schedules[i]));
  return NULL;
}

/* ---- policies -------------------------------------------------------------------------------------------------- */

tsr_status tsr_policy_parse(const char *name, tsr_policy *out) {
  RT_OUT("policy_parse", out);
  if ((*out = policy_named(name))) return NULL;
  return st_make(NULL, TSR_NOT_FOUND, RT_WHERE("policy", POLICY_WORDS), "unknown numerics policy \"%s\"",
                 name ? name : "");
}

const char *tsr_policy_name(tsr_policy p) { return policy_name(p); }
const char *tsr_policy_help(tsr_policy p) { return policy_help(p); }

tsr_status tsr_precision_parse(const char *name, tsr_precision *out) {
  RT_OUT("precision_parse", out);
  if (precision_named(name, out)) return NULL;
  return st_make(NULL, TSR_NOT_FOUND, RT_WHERE("precision", PRECISION_WORDS), "unknown precision mode \"%s\"",
                 name ? name : "");
}

const char *tsr_precision_name(tsr_precision p) { return precision_name(p); }
const char *tsr_precision_help(tsr_precision p) { return precision_help(p); }
