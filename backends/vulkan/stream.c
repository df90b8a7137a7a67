/* backends/vulkan/stream.c - streams and events on timeline semaphores; see vk.h. */
#include <string.h>

#include "backends/vulkan/vk.h"

static const VkPipelineStageFlags2 work = VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT;

static VkResult make_timeline(be_device *d, VkSemaphore *out) {
  VkSemaphoreTypeCreateInfo type = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                    .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
  VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &type};
  return d->fn.vkCreateSemaphore(d->vk, &info, NULL, out);
}

static tsr_status take_timeline(be_device *d, vk_timeline **out) {
  pthread_mutex_lock(&d->mutex);
  vk_timeline *t = *out = d->idle;
  if (t) d->idle = t->next;
  pthread_mutex_unlock(&d->mutex);
  if (t) return NULL;
  if (!(t = al_new(d->env->al, vk_timeline))) return st_oom();
  tsr_status st = vk_status(d, make_timeline(d, &t->semaphore), "vkCreateSemaphore");
  if (st) al_delete(d->env->al, t);
  else *out = t;
  return st;
}

static void keep_timeline(be_device *d, vk_timeline *t, uint64_t value) {
  t->value = value;
  pthread_mutex_lock(&d->mutex);
  t->next = d->idle;
  d->idle = t;
  pthread_mutex_unlock(&d->mutex);
}

void vk_timelines_destroy(be_device *d) {
  for (vk_timeline *t = d->idle, *next; t; t = next) {
    next = t->next;
    d->fn.vkDestroySemaphore(d->vk, t->semaphore, NULL);
    al_delete(d->env->al, t);
  }
}

tsr_status vk_stream_create(be_device *d, int priority, be_stream **out) {
  *out = NULL;
  if (atomic_load(&d->lost)) return vk_lost_status(d);
  be_stream *s = al_new(d->env->al, be_stream);
  if (!s) return st_oom();
  s->d = d;
  VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                  .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
                                  .queueFamilyIndex = d->family};
  tsr_status st = take_timeline(d, &s->kept);
  if (!st) s->timeline = s->kept->semaphore, s->submitted = s->kept->value;
  if (!st) st = vk_status(d, d->fn.vkCreateCommandPool(d->vk, &pool, NULL, &s->pool), "vkCreateCommandPool");
  if (st) vk_stream_destroy(s);
  else *out = s;
  return st;
}

void vk_stream_destroy(be_stream *s) {
  if (!s) return;
  be_device *d = s->d;
  if (s->timeline) vk_drain(d, s->timeline, s->submitted);
  for (int i = 0; i < 2; i++) vk_buffer_destroy(s->staging[i]);
  if (s->pool) d->fn.vkDestroyCommandPool(d->vk, s->pool, NULL);
  if (s->kept) keep_timeline(d, s->kept, s->submitted);
  al_delete(d->env->al, s);
}

void vk_drain(be_device *d, VkSemaphore sem, uint64_t value) {
  const uint64_t patience = 1000000000;
  VkSemaphoreWaitInfo info = {
      .sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO, .semaphoreCount = 1, .pSemaphores = &sem, .pValues = &value};
  if (value)
    tsr_status_free(vk_status(d, d->fn.vkWaitSemaphores(d->vk, &info, atomic_load(&d->lost) ? patience : UINT64_MAX),
                              "vkWaitSemaphores"));
}

static tsr_status wait_for(be_device *d, VkSemaphore sem, uint64_t value, int64_t timeout_ns) {
  VkSemaphoreWaitInfo info = {
      .sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO, .semaphoreCount = 1, .pSemaphores = &sem, .pValues = &value};
  if (atomic_load(&d->lost)) return vk_lost_status(d);
  VkResult r = d->fn.vkWaitSemaphores(d->vk, &info, timeout_ns < 0 ? UINT64_MAX : (uint64_t)timeout_ns);
  if (r == VK_TIMEOUT)
    return st_make(d->env->al, TSR_TIMEOUT, ST_WHERE("vulkan", "sync", NULL), "the device did not finish in %.3f s",
                   (double)timeout_ns * 1e-9);
  return vk_status(d, r, "vkWaitSemaphores");
}

