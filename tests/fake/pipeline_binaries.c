/* tests/fake/pipeline_binaries.c - see tests/fake/pipeline_binaries.h. */
#include "tests/fake/pipeline_binaries.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/vulkan/vk_newer.h"

enum { MOST = 1 << 12, PARTS = 2 };

typedef struct binary {
  uint64_t shader;
  uint32_t part;
} binary;
typedef struct captured {
  VkPipeline pipeline;
  uint64_t shader;
} captured;

static PFN_vkGetInstanceProcAddr get;
static VkInstance instance;
static captured pipelines[MOST];
static int n_pipelines, n_alive;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static __thread uint64_t shader; /* hash of the one that this thread made last */

void pipeline_binaries_begin(PFN_vkGetInstanceProcAddr g, VkInstance in) { get = g, instance = in; }

static bool is(const char *how) {
  const char *f = getenv("TSR_TEST_VK_FAULT"), *colon = f ? strchr(f, ':') : NULL;
  return colon && !strcmp(colon + 1, "binaries") && (!*how || !strncmp(f, how, strlen(how)));
}

static PFN_vkVoidFunction real_of(VkDevice d, const char *name) {
  return ((PFN_vkGetDeviceProcAddr)get(instance, "vkGetDeviceProcAddr"))(d, name);
}
#define REAL(d, name)          ((PFN_##name)real_of(d, #name))
#define REAL_OF_INSTANCE(name) ((PFN_##name)get(instance, #name))

/* ---- what is listed ---- */

static const char *const ours[] = {"VK_KHR_pipeline_binary", "VK_KHR_maintenance5"};

static bool is_ours(const char *name) { return !strcmp(name, ours[0]) || !strcmp(name, ours[1]); }

static VKAPI_ATTR VkResult VKAPI_CALL extensions(VkPhysicalDevice p, const char *layer, uint32_t *n,
                                                 VkExtensionProperties *out) {
  static VkExtensionProperties all[1024];
  uint32_t total = 1022, k = 0;
  VkResult r = REAL_OF_INSTANCE(vkEnumerateDeviceExtensionProperties)(p, layer, &total, all);
  if (r != VK_SUCCESS) return r;
  for (uint32_t i = 0; i < total; i++)
    if (!is_ours(all[i].extensionName)) all[k++] = all[i];
  for (int i = 0; i < 2; i++) {
    all[k] = (VkExtensionProperties){.specVersion = 1};
    strcpy(all[k++].extensionName, ours[i]);
  }
  if (!out) return *n = k, VK_SUCCESS;
  bool room = *n >= k;
  if (room) *n = k;
  memcpy(out, all, *n * sizeof *all);
  return room ? VK_SUCCESS : VK_INCOMPLETE;
}

/* Sets what the struct of that type has first behind its head, wherever it is in the chain. */
static void set_first(void *chain, VkStructureType type, VkBool32 to) {
  for (VkBaseOutStructure *p = chain; p; p = p->pNext)
    if (p->sType == type) *(VkBool32 *)(void *)(p + 1) = to;
}

static void set_features(void *chain, VkBool32 to) {
  set_first(chain, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_BINARY_FEATURES_KHR, to);
  set_first(chain, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_5_FEATURES_KHR, to);
}

static VKAPI_ATTR void VKAPI_CALL features(VkPhysicalDevice p, VkPhysicalDeviceFeatures2 *out) {
  REAL_OF_INSTANCE(vkGetPhysicalDeviceFeatures2)(p, out);
  set_features(out, VK_TRUE);
}

static VKAPI_ATTR void VKAPI_CALL properties(VkPhysicalDevice p, VkPhysicalDeviceProperties2 *out) {
  REAL_OF_INSTANCE(vkGetPhysicalDeviceProperties2)(p, out);
  for (VkBaseOutStructure *q = (void *)out; q; q = q->pNext)
    if (q->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_BINARY_PROPERTIES_KHR)
      ((VkPhysicalDevicePipelineBinaryPropertiesKHR *)(void *)q)->pipelineBinaryPrefersInternalCache = is("own");
}

