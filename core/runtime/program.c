/* core/runtime/program.c - running programs; see tessera/program.h. */
#include <stdlib.h>
#include <string.h>

#include "core/base/dtype.h"
#include "core/emit/emit.h"
#include "core/ir/schedule/schedule.h"
#include "core/runtime/fallback.h"

static void destroy_inner(tsr_program *p) {
  for (tsr_program *x = p->inner, *next; x; x = next) {
    next = x->next_inner;
    x->module = NULL; /* shared, as the levels are */
    memset(x->levels, 0, sizeof x->levels);
    tsr_program_destroy(&x);
  }
  p->inner = NULL;
}

void tsr_program_destroy(tsr_program **pp) {
  tsr_program *p = pp ? *pp : NULL;
  if (!p) return;
  const be_vtable *vt = p->dev->vt;
  for (int i = 0; i < p->n_parts; i++)
    if (p->parts[i].be) vt->program_destroy(p->parts[i].be);
  for (int i = 0; i < p->n_launches; i++)
    if (p->launches[i].host) rt_custom_drop(p->launches[i].host);
  destroy_inner(p);
  if (p->module) vt->module_destroy(p->module);
  for (int i = 0; i < p->n_bindings; i++) tsr_buffer_destroy(&p->bindings[i].buffer);
  tsr_buffer_destroy(&p->workspace);
  if (p->staging) al_free(&p->ctx->al, p->staging, p->staging_bytes, 256);
  for (int i = 0; i <= TSR_LEVEL_TARGET; i++) ir_module_destroy(&p->levels[i]);
  rt_drop_spare(p);
  tsr_program_destroy(&p->retired);
  trace_clear(&p->trace);
  arena_clear(&p->arena);
  al_delete(&p->ctx->al, p);
  *pp = NULL;
}

int tsr_program_n_inputs(const tsr_program *p) { return p ? p->n_inputs : 0; }
int tsr_program_n_outputs(const tsr_program *p) { return p ? p->n_outputs : 0; }
tsr_tensor_info tsr_program_input(const tsr_program *p, int i) {
  return i < 0 || i >= tsr_program_n_inputs(p) ? (tsr_tensor_info){.name = ""} : p->inputs[i];
}
tsr_tensor_info tsr_program_output(const tsr_program *p, int i) {
  return i < 0 || i >= tsr_program_n_outputs(p) ? (tsr_tensor_info){.name = ""} : p->outputs[i];
}
int tsr_program_donated_input(const tsr_program *p, int output) {
  return output < 0 || output >= tsr_program_n_outputs(p) ? -1 : p->donors[output];
}
int tsr_program_n_fallbacks(const tsr_program *p) { return p ? p->n_fallbacks : 0; }
int tsr_program_n_kernels(const tsr_program *p) { return p ? p->n_launches : 0; }
tsr_kernel_info tsr_program_kernel(const tsr_program *p, int i) {
  return i < 0 || i >= tsr_program_n_kernels(p) ? rt_kernel_unknown() : p->kernels[i];
}

/* ---- running --------------------------------------------------------------------------------------------------- */

static tsr_status check_binding(const tsr_program *p, const char *what, int i, const tsr_binding *b,
                                const tsr_tensor_info *t) {
  if (!b->buffer) return RT_BAD(p->ctx, "program_run", NULL, "%s %d has no buffer", what, i);
  if (b->buffer->dev != p->dev)
    return RT_BAD(p->ctx, "program_run", NULL, "the buffer of %s %d belongs to another device", what, i);
  if (b->offset > b->buffer->bytes || t->bytes > b->buffer->bytes - b->offset)
    return RT_BAD(p->ctx, "program_run", NULL, "%s %d needs %zu bytes; its buffer has %zu from offset %zu", what, i,
                  t->bytes, b->buffer->bytes, b->offset);
  if (b->offset % dtype_unit(t->dtype))
    return RT_BAD(p->ctx, "program_run", NULL, "the offset of %s %d is not a multiple of its element size", what, i);
  return NULL;
}

static bool ranges_meet(const tsr_binding *a, size_t an, const tsr_binding *b, size_t bn) {
  return a->buffer == b->buffer && an && bn && a->offset < b->offset + bn && b->offset < a->offset + an;
}

enum { MOST_PAIRS = 4096 };

static tsr_status overlap(const tsr_program *p, int output, const char *what, int other) {
  return RT_BAD(p->ctx, "program_run", "bind separate memory", "output %d overlaps %s %d", output, what, other);
}

