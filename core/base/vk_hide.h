/* core/base/vk_hide.h - what TSR_VK_HIDE can hide of a Vulkan driver's report, a row each: the words of the knob, where
 * the report has it, and what takes its place. The knob's table needs the words, backends/vulkan/lacking.c the rest. */
#ifndef CORE_BASE_VK_HIDE_H
#define CORE_BASE_VK_HIDE_H

/* X(kind, word, where, instead). FEATURE: a member of vk_all_features; EXTENSION: its name; SUBGROUP: bits of
 * subgroupSupportedOperations; CONTROLS: the first of three members of vk_all_properties (16, 32 and 64 bits). instead:
 * what is done without, for `tessera devices` and the trace; "" = programs that need it are refused, or only slower. */
#define VK_HIDE_ROWS(X)                                                                                                \
  X(FEATURE, bda, v12.bufferDeviceAddress, "descriptors for buffer addresses")                                         \
  X(FEATURE, int64, base.features.shaderInt64, "addresses as pairs of words for 64-bit integers")                      \
  X(FEATURE, timeline, v12.timelineSemaphore, "fences for timeline semaphores")                                        \
  X(FEATURE, sync2, v13.synchronization2, "barriers and submissions of Vulkan 1.0 for synchronization2")               \
  X(FEATURE, maintenance4, v13.maintenance4, "")                                                                       \
  X(FEATURE, memory_model, v12.vulkanMemoryModel, "GLSL's memory model for Vulkan's")                                  \
  X(FEATURE, scalar_layout, v12.scalarBlockLayout, "")                                                                 \
  X(FEATURE, f64, base.features.shaderFloat64, "")                                                                     \
  X(FEATURE, f16, v12.shaderFloat16, "f16 computed in f32")                                                            \
  X(FEATURE, int16, base.features.shaderInt16, "16-bit types in 32-bit registers")                                     \
  X(FEATURE, int8, v12.shaderInt8, "8-bit types in 32-bit registers")                                                  \
  X(FEATURE, storage16, v11.storageBuffer16BitAccess, "16-bit elements by their words")                                \
  X(FEATURE, storage8, v12.storageBuffer8BitAccess, "8-bit elements by their words")                                   \
  X(FEATURE, subgroup_types, v12.shaderSubgroupExtendedTypes, "")                                                      \
  X(FEATURE, subgroup_size, v13.subgroupSizeControl, "")                                                               \
  X(FEATURE, full_subgroups, v13.computeFullSubgroups, "")                                                             \
  X(SUBGROUP, shuffle, VK_SUBGROUP_FEATURE_SHUFFLE_BIT, "shared memory for subgroup shuffles")                         \
  X(EXTENSION, coopmat, "VK_KHR_cooperative_matrix", "")                                                               \
  X(EXTENSION, coopmat2, "VK_NV_cooperative_matrix2", "")                                                              \
  X(EXTENSION, bf16, "VK_KHR_shader_bfloat16", "")                                                                     \
  X(EXTENSION, f8, "VK_EXT_shader_float8", "")                                                                         \
  X(EXTENSION, shared_layout, "VK_KHR_workgroup_memory_explicit_layout", "shared memory as words for explicit layout") \
  X(EXTENSION, statistics, "VK_KHR_pipeline_executable_properties", "")                                                \
  X(EXTENSION, clock, "VK_KHR_shader_clock", "")                                                                       \
  X(EXTENSION, memory_fd, "VK_KHR_external_memory_fd", "")                                                             \
  X(EXTENSION, semaphore_fd, "VK_KHR_external_semaphore_fd", "")                                                       \
  X(EXTENSION, push_descriptor, "VK_KHR_push_descriptor", "")                                                          \
  X(EXTENSION, budget, "VK_EXT_memory_budget", "the driver's own refusals for memory budgets")                             \
  X(EXTENSION, pipeline_binary, "VK_KHR_pipeline_binary", "the driver's pipeline cache for pipeline binaries")         \
  X(EXTENSION, sm_builtins, "VK_NV_shader_sm_builtins", "")                                                            \
  X(EXTENSION, core_properties, "VK_AMD_shader_core_properties", "")                                                   \
  X(EXTENSION, core_properties2, "VK_AMD_shader_core_properties2", "")                                                 \
  X(EXTENSION, core_builtins, "VK_ARM_shader_core_builtins", "")                                                       \
  X(CONTROLS, denorm, v12.shaderDenormPreserveFloat16, "")                                                             \
  X(CONTROLS, rte, v12.shaderRoundingModeRTEFloat16, "")                                                               \
  X(CONTROLS, nan, v12.shaderSignedZeroInfNanPreserveFloat16, "")

/* X(word, where): "word=N" makes the limit, a member of vk_all_properties, N where the driver has more. */
#define VK_HIDE_LIMITS(X)                                                 \
  X(shared, base.properties.limits.maxComputeSharedMemorySize)            \
  X(invocations, base.properties.limits.maxComputeWorkGroupInvocations)   \
  X(bindings, base.properties.limits.maxPerStageDescriptorStorageBuffers) \
  X(range, base.properties.limits.maxStorageBufferRange)                  \
  X(api, minor)                                                           \
  X(buffer, v13.maxBufferSize)                                            \
  X(allocation, v11.maxMemoryAllocationSize)

#define VK_HIDE_WORD(kind, word, where, instead) #word ","
#define VK_HIDE_LIMIT_WORD(word, where) #word "=N,"
/* "bda,int64,...,cores,transfers,mapping,shared=N,...,"; cores: that of a driver on the CPU they are the host's, see
 * cores.c; transfers: queues for transfers alone; mapping: that the host sees the device's own memory, see buffer.c. */
#define VK_HIDE_LIST VK_HIDE_ROWS(VK_HIDE_WORD) "cores,transfers,mapping," VK_HIDE_LIMITS(VK_HIDE_LIMIT_WORD)
#endif
