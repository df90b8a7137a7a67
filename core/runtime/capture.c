/* core/runtime/capture.c - captures: calls on a stream as a list of commands, and their replay by the same calls. */
#include "core/runtime/capture.h"

struct tsr_recording {
  tsr_device *dev;
  rt_command *first;
};

void rt_free_commands(tsr_context *c, rt_command *first) {
  for (rt_command *next; first; first = next) {
    next = first->next;
    if (first->bindings)
      al_free(&c->al, first->bindings, sizeof *first->bindings * (size_t)(first->n_bindings + 1), 16);
    al_delete(&c->al, first);
  }
}

tsr_status rt_record(tsr_stream *s, const rt_command *c) {
  rt_command *n = al_new(&s->dev->ctx->al, rt_command);
  if (!n) return st_oom();
  *n = *c;
  *s->tail = n;
  s->tail = &n->next;
  return NULL;
}

tsr_status rt_record_run(tsr_program *p, tsr_stream *s, const tsr_binding *inputs, const tsr_binding *outputs,
                         rt_run_fn run) {
  tsr_context *ctx = s->dev->ctx;
  rt_command c = {.kind = CMD_RUN, .run = run, .program = p, .n_bindings = p->n_inputs + p->n_outputs};
  c.bindings = al_zalloc(&ctx->al, sizeof *c.bindings * (size_t)(c.n_bindings + 1));
  if (!c.bindings) return st_oom();
  for (int i = 0; i < p->n_inputs; i++) c.bindings[i] = inputs[i];
  for (int i = 0; i < p->n_outputs; i++) c.bindings[p->n_inputs + i] = outputs[i];
  tsr_status st = rt_record(s, &c);
  if (st) al_free(&ctx->al, c.bindings, sizeof *c.bindings * (size_t)(c.n_bindings + 1), 16);
  return st;
}

tsr_status rt_no_capture(const tsr_stream *s, const char *fn) {
  if (!s->capturing) return NULL;
  return RT_BAD(s->dev->ctx, fn, "call it outside tsr_capture_begin and _end",
                "the stream is being captured, nothing runs");
}

tsr_status tsr_capture_begin(tsr_stream *s) {
  RT_NEED("capture_begin", "s", s);
  if (s->capturing) return RT_BAD(s->dev->ctx, "capture_begin", NULL, "the stream is already capturing");
  s->capturing = true;
  return NULL;
}

tsr_status tsr_capture_end(tsr_stream *s, tsr_recording **out) {
  RT_OUT("capture_end", out);
  RT_NEED("capture_end", "s", s);
  if (!s->capturing)
    return RT_BAD(s->dev->ctx, "capture_end", "call tsr_capture_begin first", "the stream is not capturing");
  tsr_recording *r = al_new(&s->dev->ctx->al, tsr_recording);
  if (r) *r = (tsr_recording){s->dev, s->recorded};
  else rt_free_commands(s->dev->ctx, s->recorded);
  s->recorded = NULL;
  s->tail = &s->recorded;
  s->capturing = false;
  *out = r;
  return r ? NULL : st_oom();
}

tsr_status tsr_recording_replay(tsr_recording *r, tsr_stream *s) {
  RT_NEED("recording_replay", "r", r);
  s = rt_stream(r->dev, s);
  if (s->dev != r->dev) return RT_BAD(r->dev->ctx, "recording_replay", NULL, "the stream belongs to another device");
  for (rt_command *c = r->first; c; c = c->next) switch (c->kind) {
    case CMD_RUN: TSR_TRY(c->run(c->program, s, c->bindings, c->bindings + c->program->n_inputs)); break;
    case CMD_COPY: TSR_TRY(tsr_stream_copy(s, c->dst, c->dst_offset, c->src, c->src_offset, c->bytes)); break;
    case CMD_FILL: TSR_TRY(tsr_stream_fill(s, c->dst, c->dst_offset, c->bytes, c->pattern)); break;
    case CMD_RECORD: TSR_TRY(tsr_event_record(c->event, s)); break;
    case CMD_WAIT: TSR_TRY(tsr_stream_wait(s, c->event)); break;
    }
  return NULL;
}

void tsr_recording_destroy(tsr_recording **rp) {
  tsr_recording *r = rp ? *rp : NULL;
  if (!r) return;
  rt_free_commands(r->dev->ctx, r->first);
  al_delete(&r->dev->ctx->al, r);
  *rp = NULL;
}
