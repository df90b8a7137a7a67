/* backends/vulkan/vulkan.c - the backend's table. */
#include "backends/vulkan/backend.h"
#include "backends/vulkan/vk.h"
#include "core/emit/spirv/caps.h"

/* "vulkan:FILE.json": recorded capabilities, so that kernels can be made and looked at for a device that is not here.
 */
static tsr_status arch_caps(const char *arch, tsr_caps *out) { return spirv_caps_read(&al_default, arch, out); }

const be_vtable vulkan_backend = {
    .abi = BE_ABI,
    .name = "vulkan",
    .dialect = DIALECT_SPIRV,
    .instance_create = vk_instance_create,
    .instance_import = vk_instance_import,
    .instance_destroy = vk_instance_destroy,
    .n_devices = vk_n_devices,
    .device_info = vk_device_info,
    .device_open = vk_device_open,
    .device_close = vk_device_close,
    .arch_caps = arch_caps,
    .buffer_create = vk_buffer_create,
    .buffer_import = vk_buffer_import,
    .buffer_destroy = vk_buffer_destroy,
    .buffer_map = vk_buffer_map,
    .stream_create = vk_stream_create,
    .stream_destroy = vk_stream_destroy,
    .stream_sync = vk_stream_sync,
    .event_create = vk_event_create,
    .event_destroy = vk_event_destroy,
    .event_record = vk_event_record,
    .stream_wait = vk_stream_wait,
    .event_sync = vk_event_sync,
    .event_elapsed = vk_event_elapsed,
    .external_wait = vk_external_wait,
    .external_signal = vk_external_signal,
    .write = vk_write,
    .read = vk_read,
    .copy = vk_copy,
    .fill = vk_fill,
    .module_create = vk_module_create,
    .module_destroy = vk_module_destroy,
    .kernel_stats = vk_kernel_stats,
    .program_create = vk_program_create,
    .program_destroy = vk_program_destroy,
    .program_run = vk_program_run,
    .warm = vk_program_warm,
    .sharing = &vk_sharing,
    .probe_main = vk_probe_main,
    .copies_wait = vk_copies_wait,
};
