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
#include "core/runtime/profile_copies.h"
#include "core/runtime/profile_launch.h"
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
  rt_copies *copies; /* NULL until there are any */
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
  rt_copies_destroy(&p->copies);
  prof_log_destroy(&p->log);
  strb_clear(&p->trace);
  al_free_array(&p->ctx->al, p->kernels, p->cap_kernels);
  al_free_array(&p->ctx->al, p->work, p->cap_work);
  al_free_array(&p->ctx->al, p->seen, p->cap_seen);
  arena_clear(&p->mem);
  al_delete(&p->ctx->al, p);
  *pp = NULL;
}

/* ---- programs seen for the first time ---------------------------------------------------------------------------- */

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
    bool has_work = rt_profile_work(p, tsr_program_kernel(p, i).name, w);
    rt_profile_describe(p, i, d, w, &e, op, detail);
    prof->kernels[prof->n_kernels++] = rt_profile_facts(&prof->mem, p, &e, d, w, has_work);
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
  if (s) TSR_TRY(rt_no_capture(s, "profile_step"));
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
  tsr_event *begins = NULL; /* where copies are under way */
  int stream = 0;
  if (!st && prof->copies) st = rt_copies_mark(prof->copies, rt_stream(p->dev, s), &begins);
  if (!st) time_blocks(p, blocks);
  if (!st) st = tsr_program_profile(p, s, in, out, ns);
  time_blocks(p, NULL);
  if (!st) st = first_time(prof, p, d); /* it may have another schedule now */
  if (!st && begins) st = rt_copies_place(prof->copies, rt_stream(p->dev, s), begins, &clock, &stream);
  for (int i = 0; i < n && i < tsr_program_n_kernels(p) && !st; i++) {
    prof_event e;
    char op[64], detail[128];
    rt_profile_describe(p, i, d, kept_work(prof, p, i), &e, op, detail);
    e.step = prof->step, e.stream = stream;
    e.device_clock = begins != NULL;
    e.start_ns = clock; /* launches of a program follow each other; only their durations are the device's */
    e.end_ns = clock += ns[i] > 0 ? ns[i] : 0;
    if (blocks[i].n) e.tile_ns = blocks[i].mean_ns, e.tile_min_ns = blocks[i].min_ns, e.tile_max_ns = blocks[i].max_ns;
    if (blocks[i].memory_known) e.bytes_measured = blocks[i].memory_bytes;
    prof_add(prof->log, &e);
  }
  prof->step += !st && !prof->in_steps;
  tsr_event_destroy(&begins);
  if (ns) al_free(&prof->ctx->al, ns, (size_t)(n + 1) * sizeof *ns, 16);
  if (blocks) al_free(&prof->ctx->al, blocks, (size_t)(n + 1) * sizeof *blocks, 16);
  return st;
}

tsr_status tsr_profile_copy(tsr_profile *p, tsr_stream *s, tsr_buffer *dst, size_t dst_offset, tsr_buffer *src,
                            size_t src_offset, size_t bytes) {
  RT_NEED("profile_copy", "p", p);
  RT_NEED("profile_copy", "s", s);
  if (!p->copies) TSR_TRY(rt_copies_create(p->ctx, p->log, &p->copies));
  return rt_copies_add(p->copies, p->step, s, dst, dst_offset, src, src_offset, bytes);
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

tsr_status rt_profile(tsr_program *p, const tsr_binding *in, const tsr_binding *out, int steps, bool copies,
                      tsr_profile **prof) {
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
  if (!(steps > 0)) steps = STEPS;
  if (copies) TSR_GOTO(rt_profile_steps_beside(*prof, p, in, out, steps));
  for (int i = 0; i < steps && !copies; i++) TSR_GOTO(tsr_profile_step(*prof, p, NULL, in, out));
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
  if (!st) st = rt_profile(p, in.v, out.v, steps, false, prof);
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

/* The log with all copies. */
static tsr_status settled(const tsr_profile *p) { return p->copies ? rt_copies_settle(p->copies) : NULL; }

static tsr_status give(const tsr_profile *p, tsr_status st, strb *b, char **text) {
  *text = NULL;
  if (!st) return rt_text(p->ctx, b, text);
  strb_clear(b);
  return st;
}

tsr_status tsr_profile_text(const tsr_profile *p, bool wide, char **text) {
  RT_OUT("profile_text", text);
  RT_NEED("profile_text", "p", p);
  TSR_TRY(settled(p));
  strb b;
  strb_init(&b, &p->ctx->al);
  return give(p, report_text(p->log, wide ? strb_text(&p->trace) : NULL, wide, &b), &b, text);
}

tsr_status tsr_profile_json(const tsr_profile *p, char **text) {
  RT_OUT("profile_json", text);
  RT_NEED("profile_json", "p", p);
  TSR_TRY(settled(p));
  strb b;
  strb_init(&b, &p->ctx->al);
  return give(p, report_json(p->log, strb_text(&p->trace), &b), &b, text);
}

tsr_status tsr_profile_trace(const tsr_profile *p, char **text) {
  RT_OUT("profile_trace", text);
  RT_NEED("profile_trace", "p", p);
  TSR_TRY(settled(p));
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
