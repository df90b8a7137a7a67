/* core/device/backend.h - the one header a backend implements. A backend is one const table of functions; the registry
 * (core/runtime/registry.c) is the only file that names backends.
 *
 * The checked front (core/runtime) has validated every argument: handles are live, ranges lie inside buffers, kernels
 * belong to the device. A backend validates only what it alone can know. Every function that can fail returns a status;
 * out parameters are NULL after failure; destroy functions accept NULL. Threads: instance and device calls may come
 * from any thread, one at a time per object except where said; different devices and streams may be used from different
 * threads at once. */
#ifndef CORE_DEVICE_BACKEND_H
#define CORE_DEVICE_BACKEND_H
#include "core/base/block_product.h"
#include "core/base/status.h"
#include "core/device/caps.h"
#include "tessera/probe.h"

#define BE_ABI 7

typedef struct be_instance be_instance; /* backend-defined: a loaded driver */
typedef struct be_device be_device;
typedef struct be_buffer be_buffer;
typedef struct be_stream be_stream;
typedef struct be_event be_event;
typedef struct be_module be_module;
typedef struct be_program be_program;

/* What the runtime hands a backend when it starts. Borrowed; outlives the instance. */
typedef struct be_env {
  const tsr_allocator *al;
  void (*log)(void *user, int level, const char *text); /* level 0 error, 1 warning, 2 info, 3 debug; never NULL */
  void *log_user;
  const char *cache_dir; /* for pipeline caches and the like; NULL = keep nothing on disk */
  /* Runs the backend's probe_main with argv[2] and on in a process of its own; returns as tsr_context_desc.probe does.
   * NULL: there is no way to. */
  int (*probe)(void *user, const tsr_probe_call *call);
  void *probe_user;
} be_env;

enum { BE_MOST_QUEUES = 16, BE_MOST_DEMOTIONS = 8 };

/* A family of queues, as the driver lists it. */
typedef struct be_queue_family {
  int count, timestamp_bits;
  bool compute, transfer, graphics;
  const char *used_for; /* "compute", "transfer", or "" */
} be_queue_family;

/* What the device is not used for, since trying it failed (or a list says that it does). */
typedef struct be_demotion {
  const char *step, *instead;
  char reason[128];
} be_demotion;

typedef struct be_device_info {
  char name[128];   /* as the driver says it */
  char driver[128]; /* driver name and version */
  char vendor[32];
  char id[64];      /* stable identity: UUID or PCI address; "" if none */
  bool software;    /* runs on the CPU (lavapipe) */
  char fallbacks[512]; /* what takes the place of what the driver lacks; "" = nothing does */
  be_queue_family queues[BE_MOST_QUEUES];
  be_demotion demotions[BE_MOST_DEMOTIONS];
  int n_queues, n_demotions;
  tsr_caps caps;
} be_device_info;

/* Handles of an application's own device; which fields apply is the backend's matter (see tessera/interop.h). */
typedef struct be_import {
  const void *desc;  /* tsr_vulkan_import or tsr_cuda_import or tsr_hip_import */
} be_import;

typedef enum be_memory { BE_DEVICE_LOCAL, BE_HOST_VISIBLE } be_memory;

/* A compiled unit as core/emit makes it. */
typedef enum be_format { BE_CPU_CODE, BE_SPIRV, BE_TEXT, BE_BINARY } be_format;

typedef enum be_arg_kind { BE_ARG_BUFFER, BE_ARG_TENSOR_MAP } be_arg_kind;

/* How TMA descriptors are made from a buffer argument (cuTensorMapEncodeTiled). */
typedef struct be_tensor_map {
  int arg; /* buffer argument it describes */
  tsr_dtype dtype;
  int rank;
  int64_t dims[5], strides[5]; /* innermost first; strides in bytes, [0] unused since elements are next to each other */
  int box[5];
  int swizzle; /* bytes */
} be_tensor_map;

/* Blocks of a grid that are launched together, since a descriptor takes no more of a buffer than they reach. */
typedef struct be_slab {
  int64_t first[3], n[3];
  const int64_t *from, *to; /* bytes of each argument that these blocks reach */
} be_slab;

