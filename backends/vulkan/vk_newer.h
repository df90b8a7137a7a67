/* backends/vulkan/vk_newer.h - what the backend uses of extensions that came after the oldest Vulkan headers it builds
 * with: those of Vulkan 1.3 (CMakeLists.txt checks that; Debian 12 has 1.3.239). An extension is asked only of a driver
 * that lists it, so old headers cost nothing at run time. Source of values and layouts: the Vulkan registry. Numbers
 * are macros, since an enum of another header can't be added to. */
#ifndef BACKENDS_VULKAN_VK_NEWER_H
#define BACKENDS_VULKAN_VK_NEWER_H
#include <vulkan/vulkan_core.h>

#ifndef VK_KHR_cooperative_matrix /* 1.3.255 */
#define VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR ((VkStructureType)1000506000)
#define VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR ((VkStructureType)1000506001)

typedef enum VkComponentTypeKHR {
  VK_COMPONENT_TYPE_FLOAT16_KHR = 0,
  VK_COMPONENT_TYPE_FLOAT32_KHR = 1,
  VK_COMPONENT_TYPE_FLOAT64_KHR = 2,
  VK_COMPONENT_TYPE_SINT8_KHR = 3,
  VK_COMPONENT_TYPE_SINT16_KHR = 4,
  VK_COMPONENT_TYPE_SINT32_KHR = 5,
  VK_COMPONENT_TYPE_SINT64_KHR = 6,
  VK_COMPONENT_TYPE_UINT8_KHR = 7,
  VK_COMPONENT_TYPE_UINT16_KHR = 8,
  VK_COMPONENT_TYPE_UINT32_KHR = 9,
  VK_COMPONENT_TYPE_UINT64_KHR = 10,
  VK_COMPONENT_TYPE_MAX_ENUM_KHR = 0x7FFFFFFF
} VkComponentTypeKHR;

typedef enum VkScopeKHR {
  VK_SCOPE_DEVICE_KHR = 1,
  VK_SCOPE_WORKGROUP_KHR = 2,
  VK_SCOPE_SUBGROUP_KHR = 3,
  VK_SCOPE_QUEUE_FAMILY_KHR = 5,
  VK_SCOPE_MAX_ENUM_KHR = 0x7FFFFFFF
} VkScopeKHR;

typedef struct VkCooperativeMatrixPropertiesKHR {
  VkStructureType sType;
  void *pNext;
  uint32_t MSize, NSize, KSize;
  VkComponentTypeKHR AType, BType, CType, ResultType;
  VkBool32 saturatingAccumulation;
  VkScopeKHR scope;
} VkCooperativeMatrixPropertiesKHR;

typedef struct VkPhysicalDeviceCooperativeMatrixFeaturesKHR {
  VkStructureType sType;
  void *pNext;
  VkBool32 cooperativeMatrix, cooperativeMatrixRobustBufferAccess;
} VkPhysicalDeviceCooperativeMatrixFeaturesKHR;

typedef VkResult(VKAPI_PTR *PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR)(VkPhysicalDevice, uint32_t *,
                                                                                   VkCooperativeMatrixPropertiesKHR *);
#endif

#ifndef VK_EXT_layer_settings /* 1.3.272 */
#define VK_STRUCTURE_TYPE_LAYER_SETTINGS_CREATE_INFO_EXT ((VkStructureType)1000496000)

typedef enum VkLayerSettingTypeEXT {
  VK_LAYER_SETTING_TYPE_BOOL32_EXT = 0,
  VK_LAYER_SETTING_TYPE_MAX_ENUM_EXT = 0x7FFFFFFF
} VkLayerSettingTypeEXT;

typedef struct VkLayerSettingEXT {
  const char *pLayerName, *pSettingName;
  VkLayerSettingTypeEXT type;
  uint32_t valueCount;
  const void *pValues;
} VkLayerSettingEXT;

typedef struct VkLayerSettingsCreateInfoEXT {
  VkStructureType sType;
  const void *pNext;
  uint32_t settingCount;
  const VkLayerSettingEXT *pSettings;
} VkLayerSettingsCreateInfoEXT;
#endif

#ifndef VK_KHR_maintenance5 /* 1.3.259 */
#define VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_5_FEATURES_KHR ((VkStructureType)1000470000)
#define VK_STRUCTURE_TYPE_PIPELINE_CREATE_FLAGS_2_CREATE_INFO_KHR ((VkStructureType)1000470005)

typedef struct VkPhysicalDeviceMaintenance5FeaturesKHR {
  VkStructureType sType;
  void *pNext;
  VkBool32 maintenance5;
} VkPhysicalDeviceMaintenance5FeaturesKHR;

typedef struct VkPipelineCreateFlags2CreateInfoKHR {
  VkStructureType sType;
  const void *pNext;
  VkFlags64 flags;
} VkPipelineCreateFlags2CreateInfoKHR;
#endif

