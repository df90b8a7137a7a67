/* backends/vulkan/volk.c - volk's implementation: the loader is opened at run time, never linked. */
#define VOLK_IMPLEMENTATION
#include "backends/vulkan/vk.h"
