/* core/runtime/profile.c - programs as events and facts; see tessera/profile.h. Rows, JSON, trace and audit are
 * core/profile. */
#include <stdio.h>
#include <string.h>

#include "core/base/dtype.h"
#include "core/base/clock.h"
#include "core/ir/graph/ops.h"
#include "core/passes/schedule/gemm_heuristics.h"
#include "core/passes/tile/work.h"
#include "core/profile/audit.h"
#include "core/profile/chrome_trace.h"
#include "core/profile/report.h"
#include "core/runtime/peaks.h"
#include "core/runtime/profile.h"
#include "core/runtime/tune.h"
#include "core/tune/families.h"

/* Programs and devices by number: they may be gone, and another be where they were. */
typedef struct seen {
  uint64_t program, device;
  size_t first;       /* of its kernels in the profile */
} seen;

struct tsr_profile {
  tsr_context *ctx;
  arena mem;
  prof_log *log;
  strb trace;
  int step;
  bool in_steps; /* tsr_profile_steps counts them */
  seen *seen; /* programs whose facts and trace are in */
  size_t n_seen, cap_seen;
  audit_kernel *kernels;
  tile_work *work; /* beside kernels */
  size_t n_kernels, cap_kernels, cap_work;
  audit_program program;
  uint64_t known; /* the device whose rates these are: read once, not each step */
  tune_device rates;
};

tsr_status tsr_profile_create(tsr_context *ctx, tsr_profile **out) {
  RT_OUT("profile_create", out);
  RT_NEED("profile_create", "ctx", ctx);
  tsr_profile *p = al_new(&ctx->al, tsr_profile);
  if (!p) return st_oom();
  p->ctx = ctx;
  arena_init(&p->mem, &ctx->al);
  strb_init(&p->trace, &ctx->al);
  p->program = (audit_program){
      .cache_persistent = -1, .n_devices = 0, .implicit_shards = -1, .comm_ns = -1, .overlapped_ns = -1};
  tsr_status st = prof_log_create(&ctx->al, &p->log);
  if (st) tsr_profile_destroy(&p);
  *out = p;
  return st;
}

void tsr_profile_destroy(tsr_profile **pp) {
  tsr_profile *p = pp ? *pp : NULL;
  if (!p) return;
  prof_log_destroy(&p->log);
  strb_clear(&p->trace);
  al_free_array(&p->ctx->al, p->kernels, p->cap_kernels);
  al_free_array(&p->ctx->al, p->work, p->cap_work);
  al_free_array(&p->ctx->al, p->seen, p->cap_seen);
  arena_clear(&p->mem);
  al_delete(&p->ctx->al, p);
  *pp = NULL;
}

/* ---- what a launch is ------------------------------------------------------------------------------------------ */

/* The schedule.kernel that a launch came from; NULL when the program began below that level. */
static const ir_op *source_of(const tsr_program *p, const char *kernel) {
  const ir_module *m = p->levels[TSR_LEVEL_SCHEDULE];
  for (const ir_op *prog = m ? m->root->regions[0]->first : NULL; prog; prog = prog->next)
    for (const ir_op *o = prog->n_regions ? prog->regions[0]->first : NULL; o; o = o->next)
      if (o->def->level == IR_SCHEDULE && o->def->code == S_KERNEL && !strcmp(ir_get_str(o, "sym_name", ""), kernel))
        return o;
  return NULL;
}

/* What the launch's block program does; false when the program began below that level. */
static bool work_of(const tsr_program *p, const char *kernel, tile_work *out) {
  const ir_module *m = p->levels[TSR_LEVEL_TILE];
  for (const ir_op *o = m ? m->root->regions[0]->first : NULL; o; o = o->next)
    if (o->def->level == IR_TILE && o->def->code == T_KERNEL && !strcmp(ir_get_str(o, "sym_name", ""), kernel))
      return tile_work_count(o, out), true;
  *out = (tile_work){.flops = -1, .bytes = -1, .contiguous = -1, .stages = -1};
  return false;
}

/* An application's own op by the name that it has there. */
static const char *op_name(const ir_op *o) {
  if (graph_is_kind(o, GRAPH_CUSTOM)) return ir_get_str(o, "callee", "custom");
  return ir_short_name(o->def);
}