tsr_status vk_stream_reach(be_stream *s, uint64_t value, int64_t timeout_ns) {
  return value ? wait_for(s->d, s->timeline, value, timeout_ns) : NULL;
}

tsr_status vk_stream_sync(be_stream *s, int64_t timeout_ns) {
  if (s->n_waits || s->n_signals) TSR_TRY(vk_stream_submit(s, NULL, 0));
  if (atomic_load(&s->d->lost)) return vk_lost_status(s->d);
  return vk_stream_reach(s, s->submitted, timeout_ns);
}

/* ---- command buffers ---- */

void vk_memory_barrier(be_device *d, VkCommandBuffer cmd, VkPipelineStageFlags2 from, VkPipelineStageFlags2 to) {
  bool host = to & VK_PIPELINE_STAGE_2_HOST_BIT;
  VkMemoryBarrier2 b = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2,
                        .srcStageMask = from,
                        .srcAccessMask = VK_ACCESS_2_MEMORY_WRITE_BIT,
                        .dstStageMask = to,
                        .dstAccessMask = host ? VK_ACCESS_2_HOST_READ_BIT
                                              : VK_ACCESS_2_MEMORY_READ_BIT | VK_ACCESS_2_MEMORY_WRITE_BIT};
  VkDependencyInfo info = {.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO, .memoryBarrierCount = 1, .pMemoryBarriers = &b};
  d->fn.vkCmdPipelineBarrier2(cmd, &info);
}

/* A free entry of the ring: allocated at first use, waited for when the ring has come round. */
static tsr_status ring_entry(be_stream *s, int *out) {
  int i = s->next;
  s->next = (i + 1) % VK_RING;
  if (!s->ring[i].cmd) {
    VkCommandBufferAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                        .commandPool = s->pool,
                                        .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                        .commandBufferCount = 1};
    VK_TRY(s->d, s->d->fn.vkAllocateCommandBuffers(s->d->vk, &info, &s->ring[i].cmd));
  } else {
    TSR_TRY(vk_stream_reach(s, s->ring[i].value, -1));
  }
  *out = i;
  return NULL;
}

tsr_status vk_stream_begin(be_stream *s, VkCommandBuffer *out) {
  be_device *d = s->d;
  int i;
  *out = NULL;
  if (atomic_load(&d->lost)) return vk_lost_status(d);
  TSR_TRY(ring_entry(s, &i));
  VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                   .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
  VK_TRY(d, d->fn.vkBeginCommandBuffer(s->ring[i].cmd, &info));
  s->ring[i].value = s->submitted + 1;
  *out = s->ring[i].cmd;
  vk_memory_barrier(d, *out, work, work);
  return NULL;
}

tsr_status vk_end(be_stream *s, VkCommandBuffer cmd) {
  vk_memory_barrier(s->d, cmd, work, VK_PIPELINE_STAGE_2_HOST_BIT);
  return vk_status(s->d, s->d->fn.vkEndCommandBuffer(cmd), "vkEndCommandBuffer");
}

tsr_status vk_stream_submit(be_stream *s, const VkCommandBuffer *cmds, int n) {
  be_device *d = s->d;
  VkCommandBufferSubmitInfo c[16];
  VkSemaphoreSubmitInfo waits[VK_MAX_WAITS], signals[VK_MAX_WAITS + 1];
  if (atomic_load(&d->lost)) return vk_lost_status(d);
  for (int i = 0; i < n && i < 16; i++)
    c[i] = (VkCommandBufferSubmitInfo){.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO, .commandBuffer = cmds[i]};
  for (int i = 0; i < s->n_waits; i++)
    waits[i] = (VkSemaphoreSubmitInfo){.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO,
                                       .semaphore = s->waits[i].semaphore,
                                       .value = s->waits[i].value,
                                       .stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT};
  for (int i = 0; i < s->n_signals; i++)
    signals[i] = (VkSemaphoreSubmitInfo){.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO,
                                         .semaphore = s->signals[i].semaphore,
                                         .value = s->signals[i].value,
                                         .stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT};
  signals[s->n_signals] = (VkSemaphoreSubmitInfo){.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO,
                                                  .semaphore = s->timeline,
                                                  .value = s->submitted + 1,
                                                  .stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT};
  VkSubmitInfo2 info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2,
                        .waitSemaphoreInfoCount = (uint32_t)s->n_waits,
                        .pWaitSemaphoreInfos = waits,
                        .commandBufferInfoCount = (uint32_t)n,
                        .pCommandBufferInfos = c,
                        .signalSemaphoreInfoCount = (uint32_t)s->n_signals + 1,
                        .pSignalSemaphoreInfos = signals};
  vk_queue_lock(d);
  VkResult r =
      vk_fault(&d->fault_lost) ? VK_ERROR_DEVICE_LOST : d->fn.vkQueueSubmit2(d->queue, 1, &info, VK_NULL_HANDLE);
  vk_queue_unlock(d);
  VK_TRY(d, r);
  s->submitted++;
  s->n_waits = s->n_signals = 0;
  return NULL;
}

