/* core/base/blob.c - see blob.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "core/base/blob.h"

#include "core/base/knob.h"
#include "core/base/sha256.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct blob_store {
  tsr_allocator al;
  char dir[1024], why[256];
  uint64_t max_bytes, total;
  unsigned serial;
  bool found; /* the folder is there and safe */
};

/* What a file begins with; the binary follows. */
typedef struct blob_head {
  char magic[8];
  uint64_t bytes;
  uint8_t digest[32]; /* of id and binary: a file under another name is not that file */
} blob_head;
static const char magic[8] = "TSRBLOB1";

const char *blob_why(const blob_store *s) { return s->why; }
uint64_t blob_total(const blob_store *s) { return s->total; }

/* Ours (or root's), and nobody else may write. */
static bool is_safe(const struct stat *st) {
  return (st->st_uid == geteuid() || st->st_uid == 0) && !(st->st_mode & (S_IWGRP | S_IWOTH));
}

static bool check_folder(blob_store *s, const char *path) {
  struct stat st;
  if (lstat(path, &st)) snprintf(s->why, sizeof s->why, "%.200s: %.48s", path, strerror(errno));
  else if (!S_ISDIR(st.st_mode)) snprintf(s->why, sizeof s->why, "%.200s is not a folder", path);
  else if (!is_safe(&st)) snprintf(s->why, sizeof s->why, "others can write %.200s", path);
  return !s->why[0];
}

static bool is_id(const char *name) {
  size_t n = strspn(name, "0123456789abcdef");
  return n == 64 && !strcmp(name + n, ".bin");
}

/* Temporary files are PID.SERIAL.tmp; those of processes that are gone are removed. */
static void remove_if_orphan(int at, const char *name) {
  int pid = 0, serial = 0, end = 0;
  if (sscanf(name, "%d.%d.tmp%n", &pid, &serial, &end) != 2 || !end || name[end] || pid <= 0) return;
  if (kill(pid, 0) && errno == ESRCH) unlinkat(at, name, 0);
}

/* Sums the sizes; with `victim`, also finds the least recently used file. */
static uint64_t scan(blob_store *s, char victim[80], uint64_t *victim_bytes) {
  DIR *d = opendir(s->dir);
  uint64_t total = 0;
  struct timespec oldest = {0, 0};
  if (victim) victim[0] = 0;
  for (struct dirent *e; d && (e = readdir(d));) {
    struct stat st;
    if (!is_id(e->d_name)) {
      remove_if_orphan(dirfd(d), e->d_name);
      continue;
    }
    if (fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW)) continue;
    total += (uint64_t)st.st_size;
    bool older = victim && (!victim[0] || st.st_mtim.tv_sec < oldest.tv_sec ||
                            (st.st_mtim.tv_sec == oldest.tv_sec && st.st_mtim.tv_nsec < oldest.tv_nsec));
    if (!older) continue;
    oldest = st.st_mtim;
    *victim_bytes = (uint64_t)st.st_size;
    snprintf(victim, 80, "%.79s", e->d_name);
  }
  if (d) closedir(d);
  return total;
}

static bool use_folder(blob_store *s) {
  char *last = strrchr(s->dir, '/');
  *last = 0;
  bool safe = check_folder(s, s->dir);
  *last = '/';
  s->found = safe && check_folder(s, s->dir);
  if (s->found) s->total = scan(s, NULL, NULL);
  return s->found;
}

/* With its parents; failure shows in use_folder. */
static bool make_folder(blob_store *s) {
  for (char *p = s->dir + 1; *p; p++)
    if (*p == '/') *p = 0, mkdir(s->dir, 0700), *p = '/';
  mkdir(s->dir, 0700);
  return use_folder(s);
}

tsr_status blob_open(const tsr_allocator *al, const char *dir, uint64_t max_bytes, blob_store **out) {
  *out = NULL;
  if (!dir || !*dir) dir = knob_str("TSR_CACHE_DIR");
  blob_store *s = al_new(al, blob_store);
  if (!s) return st_oom();
  s->al = al && al->alloc ? *al : al_default;
  s->max_bytes = max_bytes ? max_bytes : 256u << 20;
  s->serial = (unsigned)((uintptr_t)s >> 4) & 0xffffff; /* two stores of one process write under different names */
  *out = s;
  if (!*dir) snprintf(s->why, sizeof s->why, "off: TSR_CACHE_DIR is empty");
  else if (snprintf(s->dir, sizeof s->dir, "%s/blobs", dir) > (int)sizeof s->dir - 80)
    snprintf(s->why, sizeof s->why, "the path is too long");
  else if (!access(s->dir, F_OK) || errno != ENOENT) use_folder(s);
  return NULL;
}

