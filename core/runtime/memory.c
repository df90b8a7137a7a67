/* core/runtime/memory.c - buffers, streams, events: the checked front of the backends' calls. Of a stream that is being
 * captured they become commands (capture.h). */
#include <string.h>

#include "core/runtime/capture.h"

static tsr_status need_hardware(const tsr_device *d, const char *fn) {
  if (d->be) return NULL;
  return st_make(&d->ctx->al, TSR_UNAVAILABLE, RT_WHERE(fn, "open a device by number"),
                 "%s is an architecture without hardware", d->info.id);
}

/* ---- buffers --------------------------------------------------------------------------------------------------- */

static tsr_status new_buffer(tsr_device *d, size_t bytes, tsr_buffer **out) {
  tsr_buffer *b = *out = al_new(&d->ctx->al, tsr_buffer);
  if (!b) return st_oom();
  b->dev = d;
  b->bytes = bytes;
  return NULL;
}

static void count(tsr_buffer *b) {
  tsr_device *d = b->dev;
  const int64_t now = __atomic_add_fetch(&d->bytes_now, (int64_t)b->bytes, __ATOMIC_RELAXED);
  int64_t most = __atomic_load_n(&d->bytes_most, __ATOMIC_RELAXED);
  b->counted = true;
  while (now > most &&
         !__atomic_compare_exchange_n(&d->bytes_most, &most, now, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
    continue;
}

void tsr_device_memory(const tsr_device *d, int64_t *now, int64_t *most) {
  if (now) *now = d ? __atomic_load_n(&d->bytes_now, __ATOMIC_RELAXED) : 0;
  if (most) *most = d ? __atomic_load_n(&d->bytes_most, __ATOMIC_RELAXED) : 0;
}

tsr_status tsr_buffer_create(tsr_device *d, size_t bytes, tsr_memory kind, tsr_buffer **out) {
  RT_OUT("buffer_create", out);
  RT_NEED("buffer_create", "dev", d);
  TSR_TRY(rt_check_enum(&d->ctx->al, "buffer_create", "memory kind", (int64_t)kind, "device, host"));
  TSR_TRY(need_hardware(d, "buffer_create"));
  if (bytes > (size_t)PTRDIFF_MAX) return RT_BAD(d->ctx, "buffer_create", NULL, "%zu bytes", bytes);
  if (d->caps.max_buffer_bytes && bytes > (size_t)d->caps.max_buffer_bytes)
    return st_make(&d->ctx->al, TSR_OUT_OF_MEMORY, RT_WHERE("buffer_create", NULL), "%zu bytes; %s allows %lld at once",
                   bytes, d->info.id, (long long)d->caps.max_buffer_bytes);
  tsr_buffer *b;
  TSR_TRY(new_buffer(d, bytes, &b));
  tsr_status st = d->vt->buffer_create(d->be, (bytes + 3) & ~(size_t)3,
                                       kind == TSR_MEMORY_HOST ? BE_HOST_VISIBLE : BE_DEVICE_LOCAL, &b->be);
  if (!st) count(b);
  if (st) tsr_buffer_destroy(&b);
  *out = b;
  return st;
}

tsr_status tsr_buffer_import(tsr_device *d, const void *handle, size_t bytes, tsr_buffer **out) {
  RT_OUT("buffer_import", out);
  RT_NEED("buffer_import", "dev", d);
  if (bytes > (size_t)PTRDIFF_MAX) return RT_BAD(d->ctx, "buffer_import", NULL, "%zu bytes", bytes);
  TSR_TRY(need_hardware(d, "buffer_import"));
  if (!handle) return RT_BAD(d->ctx, "buffer_import", NULL, "no handle");
  tsr_buffer *b;
  TSR_TRY(new_buffer(d, bytes, &b));
  tsr_status st = d->vt->buffer_import ? d->vt->buffer_import(d->be, handle, bytes, &b->be)
                                       : st_make(&d->ctx->al, TSR_UNSUPPORTED, RT_WHERE("buffer_import", NULL),
                                                 "%s can't import memory", d->info.id);
  if (st) tsr_buffer_destroy(&b);
  *out = b;
  return st;
}

void tsr_buffer_destroy(tsr_buffer **bp) {
  tsr_buffer *b = bp ? *bp : NULL;
  if (!b) return;
  if (b->be) b->dev->vt->buffer_destroy(b->be);
  if (b->counted) __atomic_sub_fetch(&b->dev->bytes_now, (int64_t)b->bytes, __ATOMIC_RELAXED);
  al_delete(&b->dev->ctx->al, b);
  *bp = NULL;
}

size_t tsr_buffer_bytes(const tsr_buffer *b) { return b ? b->bytes : 0; }
void *tsr_buffer_map(tsr_buffer *b) { return b ? b->dev->vt->buffer_map(b->be) : NULL; }

static tsr_status check_range(const tsr_buffer *b, const char *fn, size_t offset, size_t bytes) {
  if (offset <= b->bytes && bytes <= b->bytes - offset) return NULL;
  return RT_BAD(b->dev->ctx, fn, NULL, "bytes %zu..%zu of a buffer of %zu", offset, offset + bytes, b->bytes);
}

tsr_status tsr_buffer_write(tsr_buffer *b, size_t offset, const void *src, size_t bytes) {
  RT_NEED("buffer_write", "buf", b);
  TSR_TRY(check_range(b, "buffer_write", offset, bytes));
  if (!bytes) return NULL;
  RT_NEED("buffer_write", "src", src);
  tsr_stream *s = b->dev->stream;
  TSR_TRY(b->dev->vt->write(s->be, (be_range){b->be, offset, bytes}, src));
  return b->dev->vt->stream_sync(s->be, -1);
}

tsr_status tsr_buffer_read(tsr_buffer *b, size_t offset, void *dst, size_t bytes) {
  RT_NEED("buffer_read", "buf", b);
  TSR_TRY(check_range(b, "buffer_read", offset, bytes));
  if (bytes) RT_NEED("buffer_read", "dst", dst);
  tsr_stream *s = b->dev->stream;
  /* Nothing is waited for too: callers then destroy what the work before it used. */
  if (bytes) TSR_TRY(b->dev->vt->read(s->be, (be_range){b->be, offset, bytes}, dst));
  return b->dev->vt->stream_sync(s->be, -1);
}

/* ---- streams --------------------------------------------------------------------------------------------------- */

tsr_stream *rt_stream(tsr_device *d, tsr_stream *s) { return s ? s : d->stream; }

tsr_status tsr_stream_create(tsr_device *d, int priority, tsr_stream **out) {
  RT_OUT("stream_create", out);
  RT_NEED("stream_create", "dev", d);
  TSR_TRY(need_hardware(d, "stream_create"));
  tsr_stream *s = al_new(&d->ctx->al, tsr_stream);
  if (!s) return st_oom();
  s->dev = d;
  s->tail = &s->recorded;
  if (priority && !d->vt->stream_priorities)
    rt_log(d->ctx, TSR_LOG_INFO, "streams of %s have no priorities: %d is ignored", d->info.id, priority);
  tsr_status st = d->vt->stream_create(d->be, priority, &s->be);
  if (st) tsr_stream_destroy(&s);
  *out = s;
  return st;
}

void tsr_stream_destroy(tsr_stream **sp) {
  tsr_stream *s = sp ? *sp : NULL;
  if (!s) return;
  rt_free_commands(s->dev->ctx, s->recorded);
  if (s->be) s->dev->vt->stream_destroy(s->be);
  al_delete(&s->dev->ctx->al, s);
  *sp = NULL;
}

tsr_status tsr_stream_sync(tsr_stream *s, int64_t timeout_ns) {
  RT_NEED("stream_sync", "s", s);
  return s->dev->vt->stream_sync(s->be, timeout_ns);
}

/* Devices of one backend and context may know each other's memory and events. */
static bool reaches(const tsr_device *d, const tsr_device *other) {
  return d == other || (d->vt == other->vt && d->ctx == other->ctx && d->vt->between_devices);
}

tsr_status tsr_stream_wait(tsr_stream *s, tsr_event *e) {
  RT_NEED("stream_wait", "s", s);
  RT_NEED("stream_wait", "e", e);
  if (!reaches(s->dev, e->dev)) return RT_BAD(s->dev->ctx, "stream_wait", NULL, "the event belongs to another device");
  if (s->capturing) return rt_record(s, &(rt_command){.kind = CMD_WAIT, .event = e});
  if (!e->recorded) return RT_BAD(s->dev->ctx, "stream_wait", "record it first", "the event was never recorded");
  s->foreign |= e->foreign;
  return s->dev->vt->stream_wait(s->be, e->be);
}

tsr_status tsr_stream_wait_external(tsr_stream *s, const void *handle) {
  RT_NEED("stream_wait_external", "s", s);
  if (!s->dev->vt->external_wait)
    return st_make(&s->dev->ctx->al, TSR_UNSUPPORTED, RT_WHERE("stream_wait_external", NULL),
                   "%s has no semaphores to import", s->dev->info.id);
  TSR_TRY(rt_no_capture(s, "stream_wait_external"));
  if (!handle) return RT_BAD(s->dev->ctx, "stream_wait_external", NULL, "no handle");
  s->foreign = true;
  return s->dev->vt->external_wait(s->be, handle);
}

tsr_status tsr_stream_signal_external(tsr_stream *s, const void *handle) {
  RT_NEED("stream_signal_external", "s", s);
  if (!s->dev->vt->external_signal)
    return st_make(&s->dev->ctx->al, TSR_UNSUPPORTED, RT_WHERE("stream_signal_external", NULL),
                   "%s has no semaphores to import", s->dev->info.id);
  TSR_TRY(rt_no_capture(s, "stream_signal_external"));
  return handle ? s->dev->vt->external_signal(s->be, handle)
                : RT_BAD(s->dev->ctx, "stream_signal_external", NULL, "no handle");
}

tsr_status tsr_stream_copy(tsr_stream *s, tsr_buffer *dst, size_t dst_offset, tsr_buffer *src, size_t src_offset,
                           size_t bytes) {
  RT_NEED("stream_copy", "s", s);
  RT_NEED("stream_copy", "dst", dst);
  RT_NEED("stream_copy", "src", src);
  TSR_TRY(check_range(dst, "stream_copy", dst_offset, bytes));
  TSR_TRY(check_range(src, "stream_copy", src_offset, bytes));
  if ((dst->dev != s->dev && src->dev != s->dev) || !reaches(s->dev, dst->dev) || !reaches(s->dev, src->dev))
    return RT_BAD(s->dev->ctx, "stream_copy", "copy through the host", "a buffer belongs to another device");
  if (s->capturing)
    return rt_record(s, &(rt_command){.kind = CMD_COPY,
                                      .dst = dst,
                                      .dst_offset = dst_offset,
                                      .src = src,
                                      .src_offset = src_offset,
                                      .bytes = bytes});
  return bytes ? s->dev->vt->copy(s->be, (be_range){dst->be, dst_offset, bytes}, (be_range){src->be, src_offset, bytes})
               : NULL;
}

tsr_status tsr_stream_fill(tsr_stream *s, tsr_buffer *dst, size_t offset, size_t bytes, uint32_t pattern) {
  RT_NEED("stream_fill", "s", s);
  RT_NEED("stream_fill", "dst", dst);
  TSR_TRY(check_range(dst, "stream_fill", offset, bytes));
  if (offset % 4 || bytes % 4)
    return RT_BAD(s->dev->ctx, "stream_fill", NULL, "offset and bytes must be multiples of 4");
  if (s->capturing)
    return rt_record(
        s, &(rt_command){.kind = CMD_FILL, .dst = dst, .dst_offset = offset, .bytes = bytes, .pattern = pattern});
  return bytes ? s->dev->vt->fill(s->be, (be_range){dst->be, offset, bytes}, pattern) : NULL;
}

/* ---- events ---------------------------------------------------------------------------------------------------- */

tsr_status tsr_event_create(tsr_device *d, tsr_event **out) {
  RT_OUT("event_create", out);
  RT_NEED("event_create", "dev", d);
  TSR_TRY(need_hardware(d, "event_create"));
  tsr_event *e = al_new(&d->ctx->al, tsr_event);
  if (!e) return st_oom();
  e->dev = d;
  tsr_status st = d->vt->event_create(d->be, &e->be);
  if (st) tsr_event_destroy(&e);
  *out = e;
  return st;
}

void tsr_event_destroy(tsr_event **ep) {
  tsr_event *e = ep ? *ep : NULL;
  if (!e) return;
  if (e->be) e->dev->vt->event_destroy(e->be);
  al_delete(&e->dev->ctx->al, e);
  *ep = NULL;
}

tsr_status tsr_event_record(tsr_event *e, tsr_stream *s) {
  RT_NEED("event_record", "e", e);
  s = rt_stream(e->dev, s);
  if (s->dev != e->dev) return RT_BAD(e->dev->ctx, "event_record", NULL, "the stream belongs to another device");
  if (s->capturing) return rt_record(s, &(rt_command){.kind = CMD_RECORD, .event = e});
  TSR_TRY(e->dev->vt->event_record(s->be, e->be));
  e->recorded = true;
  e->foreign = s->foreign;
  return NULL;
}

tsr_status tsr_event_sync(tsr_event *e) {
  RT_NEED("event_sync", "e", e);
  if (!e->recorded) return RT_BAD(e->dev->ctx, "event_sync", "record it first", "the event was never recorded");
  return e->dev->vt->event_sync(e->be);
}

tsr_status tsr_event_elapsed(tsr_event *from, tsr_event *to, double *ns) {
  RT_OUT("event_elapsed", ns);
  RT_NEED("event_elapsed", "from", from);
  RT_NEED("event_elapsed", "to", to);
  if (!from->recorded || !to->recorded)
    return RT_BAD(from->dev->ctx, "event_elapsed", "record both first", "an event was never recorded");
  if (from->dev != to->dev)
    return RT_BAD(from->dev->ctx, "event_elapsed", NULL, "the events belong to different devices");
  TSR_TRY(from->dev->vt->event_sync(from->be));
  TSR_TRY(to->dev->vt->event_sync(to->be));
  return from->dev->vt->event_elapsed(from->be, to->be, ns);
}
