/* backends/simt/simt_stream.c - streams, events, copies. */
#include <time.h>

#include "backends/simt/simt.h"
#include "core/base/clock.h"

tsr_status simt_stream_create(be_device *dev, int priority, be_stream **out) {
  *out = NULL;
  TSR_TRY(simt_enter(dev));
  be_stream *s = al_new(dev->in->env.al, be_stream);
  if (!s) return st_oom();
  s->dev = dev;
  if (dev->foreign_stream) {
    s->handle = dev->foreign_stream;
    s->foreign = true;
    *out = s;
    return NULL;
  }
  /* Lower numbers are more urgent for the driver. */
  tsr_status st = simt_check(
      dev, dev->in->api.stream_create(&s->handle, SIMT_STREAM_NON_BLOCKING, priority > -1000 ? -priority : 1000),
      "create a stream");
  if (st) al_delete(dev->in->env.al, s);
  else *out = s;
  return st;
}

void simt_stream_destroy(be_stream *s) {
  if (!s) return;
  be_device *dev = s->dev;
  if (!s->foreign && !dev->lost && !dev->in->api.context_current(dev->context)) dev->in->api.stream_destroy(s->handle);
  al_delete(dev->in->env.al, s);
}

tsr_status simt_stream_sync(be_stream *s, int64_t timeout_ns) {
  be_device *dev = s->dev;
  TSR_TRY(simt_enter(dev));
  if (timeout_ns < 0) return simt_check(dev, dev->in->api.stream_sync(s->handle), "wait for a stream");
  for (int64_t end = clock_ns() + timeout_ns;;) {
    int code = dev->in->api.stream_query(s->handle);
    if (code != SIMT_NOT_READY) return simt_check(dev, code, "query a stream");
    if (clock_ns() >= end)
      return st_make(dev->in->env.al, TSR_TIMEOUT, ST_WHERE(dev->in->d->name, "stream_sync", NULL),
                     "still running after %lld ns", (long long)timeout_ns);
    struct timespec nap = {0, 20000};
    nanosleep(&nap, NULL);
  }
}

tsr_status simt_event_create(be_device *dev, be_event **out) {
  *out = NULL;
  TSR_TRY(simt_enter(dev));
  be_event *e = al_new(dev->in->env.al, be_event);
  if (!e) return st_oom();
  e->dev = dev;
  tsr_status st = simt_check(dev, dev->in->api.event_create(&e->handle, SIMT_EVENT_TIMING), "create an event");
  if (st) al_delete(dev->in->env.al, e);
  else *out = e;
  return st;
}

void simt_event_destroy(be_event *e) {
  if (!e) return;
  be_device *dev = e->dev;
  if (!dev->lost && !dev->in->api.context_current(dev->context)) dev->in->api.event_destroy(e->handle);
  al_delete(dev->in->env.al, e);
}

tsr_status simt_event_record(be_stream *s, be_event *e) {
  TSR_TRY(simt_enter(s->dev));
  return simt_check(s->dev, s->dev->in->api.event_record(e->handle, s->handle), "record an event");
}

tsr_status simt_stream_wait(be_stream *s, be_event *e) {
  TSR_TRY(simt_enter(s->dev));
  return simt_check(s->dev, s->dev->in->api.stream_wait(s->handle, e->handle, 0), "wait for an event");
}

tsr_status simt_event_sync(be_event *e) {
  TSR_TRY(simt_enter(e->dev));
  return simt_check(e->dev, e->dev->in->api.event_sync(e->handle), "wait for an event");
}

tsr_status simt_event_elapsed(be_event *from, be_event *to, double *ns) {
  float ms = 0;
  *ns = 0;
  TSR_TRY(simt_enter(from->dev));
  TSR_TRY(simt_check(from->dev, from->dev->in->api.event_elapsed(&ms, from->handle, to->handle), "read a timer"));
  *ns = (double)ms * 1e6;
  return NULL;
}

tsr_status simt_be_write(be_stream *s, be_range dst, const void *src) {
  TSR_TRY(simt_enter(s->dev));
  return simt_check(s->dev, s->dev->in->api.to_device(dst.buffer->address + dst.offset, src, dst.bytes, s->handle),
                    "copy to the device");
}

tsr_status simt_be_read(be_stream *s, be_range src, void *dst) {
  TSR_TRY(simt_enter(s->dev));
  return simt_check(s->dev, s->dev->in->api.to_host(dst, src.buffer->address + src.offset, src.bytes, s->handle),
                    "copy to the host");
}

tsr_status simt_be_copy(be_stream *s, be_range dst, be_range src) {
  TSR_TRY(simt_enter(s->dev));
  return simt_check(
      s->dev,
      s->dev->in->api.copy(dst.buffer->address + dst.offset, src.buffer->address + src.offset, src.bytes, s->handle),
      "copy on the device");
}

tsr_status simt_be_fill(be_stream *s, be_range dst, uint32_t pattern) {
  TSR_TRY(simt_enter(s->dev));
  return simt_check(
      s->dev, s->dev->in->api.set32(dst.buffer->address + dst.offset, (int)pattern, dst.bytes / 4, s->handle), "fill");
}