/* Is the output bound to the very memory of the input that it is written into? */
static bool is_donated(const tsr_program *p, const tsr_binding *in, const tsr_binding *out, int output) {
  const int k = p->donors[output];
  return k >= 0 && in[k].buffer == out[output].buffer && in[k].offset == out[output].offset;
}

static bool any_donated(const tsr_program *p, const tsr_binding *in, const tsr_binding *out) {
  for (int i = 0; i < p->n_outputs; i++)
    if (is_donated(p, in, out, i)) return true;
  return false;
}

static tsr_status check_pairs(const tsr_program *p, const tsr_binding *in, const tsr_binding *out) {
  for (int i = 0; i < p->n_outputs; i++) {
    for (int k = 0; k < p->n_inputs; k++)
      if (ranges_meet(&out[i], p->outputs[i].bytes, &in[k], p->inputs[k].bytes) &&
          !(k == p->donors[i] && is_donated(p, in, out, i)))
        return overlap(p, i, "input", k);
    for (int k = 0; k < i; k++)
      if (ranges_meet(&out[i], p->outputs[i].bytes, &out[k], p->outputs[k].bytes)) return overlap(p, i, "output", k);
  }
  return NULL;
}

typedef struct bound_range { uintptr_t buffer; size_t from, to; int output, index; } bound_range;

static int by_place(const void *a, const void *b) {
  const bound_range *x = a, *y = b;
  if (x->buffer != y->buffer) return x->buffer < y->buffer ? -1 : 1;
  return x->from != y->from ? (x->from < y->from ? -1 : 1) : x->to < y->to ? -1 : x->to > y->to;
}

/* The same for thousands of tensors: sorted by place, whatever meets an output meets the output, or the input, that
 * reaches farthest. */
static tsr_status check_sorted(const tsr_program *p, const tsr_binding *in, const tsr_binding *out) {
  int n = 0, all = p->n_inputs + p->n_outputs;
  bound_range *v = al_alloc(&p->ctx->al, sizeof *v * (size_t)all, 16), far[2] = {{0}, {0}};
  bool *donated = al_zalloc(&p->ctx->al, (size_t)p->n_inputs + 1); /* their outputs stand for them */
  tsr_status st = v && donated ? NULL : st_oom();
  for (int i = 0; i < p->n_outputs && !st; i++)
    if (is_donated(p, in, out, i)) donated[p->donors[i]] = true;
  for (int i = 0; i < all && !st; i++) {
    bool output = i >= p->n_inputs;
    if (!output && donated[i]) continue;
    int index = output ? i - p->n_inputs : i;
    const tsr_binding *b = output ? &out[index] : &in[index];
    size_t bytes = output ? p->outputs[index].bytes : p->inputs[index].bytes;
    if (bytes) v[n++] = (bound_range){(uintptr_t)b->buffer, b->offset, b->offset + bytes, output, index};
  }
  if (n) qsort(v, (size_t)n, sizeof *v, by_place);
  for (int i = 0; i < n && !st; i++) {
    for (int side = v[i].output ? 0 : 1; side < 2 && !st; side++) {
      if (far[side].buffer != v[i].buffer || far[side].to <= v[i].from) continue;
      const bound_range *o = v[i].output ? &v[i] : &far[side], *x = v[i].output ? &far[side] : &v[i];
      st = overlap(p, o->index, x->output ? "output" : "input", x->index);
    }
    bound_range *f = &far[v[i].output];
    if (f->buffer != v[i].buffer || v[i].to > f->to) *f = v[i];
  }
  al_free(&p->ctx->al, v, sizeof *v * (size_t)all, 16);
  al_free(&p->ctx->al, donated, (size_t)p->n_inputs + 1, 16);
  return st;
}

static tsr_status check_run(const tsr_program *p, const tsr_stream *s, const tsr_binding *in, const tsr_binding *out) {
  if (!p->dev->be)
    return st_make(&p->ctx->al, TSR_UNAVAILABLE, RT_WHERE("program_run", "open a device by number"),
                   "%s is an architecture without hardware", p->dev->info.id);
  if (s->dev != p->dev) return RT_BAD(p->ctx, "program_run", NULL, "the stream belongs to another device");
  TSR_TRY(rt_check_array("program_run", "inputs", in, p->n_inputs));
  TSR_TRY(rt_check_array("program_run", "outputs", out, p->n_outputs));
  for (int i = 0; i < p->n_inputs; i++) TSR_TRY(check_binding(p, "input", i, &in[i], &p->inputs[i]));
  for (int i = 0; i < p->n_outputs; i++) {
    TSR_TRY(check_binding(p, "output", i, &out[i], &p->outputs[i]));
  }
  return (int64_t)p->n_outputs * (p->n_inputs + p->n_outputs) <= MOST_PAIRS ? check_pairs(p, in, out)
                                                                            : check_sorted(p, in, out);
}

