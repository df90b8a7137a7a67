/* tessera/device.h - contexts, the devices of a machine, their memory and the order of work on them. Included by
 * tessera/tessera.h, whose rules hold. */
#ifndef TESSERA_DEVICE_H
#define TESSERA_DEVICE_H

#include "tessera/base.h"
#include "tessera/probe.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tsr_context tsr_context;
typedef struct tsr_device tsr_device;
typedef struct tsr_buffer tsr_buffer;
typedef struct tsr_stream tsr_stream;
typedef struct tsr_event tsr_event;

/* ---- context --------------------------------------------------------------------------------------------------- */

typedef enum tsr_log_level { TSR_LOG_ERROR, TSR_LOG_WARN, TSR_LOG_INFO, TSR_LOG_DEBUG } tsr_log_level;

/* Numerics policy (docs/precision.md): how sums are ordered. The innermost scope that names one decides:
 * tsr_compile_options, then the function's attribute `policy` in IR text, then the context. docs/precision.md has the
 * table. */
typedef enum tsr_policy {
  TSR_POLICY_DEFAULT,       /* the enclosing scope's; "fast" at the top */
  TSR_POLICY_FAST,          /* benchmarking, inference */
  TSR_POLICY_DETERMINISTIC, /* debugging, reproducible training: the same bits for every run and thread count */
  TSR_POLICY_KAHAN_SUM      /* sensitive PDEs, physics training: compensated sums */
} tsr_policy;
/* "fast", "deterministic", "kahan_sum"; TSR_NOT_FOUND for other names. */
TSR_API TSR_MUST_USE tsr_status tsr_policy_parse(const char *name, tsr_policy *out);
TSR_API const char *tsr_policy_name(tsr_policy p);
/* The policy's use case in one line. A constant string. */
TSR_API const char *tsr_policy_help(tsr_policy p);

/* Precision mode (docs/precision.md) of a compiled graph, which else its function's attribute `precision` names. Sums
 * of floats of up to 32 bits are f32 in all of them. standard: the types are those of the graph; safe: narrower floats
 * are computed in f32; aggressive: products have fp8 operands with scales, attention bf16 ones; deterministic: the
 * policy of that name; tf32: products and attention of f32 have operands rounded to tf32. What goes in and comes out
 * keeps its type. */
typedef enum tsr_precision {
  TSR_PRECISION_STANDARD,
  TSR_PRECISION_SAFE,
  TSR_PRECISION_AGGRESSIVE,
  TSR_PRECISION_DETERMINISTIC,
  TSR_PRECISION_TF32
} tsr_precision;
/* "standard", "safe", "aggressive", "deterministic", "tf32"; TSR_NOT_FOUND for other names. */
TSR_API TSR_MUST_USE tsr_status tsr_precision_parse(const char *name, tsr_precision *out);
TSR_API const char *tsr_precision_name(tsr_precision p);
/* What the mode does, in one line. A constant string. */
TSR_API const char *tsr_precision_help(tsr_precision p);

/* What happens where a device lacks a capability. */
typedef enum tsr_fallback {
  TSR_FALLBACK_DEFAULT,
  TSR_FALLBACK_ERROR,
  TSR_FALLBACK_WARN,
  TSR_FALLBACK_ALLOW
} tsr_fallback;

typedef struct tsr_context_desc {
  uint32_t abi_version;           /* TSR_ABI_VERSION, or 0 = don't check */
  const tsr_allocator *allocator; /* copied; NULL = the C library's */
  void (*log)(void *user, tsr_log_level level, const char *text); /* NULL = standard error, by the knob TSR_LOG */
  void *log_user;
  tsr_policy policy;
  tsr_fallback fallback;
  const char *cache_dir;          /* NULL = the knob TSR_CACHE_DIR; "" = keep nothing on disk */
  const void *const *extra_backends; /* tables of core/device/backend.h, NULL-terminated, for tests and out-of-tree
                                        devices; may be NULL */
  /* Drivers are tried in a process of their own, so that one which crashes or hangs costs the path that was tried and
   * not the application. This function starts such a process and returns its exit status, minus the signal that ended
   * it, or TSR_PROBE_HUNG or TSR_PROBE_NOT_STARTED. NULL: the program `probe_program` does, of which main hands its
   * arguments to tsr_probe_main ("/proc/self/exe": the application itself); NULL too: the knob TSR_PROBE, else
   * tessera/tessera-probe beside the shared library. Where there is none drivers are tried in this process. */
  int (*probe)(void *user, const tsr_probe_call *call);
  void *probe_user;
  const char *probe_program;
} tsr_context_desc;

