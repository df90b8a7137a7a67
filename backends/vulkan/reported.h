/* backends/vulkan/reported.h - what drivers report, as they do: read and condensed in caps.c, made less in
 * lacking.c. */
#ifndef BACKENDS_VULKAN_REPORTED_H
#define BACKENDS_VULKAN_REPORTED_H
#include "backends/vulkan/vk.h"

typedef struct vk_all_features {
  VkPhysicalDeviceFeatures2 base;
  VkPhysicalDeviceVulkan11Features v11;
  VkPhysicalDeviceVulkan12Features v12;
  VkPhysicalDeviceVulkan13Features v13;
  VkPhysicalDeviceCooperativeMatrixFeaturesKHR matrix;
  VkPhysicalDeviceShaderBfloat16FeaturesKHR bf16;
  VkPhysicalDeviceShaderFloat8FeaturesEXT f8;
  VkPhysicalDeviceCooperativeMatrix2FeaturesNV nv2;
  VkPhysicalDeviceWorkgroupMemoryExplicitLayoutFeaturesKHR layout;
  VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR executable;
  VkPhysicalDeviceShaderClockFeaturesKHR clock;
} vk_all_features;

typedef struct vk_all_properties {
  VkPhysicalDeviceProperties2 base;
  VkPhysicalDeviceVulkan11Properties v11;
  VkPhysicalDeviceVulkan12Properties v12;
  VkPhysicalDeviceVulkan13Properties v13;
  VkPhysicalDeviceCooperativeMatrix2PropertiesNV nv2;
} vk_all_properties;

/* ---- lacking.c: TSR_VK_HIDE, and what takes the place of what is not there ---- */
bool vk_hides_extension(const char *name);
void vk_hide_features(vk_all_features *f);
void vk_hide_properties(vk_all_properties *q);
/* "fences for timeline semaphores; ...; TSR_VK_HIDE=...", "" when nothing is lacking. */
void vk_say_lacking(const vk_all_features *f, const vk_all_properties *q, bool shared_layout, char *out, size_t cap);

#endif