/* Moving data about and constants say little of what a kernel does. */
static bool is_work(const ir_op *o) {
  return o->def->level == IR_GRAPH && !graph_is_kind(o, GRAPH_MOVE) && !graph_is_kind(o, GRAPH_CONSTANT) &&
         !graph_is(o, G_CAST);
}

/* A contraction keeps its name whatever is fused to it; other fused kernels are FusedOp[a+b]. */
static void name_launch(const ir_op *src, const tsr_kernel_info *k, prof_event *e, char op[64], char detail[128]) {
  int n = 0;
  op[0] = detail[0] = 0;
  for (const ir_op *o = src ? src->regions[0]->first : NULL; o; o = o->next) {
    if (!is_work(o)) continue;
    size_t at = strlen(detail);
    if (graph_is_kind(o, GRAPH_CONTRACTION) || !op[0]) snprintf(op, 64, "%s", op_name(o));
    snprintf(detail + at, 128 - at, "%s%s", at ? "+" : "", op_name(o));
    n++;
  }
  for (const ir_op *o = src && !op[0] ? src->regions[0]->first : NULL; o && !op[0];
       o = o->next) /* nothing but moves: by the first of them */
    if (o->def->level == IR_GRAPH && !graph_is(o, G_CONSTANT)) snprintf(op, 64, "%s", op_name(o));
  if (!op[0]) snprintf(op, 64, "%s", k->name);
  bool product = src && graph_contraction(src->regions[0]);
  if (!strncmp(op, "flash_attention", 15) ||
      !strcmp(k->family, "attention")) { /* the latter: a block program that says so of itself */
    e->kind = PROF_FUSED;
    snprintf(detail, 128, "FlashAttn");
  } else if (product && k->tile[0] > 0) {
    snprintf(detail, 128, "%lldx%lldx%lld", (long long)k->tile[0], (long long)k->tile[1], (long long)k->tile[2]);
  } else if (n > 1 && !product) {
    e->kind = PROF_FUSED;
  } else if (k->tile[0] > 0) {
    snprintf(detail, 128, k->tile[1] > 0 ? "%lldx%lld" : "%lld", (long long)k->tile[0], (long long)k->tile[1]);
  } else {
    detail[0] = 0;
  }
  e->op = op;
  e->detail = detail;
}

/* What the driver told, or the calculator from the driver's registers; negative when registers are not known. */
static double occupancy_of(const tsr_kernel_info *k, const tune_device *d) {
  if (k->occupancy >= 0) return k->occupancy;
  int threads = k->block[0] * (k->block[1] > 0 ? k->block[1] : 1) * (k->block[2] > 0 ? k->block[2] : 1);
  if (d->is_cpu || k->registers <= 0 || d->max_warps <= 0 || d->regs_per_core <= 0 || threads <= 0) return -1;
  occ_result r = occ_compute(d, &(occ_input){.warps = (threads + d->warp_size - 1) / d->warp_size,
                                             .regs = k->registers,
                                             .shared_bytes = k->shared_bytes});
  return r.known ? r.fraction : -1;
}

static double first_known(double a, double b) { return a > 0 ? a : b >= 0 ? b : -1; }

static void describe(const tsr_program *p, int i, const tune_device *d, const tile_work *w, prof_event *e, char op[64],
                     char detail[128]) {
  tsr_kernel_info k = tsr_program_kernel(p, i);
  const ir_op *src = source_of(p, k.name);
  tune_problem problem;
  *e = prof_event_init(PROF_KERNEL, "");
  name_launch(src, &k, e, op, detail);
  bool known = src && tune_kernel_problem(src, "", &problem);
  e->kernel = k.name;
  e->device = p->dev->info.id;
  e->original = k.original;
  e->original_why = k.original_why;
  e->flops = first_known(k.flops, known ? tune_problem_flops(&problem) : w->flops);
  e->bytes = first_known(k.bytes, known ? tune_problem_bytes(&problem) : w->bytes);
  e->occupancy = occupancy_of(&k, d);
  e->registers = k.registers;
  e->spill_bytes = k.spill_bytes;
  e->shared_bytes = d->is_cpu ? -1 : (double)k.shared_bytes;
  e->tiles = k.grid[0] > 0
                 ? (double)k.grid[0] * (double)(k.grid[1] > 0 ? k.grid[1] : 1) * (double)(k.grid[2] > 0 ? k.grid[2] : 1)
                 : -1;
  e->parallel = d->is_cpu ? d->cores : -1;
  const tune_tier *mem = tune_device_tier(d, "memory");
  tsr_dtype in = known ? problem.in : w->has_gemm ? w->in : TSR_F32;
  bool matrix = (known ? tune_problem_contracts(&problem) : w->has_gemm) && tune_device_matrix(d, in);
  e->peaks = (prof_peaks){.gflops = tune_device_peak(d, in, matrix),
                          .gbytes_per_s = mem ? mem->gbps : 0,
                          .launch_ns = d->launch_ns,
                          .matrix_path = matrix && tsr_dtype_size(in) < 4};
}

