/* backends/vulkan/device.c - opening a device of our own or the application's, and closing it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/vulkan/reported.h"
#include "backends/vulkan/vk.h"

void vk_queue_lock(be_device *d) {
  pthread_mutex_lock(&d->mutex);
  if (d->lock) d->lock(d->lock_user);
}

void vk_queue_unlock(be_device *d) {
  if (d->unlock) d->unlock(d->lock_user);
  pthread_mutex_unlock(&d->mutex);
}

bool vk_fault(_Atomic int *countdown) {
  int v = atomic_load(countdown);
  return v >= 0 && atomic_fetch_sub(countdown, 1) == 0;
}

/* TSR_VK_FAULT="oom:3" or "lost:5" or both. */
static void read_faults(be_device *d) {
  const char *v = knob_str("TSR_VK_FAULT"), *oom = strstr(v, "oom:"), *lost = strstr(v, "lost:");
  atomic_init(&d->fault_oom, oom ? (int)strtol(oom + 4, NULL, 10) : -1);
  atomic_init(&d->fault_lost, lost ? (int)strtol(lost + 5, NULL, 10) : -1);
}

/* What a device is asked for: features in a chain, and extensions. It points into itself. */
typedef struct asked {
  vk_all_features on;
  void *chain;
  const char *ext[20];
  uint32_t n;
} asked;

/* Those of Vulkan 1.1 to 1.3, and what stands for them where the version is older. */
static void ask_versions(asked *a, const vk_features *f, uint32_t minor) {
  a->on.base =
      (VkPhysicalDeviceFeatures2){.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
                                  .features = {.shaderFloat64 = f->f64, .shaderInt64 = f->i64, .shaderInt16 = f->i16}};
  a->on.v11 = (VkPhysicalDeviceVulkan11Features){.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES,
                                              .pNext = &a->on.base,
                                              .storageBuffer16BitAccess = f->storage16};
  a->on.v12 = (VkPhysicalDeviceVulkan12Features){.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
                                              .pNext = &a->on.v11,
                                              .storageBuffer8BitAccess = f->storage8,
                                              .shaderInt8 = f->i8,
                                              .shaderFloat16 = f->f16,
                                              .shaderSubgroupExtendedTypes = f->subgroup_types,
                                              .bufferDeviceAddress = f->bda,
                                              .timelineSemaphore = f->timeline,
                                              .hostQueryReset = f->query_reset,
                                              .vulkanMemoryModel = f->memory_model,
                                              .scalarBlockLayout = f->scalar_layout};
  a->on.v13 = (VkPhysicalDeviceVulkan13Features){.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES,
                                              .pNext = &a->on.v12,
                                              .synchronization2 = f->sync2,
                                              .maintenance4 = f->maintenance4,
                                              .subgroupSizeControl = f->subgroup_size_control,
                                              .computeFullSubgroups = f->full_subgroups};
  a->on.half = (VkPhysicalDevice16BitStorageFeatures){.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES,
                                                   .pNext = &a->on.base,
                                                   .storageBuffer16BitAccess = f->storage16};
  a->on.byte = (VkPhysicalDevice8BitStorageFeatures){.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES,
                                                  .storageBuffer8BitAccess = f->storage8};
  a->on.narrow = (VkPhysicalDeviceShaderFloat16Int8Features){
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES,
      .shaderFloat16 = f->f16,
      .shaderInt8 = f->i8};
  a->chain = minor >= 3 ? (void *)&a->on.v13 : minor == 2 ? (void *)&a->on.v12 : (void *)&a->on.half;
}

