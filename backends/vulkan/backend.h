/* backends/vulkan/backend.h - the Vulkan backend's table; named only by the registry. */
#ifndef BACKENDS_VULKAN_BACKEND_H
#define BACKENDS_VULKAN_BACKEND_H
#include "core/device/backend.h"

extern const be_vtable vulkan_backend;

#endif
