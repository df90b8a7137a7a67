/* core/runtime/compile.c - from IR of any level to a program: the passes of core/passes/pipeline.c, with what only the
 * runtime knows handed to them, then the backend. */
#include <stdio.h>
#include <string.h>

#include "core/base/knob.h"
#include "core/base/policy.h"
#include "core/device/dialect.h"
#include "core/emit/emit.h"
#include "core/ir/graph/ops.h"
#include "core/ir/schedule/schedule.h"
#include "core/passes/schedule/kernel.h"
#include "core/ir/target/target.h"
#include "core/ir/tile/tile.h"
#include "core/passes/pipeline.h"
#include "core/passes/target/program.h"
#include "core/passes/tile/work.h"
#include "core/profile/verdict.h"
#include "core/runtime/by_hand.h"
#include "core/runtime/compile_cached.h"
#include "core/runtime/rule.h"
#include "core/runtime/tuned.h"

typedef struct compile {
  tsr_device *dev;
  tsr_program *p;
  const tsr_compile_options *o;
  rt_lighter *lighter;
  char disable[1024];
  tsr_level level; /* of the text or graph given */
  tsr_precision precision;
} compile;

static tsr_level level_of(const ir_module *m) {
  static const tsr_level levels[IR_N_LEVELS] = {[IR_GRAPH] = TSR_LEVEL_GRAPH,
                                                [IR_SCHEDULE] = TSR_LEVEL_SCHEDULE,
                                                [IR_TILE] = TSR_LEVEL_TILE,
                                                [IR_TARGET] = TSR_LEVEL_TARGET};
  const ir_op *first = m->root->regions[0]->first;
  return first ? levels[first->def->level] : TSR_LEVEL_GRAPH;
}

/* ---- passes ---------------------------------------------------------------------------------------------------- */

static const char *joined_disable(compile *c) {
  snprintf(c->disable, sizeof c->disable, "%s%s%s", knob_str("TSR_DISABLE"), c->o && c->o->disable ? "," : "",
           c->o && c->o->disable ? c->o->disable : "");
  return c->disable;
}

/* Programs are made for one size each. */
static tsr_status check_dims(const ir_module *m) {
  for (const ir_op *f = m->root->regions[0]->first; f; f = f->next)
    for (int i = 0; graph_is(f, G_FUNC) && i < f->regions[0]->n_args; i++) {
      const ir_value *v = f->regions[0]->args[i];
      if (ir_type_count(v->type) < 0)
        return ir_error_at(f, v->loc, TSR_VERIFY_ERROR, "tsr_graph_specialize or --shape gives it a number",
                           "argument %%%s has an unknown dimension", v->name ? v->name : "?");
    }
  return NULL;
}

/* What ranks do together is no program of one device. */
static tsr_status check_alone(const ir_module *m) {
  for (const ir_op *f = m->root->regions[0]->first; f; f = f->next)
    for (const ir_op *o = graph_is(f, G_FUNC) ? f->regions[0]->first : NULL; o; o = o->next)
      if (graph_is_kind(o, GRAPH_COLLECTIVE))
        return ir_error_at(o, o->loc, TSR_UNSUPPORTED, "tsr_dist_program_compile: docs/distributed.md",
                           "it runs on a mesh, not on one device");
  return NULL;
}

static bool suggest(void *user, const be_matmul *d, int64_t tile[3]) {
  const tsr_device *dev = ((compile *)user)->dev;
  return dev->be && dev->vt->suggest_tile && dev->vt->suggest_tile(dev->be, d, tile);
}

static tsr_fallback fallback_of(const compile *c) {
  return c->o && c->o->fallback ? c->o->fallback : c->p->ctx->fallback;
}

/* What runs is not the schedule that was asked for: under the policy `warn` that is a warning. */
static tsr_status tell_changes(void *user, ir_module *m) {
  const compile *c = user;
  const pass_trace *t = &c->p->trace;
  for (size_t i = 0; i < t->n; i++) {
    if (t->v[i].kernel)
      rt_log(c->p->ctx, t->v[i].asked && fallback_of(c) == TSR_FALLBACK_WARN ? TSR_LOG_WARN : TSR_LOG_INFO,
             "%s: the schedule of %s", t->v[i].rule, t->v[i].reason);
  }
  return NULL;
}

