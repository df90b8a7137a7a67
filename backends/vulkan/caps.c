/* backends/vulkan/caps.c - what a device can do: features, limits, cooperative matrix properties. Each extension is
 * asked only when it is listed, and the answers are not believed further than that: the self-test has the last word on
 * matrices. */
#include <stdio.h>
#include <string.h>

#include "backends/vulkan/reported.h"
#include "core/base/hash.h"
#include "core/emit/spirv/spirv.h"

typedef struct ext_list { const char *const *names; VkExtensionProperties *props; uint32_t n; } ext_list;

static bool has(const ext_list *l, const char *name) {
  if (vk_hides_extension(name)) return false;
  for (uint32_t i = 0; i < l->n; i++)
    if (!strcmp(l->props ? l->props[i].extensionName : l->names[i], name)) return true;
  return false;
}

/* Copies the struct of the same type out of the application's chain. */
static void from_chain(const void *chain, VkBaseOutStructure *to, size_t size) {
  for (const VkBaseInStructure *p = chain; p; p = p->pNext)
    if (p->sType == to->sType) {
      VkBaseOutStructure *next = to->pNext;
      memcpy(to, p, size);
      to->pNext = next;
    }
}

#define INIT(f, member, type) (f)->member.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_##type
#define LINK(f, member) ((f)->member.pNext = (f)->base.pNext, (f)->base.pNext = &(f)->member)

/* Before Vulkan 1.2 what v11 and v12 have stands in structs of their own, before 1.3 nothing has what v13 has. */
static void link_versions(const ext_list *e, uint32_t minor, vk_all_features *f) {
  INIT(f, v11, VULKAN_1_1_FEATURES), INIT(f, v12, VULKAN_1_2_FEATURES), INIT(f, v13, VULKAN_1_3_FEATURES);
  INIT(f, half, 16BIT_STORAGE_FEATURES), INIT(f, byte, 8BIT_STORAGE_FEATURES),
      INIT(f, narrow, SHADER_FLOAT16_INT8_FEATURES);
  if (minor >= 2) LINK(f, v11), LINK(f, v12);
  else LINK(f, half);
  if (minor >= 3) LINK(f, v13);
  if (minor < 2 && has(e, "VK_KHR_8bit_storage")) LINK(f, byte);
  if (minor < 2 && has(e, "VK_KHR_shader_float16_int8")) LINK(f, narrow);
}

static void join_versions(uint32_t minor, vk_all_features *f) {
  if (minor >= 2) return;
  f->v11.storageBuffer16BitAccess = f->half.storageBuffer16BitAccess;
  f->v12.storageBuffer8BitAccess = f->byte.storageBuffer8BitAccess;
  f->v12.shaderInt8 = f->narrow.shaderInt8, f->v12.shaderFloat16 = f->narrow.shaderFloat16;
}

static void read_features(const be_instance *in, VkPhysicalDevice p, const ext_list *listed, uint32_t minor,
                          const void *chain, bool imported, vk_all_features *f) {
  const ext_list none = {0}, *e = minor < 3 ? &none : listed; /* the rest is for 1.3 */
  memset(f, 0, sizeof *f);
  INIT(f, base, FEATURES_2);
  link_versions(listed, minor, f);
  INIT(f, matrix, COOPERATIVE_MATRIX_FEATURES_KHR), INIT(f, bf16, SHADER_BFLOAT16_FEATURES_KHR),
      INIT(f, f8, SHADER_FLOAT8_FEATURES_EXT);
  INIT(f, nv2, COOPERATIVE_MATRIX_2_FEATURES_NV), INIT(f, layout, WORKGROUP_MEMORY_EXPLICIT_LAYOUT_FEATURES_KHR);
  INIT(f, executable, PIPELINE_EXECUTABLE_PROPERTIES_FEATURES_KHR), INIT(f, clock, SHADER_CLOCK_FEATURES_KHR);
  INIT(f, maintenance5, MAINTENANCE_5_FEATURES_KHR), INIT(f, binary, PIPELINE_BINARY_FEATURES_KHR);
  if (has(e, "VK_KHR_cooperative_matrix")) LINK(f, matrix);
  if (has(e, "VK_KHR_shader_bfloat16")) LINK(f, bf16);
  if (has(e, "VK_EXT_shader_float8")) LINK(f, f8);
  if (has(e, "VK_NV_cooperative_matrix2")) LINK(f, nv2);
  if (has(e, "VK_KHR_workgroup_memory_explicit_layout")) LINK(f, layout);
  if (has(e, "VK_KHR_pipeline_executable_properties")) LINK(f, executable);
  if (has(e, "VK_KHR_shader_clock")) LINK(f, clock);
  if (has(e, "VK_KHR_pipeline_binary") && has(e, "VK_KHR_maintenance5")) LINK(f, maintenance5), LINK(f, binary);
  if (!imported) {
    in->fn.vkGetPhysicalDeviceFeatures2(p, &f->base);
    join_versions(minor, f);
    vk_hide_features(f);
    return;
  }
#define COPY(member) from_chain(chain, (VkBaseOutStructure *)&f->member, sizeof f->member)
  COPY(base), COPY(v11), COPY(v12), COPY(v13), COPY(matrix), COPY(bf16), COPY(f8), COPY(nv2), COPY(layout),
      COPY(executable), COPY(clock), COPY(maintenance5), COPY(binary);
  f->base.features.shaderInt64 = f->v12.bufferDeviceAddress = f->v12.timelineSemaphore = f->v12.vulkanMemoryModel =
      f->v13.synchronization2 = f->v13.maintenance4 = VK_TRUE;
  vk_hide_features(f);
}