/* desc may be NULL. Drivers are loaded when devices are first listed or opened, not here. */
TSR_API TSR_MUST_USE tsr_status tsr_context_create(const tsr_context_desc *desc, tsr_context **out);
TSR_API void tsr_context_destroy(tsr_context **ctx);
/* What a program begins with that the library may start to try drivers (tsr_context_desc.probe_program):
 * `int rc = tsr_probe_main(argc, argv); if (rc >= 0) return rc;`. -1: these are other arguments. */
TSR_API int tsr_probe_main(int argc, char **argv);

/* ---- devices --------------------------------------------------------------------------------------------------- */

typedef struct tsr_matrix_info {
  int m, n, k;
  tsr_dtype a, b, c;
  const char *scope;  /* "subgroup", "workgroup", "warpgroup", "core" */
  bool enabled;
  const char *reason; /* why it was demoted by the self-test; "" if enabled */
} tsr_matrix_info;

/* A family of a driver's queues. Its place in the list is its number. */
typedef struct tsr_queue_info {
  int count, timestamp_bits; /* queues; bits of their timestamps that count, 0: they have none */
  bool compute, transfer, graphics; /* what the driver says that they do */
  const char *used_for; /* "compute": all kernels; "transfer": large copies, beside kernels; "": nothing */
} tsr_queue_info;

/* What the library tried on the device when it was first used, that failed, and so is not used. Matrix shapes have
 * their reasons in tsr_matrix_info. */
typedef struct tsr_demotion_info {
  const char *step;    /* docs/vulkan.md lists them: "words", "matrices", "clock" */
  const char *reason;  /* "crashed (signal 11)", "known bad: ..." */
  const char *instead; /* what is done */
} tsr_demotion_info;

typedef struct tsr_device_info {
  const char *id;      /* "cpu:0", "vulkan:1" */
  const char *backend; /* "cpu", "vulkan", "cuda", "hip" */
  const char *name, *driver, *arch;
  bool software;
  int n_matrix;
  const tsr_matrix_info *matrix;
  int n_cores, subgroup, max_threads, vector_bytes;
  int64_t shared_bytes, max_buffer_bytes, memory_bytes, max_range_bytes;
  bool stream_priorities; /* tsr_stream_create's is taken, else ignored */
  /* Arithmetic keeps subnormal operands and results of these types (bf16 is computed in f32); else it may take them for
   * 0. */
  bool subnormals_f16, subnormals_f32, subnormals_f64;
  const char *fallbacks; /* what takes the place of what the driver lacks (docs/vulkan.md); "" = nothing does */
  /* "driver": an extension reports n_cores; "host": the processors of a device that runs on them; "measured": by time,
   * once; "listed": a table of architectures; "unknown": n_cores is 0, and treated as such. Measured ones come with
   * tsr_device_get_info of an open device. */
  const char *cores_from;
  /* Of backends whose drivers have them (Vulkan); else 0. An imported device has none listed. */
  int n_queues, n_demotions;
  const tsr_queue_info *queues;
  const tsr_demotion_info *demotions;
} tsr_device_info;

/* One row per backend. Where it has no device here, "why" is the reason in one line. */
typedef struct tsr_backend_info {
  const char *name;
  bool available;
  const char *why; /* "" when available */
  bool built;      /* false: this build was configured without the backend */
} tsr_backend_info;

/* Lists every device of every backend; loads drivers on the first call. Strings belong to the context. */
TSR_API TSR_MUST_USE tsr_status tsr_devices(tsr_context *ctx, const tsr_device_info **out, int *n);
TSR_API TSR_MUST_USE tsr_status tsr_backends(tsr_context *ctx, const tsr_backend_info **out, int *n);

/* id: "cpu:0", "vulkan" (= ":0"), "" or NULL (the knob TSR_BACKEND, else cpu:0), a list "cuda,hip,vulkan,cpu" (the
 * first that is there). An architecture instead of a number ("cuda:sm_90a", "hip:gfx942", "null:spirv") opens a device
 * that compiles and dumps but has no memory and runs nothing. TSR_UNAVAILABLE says why. */
TSR_API TSR_MUST_USE tsr_status tsr_device_open(tsr_context *ctx, const char *id, tsr_device **out);
/* An application's own device: `import` is a tsr_vulkan_import, tsr_cuda_import or tsr_hip_import (tessera/vulkan.h,
 * ...). Borrowed. */
TSR_API TSR_MUST_USE tsr_status tsr_device_import(tsr_context *ctx, const char *backend, const void *import,
                                                  tsr_device **out);
TSR_API void tsr_device_close(tsr_device **dev);
TSR_API const tsr_device_info *tsr_device_get_info(const tsr_device *dev);

/* ---- buffers --------------------------------------------------------------------------------------------------- */

typedef enum tsr_memory { TSR_MEMORY_DEVICE, TSR_MEMORY_HOST } tsr_memory;

