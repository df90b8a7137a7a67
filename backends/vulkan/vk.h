/* backends/vulkan/vk.h - what the files of the Vulkan backend share.
 *
 * One device = one VkDevice and one queue, and where the driver has a family for transfers alone a second one, for
 * large copies. A stream = a timeline (a semaphore, or fences) with its own command pools; every submission signals the
 * next value. All streams of a device share the queues, so order inside a stream is submission order plus a barrier at
 * the head of each submission, and a wait for its own timeline where it changes the queue; order between streams is by
 * timeline waits, without semaphores (and then with one queue) by those barriers too. Buffers are known to kernels by
 * their 64-bit addresses or, without bufferDeviceAddress, by descriptors (descriptors.c). */
#ifndef BACKENDS_VULKAN_VK_H
#define BACKENDS_VULKAN_VK_H
#define VK_NO_PROTOTYPES
#include <pthread.h>
#include <stdatomic.h>
#include <volk.h>

#include "backends/vulkan/probe.h"
#include "backends/vulkan/vk_newer.h"
#include "core/base/arena.h"
#include "core/base/knob.h"
#include "core/base/str.h"
#include "core/device/backend.h"
#include "core/emit/spirv/call.h"
#include "tessera/vulkan.h"

enum { VK_MAX_DEVICES = 16, VK_STAGING_BYTES = 8 << 20, VK_PUSH_BYTES = 128 };
/* The queues of a device. Copies of fewer bytes are not worth changing the queue. */
typedef enum vk_queue { VK_COMPUTE, VK_TRANSFER, VK_QUEUES } vk_queue;
enum { VK_TRANSFER_BYTES = 1 << 18 };

/* What is asked of an instance. Each be_instance has its own table: an application's may come from another loader. */
#define VK_INSTANCE_CALLS(X)                                                                                         \
  X(vkDestroyInstance) X(vkEnumeratePhysicalDevices) X(vkGetPhysicalDeviceProperties) X(vkGetPhysicalDeviceProperties2) \
  X(vkGetPhysicalDeviceFeatures2) X(vkGetPhysicalDeviceMemoryProperties) X(vkGetPhysicalDeviceQueueFamilyProperties) \
  X(vkEnumerateDeviceExtensionProperties) X(vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR)                       \
  X(vkGetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV) X(vkCreateDevice) X(vkGetDeviceProcAddr)     \
  X(vkCreateDebugUtilsMessengerEXT) X(vkDestroyDebugUtilsMessengerEXT)     \
  X(vkGetPhysicalDeviceMemoryProperties2) X(vkGetPhysicalDeviceExternalBufferProperties)                              \
  X(vkGetPhysicalDeviceExternalSemaphoreProperties)
#define VK_DECLARE_CALL(name) PFN_##name name;
typedef struct vk_calls { VK_INSTANCE_CALLS(VK_DECLARE_CALL) } vk_calls;

struct be_instance {
  const be_env *env;
  VkInstance vk; /* VK_NULL_HANDLE: stands for an application's */
  vk_calls fn;
  VkDebugUtilsMessengerEXT messenger;
  _Atomic int n_messages; /* of the validation layers */
  VkPhysicalDevice devices[VK_MAX_DEVICES];
  int n_devices;
  uint32_t minor; /* Vulkan 1.1 to 1.3 is asked of them */
  vk_probe probe;
  bool leaked; /* a driver still compiles for one of its devices: it must not be destroyed */
};

/* What a physical device has, beyond tsr_caps. */
typedef struct vk_features {
  bool coopmat, bfloat16, float8, nv2, nv2_workgroup, nv2_reduce, nv2_convert, nv2_per_element, nv2_tensor,
      explicit_layout, robustness_off, statistics, clock, memory_fd, semaphore_fd, budget, push_descriptor,
      has_binaries, binaries; /* reported, and used: the self-test didn't fail */
  bool f64, i64, i16, i8, f16, storage8, storage16, subgroup_types, subgroup_size_control, full_subgroups,
      scalar_layout;
  bool bda, timeline, sync2, maintenance4, memory_model;
  bool query_reset; /* by the host */
} vk_features;