static void summarise(const vk_all_features *f, vk_features *o) {
  *o = (vk_features){
      .coopmat = f->matrix.cooperativeMatrix, .bfloat16 = f->bf16.shaderBFloat16Type && f->bf16.shaderBFloat16CooperativeMatrix,
      .float8 = f->f8.shaderFloat8 && f->f8.shaderFloat8CooperativeMatrix, .nv2_workgroup = f->nv2.cooperativeMatrixWorkgroupScope,
      .nv2_reduce = f->nv2.cooperativeMatrixReductions, .nv2_convert = f->nv2.cooperativeMatrixConversions,
      .nv2_per_element = f->nv2.cooperativeMatrixPerElementOperations, .nv2_tensor = f->nv2.cooperativeMatrixTensorAddressing,
      .explicit_layout = f->layout.workgroupMemoryExplicitLayout && f->layout.workgroupMemoryExplicitLayout8BitAccess && f->layout.workgroupMemoryExplicitLayout16BitAccess,
      .f64 = f->base.features.shaderFloat64, .i64 = f->base.features.shaderInt64, .i16 = f->base.features.shaderInt16,
      .i8 = f->v12.shaderInt8, .f16 = f->v12.shaderFloat16, .storage8 = f->v12.storageBuffer8BitAccess, .storage16 = f->v11.storageBuffer16BitAccess, .subgroup_types = f->v12.shaderSubgroupExtendedTypes,
      .subgroup_size_control = f->v13.subgroupSizeControl, .full_subgroups = f->v13.computeFullSubgroups,
      .scalar_layout = f->v12.scalarBlockLayout,
      .statistics = f->executable.pipelineExecutableInfo, .clock = f->clock.shaderDeviceClock,
      .bda = f->v12.bufferDeviceAddress, .timeline = f->v12.timelineSemaphore, .sync2 = f->v13.synchronization2,
      .maintenance4 = f->v13.maintenance4,
      .memory_model = f->v12.vulkanMemoryModel, .query_reset = f->v12.hostQueryReset,
      .binaries = f->binary.pipelineBinaries && f->maintenance5.maintenance5};
  o->coopmat &= o->memory_model; /* as the emitter writes their accesses */
  o->nv2 = o->coopmat && (o->nv2_workgroup || o->nv2_reduce || o->nv2_convert || o->nv2_per_element || o->nv2_tensor);
}

/* ---- properties ---- */

static void link_property_versions(uint32_t minor, vk_all_properties *q) {
  INIT(q, v11, VULKAN_1_1_PROPERTIES), INIT(q, v12, VULKAN_1_2_PROPERTIES), INIT(q, v13, VULKAN_1_3_PROPERTIES);
  INIT(q, subgroup, SUBGROUP_PROPERTIES), INIT(q, id, ID_PROPERTIES);
  INIT(q, maintenance3, MAINTENANCE_3_PROPERTIES);
  if (minor >= 2) LINK(q, v11), LINK(q, v12);
  else LINK(q, subgroup), LINK(q, id), LINK(q, maintenance3);
  if (minor >= 3) LINK(q, v13);
}