/* ---- facts for the audit --------------------------------------------------------------------------------------- */

/* Bytes of one access of a lane, ways of the worst bank conflict: of lowered kernels, whose schedule says it. */
static void access_facts(const ir_op *src, const tune_problem *problem, const tune_device *d, audit_kernel *k) {
  sched_params s;
  sched_read(src, &s);
  k->bytes_per_access = s.vectorize > 0 ? s.vectorize * (int64_t)tsr_dtype_size(problem->in) : -1;
  tune_config staged = {.k = (int32_t)s.k,
                        .padding = s.padding > 0 ? (int32_t)s.padding : 0,
                        .use_shared = s.use_shared >= 0,
                        .matrix_path = tune_path_of(s.matrix_path)};
  k->bank_ways = occ_bank_ways(d, problem, &staged);
}

/* Is the tile a multiple of some matrix instruction of the type? CPU tiles are cache blocks, cut to registers inside.
 */
static void tile_facts(const ir_op *src, const tune_device *d, const tile_work *w, audit_kernel *k) {
  tune_problem problem;
  sched_params s;
  bool listed = false;
  k->tile_fits = 1;
  if (d->is_cpu || !w->has_gemm) return;
  k->tile_fits = -1;
  if (!src || !tune_kernel_problem(src, "", &problem)) return;
  sched_read(src, &s);
  k->tile_fits = s.m > 0 ? 1 : -1;
  if (s.m <= 0 || !sched_path_of(&s)->has_matrix) return;
  k->tile[0] = s.m, k->tile[1] = s.n, k->tile[2] = s.k;
  k->tile_fits = 0;
  for (int i = 0; i < d->n_matrix; i++) {
    const tune_matrix *x = &d->matrix[i];
    if (x->in != problem.in) continue;
    listed = true;
    if (s.m % x->m == 0 && s.n % x->n == 0 && s.k % x->k == 0) k->tile_fits = 1;
  }
  if (!listed) k->tile_fits = 1, k->tile[0] = 0; /* no such instruction: nothing to be a multiple of */
}

static audit_kernel facts_of(tsr_profile *prof, const tsr_program *p, const prof_event *e, const tune_device *d,
                             const tile_work *w, bool has_work) {
  const ir_op *src = source_of(p, e->kernel);
  tune_problem problem;
  audit_kernel k = {.name = arena_str(&prof->mem, e->kernel),
                    .op = arena_str(&prof->mem, e->op),
                    .occupancy = e->occupancy,
                    .spill_bytes = e->spill_bytes >= 0 ? (int64_t)e->spill_bytes : -1,
                    .registers = e->registers > 0 ? (int)e->registers : 0,
                    .registers_ideal = d->regs_ideal,
                    .contiguous = w->contiguous,
                    .bytes_per_access = -1,
                    .bank_ways = -1,
                    .stages = -1,
                    .async_copy = -1,
                    .async_possible = d->async_copy,
                    .tuned = src ? rt_was_tuned(p, e->kernel) : -1,
                    .shared_bytes = e->shared_bytes >= 0 ? (int64_t)e->shared_bytes : -1,
                    .shared_ideal = d->shared_ideal};
  k.flops_per_byte = e->flops > 0 && e->bytes > 0 ? e->flops / e->bytes : -1;
  k.ridge = e->peaks.gflops > 0 && e->peaks.gbytes_per_s > 0 ? e->peaks.gflops / e->peaks.gbytes_per_s : 0;
  bool caches_stage = cost_stages_by_cache(d);
  if (d->is_cpu) k.bank_ways = 0; /* no banks */
  if (has_work) {
    /* Operands of a product that don't go through shared memory are loaded when they are needed: one buffer. */
    k.stages = !w->has_gemm || caches_stage ? 0 : w->stages ? w->stages : 1;
    k.async_copy = w->async_copy && d->async_copy;
  }
  tile_facts(src, d, w, &k);
  if (src && !d->is_cpu && tune_kernel_problem(src, "", &problem)) access_facts(src, &problem, d, &k);
  return k;
}