typedef struct be_kernel_desc {
  const char *name;
  int64_t grid[3];
  int block[3];
  int cluster[3];       /* 1,1,1 = none */
  int subgroup;         /* required subgroup size; 0 = any */
  int64_t shared_bytes; /* dynamic shared memory, or for information */
  int64_t scratch_bytes; /* CPU: per thread */
  int n_args;           /* buffers, bound in order */
  int n_outputs;        /* the last ones are written */
  const be_tensor_map *maps; /* passed as parameters after the buffers, in order */
  int n_maps;
  double flops, bytes;  /* modelled work; 0 = unknown */
  const be_slab *slabs; /* SPIR-V: all blocks of the grid, where an argument exceeds tsr_caps::max_range_bytes */
  int n_slabs;          /* 0: in one launch */
} be_kernel_desc;

typedef struct be_module_desc {
  be_format format;
  const void
      *code; /* CPU code image, SPIR-V words of all kernels as separate modules (see offsets), source text, or binary */
  size_t code_bytes;
  const size_t *offsets; /* BE_SPIRV: start of each kernel's module in bytes, n_kernels + 1 entries; else NULL */
  const be_kernel_desc *kernels;
  int n_kernels;
  const char *arch;
} be_module_desc;

/* What the compiler of a target told about a kernel; -1 = unknown. */
typedef struct be_kernel_stats {
  int registers, spill_bytes, shared_bytes, scratch_bytes;
  bool serialized; /* wgmma serialised */
  double occupancy; /* 0..1; < 0 unknown */
} be_kernel_stats;

typedef struct be_range { be_buffer *buffer; size_t offset, bytes; } be_range;

typedef struct be_launch {
  be_module *module;
  int kernel;
  const int *bindings;     /* n_args indices into the program's binding table */
  const int *waits;     /* earlier launches of the program that must be complete */
  int n_waits;
} be_launch;

/* A recorded sequence, replayed with a binding table that may differ from run to run. */
typedef struct be_program_desc {
  const be_launch *launches;
  int n_launches;
  int n_bindings;
  const bool *binding_constant; /* the memory bound to the binding never changes between runs; NULL = none */
} be_program_desc;

/* How long the blocks of one launch took, each on its own; what the launch brought from memory. */
typedef struct be_block_times {
  double mean_ns, min_ns, max_ns;
  int64_t n;           /* blocks; 0 = not known */
  double memory_bytes; /* by a counter of the device */
  bool memory_known;
} be_block_times;

/* A contraction, for backends that know their own best block tile. */
typedef struct be_matmul {
  int64_t batch, m, n, k;
  tsr_dtype a, b, acc;
  bool transpose_a, transpose_b, constant_b;
} be_matmul;

/* Memory and signals by file descriptor, with other devices and processes; see tessera/vulkan.h. Descriptors given out
 * are the caller's; those taken are the backend's on success. */
typedef struct be_sharing {
  tsr_status (*buffer_create)(be_device *d, size_t bytes, be_buffer **out);
  tsr_status (*buffer_export)(be_buffer *b, int *fd);
  tsr_status (*buffer_import)(be_device *d, int fd, size_t bytes, be_buffer **out);
  tsr_status (*signal_fd)(be_stream *s, int *fd);
  tsr_status (*wait_fd)(be_stream *s, int fd);
} be_sharing;

