/* tests/fake/second_queue.c - see tests/fake/second_queue.h. */
#include "tests/fake/second_queue.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST = 1 << 14, REGIONS = 64, SEMAPHORES = 20, LOADER_MAGIC = 0x01CDC0DE };

/* Or a timestamp, where there is a pool. */
typedef struct copy {
  VkBuffer from, to;
  VkBufferCopy region;
  VkQueryPool pool;
  uint32_t query;
} copy;
typedef struct stamp {
  VkQueryPool pool;
  uint32_t query;
  uint64_t ns; /* 0: not yet */
} stamp;
typedef struct commands {
  VkCommandBuffer cmd;
  copy copies[REGIONS];
  int n;
} commands;
typedef struct bound {
  VkBuffer buffer;
  VkDeviceMemory memory;
  VkDeviceSize at;
} bound;
typedef struct mapped {
  VkDeviceMemory memory;
  char *host;
} mapped;
typedef struct signal {
  VkSemaphore semaphore;
  uint64_t value;
} signal;
typedef struct work {
  struct work *next;
  copy *copies;
  signal waits[SEMAPHORES], signals[SEMAPHORES];
  int n_copies, n_waits, n_signals;
} work;

static struct { uintptr_t loader; } queue = {LOADER_MAGIC}; /* a dispatchable handle begins so */
static PFN_vkGetInstanceProcAddr get;
static VkInstance instance;
static VkDevice device;
static VkCommandPool pools[MOST];
static commands *lists[MOST];
static bound buffers[MOST];
static mapped memories[MOST];
static stamp stamps[MOST]; /* that this queue writes */
static int n_pools, n_lists, n_buffers, n_memories, n_stamps;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static work *first, *last;
static bool busy, running;

void second_queue_begin(PFN_vkGetInstanceProcAddr g, VkInstance in) { get = g, instance = in; }

static PFN_vkVoidFunction real_of(const char *name) {
  return ((PFN_vkGetDeviceProcAddr)get(instance, "vkGetDeviceProcAddr"))(device, name);
}
#define REAL(name) ((PFN_##name)real_of(#name))

/* ---- the thread ---- */

static char *host_of(VkBuffer b) {
  for (int i = n_buffers; i-- > 0;) /* handles come back: the newest counts */
    if (buffers[i].buffer == b)
      for (int k = n_memories; k-- > 0;)
        if (memories[k].memory == buffers[i].memory) return memories[k].host + buffers[i].at;
  abort();
}

static stamp *stamp_of(VkQueryPool pool, uint32_t query) {
  for (int i = 0; i < n_stamps; i++)
    if (stamps[i].pool == pool && stamps[i].query == query) return &stamps[i];
  return NULL;
}

/* By the clock that lavapipe's own timestamps are of. */
static void write_stamp(const copy *c) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  pthread_mutex_lock(&mutex);
  stamp *s = stamp_of(c->pool, c->query);
  if (s) s->ns = (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&mutex);
}

static void execute(const work *w) {
  for (int i = 0; i < w->n_waits; i++) {
    VkSemaphoreWaitInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                                .semaphoreCount = 1,
                                .pSemaphores = &w->waits[i].semaphore,
                                .pValues = &w->waits[i].value};
    if (REAL(vkWaitSemaphores)(device, &info, UINT64_MAX) != VK_SUCCESS) abort();
  }
  for (int i = 0; i < w->n_copies; i++) {
    const copy *c = &w->copies[i];
    if (c->pool) {
      write_stamp(c);
      continue;
    }
    pthread_mutex_lock(&mutex);
    char *to = host_of(c->to), *from = host_of(c->from);
    pthread_mutex_unlock(&mutex);
    memcpy(to + c->region.dstOffset, from + c->region.srcOffset, c->region.size);
  }
  for (int i = 0; i < w->n_signals; i++) {
    VkSemaphoreSignalInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO,
                                  .semaphore = w->signals[i].semaphore,
                                  .value = w->signals[i].value};
    if (REAL(vkSignalSemaphore)(device, &info) != VK_SUCCESS) abort();
  }
}

static void *serve(void *user) {
  for (;;) {
    pthread_mutex_lock(&mutex);
    while (!first) pthread_cond_wait(&changed, &mutex);
    work *w = first;
    first = w->next;
    if (!first) last = NULL;
    busy = true;
    pthread_mutex_unlock(&mutex);
    execute(w);
    pthread_mutex_lock(&mutex);
    busy = false;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
    free(w->copies), free(w);
  }
  return user;
}

static void idle(void) {
  pthread_mutex_lock(&mutex);
  while (first || busy) pthread_cond_wait(&changed, &mutex);
  pthread_mutex_unlock(&mutex);
}

/* ---- what the driver's functions are replaced by ---- */