void blob_close(blob_store **s) {
  if (!*s) return;
  tsr_allocator al = (*s)->al;
  al_delete(&al, *s);
  *s = NULL;
}

void blob_id(const blob_part *parts, size_t n, char out[65]) {
  sha256 h;
  uint8_t digest[32];
  sha256_begin(&h);
  for (size_t i = 0; i < n; i++) {
    uint64_t bytes = parts[i].bytes;
    sha256_add(&h, &bytes, sizeof bytes);
    sha256_add(&h, parts[i].data, parts[i].bytes);
  }
  sha256_end(&h, digest);
  sha256_hex(digest, out);
}

static void digest_of(const char *id, const void *data, size_t bytes, uint8_t out[32]) {
  sha256 h;
  sha256_begin(&h);
  sha256_add(&h, id, 64);
  sha256_add(&h, data, bytes);
  sha256_end(&h, out);
}

static bool path_of(const blob_store *s, const char *id, char out[1100]) {
  char name[80];
  snprintf(name, sizeof name, "%s.bin", id);
  return is_id(name) && snprintf(out, 1100, "%s/%s", s->dir, name) < 1100;
}

static bool read_all(int fd, void *p, size_t n) {
  for (char *c = p; n;) {
    ssize_t got = read(fd, c, n);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    c += got;
    n -= (size_t)got;
  }
  return true;
}

static bool write_all(int fd, const void *p, size_t n) {
  for (const char *c = p; n;) {
    ssize_t put = write(fd, c, n);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    c += put;
    n -= (size_t)put;
  }
  return true;
}

static bool load(blob_store *s, int fd, const char *id, void **data, size_t *bytes) {
  blob_head head;
  struct stat st;
  uint8_t digest[32];
  if (fstat(fd, &st) || !S_ISREG(st.st_mode) || !is_safe(&st) || !read_all(fd, &head, sizeof head)) return false;
  if (memcmp(head.magic, magic, sizeof magic) || (uint64_t)st.st_size != sizeof head + head.bytes ||
      head.bytes > s->max_bytes)
    return false;
  void *p = al_alloc(&s->al, (size_t)head.bytes, 16);
  if (!p) return false;
  bool ok = read_all(fd, p, (size_t)head.bytes);
  if (ok) digest_of(id, p, (size_t)head.bytes, digest);
  if (!ok || memcmp(digest, head.digest, sizeof digest)) {
    al_free(&s->al, p, (size_t)head.bytes, 16);
    return false;
  }
  *data = p;
  *bytes = (size_t)head.bytes;
  return true;
}

bool blob_get(blob_store *s, const char *id, void **data, size_t *bytes) {
  char path[1100];
  *data = NULL;
  *bytes = 0;
  if (!s || !s->found || !path_of(s, id, path)) return false;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return false;
  bool ok = load(s, fd, id, data, bytes);
  if (ok) futimens(fd, NULL); /* used just now; a failure only spoils the order of eviction */
  else unlink(path);          /* it will be made again */
  close(fd);
  return ok;
}

/* Removes the least recently used until no more than `most` bytes are left. */
static void evict(blob_store *s, uint64_t most) {
  while (s->total > most) {
    char victim[80], path[1200];
    uint64_t bytes = 0;
    s->total = scan(s, victim, &bytes); /* others may have added or removed */
    if (!victim[0] || s->total <= most) return;
    snprintf(path, sizeof path, "%s/%s", s->dir, victim);
    if (unlink(path) && errno != ENOENT) return;
    s->total -= bytes;
  }
}

bool blob_put(blob_store *s, const char *id, const void *data, size_t bytes) {
  char path[1100], tmp[1100];
  blob_head head;
  uint64_t need = sizeof head + bytes;
  if (!s || s->why[0] || need > s->max_bytes || !path_of(s, id, path) || (!s->found && !make_folder(s))) return false;
  evict(s, s->max_bytes - need);
  memcpy(head.magic, magic, sizeof magic);
  head.bytes = bytes;
  digest_of(id, data, bytes, head.digest);
  int fd = -1;
  for (int i = 0; fd < 0 && i < 64; i++) { /* other stores of this process may write to the folder, too */
    snprintf(tmp, sizeof tmp, "%s/%d.%u.tmp", s->dir, (int)getpid(), s->serial++);
    fd = open(tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0 && errno != EEXIST) return false;
  }
  if (fd < 0) return false;
  bool ok = write_all(fd, &head, sizeof head) && write_all(fd, data, bytes);
  ok = close(fd) == 0 && ok;
  ok = ok && rename(tmp, path) == 0;
  if (!ok) unlink(tmp);
  else s->total += need;
  return ok;
}

void blob_clear(blob_store *s) {
  if (s && s->found) evict(s, 0);
}
