/* core/runtime/fallback.c - a program whose stored schedule fails to compile or to launch goes on with another: the
 * runner-up, else what an untuned compilation takes. When it failed to launch: input: a program with tuned kernels, the
 * IR and options it was made from; output: the same handle with other insides. Everything the failed one gave out
 * (strings, launches that still run on some stream) lives on behind it until the program is destroyed. */
#include "core/runtime/fallback.h"

#include "core/runtime/tune.h"

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

void rt_keep_spare(tsr_program *p, ir_module *m, const tsr_compile_options *o) {
  rt_spare *s = arena_new(&p->arena, rt_spare);
  bool ok = s != NULL;
  if (ok && o) {
    s->options = *o;
    if (o->disable) ok &= (s->options.disable = arena_str(&p->arena, o->disable)) != NULL;
    if (o->cache) ok &= (s->options.cache = arena_str(&p->arena, o->cache)) != NULL;
    if (o->n_schedules) ok &= (s->options.schedules = copy_schedules(&p->arena, o->schedules, o->n_schedules)) != NULL;
  }
  if (ok) s->module = m, p->spare = s;
  else ir_module_destroy(&m); /* it runs without */
}

void rt_drop_spare(tsr_program *p) {
  if (p->spare) ir_module_destroy(&p->spare->module);
  p->spare = NULL;
}

/* ---- failed to compile ----------------------------------------------------------------------------------------- */

bool rt_is_schedules_fault(tsr_status st) {
  tsr_code c = tsr_status_code(st);
  return c != TSR_OUT_OF_MEMORY && c != TSR_DEVICE_LOST && c != TSR_CANCELLED && c != TSR_UNAVAILABLE &&
         c != TSR_PARSE_ERROR;
}

static void note_fall(tsr_program *p, const char *what, tsr_status failure) {
  const char *now = rt_any_tuned(p) ? "its runner-up" : "the untuned schedule";
  const ir_module *m = p->levels[TSR_LEVEL_SCHEDULE];
  trace_add(&p->trace, "tune", "winner_failed", m ? m->root : NULL, false,
            "fall-back: a stored schedule failed to %s (%s); %s took its place", what, tsr_status_cause(failure), now);
  rt_log(p->ctx, TSR_LOG_WARN, "a tuned schedule failed to %s: %s; %s took its place", what,
         tsr_status_message(failure), now);
}

static tsr_status compile_untuned(tsr_device *dev, const ir_module *m, const tsr_compile_options *o,
                                  rt_lighter *lighter, tsr_program **out) {
  tsr_compile_options off = o ? *o : (tsr_compile_options){0};
  ir_module *copy = NULL;
  off.tune = TSR_TUNE_OFF;
  TSR_TRY(ir_module_clone(m, &copy));
  return rt_compile_once(dev, copy, &off, lighter, out, NULL);
}

/* Is it the stored schedules' fault? Only where the same program compiles without them: *untuned then. */
static bool loses_its_place(tsr_device *dev, tsr_status st, const ir_module *m, const tsr_compile_options *o,
                            rt_lighter *lighter, tsr_program **untuned) {
  if (!m || !rt_is_schedules_fault(st)) return false;
  if (!*untuned) tsr_status_free(compile_untuned(dev, m, o, lighter, untuned));
  return *untuned != NULL;
}

tsr_status rt_compile_cached(tsr_device *dev, ir_module *m, const tsr_compile_options *o, rt_lighter *lighter,
                             tsr_program **out) {
  tsr_program *untuned = NULL, *failed = NULL;
  tsr_status why = NULL, st = NULL;
  bool fell = true;
  *out = NULL;
  for (int attempt = 0; fell && attempt < 2 && rt_tune_cached(dev, o); attempt++) {
    ir_module *again = NULL;
    uint64_t used = dev->ctx->tune.used;
    tsr_status_free(ir_module_clone(m, &again)); /* without it there is no second try */
    st = rt_compile_once(dev, m, o, lighter, out, &failed);
    bool tuned = dev->ctx->tune.used != used;
    m = again;
    if (!st && m && tuned) rt_keep_spare(*out, m, o), m = NULL;
    fell = st && tuned && loses_its_place(dev, st, m, o, lighter, &untuned);
    if (fell) {
      rt_tune_failed(failed, o);
      dev->ctx->tune.fallbacks++;
      if (why) rt_log(dev->ctx, TSR_LOG_WARN, "a tuned schedule failed to compile: %s", tsr_status_message(why));
      tsr_status_free(why);
      why = st;
    }
    tsr_program_destroy(&failed);
  }
  if (fell && untuned) *out = untuned, untuned = NULL, st = NULL;
  else if (fell) st = rt_compile_once(dev, m, o, lighter, out, NULL), m = NULL; /* there is no cache */
  if (!st && why) note_fall(*out, "compile", why);
  tsr_status_free(why);
  tsr_program_destroy(&untuned);
  ir_module_destroy(&m);
  return st;
}

/* ---- failed to launch ------------------------------------------------------------------------------------------ */

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
  return rt_compile(p->dev, m, &o, out);
}

/* The other's insides under this handle; the other takes the old ones and stays with it. */
static void take_insides(tsr_program *p, tsr_program *other) {
  tsr_program old = *p;
  *p = *other;
  *other = old;
  p->n_falls = old.n_falls + 1;
  p->retired = other;
  if (!p->spare && p->n_falls < RT_MOST_FALLS)
    p->spare = other->spare, other->spare = NULL; /* untuned: kept only to be dropped with it */
}

bool rt_fall_back(tsr_program *p, tsr_status failure) {
  tsr_context *ctx = p->ctx;
  tsr_program *other = NULL;
  if (!p->spare || p->n_falls >= RT_MOST_FALLS || !rt_any_tuned(p) || !is_launches_fault(tsr_status_code(failure)))
    return false;
  rt_tune_failed(p, &p->spare->options);
  tsr_status st = compile_other(p, &other);
  if (st) {
    rt_log(ctx, TSR_LOG_WARN, "a tuned schedule failed to launch, and nothing in its place compiles: %s",
           tsr_status_message(st));
    tsr_status_free(st);
    return false;
  }
  take_insides(p, other);
  ctx->tune.fallbacks++;
  note_fall(p, "launch", failure);
  return true;
}
