/* core/runtime/arguments.c - what every public function asks of its arguments before it does anything: pointers that
 * must be there, counts, enums and the fields of structs that are wrong by themselves. What depends on a graph or a
 * device is checked where that is known. */
#include <stdio.h>
#include <string.h>

#include "core/ir/schedule/schedule.h"
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
                  precisions[] = "standard, safe, aggressive, deterministic",
                  fallbacks[] = "default, error, warn, allow", tunes[] = "default, off, cached, full";

tsr_status rt_check_context_desc(const tsr_context_desc *d) {
  const tsr_allocator *al = d->allocator;
  if (al && (!al->alloc || !al->free))
    return st_make(NULL, TSR_INVALID_ARGUMENT, RT_WHERE("context_create", NULL), "an allocator needs alloc and free");
  TSR_TRY(rt_check_enum(al, "context_create", "policy", (int64_t)d->policy, policies));
  return rt_check_enum(al, "context_create", "fallback", (int64_t)d->fallback, fallbacks);
}

#define BAD_FIELD(ctx, field, hint, ...) st_make(&(ctx)->al, TSR_INVALID_ARGUMENT, ST_WHERE("schedule", field, hint), __VA_ARGS__)

tsr_status rt_check_schedule(const tsr_context *ctx, const tsr_schedule *s) {
  enum { MOST = 1 << 24, MOST_STAGES = 16 };
  const struct { const char *name; int64_t v, least, most; } fields[] = {
      {"m", s->m, 0, MOST}, {"n", s->n, 0, MOST}, {"k", s->k, 0, MOST}, {"vectorize", s->vectorize, 0, MOST}, {"padding", s->padding, -1, MOST},
      {"use_shared", s->use_shared, -1, 1}, {"async_copy", s->async_copy, -1, 1}, {"pipeline_stages", s->pipeline_stages, 0, MOST_STAGES}, {"split_k", s->split_k, 0, MOST},
      {"warps", s->warps, 0, MOST}, {"raster", s->raster, 0, MOST}, {"cluster", s->cluster, 0, SCHED_MOST_CLUSTER}, {"stream_k", s->stream_k, 0, MOST}};
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
    if (fields[i].v < fields[i].least || fields[i].v > fields[i].most)
      return BAD_FIELD(ctx, fields[i].name, "0 means the default", "%lld is not in %lld..%lld", (long long)fields[i].v,
                       (long long)fields[i].least, (long long)fields[i].most);
  if (s->vectorize & (s->vectorize - 1))
    return BAD_FIELD(ctx, "vectorize", "1, 2, 4, 8, ...", "%lld is not a power of two", (long long)s->vectorize);
  if (s->cluster & (s->cluster - 1))
    return BAD_FIELD(ctx, "cluster", "1, 2, 4 or 8", "a cluster of %lld blocks", (long long)s->cluster);
  if (s->matrix_path && !sched_path_known(s->matrix_path))
    return BAD_FIELD(ctx, "matrix_path", sched_path_list(), "no path \"%.64s\"", s->matrix_path);
  return NULL;
}

tsr_status rt_check_options(const tsr_context *ctx, const char *fn, const tsr_compile_options *o) {
  if (!o) return NULL;
  TSR_TRY(rt_check_enum(&ctx->al, fn, "policy", (int64_t)o->policy, policies));
  TSR_TRY(rt_check_enum(&ctx->al, fn, "precision", (int64_t)o->precision, precisions));
  TSR_TRY(rt_check_enum(&ctx->al, fn, "fallback", (int64_t)o->fallback, fallbacks));
  TSR_TRY(rt_check_enum(&ctx->al, fn, "tune", (int64_t)o->tune, tunes));
  if (o->cache) TSR_TRY(cache_check_name(&ctx->al, o->cache));
  TSR_TRY(rt_check_array(fn, "schedules", o->schedules, o->n_schedules));
  for (int i = 0; i < o->n_schedules; i++) TSR_TRY(rt_check_schedule(ctx, &o->schedules[i]));
  return NULL;
}
