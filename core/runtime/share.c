/* core/runtime/share.c - memory and signals by file descriptor: the checked front (tessera/vulkan.h). */
#include "core/runtime/internal.h"
#include "tessera/vulkan.h"

static tsr_status sharing_of(const tsr_device *d, const char *fn, const be_sharing **out) {
  *out = d->vt->sharing;
  if (!d->be)
    return st_make(&d->ctx->al, TSR_UNAVAILABLE, RT_WHERE(fn, "open a device by number"),
                   "%s is an architecture without hardware", d->info.id);
  if (*out) return NULL;
  return st_make(&d->ctx->al, TSR_UNSUPPORTED, RT_WHERE(fn, NULL), "%s shares nothing by file descriptor", d->info.id);
}

static tsr_status new_shared(tsr_device *d, const char *fn, int fd, size_t bytes, tsr_buffer **out) {
  const be_sharing *share;
  const size_t size = (bytes + 3) & ~(size_t)3;
  TSR_TRY(sharing_of(d, fn, &share));
  if (bytes < 1 || bytes > (size_t)PTRDIFF_MAX) return RT_BAD(d->ctx, fn, NULL, "%zu bytes", bytes);
  tsr_buffer *b = al_new(&d->ctx->al, tsr_buffer);
  if (!b) return st_oom();
  b->dev = d;
  b->bytes = bytes;
  tsr_status st = fd >= 0 ? share->buffer_import(d->be, fd, size, &b->be) : share->buffer_create(d->be, size, &b->be);
  if (st) tsr_buffer_destroy(&b);
  *out = b;
  return st;
}

tsr_status tsr_buffer_create_shared(tsr_device *d, size_t bytes, tsr_buffer **out) {
  RT_OUT("buffer_create_shared", out);
  RT_NEED("buffer_create_shared", "dev", d);
  return new_shared(d, "buffer_create_shared", -1, bytes, out);
}

tsr_status tsr_buffer_import_fd(tsr_device *d, int fd, size_t bytes, tsr_buffer **out) {
  RT_OUT("buffer_import_fd", out);
  RT_NEED("buffer_import_fd", "dev", d);
  if (fd < 0) return RT_BAD(d->ctx, "buffer_import_fd", NULL, "%d is no file descriptor", fd);
  return new_shared(d, "buffer_import_fd", fd, bytes, out);
}

tsr_status tsr_buffer_export_fd(tsr_buffer *b, int *fd) {
  const be_sharing *share;
  RT_OUT("buffer_export_fd", fd);
  *fd = -1;
  RT_NEED("buffer_export_fd", "b", b);
  TSR_TRY(sharing_of(b->dev, "buffer_export_fd", &share));
  return share->buffer_export(b->be, fd);
}

tsr_status tsr_stream_signal_fd(tsr_stream *s, int *fd) {
  const be_sharing *share;
  RT_OUT("stream_signal_fd", fd);
  *fd = -1;
  RT_NEED("stream_signal_fd", "s", s);
  TSR_TRY(sharing_of(s->dev, "stream_signal_fd", &share));
  TSR_TRY(rt_no_capture(s, "stream_signal_fd"));
  return share->signal_fd(s->be, fd);
}

tsr_status tsr_stream_wait_fd(tsr_stream *s, int fd) {
  const be_sharing *share;
  RT_NEED("stream_wait_fd", "s", s);
  TSR_TRY(sharing_of(s->dev, "stream_wait_fd", &share));
  TSR_TRY(rt_no_capture(s, "stream_wait_fd"));
  if (fd < -1) return RT_BAD(s->dev->ctx, "stream_wait_fd", NULL, "%d is no file descriptor", fd);
  s->foreign = true;
  return share->wait_fd(s->be, fd);
}