/* Inputs that are bound already stay as they are: in is NULL. */
static void bind(tsr_program *p, const tsr_binding *in) {
  for (int i = 0; i < p->n_bindings; i++) {
    const rt_binding *s = &p->bindings[i];
    be_range *r = &p->ranges[i];
    r->bytes = s->bytes;
    switch (s->kind) {
    case BINDING_INPUT:
      if (in) r->buffer = in[s->index].buffer->be, r->offset = in[s->index].offset;
      break;
    case BINDING_OUTPUT: r->buffer = p->returned[s->index].buffer, r->offset = p->returned[s->index].offset; break;
    case BINDING_CONST: r->buffer = s->buffer->be, r->offset = 0; break;
    case BINDING_TEMP: r->buffer = p->workspace ? p->workspace->be : NULL, r->offset = s->offset; break;
    }
  }
}

/* GPUs' kernels read and write 16 bytes at once: a tensor that begins elsewhere has an aligned copy while it is
 * computed on. */
enum { ACCESS_BYTES = 16 };

static bool is_staged(const tsr_program *p, const rt_binding *s, const be_range *r) {
  return (s->kind == BINDING_INPUT || s->kind == BINDING_OUTPUT) && r->offset % ACCESS_BYTES && s->bytes &&
         p->dev->caps.dialect != DIALECT_CPU;
}

static tsr_status stage_inputs(tsr_program *p, tsr_stream *s) {
  for (int i = 0; i < p->n_bindings; i++) {
    rt_binding *binding = &p->bindings[i];
    be_range *r = &p->ranges[i], from = *r;
    if (!is_staged(p, binding, r)) continue;
    if (!binding->buffer) TSR_TRY(tsr_buffer_create(p->dev, binding->bytes, TSR_MEMORY_DEVICE, &binding->buffer));
    r->buffer = binding->buffer->be, r->offset = 0;
    if (binding->kind == BINDING_INPUT) TSR_TRY(p->dev->vt->copy(s->be, *r, from));
  }
  return NULL;
}

/* What is written into an input begins as a copy of it, unless it is the same memory. */
static tsr_status fill_outputs(tsr_program *p, be_stream *s) {
  for (int i = 0; i < p->n_bindings; i++) {
    const rt_binding *binding = &p->bindings[i];
    if (!binding->written_from || !binding->bytes) continue;
    const be_range *from = &p->ranges[binding->written_from - 1], *to = &p->ranges[i];
    if (from->buffer == to->buffer && from->offset == to->offset) continue;
    TSR_TRY(p->dev->vt->copy(s, *to, *from));
  }
  return NULL;
}

static tsr_status unstage_outputs(tsr_program *p, be_stream *s) {
  for (int i = 0; i < p->n_bindings; i++) {
    const rt_binding *binding = &p->bindings[i];
    if (binding->kind != BINDING_OUTPUT || !binding->buffer || p->ranges[i].buffer != binding->buffer->be) continue;
    be_range to = p->returned[binding->index];
    to.bytes = binding->bytes;
    TSR_TRY(p->dev->vt->copy(s, to, p->ranges[i]));
  }
  return NULL;
}

/* All that is bound. *by_backend: what failed was a part of the backend's. */
static tsr_status run_parts(tsr_program *p, be_stream *s, double *ns, bool *by_backend) {
  const be_vtable *vt = p->dev->vt;
  *by_backend = false;
  for (int i = 0; i < p->n_parts; i++) {
    const rt_part *part = &p->parts[i];
    if (part->be) {
      tsr_status st = vt->program_run(s, part->be, p->ranges, ns ? ns + part->first : NULL);
      *by_backend = st != NULL;
      if (st) return st;
    } else TSR_TRY(rt_custom_run(p, s, &p->launches[part->first], ns ? ns + part->first : NULL));
  }
  for (int i = 0; i < p->n_passes; i++) {
    be_range src = p->ranges[p->passes[i].binding], to = p->returned[p->passes[i].output];
    to.bytes = src.bytes;
    if (src.bytes) TSR_TRY(vt->copy(s, to, src));
  }
  return unstage_outputs(p, s);
}

