/* tessera/vulkan.h - an application's own Vulkan objects. Handles are given as pointers and 64-bit numbers, so that
 * this header needs no Vulkan header: VkInstance, VkPhysicalDevice, VkDevice and VkQueue as void *, VkBuffer and
 * VkSemaphore as uint64_t.
 *
 * Ownership: everything stays the application's and must outlive what was opened from it. On an imported device the
 * library creates buffers with their memory, shader modules, pipelines with a layout and a cache, command pools, query
 * pools and timeline semaphores of its own, and nothing else: no instance, device or queue. It never waits for the
 * device or queue to be idle, and has threads only while pipelines are made. */
#ifndef TESSERA_VULKAN_H
#define TESSERA_VULKAN_H
#include "tessera/tessera.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A device of the application. It must have been created for Vulkan 1.3 with bufferDeviceAddress, timelineSemaphore,
 * vulkanMemoryModel, synchronization2, shaderInt64 and maintenance4 enabled; all else is used only if `features` or
 * `extensions` say so, and a program that can't do without is TSR_UNSUPPORTED (f16, say, without shaderFloat16 and
 * storageBuffer16BitAccess). Features are read from the VkPhysicalDeviceVulkan1*Features structs. */
typedef struct tsr_vulkan_import {
  void *instance, *physical_device, *device, *queue;
  uint32_t queue_family;
  /* Called around each use of the queue; NULL if the application never uses the queue at the same time. */
  void (*lock)(void *user);
  void (*unlock)(void *user);
  void *user;
  const void *features; /* the VkPhysicalDeviceFeatures2 chain given to vkCreateDevice; NULL = only the above */
  const char *const *extensions;  /* device extensions that were enabled */
  uint32_t n_extensions;
  void *get_instance_proc_addr;   /* PFN_vkGetInstanceProcAddr; NULL = the system's loader */
} tsr_vulkan_import;

/* A buffer of the application, created with storage-buffer, transfer and shader-device-address usage on memory that
 * allows device addresses. Lifetime and synchronisation with other queues are the application's. */
typedef struct tsr_vulkan_buffer {
  uint64_t buffer; /* VkBuffer */
  uint64_t offset; /* where the tensor starts; a multiple of 16 */
  void *host;      /* mapped address of `offset`, coherent; NULL if not mapped */
} tsr_vulkan_buffer;

/* A point on a timeline semaphore of the application. */
typedef struct tsr_vulkan_semaphore {
  uint64_t semaphore; /* VkSemaphore of type timeline */
  uint64_t value;
} tsr_vulkan_semaphore;

/* ---- shared by file descriptor --------------------------------------------------------------------------------- */

/* Memory of the library that other devices, instances and processes can map, by VK_KHR_external_memory_fd: the same
 * bytes, nothing copied. Only a driver of the same kind on the same device can take it (deviceUUID and driverUUID).
 * TSR_UNSUPPORTED names the extension that is missing. Who writes when is up to the users: tsr_stream_signal_fd and
 * tsr_stream_wait_fd, or tsr_stream_sync and any signal between processes. */
TSR_API TSR_MUST_USE tsr_status tsr_buffer_create_shared(tsr_device *dev, size_t bytes, tsr_buffer **out);
/* A new descriptor for the memory of such a buffer; the caller closes it, or hands it on. */
TSR_API TSR_MUST_USE tsr_status tsr_buffer_export_fd(tsr_buffer *b, int *fd);
/* The memory behind a descriptor that tsr_buffer_export_fd gave for a buffer of `bytes` bytes. On success the
 * descriptor is the library's; else it stays the caller's. TSR_INVALID_ARGUMENT: it is none, or of another size. */
TSR_API TSR_MUST_USE tsr_status tsr_buffer_import_fd(tsr_device *dev, int fd, size_t bytes, tsr_buffer **out);
/* A descriptor (a sync file, VK_KHR_external_semaphore_fd) that is signalled once all work of the stream so far is
 * done; the caller closes it, or hands it on. *fd is -1 where that was so at once. */
TSR_API TSR_MUST_USE tsr_status tsr_stream_signal_fd(tsr_stream *s, int *fd);
/* Later work of the stream waits for such a descriptor, of any device or process; on success it is the library's. -1:
 * there is nothing to wait for. */
TSR_API TSR_MUST_USE tsr_status tsr_stream_wait_fd(tsr_stream *s, int fd);

#ifdef __cplusplus
}
#endif
#endif
