/* backends/host/host.h - what backends whose memory is the host's share: buffers, streams whose calls are done when
 * they return, copies. Their be_device begins with a host_device, its be_vtable with HOST_VTABLE. */
#ifndef BACKENDS_HOST_HOST_H
#define BACKENDS_HOST_HOST_H
#include "core/device/backend.h"

typedef struct host_device {
  const be_env *env;
  const char *name; /* of the backend, for messages */
} host_device;

struct be_buffer {
  const tsr_allocator *al;
  char *p;
  size_t bytes, align;
  bool owned;
};

struct be_stream { be_device *d; };

int host_n_devices(be_instance *in);

/* Not cleared. Large ones are aligned to huge pages and ask for them. */
tsr_status host_buffer_create(be_device *d, size_t bytes, be_memory kind, be_buffer **out);
tsr_status host_buffer_import(be_device *d, const void *desc, size_t bytes, be_buffer **out);
void host_buffer_destroy(be_buffer *b);
void *host_buffer_map(be_buffer *b);

tsr_status host_stream_create(be_device *d, int priority, be_stream **out);
void host_stream_destroy(be_stream *s);
tsr_status host_stream_sync(be_stream *s, int64_t timeout_ns);
tsr_status host_event_create(be_device *d, be_event **out);
void host_event_destroy(be_event *e);
tsr_status host_event_record(be_stream *s, be_event *e);
tsr_status host_stream_wait(be_stream *s, be_event *e);
tsr_status host_event_sync(be_event *e);
tsr_status host_event_elapsed(be_event *from, be_event *to, double *ns);

tsr_status host_write(be_stream *s, be_range dst, const void *src);
tsr_status host_read(be_stream *s, be_range src, void *dst);
tsr_status host_copy(be_stream *s, be_range dst, be_range src);
const char *host_copies_wait(const be_device *d, size_t bytes);

#define HOST_VTABLE                                                                                                  \
  .n_devices = host_n_devices, .buffer_import = host_buffer_import, .buffer_destroy = host_buffer_destroy,           \
  .buffer_map = host_buffer_map, .stream_create = host_stream_create, .stream_destroy = host_stream_destroy,         \
  .stream_sync = host_stream_sync, .event_create = host_event_create, .event_destroy = host_event_destroy,           \
  .event_record = host_event_record, .stream_wait = host_stream_wait, .event_sync = host_event_sync,                 \
  .write = host_write, .read = host_read, .copy = host_copy, .copies_wait = host_copies_wait
#endif
