/* backends/simt/simt_cache.c - compiled binaries on disk, named by the hash of what they were made from. A file that is not ours, that
 * others may write, or whose checksum is wrong is a miss. Written to a temporary name and renamed, so readers see whole files. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backends/simt/simt.h"
#include "core/base/hash.h"

typedef struct head {
  char magic[8];
  uint64_t key, key2, sum, code_bytes, log_bytes;
} head;

static const char magic[8] = "tsrbin1";

static void keys(const char *arch, const char *compiler, const char *source, uint64_t k[2]) {
  for (int i = 0; i < 2; i++) k[i] = hash_mix(hash_str(hash_str(hash_str(hash_u64(HASH_SEED, (uint64_t)i + 1), arch), compiler), source));
}

static void file_name(const be_env *env, const uint64_t k[2], char *out, size_t cap) {
  snprintf(out, cap, "%s/modules/%016llx%016llx.bin", env->cache_dir, (unsigned long long)k[0], (unsigned long long)k[1]);
}

static uint64_t checksum(const void *code, size_t n, const char *log, size_t m) { return hash_mix(hash_bytes(hash_bytes(HASH_SEED, code, n), log, m)); }

static bool read_all(int fd, void *to, size_t n) {
  for (char *p = to; n;) {
    ssize_t r = read(fd, p, n);
    if (r <= 0) return false;
    p += r;
    n -= (size_t)r;
  }
  return true;
}

static bool is_ours(int fd, const head *h, off_t *size) {
  struct stat s;
  if (fstat(fd, &s) || !S_ISREG(s.st_mode) || s.st_uid != geteuid() || (s.st_mode & (S_IWGRP | S_IWOTH))) return false;
  *size = s.st_size;
  (void)h;
  return true;
}

bool simt_cache_get(const be_env *env, const char *arch, const char *compiler, const char *source, simt_code *out) {
  char name[512];
  uint64_t k[2];
  head h;
  off_t size = 0;
  *out = (simt_code){0};
  if (!env->cache_dir) return false;
  keys(arch, compiler, source, k);
  file_name(env, k, name, sizeof name);
  int fd = open(name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return false;
  bool ok = is_ours(fd, &h, &size) && read_all(fd, &h, sizeof h) && !memcmp(h.magic, magic, sizeof magic) && h.key == k[0] && h.key2 == k[1] &&
            h.code_bytes < 1u << 30 && h.log_bytes < 1u << 24 && (uint64_t)size == sizeof h + h.code_bytes + h.log_bytes;
  if (ok) {
    out->bytes = h.code_bytes;
    out->code = al_alloc(env->al, out->bytes ? out->bytes : 1, 16);
    out->log = al_alloc(env->al, h.log_bytes + 1, 16);
    if (out->log) memset(out->log, 0, h.log_bytes + 1);
    ok = out->code && out->log && read_all(fd, out->code, out->bytes) && read_all(fd, out->log, h.log_bytes);
    ok = ok && checksum(out->code, out->bytes, out->log, h.log_bytes) == h.sum && strlen(out->log) == h.log_bytes;
  }
  close(fd);
  if (!ok && (out->code || out->log)) {
    if (out->code) al_free(env->al, out->code, out->bytes ? out->bytes : 1, 16);
    if (out->log) al_free(env->al, out->log, h.log_bytes + 1, 16);
    *out = (simt_code){0};
  }
  return ok;
}

void simt_cache_put(const be_env *env, const char *arch, const char *compiler, const char *source, const simt_code *c) {
  char name[512], temp[560], folder[400];
  uint64_t k[2];
  if (!env->cache_dir || !c->code) return;
  keys(arch, compiler, source, k);
  snprintf(folder, sizeof folder, "%s/modules", env->cache_dir);
  if (mkdir(folder, 0700) && errno != EEXIST) return;
  file_name(env, k, name, sizeof name);
  snprintf(temp, sizeof temp, "%s.%ld", name, (long)getpid());
  size_t n_log = strlen(c->log);
  head h = {.key = k[0], .key2 = k[1], .code_bytes = c->bytes, .log_bytes = n_log, .sum = checksum(c->code, c->bytes, c->log, n_log)};
  memcpy(h.magic, magic, sizeof magic);
  int fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return;
  bool ok = write(fd, &h, sizeof h) == (ssize_t)sizeof h && write(fd, c->code, c->bytes) == (ssize_t)c->bytes && write(fd, c->log, n_log) == (ssize_t)n_log;
  ok &= !close(fd);
  if (!ok || rename(temp, name)) unlink(temp);
}