/* ---- what the runtime adds to the pipeline ------------------------------------------------------------------- */

static tsr_status by_hand(void *user, ir_module *m) {
  compile *c = user;
  TSR_TRY(rt_apply_schedules(&c->p->ctx->al, c->o ? c->o->schedules : NULL, c->o ? c->o->n_schedules : 0, m));
  return rt_switch_off(joined_disable(c), &c->p->trace, m);
}

static tsr_status tune(void *user, ir_module *m) {
  compile *c = user;
  rt_lighter_note_fixed(c->lighter, m);
  TSR_TRY(rt_tune_schedule(c->p, m, c->o, rt_compile));
  return rt_lighter_apply(c->lighter, m, &c->p->trace);
}

/* Kernels without a program: one that launches them in order, inputs and outputs as the arguments say. */
static tsr_status add_program(ir_module *m, const char *level, bool *changed) {
  ir_block *top = m->root->regions[0];
  char name[64];
  for (ir_op *o = top->first; o; o = o->next)
    if (o->def->flags & IR_PROGRAM) return NULL;
  if (!top->first) return NULL;
  *changed = true;
  ir_builder b = ir_before(top->first);
  snprintf(name, sizeof name, "tessera.%s.program", level);
  ir_op *p = ir_op_new(&b, ir_find_op(name), 0, NULL, 0, NULL, 1);
  if (!p || !ir_set_attr(p, "sym_name", ir_attr_str(m, "main"))) return st_oom();
  ir_builder in = ir_at_end(m, p->regions[0]);
  ir_value *results[256], *args[256];
  int n_results = 0;
  for (ir_op *k = p->next; k; k = k->next) {
    ir_block *r = k->n_regions ? k->regions[0] : NULL;
    if (!(k->def->flags & IR_KERNEL) || !r) continue;
    int outputs = (int)ir_get_int(k, "outputs", 1);
    in.loc = k->loc;
    if (r->n_args > 256 || n_results + outputs > 256) return ir_error(k, NULL, "has too many arguments");
    for (int i = 0; i < r->n_args; i++) {
      const ir_type *t = r->args[i]->type;
      if (t->kind != IR_T_VIEW) return ir_error(k, "add a program that launches it", "argument %d has no shape", i);
      const ir_type *tensor = ir_type_tensor(m, t->dtype, t->rank, t->dims);
      if (i < r->n_args - outputs) {
        args[i] = ir_block_arg_like(m, p->regions[0], tensor, r->args[i]);
      } else {
        snprintf(name, sizeof name, "tessera.%s.buffer", level);
        args[i] = results[n_results++] = ir_build1(&in, name, tensor, 0, NULL);
      }
      if (!args[i]) return st_oom();
    }
    snprintf(name, sizeof name, "tessera.%s.launch", level);
    ir_op *l = ir_build0(&in, name, r->n_args, args);
    if (!l || !ir_set_attr(l, "kernel", ir_attr_str(m, ir_get_str(k, "sym_name", "")))) return st_oom();
  }
  snprintf(name, sizeof name, "tessera.%s.return", level);
  return ir_build0(&in, name, n_results, results) ? NULL : st_oom();
}

static void dump(void *user, tsr_level level) {
  static const char *const names[] = {"graph", "schedule", "tile", "target", "source"};
  compile *c = user;
  const char *name = names[level];
  if (!knob_has("TSR_DUMP", name)) return;
  char *text = NULL;
  tsr_status st = tsr_program_dump(c->p, level, &text, NULL);
  if (st) fprintf(stderr, "tessera: dump %s: %s\n", name, tsr_status_message(st));
  else fprintf(stderr, "// ---- %s ----\n%s", name, text);
  tsr_status_free(st);
  tsr_text_free(c->p->ctx, &text);
}

