/* backends/vulkan/stats.c - what the driver tells of a kernel it compiled (VK_KHR_pipeline_executable_properties). The
 * names of the figures are the driver's own: each row below is one that some driver uses. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "backends/vulkan/vk.h"

typedef enum figure { REGISTERS, SPILL_BYTES, SPILL_WORDS, SHARED, SCRATCH } figure;

static const struct { const char *name; figure what; } names[] = {
    {"Register Count", REGISTERS}, {"VGPRs", REGISTERS}, {"Max live registers", REGISTERS}, {"Registers", REGISTERS},
    {"Work registers", REGISTERS},
    {"Spilled VGPRs", SPILL_WORDS}, {"Spill Count", SPILL_WORDS}, {"Spills", SPILL_WORDS}, {"Local Memory Size", SPILL_BYTES}, {"Stack Size", SCRATCH},
    {"Scratch size", SCRATCH}, {"Scratch Memory Size", SCRATCH}, {"LDS size", SHARED}, {"Shared Memory Size", SHARED}, {"Workgroup Memory Size", SHARED}};

bool vk_stats_add(be_kernel_stats *s, const char *name, double value) {
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (strcasecmp(names[i].name, name)) continue;
    int v = value < 0 || value > INT32_MAX / 4 ? -1 : (int)value;
    switch (names[i].what) {
    case REGISTERS: s->registers = v > s->registers ? v : s->registers; break;
    case SPILL_BYTES: s->spill_bytes = v; break;
    case SPILL_WORDS: s->spill_bytes = v < 0 ? -1 : 4 * v; break;
    case SHARED: s->shared_bytes = v; break;
    case SCRATCH: s->scratch_bytes = v; break;
    }
    return true;
  }
  return false;
}

static double number(const VkPipelineExecutableStatisticKHR *s) {
  switch (s->format) {
  case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_BOOL32_KHR: return s->value.b32;
  case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_INT64_KHR: return (double)s->value.i64;
  case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_UINT64_KHR: return (double)s->value.u64;
  default: return s->value.f64;
  }
}

tsr_status vk_kernel_stats(be_module *m, int kernel, be_kernel_stats *out) {
  be_device *d = m->d;
  VkPipelineExecutableStatisticKHR list[64];
  uint32_t n = 64;
  *out = (be_kernel_stats){.registers = -1,
                           .spill_bytes = -1,
                           .shared_bytes = (int)m->kernels[kernel].desc.shared_bytes,
                           .scratch_bytes = -1,
                           .occupancy = -1};
  if (!d->features.statistics) return NULL;
  kernel = m->kernels[kernel].twin;
  TSR_TRY(vk_pipelines(d, &(vk_need){m, kernel}, 1));
  for (uint32_t i = 0; i < n; i++)
    list[i] = (VkPipelineExecutableStatisticKHR){.sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_STATISTIC_KHR};
  VkPipelineExecutableInfoKHR which = {.sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INFO_KHR,
                                       .pipeline = m->kernels[kernel].pipeline};
  VkResult r = d->fn.vkGetPipelineExecutableStatisticsKHR(d->vk, &which, &n, list);
  if (r == VK_INCOMPLETE) r = VK_SUCCESS;
  VK_TRY(d, r);
  for (uint32_t i = 0; i < n; i++) vk_stats_add(out, list[i].name, number(&list[i]));
  return NULL;
}
