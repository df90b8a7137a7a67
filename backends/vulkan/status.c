/* backends/vulkan/status.c - VkResult to status, made once. */
#include "backends/vulkan/vk.h"

tsr_status vk_lost_status(const be_device *d) {
  return st_make(d->env->al, TSR_DEVICE_LOST,
                 ST_WHERE("vulkan", NULL,
                          "close the device and open it again; a smaller TSR_SUBMIT_MS helps against driver watchdogs"),
                 "the device was lost");
}

static const char *name_of(VkResult r) {
  switch (r) {
  case VK_ERROR_OUT_OF_HOST_MEMORY: return "out of host memory";
  case VK_ERROR_OUT_OF_DEVICE_MEMORY: return "out of device memory";
  case VK_ERROR_INITIALIZATION_FAILED: return "initialisation failed";
  case VK_ERROR_TOO_MANY_OBJECTS: return "too many objects";
  case VK_ERROR_FEATURE_NOT_PRESENT: return "feature not present";
  case VK_ERROR_EXTENSION_NOT_PRESENT: return "extension not present";
  case VK_ERROR_MEMORY_MAP_FAILED: return "mapping memory failed";
  case VK_ERROR_UNKNOWN: return "unknown error";
  default: return "Vulkan error";
  }
}

tsr_status vk_status(be_device *d, VkResult r, const char *what) {
  int len = 0;
  if (r >= VK_SUCCESS) return NULL;
  while (what[len] && what[len] != '(') len++; /* the call without its arguments */
  if (r == VK_ERROR_DEVICE_LOST) {
    atomic_store(&d->lost, true);
    return vk_lost_status(d);
  }
  bool oom = r == VK_ERROR_OUT_OF_DEVICE_MEMORY || r == VK_ERROR_OUT_OF_HOST_MEMORY || r == VK_ERROR_TOO_MANY_OBJECTS;
  return st_make(d->env->al, oom ? TSR_OUT_OF_MEMORY : TSR_LAUNCH_FAILED,
                 ST_WHERE("vulkan", NULL, oom ? "use smaller tensors or free others" : NULL), "%.*s: %s (%d)", len,
                 what, name_of(r), (int)r);
}
