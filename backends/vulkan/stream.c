/* backends/vulkan/stream.c - streams and events on timelines; see vk.h. */
#include <string.h>

#include "backends/vulkan/vk.h"

/* What a queue does. */
static VkPipelineStageFlags2 work(vk_queue queue) {
  return VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT | (queue == VK_COMPUTE ? VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT : 0);
}

static tsr_status need_pool(be_stream *s, vk_queue queue) {
  be_device *d = s->d;
  if (s->pool[queue]) return NULL;
  VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                  .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
                                  .queueFamilyIndex = d->family[queue]};
  return vk_status(d, d->fn.vkCreateCommandPool(d->vk, &pool, NULL, &s->pool[queue]), "vkCreateCommandPool");
}

tsr_status vk_stream_create(be_device *d, int priority, be_stream **out) {
  *out = NULL;
  if (atomic_load(&d->lost)) return vk_lost_status(d);
  be_stream *s = al_new(d->env->al, be_stream);
  if (!s) return st_oom();
  s->d = d;
  tsr_status st = vk_timeline_take(d, &s->timeline);
  if (!st) s->submitted = s->timeline->value;
  if (d->queue[VK_TRANSFER]) s->on = VK_TRANSFER; /* an event at its beginning is not behind other streams' kernels */
  if (!st) st = need_pool(s, VK_COMPUTE);
  if (st) vk_stream_destroy(s);
  else *out = s;
  return st;
}

void vk_stream_destroy(be_stream *s) {
  if (!s) return;
  be_device *d = s->d;
  vk_drain(d, s->timeline, s->submitted);
  vk_once_destroy(s);
  for (int i = 0; i < 2; i++) vk_buffer_destroy(s->staging[i]);
  for (int i = 0; i < VK_QUEUES; i++)
    if (s->pool[i]) d->fn.vkDestroyCommandPool(d->vk, s->pool[i], NULL);
  if (s->timeline) vk_timeline_keep(d, s->timeline, s->submitted);
  al_delete(d->env->al, s);
}

tsr_status vk_stream_reach(be_stream *s, uint64_t value, int64_t timeout_ns) {
  return value ? vk_timeline_wait(s->d, s->timeline, value, timeout_ns) : NULL;
}

tsr_status vk_stream_sync(be_stream *s, int64_t timeout_ns) {
  if (s->n_waits || s->n_signals) TSR_TRY(vk_stream_submit(s, NULL, 0));
  if (atomic_load(&s->d->lost)) return vk_lost_status(s->d);
  return vk_stream_reach(s, s->submitted, timeout_ns);
}

/* ---- command buffers ---- */

/* A free entry of the ring: allocated at first use, waited for when the ring has come round. */
static tsr_status ring_entry(be_stream *s, vk_queue queue, int *out) {
  int i = s->next;
  TSR_TRY(need_pool(s, queue));
  s->next = (i + 1) % VK_RING;
  if (s->ring[i].value) TSR_TRY(vk_stream_reach(s, s->ring[i].value, -1));
  if (!s->ring[i].cmd[queue]) {
    VkCommandBufferAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                        .commandPool = s->pool[queue],
                                        .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                        .commandBufferCount = 1};
    VK_TRY(s->d, s->d->fn.vkAllocateCommandBuffers(s->d->vk, &info, &s->ring[i].cmd[queue]));
  }
  *out = i;
  return NULL;
}

tsr_status vk_stream_begin_for(be_stream *s, vk_queue queue, VkCommandBuffer *out) {
  be_device *d = s->d;
  int i;
  *out = NULL;
  if (atomic_load(&d->lost)) return vk_lost_status(d);
  TSR_TRY(ring_entry(s, queue, &i));
  VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                   .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
  VK_TRY(d, d->fn.vkBeginCommandBuffer(s->ring[i].cmd[queue], &info));
  s->ring[i].value = s->submitted + 1;
  *out = s->ring[i].cmd[queue];
  vk_memory_barrier(d, *out, work(queue), work(queue));
  return NULL;
}

tsr_status vk_end_for(be_stream *s, vk_queue queue, VkCommandBuffer cmd) {
  vk_memory_barrier(s->d, cmd, work(queue), VK_PIPELINE_STAGE_2_HOST_BIT);
  return vk_status(s->d, s->d->fn.vkEndCommandBuffer(cmd), "vkEndCommandBuffer");
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
  vk_drain(e->d, e->timeline, e->value); /* the query may still be written */
  if (e->query) e->d->fn.vkDestroyQueryPool(e->d->vk, e->query, NULL);
  al_delete(e->d->env->al, e);
}

tsr_status vk_event_sync(be_event *e) { return e->value ? vk_timeline_wait(e->d, e->timeline, e->value, -1) : NULL; }

/* Behind a copy on the queue for transfers the event stands there too: on the other one it would wait for other
 * streams' kernels, and tell their time. That queue has no command that resets a query. */
static vk_queue queue_of_event(const be_stream *s, const be_event *e) {
  const be_device *d = s->d;
  const bool stamps = d->features.query_reset && d->limits.transfer_bits == d->limits.timestamp_bits;
  return s->on == VK_TRANSFER && (stamps || !e->query) ? VK_TRANSFER : VK_COMPUTE;
}

tsr_status vk_event_record(be_stream *s, be_event *e) {
  be_device *d = s->d;
  VkCommandBuffer cmd;
  const vk_queue queue = queue_of_event(s, e);
  if (queue == VK_TRANSFER && e->query) {
    TSR_TRY(vk_event_sync(e)); /* of the time before */
    d->fn.vkResetQueryPool(d->vk, e->query, 0, 1);
  }
  TSR_TRY(vk_stream_begin_for(s, queue, &cmd));
  if (e->query) {
    if (queue == VK_COMPUTE) d->fn.vkCmdResetQueryPool(cmd, e->query, 0, 1);
    vk_timestamp(d, cmd, e->query, 0);
  }
  TSR_TRY(vk_end_for(s, queue, cmd));
  TSR_TRY(vk_stream_submit_to(s, queue, &cmd, 1));
  e->timeline = s->timeline;
  e->value = s->submitted;
  return NULL;
}

static tsr_status add_wait(be_stream *s, vk_wait w) {
  if (s->n_waits == VK_MAX_WAITS) TSR_TRY(vk_stream_submit(s, NULL, 0));
  s->waits[s->n_waits++] = w;
  return NULL;
}

/* Without semaphores there is nothing to add: the event was submitted before, to the same queue, and every submission
 * begins with a barrier after all before it. */
tsr_status vk_stream_wait(be_stream *s, be_event *e) {
  if (!e->value || !e->timeline->semaphore) return NULL;
  return add_wait(s, (vk_wait){e->timeline->semaphore, e->value});
}

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

static tsr_status needs_timelines(const be_device *d) {
  if (d->features.timeline) return NULL;
  return st_make(d->env->al, TSR_UNSUPPORTED, ST_WHERE("vulkan", "semaphore", NULL),
                 "the device has no timelineSemaphore");
}

tsr_status vk_external_wait(be_stream *s, const void *desc) {
  const tsr_vulkan_semaphore *v = desc;
  TSR_TRY(needs_timelines(s->d));
  return add_wait(s, (vk_wait){(VkSemaphore)v->semaphore, v->value});
}

tsr_status vk_external_signal(be_stream *s, const void *desc) {
  const tsr_vulkan_semaphore *v = desc;
  TSR_TRY(needs_timelines(s->d));
  s->signals[s->n_signals++] = (vk_wait){(VkSemaphore)v->semaphore, v->value};
  return vk_stream_submit(s, NULL, 0);
}