static void join_property_versions(uint32_t minor, vk_all_properties *q) {
  q->minor = minor;
  if (minor < 2) {
    q->v11.subgroupSize = q->subgroup.subgroupSize;
    q->v11.subgroupSupportedStages = q->subgroup.supportedStages;
    q->v11.subgroupSupportedOperations = q->subgroup.supportedOperations;
    memcpy(q->v11.deviceUUID, q->id.deviceUUID, VK_UUID_SIZE);
    memcpy(q->v11.driverUUID, q->id.driverUUID, VK_UUID_SIZE);
    q->v11.maxMemoryAllocationSize = q->maintenance3.maxMemoryAllocationSize;
  }
  if (minor < 3) q->v13.minSubgroupSize = q->v13.maxSubgroupSize = q->v11.subgroupSize;
}

static void read_properties(const be_instance *in, VkPhysicalDevice p, const ext_list *e, uint32_t minor,
                            const vk_features *f, vk_all_properties *q) {
  memset(q, 0, sizeof *q);
  INIT(q, base, PROPERTIES_2);
  link_property_versions(minor, q);
  INIT(q, nv2, COOPERATIVE_MATRIX_2_PROPERTIES_NV);
  INIT(q, sm, SHADER_SM_BUILTINS_PROPERTIES_NV), INIT(q, cu, SHADER_CORE_PROPERTIES_AMD),
      INIT(q, cu2, SHADER_CORE_PROPERTIES_2_AMD), INIT(q, core, SHADER_CORE_BUILTINS_PROPERTIES_ARM),
      INIT(q, binary, PIPELINE_BINARY_PROPERTIES_KHR);
  if (f->nv2) LINK(q, nv2);
  if (has(e, "VK_NV_shader_sm_builtins")) LINK(q, sm);
  if (has(e, "VK_AMD_shader_core_properties")) LINK(q, cu);
  if (has(e, "VK_AMD_shader_core_properties2")) LINK(q, cu2);
  if (has(e, "VK_ARM_shader_core_builtins")) LINK(q, core);
  if (f->binaries) LINK(q, binary);
  in->fn.vkGetPhysicalDeviceProperties2(p, &q->base);
  join_property_versions(minor, q);
  vk_hide_properties(q);
}

static const char *vendor_name(uint32_t id) {
  switch (id) {
  case 0x10de: return "NVIDIA";
  case 0x1002: return "AMD";
  case 0x8086: return "Intel";
  case 0x13b5: return "Arm";
  case 0x5143: return "Qualcomm";
  case 0x10005: return "Mesa";
  default: return "unknown";
  }
}

bool vk_may_require(const vk_features *f, const vk_limits *l, const tsr_caps *c, int subgroup, int threads) {
  if (!f->subgroup_size_control || !l->sized_compute || subgroup <= 0 || subgroup < c->subgroup_min ||
      subgroup > c->subgroup_max)
    return false;
  return (uint32_t)((threads + subgroup - 1) / subgroup) <= l->max_subgroups;
}

/* A driver that reports 0 says nothing (the loader's mock driver). What all must take is assumed then: more is nothing
 * that a driver promises, and what it does not promise may fail later than here, or with a validation message. */
static uint64_t largest_allocation(const vk_all_properties *q) {
  const uint64_t required = 1 << 30; /* Vulkan specification, "Required Limits" */
  return q->v11.maxMemoryAllocationSize ? q->v11.maxMemoryAllocationSize : required;
}

static void fill_limits(VkPhysicalDevice p, const vk_all_properties *q, vk_limits *l) {
  const VkPhysicalDeviceLimits *m = &q->base.properties.limits;
  VkPhysicalDeviceType type = q->base.properties.deviceType;
  *l = (vk_limits){.minor = q->minor,
                   .timestamp_period = m->timestampPeriod, .software = type == VK_PHYSICAL_DEVICE_TYPE_CPU,
                   .unified = type == VK_PHYSICAL_DEVICE_TYPE_CPU || type == VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU,
                   .max_buffer = q->v13.maxBufferSize, .max_allocation = largest_allocation(q)};
  uint32_t n = m->maxPerStageDescriptorStorageBuffers;
  if (n > m->maxDescriptorSetStorageBuffers) n = m->maxDescriptorSetStorageBuffers;
  if (n > m->maxPerStageResources) n = m->maxPerStageResources;
  l->n_bindings = n < EMIT_SPIRV_MAX_BINDINGS ? n : EMIT_SPIRV_MAX_BINDINGS;
  l->max_range = m->maxStorageBufferRange / 4 * 4;
  l->range_alignment = m->minStorageBufferOffsetAlignment ? m->minStorageBufferOffsetAlignment : 1;
  l->sized_compute = q->v13.requiredSubgroupSizeStages & VK_SHADER_STAGE_COMPUTE_BIT;
  l->max_subgroups = q->v13.maxComputeWorkgroupSubgroups;
  for (int i = 0; i < 3; i++) l->max_groups[i] = m->maxComputeWorkGroupCount[i];
  memcpy(l->pipeline_uuid, q->base.properties.pipelineCacheUUID, 16);
  memcpy(l->device_uuid, q->v11.deviceUUID, 16);
  memcpy(l->driver_uuid, q->v11.driverUUID, 16);
}