typedef struct vk_limits {
  uint32_t minor; /* of the Vulkan version that is used: 1 to 3 */
  uint32_t max_groups[3];
  float timestamp_period;
  uint32_t timestamp_bits; /* that count; 0: the queue has no timestamps */
  uint32_t transfer_bits;  /* the same of the queue for transfers */
  vk_id id;
  bool software, unified;
  bool sized_compute;           /* requiredSubgroupSizeStages has compute */
  uint32_t max_subgroups;       /* maxComputeWorkgroupSubgroups: of one block, where a size is required */
  uint8_t pipeline_uuid[16], device_uuid[16], driver_uuid[16];
  uint64_t max_buffer, max_allocation; /* 0: max_buffer is not reported; max_allocation is never 0 */
  uint32_t n_bindings;          /* without bda: storage buffers of a kernel */
  uint64_t max_range, range_alignment; /* of one descriptor */
} vk_limits;

/* binary.c. Device functions of an extension that volk's table has only with newer headers. */
#define VK_BINARY_CALLS(X)                                                                                    \
  X(vkCreatePipelineBinariesKHR) X(vkDestroyPipelineBinaryKHR) X(vkGetPipelineKeyKHR) X(vkGetPipelineBinaryDataKHR) \
  X(vkReleaseCapturedPipelineDataKHR)
typedef struct vk_binaries {
  VK_BINARY_CALLS(VK_DECLARE_CALL)
  enum { VK_BINARIES_OFF, VK_BINARIES_TRIED, VK_BINARIES_KEPT } mode;
  VkPipelineBinaryKeyKHR global; /* binaries of another one are of no use */
  pthread_mutex_t mutex;         /* store */
  struct blob_store *store;
} vk_binaries;

struct be_device {
  const be_env *env;
  be_instance *instance;
  VkPhysicalDevice physical;
  VkDevice vk;
  struct VolkDeviceTable fn;
  VkQueue queue[VK_QUEUES]; /* VK_TRANSFER: may not be there */
  uint32_t family[VK_QUEUES];
  bool owned; /* false: the application's */
  void (*lock)(void *user);
  void (*unlock)(void *user);
  void *lock_user;
  pthread_mutex_t mutex; /* queue, cache, faults */
  VkPhysicalDeviceMemoryProperties memory;
  vk_features features;
  vk_limits limits;
  tsr_caps caps;
  VkPipelineLayout layout;
  VkDescriptorSetLayout set_layout; /* without bda */
  struct { pthread_mutex_t mutex; struct vk_chunk *chunks; } heap; /* heap.c */
  _Atomic uint64_t n_buffers; /* made so far: stands for their addresses where there are none */
  VkPipelineCache cache; /* VK_NULL_HANDLE where binaries are kept instead */
  uint64_t cache_hash; /* of what was loaded, to skip writing it back */
  vk_binaries binaries;
  struct vk_timeline *idle; /* of destroyed streams: events and recordings may still name their semaphores */
  _Atomic bool lost;
  _Atomic int fault_oom, fault_lost; /* countdown of injected failures (TSR_VK_FAULT); < 0 = none */
  _Atomic int n_live;                /* buffers alive, for leak tests */
  _Atomic int n_compiling;           /* threads that make pipelines */
  struct { pthread_mutex_t mutex; be_module *kernel; double ns_per_tick; bool tried; } clock; /* clock.c */
};

enum { VK_MAX_PIECES = 64, VK_PIECE_ALIGN = 1 << 20 };

/* Beyond the driver's largest VkBuffer a buffer is several, bound one after the other to one allocation, with addresses
 * that go on likewise. */
struct be_buffer {
  be_device *d;
  VkBuffer vk[VK_MAX_PIECES];
  int n_pieces;
  size_t piece; /* bytes of each VkBuffer but the last */
  bool imported;
  bool shared; /* share.c: its memory has, or came by, a file descriptor */
  VkDeviceMemory memory;
  struct vk_chunk *chunk;  /* that it is a part of, from `offset` on; NULL: has memory of its own */
  VkDeviceAddress address; /* without bda no address, but no two buffers have the same */
  void *host;
  size_t bytes, offset, whole; /* offset: where an imported tensor starts in vk; whole: bytes of vk, 0: not known */
};

typedef struct vk_wait { VkSemaphore semaphore; uint64_t value; } vk_wait;
enum { VK_MAX_WAITS = 16, VK_MAX_COMMANDS = 16, VK_RING = 64, VK_FENCES = 64 };

