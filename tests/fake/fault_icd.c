/* tests/fake/fault_icd.c - a Vulkan driver in front of lavapipe that crashes, hangs or is slow where TSR_TEST_VK_FAULT
 * says, "HOW:WHERE": HOW is crash, hang or slow; WHERE is instance, properties, matrices (the query of their shapes),
 * device, coopmat (a shader that has them), pairs (one that has addresses without 64-bit integers), large (a pipeline
 * of more than 15000 words), pipeline (any). "queue:": it has a second queue, see tests/fake/second_queue.h;
 * "...:binaries": see tests/fake/pipeline_binaries.h. All else goes to lavapipe itself. */
#include <dlfcn.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan.h>

#include "backends/vulkan/vk_newer.h"
#include "tests/fake/pipeline_binaries.h"
#include "tests/fake/second_queue.h"

#define EXPORT __attribute__((visibility("default")))

static PFN_vkGetInstanceProcAddr real_get;
static PFN_vkGetDeviceProcAddr real_device_get;
static VkInstance instance; /* one at a time is enough here */
static __thread bool large, coopmat, pairs; /* of the shader that this thread made last */

static void fault(const char *where) {
  const char *f = getenv("TSR_TEST_VK_FAULT"), *colon = f ? strchr(f, ':') : NULL;
  if (!colon || strcmp(colon + 1, where)) return;
  if (!strncmp(f, "crash", 5)) raise(SIGSEGV);
  if (!strncmp(f, "hang", 4)) sleep(1000);
  if (!strncmp(f, "slow", 4)) sleep(2);
}

static void *library(void) {
  static void *lib;
  if (!lib) lib = dlopen("libvulkan_lvp.so", RTLD_NOW | RTLD_LOCAL);
  return lib;
}

#define REAL(name) ((PFN_##name)real_get(instance, #name))

static VKAPI_ATTR VkResult VKAPI_CALL create_instance(const VkInstanceCreateInfo *info, const VkAllocationCallbacks *a,
                                                      VkInstance *out) {
  fault("instance");
  VkResult r = ((PFN_vkCreateInstance)real_get(NULL, "vkCreateInstance"))(info, a, out);
  if (r == VK_SUCCESS) {
    instance = *out;
    second_queue_begin(real_get, instance);
    pipeline_binaries_begin(real_get, instance);
  }
  return r;
}

static VKAPI_ATTR void VKAPI_CALL properties2(VkPhysicalDevice p, VkPhysicalDeviceProperties2 *out) {
  if (out->pNext) fault("properties");
  REAL(vkGetPhysicalDeviceProperties2)(p, out);
}

static VKAPI_ATTR VkResult VKAPI_CALL matrices(VkPhysicalDevice p, uint32_t *n, VkCooperativeMatrixPropertiesKHR *out) {
  fault("matrices");
  return REAL(vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR)(p, n, out);
}

static VKAPI_ATTR VkResult VKAPI_CALL create_device(VkPhysicalDevice p, const VkDeviceCreateInfo *info,
                                                    const VkAllocationCallbacks *a, VkDevice *out) {
  fault("device");
  return REAL(vkCreateDevice)(p, info, a, out);
}

static VKAPI_ATTR VkResult VKAPI_CALL shader(VkDevice d, const VkShaderModuleCreateInfo *info,
                                             const VkAllocationCallbacks *a, VkShaderModule *out) {
  const uint32_t *w = info->pCode;
  large = info->codeSize > 4 * 15000;
  bool addresses = false, wide = false;
  coopmat = false;
  for (size_t i = 5; i + 1 < info->codeSize / 4 && (w[i] & 0xffff) == 17 /* OpCapability */; i += w[i] >> 16)
    coopmat |= w[i + 1] == 6022, addresses |= w[i + 1] == 5347, wide |= w[i + 1] == 11 /* Int64 */;
  pairs = addresses && !wide;
  return ((PFN_vkCreateShaderModule)real_device_get(d, "vkCreateShaderModule"))(d, info, a, out);
}

static VKAPI_ATTR VkResult VKAPI_CALL pipelines(VkDevice d, VkPipelineCache c, uint32_t n,
                                                const VkComputePipelineCreateInfo *info,
                                                const VkAllocationCallbacks *a, VkPipeline *out) {
  if (coopmat) fault("coopmat");
  if (pairs) fault("pairs");
  if (large) fault("large");
  fault("pipeline");
  return ((PFN_vkCreateComputePipelines)real_device_get(d, "vkCreateComputePipelines"))(d, c, n, info, a, out);
}

/* Functions of the files beside this one. */
static PFN_vkVoidFunction of_others(const char *name) {
  const char *f = getenv("TSR_TEST_VK_FAULT");
  return f && !strcmp(f, "queue:") ? second_queue(name) : pipeline_binaries(name);
}

static PFN_vkVoidFunction of_device(const char *name) {
  if (of_others(name)) return of_others(name);
  if (!strcmp(name, "vkCreateShaderModule")) return (PFN_vkVoidFunction)shader;
  if (!strcmp(name, "vkCreateComputePipelines")) return (PFN_vkVoidFunction)pipelines;
  return NULL;
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL device_get(VkDevice d, const char *name) {
  return of_device(name) ? of_device(name) : real_device_get(d, name);
}

EXPORT VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL vk_icdGetInstanceProcAddr(VkInstance in, const char *name) {
  if (!real_get && library()) real_get = (PFN_vkGetInstanceProcAddr)dlsym(library(), "vk_icdGetInstanceProcAddr");
  if (!real_get) return NULL;
  if (!real_device_get && in) real_device_get = (PFN_vkGetDeviceProcAddr)real_get(in, "vkGetDeviceProcAddr");
  if (of_others(name)) return of_others(name);
  if (!strcmp(name, "vkCreateInstance")) return (PFN_vkVoidFunction)create_instance;
  if (!strcmp(name, "vkGetPhysicalDeviceProperties2")) return (PFN_vkVoidFunction)properties2;
  if (!strcmp(name, "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR")) return (PFN_vkVoidFunction)matrices;
  if (!strcmp(name, "vkCreateDevice")) return (PFN_vkVoidFunction)create_device;
  if (!strcmp(name, "vkGetDeviceProcAddr")) return (PFN_vkVoidFunction)device_get;
  return of_device(name) ? of_device(name) : real_get(in, name);
}

EXPORT VKAPI_ATTR VkResult VKAPI_CALL vk_icdNegotiateLoaderICDInterfaceVersion(uint32_t *version) {
  PFN_vkVoidFunction real = library() ? (PFN_vkVoidFunction)dlsym(library(), "vk_icdNegotiateLoaderICDInterfaceVersion")
                                      : NULL;
  if (!real) return VK_ERROR_INCOMPATIBLE_DRIVER;
  return ((VkResult (*)(uint32_t *))real)(version);
}

EXPORT VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL vk_icdGetPhysicalDeviceProcAddr(VkInstance in, const char *name) {
  if (of_others(name) || !strcmp(name, "vkGetPhysicalDeviceProperties2") || !strcmp(name, "vkCreateDevice") ||
      !strcmp(name, "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR"))
    return vk_icdGetInstanceProcAddr(in, name);
  static PFN_vkGetInstanceProcAddr real;
  if (!real && library()) real = (PFN_vkGetInstanceProcAddr)dlsym(library(), "vk_icdGetPhysicalDeviceProcAddr");
  return real ? real(in, name) : NULL;
}