/* Those of extensions, all on; only what is used is put into the chain. */
static void ask_extensions(asked *a, const vk_features *f) {
  a->on.matrix = (VkPhysicalDeviceCooperativeMatrixFeaturesKHR){
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR, .cooperativeMatrix = VK_TRUE};
  a->on.bf16 = (VkPhysicalDeviceShaderBfloat16FeaturesKHR){
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_BFLOAT16_FEATURES_KHR,
      .shaderBFloat16Type = VK_TRUE,
      .shaderBFloat16CooperativeMatrix = VK_TRUE};
  a->on.f8 =
      (VkPhysicalDeviceShaderFloat8FeaturesEXT){.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT8_FEATURES_EXT,
                                                .shaderFloat8 = VK_TRUE,
                                                .shaderFloat8CooperativeMatrix = VK_TRUE};
  a->on.nv2 = (VkPhysicalDeviceCooperativeMatrix2FeaturesNV){
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_2_FEATURES_NV,
      .cooperativeMatrixWorkgroupScope = f->nv2_workgroup,
      .cooperativeMatrixFlexibleDimensions = f->nv2_workgroup,
      .cooperativeMatrixReductions = f->nv2_reduce,
      .cooperativeMatrixConversions = f->nv2_convert,
      .cooperativeMatrixPerElementOperations = f->nv2_per_element,
      .cooperativeMatrixTensorAddressing = f->nv2_tensor};
  a->on.layout = (VkPhysicalDeviceWorkgroupMemoryExplicitLayoutFeaturesKHR){
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_WORKGROUP_MEMORY_EXPLICIT_LAYOUT_FEATURES_KHR,
      .workgroupMemoryExplicitLayout = VK_TRUE,
      .workgroupMemoryExplicitLayout8BitAccess = VK_TRUE,
      .workgroupMemoryExplicitLayout16BitAccess = VK_TRUE};
  a->on.executable = (VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR){
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_EXECUTABLE_PROPERTIES_FEATURES_KHR,
      .pipelineExecutableInfo = VK_TRUE};
  a->on.clock = (VkPhysicalDeviceShaderClockFeaturesKHR){
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CLOCK_FEATURES_KHR, .shaderDeviceClock = VK_TRUE};
  a->on.maintenance5 = (VkPhysicalDeviceMaintenance5FeaturesKHR){
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_5_FEATURES_KHR, .maintenance5 = VK_TRUE};
  a->on.binary = (VkPhysicalDevicePipelineBinaryFeaturesKHR){
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_BINARY_FEATURES_KHR, .pipelineBinaries = VK_TRUE};
}

static void ask(asked *a, const vk_features *f, uint32_t minor) {
  ask_versions(a, f, minor);
  ask_extensions(a, f);
#define USE(cond, s, name) \
  if (cond) a->on.s.pNext = a->chain, a->chain = &a->on.s, a->ext[a->n++] = name
  USE(minor < 2 && f->storage8, byte, "VK_KHR_8bit_storage");
  USE(minor < 2 && (f->f16 || f->i8), narrow, "VK_KHR_shader_float16_int8");
  USE(f->coopmat, matrix, "VK_KHR_cooperative_matrix");
  USE(f->bfloat16, bf16, "VK_KHR_shader_bfloat16");
  USE(f->float8, f8, "VK_EXT_shader_float8");
  USE(f->nv2, nv2, "VK_NV_cooperative_matrix2");
  USE(f->explicit_layout, layout, "VK_KHR_workgroup_memory_explicit_layout");
  USE(f->statistics, executable, "VK_KHR_pipeline_executable_properties");
  USE(f->clock, clock, "VK_KHR_shader_clock");
  USE(f->binaries, maintenance5, "VK_KHR_maintenance5");
  USE(f->binaries, binary, "VK_KHR_pipeline_binary");
#undef USE
  if (f->memory_fd) a->ext[a->n++] = "VK_KHR_external_memory_fd";
  if (f->semaphore_fd) a->ext[a->n++] = "VK_KHR_external_semaphore_fd";
  if (f->push_descriptor) a->ext[a->n++] = "VK_KHR_push_descriptor";
  if (f->budget) a->ext[a->n++] = "VK_EXT_memory_budget";
}