/* Memory of `bytes` bytes, aligned to at least 256; contents undefined. TSR_MEMORY_HOST can be mapped. bytes may be 0.
 */
TSR_API TSR_MUST_USE tsr_status tsr_buffer_create(tsr_device *dev, size_t bytes, tsr_memory kind, tsr_buffer **out);
/* The caller's memory, not copied and not owned: a host pointer on the CPU (aligned to the element), a native handle
 * elsewhere (see tessera/vulkan.h, tessera/cuda.h). Must outlive the buffer. */
TSR_API TSR_MUST_USE tsr_status tsr_buffer_import(tsr_device *dev, const void *handle, size_t bytes, tsr_buffer **out);
TSR_API void tsr_buffer_destroy(tsr_buffer **buf);
/* Bytes of all buffers that tsr_buffer_create has made on the device, with those that programs and tensors of meshes
 * have for themselves: now, and the most that there were at once. Either may be NULL. */
TSR_API void tsr_device_memory(const tsr_device *dev, int64_t *now, int64_t *most);
TSR_API size_t tsr_buffer_bytes(const tsr_buffer *buf);
/* Host address, or NULL where the memory is not visible to the host. Contents are current after the stream was
 * synchronised. */
TSR_API void *tsr_buffer_map(tsr_buffer *buf);
/* Blocking copies between host memory and a buffer. */
TSR_API TSR_MUST_USE tsr_status tsr_buffer_write(tsr_buffer *buf, size_t offset, const void *src, size_t bytes);
TSR_API TSR_MUST_USE tsr_status tsr_buffer_read(tsr_buffer *buf, size_t offset, void *dst, size_t bytes);

/* ---- streams and events ---------------------------------------------------------------------------------------- */

/* Work on one stream runs in order; streams run beside each other. Launch errors surface at tsr_stream_sync. A NULL
 * stream in calls that also take a program, an event or a recording means the device's own, which is created with it;
 * tsr_buffer_write and tsr_buffer_read use that one and wait for it, not for other streams. */
/* priority: of two streams with work ready, that with the larger number goes first; 0 is the usual. CUDA and HIP take
 * it, in the range that the driver has. The CPU runs one launch at a time and a Vulkan device has one queue: there it
 * is ignored (tsr_device_info.stream_priorities is false, and the log says so at level info). */
TSR_API TSR_MUST_USE tsr_status tsr_stream_create(tsr_device *dev, int priority, tsr_stream **out);
TSR_API void tsr_stream_destroy(tsr_stream **s);
/* timeout_ns < 0 waits for ever; TSR_TIMEOUT otherwise. */
TSR_API TSR_MUST_USE tsr_status tsr_stream_sync(tsr_stream *s, int64_t timeout_ns);
/* On CUDA and HIP the event may be another device's of the same backend and context. */
TSR_API TSR_MUST_USE tsr_status tsr_stream_wait(tsr_stream *s, tsr_event *e);
/* The application's own semaphore, e.g. a tsr_vulkan_semaphore: later work of the stream waits for it, or it is
 * signalled once all work so far is done. TSR_UNSUPPORTED where a backend has none. */
TSR_API TSR_MUST_USE tsr_status tsr_stream_wait_external(tsr_stream *s, const void *handle);
TSR_API TSR_MUST_USE tsr_status tsr_stream_signal_external(tsr_stream *s, const void *handle);
/* At least one buffer is of the stream's device; on CUDA and HIP the other may be of another device of the same backend
 * and context, and the copy goes from device to device. Elsewhere such a copy is TSR_INVALID_ARGUMENT: go through the
 * host. */
TSR_API TSR_MUST_USE tsr_status tsr_stream_copy(tsr_stream *s, tsr_buffer *dst, size_t dst_offset, tsr_buffer *src,
                                                size_t src_offset, size_t bytes);
/* offset and bytes must be multiples of 4. */
TSR_API TSR_MUST_USE tsr_status tsr_stream_fill(tsr_stream *s, tsr_buffer *dst, size_t offset, size_t bytes,
                                                uint32_t pattern);
TSR_API TSR_MUST_USE tsr_status tsr_event_create(tsr_device *dev, tsr_event **out);
TSR_API void tsr_event_destroy(tsr_event **e);
TSR_API TSR_MUST_USE tsr_status tsr_event_record(tsr_event *e, tsr_stream *s);
TSR_API TSR_MUST_USE tsr_status tsr_event_sync(tsr_event *e);
/* Nanoseconds between two recorded events of one device. */
TSR_API TSR_MUST_USE tsr_status tsr_event_elapsed(tsr_event *from, tsr_event *to, double *ns);

#ifdef __cplusplus
}
#endif
#endif
