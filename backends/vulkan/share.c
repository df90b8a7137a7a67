/* backends/vulkan/share.c - memory and signals that other devices, instances and processes reach by file descriptor:
 * VK_KHR_external_memory_fd (opaque descriptors), VK_KHR_external_semaphore_fd (sync files). What a descriptor is
 * can't be asked of it, so what can be told without the driver is checked here first. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backends/vulkan/vk.h"

static const VkExternalMemoryHandleTypeFlagBits memory_kind = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;
static const VkExternalSemaphoreHandleTypeFlagBits signal_kind = VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_SYNC_FD_BIT;

static tsr_status lacks(const be_device *d, const char *what) {
  return st_make(d->env->al, TSR_UNSUPPORTED, ST_WHERE("vulkan", "share", NULL), "the device has no %s", what);
}

static tsr_status bad(const be_device *d, const char *fn, const char *why) {
  return st_make(d->env->al, TSR_INVALID_ARGUMENT, ST_WHERE("vulkan", fn, NULL), "%s", why);
}

/* ---- memory ---- */

tsr_status vk_share_prepare(be_device *d, int fd, vk_share_chain *out) {
  const VkExternalMemoryFeatureFlags need =
      fd >= 0 ? VK_EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT : VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT;
  VkPhysicalDeviceExternalBufferInfo info = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_BUFFER_INFO,
      .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
               VK_BUFFER_USAGE_TRANSFER_DST_BIT | (d->features.bda ? VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT : 0),
      .handleType = memory_kind};
  VkExternalBufferProperties have = {.sType = VK_STRUCTURE_TYPE_EXTERNAL_BUFFER_PROPERTIES};
  if (!d->features.memory_fd || !d->fn.vkGetMemoryFdKHR || !d->instance->fn.vkGetPhysicalDeviceExternalBufferProperties)
    return lacks(d, "VK_KHR_external_memory_fd");
  d->instance->fn.vkGetPhysicalDeviceExternalBufferProperties(d->physical, &info, &have);
  VkExternalMemoryFeatureFlags f = have.externalMemoryProperties.externalMemoryFeatures;
  if (!(f & need)) return lacks(d, fd >= 0 ? "buffers that can be imported" : "buffers that can be exported");
  *out = (vk_share_chain){
      .buffer = {.sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO, .handleTypes = memory_kind},
      .export = {.sType = VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO, .handleTypes = memory_kind},
      .import = {.sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR, .handleType = memory_kind, .fd = fd},
      .dedicated = {.sType = VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO},
      .alone = f & VK_EXTERNAL_MEMORY_FEATURE_DEDICATED_ONLY_BIT};
  return NULL;
}

static tsr_status create_shared(be_device *d, size_t bytes, be_buffer **out) {
  return vk_buffer_create_shared(d, bytes, -1, out);
}

static tsr_status export_memory(be_buffer *b, int *fd) {
  be_device *d = b->d;
  VkMemoryGetFdInfoKHR info = {
      .sType = VK_STRUCTURE_TYPE_MEMORY_GET_FD_INFO_KHR, .memory = b->memory, .handleType = memory_kind};
  *fd = -1;
  if (!b->shared) return bad(d, "export", "the buffer was not made by tsr_buffer_create_shared");
  return vk_status(d, d->fn.vkGetMemoryFdKHR(d->vk, &info, fd), "vkGetMemoryFdKHR");
}

/* Of descriptors that tell their size, as files and memory files do. */
static tsr_status check_descriptor(const be_device *d, int fd, size_t bytes) {
  struct stat s;
  if (fd < 0 || fcntl(fd, F_GETFD) < 0) return bad(d, "import", "not an open file descriptor");
  if (fstat(fd, &s)) return NULL;
  if (S_ISDIR(s.st_mode) || S_ISFIFO(s.st_mode) || S_ISSOCK(s.st_mode))
    return bad(d, "import", "the file descriptor is of a folder, a pipe or a socket, not of memory");
  if (S_ISREG(s.st_mode) && (size_t)s.st_size < bytes)
    return st_make(d->env->al, TSR_INVALID_ARGUMENT, ST_WHERE("vulkan", "import", NULL),
                   "the file descriptor has %lld bytes of memory, not %zu", (long long)s.st_size, bytes);
  return NULL;
}

static tsr_status import_memory(be_device *d, int fd, size_t bytes, be_buffer **out) {
  *out = NULL;
  TSR_TRY(check_descriptor(d, fd, bytes));
  /* the driver closes what it takes; the caller's stays open when it doesn't */
  int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
  if (own < 0) return bad(d, "import", strerror(errno));
  tsr_status st = vk_buffer_create_shared(d, bytes, own, out);
  if (st) {
    if (fcntl(own, F_GETFD) >= 0) close(own);
    if (tsr_status_code(st) != TSR_INTERNAL && tsr_status_code(st) != TSR_LAUNCH_FAILED) return st;
    tsr_status_free(st);
    return bad(d, "import", "the driver refused the file descriptor");
  }
  close(fd);
  return NULL;
}