static VkResult create_device(be_device *d, int n_queues) {
  asked a = {.n = 0};
  ask(&a, &d->features, d->limits.minor);
  float priority = 0.5f;
  VkDeviceQueueCreateInfo queues[VK_QUEUES];
  for (int i = 0; i < n_queues; i++)
    queues[i] = (VkDeviceQueueCreateInfo){.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                          .queueFamilyIndex = d->family[i],
                                          .queueCount = 1,
                                          .pQueuePriorities = &priority};
  VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                             .pNext = a.chain,
                             .queueCreateInfoCount = (uint32_t)n_queues,
                             .pQueueCreateInfos = queues,
                             .enabledExtensionCount = a.n,
                             .ppEnabledExtensionNames = a.ext};
  return d->instance->fn.vkCreateDevice(d->physical, &info, NULL, &d->vk);
}

static tsr_status open_own(be_device *d, be_instance *in, int index, be_device_info *info) {
  uint32_t bits = 0;
  d->instance = in;
  d->physical = in->devices[index];
  d->owned = true;
  TSR_TRY(vk_query(in, d->physical, NULL, &d->features, &d->limits, info));
  if (!vk_find_compute(in, d->physical, &d->family[VK_COMPUTE], &bits))
    return st_make(d->env->al, TSR_UNAVAILABLE, ST_WHERE("vulkan", NULL, NULL), "%s has no compute queue", info->name);
  d->limits.timestamp_bits = bits;
  TSR_TRY(vk_must(&in->probe, &d->limits.id, "device"));
  int n_queues = vk_find_transfers(in, d->physical, &d->features, &d->family[VK_TRANSFER], &d->limits.transfer_bits)
                     ? VK_QUEUES
                     : 1;
  VK_TRY(d, create_device(d, n_queues));
  vk_load_device(&in->fn, d->vk, &d->fn);
  for (int i = 0; i < n_queues; i++) d->fn.vkGetDeviceQueue(d->vk, d->family[i], 0, &d->queue[i]);
  return NULL;
}

static tsr_status open_imported(be_device *d, be_instance *in, const tsr_vulkan_import *im, be_device_info *info) {
  if (!im || !im->instance || !im->physical_device || !im->device || !im->queue)
    return st_make(d->env->al, TSR_INVALID_ARGUMENT, ST_WHERE("vulkan", "import", NULL),
                   "instance, physical_device, device and queue must be given");
  if (!im->get_instance_proc_addr) TSR_TRY(vk_load(d->env));
  vk_load_calls((VkInstance)im->instance, (PFN_vkGetInstanceProcAddr)im->get_instance_proc_addr, &in->fn);
  d->instance = in;
  d->physical = (VkPhysicalDevice)im->physical_device;
  d->vk = (VkDevice)im->device;
  d->queue[VK_COMPUTE] = (VkQueue)im->queue;
  d->family[VK_COMPUTE] = im->queue_family;
  d->lock = im->lock;
  d->unlock = im->unlock;
  d->lock_user = im->user;
  TSR_TRY(vk_query(in, d->physical, im, &d->features, &d->limits, info));
  VkQueueFamilyProperties q[VK_MAX_FAMILIES];
  uint32_t n = VK_MAX_FAMILIES;
  in->fn.vkGetPhysicalDeviceQueueFamilyProperties(d->physical, &n, q);
  const uint32_t family = d->family[VK_COMPUTE];
  if (family >= n || !(q[family].queueFlags & VK_QUEUE_COMPUTE_BIT))
    return st_make(d->env->al, TSR_INVALID_ARGUMENT, ST_WHERE("vulkan", "import", NULL),
                   "queue family %u has no compute", family);
  d->limits.timestamp_bits = q[family].timestampValidBits;
  vk_load_device(&in->fn, d->vk, &d->fn);
  return NULL;
}