/* Of three widths, those that may be asked for: a driver that ties widths together takes all of a set or none. `all` is
 * 16, 32 and 64; some drivers tie 16 and 64 only. */
static void controls(VkShaderFloatControlsIndependence tie, VkBool32 f16, VkBool32 f32, VkBool32 f64, bool *out16,
                     bool *out32, bool *out64) {
  bool outer = f16 && f64, all = outer && f32;
  *out16 = tie == VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_ALL           ? f16
           : tie == VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_32_BIT_ONLY ? outer
                                                                      : all;
  *out32 = tie == VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_NONE ? all : f32;
  *out64 = tie == VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_ALL           ? f64
           : tie == VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_32_BIT_ONLY ? outer
                                                                      : all;
}

static void fill_float_controls(const VkPhysicalDeviceVulkan12Properties *p, tsr_caps *c) {
  c->nan_f16 = p->shaderSignedZeroInfNanPreserveFloat16, c->nan_preserve = p->shaderSignedZeroInfNanPreserveFloat32,
  c->nan_f64 = p->shaderSignedZeroInfNanPreserveFloat64;
  controls(p->denormBehaviorIndependence, p->shaderDenormPreserveFloat16, p->shaderDenormPreserveFloat32,
           p->shaderDenormPreserveFloat64, &c->denorm_f16, &c->denorm_f32, &c->denorm_f64);
  controls(p->roundingModeIndependence, p->shaderRoundingModeRTEFloat16, p->shaderRoundingModeRTEFloat32,
           p->shaderRoundingModeRTEFloat64, &c->rte_f16, &c->rte_f32, &c->rte_f64);
}

static void fill_caps(const be_instance *in, VkPhysicalDevice p, const vk_all_properties *q, const vk_features *f,
                      tsr_caps *c) {
  const VkPhysicalDeviceLimits *m = &q->base.properties.limits;
  VkPhysicalDeviceMemoryProperties mem;
  in->fn.vkGetPhysicalDeviceMemoryProperties(p, &mem);
  *c = (tsr_caps){.dialect = DIALECT_SPIRV,
                  .arch = "spirv1.6",
                  .subgroup = (int)q->v11.subgroupSize,
                  .subgroup_min = (int)q->v13.minSubgroupSize,
                  .subgroup_max = (int)q->v13.maxSubgroupSize,
                  .max_threads = (int)m->maxComputeWorkGroupInvocations,
                  .shared_bytes = m->maxComputeSharedMemorySize,
                  .shared_per_core = m->maxComputeSharedMemorySize,
                  .shared_banks = 32 /* no query; most have so many */,
                  .max_range_bytes = f->bda ? 0 : m->maxStorageBufferRange / 4 * 4,
                  .alignment = 256,
                  .vector_bytes = 16,
                  .f64 = f->f64,
                  .f16 = f->f16,
                  .bf16 = f->bfloat16,
                  .f8 = f->float8,
                  .i8 = f->i8,
                  .i16 = f->i16,
                  .storage16 = f->storage16,
                  .storage8 = f->storage8,
                  .i64 = f->i64,
                  .glsl_memory_model = !f->memory_model,
                  .atomics = true,
                  .coopmat = f->coopmat,
                  .coopmat2 = f->nv2,
                  .coopmat2_workgroup = f->nv2_workgroup,
                  .coopmat2_tensor = f->nv2_tensor,
                  .coopmat2_per_element = f->nv2_per_element,
                  .coopmat2_reduce = f->nv2_reduce,
                  .coopmat2_convert = f->nv2_convert,
                  .full_subgroups = f->full_subgroups && f->subgroup_size_control,
                  .descriptors = !f->bda,
                  .spirv_minor = q->minor < 2 ? 3 : q->minor < 3 ? 5 : 6,
                  .shared_layout = f->explicit_layout,
                  .coopmat2_max_dim = (int)q->nv2.cooperativeMatrixFlexibleDimensionsMaxDimension,
                  .coopmat2_shared_bytes = q->nv2.cooperativeMatrixWorkgroupScopeReservedSharedMemory};
  VkSubgroupFeatureFlags s = q->v11.subgroupSupportedOperations;
  bool in_compute = q->v11.subgroupSupportedStages & VK_SHADER_STAGE_COMPUTE_BIT;
  c->subgroup_shuffle = in_compute && (s & VK_SUBGROUP_FEATURE_SHUFFLE_BIT);
  for (int i = 0; i < 3; i++)
    c->max_block[i] = (int)m->maxComputeWorkGroupSize[i],
    c->max_grid[i] = INT32_MAX; /* larger grids are cut into several dispatches */
  for (uint32_t i = 0; i < mem.memoryHeapCount; i++)
    if (mem.memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) c->memory_bytes += (int64_t)mem.memoryHeaps[i].size;
  c->max_buffer_bytes = c->memory_bytes; /* not maxBufferSize: see buffer.c */
  if ((uint64_t)c->max_buffer_bytes > largest_allocation(q)) c->max_buffer_bytes = (int64_t)largest_allocation(q);
  fill_float_controls(&q->v12, c);
  vk_cores_reported(q, c);
}