/* lavapipe is asked for what it has. */
static VKAPI_ATTR VkResult VKAPI_CALL create_device(VkPhysicalDevice p, const VkDeviceCreateInfo *info,
                                                    const VkAllocationCallbacks *a, VkDevice *out) {
  const char *names[64];
  VkDeviceCreateInfo own = *info;
  own.enabledExtensionCount = 0;
  own.ppEnabledExtensionNames = names;
  for (uint32_t i = 0; i < info->enabledExtensionCount && i < 64; i++)
    if (!is_ours(info->ppEnabledExtensionNames[i]))
      names[own.enabledExtensionCount++] = info->ppEnabledExtensionNames[i];
  set_features((void *)(uintptr_t)info->pNext, VK_FALSE);
  return REAL_OF_INSTANCE(vkCreateDevice)(p, &own, a, out);
}

static VKAPI_ATTR void VKAPI_CALL destroy_device(VkDevice d, const VkAllocationCallbacks *a) {
  if (n_alive || n_pipelines) fprintf(stderr, "fake driver: binaries are left\n");
  REAL(d, vkDestroyDevice)(d, a);
}

/* ---- pipelines ---- */

static VKAPI_ATTR VkResult VKAPI_CALL create_shader(VkDevice d, const VkShaderModuleCreateInfo *info,
                                                    const VkAllocationCallbacks *a, VkShaderModule *out) {
  shader = 14695981039346656037ull;
  for (size_t i = 0; i < info->codeSize / 4; i++) shader = (shader ^ info->pCode[i]) * 1099511628211ull;
  return REAL(d, vkCreateShaderModule)(d, info, a, out);
}

static VKAPI_ATTR VkResult VKAPI_CALL create_pipeline(VkDevice d, VkPipelineCache c, uint32_t n,
                                                      const VkComputePipelineCreateInfo *info,
                                                      const VkAllocationCallbacks *a, VkPipeline *out) {
  VkComputePipelineCreateInfo own = *info;
  const VkPipelineBinaryInfoKHR *from = NULL;
  VkFlags64 flags = info->flags;
  own.pNext = NULL;
  for (const VkBaseInStructure *p = info->pNext; p; p = p->pNext) {
    if (p->sType == VK_STRUCTURE_TYPE_PIPELINE_BINARY_INFO_KHR) from = (const void *)p;
    if (p->sType == VK_STRUCTURE_TYPE_PIPELINE_CREATE_FLAGS_2_CREATE_INFO_KHR)
      flags = ((const VkPipelineCreateFlags2CreateInfoKHR *)(const void *)p)->flags;
  }
  const bool capture = flags & VK_PIPELINE_CREATE_2_CAPTURE_DATA_BIT_KHR;
  own.flags = (VkPipelineCreateFlags)(flags & ~VK_PIPELINE_CREATE_2_CAPTURE_DATA_BIT_KHR);
  if (n != 1 || ((from || capture) && c)) abort(); /* VUID-vkCreateComputePipelines-pNext-09617 and its like */
  if (from && from->binaryCount != PARTS) return VK_ERROR_UNKNOWN;
  for (uint32_t i = 0; from && i < PARTS; i++) {
    const binary *b = (const binary *)(uintptr_t)from->pPipelineBinaries[i];
    if (b->shader != shader || b->part != i) return VK_ERROR_UNKNOWN;
  }
  VkResult r = REAL(d, vkCreateComputePipelines)(d, c, 1, &own, a, out);
  if (r != VK_SUCCESS) return r;
  fprintf(stderr, "fake driver: %s\n", from ? "from binaries" : "compiled");
  pthread_mutex_lock(&mutex);
  if (capture && n_pipelines < MOST) pipelines[n_pipelines++] = (captured){*out, shader};
  pthread_mutex_unlock(&mutex);
  return r;
}

static VKAPI_ATTR VkResult VKAPI_CALL get_key(VkDevice d, const VkPipelineCreateInfoKHR *info,
                                              VkPipelineBinaryKeyKHR *out) {
  uint64_t key = info ? shader : is("other");
  out->keySize = sizeof key;
  memcpy(out->key, &key, sizeof key);
  return VK_SUCCESS;
}

/* ---- binaries ---- */

