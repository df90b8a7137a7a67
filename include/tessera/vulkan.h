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
#include "tessera/base.h"

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

#ifdef __cplusplus
}
#endif
#endif