typedef struct vk_fence { VkFence fence; uint64_t value; int n_waiting; } vk_fence; /* value 0: not submitted */

/* Lives as long as the device; a later stream goes on counting where an earlier one stopped. */
typedef struct vk_timeline {
  struct vk_timeline *next;
  VkSemaphore semaphore; /* VK_NULL_HANDLE: the fences do */
  uint64_t value;
  pthread_mutex_t mutex; /* fences and reached */
  pthread_cond_t left;   /* nobody waits for some fence any more */
  uint64_t reached;
  vk_fence fences[VK_FENCES]; /* of submission v: v % VK_FENCES */
} vk_timeline;

struct be_stream {
  be_device *d;
  VkCommandPool pool[VK_QUEUES]; /* that of transfers is made when it is needed */
  vk_timeline *timeline;
  uint64_t submitted; /* last value handed to a queue */
  vk_queue on;        /* which */
  struct {
    VkCommandBuffer cmd[VK_QUEUES];
    uint64_t value;
  } ring[VK_RING]; /* one-time command buffers, reused when their value is reached */
  int next;
  vk_wait waits[VK_MAX_WAITS + 1], signals[VK_MAX_WAITS + 1]; /* joined to the next submission */
  int n_waits, n_signals;
  struct { VkSemaphore semaphore; uint64_t value; } once[VK_MAX_WAITS]; /* share.c: waited for by that submission */
  int n_once;
  be_buffer *staging[2];
  uint64_t staging_value[2];
};

struct be_event {
  be_device *d;
  vk_timeline *timeline;
  uint64_t value; /* 0 = never recorded */
  VkQueryPool query;
};

typedef struct vk_kernel {
  be_kernel_desc desc;
  const uint32_t *words;
  size_t n_words;
  VkPipeline pipeline; /* made at first use */
  struct vk_variant *variants; /* descriptors.c */
  int twin;            /* first kernel of the module with the same words: its pipeline serves both */
} vk_kernel;

struct be_module {
  be_device *d;
  arena *a;
  vk_kernel *kernels;
  int n_kernels;
  _Atomic int refs; /* its owner, and what compiles for it */
  pthread_mutex_t mutex;
};

/* ---- status ---- */
tsr_status vk_status(be_device *d, VkResult r, const char *what);
tsr_status vk_lost_status(const be_device *d);
#define VK_TRY(d, expr) TSR_TRY(vk_status(d, expr, #expr))

/* ---- instance.c, caps.c ---- */
tsr_status vk_instance_create(const be_env *env, be_instance **out);
/* No VkInstance: for devices of the application. */
tsr_status vk_instance_import(const be_env *env, be_instance **out);
/* Without trying the drivers in another process first. */
tsr_status vk_instance_load(be_instance *in);
void vk_instance_destroy(be_instance *in);
int vk_n_devices(be_instance *in);
tsr_status vk_device_info(be_instance *in, int index, be_device_info *out);
/* Opens the system's loader once; TSR_UNAVAILABLE says why not. */
tsr_status vk_load(const be_env *env);
/* Fills the tables of an instance and of a device. get: the application's loader, or NULL for the system's (vk_load
 * first). */
void vk_load_calls(VkInstance vk, PFN_vkGetInstanceProcAddr get, vk_calls *out);
void vk_load_device(const vk_calls *calls, VkDevice vk, struct VolkDeviceTable *out);
/* Everything about a device. `chain`: enabled features of an imported device, or NULL to take what the device has. */
/* May a kernel of that many threads ask for a subgroup size (VkPipelineShaderStageCreateInfo, VUID pNext-02755 and
 * 02756)? */
bool vk_may_require(const vk_features *f, const vk_limits *l, const tsr_caps *c, int subgroup, int threads);
tsr_status vk_query(be_instance *in, VkPhysicalDevice p, const tsr_vulkan_import *import, vk_features *f, vk_limits *l,
                    be_device_info *info);

/* ---- queues.c ---- */
enum { VK_MAX_FAMILIES = 32 };
/* A family with compute; one without graphics if there is (it doesn't share the desktop's queue). bits: of its
 * timestamps. */