static VKAPI_ATTR void VKAPI_CALL families(VkPhysicalDevice p, uint32_t *n, VkQueueFamilyProperties *q) {
  uint32_t room = *n, own;
  PFN_vkGetPhysicalDeviceQueueFamilyProperties real =
      (PFN_vkGetPhysicalDeviceQueueFamilyProperties)get(instance, "vkGetPhysicalDeviceQueueFamilyProperties");
  real(p, n, q);
  own = *n;
  if (q && room > own) q[own] = (VkQueueFamilyProperties){.queueFlags = VK_QUEUE_TRANSFER_BIT,
                                                          .queueCount = 1,
                                                          .timestampValidBits = q[0].timestampValidBits};
  if (!q || room > own) ++*n;
}

static VKAPI_ATTR VkResult VKAPI_CALL create_device(VkPhysicalDevice p, const VkDeviceCreateInfo *info,
                                                    const VkAllocationCallbacks *a, VkDevice *out) {
  VkDeviceCreateInfo own = *info;
  own.queueCreateInfoCount = 1;
  VkResult r = ((PFN_vkCreateDevice)get(instance, "vkCreateDevice"))(p, &own, a, out);
  device = *out;
  return r;
}

static VKAPI_ATTR void VKAPI_CALL get_queue(VkDevice d, uint32_t family, uint32_t i, VkQueue *out) {
  pthread_t thread;
  if (!family) REAL(vkGetDeviceQueue)(d, family, i, out);
  else *out = (VkQueue)(void *)&queue;
  if (family && !running) running = !pthread_create(&thread, NULL, serve, NULL) && !pthread_detach(thread);
}

static VKAPI_ATTR VkResult VKAPI_CALL create_pool(VkDevice d, const VkCommandPoolCreateInfo *info,
                                                  const VkAllocationCallbacks *a, VkCommandPool *out) {
  VkCommandPoolCreateInfo own = *info;
  own.queueFamilyIndex = 0;
  VkResult r = REAL(vkCreateCommandPool)(d, &own, a, out);
  pthread_mutex_lock(&mutex);
  for (int i = 0; i < n_pools; i++)
    if (pools[i] == *out) pools[i] = VK_NULL_HANDLE;
  if (info->queueFamilyIndex && n_pools < MOST) pools[n_pools++] = *out;
  pthread_mutex_unlock(&mutex);
  return r;
}

static commands *list_of(VkCommandBuffer cmd) {
  for (int i = 0; i < n_lists; i++)
    if (lists[i]->cmd == cmd) return lists[i];
  return NULL;
}

static VKAPI_ATTR VkResult VKAPI_CALL allocate_commands(VkDevice d, const VkCommandBufferAllocateInfo *info,
                                                        VkCommandBuffer *out) {
  VkResult r = REAL(vkAllocateCommandBuffers)(d, info, out);
  pthread_mutex_lock(&mutex);
  commands *c = list_of(*out);
  bool ours = false;
  for (int i = 0; i < n_pools; i++) ours |= pools[i] == info->commandPool;
  if (c) c->cmd = VK_NULL_HANDLE;
  if (ours && n_lists < MOST && (c = calloc(1, sizeof *c))) c->cmd = *out, lists[n_lists++] = c;
  pthread_mutex_unlock(&mutex);
  return r;
}

static VKAPI_ATTR VkResult VKAPI_CALL begin(VkCommandBuffer cmd, const VkCommandBufferBeginInfo *info) {
  pthread_mutex_lock(&mutex);
  commands *c = list_of(cmd);
  if (c) c->n = 0;
  pthread_mutex_unlock(&mutex);
  return REAL(vkBeginCommandBuffer)(cmd, info);
}

static VKAPI_ATTR void VKAPI_CALL copy_buffer(VkCommandBuffer cmd, VkBuffer from, VkBuffer to, uint32_t n,
                                              const VkBufferCopy *regions) {
  pthread_mutex_lock(&mutex);
  commands *c = list_of(cmd);
  for (uint32_t i = 0; c && i < n; i++) {
    if (c->n == REGIONS) abort();
    c->copies[c->n++] = (copy){.from = from, .to = to, .region = regions[i]};
  }
  pthread_mutex_unlock(&mutex);
  if (!c) REAL(vkCmdCopyBuffer)(cmd, from, to, n, regions);
}

/* A query is the queue's that writes it next. */
static VKAPI_ATTR void VKAPI_CALL timestamp(VkCommandBuffer cmd, VkPipelineStageFlags2 stage, VkQueryPool pool,
                                            uint32_t query) {
  pthread_mutex_lock(&mutex);
  commands *c = list_of(cmd);
  stamp *s = stamp_of(pool, query);
  if (!c && s) *s = stamps[--n_stamps];
  if (c && !s) s = &stamps[n_stamps++];
  if (c && (c->n == REGIONS || n_stamps == MOST)) abort();
  if (c) *s = (stamp){pool, query, 0}, c->copies[c->n++] = (copy){.pool = pool, .query = query};
  pthread_mutex_unlock(&mutex);
  if (!c) REAL(vkCmdWriteTimestamp2)(cmd, stage, pool, query);
}