#ifndef VK_KHR_pipeline_binary /* 1.3.294 */
#define VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_BINARY_FEATURES_KHR ((VkStructureType)1000483000)
#define VK_STRUCTURE_TYPE_PIPELINE_BINARY_CREATE_INFO_KHR ((VkStructureType)1000483001)
#define VK_STRUCTURE_TYPE_PIPELINE_BINARY_INFO_KHR ((VkStructureType)1000483002)
#define VK_STRUCTURE_TYPE_PIPELINE_BINARY_KEY_KHR ((VkStructureType)1000483003)
#define VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_BINARY_PROPERTIES_KHR ((VkStructureType)1000483004)
#define VK_STRUCTURE_TYPE_RELEASE_CAPTURED_PIPELINE_DATA_INFO_KHR ((VkStructureType)1000483005)
#define VK_STRUCTURE_TYPE_PIPELINE_BINARY_DATA_INFO_KHR ((VkStructureType)1000483006)
#define VK_STRUCTURE_TYPE_PIPELINE_CREATE_INFO_KHR ((VkStructureType)1000483007)
#define VK_STRUCTURE_TYPE_PIPELINE_BINARY_HANDLES_INFO_KHR ((VkStructureType)1000483009)
#define VK_PIPELINE_CREATE_2_CAPTURE_DATA_BIT_KHR 0x80000000ull
#define VK_MAX_PIPELINE_BINARY_KEY_SIZE_KHR 32U

VK_DEFINE_NON_DISPATCHABLE_HANDLE(VkPipelineBinaryKHR)

typedef struct VkPhysicalDevicePipelineBinaryFeaturesKHR {
  VkStructureType sType;
  void *pNext;
  VkBool32 pipelineBinaries;
} VkPhysicalDevicePipelineBinaryFeaturesKHR;

typedef struct VkPhysicalDevicePipelineBinaryPropertiesKHR {
  VkStructureType sType;
  void *pNext;
  VkBool32 pipelineBinaryInternalCache, pipelineBinaryInternalCacheControl, pipelineBinaryPrefersInternalCache,
      pipelineBinaryPrecompiledInternalCache, pipelineBinaryCompressedData;
} VkPhysicalDevicePipelineBinaryPropertiesKHR;

typedef struct VkPipelineBinaryKeyKHR {
  VkStructureType sType;
  void *pNext;
  uint32_t keySize;
  uint8_t key[VK_MAX_PIPELINE_BINARY_KEY_SIZE_KHR];
} VkPipelineBinaryKeyKHR;

typedef struct VkPipelineBinaryDataKHR {
  size_t dataSize;
  void *pData;
} VkPipelineBinaryDataKHR;

typedef struct VkPipelineBinaryKeysAndDataKHR {
  uint32_t binaryCount;
  const VkPipelineBinaryKeyKHR *pPipelineBinaryKeys;
  const VkPipelineBinaryDataKHR *pPipelineBinaryData;
} VkPipelineBinaryKeysAndDataKHR;

typedef struct VkPipelineCreateInfoKHR {
  VkStructureType sType;
  void *pNext;
} VkPipelineCreateInfoKHR;

typedef struct VkPipelineBinaryCreateInfoKHR {
  VkStructureType sType;
  const void *pNext;
  const VkPipelineBinaryKeysAndDataKHR *pKeysAndDataInfo;
  VkPipeline pipeline;
  const VkPipelineCreateInfoKHR *pPipelineCreateInfo;
} VkPipelineBinaryCreateInfoKHR;

typedef struct VkPipelineBinaryInfoKHR {
  VkStructureType sType;
  const void *pNext;
  uint32_t binaryCount;
  const VkPipelineBinaryKHR *pPipelineBinaries;
} VkPipelineBinaryInfoKHR;

typedef struct VkReleaseCapturedPipelineDataInfoKHR {
  VkStructureType sType;
  void *pNext;
  VkPipeline pipeline;
} VkReleaseCapturedPipelineDataInfoKHR;

typedef struct VkPipelineBinaryDataInfoKHR {
  VkStructureType sType;
  void *pNext;
  VkPipelineBinaryKHR pipelineBinary;
} VkPipelineBinaryDataInfoKHR;

typedef struct VkPipelineBinaryHandlesInfoKHR {
  VkStructureType sType;
  const void *pNext;
  uint32_t pipelineBinaryCount;
  VkPipelineBinaryKHR *pPipelineBinaries;
} VkPipelineBinaryHandlesInfoKHR;

typedef VkResult(VKAPI_PTR *PFN_vkCreatePipelineBinariesKHR)(VkDevice, const VkPipelineBinaryCreateInfoKHR *,
                                                             const VkAllocationCallbacks *,
                                                             VkPipelineBinaryHandlesInfoKHR *);
