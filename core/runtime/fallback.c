/* core/runtime/fallback.c - a program whose stored schedule failed goes on with another: the runner-up, else what an
 * untuned compilation takes. Input: a program with tuned kernels, the IR and options it was made from; output:
 * the same handle with other insides. Everything the failed one gave out (strings, launches that still run on some
 * stream) lives on behind it until the program is destroyed. */
#include "core/runtime/fallback.h"

#include "core/runtime/tuned.h"

/* Schedules with their strings, in the program's arena. NULL: out of memory. */
static const tsr_schedule *copy_schedules(arena *a, const tsr_schedule *from, int n) {
  tsr_schedule *to = arena_array(a, tsr_schedule, n + 1);
  for (int i = 0; to && i < n; i++) {
    to[i] = from[i];
    if (from[i].kernel && !(to[i].kernel = arena_str(a, from[i].kernel))) return NULL;
    if (from[i].matrix_path && !(to[i].matrix_path = arena_str(a, from[i].matrix_path))) return NULL;
  }
  return to;
}

void rt_keep_spare(tsr_program *p, ir_module *m, const tsr_compile_options *o, rt_spare_calls calls, bool seen) {
  rt_spare *s = arena_new(&p->arena, rt_spare);
  bool ok = s != NULL;
  if (ok && o) {
    s->options = *o;
    if (o->disable) ok &= (s->options.disable = arena_str(&p->arena, o->disable)) != NULL;
    if (o->cache) ok &= (s->options.cache = arena_str(&p->arena, o->cache)) != NULL;
    if (o->n_schedules) ok &= (s->options.schedules = copy_schedules(&p->arena, o->schedules, o->n_schedules)) != NULL;
  }
  if (ok) s->module = m, s->calls = calls, s->seen = seen, p->spare = s;
  else ir_module_destroy(&m); /* it runs without */
}

void rt_drop_spare(tsr_program *p) {
  if (p->spare) ir_module_destroy(&p->spare->module);
  p->spare = NULL;
}

/* Not the schedule's: memory, a lost device, a caller's choice. */
static bool is_launches_fault(tsr_code c) {
  return c == TSR_LAUNCH_FAILED || c == TSR_UNSUPPORTED || c == TSR_ARCH_MISMATCH || c == TSR_INTERNAL;
}

static tsr_status compile_other(tsr_program *p, tsr_program **out) {
  tsr_compile_options o = p->spare->options;
  ir_module *m = NULL;
  /* A cache that can't be written gives the same schedule again: the second time without it. */
  if (p->n_falls) o.tune = TSR_TUNE_OFF;
  else if (o.tune == TSR_TUNE_FULL || !o.tune) o.tune = TSR_TUNE_CACHED; /* a run is no time for a search */
  TSR_TRY(ir_module_clone(p->spare->module, &m));
  return p->spare->calls.compile(p->dev, m, &o, out);
}

/* The other's insides under this handle; the other takes the old ones and stays with it. */
static void take_insides(tsr_program *p, tsr_program *other) {
  tsr_program old = *p;
  *p = *other;
  *other = old;
  p->n_falls = old.n_falls + 1;
  p->retired = other;
  if (!p->spare && p->n_falls < RT_MOST_FALLS) { /* untuned: kept only to be dropped with it */
    p->spare = other->spare, other->spare = NULL;
    if (p->spare) p->spare->seen = true;
  }
}

void rt_note_fall(tsr_program *p, const char *what, tsr_status failure) {
  const char *now = rt_any_tuned(p) ? "its runner-up" : "the untuned schedule";
  const ir_module *m = p->levels[TSR_LEVEL_SCHEDULE];
  trace_add(&p->trace, "tune", "winner_failed", m ? m->root : NULL, false,
            "fall-back: a stored schedule failed to %s (%s); %s took its place", what, tsr_status_cause(failure), now);
  rt_log(p->ctx, TSR_LOG_WARN, "a tuned schedule failed to %s: %s; %s took its place", what,
         tsr_status_message(failure), now);
}

bool rt_must_see(const tsr_program *p, const tsr_stream *s) {
  return p->spare && !p->spare->seen && rt_any_tuned(p) && s && !s->capturing && !s->foreign;
}

void rt_saw(tsr_program *p) {
  p->spare->calls.ran(p, &p->spare->options);
  p->spare->seen = true;
}

tsr_status rt_lost_by_schedule(tsr_program *p, tsr_status failure) {
  tsr_context *ctx = p->ctx;
  p->spare->calls.failed(p, &p->spare->options, NULL); /* nothing runs any more */
  ctx->tune.fallbacks++;
  tsr_status st =
      st_make(&ctx->al, TSR_DEVICE_LOST,
              RT_WHERE("program_run", "open the device again: what is compiled then takes another schedule"),
              "a stored schedule of the tuner's lost the device at its first run and is dropped from the "
              "cache: %s",
              tsr_status_cause(failure));
  rt_log(ctx, TSR_LOG_ERROR, "%s", tsr_status_message(st));
  tsr_status_free(failure);
  return st;
}

bool rt_fall_back(tsr_program *p, tsr_status failure) {
  tsr_context *ctx = p->ctx;
  tsr_program *other = NULL;
  if (!p->spare || p->n_falls >= RT_MOST_FALLS || !rt_any_tuned(p) || !is_launches_fault(tsr_status_code(failure)))
    return false;
  p->spare->calls.failed(p, &p->spare->options, p->spare->calls.compile);
  tsr_status st = compile_other(p, &other);
  if (st) {
    rt_log(ctx, TSR_LOG_WARN, "a tuned schedule failed, and nothing in its place compiles: %s", tsr_status_message(st));
    tsr_status_free(st);
    return false;
  }
  take_insides(p, other);
  ctx->tune.fallbacks++;
  rt_note_fall(p, "run", failure);
  return true;
}
