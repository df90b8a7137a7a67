/* backends/vulkan/submit.c - barriers, timestamps and submissions, in the words of synchronization2 or, where the
 * device lacks it, of Vulkan 1.0: the stages and accesses that are used have the same bits in both. */
#include "backends/vulkan/vk.h"

void vk_memory_barrier(be_device *d, VkCommandBuffer cmd, VkPipelineStageFlags2 from, VkPipelineStageFlags2 to) {
  bool host = to & VK_PIPELINE_STAGE_2_HOST_BIT;
  VkMemoryBarrier2 b = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2,
                        .srcStageMask = from,
                        .srcAccessMask = VK_ACCESS_2_MEMORY_WRITE_BIT,
                        .dstStageMask = to,
                        .dstAccessMask = host ? VK_ACCESS_2_HOST_READ_BIT
                                              : VK_ACCESS_2_MEMORY_READ_BIT | VK_ACCESS_2_MEMORY_WRITE_BIT};
  VkDependencyInfo info = {.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO, .memoryBarrierCount = 1, .pMemoryBarriers = &b};
  if (d->features.sync2) {
    d->fn.vkCmdPipelineBarrier2(cmd, &info);
    return;
  }
  VkMemoryBarrier old = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                         .srcAccessMask = (VkAccessFlags)b.srcAccessMask,
                         .dstAccessMask = (VkAccessFlags)b.dstAccessMask};
  d->fn.vkCmdPipelineBarrier(cmd, (VkPipelineStageFlags)from, (VkPipelineStageFlags)to, 0, 1, &old, 0, NULL, 0, NULL);
}

void vk_timestamp(be_device *d, VkCommandBuffer cmd, VkQueryPool queries, uint32_t i) {
  if (d->features.sync2) d->fn.vkCmdWriteTimestamp2(cmd, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT, queries, i);
  else d->fn.vkCmdWriteTimestamp(cmd, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, queries, i);
}

/* The stream's own signal is the last of `signals`, where it has a timeline semaphore. */
typedef struct submission {
  const VkCommandBuffer *cmds;
  const vk_wait *waits, *signals;
  int n_cmds, n_waits, n_signals;
  VkQueue queue;
  VkFence fence;
} submission;

static void fill(VkSemaphoreSubmitInfo *to, const vk_wait *from, int n) {
  for (int i = 0; i < n; i++)
    to[i] = (VkSemaphoreSubmitInfo){.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO,
                                    .semaphore = from[i].semaphore,
                                    .value = from[i].value,
                                    .stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT};
}

static VkResult submit2(be_device *d, const submission *x) {
  VkCommandBufferSubmitInfo c[VK_MAX_COMMANDS];
  VkSemaphoreSubmitInfo waits[VK_MAX_WAITS + 1], signals[VK_MAX_WAITS + 1];
  for (int i = 0; i < x->n_cmds; i++)
    c[i] = (VkCommandBufferSubmitInfo){.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO,
                                       .commandBuffer = x->cmds[i]};
  fill(waits, x->waits, x->n_waits);
  fill(signals, x->signals, x->n_signals);
  VkSubmitInfo2 info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2,
                        .waitSemaphoreInfoCount = (uint32_t)x->n_waits,
                        .pWaitSemaphoreInfos = waits,
                        .commandBufferInfoCount = (uint32_t)x->n_cmds,
                        .pCommandBufferInfos = c,
                        .signalSemaphoreInfoCount = (uint32_t)x->n_signals,
                        .pSignalSemaphoreInfos = signals};
  return d->fn.vkQueueSubmit2(x->queue, 1, &info, x->fence);
}

static VkResult submit1(be_device *d, const submission *x) {
  VkSemaphore waits[VK_MAX_WAITS + 1], signals[VK_MAX_WAITS + 1];
  uint64_t wait_values[VK_MAX_WAITS + 1], signal_values[VK_MAX_WAITS + 1];
  VkPipelineStageFlags stages[VK_MAX_WAITS + 1];
  for (int i = 0; i < x->n_waits; i++)
    waits[i] = x->waits[i].semaphore, wait_values[i] = x->waits[i].value,
    stages[i] = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
  for (int i = 0; i < x->n_signals; i++)
    signals[i] = x->signals[i].semaphore, signal_values[i] = x->signals[i].value;
  VkTimelineSemaphoreSubmitInfo values = {.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
                                          .waitSemaphoreValueCount = (uint32_t)x->n_waits,
                                          .pWaitSemaphoreValues = wait_values,
                                          .signalSemaphoreValueCount = (uint32_t)x->n_signals,
                                          .pSignalSemaphoreValues = signal_values};
  VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                       .pNext = d->features.timeline ? &values : NULL,
                       .waitSemaphoreCount = (uint32_t)x->n_waits,
                       .pWaitSemaphores = waits,
                       .pWaitDstStageMask = stages,
                       .commandBufferCount = (uint32_t)x->n_cmds,
                       .pCommandBuffers = x->cmds,
                       .signalSemaphoreCount = (uint32_t)x->n_signals,
                       .pSignalSemaphores = signals};
  return d->fn.vkQueueSubmit(x->queue, 1, &info, x->fence);
}

tsr_status vk_stream_submit_to(be_stream *s, vk_queue queue, const VkCommandBuffer *cmds, int n) {
  be_device *d = s->d;
  uint64_t value = s->submitted + 1;
  VkFence fence;
  if (atomic_load(&d->lost)) return vk_lost_status(d);
  TSR_TRY(vk_timeline_fence(d, s->timeline, value, &fence));
  int n_signals = s->n_signals;
  if (d->features.timeline) s->signals[n_signals++] = (vk_wait){s->timeline->semaphore, value};
  int n_waits = s->n_waits;
  if (queue != s->on) s->waits[n_waits++] = (vk_wait){s->timeline->semaphore, s->submitted};
  submission x = {.cmds = cmds, .waits = s->waits, .signals = s->signals, .n_waits = n_waits, .n_signals = n_signals,
                  .n_cmds = n < VK_MAX_COMMANDS ? n : VK_MAX_COMMANDS, .queue = d->queue[queue], .fence = fence};
  vk_queue_lock(d);
  VkResult r = vk_fault(&d->fault_lost) ? VK_ERROR_DEVICE_LOST : d->features.sync2 ? submit2(d, &x) : submit1(d, &x);
  vk_queue_unlock(d);
  VK_TRY(d, r);
  vk_timeline_submitted(s->timeline, value);
  s->submitted = value;
  s->on = queue;
  s->n_waits = s->n_signals = 0;
  return NULL;
}