/* Kernels count lanes in fours at least: where no lane asks another, how many run together is nothing to them. */
static void widen_subgroup(vk_features *f, tsr_caps *c) {
  if (c->subgroup >= 4 && !(c->subgroup & (c->subgroup - 1))) return;
  c->subgroup = c->subgroup_min = c->subgroup_max = 4;
  c->subgroup_shuffle = c->full_subgroups = c->coopmat = c->coopmat2 = false;
  f->coopmat = f->nv2 = f->subgroup_size_control = f->full_subgroups = false;
}

static void spare_llvmpipe(const vk_all_properties *q, const vk_features *f, tsr_caps *c) {
  if (q->v12.driverID != VK_DRIVER_ID_MESA_LLVMPIPE) return;
  /* 26.1 overruns its own stack where it compiles shuffles of f64 for vectors of 512 bits. */
  if (c->subgroup > 8) c->subgroup_shuffle = false;
  /* Seen with 22.3, and no more with 26.1 (docs/performance-log.md). */
  c->one_lane_a_time = VK_API_VERSION_MAJOR(q->base.properties.driverVersion) < 23;
  c->host_addresses = f->bda;
}

static void hex(char *out, const uint8_t *b, int n) {
  for (int i = 0; i < n; i++) snprintf(out + 2 * i, 3, "%02x", b[i]);
}

static void identify(const be_instance *in, VkPhysicalDevice p, vk_id *out) {
  VkPhysicalDeviceProperties q;
  in->fn.vkGetPhysicalDeviceProperties(p, &q);
  uint32_t v = q.driverVersion;
  bool nvidia = q.vendorID == 0x10de; /* 10, 8, 8 and 6 bits */
  snprintf(out->name, sizeof out->name, "%.255s", q.deviceName);
  snprintf(out->version, sizeof out->version, "%u.%u.%u", nvidia ? v >> 22 : VK_API_VERSION_MAJOR(v),
           nvidia ? v >> 14 & 255 : VK_API_VERSION_MINOR(v), nvidia ? v >> 6 & 255 : VK_API_VERSION_PATCH(v));
  uint64_t h = hash_str(HASH_SEED, out->name);
  h = hash_u64(hash_u64(hash_u64(hash_u64(h, v), q.vendorID), q.deviceID), q.apiVersion);
  h = hash_bytes(hash_str(h, knob_str("TSR_VK_HIDE")), q.pipelineCacheUUID, sizeof q.pipelineCacheUUID);
  snprintf(out->key, sizeof out->key, "%016llx", (unsigned long long)hash_mix(h));
}

/* Who it is, and what is known of it; the process that tries drivers is asked before the first question that not every
 * program asks. */
