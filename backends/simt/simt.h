/* backends/simt/simt.h - what the CUDA and HIP backends share: everything but the hooks of simt_dialect. A backend is
 * one simt_dialect and one be_vtable made by SIMT_VTABLE. Every driver call goes through simt_check, which turns a code
 * into a status; a sticky error marks the device lost, after which each call answers TSR_DEVICE_LOST and closing the
 * device resets its context. */
#ifndef BACKENDS_SIMT_SIMT_H
#define BACKENDS_SIMT_SIMT_H
#include <pthread.h>

#include "backends/simt/simt_api.h"

struct be_instance {
  be_env env;
  const simt_dialect *d;
  simt_api api;
  int driver, n_devices;
  pthread_mutex_t lock; /* of `open` */
  be_device *open;      /* those with contexts of their own, which reach each other's memory */
};

struct be_device {
  be_instance *in;
  int index, handle;
  void *context, *foreign_stream;
  bool foreign; /* the application's context: never released or reset */
  bool lost;
  int lost_code;
  tsr_caps caps;
  be_device *next_open;
};

struct be_buffer {
  be_device *dev;
  uint64_t address;
  void *host;
  size_t bytes;
  bool imported;
};

struct be_stream {
  be_device *dev;
  void *handle;
  bool foreign;
};

struct be_event {
  be_device *dev;
  void *handle;
};

typedef struct simt_kernel {
  void *function;
  be_kernel_desc desc;
  be_tensor_map *maps;
  char *name;
  be_kernel_stats stats;
} simt_kernel;

struct be_module {
  be_device *dev;
  void *handle;
  simt_kernel *kernels;
  int n_kernels;
  char *log;
};

/* ---- loading (simt_load.c) ---- */
tsr_status simt_load_api(const be_env *env, const simt_dialect *d, simt_api *out);
tsr_status simt_load_rtc(const be_env *env, const simt_dialect *d, simt_rtc *out);
void simt_close_lib(void **lib);

/* ---- statuses (simt_device.c) ---- */
tsr_status simt_check(be_device *dev, int code, const char *call);
/* Makes the device's context current; a status if it is lost. */
tsr_status simt_enter(be_device *dev);

/* ---- compiling (simt_compile.c) ---- */
typedef struct simt_code { void *code; size_t bytes; char *log; } simt_code;
tsr_status simt_compile_source(const be_env *env, const simt_dialect *d, const char *arch, const char *source,
                               simt_code *out);
void simt_code_free(const be_env *env, simt_code *c);
/* Registers, spills, shared bytes and serialized wgmma of one kernel from a compile log (ptxas -v). */
void simt_log_stats(const char *log, const char *kernel, be_kernel_stats *out);
/* From the notes of an AMD code object. */
void simt_object_stats(const void *code, size_t bytes, const char *kernel, be_kernel_stats *out);

/* ---- binaries on disk (simt_cache.c) ---- */
bool simt_cache_get(const be_env *env, const char *arch, const char *compiler, const char *source, simt_code *out);
void simt_cache_put(const be_env *env, const char *arch, const char *compiler, const char *source, const simt_code *c);

/* ---- the vtable's functions ---- */
tsr_status simt_instance_create(const be_env *env, const simt_dialect *d, be_instance **out);
void simt_instance_destroy(be_instance *in);
int simt_n_devices(be_instance *in);
tsr_status simt_device_info(be_instance *in, int index, be_device_info *out);
tsr_status simt_device_open(be_instance *in, int index, const be_import *import, be_device **out, tsr_caps *caps);
void simt_device_close(be_device *d);
tsr_status simt_buffer_create(be_device *d, size_t bytes, be_memory kind, be_buffer **out);
tsr_status simt_buffer_import(be_device *d, const void *desc, size_t bytes, be_buffer **out);
void simt_buffer_destroy(be_buffer *b);
void *simt_buffer_map(be_buffer *b);
tsr_status simt_stream_create(be_device *d, int priority, be_stream **out);
void simt_stream_destroy(be_stream *s);
tsr_status simt_stream_sync(be_stream *s, int64_t timeout_ns);
tsr_status simt_event_create(be_device *d, be_event **out);
void simt_event_destroy(be_event *e);
tsr_status simt_event_record(be_stream *s, be_event *e);
tsr_status simt_stream_wait(be_stream *s, be_event *e);
tsr_status simt_event_sync(be_event *e);
tsr_status simt_event_elapsed(be_event *from, be_event *to, double *ns);
tsr_status simt_be_write(be_stream *s, be_range dst, const void *src);
tsr_status simt_be_read(be_stream *s, be_range src, void *dst);
tsr_status simt_be_copy(be_stream *s, be_range dst, be_range src);
tsr_status simt_be_fill(be_stream *s, be_range dst, uint32_t pattern);
tsr_status simt_module_create(be_device *d, const be_module_desc *desc, be_module **out);
void simt_module_destroy(be_module *m);
tsr_status simt_kernel_stats(be_module *m, int kernel, be_kernel_stats *out);
tsr_status simt_program_create(be_device *d, const be_program_desc *desc, be_program **out);
void simt_program_destroy(be_program *p);
tsr_status simt_program_run(be_stream *s, be_program *p, const be_range *bindings, double *times_ns);

#define SIMT_VTABLE(dialect_)                                                                                      \
  .instance_destroy = simt_instance_destroy, .n_devices = simt_n_devices, .device_info = simt_device_info,         \
  .device_open = simt_device_open, .device_close = simt_device_close, .buffer_create = simt_buffer_create,         \
  .buffer_import = simt_buffer_import, .buffer_destroy = simt_buffer_destroy, .buffer_map = simt_buffer_map,       \
  .stream_create = simt_stream_create, .stream_destroy = simt_stream_destroy, .stream_sync = simt_stream_sync,     \
  .event_create = simt_event_create, .event_destroy = simt_event_destroy, .event_record = simt_event_record,       \
  .stream_wait = simt_stream_wait, .event_sync = simt_event_sync, .event_elapsed = simt_event_elapsed, .write = simt_be_write, \
  .read = simt_be_read, .copy = simt_be_copy, .fill = simt_be_fill, .module_create = simt_module_create,           \
  .module_destroy = simt_module_destroy, .kernel_stats = simt_kernel_stats, .program_create = simt_program_create, \
  .program_destroy = simt_program_destroy, .program_run = simt_program_run, .between_devices = true, .stream_priorities = true

#endif