static void note_types(tsr_profile *prof, const tile_work *w, bool has_work) {
  audit_program *a = &prof->program;
  a->has_unknown |= !has_work;
  if (!w->has_gemm) return;
  if (!a->has_matmul || tsr_dtype_size(w->in) > tsr_dtype_size(a->widest_input)) a->widest_input = w->in;
  if (!a->has_matmul || tsr_dtype_size(w->acc) < tsr_dtype_size(a->accumulator)) a->accumulator = w->acc;
  a->has_matmul = true;
}

static const tile_work *kept_work(const tsr_profile *prof, const tsr_program *p, int i) {
  static const tile_work unknown = {.flops = -1, .bytes = -1, .contiguous = -1, .stages = -1};
  for (size_t s = 0; s < prof->n_seen; s++)
    if (prof->seen[s].program == p->number) return &prof->work[prof->seen[s].first + (size_t)i];
  return &unknown;
}

static tsr_status first_time(tsr_profile *prof, tsr_program *p, const tune_device *d) {
  bool new_device = true;
  int n = tsr_program_n_kernels(p);
  for (size_t i = 0; i < prof->n_seen; i++) {
    if (prof->seen[i].program == p->number) return NULL;
    new_device &= prof->seen[i].device != p->dev->number;
  }
  if (!al_grow(&prof->ctx->al, &prof->seen, &prof->cap_seen, prof->n_seen + 1, sizeof *prof->seen)) return st_oom();
  if (!al_grow(&prof->ctx->al, &prof->kernels, &prof->cap_kernels, prof->n_kernels + (size_t)n,
               sizeof *prof->kernels) ||
      !al_grow(&prof->ctx->al, &prof->work, &prof->cap_work, prof->n_kernels + (size_t)n, sizeof *prof->work))
    return st_oom();
  prof->seen[prof->n_seen++] = (seen){p->number, p->dev->number, prof->n_kernels};
  trace_print(&prof->trace, &p->trace);
  for (int i = 0; i < n; i++) {
    prof_event e;
    char op[64], detail[128];
    tile_work *w = &prof->work[prof->n_kernels];
    bool has_work = work_of(p, tsr_program_kernel(p, i).name, w);
    describe(p, i, d, w, &e, op, detail);
    prof->kernels[prof->n_kernels++] = facts_of(prof, p, &e, d, w, has_work);
    note_types(prof, w, has_work);
  }
  prof->program.n_devices += new_device;
  prof->program.policy = tsr_policy_name(p->policy);
  cache_info info;
  cache_describe(rt_tune_cache(prof->ctx, NULL, false), &info);
  prof->program.cache_persistent = info.writable;
  return NULL;
}

/* ---- running --------------------------------------------------------------------------------------------------- */

/* The backend fills blocks[launch] of its own launches from now on; NULL: no more. */
static void time_blocks(tsr_program *p, be_block_times *blocks) {
  for (int i = 0; p->dev->vt->time_blocks && i < p->n_parts; i++)
    if (p->parts[i].be) p->dev->vt->time_blocks(p->parts[i].be, blocks ? blocks + p->parts[i].first : NULL);
}