static VkResult make(const binary *from, VkPipelineBinaryKHR *out) {
  binary *b = malloc(sizeof *b);
  if (!b) return VK_ERROR_OUT_OF_HOST_MEMORY;
  *b = *from;
  *out = (VkPipelineBinaryKHR)(uintptr_t)b;
  pthread_mutex_lock(&mutex);
  n_alive++;
  pthread_mutex_unlock(&mutex);
  return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL create_binaries(VkDevice d, const VkPipelineBinaryCreateInfoKHR *info,
                                                      const VkAllocationCallbacks *a,
                                                      VkPipelineBinaryHandlesInfoKHR *out) {
  const VkPipelineBinaryKeysAndDataKHR *all = info->pKeysAndDataInfo;
  binary from = {0};
  if (all && is("refuse")) return VK_ERROR_INITIALIZATION_FAILED;
  if (!out->pPipelineBinaries) return out->pipelineBinaryCount = PARTS, VK_SUCCESS;
  pthread_mutex_lock(&mutex);
  for (int i = 0; !all && i < n_pipelines; i++)
    if (pipelines[i].pipeline == info->pipeline) from.shader = pipelines[i].shader;
  pthread_mutex_unlock(&mutex);
  if (!all && !from.shader) abort(); /* not made to be captured */
  for (uint32_t i = 0; i < out->pipelineBinaryCount; i++) {
    if (all && all->pPipelineBinaryData[i].dataSize != sizeof from) return VK_ERROR_UNKNOWN;
    if (all) memcpy(&from, all->pPipelineBinaryData[i].pData, sizeof from);
    else from.part = i;
    VkResult r = make(&from, &out->pPipelineBinaries[i]);
    if (r != VK_SUCCESS) return r;
  }
  return VK_SUCCESS;
}

static VKAPI_ATTR void VKAPI_CALL destroy_binary(VkDevice d, VkPipelineBinaryKHR b, const VkAllocationCallbacks *a) {
  if (!b) return;
  free((binary *)(uintptr_t)b);
  pthread_mutex_lock(&mutex);
  n_alive--;
  pthread_mutex_unlock(&mutex);
}

static VKAPI_ATTR VkResult VKAPI_CALL get_data(VkDevice d, const VkPipelineBinaryDataInfoKHR *info,
                                               VkPipelineBinaryKeyKHR *key, size_t *n, void *out) {
  const binary *b = (const binary *)(uintptr_t)info->pipelineBinary;
  if (out && *n < sizeof *b) return *n = sizeof *b, VK_ERROR_UNKNOWN;
  key->keySize = 1, key->key[0] = (uint8_t)b->part;
  if (out) memcpy(out, b, sizeof *b);
  *n = sizeof *b;
  return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL release(VkDevice d, const VkReleaseCapturedPipelineDataInfoKHR *info,
                                              const VkAllocationCallbacks *a) {
  pthread_mutex_lock(&mutex);
  for (int i = n_pipelines; i-- > 0;)
    if (pipelines[i].pipeline == info->pipeline) pipelines[i] = pipelines[--n_pipelines];
  pthread_mutex_unlock(&mutex);
  return VK_SUCCESS;
}

PFN_vkVoidFunction pipeline_binaries(const char *name) {
  static const struct {
    const char *name;
    PFN_vkVoidFunction f;
  } rows[] = {{"vkEnumerateDeviceExtensionProperties", (PFN_vkVoidFunction)extensions},
              {"vkGetPhysicalDeviceFeatures2", (PFN_vkVoidFunction)features},
              {"vkGetPhysicalDeviceProperties2", (PFN_vkVoidFunction)properties},
              {"vkCreateDevice", (PFN_vkVoidFunction)create_device},
              {"vkDestroyDevice", (PFN_vkVoidFunction)destroy_device},
              {"vkCreateShaderModule", (PFN_vkVoidFunction)create_shader},
              {"vkCreateComputePipelines", (PFN_vkVoidFunction)create_pipeline},
              {"vkGetPipelineKeyKHR", (PFN_vkVoidFunction)get_key},
              {"vkCreatePipelineBinariesKHR", (PFN_vkVoidFunction)create_binaries},
              {"vkDestroyPipelineBinaryKHR", (PFN_vkVoidFunction)destroy_binary},
              {"vkGetPipelineBinaryDataKHR", (PFN_vkVoidFunction)get_data},
              {"vkReleaseCapturedPipelineDataKHR", (PFN_vkVoidFunction)release}};
  for (size_t i = 0; is("") && i < sizeof rows / sizeof *rows; i++)
    if (!strcmp(rows[i].name, name)) return rows[i].f;
  return NULL;
}
