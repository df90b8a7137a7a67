/* core/runtime/profile_copies.c - see profile_copies.h. */
#include "core/runtime/profile_copies.h"

#include <string.h>

#include "core/base/clock.h"
#include "core/base/number.h"

/* So many copies hold events of the driver at most. */
enum { MOST_PENDING = 256 };

typedef struct pending {
  tsr_event *from, *to;
  size_t bytes;
  int step, number; /* of the step, of the stream */
} pending;

/* A moment that the host's clock and the device's know. */
typedef struct origin {
  tsr_device *dev;
  tsr_event *event;
  double host_ns;
} origin;

struct rt_copies {
  tsr_context *ctx;
  prof_log *log;
  pending *copies;
  origin *origins;      /* of devices with copies under way */
  tsr_stream **streams; /* but the devices' own: number i + 1 */
  size_t n_copies, cap_copies, n_origins, cap_origins, n_streams, cap_streams;
};

tsr_status rt_copies_create(tsr_context *ctx, prof_log *log, rt_copies **out) {
  rt_copies *c = *out = al_new(&ctx->al, rt_copies);
  if (!c) return st_oom();
  c->ctx = ctx, c->log = log;
  return NULL;
}

static void forget(rt_copies *c) {
  for (size_t i = 0; i < c->n_copies; i++) tsr_event_destroy(&c->copies[i].from), tsr_event_destroy(&c->copies[i].to);
  for (size_t i = 0; i < c->n_origins; i++) tsr_event_destroy(&c->origins[i].event);
  c->n_copies = c->n_origins = 0;
}

void rt_copies_destroy(rt_copies **cp) {
  rt_copies *c = *cp;
  if (!c) return;
  forget(c);
  al_free_array(&c->ctx->al, c->copies, c->cap_copies);
  al_free_array(&c->ctx->al, c->origins, c->cap_origins);
  al_free_array(&c->ctx->al, c->streams, c->cap_streams);
  al_delete(&c->ctx->al, c);
  *cp = NULL;
}

static const origin *origin_of(const rt_copies *c, const tsr_device *d) {
  for (size_t i = 0; i < c->n_origins; i++)
    if (c->origins[i].dev == d) return &c->origins[i];
  return NULL;
}

static tsr_status new_origin(rt_copies *c, tsr_stream *s) {
  double ns;
  tsr_status st = NULL;
  origin o = {.dev = s->dev};
  if (!al_grow(&c->ctx->al, &c->origins, &c->cap_origins, c->n_origins + 1, sizeof *c->origins)) return st_oom();
  TSR_GOTO(tsr_event_create(s->dev, &o.event));
  TSR_GOTO(tsr_event_record(o.event, s));
  TSR_GOTO(tsr_event_elapsed(o.event, o.event, &ns));
  o.host_ns = (double)clock_ns();
  c->origins[c->n_origins++] = o;
done:
  if (st) tsr_event_destroy(&o.event);
  return st;
}

static tsr_status number_of(rt_copies *c, tsr_stream *s, int *out) {
  *out = 0;
  if (s == s->dev->stream) return NULL;
  size_t i = 0;
  while (i < c->n_streams && c->streams[i] != s) i++;
  if (i == c->n_streams) {
    if (!al_grow(&c->ctx->al, &c->streams, &c->cap_streams, i + 1, sizeof(tsr_stream *))) return st_oom();
    c->streams[c->n_streams++] = s;
  }
  *out = (int)i + 1;
  return NULL;
}

tsr_status rt_copies_add(rt_copies *c, int step, tsr_stream *s, tsr_buffer *dst, size_t dst_offset, tsr_buffer *src,
                         size_t src_offset, size_t bytes) {
  pending p = {.bytes = bytes, .step = step};
  tsr_status st = NULL;
  TSR_TRY(rt_no_capture(s, "profile_copy"));
  if (c->n_copies >= MOST_PENDING) TSR_TRY(rt_copies_settle(c));
  if (!al_grow(&c->ctx->al, &c->copies, &c->cap_copies, c->n_copies + 1, sizeof *c->copies)) return st_oom();
  TSR_TRY(number_of(c, s, &p.number));
  if (!origin_of(c, s->dev)) TSR_TRY(new_origin(c, s));
  TSR_GOTO(tsr_event_create(s->dev, &p.from));
  TSR_GOTO(tsr_event_create(s->dev, &p.to));
  TSR_GOTO(tsr_event_record(p.from, s));
  TSR_GOTO(tsr_stream_copy(s, dst, dst_offset, src, src_offset, bytes));
  TSR_GOTO(tsr_event_record(p.to, s));
  c->copies[c->n_copies++] = p;
done:
  if (st) tsr_event_destroy(&p.from), tsr_event_destroy(&p.to);
  return st;
}

tsr_status rt_copies_mark(rt_copies *c, tsr_stream *s, tsr_event **event) {
  *event = NULL;
  if (!origin_of(c, s->dev)) return NULL;
  TSR_TRY(tsr_event_create(s->dev, event));
  tsr_status st = tsr_event_record(*event, s);
  if (st) tsr_event_destroy(event);
  return st;
}

static tsr_status when(const rt_copies *c, tsr_event *e, double *ns) {
  const origin *o = origin_of(c, e->dev);
  TSR_TRY(tsr_event_elapsed(o->event, e, ns));
  *ns += o->host_ns;
  return NULL;
}

tsr_status rt_copies_place(rt_copies *c, tsr_stream *s, tsr_event *event, double *start_ns, int *stream) {
  TSR_TRY(number_of(c, s, stream));
  return when(c, event, start_ns);
}

static tsr_status tell(rt_copies *c, const pending *p) {
  char size[32];
  tsr_device *dev = p->from->dev;
  prof_event e = prof_event_init(PROF_COPY, "copy");
  TSR_TRY(when(c, p->from, &e.start_ns));
  TSR_TRY(when(c, p->to, &e.end_ns));
  number_print(size, sizeof size, "%.4gMB", (double)p->bytes / 1e6);
  e.detail = size;
  e.kernel = "copy";
  e.device = dev->info.id;
  e.waits = dev->vt->copies_wait ? dev->vt->copies_wait(dev->be, p->bytes) : "";
  e.stream = p->number, e.step = p->step;
  e.flops = 0, e.bytes = (double)p->bytes;
  e.device_clock = true;
  prof_add(c->log, &e);
  return NULL;
}

tsr_status rt_copies_settle(rt_copies *c) {
  tsr_status st = NULL;
  for (size_t i = 0; i < c->n_copies && !st; i++) st = tell(c, &c->copies[i]);
  forget(c);
  return st;
}