static void dump_after(void *user, const pass_row *row, const ir_module *m) {
  compile *c = user;
  const bool keep = c->o && c->o->keep_after && !strcmp(c->o->keep_after, row->name),
             dump = pipeline_dumps_after(knob_str("TSR_DUMP"), row);
  if (!keep && !dump) return;
  strb b;
  strb_init(&b, &c->p->ctx->al);
  ir_print(&b, m);
  if (keep && strb_ok(&b)) c->p->kept_after = arena_strn(&c->p->arena, strb_text(&b), b.n);
  if (dump) fprintf(stderr, "// ---- after %s ----\n%s", row->name, strb_ok(&b) ? strb_text(&b) : "out of memory\n");
  strb_clear(&b);
}

/* Strided accesses of global memory are told, with what helps (docs/memory.md). */
static void note_strides(compile *c) {
  for (const ir_op *o = c->p->levels[TSR_LEVEL_TILE]->root->regions[0]->first; o; o = o->next) {
    const char *hint = NULL, *name = ir_get_str(o, "sym_name", "?");
    tile_work w;
    if (o->def->level != IR_TILE || o->def->code != T_KERNEL) continue;
    tile_work_count(o, &w);
    if (verdict_coalescing(w.contiguous, &hint) != VERDICT_FAIL) continue;
    char text[256];
    snprintf(text, sizeof text, "%s: %.0f %% of the elements moved lie beside their neighbours: %s", name,
             100 * w.contiguous, hint);
    trace_add(&c->p->trace, "tile", "coalescing", o, false, "%s", text);
    rt_log(c->p->ctx, TSR_LOG_INFO, "%s", text);
  }
}

static tsr_status switch_off_reduction_kernels(compile *c, bool *changed) {
  const pass_options opts = {.disable = joined_disable(c)};
  ir_module *m = c->p->levels[TSR_LEVEL_TILE];
  if (pass_enabled(&opts, "reduction_kernels", "reduction_kernels") || c->dev->caps.dialect != DIALECT_CPU) return NULL;
  *changed = true;
  for (ir_op *o = m->root->regions[0]->first; o; o = o->next)
    if (o->def->level == IR_TILE && o->def->code == T_KERNEL &&
        !ir_set_attr(o, "reduction_kernels", ir_attr_bool(m, false)))
      return st_oom();
  return NULL;
}

static tsr_status custom(void *user, ir_module *m, bool *changed) {
  compile *c = user;
  if (c->level == TSR_LEVEL_TILE) TSR_TRY(add_program(m, "tile", changed));
  TSR_TRY(rt_custom_resolve(c->p, m, fallback_of(c), changed));
  note_strides(c);
  return switch_off_reduction_kernels(c, changed);
}

static tsr_status link_program(void *user, ir_module *m, bool *changed) {
  compile *c = user;
  if (c->level != TSR_LEVEL_TARGET) return NULL;
  TSR_TRY(target_check_device(m, &c->dev->caps));
  return add_program(m, "target", changed);
}

static tsr_status lower_all(compile *c) {
  tsr_program *p = c->p;
  for (int above = 0; above < (int)c->level; above++) dump(c, (tsr_level)above); /* says that there is none */
  if (c->level == TSR_LEVEL_GRAPH) TSR_TRY(check_dims(p->levels[TSR_LEVEL_GRAPH]));
  if (c->level == TSR_LEVEL_GRAPH) TSR_TRY(check_alone(p->levels[TSR_LEVEL_GRAPH]));
  size_t n_passes;
  pipeline_rows(&n_passes);
  if (!(p->costs = arena_array(&p->arena, pass_cost, n_passes))) return st_oom();
  pipeline passes = {
      .levels = p->levels,
      .caps = &c->dev->caps,
      .options = {.disable = joined_disable(c),
                  .routines = c->dev->caps.dialect == DIALECT_CPU,
                  .windows = c->dev->caps.dialect == DIALECT_CPU && p->policy != TSR_POLICY_KAHAN_SUM,
                  .no_host = fallback_of(c) == TSR_FALLBACK_ERROR,
                  .exact = p->policy != TSR_POLICY_FAST,
                  .trace = &p->trace},
      .policy = tsr_policy_name(p->policy),
      .precision = c->precision,
      .error_if_illegal = fallback_of(c) == TSR_FALLBACK_ERROR,
      .user = c,
      .suggest = suggest,
      .by_hand = by_hand,
      .tune = tune,
      .fitted = tell_changes,
      .custom = custom,
      .link = link_program,
      .after = *knob_str("TSR_DUMP") || (c->o && c->o->keep_after) ? dump_after : NULL,
      .costs = p->costs,
      .lowered = dump};
  TSR_TRY(rt_rules(p->ctx, &p->arena, &passes.options));
  TSR_TRY(pipeline_run(&passes, c->level));
  return emit_module(p->levels[TSR_LEVEL_TARGET], &c->dev->caps, &p->arena, &p->desc);
}

