/* backends/vulkan/cache.c - what is kept on disk: the driver's pipeline cache and self-test results. A file is {magic, version, bytes, hash}
 * and the payload, written aside and renamed; anything that doesn't check out counts as absent. The hash guards against damage;
 * against others' files: only regular files of our own user that nobody else may write are read. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backends/vulkan/vk.h"
#include "core/base/hash.h"

typedef struct head { char magic[8]; uint64_t bytes, hash; } head;
static const char magic[8] = "tsrvk01";
enum { MAX_FILE = 256 << 20 };

static uint64_t hash_of(const void *p, size_t n) { return hash_mix(hash_bytes(HASH_SEED, p, n)); }

static bool path_of(const be_env *env, const char *name, char *out, size_t cap) {
  return env->cache_dir && (size_t)snprintf(out, cap, "%s/%s", env->cache_dir, name) < cap;
}

static bool trusted(int fd, off_t *size) {
  struct stat s;
  if (fstat(fd, &s) || !S_ISREG(s.st_mode) || s.st_uid != geteuid() || (s.st_mode & (S_IWGRP | S_IWOTH))) return false;
  *size = s.st_size;
  return s.st_size > (off_t)sizeof(head) && s.st_size < MAX_FILE;
}

static bool read_all(int fd, void *p, size_t n) {
  for (size_t at = 0; at < n;) {
    ssize_t r = read(fd, (char *)p + at, n - at);
    if (r <= 0) return false;
    at += (size_t)r;
  }
  return true;
}

static bool write_all(int fd, const void *p, size_t n) {
  for (size_t at = 0; at < n;) {
    ssize_t r = write(fd, (const char *)p + at, n - at);
    if (r <= 0) return false;
    at += (size_t)r;
  }
  return true;
}

void *vk_cache_read(const be_env *env, const char *name, size_t *n) {
  char path[512];
  off_t size;
  head h;
  void *p = NULL;
  if (!path_of(env, name, path, sizeof path)) return NULL;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return NULL;
  if (trusted(fd, &size) && read_all(fd, &h, sizeof h) && !memcmp(h.magic, magic, 8) && h.bytes == (uint64_t)size - sizeof h) {
    *n = (size_t)h.bytes;
    p = al_alloc(env->al, *n, 16);
    if (p && (!read_all(fd, p, *n) || hash_of(p, *n) != h.hash)) {
      al_free(env->al, p, *n, 16);
      p = NULL;
    }
  }
  close(fd);
  return p;
}

/* Makes the folder and its parents; failure shows when the file can't be written. */
static void make_folder(const char *dir) {
  char p[512];
  if ((size_t)snprintf(p, sizeof p, "%s", dir) >= sizeof p) return;
  for (char *s = p + 1; *s; s++)
    if (*s == '/') *s = 0, mkdir(p, 0700), *s = '/';
  mkdir(p, 0700);
}

void vk_cache_write(const be_env *env, const char *name, const void *p, size_t n) {
  char path[512], temp[540];
  head h = {.bytes = n, .hash = hash_of(p, n)};
  memcpy(h.magic, magic, 8);
  if (!path_of(env, name, path, sizeof path)) return;
  make_folder(env->cache_dir);
  snprintf(temp, sizeof temp, "%s.%d.tmp", path, (int)getpid());
  int fd = open(temp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return;
  bool ok = write_all(fd, &h, sizeof h) && write_all(fd, p, n);
  ok = !close(fd) && ok;
  if (!ok || rename(temp, path)) unlink(temp);
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
  void *p = vk_cache_read(d->env, name, &n);
  /* The driver's own header: length 32, version 1, vendor, device, UUID. Drivers should check it; some don't. */
  if (p && (n < 32 || memcmp((char *)p + 16, d->limits.pipeline_uuid, 16))) {
    al_free(d->env->al, p, n, 16);
    p = NULL;
  }
  VkPipelineCacheCreateInfo info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO, .initialDataSize = p ? n : 0, .pInitialData = p};
  if (d->fn.vkCreatePipelineCache(d->vk, &info, NULL, &d->cache) != VK_SUCCESS) d->cache = VK_NULL_HANDLE;
  if (p) d->cache_hash = hash_of(p, n), al_free(d->env->al, p, n, 16);
}

void vk_cache_save(be_device *d) {
  size_t n = 0;
  char name[80];
  if (!d->cache || !d->env->cache_dir || d->fn.vkGetPipelineCacheData(d->vk, d->cache, &n, NULL) != VK_SUCCESS || n <= 32) return;
  void *p = al_alloc(d->env->al, n, 16);
  size_t got = n;
  if (p && d->fn.vkGetPipelineCacheData(d->vk, d->cache, &got, p) == VK_SUCCESS && hash_of(p, got) != d->cache_hash) {
    cache_name(d, name, sizeof name);
    vk_cache_write(d->env, name, p, got);
  }
  al_free(d->env->al, p, n, 16);
}
