/* backends/vulkan/queues.c - which of a driver's queues are used, and what is told of them and of the steps that
 * failed. */
#include <stdio.h>

#include "backends/vulkan/reported.h"

static uint32_t families(const be_instance *in, VkPhysicalDevice p, VkQueueFamilyProperties q[VK_MAX_FAMILIES]) {
  uint32_t n = VK_MAX_FAMILIES;
  in->fn.vkGetPhysicalDeviceQueueFamilyProperties(p, &n, q);
  return n;
}

bool vk_find_compute(const be_instance *in, VkPhysicalDevice p, uint32_t *out, uint32_t *bits) {
  VkQueueFamilyProperties q[VK_MAX_FAMILIES];
  const uint32_t n = families(in, p, q);
  bool found = false;
  for (uint32_t i = 0; i < n; i++) {
    bool compute = q[i].queueFlags & VK_QUEUE_COMPUTE_BIT, graphics = q[i].queueFlags & VK_QUEUE_GRAPHICS_BIT;
    if (!compute || (found && graphics)) continue;
    *out = i;
    *bits = q[i].timestampValidBits;
    found = true;
    if (!graphics) break;
  }
  return found;
}

bool vk_find_transfers(const be_instance *in, VkPhysicalDevice p, const vk_features *f, uint32_t *out, uint32_t *bits) {
  VkQueueFamilyProperties q[VK_MAX_FAMILIES];
  if (!f->timeline || vk_hides("transfers")) return false;
  const uint32_t n = families(in, p, q);
  for (uint32_t i = 0; i < n; i++) {
    VkQueueFlags flags = q[i].queueFlags;
    if (!(flags & VK_QUEUE_TRANSFER_BIT) || flags & (VK_QUEUE_COMPUTE_BIT | VK_QUEUE_GRAPHICS_BIT)) continue;
    *out = i;
    *bits = q[i].timestampValidBits;
    return true;
  }
  return false;
}

static void describe_queues(const be_instance *in, VkPhysicalDevice p, const vk_features *f, be_device_info *info) {
  VkQueueFamilyProperties q[VK_MAX_FAMILIES];
  uint32_t compute = 0, transfer = 0, bits;
  const bool computes = vk_find_compute(in, p, &compute, &bits), copies = vk_find_transfers(in, p, f, &transfer, &bits);
  const uint32_t n = families(in, p, q);
  info->n_queues = n < BE_MOST_QUEUES ? (int)n : BE_MOST_QUEUES;
  for (int i = 0; i < info->n_queues; i++) {
    VkQueueFlags flags = q[i].queueFlags;
    info->queues[i] =
        (be_queue_family){.count = (int)q[i].queueCount,
                          .timestamp_bits = (int)q[i].timestampValidBits,
                          .compute = flags & VK_QUEUE_COMPUTE_BIT,
                          .graphics = flags & VK_QUEUE_GRAPHICS_BIT,
                          /* queues for either of these transfer too, whether their family says so or not */
                          .transfer = flags & (VK_QUEUE_TRANSFER_BIT | VK_QUEUE_COMPUTE_BIT | VK_QUEUE_GRAPHICS_BIT),
                          .used_for = computes && (uint32_t)i == compute  ? "compute"
                                      : copies && (uint32_t)i == transfer ? "transfer"
                                                                          : ""};
  }
}

void vk_describe(be_instance *in, VkPhysicalDevice p, const vk_features *f, const vk_limits *l, be_device_info *info) {
  const struct {
    const char *step, *instead;
    bool concerned;
  } lesser[] = {
      /* steps without which a device is used all the same */
      {"matrices", "no cooperative matrices", f->coopmat},
      {"words",
       f->i64 ? "64-bit integers are never put together of two words"
              : "descriptors for buffer addresses, which would be put together of two words",
       f->i64 || !f->bda},
      {"clock", "launches are timed by timestamps", f->clock},
      {"binaries", "the driver's pipeline cache", f->has_binaries},
  };
  _Static_assert(sizeof lesser / sizeof *lesser <= BE_MOST_DEMOTIONS, "room for all of them");
  describe_queues(in, p, f, info);
  info->n_demotions = 0;
  for (size_t i = 0; i < sizeof lesser / sizeof *lesser; i++) {
    be_demotion *m = &info->demotions[info->n_demotions];
    if (!lesser[i].concerned || !vk_is_bad(&in->probe, &l->id, lesser[i].step, m->reason)) continue;
    m->step = lesser[i].step, m->instead = lesser[i].instead;
    info->n_demotions++;
  }
}