/* The attribute `device` of a program: one that there is somewhere. Another than the one compiled for is told, as its
 * tiles may not fit. */
static tsr_status check_scheduled_for(compile *c, const ir_op *program) {
  const char *id = ir_get_str(program, "device", ""), *name = c->dev->vt->name;
  char known[256];
  if (!*id || program->def->level != IR_SCHEDULE || program->def->code != S_PROGRAM) return NULL;
  if (!rt_knows_device(c->p->ctx, id, known, sizeof known))
    return ir_error_at(program, program->loc, TSR_VERIFY_ERROR, known, "no device is called \"%.64s\"", id);
  if (!strncmp(name, id, strcspn(id, ":")) && !name[strcspn(id, ":")]) return NULL;
  trace_add(&c->p->trace, "schedule", "device", program, false, "scheduled for %s, compiled for %s", id,
            c->dev->info.id);
  rt_log(c->p->ctx, TSR_LOG_WARN, "a program scheduled for %s is compiled for %s: its tiles are made to fit", id,
         c->dev->info.id);
  return NULL;
}

/* The mode deterministic is a policy: another one of the same scope contradicts it. */
static tsr_status check_agree(const compile *c, tsr_precision mode, tsr_policy policy) {
  if (mode != TSR_PRECISION_DETERMINISTIC || !policy || policy == TSR_POLICY_DETERMINISTIC) return NULL;
  return st_make(&c->p->ctx->al, TSR_INVALID_ARGUMENT, RT_WHERE("compile", "name one of them"),
                 "policy %s beside precision %s", tsr_policy_name(policy), tsr_precision_name(mode));
}

/* The policy of the innermost scope that names one: the compile options, the text's function or program, the context.
 */
static tsr_status choose_policy(compile *c, const ir_module *m) {
  tsr_program *p = c->p;
  const char *named = NULL, *moded = NULL;
  p->policy = p->ctx->policy;
  for (const ir_op *o = m->root->regions[0]->first; o; o = o->next) {
    if (o->def->level != IR_GRAPH && o->def->level != IR_SCHEDULE) continue;
    TSR_TRY(check_scheduled_for(c, o));
    const char *name = ir_get_str(o, "policy", ""), *mode = ir_get_str(o, "precision", "");
    if (*mode && !precision_named(mode, &c->precision))
      return ir_error_at(o, o->loc, TSR_VERIFY_ERROR, PRECISION_WORDS, "unknown precision mode \"%s\"", mode);
    if (*mode && moded && strcmp(moded, mode))
      return ir_error_at(o, o->loc, TSR_UNSUPPORTED, "compile them apart", "precision %s beside %s: a program has one",
                         mode, moded);
    if (*mode) moded = mode;
    if (!*name) continue;
    if (!(p->policy = policy_named(name)))
      return ir_error_at(o, o->loc, TSR_VERIFY_ERROR, POLICY_WORDS, "unknown numerics policy \"%s\"", name);
    if (named && strcmp(named, name))
      return ir_error_at(o, o->loc, TSR_UNSUPPORTED, "compile them apart", "policy %s beside %s: a program has one",
                         name, named);
    named = name;
  }
  TSR_TRY(check_agree(c, c->precision, named ? p->policy : TSR_POLICY_DEFAULT));
  const bool asked = c->o && c->o->precision != TSR_PRECISION_STANDARD;
  if (asked) {
    c->precision = c->o->precision;
    TSR_TRY(check_agree(c, c->precision, c->o->policy));
  }
  if (c->o && c->o->policy) p->policy = c->o->policy;
  else if (c->precision == TSR_PRECISION_DETERMINISTIC) p->policy = TSR_POLICY_DETERMINISTIC;
  if (!asked || c->precision == TSR_PRECISION_DETERMINISTIC || c->level == TSR_LEVEL_GRAPH) return NULL;
  return st_make(&p->ctx->al, TSR_INVALID_ARGUMENT, RT_WHERE("compile", "give Graph IR"),
                 "the text begins below the level in which a precision mode changes types");
}

