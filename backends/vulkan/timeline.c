/* backends/vulkan/timeline.c - how far the work of a stream has come, as a number that counts its submissions: a
 * timeline semaphore, or, where the device has none, a fence for each of the last VK_FENCES submissions. A fence's
 * submission and all before it on the queue have ended when it is signalled. */
#include "backends/vulkan/vk.h"

static VkResult make_semaphore(be_device *d, VkSemaphore *out) {
  VkSemaphoreTypeCreateInfo type = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                    .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
  VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &type};
  return d->fn.vkCreateSemaphore(d->vk, &info, NULL, out);
}

tsr_status vk_timeline_take(be_device *d, vk_timeline **out) {
  pthread_mutex_lock(&d->mutex);
  vk_timeline *t = *out = d->idle;
  if (t) d->idle = t->next;
  pthread_mutex_unlock(&d->mutex);
  if (t) return NULL;
  if (!(t = al_new(d->env->al, vk_timeline))) return st_oom();
  tsr_status st = d->features.timeline ? vk_status(d, make_semaphore(d, &t->semaphore), "vkCreateSemaphore") : NULL;
  if (st) {
    al_delete(d->env->al, t);
    return st;
  }
  pthread_mutex_init(&t->mutex, NULL);
  pthread_cond_init(&t->left, NULL);
  *out = t;
  return NULL;
}

void vk_timeline_keep(be_device *d, vk_timeline *t, uint64_t value) {
  t->value = value;
  pthread_mutex_lock(&d->mutex);
  t->next = d->idle;
  d->idle = t;
  pthread_mutex_unlock(&d->mutex);
}

void vk_timelines_destroy(be_device *d) {
  for (vk_timeline *t = d->idle, *next; t; t = next) {
    next = t->next;
    if (t->semaphore) d->fn.vkDestroySemaphore(d->vk, t->semaphore, NULL);
    for (int i = 0; i < VK_FENCES; i++)
      if (t->fences[i].fence) d->fn.vkDestroyFence(d->vk, t->fences[i].fence, NULL);
    pthread_cond_destroy(&t->left);
    pthread_mutex_destroy(&t->mutex);
    al_delete(d->env->al, t);
  }
}

/* A fence is reset for a later submission only when nobody waits for it any more. */
static VkResult wait_fence(be_device *d, vk_timeline *t, uint64_t value, uint64_t timeout_ns) {
  pthread_mutex_lock(&t->mutex);
  vk_fence *f = &t->fences[value % VK_FENCES];
  bool reached = value <= t->reached || f->value != value; /* another one's: this one was waited for before that */
  if (!reached) f->n_waiting++;
  pthread_mutex_unlock(&t->mutex);
  if (reached) return VK_SUCCESS;
  VkResult r = d->fn.vkWaitForFences(d->vk, 1, &f->fence, VK_TRUE, timeout_ns);
  pthread_mutex_lock(&t->mutex);
  if (r == VK_SUCCESS && value > t->reached) t->reached = value;
  if (!--f->n_waiting) pthread_cond_broadcast(&t->left);
  pthread_mutex_unlock(&t->mutex);
  return r;
}

static VkResult wait_value(be_device *d, vk_timeline *t, uint64_t value, uint64_t timeout_ns) {
  VkSemaphoreWaitInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                              .semaphoreCount = 1,
                              .pSemaphores = &t->semaphore,
                              .pValues = &value};
  return t->semaphore ? d->fn.vkWaitSemaphores(d->vk, &info, timeout_ns) : wait_fence(d, t, value, timeout_ns);
}

void vk_drain(be_device *d, vk_timeline *t, uint64_t value) {
  const uint64_t patience = 1000000000;
  if (t && value)
    tsr_status_free(
        vk_status(d, wait_value(d, t, value, atomic_load(&d->lost) ? patience : UINT64_MAX), "vkWaitSemaphores"));
}

tsr_status vk_timeline_wait(be_device *d, vk_timeline *t, uint64_t value, int64_t timeout_ns) {
  if (atomic_load(&d->lost)) return vk_lost_status(d);
  VkResult r = wait_value(d, t, value, timeout_ns < 0 ? UINT64_MAX : (uint64_t)timeout_ns);
  if (r == VK_TIMEOUT)
    return st_make(d->env->al, TSR_TIMEOUT, ST_WHERE("vulkan", "sync", NULL), "the device did not finish in %.3f s",
                   (double)timeout_ns * 1e-9);
  return vk_status(d, r, t->semaphore ? "vkWaitSemaphores" : "vkWaitForFences");
}

tsr_status vk_timeline_fence(be_device *d, vk_timeline *t, uint64_t value, VkFence *out) {
  vk_fence *f = &t->fences[value % VK_FENCES];
  *out = VK_NULL_HANDLE;
  if (t->semaphore) return NULL;
  if (!f->fence) {
    VkFenceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    VK_TRY(d, d->fn.vkCreateFence(d->vk, &info, NULL, &f->fence));
  } else if (f->value) {
    TSR_TRY(vk_timeline_wait(d, t, f->value, -1));
    pthread_mutex_lock(&t->mutex);
    f->value = 0;
    while (f->n_waiting) pthread_cond_wait(&t->left, &t->mutex);
    pthread_mutex_unlock(&t->mutex);
    VK_TRY(d, d->fn.vkResetFences(d->vk, 1, &f->fence));
  }
  *out = f->fence;
  return NULL;
}

void vk_timeline_submitted(vk_timeline *t, uint64_t value) {
  pthread_mutex_lock(&t->mutex);
  t->fences[value % VK_FENCES].value = value;
  pthread_mutex_unlock(&t->mutex);
}