bool vk_find_compute(const be_instance *in, VkPhysicalDevice p, uint32_t *out, uint32_t *bits);
/* A family that does nothing but transfers: its queue copies while the other one computes. Timelines order the two. */
bool vk_find_transfers(const be_instance *in, VkPhysicalDevice p, const vk_features *f, uint32_t *out, uint32_t *bits);
/* queues and demotions of the info, once its steps were tried. */
void vk_describe(be_instance *in, VkPhysicalDevice p, const vk_features *f, const vk_limits *l, be_device_info *info);

/* ---- device.c ---- */
tsr_status vk_device_open(be_instance *in, int index, const be_import *import, be_device **out, tsr_caps *caps);
void vk_device_close(be_device *d);
void vk_queue_lock(be_device *d);
void vk_queue_unlock(be_device *d);
/* True when the injected failure is due. */
bool vk_fault(_Atomic int *countdown);

/* ---- cache.c ---- */
void vk_cache_load(be_device *d);
void vk_cache_save(be_device *d);
/* The named file of the cache folder, checksummed; NULL when absent or damaged. Free with al_free(env->al, p, *n, 16).
 */
void *vk_cache_read(const be_env *env, const char *name, size_t *n);
void vk_cache_write(const be_env *env, const char *name, const void *p, size_t n);
/* The folder's store; NULL without a folder. */
struct blob_store *vk_store_open(const be_env *env);

/* ---- binary.c ---- */
/* Pipelines are kept as binaries from now on, if the driver can do it and a self-test of it did not fail; else nothing
 * changes. */
void vk_binaries_begin(be_device *d);
void vk_binaries_end(be_device *d);
/* The self-test: a kernel that was compiled, taken as binaries and made from them computes. */
tsr_status vk_binaries_try(be_device *d);
/* A pipeline from its binaries, or compiled, whose binaries are then kept. Threads: any number at once. */
VkResult vk_binaries_pipeline(be_device *d, const VkComputePipelineCreateInfo *info, VkPipeline *out);

/* ---- buffer.c ---- */
tsr_status vk_buffer_create(be_device *d, size_t bytes, be_memory kind, be_buffer **out);
tsr_status vk_buffer_import(be_device *d, const void *desc, size_t bytes, be_buffer **out);
void vk_buffer_destroy(be_buffer *b);
void *vk_buffer_map(be_buffer *b);
/* fd: memory to import, -1: memory that can be exported */
tsr_status vk_buffer_create_shared(be_device *d, size_t bytes, int fd, be_buffer **out);
/* The VkBuffer with byte `at` of the range, and where in it that is; returns how many of the range's bytes follow there
 * without a break. */
size_t vk_buffer_part(const be_range *r, size_t at, VkBuffer *vk, VkDeviceSize *offset);

/* ---- heap.c: devices that bind few buffers have many in one ---- */
/* A part of a VkBuffer; false in *taken where the buffer is to be its own. */
tsr_status vk_heap_take(be_device *d, be_buffer *b, size_t size, be_memory kind, bool *taken);
void vk_heap_give(be_buffer *b);
/* A VkBuffer with memory of its own. */
tsr_status vk_buffer_allocate(be_device *d, be_buffer *b, size_t size, be_memory kind);

/* ---- descriptors.c: how kernels get their buffers without addresses ---- */
typedef struct vk_sets { VkDescriptorPool pool; uint32_t n; } vk_sets; /* of a recording */
typedef struct vk_variant vk_variant;
tsr_status vk_set_layout_create(be_device *d, VkDescriptorSetLayout *out);
/* Makes room for the sets of n launches; earlier ones are gone. */
tsr_status vk_sets_reset(be_device *d, vk_sets *s, int n);
/* Where each argument of a launch is bound: a set, or with push descriptors what is put into the command buffer. */
typedef struct vk_bound {
  VkPipeline pipeline;
  VkDescriptorSet set;
  uint32_t n_pushed;
  uint8_t binding[EMIT_SPIRV_MAX_BINDINGS]; /* of pushed[i] */
  VkDescriptorBufferInfo pushed[EMIT_SPIRV_MAX_BINDINGS];
  uint32_t start[EMIT_SPIRV_MAX_BINDINGS]; /* first byte of each argument, from what is bound on: modulo 2^32 */
} vk_bound;
/* slab: for these blocks of it; NULL: for all. */
tsr_status vk_bind_buffers(be_device *d, vk_sets *s, const be_launch *l, const be_slab *slab, const be_range *bindings,
                           vk_bound *out);