static const rt_inner_calls inner_calls = {rt_plan_inner, rt_build_inner, rt_run_inner};

static tsr_status compile_once(tsr_device *dev, ir_module *m, const tsr_compile_options *o, rt_lighter *lighter,
                               tsr_program **out, tsr_program **failed) {
  *out = NULL;
  tsr_context *ctx = dev->ctx;
  tsr_program *p = al_new(&ctx->al, tsr_program);
  if (!p) {
    ir_module_destroy(&m);
    return st_oom();
  }
  p->ctx = ctx;
  p->dev = dev;
  p->inner_calls = &inner_calls;
  p->number = rt_number(ctx);
  arena_init(&p->arena, &ctx->al);
  trace_init(&p->trace, &ctx->al);
  tsr_level level = level_of(m);
  p->levels[level] = m;
  compile c = {.dev = dev, .p = p, .o = o, .lighter = lighter, .level = level};
  tsr_status st = NULL;
  const ir_op *first = m->root->regions[0]->first;
  if (level > TSR_LEVEL_SCHEDULE && o && o->n_schedules)
    TSR_GOTO(st_make(&ctx->al, TSR_INVALID_ARGUMENT, ST_WHERE("schedule", "schedules", "give Graph or Schedule IR"),
                     "the text begins below the level that has schedules"));
  if (o) TSR_GOTO(pass_check_disable(&ctx->al, "tsr_compile_options.disable", o->disable));
  if (!first || first->def->level == IR_BUILTIN)
    TSR_GOTO(st_make(&ctx->al, TSR_PARSE_ERROR, RT_WHERE("compile", "wrap them in a function, program or kernel"),
                     "%s:1:1: nothing that can be run", m->file ? m->file : "<text>"));
  TSR_GOTO(choose_policy(&c, m));
  TSR_GOTO(lower_all(&c));
  TSR_GOTO(rt_plan(p));
  dump(&c, TSR_LEVEL_SOURCE);
  *out = p;
done:
  if (st && failed) *failed = p;
  else if (st) tsr_program_destroy(&p);
  return st;
}

/* Once more with a lighter schedule for what spills; a try that doesn't compile leaves the program before it. */
static tsr_status compile_light(tsr_device *dev, ir_module *m, const tsr_compile_options *o, tsr_program **out) {
  static const rt_compilers compilers = {compile_once, rt_compile};
  rt_lighter lighter = {.n = 0};
  tsr_program *heavy = NULL;
  for (int attempt = 0;; attempt++) {
    ir_module *again = NULL;
    if (dialect_of(&dev->caps)->reports_spills && attempt < RT_MAX_RETRIES) tsr_status_free(ir_module_clone(m, &again));
    tsr_status st = rt_compile_cached(dev, m, o, &lighter, &compilers, out);
    if (st && heavy && rt_is_schedules_fault(st)) {
      rt_log(dev->ctx, TSR_LOG_WARN, "a lighter schedule does not compile: %s", tsr_status_message(st));
      tsr_status_free(st);
      ir_module_destroy(&again);
      *out = heavy;
      return NULL;
    }
    tsr_program_destroy(&heavy);
    if (st || !dialect_of(&dev->caps)->reports_spills || !rt_lighter_next(&lighter, *out, again != NULL)) {
      ir_module_destroy(&again);
      return st;
    }
    heavy = *out;
    m = again;
  }
}