tsr_status tsr_profile_step(tsr_profile *prof, tsr_program *p, tsr_stream *s, const tsr_binding *in,
                            const tsr_binding *out) {
  RT_NEED("profile_step", "p", prof);
  RT_NEED("profile_step", "prog", p);
  int n = tsr_program_n_kernels(p);
  const tune_device *d = &prof->rates;
  if (prof->known != p->dev->number)
    TSR_TRY(rt_tune_device(p->dev, rt_tune_cache(prof->ctx, NULL, false), NULL, &prof->rates));
  prof->known = p->dev->number;
  TSR_TRY(first_time(prof, p, d));
  double *ns = al_zalloc(&prof->ctx->al, (size_t)(n + 1) * sizeof *ns);
  be_block_times *blocks = al_zalloc(&prof->ctx->al, (size_t)(n + 1) * sizeof *blocks);
  tsr_status st = ns && blocks ? NULL : st_oom();
  double clock = (double)clock_ns();
  if (!st) time_blocks(p, blocks);
  if (!st) st = tsr_program_profile(p, s, in, out, ns);
  time_blocks(p, NULL);
  if (!st) st = first_time(prof, p, d); /* it may have another schedule now */
  for (int i = 0; i < n && i < tsr_program_n_kernels(p) && !st; i++) {
    prof_event e;
    char op[64], detail[128];
    describe(p, i, d, kept_work(prof, p, i), &e, op, detail);
    e.step = prof->step;
    e.start_ns = clock; /* launches of a program follow each other; only their durations are the device's */
    e.end_ns = clock += ns[i] > 0 ? ns[i] : 0;
    if (blocks[i].n) e.tile_ns = blocks[i].mean_ns, e.tile_min_ns = blocks[i].min_ns, e.tile_max_ns = blocks[i].max_ns;
    if (blocks[i].memory_known) e.bytes_measured = blocks[i].memory_bytes;
    prof_add(prof->log, &e);
  }
  prof->step += !st && !prof->in_steps;
  if (ns) al_free(&prof->ctx->al, ns, (size_t)(n + 1) * sizeof *ns, 16);
  if (blocks) al_free(&prof->ctx->al, blocks, (size_t)(n + 1) * sizeof *blocks, 16);
  return st;
}

tsr_status tsr_profile_steps(tsr_profile *p, int steps, tsr_step_fn step, void *user) {
  RT_NEED("profile_steps", "p", p);
  RT_NEED("profile_steps", "step", step);
  if (steps < 0) return RT_BAD(p->ctx, "profile_steps", NULL, "%d steps", steps);
  tsr_status st = NULL;
  bool nested = p->in_steps;
  for (int i = 0; i < steps && !st; i++) {
    p->in_steps = true;
    st = step(user, p, i);
    p->in_steps = nested;
    p->step += !st && !nested;
  }
  return st;
}

typedef struct operands {
  tsr_binding *v;
  int n;
} operands;

static tsr_status make_operands(tsr_program *p, bool inputs, operands *o) {
  tsr_context *ctx = p->ctx;
  o->n = inputs ? tsr_program_n_inputs(p) : tsr_program_n_outputs(p);
  o->v = al_zalloc(&ctx->al, (size_t)(o->n + 1) * sizeof *o->v);
  for (int i = 0; o->v && i < o->n; i++) {
    tsr_tensor_info t = inputs ? tsr_program_input(p, i) : tsr_program_output(p, i);
    TSR_TRY(tsr_buffer_create(p->dev, t.bytes, TSR_MEMORY_DEVICE, &o->v[i].buffer));
    if (!inputs) continue;
    void *data = al_alloc(&ctx->al, t.bytes, 64);
    if (!data) return st_oom();
    rt_fill_random(t.dtype, data, t.bytes, 0x5eed + (uint64_t)i);
    tsr_status st = tsr_buffer_write(o->v[i].buffer, 0, data, t.bytes);
    al_free(&ctx->al, data, t.bytes, 64);
    TSR_TRY(st);
  }
  return o->v ? NULL : st_oom();
}

static void drop_operands(tsr_context *ctx, operands *o) {
  for (int i = 0; o->v && i < o->n; i++) tsr_buffer_destroy(&o->v[i].buffer);
  al_free(&ctx->al, o->v, (size_t)(o->n + 1) * sizeof *o->v, 16);
}

tsr_status rt_profile(tsr_program *p, const tsr_binding *in, const tsr_binding *out, int steps, tsr_profile **prof) {
  enum { WARM_UPS = 3, STEPS = 10 };
  tune_device d;
  tsr_status st = NULL;
  *prof = NULL;
  TSR_GOTO(rt_tune_device(p->dev, rt_tune_cache(p->ctx, NULL, true), rt_compile, &d));
  TSR_GOTO(tsr_profile_create(p->ctx, prof));
  for (int i = 0; i < WARM_UPS; i++) {
    TSR_GOTO(tsr_program_run(p, NULL, in, out));
    TSR_GOTO(tsr_stream_sync(rt_stream(p->dev, NULL), -1));
  }
  for (int i = 0; i < (steps > 0 ? steps : STEPS); i++) TSR_GOTO(tsr_profile_step(*prof, p, NULL, in, out));
done:
  if (st) tsr_profile_destroy(prof);
  return st;
}