/* ---- events ---- */

tsr_status vk_event_create(be_device *d, be_event **out) {
  *out = NULL;
  be_event *e = al_new(d->env->al, be_event);
  if (!e) return st_oom();
  e->d = d;
  VkQueryPoolCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO, .queryType = VK_QUERY_TYPE_TIMESTAMP, .queryCount = 1};
  tsr_status st = d->limits.timestamp_bits
                      ? vk_status(d, d->fn.vkCreateQueryPool(d->vk, &info, NULL, &e->query), "vkCreateQueryPool")
                      : NULL;
  if (st) vk_event_destroy(e);
  else *out = e;
  return st;
}

void vk_event_destroy(be_event *e) {
  if (!e) return;
  if (e->value) vk_drain(e->d, e->semaphore, e->value); /* the query may still be written */
  if (e->query) e->d->fn.vkDestroyQueryPool(e->d->vk, e->query, NULL);
  al_delete(e->d->env->al, e);
}

tsr_status vk_event_record(be_stream *s, be_event *e) {
  be_device *d = s->d;
  VkCommandBuffer cmd;
  TSR_TRY(vk_stream_begin(s, &cmd));
  if (e->query) {
    d->fn.vkCmdResetQueryPool(cmd, e->query, 0, 1);
    d->fn.vkCmdWriteTimestamp2(cmd, VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT, e->query, 0);
  }
  TSR_TRY(vk_end(s, cmd));
  TSR_TRY(vk_stream_submit(s, &cmd, 1));
  e->semaphore = s->timeline;
  e->value = s->submitted;
  return NULL;
}

static tsr_status add_wait(be_stream *s, vk_wait w) {
  if (s->n_waits == VK_MAX_WAITS) TSR_TRY(vk_stream_submit(s, NULL, 0));
  s->waits[s->n_waits++] = w;
  return NULL;
}

tsr_status vk_stream_wait(be_stream *s, be_event *e) {
  return e->value ? add_wait(s, (vk_wait){e->semaphore, e->value}) : NULL;
}
tsr_status vk_event_sync(be_event *e) { return e->value ? wait_for(e->d, e->semaphore, e->value, -1) : NULL; }

tsr_status vk_event_elapsed(be_event *from, be_event *to, double *ns) {
  uint64_t t[2];
  be_device *d = from->d;
  if (!from->query || !to->query || !from->value || !to->value)
    return st_make(d->env->al, TSR_UNSUPPORTED, ST_WHERE("vulkan", "event", NULL),
                   "the queue has no timestamps, or an event was never recorded");
  for (int i = 0; i < 2; i++)
    VK_TRY(d, d->fn.vkGetQueryPoolResults(d->vk, i ? to->query : from->query, 0, 1, 8, &t[i], 8,
                                          VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT));
  *ns = (double)vk_ticks(t[0], t[1], d->limits.timestamp_bits) * (double)d->limits.timestamp_period;
  return NULL;
}

tsr_status vk_external_wait(be_stream *s, const void *desc) {
  const tsr_vulkan_semaphore *v = desc;
  return add_wait(s, (vk_wait){(VkSemaphore)v->semaphore, v->value});
}

tsr_status vk_external_signal(be_stream *s, const void *desc) {
  const tsr_vulkan_semaphore *v = desc;
  s->signals[s->n_signals++] = (vk_wait){(VkSemaphore)v->semaphore, v->value};
  return vk_stream_submit(s, NULL, 0);
}