void vk_record_bound(be_device *d, VkCommandBuffer cmd, const vk_bound *b);
void vk_variants_destroy(be_device *d, vk_kernel *k);

/* ---- timeline.c ---- */
tsr_status vk_timeline_take(be_device *d, vk_timeline **out);
void vk_timeline_keep(be_device *d, vk_timeline *t, uint64_t value); /* gives it back */
void vk_timelines_destroy(be_device *d);                             /* when the device closes */
/* Waits for a submission; timeout_ns < 0: for as long as it takes. */
tsr_status vk_timeline_wait(be_device *d, vk_timeline *t, uint64_t value, int64_t timeout_ns);
/* Before something is destroyed: waits for its last use, also on a lost device, of which earlier work may still run
 * (but not for ever). t may be NULL. */
void vk_drain(be_device *d, vk_timeline *t, uint64_t value);
/* The fence that the submission is to signal, VK_NULL_HANDLE where it signals a semaphore; and that it was
 * submitted. */
tsr_status vk_timeline_fence(be_device *d, vk_timeline *t, uint64_t value, VkFence *out);
void vk_timeline_submitted(vk_timeline *t, uint64_t value);

/* ---- submit.c ---- */
void vk_memory_barrier(be_device *d, VkCommandBuffer cmd, VkPipelineStageFlags2 from, VkPipelineStageFlags2 to);
void vk_timestamp(be_device *d, VkCommandBuffer cmd, VkQueryPool queries, uint32_t i);
/* At most VK_MAX_COMMANDS; ends nothing, see vk_end. */
tsr_status vk_stream_submit_to(be_stream *s, vk_queue queue, const VkCommandBuffer *cmds, int n);
static inline tsr_status vk_stream_submit(be_stream *s, const VkCommandBuffer *cmds, int n) {
  return vk_stream_submit_to(s, VK_COMPUTE, cmds, n);
}

/* ---- stream.c, transfer.c ---- */
tsr_status vk_stream_create(be_device *d, int priority, be_stream **out);
void vk_stream_destroy(be_stream *s);
tsr_status vk_stream_sync(be_stream *s, int64_t timeout_ns);
tsr_status vk_stream_reach(be_stream *s, uint64_t value, int64_t timeout_ns);
/* A command buffer open for recording, headed by the barrier that orders it after earlier submissions. */
tsr_status vk_stream_begin_for(be_stream *s, vk_queue queue, VkCommandBuffer *out);
tsr_status vk_end_for(be_stream *s, vk_queue queue, VkCommandBuffer cmd);
static inline tsr_status vk_stream_begin(be_stream *s, VkCommandBuffer *out) {
  return vk_stream_begin_for(s, VK_COMPUTE, out);
}
static inline tsr_status vk_end(be_stream *s, VkCommandBuffer cmd) { return vk_end_for(s, VK_COMPUTE, cmd); }
tsr_status vk_event_create(be_device *d, be_event **out);
void vk_event_destroy(be_event *e);
tsr_status vk_event_record(be_stream *s, be_event *e);
tsr_status vk_stream_wait(be_stream *s, be_event *e);
tsr_status vk_event_sync(be_event *e);
tsr_status vk_event_elapsed(be_event *from, be_event *to, double *ns);
tsr_status vk_write(be_stream *s, be_range dst, const void *src);
tsr_status vk_read(be_stream *s, be_range src, void *dst);
tsr_status vk_copy(be_stream *s, be_range dst, be_range src);
const char *vk_copies_wait(const be_device *d, size_t bytes);
tsr_status vk_fill(be_stream *s, be_range dst, uint32_t pattern);
/* Joined to the stream's next submission (signals: after all that was submitted before). */
tsr_status vk_external_wait(be_stream *s, const void *desc);
tsr_status vk_external_signal(be_stream *s, const void *desc);