/* Takes the program. */
static tsr_status profile_program(tsr_program *p, int steps, tsr_profile **prof) {
  operands in = {0}, out = {0};
  tsr_context *ctx = p->ctx;
  tsr_status st = make_operands(p, true, &in);
  if (!st) st = make_operands(p, false, &out);
  if (!st) st = rt_profile(p, in.v, out.v, steps, prof);
  drop_operands(ctx, &in);
  drop_operands(ctx, &out);
  tsr_program_destroy(&p);
  return st;
}

tsr_status tsr_graph_profile(tsr_device *dev, const tsr_graph *g, const tsr_compile_options *o, int steps,
                             tsr_profile **out) {
  RT_OUT("graph_profile", out);
  RT_NEED("graph_profile", "dev", dev);
  RT_NEED("graph_profile", "g", g);
  if (steps < 0) return RT_BAD(dev->ctx, "graph_profile", "0 means 10", "%d steps", steps);
  tsr_program *p = NULL;
  TSR_TRY(tsr_program_compile(dev, g, o, &p));
  return profile_program(p, steps, out);
}

tsr_status tsr_text_profile(tsr_device *dev, const char *text, size_t bytes, const char *file,
                            const tsr_compile_options *o, int steps, tsr_profile **out) {
  RT_OUT("text_profile", out);
  RT_NEED("text_profile", "dev", dev);
  if (steps < 0) return RT_BAD(dev->ctx, "text_profile", "0 means 10", "%d steps", steps);
  tsr_program *p = NULL;
  TSR_TRY(tsr_program_parse(dev, text, bytes, file, o, &p));
  return profile_program(p, steps, out);
}

/* ---- text ------------------------------------------------------------------------------------------------------ */

static tsr_status give(const tsr_profile *p, tsr_status st, strb *b, char **text) {
  *text = NULL;
  if (!st) return rt_text(p->ctx, b, text);
  strb_clear(b);
  return st;
}

tsr_status tsr_profile_text(const tsr_profile *p, bool wide, char **text) {
  RT_OUT("profile_text", text);
  RT_NEED("profile_text", "p", p);
  strb b;
  strb_init(&b, &p->ctx->al);
  return give(p, report_text(p->log, wide ? strb_text(&p->trace) : NULL, wide, &b), &b, text);
}

tsr_status tsr_profile_json(const tsr_profile *p, char **text) {
  RT_OUT("profile_json", text);
  RT_NEED("profile_json", "p", p);
  strb b;
  strb_init(&b, &p->ctx->al);
  return give(p, report_json(p->log, strb_text(&p->trace), &b), &b, text);
}

tsr_status tsr_profile_trace(const tsr_profile *p, char **text) {
  RT_OUT("profile_trace", text);
  RT_NEED("profile_trace", "p", p);
  strb b;
  strb_init(&b, &p->ctx->al);
  return give(p, chrome_trace(p->log, &b), &b, text);
}

tsr_status tsr_profile_check(const tsr_profile *p, bool needs_reproducible, bool json, char **text, int *failed) {
  RT_OUT("profile_check", text);
  RT_OUT("profile_check", failed);
  RT_NEED("profile_check", "p", p);
  audit_program a = p->program;
  audit_row rows[AUDIT_ROWS];
  strb b;
  strb_init(&b, &p->ctx->al);
  a.kernels = p->kernels;
  a.n_kernels = p->n_kernels;
  a.needs_reproducible = needs_reproducible;
  audit_run(&a, rows);
  *failed = audit_failed(rows);
  if (json) audit_json(rows, &b);
  else audit_text(rows, &b);
  return give(p, strb_ok(&b) ? NULL : st_oom(), &b, text);
}

tsr_status tsr_device_peaks(tsr_device *dev, tsr_dtype t, bool again, tsr_peaks *out) {
  RT_NEED("device_peaks", "out", out);
  *out = (tsr_peaks){0};
  RT_NEED("device_peaks", "dev", dev);
  if (!tsr_dtype_size(t) || t == TSR_BOOL || dtype_parts(t) > 1)
    return RT_BAD(dev->ctx, "device_peaks", NULL, "%s has no multiply-adds", tsr_dtype_name(t));
  if (!dev->be)
    return st_make(&dev->ctx->al, TSR_UNAVAILABLE, RT_WHERE("device_peaks", "open a device by number"),
                   "%s is an architecture without hardware", dev->info.id);
  return rt_peaks(dev, rt_tune_cache(dev->ctx, NULL, true), rt_compile, t, again, out);
}