static const char simplest[] = "tiling,mma,pipeline";

/* For a driver whose compiler is still at the program that was asked for. */
static tsr_status compile_simpler(tsr_device *dev, ir_module *m, const tsr_compile_options *o, tsr_status slow,
                                  tsr_program **out) {
  char disable[1024];
  tsr_compile_options simple = o ? *o : (tsr_compile_options){0};
  snprintf(disable, sizeof disable, "%s%s%s", o && o->disable ? o->disable : "", o && o->disable ? "," : "", simplest);
  simple.disable = disable;
  simple.tune = TSR_TUNE_OFF;
  tsr_status st = compile_light(dev, m, &simple, out);
  if (st) {
    rt_log(dev->ctx, TSR_LOG_WARN, "nor does the simplest schedule compile: %s", tsr_status_message(st));
    tsr_status_free(st);
    return slow;
  }
  const ir_module *schedule = (*out)->levels[TSR_LEVEL_SCHEDULE];
  trace_add(&(*out)->trace, "schedule", "compile_deadline", schedule ? schedule->root : NULL, false,
            "fall-back: %s; small tiles without matrix instructions took its place", tsr_status_cause(slow));
  rt_log(dev->ctx, TSR_LOG_WARN, "%s; small tiles without matrix instructions took its place",
         tsr_status_message(slow));
  tsr_status_free(slow);
  return NULL;
}

tsr_status rt_compile(tsr_device *dev, ir_module *m, const tsr_compile_options *o, tsr_program **out) {
  ir_module *again = NULL;
  bool may = dev->be && dialect_of(&dev->caps)->compile_deadline;
  if (may && level_of(m) == TSR_LEVEL_GRAPH) /* below it the schedule is its author's, or the tuner's candidate */
    tsr_status_free(ir_module_clone(m, &again));
  const bool tunes = rt_tune_begin(dev, o);
  tsr_status st = compile_light(dev, m, o, out);
  rt_tune_end(dev, tunes);
  if (tsr_status_code(st) == TSR_TIMEOUT && again) st = compile_simpler(dev, again, o, st, out);
  else ir_module_destroy(&again);
  if (!st && *dev->info.fallbacks) {
    const ir_module *target = (*out)->levels[TSR_LEVEL_TARGET];
    if (target) trace_add(&(*out)->trace, "target", "device_fallbacks", target->root, true, "%s", dev->info.fallbacks);
  }
  return st;
}

tsr_schedule tsr_schedule_pipelined(void) {
  return (tsr_schedule){.use_shared = 1, .async_copy = 1, .pipeline_stages = 3};
}

tsr_status tsr_program_compile(tsr_device *dev, const tsr_graph *g, const tsr_compile_options *o, tsr_program **out) {
  RT_OUT("program_compile", out);
  RT_NEED("program_compile", "dev", dev);
  RT_NEED("program_compile", "g", g);
  TSR_TRY(rt_check_options(dev->ctx, "program_compile", o));
  ir_module *m = NULL;
  TSR_TRY(ir_verify(g->m));
  TSR_TRY(ir_module_clone(g->m, &m));
  return rt_compile(dev, m, o, out);
}

tsr_status tsr_program_parse(tsr_device *dev, const char *text, size_t bytes, const char *file,
                             const tsr_compile_options *o, tsr_program **out) {
  RT_OUT("program_parse", out);
  RT_NEED("program_parse", "dev", dev);
  TSR_TRY(rt_check_array("program_parse", "text", text, (int64_t)bytes));
  TSR_TRY(rt_check_options(dev->ctx, "program_parse", o));
  ir_module *m = NULL;
  TSR_TRY(ir_parse(&dev->ctx->al, text, bytes, file, &m));
  return rt_compile(dev, m, o, out);
}