/* ---- clock.c: how software devices time launches ---- */
enum { VK_CLOCK_BITS = 32 };
/* False where timestamps are all there is. The first call of a device compiles and calibrates (20 ms). */
tsr_status vk_clock_ready(be_stream *s, bool *ready);
/* Writes the device's clock to an address, 64 bits; a dispatch: barriers on both sides are the caller's. */
void vk_clock_record(be_device *d, VkCommandBuffer cmd, VkDeviceAddress to);
/* Ticks from one timestamp to another, less than half of what their bits count apart: they wrap around. */
static inline int64_t vk_ticks(uint64_t from, uint64_t to, uint32_t bits) {
  uint64_t count = bits < 64 ? (uint64_t)1 << bits : 0, d = (to - from) & (count - 1);
  return d < (uint64_t)1 << (bits - 1) ? (int64_t)d : -(int64_t)(count - d);
}

/* ---- module.c, program.c ---- */
/* binding: the descriptor of each argument, NULL: the argument's own number. */
VkResult vk_make_pipeline(be_device *d, const vk_kernel *k, const uint8_t *binding, VkPipeline *out);
tsr_status vk_module_create(be_device *d, const be_module_desc *desc, be_module **out);
void vk_module_destroy(be_module *m);
/* selftest.c: the kernel that tries a matrix shape on C[m,n] = A[m,k] * B[k,n]; tensor: by tensor addressing */
typedef struct vk_selftest_problem { tsr_dtype a, b, c; int m, n, k; } vk_selftest_problem;
/* Element i of either operand of the self-test. */
int vk_selftest_value(size_t i);
void vk_selftest_kernel(strb *s, const vk_selftest_problem *p, const tsr_matrix_shape *x, int subgroup, bool tensor);
/* stats.c */
tsr_status vk_kernel_stats(be_module *m, int kernel, be_kernel_stats *out);
bool vk_stats_add(be_kernel_stats *s, const char *name, double value); /* false: a figure of no use to us */
/* Makes the pipelines of the given kernels that don't exist yet, several at once. */
typedef struct vk_need { be_module *m; int kernel; } vk_need;
tsr_status vk_pipelines(be_device *d, const vk_need *needs, int n);
/* Waits for the threads that make them; false: a driver still compiles, and nothing of the device may be destroyed. */
bool vk_compiled(be_device *d);
tsr_status vk_program_create(be_device *d, const be_program_desc *desc, be_program **out);
void vk_program_destroy(be_program *p);
tsr_status vk_program_run(be_stream *s, be_program *p, const be_range *bindings, double *times_ns);
tsr_status vk_program_warm(be_stream *s, be_program *p, int launch, const be_range *bindings);

void vk_selftest_plain(strb *s, const vk_selftest_problem *p, int subgroup);
/* C = A xor FLIPPED with its words exchanged, m elements of i64 by as many threads. */
enum { VK_SELFTEST_FLIPPED = 12345 };
void vk_selftest_exchange(strb *s, const vk_selftest_problem *p);

/* ---- selftest.c: fills d->caps.matrix[].enabled and .reason ---- */
tsr_status vk_selftest(be_device *d);
/* The same from earlier results alone; false if there are none for some shape. */
bool vk_selftest_kept(vk_probe *p, const vk_id *id, tsr_caps *c);
/* A product in f32 without matrices: does the device compute at all? */
tsr_status vk_selftest_basic(be_device *d);
/* A kernel that puts 64-bit integers together of two words, of which llvmpipe dies at 512 bits. */
tsr_status vk_selftest_words(be_device *d);

/* ---- cores.c: d->caps.n_cores where nothing reported it ---- */
tsr_status vk_cores(be_device *d);
/* From reports or earlier measurements; false: it is to be measured. */
bool vk_cores_kept(vk_probe *p, const vk_id *id, tsr_caps *c);

/* ---- share.c ---- */
extern const be_sharing vk_sharing;
void vk_once_destroy(be_stream *s); /* nothing waits for them any more */
/* What the buffer, and its memory, are to be made with so as to be shared; fd as in vk_buffer_create_shared. */
typedef struct vk_share_chain {
  VkExternalMemoryBufferCreateInfo buffer;
  VkExportMemoryAllocateInfo export;
  VkImportMemoryFdInfoKHR import;
  VkMemoryDedicatedAllocateInfo dedicated;
  bool alone; /* the driver wants an allocation that is the buffer's own */
} vk_share_chain;
tsr_status vk_share_prepare(be_device *d, int fd, vk_share_chain *out);

/* ---- probe_main.c: the process in which steps are tried ---- */
void vk_probe_main(const be_env *env, char **args);
#endif
