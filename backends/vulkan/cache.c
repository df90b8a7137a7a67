/* backends/vulkan/cache.c - what is kept on disk: the driver's pipeline cache and self-test results, in the store of
 * core/base/blob.h, which refuses what is damaged or what others can write. An ID is the hash of a name that tells
 * driver and device apart. */
#include <stdio.h>
#include <string.h>

#include "backends/vulkan/vk.h"
#include "core/base/blob.h"
#include "core/base/hash.h"

static uint64_t hash_of(const void *p, size_t n) { return hash_mix(hash_bytes(HASH_SEED, p, n)); }

blob_store *vk_store_open(const be_env *env) {
  blob_store *s = NULL;
  if (!env->cache_dir) return NULL;
  tsr_status_free(blob_open(env->al, env->cache_dir, 0, &s));
  if (s && blob_why(s)[0]) env->log(env->log_user, 2, blob_why(s));
  return s;
}

static blob_store *open_store(const be_env *env, const char *name, char id[65]) {
  blob_id((blob_part[]){{"vulkan", 6}, {name, strlen(name)}}, 2, id);
  return vk_store_open(env);
}

void *vk_cache_read(const be_env *env, const char *name, size_t *n) {
  char id[65];
  void *p = NULL;
  *n = 0;
  blob_store *s = open_store(env, name, id);
  if (s && !blob_get(s, id, &p, n)) p = NULL;
  blob_close(&s);
  return p;
}

void vk_cache_write(const be_env *env, const char *name, const void *p, size_t n) {
  char id[65];
  blob_store *s = open_store(env, name, id);
  if (s) blob_put(s, id, p, n);
  blob_close(&s);
}

static void cache_name(const be_device *d, char *out, size_t cap) {
  char id[33];
  for (int i = 0; i < 16; i++) snprintf(id + 2 * i, 3, "%02x", d->limits.pipeline_uuid[i]);
  snprintf(out, cap, "vulkan-pipelines-%s.bin", id);
}

void vk_cache_load(be_device *d) {
  char name[80];
  size_t n = 0;
  cache_name(d, name, sizeof name);
  void *p = d->instance->probe.in_child ? NULL : vk_cache_read(d->env, name, &n);
  /* The driver's own header: length 32, version 1, vendor, device, UUID. Drivers should check it; some don't. */
  if (p && (n < 32 || memcmp((char *)p + 16, d->limits.pipeline_uuid, 16))) {
    al_free(d->env->al, p, n, 16);
    p = NULL;
  }
  VkPipelineCacheCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO, .initialDataSize = p ? n : 0, .pInitialData = p};
  if (d->fn.vkCreatePipelineCache(d->vk, &info, NULL, &d->cache) != VK_SUCCESS) d->cache = VK_NULL_HANDLE;
  if (p) d->cache_hash = hash_of(p, n), al_free(d->env->al, p, n, 16);
}

void vk_cache_save(be_device *d) {
  size_t n = 0;
  char name[80];
  if (!d->cache || !d->env->cache_dir || d->instance->probe.in_child) return;
  if (d->fn.vkGetPipelineCacheData(d->vk, d->cache, &n, NULL) != VK_SUCCESS || n <= 32) return;
  void *p = al_alloc(d->env->al, n, 16);
  size_t got = n;
  if (p && d->fn.vkGetPipelineCacheData(d->vk, d->cache, &got, p) == VK_SUCCESS && hash_of(p, got) != d->cache_hash) {
    cache_name(d, name, sizeof name);
    vk_cache_write(d->env, name, p, got);
  }
  al_free(d->env->al, p, n, 16);
}