tsr_status rt_run_inner(tsr_program *p, be_stream *s, const be_range *in, const be_range *out) {
  bool unused;
  if (p->n_outputs) memcpy(p->returned, out, sizeof *out * (size_t)p->n_outputs);
  for (int i = 0; i < p->n_bindings; i++)
    if (p->bindings[i].kind == BINDING_INPUT) p->ranges[i] = in[p->bindings[i].index];
  bind(p, NULL);
  TSR_TRY(fill_outputs(p, s));
  return run_parts(p, s, NULL, &unused);
}

/* *launch_failed: the backend refused or failed a kernel, rather than a copy, a custom op or the caller. */
static tsr_status run(tsr_program *p, tsr_stream *s, const tsr_binding *in, const tsr_binding *out, double *ns,
                      bool *launch_failed) {
  *launch_failed = false;
  s = rt_stream(p->dev, s);
  if (!s) return check_run(p, NULL, in, out);
  TSR_TRY(check_run(p, s, in, out));
  if (s->capturing) return rt_record_run(p, s, in, out, tsr_program_run);
  for (int i = 0; i < p->n_outputs; i++)
    p->returned[i] = (be_range){out[i].buffer->be, out[i].offset, p->outputs[i].bytes};
  bind(p, in);
  TSR_TRY(stage_inputs(p, s));
  TSR_TRY(fill_outputs(p, s->be));
  tsr_status st = run_parts(p, s->be, ns, launch_failed);
  *launch_failed &= !any_donated(p, in, out); /* what is donated may have been written to */
  return st;
}

/* The same, and seen to its end where a stored schedule has yet to show that it runs. */
static tsr_status run_seen(tsr_program *p, tsr_stream *s, const tsr_binding *in, const tsr_binding *out, double *ns,
                           bool wait, bool *failed) {
  const tsr_stream *on = rt_stream(p->dev, s);
  const bool see = rt_must_see(p, on);
  *failed = false;
  if (see) TSR_TRY(p->dev->vt->stream_sync(on->be, -1)); /* what earlier work did is not this program's */
  TSR_TRY(run(p, s, in, out, ns, failed));
  if (!see && !wait) return NULL;
  tsr_status st = p->dev->vt->stream_sync(on->be, -1);
  *failed = tsr_status_code(st) == TSR_LAUNCH_FAILED && !any_donated(p, in, out);
  if (!see) return st;
  if (!st) rt_saw(p);
  return tsr_status_code(st) == TSR_DEVICE_LOST ? rt_lost_by_schedule(p, st) : st;
}

tsr_status tsr_program_run(tsr_program *p, tsr_stream *s, const tsr_binding *in, const tsr_binding *out) {
  RT_NEED("program_run", "p", p);
  for (;;) {
    bool failed;
    tsr_status st = run_seen(p, s, in, out, NULL, false, &failed);
    if (!st || !failed || !rt_fall_back(p, st)) return st;
    tsr_status_free(st);
  }
}

/* A schedule that another fell back to may have more launches than the caller has room for: the last number then holds
 * their sum. */
static tsr_status run_and_wait(tsr_program *p, tsr_stream *s, const tsr_binding *in, const tsr_binding *out, double *ns,
                               int room) {
  const tsr_allocator *al = &p->ctx->al;
  int n = p->n_launches;
  double *own = n > room ? al_zalloc(al, (size_t)n * sizeof *own) : NULL;
  bool failed;
  if (n > room && !own) return st_oom();
  tsr_status st = run_seen(p, s, in, out, own ? own : ns, true, &failed);
  for (int i = 0; own && !st && i < n; i++) {
    if (i < room) ns[i] = own[i];
    else if (room && own[i] > 0) ns[room - 1] += own[i];
  }
  if (own) al_free(al, own, (size_t)n * sizeof *own, 16);
  if (!st || !failed || !rt_fall_back(p, st)) return st;
  tsr_status_free(st);
  for (int i = 0; i < room; i++) ns[i] = 0;
  return run_and_wait(p, s, in, out, ns, room);
}

tsr_status tsr_program_profile(tsr_program *p, tsr_stream *s, const tsr_binding *in, const tsr_binding *out,
                               double *ns) {
  RT_NEED("program_profile", "p", p);
  if (s) TSR_TRY(rt_no_capture(s, "program_profile"));
  TSR_TRY(rt_check_array("program_profile", "ns", ns, p->n_launches));
  return run_and_wait(p, s, in, out, ns, p->n_launches);
}
