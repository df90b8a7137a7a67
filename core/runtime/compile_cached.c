/* core/runtime/compile_cached.c - see compile_cached.h. */
#include "core/runtime/compile_cached.h"

#include "core/runtime/fallback.h"
#include "core/runtime/tune.h"
#include "core/runtime/tuned.h"

static tsr_status compile_untuned(tsr_device *dev, const ir_module *m, const tsr_compile_options *o,
                                  rt_lighter *lighter, const rt_compilers *c, tsr_program **out) {
  tsr_compile_options off = o ? *o : (tsr_compile_options){0};
  ir_module *copy = NULL;
  off.tune = TSR_TUNE_OFF;
  TSR_TRY(ir_module_clone(m, &copy));
  return c->once(dev, copy, &off, lighter, out, NULL);
}

/* Is it the stored schedules' fault? Only where the same program compiles without them: *untuned then. */
static bool loses_its_place(tsr_device *dev, tsr_status st, const ir_module *m, const tsr_compile_options *o,
                            rt_lighter *lighter, const rt_compilers *c, tsr_program **untuned) {
  if (!m || !rt_is_schedules_fault(st)) return false;
  if (!*untuned) tsr_status_free(compile_untuned(dev, m, o, lighter, c, untuned));
  return *untuned != NULL;
}

tsr_status rt_compile_cached(tsr_device *dev, ir_module *m, const tsr_compile_options *o, rt_lighter *lighter,
                             const rt_compilers *c, tsr_program **out) {
  const rt_spare_calls calls = {c->whole, rt_tune_failed, rt_tune_ran};
  tsr_program *untuned = NULL, *failed = NULL;
  tsr_status why = NULL, st = NULL;
  bool fell = true;
  *out = NULL;
  for (int attempt = 0; fell && attempt < 2 && rt_tune_cached(dev, o); attempt++) {
    ir_module *again = NULL;
    uint64_t used = dev->ctx->tune.used, unseen = dev->ctx->tune.unseen;
    tsr_status_free(ir_module_clone(m, &again)); /* without it there is no second try */
    st = c->once(dev, m, o, lighter, out, &failed);
    bool tuned = dev->ctx->tune.used != used;
    m = again;
    if (!st && m && tuned) rt_keep_spare(*out, m, o, calls, dev->ctx->tune.unseen == unseen), m = NULL;
    fell = st && tuned && loses_its_place(dev, st, m, o, lighter, c, &untuned);
    if (fell) {
      rt_tune_failed(failed, o, c->whole);
      dev->ctx->tune.fallbacks++;
      if (why) rt_log(dev->ctx, TSR_LOG_WARN, "a tuned schedule failed to compile: %s", tsr_status_message(why));
      tsr_status_free(why);
      why = st;
    }
    tsr_program_destroy(&failed);
  }
  if (fell && untuned) *out = untuned, untuned = NULL, st = NULL;
  else if (fell) st = c->once(dev, m, o, lighter, out, NULL), m = NULL; /* there is no cache */
  if (!st && why) rt_note_fall(*out, "compile", why);
  tsr_status_free(why);
  tsr_program_destroy(&untuned);
  ir_module_destroy(&m);
  return st;
}
