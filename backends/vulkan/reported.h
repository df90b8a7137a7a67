/* backends/vulkan/reported.h - what drivers report, as they do: read and condensed in caps.c, made less in
 * lacking.c; the features are also what device.c asks for. */
#ifndef BACKENDS_VULKAN_REPORTED_H
#define BACKENDS_VULKAN_REPORTED_H
#include "backends/vulkan/vk.h"

typedef struct vk_all_features {
  VkPhysicalDeviceFeatures2 base;
  VkPhysicalDeviceVulkan11Features v11;
  VkPhysicalDeviceVulkan12Features v12;
  VkPhysicalDeviceVulkan13Features v13;
  VkPhysicalDevice16BitStorageFeatures half; /* these three: in place of v11 and v12 before Vulkan 1.2 */
  VkPhysicalDevice8BitStorageFeatures byte;
  VkPhysicalDeviceShaderFloat16Int8Features narrow;
  VkPhysicalDeviceCooperativeMatrixFeaturesKHR matrix;
  VkPhysicalDeviceShaderBfloat16FeaturesKHR bf16;
  VkPhysicalDeviceShaderFloat8FeaturesEXT f8;
  VkPhysicalDeviceCooperativeMatrix2FeaturesNV nv2;
  VkPhysicalDeviceWorkgroupMemoryExplicitLayoutFeaturesKHR layout;
  VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR executable;
  VkPhysicalDeviceShaderClockFeaturesKHR clock;
  VkPhysicalDeviceMaintenance5FeaturesKHR maintenance5;
  VkPhysicalDevicePipelineBinaryFeaturesKHR binary;
} vk_all_features;

typedef struct vk_all_properties {
  VkPhysicalDeviceProperties2 base;
  VkPhysicalDeviceVulkan11Properties v11;
  VkPhysicalDeviceVulkan12Properties v12;
  VkPhysicalDeviceVulkan13Properties v13;
  VkPhysicalDeviceSubgroupProperties subgroup; /* these three: in place of v11 before Vulkan 1.2 */
  VkPhysicalDeviceIDProperties id;
  VkPhysicalDeviceMaintenance3Properties maintenance3;
  uint32_t minor; /* of the Vulkan version that is used */
  VkPhysicalDeviceCooperativeMatrix2PropertiesNV nv2;
  VkPhysicalDeviceShaderSMBuiltinsPropertiesNV sm; /* these four: how many cores */
  VkPhysicalDeviceShaderCorePropertiesAMD cu;
  VkPhysicalDeviceShaderCoreProperties2AMD cu2;
  VkPhysicalDeviceShaderCoreBuiltinsPropertiesARM core;
  VkPhysicalDevicePipelineBinaryPropertiesKHR binary;
} vk_all_properties;

/* ---- cores.c ---- */
/* n_cores and cores_from, as far as nothing need be measured. */
void vk_cores_reported(const vk_all_properties *q, tsr_caps *c);

/* ---- matrices.c ---- */
void vk_find_matrices(const be_instance *in, VkPhysicalDevice p, const vk_features *f, tsr_caps *c);

/* ---- lacking.c: TSR_VK_HIDE, and what takes the place of what is not there ---- */
bool vk_hides_extension(const char *name);
/* "word=N" in the list: N; else UINT64_MAX. */
uint64_t vk_hide_limit(const char *word);
/* Words that are no row of vk_hide.h's: cores, transfers, mapping. */
bool vk_hides(const char *word);
void vk_hide_features(vk_all_features *f);
void vk_hide_properties(vk_all_properties *q);
/* "fences for timeline semaphores; ...; TSR_VK_HIDE=...", "" when nothing is lacking. */
void vk_say_lacking(const vk_all_features *f, const vk_all_properties *q, const vk_features *used, char *out,
                    size_t cap);

#endif
