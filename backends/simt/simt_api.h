/* backends/simt/simt_api.h - the driver calls that CUDA and HIP have in common, as one table of entry points loaded at
 * run time. Both interfaces take the same arguments for these calls (device addresses are 64 bits in both, handles are
 * pointers), so one prototype serves; what differs is behind the hooks of simt_dialect. No vendor header is used.
 * Sources: CUDA driver API reference, HIP run-time API reference, NVRTC and hipRTC documentation. */
#ifndef BACKENDS_SIMT_SIMT_API_H
#define BACKENDS_SIMT_SIMT_API_H
#include "core/device/backend.h"

/* X(field, CUDA symbol, HIP symbol, required, arguments) */
#define SIMT_CALLS(X)                                                                                                  \
  X(init, "cuInit", "hipInit", 1, (unsigned flags))                                                                    \
  X(driver_version, "cuDriverGetVersion", "hipDriverGetVersion", 1, (int *version))                                    \
  X(device_count, "cuDeviceGetCount", "hipGetDeviceCount", 1, (int *n))                                                \
  X(device_get, "cuDeviceGet", "hipDeviceGet", 1, (int *device, int index))                                            \
  X(device_name, "cuDeviceGetName", "hipDeviceGetName", 1, (char *name, int n, int device))                            \
  X(device_memory, "cuDeviceTotalMem_v2", "hipDeviceTotalMem", 1, (size_t *bytes, int device))                         \
  X(device_attribute, "cuDeviceGetAttribute", "hipDeviceGetAttribute", 1, (int *value, int attribute, int device))     \
  X(device_uuid, "cuDeviceGetUuid_v2", "hipDeviceGetUuid", 0, (void *uuid16, int device))                              \
  X(context_retain, "cuDevicePrimaryCtxRetain", "hipDevicePrimaryCtxRetain", 1, (void **context, int device))          \
  X(context_release, "cuDevicePrimaryCtxRelease_v2", "hipDevicePrimaryCtxRelease", 1, (int device))                    \
  X(context_reset, "cuDevicePrimaryCtxReset_v2", "hipDevicePrimaryCtxReset", 0, (int device))                          \
  X(context_current, "cuCtxSetCurrent", "hipCtxSetCurrent", 1, (void *context))                                        \
  X(peer_can, "cuDeviceCanAccessPeer", "hipDeviceCanAccessPeer", 0, (int *can, int device, int peer))                  \
  X(memory_alloc, "cuMemAlloc_v2", "hipMalloc", 1, (uint64_t *p, size_t bytes))                                        \
  X(memory_free, "cuMemFree_v2", "hipFree", 1, (uint64_t p))                                                           \
  X(host_alloc, "cuMemHostAlloc", "hipHostMalloc", 1, (void **p, size_t bytes, unsigned flags))                        \
  X(host_free, "cuMemFreeHost", "hipHostFree", 1, (void *p))                                                           \
  X(to_device, "cuMemcpyHtoDAsync_v2", "hipMemcpyHtoDAsync", 1, (uint64_t to, const void *from, size_t bytes, void *stream)) \
  X(to_host, "cuMemcpyDtoHAsync_v2", "hipMemcpyDtoHAsync", 1, (void *to, uint64_t from, size_t bytes, void *stream))   \
  X(copy, "cuMemcpyDtoDAsync_v2", "hipMemcpyDtoDAsync", 1, (uint64_t to, uint64_t from, size_t bytes, void *stream))   \
  X(set32, "cuMemsetD32Async", "hipMemsetD32Async", 1, (uint64_t p, int value, size_t n, void *stream))                \
  X(stream_create, "cuStreamCreateWithPriority", "hipStreamCreateWithPriority", 1, (void **stream, unsigned flags, int priority)) \
  X(stream_destroy, "cuStreamDestroy_v2", "hipStreamDestroy", 1, (void *stream))                                       \
  X(stream_sync, "cuStreamSynchronize", "hipStreamSynchronize", 1, (void *stream))                                     \
  X(stream_query, "cuStreamQuery", "hipStreamQuery", 1, (void *stream))                                                \
  X(stream_wait, "cuStreamWaitEvent", "hipStreamWaitEvent", 1, (void *stream, void *event, unsigned flags))            \
  X(event_create, "cuEventCreate", "hipEventCreateWithFlags", 1, (void **event, unsigned flags))                       \
  X(event_destroy, "cuEventDestroy_v2", "hipEventDestroy", 1, (void *event))                                           \
  X(event_record, "cuEventRecord", "hipEventRecord", 1, (void *event, void *stream))                                   \
  X(event_sync, "cuEventSynchronize", "hipEventSynchronize", 1, (void *event))                                         \
  X(event_elapsed, "cuEventElapsedTime", "hipEventElapsedTime", 1, (float *ms, void *from, void *to))                  \
  X(module_load, "cuModuleLoadData", "hipModuleLoadData", 1, (void **module, const void *image))                       \
  X(module_unload, "cuModuleUnload", "hipModuleUnload", 1, (void *module))                                             \
  X(module_function, "cuModuleGetFunction", "hipModuleGetFunction", 1, (void **function, void *module, const char *name)) \
  X(function_get, "cuFuncGetAttribute", "hipFuncGetAttribute", 0, (int *value, int attribute, void *function))         \
  X(launch, "cuLaunchKernel", "hipModuleLaunchKernel", 1,                                                              \
    (void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,    \
     void *stream,                                                                                                     \
     void **params, void **extra))                                                                                     \
  X(occupancy, "cuOccupancyMaxActiveBlocksPerMultiprocessor", "hipModuleOccupancyMaxActiveBlocksPerMultiprocessor", 0, \
    (int *blocks, void *function, int threads, size_t shared))                                                         \
  X(capture_begin, "cuStreamBeginCapture_v2", "hipStreamBeginCapture", 0, (void *stream, int mode))                    \
  X(capture_end, "cuStreamEndCapture", "hipStreamEndCapture", 0, (void *stream, void **graph))                         \
  X(graph_instantiate, "cuGraphInstantiateWithFlags", "hipGraphInstantiateWithFlags", 0, (void **exec, void *graph, unsigned long long flags)) \
  X(graph_launch, "cuGraphLaunch", "hipGraphLaunch", 0, (void *exec, void *stream))                                    \
  X(graph_destroy, "cuGraphDestroy", "hipGraphDestroy", 0, (void *graph))                                              \
  X(exec_destroy, "cuGraphExecDestroy", "hipGraphExecDestroy", 0, (void *exec))