typedef void(VKAPI_PTR *PFN_vkDestroyPipelineBinaryKHR)(VkDevice, VkPipelineBinaryKHR, const VkAllocationCallbacks *);
typedef VkResult(VKAPI_PTR *PFN_vkGetPipelineKeyKHR)(VkDevice, const VkPipelineCreateInfoKHR *,
                                                     VkPipelineBinaryKeyKHR *);
typedef VkResult(VKAPI_PTR *PFN_vkGetPipelineBinaryDataKHR)(VkDevice, const VkPipelineBinaryDataInfoKHR *,
                                                            VkPipelineBinaryKeyKHR *, size_t *, void *);
typedef VkResult(VKAPI_PTR *PFN_vkReleaseCapturedPipelineDataKHR)(VkDevice,
                                                                  const VkReleaseCapturedPipelineDataInfoKHR *,
                                                                  const VkAllocationCallbacks *);
#endif

#ifndef VK_NV_cooperative_matrix2 /* 1.3.300 */
#define VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_2_FEATURES_NV ((VkStructureType)1000593000)
#define VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_FLEXIBLE_DIMENSIONS_PROPERTIES_NV ((VkStructureType)1000593001)
#define VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_2_PROPERTIES_NV ((VkStructureType)1000593002)

typedef struct VkCooperativeMatrixFlexibleDimensionsPropertiesNV {
  VkStructureType sType;
  void *pNext;
  uint32_t MGranularity, NGranularity, KGranularity;
  VkComponentTypeKHR AType, BType, CType, ResultType;
  VkBool32 saturatingAccumulation;
  VkScopeKHR scope;
  uint32_t workgroupInvocations;
} VkCooperativeMatrixFlexibleDimensionsPropertiesNV;

typedef struct VkPhysicalDeviceCooperativeMatrix2FeaturesNV {
  VkStructureType sType;
  void *pNext;
  VkBool32 cooperativeMatrixWorkgroupScope, cooperativeMatrixFlexibleDimensions, cooperativeMatrixReductions,
      cooperativeMatrixConversions;
  VkBool32 cooperativeMatrixPerElementOperations, cooperativeMatrixTensorAddressing, cooperativeMatrixBlockLoads;
} VkPhysicalDeviceCooperativeMatrix2FeaturesNV;

typedef struct VkPhysicalDeviceCooperativeMatrix2PropertiesNV {
  VkStructureType sType;
  void *pNext;
  uint32_t cooperativeMatrixWorkgroupScopeMaxWorkgroupSize, cooperativeMatrixFlexibleDimensionsMaxDimension;
  uint32_t cooperativeMatrixWorkgroupScopeReservedSharedMemory;
} VkPhysicalDeviceCooperativeMatrix2PropertiesNV;

typedef VkResult(VKAPI_PTR *PFN_vkGetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV)(
    VkPhysicalDevice, uint32_t *, VkCooperativeMatrixFlexibleDimensionsPropertiesNV *);
#endif

#ifndef VK_ARM_shader_core_builtins /* 1.3.232 */
#define VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CORE_BUILTINS_PROPERTIES_ARM ((VkStructureType)1000497001)

typedef struct VkPhysicalDeviceShaderCoreBuiltinsPropertiesARM {
  VkStructureType sType;
  void *pNext;
  uint64_t shaderCoreMask;
  uint32_t shaderCoreCount, shaderWarpsPerCore;
} VkPhysicalDeviceShaderCoreBuiltinsPropertiesARM;
#endif

#ifndef VK_KHR_shader_bfloat16 /* 1.4.311 */
#define VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_BFLOAT16_FEATURES_KHR ((VkStructureType)1000141000)
#define VK_COMPONENT_TYPE_BFLOAT16_KHR ((VkComponentTypeKHR)1000141000)

typedef struct VkPhysicalDeviceShaderBfloat16FeaturesKHR {
  VkStructureType sType;
  void *pNext;
  VkBool32 shaderBFloat16Type, shaderBFloat16DotProduct, shaderBFloat16CooperativeMatrix;
} VkPhysicalDeviceShaderBfloat16FeaturesKHR;
#endif

#ifndef VK_EXT_shader_float8 /* 1.4.317 */
#define VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT8_FEATURES_EXT ((VkStructureType)1000567000)
#define VK_COMPONENT_TYPE_FLOAT8_E4M3_EXT ((VkComponentTypeKHR)1000491002)
#define VK_COMPONENT_TYPE_FLOAT8_E5M2_EXT ((VkComponentTypeKHR)1000491003)

typedef struct VkPhysicalDeviceShaderFloat8FeaturesEXT {
  VkStructureType sType;
  void *pNext;
  VkBool32 shaderFloat8, shaderFloat8CooperativeMatrix;
} VkPhysicalDeviceShaderFloat8FeaturesEXT;
#endif
#endif