static VKAPI_ATTR VkResult VKAPI_CALL results(VkDevice d, VkQueryPool pool, uint32_t from, uint32_t n, size_t bytes,
                                              void *out, VkDeviceSize stride, VkQueryResultFlags flags) {
  pthread_mutex_lock(&mutex);
  stamp *s = n == 1 ? stamp_of(pool, from) : NULL;
  while (s && !s->ns && flags & VK_QUERY_RESULT_WAIT_BIT) pthread_cond_wait(&changed, &mutex);
  if (s) *(uint64_t *)out = s->ns;
  pthread_mutex_unlock(&mutex);
  return s ? VK_SUCCESS : REAL(vkGetQueryPoolResults)(d, pool, from, n, bytes, out, stride, flags);
}

static VKAPI_ATTR VkResult VKAPI_CALL bind_memory(VkDevice d, VkBuffer b, VkDeviceMemory m, VkDeviceSize at) {
  pthread_mutex_lock(&mutex);
  if (n_buffers == MOST) abort();
  buffers[n_buffers++] = (bound){b, m, at};
  pthread_mutex_unlock(&mutex);
  return REAL(vkBindBufferMemory)(d, b, m, at);
}

static VKAPI_ATTR VkResult VKAPI_CALL map(VkDevice d, VkDeviceMemory m, VkDeviceSize at, VkDeviceSize n,
                                          VkMemoryMapFlags flags, void **out) {
  VkResult r = REAL(vkMapMemory)(d, m, at, n, flags, out);
  pthread_mutex_lock(&mutex);
  if (n_memories == MOST) abort();
  memories[n_memories++] = (mapped){m, *out};
  pthread_mutex_unlock(&mutex);
  return r;
}

static int semaphores(const VkSemaphoreSubmitInfo *from, uint32_t n, signal *to) {
  if (n > SEMAPHORES) abort();
  for (uint32_t i = 0; i < n; i++) to[i] = (signal){from[i].semaphore, from[i].value};
  return (int)n;
}

static VKAPI_ATTR VkResult VKAPI_CALL submit(VkQueue q, uint32_t n, const VkSubmitInfo2 *info, VkFence fence) {
  if (q != (VkQueue)(void *)&queue) return REAL(vkQueueSubmit2)(q, n, info, fence);
  work *w = calloc(1, sizeof *w);
  if (!w || n != 1 || fence || !(w->copies = calloc(REGIONS * info->commandBufferInfoCount + 1, sizeof *w->copies)))
    abort();
  w->n_waits = semaphores(info->pWaitSemaphoreInfos, info->waitSemaphoreInfoCount, w->waits);
  w->n_signals = semaphores(info->pSignalSemaphoreInfos, info->signalSemaphoreInfoCount, w->signals);
  pthread_mutex_lock(&mutex);
  for (uint32_t i = 0; i < info->commandBufferInfoCount; i++) {
    const commands *c = list_of(info->pCommandBufferInfos[i].commandBuffer);
    if (!c) abort(); /* of the other family */
    memcpy(w->copies + w->n_copies, c->copies, sizeof *w->copies * (size_t)c->n);
    w->n_copies += c->n;
  }
  if (last) last->next = w;
  else first = w;
  last = w;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&mutex);
  return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL queue_idle(VkQueue q) {
  if (q != (VkQueue)(void *)&queue) return REAL(vkQueueWaitIdle)(q);
  idle();
  return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL device_idle(VkDevice d) {
  idle();
  return REAL(vkDeviceWaitIdle)(d);
}

PFN_vkVoidFunction second_queue(const char *name) {
  static const struct {
    const char *name;
    PFN_vkVoidFunction f;
  } rows[] = {{"vkGetPhysicalDeviceQueueFamilyProperties", (PFN_vkVoidFunction)families},
              {"vkCreateDevice", (PFN_vkVoidFunction)create_device},
              {"vkGetDeviceQueue", (PFN_vkVoidFunction)get_queue},
              {"vkCreateCommandPool", (PFN_vkVoidFunction)create_pool},
              {"vkAllocateCommandBuffers", (PFN_vkVoidFunction)allocate_commands},
              {"vkBeginCommandBuffer", (PFN_vkVoidFunction)begin},
              {"vkCmdCopyBuffer", (PFN_vkVoidFunction)copy_buffer},
              {"vkCmdWriteTimestamp2", (PFN_vkVoidFunction)timestamp},
              {"vkGetQueryPoolResults", (PFN_vkVoidFunction)results},
              {"vkBindBufferMemory", (PFN_vkVoidFunction)bind_memory},
              {"vkMapMemory", (PFN_vkVoidFunction)map},
              {"vkQueueSubmit2", (PFN_vkVoidFunction)submit},
              {"vkQueueWaitIdle", (PFN_vkVoidFunction)queue_idle},
              {"vkDeviceWaitIdle", (PFN_vkVoidFunction)device_idle}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (!strcmp(rows[i].name, name)) return rows[i].f;
  return NULL;
}