typedef struct simt_api {
  void *lib;
#define SIMT_FIELD(field, cuda, hip, required, args) int(*field) args;
  SIMT_CALLS(SIMT_FIELD)
#undef SIMT_FIELD
} simt_api;

/* NVRTC and hipRTC. Y(field, CUDA symbol, HIP symbol, arguments) */
#define SIMT_RTC_CALLS(Y)                                                                                       \
  Y(version, "nvrtcVersion", "hiprtcVersion", (int *major, int *minor))                                         \
  Y(create, "nvrtcCreateProgram", "hiprtcCreateProgram",                                                        \
    (void **program, const char *source, const char *name, int n, const char *const *headers,                   \
     const char *const *names))                                                                                 \
  Y(compile, "nvrtcCompileProgram", "hiprtcCompileProgram", (void *program, int n, const char *const *options)) \
  Y(code_size, "nvrtcGetCUBINSize", "hiprtcGetCodeSize", (void *program, size_t *bytes))                        \
  Y(code, "nvrtcGetCUBIN", "hiprtcGetCode", (void *program, char *code))                                        \
  Y(log_size, "nvrtcGetProgramLogSize", "hiprtcGetProgramLogSize", (void *program, size_t *bytes))              \
  Y(log, "nvrtcGetProgramLog", "hiprtcGetProgramLog", (void *program, char *log))                               \
  Y(destroy, "nvrtcDestroyProgram", "hiprtcDestroyProgram", (void **program))

typedef struct simt_rtc {
  void *lib;
  char path[256]; /* as loaded */
#define SIMT_RTC_FIELD(field, cuda, hip, args) int(*field) args;
  SIMT_RTC_CALLS(SIMT_RTC_FIELD)
#undef SIMT_RTC_FIELD
} simt_rtc;

enum { SIMT_OK = 0, SIMT_OUT_OF_MEMORY = 2, SIMT_NOT_READY = 600 }; /* the same numbers in both */
enum { SIMT_STREAM_NON_BLOCKING = 1, SIMT_EVENT_TIMING = 0, SIMT_CAPTURE_RELAXED = 2 };

/* What differs between the two. */
typedef struct simt_dialect {
  const char *name, *label; /* "cuda", "CUDA" */
  tsr_dialect dialect;
  const char *vendor;
  int column;               /* of the names in SIMT_CALLS and SIMT_RTC_CALLS */
  const char *lib_knob, *rtc_knob;
  const char *const *libs;  /* file names to try, ended by NULL */
  const char *const *rtcs;
  const char *tool;         /* the toolkit's compiler on the PATH, beside which the run-time compiler lies: */
  const char *const *tool_libs; /* patterns from its folder's parent, ended by NULL */
  const char *toolkit_libs; /* where toolkits usually lie: a pattern */
  const char *no_rtc, *rtc_hint; /* what is said where there is none */
  unsigned host_flags;      /* of page-locked memory that the device sees too */
  bool dynamic_shared;      /* a launch says how much shared memory its kernel has; else the kernel does */
  bool stats_in_object;     /* registers and spills stand in the object, not in the compiler's log */
  int min_driver;           /* oldest driver version number */
  int lost_codes[16];       /* sticky errors, ended by 0 */
  void (*driver_text)(int version, char *out, size_t n);
  /* A vendor's error code as text. */
  const char *(*error_name)(void *lib, int code);
  /* Fills a device's capabilities and architecture name; a status if the architecture is not one that code can be made
   * for. */
  tsr_status (*device_caps)(const simt_api *api, int device, tsr_caps *out);
  /* Options for compiling for `arch`: fills `options` (cap entries), returns how many. buf is 256 bytes for the text.
   */
  int (*options)(const char *arch, char *buf, const char **options);
  /* A launch with a cluster; NULL if the API has none. */
  int (*launch_cluster)(void *lib, void *function, const be_kernel_desc *k, void *stream, void **params);
  /* 128 bytes of TMA descriptor; NULL if there is none. */
  tsr_status (*tensor_map)(void *lib, const be_tensor_map *m, uint64_t address, void *out);
  int (*set_shared_limit)(void *lib, void *function, int bytes);
  int (*graph_update)(void *lib, void *exec, void *graph); /* not 0: instantiate again */
  int (*peer_enable)(void *lib, void *context, int device); /* the current context's device reaches that one's memory */
  /* The application's own handles (tsr_cuda_import, tsr_hip_import): device index, context, stream. */
  tsr_status (*import)(const void *desc, int *device, void **context, void **stream);
  uint64_t (*import_pointer)(const void *desc);
} simt_dialect;

#endif
