/* backends/host/host.c - see host.h. */
#include "backends/host/host.h"

#include <string.h>
#include <sys/mman.h>

#include "core/base/clock.h"

struct be_event {
  const tsr_allocator *al;
  int64_t ns;
};

static const host_device *host_of(const be_device *d) { return (const host_device *)(const void *)d; }
static const tsr_allocator *al_of(const be_device *d) { return host_of(d)->env->al; }

int host_n_devices(be_instance *in) { return 1; }

/* ---- memory ---------------------------------------------------------------------------------------------------- */

tsr_status host_buffer_create(be_device *d, size_t bytes, be_memory kind, be_buffer **out) {
  const tsr_allocator *al = al_of(d);
  *out = NULL;
  be_buffer *b = al_new(al, be_buffer);
  if (!b) return st_oom();
  size_t huge = (size_t)2 << 20;
  *b = (be_buffer){.al = al, .bytes = bytes, .align = bytes >= 2 * huge ? huge : 256, .owned = true};
  b->p = al_alloc(al, bytes, b->align);
  if (!b->p) {
    al_delete(al, b);
    return st_make(al, TSR_OUT_OF_MEMORY, ST_WHERE(host_of(d)->name, "buffer", NULL), "no host memory for %zu bytes",
                   bytes);
  }
  if (b->align == huge) madvise(b->p, bytes, MADV_HUGEPAGE);
  *out = b;
  return NULL;
}

tsr_status host_buffer_import(be_device *d, const void *desc, size_t bytes, be_buffer **out) {
  be_buffer *b = *out = al_new(al_of(d), be_buffer);
  if (!b) return st_oom();
  *b = (be_buffer){.al = al_of(d), .p = (char *)(uintptr_t)desc, .bytes = bytes};
  return NULL;
}

void host_buffer_destroy(be_buffer *b) {
  if (!b) return;
  if (b->owned) al_free(b->al, b->p, b->bytes, b->align);
  al_delete(b->al, b);
}

void *host_buffer_map(be_buffer *b) { return b->p; }

/* ---- streams and events ---------------------------------------------------------------------------------------- */

tsr_status host_stream_create(be_device *d, int priority, be_stream **out) {
  be_stream *s = *out = al_new(al_of(d), be_stream);
  if (!s) return st_oom();
  s->d = d;
  return NULL;
}

void host_stream_destroy(be_stream *s) {
  if (s) al_delete(al_of(s->d), s);
}

tsr_status host_stream_sync(be_stream *s, int64_t timeout_ns) { return NULL; }

tsr_status host_event_create(be_device *d, be_event **out) {
  be_event *e = *out = al_new(al_of(d), be_event);
  if (!e) return st_oom();
  e->al = al_of(d);
  return NULL;
}

void host_event_destroy(be_event *e) {
  if (e) al_delete(e->al, e);
}

tsr_status host_event_record(be_stream *s, be_event *e) {
  e->ns = clock_ns();
  return NULL;
}

tsr_status host_stream_wait(be_stream *s, be_event *e) { return NULL; }
tsr_status host_event_sync(be_event *e) { return NULL; }

tsr_status host_event_elapsed(be_event *from, be_event *to, double *ns) {
  *ns = (double)(to->ns - from->ns);
  return NULL;
}

/* ---- copies ---------------------------------------------------------------------------------------------------- */

tsr_status host_write(be_stream *s, be_range dst, const void *src) {
  memcpy(dst.buffer->p + dst.offset, src, dst.bytes);
  return NULL;
}

tsr_status host_read(be_stream *s, be_range src, void *dst) {
  memcpy(dst, src.buffer->p + src.offset, src.bytes);
  return NULL;
}

const char *host_copies_wait(const be_device *d, size_t bytes) {
  return "a copy is over when its call returns, as kernels are";
}

tsr_status host_copy(be_stream *s, be_range dst, be_range src) {
  memmove(dst.buffer->p + dst.offset, src.buffer->p + src.offset, src.bytes);
  return NULL;
}
