/* core/base/file.c - see file.h. Looked at before it is opened, and again afterwards: another may have come in its
 * place. */
#include "core/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

bool file_is_special(const char *path) {
  struct stat s;
  return !stat(path, &s) && !S_ISREG(s.st_mode);
}

static FILE *fail(int fd, const char **why, const char *reason) {
  if (fd >= 0) close(fd);
  *why = reason;
  return NULL;
}

FILE *file_open(const char *path, const char **why) {
  struct stat s;
  if (stat(path, &s)) return fail(-1, why, strerror(errno));
  if (S_ISDIR(s.st_mode)) return fail(-1, why, "is a directory");
  if (!S_ISREG(s.st_mode)) return fail(-1, why, "not a regular file");
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return fail(-1, why, strerror(errno));
  if (fstat(fd, &s) || !S_ISREG(s.st_mode)) return fail(fd, why, "not a regular file");
  FILE *f = fdopen(fd, "rb");
  return f ? f : fail(fd, why, strerror(errno));
}

const void *file_map(const char *path, size_t *bytes, const char **why) {
  struct stat s;
  FILE *f = file_open(path, why);
  const void *p = NULL;
  *bytes = 0;
  if (!f) return NULL;
  if (fstat(fileno(f), &s)) *why = strerror(errno);
  else if (!s.st_size) p = "";
  else if ((uint64_t)s.st_size > PTRDIFF_MAX) *why = "too large to be mapped";
  else {
    void *at = mmap(NULL, (size_t)s.st_size, PROT_READ, MAP_PRIVATE, fileno(f), 0);
    if (at == MAP_FAILED) *why = strerror(errno);
    else p = at, *bytes = (size_t)s.st_size;
  }
  fclose(f);
  return p;
}

void file_unmap(const void *p, size_t bytes) {
  if (bytes) munmap((void *)(uintptr_t)p, bytes);
}

void file_forget(const void *p, size_t bytes) {
  const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  const uintptr_t from = ((uintptr_t)p + page - 1) / page * page, to = ((uintptr_t)p + bytes) / page * page;
  if (from < to) madvise((void *)from, to - from, MADV_DONTNEED);
}