static tsr_status find_out(be_instance *in, VkPhysicalDevice p, vk_id *id) {
  char known[128];
  identify(in, p, id);
  vk_notes_load(&in->probe, id);
  if (!vk_note_get(&in->probe, id, "properties", known)) vk_probe_run(&in->probe);
  if (in->probe.in_child) printf("device\t%s\t%s\t%s\n", id->key, id->name, id->version), fflush(stdout);
  return vk_must(&in->probe, id, "properties");
}

/* 1.3 is asked of an application's. */
static uint32_t used_version(const be_instance *in, VkPhysicalDevice p, const tsr_vulkan_import *import) {
  VkPhysicalDeviceProperties q;
  if (import) return 3;
  in->fn.vkGetPhysicalDeviceProperties(p, &q);
  uint32_t minor = VK_API_VERSION_MINOR(q.apiVersion);
  return minor < in->minor ? minor : in->minor;
}

/* Without 64-bit integers an address is a pair of words, which each kernel puts together: a driver that dies of that is
 * given descriptors. */
static void spare_words(be_instance *in, const vk_id *id, vk_all_features *have, vk_features *f) {
  char why[128];
  if (f->i64 || !f->bda || !vk_is_bad(&in->probe, id, "words", why)) return;
  have->v12.bufferDeviceAddress = VK_FALSE;
  f->bda = false;
}

_Static_assert(EMIT_SPIRV_MAX_BINDINGS <= 32, "VK_KHR_push_descriptor is for at least 32 of them");

tsr_status vk_query(be_instance *in, VkPhysicalDevice p, const tsr_vulkan_import *import, vk_features *f, vk_limits *l,
                    be_device_info *info) {
  const be_env *env = in->env;
  vk_all_features have;
  vk_all_properties q;
  uint32_t n = 0;
  vk_id id;
  memset(info, 0, sizeof *info);
  TSR_TRY(find_out(in, p, &id));
  ext_list ext = {0};
  if (import) {
    ext = (ext_list){import->extensions, NULL, import->n_extensions};
  } else {
    in->fn.vkEnumerateDeviceExtensionProperties(p, NULL, &n, NULL);
    ext.props = al_zalloc(env->al, n * sizeof *ext.props + 1);
    if (!ext.props) return st_oom();
    ext.n = n;
    VkResult r = in->fn.vkEnumerateDeviceExtensionProperties(p, NULL, &ext.n, ext.props);
    if (r != VK_SUCCESS && r != VK_INCOMPLETE) ext.n = 0;
  }
  uint32_t minor = used_version(in, p, import);
  read_features(in, p, &ext, minor, import ? import->features : NULL, import != NULL, &have);
  summarise(&have, f);
  spare_words(in, &id, &have, f);
  f->memory_fd = has(&ext, "VK_KHR_external_memory_fd"), f->semaphore_fd = has(&ext, "VK_KHR_external_semaphore_fd");
  f->budget = has(&ext, "VK_EXT_memory_budget");
  f->push_descriptor = !f->bda && has(&ext, "VK_KHR_push_descriptor");
  read_properties(in, p, &ext, minor, f, &q);
  char why[128];
  f->has_binaries = f->binaries && !q.binary.pipelineBinaryPrefersInternalCache;
  f->binaries = f->has_binaries && !vk_is_bad(&in->probe, &id, "binaries", why);
  al_free(env->al, ext.props, n * sizeof *ext.props + 1, 16);
  vk_did(&in->probe, &id, "properties", "ok");
  fill_limits(p, &q, l);
  l->id = id;
  f->clock &= l->software && f->i64 && f->memory_model && f->bda; /* clock.c; a GPU's timestamps cost little */
  vk_say_lacking(&have, &q, f, info->fallbacks, sizeof info->fallbacks);
  fill_caps(in, p, &q, f, &info->caps);
  widen_subgroup(f, &info->caps);
  spare_llvmpipe(&q, f, &info->caps);
  if (f->coopmat && vk_may(&in->probe, &id, "matrices", why)) {
    vk_find_matrices(in, p, f, &info->caps);
    vk_did(&in->probe, &id, "matrices", "ok");
  }
  snprintf(info->name, sizeof info->name, "%.127s", q.base.properties.deviceName);
  snprintf(info->driver, sizeof info->driver, "%.60s %.60s", q.v12.driverName, q.v12.driverInfo);
  snprintf(info->vendor, sizeof info->vendor, "%s", vendor_name(q.base.properties.vendorID));
  hex(info->id, l->device_uuid, 16);
  info->software = l->software;
  return NULL;
}