typedef struct be_vtable {
  uint32_t abi;         /* BE_ABI */
  const char *name;     /* "cpu", "vulkan", "cuda", "hip", "null" */
  tsr_dialect dialect;

  /* Loads the driver. TSR_UNAVAILABLE with the reason when there is none. */
  tsr_status (*instance_create)(const be_env *env, be_instance **out);
  /* An instance for imported devices alone: creates nothing in the driver. NULL where instance_create does no harm. */
  tsr_status (*instance_import)(const be_env *env, be_instance **out);
  void (*instance_destroy)(be_instance *in);
  int (*n_devices)(be_instance *in);
  tsr_status (*device_info)(be_instance *in, int index, be_device_info *out);
  /* index -1 with an import opens the application's device. `caps` receives the opened device's (self-tested)
   * capabilities. */
  tsr_status (*device_open)(be_instance *in, int index, const be_import *import, be_device **out, tsr_caps *caps);
  void (*device_close)(be_device *d);
  /* Capabilities of a device by architecture name without hardware ("sm_90a"); TSR_NOT_FOUND if unknown. May be NULL.
   */
  tsr_status (*arch_caps)(const char *arch, tsr_caps *out);

  tsr_status (*buffer_create)(be_device *d, size_t bytes, be_memory kind, be_buffer **out);
  /* Host pointer (CPU) or backend handle of the application; nothing is copied or owned. */
  tsr_status (*buffer_import)(be_device *d, const void *desc, size_t bytes, be_buffer **out);
  void (*buffer_destroy)(be_buffer *b);
  /* A host address of the buffer, or NULL where it is not host-visible. Stable for the buffer's life. */
  void *(*buffer_map)(be_buffer *b);

  tsr_status (*stream_create)(be_device *d, int priority, be_stream **out);
  void (*stream_destroy)(be_stream *s);
  tsr_status (*stream_sync)(be_stream *s, int64_t timeout_ns); /* < 0 = for ever; launch errors surface here */
  tsr_status (*event_create)(be_device *d, be_event **out);
  void (*event_destroy)(be_event *e);
  tsr_status (*event_record)(be_stream *s, be_event *e);
  tsr_status (*stream_wait)(be_stream *s, be_event *e);
  tsr_status (*event_sync)(be_event *e);
  /* An application's own semaphore (see tessera/vulkan.h): work submitted later waits for it; it is signalled after all
   * work so far. NULL: not available. */
  tsr_status (*external_wait)(be_stream *s, const void *desc);
  tsr_status (*external_signal)(be_stream *s, const void *desc);
  tsr_status (*event_elapsed)(be_event *from, be_event *to, double *ns); /* both complete */

  /* Asynchronous on the stream; host memory must stay valid until the stream is synced. */
  tsr_status (*write)(be_stream *s, be_range dst, const void *src);
  tsr_status (*read)(be_stream *s, be_range src, void *dst);
  tsr_status (*copy)(be_stream *s, be_range dst, be_range src);
  tsr_status (*fill)(be_stream *s, be_range dst, uint32_t pattern); /* offset and bytes are multiples of 4 */

  tsr_status (*module_create)(be_device *d, const be_module_desc *desc, be_module **out);
  void (*module_destroy)(be_module *m);
  tsr_status (*kernel_stats)(be_module *m, int kernel, be_kernel_stats *out); /* may be NULL */

  tsr_status (*program_create)(be_device *d, const be_program_desc *desc, be_program **out);
  void (*program_destroy)(be_program *p);
  /* Runs all launches with bindings[i] bound to binding i. With `times_ns` (n_launches entries) each launch is timed on
   * the device and the call returns when they are known; else it is asynchronous. */
  tsr_status (*program_run)(be_stream *s, be_program *p, const be_range *bindings, double *times_ns);

  /* Runs fn(arg, item, worker) for all items on the device's own threads and waits: the CPU kernels of custom ops.
   * NULL: the caller's thread does it. */
  void (*parallel)(be_device *d, void (*fn)(void *arg, int64_t item, int worker), void *arg, int64_t n_items);

  /* From now on runs with `times_ns` fill out[launch] too, until it is called with NULL. `out` outlives that. NULL:
   * blocks can't be timed. */
  void (*time_blocks)(be_program *p, be_block_times *out);

  /* The backend's own default block tile [m, n, k] for a contraction; depends on the device and the shape only. NULL or
   * false: the table of defaults decides. */
  bool (*suggest_tile)(be_device *d, const be_matmul *desc, int64_t tile[3]);

  /* Source text to binary without a device (NVRTC, hipRTC); *log and *code are al's memory. NULL where it makes no
   * sense. */
  tsr_status (*compile)(const be_env *env, const char *arch, const char *source, void **code, size_t *bytes,
                        char **log);

  /* Launches one block of a launch and waits, so that the driver has compiled it. NULL: programs are compiled when they
   * are made. */
  tsr_status (*warm)(be_stream *s, be_program *p, int launch, const be_range *bindings);
  const be_sharing *sharing; /* NULL: nothing is shared so */

  /* `copy` takes a buffer of another device of this backend, and `stream_wait` its events. */
  bool between_devices;
  /* stream_create takes priorities: of two streams with work ready, that with the larger number goes first. Elsewhere
   * they are ignored. */
  bool stream_priorities;

  /* Kernels for products with matrices in block formats, which run on their caller's thread, one of `parallel` too.
   * NULL: it has none. */
  const block_kernels *(*block_kernels)(be_device *d);

  /* What the process of be_env.probe does, called in it: tries the driver and writes what it finds to standard output.
   * `args` is ended by NULL. May be NULL. */
  void (*probe_main)(const be_env *env, char **args);

  /* Why a copy of so many bytes that another stream is given can't run beside a stream's kernels, in words; "": it
   * can. NULL: nobody knows but the clock. */
  const char *(*copies_wait)(const be_device *d, size_t bytes);
} be_vtable;

#endif