static tsr_status make_layout(be_device *d) {
  VkPushConstantRange push = {VK_SHADER_STAGE_COMPUTE_BIT, 0, VK_PUSH_BYTES};
  if (!d->features.bda) TSR_TRY(vk_set_layout_create(d, &d->set_layout));
  VkPipelineLayoutCreateInfo info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                     .setLayoutCount = d->set_layout != VK_NULL_HANDLE,
                                     .pSetLayouts = &d->set_layout,
                                     .pushConstantRangeCount = 1,
                                     .pPushConstantRanges = &push};
  return vk_status(d, d->fn.vkCreatePipelineLayout(d->vk, &info, NULL, &d->layout), "vkCreatePipelineLayout");
}

/* What the device is used for, as far as its driver can do it. */
static tsr_status test(be_device *d) {
  char why[128], known[128];
  vk_probe *p = &d->instance->probe;
  const vk_id *id = &d->limits.id;
  tsr_caps kept = d->caps;
  if (!vk_note_get(p, id, "kernel", known) || !vk_selftest_kept(p, id, &kept)) vk_probe_run(p);
  TSR_TRY(vk_must_all(p, id));
  if (!d->caps.i64 && d->features.bda) TSR_TRY(vk_must(p, id, "words")); /* just found out: the next opening knows */
  d->features.clock &= vk_may(p, id, "clock", why);
  d->caps.no_pack64 = d->caps.i64 && !vk_may(p, id, "words", why);
  vk_binaries_begin(d);
  if (d->binaries.mode == VK_BINARIES_OFF) vk_cache_load(d);
  TSR_TRY(vk_selftest(d));
  TSR_TRY(vk_cores(d));
  vk_notes_save(p);
  return NULL;
}

tsr_status vk_device_open(be_instance *in, int index, const be_import *import, be_device **out, tsr_caps *caps) {
  *out = NULL;
  be_device *d = al_new(in->env->al, be_device);
  if (!d) return st_oom();
  d->env = in->env;
  pthread_mutex_init(&d->mutex, NULL);
  pthread_mutex_init(&d->clock.mutex, NULL);
  pthread_mutex_init(&d->heap.mutex, NULL);
  pthread_mutex_init(&d->binaries.mutex, NULL);
  atomic_init(&d->n_buffers, 0);
  atomic_init(&d->lost, false);
  atomic_init(&d->n_live, 0);
  atomic_init(&d->n_compiling, 0);
  read_faults(d);
  be_device_info info;
  tsr_status st = import ? open_imported(d, in, import->desc, &info) : open_own(d, in, index, &info);
  if (!st) {
    in->fn.vkGetPhysicalDeviceMemoryProperties(d->physical, &d->memory);
    d->caps = info.caps;
    st = make_layout(d);
  }
  if (!st) {
    vk_did(&in->probe, &d->limits.id, "device", "ok");
    st = in->probe.in_child ? NULL : test(d);
  }
  if (st) {
    vk_device_close(d);
    return st;
  }
  *caps = d->caps;
  *out = d;
  return NULL;
}

void vk_device_close(be_device *d) {
  if (!d) return;
  if (!vk_compiled(d)) {
    d->env->log(d->env->log_user, 1, "vulkan: a driver still compiles a kernel: its device is left open");
    d->instance->leaked = true;
    return;
  }
  if (d->vk && d->fn.vkDestroyDevice) {
    if (d->owned && !atomic_load(&d->lost)) d->fn.vkDeviceWaitIdle(d->vk);
    vk_cache_save(d);
    if (d->cache) d->fn.vkDestroyPipelineCache(d->vk, d->cache, NULL);
    vk_timelines_destroy(d);
    vk_module_destroy(d->clock.kernel);
    if (d->layout) d->fn.vkDestroyPipelineLayout(d->vk, d->layout, NULL);
    if (d->set_layout) d->fn.vkDestroyDescriptorSetLayout(d->vk, d->set_layout, NULL);
    if (d->owned) d->fn.vkDestroyDevice(d->vk, NULL);
  }
  pthread_mutex_destroy(&d->clock.mutex);
  pthread_mutex_destroy(&d->heap.mutex);
  vk_binaries_end(d);
  pthread_mutex_destroy(&d->binaries.mutex);
  pthread_mutex_destroy(&d->mutex);
  al_delete(d->env->al, d);
}