/* ---- signals ---- */

static tsr_status check_signals(const be_device *d, VkExternalSemaphoreFeatureFlags need) {
  VkPhysicalDeviceExternalSemaphoreInfo info = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_SEMAPHORE_INFO, .handleType = signal_kind};
  VkExternalSemaphoreProperties have = {.sType = VK_STRUCTURE_TYPE_EXTERNAL_SEMAPHORE_PROPERTIES};
  if (!d->features.semaphore_fd || !d->fn.vkGetSemaphoreFdKHR ||
      !d->instance->fn.vkGetPhysicalDeviceExternalSemaphoreProperties)
    return lacks(d, "VK_KHR_external_semaphore_fd");
  d->instance->fn.vkGetPhysicalDeviceExternalSemaphoreProperties(d->physical, &info, &have);
  return have.externalSemaphoreFeatures & need ? NULL : lacks(d, "semaphores that are sync files");
}

void vk_once_destroy(be_stream *s) {
  for (int i = 0; i < s->n_once; i++) s->d->fn.vkDestroySemaphore(s->d->vk, s->once[i].semaphore, NULL);
  s->n_once = 0;
}

/* A semaphore of the stream that one submission uses; those of submissions that are over go first. */
static tsr_status new_semaphore(be_stream *s, const void *next, VkSemaphore *out) {
  be_device *d = s->d;
  VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = next};
  if (s->n_once == VK_MAX_WAITS) {
    TSR_TRY(vk_stream_sync(s, -1));
    vk_once_destroy(s);
  }
  VK_TRY(d, d->fn.vkCreateSemaphore(d->vk, &info, NULL, out));
  s->once[s->n_once].semaphore = *out;
  s->once[s->n_once++].value = s->submitted + 1;
  return NULL;
}

static tsr_status signal_fd(be_stream *s, int *fd) {
  be_device *d = s->d;
  VkExportSemaphoreCreateInfo export = {.sType = VK_STRUCTURE_TYPE_EXPORT_SEMAPHORE_CREATE_INFO,
                                        .handleTypes = signal_kind};
  VkSemaphore semaphore;
  *fd = -1;
  TSR_TRY(check_signals(d, VK_EXTERNAL_SEMAPHORE_FEATURE_EXPORTABLE_BIT));
  TSR_TRY(new_semaphore(s, &export, &semaphore));
  s->signals[s->n_signals++] = (vk_wait){semaphore, 0};
  TSR_TRY(vk_stream_submit(s, NULL, 0));
  VkSemaphoreGetFdInfoKHR info = {
      .sType = VK_STRUCTURE_TYPE_SEMAPHORE_GET_FD_INFO_KHR, .semaphore = semaphore, .handleType = signal_kind};
  return vk_status(d, d->fn.vkGetSemaphoreFdKHR(d->vk, &info, fd), "vkGetSemaphoreFdKHR");
}

static tsr_status wait_fd(be_stream *s, int fd) {
  be_device *d = s->d;
  VkSemaphore semaphore;
  if (fd == -1) return NULL;
  TSR_TRY(check_signals(d, VK_EXTERNAL_SEMAPHORE_FEATURE_IMPORTABLE_BIT));
  if (fd < 0 || fcntl(fd, F_GETFD) < 0) return bad(d, "wait", "not an open file descriptor");
  struct stat st;
  if (!fstat(fd, &st) && (st.st_mode & S_IFMT)) return bad(d, "wait", "the file descriptor is no sync file");
  TSR_TRY(new_semaphore(s, NULL, &semaphore));
  VkImportSemaphoreFdInfoKHR info = {.sType = VK_STRUCTURE_TYPE_IMPORT_SEMAPHORE_FD_INFO_KHR,
                                     .semaphore = semaphore,
                                     .flags = VK_SEMAPHORE_IMPORT_TEMPORARY_BIT,
                                     .handleType = signal_kind,
                                     .fd = fd};
  if (d->fn.vkImportSemaphoreFdKHR(d->vk, &info) != VK_SUCCESS)
    return bad(d, "wait", "the driver refused the file descriptor");
  if (s->n_waits == VK_MAX_WAITS) TSR_TRY(vk_stream_submit(s, NULL, 0));
  s->waits[s->n_waits++] = (vk_wait){semaphore, 0};
  return NULL;
}

const be_sharing vk_sharing = {create_shared, export_memory, import_memory, signal_fd, wait_fd};
